"""Differences of matched pairs: tests and shares.

A difference is score A minus score B of the same item, so the sign has one meaning throughout:
positive means A is higher.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import checks, signedrank
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion
from undogmatic.stats.signedrank import ZeroMethod

Alternative = Literal["two-sided", "greater", "less"]

MOST_PAIRS_EXACT = 50


class WilcoxonResult(NamedTuple):
    """`statistic` is min(R+, R-) when two-sided, else R+; `method` says which null distribution gave `p_value`."""

    statistic: float
    p_value: float
    n_pairs: int
    n_zero: int
    zero_method: ZeroMethod
    method: Literal["exact", "approx"]


class ShareInDirection(NamedTuple):
    """`n_ties` pairs did not differ and count as not in the direction."""

    estimate: Estimate
    n_ties: int


class Summary(NamedTuple):
    """`sd` divides by n - 1 and is None for a single value; quartiles interpolate linearly."""

    n: int
    mean: float
    median: float
    q1: float
    q3: float
    iqr: float
    sd: float | None
    minimum: float
    maximum: float


def wilcoxon(
    differences: ArrayLike, zero_method: ZeroMethod = "pratt", alternative: Alternative = "two-sided"
) -> WilcoxonResult:
    """Wilcoxon signed-rank test that the differences are symmetric about zero.

    Zeros: `pratt` ranks them and then drops their ranks, `wilcox` drops them first, `zsplit` gives half their ranks
    to each side. The null distribution is exact up to 50 pairs, with or without ties and zeros; beyond, the normal
    approximation with tie correction and without continuity correction. Differences that agree to twelve digits are
    tied. All differences zero is no evidence at all: p = 1.

    Whether differences exceed a margin is asked of `differences - margin`, with `greater`. The test is of the centre of
    symmetry: of skewed differences, whose mean is not their middle, it does not test the mean.

    Args:
        differences: Score A minus score B per pair, shape (n_pairs,), in score units.
        zero_method: What to do with differences of exactly zero.
        alternative: `greater` tests whether A is higher.
    Raises:
        ValueError: If `differences` is empty or holds NaN, or a word is none of the options.
    References:
        Wilcoxon (1945), doi:10.2307/3001968. Pratt (1959), doi:10.1080/01621459.1959.10501526.
    """
    d = checks.tied(checks.vector(differences, "differences"))
    checks.option(zero_method, "zero_method", get_args(ZeroMethod))
    checks.option(alternative, "alternative", get_args(Alternative))
    n_pairs, n_zero = d.size, int(np.sum(d == 0))
    if n_zero == n_pairs:
        return WilcoxonResult(0.0, 1.0, n_pairs, n_zero, zero_method, "exact")
    if n_pairs - (n_zero if zero_method == "wilcox" else 0) > MOST_PAIRS_EXACT:
        result = stats.wilcoxon(d, zero_method=zero_method, alternative=alternative, method="asymptotic")
        return WilcoxonResult(float(result.statistic), float(result.pvalue), n_pairs, n_zero, zero_method, "approx")
    found = signedrank.tails(d, zero_method)
    statistic = min(found.positive, found.negative) if alternative == "two-sided" else found.positive
    p_value = {
        "two-sided": min(1.0, 2 * min(found.below, found.above)),
        "greater": found.above,
        "less": found.below,
    }[alternative]
    return WilcoxonResult(statistic, p_value, n_pairs, n_zero, zero_method, "exact")


def rank_biserial(differences: ArrayLike) -> float:
    """Matched-pairs rank-biserial correlation of paired differences.

    Zero differences are dropped before ranking (Wilcoxon's treatment), whatever the test did with them.

    Args:
        differences: Score A minus score B per pair, shape (n_pairs,), in score units.
    Returns:
        Effect size in [-1, 1]; 1 means every non-zero difference is positive.
    Raises:
        ValueError: If a difference is NaN, or all are zero.
    References:
        Kerby (2014), The simple difference formula. doi:10.2466/11.IT.3.1
    """
    d = checks.tied(checks.vector(differences, "differences"))
    d = d[d != 0]
    if d.size == 0:
        raise ValueError("`differences` are all zero; the rank-biserial correlation is undefined.")
    ranks = stats.rankdata(np.abs(d))
    return float(np.sum(np.sign(d) * ranks) / np.sum(ranks))


def share_in_direction(
    differences: ArrayLike,
    direction: Literal["positive", "negative"] = "positive",
    level: float = 0.95,
    *,
    groups: Sequence[object] | ArrayLike | None = None,
) -> ShareInDirection:
    """Share of pairs whose difference has the expected sign, with Wilson's score interval (`proportion`).

    Ties count as not in the direction: a judge that cannot tell the texts apart has not found the direction.

    Args:
        differences: Score A minus score B per pair, shape (n_pairs,), in score units.
        direction: The expected sign.
        level: Confidence level of the interval.
        groups: What belongs together, shape (n_pairs,).
    Raises:
        ValueError: If `differences` is empty or holds NaN, `level` is outside (0, 1), or `direction` is neither.
    References:
        Wilson (1927), doi:10.1080/01621459.1927.10502953.
    """
    d = checks.tied(checks.vector(differences, "differences"))
    checks.share(level, "level")
    checks.option(direction, "direction", ("positive", "negative"))
    found = proportion(d > 0 if direction == "positive" else d < 0, level, groups=groups)
    return ShareInDirection(found, int(np.sum(d == 0)))


def summary(values: ArrayLike) -> Summary:
    """Mean, median, quartiles and spread of one group of scores.

    Args:
        values: Shape (n,), in any unit; the results are in the same unit.
    Raises:
        ValueError: If `values` is empty or holds NaN.
    """
    v = checks.vector(values, "values")
    q1, median, q3 = (float(q) for q in np.percentile(v, [25, 50, 75]))
    sd = float(np.std(v, ddof=1)) if v.size > 1 else None
    return Summary(v.size, float(v.mean()), median, q1, q3, q3 - q1, sd, float(v.min()), float(v.max()))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p-values, in the order given; they control the family-wise error.

    Args:
        p_values: Shape (n_tests,), each in [0, 1].
    Raises:
        ValueError: If a p-value is NaN or outside [0, 1].
    References:
        Holm (1979), A simple sequentially rejective multiple test procedure. https://www.jstor.org/stable/4615733
    """
    p = checks.vector(p_values, "p_values")
    if np.any((p < 0) | (p > 1)):
        raise ValueError("`p_values` must lie in [0, 1].")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return adjusted
