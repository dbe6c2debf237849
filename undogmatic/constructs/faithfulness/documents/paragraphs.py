"""Lines become paragraphs: what was divided at line ends and page ends is joined, and footnotes are kept apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.documents.lines import Line, Page, body_size, leading, left_margin, usual

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
    size = body_size(pages)
    parted: list[tuple[list[Line], list[Line]]] = []
    for page in pages:
        parted.append(_parted(page, size, bool(parted and parted[-1][1])))
    body = _blocks([main for main, _ in parted])
    notes: list[list[Line]] = []
    for _, foot in parted:
        for line in foot:
            if _RULE.fullmatch(line.text):
                continue
            if not notes or (_MARK.match(line.text) and not notes[-1][-1].text.endswith((",", "-", "\u00ad"))):
                notes.append([])
            notes[-1].append(line)
    return Texts([joined(block, words) for block in body], [joined(note, words) for note in notes])


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
            found = _WORD.findall(line.lower())
            ends = _cut(line) is not None
            self.whole.update(found[1 if cut else 0 : len(found) - 1 if ends else len(found)])
            cut = ends

    def join(self, first: str, blank: str, hyphen: str, second: str, chained: bool) -> str:
        """The word that a line end divides, or its two parts with what stood between them.

        Args:
            first, blank, hyphen: The last letters of the line, a blank if one follows, and its hyphen. Some programs
                write every hyphen at a line's end as a soft one, so its kind says nothing.
            second: The first letters of the next line.
            chained: Whether a hyphen stands before `first` as well (time-and-a-half).
        """
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


def _parted(page: Page, body: float | None, after_notes: bool) -> tuple[list[Line], list[Line]]:
    """The lines of a page, and its footnotes; `after_notes` if one may go on from the page before.

    Without that and without a mark, less than half of the page can be footnotes: a headnote is set small as well.
    """
    lines = list(page)
    if body is None or any(line.size is None or line.x is None or line.y is None for line in lines):
        return lines, []
    first = len(lines)
    while first and (lines[first - 1].size or 0) < SMALLER * body:
        first -= 1
    start, usual_gap, margin = first, leading(lines), left_margin(lines)
    above = lines[start - 1] if start else None
    while start < len(lines) and above is not None and usual_gap is not None and margin is not None:
        gap = (above.y or 0) - (lines[start].y or 0)
        left = usual((line.x or 0, 1) for line in lines[start:])
        marked = _MARK.match(lines[start].text) is not None
        apart = start == first and gap > APART * usual_gap and (after_notes or first >= len(lines) / 2)
        if gap > 0 and (marked or apart) and left is not None and left < margin + 0.6 * body:
            return lines[:start], lines[start:]
        above, start = lines[start], start + 1
    return lines, []


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
