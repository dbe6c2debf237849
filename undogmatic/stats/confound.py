"""How much of a score difference text length could explain.

Lengths are positive counts (characters, words or tokens; one unit throughout) and enter as natural logarithms: it is
the ratio of two lengths that matters. Controlling for length is arithmetic, not an experiment: where two conditions
share no lengths the data cannot tell them apart, and the results here say so instead of extrapolating quietly.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks
from undogmatic.stats.ranking import Auc, auc


class ControlledDifference(NamedTuple):
    """`intercept` is the expected difference between texts of equal length, with its interval and p-value.

    `raw_difference` is the plain mean; `slope` is score units per unit of log length ratio. `extrapolated` is true
    when no pair comes close to equal length from one side: all log length ratios lie on one side of zero.
    """

    raw_difference: float
    intercept: float
    low: float
    high: float
    p_value: float
    slope: float
    slope_low: float
    slope_high: float
    extrapolated: bool
    n_pairs: int
    level: float


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
        extrapolated=bool(ratio.min() > 0 or ratio.max() < 0),
        n_pairs=d.size,
        level=level,
    )


def _lengths(values: ArrayLike, name: str) -> NDArray[np.float64]:
    size = checks.vector(values, name)
    if np.any(size <= 0):
        raise ValueError(f"`{name}` holds a length of {size.min():g}; lengths must be positive.")
    return size


def _robust_fit(response: NDArray[np.float64], design: NDArray[np.float64], problem: str) -> Any:
    """Least squares with HC3 errors; ValueError where those errors do not exist."""
    import statsmodels.api as sm

    n, k = design.shape
    # HC3 divides by 1 - leverage: an observation that its own parameter fits perfectly has no error to show.
    leverage = np.sum(np.linalg.qr(design)[0] ** 2, axis=1)
    if n <= k or np.max(leverage) > 1 - 1e-9:
        raise ValueError(f"The length-controlled difference has no standard error: {problem}.")
    return sm.OLS(response, design).fit(cov_type="HC3", use_t=True)
