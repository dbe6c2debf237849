"""Does a doubt know more of the errors than the score itself does: their association among texts of like score.

A doubt that is a function of the score (its distance from the middle, say) can order the errors of any judge, also of
one that knows nothing, since the size of the possible error depends on where the score lies. What it is worth beyond
the score is what is left when all that the score says is taken out of the doubt and out of the error.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, review
from undogmatic.stats.checks import Array, Groups, Index
from undogmatic.stats.estimate import Estimate, unknown

FEWEST = 30
"""Fewest independent units: fewer leave no room for functions of the score, and what is left of a doubt that is one
goes with what is left of the error (`benchmarks/beyond_score.py`)."""

SAME = 0.95
"""Share of a doubt's variance, foretold by the score for texts left out, from which on the doubt follows from it."""
WORTHWHILE = 4.0
"""What a further function must gain in n log(residual variance) to be taken in: twice what Akaike asks."""
SURE = 12.0
"""The same where the functions are to foretell: the best of hundreds of idle ones gains less."""
FOLDS = 10


class Beyond(NamedTuple):
    """The correlation of the doubt's ranks with the size of the error at equal score; `p_value` is that of none.

    `share_of_score` is the share of the variance of the doubt's ranks that the score foretells for texts left out; from
    SAME on the doubt is a function of the score (`function`), and there is no correlation: NaN, p-value 1.
    `units_needed` would settle with probability 0.8 that the correlation is above 0, if the estimate were true; None
    where no number would.
    """

    estimate: Estimate
    p_value: float
    share_of_score: float
    function: bool
    units_needed: int | None


def beyond_score(
    doubt: ArrayLike, error: ArrayLike, score: ArrayLike, middle: float, level: float = 0.95, *, groups: Groups = None
) -> Beyond:
    """Association of a doubt with the size of the error at equal score.

    The error is regressed on the doubt's ranks and on functions of the score, chosen twice: those that foretell the
    doubt and those that foretell the error (double selection), so that a bend missed by one is taken in by the other.
    To choose from are bends and steps between any two scores, beside the score and its distance from the middle; a
    score of few values gets one constant per value, which takes out whatever function of it. The spread of the slope is
    the jackknife's over groups (CR3), its distribution Student's t.

    Args:
        doubt, error, score: Shape (n,); higher is less sure, 0 or more, in score units with `middle` the middle of the
            scale. Neither doubt nor error may be constant, and FEWEST units are needed.
    References:
        Belloni, Chernozhukov and Hansen (2014), Inference on treatment effects after selection among high-dimensional
        controls. doi:10.1093/restud/rdt044. Bell and McCaffrey (2002), Bias reduction in standard errors for linear
        regression with multi-stage samples, Survey Methodology 28(2), for CR3.
    """
    u, e = review.pair(doubt, error)
    s, _e = checks.paired_vectors(score, error, ("score", "error"))
    checks.share(level, "level")
    codes = checks.groups(groups, u.size, FEWEST)
    n_units = int(codes.max()) + 1
    if checks.is_constant(u) or checks.is_constant(e):
        raise ValueError("`doubt` or `error` is constant; there is nothing to associate.")
    ranks = stats.rankdata(u) / u.size
    controls = _controls(s, middle, [ranks, e], n_units)
    # Ranks of few texts are no smooth function of the score where the doubt itself is one, and the other way round.
    share = max(_foretold(controls, ranks, codes), _foretold(_controls(s, middle, [u], n_units), u, codes))
    rest, left = ranks - controls @ (controls.T @ ranks), e - controls @ (controls.T @ e)
    size, spread = float(np.linalg.norm(rest)), float(np.linalg.norm(left))
    if share >= SAME or spread <= 1e-6 * float(np.linalg.norm(e)) or size <= 1e-6:
        return Beyond(unknown(level, n_units), 1.0, share, share >= SAME, None)
    design = np.column_stack([controls, rest / size])
    slopes = _left_out(design, e, codes)[:, -1]
    slope = float(rest @ left) / size
    deviation = float(np.sqrt((n_units - 1) / n_units * np.sum((slopes - slope) ** 2)))
    # A doubt that is left at a few texts alone is held against as many.
    weights = np.bincount(codes, rest**2)
    free = max(1.0, min(n_units - design.shape[1], float(weights.sum() ** 2 / np.sum(weights**2)) - 1))
    t = slope / deviation if deviation > 0 else np.inf * np.sign(slope)
    reach = float(stats.t.ppf((1 + level) / 2, free)) * deviation
    needed = None
    if t > 0 and np.isfinite(t):
        needed = int(np.ceil(n_units * ((stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(0.8)) / t) ** 2))
        needed = needed if needed <= checks.MOST_TIMES * n_units else None
    correlation, low, high = map(float, np.clip(np.array([slope, slope - reach, slope + reach]) / spread, -1, 1))
    p = float(2 * stats.t.sf(abs(t), free))
    return Beyond(Estimate(correlation, low, high, level, n_units, unit="correlation"), p, share, False, needed)


def error_by_score(error: ArrayLike, score: ArrayLike, middle: float, *, groups: Groups = None) -> Array:
    """Size of the error that the best function of the score alone foretells, each group left out of the fit for it.

    The functions are those of `beyond_score`, chosen anew in each of FOLDS training parts. The parts do not depend on
    chance: group k falls into part k modulo FOLDS, in order of appearance.

    Args:
        error, score, middle: As in `beyond_score`; of FOLDS units or more.
    Returns:
        Shape (n,), in units of the error.
    """
    s, e = checks.paired_vectors(score, error, ("score", "error"))
    codes = checks.groups(groups, e.size, FOLDS)
    part, foretold = codes % FOLDS, np.empty(e.size)
    z = (s - middle) / (float(np.std(s)) or 1.0)
    for own in range(FOLDS):
        fitted, left = part != own, part == own
        columns, room = _base(z), _room(np.unique(codes[fitted]).size)
        terms = _chosen(z[fitted], e[fitted], _orthonormal(columns[fitted]), room, SURE)
        columns = np.column_stack([columns, *(_column(z, term) for term in terms)])
        weights = np.linalg.lstsq(columns[fitted], e[fitted], rcond=1e-9)[0]
        # No function foretells an error beyond those it was fitted on.
        foretold[left] = np.clip(columns[left] @ weights, e[fitted].min(), e[fitted].max())
    return foretold.round(9)


def _room(n_units: int) -> int:
    """How many functions of the score so many units allow, at least four for each: 46 texts allow 11."""
    return max(3, min(30, n_units // 4))


def _base(z: Array) -> Array:
    """A constant, the score (0 is the middle of its scale) and its distance from the middle, shape (n, 3)."""
    return np.column_stack([np.ones(z.size), z, np.abs(z)])


def _column(z: Array, term: tuple[bool, float]) -> Array:
    """A function of the score: a step up at a place, or a bend there."""
    step, place = term
    return (z - place > 0).astype(np.float64) if step else np.maximum(z - place, 0)


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the columns, those that others give left out."""
    u, d, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(u[:, d > 1e-9 * d[0]])


def _chosen(z: Array, y: Array, q: Array, room: int, worthwhile: float = WORTHWHILE) -> list[tuple[bool, float]]:
    """The terms that forward selection adds to the columns of q (orthonormal) to foretell y, up to `room` columns.

    Steps and bends between any two scores are tried, all at once, by sums over the scores above each place.
    """
    order = np.argsort(z, kind="stable")
    z, y, q = z[order], y[order], q[order]
    first = np.flatnonzero(np.diff(z) > 0) + 1
    places = (z[first - 1] + z[first]) / 2

    def above(columns: Array) -> Array:
        return np.asarray(np.cumsum(columns[::-1], axis=0)[::-1][first])

    number, sums, squares = above(np.ones(z.size)), above(z), above(z**2)
    norms = np.concatenate([number, squares - 2 * places * sums + places**2 * number])
    rest = y - q @ (q.T @ y)
    in_steps = above(q)
    inside = np.concatenate([in_steps, above(q * z[:, None]) - places[:, None] * in_steps])
    left = norms - np.einsum("ij,ij->i", inside, inside)
    found: list[tuple[bool, float]] = []
    while first.size and q.shape[1] < room:
        steps = above(rest)
        products = np.concatenate([steps, above(rest * z) - places * steps])
        gains = np.divide(products**2, left, out=np.zeros(left.size), where=left > 1e-9 * norms)
        best, total = int(np.argmax(gains)), float(rest @ rest)
        if total <= 1e-12 * float(y @ y) or -z.size * np.log(max(1 - gains[best] / total, 1e-12)) <= worthwhile:
            break
        found.append((best < places.size, float(places[best % places.size])))
        column = _column(z, found[-1])
        column = column - q @ (q.T @ column)
        column = column - q @ (q.T @ column)
        column = column / np.linalg.norm(column)
        q = np.column_stack([q, column])
        rest = rest - column * (column @ rest)
        in_steps = above(column)
        left = left - np.concatenate([in_steps, above(column * z) - places * in_steps]) ** 2
    return found


def _controls(s: Array, middle: float, targets: Sequence[Array], n_units: int) -> Array:
    """Orthonormal basis of the functions of the score that are taken out."""
    room = _room(n_units)
    values, places = np.unique(s, return_inverse=True)
    if values.size <= room:
        return _orthonormal(np.eye(values.size)[places])
    z = (s - middle) / (float(np.std(s)) or 1.0)
    q = _orthonormal(_base(z))
    for target, share in zip(targets, range(len(targets), 0, -1), strict=True):
        terms = _chosen(z, target, q, q.shape[1] + (room - q.shape[1]) // share)
        q = _orthonormal(np.column_stack([q, *(_column(z, term) for term in terms)]))
    return q


def _foretold(q: Array, y: Array, codes: Index) -> float:
    """1 - squared error of y, its group left out, over the variance of y; at most 1."""
    weights = _left_out(q, y, codes)
    return 1 - float(np.sum((y - np.einsum("ij,ij->i", q, weights[codes])) ** 2) / np.sum((y - y.mean()) ** 2))


def _left_out(q: Array, y: Array, codes: Index) -> Array:
    """Least-squares weights of the columns of q (orthonormal) without each group, shape (n_groups, k)."""
    k, n_groups = q.shape[1], int(codes.max()) + 1
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_groups + 1))
    weights, whole = np.empty((n_groups, k)), q.T @ y
    step = max(1, 2_000_000 // (k * k))
    for first in range(0, n_groups, step):
        last = min(first + step, n_groups)
        rows = order[starts[first] : starts[last]]
        own, at = q[rows], starts[first:last] - starts[first]
        outer = np.add.reduceat(own[:, :, None] * own[:, None, :], at, axis=0)
        inner = np.add.reduceat(own * y[rows, None], at, axis=0)
        # A group that alone carries a column leaves nothing to weigh it by: the little added keeps its weight at 0.
        left = (1 + 1e-9) * np.eye(k) - outer
        weights[first:last] = np.linalg.solve(left, (whole - inner)[:, :, None])[:, :, 0]
    return weights
