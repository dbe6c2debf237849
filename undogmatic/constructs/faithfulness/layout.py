"""Joins the lines of pages to paragraphs, without headers, footers and page numbers, and keeps footnotes apart."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

SMALLER = 0.95
"""Of the size of the body: what is smaller, at the foot of a page, may be a footnote."""
APART = 1.2
"""Times the usual distance of lines: so far a footnote stands from the body, if it bears no mark."""
PARAGRAPH = 1.3
"""Times the usual distance of lines: more than that divides paragraphs."""
CENTRED = 4
"""Times the size of the letters: a line that begins farther in stands in the middle, as a heading does."""
WRAPPED = 120
"""Characters: a text file with longer lines does not break its paragraphs into lines."""
_MARK = re.compile(r"([*†‡§]{1,3}|\d{1,3})[.)]?\s?[A-Z“\"‘'(\[§]|[—–_-]{4,}$")
_RULE = re.compile(r"[—–_*-]{4,}\s*")
LONGEST_WORD = 40
_CUT = re.compile(rf"([^\W\d_]{{1,{LONGEST_WORD}}})( ?)([-\u2010\u00ad])$")
_ENCLITICS = ("se", "lhe", "lhes", "lo", "la", "los", "las")
"""Portuguese pronouns that a hyphen ties to their verb."""
_HEAD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
ENDS = (".", "!", "?", ":", ";", "”", '"', "’", "'", ")", "]")


class Line(NamedTuple):
    """One line of a page; in a file without pages nothing is known but its text. Places are in 1/72 inch, from the
    lower left corner of the page."""

    text: str  # as it was read, without the blanks around it
    x: float | None = None
    y: float | None = None
    size: float | None = None  # of its letters, in 1/72 inch


Page = Sequence[Line]


class Texts(NamedTuple):
    """Paragraphs of the body, and the footnotes, in the order of the pages."""

    body: list[str]
    notes: list[str]


def paragraphs(pages: Sequence[Page]) -> Texts:
    """The paragraphs and footnotes of pages without headers and footers.

    Where the places of lines are known, a paragraph begins with an indent, a larger distance or another size; where
    they are not, after an empty line. A footnote is what stands smaller at the foot of a page, from its mark or from a
    larger distance on; it ends up behind the body, since it would divide a sentence that runs over two pages.
    """
    words = Vocabulary(line.text for page in pages for line in page)
    size = usual((line.size, len(line.text)) for page in pages for line in page)
    main: list[Sequence[Line]] = []
    feet: list[Sequence[Line]] = []
    for page in pages:
        start = _notes_start(page, size, bool(feet and feet[-1]))
        main.append(page[:start])
        feet.append(page[start:])
    notes: list[list[Line]] = []
    for line in (line for foot in feet for line in foot if not _RULE.fullmatch(line.text)):
        if not notes or (_MARK.match(line.text) and not notes[-1][-1].text.endswith((",", "-", "\u00ad"))):
            notes.append([])
        notes[-1].append(line)
    return Texts([joined(block, words) for block in _blocks(main)], [joined(note, words) for note in notes])


def wrapped(pages: Sequence[Page]) -> bool:
    """Whether a text's lines are pieces of paragraphs, rather than whole ones."""
    lengths = [len(line.text) for page in pages for line in page if line.text.strip()]
    return bool(lengths) and max(lengths) <= WRAPPED


class Vocabulary:
    """The words of a document, by which a hyphen at the end of a line is told from one that belongs to its word.

    Args:
        lines: All lines; the last word of one that ends with a hyphen, and the first of the next, do not count.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.whole: set[str] = set()
        cut = False
        for line in lines:
            ends = _cut(line) is not None
            self.whole.update(_WORD.findall(line.lower())[1 if cut else 0 : -1 if ends else None])
            cut = ends

    def join(self, first: str, blank: str, hyphen: str, second: str, chained: bool) -> str:
        """The word that a line end divides, or its two parts with what stood between them: a blank perhaps, and the
        hyphen. Some programs write every hyphen at a line's end as a soft one, so its kind says nothing. The word is
        `chained` if a hyphen stands before its first part as well (time-and-a-half)."""
        one = f"{first}{second}".lower()
        hyphen = "-" if hyphen == "\u00ad" else hyphen
        if not (second[:1].islower() or (first.isupper() and second.isupper())):
            return f"{first}{blank}{hyphen}{' ' if blank else ''}{second}"
        if blank and one not in self.whole and first.lower() in self.whole:
            return f"{first} {hyphen} {second}"  # a dash
        if one in self.whole:
            return first + second
        own = chained or min(len(first), len(second)) >= 4 or second.lower() in _ENCLITICS
        both = own and {first.lower(), second.lower()} <= self.whole
        if both or f"{first}-{second}".lower() in self.whole:
            return f"{first}-{second}"
        return first + second


def joined(lines: Sequence[Line], words: Vocabulary) -> str:
    """Lines as one paragraph, without the hyphens that divide words at their ends."""
    pieces = [""]  # never joined before the end: a text of a million lines would be copied for each
    for line in lines:
        following = " ".join(line.text.split())
        last = pieces[-1]
        cut = _cut(last)
        head = _HEAD.match(following)
        if cut is not None and head is not None:
            before = last[: len(last) - len(cut[0])]
            pieces[-1] = before
            chained = before.endswith(("-", "\u2010"))
            following = words.join(cut[1], cut[2], cut[3], head[0], chained) + following[head.end() :]
        elif last and not (last.endswith(("-", "—", "–", "\u2010", "/")) and not last.endswith(" -")):
            pieces.append(" ")
        pieces.append(following)
    return "".join(pieces).replace("\u00ad", "").strip()


def _cut(text: str) -> re.Match[str] | None:
    """The beginning of a word that a hyphen divides at the end of a line."""
    return _CUT.search(text[-2 * LONGEST_WORD :])


def _ended(text: str) -> bool:
    return text.rstrip()[-1:] in ENDS


def _notes_start(page: Page, body: float | None, after_notes: bool) -> int:
    """Where the footnotes of a page begin, its length where it has none; `after_notes` if one may go on from the page
    before.

    Without that and without a mark, less than half of the page can be footnotes: a headnote is set small as well.
    """
    none, margin, usual_gap = len(page), left_margin(page), leading(page)
    if body is None or margin is None or usual_gap is None or any(None in line for line in page):
        return none
    first = next((n + 1 for n in reversed(range(none)) if (page[n].size or 0) >= SMALLER * body), 0)
    for start in range(first, none) if first else ():
        gap = (page[start - 1].y or 0) - (page[start].y or 0)
        left = usual((line.x, 1) for line in page[start:])
        marked = _MARK.match(page[start].text) is not None
        apart = start == first and gap > APART * usual_gap and (after_notes or first >= none / 2)
        if gap > 0 and (marked or apart) and left is not None and left < margin + 0.6 * body:
            return start
    return none


def _blocks(pages: Sequence[Page]) -> list[list[Line]]:
    """The lines of each paragraph."""
    blocks: list[list[Line]] = [[]]
    over = False
    for page in pages:
        gap, margin = leading(page), left_margin(page)
        for n, line in enumerate(page):
            before = blocks[-1][-1] if blocks[-1] else None
            if not line.text.strip():
                over = over or n > 0
                continue
            if before is not None and (over or _begins(line, before, blocks[-1], n == 0, gap, margin)):
                blocks.append([])
            blocks[-1].append(line)
            over = False
        over = over and bool(blocks[-1]) and _ended(blocks[-1][-1].text)
    return [block for block in blocks if block]


def _begins(
    line: Line, before: Line, block: Sequence[Line], turned: bool, gap: float | None, margin: float | None
) -> bool:
    """Whether a line begins a paragraph, after `before`, the last of `block`; `turned` if a page begins with it."""
    goes_on = before.text.endswith((",", "-", "\u00ad")) or (line.text[:1].islower() and not _ended(before.text))
    if goes_on or None in (line.x, line.y, line.size, before.x, before.y):
        return False
    assert line.x is not None and line.y is not None and line.size is not None  # for the type checker
    assert before.x is not None and before.y is not None
    indent = 0.5 * line.size
    if turned:
        indented = margin is not None and line.x > margin + indent
        return _ended(before.text) and (indented or _other_size(line, before))
    if _other_size(line, before) or (gap is not None and before.y - line.y > PARAGRAPH * gap):
        return True
    if line.x > before.x + indent:
        return margin is None or line.x > margin + indent
    headed = margin is not None and before.x > margin + CENTRED * line.size and line.x < margin + indent
    return headed or (line.x < before.x - indent and len(block) > 1 and abs((block[-2].x or 0) - before.x) < indent)


def _other_size(line: Line, before: Line) -> bool:
    return abs((line.size or 0) - (before.size or 0)) > 0.12 * (before.size or 1)


def usual(values: Iterable[tuple[float | None, int]]) -> float | None:
    """The commonest of the values that are known, with their weights, rounded to halves; None where there are none."""
    counted: Counter[float] = Counter()
    for value, weight in values:
        if value is not None:
            counted[round(2 * value) / 2] += weight
    return counted.most_common(1)[0][0] if counted else None


def left_margin(page: Page) -> float | None:
    """Where most lines of a page begin; None where no place is known."""
    return usual((line.x, 1) for line in page)


def leading(page: Page) -> float | None:
    """The usual distance between a line and the next below it, in 1/72 inch; None where it cannot be told."""
    places = [line.y for line in page if line.y is not None]
    return median(gaps) if (gaps := [above - below for above, below in pairwise(places) if above - below > 1]) else None


EDGE = 4
"""Lines from the edge of a page among which headers and footers are looked for."""
LONGEST = 300
"""Characters of a header."""
ALIKE = 0.85
"""How alike the letters of two headers are that differ by what a scanner misread."""
MOST_HEADERS = 20
"""Different headers with which a misread one is compared."""
_NUMBER = re.compile(r"\W*(\d{1,5})\W*")
_COUNTED = re.compile(r"\b(page|p|pg|página|pagina|pág|fl|fls|folha)\b\W*\d+(\s*(of|de|/)\s*\d+)?", re.IGNORECASE)
_OUTER_DIGITS = re.compile(r"^\W*\d*|\d*\W*$")
NUMBER = "#"


def furniture(pages: Sequence[Page]) -> list[set[int]]:
    """Per page the positions of the lines that are headers, footers or page numbers.

    A line is one if it lies at the edge of its page, with nothing but others between it and the edge, and its letters
    come again there on at least three pages (on two, where there are fewer than five, or behind another such line); a
    number at its beginning or end does not count, since it changes. A number alone counts if it grows with the pages,
    or stands before another such line. What heads the first page stays: it is the document's title as often as its
    header, and does no harm there once.
    """
    edges = [_edges(page) for page in pages]
    numbers: dict[int, set[tuple[int, int]]] = {}  # by how far they are ahead of their pages, page and position
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
            gone[n] |= _of_one_page(page, edges[n][side], times, 3 if len(pages) >= 5 else 2, n == 0 and side == 0)
    return gone


def _of_one_page(page: Page, edge: Sequence[int], times: Counter[str], least: int, titled: bool) -> set[int]:
    """Positions on one side of a page, from its edge inward, `times` being how many pages have a line there."""
    gone: set[int] = set()
    waiting: set[int] = set()
    for position in edge:
        text = page[position].text
        key = letters(text)
        if key == NUMBER:
            waiting.add(position)
            continue
        counted = len(text) <= LONGEST and _COUNTED.search(text) is not None
        known = (counted or not titled) and _known(key, times, 2 if gone else least)
        if not known and not (counted and not key):
            break
        gone |= {position} | waiting
        waiting = set()
    return gone


def letters(text: str) -> str:
    """By what a header is known again: its letters, and the digits among them; NUMBER for a number by itself. A long
    line is none."""
    if len(text) > LONGEST:
        return ""
    if _NUMBER.fullmatch(text):
        return NUMBER
    inner = _OUTER_DIGITS.sub("", _COUNTED.sub(" ", text)).lower()
    return "".join(character for character in inner if character.isalnum())


def _edges(page: Page) -> tuple[list[int], list[int]]:
    """Positions of the lines nearest to the top, from the top, and to the bottom, from the bottom.

    By their place where it is known: many programs set the header after the text.
    """
    filled = [n for n, line in enumerate(page) if line.text.strip()]
    if all(page[n].y is not None for n in filled):
        filled.sort(key=lambda n: -(page[n].y or 0.0))
    top = filled[:EDGE]
    return top, [n for n in reversed(filled[-EDGE:]) if n not in top[: len(filled) // 2]]


def _known(key: str, times: Counter[str], least: int) -> bool:
    """Whether a line comes again on `least` pages, by itself or, if it is long, misread."""
    if times.get(key, 0) >= least:
        return True
    often = (other for other, number in times.most_common(MOST_HEADERS) if number >= least)
    return len(key) >= 8 and any(difflib.SequenceMatcher(None, key, other).ratio() >= ALIKE for other in often)
