"""What a page is before it is text: its lines, and where they stand, as far as that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple


class Line(NamedTuple):
    """One line of a page.

    Attributes:
        text: As it was read, without the blanks around it.
        x, y: Where it begins, from the page's lower left corner, in 1/72 inch; None in a file without pages.
        size: Of its letters, in the same; None as well.
    """

    text: str
    x: float | None = None
    y: float | None = None
    size: float | None = None


Page = Sequence[Line]


def usual(values: Iterable[tuple[float, int]]) -> float | None:
    """The commonest of values with their weights, rounded to halves; None where there are none."""
    counted: Counter[float] = Counter()
    for value, weight in values:
        counted[round(2 * value) / 2] += weight
    return counted.most_common(1)[0][0] if counted else None


def body_size(pages: Iterable[Page]) -> float | None:
    """The size in which most letters of a document are set; None where no size is known."""
    return usual((line.size, len(line.text)) for page in pages for line in page if line.size is not None)


def left_margin(page: Page) -> float | None:
    """Where most lines of a page begin; None where no place is known."""
    return usual((line.x, 1) for line in page if line.x is not None)


def leading(page: Page) -> float | None:
    """The usual distance between a line and the next below it, in 1/72 inch; None where it cannot be told."""
    places = [line.y for line in page if line.y is not None]
    gaps = [above - below for above, below in pairwise(places) if above - below > 1]
    return median(gaps) if gaps else None
