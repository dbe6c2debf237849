"""Does a doubt know where the judge is wrong: the error left when only the surest items are kept (risk and coverage),
and the error caught when people review the least sure first, against random review and an oracle.

An error is anything that is 0 or more and better small: |score - label|, or 1 for wrong and 0 for right. A higher
uncertainty means less sure; only its order matters, so entropies, strengths and widths compare as they are (pass
the negative of a confidence). Items of equal uncertainty have no order, so every curve is the expectation over all
orders of the tied: within a tie, each item counts with the mean error of the tie.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, jackknife
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Bounds, Estimate
from undogmatic.stats.jackknife import OfDraws

MOST_PLACES = 1000
"""Places of a curve: one per item up to so many items, beyond that so many, evenly spaced. A band over every one of
50,000 items would take 400 MB, and no page shows more."""


class Curve(NamedTuple):
    """What the first `n` items give, `share` of all, in the order of the uncertainty (`guided`); shape (k,) each.

    `band` is the pointwise percentile bootstrap of `guided`; `oracle` has the errors themselves as the uncertainty,
    which none beats.
    """

    n: Index
    share: Array
    guided: Array
    band: Bounds
    oracle: Array


class AurcSummary(NamedTuple):
    """Areas in error units, smaller is better: `excess` is `aurc` minus `oracle`, `random` the mean error."""

    aurc: Estimate
    excess: Estimate
    oracle: float
    random: float


def pair(uncertainty: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Uncertainty (higher is less sure, any unit) and error (0 or more, else a ValueError) of the same items."""
    u, e = checks.paired_vectors(uncertainty, error, ("uncertainty", "error"))
    if np.any(e < 0):
        raise ValueError("`error` holds a negative value; pass its size, |score - label|.")
    return u, e


def curve(
    of: Literal["risk", "caught"],
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    n_resamples: int = 1000,
    *,
    groups: Groups = None,
) -> Curve:
    """What a doubt is worth, item by item.

    "risk" is the mean error of the surest items, from one of them to all (risk and coverage); "caught" is the share of
    all error that is caught by reviewing the least sure items first, from none of them to all.

    Args:
        uncertainty, error: As of `pair`; a ValueError where there is nothing to catch.
    References:
        El-Yaniv and Wiener (2010), On the foundations of noise-free selective classification.
        https://jmlr.org/papers/v11/el-yaniv10a.html
    """
    checks.share(level, "level")
    u, e = pair(uncertainty, error)
    of_order, first = (_risk, 1) if of == "risk" else (_caught, 0)
    if of == "caught" and not e.any():
        raise ValueError("`error` is 0 throughout; there is nothing for a review to catch.")
    units = jackknife.Units(checks.groups(groups, u.size, 2))
    n = np.unique(np.round(np.linspace(0, u.size, min(u.size, MOST_PLACES) + 1)).astype(np.intp))[first:]
    share, guided = n / u.size, of_order(u, e)
    drawn = [
        np.interp(share, np.arange(first, first + own.size) / (first + own.size - 1), own)
        for index in units.draws(rng, n_resamples)
        for own in guided(index)
    ]
    band = Bounds(*np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0))
    whole, best = (values(np.arange(u.size)[None, :])[0][n - first] for values in (guided, of_order(e, e)))
    return Curve(n, share, whole, band, best)


def random_review(error: ArrayLike, n: Index, level: float = 0.95) -> Bounds:
    """Band of the share of error caught by one random review of `n` of these very items; n / n_items is expected.

    It is that of the hypergeometric distribution where errors are all 0 or 1, else that of the normal distribution with
    the exact variance of a sample mean without replacement.

    References:
        Cochran (1977), Sampling techniques, 3rd ed., theorem 2.2, for the variance without replacement.
    """
    e, tails = checks.vector(error, "error"), ((1 - level) / 2, (1 + level) / 2)
    if np.isin(e, (0, 1)).all():
        wrong = int(e.sum())
        return Bounds(*(stats.hypergeom(e.size, wrong, n).ppf(tail) / wrong for tail in tails))
    sd = np.sqrt(n * (1 - n / e.size) * e.var(ddof=1)) / e.sum()
    return Bounds(*(np.clip(n / e.size + stats.norm.ppf(tail) * sd, 0, 1) for tail in tails))


def aurc_summary(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    *,
    groups: Groups = None,
    span: float = np.inf,
) -> AurcSummary:
    """AURC and excess AURC with intervals (`jackknife.nearly_mean`), between the oracle's and random order's.

    Args:
        uncertainty, error: As of `pair`.
    """
    u, e = pair(uncertainty, error)
    whole, excess = (
        jackknife.nearly_mean(np.column_stack([u, e]), statistic, rng, level, groups=groups, bounds=(0.0, span))
        for statistic in (AURC, EXCESS_AURC)
    )
    return AurcSummary(whole, excess, AURC.of(np.column_stack([e, e])), float(e.mean()))


def review_gain_interval(
    uncertainty: ArrayLike, error: ArrayLike, rng: Rng, level: float = 0.95, *, groups: Groups = None
) -> Estimate:
    """`GAIN` with an interval over items, or over groups of items.

    Each end is the wider of two: of the jackknife on Fisher's z, which errs above for doubts that know much, and of the
    pseudo-values, which errs below where errors are few (`benchmarks/coverage`).

    Args:
        uncertainty, error: As of `pair`; a ValueError where all errors are equal.
    """
    u, e = pair(uncertainty, error)
    checks.share(level, "level")
    if checks.is_constant(e):
        raise ValueError("`error` is constant; no order of review catches more than another.")
    left_out = jackknife.LeftOut(np.column_stack([u, e]), GAIN, rng, groups)
    found, other = jackknife.on_z(left_out, level), jackknife.mean_of(left_out, level, (-1.0, 1.0))
    return found.replace(low=min(found.low, other.low), high=max(found.high, other.high))


def _surest_first(u: Array, e: Array) -> OfDraws:
    """Errors in ascending order of uncertainty, each replaced by the mean over its tie: of drawn items, same shape.

    The items are sorted once, here, and not again for each draw.
    """
    _values, tie = np.unique(u, return_inverse=True)
    n_ties = int(tie.max()) + 1

    def of_draws(drawn: Index) -> Array:
        tally = jackknife.Tally(tie, n_ties, drawn)
        size = tally.counts().ravel()
        mean = tally.sums(e.take(drawn)).ravel() / np.maximum(size, 1)
        return np.asarray(np.repeat(mean, size).reshape(drawn.shape))

    return of_draws


def _risk(u: Array, e: Array) -> OfDraws:
    """Mean error of the 1, 2, ..., n surest of drawn items, shape (n_draws, n_drawn)."""
    ordered = _surest_first(u, e)
    return lambda drawn: np.asarray(np.cumsum(ordered(drawn), axis=1) / np.arange(1, drawn.shape[1] + 1))


def _caught(u: Array, e: Array) -> OfDraws:
    """Share of the error caught by reviewing 0, 1, ..., n of drawn items, shape (n_draws, n_drawn + 1).

    A draw without error has nothing to catch; it is drawn as the diagonal, which claims no gain.
    """
    ordered = _surest_first(u, e)

    def of_draws(drawn: Index) -> Array:
        caught = np.pad(np.cumsum(ordered(drawn)[:, ::-1], axis=1), ((0, 0), (1, 0)))
        total, diagonal = caught[:, -1:], np.linspace(0, 1, caught.shape[1])
        return np.divide(caught, total, out=np.tile(diagonal, (len(drawn), 1)), where=total > 0)

    return of_draws


def _aurc(columns: Array) -> OfDraws:
    risk = _risk(*columns.T)
    return lambda drawn: np.asarray(risk(drawn).mean(axis=1))


def _excess(columns: Array) -> OfDraws:
    risk, least = _risk(*columns.T), _risk(columns[:, 1], columns[:, 1])
    return lambda drawn: np.asarray((risk(drawn) - least(drawn)).mean(axis=1))


def _gain(columns: Array) -> OfDraws:
    u, e = columns.T
    guided, best = _caught(u, e), _caught(e, e)

    def of_draws(drawn: Index) -> Array:
        own = e[drawn]
        constant = np.ptp(own, axis=1) <= checks.SAME * np.max(np.abs(own), axis=1)  # all zero included
        # Both curves run from 0 to 1, so their mean height less 1/2 is their area less 1/2 times n / (n + 1).
        areas = [np.asarray(curve(drawn).mean(axis=1)) - 0.5 for curve in (guided, best)]
        return np.divide(areas[0], areas[1], out=np.full(len(drawn), np.nan), where=~constant)

    return of_draws


AURC = jackknife.Prepared(_aurc)
"""Area under the risk-coverage curve of two columns, uncertainty and error, shape (n, 2): the mean risk of keeping the
1, 2, ..., n surest items. Geifman, Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation for deep neural
classifiers. arXiv:1805.08206"""
EXCESS_AURC = jackknife.Prepared(_excess)
"""AURC minus the smallest possible for these errors (0 is perfect): how good the uncertainty is, not the judge. The
smallest is computed from the sorted errors; Geifman et al. use its limit r + (1 - r) ln(1 - r) for errors of 0 and 1 at
rate r."""
GAIN = jackknife.Prepared(_gain)
"""Area between guided and random review, divided by that between oracle and random, of the same columns: 1 oracle, 0
random, down to -1 where the uncertainty leads away from the errors; NaN where the error is constant. Known as
prediction rejection ratio: Malinin and Gales (2021), Uncertainty estimation in autoregressive structured prediction.
arXiv:2002.07650"""
