"""Reads a document (PDF, plain text, Markdown) as text: joins the lines of its pages to paragraphs,
without headers, footers and page numbers, and keeps footnotes apart."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import io
import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from undogmatic.engine.step import Step
from undogmatic.errors import ConfigError, DataError, UnparseableAnswer
from undogmatic.records.records import Item
from undogmatic.safety.outside import (
    Unreadable,
    brief,
    decoded,
    read_bytes,
    without_halves,
)

SUFFIXES = (".pdf", ".txt", ".md")
LARGEST = 100_000_000  # bytes of a file; a scan of a long record has as many
NOTES = "----"  # the line that stands between the body and its footnotes
# characters: a text file with longer lines does not break its paragraphs into lines
WRAPPED = 120
FEW_WORDS = 5  # a page with fewer words than that is most likely a picture


class Removed(NamedTuple):
    """A line that was left out: a running header, a footer or a page number. Pages count from 1."""

    page: int
    text: str


class DocumentText(NamedTuple):
    """What was read of a file."""

    text: (
        # the paragraphs, an empty line between them; footnotes at the end, behind a line NOTES
        str
    )
    pages: int  # how many; 1 for a text file without page breaks
    # headers, footers and page numbers that are not in the text
    removed: tuple[Removed, ...]
    notes: tuple[str, ...]  # the footnotes, each as one text
    warnings: tuple[str, ...]  # what a reader of the text should know, in sentences
    sha256: str  # of the file, in hex


def read_document(path: str | Path) -> DocumentText:
    """Read a .pdf, .txt or .md file.

    Markdown stays as it is. In plain text, form feeds divide pages, and lines are joined to
    paragraphs where none is longer than a page is wide.

    Raises:
        DataError: The file cannot be read, or there is no text in it; the message says why and what
            to do next.
        ConfigError: A library that it takes is not installed.
    """
    path = Path(path)
    if (kind := path.suffix.lower()) not in SUFFIXES:
        raise DataError(
            f"{brief(str(path))}: not a document of a kind that is read ({', '.join(SUFFIXES)})."
        )
    raw = read_bytes(path, LARGEST)
    sha256 = hashlib.sha256(raw).hexdigest()
    if kind == ".pdf" and raw.strip():
        pages = pdf_pages(raw, path)
    else:
        try:
            text = decoded(raw).replace("\r\n", "\n").replace("\r", "\n")
        except Unreadable as error:
            raise DataError(error.at(str(path))) from None
        if not text.strip():
            raise DataError(f"{path}: empty. Fetch it again, or name another file.")
        pages = [
            [PageLine(line.strip()) for line in page.split("\n")]
            for page in text.split("\f")
            if page.strip()
        ]
        longest = max(len(line.text) for page in pages for line in page)
        if kind == ".md" or (len(pages) == 1 and longest > WRAPPED):
            return DocumentText(text.strip(), 1, (), (), (), sha256)
    gone = furniture(pages)
    removed = tuple(
        Removed(n + 1, pages[n][k].text)
        for n, out in enumerate(gone)
        for k in sorted(out)
    )
    kept = [
        [line for k, line in enumerate(page) if k not in out]
        for page, out in zip(pages, gone, strict=True)
    ]
    body, notes = paragraphs(kept)
    text = "\n\n".join([*body, *([NOTES, *notes] if notes else [])])
    if not any(character.isalpha() for character in text):
        raise DataError(
            f"{path}: {len(pages)} page(s) and no text in them: most likely a scan. Have its"
            " letters recognised (ocrmypdf FILE NEW.pdf) and name the new file."
        )
    warnings = []
    bare = [
        str(n)
        for n, page in enumerate(kept, 1)
        if sum(len(line.text.split()) for line in page) < FEW_WORDS
    ]
    if bare:
        listed = ", ".join(bare[:10]) + (", ..." if len(bare) > 10 else "")
        warnings.append(
            f"{len(bare)} of {len(pages)} pages have no text, or hardly any ({listed}): perhaps"
            " pictures."
        )
    if unknown := text.count("\ufffd"):
        warnings.append(
            f"{unknown} characters could not be read; they stand as \ufffd."
        )
    return DocumentText(
        text, len(pages), removed, tuple(notes), tuple(warnings), sha256
    )


PAGES = 3_000
LETTERS = 10_000_000
_LIGATURES = {
    "ﬀ": "ff",
    "ﬁ": "fi",
    "ﬂ": "fl",
    "ﬃ": "ffi",
    "ﬄ": "ffl",
    "ﬅ": "st",
    "ﬆ": "st",
}
_PLAIN = str.maketrans(
    _LIGATURES | {chr(code): "\ufffd" for code in (*range(9), *range(11, 32), 127)}
)

# what it mends on the way is no news to whoever named the file
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def pdf_pages(raw: bytes, path: Path) -> list[list[PageLine]]:
    """The lines of every page, in the order in which the file sets them.

    A file that asks for no password to be opened is read, whatever else it forbids. pypdf was
    chosen by measurement on two printed opinions with a stored extraction: of the stored words it
    gives back 99.6 and 100 %, pypdfium2 98.3 and 100 %, in 0.4 s and 0.1 s per file. It is pure
    Python: a hostile file can at worst be refused.

    Raises:
        DataError: It is protected by a password, broken, without pages or too large; the message
            names the next step.
        ConfigError: pypdf is not installed.
    """
    try:
        from pypdf import PasswordType, PdfReader
        from pypdf.errors import DependencyError
    except ImportError:
        raise ConfigError(
            "reading a PDF needs pypdf, which is not installed: pip install"
            " 'undogmatic[faithfulness]'."
        ) from None
    pages: list[list[PageLine]] = []
    letters = 0
    try:
        reader = PdfReader(io.BytesIO(raw))
        locked = (
            reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
        )
        number = 0 if locked else len(reader.pages)
        for n in range(min(number, PAGES)):
            pages.append(_lines(reader.pages[n]))
            letters += sum(len(line.text) for line in pages[-1])
            if letters > LETTERS:
                break
    except DependencyError:
        raise ConfigError(
            f"{path}: encrypted, and to open it the library cryptography is needed: pip install"
            " cryptography."
        ) from None
    # a broken file may be anything, and so may what goes wrong over it
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(
            f"{path}: not a PDF that can be read"
            f" ({type(error).__name__}{': ' if said else ''}{said}). Fetch it again, or have it"
            " rewritten: qpdf FILE NEW.pdf."
        ) from None
    fault = (
        "" if number else "a PDF without pages. Fetch it again, or name another file."
    )
    if locked:
        fault = (
            "protected by a password. Take it off (qpdf --decrypt --password=PASSWORD FILE NEW.pdf)"
            " and name "
        )
        fault += "the new file."
    elif number > PAGES or letters > LETTERS:
        fault = (
            f"{number:,} pages; at most {PAGES:,} pages and {LETTERS:,} letters are read. Cut it to"
            " the part "
        )
        fault += "that is wanted: qpdf FILE --pages . 1-100 -- NEW.pdf."
    if fault:
        raise DataError(f"{path}: {fault}")
    return pages


def _lines(page: Any) -> list[PageLine]:
    """The lines of one page. What pypdf hands to its visitor is, in a row, the page's text."""
    lines: list[list[PageLine]] = [[]]  # of the parts of each line

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        x = float(tm[4] * cm[0] + tm[5] * cm[2] + cm[4])
        y = float(tm[4] * cm[1] + tm[5] * cm[3] + cm[5])
        for n, part in enumerate(text.split("\n")):
            if n:
                lines.append([])
            lines[-1].append(PageLine(part, x, y, abs(float(size * tm[3] * cm[3]))))

    page.extract_text(visitor_text=visit)
    joined = []
    for parts in lines:
        text = without_halves("".join(part.text for part in parts)).translate(_PLAIN)
        if placed := [part for part in parts if part.text.strip()]:
            widest = max(placed, key=lambda part: len(part.text))
            joined.append(PageLine(text.strip(), placed[0].x, placed[0].y, widest.size))
    return joined


# of the size of the body: what is smaller, at the foot of a page, may be a footnote
SMALLER = 0.95
# times the usual distance of lines: so far a footnote stands from the body, if it bears no mark
APART = 1.2
PARAGRAPH = 1.3  # times the usual distance of lines: more than that divides paragraphs
# times the size of the letters: a line that begins farther in stands in the middle, as a heading
# does
CENTRED = 4
_MARK = re.compile(r"([*†‡§]{1,3}|\d{1,3})[.)]?\s?[A-Z“\"‘'(\[§]|[—–_-]{4,}$")
_RULE = re.compile(r"[—–_*-]{4,}\s*")
LONGEST_WORD = 40
_CUT = re.compile(rf"([^\W\d_]{{1,{LONGEST_WORD}}})( ?)([-\u2010\u00ad])$")
# Portuguese pronouns that a hyphen ties to their verb
_ENCLITICS = (
    "se",
    "lhe",
    "lhes",
    "lo",
    "la",
    "los",
    "las",
)
_HEAD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
ENDS = (".", "!", "?", ":", ";", "”", '"', "’", "'", ")", "]")


class PageLine(NamedTuple):
    """One line of a page. Places are in 1/72 inch, from the lower left corner of the page; all 0 in
    a text file."""

    text: str  # as it was read, without the blanks around it
    x: float = 0.0
    y: float = 0.0
    size: float = 0.0  # of its letters, in 1/72 inch


Page = Sequence[PageLine]


def paragraphs(pages: Sequence[Page]) -> tuple[list[str], list[str]]:
    """The paragraphs of the body, and the footnotes, of pages without headers and footers, in the
    pages' order.

    Where the places of lines are known, a paragraph begins with an indent, a larger distance or
    another size; where they are not, after an empty line. A footnote is what stands smaller at the
    foot of a page, from its mark or from a larger distance on; it ends up behind the body, since it
    would divide a sentence that runs over two pages.
    """
    whole = vocabulary(line.text for page in pages for line in page)
    size = _usual(line.size for page in pages for line in page for _ in line.text)
    main, feet = list[Page](), list[Page]()
    for page in pages:
        start = _notes_start(page, size, bool(feet and feet[-1]))
        main.append(page[:start])
        feet.append(page[start:])
    notes: list[list[PageLine]] = []
    for line in (
        line for foot in feet for line in foot if not _RULE.fullmatch(line.text)
    ):
        if not notes or (
            _MARK.match(line.text)
            and not notes[-1][-1].text.endswith((",", "-", "\u00ad"))
        ):
            notes.append([])
        notes[-1].append(line)
    return [joined(block, whole) for block in _blocks(main)], [
        joined(note, whole) for note in notes
    ]


def vocabulary(lines: Iterable[str]) -> set[str]:
    """The words of a document, by which a hyphen at the end of a line is told from one that belongs
    to its word. The last word of a line that ends with a hyphen, and the first of the next, do not
    count."""
    whole: set[str] = set()
    cut = False
    for line in lines:
        ends = _CUT.search(line[-2 * LONGEST_WORD :]) is not None
        whole.update(
            _WORD.findall(line.lower())[1 if cut else 0 : -1 if ends else None]
        )
        cut = ends
    return whole


def _rejoined(
    first: str, blank: str, hyphen: str, second: str, chained: bool, whole: Set[str]
) -> str:
    """The word that a line end divides, or its two parts with what stood between them: a blank
    perhaps, and the hyphen. Some programs write every hyphen at a line's end as a soft one, so its
    kind says nothing. The word is `chained` if a hyphen stands before its first part as well
    (time-and-a-half); `whole` words are those of the document.
    """
    one = f"{first}{second}".lower()
    hyphen = "-" if hyphen == "\u00ad" else hyphen
    if not (second[:1].islower() or (first.isupper() and second.isupper())):
        return f"{first}{blank}{hyphen}{' ' if blank else ''}{second}"
    if blank and one not in whole and first.lower() in whole:
        return f"{first} {hyphen} {second}"  # a dash
    if one in whole:
        return first + second
    own = chained or min(len(first), len(second)) >= 4 or second.lower() in _ENCLITICS
    both = own and {first.lower(), second.lower()} <= whole
    return (
        f"{first}-{second}"
        if both or f"{first}-{second}".lower() in whole
        else first + second
    )


def joined(lines: Page, whole: Set[str]) -> str:
    """Lines as one paragraph, without the hyphens that divide words at their ends."""
    # never joined before the end: a text of a million lines would be copied for each
    pieces = [""]
    for line in lines:
        following = " ".join(line.text.split())
        last = pieces[-1]
        cut, head = _CUT.search(last[-2 * LONGEST_WORD :]), _HEAD.match(following)
        if cut is not None and head is not None:
            pieces[-1] = last[: len(last) - len(cut[0])]
            chained = pieces[-1].endswith(("-", "\u2010"))
            following = (
                _rejoined(cut[1], cut[2], cut[3], head[0], chained, whole)
                + following[head.end() :]
            )
        elif last and not (
            last.endswith(("-", "—", "–", "\u2010", "/")) and not last.endswith(" -")
        ):
            pieces.append(" ")
        pieces.append(following)
    return "".join(pieces).replace("\u00ad", "").strip()


def _notes_start(page: Page, body: float, after_notes: bool) -> int:
    """Where the footnotes of a page begin, its length where it has none; `after_notes` if one may
    go on from the page before. Else, without a mark, less than half of the page can be footnotes: a
    headnote is set small as well.
    """
    none, margin, usual_gap = len(page), _usual(line.x for line in page), _leading(page)
    first = next(
        (n + 1 for n in reversed(range(none)) if page[n].size >= SMALLER * body), 0
    )
    for start in range(first, none) if first and usual_gap < inf else ():
        gap = page[start - 1].y - page[start].y
        marked = _MARK.match(page[start].text) is not None
        apart = (
            start == first
            and gap > APART * usual_gap
            and (after_notes or first >= none / 2)
        )
        if (
            gap > 0
            and (marked or apart)
            and _usual(line.x for line in page[start:]) < margin + 0.6 * body
        ):
            return start
    return none


def _blocks(pages: Sequence[Page]) -> list[list[PageLine]]:
    """The lines of each paragraph."""
    blocks: list[list[PageLine]] = [[]]
    over = False
    for page in pages:
        # where most lines begin
        gap, margin = _leading(page), _usual(line.x for line in page)
        for n, line in enumerate(page):
            if not line.text.strip():
                over = over or n > 0
                continue
            if blocks[-1] and (over or _begins(line, blocks[-1], n == 0, gap, margin)):
                blocks.append([])
            blocks[-1].append(line)
            over = False
        over = over and bool(blocks[-1]) and blocks[-1][-1].text.rstrip().endswith(ENDS)
    return [block for block in blocks if block]


def _begins(
    line: PageLine, block: Page, turned: bool, gap: float, margin: float
) -> bool:
    """Whether a line begins a paragraph, after the lines of `block`; `turned` if a page begins with
    it."""
    before, indent = block[-1], 0.5 * line.size
    ended = before.text.rstrip().endswith(ENDS)
    if before.text.endswith((",", "-", "\u00ad")) or (
        line.text[:1].islower() and not ended
    ):
        return False
    other_size = abs(line.size - before.size) > 0.12 * (before.size or 1)
    if turned:
        return ended and (line.x > margin + indent or other_size)
    if other_size or before.y - line.y > PARAGRAPH * gap:
        return True
    if line.x > before.x + indent:
        return line.x > margin + indent
    headed = before.x > margin + CENTRED * line.size and line.x < margin + indent
    return headed or (
        line.x < before.x - indent
        and len(block) > 1
        and abs(block[-2].x - before.x) < indent
    )


def _usual(values: Iterable[float]) -> float:
    """The commonest of values, rounded to halves; 0 where there are none."""
    commonest = Counter(round(2 * value) / 2 for value in values).most_common(1)
    return commonest[0][0] if commonest else 0.0


def _leading(page: Page) -> float:
    """The usual distance between a line and the next below it, in 1/72 inch; infinite where it
    cannot be told."""
    gaps = [above.y - below.y for above, below in pairwise(page)]
    return median([gap for gap in gaps if gap > 1] or [inf])


EDGE = 4  # lines from the edge of a page among which headers and footers are looked for
LONGEST = 300  # characters of a header
# how alike the letters of two headers are that differ by what a scanner misread
ALIKE = 0.85
MOST_HEADERS = 20  # different headers with which a misread one is compared
_NUMBER = re.compile(r"\W*(\d{1,5})\W*")
_COUNTED = re.compile(
    r"\b(page|p|pg|página|pagina|pág|fl|fls|folha)\b\W*\d+(\s*(of|de|/)\s*\d+)?",
    re.IGNORECASE,
)
_OUTER_DIGITS = re.compile(r"^\W*\d*|\d*\W*$")
NUMBER = "#"


def furniture(pages: Sequence[Page]) -> list[set[int]]:
    """Per page the positions of the lines that are headers, footers or page numbers.

    A line is one if it lies at the edge of its page, with nothing but others between it and the
    edge, and its letters come again there on at least three pages (on two, where there are fewer
    than five, or behind another such line); a number at its beginning or end does not count, since
    it changes. A number alone counts if it grows with the pages, or stands before another such
    line. What heads the first page stays: it is the document's title as often as its header, and
    does no harm there once.
    """
    edges: list[
        tuple[list[int], list[int]]
    ] = []  # positions nearest to the top, and to the bottom, from it inward
    for page in pages:
        # By their place where it is known: many programs set the header after the text.
        filled = sorted(
            (n for n, line in enumerate(page) if line.text.strip()),
            key=lambda n: -page[n].y,
        )
        top = filled[:EDGE]
        edges.append(
            (
                top,
                [
                    n
                    for n in reversed(filled[-EDGE:])
                    if n not in top[: len(filled) // 2]
                ],
            )
        )
    numbers: dict[
        int, set[tuple[int, int]]
    ] = {}  # by how far they are ahead of their pages, page and position
    for n, page in enumerate(pages):
        for position in {*edges[n][0], *edges[n][1]}:
            if number := _NUMBER.fullmatch(page[position].text[: LONGEST + 1]):
                numbers.setdefault(int(number[1]) - n, set()).add((n, position))
    gone: list[set[int]] = [set() for _ in pages]
    for ahead, places in numbers.items():
        if len({n for n, _ in places}) > 1 or (len(pages) == 1 and ahead == 1):
            for n, position in places:
                gone[n].add(position)
    for side in (0, 1):
        times: Counter[str] = Counter()
        for page, edge in zip(pages, edges, strict=True):
            times.update({letters(page[n].text) for n in edge[side]} - {"", NUMBER})
        for n, page in enumerate(pages):
            gone[n] |= _of_one_page(
                page,
                edges[n][side],
                times,
                3 if len(pages) >= 5 else 2,
                n == 0 and side == 0,
            )
    return gone


def _of_one_page(
    page: Page, edge: Sequence[int], times: Counter[str], least: int, titled: bool
) -> set[int]:
    """Positions on one side of a page, from its edge inward, `times` being how many pages have a
    line there."""
    gone, waiting = set[int](), set[int]()
    for position in edge:
        text = page[position].text
        key, enough = letters(text), 2 if gone else least
        if key == NUMBER:
            waiting.add(position)
            continue
        counted = len(text) <= LONGEST and _COUNTED.search(text) is not None
        # It comes again by itself or, if it is long, misread.
        often = (
            other
            for other, number in times.most_common(MOST_HEADERS)
            if number >= enough
        )
        again = times.get(key, 0) >= enough or (
            len(key) >= 8
            and any(
                difflib.SequenceMatcher(None, key, other).ratio() >= ALIKE
                for other in often
            )
        )
        if not (again and (counted or not titled)) and (key or not counted):
            break
        gone |= {position} | waiting
        waiting = set()
    return gone


def letters(text: str) -> str:
    """By what a header is known again: its letters, and the digits among them; NUMBER for a number
    by itself. A long line is none."""
    if len(text) > LONGEST or _NUMBER.fullmatch(text):
        return "" if len(text) > LONGEST else NUMBER
    inner = _OUTER_DIGITS.sub("", _COUNTED.sub(" ", text)).lower()
    return "".join(character for character in inner if character.isalnum())


class ExtractStep(Step):
    """One item of each, under its own id, with the document's text as the input `text` in the place
    of its path (of a .pdf, .txt or .md file), which is the input `document`.

    The other inputs and all metadata stay; `pages`, `words` and `document_sha256` come to the
    metadata, and `warnings` where there are any. A document that cannot be read is a failure with
    its reason, and so is one that is another file than `document_sha256` in the metadata says. An
    item without a document, but with its text, stays as it is.
    """

    name = "extract"

    def __init__(self, document: str = "document", text: str = "opinion") -> None:
        self.document, self.text = document, text

    async def make(self, item: Item) -> Sequence[Item]:
        """The item with its text. Raises UnparseableAnswer, DataError where it has neither document
        nor text."""
        if self.document not in item.inputs:
            if self.text in item.inputs:
                return [item]
            raise DataError(
                f"{item.place + ': ' if item.place else ''}item {item.id!r} has neither an input"
                f" `{self.document}` nor `{self.text}` (it has: {', '.join(item.inputs)}). Name it:"
                " 'steps=[{step: extract, document: NAME}]'."
            )
        try:
            # In a thread: a long PDF takes seconds, in which other items' answers wait to be read.
            read = await asyncio.to_thread(read_document, item.inputs[self.document])
        except DataError as error:
            raise UnparseableAnswer(str(error)) from None
        if (told := item.metadata.get("document_sha256")) not in (None, read.sha256):
            raise UnparseableAnswer(
                f"{item.inputs[self.document]}: another file than expected (SHA-256"
                f" {read.sha256[:12]}..., expected {str(told)[:12]}...). Fetch the right one, or"
                " correct `document_sha256`."
            )
        added = {
            "pages": read.pages,
            "words": len(read.text.split()),
            "document_sha256": read.sha256,
        }
        added |= {"warnings": list(read.warnings)} if read.warnings else {}
        inputs = {self.text: read.text} | {
            k: v for k, v in item.inputs.items() if k not in (self.document, self.text)
        }
        return [
            item.model_copy(
                update={"inputs": inputs, "metadata": item.metadata | added}
            )
        ]
