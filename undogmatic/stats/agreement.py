"""Do two judges, or a judge and people, say the same: association, chance-corrected agreement, bias and drift.

Where a coefficient does not exist for these data (a judge gave every item the same score), the result is typed and
says so: `estimate` is None and `note` gives the reason. It is never NaN. Too few values, or NaN, raise ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks
from undogmatic.stats.checks import Array, Groups, Index
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion

Measurement = Literal["nominal", "ordinal", "interval"]
Kind = Literal["pearson", "spearman", "kendall"]
_COEFFICIENTS: dict[Kind, Callable[..., Any]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}
_NAMES = ("a", "b")


class Correlation(NamedTuple):
    """`p_value` is two-sided for no association; both are None where a vector is constant, as `note` says."""

    estimate: float | None
    p_value: float | None
    n: int
    note: str


class Kappa(NamedTuple):
    """`estimate` is None, and `note` says why, where both gave every item the same one category."""

    estimate: float | None
    n: int
    n_categories: int
    weights: Literal["quadratic", "linear", "none"]
    note: str


class Alpha(NamedTuple):
    """`n_units` counts the units with at least two ratings; the others carry no information about agreement."""

    estimate: float | None
    measurement: Measurement
    n_raters: int
    n_units: int
    note: str


class BlandAltman(NamedTuple):
    """Differences are a - b; `lower` and `upper` are the limits of agreement, `drift` the slope on the pair mean.

    `drift` and `drift_p` are None where every pair has the same mean.
    """

    bias: float
    bias_low: float
    bias_high: float
    sd: float
    lower: float
    lower_low: float
    lower_high: float
    upper: float
    upper_low: float
    upper_high: float
    drift: float | None
    drift_p: float | None
    n: int
    level: float


def correlation(kind: Kind, a: ArrayLike, b: ArrayLike) -> Correlation:
    """How the scores of two judges go together.

    Args:
        kind: `pearson`, linear association, blind to a constant shift or a factor between the two; `spearman`, monotone
            association, ties get mean ranks; `kendall`, tau-b: concordant minus discordant pairs of items, corrected
            for ties.
        a: Scores, shape (n,), n >= 3, any unit.
        b: Scores of the same items, shape (n,), any unit.
    References:
        Pearson (1895), doi:10.1098/rspl.1895.0041. Spearman (1904), doi:10.2307/1412159.
        Kendall (1945), The treatment of ties in ranking problems. doi:10.1093/biomet/33.3.239
    """
    first, second = checks.paired_vectors(a, b, _NAMES, minimum=3)
    constant = [f"`{name}`" for name, values in zip(_NAMES, (first, second), strict=True) if checks.is_constant(values)]
    if constant:
        return Correlation(None, None, first.size, f"{' and '.join(constant)} constant; no correlation exists")
    ranked = (first, second) if kind == "pearson" else (checks.tied(first), checks.tied(second))
    result: Any = _COEFFICIENTS[kind](*ranked)
    return Correlation(float(result.statistic), float(result.pvalue), first.size, "")


def nearest_level(scores: ArrayLike, levels: ArrayLike) -> Array:
    """The level of the scale nearest to each score, for coefficients on categories; a tie goes to the lower level.

    Args:
        scores: Shape (n,), in score units.
        levels: Strictly increasing, shape (k,), in score units.
    Returns:
        Shape (n,), values taken from `levels`.
    Raises:
        ValueError: If the levels do not increase strictly.
    """
    s, values = checks.vector(scores, "scores"), checks.vector(levels, "levels")
    if np.any(np.diff(values) <= 0):
        raise ValueError("`levels` must increase strictly.")
    above = np.clip(np.searchsorted(values, s), 1, max(1, values.size - 1))
    if values.size == 1:
        return np.full(s.size, values[0])
    return np.asarray(np.where(s - values[above - 1] <= values[above] - s, values[above - 1], values[above]))


def weighted_kappa(
    a: ArrayLike,
    b: ArrayLike,
    categories: ArrayLike,
    weights: Literal["quadratic", "linear", "none"] = "quadratic",
) -> Kappa:
    """Cohen's kappa on ordered categories, disagreement weighted by the squared distance in categories.

    The distance counts steps along `categories`, so 0, 25, 100 are one step apart; give every level of the scale,
    used or not, for equal steps to be equal.

    Args:
        a: Category of each item, shape (n,), values taken from `categories`.
        b: Category of the same items by the other judge, shape (n,).
        categories: All categories in order, shape (k,), k >= 2.
        weights: `none` counts every disagreement alike (Cohen 1960).
    Raises:
        ValueError: If a value is not a category, or categories repeat.
    References:
        Cohen (1968), Weighted kappa. doi:10.1037/h0026256
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = checks.paired_vectors(a, b, _NAMES)
    order = checks.vector(categories, "categories", minimum=2)
    checks.option(weights, "weights", ("quadratic", "linear", "none"))
    if np.unique(order).size != order.size:
        raise ValueError("`categories` repeats a category.")
    x, y = _codes(first, order, "a"), _codes(second, order, "b")
    if np.all(x == x[0]) and np.all(y == x[0]):
        note = f"both gave every item the category {order[x[0]]:g}; agreement by chance is certain"
        return Kappa(None, x.size, order.size, weights, note)
    value = cohen_kappa_score(x, y, labels=np.arange(order.size), weights=None if weights == "none" else weights)
    return Kappa(float(value), x.size, order.size, weights, "")


def krippendorff_alpha(ratings: ArrayLike, measurement: Measurement = "interval") -> Alpha:
    """Krippendorff's alpha: agreement of any number of raters, with ratings missing at will.

    Missing ratings are NaN; this is the one place where NaN is an input. A unit rated once is left out. `ordinal`
    measures distance by how many ratings lie between two values, so it depends on the ratings, not on the scale.

    Computed from sums of squares in time and memory linear in the ratings. The package `krippendorff` builds matrices
    of units by distinct values and of values by values, 3 GB each for 20,000 texts on a fine scale; the two differ by
    rounding (1e-15).

    Args:
        ratings: Shape (n_raters, n_units), n_raters >= 2, NaN where a rater gave none.
        measurement: How far apart two values are.
    Raises:
        ValueError: If the shape is wrong, a value is infinite, or no unit has two ratings.
    References:
        Hayes and Krippendorff (2007), doi:10.1080/19312450709336664
    """
    checks.option(measurement, "measurement", get_args(Measurement))
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"`ratings` must have shape (n_raters >= 2, n_units); its shape is {table.shape}.")
    if np.isinf(table).any():
        raise ValueError("`ratings` holds an infinite value.")
    pairable = table[:, np.sum(~np.isnan(table), axis=0) >= 2]
    if pairable.shape[1] == 0:
        raise ValueError("`ratings` has no unit with two ratings.")
    n_raters, n_units = pairable.shape
    values = np.unique(pairable[~np.isnan(pairable)])
    if values.size == 1:
        note = f"every rating is {values[0]:g}; without variation there is no agreement to measure"
        return Alpha(None, measurement, n_raters, n_units, note)
    unit = np.nonzero(~np.isnan(pairable.T))[0]
    ratings_of_all = pairable.T[~np.isnan(pairable.T)]
    size = np.bincount(unit)
    observed = _disagreement(ratings_of_all, unit, values, measurement) * size / (size - 1)
    n = ratings_of_all.size
    (expected,) = _disagreement(ratings_of_all, np.zeros(n, dtype=np.intp), values, measurement) * n / (n - 1)
    return Alpha(float(1 - observed.sum() / expected), measurement, n_raters, n_units, "")


def bland_altman(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> BlandAltman:
    """Bias, limits of agreement and drift of the differences a - b.

    The limits are bias -+ z(level) sd, so `level` is both the share of differences they span (1.96 sd for 95 %) and
    the confidence level of every interval. The interval of a limit is the usual approximation with variance
    sd^2 (1/n + z^2 / (2(n - 1))). Drift is the least-squares slope of difference on mean; a and b of different spread
    give a slope even when neither is at fault.

    Args:
        a: Scores, shape (n,), n >= 3, in score units.
        b: Scores of the same items, shape (n,), in the same units.
        level: Share between the limits, and confidence level.
    References:
        Bland and Altman (1986), doi:10.1016/S0140-6736(86)90837-8; (1999), doi:10.1177/096228029900800204
    """
    first, second = checks.paired_vectors(a, b, _NAMES, minimum=3)
    checks.share(level, "level")
    d, mean = first - second, (first + second) / 2
    n, bias, sd = d.size, float(np.mean(d)), float(np.std(d, ddof=1))
    z, t = float(stats.norm.ppf((1 + level) / 2)), float(stats.t.ppf((1 + level) / 2, n - 1))
    bias_reach = t * sd / np.sqrt(n)
    limit_reach = t * sd * np.sqrt(1 / n + z**2 / (2 * (n - 1)))
    drift, drift_p = None, None
    if not checks.is_constant(mean):
        if sd <= 1e-10 * np.max(np.abs(mean)):
            drift, drift_p = 0.0, 1.0
        else:
            line = stats.linregress(mean, d)
            drift, drift_p = float(line.slope), float(line.pvalue)
    lower, upper = bias - z * sd, bias + z * sd
    return BlandAltman(
        bias=bias,
        bias_low=bias - bias_reach,
        bias_high=bias + bias_reach,
        sd=sd,
        lower=lower,
        lower_low=lower - limit_reach,
        lower_high=lower + limit_reach,
        upper=upper,
        upper_low=upper - limit_reach,
        upper_high=upper + limit_reach,
        drift=drift,
        drift_p=drift_p,
        n=n,
        level=level,
    )


def max_abs_difference(a: ArrayLike, b: ArrayLike) -> float:
    """Largest absolute difference between two scores of one item, in score units."""
    first, second = checks.paired_vectors(a, b, _NAMES)
    return float(np.max(np.abs(first - second)))


def exact_match(
    a: ArrayLike, b: ArrayLike, tolerance: float = 0.0, level: float = 0.95, *, groups: Groups = None
) -> Estimate:
    """Share of items whose two scores differ by no more than `tolerance`.

    The default is equality to the last bit. An expectation over probabilities seldom repeats to the last bit where
    the hardware differs; give a tolerance then.

    Args:
        a: Scores, shape (n,), in score units.
        b: Scores of the same items, shape (n,), in the same units.
        tolerance: Largest difference that still matches, in score units.
    Raises:
        ValueError: If `tolerance` is negative.
    """
    first, second = checks.paired_vectors(a, b, _NAMES)
    checks.share(level, "level")
    if not tolerance >= 0:
        raise ValueError(f"`tolerance` is {tolerance}; it must be 0 or more.")
    return proportion(np.abs(first - second) <= tolerance, level, groups=groups)


def _disagreement(ratings: Array, unit: Index, values: Array, measurement: Measurement) -> Array:
    """Mean squared difference over all pairs of a unit's ratings (each with itself, both ways), times half its size.

    Two ordinal values are as far apart as their mean ranks among all ratings (Krippendorff's sum of the counts from
    one to the other, less half of either's own); nominal ones are 1 apart.
    """
    codes = np.searchsorted(values, ratings)
    size = np.bincount(unit)
    if measurement == "nominal":
        of_one, counts = np.unique(unit * values.size + codes, return_counts=True)
        same = np.bincount(of_one // values.size, counts.astype(np.float64) ** 2, size.size)
        return np.asarray((size - same / size) / 2)
    places = stats.rankdata(values[codes]) if measurement == "ordinal" else ratings
    centred = places - (np.bincount(unit, places) / size)[unit]
    return np.asarray(np.bincount(unit, centred**2))


def _codes(values: Array, order: Array, name: str) -> Index:
    found = values[:, None] == order[None, :]
    unknown = values[~found.any(axis=1)]
    if unknown.size:
        raise ValueError(f"`{name}` holds {unknown[0]:g}, which is not one of `categories` {order.tolist()}.")
    return np.asarray(np.argmax(found, axis=1), dtype=np.intp)


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
    first: ArrayLike, second: ArrayLike, tolerance: float = 0.0, level: float = 0.95, *, groups: Groups = None
) -> BackToBack:
    """Reliability of two runs over the same items, in the same order.

    `sd_within`, the typical error of a single score, is sqrt(mean squared difference / 2): two scores of one item by
    the same judge differ by less than 2.77 times it in 95 % of repeats. Items that failed in either run must be left
    out and counted by the caller; a correlation near 1 may only say that the items are far apart.

    Args:
        first: Scores of the first run, shape (n,), n >= 3, in score units.
        second: Scores of the second run, shape (n,).
        tolerance: Largest difference that counts as an exact match, in score units.
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
