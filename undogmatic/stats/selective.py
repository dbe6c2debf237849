"""Does the uncertainty know where the judge is wrong: the error left when only the surest items are kept.

An error is anything that is 0 or more and better small: |score - label|, or 1 for wrong and 0 for right. A higher
uncertainty means less sure; only its order matters, so entropies, strengths and widths compare as they are (pass
the negative of a confidence). Items of equal uncertainty have no order, so every curve is the expectation over all
orders of the tied: within a tie, each item counts with the mean error of the tie.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks, jackknife, ordering, resampling
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.ordering import Array, Groups
from undogmatic.stats.resampling import Index, OfDraws


class RiskCoverage(NamedTuple):
    """Mean error (`risk`) of the surest share (`coverage`) of items, shape (k,) each, coverage 1/n to 1.

    Each of up to 1000 items has its point; of more, 1000 are kept (`ordering.MOST_PLACES`).

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

    aurc: Estimate
    excess: Estimate
    oracle: float
    random: float


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
    return float(_aurc(u, e)(ordering.whole(u.size))[0])


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
    return float(_excess(u, e)(ordering.whole(u.size))[0])


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
    kept = ordering.places(u.size)[1:]
    grid, risk = kept / u.size, _risk(u, e)
    drawn = [
        np.interp(grid, np.arange(1, own.size + 1) / own.size, own)
        for index in ordering.resamples(u.size, groups, rng, n_resamples)
        for own in risk(index)
    ]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    everything = ordering.whole(u.size)
    return RiskCoverage(grid, risk(everything)[0][kept - 1], low, high, _risk(e, e)(everything)[0][kept - 1], level)


def aurc_summary(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    groups: Groups | None = None,
    span: float = np.inf,
) -> AurcSummary:
    """AURC and excess AURC with intervals (`jackknife.nearly_mean`), between the oracle's and random order's.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
        rng: The source of randomness; used beyond `resampling.MOST_LEFT_OUT` units.
        level: Confidence level.
        groups: Group label per item, shape (n,); whole groups are left out.
        span: The largest error that could have occurred: the width of the scale.
    Raises:
        ValueError: As `aurc`, and if there are fewer than two units.
    References:
        Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206
    """
    u, e = ordering.pair(uncertainty, error)
    whole, excess = (
        jackknife.nearly_mean(np.column_stack([u, e]), statistic, rng, level, groups=groups, bounds=(0.0, span))
        for statistic in (AURC, resampling.Prepared(lambda c: _excess(*c.T)))
    )
    oracle = float(_risk(e, e)(ordering.whole(e.size))[0].mean())
    return AurcSummary(whole, excess, oracle, float(e.mean()))


def _risk(u: Array, e: Array) -> Callable[[Index], Array]:
    """Mean error of the 1, 2, ..., n surest of drawn items, shape (n_draws, n_drawn)."""
    ordered = ordering.surest_first(u, e)
    return lambda drawn: np.asarray(np.cumsum(ordered(drawn), axis=1) / np.arange(1, drawn.shape[1] + 1))


def _aurc(u: Array, e: Array) -> OfDraws:
    risk = _risk(u, e)
    return lambda drawn: np.asarray(risk(drawn).mean(axis=1))


def _excess(u: Array, e: Array) -> OfDraws:
    risk, least = _risk(u, e), _risk(e, e)
    return lambda drawn: np.asarray((risk(drawn) - least(drawn)).mean(axis=1))


AURC = resampling.Prepared(lambda columns: _aurc(*columns.T))
"""`aurc` of two columns, uncertainty and error, shape (n, 2)."""
