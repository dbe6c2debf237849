"""Compares a judge's agreement with people with that of a rival, and tells what is left of it at
equal rival.

One coefficient serves all kinds of verdicts, as each is a ratio of sums over items: "nominal",
Cohen's kappa; "quadratic", kappa weighted by squared distance; "rank", Pearson's correlation of
what are ranks already.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        return Voice(np.vstack([self.mean, other.mean]), np.vstack([self.square, other.square]))


def voice(mean: Array) -> Voice:
    """A side that says one thing of each item."""
    table = mean[:, None] if mean.ndim == 1 else mean
    return Voice(table, table**2)


class Agreement(jackknife.LeftOut):
    """How far two sides agree, ready for intervals and differences. As it hangs on sums over items
    alone, leaving a unit out takes its sums off. Raises `jackknife.Undefined` where nothing varies.
    """

    def __init__(
        self, one: Voice, other: Voice, coefficient: Coefficient, rng: Rng, groups: Groups
    ) -> None:
        """Sum what the coefficient needs of two sides of the same items."""

        def of_sums(sums: Array) -> Array:
            product, a, b, a2, b2 = np.split(sums[..., 1:] / sums[..., :1], 5, axis=-1)
            return np.asarray((product - a * b).sum(axis=-1) / _scale(a, b, a2, b2, coefficient))

        parts = one.mean * other.mean, one.mean, other.mean, one.square, other.square
        self._of_sums = of_sums
        columns = np.hstack([np.ones((len(one.mean), 1)), *parts])
        super().__init__(columns, lambda rows: float(of_sums(rows.sum(axis=0))), rng, groups)

    @cached_property
    def values(self) -> Array:
        """The coefficient without each of `left` in turn."""
        own = np.column_stack([np.bincount(self.left, column) for column in self.data.T])
        with np.errstate(all="ignore"):
            return self._of_sums(self.data.sum(axis=0) - own)


def _scale(a: Array, b: Array, a2: Array, b2: Array, coefficient: Coefficient) -> Array:
    """By what the sum of covariances is divided; NaN where nothing varies."""
    if coefficient == "nominal":
        scale = 1 - (a * b).sum(axis=-1)
    elif coefficient == "quadratic":
        scale = (a2 + b2 - 2 * a * b).sum(axis=-1) / 2
    else:
        scale = np.sqrt(np.maximum(0, (a2 - a**2) * (b2 - b**2))).sum(axis=-1)
    return np.where(scale > 1e-12, scale, np.nan)


def _scale_of(one: Voice, other: Voice, coefficient: Coefficient) -> float:
    a, b, a2, b2 = (part.mean(axis=0) for part in (one.mean, other.mean, one.square, other.square))
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
        design = np.column_stack([np.ones(len(own)), own])
        sides = np.column_stack([judge.mean[:, column], people.mean[:, column]])
        basis, size, _ = np.linalg.svd(design, full_matrices=False)
        basis = basis[:, size > 1e-9 * size[0]]
        pairs.append(sides - basis @ (basis.T @ sides))
        by_group = np.column_stack([np.bincount(codes, one) for one in basis.T])
        one, other = pairs[-1].T
        freedom[column] = _freedom(one, other, codes, basis.shape[1], float(np.sum(by_group**2)))
    rest = np.stack(pairs, axis=-1)
    return _left(
        (rest[:, 0], rest[:, 1]), freedom, _scale_of(judge, people, coefficient), level, groups
    )


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
        side - np.column_stack([np.bincount(values, own) / size for own in side.T])[values]
        for side in (judge.mean, people.mean)
    )
    value_of, together = np.unique(np.column_stack([values, codes]), axis=0, return_counts=True)
    by_group = float(np.sum(together**2 / size[value_of[:, 0]]))
    freedom = np.array(
        [
            _freedom(*sides, codes, size.size, by_group)
            for sides in zip(said.T, labels.T, strict=True)
        ]
    )
    return _left((said, labels), freedom, _scale_of(judge, people, coefficient), level, groups)


def _freedom(one: Array, other: Array, codes: Index, rank: int, by_group: float) -> float:
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
    return max(1.0, codes.size - (1 - share) * rank - share * by_group)


def _left(
    rest: tuple[Array, Array], freedom: Array, scale: float, level: float, groups: Groups
) -> Estimate | None:
    """The mean product of what is left of both sides, shape (n_items, n_columns) each, over the
    coefficient's scale; as an agreement is at most 1, no limit is told beyond it."""
    if not np.isfinite(scale):
        return None
    said, labels = (np.where(np.abs(side) > checks.SAME, side, 0.0) for side in rest)
    said = said * (len(said) / freedom / scale)
    most = float(np.sum(np.abs(said).max(axis=0) * np.abs(labels).max(axis=0)))
    left = means.interval((said * labels).sum(axis=1), level, groups=groups, bounds=(-most, most))
    value, low, high = (float(np.clip(end, -1, 1)) for end in (left.value, left.low, left.high))
    return left.replace(value=value, low=low, high=high)


def by_value(values: Index, side: Array, groups: Index) -> Array:
    """What the other groups with the same value of a column say of each item, shape (n_items,
    n_columns); the mean of all counts as one more of them."""
    _, cell = np.unique(values * (groups.max() + 1) + groups, return_inverse=True)

    def elsewhere(numbers: Array) -> Array:
        return np.asarray(np.bincount(values, numbers)[values] - np.bincount(cell, numbers)[cell])

    size = elsewhere(np.ones(values.size)) + 1
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
