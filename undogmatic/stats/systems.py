"""Holds the order in which a judge puts systems against the order in which people put them.

References:
    Kendall (1938), A new measure of rank correlation. doi:10.1093/biomet/30.1-2.81
    Fieller, Hartley and Pearson (1957), Tests for rank correlation coefficients I.
    doi:10.1093/biomet/44.3-4.470, for the variance of the transformed coefficient
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from undogmatic.stats import corrected, means
from undogmatic.stats.checks import Array, Rng
from undogmatic.stats.corrected import Corrected
from undogmatic.stats.estimate import Estimate

FEWEST = 5
"""With fewer systems the coefficient has no limits but -1 and 1."""
_FIELLER = 0.437
_DRAWS = 400


def rank_correlation(
    judge: Sequence[Corrected],
    people: Sequence[Corrected],
    rng: Rng,
    level: float = 0.95,
) -> Estimate | None:
    """Estimate Kendall's rank correlation (tau b) of two means of each system, over systems and
    items like these.

    The error of drawing the systems is that of Fieller, Hartley and Pearson on the scale of
    Fisher's transformation. The error of drawing the items is what the coefficient moves by, on
    that scale, when all means are moved together by their errors.

    Args:
        judge, people: The judge's and people's mean of each system, in the same order, from the
            same groups.
    Returns:
        None with fewer than FEWEST systems, or where one side gives all systems the same mean.
    """
    ours = _values(judge)
    theirs = _values(people)
    n = ours.size
    # The variance over systems divides by n - 4.
    if n < FEWEST:
        return None
    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return None
    tau = float(_tau_b(ours, theirs))
    # Judge and people saw the same items, so that the errors of all means go together.
    errors = np.array([one.added for one in (*judge, *people)])
    covariance = errors @ errors.T
    means_of_both = np.r_[ours, theirs]
    # Of few groups the covariance is singular, which Cholesky's method would refuse.
    moved = rng.multivariate_normal(means_of_both, covariance, _DRAWS, method="eigh")
    tau_of_moved = _tau_b(moved[:, :n], moved[:, n:])
    of_moved = _transformed(tau_of_moved, n)
    by_items = float(of_moved.std())
    # The systems at hand are taken for a sample of such systems, because the question
    # is whether the next one will be ranked rightly.
    by_systems = math.sqrt(_FIELLER / (n - 4))
    reach = means.normal_quantile(level) * math.hypot(by_items, by_systems)
    middle = float(_transformed(np.array(tau), n))
    # Errors of means bring any order nearer to none. What moving them takes away once more, they
    # have taken away about as much already.
    without_errors = 2 * middle - float(of_moved.mean())
    lower, upper = sorted((middle, without_errors))
    low = math.tanh(lower - reach)
    high = math.tanh(upper + reach)
    labelled = [one.estimate for one in people if one.estimate is not None]
    n_items = sum(estimate.n for estimate in labelled)
    low = min(low, tau)
    high = max(high, tau)
    return Estimate(tau, low, high, level, n, n_items)


def smallest_difference(offsets: Sequence[Corrected]) -> float:
    """Find how far two systems' means by the judge must lie apart for people's means to lie apart
    in the same direction.

    Args:
        offsets: The mean of verdict minus label of each system, with limits of a level that allows
            for looking at all pairs (Bonferroni).
    Returns:
        The limit farthest from 0 of all differences between two offsets: what two systems differ by
        more than this, by the judge, they differ by in people's means too.
    """
    apart = [
        corrected.difference(one, other) for one, other in combinations(offsets, 2)
    ]
    known = [one for one in apart if one is not None]
    # The worst pair decides, since whoever compares two systems does not know whether
    # theirs is that pair.
    return max(max(-one.low, one.high) for one in known)


def directions(by_system: Sequence[Corrected]) -> Array:
    """Say of every two systems (i, j), i < j, which is shown to have the higher mean: 1 the first,
    -1 the second, 0 neither; shape (n_pairs,)."""
    apart = [
        corrected.difference(one, other) for one, other in combinations(by_system, 2)
    ]
    signs = [0 if one is None else _sign(one) for one in apart]
    return np.array(signs, dtype=np.float64)


def _sign(difference: Estimate) -> int:
    """Say on which side of 0 the whole interval lies: 1 above, -1 below, 0 on neither."""
    if difference.low > 0:
        return 1
    return -1 if difference.high < 0 else 0


def _values(by_system: Sequence[Corrected]) -> Array:
    estimates = [one.estimate for one in by_system]
    return np.array([np.nan if one is None else one.value for one in estimates])


def _tau_b(x: Array, y: Array) -> Array:
    """Compute Kendall's tau b along the last axis: concordant less discordant pairs, by the
    geometric mean of the pairs that are no ties in either; 0 where one has nothing but ties."""
    one, other = np.triu_indices(x.shape[-1], 1)
    first = np.sign(x[..., one] - x[..., other])
    second = np.sign(y[..., one] - y[..., other])
    untied_in_first = (first**2).sum(-1)
    untied_in_second = (second**2).sum(-1)
    most = np.sqrt(untied_in_first * untied_in_second)
    in_order = (first * second).sum(-1)
    return np.asarray(in_order / np.maximum(most, 1), np.float64)


def _transformed(tau: Array, n: int) -> Array:
    """Transform by Fisher; of an order with no exception, or with nothing else, half a pair counts
    as if it were otherwise, as the transformation would be infinite."""
    most = 1 - 2 / (n * (n - 1))
    return np.arctanh(np.clip(tau, -most, most))
