"""Does the score separate and order texts, and what do attacks do to it: AUC, rank correlation,
absolute error."""

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, jackknife, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate, unknown


def auc(
    positive: ArrayLike,
    negative: ArrayLike,
    level: float = 0.95,
    *,
    groups_a: Groups = None,
    groups_b: Groups = None,
) -> Estimate:
    """Estimate the area under the ROC curve: how often a positive text scores above a negative one,
    ties counting half.

    The interval is built on the logit scale from DeLong's variance, so it stays within [0, 1]. That
    variance is 0 when the groups separate perfectly, which would claim certainty from a handful of
    texts; then, and with a single text in a group, Newcombe's score interval (his method 5) takes
    over and `method` says so.

    Texts that belong together (a pair with one text on each side, several texts of one case) get
    Obuchowski's variance, which is DeLong's where nothing does, and the quantile of t for the
    number of groups; in Newcombe's interval groups count instead of texts.

    Args:
        positive, negative: Scores expected to be higher, and lower, shape (n,) each.
        groups_a, groups_b: What these belong to, both or neither; a label on both sides is one
            group.
    References:
        DeLong et al. (1988), doi:10.2307/2531595. Newcombe (2006), doi:10.1002/sim.2324.
        Obuchowski (1997), Nonparametric analysis of clustered ROC curve data. doi:10.2307/2533958
        Qin and Hotilovac (2008), doi:10.1177/0962280207087173, for the logit scale.
    """
    p = checks.vector(positive, "positive")
    q = checks.vector(negative, "negative")
    checks.share(level, "level")
    if (groups_a is None) != (groups_b is None):
        raise ValueError(
            "`groups_a` and `groups_b` go together: give both, or neither."
        )
    # Mann and Whitney's U
    above = checks.ranks(np.r_[p, q])[: p.size].sum() - p.size * (p.size + 1) / 2
    area = float(above / (p.size * q.size))
    n = p.size + q.size
    n_positive = p.size
    n_negative = q.size
    if groups_a is None or groups_b is None:
        error = _delong_error(p, q)
        quantile = means.normal_quantile(level)
    else:
        both = [*list(groups_a), *list(groups_b)]  # type: ignore[arg-type]
        codes = checks.labels(both, "groups", n)
        n_positive = np.unique(codes[: p.size]).size
        n_negative = np.unique(codes[p.size :]).size
        error, df = _obuchowski(p, q, codes)
        quantile = means.t_quantile(df, level) if error else 0.0
    fewest = min(n_positive, n_negative)
    # A perfect order of five texts on each side is seen with an area of 0.9, too.
    if error == 0 or area in (0.0, 1.0):
        low, high = _newcombe(area, n_positive, n_negative, level)
        return Estimate(area, low, high, level, fewest, n, method="newcombe")
    # The derivative of the logit: the error of the area, on that scale.
    reach = quantile * error / (area * (1 - area))
    low, high = (
        float(special.expit(special.logit(area) + side * reach)) for side in (-1, 1)
    )
    return Estimate(area, low, high, level, fewest, n, method="delong")


def mean_shift(
    attack: ArrayLike, treatment: ArrayLike, level: float = 0.95
) -> Estimate:
    """Estimate how far the mean of one sample lies above that of another, with Welch's interval;
    they need not match.

    Returns:
        NaN without texts on a side; limits of NaN where either has a single text or no spread.
    References:
        Welch (1947), doi:10.1093/biomet/34.1-2.28
    """
    a = checks.vector(attack, "attack", 0)
    b = checks.vector(treatment, "treatment", 0)
    checks.share(level, "level")
    if not (a.size and b.size):
        return unknown(level)
    shift = unknown(level, n=a.size + b.size).replace(value=float(a.mean() - b.mean()))
    # One text, or texts of one score, would give Welch's interval a width of 0 for that
    # side.
    if min(a.size, b.size) < 2 or checks.is_constant(a) or checks.is_constant(b):
        return shift
    interval = scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    return shift.replace(low=float(interval.low), high=float(interval.high))


def spearman_interval(
    x: ArrayLike,
    y: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    *,
    groups: Groups = None,
    weights: Array | None = None,
) -> Estimate:
    """Estimate Spearman's rank correlation with a jackknife interval over items, or over groups of
    items (`LeftOut.coefficient`).

    The bootstrap's (BCa) held the correlation in 88 % of samples of ten groups where it said 95 %.

    Args:
        x, y: Scores, and labels or other scores, of the same items, shape (n,), n >= 3; neither
            constant.
        weights: Of each item, above 0, shape (n,); None: all alike.
    References:
        Bonett and Wright (2000), doi:10.1007/BF02294183, for the variance where most values are
        one.
    """
    first, second = map(checks.tied, checks.paired_vectors(x, y, ("x", "y"), minimum=3))
    for name, values in (("x", first), ("y", second)):
        if checks.is_constant(values):
            raise ValueError(f"`{name}` is constant; no rank correlation exists.")
    columns = np.column_stack([first, second])
    left_out = jackknife.LeftOut(
        columns, weighted_rank_correlation(weights), rng, groups
    )
    bonett_wright = 1 + left_out.estimate**2 / 2
    return left_out.coefficient(level, spread=bonett_wright, adds=adds(first, second))


def adds(x: ArrayLike, y: ArrayLike) -> Array:
    """Approximate what each item adds to a rank correlation (the influence function of Pearson's,
    of ranks), shape (n,)."""

    def standardised_ranks(values: ArrayLike) -> Array:
        ranks = checks.ranks(checks.tied(np.asarray(values, dtype=np.float64)))
        return np.asarray((ranks - ranks.mean()) / ranks.std())

    one = standardised_ranks(x)
    other = standardised_ranks(y)
    return np.asarray(
        one * other - float(np.mean(one * other)) * (one**2 + other**2) / 2
    )


def mean_absolute_error(
    truth: ArrayLike,
    predicted: ArrayLike,
    level: float = 0.95,
    *,
    groups: Groups = None,
    span: float = np.inf,
) -> Estimate:
    """Estimate the mean absolute error in score units, with the interval of a mean
    (`means.interval`) over items or groups of them.

    Args:
        truth, predicted: Labels and scores of the same items, shape (n,), n >= 2, in the same
            units.
        span: The largest error that could have occurred: the width of the scale. Without it there
            is no upper limit where (nearly) all errors are the same.
    """
    first, second = checks.paired_vectors(
        truth, predicted, ("truth", "predicted"), minimum=2
    )
    return means.interval(
        np.abs(first - second), level, groups=groups, bounds=(0.0, span)
    )


def _delong_error(positive: Array, negative: Array) -> float:
    """Compute the standard error of the area; 0 where the variance is 0 or cannot be estimated."""
    if min(positive.size, negative.size) < 2:
        return 0.0
    m, n = positive.size, negative.size
    ranks = checks.ranks(np.concatenate([positive, negative]))
    variance = 0.0
    for among_all, scores, others in (
        (ranks[:m], positive, n),
        (ranks[m:], negative, m),
    ):
        among_own = checks.ranks(scores)
        # A text's rank among all less that among its own side is the number of texts of
        # the other side below it: DeLong's placement, without a table of all pairs.
        off = among_all - among_own - among_all.mean() + among_own.mean()
        variance += float(np.sum(off**2) / (scores.size - 1) / others**2 / scores.size)
    return variance**0.5


def _obuchowski(positive: Array, negative: Array, codes: Index) -> tuple[float, float]:
    """Compute the standard error of the area over groups, and its degrees of freedom; 0 where there
    is no variance to estimate.

    A text's placement is its share of the other side's texts that it is beyond. Degrees of freedom
    are Satterthwaite's, of the two sides' sums over their groups.
    """
    m, n = positive.size, negative.size
    ranks = checks.ranks(np.r_[positive, negative])
    above = (ranks[:m] - checks.ranks(positive)) / n
    below = 1 - (ranks[m:] - checks.ranks(negative)) / m
    area = float(above.mean())
    n_groups = int(codes.max()) + 1
    sums, variances, dfs = [], [], []
    for placements, members in ((above, codes[:m]), (below, codes[m:])):
        sums.append(np.bincount(members, placements - area, n_groups) / placements.size)
        share = np.bincount(members, minlength=n_groups) / placements.size
        share = share[share > 0]
        if share.size < 2:
            return 0.0, 0.0
        variances.append(share.size / (share.size - 1) * float(sums[-1] @ sums[-1]))
        dfs.append(means.degrees_of_freedom(share))
    # Groups with texts on both sides move both means together.
    # A case whose good text scores high tends to have a bad text that scores high, too.
    # Both errors cancel, and an interval that took the sides for independent would be
    # too wide.
    both = 2 * n_groups / (n_groups - 1) * float(sums[0] @ sums[1])
    apart = sum(variances)
    if min(apart + both, apart) <= checks.SAME**2:
        return 0.0, 0.0
    df = apart**2 / sum(v**2 / d for v, d in zip(variances, dfs, strict=True))
    # No sum over groups has more degrees of freedom than there are groups, less one.
    return float((apart + both) ** 0.5), min(df, n_groups - 1.0)


def _newcombe(area: float, m: int, n: int, level: float) -> tuple[float, float]:
    """Limit an area of m and n texts by the areas from which it lies a normal quantile away, their
    variance being Hanley and McNeil's with both sizes set to their mean (method 5)."""
    z = means.normal_quantile(level)
    balanced = (m + n) / 2 - 1

    def distance(theta: float) -> float:
        spread = (
            1 + balanced * (1 - theta) / (2 - theta) + balanced * theta / (1 + theta)
        )
        return (theta - area) ** 2 - z**2 * (theta * (1 - theta) * spread / (m * n))

    # distance is negative just inside the interval and positive at the ends of [0, 1]; an area at
    # an end is its limit.
    low = (
        0.0
        if area <= 1e-9
        else float(scipy.optimize.brentq(distance, 0.0, area - 1e-9))
    )
    high = (
        1.0
        if area >= 1 - 1e-9
        else float(scipy.optimize.brentq(distance, area + 1e-9, 1.0))
    )
    return low, high


def weighted_rank_correlation(weights: Array | None) -> jackknife.Prepared:
    """Prepare Spearman's correlation of two columns, shape (n, 2), of rows with these weights,
    shape (n,); NaN where one column is constant. Ranks are weighted, too: a row counts like so many
    rows.

    A drawn row's rank follows from how often each distinct value was drawn, so that nothing is
    sorted again. Centred mean ranks are multiples of a half: their sums are exact, whatever the
    order, up to 30,000 rows.
    """

    @jackknife.Prepared
    def correlation(columns: Array) -> jackknife.OfDraws:
        codes_of_columns = [
            np.unique(column, return_inverse=True)[1] for column in columns.T
        ]

        def of_draws(drawn: Index) -> Array:
            w = None if weights is None else weights.take(drawn)
            ranks = []
            for codes in codes_of_columns:
                tally = jackknife.Tally(codes, int(codes.max()) + 1, drawn)
                counts = tally.counts() if w is None else tally.sums(w)
                whole = counts.sum(axis=1, keepdims=True)
                middle = np.cumsum(counts, axis=1) - counts / 2 - whole / 2
                ranks.append(tally.of_rows(middle))
            x, y = ranks
            scale = np.sqrt(_product(x, x, w) * _product(y, y, w))
            constant = np.full(len(drawn), np.nan)
            return np.divide(_product(x, y, w), scale, out=constant, where=scale > 0)

        return of_draws

    return correlation


rank_correlation = weighted_rank_correlation(None)
"""Spearman's correlation of rows that count alike."""


def _product(x: Array, y: Array, weights: Array | None) -> Array:
    """Sum over drawn rows x times y, shape (n_draws,); all arguments of shape (n_draws, n)."""
    weighted = x if weights is None else x * weights
    return np.asarray(np.einsum("ij,ij->i", weighted, y))
