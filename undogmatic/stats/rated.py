"""Holds verdicts against the labels of several raters who are kept apart: coefficients and means
with their intervals.

Every pair of a verdict and a label counts with a weight (one over the raters of its item), and
whole groups of items are the independent units; with one rater the numbers are those of the plain
coefficient.

A coefficient is 1 - disagreement / disagreement by chance. That it is `a` says that the mean over
pairs of (1 - a) times what a pair adds to the disagreement by chance, less its disagreement, is
zero: its interval is what `means` does not rule out (Fieller's theorem with another interval in
place of Student's). What a pair adds to a number that is no mean is the first term of its expansion
(the influence function), which is exact for a mean.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from undogmatic.stats import checks, jackknife, means
from undogmatic.stats.checks import Array, Index, Rng
from undogmatic.stats.estimate import Estimate

FEWEST = 5
"""With fewer units the limits of a coefficient are -1 and 1."""
MOST_CELLS = 12
"""With more categories, what a pair could add is looked for in the cells seen and in the two
farthest apart."""
FEWEST_BANDS, MOST_BANDS = 3, 5
"""Bands of many different verdicts: the more where each has enough units."""
FEWEST_IN_BAND = 10
MOST_VALUES = 7
"""Of no more different verdicts, such as the grades of a short scale, each is a band where it has
enough units."""
MOST_KNOTS = 10
"""Knots of a curve that converts grades: one a grade, or of more grades one for each tenth."""
# Ten parts leave nine tenths of the labels to fit by, and cost ten fits.
FOLDS = 10
MANY_WITHOUT = 500
"""With more units leaving one out says nothing of how far a coefficient is off on average: far less
than its error."""
SURE = 0.95
"""The level at which the members of a group go together no more than is thought, where most pairs
are alike."""
MANY = 5_000
"""With more units the limits of a coefficient need no search."""
Parts = Callable[[Array], tuple[Array, Array]]
"""Shares of the cells of a table (verdict by label), shape (..., k, k), to disagreement and that by
chance, (...)."""
OfNumbers = Callable[[Array, Array], Array]
"""What pairs of two numbers add to a disagreement, in the shape of both."""
OfSpreads = Callable[[Array, Array, Array], Array]
"""A coefficient, shape (n,), from the variances of two numbers, shape (2, n), their covariance and
the difference of their means, shape (n,) each."""
_STEP = 1e-4
_AT_ONCE = 10**6
"""Numbers of tables that are held at a time."""


# People stay apart because the mean of three of them is easier to meet than one of
# them: agreement with the mean would not be comparable with that of people with one
# another.
@dataclass(frozen=True)
class Rated:
    """Verdicts beside labels; every argument of shape (n,).

    Args:
        verdicts, labels: On one scale, or places of categories from 0.
        weights, codes: Of each pair, above 0; its unit, an integer from 0 on.
    """

    verdicts: Array
    labels: Array
    weights: Array
    codes: Index
    level: float = 0.95

    def sums(self, values: Array, size: Array | None = None) -> means.Sums:
        """Sum values by unit, weighted, and the weights: what a weighted mean is made of.

        Of a ratio of means `size` is what a pair adds to the mean below, in place of 1. Units
        without weight are left out.
        """
        size = np.ones(self.codes.size) if size is None else size
        # A ratio of means has a sum below that differs from pair to pair, so that its
        # groups weigh by that sum, and not by how many they are.
        weights = self.weights * size
        sizes = np.bincount(self.codes, weights).astype(float)
        counted = np.flatnonzero(weights > 0)
        varies = None
        if counted.size:
            _, codes = np.unique(self.codes[counted], return_inverse=True)
            single_values = values[counted] / size[counted]
            varies = means.varies(single_values, weights[counted], codes)
        # A group none of whose pairs lie in the slice says nothing of it, and would add
        # a degree of freedom that is not there.
        there = sizes > 0
        totals = self._totals(values)
        return means.Sums(totals[there], sizes[there], varies)

    def _totals(self, values: Array) -> Array:
        """Sum values by code, weighted; 0 for a code that no pair has."""
        return np.bincount(self.codes, self.weights * values).astype(np.float64)

    def mean(
        self,
        values: Array,
        bounds: means.Bounds,
        *,
        size: Array | None = None,
        level: float | None = None,
    ) -> Estimate | None:
        """Average values by weight (of a ratio of means: each value already times its `size`), with
        `means.interval`.

        None where nothing has a weight; of a single unit the limits are the bounds.
        """
        sums = self.sums(values, size)
        n_units = sums.size.size
        level = level or self.level
        if not n_units:
            return None
        n = self.codes.size
        if size is not None:
            n = int(np.count_nonzero(size))
        if n_units == 1:
            # One unit does not show how far units differ, so that only the bounds are certain.
            [value] = sums.means.tolist()
            return Estimate(value, *bounds, level, 1, n)
        return means.of_sums(sums, level, bounds).replace(n=n)

    def table(self, n_categories: int) -> Array:
        """Sum weights in the cells, verdict by label, shape (n_categories, n_categories)."""
        cells = self._cells(n_categories)
        counts = np.bincount(cells, self.weights, n_categories**2)
        return np.asarray(counts, np.float64).reshape(n_categories, -1)

    def _cells(self, n_categories: int) -> Index:
        """Number the cell of each pair in the flattened table, shape (n,)."""
        return np.asarray(self.verdicts * n_categories + self.labels, dtype=np.intp)

    def value(self, n_categories: int, parts: Parts) -> float | None:
        """Compute `coefficient` without its interval."""
        if not self.weights.size:
            return None
        share = self.table(n_categories) / self.weights.sum()
        disagreement, by_chance = parts(share)
        # Where all are of one category, chance explains all agreement: 0 / 0.
        if not by_chance > checks.SAME:
            return None
        return float(1 - disagreement / by_chance)

    def coefficient(self, n_categories: int, parts: Parts) -> Estimate | None:
        """Compute 1 - disagreement / disagreement by chance of categories, with its interval; None
        where chance alone would agree always."""
        value = self.value(n_categories, parts)
        if value is None:
            return None
        share = self.table(n_categories) / self.weights.sum()
        cells = self._cells(n_categories)
        # The farthest that a pair could lie out is at one of the cells, seen or not: limits from
        # few units need to know it.
        # The table of all cells grows with the square of the categories; beyond these
        # the two farthest corners hold the largest disagreement there can be.
        if n_categories <= MOST_CELLS:
            possible = np.arange(share.size)
        else:
            corners = [n_categories - 1, share.size - n_categories]
            possible = np.unique(np.r_[cells, corners])
        apart, chance = _contributions(parts, share, possible)
        place = np.searchsorted(possible, cells)
        interval = self.ratio(
            apart[place],
            chance[place],
            most=(float(apart.max()), float(chance.max())),
            scarce=(self.verdicts, self.labels),
            without=self._without(n_categories, parts),
        )
        return interval.replace(value=value)

    def _without(self, n_categories: int, parts: Parts) -> Array | None:
        """Compute the coefficient without each unit, shape (n_units,); None of so many that one no
        longer matters."""
        units, codes = np.unique(self.codes, return_inverse=True)
        n_units = units.size
        n_cells = n_categories**2
        # One table for each unit is held at once.
        if n_units > MANY_WITHOUT or n_units * n_cells > _AT_ONCE:
            return None
        cells = codes * n_cells + self._cells(n_categories)
        sums = np.bincount(cells, self.weights, n_units * n_cells)
        shape = n_units, n_categories, n_categories
        tables = sums.astype(np.float64).reshape(shape)
        rest = tables.sum(axis=0) - tables
        # Where all but one unit agree always, the coefficient without that one is 0 / 0.
        with np.errstate(all="ignore"):
            shares = rest / rest.sum(axis=(1, 2), keepdims=True)
            apart, chance = parts(shares)
            return np.asarray(1 - apart / chance)

    def ratio(
        self,
        apart: Array,
        chance: Array,
        most: tuple[float, float],
        scarce: tuple[Array, ...],
        without: Array | None = None,
    ) -> Estimate:
        """Estimate 1 - (mean of `apart`) / (mean of `chance`), with its interval.

        Both means hang on the middle and spread of all pairs, which groups make the less certain
        the fewer they are: of 20 groups a concordance comes out too low by a tenth of its interval.
        The interval is moved by as much as leaving units out shows (Quenouille's correction).

        Args:
            apart, chance: What each pair adds to the disagreement and to that by chance, shape
                (n,).
            most: The largest that either could be for a pair.
            scarce: Where units are mostly the same in one of these or in `apart`, the limits are
                those of the pairs with one more that lies at the end of what is possible
                (`means.bounded_limits`). They count as as many as their groups are surely worth
                (`means.worth`).
            without: The coefficient without each unit, in the order of their codes; None: the
                interval is not moved.
        References:
            Quenouille (1956), Notes on bias in estimation. doi:10.1093/biomet/43.3-4.353
        """
        size = np.bincount(self.codes, self.weights).astype(np.float64)
        weighty = size > 0
        size = size[weighty]

        def by_unit(values: Array) -> means.Sums:
            return means.Sums(self._totals(values)[weighty], size)

        apart_sums = by_unit(apart)
        chance_sums = by_unit(chance)
        whole_apart = apart_sums.total.sum()
        whole_chance = chance_sums.total.sum()
        value = 1 - float(whole_apart / whole_chance)
        n_units = size.size
        unlimited = Estimate(value, -1.0, 1.0, self.level, n_units, self.codes.size)
        if n_units < FEWEST:
            return unlimited
        # The mean of these is 0 at the estimate. Its interval is known, and the
        # coefficient is limited by asking at which other value the mean would no longer
        # hold 0.
        zero_mean = (1 - value) * chance - apart
        if _mostly_same(apart_sums) or any(
            _mostly_same(by_unit(values)) for values in scarce
        ):
            # Where nearly all pairs agree, leaving one of them out changes nothing, and
            # says nothing of how far off the coefficient is.
            lower, upper = self._limits_of_scarce(apart, chance, most, zero_mean)
            without = None
        else:
            varies = self.sums(zero_mean).varies
            between = _Between.of(chance_sums, apart_sums, varies)
            if n_units > MANY:
                # The limits are then as far from the estimate as the slope says.
                slope = float(whole_chance / size.sum())
                ends = between.limits(1 - value, self.level)
                low, high = (value + end / slope for end in ends)
                low = min(max(low, -1.0), value)
                high = max(min(high, 1.0), value)
                return unlimited.replace(low=low, high=high)

            def lower(a: float) -> float:
                low, _ = between.limits(1 - a, self.level)
                return low

            def upper(a: float) -> float:
                _, high = between.limits(1 - a, self.level)
                return high

        # The set of values that are not ruled out is found from the estimate outwards,
        # so that a second, far piece of it does not count.
        low = checks.farthest(lower, value, -1.0)
        high = checks.farthest(lambda a: -upper(a), value, 1.0)
        if without is not None and np.isfinite(without).all():
            share = size / size.sum()
            moved = (1 - share) * (without - value)
            too_high = float(np.sum(moved))
            low = _moved(low, too_high)
            high = _moved(high, too_high)
        return unlimited.replace(low=min(low, value), high=max(high, value))

    def _limits_of_scarce(
        self, apart: Array, chance: Array, most: tuple[float, float], zero_mean: Array
    ) -> tuple[Callable[[float], float], Callable[[float], float]]:
        """Build the lower and the upper limit of the mean that is 0 where the coefficient is `a`,
        as functions of `a`, from what is possible for a pair.

        Args:
            apart, chance, most: As of `ratio`.
            zero_mean: The values of that mean at the estimated coefficient, shape (n,).
        """
        _, codes = np.unique(self.codes, return_inverse=True)
        # How far members go together is hardly seen where most pairs are alike, so that its upper
        # limit is taken: groups are then worth too few pairs rather than too many.
        worth = means.worth(zero_mean, codes, self.weights, level=SURE)
        least_chance = float(chance.min())
        most_apart, most_chance = most

        def limits(values: Array, bounds: means.Bounds) -> means.Bounds:
            pairs = means.Sums(self.weights * values, self.weights)
            return means.bounded_limits(pairs, bounds, self.level, worth)

        # The end that is not asked for has no bound, so that no time is spent on it.
        def lower(a: float) -> float:
            values = (1 - a) * chance - apart
            least_possible = (1 - a) * least_chance - most_apart
            bottom = min(least_possible, float(values.min()))
            low, _ = limits(values, (bottom, np.inf))
            return low

        def upper(a: float) -> float:
            values = (1 - a) * chance - apart
            most_possible = (1 - a) * most_chance
            top = max(most_possible, float(values.max()))
            _, high = limits(values, (-np.inf, top))
            return high

        return lower, upper


def _moved(end: float, too_high: float) -> float:
    """Move an end of an interval by how much the coefficient is too high on average."""
    # An end at -1 or 1 is where nothing was ruled out: moving it would rule something out.
    if abs(end) == 1:
        return end
    return float(np.clip(end - too_high, -1, 1))


def _mostly_same(units: means.Sums) -> bool:
    """Say whether units are mostly the same, so that their spread says too little."""
    tolerance = means.same_within(units.means, None)
    return means.mostly_same(units.means, tolerance, means.ENOUGH)


class _Between(NamedTuple):
    """What the limits of some times one mean, less another, are made of: they are asked for at many
    such times, and each then costs a little arithmetic, however many units there are. They are
    those of `means.of_sums`.

    Attributes:
        middles: Both means.
        squares: Sums over units of the products of their deviations: of one with itself, with the
            other, and of the other with itself; corrected for how much a unit weighs (CR2).
            `plain`: not corrected.
        cubes: As `squares`, of three deviations.
    """

    middles: tuple[float, float]
    squares: tuple[float, float, float]
    plain: tuple[float, float, float]
    cubes: tuple[float, float, float, float]
    degrees: float
    caution: float

    @classmethod
    def of(cls, one: means.Sums, other: means.Sums, varies: Array | None) -> "_Between":
        """Sum up both means.

        Args:
            one, other: By the same units of the same size.
            varies: As of `means.Sums`.
        """
        whole = one.size.sum()
        share = one.size / whole
        middle_one = float(one.total.sum() / whole)
        middle_other = float(other.total.sum() / whole)
        x = (one.total - middle_one * one.size) / whole
        y = (other.total - middle_other * other.size) / whole
        x_corrected = x / (1 - share)
        y_corrected = y / (1 - share)
        x_square = x**2
        y_square = y**2
        squares = x @ x_corrected, x @ y_corrected, y @ y_corrected
        plain = x @ x, x @ y, y @ y
        cubes = x @ x_square, x_square @ y, x @ y_square, y @ y_square
        # As numbers of Python, which are faster to reckon with one by one than NumPy's.
        xx, xy, yy = map(float, squares)
        plain_xx, plain_xy, plain_yy = map(float, plain)
        xxx, xxy, xyy, yyy = map(float, cubes)
        return cls(
            middles=(middle_one, middle_other),
            squares=(xx, xy, yy),
            plain=(plain_xx, plain_xy, plain_yy),
            cubes=(xxx, xxy, xyy, yyy),
            degrees=means.degrees_of_freedom(share, varies),
            caution=means.caution(one.size.size),
        )

    def limits(self, times: float, level: float) -> tuple[float, float]:
        """Limit `times` the one mean less the other."""
        middle_one, middle_other = self.middles
        middle = times * middle_one - middle_other

        def square_of(sums: tuple[float, float, float]) -> float:
            one, both, other = sums
            return times**2 * one - 2 * times * both + other

        square = square_of(self.squares)
        plain = square_of(self.plain)
        plain_one, _, plain_other = self.plain
        # A square that rounding alone keeps from 0 would have any skewness.
        if plain <= checks.SAME * (times**2 * plain_one + plain_other):
            return middle, middle
        one, first, second, other = self.cubes
        cube = times**3 * one - 3 * times**2 * first + 3 * times * second - other
        skewness = self.caution * cube / plain**1.5
        return means.studentised_limits(
            middle, square**0.5, self.degrees, skewness, level
        )


def _contributions(parts: Parts, share: Array, cells: Index) -> tuple[Array, Array]:
    """Measure what a pair in each of these cells adds to the disagreement and to that by chance,
    shape (n_cells,) each: the slope towards a table with that cell alone, by central
    differences."""
    whole_apart, whole_chance = parts(share)
    apart = []
    chance = []
    n_batches = 1 + cells.size * share.size // _AT_ONCE
    for batch in np.array_split(cells, n_batches):
        alone = np.zeros((batch.size, share.size))
        alone[np.arange(batch.size), batch] = 1.0
        step = _STEP * (alone.reshape(-1, *share.shape) - share)
        up_apart, up_chance = parts(share + step)
        down_apart, down_chance = parts(share - step)
        apart.append(whole_apart + (up_apart - down_apart) / (2 * _STEP))
        chance.append(whole_chance + (up_chance - down_chance) / (2 * _STEP))
    return np.concatenate(apart), np.concatenate(chance)


def costs(n_categories: int, weights: str) -> Array:
    """Tabulate the disagreement of two categories, shape (n_categories, n_categories), 1 at
    most."""
    checks.option(weights, "weights", ("quadratic", "linear", "none"))
    places = np.arange(n_categories)
    steps = np.abs(np.subtract.outer(places, places)).astype(np.float64)
    # Divided by the largest, the costs do not change kappa; they keep the sums near 1,
    # so that one tolerance serves scales of any length.
    by_name = {
        "quadratic": steps**2,
        "linear": steps,
        "none": np.sign(steps),
    }
    cost = by_name[weights]
    return cost / cost.max()


def kappa(cost: Array) -> Parts:
    """Make Cohen's kappa with these costs of disagreement, shape (k, k)."""

    def parts(share: Array) -> tuple[Array, Array]:
        rows = share.sum(axis=-1)
        columns = share.sum(axis=-2)
        disagreement = np.einsum("...ij,ij->...", share, cost)
        by_chance = np.einsum("...i,ij,...j->...", rows, cost, columns)
        return disagreement, by_chance

    return parts


def mirrored_kappa(cost: Array) -> Parts:
    """Make the kappa of choices between two outputs (the first two categories) whose numbering
    means nothing: by chance each is chosen, and is the better one, half of the time. It is the same
    whichever of the two is called the first.
    """
    # Which output is called the first is an accident of the file. If a judge prefers
    # the first throughout and people happen to as well, plain kappa would subtract that
    # as chance, and call the same judge worse or better by how the file was written.
    turned = np.arange(len(cost))
    turned[:2] = 1, 0
    plain = kappa(cost)

    def parts(share: Array) -> tuple[Array, Array]:
        renamed = share[..., turned, :][..., turned]
        return plain((share + renamed) / 2)

    return parts


def of_rows(coefficient: Callable[[Array], Parts], weights: str) -> jackknife.Prepared:
    """Make a coefficient ready for many draws of rows: verdict, label and weight of each pair,
    shape (n, 3), verdicts and labels as places of categories from 0.

    NaN where chance alone would agree always.

    Args:
        coefficient: `kappa` or `mirrored_kappa`.
        weights: How far categories disagree (`costs`).
    """

    def on(data: Array) -> jackknife.OfDraws:
        verdicts, labels, counted = data.T
        # Categories that nobody named add nothing to either disagreement. Of one alone there would
        # be nothing to disagree about.
        highest = int(max(verdicts.max(), labels.max()))
        k = max(2, 1 + highest)
        cells = (verdicts * k + labels).astype(np.intp)
        parts = coefficient(costs(k, weights))

        def of_draws(drawn: Index) -> Array:
            tally = jackknife.Tally(cells, k * k, drawn)
            sums = tally.sums(counted.take(drawn))
            whole = sums.sum(axis=1)[:, None, None]
            disagreement, by_chance = parts(sums.reshape(-1, k, k) / whole)
            with np.errstate(all="ignore"):
                value = 1 - disagreement / by_chance
            return np.where(by_chance > checks.SAME, value, np.nan)

        return of_draws

    return jackknife.Prepared(on)


def ac1(share: Array) -> tuple[Array, Array]:
    """Take Gwet's AC1 apart: agreement by chance is that of raters who guess where an item is hard.

    References:
        Gwet (2008), doi:10.1348/000711006X126600
    """
    n_categories = share.shape[-1]
    rows = share.sum(axis=-1)
    columns = share.sum(axis=-2)
    middle = (rows + columns) / 2
    guessed = np.sum(middle * (1 - middle), axis=-1) / (n_categories - 1)
    agreement = np.trace(share, axis1=-2, axis2=-1)
    return 1 - agreement, 1 - guessed


def ordinal_alpha(n_pairs: float) -> Parts:
    """Make Krippendorff's alpha of ordered categories for pairs of ratings: categories are as far
    apart as their mean ranks among all ratings.

    Args:
        n_pairs: Summed weights.
    References:
        Krippendorff (2019), Content Analysis, 4th ed., chapter 12.
    """

    def parts(share: Array) -> tuple[Array, Array]:
        rows = share.sum(axis=-1)
        columns = share.sum(axis=-2)
        pooled = (rows + columns) / 2
        ranks = np.cumsum(pooled, axis=-1) - pooled / 2
        middle = np.sum(pooled * ranks, axis=-1, keepdims=True)
        distances = ranks[..., :, None] - ranks[..., None, :]
        apart = np.sum(share * distances**2, axis=(-2, -1))
        # Two ratings that are drawn apart from one another differ by twice the variance.
        by_chance = 2 * np.sum(pooled * (ranks - middle) ** 2, axis=-1)
        # A rating is not paired with itself: of 2 n_pairs ratings each has one partner fewer.
        n_partners = 2 * n_pairs - 1
        return apart, by_chance * 2 * n_pairs / n_partners

    return parts


def concordance(use: Rated) -> Estimate | None:
    """Estimate Lin's concordance correlation: 1 only where all verdicts equal the labels; None
    where all are one number.

    References:
        Lin (1989), doi:10.2307/2532051
    """
    mean_verdict = float(np.average(use.verdicts, weights=use.weights))
    mean_label = float(np.average(use.labels, weights=use.weights))
    # Concordance, unlike a correlation, counts a judge that is a point too high
    # throughout as wrong.
    shift = mean_verdict - mean_label

    def apart(x: Array, y: Array) -> Array:
        return (x - y) ** 2

    def by_chance(x: Array, y: Array) -> Array:
        # Its mean is both variances and the squared shift; the last term is what a pair changes of
        # that square.
        x = x - mean_verdict
        y = y - mean_label
        moved = 2 * shift * (x - y)
        return np.asarray(x**2 + y**2 + shift**2 + moved)

    def of_spreads(spread: Array, together: Array, shifts: Array) -> Array:
        by_chance = spread.sum(axis=0) + shifts**2
        return np.asarray(2 * together / by_chance)

    return _of_numbers(use, use.verdicts, use.labels, apart, by_chance, of_spreads)


def pearson(use: Rated) -> Estimate | None:
    """Estimate Pearson's correlation; None where either is constant."""
    if checks.is_constant(use.verdicts) or checks.is_constant(use.labels):
        return None

    def standardised(values: Array) -> Array:
        centred = values - np.average(values, weights=use.weights)
        variance = np.average(centred**2, weights=use.weights)
        return np.asarray(centred / variance**0.5)

    # Of standardised numbers 1 - (mean of (x - y)^2) / 2 is the correlation.
    def apart(x: Array, y: Array) -> Array:
        return (x - y) ** 2 / 2

    def by_chance(x: Array, y: Array) -> Array:
        return (x**2 + y**2) / 2

    def of_spreads(spread: Array, together: Array, _shifts: Array) -> Array:
        return np.asarray(together / np.sqrt(spread.prod(axis=0)))

    x = standardised(use.verdicts)
    y = standardised(use.labels)
    return _of_numbers(use, x, y, apart, by_chance, of_spreads)


def _of_numbers(
    use: Rated,
    x: Array,
    y: Array,
    apart: OfNumbers,
    by_chance: OfNumbers,
    of_spreads: OfSpreads,
) -> Estimate | None:
    """Estimate `Rated.ratio` of functions of two numbers that are largest at the corners of what
    was seen; None where nothing differs by chance."""
    chance = by_chance(x, y)
    # Numbers of millions differ by rounding alone by more than small ones do.
    largest = max(1.0, float(np.max(np.abs(x))))
    rounding = checks.SAME**2 * largest**2
    mean_chance = np.average(chance, weights=use.weights)
    if not mean_chance > rounding:
        return None
    ends_of_x = [x.min(), x.max()]
    ends_of_y = [y.min(), y.max()]
    corners = np.meshgrid(ends_of_x, ends_of_y)
    most_apart = float(apart(*corners).max())
    most_chance = float(by_chance(*corners).max())
    return use.ratio(
        apart(x, y),
        chance,
        most=(most_apart, most_chance),
        scarce=(x, y),
        without=_without(use, x, y, of_spreads),
    )


def _without(use: Rated, x: Array, y: Array, of_spreads: OfSpreads) -> Array | None:
    """Compute the coefficient without each unit, shape (n_units,), as `Rated._without`."""
    _, codes = np.unique(use.codes, return_inverse=True)
    if codes.max() >= MANY_WITHOUT:
        return None
    # Squares of large numbers lose the digits that a spread is made of. Both are moved by one
    # middle, so that how far apart they are stays.
    middle = x.mean()
    x = x - middle
    y = y - middle
    moments = [
        np.ones(x.size),
        x,
        y,
        x * x,
        y * y,
        x * y,
    ]
    by_unit = [np.bincount(codes, use.weights * moment) for moment in moments]
    sums = np.array(by_unit)
    rest = sums.sum(axis=1, keepdims=True) - sums
    with np.errstate(all="ignore"):
        _, mean_x, mean_y, square_x, square_y, product = rest / rest[0]
        spread = np.array([square_x - mean_x**2, square_y - mean_y**2])
        together = product - mean_x * mean_y
        # Rounding may put a variance of next to nothing below 0.
        return of_spreads(np.maximum(spread, 0), together, mean_x - mean_y)


def drift_values(
    apart: Array, on: Array, span: float, weights: Array | None = None
) -> Array | None:
    """Make values whose weighted mean is the drift over a span: the least-squares slope of
    differences on something that every pair has, times `span`; shape (n,). Their spread is that of
    the slope, corrected for leverage (HC3). None where that is the same of every pair.

    What the differences are regressed on decides what a drift means. Of two runs of one judge,
    which err alike, it is the mean of both (Bland and Altman's trend). Of a judge beside people it
    is the verdict: what people say is compared with what the judge said, and a judge that says what
    people say on average has no drift. On the mean of both it would have one, as labels of single
    people spread more than their average.

    Args:
        apart, on: One minus the other, and what it is regressed on, shape (n,).
    References:
        Bland and Altman (1999), doi:10.1177/096228029900800204
        Long and Ervin (2000), doi:10.1080/00031305.2000.10474549
    """
    line = _Line.of(apart, on, weights)
    return None if line is None else span * line.slopes


class _Line(NamedTuple):
    """The least-squares line of differences on something, as values whose weighted means are its
    height in the middle and its slope, shape (n,) each; `middle` is the weighted mean of what they
    are regressed on."""

    heights: Array
    slopes: Array
    middle: float

    @classmethod
    def of(cls, apart: Array, on: Array, weights: Array | None) -> "_Line | None":
        """Fit the line to differences, both of shape (n,); None where `on` is constant."""
        w = np.full(apart.size, 1 / apart.size)
        if weights is not None:
            w = weights / weights.sum()
        middle = float(w @ on)
        centred = on - middle
        square = float(w @ centred**2)
        # Rounding of large numbers is larger, which their own square measures.
        around_zero = float(w @ on**2)
        if square <= checks.SAME * max(1.0, around_zero):
            return None
        slope = float(w @ (centred * apart)) / square
        # A pair far out pulls the line to itself, so that its residual is too small: divided by 1 -
        # leverage it is the one from the line without that pair (HC3).
        leverage = w + w * centred**2 / square
        mean_apart = w @ apart
        from_line = apart - mean_apart - slope * centred
        # A pair that alone makes the line has all the leverage, and would be divided by 0.
        residuals = from_line / np.maximum(1 - leverage, w)
        pull = centred * residuals / square
        heights = mean_apart + residuals - w @ residuals
        slopes = slope + pull - w @ pull
        return cls(heights, slopes, middle)

    def at(self, where: float) -> Array:
        """Make values whose weighted mean is the height of the line there."""
        from_middle = where - self.middle
        return np.asarray(self.heights + from_middle * self.slopes)


def drift(use: Rated, span: float) -> Estimate | None:
    """Estimate how much more verdicts lie above the labels where verdicts are higher by `span`
    (`drift_values`)."""
    above_labels = use.verdicts - use.labels
    values = drift_values(above_labels, use.verdicts, span, use.weights)
    if values is None:
        return None
    return use.mean(values, (-np.inf, np.inf))


class Band(NamedTuple):
    """Verdicts from `first` to `last`, and how far they lie above the labels of their items on
    average."""

    first: float
    last: float
    off: Estimate


class Bands(NamedTuple):
    """The bands of the verdicts, from the lowest up, and those that are shown to be off by more
    than a limit. Of the latter, neighbours that are off to the same side are told as one."""

    every: list[Band]
    off: list[Band]


def bands(use: Rated, span: float, limit: float, people: Rated | None = None) -> Bands:
    """Compare verdicts with what people say on average of items with such a verdict, from low
    verdicts to high ones.

    People's labels are regressed on the verdicts: by a step in each band of them, for which no line
    is assumed, and by a line, which shows more at the ends where labels are few. A band is off
    where its step is shown to be; the lowest and the highest also where the line is shown to be
    there and the step lies beyond the limit too. How far labels of single people spread matters to
    the width of intervals alone, which hold for all of them together (Bonferroni).

    Args:
        span: The longest distance of a verdict and a label. limit: A distance up to which verdicts
            are not off.
        people: Labels of one person in place of verdicts beside those of another, where several
            people labelled. Grades of one person are off, too, beside what others say on average:
            at the ends of a scale the others can only lie further in. Verdicts that are off by no
            more than these are not called off.
    """
    # Bands hold as many units each, rather than as much of the scale: where hardly a
    # verdict lies, nothing could be shown.
    step = _steps(use)
    n_bands = int(step.max()) + 1
    # One interval for each band, and one of the line at either end.
    # Whoever looks at seven bands finds one that seems to be off by chance alone.
    level = 1 - (1 - use.level) / (n_bands + 2)
    above_labels = use.verdicts - use.labels
    line = _Line.of(above_labels, use.verdicts, use.weights)
    line_of_people = None
    if people is not None:
        line_of_people = _Line.of(
            people.verdicts - people.labels, people.verdicts, people.weights
        )

    def middle_verdict(inside: NDArray[np.bool_]) -> float:
        weights = use.weights[inside]
        return float(np.average(use.verdicts[inside], weights=weights))

    def side(off: Estimate, inside: NDArray[np.bool_]) -> int:
        """Say whether verdicts are shown to be too high (1), too low (-1) or neither (0)."""
        of_people = 0.0
        if line_of_people is not None and people is not None:
            lowest = people.verdicts.min()
            highest = people.verdicts.max()
            where = float(np.clip(middle_verdict(inside), lowest, highest))
            of_people = float(
                np.average(line_of_people.at(where), weights=people.weights)
            )
        if off.low > max(limit, of_people):
            return 1
        return -1 if off.high < min(-limit, of_people) else 0

    def band(first: int, last: int) -> Band:
        inside = (first <= step) & (step <= last)
        size = inside.astype(np.float64)
        off = use.mean(
            np.where(inside, above_labels, 0.0), (-span, span), size=size, level=level
        )
        assert off is not None, "a band has verdicts"
        # Few verdicts lie at the ends of a scale. The line borrows the strength of all
        # others there.
        at_an_end = first == last and first in (0, n_bands - 1)
        if at_an_end and line is not None and not side(off, inside):
            values = line.at(middle_verdict(inside))
            by_line = use.mean(values, (-np.inf, np.inf), level=level)
            # The step has to point to the same side, or the line says what the verdicts of this
            # band do not.
            if by_line is not None and side(by_line, inside) * off.value > limit:
                off = by_line.replace(n=off.n)
        verdicts = use.verdicts[inside]
        return Band(float(verdicts.min()), float(verdicts.max()), off)

    every = [band(place, place) for place in range(n_bands)]
    sides = []
    for place, one in enumerate(every):
        inside = step == place
        sides.append(side(one.off, inside))
    off = []
    for first, last in _neighbours(sides):
        off.append(every[first] if first == last else band(first, last))
    return Bands(every, off)


def _neighbours(sides: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Find the first and the last of each row of bands that are off to the same side."""
    first = 0
    # A reader wants to know that grades up to 2 are too low, not that each of three
    # bands is.
    for direction, neighbours in itertools.groupby(sides):
        n_neighbours = len(list(neighbours))
        behind = first + n_neighbours
        if direction:
            yield first, behind - 1
        first = behind


def _steps(use: Rated) -> Index:
    """Number the band that each verdict is in, from the lowest up, shape (n,). Equal verdicts are
    in one band; a band has FEWEST_IN_BAND units or more, and of many different verdicts its share
    of all units."""
    values, place = np.unique(use.verdicts, return_inverse=True)
    enough = FEWEST_IN_BAND
    if values.size > MOST_VALUES:
        n_units = int(np.unique(use.codes).size)
        n_bands = MOST_BANDS if n_units >= MOST_BANDS * FEWEST_IN_BAND else FEWEST_BANDS
        enough = max(enough, n_units // n_bands)
    by_value = use.codes[np.argsort(place, kind="stable")]
    ends = np.cumsum(np.bincount(place))
    units_of_values = np.split(by_value, ends[:-1])
    steps = np.zeros(values.size, dtype=np.intp)
    step = 0
    units_in_band = set[int]()
    for at, units in enumerate(units_of_values):
        if len(units_in_band) >= enough:
            step += 1
            units_in_band = set()
        steps[at] = step
        units_in_band.update(units.tolist())
    # What is left at the top joins the band below.
    if len(units_in_band) < enough and step > 0:
        steps[steps == step] -= 1
    return steps[place]


class Linear(NamedTuple):
    """How grades of a judge become people's: `slope` times the grade plus `shift`."""

    slope: float
    shift: float

    def of(self, grades: Array) -> Array:
        """Convert grades."""
        return self.slope * grades + self.shift

    def rounded(self, span: float, digits: int) -> "Linear":
        """Round as it is written: the shift to so many decimals, the slope so that it moves no
        grade by more."""
        decimals = self.decimals(span, digits)
        slope = round(self.slope, decimals)
        return Linear(slope, round(self.shift, digits))

    @staticmethod
    def decimals(span: float, digits: int) -> int:
        """Count the decimals of the slope on a scale so long."""
        return max(2, digits + math.ceil(math.log10(span)))


class Curve(NamedTuple):
    """How grades of a judge become people's where no line fits.

    Each of `grades` becomes the one of `people` in its place. Between two of them a straight line
    leads from one to the next, and beyond the ends the curve stays as it is at the end. It never
    falls, so that the judge's order stays.
    """

    grades: tuple[float, ...]
    people: tuple[float, ...]

    def of(self, grades: Array) -> Array:
        """Convert grades."""
        return np.asarray(np.interp(grades, self.grades, self.people))

    def rounded(self, span: float, digits: int) -> "Curve":
        """Round as it is written: to so many decimals of people's grades, enough of the judge's to
        differ."""
        finest = Linear.decimals(span, digits)
        grades = np.round(self.grades, finest)
        # Two grades that are written alike could not both become people's.
        while np.unique(grades).size < len(self.grades):
            finest += 1
            grades = np.round(self.grades, finest)
        people = np.round(self.people, digits)
        return Curve(tuple(grades.tolist()), tuple(people.tolist()))


Conversion = Linear | Curve


class Gain(NamedTuple):
    """A conversion, and the mean squared distance of verdicts and labels before it and after it, on
    items that it was not fitted to; of a curve also after the best of what is simpler (nothing, a
    shift, a line)."""

    conversion: Conversion
    before: float
    after: float
    simpler: float


def conversion(use: Rated, scale: tuple[float, float], rng: Rng) -> Gain | None:
    """Find the shift that takes verdicts to what people say on average, the line where that is
    shown to do better, or the rising curve where that is shown to do better still. None where none
    is shown to bring verdicts closer to the labels of items that it was not fitted to.

    All are fitted by least squares of labels on verdicts, a tenth of the units left out at a time.
    A line through two things that both err (Bland and Altman's trend, solved for the label) would
    make the grades of a good judge spread as far as labels of single people do, and so take them
    away from what people say on average.

    Args:
        scale: Where converted grades are cut off.
    """
    # Whole groups are left out: a copy of a text in the other folds would foretell its
    # label.
    n_codes = int(use.codes.max()) + 1
    order = rng.permutation(n_codes)
    fold = order[use.codes] % FOLDS
    squares = (use.verdicts - use.labels) ** 2
    best: Gain | None = None
    # The grades of the best conversion so far, and their squared distances to the labels.
    best_grades = use.verdicts
    best_squares = squares
    fits: tuple[Callable[[Rated, NDArray[np.bool_]], Conversion], ...] = (
        _shift,
        _line,
        _curve,
    )
    for fit in fits:
        converted = np.empty(squares.size)
        for number in range(FOLDS):
            held_out = fold == number
            if held_out.all():
                return None
            fitted = fit(use, ~held_out)
            converted[held_out] = fitted.of(use.verdicts[held_out])
        converted = np.clip(converted, *scale)
        converted_squares = (converted - use.labels) ** 2
        # (a - l)^2 - (b - l)^2 is no more than the distance of a and b times twice the longest that
        # there is.
        everything = np.concatenate([use.verdicts, use.labels, converted, best_grades])
        longest = float(np.ptp(everything))
        moved = float(np.abs(best_grades - converted).max())
        most = 2 * longest * moved
        gain = use.mean(best_squares - converted_squares, (-most, most))
        # A curve fits any labels better than a shift does; only what helps on labels
        # that it has not seen is advised.
        if gain is None or gain.low <= 0:
            continue
        # What is handed out is fitted to all labels: folds served to choose alone.
        everywhere = np.ones(fold.size, dtype=bool)
        best = Gain(
            fit(use, everywhere),
            before=_average(use, squares),
            after=_average(use, converted_squares),
            simpler=_average(use, best_squares),
        )
        best_grades = converted
        best_squares = converted_squares
    return best


def _average(use: Rated, values: Array) -> float:
    return float(np.average(values, weights=use.weights))


def _shift(use: Rated, rows: NDArray[np.bool_]) -> Linear:
    """Fit how far labels lie above verdicts on average, of some rows, shape (n,)."""
    below_labels = use.labels[rows] - use.verdicts[rows]
    shift = np.average(below_labels, weights=use.weights[rows])
    return Linear(1.0, float(shift))


def _line(use: Rated, rows: NDArray[np.bool_]) -> Linear:
    """Fit the least-squares line of labels on verdicts, of some rows, shape (n,)."""
    x = use.verdicts[rows]
    y = use.labels[rows]
    w = use.weights[rows]
    if checks.is_constant(x):
        return _shift(use, rows)
    centre = float(np.average(x, weights=w))
    # Of labels on verdicts, because the verdict is what is known when the conversion is
    # used.
    centred = x - centre
    slope = float(np.sum(w * centred * y) / np.sum(w * centred**2))
    height = float(np.average(y, weights=w))
    return Linear(slope, height - slope * centre)


def _curve(use: Rated, rows: NDArray[np.bool_]) -> Curve:
    """Fit the rising curve through what people say on average of each grade or, of many different
    grades, of each of MOST_KNOTS parts of about the same weight.

    An isotonic regression of single pairs steps wherever chance does. On smooth shapes it was
    farther from labels that were left out, and nobody could write its steps down.

    References:
        Barlow and others (1972), Statistical Inference under Order Restrictions.
    """
    x = use.verdicts[rows]
    y = use.labels[rows]
    w = use.weights[rows]
    values, place = np.unique(x, return_inverse=True)
    part_of_values = np.arange(values.size)
    if values.size > MOST_KNOTS:
        # Equal verdicts stay together: each goes where the weight below it begins.
        weight_of_values = np.bincount(place, w)
        weight_below = np.cumsum(weight_of_values) - weight_of_values
        below = weight_below / weight_of_values.sum()
        tenths = np.floor(below * MOST_KNOTS)
        # A tenth that one frequent grade fills leaves numbers out, which are closed up.
        _, part_of_values = np.unique(tenths, return_inverse=True)
    part = part_of_values[place]
    weight = np.bincount(part, w)
    grades = np.bincount(part, w * x) / weight
    labels = np.bincount(part, w * y) / weight
    people = optimize.isotonic_regression(labels, weights=weight).x
    # Where three in a row are the same, the one in the middle says nothing.
    needed = np.ones(people.size, dtype=bool)
    inner = people[1:-1]
    from_left = inner != people[:-2]
    from_right = inner != people[2:]
    needed[1:-1] = from_left | from_right
    kept_grades = grades[needed].tolist()
    kept_people = people[needed].tolist()
    return Curve(tuple(kept_grades), tuple(kept_people))


class Slice(NamedTuple):
    """Mean of some pairs (`inside`) against that of the others, with the p-value of "no difference"
    (two-sided)."""

    inside: float
    others: float
    n: int
    groups: int
    p_value: float


def against_rest(use: Rated, values: Array, inside: NDArray[np.bool_]) -> Slice:
    """Hold the mean of some pairs against that of the others.

    The spread is that of all units about the mean of all, so that a small slice that agrees does
    not pass for certain. Where units have pairs on both sides, it is at least that of each unit's
    own difference: the pull of such a unit on the difference is near 0, and its pairs differ all
    the same. Degrees of freedom are those of the side with fewer units, which is on the safe side.

    Args:
        inside: Whether a pair belongs to the slice, shape (n,); some do and some do not.
    """
    w_in = np.where(inside, use.weights, 0.0)
    w_out = np.where(inside, 0.0, use.weights)
    mean_in = float(w_in @ values / w_in.sum())
    mean_out = float(w_out @ values / w_out.sum())
    # How much a pair pulls on the difference of both means.
    pull = w_in / w_in.sum() - w_out / w_out.sum()

    centred = values - np.average(values, weights=use.weights)
    units = use.sums(centred)
    n_units = units.size.size
    degrees = max(n_units - 1, 1)
    square = float(units.size @ units.means**2 / units.size.sum())
    variance = square * n_units / degrees
    pull_of_units = np.bincount(use.codes, pull)
    pooled = variance * float(pull_of_units @ pull_of_units)

    apart = pull * (values - np.where(inside, mean_in, mean_out))
    apart_of_units = np.bincount(use.codes, apart)
    by_units = float(apart_of_units @ apart_of_units) * n_units / degrees

    n_in = np.unique(use.codes[inside]).size
    n_out = np.unique(use.codes[~inside]).size
    # A slice of three units tells nothing of how far such units differ, even where the
    # rest has a thousand.
    fewer = min(n_in, n_out)
    error = max(pooled, by_units) ** 0.5
    p = 1.0
    if error > 0 and fewer > 1:
        t = -abs(mean_in - mean_out) / error
        p = float(2 * special.stdtr(fewer - 1, t))
    return Slice(mean_in, mean_out, int(inside.sum()), n_in, p)
