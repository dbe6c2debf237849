"""The same judge on the same items, twice: does it repeat itself."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks
from undogmatic.stats.agreement import Correlation, correlation, exact_match, max_abs_difference
from undogmatic.stats.estimate import Estimate


class BackToBack(NamedTuple):
    """Differences are second run minus first, in score units; correlations are typed None where a run is constant."""

    n: int
    pearson: Correlation
    spearman: Correlation
    mean_difference: float
    mean_abs_difference: float
    max_abs_difference: float
    sd_within: float
    exact_match: Estimate


def back_to_back(
    first: ArrayLike,
    second: ArrayLike,
    tolerance: float = 0.0,
    level: float = 0.95,
    *,
    groups: Sequence[object] | ArrayLike | None = None,
) -> BackToBack:
    """Reliability of two runs over the same items, in the same order.

    `sd_within`, the typical error of a single score, is sqrt(mean squared difference / 2): two scores of one item by
    the same judge differ by less than 2.77 times it in 95 % of repeats. Items that failed in either run must be left
    out and counted by the caller; a correlation near 1 may only say that the items are far apart.

    Args:
        first: Scores of the first run, shape (n,), n >= 3, in score units.
        second: Scores of the second run, shape (n,).
        tolerance: Largest difference that counts as an exact match, in score units.
        level: Confidence level of the exact-match interval.
        groups: What belongs together, shape (n,); None takes each item for itself.
    Raises:
        ValueError: If there are fewer than three items, NaN, or the lengths differ.
    References:
        Bland and Altman (1996), Measurement error. doi:10.1136/bmj.313.7059.744
    """
    a, b = checks.paired_vectors(first, second, ("first", "second"), minimum=3)
    d = b - a
    return BackToBack(
        n=d.size,
        pearson=correlation("pearson", a, b),
        spearman=correlation("spearman", a, b),
        mean_difference=float(np.mean(d)),
        mean_abs_difference=float(np.mean(np.abs(d))),
        max_abs_difference=max_abs_difference(a, b),
        sd_within=float(np.sqrt(np.mean(d**2) / 2)),
        exact_match=exact_match(a, b, tolerance, level, groups=groups),
    )
