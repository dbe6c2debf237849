"""Joins the lines of pages to paragraphs, without headers, footers and page numbers, and keeps footnotes apart."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

SMALLER = 0.95  # of the size of the body: what is smaller, at the foot of a page, may be a footnote
APART = 1.2  # times the usual distance of lines: so far a footnote stands from the body, if it bears no mark
PARAGRAPH = 1.3  # times the usual distance of lines: more than that divides paragraphs
CENTRED = 4  # times the size of the letters: a line that begins farther in stands in the middle, as a heading does
_MARK = re.compile(r"([*†‡§]{1,3}|\d{1,3})[.)]?\s?[A-Z“\"‘'(\[§]|[—–_-]{4,}$")
_RULE = re.compile(r"[—–_*-]{4,}\s*")
LONGEST_WORD = 40
_CUT = re.compile(rf"([^\W\d_]{{1,{LONGEST_WORD}}})( ?)([-\u2010\u00ad])$")
_ENCLITICS = ("se", "lhe", "lhes", "lo", "la", "los", "las")  # Portuguese pronouns that a hyphen ties to their verb
_HEAD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
ENDS = (".", "!", "?", ":", ";", "”", '"', "’", "'", ")", "]")


class PageLine(NamedTuple):
    """One line of a page. Places are in 1/72 inch, from the lower left corner of the page; all 0 in a text file."""

    text: str  # as it was read, without the blanks around it
    x: float = 0.0
    y: float = 0.0
    size: float = 0.0  # of its letters, in 1/72 inch


Page = Sequence[PageLine]


def paragraphs(pages: Sequence[Page]) -> tuple[list[str], list[str]]:
    """The paragraphs of the body, and the footnotes, of pages without headers and footers, in the pages' order.

    Where the places of lines are known, a paragraph begins with an indent, a larger distance or another size; where
    they are not, after an empty line. A footnote is what stands smaller at the foot of a page, from its mark or from a
    larger distance on; it ends up behind the body, since it would divide a sentence that runs over two pages.
    """
    words = Vocabulary(line.text for page in pages for line in page)
    size = _usual((line.size, len(line.text)) for page in pages for line in page)
    main, feet = list[Page](), list[Page]()
    for page in pages:
        start = _notes_start(page, size, bool(feet and feet[-1]))
        main.append(page[:start])
        feet.append(page[start:])
    notes: list[list[PageLine]] = []
    for line in (line for foot in feet for line in foot if not _RULE.fullmatch(line.text)):
        if not notes or (_MARK.match(line.text) and not notes[-1][-1].text.endswith((",", "-", "\u00ad"))):
            notes.append([])
        notes[-1].append(line)
    return [joined(block, words) for block in _blocks(main)], [joined(note, words) for note in notes]


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
        return f"{first}-{second}" if both or f"{first}-{second}".lower() in self.whole else first + second


def joined(lines: Page, words: Vocabulary) -> str:
    """Lines as one paragraph, without the hyphens that divide words at their ends."""
    pieces = [""]  # never joined before the end: a text of a million lines would be copied for each
    for line in lines:
        following = " ".join(line.text.split())
        last = pieces[-1]
        cut, head = _cut(last), _HEAD.match(following)
        if cut is not None and head is not None:
            pieces[-1] = last[: len(last) - len(cut[0])]
            chained = pieces[-1].endswith(("-", "\u2010"))
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


def _notes_start(page: Page, body: float, after_notes: bool) -> int:
    """Where the footnotes of a page begin, its length where it has none; `after_notes` if one may go on from the page
    before.

    Without that and without a mark, less than half of the page can be footnotes: a headnote is set small as well.
    """
    none, margin, usual_gap = len(page), _left_margin(page), _leading(page)
    first = next((n + 1 for n in reversed(range(none)) if page[n].size >= SMALLER * body), 0)
    for start in range(first, none) if first and usual_gap < inf else ():
        gap = page[start - 1].y - page[start].y
        marked = _MARK.match(page[start].text) is not None
        apart = start == first and gap > APART * usual_gap and (after_notes or first >= none / 2)
        if gap > 0 and (marked or apart) and _left_margin(page[start:]) < margin + 0.6 * body:
            return start
    return none


def _blocks(pages: Sequence[Page]) -> list[list[PageLine]]:
    """The lines of each paragraph."""
    blocks: list[list[PageLine]] = [[]]
    over = False
    for page in pages:
        gap, margin = _leading(page), _left_margin(page)
        for n, line in enumerate(page):
            if not line.text.strip():
                over = over or n > 0
                continue
            if blocks[-1] and (over or _begins(line, blocks[-1], n == 0, gap, margin)):
                blocks.append([])
            blocks[-1].append(line)
            over = False
        over = over and bool(blocks[-1]) and _ended(blocks[-1][-1].text)
    return [block for block in blocks if block]


def _begins(line: PageLine, block: Page, turned: bool, gap: float, margin: float) -> bool:
    """Whether a line begins a paragraph, after the lines of `block`; `turned` if a page begins with it."""
    before, indent = block[-1], 0.5 * line.size
    if before.text.endswith((",", "-", "\u00ad")) or (line.text[:1].islower() and not _ended(before.text)):
        return False
    other_size = abs(line.size - before.size) > 0.12 * (before.size or 1)
    if turned:
        return _ended(before.text) and (line.x > margin + indent or other_size)
    if other_size or before.y - line.y > PARAGRAPH * gap:
        return True
    if line.x > before.x + indent:
        return line.x > margin + indent
    headed = before.x > margin + CENTRED * line.size and line.x < margin + indent
    return headed or (line.x < before.x - indent and len(block) > 1 and abs(block[-2].x - before.x) < indent)


def _usual(values: Iterable[tuple[float, int]]) -> float:
    """The commonest of values with their weights, rounded to halves; 0 where there are none."""
    counted: Counter[float] = Counter()
    for value, weight in values:
        counted[round(2 * value) / 2] += weight
    return counted.most_common(1)[0][0] if counted else 0.0


def _left_margin(page: Page) -> float:
    """Where most lines of a page begin."""
    return _usual((line.x, 1) for line in page)


def _leading(page: Page) -> float:
    """The usual distance between a line and the next below it, in 1/72 inch; infinite where it cannot be told."""
    gaps = [above.y - below.y for above, below in pairwise(page)]
    return median([gap for gap in gaps if gap > 1] or [inf])


EDGE = 4  # lines from the edge of a page among which headers and footers are looked for
LONGEST = 300  # characters of a header
ALIKE = 0.85  # how alike the letters of two headers are that differ by what a scanner misread
MOST_HEADERS = 20  # different headers with which a misread one is compared
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
    edges: list[tuple[list[int], list[int]]] = []  # positions nearest to the top, and to the bottom, from it inward
    for page in pages:
        # By their place where it is known: many programs set the header after the text.
        filled = sorted((n for n, line in enumerate(page) if line.text.strip()), key=lambda n: -page[n].y)
        top = filled[:EDGE]
        edges.append((top, [n for n in reversed(filled[-EDGE:]) if n not in top[: len(filled) // 2]]))
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
    gone, waiting = set[int](), set[int]()
    for position in edge:
        text = page[position].text
        key, enough = letters(text), 2 if gone else least
        if key == NUMBER:
            waiting.add(position)
            continue
        counted = len(text) <= LONGEST and _COUNTED.search(text) is not None
        # It comes again by itself or, if it is long, misread.
        often = (other for other, number in times.most_common(MOST_HEADERS) if number >= enough)
        again = times.get(key, 0) >= enough or (
            len(key) >= 8 and any(difflib.SequenceMatcher(None, key, other).ratio() >= ALIKE for other in often)
        )
        if not (again and (counted or not titled)) and (key or not counted):
            break
        gone |= {position} | waiting
        waiting = set()
    return gone


def letters(text: str) -> str:
    """By what a header is known again: its letters, and the digits among them; NUMBER for a number by itself. A long
    line is none."""
    if len(text) > LONGEST or _NUMBER.fullmatch(text):
        return "" if len(text) > LONGEST else NUMBER
    inner = _OUTER_DIGITS.sub("", _COUNTED.sub(" ", text)).lower()
    return "".join(character for character in inner if character.isalnum())
