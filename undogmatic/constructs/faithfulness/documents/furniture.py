"""Running headers, running footers and page numbers: what stands at the edge of page after page."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence

from undogmatic.constructs.faithfulness.documents.lines import Page

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
    numbers = _page_numbers(pages, edges)
    found: list[set[int]] = [set() for _ in pages]
    for side in (0, 1):
        times = _times(pages, [edge[side] for edge in edges])
        for n, page in enumerate(pages):
            found[n] |= _of_one_page(page, edges[n][side], times, 3 if len(pages) >= 5 else 2, n == 0 and side == 0)
            found[n] |= {position for position in edges[n][side] if (n, position) in numbers}
    return found


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


def _times(pages: Sequence[Page], edges: Sequence[Sequence[int]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for page, positions in zip(pages, edges, strict=True):
        counted.update({letters(page[n].text) for n in positions} - {"", NUMBER})
    return counted


def _known(key: str, times: Counter[str], least: int) -> bool:
    """Whether a line comes again on `least` pages, by itself or, if it is long, misread."""
    if times.get(key, 0) >= least:
        return True
    often = (other for other, number in times.most_common(MOST_HEADERS) if number >= least)
    return len(key) >= 8 and any(difflib.SequenceMatcher(None, key, other).ratio() >= ALIKE for other in often)


def _page_numbers(pages: Sequence[Page], edges: Sequence[tuple[Sequence[int], Sequence[int]]]) -> set[tuple[int, int]]:
    """Page and position of the numbers that grow with the pages; of a single page, its 1."""
    found: dict[int, list[tuple[int, int]]] = {}
    for n, (page, sides) in enumerate(zip(pages, edges, strict=True)):
        for position in {*sides[0], *sides[1]}:
            if number := _NUMBER.fullmatch(page[position].text[: LONGEST + 1]):
                found.setdefault(int(number[1]) - n, []).append((n, position))
    return {
        place
        for offset, places in found.items()
        if len({n for n, _ in places}) > 1 or (len(pages) == 1 and offset == 1)
        for place in places
    }
