"""Compares several judges on the same items: the test of two judges' agreement with people, and the
errors they share.

A panel of judges errs less than one of them only as far as their errors are not the same. Errors
with mean correlation phi among k judges cancel as those of k / (1 + (k - 1) phi) independent judges
do (Kish's design effect).

References:
    McNemar (1947), Note on the sampling error of the difference between correlated proportions.
    doi:10.1007/BF02295996 Kish (1965), Survey sampling, section 5.4.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate


class Paired:
    """How much more one judge agrees with people than another, on the items that both judged.

    Args:
        one, other: Agreement of each per item, shape (n,), NaN where a judge gave no verdict.
        groups: Independent unit of each item, codes from 0, shape (n,).
        reach: Largest difference that two items can show; None where there is none.
    """

    def __init__(
        self, one: Array, other: Array, groups: Index, reach: float | None = None
    ) -> None:
        both = ~(np.isnan(one) | np.isnan(other))
        apart = one[both] - other[both]
        total = np.bincount(groups[both], apart).astype(np.float64)
        size = np.bincount(groups[both]).astype(np.float64)
        # A group of which both judged nothing is no unit.
        judged = size > 0
        self.units = means.Sums(total[judged], size[judged])
        self.n = apart.size
        self.n_units = self.units.size.size
        self.difference = float(apart.mean()) if apart.size else float("nan")
        self.none = bool(np.all(np.abs(apart) <= 1e-9))
        self._bounds: means.Bounds | None = None
        if reach is not None:
            largest = float(np.max(np.abs(apart), initial=0))
            # Rounding may put a difference a little beyond what it can be.
            reach = max(reach, largest)
            self._bounds = -reach, reach
        # Only then is "more or less right" a toss of a coin; grades may be nearer by a
        # little or by a lot, which McNemar's test would not see.
        right_or_wrong = bool(np.isin(np.abs(apart), (0, 1)).all())
        self._countable = self.n == self.n_units and right_or_wrong

    def interval(self, level: float) -> Estimate:
        """Estimate the difference with its interval over groups."""
        return means.of_sums(self.units, level, self._bounds).replace(n=self.n)

    @property
    def p(self) -> float:
        """Test that there is no difference: McNemar's exact test where each item is a group and
        right or wrong, else Student's."""
        if self._countable:
            more = int(np.sum(self.units.total > 0))
            less = int(np.sum(self.units.total < 0))
            fewer = min(more, less)
            # Items that both got right, or both wrong, do not say which judge is better: of the
            # others each is a toss of a coin if there is no difference.
            one_side = float(special.bdtr(fewer, more + less, 0.5))
            # Both sides together would be above 1 where as many are better as are worse.
            return min(1.0, 2 * one_side)
        se, df, _ = means.spread(self.units, self.difference)
        if se > 0:
            t = -abs(self.difference) / se
            return float(2 * special.stdtr(df, t))
        # Without spread the difference is certain: either it is none, or it is one for sure.
        return float(self.none)


class SharedErrors(NamedTuple):
    """Errors of judges on items that all of them judged.

    `phi` is the correlation of the errors of each two, shape (k, k), NaN for a judge that always
    errs alike; `mean` is that of all pairs.
    """

    phi: Array
    mean: Estimate
    judges: int

    @property
    def effective(self) -> float:
        """As many independent judges would err as little together, when their verdicts are
        averaged."""
        inflation = 1 + (self.judges - 1) * self.mean.value
        # Judges that err in opposite ways cancel out; more than k squared is not claimed of them.
        return self.judges / max(inflation, 1 / self.judges)


def shared_errors(
    errors: Array, groups: Index, level: float = 0.95
) -> SharedErrors | None:
    """Correlate the errors of judges; None where fewer than two of them vary, or with fewer than
    two groups.

    The interval of the mean correlation is that of the mean of its influence values over groups.

    Args:
        errors: Error of each judge per item, shape (n_items, n_judges): wrong or not, or by how
            much and which way.
        groups: Independent unit of each item, shape (n_items,).
    References:
        Devlin, Gnanadesikan and Kettenring (1975), doi:10.1093/biomet/62.3.531, for the influence
        of a correlation.
    """
    n, n_judges = errors.shape
    if np.unique(groups).size < 2:
        return None
    varies = np.ptp(errors, axis=0) > checks.SAME
    k = int(varies.sum())
    if k < 2:
        return None
    varying = errors[:, varies]
    z = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    correlation = z.T @ z / n
    # Less 1, because a judge's correlation with itself is on the diagonal.
    with_others = (correlation.sum(axis=1) - 1) / (k - 1)
    mean = float(with_others.mean())
    # An item moves the correlation of two judges by z1 z2 - r (z1^2 + z2^2) / 2; this is its mean
    # over all pairs of judges.
    # (Sum of z)^2 less the sum of z^2 is the sum over pairs, so that no pair is looked at.
    squares = z**2
    over_pairs = z.sum(axis=1) ** 2 - squares.sum(axis=1)
    n_pairs = k * (k - 1)
    influence = over_pairs / n_pairs - squares @ with_others / k
    interval = means.interval(mean + influence, level, groups=groups)
    phi = np.full((n_judges, n_judges), np.nan)
    phi[np.ix_(varies, varies)] = correlation
    # The interval of a mean knows nothing of the ends of a correlation.
    low = max(interval.low, -1.0)
    high = min(interval.high, 1.0)
    estimate = Estimate(mean, low, high, level, interval.n_groups, n)
    return SharedErrors(phi, estimate, k)


FEWEST_GROUPS = 5
"""With labelled items of fewer groups nothing is known of how uncertain an error is."""


class Worth(NamedTuple):
    """What judges were worth on labelled items, each array of shape (k,).

    `error` is the mean squared error, `inverse` the weights 1 / error and `weights` those drawn
    towards equal ones; each sums to 1. `kept` is the share of the differences that was kept: 0
    gives equal weights, 1 those of the inverse errors.
    """

    error: Array
    inverse: Array
    weights: Array
    kept: float


def worth(squared: Array, groups: Index) -> Worth:
    """Weigh judges by the inverse of their mean squared error, drawn towards equal weights as far
    as the differences between the errors may be chance.

    For unbiased judges with independent errors no weights give the mean a smaller variance than
    the inverse of the true errors. Those of a sample are uncertain, so the logarithms of the errors
    are drawn towards their mean: by the part of their variance that leaving groups out explains
    (a moment estimate, as of an empirical Bayes mean). Two judges with equal errors, or few
    labelled items, so have nearly equal weights.

    Args:
        squared: Squared error of each judge per item, shape (n_items, k), k at least 2, no judge
            without any error.
        groups: Independent unit of each item, codes from 0, shape (n_items,); at least
            FEWEST_GROUPS of them.
    Raises:
        ValueError: If a judge has no error, or there are too few groups or judges.
    References:
        Bates and Granger (1969), The combination of forecasts. doi:10.1057/jors.1969.103
        Morris (1983), Parametric empirical Bayes inference. doi:10.1080/01621459.1983.10477920
    """
    total = np.array([np.bincount(groups, of_judge) for of_judge in squared.T])
    size = np.bincount(groups)
    k = len(total)
    n_groups = int((size > 0).sum())
    error = squared.mean(axis=0)
    if k < 2 or n_groups < FEWEST_GROUPS or not (error > 0).all():
        raise ValueError(
            f"squared: {k} judges with the errors {error} over {n_groups} groups; weights need two"
            f" judges, an error above 0 of each and {FEWEST_GROUPS} groups."
        )
    # Errors are compared by their ratio: a judge with half the error of another is as
    # much better at 0.1 as at 10.
    logs = np.log(error)
    centred = logs - logs.mean()
    # A group left out moves the logarithm of an error by this (its influence, divided by n).
    per_judge = error[:, None]
    influence = (total - per_judge * size) / (per_judge * size.sum())
    # What makes all judges better or worse at once says nothing of who is the best.
    apart = influence - influence.mean(axis=0)
    # The part of the variance of the logarithms that drawing other groups would make.
    by_groups = float((apart**2).sum()) / (k - 1)
    chance = by_groups * n_groups / (n_groups - 1)
    spread = float((centred**2).sum()) / (k - 1)
    kept = 0.0
    if spread > checks.SAME:
        kept = max(0.0, 1 - chance / spread)
    inverse = np.exp(-centred)
    inverse_shares = inverse / inverse.sum()
    weights = np.exp(-kept * centred)
    weight_shares = weights / weights.sum()
    return Worth(error, inverse_shares, weight_shares, kept)
