"""The median of the means of all pairs of numbers, without making the means."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Row i of the table holds (x[i] + x[j]) / 2 for j >= i, ascending. So many averages may be made at once, per number.
_MADE_PER_NUMBER = 8


def median(values: Array) -> float:
    """Median of (x[i] + x[j]) / 2 over all i <= j, as `numpy.median` of them gives it, in linear memory.

    Of the averages still in question, the weighted median of the rows' medians cuts away at least a quarter each time
    (Johnson and Mizoguchi 1978, doi:10.1137/0207013); the rest is sorted once it is few. Time n log(n)^2.

    Args:
        values: Finite, shape (n,), n >= 1.
    """
    x = np.sort(values)
    total = x.size * (x.size + 1) // 2
    middle = _selected(x, (total - 1) // 2)
    return float(middle if total % 2 else (middle + _selected(x, total // 2)) / 2)


def _selected(x: Array, rank: int) -> float:
    """The average with `rank` smaller or equal ones before it."""
    n = x.size
    rows = np.arange(n)
    low, high = rows.copy(), np.full(n, n)  # what is in question of each row: columns low to high - 1
    while True:
        width = high - low
        if width.sum() <= _MADE_PER_NUMBER * n:
            row = np.repeat(rows, width)
            column = np.arange(width.sum()) + np.repeat(low - (np.cumsum(width) - width), width)
            rest = (x[row] + x[column]) / 2
            return float(np.partition(rest, rank - int((low - rows).sum()))[rank - int((low - rows).sum())])
        asked = width > 0
        own = (x[rows[asked]] + x[(low + width // 2)[asked]]) / 2
        order = np.argsort(own)
        weight = np.cumsum(width[asked][order])
        pivot = own[order[np.searchsorted(weight, weight[-1] / 2)]]
        below, upto = _ends(x, pivot, strict=True), _ends(x, pivot, strict=False)
        if rank < (below - rows).sum():
            high = np.minimum(high, below)
        elif rank >= (upto - rows).sum():
            low = np.maximum(low, upto)
        else:
            return float(pivot)
        high = np.maximum(low, high)


def _ends(x: Array, pivot: float, strict: bool) -> NDArray[np.intp]:
    """Per row i the first column j >= i whose average is not below (or, unless strict, not at) `pivot`.

    Averages are compared as they are rounded, so that no pair is taken for the pivot that does not equal it.
    """
    n = x.size
    rows = np.arange(n)
    first, last = rows.copy(), np.full(n, n)
    while True:
        searching = first < last
        if not searching.any():
            return first
        middle = (first + last) // 2
        average = (x + x[np.minimum(middle, n - 1)]) / 2
        before = average < pivot if strict else average <= pivot
        first = np.where(searching & before, middle + 1, first)
        last = np.where(searching & ~before, middle, last)
