"""Bounds what rows that could not be read could make of a number that was found on the others.

A mean is bounded by what the lost rows could have at most. A coefficient is computed again with
labels and verdicts that such rows might hold: labels like those that are known, and labels that are
half of one kind and half of another, as there agreement by chance is the least.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate

MOST = 20
"""Of more lost rows for each that was read, nothing else could follow."""


def mixed(
    found: Estimate, known: float, lost: float, ends: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """A mean of `known` values with its limits if `lost` more were all at one of the ends."""
    if not lost:
        return found
    low, high = (
        (known * limit + lost * end) / (known + lost)
        for limit, end in zip((found.worst_low, found.best_high), ends, strict=True)
    )
    return found.replace(worst=low, best=high)


def widened(found: Estimate, thought: Iterable[Estimate | None]) -> Estimate:
    """An estimate with the widest limits that it has in any of the cases thought of."""
    cases = [one for one in thought if one is not None]
    if not cases:
        return found
    worst = min(found.worst_low, *(one.worst_low for one in cases))
    best = max(found.best_high, *(one.best_high for one in cases))
    return found.replace(worst=worst, best=best)


def labels(known: Array, ends: tuple[float, float], n: int) -> Iterator[tuple[Array, Array]]:
    """Labels that lost rows might have, shape (n,), and verdicts as far from these as can be.

    Args:
        known: Labels of the rows that were read, shape (n_known,).
        ends: The two labels farthest apart; of categories without an order the two most frequent.
    """
    low, high = ends
    alike = np.sort(known)[np.arange(n) * known.size // n]
    for thought in (alike, np.resize(np.asarray(ends, dtype=np.float64), n)):
        nearer_high = np.abs(thought - high) < np.abs(thought - low)
        yield thought, np.where(nearer_high, low, high)


def frequent(known: Array, n_categories: int) -> tuple[float, float]:
    """The two most frequent categories; of those that nobody gave, the first."""
    counts = np.bincount(known.astype(np.intp), minlength=max(n_categories, 2))
    most = np.argsort(-counts, kind="stable")[:2]
    return float(most[0]), float(most[1])


def units(codes: Index, n: int) -> Index:
    """The codes of all rows with those of `n` lost ones, in units as large as the others."""
    n_units = int(codes.max()) + 1
    size = -(-codes.size // n_units)
    return np.concatenate([codes, n_units + np.arange(n) // size]).astype(np.intp)
