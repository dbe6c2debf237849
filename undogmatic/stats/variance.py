"""Divides the variance of scores by its sources and says how many to average: a generalisability
study.

Items are crossed with facets (prompts, judges, models, orders of demonstrations, repeats): every
item has one score under every combination. The variance of a score is then the sum of components:
of the items, which is what one wants to measure, of each facet (it moves all items alike), of each
interaction (it moves some items more than others), and of the highest interaction, which one score
per cell cannot tell from chance.

Components are those of the random-effects analysis of variance by expected mean squares. Intervals
are from leaving out one group of items at a time (`jackknife.of_left_out`); each end is the wider
of that of the number itself and that of its logarithm, which of a reliability is that of items'
variance over the error's. They say what other items would give. What other values of a facet would
give (a fourth prompt), they do not know.

References:
    Brennan (2001), Generalizability theory. doi:10.1007/978-1-4757-3456-0
    Shavelson and Webb (1991), Generalizability theory: a primer.
    Searle, Casella and McCulloch (1992), Variance components. doi:10.1002/9780470316856
    Arvesen and Schmitz (1970), Robust procedures for variance component problems with the
    jackknife.
        doi:10.2307/2528855 (logarithms)
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, jackknife, means
from undogmatic.stats.checks import Array, Groups
from undogmatic.stats.estimate import Estimate, unknown

Source = tuple[str, ...]
"""What a component is of: facets, with ITEM in front where items take part."""

ITEM = "item"
FEWEST_GROUPS = 3
FEWEST_FOR_LIMITS = 30
"""With fewer groups a component has no interval: of ten, that of a facet held in 87 % of samples of
its 95 %."""
MOST_FACETS = 6
MOST_SCORES = 100
"""Most scores per item that a design proposed by `Study.cheapest` takes."""


class Component(NamedTuple):
    """A variance component, in squared score units; `share` is of the variance of one score.

    `variance` is `estimated`, or 0 where that is negative; without limits for fewer than
    FEWEST_FOR_LIMITS groups.
    """

    source: Source
    variance: Estimate
    share: float
    estimated: float
    mean_square: float
    degrees: int


class Reliability(NamedTuple):
    """Of a mean of scores: `phi` is for decisions on the score itself (absolute), `relative` (E rho
    squared) for decisions on the order of items."""

    phi: Estimate
    relative: Estimate


class Study:
    """A generalisability study of a balanced, fully crossed design with one score per cell.

    Args:
        scores: One score per item and combination, shape (n_items, n_1, ..., n_k), in score units.
        facets: Names of the axes after the first, 1 to MOST_FACETS of them, each with at least two
            values.
    """

    def __init__(
        self,
        scores: ArrayLike,
        facets: Sequence[str],
        *,
        groups: Groups = None,
        level: float = 0.95,
    ) -> None:
        x = np.asarray(scores, dtype=np.float64)
        if x.ndim != len(facets) + 1 or not 1 <= len(facets) <= MOST_FACETS:
            raise ValueError(
                f"`scores` has shape {x.shape} for {len(facets)} facets (1 to {MOST_FACETS}) and"
                " items."
            )
        # A crossed design has a score in every cell; with gaps the expected mean
        # squares are other ones.
        if not np.isfinite(x).all():
            raise ValueError(
                "`scores` holds NaN; leave out items that lack a score under some combination."
            )
        if min(x.shape[1:]) < 2:
            raise ValueError(
                f"every facet needs two values; `scores` has shape {x.shape}."
            )
        self.facets = tuple(facets)
        self.levels = x.shape[1:]
        self.n_items = x.shape[0]
        self.level = checks.share(level, "level")
        self._codes = checks.groups(groups, self.n_items, FEWEST_GROUPS)
        self.n_groups = int(np.unique(self._codes).size)
        places = range(len(facets))
        # All interactions, up to the highest: one that is left out would be counted as
        # chance.
        subsets = [
            subset
            for size in range(len(facets) + 1)
            for subset in itertools.combinations(places, size)
        ]
        self._subsets = [frozenset(subset) for subset in subsets]
        # Components are in this order: subsets of facets with items, then the same without, but for
        # the empty one.
        without_items = [
            tuple(self.facets[place] for place in subset) for subset in subsets
        ]
        with_items = [(ITEM, *names) for names in without_items]
        self._sources: list[Source] = [*with_items, *without_items[1:]]
        squares = self._by_group(self._squares(x))
        sums = self._by_group(x.reshape(self.n_items, -1))
        n = np.array([float(self.n_items)])
        self._estimated, self._mean_squares, self._degrees = self._estimates(
            n, squares.sum(axis=0)[None], sums.sum(axis=0)[None]
        )
        # All scores are the same.
        self.constant = bool(np.maximum(self._estimated[0], 0).sum() <= 0)
        # Without each group in turn.
        # From sums that are taken off, and not from the scores anew: leaving out each
        # of a thousand groups costs what one table costs.
        self._left_out, _, _ = self._estimates(
            n - np.bincount(self._codes),
            squares.sum(axis=0) - squares,
            sums.sum(axis=0) - sums,
        )

    def _by_group(self, table: Array) -> Array:
        """Sum rows, one per item, by group: shape (n_groups, n_columns)."""
        return np.stack(
            [np.bincount(self._codes, column) for column in table.T], axis=1
        )

    def components(self) -> list[Component]:
        """List all of them: the items', then by the number of facets in them, with and without
        items."""
        # A variance below 0 is an estimate of one near 0. The raw estimate is kept
        # beside it, since a large negative one says that the model is wrong.
        values = np.maximum(self._estimated[0], 0)
        whole = float(values.sum())

        def place(k: int) -> tuple[int, bool]:
            return len(self._sources[k]), ITEM not in self._sources[k]

        return [
            Component(
                self._sources[k],
                self._limits_of_variance(
                    float(self._estimated[0, k]), self._left_out[:, k]
                ),
                share=float(values[k]) / whole if whole > 0 else math.nan,
                estimated=float(self._estimated[0, k]),
                mean_square=float(self._mean_squares[0, k]),
                degrees=int(self._degrees[0, k]),
            )
            for k in sorted(range(values.size), key=place)
        ]

    def reliability(self, design: Mapping[str, int] | None = None) -> Reliability:
        """Estimate the reliability of the mean over so many of each facet; a facet that is not
        named counts once. None: over all in the data."""
        if design is None:
            counts = dict(zip(self.facets, self.levels, strict=True))
        else:
            counts = dict.fromkeys(self.facets, 1) | dict(design)

        def estimate(absolute: bool) -> Estimate:
            ratio = float(self._ratio(self._estimated, counts, absolute)[0])
            left_out = self._ratio(self._left_out, counts, absolute)
            return self._limits_of_reliability(ratio, left_out)

        return Reliability(
            phi=estimate(absolute=True), relative=estimate(absolute=False)
        )

    def needed(self, facet: str, target: float, absolute: bool = True) -> int | None:
        """Say how many values of one facet to average, the others counting once, for a reliability;
        None: no number."""
        checks.share(target, "target")
        if facet not in self.facets:
            raise ValueError(
                f"`facet` is {facet!r}; it must be one of {', '.join(self.facets)}."
            )
        # The variance of items, the error that shrinks as more of the facet are averaged, and the
        # error that stays.
        signal = shrinks = stays = 0.0
        for source, value in zip(
            self._sources, np.maximum(self._estimated[0], 0), strict=True
        ):
            if source == (ITEM,):
                signal = float(value)
            elif not absolute and ITEM not in source:
                continue  # moves all items alike, which leaves their order as it is
            elif facet in source:
                shrinks += value
            else:
                stays += value
        room = signal * (1 - target) / target - stays
        return max(1, math.ceil(float(shrinks) / room - 1e-9)) if room > 0 else None

    def cheapest(self, target: float, absolute: bool = True) -> dict[str, int] | None:
        """Find the design with the fewest scores per item (MOST_SCORES at most) that reaches a
        reliability, or None."""
        checks.share(target, "target")

        def reached(design: Mapping[str, int]) -> float:
            return float(
                special.expit(self._ratio(self._estimated, design, absolute)[0])
            )

        for size in range(1, MOST_SCORES + 1):
            designs = [
                dict(zip(self.facets, counts, strict=True))
                for counts in _designs(len(self.facets), size)
            ]
            best = max(designs, key=reached)
            if reached(best) >= target - 1e-12:
                return best
        return None

    def _squares(self, x: Array) -> Array:
        """Sum over the cells of each row its squared effect of every subset of facets, shape
        (n_rows, n_subsets)."""
        axes = range(1, x.ndim)
        of_means = []
        for subset in self._subsets:
            others = tuple(axis for axis in axes if axis - 1 not in subset)
            mean = x.mean(axis=others) if others else x
            weight = math.prod(x.shape[axis] for axis in others)
            of_means.append(weight * np.square(mean).reshape(len(x), -1).sum(axis=1))
        effects = []
        for whole in self._subsets:
            # A mean holds the effects of all parts of its facets: taken out, with signs.
            parts = (
                (-1) ** (len(whole) - len(part)) * of_mean
                for part, of_mean in zip(self._subsets, of_means, strict=True)
                if part <= whole
            )
            effects.append(np.asarray(sum(parts)))
        return np.stack(effects, axis=1)

    def _estimates(
        self, n: Array, squares: Array, sums: Array
    ) -> tuple[Array, Array, Array]:
        """Estimate components, mean squares and degrees of freedom of several sets of items, shape
        (n_sets, n_components).

        Args:
            n, squares, sums: Items in each, shape (n_sets,); sums of `_squares` over items, and of
                scores per cell.
        """
        of_mean = n[:, None] * self._squares(
            (sums / n[:, None]).reshape(-1, *self.levels)
        )
        free = [
            math.prod(self.levels[place] - 1 for place in subset)
            for subset in self._subsets
        ]
        degrees_with_items = (n - 1)[:, None] * free
        degrees_without = np.broadcast_to(free, of_mean.shape)[:, 1:]
        degrees = np.concatenate([degrees_with_items, degrees_without], axis=1)
        total = np.concatenate(
            [np.maximum(squares - of_mean, 0), of_mean[:, 1:]], axis=1
        )
        # Rounding leaves a constant a little spread.
        size = np.abs(squares).sum(axis=1, keepdims=True)
        # Divided by a degree of freedom, rounding would become a component.
        total = np.where(total <= 1e-12 * size, 0, total)
        mean_squares = total / degrees
        names = list(map(frozenset, self._sources))
        cells = math.prod(self.levels)
        sizes = dict(zip(self.facets, self.levels, strict=True))
        columns = []
        for whole in names:
            # Every expected mean square is the sum of the components that hold its source: turned
            # round, with signs.
            signed = sum(
                (-1) ** (len(source) - len(whole)) * mean_squares[:, k]
                for k, source in enumerate(names)
                if whole <= source
            )
            values_of_source = math.prod(
                sizes[facet] for facet in whole if facet in sizes
            )
            repeated = cells / values_of_source * (1 if ITEM in whole else n)
            columns.append(np.asarray(signed) / repeated)
        return np.stack(columns, axis=1), mean_squares, degrees

    def _ratio(
        self, estimated: Array, design: Mapping[str, int], absolute: bool
    ) -> Array:
        """Compute the logarithm of items' variance over error variance, shape (n_sets,); infinite
        where one of them is 0."""
        error = np.zeros(len(estimated))
        for source, column in zip(self._sources[1:], estimated.T[1:], strict=True):
            if absolute or ITEM in source:
                averaged = math.prod(design[facet] for facet in source if facet != ITEM)
                error += np.maximum(column, 0) / averaged
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.maximum(estimated[:, 0], 0)) - np.log(error))

    def _limits_of_reliability(self, ratio: float, left_out: Array) -> Estimate:
        """Limit a reliability by logarithms of items' variance over error variance, of all items
        and without each group; NaN (no variance at all) stays."""
        value = float(special.expit(ratio))
        itself = jackknife.of_left_out(
            value, special.expit(left_out), self._codes, self.level, bounds=(0.0, 1.0)
        )
        low, high = itself.interval
        if math.isfinite(ratio) and np.isfinite(left_out).all():
            ends = special.expit(self._of_logarithm(ratio, left_out))
            low = min(low, float(ends[0]))
            high = max(high, float(ends[1]))
        return Estimate(value, low, high, self.level, self.n_groups, self.n_items)

    def _limits_of_variance(self, estimate: float, left_out: Array) -> Estimate:
        """Limit a component by itself, of all items and without each group; NaN for few groups."""
        value = max(estimate, 0.0)
        if self.n_groups < FEWEST_FOR_LIMITS:
            return unknown(self.level, self.n_groups, self.n_items).replace(value=value)
        itself = jackknife.of_left_out(
            estimate, left_out, self._codes, self.level, bounds=(-math.inf, math.inf)
        )
        low = max(itself.low, 0.0)
        high = max(itself.high, 0.0)
        if estimate > 0 and (left_out > 0).all():
            ends = self._of_logarithm(math.log(estimate), np.log(left_out))
            low = min(low, math.exp(ends[0]))
            high = max(high, math.exp(min(ends[1], 700)))
        return Estimate(value, low, high, self.level, self.n_groups, self.n_items)

    def _of_logarithm(self, estimate: float, left_out: Array) -> tuple[float, float]:
        """Limit a logarithm by the mean of its pseudo-values."""
        values = jackknife.pseudo_values(estimate, left_out, self._codes)
        units = means.sums(values, self._codes)
        se, df, skewness = means.spread(
            units, float(units.total.sum() / units.size.sum())
        )
        return means.studentised_limits(estimate, se, df, skewness, self.level)


def _designs(n_facets: int, size: int) -> list[tuple[int, ...]]:
    """List all counts per facet with the product `size`."""
    if n_facets == 1:
        return [(size,)]
    counts = [count for count in range(1, size + 1) if size % count == 0]
    return [
        (count, *rest)
        for count in counts
        for rest in _designs(n_facets - 1, size // count)
    ]
