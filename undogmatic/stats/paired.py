"""Differences of matched pairs: tests, shares, effect sizes, their middle, and what failed
judgments of one side do.

A difference is score A minus score B of the same item, so the sign has one meaning throughout:
positive means A is higher.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion, sign_p

ZeroMethod = Literal["pratt", "wilcox", "zsplit"]
Alternative = Literal["two-sided", "greater", "less"]


class WilcoxonResult(NamedTuple):
    """`statistic` is min(R+, R-) when two-sided, else R+; `method` says which null distribution
    gave `p_value`."""

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


def _signed_ranks(
    differences: Array, zero_method: ZeroMethod
) -> tuple[float, float, float, float]:
    """Sum positive and negative ranks (R+, R-), and compute P(R+ <= what was seen) and P(R+ >= it)
    if every sign is as likely as its opposite.

    The distribution of R+ is built by adding one rank after the other to it (a convolution):
    doubled mean ranks are whole numbers, so that n differences take n^2 (n + 1) additions instead
    of 2^n sign patterns.

    References:
        Streitberg and Roehmel (1986), Exact distributions for permutation and rank tests.
        Statistical Software Newsletter 12(1), 10-17.
    """
    d = differences[differences != 0] if zero_method == "wilcox" else differences
    # A mean rank of tied differences ends on .5 at most.
    doubled = np.round(2 * checks.ranks(np.abs(d))).astype(np.intp)
    half_of_zeros = float(doubled[d == 0].sum()) / 4 if zero_method == "zsplit" else 0.0
    ranks = doubled[d != 0]
    chances = np.ones(1)
    for rank in ranks.tolist():
        grown = np.zeros(chances.size + rank)
        grown[: chances.size] += chances / 2
        grown[rank:] += chances / 2
        chances = grown
    seen = int(doubled[d > 0].sum())
    positive = seen / 2 + half_of_zeros
    negative = (int(ranks.sum()) - seen) / 2 + half_of_zeros
    below = float(chances[: seen + 1].sum())
    above = float(chances[seen:].sum())
    return positive, negative, min(below, 1.0), min(above, 1.0)


def wilcoxon(
    differences: ArrayLike,
    zero_method: ZeroMethod = "pratt",
    alternative: Alternative = "two-sided",
) -> WilcoxonResult:
    """Test by Wilcoxon's signed ranks that the differences are symmetric about zero.

    Zeros: `pratt` ranks them and then drops their ranks, `wilcox` drops them first, `zsplit` gives
    half their ranks to each side. The null distribution is exact up to 50 pairs, with or without
    ties and zeros; beyond, the normal approximation with tie correction and without continuity
    correction. Differences that agree to twelve digits are tied. All differences zero is no
    evidence at all: p = 1.

    Whether differences exceed a margin is asked of `differences - margin`, with `greater`. The test
    is of the centre of symmetry: of skewed differences, whose mean is not their middle, it does not
    test the mean.

    Args:
        differences: Score A minus score B per pair, shape (n_pairs,), in score units.
        alternative: `greater` tests whether A is higher.
    References:
        Wilcoxon (1945), doi:10.2307/3001968. Pratt (1959), doi:10.1080/01621459.1959.10501526.
    """
    # Differences of decimals differ in the sixteenth digit, which ranks would take for
    # an order.
    d = checks.tied(checks.vector(differences, "differences"))
    checks.option(zero_method, "zero_method", get_args(ZeroMethod))
    checks.option(alternative, "alternative", get_args(Alternative))
    n_pairs = d.size
    n_zero = int(np.sum(d == 0))
    # No pair speaks for either side; a test that drops zeros would have nothing left to
    # test.
    if n_zero == n_pairs:
        return WilcoxonResult(0.0, 1.0, n_pairs, n_zero, zero_method, "exact")
    if n_pairs - (n_zero if zero_method == "wilcox" else 0) > 50:
        result = scipy.stats.wilcoxon(
            d, zero_method=zero_method, alternative=alternative, method="asymptotic"
        )
        return WilcoxonResult(
            float(result.statistic),
            float(result.pvalue),
            n_pairs,
            n_zero,
            zero_method,
            "approx",
        )
    positive, negative, below, above = _signed_ranks(d, zero_method)
    statistic = positive
    if alternative == "two-sided":
        statistic = min(positive, negative)
        p_value = min(1.0, 2 * min(below, above))
    else:
        p_value = above if alternative == "greater" else below
    return WilcoxonResult(statistic, p_value, n_pairs, n_zero, zero_method, "exact")


def rank_biserial(differences: ArrayLike) -> float:
    """Compute the matched-pairs rank-biserial correlation of paired differences.

    Zero differences are dropped before ranking (Wilcoxon's treatment), whatever the test did with
    them.

    Args:
        differences: Shape (n_pairs,), in score units; not all of them zero.
    Returns:
        Effect size in [-1, 1]; 1 means every non-zero difference is positive.
    References:
        Kerby (2014), The simple difference formula. doi:10.2466/11.IT.3.1
    """
    d = checks.tied(checks.vector(differences, "differences"))
    d = d[d != 0]
    if d.size == 0:
        raise ValueError(
            "`differences` are all zero; the rank-biserial correlation is undefined."
        )
    ranks = checks.ranks(np.abs(d))
    return float(np.sum(np.sign(d) * ranks) / np.sum(ranks))


def share_in_direction(
    differences: ArrayLike, level: float = 0.95, *, groups: Groups = None
) -> ShareInDirection:
    """Estimate the share of pairs whose difference is positive, with Wilson's score interval
    (`proportion`).

    Ties count as not in the direction: a judge that cannot tell the texts apart has not found the
    direction.

    Args:
        differences: Shape (n_pairs,); turned round where B is expected to be higher.
    """
    d = checks.tied(checks.vector(differences, "differences"))
    return ShareInDirection(
        proportion(d > 0, level, groups=groups), int(np.sum(d == 0))
    )


def summary(values: ArrayLike) -> Summary:
    """Compute mean, median, quartiles and spread of one group of scores, all in their unit."""
    v = checks.vector(values, "values")
    q1, median, q3 = (float(q) for q in np.percentile(v, [25, 50, 75]))
    return Summary(
        n=v.size,
        mean=float(v.mean()),
        median=median,
        q1=q1,
        q3=q3,
        iqr=q3 - q1,
        sd=float(np.std(v, ddof=1)) if v.size > 1 else None,
        minimum=float(v.min()),
        maximum=float(v.max()),
    )


def holm(p_values: ArrayLike) -> Array:
    """Adjust p-values by Holm's step-down procedure, in their order, shape (n_tests,); they control
    the family-wise error.

    Args:
        p_values: Shape (n_tests,), each in [0, 1].
    References:
        Holm (1979), A simple sequentially rejective multiple test procedure.
        https://www.jstor.org/stable/4615733
    """
    p = checks.vector(p_values, "p_values")
    if np.any((p < 0) | (p > 1)):
        raise ValueError("`p_values` must lie in [0, 1].")
    order = np.argsort(p, kind="stable")
    n_left = np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    # The smallest is tested against all hypotheses, the next against one fewer. None
    # may become smaller than the one before it, or a claim would hold while a stronger
    # one does not.
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * n_left), 1.0)
    return adjusted


FEWEST_FAILED, FEWEST_JUDGED, FEWEST_UNITS = 5, 10, 20
"""For the doubly robust estimate: failures (of both sides together), judged texts of each side,
independent units."""


class FailureTest(NamedTuple):
    """Failed texts of both sides; `p_value` of "as many on a as on b", None where no unit has more
    on one side."""

    n_a: int
    n_b: int
    p_value: float | None


def failure_test(a: ArrayLike, b: ArrayLike, groups: Groups = None) -> FailureTest:
    """Test exactly whether the judge fails more often on one side: McNemar's, over independent
    units.

    A unit counts for the side on which it has more failures; with pairs as units that is McNemar's
    exact test.

    Args:
        a, b: Scores of the sides of the same pairs, shape (n_pairs,), NaN where the judge failed.
    References:
        McNemar (1947), doi:10.1007/BF02295996. Datta and Satten (2008),
        doi:10.1111/j.1541-0420.2007.00923.x, for signs of groups.
    """
    first, second = _sides(a, b)
    failed_a = np.isnan(first)
    failed_b = np.isnan(second)
    codes = checks.groups(groups, first.size)
    n_units = int(codes.max(initial=-1)) + 1
    excess = np.bincount(
        codes, failed_a.astype(np.float64) - failed_b, minlength=n_units
    )
    # Units that fail equally often on both sides do not say on which side the judge
    # fails more.
    more_a = int(np.sum(excess > 0))
    more_b = int(np.sum(excess < 0))
    n = more_a + more_b
    p_value = sign_p(more_a, n) if n else None
    return FailureTest(int(failed_a.sum()), int(failed_b.sum()), p_value)


def robust_difference(
    a: ArrayLike,
    b: ArrayLike,
    covariates: Sequence[ArrayLike],
    rng: Rng,
    *,
    groups: Groups = None,
    level: float = 0.95,
) -> Estimate | None:
    """Estimate the mean difference over all pairs doubly robustly (AIPW), cross-fitted over groups.

    Holds if failures are missing at random given the texts' covariates and the other side's score:
    if either the model of the scores (ridge regression) or that of the failures (logistic
    regression) is right. Both are fitted without the group that they are used on. A failure that
    depends on the score itself is beyond it: only worst cases hold then.

    Args:
        a, b: Scores of the sides of the same pairs, shape (n_pairs,), NaN where the judge failed.
        covariates: What is known of the texts of each side, judged or not, each of shape (n_pairs,
            k).
    Returns:
        None where there is too little to fit with: fewer than FEWEST_FAILED failures, FEWEST_JUDGED
            judged texts of a
        side, or FEWEST_UNITS units.
    References:
        Robins, Rotnitzky and Zhao (1994), doi:10.1080/01621459.1994.10476818
        Chernozhukov et al. (2018), doi:10.1111/ectj.12097, for cross-fitting.
    """
    checks.share(level, "level")
    first, second = _sides(a, b)
    codes = checks.groups(groups, first.size)
    n_units = int(codes.max(initial=-1)) + 1
    n_failed = [int(np.isnan(side).sum()) for side in (first, second)]
    if sum(n_failed) < FEWEST_FAILED or n_units < FEWEST_UNITS:
        return None
    if first.size - max(n_failed) < FEWEST_JUDGED:
        return None
    columns = [
        np.asarray(part, dtype=np.float64).reshape(first.size, -1)
        for part in covariates
    ]
    surface = np.column_stack(columns)
    fold = rng.permutation(np.arange(n_units) % 5)[codes]
    of_a = _pseudo_values(first, second, surface, fold)
    of_b = _pseudo_values(second, first, surface, fold)
    return means.interval(of_a - of_b, level, groups=codes)


def _pseudo_values(scores: Array, other: Array, surface: Array, fold: Index) -> Array:
    """Compute per pair, shape (n_pairs,), the expected score, and for judged ones the rest of
    theirs over their chance of being judged.

    The other side's score tells whether there is one, and how far it lies from the mean of them.
    """
    judged = ~np.isnan(scores)
    there = ~np.isnan(other)
    if judged.all():
        return scores
    middle = float(other[there].mean()) if there.any() else 0.0
    deviations = np.where(there, np.nan_to_num(other) - middle, 0.0)
    features = np.column_stack([surface, there.astype(np.float64), deviations])
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values = np.empty_like(scores)
    for number in np.unique(fold):
        here = fold == number
        others = fold != number
        fitted = others & judged
        expected = np.full(
            int(here.sum()), scores[fitted].mean() if fitted.any() else 0.0
        )
        if fitted.sum() >= 2:
            ridge = make_pipeline(StandardScaler(), RidgeCV(alphas=(1.0, 10.0, 100.0)))
            ridge.fit(features[fitted], scores[fitted])
            expected = np.asarray(ridge.predict(features[here]), dtype=np.float64)
        chance = np.full(int(here.sum()), judged[others].mean())
        if (
            min(int(judged[others].sum()), int((~judged[others]).sum()))
            >= FEWEST_FAILED - 1
        ):
            logistic = make_pipeline(StandardScaler(), LogisticRegression(C=1.0))
            logistic.fit(features[others], judged[others])
            chance = logistic.predict_proba(features[here])[:, 1]
        rest = np.where(judged[here], np.nan_to_num(scores[here]) - expected, 0.0)
        # One pair must not outweigh the rest.
        values[here] = expected + rest / np.maximum(chance, 0.05)
    return values


def _sides(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """Check scores of two sides, shape (n_pairs,) each, which may hold NaN."""
    first = np.asarray(a, dtype=np.float64)
    second = np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"`a` has shape {first.shape} and `b` {second.shape}; they are matched one to one."
        )
    return first, second


def hodges_lehmann(differences: ArrayLike) -> float:
    """Estimate the typical difference (Hodges and Lehmann): the median of (x[i] + x[j]) / 2 over
    all i <= j.

    In linear memory and time n log(n)^2: of the averages still in question, the weighted median of
    the rows' medians cuts away at least a quarter each time; the rest is sorted once it is few.

    Args:
        differences: Score A minus score B per pair, shape (n_pairs,), in score units.
    References:
        Hodges and Lehmann (1963), doi:10.1214/aoms/1177704172
        Johnson and Mizoguchi (1978), doi:10.1137/0207013, for selecting among sorted sums.
        Monahan (1984), doi:10.1145/1271.319414, for doing so with averages.
    """
    x = np.sort(checks.vector(differences, "differences"))
    total = x.size * (x.size + 1) // 2
    middle = _selected(x, (total - 1) // 2)
    return float(middle if total % 2 else (middle + _selected(x, total // 2)) / 2)


def _selected(x: Array, rank: int) -> float:
    """Select the average with `rank` smaller or equal ones before it; x ascending, shape (n,).

    Row i of their table holds (x[i] + x[j]) / 2 for j >= i, ascending.
    """
    n = x.size
    rows = np.arange(n)
    # What is in question of each row: columns low to high - 1.
    low = rows.copy()
    high = np.full(n, n)
    while True:
        width = high - low
        if width.sum() <= 8 * n:
            row = np.repeat(rows, width)
            column = np.arange(width.sum()) + np.repeat(
                low - (np.cumsum(width) - width), width
            )
            place = rank - int((low - rows).sum())
            return float(np.partition((x[row] + x[column]) / 2, place)[place])
        asked = width > 0
        middles = (x[rows[asked]] + x[(low + width // 2)[asked]]) / 2
        order = np.argsort(middles)
        weight = np.cumsum(width[asked][order])
        pivot = middles[order[np.searchsorted(weight, weight[-1] / 2)]]
        below = _ends(x, pivot, strict=True)
        upto = _ends(x, pivot, strict=False)
        if rank < (below - rows).sum():
            high = np.minimum(high, below)
        elif rank >= (upto - rows).sum():
            low = np.maximum(low, upto)
        else:
            return float(pivot)
        high = np.maximum(low, high)


def _ends(x: Array, pivot: float, strict: bool) -> Index:
    """Find per row i the first column j >= i whose average is not below (or, unless strict, not at)
    `pivot`, shape (n,).

    Averages are compared as they are rounded, so that no pair is taken for the pivot that does not
    equal it.
    """
    n = x.size
    first = np.arange(n)
    last = np.full(n, n)
    while True:
        searching = first < last
        if not searching.any():
            return first
        middle = (first + last) // 2
        average = (x + x[np.minimum(middle, n - 1)]) / 2
        before = average < pivot if strict else average <= pivot
        first = np.where(searching & before, middle + 1, first)
        last = np.where(searching & ~before, middle, last)


def median(
    values: ArrayLike,
    level: float = 0.95,
    *,
    groups: Groups = None,
    bounds: means.Bounds = (-np.inf, np.inf),
) -> Estimate:
    """Estimate the median with the ends of the exact sign test: ordered values (Conover 1999,
    section 3.2).

    A group counts as one observation, whatever its size: right where its values agree, else on the
    safe side.

    References:
        Conover (1999), Practical nonparametric statistics, 3rd edition, Wiley.
    """
    v, codes = checks.grouped(values, "values", level, groups)
    n = int(np.unique(codes).size)
    ordered = np.sort(v)
    below = np.arange(n + 1)
    # Of n values as many lie below the median as heads fall: so many may be left out at each end.
    out = below[special.bdtr(below, n, 0.5) <= (1 - level) / 2]
    low, high = bounds
    if out.size:
        place = int(np.floor(out[-1] * v.size / n + 1e-9))
        low = float(ordered[place])
        high = float(ordered[v.size - 1 - place])
    return Estimate(float(np.median(v)), low, high, level, n)


def hodges_lehmann_interval(
    differences: ArrayLike,
    level: float = 0.95,
    *,
    groups: Groups = None,
    bounds: means.Bounds = (-np.inf, np.inf),
) -> Estimate:
    """Estimate `hodges_lehmann` with an interval over differences, or over groups of them; they
    need not be symmetric.

    A value is ruled out if the share of means of pairs above it is surely not one half. The share
    is a mean over differences of the share of the others whose mean with it is above, twice which
    counts (Hoeffding 1948).

    References:
        Hoeffding (1948), doi:10.1214/aoms/1177730196
    """
    d, codes = checks.grouped(differences, "differences", level, groups)
    estimate = hodges_lehmann(d)
    n = int(np.unique(codes).size)
    if n < 2:
        return Estimate(estimate, *bounds, level, n)
    ordered = np.sort(d)

    def limits(value: float) -> tuple[float, float]:
        """Limit the share of means of pairs above a value, less one half."""
        other = 2 * value - d
        upto = np.searchsorted(ordered, other, "left") + np.searchsorted(
            ordered, other, "right"
        )
        score = 0.5 - upto / (2 * d.size)
        whole = float(score.mean())
        if abs(whole) == 0.5:
            # All lie on one side of the value, as all of n coins may fall alike.
            return (whole, whole) if 0.5**n <= (1 - level) / 2 else (-np.inf, np.inf)
        return means.interval(2 * score - whole, level, groups=codes).interval

    room = 1e-6 * float(np.ptp(ordered)) + 1e-9 * float(np.max(np.abs(ordered)))
    lowest = float(ordered[0]) - room
    highest = float(ordered[-1]) + room
    low = checks.farthest(lambda value: limits(value)[0], estimate, lowest)
    high = checks.farthest(lambda value: -limits(value)[1], estimate, highest)
    # Beyond all values nothing changes any more: what is not ruled out there is nowhere.
    low = bounds[0] if low == lowest else low
    high = bounds[1] if high == highest else high
    return Estimate(estimate, low, high, level, n)
