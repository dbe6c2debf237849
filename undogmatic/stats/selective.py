"""Does the uncertainty know where the judge is wrong: the error left when only the surest items are kept.

An error is anything that is 0 or more and better small: |score - label|, or 1 for wrong and 0 for right. A higher
uncertainty means less sure; only its order matters, so entropies, strengths and widths compare as they are (pass
the negative of a confidence). Items of equal uncertainty have no order, so every curve is the expectation over all
orders of the tied: within a tie, each item counts with the mean error of the tie.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, ordering, ranking
from undogmatic.stats.ordering import Array, Groups
from undogmatic.stats.paired import BootstrapInterval, bootstrap_interval


class RiskCoverage(NamedTuple):
    """Mean error (`risk`) of the surest share (`coverage`) of items, shape (n,) each, coverage 1/n to 1.

    `low` to `high` is the pointwise bootstrap band of `risk`; `oracle` is the risk with errors themselves as the
    uncertainty, which no other goes below.
    """

    coverage: Array
    risk: Array
    low: Array
    high: Array
    oracle: Array
    level: float


class AurcSummary(NamedTuple):
    """Areas in error units, smaller is better: `excess` is `aurc` minus `oracle`, `random` the mean error."""

    aurc: BootstrapInterval
    excess: BootstrapInterval
    oracle: float
    random: float


class AurcDifference(NamedTuple):
    """AURC of the first minus that of the second: negative, the first knows better where it is wrong."""

    difference: BootstrapInterval
    p_value: float
    n_items: int


def aurc(uncertainty: ArrayLike, error: ArrayLike) -> float:
    """Area under the risk-coverage curve: the risk averaged over keeping the 1, 2, ..., n surest items.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
    Raises:
        ValueError: If there is no item, the lengths differ, a value is NaN, or an error is negative.
    References:
        Geifman, Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation for deep neural classifiers.
        arXiv:1805.08206
    """
    u, e = ordering.pair(uncertainty, error)
    return float(_risk(u, e).mean())


def excess_aurc(uncertainty: ArrayLike, error: ArrayLike) -> float:
    """AURC minus the smallest possible for these errors (0 is perfect): how good the uncertainty is, not the judge.

    The smallest is computed from the sorted errors; Geifman et al. use its limit r + (1 - r) ln(1 - r) for errors
    of 0 and 1 at rate r.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
    Raises:
        ValueError: As `aurc`.
    References:
        Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206
    """
    u, e = ordering.pair(uncertainty, error)
    return float((_risk(u, e) - _risk(e, e)).mean())


def risk_coverage(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 1000,
    *,
    groups: Groups | None = None,
) -> RiskCoverage:
    """Risk-coverage curve with a pointwise percentile band over items, or over groups of items.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
        rng: The source of randomness.
        level: Confidence level of the band, at each coverage by itself.
        n_resamples: Number of resamples.
        groups: Group label per item, shape (n,); whole groups are resampled.
    Raises:
        ValueError: As `aurc`, and if there are fewer than two units to resample.
    References:
        El-Yaniv and Wiener (2010), On the foundations of noise-free selective classification.
        https://jmlr.org/papers/v11/el-yaniv10a.html
    """
    u, e = ordering.pair(uncertainty, error)
    checks.share(level, "level")
    grid = np.arange(1, u.size + 1) / u.size
    drawn = np.empty((n_resamples, u.size))
    for row, index in enumerate(ordering.resamples(u.size, groups, rng, n_resamples)):
        drawn[row] = np.interp(grid, np.arange(1, index.size + 1) / index.size, _risk(u[index], e[index]))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RiskCoverage(grid, _risk(u, e), low, high, _risk(e, e), level)


def aurc_summary(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 2000,
    *,
    groups: Groups | None = None,
) -> AurcSummary:
    """AURC and excess AURC with bootstrap intervals, between the oracle's and random order's.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
        rng: The source of randomness.
        level: Confidence level.
        n_resamples: Number of resamples.
        groups: Group label per item, shape (n,); whole groups are resampled.
    Raises:
        ValueError: As `aurc`, and if there are fewer than two units to resample.
    References:
        Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206
    """
    u, e = ordering.pair(uncertainty, error)
    whole, excess = (
        bootstrap_interval(np.column_stack([u, e]), statistic, rng, level, n_resamples, groups=groups)
        for statistic in (lambda c: aurc(*c.T), lambda c: excess_aurc(*c.T))
    )
    return AurcSummary(whole, excess, float(_risk(e, e).mean()), float(e.mean()))


def aurc_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 2000,
    *,
    groups: Groups | None = None,
) -> AurcDifference:
    """Compare two judges, or two uncertainties of one judge, on the same items.

    The interval resamples items (or groups) with both judges' values kept together. The p-value swaps the judges on
    random items (or groups): if it makes no difference who judged, that changes nothing. Uncertainties are swapped
    as ranks, since two styles' units do not compare; the observed order counts, so the p-value is never 0.

    Args:
        first: Uncertainty and error of the first judge, shape (n,) each.
        second: Those of the second judge on the same items in the same order.
        rng: The source of randomness.
        level: Confidence level of the interval.
        n_resamples: Number of resamples, and of swaps.
        groups: Group label per item, shape (n,).
    Raises:
        ValueError: As `aurc`, and if the judges have different numbers of items or fewer than two units.
    References:
        Phipson and Smyth (2010), Permutation p-values should never be zero. doi:10.2202/1544-6115.1585
    """
    (u1, e1), (u2, e2) = ordering.pair(*first), ordering.pair(*second)
    if u1.size != u2.size:
        raise ValueError(f"`first` holds {u1.size} items and `second` {u2.size}; they are matched one to one.")
    columns = np.column_stack([stats.rankdata(u1), e1, stats.rankdata(u2), e2])

    def difference(c: Array) -> float:
        return float(_risk(c[:, 0], c[:, 1]).mean() - _risk(c[:, 2], c[:, 3]).mean())

    interval = bootstrap_interval(columns, difference, rng, level, n_resamples, groups=groups)
    unit = np.arange(u1.size) if groups is None else checks.labels(groups, "groups", u1.size)
    reached = 0
    for _ in range(n_resamples):
        swap = (rng.random(int(unit.max()) + 1) < 0.5)[unit]
        swapped = np.where(swap[:, None], columns[:, [2, 3, 0, 1]], columns)
        reached += abs(difference(swapped)) >= abs(interval.estimate) - 1e-12
    return AurcDifference(interval, (reached + 1) / (n_resamples + 1), u1.size)


def error_correlation(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 2000,
    *,
    groups: Groups | None = None,
) -> BootstrapInterval:
    """Spearman correlation of uncertainty with |error|, with a bootstrap interval; for signed errors too.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,), n >= 3.
        error: Score minus label, or its size, shape (n,).
        rng: The source of randomness.
        level: Confidence level.
        n_resamples: Number of resamples.
        groups: Group label per item, shape (n,); whole groups are resampled.
    Raises:
        ValueError: If either is constant, lengths differ, or a value is NaN (`ranking.spearman_interval`).
    """
    u, e = checks.paired_vectors(uncertainty, error, ("uncertainty", "error"), minimum=3)
    for name, values in (("uncertainty", u), ("error", np.abs(e))):
        if checks.is_constant(values):
            raise ValueError(f"`{name}` is constant; no rank correlation exists.")
    return ranking.spearman_interval(u, np.abs(e), rng, level, n_resamples, groups=groups)


def _risk(u: Array, e: Array) -> Array:
    return np.asarray(np.cumsum(ordering.surest_first(u, e)) / np.arange(1, u.size + 1))
