"""Does a doubt know where the judge is wrong: the error left when only the surest items are kept (risk and coverage),
and the error caught when people review the least sure first, against random review and an oracle.

An error is anything that is 0 or more and better small: |score - label|, or 1 for wrong and 0 for right. A higher
uncertainty means less sure; only its order matters, so entropies, strengths and widths compare as they are (pass
the negative of a confidence). Items of equal uncertainty have no order, so every curve is the expectation over all
orders of the tied: within a tie, each item counts with the mean error of the tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, jackknife, resampling
from undogmatic.stats.checks import Array, Groups, Index
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.resampling import OfDraws

MOST_PLACES = 1000
"""Places of a curve: one per item up to so many items, beyond that so many, evenly spaced. A band over every one of
50,000 items would take 400 MB, and no page shows more."""


def pair(uncertainty: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Uncertainty and error of the same items, checked; raises ValueError if they differ in length or e < 0."""
    u, e = checks.paired_vectors(uncertainty, error, ("uncertainty", "error"))
    if np.any(e < 0):
        raise ValueError("`error` holds a negative value; pass its size, |score - label|.")
    return u, e


def surest_first(u: Array, e: Array) -> Callable[[Index], Array]:
    """Errors in ascending order of uncertainty, each replaced by the mean over its tie, of draws of the items.

    The items are sorted once, here, and not again for each draw.

    Returns:
        Positions of drawn items, shape (n_draws, n_drawn), to their errors in order, same shape.
    """
    _values, tie = np.unique(u, return_inverse=True)
    n_ties = int(tie.max()) + 1

    def of_draws(drawn: Index) -> Array:
        tally = resampling.Tally(tie, n_ties, drawn)
        size = tally.counts().ravel()
        mean = tally.sums(e.take(drawn)).ravel() / np.maximum(size, 1)
        return np.asarray(np.repeat(mean, size).reshape(drawn.shape))

    return of_draws


def all_items(n: int) -> Index:
    """All of n items as one draw."""
    return np.arange(n)[None, :]


def resamples(n: int, groups: Groups, rng: np.random.Generator, n_resamples: int) -> Iterator[Index]:
    """Positions of items drawn with replacement, whole groups at a time, in batches (n_draws, n_drawn)."""
    units = resampling.Units(checks.groups(groups, n))
    if units.n < 2:
        raise ValueError(
            f"`{'uncertainty' if groups is None else 'groups'}` gives {units.n} units; at least 2 are needed."
        )
    return units.draws(rng, n_resamples)


def places(n: int) -> Index:
    """Numbers of items, from 0 to n, at which a curve is kept; see MOST_PLACES."""
    return np.unique(np.round(np.linspace(0, n, min(n, MOST_PLACES) + 1)).astype(np.intp))


class RiskCoverage(NamedTuple):
    """Mean error (`risk`) of the surest share (`coverage`) of items, shape (k,) each, coverage 1/n to 1.

    Each of up to 1000 items has its point; of more, 1000 are kept (`MOST_PLACES`).

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
        ValueError: If an error is negative.
    References:
        Geifman, Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation for deep neural classifiers.
        arXiv:1805.08206
    """
    u, e = pair(uncertainty, error)
    return float(_aurc(u, e)(all_items(u.size))[0])


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
    u, e = pair(uncertainty, error)
    return float(_excess(u, e)(all_items(u.size))[0])


def risk_coverage(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 1000,
    *,
    groups: Groups = None,
) -> RiskCoverage:
    """Risk-coverage curve with a pointwise percentile band over items, or over groups of items.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
    Raises:
        ValueError: As `aurc`.
    References:
        El-Yaniv and Wiener (2010), On the foundations of noise-free selective classification.
        https://jmlr.org/papers/v11/el-yaniv10a.html
    """
    u, e = pair(uncertainty, error)
    checks.share(level, "level")
    kept = places(u.size)[1:]
    grid, risk = kept / u.size, _risk(u, e)
    drawn = [
        np.interp(grid, np.arange(1, own.size + 1) / own.size, own)
        for index in resamples(u.size, groups, rng, n_resamples)
        for own in risk(index)
    ]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    everything = all_items(u.size)
    return RiskCoverage(grid, risk(everything)[0][kept - 1], low, high, _risk(e, e)(everything)[0][kept - 1], level)


def aurc_summary(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    groups: Groups = None,
    span: float = np.inf,
) -> AurcSummary:
    """AURC and excess AURC with intervals (`jackknife.nearly_mean`), between the oracle's and random order's.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
    Raises:
        ValueError: As `aurc`.
    References:
        Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206
    """
    u, e = pair(uncertainty, error)
    whole, excess = (
        jackknife.nearly_mean(np.column_stack([u, e]), statistic, rng, level, groups=groups, bounds=(0.0, span))
        for statistic in (AURC, resampling.Prepared(lambda c: _excess(*c.T)))
    )
    oracle = float(_risk(e, e)(all_items(e.size))[0].mean())
    return AurcSummary(whole, excess, oracle, float(e.mean()))


def _risk(u: Array, e: Array) -> Callable[[Index], Array]:
    """Mean error of the 1, 2, ..., n surest of drawn items, shape (n_draws, n_drawn)."""
    ordered = surest_first(u, e)
    return lambda drawn: np.asarray(np.cumsum(ordered(drawn), axis=1) / np.arange(1, drawn.shape[1] + 1))


def _aurc(u: Array, e: Array) -> OfDraws:
    risk = _risk(u, e)
    return lambda drawn: np.asarray(risk(drawn).mean(axis=1))


def _excess(u: Array, e: Array) -> OfDraws:
    risk, least = _risk(u, e), _risk(e, e)
    return lambda drawn: np.asarray((risk(drawn) - least(drawn)).mean(axis=1))


AURC = resampling.Prepared(lambda columns: _aurc(*columns.T))
"""`aurc` of two columns, uncertainty and error, shape (n, 2)."""


class ReviewCurve(NamedTuple):
    """Share of all error caught when `budget` items are reviewed, shape (k,) each, budget 0 to n_items.

    Every budget of up to 1000 items has its point; of more items, 1001 budgets are kept (`MOST_PLACES`).

    `guided` reviews the least sure first, `oracle` the worst first. `random` is the exact expectation of random
    review and `random_low` to `random_high` its band: from the hypergeometric distribution where errors are all 0 or
    1, else from the exact variance of a sample mean without replacement and the normal distribution.
    """

    budget: Index
    guided: Array
    guided_low: Array
    guided_high: Array
    random: Array
    random_low: Array
    random_high: Array
    oracle: Array
    random_band: Literal["hypergeometric", "normal"]
    level: float


def review_curve(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 1000,
    *,
    groups: Groups = None,
) -> ReviewCurve:
    """Error caught by review budget: the least sure first, against random review and against the oracle.

    The guided band is a pointwise percentile bootstrap over items (or groups); the random band is that of one random
    review of these very items, so no resampling enters it.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n_items,).
        error: 0 or more, shape (n_items,); what review of an item removes.
    Raises:
        ValueError: As `aurc`, or if there is nothing to catch.
    References:
        Cochran (1977), Sampling techniques, 3rd ed., theorem 2.2, for the variance without replacement.
    """
    u, e = pair(uncertainty, error)
    checks.share(level, "level")
    if not e.any():
        raise ValueError("`error` is 0 throughout; there is nothing for a review to catch.")
    n = u.size
    budget = places(n)
    share, caught = budget / n, _caught(u, e)
    drawn = [
        # A resample without error has nothing to catch; it is drawn as the diagonal, which claims no gain.
        np.interp(share, np.arange(own.size) / (own.size - 1), own if own[-1] > 0 else np.linspace(0, 1, own.size))
        for index in resamples(n, groups, rng, n_resamples)
        for own in caught(index)
    ]
    tails = [(1 - level) / 2, (1 + level) / 2]
    guided_low, guided_high = np.quantile(drawn, tails, axis=0)
    low, high, kind = _random_band(e, budget, tails)
    everything = all_items(n)
    return ReviewCurve(
        budget=budget,
        guided=caught(everything)[0][budget],
        guided_low=guided_low,
        guided_high=guided_high,
        random=share,
        random_low=low,
        random_high=high,
        oracle=_caught(e, e)(everything)[0][budget],
        random_band=kind,
        level=level,
    )


def review_gain(uncertainty: ArrayLike, error: ArrayLike) -> float:
    """Area between guided and random review, divided by that between oracle and random: 1 oracle, 0 random.

    Negative when the uncertainty leads away from the errors, down to -1. Known as prediction rejection ratio.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
    Raises:
        ValueError: As `aurc`, or if all errors are equal: no order catches more.
    References:
        Malinin and Gales (2021), Uncertainty estimation in autoregressive structured prediction. arXiv:2002.07650
    """
    u, e = pair(uncertainty, error)
    gain = float(_gain(u, e)(all_items(u.size))[0])
    if np.isnan(gain):
        raise ValueError("`error` is constant; no order of review catches more than another.")
    return gain


def review_gain_interval(
    uncertainty: ArrayLike, error: ArrayLike, rng: np.random.Generator, level: float = 0.95, *, groups: Groups = None
) -> Estimate:
    """`review_gain` with an interval over items, or over groups of items.

    Each end is the wider of two: of the jackknife on Fisher's z, which errs above for doubts that know much, and of the
    pseudo-values, which errs below where errors are few (`benchmarks/coverage`).

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
    Raises:
        ValueError: As `review_gain`.
    References:
        Malinin and Gales (2021), arXiv:2002.07650
    """
    u, e = pair(uncertainty, error)
    review_gain(u, e)
    checks.share(level, "level")
    left_out = jackknife.LeftOut(np.column_stack([u, e]), GAIN, rng, groups)
    found, other = jackknife.on_z(left_out, level), jackknife.of_pseudo_values(left_out, level, (-1.0, 1.0))
    return found.replace(low=min(found.low, other.low), high=max(found.high, other.high))


def _caught(u: Array, e: Array) -> Callable[[Index], Array]:
    """Share of the error caught by reviewing 0, 1, ..., n of drawn items, shape (n_draws, n_drawn + 1).

    A draw without error catches 0 throughout, its end included.
    """
    ordered = surest_first(u, e)

    def of_draws(drawn: Index) -> Array:
        caught = np.cumsum(ordered(drawn)[:, ::-1], axis=1)
        total = caught[:, -1:]
        shares = np.divide(caught, total, out=np.zeros_like(caught), where=total > 0)
        return np.concatenate([np.zeros((len(drawn), 1)), shares], axis=1)

    return of_draws


def _gain(u: Array, e: Array) -> OfDraws:
    guided, best = _caught(u, e), _caught(e, e)

    def of_draws(drawn: Index) -> Array:
        own = e[drawn]
        constant = np.ptp(own, axis=1) <= checks.SAME * np.max(np.abs(own), axis=1)  # all zero included
        # Both curves run from 0 to 1, so their mean height less 1/2 is their area less 1/2 times n / (n + 1).
        areas = [np.asarray(curve(drawn).mean(axis=1)) - 0.5 for curve in (guided, best)]
        return np.divide(areas[0], areas[1], out=np.full(len(drawn), np.nan), where=~constant)

    return of_draws


GAIN = resampling.Prepared(lambda columns: _gain(*columns.T))
"""`review_gain` of two columns, uncertainty and error, shape (n, 2); NaN where the error is constant."""


def _random_band(e: Array, k: Index, tails: list[float]) -> tuple[Array, Array, Literal["hypergeometric", "normal"]]:
    n = e.size
    if np.isin(e, (0, 1)).all():
        wrong = int(e.sum())
        low, high = (stats.hypergeom(n, wrong, k).ppf(tail) / wrong for tail in tails)
        return low, high, "hypergeometric"
    sd = np.sqrt(k * (1 - k / n) * e.var(ddof=1)) / e.sum()
    low, high = (np.clip(k / n + stats.norm.ppf(tail) * sd, 0, 1) for tail in tails)
    return low, high, "normal"
