"""How sure a ranking of a few systems is that were tried on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import checks, resampling

Array = NDArray[np.float64]


class Ranks(NamedTuple):
    """Per system, shape (n_systems,) each: its place by the mean (1 is the highest, ties share the mean place), the
    ends of the interval of its place, and the share of resamples in which it comes first (ties split it)."""

    place: Array
    low: Array
    high: Array
    first: Array
    level: float
    n_units: int


def ranks(
    values: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 2000,
    *,
    groups: Sequence[object] | ArrayLike | None = None,
) -> Ranks:
    """Places of systems by their means over cases, with percentile intervals of a bootstrap over cases.

    Whole cases are drawn, so that systems stay compared on the same ones. With few cases the bootstrap sees too little
    of what other cases would do, and its intervals are too narrow: they describe, and tests between systems decide.

    Args:
        values: Shape (n_cases, n_systems), high is good.
        rng: The source of randomness.
        level: Confidence level of each interval.
        n_resamples: Number of resamples.
        groups: What belongs together, shape (n_cases,).
    Raises:
        ValueError: If a value is NaN, or there are no two systems.
    References:
        Goldstein and Spiegelhalter (1996), League tables and their limitations. doi:10.2307/2983325
    """
    table = checks.rows(values, "values")
    checks.share(level, "level")
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"`values` has shape {table.shape}; a ranking needs (n_cases, at least 2 systems).")
    codes = checks.groups(groups, len(table))
    units = resampling.Units(codes)
    means = np.concatenate([table.take(drawn, axis=0).mean(axis=1) for drawn in units.draws(rng, n_resamples)])
    means = means.round(12)  # equal means differ in the last digits by the order of their sums
    places = stats.rankdata(-means, axis=1)
    ahead = means == means.max(axis=1, keepdims=True)
    low, high = np.quantile(places, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    own = stats.rankdata(-table.mean(axis=0).round(12))
    first = (ahead / ahead.sum(axis=1, keepdims=True)).mean(axis=0)
    return Ranks(own, np.minimum(low, own), np.maximum(high, own), first, level, units.n)
