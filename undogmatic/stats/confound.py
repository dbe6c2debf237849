"""How much of a score difference text length could explain.

Lengths are positive counts (characters, words or tokens; one unit throughout) and enter as natural logarithms: it is
the ratio of two lengths that matters. Controlling for length is arithmetic, not an experiment: where two conditions
share no lengths the data cannot tell them apart, and the results here say so instead of extrapolating quietly.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import checks
from undogmatic.stats.agreement import Correlation, pearson, spearman
from undogmatic.stats.paired import Summary, summary
from undogmatic.stats.ranking import Auc, auc


class LengthCorrelation(NamedTuple):
    """Of score with length itself (Pearson, linear) and with its rank (Spearman, so the logarithm changes nothing)."""

    pearson: Correlation
    spearman: Correlation
    pearson_log: Correlation


class ControlledDifference(NamedTuple):
    """`intercept` is the expected difference between texts of equal length, with its interval and p-value.

    `raw_difference` is the plain mean; `slope` is score units per unit of log length ratio. `extrapolated` is true
    when no pair comes close to equal length from one side: zero lies outside [`log_ratio_low`, `log_ratio_high`].
    """

    raw_difference: float
    intercept: float
    low: float
    high: float
    p_value: float
    slope: float
    slope_low: float
    slope_high: float
    slope_p: float
    r_squared: float
    log_ratio_low: float
    log_ratio_high: float
    extrapolated: bool
    n_pairs: int
    level: float


class Stratum(NamedTuple):
    """`difference` is mean a minus mean b among texts of these lengths; None where a condition is absent."""

    shortest: float
    longest: float
    n_a: int
    n_b: int
    difference: float | None


class StratifiedDifference(NamedTuple):
    """`n_used` texts lie in strata holding both conditions; `n_dropped` do not, and say nothing at equal length."""

    difference: float
    low: float
    high: float
    p_value: float
    strata: tuple[Stratum, ...]
    n_used: int
    n_dropped: int
    level: float


def length_summary(lengths: Mapping[str, ArrayLike]) -> dict[str, Summary]:
    """Length statistics of each condition.

    Args:
        lengths: Condition -> lengths, shape (n,), all in one unit.
    Raises:
        ValueError: Naming the condition whose lengths are empty, NaN or not positive.
    """
    return {condition: summary(_lengths(values, condition)) for condition, values in lengths.items()}


def length_correlation(scores: ArrayLike, lengths: ArrayLike) -> LengthCorrelation:
    """Correlation of score with text length, over all texts or within one condition.

    Over all texts it mixes the condition with length; within one condition it shows what length alone goes with.

    Args:
        scores: Shape (n,), n >= 3, in score units.
        lengths: Shape (n,), positive.
    Raises:
        ValueError: If the lengths of the two differ, a length is not positive, or NaN.
    """
    s, size = checks.paired_vectors(scores, lengths, ("scores", "lengths"), minimum=3)
    size = _lengths(size, "lengths")
    return LengthCorrelation(pearson(s, size), spearman(s, size), pearson(s, np.log(size)))


def length_auc(lengths_a: ArrayLike, lengths_b: ArrayLike, level: float = 0.95) -> Auc:
    """How well length alone tells the conditions apart: P(a longer than b), ties counting half.

    0.5 means length gives nothing away; near 0 or 1, a judge that only counts words would look good.

    Args:
        lengths_a: Shape (n_a,), positive.
        lengths_b: Shape (n_b,), positive.
        level: Confidence level.
    Raises:
        ValueError: If a group is empty, a length is not positive, or NaN.
    """
    return auc(_lengths(lengths_a, "lengths_a"), _lengths(lengths_b, "lengths_b"), level)


def controlled_difference(
    scores_a: ArrayLike, scores_b: ArrayLike, lengths_a: ArrayLike, lengths_b: ArrayLike, level: float = 0.95
) -> ControlledDifference:
    """The paired score difference that remains at equal length.

    Least squares of (score a - score b) on log(length a / length b); the intercept is the difference at ratio 1.
    Standard errors are HC3, because the spread of differences need not be the same at every ratio, with the t
    distribution on n_pairs - 2 degrees of freedom. Heed `extrapolated`.

    Args:
        scores_a: Shape (n_pairs,), n_pairs >= 4, in score units.
        scores_b: Scores of the other text of each pair, shape (n_pairs,).
        lengths_a: Shape (n_pairs,), positive.
        lengths_b: Shape (n_pairs,), positive.
        level: Confidence level.
    Raises:
        ValueError: If NaN, sizes differ, a length is not positive, every pair has the same length ratio, or a single
            pair fixes the slope.
    References:
        Judd, Kenny and McClelland (2001), doi:10.1037/1082-989X.6.2.115, for regressing the difference.
        Long and Ervin (2000), doi:10.1080/00031305.2000.10474549, for HC3.
    """
    a, b = checks.paired_vectors(scores_a, scores_b, ("scores_a", "scores_b"), minimum=4)
    _, size_a = checks.paired_vectors(a, lengths_a, ("scores_a", "lengths_a"))
    _, size_b = checks.paired_vectors(a, lengths_b, ("scores_a", "lengths_b"))
    checks.share(level, "level")
    d = a - b
    ratio = np.log(_lengths(size_a, "lengths_a")) - np.log(_lengths(size_b, "lengths_b"))
    if np.ptp(ratio) <= 1e-9:
        raise ValueError("`lengths_a` / `lengths_b` is the same in every pair; length cannot be told from condition.")
    fit = _robust_fit(d, np.column_stack([np.ones(d.size), ratio]), "one pair alone fixes the slope on length")
    (low, high), (slope_low, slope_high) = (tuple(map(float, limits)) for limits in fit.conf_int(1 - level))
    return ControlledDifference(
        raw_difference=float(d.mean()),
        intercept=float(fit.params[0]),
        low=low,
        high=high,
        p_value=float(fit.pvalues[0]),
        slope=float(fit.params[1]),
        slope_low=slope_low,
        slope_high=slope_high,
        slope_p=float(fit.pvalues[1]),
        r_squared=0.0 if checks.is_constant(d) else float(fit.rsquared),
        log_ratio_low=float(ratio.min()),
        log_ratio_high=float(ratio.max()),
        extrapolated=bool(ratio.min() > 0 or ratio.max() < 0),
        n_pairs=d.size,
        level=level,
    )


def stratified_difference(
    scores: ArrayLike,
    is_a: Sequence[bool] | NDArray[np.bool_],
    lengths: ArrayLike,
    n_strata: int = 5,
    groups: Sequence[object] | ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> StratifiedDifference:
    """The difference of conditions among texts of about the same length.

    Texts are cut into strata of equal size by length; the differences within strata are averaged with weights
    n_a n_b / (n_a + n_b), which is least squares with one intercept per stratum. Strata holding one condition only
    drop out and are counted. Within a stratum some length difference remains: use more strata, or
    `controlled_difference`. Errors are HC3, or clustered when `groups` says which texts belong together.

    Args:
        scores: Shape (n,), in score units.
        is_a: True for texts of condition a, shape (n,).
        lengths: Shape (n,), positive.
        n_strata: Number of length strata; texts of equal length stay together.
        groups: Pair label per text, shape (n,), for errors that know the texts of a pair are related.
        level: Confidence level.
    Raises:
        ValueError: If NaN, sizes differ, a length is not positive, no stratum holds both conditions, or too few
            texts are left to estimate an error.
    References:
        Cochran (1968), The effectiveness of adjustment by subclassification. doi:10.2307/2528036
    """
    s, size = checks.paired_vectors(scores, lengths, ("scores", "lengths"))
    size, a = _lengths(size, "lengths"), np.asarray(is_a)
    if a.dtype != np.bool_ or a.shape != s.shape:
        raise ValueError(f"`is_a` must hold {s.size} booleans.")
    if n_strata < 1:
        raise ValueError(f"`n_strata` is {n_strata}; at least 1 is needed.")
    checks.share(level, "level")
    # By mean rank, so that a run of equal lengths falls into one stratum without swallowing its neighbours.
    stratum_of = np.floor(n_strata * (stats.rankdata(size) - 0.5) / size.size)
    codes = np.unique(stratum_of, return_inverse=True)[1]
    strata = tuple(_stratum(s[codes == c], a[codes == c], size[codes == c]) for c in range(codes.max() + 1))
    kept = np.isin(codes, [c for c, stratum in enumerate(strata) if stratum.difference is not None])
    if not kept.any():
        raise ValueError("`lengths`: no stratum holds both conditions; length cannot be told from condition.")
    indicators = (codes[kept, None] == np.unique(codes[kept])[None, :]).astype(np.float64)
    design = np.column_stack([a[kept].astype(np.float64), indicators])
    clusters = None if groups is None else checks.labels(groups, "groups", s.size)[kept]
    fit = _robust_fit(s[kept], design, "too few texts share a stratum to estimate an error", clusters)
    low, high = (float(limit) for limit in fit.conf_int(1 - level)[0])
    n_used = int(kept.sum())
    return StratifiedDifference(
        float(fit.params[0]), low, high, float(fit.pvalues[0]), strata, n_used, s.size - n_used, level
    )


def _lengths(values: ArrayLike, name: str) -> NDArray[np.float64]:
    size = checks.vector(values, name)
    if np.any(size <= 0):
        raise ValueError(f"`{name}` holds a length of {size.min():g}; lengths must be positive.")
    return size


def _stratum(scores: NDArray[np.float64], is_a: NDArray[np.bool_], lengths: NDArray[np.float64]) -> Stratum:
    n_a, n_b = int(is_a.sum()), int((~is_a).sum())
    difference = float(scores[is_a].mean() - scores[~is_a].mean()) if n_a and n_b else None
    return Stratum(float(lengths.min()), float(lengths.max()), n_a, n_b, difference)


def _robust_fit(
    response: NDArray[np.float64],
    design: NDArray[np.float64],
    problem: str,
    clusters: NDArray[np.intp] | None = None,
) -> Any:
    """Least squares with HC3 or cluster-robust errors; ValueError where those errors do not exist."""
    import statsmodels.api as sm

    n, k = design.shape
    # HC3 divides by 1 - leverage: an observation that its own parameter fits perfectly has no error to show.
    leverage = np.sum(np.linalg.qr(design)[0] ** 2, axis=1)
    if n <= k or (clusters is None and np.max(leverage) > 1 - 1e-9):
        raise ValueError(f"The length-controlled difference has no standard error: {problem}.")
    model = sm.OLS(response, design)
    if clusters is None:
        return model.fit(cov_type="HC3", use_t=True)
    if np.unique(clusters).size < 3:
        raise ValueError("`groups` leaves fewer than 3 groups; too few for clustered errors.")
    return model.fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
