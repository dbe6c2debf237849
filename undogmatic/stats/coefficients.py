"""Intervals of correlations, of weighted kappa and of Krippendorff's alpha, over items or groups of items.

Alpha and Pearson's r are ratios of means: that alpha is `a` says that the mean over items of (1 - a) times their share
of all spread, less their disagreement, is zero; that r is `a` says so of the product of the standardised values less
`a` times half the sum of their squares. Their interval is what `means` does not rule out, so skewed scores, scores at
the floor and groups are treated as in every mean (Fieller's theorem with another interval in place of Student's).
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import agreement, checks, jackknife, means, ranking
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.jackknife import FEWEST


def alpha(ratings: ArrayLike, level: float = 0.95, *, groups: Groups = None) -> Estimate | None:
    """Interval of `agreement.krippendorff_alpha` (interval), over items or groups of them.

    If the raters agree alike on at least half of the units and otherwise on fewer than `means.FEW`, or most units have
    the same spread, the limits are those of the units with one more (`means.bounded_limits`): for the lower one it is
    rated by chance, for the upper one all rate it alike and as far out as any. Ten texts on which all agree do not show
    that no other would part them.

    Args:
        ratings: Shape (n_raters, n_items), NaN where a rater gave none.
    Returns:
        None where every rating is the same. With fewer than `FEWEST` units the limits are -1 and 1.
    References:
        Fieller (1954), doi:10.1111/j.2517-6161.1954.tb00159.x; Hayes and Krippendorff (2007),
        doi:10.1080/19312450709336664
    """
    checks.share(level, "level")
    found = agreement.krippendorff_alpha(ratings)
    if found.estimate is None:
        return None
    table = np.asarray(ratings, dtype=np.float64).T
    size = np.sum(~np.isnan(table), axis=1).astype(np.float64)
    codes = checks.groups(groups, size.size)[size >= 2]
    table, size = table[size >= 2], size[size >= 2]
    centre, n = float(np.nanmean(table)), int(size.sum())
    total, square = np.nansum(table - centre, axis=1), np.nansum((table - centre) ** 2, axis=1)
    apart = np.maximum(square - total**2 / size, 0.0) * size / (size - 1)
    spread = square * n / (n - 1)
    chance = float(size.max()) * float(spread.sum()) / n
    farthest_out = float(size.max()) * float(np.nanmax(np.abs(table - centre))) ** 2 * n / (n - 1)

    def terms(a: float) -> tuple[Array, means.Bounds]:
        return (1 - a) * spread - apart, (-max(a, 0.0) * chance, (1 - a) * farthest_out)

    tolerance = means.SAME_SHARE**2 * float(np.nanmax(table) - np.nanmin(table)) ** 2
    scarce = any(means.mostly_same(means.sums(own, codes).means, tolerance) for own in (apart, spread))
    return _interval(found.estimate, terms, codes, level, scarce)


def pearson(a: ArrayLike, b: ArrayLike, level: float = 0.95, *, groups: Groups = None) -> Estimate | None:
    """Interval of Pearson's correlation, over items or groups of them.

    If at least half of the units have the same value on one side and fewer than `means.FEW` another, the interval
    holds for every distribution between the lowest and the highest values seen.

    Args:
        a, b: Scores of the same items, shape (n,), n >= 3.
    Returns:
        None where a vector is constant. With fewer than `FEWEST` units the limits are -1 and 1.
    """
    checks.share(level, "level")
    columns = np.column_stack(checks.paired_vectors(a, b, minimum=3))
    if any(checks.is_constant(own) for own in columns.T):
        return None
    codes = checks.groups(groups, len(columns))
    z = columns - columns.mean(axis=0)
    z /= np.sqrt(np.mean(z**2, axis=0))
    product, square = z[:, 0] * z[:, 1], np.mean(z**2, axis=1)
    ends = list(zip(z.min(axis=0), z.max(axis=0), strict=True))

    def terms(r: float) -> tuple[Array, means.Bounds]:
        # Where x y - r (x^2 + y^2) / 2 can be extreme on a rectangle about the origin.
        places = [(x, y) for x in ends[0] for y in ends[1]] + [(0.0, 0.0)]
        if r:
            places += [(float(np.clip(y / r, *ends[0])), y) for y in ends[1]]
            places += [(x, float(np.clip(x / r, *ends[1]))) for x in ends[0]]
        x, y = np.array(places).T
        extreme = x * y - r * (x**2 + y**2) / 2
        return product - r * square, (float(extreme.min()), float(extreme.max()))

    scarce = any(
        means.mostly_same(means.sums(own, codes).means, means.SAME_SHARE * (high - low))
        for own, (low, high) in zip(z.T, ends, strict=True)
    )
    return _interval(float(product.mean()), terms, codes, level, scarce)


def farthest(ruled_out: Callable[[float], bool], inside: float, end: float) -> float:
    """How far from `inside` towards `end` nothing is ruled out: the end, or the first that is, found by halving."""
    if not ruled_out(end):
        return end
    for _ in range(24):
        middle = (inside + end) / 2
        inside, end = (inside, middle) if ruled_out(middle) else (middle, end)
    return end


def _interval(
    estimate: float, terms: Callable[[float], tuple[Array, means.Bounds]], codes: Index, level: float, scarce: bool
) -> Estimate:
    """What the interval of the mean of `terms` does not rule out; the mean is above 0 below the estimate."""
    n_units = int(np.unique(codes).size)
    if n_units < FEWEST:
        return Estimate(estimate, -1.0, 1.0, level, n_units)

    def limits(a: float) -> tuple[float, float]:
        values, (bottom, top) = terms(a)
        if scarce:
            bounds = min(bottom, float(values.min())), max(top, float(values.max()))
            return means.bounded_limits(means.sums(values, codes), bounds, level)
        found = means.interval(values, level, groups=codes)
        return found.low, found.high

    low = farthest(lambda a: limits(a)[0] > 0, estimate, -1.0)
    high = farthest(lambda a: limits(a)[1] < 0, estimate, 1.0)
    return Estimate(estimate, min(low, estimate), max(high, estimate), level, n_units)


def correlation_interval(
    kind: agreement.Kind, a: ArrayLike, b: ArrayLike, rng: Rng, level: float = 0.95, *, groups: Groups = None
) -> Estimate | None:
    """Interval of `agreement.correlation`; None where a vector is constant and there is no correlation.

    Args:
        kind, a, b: As in `agreement.correlation`.
    References:
        Fieller, Hartley and Pearson (1957), doi:10.1093/biomet/44.3-4.470, for the variance of Kendall's.
    """
    checks.option(kind, "kind", ("pearson", "spearman", "kendall"))
    first, second = checks.paired_vectors(a, b, minimum=3)
    if checks.is_constant(first) or checks.is_constant(second):
        return None
    if kind == "spearman":
        return ranking.spearman_interval(first, second, rng, level, groups=groups)
    if kind == "pearson":
        return pearson(first, second, level, groups=groups)
    columns = np.column_stack([checks.tied(values - values.mean()) for values in (first, second)])

    def tau(rows: Array) -> float:
        return float(stats.kendalltau(*rows.T).statistic)

    return jackknife.interval(columns, tau, rng, level, groups=groups, spread=0.437, missing=4.0)


def kappa_interval(
    a: ArrayLike,
    b: ArrayLike,
    categories: ArrayLike,
    rng: Rng,
    weights: Literal["quadratic", "linear", "none"] = "quadratic",
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> Estimate | None:
    """Interval of `agreement.weighted_kappa`; None where both gave every item one category.

    Args:
        a, b, categories, weights: As in `agreement.weighted_kappa`, with its errors.
    """
    if agreement.weighted_kappa(a, b, categories, weights).estimate is None:
        return None
    order = np.asarray(categories, dtype=np.float64)
    codes = [np.argmax(np.asarray(values)[:, None] == order, axis=1) for values in (a, b)]
    steps = np.abs(np.subtract.outer(np.arange(order.size), np.arange(order.size))).astype(np.float64)
    cost = {"quadratic": steps**2, "linear": steps, "none": np.sign(steps)}[weights]

    def on(data: Array) -> jackknife.OfDraws:
        first, second = data.astype(np.intp).T
        apart = cost[first, second]

        def of_draws(drawn: Index) -> Array:
            counts = [jackknife.Tally(own, order.size, drawn).counts() for own in (first, second)]
            expected = np.einsum("di,ij,dj->d", counts[0], cost, counts[1]) / drawn.shape[1]
            seen = apart.take(drawn).sum(axis=1)
            return 1 - np.divide(seen, expected, out=np.full(len(drawn), np.nan), where=expected > 0)

        return of_draws

    return jackknife.interval(np.column_stack(codes), jackknife.Prepared(on), rng, level, groups=groups)


def _pearson(columns: Array) -> jackknife.OfDraws:
    x, y = columns.T

    def of_draws(drawn: Index) -> Array:
        own, other = x.take(drawn), y.take(drawn)
        own, other = own - own.mean(axis=1, keepdims=True), other - other.mean(axis=1, keepdims=True)
        scale = np.sqrt(np.einsum("ij,ij->i", own, own) * np.einsum("ij,ij->i", other, other))
        least = checks.SAME**2 * float(x @ x) ** 0.5 * float(y @ y) ** 0.5
        return np.divide(np.einsum("ij,ij->i", own, other), scale, out=np.full(len(drawn), np.nan), where=scale > least)

    return of_draws


PEARSON = jackknife.Prepared(_pearson)
"""Of two columns, shape (n, 2)."""
