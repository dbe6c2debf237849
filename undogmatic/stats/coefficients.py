"""Intervals of correlations and of weighted kappa, over items or groups of items."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import agreement, checks, inversion, jackknife, ranking, resampling
from undogmatic.stats.estimate import Estimate

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
) -> Estimate | None:
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
    if kind == "pearson":
        return inversion.pearson(first, second, level, groups=groups)
    columns = np.column_stack([checks.tied(values - values.mean()) for values in (first, second)])
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
) -> Estimate | None:
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


PEARSON = resampling.Prepared(_pearson)
"""Of two columns, shape (n, 2)."""
