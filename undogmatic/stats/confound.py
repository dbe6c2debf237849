"""Estimates what remains of a difference between matched pairs where something else about them is
held equal.

Holding equal is arithmetic, not an experiment: where the two conditions never meet (one side longer
in every pair) the data cannot tell them apart, and the results here say so instead of extrapolating
quietly.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, means, surface
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.claims import Claim
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.ranking import auc

MOST_CURVED = 300
# docs/fakes.md has the power, benchmarks/results/coverage.csv the coverage that it was chosen for
_SHRINK = 1.5


class AtEqual(NamedTuple):
    """`difference` is what is expected between two texts whose controls are equal, against the
    margin; `moved` is the plain mean minus that, against the margin too ("within": the controls
    make no difference that matters).

    `raw` is the plain mean, `foreseen` the share of the variance of differences that the controls
    explain. `extrapolated`: hardly a pair has its controls on the other side of equal, so that no
    pair is near the place that `difference` speaks of, which then decides nothing.
    """

    raw: float
    difference: Claim
    moved: Claim
    foreseen: float
    extrapolated: bool


def length_auc(
    lengths_a: ArrayLike, lengths_b: ArrayLike, level: float = 0.95
) -> Estimate:
    """How well length alone tells the conditions apart: P(a longer than b), ties counting half.

    0.5 means length gives nothing away; near 0 or 1, a judge that only counts words would look
    good. Lengths are positive, shape (n,) each.
    """
    return auc(
        _lengths(lengths_a, "lengths_a"), _lengths(lengths_b, "lengths_b"), level
    )


def at_equal_length(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    lengths_a: ArrayLike,
    lengths_b: ArrayLike,
    margin: float,
    rng: Rng,
    *,
    groups: Groups = None,
    **how: Any,
) -> AtEqual:
    """The paired difference between texts of equal length, whatever the shape in which scores
    depend on length.

    Two controls: the log length ratio of the pair, and the difference of what a curved function of
    one text's length says of its score, fitted on the other groups' texts of both conditions. Above
    MOST_CURVED pairs there are enough to control for the parts of such a function themselves.

    Args:
        scores_a, scores_b: Shape (n_pairs,), n_pairs >= 4, in score units.
        lengths_a, lengths_b: Shape (n_pairs,), positive, one unit throughout.
        how: `sign`, `alpha` and `bounds`, as of `at_equal`.
    Raises:
        ValueError: If every pair has the same length ratio.
    """
    a, b = checks.paired_vectors(
        scores_a, scores_b, ("scores_a", "scores_b"), minimum=4
    )
    _, size_a = checks.paired_vectors(a, lengths_a, ("scores_a", "lengths_a"))
    _, size_b = checks.paired_vectors(a, lengths_b, ("scores_a", "lengths_b"))
    # Ratios of lengths, since a text of 20 words more is another one at 30 words than
    # at 3,000.
    log_a = np.log(_lengths(size_a, "lengths_a"))
    log_b = np.log(_lengths(size_b, "lengths_b"))
    ratio = log_a - log_b
    # The mean difference would be all that length says, and all that the condition
    # says.
    if np.ptp(ratio) <= 1e-9:
        raise ValueError(
            "`lengths_a` / `lengths_b` is the same in every pair; length cannot be told from"
            " condition."
        )
    codes = checks.groups(groups, a.size)
    both = np.concatenate([log_a, log_b])[:, None]
    if a.size > MOST_CURVED:
        parts, how["predictions"] = surface.bent(both), []
        curved = parts[: a.size] - parts[a.size :]
    else:
        curved, how["predictions"] = (
            outcome_difference([surface.additive(both)], a, b, codes, rng),
            [False, True],
        )
    return at_equal(
        a - b, np.column_stack([ratio, curved]), margin, groups=codes, **how
    )


def outcome_difference(
    kernels: Sequence[Array],
    scores_a: Array,
    scores_b: Array,
    groups: ArrayLike,
    rng: Rng,
) -> Array:
    """What the other groups' texts say of the score of a minus that of b, by their kernels alone;
    shape (n_pairs,).

    Args:
        kernels: Similarities of all texts, those of a first, each of shape (2 n_pairs, 2 n_pairs).
    """
    n = scores_a.size
    codes = np.asarray(groups)
    said = surface.predict(
        kernels,
        np.concatenate([scores_a, scores_b]),
        np.concatenate([codes, codes]),
        rng,
    )
    return np.asarray(said[:n] - said[n:])


def at_equal(
    differences: ArrayLike,
    controls: ArrayLike,
    margin: float,
    *,
    predictions: Sequence[bool] = (),
    sign: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    groups: Groups = None,
    bounds: means.Bounds | None = None,
) -> AtEqual:
    """Least squares of paired differences on differences of controls; the intercept is what remains
    where these are 0.

    Errors are those of leaving out one group at a time (HC3 where each pair is its own group), and
    the limits those of a mean of what the groups contribute (`means.studentised_limits`), with a
    degree of freedom fewer for each control. Of what the controls take off, the part is kept that
    James and Stein would (`_kept`): controls that say no more of the differences than chance would
    take nothing off, and else cost the power that they need at equal n. Where most differences are
    the same once the controls are taken off, the bounds of the scale say how far others may lie
    (`means.interval`). Controls that add nothing to the others, or are 0 in all groups but one, are
    left out. So are predictions of the difference with a negative slope: that other groups say the
    contrary explains nothing, and where they know nothing, leaving a group out makes it so, because
    its own difference is missing from their mean.

    Args:
        differences: Shape (n_pairs,), in score units.
        controls: Control of a minus control of b, shape (n_pairs, k); 0 means equal.
        predictions: Which controls are predictions of the difference, made from other groups; none
            if empty.
    References:
        Judd, Kenny and McClelland (2001), doi:10.1037/1082-989X.6.2.115, for regressing the
        difference. Long and Ervin (2000), doi:10.1080/00031305.2000.10474549, for HC3.
        Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression with
        multi-stage samples, Survey Methodology 28(2), for its form with groups.
        Hall (1992), doi:10.1111/j.2517-6161.1992.tb01875.x, for skewed differences.
        James and Stein (1961), Estimation with quadratic loss, and Efron and Morris (1973),
        doi:10.1080/01621459.1973.10481350, for shrinking slopes by their F statistic, never past 0.
    """
    d = checks.vector(differences, "differences")
    z = checks.rows(controls, "controls")
    z = z[:, None] if z.ndim == 1 else z
    codes = checks.groups(groups, d.size)
    if len(z) != d.size:
        raise ValueError(
            f"`differences` holds {d.size} values and `controls` {len(z)} rows."
        )
    # Asked of all controls, before predictions that explain nothing are left out:
    # whether pairs lie on both sides is a matter of the texts.
    told = _telling_columns(z, codes)
    # The direction in which the pairs lie farthest from 0 on one side. If they do not
    # reach round 0 there, what holds at 0 is an extrapolation.
    along = told @ np.linalg.lstsq(told, np.ones(len(z)), rcond=None)[0]
    # Whether pairs lie on both sides of equal, also in the direction in which the controls differ
    # most.
    meet = not told.shape[1] or bool(np.sum(along <= 0) >= max(2, 0.05 * len(z)))
    z = _telling_columns(_believable(d, z, predictions), codes)
    n_groups = int(codes.max()) + 1
    design = np.column_stack([np.ones(d.size), z])
    if n_groups - design.shape[1] < 1:
        raise ValueError(
            f"The difference at equal controls has no standard error: {n_groups} groups are too"
            " few."
        )
    freedom = max(
        1.0, means.degrees_of_freedom(np.bincount(codes) / d.size) - z.shape[1]
    )
    coefficients = np.linalg.lstsq(design, d, rcond=None)[0]
    raw = float(d.mean())
    of_mean = _pulls(np.ones((d.size, 1)), d - d.mean(), codes)[:, 0]
    # Controls that say nothing would make the interval wider without moving the
    # estimate, and cost a good judge its verdict.
    kept = _kept(d, z, d - design @ coefficients, codes)
    intercept = raw + kept * (float(coefficients[0]) - raw)
    of_intercept = of_mean + kept * (
        _pulls(design, d - design @ coefficients, codes)[:, 0] - of_mean
    )
    taken = kept * (z @ coefficients[1:])
    bottom, top = bounds or (-np.inf, np.inf)

    def held(estimate: float, pull: Array, plain: Array, ends: means.Bounds) -> Claim:
        """`plain` are values with the mean `estimate` or its spread, and `ends` their bounds."""
        error = math.sqrt(float(np.sum(pull**2)))
        skewness = (
            float(np.sum(pull**3)) / error**3 * means.caution(n_groups)
            if error > 0
            else 0.0
        )
        units = means.sums(plain, codes)
        same = means.mostly_same(
            units.means, means.same_within(units.means, None), means.ENOUGH
        )

        def limits(level: float) -> means.Bounds:
            low, high = means.studentised_limits(
                estimate, error, freedom, skewness, level
            )
            if not same:
                return low, high
            mean = means.interval(plain, level, groups=codes, bounds=ends)
            more = math.sqrt(max(0.0, error**2 - mean.se**2)) * float(
                special.stdtrit(freedom, (1 + level) / 2)
            )
            below = math.hypot(mean.value - mean.low, more)
            above = math.hypot(mean.high - mean.value, more)
            return min(low, estimate - below), max(high, estimate + above)

        return against(
            estimate,
            limits,
            error,
            margin,
            n_groups,
            sign=sign,
            alpha=alpha,
            power=power,
        )

    spread = float(np.sum((d - raw) ** 2))
    foreseen = (
        1 - float(np.sum((d - design @ coefficients) ** 2)) / spread
        if spread > 0
        else 0.0
    )
    # Rounding may put a difference a little beyond what the scale allows.
    rest, room = d - taken, 1e-9 * (1 + float(np.abs(d).max()))
    within = bottom - float(taken.max()) - room, top - float(taken.min()) + room
    return AtEqual(
        raw,
        held(intercept, of_intercept, rest, within),
        held(raw - intercept, of_mean - of_intercept, d, (bottom - room, top + room)),
        foreseen,
        not meet,
    )


def _kept(differences: Array, controls: Array, residuals: Array, codes: Index) -> float:
    """The share of what the controls take off that is kept: 1 - 1.5 / F, and nothing for F below
    1.5.

    F is the larger of two statistics: how far the controls say something of the differences, and
    how far they differ between the two sides on average (Hotelling's). Where either is shown, what
    is taken off is kept nearly whole, so that shrinking never moves the estimate by more than about
    1.5 / sqrt(n_groups) of its standard error.
    """
    n_groups, k = int(codes.max()) + 1, controls.shape[1]
    freedom = n_groups - k - 1
    # Without a degree of freedom nothing shows by how much to shrink, so that nothing
    # is shrunk.
    if k == 0 or freedom < 1:
        return float(k > 0)
    left = float(residuals @ residuals)
    gained = float(np.sum((differences - differences.mean()) ** 2)) - left
    of_slopes = freedom * gained / (k * left) if left > 0 else np.inf
    of_groups = (
        np.column_stack([np.bincount(codes, column) for column in controls.T])
        / np.bincount(codes)[:, None]
    )
    mean, spread = of_groups.mean(axis=0), np.atleast_2d(np.cov(of_groups.T))
    apart = (
        n_groups
        * float(mean @ np.linalg.pinv(spread) @ mean)
        * (n_groups - k)
        / (k * (n_groups - 1))
    )
    largest = max(of_slopes, apart)
    return max(0.0, 1 - _SHRINK / largest) if largest > 0 else 0.0


def against(
    estimate: float,
    limits: Callable[[float], means.Bounds],
    error: float,
    margin: float,
    n: int,
    *,
    sign: int,
    alpha: float,
    power: float = 0.8,
) -> Claim:
    """An estimate against a margin, by the rules of `claims.claim`.

    Args:
        estimate, limits, error, n: In score units, limits by the level of both together; standard
            error; units.
    """
    outer, inner = (
        Estimate(estimate, *limits(level), level, n, se=error)
        for level in (1 - alpha, 1 - 2 * alpha)
    )
    outcome = outer.against(margin, sign, inner=inner)
    gap = min(abs(estimate - margin), abs(estimate + margin))
    wanted = (
        ((-special.ndtri(alpha / 2) + -special.ndtri(1 - power)) * error / gap) ** 2 * n
        if gap > 0
        else math.inf
    )
    needed = checks.worth_naming(wanted, n) if outcome == "open" else None
    return Claim(outcome, outer, inner.interval, margin, needed)


def _lengths(values: ArrayLike, name: str) -> Array:
    if np.any((size := checks.vector(values, name)) <= 0):
        raise ValueError(
            f"`{name}` holds a length of {size.min():g}; lengths must be positive."
        )
    return size


def _believable(
    differences: Array, controls: Array, predictions: Sequence[bool]
) -> Array:
    """The controls without predictions whose slopes are negative; the most negative goes first."""
    kept = np.arange(controls.shape[1])
    # One at a time, because leaving one out changes the slopes of the others.
    while predictions:
        design = np.column_stack([np.ones(differences.size), controls[:, kept]])
        size = np.sqrt(np.mean(controls[:, kept] ** 2, axis=0))
        slopes = np.linalg.lstsq(design, differences, rcond=None)[0][1:] * size
        slopes[~np.asarray(predictions)[kept]] = 0
        if not slopes.size or slopes.min() >= 0:
            break
        kept = np.delete(kept, slopes.argmin())
    return controls[:, kept]


def _telling_columns(z: Array, codes: Index) -> Array:
    """Columns scaled to 1, without those that are 0 but for one group, or follow from the others
    before them."""
    kept: list[Array] = []
    for column in z.T:
        size = float(np.sqrt(np.mean(column**2)))
        if size <= 1e-9 * max(1.0, float(np.abs(z).max())):
            continue
        # Such a column is a name of that group, and would explain its difference away
        # whatever it is.
        if np.bincount(codes, column**2).max() > 0.999 * np.sum(column**2):
            continue
        one = column / size
        base = np.column_stack([np.ones(len(z)), *kept])
        left = one - base @ np.linalg.lstsq(base, one, rcond=None)[0]
        if np.mean(left**2) > 1e-6:
            kept.append(one)
    return np.column_stack(kept) if kept else np.zeros((len(z), 0))


def _pulls(design: Array, residual: Array, codes: Index) -> Array:
    """How far each group pulls the coefficients: those of all rows minus those without it, shape
    (n_groups, k)."""
    inverse = np.linalg.pinv(design.T @ design)
    pulls = np.empty((int(codes.max()) + 1, design.shape[1]))
    for rows in surface.by_size(codes):
        block = design[rows]
        left = np.eye(rows.shape[1]) - block @ inverse @ block.transpose(0, 2, 1)
        # Without that group the slope does not exist, so that it has no jackknife error
        # either.
        if np.linalg.eigvalsh(left).min() < 1e-9:
            raise ValueError(
                "The difference at equal controls has no standard error: one group alone fixes the"
                " slope."
            )
        without = np.linalg.solve(left, residual[rows][..., None])
        pulls[codes[rows[:, 0]]] = (inverse @ block.transpose(0, 2, 1) @ without)[
            ..., 0
        ]
    return pulls
