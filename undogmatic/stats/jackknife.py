"""Leaves units out and draws them again: intervals of coefficients from -1 to 1, and of what is
nearly a mean.

Draws are made and evaluated batch by batch in linear memory: no more than AT_ONCE drawn rows, few
enough for a core's cache, are held at once (more only where a single draw has more), whatever the
number of resamples; time grows with resamples times rows. A batch takes from `rng` exactly what
single draws would.
"""

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate

OfDraws = Callable[[Index], Array]
"""Positions of drawn rows, shape (n_draws, n_rows), to the statistic of each draw, shape
(n_draws,)."""

FEWEST = 5
"""With fewer units the limits of a coefficient are -1 and 1."""
SURE = 0.95
"""The level at which the members of a group go together no more than is thought, where most rows
are alike."""
# Fisher's z of 1 is infinite.
_NEARLY_ONE = 1 - 1e-6
AT_ONCE = 2**15

MOST_LEFT_OUT = 2000
LEFT_OUT_GROUPS = 500
"""The jackknife leaves out one unit at a time up to MOST_LEFT_OUT units, beyond that one of so many
random groups of units at a time: its time would else grow with the square of the units."""


class Prepared(NamedTuple):
    """A statistic that is made ready for all rows once (`on`), and then takes many draws of them at
    a time; used as a decorator of what makes it ready.

    It must give what its definition gives on the drawn rows, to the last digit. Sorting once
    instead of once per draw makes the difference between seconds and minutes.
    """

    on: Callable[[Array], OfDraws]

    def of(self, rows: ArrayLike) -> float:
        """Compute the statistic of all rows."""
        data = np.asarray(rows, dtype=np.float64)
        return float(self.on(data)(np.arange(len(data))[None, :])[0])


class Units:
    """What is drawn: groups of rows, whole and in the order of the rows, or each row by itself.

    Args:
        codes: Group per row, 0 to n - 1, shape (n_rows,).
    Attributes:
        rows: Positions of the rows, unit by unit, shape (n_rows,).
    """

    def __init__(self, codes: Index) -> None:
        self._sizes = np.bincount(codes)
        self.rows = np.argsort(codes, kind="stable")
        self._first = np.cumsum(self._sizes) - self._sizes
        self.n = int(self._sizes.size)
        self._alike = self.n > 0 and self._sizes.min() == self._sizes.max()

    def draws(self, rng: Rng, n_draws: int) -> Iterator[Index]:
        """Draw as many units as there are, with replacement, `n_draws` times: batches of their rows
        (n_draws, n_rows).

        Draws of unequal groups differ in their number of rows, and come one by one.
        """
        at_once = max(1, AT_ONCE // self.rows.size) if self._alike else 1
        for start in range(0, n_draws, at_once):
            size = min(at_once, n_draws - start)
            yield self._rows_of(
                rng.integers(self.n, size=(size, self.n), dtype=np.intp)
            )

    def left_out(self) -> Iterator[tuple[Index, Index]]:
        """Leave each unit out: batches of units, and of the rows of all others, (n_some,) and
        (n_some, n_kept_rows), each of units of one size, so that those of unequal size are not
        evaluated one by one."""
        at_once = max(1, AT_ONCE // self.rows.size)
        for size in np.unique(self._sizes):
            of_size = np.flatnonzero(self._sizes == size)
            kept = np.arange(self.rows.size - size)[None, :]
            for start in range(0, of_size.size, at_once):
                some = of_size[start : start + at_once]
                # Places from the unit's first row on move up by its size.
                places = kept + size * (kept >= self._first[some, None])
                yield some, self.rows.take(places)

    def _rows_of(self, units: Index) -> Index:
        """Find the rows of drawn units, shape (n_draws, n), unit by unit: (n_draws, n_rows)."""
        if self._alike:
            return (
                self.rows.reshape(self.n, -1)
                .take(units, axis=0)
                .reshape(len(units), -1)
            )
        # Units of unequal size come as a single draw. Its rows are numbered one by one, and moved
        # to where the rows of each unit begin.
        (drawn,) = units
        sizes = self._sizes.take(drawn)
        before = np.cumsum(sizes) - sizes
        places = np.repeat(self._first.take(drawn) - before, sizes)
        places += np.arange(places.size)
        return self.rows.take(places)[None, :]


def distribution(of_draws: OfDraws, draws: Iterator[Index]) -> Array:
    """Compute the statistic of every draw, shape (n_draws,)."""
    with np.errstate(all="ignore"):
        return np.concatenate([of_draws(drawn) for drawn in draws])


class Tally:
    """The codes of drawn rows, to be counted draw by draw.

    Args:
        codes, n_codes: Code of every row, 0 to n_codes - 1, shape (n_rows,).
        drawn: Positions of drawn rows, shape (n_draws, n_drawn).
    """

    def __init__(self, codes: Index, n_codes: int, drawn: Index) -> None:
        self._shape = len(drawn), n_codes
        self._cells = codes.take(drawn)
        if len(drawn) > 1:
            self._cells += n_codes * np.arange(len(drawn))[:, None]

    def counts(self) -> Index:
        """Count drawn rows per draw and code, shape (n_draws, n_codes)."""
        counts = np.bincount(self._cells.ravel(), minlength=math.prod(self._shape))
        return counts.reshape(self._shape)

    def sums(self, weights: Array) -> Array:
        """Sum `weights` (of the drawn rows, shape (n_draws, n_drawn)), added in the order drawn; as
        `counts`."""
        sums = np.bincount(self._cells.ravel(), weights.ravel(), math.prod(self._shape))
        return sums.astype(np.float64).reshape(self._shape)

    def of_rows(self, numbers: Array) -> Array:
        """Look up what `numbers` (shape (n_draws, n_codes)) says of each drawn row's code, shape
        (n_draws, n_drawn)."""
        return np.asarray(numbers.take(self._cells))


class Undefined(ValueError):
    """The statistic of all rows does not exist."""


class LeftOut:
    """A statistic of all rows, and without each unit in turn: made once for whatever is said of it.

    Args:
        rows: Shape (n, k), one row per item; NaN only where the statistic allows it.
        statistic: Maps any number of such rows to a number; NaN where it is undefined.
        rng: Deals units to groups where more than MOST_LEFT_OUT (LEFT_OUT_GROUPS if not `Prepared`)
            are left out.
    Attributes:
        estimate: Of all rows.
        codes: Unit of each row, shape (n,), of `n_units`.
        left: What is left out at a time: the unit of each row, or one of LEFT_OUT_GROUPS random
            groups of units.
    Raises:
        Undefined: If the statistic of all rows is not finite.
    """

    def __init__(
        self,
        rows: ArrayLike,
        statistic: Callable[[Array], float] | Prepared,
        rng: Rng,
        groups: Groups = None,
    ) -> None:
        self.data = np.asarray(rows, dtype=np.float64)
        self.codes = checks.groups(groups, len(self.data))
        self.left = self.codes
        units = Units(self.codes)
        self.n_units = units.n
        self._of_draws: OfDraws
        if isinstance(statistic, Prepared):
            most = MOST_LEFT_OUT
            self._of_draws = statistic.on(self.data)
        else:
            most = LEFT_OUT_GROUPS
            self._of_draws = lambda drawn: np.array(
                [float(statistic(self.data[rows])) for rows in drawn]
            )
        (self.estimate,) = self._of_draws(units.rows[None, :]).tolist()
        if not np.isfinite(self.estimate):
            raise Undefined("`statistic` of `rows` is not finite.")
        if units.n > most:
            self.left = (rng.permutation(units.n) % LEFT_OUT_GROUPS)[self.codes]

    @cached_property
    def values(self) -> Array:
        """The statistic without each of `left` in turn."""
        units = Units(self.left)
        values = np.empty(units.n)
        with np.errstate(all="ignore"):
            for some, rows in units.left_out():
                values[some] = self._of_draws(rows)
        return values

    def coefficient(
        self,
        level: float = 0.95,
        *,
        spread: float = 1.0,
        missing: float = 3.0,
        adds: Array | None = None,
    ) -> Estimate:
        """Estimate a coefficient from -1 to 1 by the delete-one-group jackknife on Fisher's z, with
        the quantile of t for the number of groups.

        Where at least half of the rows of a column share one value, the few others say too little
        of the spread; the interval is then at least that of the coefficient's known variance on z,
        `spread` / (units - `missing`), with as many units as the rows of the groups are surely
        worth (`means.worth`). If leaving out any unit changes nothing (perfect agreement), the
        limit is the largest share of units that could be at odds and yet be missed with probability
        (1 - level) / 2, as in Clopper and Pearson's interval. An order without a fault among labels
        in steps is less than 1 and changes as little; its limits are those of the known variance,
        and no closer than these. Where agreement is perfect without
        one of the units, Fisher's z has no end there: the limits are those of `nearly_mean`, and no
        closer than those of perfect agreement. A coefficient that does not exist without one of the
        units hangs on it: its limits are -1 and 1.

        Args:
            adds: What each row adds to the coefficient, nearly, which tells how far the rows of a
                group go together; None: as if they said the same.
        References:
            Fisher (1921), On the probable error of a coefficient of correlation. Metron 1, 3-32.
            Arvesen (1969), Jackknifing U-statistics. doi:10.1214/aoms/1177697287
            Bonett and Wright (2000), Sample size requirements for estimating Pearson, Kendall and
            Spearman correlations. doi:10.1007/BF02294183, for the known variances.
        """
        checks.share(level, "level")
        unlimited = Estimate(self.estimate, -1.0, 1.0, level, self.n_units)
        # What exists by the grace of one unit could be anything without it.
        if self.n_units < FEWEST or not np.isfinite(self.values).all():
            return unlimited
        # With this share of units in order, a sample of so many units that are all in
        # order is seen with the probability of one tail.
        perfect = float(((1 - level) / 2) ** (1 / self.n_units))
        if np.ptp(self.values) <= checks.SAME:
            certain = abs(self.estimate) >= 1 - checks.SAME
            low = perfect if certain and self.estimate > 0 else -1.0
            high = -perfect if certain and self.estimate < 0 else 1.0
            if not certain:
                low, high = self._of_known_variance(level, spread, missing)
                low = min(low, perfect)
                high = max(high, -perfect)
            return unlimited.replace(low=low, high=high)
        # One unit alone keeps the agreement from being perfect; on Fisher's scale it
        # would be an infinite way off, and the interval would hold everything.
        if np.abs(self.values).max() >= _NEARLY_ONE:
            near = self.nearly_mean(level, (-1.0, 1.0))
            if self.estimate < 0:
                return unlimited.replace(low=near.low, high=max(near.high, -perfect))
            return unlimited.replace(low=min(near.low, perfect), high=near.high)
        reach = self._reach(level, adds)
        # Of thirty scores of which 28 are 1, two units alone move anything as they are
        # left out, and the coefficient seems certain.
        if any(map(_mostly_one, self.data.T)):
            if adds is None:
                size = np.bincount(self.codes).astype(np.float64)
                worth = float(size.sum() ** 2 / (size @ size))
            else:
                worth = means.worth(adds, self.codes, level=SURE)
            room = max(worth - missing, 1.0)
            reach = max(reach, means.normal_quantile(level) * (spread / room) ** 0.5)
        centre = float(np.arctanh(np.clip(self.estimate, -_NEARLY_ONE, _NEARLY_ONE)))
        low, high = (float(np.tanh(centre + side * reach)) for side in (-1, 1))
        return unlimited.replace(
            low=min(low, self.estimate), high=max(high, self.estimate)
        )

    def _of_known_variance(
        self, level: float, spread: float, missing: float
    ) -> means.Bounds:
        """The limits by the coefficient's known variance on Fisher's z alone."""
        centre = float(np.arctanh(np.clip(self.estimate, -_NEARLY_ONE, _NEARLY_ONE)))
        room = max(self.n_units - missing, 1.0)
        reach = means.normal_quantile(level) * (spread / room) ** 0.5
        return float(np.tanh(centre - reach)), float(np.tanh(centre + reach))

    def _reach(self, level: float, adds: Array | None) -> float:
        """Compute how far the limits lie from the coefficient on Fisher's z, from the values
        without each unit."""
        size = np.bincount(self.codes).astype(np.float64)
        share = size / size.sum()
        varies = None
        if adds is not None:
            varies = means.varies(adds, np.ones(adds.size), self.codes)
        degrees = means.degrees_of_freedom(share, varies)
        z = np.arctanh(np.clip(self.values, -_NEARLY_ONE, _NEARLY_ONE))
        # Weighted so that larger units count no more than in the variance of a mean (CR2).
        # Leaving out a group of half the rows moves the coefficient by as much as there
        # is to move; its square must not count as that of a small one.
        rest = 1 - np.bincount(self.left) / self.left.size
        variance = float(rest @ (z - rest @ z / rest.sum()) ** 2)
        return means.t_quantile(degrees, level) * variance**0.5

    def nearly_mean(
        self,
        level: float = 0.95,
        bounds: means.Bounds = (-np.inf, np.inf),
        *,
        less: Self | None = None,
    ) -> Estimate:
        """Estimate a statistic that is nearly a mean of independent contributions, or its
        difference to `less`: with the interval of the mean of its pseudo-values.

        A unit's pseudo-value is what its own mean would have to be for the statistic, were it a
        mean, to change as it does when the unit is left out; of a mean this is `means.interval`
        itself, whose rule for units that mostly agree holds here too, with the bounds for those of
        a unit. Where the statistic does not exist without one of the units, the limits are the
        bounds. A bootstrap held the difference of two jobs' review gains in as few as 88 % of
        samples of its 95 %.

        Args:
            less: Made with the same groups and random numbers.
        References:
            Tukey (1958), Bias and confidence in not-quite large samples. Arvesen (1969),
            doi:10.1214/aoms/1177697287
        """
        checks.share(level, "level")
        if self.n_units < 2:
            raise ValueError(
                f"`groups` gives {self.n_units} units; at least 2 are needed."
            )
        estimate = self.estimate
        values = self.values
        if less is not None:
            estimate = estimate - less.estimate
            values = values - less.values
        interval = of_left_out(estimate, values, self.left, level, bounds)
        return interval.replace(n_groups=self.n_units)


def _mostly_one(column: Array) -> bool:
    """Say whether at least half of the values that are there are one."""
    values = column[~np.isnan(column)]
    if not values.size:
        return False
    return bool(2 * np.unique(values, return_counts=True)[1].max() >= values.size)


def difference(
    one: LeftOut,
    other: LeftOut,
    level: float = 0.95,
    spreads: tuple[float, float] = (1.0, 1.0),
) -> Estimate:
    """Estimate one coefficient minus another of the same units, with an interval within [-2, 2].

    Each limit lies as far from the difference as the limits of the two coefficients that it
    concerns lie from theirs, added as standard errors are; how far the two move together is seen on
    Fisher's z by leaving out units. A bootstrap held the difference of two correlations of thirty
    floored scores in as few as 87 % of samples of its 95 %.

    Args:
        one, other: Estimates from -1 to 1, made with the same groups and random numbers.
        spreads: `LeftOut.coefficient`'s `spread` of each.
    References:
        Zou (2007), Toward using confidence intervals to compare correlations.
        doi:10.1037/1082-989X.12.4.399
    """
    first = one.coefficient(level, spread=spreads[0])
    second = other.coefficient(level, spread=spreads[1])
    low, high = apart(first, second, together(one, other), 2.0)
    return Estimate(one.estimate - other.estimate, low, high, level, one.n_units)


def together(one: LeftOut, other: LeftOut) -> float:
    """Measure how far two statistics from -1 to 1 of the same units move together on Fisher's z as
    units are left out; 0 where one does not move."""
    z = [
        np.arctanh(np.clip(side.values, -_NEARLY_ONE, _NEARLY_ONE))
        for side in (one, other)
    ]
    # Taken for independent where that cannot be seen, which makes the interval of the
    # difference of two alike judges too wide, and never too narrow by much.
    if all(np.isfinite(values).all() and np.ptp(values) > checks.SAME for values in z):
        return float(np.corrcoef(z[0], z[1])[0, 1])
    return 0.0


def apart(one: Estimate, other: Estimate, together: float, most: float) -> means.Bounds:
    """Limit the difference of two numbers by the limits of both, as `difference` says; at most
    `most` from 0."""

    def reach(a: float, b: float) -> float:
        return max(0.0, a * a + b * b - 2 * together * a * b) ** 0.5

    estimate = one.value - other.value
    low = estimate - reach(one.value - one.low, other.high - other.value)
    high = estimate + reach(one.high - one.value, other.value - other.low)
    # Two coefficients from -1 to 1 lie at most 2 apart.
    return max(low, -most), min(high, most)


def of_left_out(
    estimate: float, left_out: Array, left: Index, level: float, bounds: means.Bounds
) -> Estimate:
    """Estimate as `LeftOut.nearly_mean` from the values without each unit.

    Args:
        estimate, left_out, left: Of all rows, without each unit, shape (n_units,), and the unit of
            each row, shape (n,).
        bounds: Lowest and highest value that the estimate can have; its limits where a unit's value
            is not finite.
    """
    if not np.isfinite(left_out).all():
        return Estimate(
            estimate,
            *bounds,
            level,
            left_out.size,
            left.size,
            method="unlimited",
            se=0.0,
            df=0.0,
        )
    values = pseudo_values(estimate, left_out, left)
    # A pseudo-value may lie beyond what the statistic can be: it is no value of the statistic.
    widened = min(bounds[0], float(values.min())), max(bounds[1], float(values.max()))
    mean = means.interval(values, level, groups=left, bounds=widened)
    low = float(np.clip(mean.low, *bounds))
    high = float(np.clip(mean.high, *bounds))
    return mean.replace(
        value=estimate, low=min(low, estimate), high=max(high, estimate)
    )


def pseudo_values(estimate: float, left_out: Array, left: Index) -> Array:
    """Compute per row, shape (n,), what the mean of its unit would have to be; arguments as of
    `of_left_out`."""
    share = np.bincount(left) / left.size
    deviations = (estimate - left_out) * (1 - share) / share
    return np.asarray((estimate + deviations - share @ deviations)[left])
