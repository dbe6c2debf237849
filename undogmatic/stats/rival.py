"""Compares a judge's agreement with people with that of a rival, and tells what is left of it at
equal rival.

One coefficient serves all kinds of verdicts, as each is a ratio of sums over items: "nominal",
Cohen's kappa; "quadratic", kappa weighted by squared distance; "rank", Pearson's correlation of
what are ranks already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.stats import checks, jackknife, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate

Coefficient = Literal["nominal", "quadratic", "rank"]


class Voice(NamedTuple):
    """What one side says of each item, shape (n_items, n_columns) each: the mean of what it says of
    an item, and the mean of its squares. "nominal": a column of 0 and 1 per category; else one
    column."""

    mean: Array
    square: Array

    def of(self, rows: NDArray[np.bool_]) -> Voice:
        """Of some items."""
        return Voice(self.mean[rows], self.square[rows])

    def beside(self, other: Voice) -> Voice:
        """Of these items and then of others."""
        return Voice(
            np.vstack([self.mean, other.mean]), np.vstack([self.square, other.square])
        )


def voice(mean: Array) -> Voice:
    """A side that says one thing of each item."""
    table = mean[:, None] if mean.ndim == 1 else mean
    return Voice(table, table**2)


# One form for all kinds of verdicts, because judge and rival are compared by the
# difference of two such numbers over the same units, and what is subtracted must be the
# same number.
class Agreement(jackknife.LeftOut):
    """How far two sides agree, ready for intervals and differences. As it hangs on sums over items
    alone, leaving a unit out takes its sums off. Raises `jackknife.Undefined` where nothing varies.
    """

    def __init__(
        self,
        one: Voice,
        other: Voice,
        coefficient: Coefficient,
        rng: Rng,
        groups: Groups,
    ) -> None:
        """Sum what the coefficient needs of two sides of the same items."""

        def of_sums(sums: Array) -> Array:
            product, a, b, a2, b2 = np.split(sums[..., 1:] / sums[..., :1], 5, axis=-1)
            return np.asarray(
                (product - a * b).sum(axis=-1) / _scale(a, b, a2, b2, coefficient)
            )

        parts = one.mean * other.mean, one.mean, other.mean, one.square, other.square
        self._of_sums = of_sums
        columns = np.hstack([np.ones((len(one.mean), 1)), *parts])
        super().__init__(
            columns, lambda rows: float(of_sums(rows.sum(axis=0))), rng, groups
        )

    @cached_property
    def values(self) -> Array:
        """The coefficient without each of `left` in turn."""
        own = np.column_stack(
            [np.bincount(self.left, column) for column in self.data.T]
        )
        with np.errstate(all="ignore"):
            return self._of_sums(self.data.sum(axis=0) - own)


def _scale(a: Array, b: Array, a2: Array, b2: Array, coefficient: Coefficient) -> Array:
    """By what the sum of covariances is divided; NaN where nothing varies."""
    if coefficient == "nominal":
        # Kappa's scale: 1 less the agreement that two sides with these categories have
        # by chance.
        scale = 1 - (a * b).sum(axis=-1)
    elif coefficient == "quadratic":
        scale = (a2 + b2 - 2 * a * b).sum(axis=-1) / 2
    else:
        scale = np.sqrt(np.maximum(0, (a2 - a**2) * (b2 - b**2))).sum(axis=-1)
    # NaN, and no 0: where nothing varies there is no agreement to tell, which is not
    # the same as none.
    return np.where(scale > 1e-12, scale, np.nan)


def _scale_of(one: Voice, other: Voice, coefficient: Coefficient) -> float:
    a, b, a2, b2 = (
        part.mean(axis=0) for part in (one.mean, other.mean, one.square, other.square)
    )
    return float(_scale(a, b, a2, b2, coefficient))


def agreement(
    one: Voice, other: Voice, coefficient: Coefficient, rng: Rng, groups: Groups
) -> Agreement | None:
    """`Agreement`, or None where nothing varies."""
    try:
        return Agreement(one, other, coefficient, rng, groups)
    except jackknife.Undefined:
        return None


def at_equal(
    judge: Voice,
    people: Voice,
    controls: Sequence[Array],
    coefficient: Coefficient,
    level: float,
    groups: Groups,
) -> Estimate | None:
    """What is left of their agreement among items of which the rival says the same, in units of the
    coefficient.

    Both sides are regressed on the controls, what the rival says of either; the mean product of
    what is left is divided by what the covariance is divided by in the coefficient. None where
    nothing varies.

    Args:
        controls: One table per column of the voices, each of shape (n_items, n_controls).
    """
    codes = checks.groups(groups, len(judge.mean))
    pairs, freedom = [], np.empty(judge.mean.shape[1])
    for column, own in enumerate(controls):
        # An orthonormal basis in place of the controls themselves: two controls that
        # say nearly the same would else make the regression unstable.
        basis = _basis(own)
        sides = np.column_stack([judge.mean[:, column], people.mean[:, column]])
        pairs.append(sides - basis @ (basis.T @ sides))
        by_group = np.column_stack([np.bincount(codes, one) for one in basis.T])
        one, other = pairs[-1].T
        freedom[column] = _freedom(
            one, other, codes, basis.shape[1], float(np.sum(by_group**2))
        )
    rest = np.stack(pairs, axis=-1)
    return _left(
        (rest[:, 0], rest[:, 1]),
        freedom,
        _scale_of(judge, people, coefficient),
        level,
        groups,
    )


def _basis(controls: Array) -> Array:
    """Orthonormal columns that span the controls and a constant, shape (n_items, k)."""
    return orthonormal(np.column_stack([np.ones(len(controls)), controls]))


def orthonormal(columns: Array) -> Array:
    """Make an orthonormal basis of the columns; those that others give are left out."""
    basis, size, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(basis[:, size > 1e-9 * size[0]])


class Shared(NamedTuple):
    """What is left, among items of which the rival says the same, of the agreement of the judge
    with people (`judge`) and of people with each other (`people`), and the first as a share of the
    second (`share`, None where nothing is shown to be left between people)."""

    judge: Estimate
    people: Estimate
    share: Estimate | None


Foretold = Callable[[int, Array], Array]
"""A column of the voices and values of its items, shape (n_items,), to what the rival says of each
that it can tell from the others."""


def by_controls(controls: Sequence[Array]) -> Foretold:
    """By regression on controls, one table per column of the voices, shape (n_items, n_controls)
    each."""
    bases = [_basis(own) for own in controls]
    return lambda column, values: np.asarray(bases[column] @ (bases[column].T @ values))


def by_column(values: Index) -> Foretold:
    """By the mean of all items with the same value of a column of the file, 0 to n_values - 1."""
    size = np.bincount(values)
    return lambda column, own: np.asarray((np.bincount(values, own) / size)[values])


def shared(
    judge: Voice,
    people: Voice,
    raters: Index,
    foretold: Foretold,
    coefficient: Coefficient,
    level: float,
    groups: Groups,
) -> Shared | None:
    """Measure what a judge shares with people beyond a rival by what people share with each other
    beyond it.

    All are taken without what the rival foretells of them, over the items that two people or more
    labelled. The interval of the share holds every t for which the judge's part less t times the
    people's is not shown to differ from 0. The more the rival learns, the less is left of both, so
    that more labels never speak against a judge that stays as good. None where nothing varies.

    Args:
        judge, people: Of the items that two people or more labelled.
        raters: How many people labelled each of them, shape (n_items,).
    References:
        Fieller (1954), Some problems in interval estimation.
        doi:10.1111/j.2517-6161.1954.tb00159.x
    """
    codes = checks.groups(groups, len(judge.mean))
    own_scale = _scale_of(judge, people, coefficient)
    people_scale = _scale_of(people, people, coefficient)
    if not np.isfinite(own_scale + people_scale) or codes.max() < 1:
        return None
    of_judge, of_people = np.zeros(codes.size), np.zeros(codes.size)
    for column in range(judge.mean.shape[1]):
        said, mean = judge.mean[:, column], people.mean[:, column]
        of_mean = foretold(column, mean)
        rest = mean - of_mean
        # The mean square of what is left of each label, and the mean product of two people's.
        square = people.square[:, column] - 2 * of_mean * mean + of_mean**2
        # The square of what is left of the mean holds each person's own error once
        # more; it is taken off, so that only what two different people share is left.
        of_people += (raters * rest**2 - square) / (raters - 1)
        of_judge += (said - foretold(column, said)) * rest
    of_judge /= own_scale
    of_people /= people_scale

    def left(values: Array) -> Estimate:
        return means.interval(values, level, groups=codes)

    between = left(of_people)
    found = Shared(left(of_judge), between, None)
    # A share of what may be nothing has no limit: people then show no ability that a
    # judge could have a part of.
    if between.low <= 0:
        return found
    share = found.judge.value / between.value
    low = _last(lambda t: left(of_judge - t * of_people).low > 0, share, -1)
    high = _last(lambda t: left(of_judge - t * of_people).high < 0, share, 1)
    return found._replace(share=found.judge.replace(value=share, low=low, high=high))


MOST_SHARE = 10.0
"""A share is told up to this."""


def _last(holds: Callable[[float], bool], start: float, way: int) -> float:
    """Say where, going from `start` downwards (-1) or upwards (1), it begins to hold; the end of
    what is told where it does nowhere."""
    near, far = start, way * MOST_SHARE
    # The interval of a ratio may be open on one side (Fieller). It ends at what is
    # still told then.
    if not holds(far):
        return far
    # Halved forty times, the range is known to ten digits.
    for _ in range(40):
        middle = (near + far) / 2
        near, far = (near, middle) if holds(middle) else (middle, far)
    return far


def within(
    judge: Voice,
    people: Voice,
    values: Index,
    coefficient: Coefficient,
    level: float,
    groups: Groups,
) -> Estimate | None:
    """`at_equal` among items of one value of a column, 0 to n_values - 1 and fewer than there are
    items."""
    size, codes = np.bincount(values), checks.groups(groups, values.size)
    said, labels = (
        side
        - np.column_stack([np.bincount(values, own) / size for own in side.T])[values]
        for side in (judge.mean, people.mean)
    )
    value_of, together = np.unique(
        np.column_stack([values, codes]), axis=0, return_counts=True
    )
    by_group = float(np.sum(together**2 / size[value_of[:, 0]]))
    freedom = np.array(
        [
            _freedom(*sides, codes, size.size, by_group)
            for sides in zip(said.T, labels.T, strict=True)
        ]
    )
    return _left(
        (said, labels), freedom, _scale_of(judge, people, coefficient), level, groups
    )


def _freedom(
    one: Array, other: Array, codes: Index, rank: int, by_group: float
) -> float:
    """Of how many rows what is left of both sides tells, after `rank` controls were fitted to these
    very rows.

    A control that is the same for all rows of a group takes as much as of a group, not of a row,
    where what the two sides share is the same for a group, too: of 20 groups of 30 rows, 7 such
    controls leave 12 groups, not 592 rows.

    Args:
        one, other, codes: What is left of the sides, and the group of each row; shape (n_rows,).
        by_group: Of orthonormal controls the sum of squared sums over groups; `rank` where each row
            is a group.
    """
    share = means.intraclass(one, codes, other)
    # Without this the covariance of what is left would be too small: fitting the
    # controls to these very rows has taken away some of what judge and people truly
    # share.
    return max(1.0, codes.size - (1 - share) * rank - share * by_group)


def _left(
    rest: tuple[Array, Array],
    freedom: Array,
    scale: float,
    level: float,
    groups: Groups,
) -> Estimate | None:
    """The mean product of what is left of both sides, shape (n_items, n_columns) each, over the
    coefficient's scale; as an agreement is at most 1, no limit is told beyond it."""
    if not np.isfinite(scale):
        return None
    said, labels = (np.where(np.abs(side) > checks.SAME, side, 0.0) for side in rest)
    # The sum of products is divided by the rows that are left, and not by all, as the
    # variance of residuals is.
    said = said * (len(said) / freedom / scale)
    most = float(np.sum(np.abs(said).max(axis=0) * np.abs(labels).max(axis=0)))
    left = means.interval(
        (said * labels).sum(axis=1), level, groups=groups, bounds=(-most, most)
    )
    value, low, high = (
        float(np.clip(end, -1, 1)) for end in (left.value, left.low, left.high)
    )
    return left.replace(value=value, low=low, high=high)


def by_value(values: Index, side: Array, groups: Index) -> Array:
    """What the other groups with the same value of a column say of each item, shape (n_items,
    n_columns); the mean of all counts as one more of them."""
    # The item's own group is left out, or the column would seem to foretell what it was
    # told.
    _, cell = np.unique(values * (groups.max() + 1) + groups, return_inverse=True)

    def elsewhere(numbers: Array) -> Array:
        return np.asarray(
            np.bincount(values, numbers)[values] - np.bincount(cell, numbers)[cell]
        )

    size = elsewhere(np.ones(values.size)) + 1
    # A value that no other group has would else be foretold by nothing; with one more
    # item of the mean it is foretold by the mean.
    return np.column_stack([(elsewhere(own) + own.mean()) / size for own in side.T])


def slope(x: Array, y: Array, level: float, groups: Groups) -> Estimate | None:
    """The least-squares slope of `y` on `x`, with the interval of the mean of what each item
    contributes to it; None where `x` does not vary."""
    away = x - x.mean()
    spread = float(np.mean(away**2))
    if x.size < 4 or checks.is_constant(x):
        return None
    found = float(np.mean(away * y)) / spread
    pull = away * (y - y.mean() - found * away) / spread * x.size / (x.size - 2)
    return means.interval(found + pull, level, groups=groups)
