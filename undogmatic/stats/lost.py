"""Bounds what rows that could not be read could make of a number that was found on the others.

A mean is bounded by what the lost rows could have at most. A coefficient is computed again with
labels and verdicts that such rows might hold: labels like those that are known, and labels that are
half of one kind and half of another, as there agreement by chance is the least.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate

MOST = 20
"""Of more lost rows for each that was read, nothing else could follow."""


def mixed(
    estimate: Estimate,
    n_read: float,
    n_lost: float,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """Bound a mean of `n_read` values by what it would be if `n_lost` more were all at one of the
    ends."""
    if not n_lost:
        return estimate
    n = n_read + n_lost
    lowest, highest = ends
    # An estimate may have bounds from an earlier loss, to which this one is added.
    least = n_read * estimate.worst_low + n_lost * lowest
    most = n_read * estimate.best_high + n_lost * highest
    return estimate.replace(worst=least / n, best=most / n)


def widened(estimate: Estimate, thought: Iterable[Estimate | None]) -> Estimate:
    """Give an estimate the widest limits that it has in any of the cases thought of."""
    cases = [estimate, *(one for one in thought if one is not None)]
    if len(cases) == 1:
        return estimate
    worst = min(one.worst_low for one in cases)
    best = max(one.best_high for one in cases)
    return estimate.replace(worst=worst, best=best)


def labels(
    read: Array, ends: tuple[float, float], n: int
) -> Iterator[tuple[Array, Array]]:
    """Think of labels that lost rows might have, shape (n,), and of verdicts as far from these as
    can be.

    Args:
        read: Labels of the rows that were read, shape (n_read,).
        ends: The two labels farthest apart; of categories without an order the two most frequent.
    """
    low, high = ends
    # At even steps through the sorted labels: every label as often as among those read.
    even_steps = np.arange(n) * read.size // n
    like_those_read = np.sort(read)[even_steps]
    one_of_each = np.asarray(ends, dtype=np.float64)
    half_and_half = np.resize(one_of_each, n)
    for thought in (like_those_read, half_and_half):
        nearer_high = np.abs(thought - high) < np.abs(thought - low)
        yield thought, np.where(nearer_high, low, high)


def frequent(labels: Array, n_categories: int) -> tuple[float, float]:
    """Find the two most frequent categories; of those that nobody gave, the first."""
    counts = np.bincount(labels.astype(np.intp), minlength=max(n_categories, 2))
    first, second = np.argsort(-counts, kind="stable")[:2]
    return float(first), float(second)


def units(codes: Index, n: int) -> Index:
    """Number the units of all rows and of `n` lost ones, in units as large as the others."""
    n_units = int(codes.max()) + 1
    # Each by itself, lost rows would be many more independent units than so many rows are.
    size = math.ceil(codes.size / n_units)
    of_lost = n_units + np.arange(n) // size
    return np.concatenate([codes, of_lost]).astype(np.intp)
