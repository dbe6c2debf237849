"""Does a doubt know where the judge is wrong: the error left when only the surest items are kept
(risk and coverage), the error caught when people review the least sure first, against random review
and an oracle, and what the doubt knows of the errors that the score does not say.

An error is anything that is 0 or more and better small: |score - label|, or 1 for wrong and 0 for
right. A higher uncertainty means less sure; only its order matters, so entropies, strengths and
widths compare as they are (pass the negative of a confidence). Items of equal uncertainty have no
order, so every curve is the expectation over all orders of the tied: within a tie, each item counts
with the mean error of the tie.

A doubt that is a function of the score (its distance from the middle, say) can order the errors of
any judge, also of one that knows nothing, since the size of the possible error depends on where the
score lies. What it is worth beyond the score (`beyond_score`) is what is left when all that the
score says is taken out of the doubt and of the error.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, jackknife, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Bounds, Estimate, unknown
from undogmatic.stats.jackknife import OfDraws
from undogmatic.stats.rival import orthonormal

MOST_PLACES = 1000
"""Places of a curve: one per item up to so many items, beyond that so many, evenly spaced. A band
over every one of 50,000 items would take 400 MB, and no page shows more."""


class Curve(NamedTuple):
    """What the first `n` items give, `share` of all, in the order of the uncertainty (`guided`);
    shape (k,) each.

    `band` is the pointwise percentile bootstrap of `guided`; `oracle` has the errors themselves as
    the uncertainty, which none beats.
    """

    n: Index
    share: Array
    guided: Array
    band: Bounds
    oracle: Array


def pair(uncertainty: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Check uncertainty (higher is less sure, any unit) and error (0 or more, else a ValueError) of
    the same items."""
    u, e = checks.paired_vectors(uncertainty, error, ("uncertainty", "error"))
    # A signed error would let too high and too low cancel, and a judge that is always
    # wrong would be perfect on average.
    if np.any(e < 0):
        raise ValueError(
            "`error` holds a negative value; pass its size, |score - label|."
        )
    return u, e


def curve(
    of: Literal["risk", "caught"],
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    n_resamples: int = 1000,
    *,
    groups: Groups = None,
) -> Curve:
    """Draw what a doubt is worth, item by item.

    "risk" is the mean error of the surest items, from one of them to all (risk and coverage);
    "caught" is the share of all error that is caught by reviewing the least sure items first, from
    none of them to all.

    Args:
        uncertainty, error: As of `pair`; a ValueError where there is nothing to catch.
    References:
        El-Yaniv and Wiener (2010), On the foundations of noise-free selective classification.
        https://jmlr.org/papers/v11/el-yaniv10a.html
    """
    checks.share(level, "level")
    u, e = pair(uncertainty, error)
    # A share of nothing does not exist.
    if of == "caught" and not e.any():
        raise ValueError(
            "`error` is 0 throughout; there is nothing for a review to catch."
        )
    # A risk begins with one item that is kept, a review with none that is read.
    in_order, first = _caught, 0
    if of == "risk":
        in_order, first = _risk, 1
    units = jackknife.Units(checks.groups(groups, u.size, 2))
    n_places = min(u.size, MOST_PLACES)
    places = np.linspace(0, u.size, n_places + 1)
    n = np.unique(np.round(places).astype(np.intp))[first:]
    share = n / u.size
    guided = in_order(u, e)
    drawn = []
    for index in units.draws(rng, n_resamples):
        for heights in guided(index):
            # Groups differ in size, so that resamples do, too: their curves meet by the share.
            last = first + heights.size
            share_of_drawn = np.arange(first, last) / (last - 1)
            drawn.append(np.interp(share, share_of_drawn, heights))
    tails = [(1 - level) / 2, (1 + level) / 2]
    band = Bounds(*np.quantile(drawn, tails, axis=0))
    # Not a resample: all items, once each, as a single draw.
    every = np.arange(u.size)[None, :]
    oracle = in_order(e, e)
    [guided_heights] = guided(every)
    [oracle_heights] = oracle(every)
    places_shown = n - first
    return Curve(
        n, share, guided_heights[places_shown], band, oracle_heights[places_shown]
    )


def random_review(error: ArrayLike, n: Index, level: float = 0.95) -> Bounds:
    """Draw the band of the share of error caught by one random review of `n` of these very items; n
    / n_items is expected.

    It is that of the hypergeometric distribution where errors are all 0 or 1, else that of the
    normal distribution with the exact variance of a sample mean without replacement.

    References:
        Cochran (1977), Sampling techniques, 3rd ed., theorem 2.2, for the variance without
        replacement.
    """
    e = checks.vector(error, "error")
    tails = (1 - level) / 2, (1 + level) / 2
    if np.isin(e, (0, 1)).all():
        # Which items a random review picks is all that is random here: the errors are
        # those of these very items.
        wrong = int(e.sum())
        caught = scipy.stats.hypergeom(e.size, wrong, n)
        return Bounds(*(caught.ppf(tail) / wrong for tail in tails))
    share = n / e.size
    # Of the sum of n errors drawn without replacement, as a share of all error.
    sd = np.sqrt(n * (1 - share) * e.var(ddof=1)) / e.sum()
    ends = [share + special.ndtri(tail) * sd for tail in tails]
    low, high = (np.clip(end, 0, 1) for end in ends)
    return Bounds(low, high)


def review_gain_interval(
    uncertainty: ArrayLike,
    error: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> Estimate:
    """Estimate `gain` with an interval over items, or over groups of items.

    Each end is the wider of two: of the jackknife on Fisher's z, which errs above for doubts that
    know much, and of the pseudo-values, which errs below where errors are few
    (`benchmarks/coverage`).

    Args:
        uncertainty, error: As of `pair`; a ValueError where all errors are equal.
    """
    u, e = pair(uncertainty, error)
    checks.share(level, "level")
    if checks.is_constant(e):
        raise ValueError(
            "`error` is constant; no order of review catches more than another."
        )
    columns = np.column_stack([u, e])
    left_out = jackknife.LeftOut(columns, gain, rng, groups)
    by_fisher = left_out.coefficient(level)
    by_pseudo = left_out.nearly_mean(level, (-1.0, 1.0))
    low = min(by_fisher.low, by_pseudo.low)
    high = max(by_fisher.high, by_pseudo.high)
    return by_fisher.replace(low=low, high=high)


def _surest_first(u: Array, e: Array) -> OfDraws:
    """Prepare errors in ascending order of uncertainty, each replaced by the mean over its tie: of
    drawn items, same shape.

    The items are sorted once, here, and not again for each draw.
    """
    _values, tie = np.unique(u, return_inverse=True)
    n_ties = int(tie.max()) + 1

    def of_draws(drawn: Index) -> Array:
        tally = jackknife.Tally(tie, n_ties, drawn)
        size = tally.counts().ravel()
        total = tally.sums(e.take(drawn)).ravel()
        # A tie of which nothing was drawn has no mean, and is repeated no time.
        mean = total / np.maximum(size, 1)
        return np.asarray(np.repeat(mean, size).reshape(drawn.shape))

    return of_draws


def _risk(u: Array, e: Array) -> OfDraws:
    """Prepare the mean error of the 1, 2, ..., n surest of drawn items, shape (n_draws,
    n_drawn)."""
    ordered = _surest_first(u, e)

    def of_draws(drawn: Index) -> Array:
        n = np.arange(1, drawn.shape[1] + 1)
        return np.asarray(np.cumsum(ordered(drawn), axis=1) / n)

    return of_draws


def _caught(u: Array, e: Array) -> OfDraws:
    """Prepare the share of the error caught by reviewing 0, 1, ..., n of drawn items, shape
    (n_draws, n_drawn + 1).

    A draw without error has nothing to catch; it is drawn as the diagonal, which claims no gain.
    """
    ordered = _surest_first(u, e)

    def of_draws(drawn: Index) -> Array:
        least_sure_first = ordered(drawn)[:, ::-1]
        so_far = np.cumsum(least_sure_first, axis=1)
        # In front, the review of no item.
        caught = np.pad(so_far, ((0, 0), (1, 0)))
        total = caught[:, -1:]
        even = np.linspace(0, 1, caught.shape[1])
        diagonal = np.tile(even, (len(drawn), 1))
        # `divide` leaves what is in `out` where it does not divide.
        return np.divide(caught, total, out=diagonal, where=total > 0)

    return of_draws


@jackknife.Prepared
def aurc(columns: Array) -> OfDraws:
    """Prepare the area under the risk-coverage curve of two columns, uncertainty and error, shape
    (n, 2): the mean risk of keeping the 1, 2, ..., n surest items.

    References:
        Geifman, Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation for deep neural
        classifiers. arXiv:1805.08206
    """
    risk = _risk(*columns.T)
    return lambda drawn: np.asarray(risk(drawn).mean(axis=1))


@jackknife.Prepared
def excess_aurc(columns: Array) -> OfDraws:
    """Prepare `aurc` minus the smallest possible for these errors (0 is perfect): how good the
    uncertainty is, not the judge.

    The smallest is computed from the sorted errors; Geifman et al. use its limit r + (1 - r) ln(1 -
    r) for errors of 0 and 1 at rate r.
    """
    uncertainty, error = columns.T
    risk = _risk(uncertainty, error)
    least = _risk(error, error)

    def of_draws(drawn: Index) -> Array:
        excess = risk(drawn) - least(drawn)
        return np.asarray(excess.mean(axis=1))

    return of_draws


@jackknife.Prepared
def gain(columns: Array) -> OfDraws:
    """Prepare the area between guided and random review, divided by that between oracle and random,
    of the columns of `aurc`.

    It is 1 for the oracle, 0 for random review, down to -1 where the uncertainty leads away from
    the errors, and NaN where the error is constant. Known as prediction rejection ratio.

    References:
        Malinin and Gales (2021), Uncertainty estimation in autoregressive structured prediction.
        arXiv:2002.07650
    """
    u, e = columns.T
    guided = _caught(u, e)
    oracle = _caught(e, e)

    def of_draws(drawn: Index) -> Array:
        # A draw may by chance hold only right items, of which no order is better than
        # another.
        errors = e[drawn]
        largest_error = np.max(np.abs(errors), axis=1)
        # All zero included.
        constant = np.ptp(errors, axis=1) <= checks.SAME * largest_error
        # Both curves run from 0 to 1, so their mean height less 1/2 is their area less 1/2 times n
        # / (n + 1).
        area = np.asarray(guided(drawn).mean(axis=1)) - 0.5
        largest = np.asarray(oracle(drawn).mean(axis=1)) - 0.5
        nothing = np.full(len(drawn), np.nan)
        return np.divide(area, largest, out=nothing, where=~constant)

    return of_draws


FEWEST = 30
"""Fewest independent units: fewer leave no room for functions of the score, and what is left of a
doubt that is one goes with what is left of the error (`benchmarks/beyond_score.py`)."""

SAME = 0.95
"""Share of a doubt's variance, foretold by the score for texts left out, from which on the doubt
follows from it."""
WORTHWHILE = 4.0
"""What a further function must gain in n log(residual variance) to be taken in: twice what Akaike
asks."""
SURE = 12.0
"""The same where the functions are to foretell: the best of hundreds of idle ones gains less."""
FOLDS = 10


class Beyond(NamedTuple):
    """The correlation of the doubt's ranks with the size of the error at equal score; `p_value` is
    that of none.

    `share_of_score` is the share of the variance of the doubt's ranks that the score foretells for
    texts left out; from SAME on the doubt is a function of the score (`function`), and there is no
    correlation: NaN, p-value 1. `units_needed` would settle with probability 0.8 that the
    correlation is above 0, if the estimate were true; None where no number would.
    """

    estimate: Estimate
    p_value: float
    share_of_score: float
    function: bool
    units_needed: int | None


def beyond_score(
    doubt: ArrayLike,
    error: ArrayLike,
    score: ArrayLike,
    middle: float,
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> Beyond:
    """Estimate the association of a doubt with the size of the error at equal score.

    The error is regressed on the doubt's ranks and on functions of the score, chosen twice: those
    that foretell the doubt and those that foretell the error (double selection), so that a bend
    missed by one is taken in by the other. To choose from are bends and steps between any two
    scores, beside the score and its distance from the middle; a score of few values gets one
    constant per value, which takes out whatever function of it. The spread of the slope is the
    jackknife's over groups (CR3), its distribution Student's t.

    Args:
        doubt, error, score: Shape (n,); higher is less sure, 0 or more, in score units with
            `middle` the middle of the scale. Neither doubt nor error may be constant, and FEWEST
            units are needed.
    References:
        Belloni, Chernozhukov and Hansen (2014), Inference on treatment effects after selection
        among high-dimensional controls. doi:10.1093/restud/rdt044. Bell and McCaffrey (2002), Bias
        reduction in standard errors for linear regression with multi-stage samples, Survey
        Methodology 28(2), for CR3.
    """
    u, e = pair(doubt, error)
    s, _e = checks.paired_vectors(score, error, ("score", "error"))
    checks.share(level, "level")
    codes = checks.groups(groups, u.size, FEWEST)
    n_units = int(codes.max()) + 1
    if checks.is_constant(u) or checks.is_constant(e):
        raise ValueError(
            "`doubt` or `error` is constant; there is nothing to associate."
        )
    ranks = checks.ranks(u) / u.size
    controls = _controls(s, middle, [ranks, e], n_units)
    # Ranks of few texts are no smooth function of the score where the doubt itself is one, and the
    # other way round.
    share_of_ranks = _foretold(controls, ranks, codes)
    share_of_doubt = _foretold(_controls(s, middle, [u], n_units), u, codes)
    share = max(share_of_ranks, share_of_doubt)
    ranks_of_score = controls @ (controls.T @ ranks)
    ranks_left = ranks - ranks_of_score
    error_of_score = controls @ (controls.T @ e)
    error_left = e - error_of_score
    size = float(np.linalg.norm(ranks_left))
    spread = float(np.linalg.norm(error_left))
    nothing_left = spread <= 1e-6 * float(np.linalg.norm(e)) or size <= 1e-6
    if share >= SAME or nothing_left:
        return Beyond(unknown(level, n_units), 1.0, share, share >= SAME, None)
    # Of length 1, so that with the controls it is orthonormal, as `_left_out` asks.
    design = np.column_stack([controls, ranks_left / size])
    slopes = _left_out(design, e, codes)[:, -1]
    slope = float(ranks_left @ error_left) / size
    squares = np.sum((slopes - slope) ** 2)
    deviation = float(np.sqrt((n_units - 1) / n_units * squares))
    # A doubt that is left at a few texts alone is held against as many.
    weights = np.bincount(codes, ranks_left**2)
    square_of_sum = weights.sum() ** 2
    effective = float(square_of_sum / np.sum(weights**2))
    free = n_units - design.shape[1]
    df = max(1.0, min(free, effective - 1))
    t = np.inf * np.sign(slope)
    if deviation > 0:
        t = slope / deviation
    needed = _units_needed(t, n_units, level)
    reach = means.t_quantile(df, level) * deviation
    ends = np.array([slope, slope - reach, slope + reach]) / spread
    correlation, low, high = np.clip(ends, -1, 1).tolist()
    p = float(2 * special.stdtr(df, -abs(t)))
    estimate = Estimate(correlation, low, high, level, n_units)
    return Beyond(estimate, p, share, False, needed)


def _units_needed(t: float, n_units: int, level: float) -> int | None:
    """Guess how many units would show a slope above 0 with probability 0.8; None where no number
    would."""
    if not (t > 0 and np.isfinite(t)):
        return None
    # The error shrinks with the root of the units: this t must grow to the quantile of the
    # interval and that of the chance to see it together.
    asked = means.normal_quantile(level) + special.ndtri(0.8)
    times = (asked / t) ** 2
    return checks.worth_naming(n_units * times, n_units)


def error_by_score(
    error: ArrayLike, score: ArrayLike, middle: float, *, groups: Groups = None
) -> Array:
    """Foretell the size of the error by the best function of the score alone, each group left out
    of the fit for it.

    The functions are those of `beyond_score`, chosen anew in each of FOLDS training parts. The
    parts do not depend on chance: group k falls into part k modulo FOLDS, in order of appearance.

    Args:
        error, score, middle: As in `beyond_score`; of FOLDS units or more.
    Returns:
        Shape (n,), in units of the error.
    """
    s, e = checks.paired_vectors(score, error, ("score", "error"))
    codes = checks.groups(groups, e.size, FOLDS)
    part = codes % FOLDS
    foretold = np.empty(e.size)
    z, base = _base(s, middle)
    for number in range(FOLDS):
        # A function that was fitted to an item's own error would foretell it, and
        # nothing would be left for the doubt to know.
        fitted = part != number
        errors = e[fitted]
        room = _room(np.unique(codes[fitted]).size)
        terms = _chosen(z[fitted], errors, orthonormal(base[fitted]), room, SURE)
        bends = [_column(z, term) for term in terms]
        columns = np.column_stack([base, *bends])
        weights, *_ = np.linalg.lstsq(columns[fitted], errors, rcond=1e-9)
        # No function foretells an error beyond those it was fitted on.
        of_others = columns[~fitted] @ weights
        foretold[~fitted] = np.clip(of_others, errors.min(), errors.max())
    # Texts of one score are to tie, which the last digits of their sums would undo.
    return foretold.round(9)


def _room(n_units: int) -> int:
    """Say how many functions of the score so many units allow, at least four for each: 46 texts
    allow 11."""
    # More functions than that would follow the noise, and take away what the doubt
    # knows.
    return max(3, min(30, n_units // 4))


def _base(s: Array, middle: float) -> tuple[Array, Array]:
    """Standardise the score, 0 in the middle of its scale, shape (n,); beside it a constant, the
    score, and its distance from there, shape (n, 3)."""
    # Scores that are all the same have no spread to divide by.
    spread = float(np.std(s)) or 1.0
    z = (s - middle) / spread
    constant = np.ones(z.size)
    return z, np.column_stack([constant, z, np.abs(z)])


def _column(z: Array, term: tuple[bool, float]) -> Array:
    """Compute a function of the score, shape (n,): a step up at a place, or a bend there."""
    is_step, place = term
    above = z - place
    if is_step:
        return (above > 0).astype(np.float64)
    return np.maximum(above, 0)


def _chosen(
    z: Array, y: Array, q: Array, room: int, worthwhile: float = WORTHWHILE
) -> list[tuple[bool, float]]:
    """Choose the terms that forward selection adds to the columns of q (orthonormal) to foretell y,
    up to `room` columns.

    Steps and bends between any two scores are tried, all at once, by sums over the scores above
    each place.

    Args:
        z, y: Score and what it is to foretell, shape (n,); q of shape (n, k).
        worthwhile: What a term must gain in n log(residual variance).
    Returns:
        Of each term whether it is a step (else a bend), and its place.
    """
    order = np.argsort(z, kind="stable")
    z = z[order]
    y = y[order]
    q = q[order]
    first = np.flatnonzero(np.diff(z) > 0) + 1
    places = (z[first - 1] + z[first]) / 2

    def above(columns: Array) -> Array:
        """Sum over the scores above each place."""
        from_the_top = np.cumsum(columns[::-1], axis=0)[::-1]
        return np.asarray(from_the_top[first])

    def products(column: Array) -> Array:
        """Multiply each step, and each bend, with a column."""
        steps = above(column)
        bends = above(column * z) - places * steps
        return np.concatenate([steps, bends])

    number = above(np.ones(z.size))
    sums = above(z)
    squares = above(z**2)
    # (z - place)^2, summed: of a step it is the number of scores above the place.
    of_bends = squares - 2 * places * sums + places**2 * number
    norms = np.concatenate([number, of_bends])
    rest = y - q @ (q.T @ y)
    in_steps = above(q)
    moments = above(q * z[:, None])
    in_bends = moments - places[:, None] * in_steps
    inside = np.concatenate([in_steps, in_bends])
    # What of each term the columns do not give already: its squared length beside them.
    left = norms - np.einsum("ij,ij->i", inside, inside)
    terms: list[tuple[bool, float]] = []
    while first.size and q.shape[1] < room:
        new = left > 1e-9 * norms
        nothing = np.zeros(left.size)
        gains = np.divide(products(rest) ** 2, left, out=nothing, where=new)
        best = int(np.argmax(gains))
        total = float(rest @ rest)
        if total <= 1e-12 * float(y @ y):
            break
        share_left = max(1 - gains[best] / total, 1e-12)
        if -z.size * np.log(share_left) <= worthwhile:
            break
        # Steps stand before bends, at the same places.
        is_step = best < places.size
        place = float(places[best % places.size])
        terms.append((is_step, place))
        column = _column(z, terms[-1])
        # Twice: rounding leaves something of the columns the first time where little is left.
        column = column - q @ (q.T @ column)
        column = column - q @ (q.T @ column)
        column = column / np.linalg.norm(column)
        q = np.column_stack([q, column])
        rest = rest - column * (column @ rest)
        left = left - products(column) ** 2
    return terms


def _controls(s: Array, middle: float, targets: Sequence[Array], n_units: int) -> Array:
    """Make an orthonormal basis of the functions of the score that are taken out, shape (n, k)."""
    room = _room(n_units)
    values, places = np.unique(s, return_inverse=True)
    if values.size <= room:
        return orthonormal(np.eye(values.size)[places])
    z, base = _base(s, middle)
    q = orthonormal(base)
    for number, target in enumerate(targets):
        # What room is left is shared among the targets that are left.
        n_targets_left = len(targets) - number
        n_columns = q.shape[1]
        share = (room - n_columns) // n_targets_left
        terms = _chosen(z, target, q, n_columns + share)
        further = [_column(z, term) for term in terms]
        q = orthonormal(np.column_stack([q, *further]))
    return q


def _foretold(q: Array, y: Array, codes: Index) -> float:
    """Compute 1 - squared error of y, its group left out, over the variance of y; at most 1."""
    weights = _left_out(q, y, codes)
    errors = y - np.einsum("ij,ij->i", q, weights[codes])
    from_mean = y - y.mean()
    return 1 - float(np.sum(errors**2) / np.sum(from_mean**2))


def _left_out(q: Array, y: Array, codes: Index) -> Array:
    """Compute the least-squares weights of the columns of q (orthonormal) without each group, shape
    (n_groups, k)."""
    k = q.shape[1]
    n_groups = int(codes.max()) + 1
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_groups + 1))
    weights = np.empty((n_groups, k))
    whole = q.T @ y
    # A block of k x k for each group: 16 MB of them at a time.
    step = max(1, 2_000_000 // (k * k))
    for first in range(0, n_groups, step):
        last = min(first + step, n_groups)
        rows = order[starts[first] : starts[last]]
        at = starts[first:last] - starts[first]
        columns = q[rows]
        squares = columns[:, :, None] * columns[:, None, :]
        outer = np.add.reduceat(squares, at, axis=0)
        inner = np.add.reduceat(columns * y[rows, None], at, axis=0)
        # A group that alone carries a column leaves nothing to weigh it by: the little added keeps
        # its weight at 0.
        left = (1 + 1e-9) * np.eye(k) - outer
        of_others = (whole - inner)[:, :, None]
        weights[first:last] = np.linalg.solve(left, of_others)[:, :, 0]
    return weights
