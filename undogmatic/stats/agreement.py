"""Do two judges, or a judge and people, say the same: association, chance-corrected agreement,
bias, drift, intervals.

Where a coefficient does not exist (a judge gave every item the same score) it is None, never NaN.
Too few values, or NaN, raise ValueError.

Alpha is a ratio of means: that it is `a` says that the mean over items of (1 - a) times their share
of all spread, less their disagreement, is zero. Its interval is what `means` does not rule out, so
skewed scores, scores at the floor and groups are treated as in every mean (Fieller's theorem with
another interval in place of Student's).
"""

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from undogmatic.stats import checks, jackknife, means, ranking, rated
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.jackknife import FEWEST
from undogmatic.stats.proportion import proportion

Kind = Literal["pearson", "spearman", "kendall"]
_COEFFICIENTS: dict[str, str] = {
    "pearson": "pearsonr",
    "spearman": "spearmanr",
    "kendall": "kendalltau",
}


class Coefficient(NamedTuple):
    """What `n` items (or units with at least two ratings) say.

    `estimate` is None where nothing varies. `p_value` is that of no association (two-sided), of
    correlations alone.
    """

    estimate: float | None
    n: int
    p_value: float | None = None


class BlandAltman(NamedTuple):
    """Differences are a - b; `lower` and `upper` are the limits of agreement, `drift` the slope on
    the pair mean, None where every pair has the same."""

    bias: Estimate
    lower: Estimate
    upper: Estimate
    sd: float
    drift: float | None


def correlation(kind: Kind, a: ArrayLike, b: ArrayLike) -> Coefficient:
    """Measure how the scores of two judges go together.

    Args:
        kind: `pearson`, linear association, blind to a constant shift or a factor between the two;
            `spearman`, monotone association, ties get mean ranks; `kendall`, tau-b: concordant
            minus discordant pairs of items, corrected for ties.
        a, b: Scores of the same items, shape (n,), n >= 3, any unit.
    References:
        Pearson (1895), doi:10.1098/rspl.1895.0041. Spearman (1904), doi:10.2307/1412159.
        Kendall (1945), The treatment of ties in ranking problems. doi:10.1093/biomet/33.3.239
    """
    first, second = checks.paired_vectors(a, b, minimum=3)
    # A judge that gives all texts one score has no correlation; 0 would say that it was
    # seen to have none.
    if checks.is_constant(first) or checks.is_constant(second):
        return Coefficient(None, first.size)
    # Ranks turn the smallest difference into a whole place, so that what rounding alone
    # parts must be one value first.
    if kind != "pearson":
        first = checks.tied(first)
        second = checks.tied(second)
    result: Any = getattr(scipy.stats, _COEFFICIENTS[kind])(first, second)
    return Coefficient(
        float(result.statistic), first.size, p_value=float(result.pvalue)
    )


def nearest_level(scores: ArrayLike, levels: ArrayLike) -> Array:
    """Find the level of the scale nearest to each score, for coefficients on categories; a tie goes
    to the lower level.

    Args:
        scores, levels: Shape (n,), and (k,), strictly increasing (else a ValueError); in score
            units.
    """
    s = checks.vector(scores, "scores")
    values = checks.increasing(levels)
    return np.asarray(values[np.argmin(np.abs(values - s[:, None]), axis=1)])


def weighted_kappa(
    a: ArrayLike,
    b: ArrayLike,
    categories: ArrayLike,
    weights: Literal["quadratic", "linear", "none"] = "quadratic",
) -> Coefficient:
    """Compute Cohen's kappa on ordered categories, disagreement weighted by the squared distance in
    categories.

    The distance counts steps along `categories`, so 0, 25, 100 are one step apart; give every level
    of the scale, used or not, for equal steps to be equal.

    Args:
        a, b: Category of each item by two judges, shape (n,), values taken from `categories`.
        categories: All categories in order, shape (k,), k >= 2.
        weights: `none` counts every disagreement alike (Cohen 1960).
    Raises:
        ValueError: If a value is not a category, or categories repeat.
    References:
        Cohen (1968), Weighted kappa. doi:10.1037/h0026256
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = checks.paired_vectors(a, b)
    order = checks.vector(categories, "categories", minimum=2)
    checks.option(weights, "weights", ("quadratic", "linear", "none"))
    if np.unique(order).size != order.size:
        raise ValueError("`categories` repeats a category.")
    for name, values in (("a", first), ("b", second)):
        unknown = values[~np.isin(values, order)]
        if unknown.size:
            raise ValueError(
                f"`{name}` holds {unknown[0]:g}, which is not one of `categories` {order.tolist()}."
            )
    x = _places(first, order)
    y = _places(second, order)
    if np.all(x == x[0]) and np.all(y == x[0]):
        return Coefficient(None, x.size)  # agreement by chance is certain
    value = cohen_kappa_score(
        x,
        y,
        labels=np.arange(order.size),
        weights=None if weights == "none" else weights,
    )
    return Coefficient(float(value), x.size)


def _places(values: Array, categories: Array) -> Index:
    """Number the category of each value, shape (n,)."""
    return np.argmax(values[:, None] == categories, axis=1)


def krippendorff_alpha(ratings: ArrayLike) -> Coefficient:
    """Compute Krippendorff's alpha of numbers: agreement of any number of raters, with ratings
    missing at will.

    A unit rated once is left out. Computed from sums of squares in time and memory linear in the
    ratings. The package `krippendorff` builds matrices of units by distinct values and of values by
    values, 3 GB each for 20,000 texts on a fine scale; the two differ by rounding (1e-15).

    Args:
        ratings: Shape (n_raters, n_units), n_raters >= 2, NaN where a rater gave none.
    Raises:
        ValueError: If the shape is wrong, a value is infinite, or no unit has two ratings.
    References:
        Hayes and Krippendorff (2007), doi:10.1080/19312450709336664
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(
            f"`ratings` must have shape (n_raters >= 2, n_units); its shape is {table.shape}."
        )
    if np.isinf(table).any():
        raise ValueError("`ratings` holds an infinite value.")
    # A rating without another of the same unit agrees and disagrees with nobody.
    by_unit = table[:, np.sum(~np.isnan(table), axis=0) >= 2].T
    n_units = len(by_unit)
    if n_units == 0:
        raise ValueError("`ratings` has no unit with two ratings.")
    there = ~np.isnan(by_unit)
    values = by_unit[there]
    if np.unique(values).size == 1:
        return Coefficient(None, n_units)
    unit = np.nonzero(there)[0]

    def disagreement(unit: Index) -> Array:
        """Compute the mean squared difference over all pairs of a unit's ratings (both ways), times
        half its size."""
        size = np.bincount(unit)
        centred = values - (np.bincount(unit, values) / size)[unit]
        return np.asarray(np.bincount(unit, centred**2) * size / (size - 1))

    # By chance any two ratings meet, as if all were of one unit.
    (expected,) = disagreement(np.zeros_like(unit))
    return Coefficient(float(1 - disagreement(unit).sum() / expected), n_units)


def bland_altman(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> BlandAltman:
    """Estimate bias, limits of agreement and drift of the differences a - b.

    The limits are bias -+ z(level) sd, so `level` is both the share of differences they span (1.96
    sd for 95 %) and the confidence level of every interval. The interval of a limit is the usual
    approximation with variance sd^2 (1/n + z^2 / (2(n - 1))). Drift is the least-squares slope of
    difference on mean; a and b of different spread give a slope even when neither is at fault.

    Args:
        a, b: Scores of the same items, shape (n,), n >= 3, in the same units.
    References:
        Bland and Altman (1986), doi:10.1016/S0140-6736(86)90837-8; (1999),
        doi:10.1177/096228029900800204
    """
    first, second = checks.paired_vectors(a, b, minimum=3)
    checks.share(level, "level")
    d = first - second
    mean = (first + second) / 2
    n = d.size
    bias = float(np.mean(d))
    sd = float(np.std(d, ddof=1))
    # The limits span the differences, which are taken for normal; t serves the
    # intervals of bias and limits, whose error is estimated.
    z = means.normal_quantile(level)
    t = means.t_quantile(n - 1, level)
    drift = None
    if not checks.is_constant(mean):
        # Differences that rounding alone makes would give it any slope.
        differ = sd > 1e-10 * np.max(np.abs(mean))
        drift = float(scipy.stats.linregress(mean, d).slope) if differ else 0.0

    def estimate(middle: float, reach: float) -> Estimate:
        return Estimate(middle, middle - reach, middle + reach, level, n, n)

    limit_reach = t * sd * np.sqrt(1 / n + z**2 / (2 * (n - 1)))
    return BlandAltman(
        estimate(bias, t * sd / np.sqrt(n)),
        estimate(bias - z * sd, limit_reach),
        estimate(bias + z * sd, limit_reach),
        sd,
        drift,
    )


class BackToBack(NamedTuple):
    """Differences are second run minus first, in score units; correlations are typed None where a
    run is constant."""

    n: int
    pearson: Coefficient
    spearman: Coefficient
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
    groups: Groups = None,
) -> BackToBack:
    """Measure the reliability of two runs over the same items, in the same order.

    `sd_within`, the typical error of a single score, is sqrt(mean squared difference / 2): two
    scores of one item by the same judge differ by less than 2.77 times it in 95 % of repeats. Items
    that failed in either run must be left out and counted by the caller; a correlation near 1 may
    only say that the items are far apart.

    Args:
        first, second: Scores of the two runs, shape (n,), n >= 3, in score units.
        tolerance: Largest difference that counts as an exact match, 0 or more, in score units. An
            expectation over probabilities seldom repeats to the last bit where the hardware
            differs.
    References:
        Bland and Altman (1996), Measurement error. doi:10.1136/bmj.313.7059.744
    """
    a, b = checks.paired_vectors(first, second, ("first", "second"), minimum=3)
    if not tolerance >= 0:
        raise ValueError(f"`tolerance` is {tolerance}; it must be 0 or more.")
    d = b - a
    return BackToBack(
        n=d.size,
        pearson=correlation("pearson", a, b),
        spearman=correlation("spearman", a, b),
        mean_difference=float(np.mean(d)),
        mean_abs_difference=float(np.mean(np.abs(d))),
        max_abs_difference=float(np.max(np.abs(d))),
        sd_within=float(np.sqrt(np.mean(d**2) / 2)),
        exact_match=proportion(np.abs(d) <= tolerance, level, groups=groups),
    )


def alpha(
    ratings: ArrayLike, level: float = 0.95, *, groups: Groups = None
) -> Estimate | None:
    """Estimate `krippendorff_alpha` (interval) with an interval over items or groups of them.

    If the raters agree alike on at least half of the units and otherwise on fewer than `means.FEW`,
    or most units have the same spread, the limits are those of the units with one more
    (`means.bounded_limits`): for the lower one it is rated by chance, for the upper one all rate it
    alike and as far out as any. Ten texts on which all agree do not show that no other would part
    them.

    Args:
        ratings: Shape (n_raters, n_items), NaN where a rater gave none.
    Returns:
        None where every rating is the same. With fewer than `FEWEST` units the limits are -1 and 1.
    References:
        Fieller (1954), doi:10.1111/j.2517-6161.1954.tb00159.x; Hayes and Krippendorff (2007),
        doi:10.1080/19312450709336664
    """
    checks.share(level, "level")
    coefficient = krippendorff_alpha(ratings)
    estimate = coefficient.estimate
    if estimate is None:
        return None
    table = np.asarray(ratings, dtype=np.float64).T
    size = np.sum(~np.isnan(table), axis=1).astype(np.float64)
    codes = checks.groups(groups, size.size)[size >= 2]
    table = table[size >= 2]
    size = size[size >= 2]
    n_units = int(np.unique(codes).size)
    if n_units < FEWEST:
        return Estimate(estimate, -1.0, 1.0, level, n_units)

    # Of each item: its disagreement, and its part of the spread of all ratings.
    deviations = table - float(np.nanmean(table))
    n = int(size.sum())
    total = np.nansum(deviations, axis=1)
    square = np.nansum(deviations**2, axis=1)
    apart = np.maximum(square - total**2 / size, 0.0) * size / (size - 1)
    spread = square * n / (n - 1)

    # What one more item could add at most: by chance to the disagreement, far out to the spread.
    chance = float(size.max()) * float(spread.sum()) / n
    farthest_out = (
        float(size.max()) * float(np.nanmax(np.abs(deviations))) ** 2 * n / (n - 1)
    )
    tolerance = means.SAME_SHARE**2 * float(np.nanmax(table) - np.nanmin(table)) ** 2
    scarce = any(
        means.mostly_same(means.sums(values, codes).means, tolerance)
        for values in (apart, spread)
    )

    def limits(a: float) -> tuple[float, float]:
        """Limit the mean that is above 0 where `a` is below the estimate."""
        values = (1 - a) * spread - apart
        if not scarce:
            return means.interval(values, level, groups=codes).interval
        bottom = min(-max(a, 0.0) * chance, float(values.min()))
        top = max((1 - a) * farthest_out, float(values.max()))
        return means.bounded_limits(means.sums(values, codes), (bottom, top), level)

    low = checks.farthest(lambda a: limits(a)[0], estimate, -1.0)
    high = checks.farthest(lambda a: -limits(a)[1], estimate, 1.0)
    return Estimate(estimate, min(low, estimate), max(high, estimate), level, n_units)


def correlation_interval(
    kind: Kind,
    a: ArrayLike,
    b: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> Estimate | None:
    """Estimate `correlation` with an interval over items or groups of them; None where a vector is
    constant.

    If at least half of the units have the same value on one side and fewer than `means.FEW`
    another, that of Pearson's holds for every distribution between the lowest and the highest
    values seen.

    Args:
        kind, a, b: As in `correlation`. With fewer than `FEWEST` units the limits are -1 and 1.
    References:
        Fieller, Hartley and Pearson (1957), doi:10.1093/biomet/44.3-4.470, for the variance of
        Kendall's.
    """
    checks.option(kind, "kind", get_args(Kind))
    checks.share(level, "level")
    first, second = checks.paired_vectors(a, b, minimum=3)
    n = first.size
    if checks.is_constant(first) or checks.is_constant(second):
        return None
    if kind == "spearman":
        return ranking.spearman_interval(first, second, rng, level, groups=groups)
    if kind == "pearson":
        codes = checks.groups(groups, n)
        return rated.pearson(rated.Rated(first, second, np.ones(n), codes, level))
    # Centred, so that what counts as tied does not hang on where the scale begins.
    columns = np.column_stack(
        [checks.tied(values - values.mean()) for values in (first, second)]
    )

    def tau(rows: Array) -> float:
        return float(scipy.stats.kendalltau(*rows.T).statistic)

    left_out = jackknife.LeftOut(columns, tau, rng, groups)
    return left_out.coefficient(level, spread=0.437, missing=4.0)


def kappa_interval(
    a: ArrayLike,
    b: ArrayLike,
    categories: ArrayLike,
    weights: Literal["quadratic", "linear", "none"] = "quadratic",
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> Estimate | None:
    """Estimate `weighted_kappa` with an interval (`rated.Rated.coefficient`); None where both gave
    every item one category.

    Args:
        a, b, categories, weights: As in `weighted_kappa`, with its errors.
    """
    if weighted_kappa(a, b, categories, weights).estimate is None:
        return None
    order = np.asarray(categories, dtype=np.float64)
    x = _places(np.asarray(a), order).astype(np.float64)
    y = _places(np.asarray(b), order).astype(np.float64)
    pairs = rated.Rated(x, y, np.ones(x.size), checks.groups(groups, x.size), level)
    return pairs.coefficient(order.size, rated.kappa(rated.costs(order.size, weights)))


@jackknife.Prepared
def pearson(columns: Array) -> jackknife.OfDraws:
    """Prepare Pearson's correlation of two columns, shape (n, 2)."""
    x, y = columns.T

    def centred(values: Array) -> Array:
        return np.asarray(values - values.mean(axis=1, keepdims=True))

    def product(one: Array, other: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->i", one, other))

    def of_draws(drawn: Index) -> Array:
        one = centred(x.take(drawn))
        other = centred(y.take(drawn))
        scale = np.sqrt(product(one, one) * product(other, other))
        # Draws of one value have no correlation, though rounding leaves them a spread.
        least = checks.SAME**2 * float(x @ x) ** 0.5 * float(y @ y) ** 0.5
        constant = np.full(len(drawn), np.nan)
        return np.divide(product(one, other), scale, out=constant, where=scale > least)

    return of_draws


def steps(values: ArrayLike) -> float:
    """Count how many different values there are, as if all were as frequent: the inverse of the
    chance that two of them, drawn with replacement, are the same. A hundred grades of which 98 are
    a 5 have hardly more than one.

    References:
        Hill (1973), Diversity and evenness. doi:10.2307/1934352
    """
    counts = np.unique(np.asarray(values), return_counts=True)[1]
    return float(counts.sum() ** 2 / np.sum(counts.astype(np.float64) ** 2))


def fewest_equal(rate: float, chance: float = 0.05) -> int:
    """Count the items of all of which two who agree on this share of items say the same with a
    probability below `chance`."""
    checks.share(rate, "rate")
    return math.ceil(math.log(chance) / math.log(rate))
