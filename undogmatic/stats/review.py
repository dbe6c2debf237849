"""What review by people catches when the least sure items go first, against random review and an oracle.

An error is anything that is 0 or more and better small, a higher uncertainty means less sure, and ties are averaged
over their orders, as in `selective`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, jackknife, ordering, resampling
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.ordering import Array, Groups
from undogmatic.stats.resampling import Index, OfDraws


class ReviewCurve(NamedTuple):
    """Share of all error caught when `budget` items are reviewed, shape (k,) each, budget 0 to n_items.

    Every budget of up to 1000 items has its point; of more items, 1001 budgets are kept (`ordering.MOST_PLACES`).

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
    groups: Groups | None = None,
) -> ReviewCurve:
    """Error caught by review budget: the least sure first, against random review and against the oracle.

    The guided band is a pointwise percentile bootstrap over items (or groups); the random band is that of one random
    review of these very items, so no resampling enters it.

    Args:
        uncertainty: Higher is less sure, any unit, shape (n_items,).
        error: 0 or more, shape (n_items,); what review of an item removes.
        rng: The source of randomness.
        level: Level of both bands, at each budget by itself.
        n_resamples: Number of resamples.
        groups: Group label per item, shape (n_items,); whole groups are resampled.
    Raises:
        ValueError: If there is nothing to catch, lengths differ, a value is NaN or an error negative, or there are
            fewer than two units.
    References:
        Cochran (1977), Sampling techniques, 3rd ed., theorem 2.2, for the variance without replacement.
    """
    u, e = ordering.pair(uncertainty, error)
    checks.share(level, "level")
    if not e.any():
        raise ValueError("`error` is 0 throughout; there is nothing for a review to catch.")
    n = u.size
    budget = ordering.places(n)
    share, caught = budget / n, _caught(u, e)
    drawn = [
        # A resample without error has nothing to catch; it is drawn as the diagonal, which claims no gain.
        np.interp(share, np.arange(own.size) / (own.size - 1), own if own[-1] > 0 else np.linspace(0, 1, own.size))
        for index in ordering.resamples(n, groups, rng, n_resamples)
        for own in caught(index)
    ]
    tails = [(1 - level) / 2, (1 + level) / 2]
    guided_low, guided_high = np.quantile(drawn, tails, axis=0)
    low, high, kind = _random_band(e, budget, tails)
    everything = ordering.whole(n)
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
        ValueError: If all errors are equal (no order catches more), lengths differ, or a value is NaN or negative.
    References:
        Malinin and Gales (2021), Uncertainty estimation in autoregressive structured prediction. arXiv:2002.07650
    """
    u, e = ordering.pair(uncertainty, error)
    gain = float(_gain(u, e)(ordering.whole(u.size))[0])
    if np.isnan(gain):
        raise ValueError("`error` is constant; no order of review catches more than another.")
    return gain


def review_gain_interval(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    groups: Groups | None = None,
) -> Estimate:
    """`review_gain` with an interval over items, or over groups of items.

    Each end is the wider of two: of the jackknife on Fisher's z, which errs above for doubts that know much, and of the
    pseudo-values, which errs below where errors are few (`benchmarks/coverage`).

    Args:
        uncertainty: Higher is less sure, any unit, shape (n,).
        error: 0 or more, shape (n,).
        rng: The source of randomness; used beyond `resampling.MOST_LEFT_OUT` units.
        level: Confidence level.
        groups: Group label per item, shape (n,); whole groups are left out.
    Raises:
        ValueError: As `review_gain`.
    References:
        Malinin and Gales (2021), arXiv:2002.07650
    """
    u, e = ordering.pair(uncertainty, error)
    review_gain(u, e)
    checks.share(level, "level")
    left_out = jackknife.LeftOut(np.column_stack([u, e]), GAIN, rng, groups)
    found, other = jackknife.on_z(left_out, level), jackknife.of_pseudo_values(left_out, level, (-1.0, 1.0))
    return found.replace(low=min(found.low, other.low), high=max(found.high, other.high))


def _caught(u: Array, e: Array) -> Callable[[Index], Array]:
    """Share of the error caught by reviewing 0, 1, ..., n of drawn items, shape (n_draws, n_drawn + 1).

    A draw without error catches 0 throughout, its end included.
    """
    ordered = ordering.surest_first(u, e)

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
