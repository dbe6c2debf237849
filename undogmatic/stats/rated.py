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
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from undogmatic.stats import checks, means
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
_STEP = 1e-4


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
        """Weighted sums by unit of values, and of weights (or of `size`, weighted): those of a
        ratio of means."""
        weights = self.weights if size is None else self.weights * size
        total, sizes = self._totals(values), np.bincount(self.codes, weights).astype(float)
        there = np.flatnonzero(weights > 0)
        single = values[there] if size is None else values[there] / size[there]
        codes = np.unique(self.codes[there], return_inverse=True)[1]
        varies = means.varies(single, weights[there], codes) if there.size else None
        return means.Sums(total[sizes > 0], sizes[sizes > 0], varies)

    def _totals(self, values: Array) -> Array:
        """Weighted sums by code, 0 of a code that no pair has."""
        return np.bincount(self.codes, self.weights * values).astype(np.float64)

    def mean(
        self,
        values: Array,
        bounds: means.Bounds,
        *,
        size: Array | None = None,
        level: float | None = None,
    ) -> Estimate | None:
        """Weighted mean of values (of a ratio of means: each value already times its `size`), with
        `means.interval`.

        None where nothing has a weight; of a single unit the limits are the bounds.
        """
        sums, level = self.sums(values, size), level or self.level
        if not sums.size.size:
            return None
        n = self.codes.size if size is None else int(np.count_nonzero(size))
        if sums.size.size == 1:
            return Estimate(float(sums.means[0]), *bounds, level, 1, n)
        return means.of_sums(sums, level, bounds).replace(n=n)

    def table(self, n_categories: int) -> Array:
        """Summed weights of the cells, verdict by label, shape (n_categories, n_categories)."""
        counts = np.bincount(self._cells(n_categories), self.weights, n_categories**2)
        return np.asarray(counts, np.float64).reshape(n_categories, -1)

    def _cells(self, n_categories: int) -> Index:
        return np.asarray(self.verdicts * n_categories + self.labels, dtype=np.intp)

    def value(self, n_categories: int, parts: Parts) -> float | None:
        """`coefficient` without its interval."""
        if not self.weights.size:
            return None
        disagreement, by_chance = parts(self.table(n_categories) / self.weights.sum())
        return float(1 - disagreement / by_chance) if by_chance > checks.SAME else None

    def coefficient(self, n_categories: int, parts: Parts) -> Estimate | None:
        """1 - disagreement / disagreement by chance of categories; None where chance alone would
        agree always."""
        value = self.value(n_categories, parts)
        if value is None:
            return None
        share = self.table(n_categories) / self.weights.sum()
        cells, k = self._cells(n_categories), n_categories
        # The farthest that a pair could lie out is at one of the cells, seen or not.
        all_cells = (
            np.arange(k * k) if k <= MOST_CELLS else np.unique(np.r_[cells, k - 1, k * k - k])
        )
        batches = np.array_split(all_cells, 1 + all_cells.size * k * k // 10**6)
        found = [_contributions(parts, share, some) for some in batches]
        apart, chance = (np.concatenate(own) for own in zip(*found, strict=True))
        place = np.searchsorted(all_cells, cells)
        most = float(apart.max()), float(chance.max())
        without = self._without(n_categories, parts)
        scarce = self.verdicts, self.labels
        return self.ratio(apart[place], chance[place], most, scarce, without).replace(value=value)

    def _without(self, n_categories: int, parts: Parts) -> Array | None:
        """The coefficient without each unit, shape (n_units,); None of so many that one no longer
        matters."""
        units, codes = np.unique(self.codes, return_inverse=True)
        if units.size > MANY_WITHOUT or units.size * n_categories**2 > 10**6:
            return None
        cells = codes * n_categories**2 + self._cells(n_categories)
        tables = np.bincount(cells, self.weights, units.size * n_categories**2).astype(np.float64)
        tables = tables.reshape(units.size, n_categories, n_categories)
        rest = tables.sum(axis=0) - tables
        with np.errstate(all="ignore"):
            apart, chance = parts(rest / rest.sum(axis=(1, 2), keepdims=True))
            return np.asarray(1 - apart / chance)

    def ratio(
        self,
        apart: Array,
        chance: Array,
        most: tuple[float, float],
        scarce: tuple[Array, ...],
        without: Array | None = None,
    ) -> Estimate:
        """Interval of 1 - (mean of `apart`) / (mean of `chance`).

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
        d, e, *others = (
            means.Sums(self._totals(own)[size > 0], size[size > 0])
            for own in (apart, chance, *scarce)
        )
        estimate = 1 - float(d.total.sum() / e.total.sum())
        n_units = d.size.size
        told = Estimate(estimate, -1.0, 1.0, self.level, n_units, self.codes.size)
        if n_units < FEWEST:
            return told
        few = any(
            means.mostly_same(own.means, means.same_within(own.means, None), means.ENOUGH)
            for own in (d, *others)
        )
        adds = (1 - estimate) * chance - apart
        least = float(chance.min())
        if few:
            worth = means.worth(
                adds, np.unique(self.codes, return_inverse=True)[1], self.weights, level=SURE
            )
        else:
            between = _Between.of(e, d, self.sums(adds).varies)

        def limits(a: float, side: int = 0) -> tuple[float, float]:
            """Limits of the mean that is 0 at the coefficient; of the lower or upper one alone
            where `side` says so."""
            if not few:
                return between.limits(1 - a, self.level)
            own = (1 - a) * chance - apart
            low = min((1 - a) * least - most[0], float(own.min())) if side <= 0 else -np.inf
            high = max((1 - a) * most[1], float(own.max())) if side >= 0 else np.inf
            pairs = means.Sums(self.weights * own, self.weights)
            return means.bounded_limits(pairs, (low, high), self.level, worth)

        if n_units > MANY and not few:
            # The limits are then as far from the estimate as the slope says.
            ends, slope = limits(estimate), float(e.total.sum() / e.size.sum())
            low, high = (min(max(estimate + end / slope, -1.0), 1.0) for end in ends)
            return told.replace(low=min(low, estimate), high=max(high, estimate))
        low = checks.farthest(lambda a: limits(a, -1)[0], estimate, -1.0)
        high = checks.farthest(lambda a: -limits(a, 1)[1], estimate, 1.0)
        if without is not None and not few and np.isfinite(without).all():
            share = d.size / d.size.sum()
            too_high = float(np.sum((1 - share) * (without - estimate)))
            low, high = (
                end if abs(end) == 1 else float(np.clip(end - too_high, -1, 1))
                for end in (low, high)
            )
        return told.replace(low=min(low, estimate), high=max(high, estimate))


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
        """Args: the sums of both, by the same units of the same size; `varies` as of
        `means.Sums`."""
        whole = one.size.sum()
        share = one.size / whole
        first, second = (float(own.total.sum() / whole) for own in (one, other))
        x, y = (one.total - first * one.size) / whole, (other.total - second * other.size) / whole
        rest = 1 - share
        return cls(
            (first, second),
            (float(x @ (x / rest)), float(x @ (y / rest)), float(y @ (y / rest))),
            (float(x @ x), float(x @ y), float(y @ y)),
            (float(x @ x**2), float(x**2 @ y), float(x @ y**2), float(y @ y**2)),
            means.degrees_of_freedom(share, varies),
            means.caution(one.size.size),
        )

    def limits(self, times: float, level: float) -> tuple[float, float]:
        middle = times * self.middles[0] - self.middles[1]
        square, plain = (
            times**2 * one - 2 * times * both + other
            for one, both, other in (self.squares, self.plain)
        )
        # they differ by rounding
        if plain <= checks.SAME * (times**2 * self.plain[0] + self.plain[2]):
            return middle, middle
        one, first, second, other = self.cubes
        cube = times**3 * one - 3 * times**2 * first + 3 * times * second - other
        skewness = self.caution * cube / plain**1.5
        return means.studentised_limits(middle, square**0.5, self.degrees, skewness, level)


def _contributions(parts: Parts, share: Array, cells: Index) -> tuple[Array, Array]:
    """What a pair in each of these cells adds to the disagreement and to that by chance, shape
    (n_cells,) each."""
    bent = np.zeros((cells.size, share.size))
    bent[np.arange(cells.size), cells] = 1.0
    bent = _STEP * (bent.reshape(-1, *share.shape) - share)
    whole, up, down = parts(share), parts(share + bent), parts(share - bent)
    apart, chance = (
        of_all + (one - other) / (2 * _STEP)
        for of_all, one, other in zip(whole, up, down, strict=True)
    )
    return apart, chance


def costs(n_categories: int, weights: str) -> Array:
    """Disagreement of two categories, shape (n_categories, n_categories), 1 at most."""
    steps = np.abs(np.subtract.outer(np.arange(n_categories), np.arange(n_categories))).astype(
        np.float64
    )
    checks.option(weights, "weights", ("quadratic", "linear", "none"))
    cost = {"quadratic": steps**2, "linear": steps, "none": np.sign(steps)}[weights]
    return cost / cost.max()


def kappa(cost: Array) -> Parts:
    """Cohen's kappa with these costs of disagreement, shape (k, k)."""

    def parts(share: Array) -> tuple[Array, Array]:
        rows, columns = share.sum(axis=-1), share.sum(axis=-2)
        return np.einsum("...ij,ij->...", share, cost), np.einsum(
            "...i,ij,...j->...", rows, cost, columns
        )

    return parts


def mirrored_kappa(cost: Array) -> Parts:
    """Kappa of choices between two outputs (the first two categories) whose numbering means
    nothing: by chance each is chosen, and is the better one, half of the time. It is the same
    whichever of the two is called the first.
    """
    turned = np.arange(len(cost))
    turned[:2] = 1, 0
    plain = kappa(cost)

    def parts(share: Array) -> tuple[Array, Array]:
        both = (share + share[..., turned, :][..., turned]) / 2
        return plain(both)

    return parts


def ac1(share: Array) -> tuple[Array, Array]:
    """Gwet's AC1: agreement by chance is that of raters who guess where an item is hard.

    References:
        Gwet (2008), doi:10.1348/000711006X126600
    """
    middle = (share.sum(axis=-1) + share.sum(axis=-2)) / 2
    by_chance = 1 - np.sum(middle * (1 - middle), axis=-1) / (share.shape[-1] - 1)
    return 1 - np.trace(share, axis1=-2, axis2=-1), by_chance


def ordinal_alpha(n_pairs: float) -> Parts:
    """Krippendorff's alpha of ordered categories for pairs of ratings: categories are as far apart
    as their mean ranks among all ratings.

    Args:
        n_pairs: Summed weights.
    References:
        Krippendorff (2019), Content Analysis, 4th ed., chapter 12.
    """

    def parts(share: Array) -> tuple[Array, Array]:
        pooled = (share.sum(axis=-1) + share.sum(axis=-2)) / 2
        ranks = np.cumsum(pooled, axis=-1) - pooled / 2
        middle = np.sum(pooled * ranks, axis=-1, keepdims=True)
        apart = np.sum(share * (ranks[..., :, None] - ranks[..., None, :]) ** 2, axis=(-2, -1))
        by_chance = 2 * np.sum(pooled * (ranks - middle) ** 2, axis=-1)
        return apart, by_chance * 2 * n_pairs / (2 * n_pairs - 1)

    return parts


def concordance(use: Rated) -> Estimate | None:
    """Lin's concordance correlation: 1 only where all verdicts equal the labels; None where all are
    one number.

    References:
        Lin (1989), doi:10.2307/2532051
    """
    middles = [float(np.average(own, weights=use.weights)) for own in (use.verdicts, use.labels)]
    shift = middles[0] - middles[1]

    def by_chance(x: Array, y: Array) -> Array:
        x, y = x - middles[0], y - middles[1]
        return np.asarray(x**2 + y**2 + shift**2 + 2 * shift * (x - y))

    def of_spreads(spread: Array, together: Array, apart: Array) -> Array:
        return np.asarray(2 * together / (spread.sum(axis=0) + apart**2))

    return _of_numbers(
        use, use.verdicts, use.labels, lambda x, y: (x - y) ** 2, by_chance, of_spreads
    )


def pearson(use: Rated) -> Estimate | None:
    """Pearson's correlation; None where either is constant."""
    if checks.is_constant(use.verdicts) or checks.is_constant(use.labels):
        return None
    columns = []
    for own in (use.verdicts, use.labels):
        centred = own - np.average(own, weights=use.weights)
        columns.append(centred / np.average(centred**2, weights=use.weights) ** 0.5)
    x, y = columns

    def of_spreads(spread: Array, together: Array, apart: Array) -> Array:
        return np.asarray(together / np.sqrt(spread.prod(axis=0)))

    return _of_numbers(
        use, x, y, lambda x, y: (x - y) ** 2 / 2, lambda x, y: (x**2 + y**2) / 2, of_spreads
    )


def _of_numbers(
    use: Rated,
    x: Array,
    y: Array,
    apart: Callable[[Array, Array], Array],
    by_chance: Callable[[Array, Array], Array],
    of_spreads: Callable[[Array, Array, Array], Array],
) -> Estimate | None:
    """`Rated.ratio` of functions of two numbers that are largest at the corners of what was seen.

    Args:
        of_spreads: The coefficient from the variances of both, shape (2, n), their covariance and
            the difference of their means, shape (n,) each.
    """
    corners = np.meshgrid([x.min(), x.max()], [y.min(), y.max()])
    chance = by_chance(x, y)
    if (
        not np.average(chance, weights=use.weights)
        > checks.SAME**2 * max(1.0, float(np.max(np.abs(x)))) ** 2
    ):
        return None
    most = float(apart(*corners).max()), float(by_chance(*corners).max())
    return use.ratio(apart(x, y), chance, most, (x, y), _without(use, x, y, of_spreads))


def _without(
    use: Rated, x: Array, y: Array, of_spreads: Callable[[Array, Array, Array], Array]
) -> Array | None:
    """The coefficient without each unit, shape (n_units,), as `Rated._without`."""
    codes = np.unique(use.codes, return_inverse=True)[1]
    if codes.max() >= MANY_WITHOUT:
        return None
    middle = x.mean()  # of both, so that how far apart they are stays
    x, y = x - middle, y - middle
    sums = np.array(
        [
            np.bincount(codes, use.weights * own)
            for own in (np.ones(x.size), x, y, x * x, y * y, x * y)
        ]
    )
    rest = sums.sum(axis=1, keepdims=True) - sums
    with np.errstate(all="ignore"):
        _, mean_x, mean_y, square_x, square_y, product = rest / rest[0]
        spread = np.array([square_x - mean_x**2, square_y - mean_y**2])
        return of_spreads(np.maximum(spread, 0), product - mean_x * mean_y, mean_x - mean_y)


def drift_values(
    apart: Array, on: Array, span: float, weights: Array | None = None
) -> Array | None:
    """Values whose weighted mean is the drift over a span: the least-squares slope of differences
    on something known of each pair, times `span`; shape (n,). Their spread is that of the slope,
    corrected for leverage (HC3). None where that is the same of every pair.

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
    fitted = _Line.of(apart, on, weights)
    return None if fitted is None else span * fitted.slopes


class _Line(NamedTuple):
    """The least-squares line of differences on something, as values whose weighted means are its
    height in the middle and its slope, shape (n,) each; `middle` is the weighted mean of what they
    are regressed on."""

    heights: Array
    slopes: Array
    middle: float

    @classmethod
    def of(cls, apart: Array, on: Array, weights: Array | None) -> "_Line | None":
        w = np.full(apart.size, 1 / apart.size) if weights is None else weights / weights.sum()
        middle = float(w @ on)
        centred = on - middle
        square = float(w @ centred**2)
        if square <= checks.SAME * max(1.0, float(w @ on**2)):
            return None
        slope = float(w @ (centred * apart)) / square
        leverage = w + w * centred**2 / square
        rest = (apart - w @ apart - slope * centred) / np.maximum(1 - leverage, w)
        pull = centred * rest / square
        return cls(w @ apart + rest - w @ rest, slope + pull - w @ pull, middle)

    def at(self, where: float) -> Array:
        """Values whose weighted mean is the height of the line there."""
        return np.asarray(self.heights + (where - self.middle) * self.slopes)


def drift(use: Rated, span: float) -> Estimate | None:
    """How much more verdicts lie above the labels where verdicts are higher by so much
    (`drift_values`)."""
    values = drift_values(use.verdicts - use.labels, use.verdicts, span, use.weights)
    return None if values is None else use.mean(values, (-np.inf, np.inf))


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
    step = _steps(use)
    n = int(step.max()) + 1
    level = 1 - (1 - use.level) / (n + 2)
    line = _Line.of(use.verdicts - use.labels, use.verdicts, use.weights)

    usual = (
        None
        if people is None
        else _Line.of(people.verdicts - people.labels, people.verdicts, people.weights)
    )

    def side(off: Estimate, inside: NDArray[np.bool_]) -> int:
        of_people = 0.0
        if usual is not None and people is not None:
            middle = float(np.average(use.verdicts[inside], weights=use.weights[inside]))
            there = float(np.clip(middle, people.verdicts.min(), people.verdicts.max()))
            of_people = float(np.average(usual.at(there), weights=people.weights))
        return int(off.low > max(limit, of_people)) - int(off.high < min(-limit, of_people))

    def band(first: int, last: int) -> Band:
        inside = (first <= step) & (step <= last)
        own = use.verdicts[inside]
        apart = np.where(inside, use.verdicts - use.labels, 0.0)
        off = use.mean(apart, (-span, span), size=inside.astype(np.float64), level=level)
        assert off is not None, "a band has verdicts"
        if first == last and first in (0, n - 1) and line is not None and not side(off, inside):
            middle = float(np.average(own, weights=use.weights[inside]))
            by_line = use.mean(line.at(middle), (-np.inf, np.inf), level=level)
            if by_line is not None and side(by_line, inside) * off.value > limit:
                off = by_line.replace(n=off.n)
        return Band(float(own.min()), float(own.max()), off)

    every = [band(place, place) for place in range(n)]
    sides = [side(own.off, step == n) for n, own in enumerate(every)]
    off, place = [], 0
    for beyond, run in itertools.groupby(sides):
        size = len(list(run))
        off += [every[place] if size == 1 else band(place, place + size - 1)] if beyond else []
        place += size
    return Bands(every, off)


def _steps(use: Rated) -> Index:
    """The band that each verdict is in, counted from the lowest up. Equal verdicts are in one band;
    a band has FEWEST_IN_BAND units or more, and of many different verdicts its share of all
    units."""
    values, place = np.unique(use.verdicts, return_inverse=True)
    n_units = int(np.unique(use.codes).size)
    enough = FEWEST_IN_BAND
    if values.size > MOST_VALUES:
        enough = max(
            enough,
            n_units // (MOST_BANDS if n_units >= MOST_BANDS * FEWEST_IN_BAND else FEWEST_BANDS),
        )
    units_of = np.split(
        use.codes[np.argsort(place, kind="stable")], np.cumsum(np.bincount(place))[:-1]
    )
    steps, seen = np.zeros(values.size, dtype=np.intp), set[int]()
    for at, units in enumerate(units_of):
        steps[at] = steps[max(at - 1, 0)]
        if len(seen) >= enough:
            steps[at] += 1
            seen = set()
        seen.update(units.tolist())
    if len(seen) < enough and steps[-1] > 0:
        steps[steps == steps[-1]] -= 1
    return steps[place]


class Linear(NamedTuple):
    """How grades of a judge become people's: `slope` times the grade plus `shift`."""

    slope: float
    shift: float

    def of(self, grades: Array) -> Array:
        """Grades, converted."""
        return self.slope * grades + self.shift

    def rounded(self, span: float, digits: int) -> "Linear":
        """As it is written: the shift with so many decimals, the slope so that it moves no grade by
        more."""
        return Linear(round(self.slope, self.decimals(span, digits)), round(self.shift, digits))

    @staticmethod
    def decimals(span: float, digits: int) -> int:
        """Decimals of the slope on a scale so long."""
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
        """Grades, converted."""
        return np.asarray(np.interp(grades, self.grades, self.people))

    def rounded(self, span: float, digits: int) -> "Curve":
        """As it is written: so many decimals of people's grades, enough of the judge's to
        differ."""
        finest = Linear.decimals(span, digits)
        while np.unique(np.round(self.grades, finest)).size < len(self.grades):
            finest += 1
        rounded = (np.round(self.grades, finest), np.round(self.people, digits))
        return Curve(*(tuple(own.tolist()) for own in rounded))


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
    """The shift that takes verdicts to what people say on average, the line where that is shown to
    do better, or the rising curve where that is shown to do better still. None where none is shown
    to bring verdicts closer to the labels of items that it was not fitted to.

    All are fitted by least squares of labels on verdicts, a tenth of the units left out at a time.
    A line through two things that both err (Bland and Altman's trend, solved for the label) would
    make the grades of a good judge spread as far as labels of single people do, and so take them
    away from what people say on average.

    Args:
        scale: Where converted grades are cut off.
    """
    fold = rng.permutation(int(use.codes.max()) + 1)[use.codes] % FOLDS
    squared = least = (use.verdicts - use.labels) ** 2
    found, nearest = None, use.verdicts
    fits: tuple[Callable[[Rated, NDArray[np.bool_]], Conversion], ...] = (_shift, _line, _curve)
    for fit in fits:
        converted = np.empty(squared.size)
        for held_out in range(FOLDS):
            own = fold == held_out
            if own.all():
                return None
            converted[own] = fit(use, ~own).of(use.verdicts[own])
        converted = np.clip(converted, *scale)
        after = (converted - use.labels) ** 2
        # (a - l)^2 - (b - l)^2 is no more than the distance of a and b times twice the longest that
        # there is.
        most = 2 * float(np.ptp(np.concatenate([use.verdicts, use.labels, converted, nearest])))
        most *= float(np.abs(nearest - converted).max())
        gain = use.mean(least - after, (-most, most))
        if gain is not None and gain.low > 0:
            whole = fit(use, np.ones(fold.size, dtype=bool))
            before, now, simpler = (
                float(np.average(each, weights=use.weights)) for each in (squared, after, least)
            )
            found, least, nearest = Gain(whole, before, now, simpler), after, converted
    return found


def _shift(use: Rated, rows: NDArray[np.bool_]) -> Linear:
    apart = use.labels[rows] - use.verdicts[rows]
    return Linear(1.0, float(np.average(apart, weights=use.weights[rows])))


def _line(use: Rated, rows: NDArray[np.bool_]) -> Linear:
    x, y, w = use.verdicts[rows], use.labels[rows], use.weights[rows]
    if checks.is_constant(x):
        return _shift(use, rows)
    centre = float(np.average(x, weights=w))
    slope = float(np.sum(w * (x - centre) * y) / np.sum(w * (x - centre) ** 2))
    return Linear(slope, float(np.average(y, weights=w)) - slope * centre)


def _curve(use: Rated, rows: NDArray[np.bool_]) -> Curve:
    """The rising curve through what people say on average of each grade or, of many different
    grades, of each of MOST_KNOTS parts of about the same weight.

    An isotonic regression of single pairs steps wherever chance does. On smooth shapes it was
    farther from labels that were left out, and nobody could write its steps down.

    References:
        Barlow and others (1972), Statistical Inference under Order Restrictions.
    """
    x, y, w = use.verdicts[rows], use.labels[rows], use.weights[rows]
    values, place = np.unique(x, return_inverse=True)
    part = np.arange(values.size)
    if values.size > MOST_KNOTS:
        # Equal verdicts stay together: each goes where the weight below it begins.
        of_values = np.bincount(place, w)
        below = (np.cumsum(of_values) - of_values) / of_values.sum()
        part = np.unique(np.floor(below * MOST_KNOTS), return_inverse=True)[1]
    part = part[place]
    weight = np.bincount(part, w)
    grades, means_ = np.bincount(part, w * x) / weight, np.bincount(part, w * y) / weight
    people = optimize.isotonic_regression(means_, weights=weight).x
    # Where three in a row are the same, the one in the middle says nothing.
    needed = np.ones(people.size, dtype=bool)
    needed[1:-1] = (people[1:-1] != people[:-2]) | (people[1:-1] != people[2:])
    return Curve(tuple(grades[needed].tolist()), tuple(people[needed].tolist()))


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
    w_in, w_out = (np.where(inside, use.weights, 0.0), np.where(inside, 0.0, use.weights))
    means_ = [float(w @ values / w.sum()) for w in (w_in, w_out)]
    units = use.sums(values - np.average(values, weights=use.weights))
    variance = (
        float(units.size @ units.means**2 / units.size.sum())
        * units.size.size
        / max(units.size.size - 1, 1)
    )
    pull = np.bincount(use.codes, w_in / w_in.sum() - w_out / w_out.sum())
    n_in, n_out = (int(np.count_nonzero(np.bincount(use.codes, own))) for own in (inside, ~inside))
    pooled = variance * float(pull @ pull)
    means_of_sides = np.where(inside, means_[0], means_[1])
    of_pairs = (w_in / w_in.sum() - w_out / w_out.sum()) * (values - means_of_sides)
    own = np.bincount(use.codes, of_pairs)
    n_units = units.size.size
    by_units = float(own @ own) * n_units / max(n_units - 1, 1)
    error = max(pooled, by_units) ** 0.5
    least = min(n_in, n_out)
    p = 1.0
    if error > 0 and least > 1:
        p = float(2 * special.stdtr(least - 1, -abs(means_[0] - means_[1]) / error))
    return Slice(means_[0], means_[1], int(inside.sum()), n_in, p)
