"""An interval for a mean that holds however often one looks and whenever one stops.

A 95 % interval of one sample size, looked at after every value and believed when it first suits, is wrong far more
often than in 5 % of cases. A confidence sequence is wrong at any time at all in 5 %: it is for runs that a budget, a
kill or a reader ends, and for labels that come in one by one. The price is a wider interval at each size.

References:
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting. doi:10.1093/jrsssb/qkad009
    Waudby-Smith and Ramdas (2020), Confidence sequences for sampling without replacement. arXiv:2006.04347
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks
from undogmatic.stats.estimate import Estimate

Array = NDArray[np.float64]
GRID = 1001
"""Means that are tried, over the whole scale; an end of the interval is the last that is refused, so that rounding
widens it, by at most a thousandth of the scale."""

_CAP = 0.5  # of the largest bet that cannot lose everything
_AT_ONCE = 2**20  # cells of values by means


class Anytime(NamedTuple):
    """Mean of `n_total` units of which `n` are known, in the values' own units; `low` to `high` held at every look."""

    estimate: Estimate
    n_total: int


def mean_so_far(values: ArrayLike, n_total: int, minimum: float, maximum: float, *, level: float = 0.95) -> Anytime:
    """Mean of a finite number of units from those that came first, in an order that has nothing to do with values.

    A bet is laid against every possible mean, value by value; a mean against which the money would once have grown
    1 / (1 - level)-fold is refused for good. The interval shrinks to the mean itself when all units are known.

    Args:
        values: Values in the order in which they came, shape (n,), each between `minimum` and `maximum`.
        n_total: How many units there are, `n` or more.
        minimum, maximum: Ends of the scale.
        level: Confidence level, for all looks together.
    Raises:
        ValueError: For NaN, no value, a value off the scale, fewer units than values, or an empty scale.
    """
    x = checks.vector(values, "values")
    checks.share(level, "level")
    if not maximum > minimum:
        raise ValueError(f"`minimum` is {minimum} and `maximum` {maximum}; the scale must be wider than nothing.")
    if n_total < x.size:
        raise ValueError(f"`n_total` is {n_total}, fewer than the {x.size} values.")
    if x.min() < minimum or x.max() > maximum:
        raise ValueError(f"`values` must lie between {minimum:g} and {maximum:g}.")
    span = maximum - minimum
    y = (x - minimum) / span
    possible = np.linspace(0, 1, GRID)
    kept = np.flatnonzero(_survives(y, n_total, possible, level))
    total = float(y.sum())
    floor, ceiling = total / n_total, (total + n_total - x.size) / n_total
    # Where rounding or a rare sample leaves none, the mean of what is known is the least wrong answer.
    first, last = (int(kept[0]), int(kept[-1])) if kept.size else (round(float(y.mean()) * (GRID - 1)),) * 2
    mean = float(y.mean())
    low = min(max(float(possible[max(first - 1, 0)]), floor), mean)
    high = max(min(float(possible[min(last + 1, GRID - 1)]), ceiling), mean)
    value, low, high = (minimum + span * end for end in (mean, low, high))
    return Anytime(Estimate(value, low, high, level, x.size, x.size), n_total)


def mean_so_far_of_groups(
    values: ArrayLike,
    groups: Sequence[object] | ArrayLike,
    of_all: Sequence[object] | ArrayLike,
    minimum: float,
    maximum: float,
    *,
    level: float = 0.95,
) -> Anytime | None:
    """The same where values of one group (two texts of a pair) come together: groups are the looks.

    A group counts when all its values are known, in the order in which groups became whole. The mean is of values, so
    that a larger group counts for more.

    Args:
        values: Shape (n,), in the order in which they came.
        groups: Group of each, shape (n,).
        of_all: Group of every value that there is to be, known or not, shape (n_total,).
        minimum, maximum: Ends of the scale.
        level: Confidence level, for all looks together.
    Returns:
        Mean, limits, and the numbers of values, not of groups; None where no group is whole.
    Raises:
        ValueError: As `mean_so_far`.
    """
    v = checks.vector(values, "values")
    if v.min() < minimum or v.max() > maximum:
        raise ValueError(f"`values` must lie between {minimum:g} and {maximum:g}.")
    sizes = Counter(list(of_all))  # type: ignore[arg-type]
    sums: dict[object, float] = {}
    seen: Counter[object] = Counter()
    whole, n = [], 0
    for value, name in zip(v, list(groups), strict=True):  # type: ignore[arg-type]
        sums[name] = sums.get(name, 0.0) + float(value) - minimum
        seen[name] += 1
        if seen[name] == sizes[name]:
            whole.append(sums[name])
            n += sizes[name]
    if not whole:
        return None
    n_total = sizes.total()
    # No group's sum is above that of the largest group at the end of the scale; rounding may be.
    most = (maximum - minimum) * max(sizes.values())
    found = mean_so_far(np.minimum(whole, most), len(sizes), 0.0, most, level=level).estimate
    ends = (minimum + end * len(sizes) / n_total for end in (found.value, *found.interval))
    value, low, high = (min(end, maximum) for end in ends)
    return Anytime(Estimate(value, low, high, level, len(whole), n), n_total)


def _survives(y: Array, n_total: int, means: Array, level: float) -> NDArray[np.bool_]:
    """For which means neither bet ever won enough, shape (n_means,)."""
    limit = np.log(2 / (1 - level))
    n = np.arange(1, y.size + 1)
    before = np.cumsum(y) - y
    # Bets follow the spread of earlier values about their running mean (PrPl in the paper, section 4).
    running = (0.5 + np.cumsum(y)) / (n + 1)
    spread = (0.25 + np.cumsum((y - running) ** 2)) / (n + 1)
    spread = np.concatenate([[0.25], spread[:-1]])
    bet = np.sqrt(2 * limit / (spread * n * np.log1p(n)))
    wealth = np.zeros((2, means.size))
    survives = np.ones(means.size, dtype=np.bool_)
    step = max(1, _AT_ONCE // means.size)
    for start in range(0, y.size, step):
        part = slice(start, start + step)
        # What the next value is expected to be, if the mean of all is this and no unit comes twice.
        expected = (n_total * means[None, :] - before[part, None]) / (n_total - n[part, None] + 1)
        expected = np.clip(expected, 0, 1)
        beyond = y[part, None] - expected
        up = np.minimum(bet[part, None], _CAP / np.maximum(expected, 1e-9))
        down = np.minimum(bet[part, None], _CAP / np.maximum(1 - expected, 1e-9))
        for row, gain in enumerate((up * beyond, -down * beyond)):
            course = wealth[row] + np.cumsum(np.log1p(gain), axis=0)
            survives &= course.max(axis=0) < limit
            wealth[row] = course[-1]
    return survives
