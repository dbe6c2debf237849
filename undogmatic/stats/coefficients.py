"""Intervals of coefficients of agreement, over items or groups of items: correlations, weighted kappa, alpha.

Every one is `jackknife.interval`, so that the lower limit, which decides whether judges agree, means the same in all.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import agreement, checks, jackknife, ranking, resampling

Array = NDArray[np.float64]
Groups = Sequence[object] | ArrayLike

_KENDALL_SPREAD, _KENDALL_MISSING = 0.437, 4.0


def correlation_interval(
    kind: agreement.Kind,
    a: ArrayLike,
    b: ArrayLike,
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    groups: Groups | None = None,
) -> jackknife.Coefficient | None:
    """Interval of `agreement.correlation`; None where a vector is constant and there is no correlation.

    Args:
        kind: `pearson`, `spearman` or `kendall`.
        a: Scores, shape (n,), n >= 3.
        b: Scores of the same items, shape (n,).
        rng: The source of randomness; used beyond `resampling.MOST_LEFT_OUT` units.
        level: Confidence level.
        groups: What belongs together, shape (n,).
    Raises:
        ValueError: If there are fewer than three pairs, NaN, or the lengths differ.
    References:
        Fieller, Hartley and Pearson (1957), doi:10.1093/biomet/44.3-4.470, for the variance of Kendall's.
    """
    checks.option(kind, "kind", ("pearson", "spearman", "kendall"))
    first, second = checks.paired_vectors(a, b, ("a", "b"), minimum=3)
    if checks.is_constant(first) or checks.is_constant(second):
        return None
    if kind == "spearman":
        return ranking.spearman_interval(first, second, rng, level, groups=groups)
    columns = np.column_stack([first - first.mean(), second - second.mean()])
    if kind == "pearson":
        return jackknife.interval(columns, PEARSON, rng, level, groups=groups)
    return jackknife.interval(
        columns, _kendall, rng, level, groups=groups, spread=_KENDALL_SPREAD, missing=_KENDALL_MISSING
    )


def kappa_interval(
    a: ArrayLike,
    b: ArrayLike,
    categories: ArrayLike,
    rng: np.random.Generator,
    weights: Literal["quadratic", "linear", "none"] = "quadratic",
    level: float = 0.95,
    *,
    groups: Groups | None = None,
) -> jackknife.Coefficient | None:
    """Interval of `agreement.weighted_kappa`; None where both gave every item one category.

    Args:
        a, b, categories, weights: As in `agreement.weighted_kappa`.
        rng: The source of randomness; used beyond `resampling.MOST_LEFT_OUT` units.
        level: Confidence level.
        groups: What belongs together, shape (n,).
    Raises:
        ValueError: As `agreement.weighted_kappa`.
    """
    if agreement.weighted_kappa(a, b, categories, weights).estimate is None:
        return None
    order = checks.vector(categories, "categories")
    codes = [np.argmax(checks.vector(own, "a")[:, None] == order, axis=1) for own in (a, b)]
    steps = np.abs(np.subtract.outer(np.arange(order.size), np.arange(order.size))).astype(np.float64)
    cost = {"quadratic": steps**2, "linear": steps, "none": np.sign(steps)}[weights]

    def on(data: Array) -> resampling.OfDraws:
        first, second = data.astype(np.intp).T
        apart = cost[first, second]

        def of_draws(drawn: resampling.Index) -> Array:
            counts = [resampling.Tally(own, order.size, drawn).counts() for own in (first, second)]
            expected = np.einsum("di,ij,dj->d", counts[0], cost, counts[1]) / drawn.shape[1]
            seen = apart.take(drawn).sum(axis=1)
            return 1 - np.divide(seen, expected, out=np.full(len(drawn), np.nan), where=expected > 0)

        return of_draws

    return jackknife.interval(np.column_stack(codes), resampling.Prepared(on), rng, level, groups=groups)


def alpha_interval(
    ratings: ArrayLike,
    rng: np.random.Generator,
    measurement: agreement.Measurement = "interval",
    level: float = 0.95,
    *,
    groups: Groups | None = None,
) -> jackknife.Coefficient | None:
    """Interval of `agreement.krippendorff_alpha`; None where every rating is the same.

    Args:
        ratings: Shape (n_raters, n_units), NaN where a rater gave none.
        rng: The source of randomness; used beyond `resampling.MOST_LEFT_OUT` units.
        measurement: How far apart two values are.
        level: Confidence level.
        groups: What belongs together, shape (n_units,).
    Raises:
        ValueError: As `agreement.krippendorff_alpha`.
    """
    if agreement.krippendorff_alpha(ratings, measurement).estimate is None:
        return None
    rows = np.asarray(ratings, dtype=np.float64).T
    kept = np.sum(~np.isnan(rows), axis=1) >= 2
    own = None if groups is None else [group for group, one in zip(list(groups), kept, strict=True) if one]  # type: ignore[arg-type]

    def of_other(data: Array) -> float:
        found = agreement.krippendorff_alpha(data.T, measurement).estimate
        return np.nan if found is None else found

    return jackknife.interval(rows[kept], ALPHA if measurement == "interval" else of_other, rng, level, groups=own)


def _kendall(columns: Array) -> float:
    return float(stats.kendalltau(*columns.T).statistic)


def _pearson(columns: Array) -> resampling.OfDraws:
    x, y = columns.T

    def of_draws(drawn: resampling.Index) -> Array:
        own, other = x.take(drawn), y.take(drawn)
        own, other = own - own.mean(axis=1, keepdims=True), other - other.mean(axis=1, keepdims=True)
        scale = np.sqrt(np.einsum("ij,ij->i", own, own) * np.einsum("ij,ij->i", other, other))
        least = checks.SAME**2 * float(x @ x) ** 0.5 * float(y @ y) ** 0.5
        return np.divide(np.einsum("ij,ij->i", own, other), scale, out=np.full(len(drawn), np.nan), where=scale > least)

    return of_draws


def _alpha(ratings: Array) -> resampling.OfDraws:
    """Alpha (interval) from number, sum, sum of squares and disagreement of the ratings of each item."""
    centred = ratings - np.nanmean(ratings)
    size = np.sum(~np.isnan(centred), axis=1).astype(np.float64)
    total, squares = np.nansum(centred, axis=1), np.nansum(centred**2, axis=1)
    within = (squares - total**2 / size) * size / (size - 1)

    def of_draws(drawn: resampling.Index) -> Array:
        n, sums, both, apart = (numbers.take(drawn).sum(axis=1) for numbers in (size, total, squares, within))
        expected = (both - sums**2 / n) * n / (n - 1)
        least = checks.SAME * squares.sum()
        return 1 - np.divide(apart, expected, out=np.full(len(drawn), np.nan), where=expected > least)

    return of_draws


PEARSON, ALPHA = resampling.Prepared(_pearson), resampling.Prepared(_alpha)
"""Of two columns, shape (n, 2); of ratings, shape (n_items, n_raters)."""
