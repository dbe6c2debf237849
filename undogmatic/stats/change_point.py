"""Finds since when a mean has changed: one change point over time, with a chosen rate of false
alarms.

The statistic is the largest between-parts sum of squares over all ways to cut time in two, which is
the likelihood ratio of a shift of the mean. Its distribution without a change comes from dealing
anew, whole, what may go together: periods, where there are enough of them (so that what happens on
a day may go together), else groups of items; what a group says in several periods is dealt among
these. So the rate of false alarms holds for few items, too.
It is the rate where nothing has changed: neither a slow trend nor a season is looked for, and
either may raise an alarm.

References:
    Hawkins (1977), Testing a sequence of observations for a shift in location.
    doi:10.1080/01621459.1977.10479935, for the statistic
    Worsley (1986), Confidence regions and tests for a change-point in a sequence of exponential
    family random variables. doi:10.1093/biomet/73.1.91, for the range of times
    Antoch and Huskova (2001), Permutation tests in change point analysis.
    doi:10.1016/S0167-7152(01)00009-8
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from undogmatic.stats import checks
from undogmatic.stats.checks import Array, Index, Rng
from undogmatic.stats.estimate import Estimate

ENOUGH_PERIODS = 12
"""With so many periods these are dealt, else the groups."""
PER_SIDE = 5
"""Items before a change and after it, at least."""
MOST_UNITS = 2000
"""More units of a period are first put together at random."""
DRAWS, RANGE_DRAWS = 999, 399
_EQUAL = 1 - 1e-9  # sums that differ by rounding alone are as large
Dealt = Literal["periods", "groups"]


class Change(NamedTuple):
    """The most likely change of a mean.

    Attributes:
        at: The first period after it. p: How often so large a change is found where there is none.
        first, last: The earliest and the latest such period that the data allow at the level.
        before, after: The means of both sides.
        difference: The change of each column with its interval, which holds for whatever time had
            been found; the values of an item are one column, unless they are categories.
            Its `n_groups` are the units that were dealt anew.
        dealt: What these units are.
    """

    at: int
    p: float
    first: int
    last: int
    before: Array
    after: Array
    difference: list[Estimate]
    dealt: Dealt


class _Units(NamedTuple):
    """What is dealt anew, in the order of time: the sum of the values of each, shape (n, columns),
    how many they are, its period, and the part within which it is dealt."""

    total: Array
    size: Array
    period: Index
    part: Index

    def dealt(self, orders: Index) -> "_Units":
        """The same in other orders, shape (draws, n); the places of the periods stay."""
        return self._replace(total=self.total[orders], size=self.size[orders])


def fewest_units(level: float) -> int:
    """Find with how many units a change in the middle can be shown at all: of so many ways to deal
    them, fewer than 1 - `level` separate them as well."""
    checks.share(level, "level")

    def shows(n: int) -> bool:
        # Twice: the two halves of the best order may also stand the other way round.
        return 2 / math.comb(n, n // 2) <= 1 - level

    return next(n for n in range(4, 1000) if shows(n))


def find(
    values: Array,
    periods: Index,
    groups: Index,
    rng: Rng,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Change | None:
    """Find the most likely change of the mean of values over time.

    Args:
        values: One row per item, shape (n,) or (n, columns), without NaN.
        periods: The period of each item, 0 to n_periods - 1 in the order of time, shape (n,).
        groups: The independent unit of each item, codes, shape (n,).
        level: 1 less the rate of false alarms; also of the range of times and of the difference.
    Returns:
        The change, shown where `p` is at most 1 - `level`; None where these data can show none:
        with one period, too few items on either side of each cut, or too few units.
    """
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    if np.isnan(rows).any():
        raise ValueError("`values` must be numbers")
    units, dealt = _units(rows, periods, groups, rng)
    n_units = len(units.size)
    cuts = _cuts(units)
    # With so few units even the largest change would be called chance, so that nothing
    # could ever be found.
    if not cuts.size or n_units < fewest_units(level):
        return None
    gains = _gains(units, cuts)
    best = int(gains.argmax())
    # The best of all cuts is compared with the best of all cuts of the dealt data.
    # Compared cut by cut, the one that was picked because it looks largest would seem
    # to be a change in far more than 5 % of the series without one.
    without_change = units.dealt(_orders(units, 0, rng, draws))
    largest = _gains(without_change, cuts).max(axis=-1)
    p = _p_value(largest, gains[best])
    allowed = [best]
    # Where no change is shown, there is nothing whose time could be asked for.
    if p <= 1 - level:
        allowed = [
            place
            for place in range(len(cuts))
            if place == best or _allowed(units, cuts, place, rng, level)
        ]
    here = cuts[best]
    n_before = units.size[:here].sum()
    n_after = units.size[here:].sum()
    before = units.total[:here].sum(axis=0) / n_before
    after = units.total[here:].sum(axis=0) / n_after
    # The same distribution gives the interval of the difference, which therefore allows
    # for the time having been searched for.
    limit = float(np.quantile(largest, level, method="higher"))
    # What `_gains` would be for a difference of this size at this cut.
    reach = math.sqrt(limit * (n_before + n_after) / (n_before * n_after))
    return Change(
        at=int(units.period[here]),
        p=p,
        first=int(units.period[cuts[allowed[0]]]),
        last=int(units.period[cuts[allowed[-1]]]),
        before=before,
        after=after,
        difference=[
            Estimate(one, one - reach, one + reach, level, n_units, len(rows))
            for one in (after - before).tolist()
        ],
        dealt=dealt,
    )


def _p_value(dealt: Array, seen: float) -> float:
    """Say how often what was dealt anew is as large as what was seen, shape (draws,).

    The data themselves are one of the orders that could have been dealt, so that it is never 0.
    """
    as_large = int((dealt >= seen * _EQUAL).sum())
    return (1 + as_large) / (dealt.size + 1)


def _units(
    rows: Array, periods: Index, groups: Index, rng: Rng
) -> tuple[_Units, Dealt]:
    """What is dealt anew, in the order of time, and whether that is periods or groups."""
    # Items of one day may go together for reasons that nobody knows, such as a server
    # that was slow. Dealing whole days keeps that, but takes enough days to deal.
    if len(np.unique(periods)) >= ENOUGH_PERIODS:
        return _summed(rows, periods, periods, np.zeros_like(periods)), "periods"
    _, codes = np.unique(groups, return_inverse=True)
    _, places = np.unique(periods, return_inverse=True)
    n_periods = int(places.max()) + 1
    lies = np.zeros((int(codes.max()) + 1, n_periods), dtype=np.intp)
    lies[codes, places] = 1
    # In which periods a group lies, as a number: fewer than ENOUGH_PERIODS bits.
    pattern = lies @ 2 ** np.arange(n_periods)
    # Where there are too many, groups are put together with groups of the same periods
    # alone, so that nothing is dealt into a period that it could not have been in.
    if lies.sum() > MOST_UNITS:
        _, one_of_each_pattern = np.unique(pattern, return_index=True)
        n_cells = int(lies[one_of_each_pattern].sum())
        each = max(1, MOST_UNITS // n_cells)
        at_random = rng.permutation(len(lies)) % each
        put_together = pattern * each + at_random
        codes = put_together[codes]
        pattern = np.arange(int(codes.max()) + 1) // each
    # A number with a single bit is a power of two, of which one less has none in common with it.
    alone = (pattern & (pattern - 1)) == 0
    # Groups of one period are dealt among each other; of others, what they say of each period.
    own_part = 1 + np.arange(len(pattern))
    parts = np.where(alone, 0, own_part)[codes]
    units = codes * n_periods + places
    return _summed(rows, units, periods, parts), "groups"


def _summed(rows: Array, codes: Index, periods: Index, parts: Index) -> _Units:
    """The values of each unit, in the order of their periods."""
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    total = np.zeros((len(first), rows.shape[1]))
    np.add.at(total, places, rows)
    size = np.bincount(places).astype(np.float64)
    period = periods[first]
    part = parts[first]
    order = np.argsort(period, kind="stable")
    return _Units(total[order], size[order], period[order], part[order])


def _cuts(units: _Units) -> Index:
    """The places of the first unit of each period that leave enough items on both sides."""
    starts = np.flatnonzero(np.diff(units.period)) + 1
    before = np.cumsum(units.size)[starts - 1]
    after = units.size.sum() - before
    enough = (before >= PER_SIDE) & (after >= PER_SIDE)
    return np.asarray(starts[enough], dtype=np.intp)


def _gains(units: _Units, cuts: Index) -> Array:
    """The between-parts sum of squares of each cut, shape (n_cuts,) behind that of the draws."""
    # Running sums, so that one pass gives what lies before each cut.
    n = np.cumsum(units.size, axis=-1)
    total = np.cumsum(units.total, axis=-2)
    whole = n[..., -1:]
    before = n[..., cuts - 1]
    after = whole - before
    earlier = total[..., cuts - 1, :]
    later = total[..., -1:, :] - earlier
    mean_before = earlier / before[..., None]
    mean_after = later / after[..., None]
    square = ((mean_after - mean_before) ** 2).sum(axis=-1)
    return np.asarray(square * before * after / whole)


def _orders(units: _Units, cut: int, rng: Rng, draws: int) -> Index:
    """Orders in which the units of each part are dealt anew on either side of a cut, shape (draws,
    n)."""
    n = len(units.size)
    sides = np.arange(n) >= cut
    parts = 2 * units.part + sides
    # Parts are whole numbers, so that what is less than 1 shuffles within each part alone.
    shuffled = np.argsort(parts + rng.random((draws, n)), axis=1)
    orders = np.empty((draws, n), dtype=np.intp)
    orders[:, np.argsort(parts, kind="stable")] = shuffled
    return orders


def _allowed(units: _Units, cuts: Index, place: int, rng: Rng, level: float) -> bool:
    """Whether the data allow that the change is at this cut: where it is, units may be dealt anew
    on either side of it, and another cut seldom looks so much better."""
    gains = _gains(units, cuts)
    seen = gains.max() - gains[place]
    changed_here = units.dealt(_orders(units, cuts[place], rng, RANGE_DRAWS))
    there = _gains(changed_here, cuts)
    better_elsewhere = there.max(axis=1) - there[:, place]
    return _p_value(better_elsewhere, seen) > 1 - level
