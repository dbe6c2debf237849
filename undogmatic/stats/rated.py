"""Holds verdicts against the labels of several raters who are kept apart: coefficients and means with their intervals.

Every pair of a verdict and a label counts with a weight (one over the raters of its item), and whole groups of items
are the independent units; with one rater the numbers are those of the plain coefficient.

A coefficient is 1 - disagreement / disagreement by chance. That it is `a` says that the mean over pairs of (1 - a)
times what a pair adds to the disagreement by chance, less its disagreement, is zero: its interval is what `means` does
not rule out (Fieller's theorem with another interval in place of Student's). What a pair adds to a number that is no
mean is the first term of its expansion (the influence function), which is exact for a mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate

FEWEST = 5
"""With fewer units the limits of a coefficient are -1 and 1."""
Parts = Callable[[Array], tuple[Array, Array]]
"""Shares of the cells of a table (verdict by label), shape (..., k, k), to disagreement and that by chance, (...)."""
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

    @cached_property
    def n_units(self) -> int:
        """Independent units."""
        return int(np.unique(self.codes).size)

    def sums(self, values: Array, size: Array | None = None) -> means.Sums:
        """Weighted sums by unit of values, and of weights (or of `size`, weighted): those of a ratio of means."""
        total = np.bincount(self.codes, self.weights * values).astype(np.float64)
        sizes = np.bincount(self.codes, self.weights if size is None else self.weights * size).astype(float)
        return means.Sums(total[sizes > 0], sizes[sizes > 0])

    def mean(
        self, values: Array, bounds: means.Bounds, *, size: Array | None = None, level: float | None = None
    ) -> Estimate | None:
        """Weighted mean of values (of a ratio of means: each value already times its `size`), with `means.interval`.

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
        """1 - disagreement / disagreement by chance of categories; None where chance alone would agree always."""
        value = self.value(n_categories, parts)
        if value is None:
            return None
        share = self.table(n_categories) / self.weights.sum()
        disagreement, by_chance = parts(share)
        used, place = np.unique(self._cells(n_categories), return_inverse=True)
        bent = np.zeros((used.size, n_categories**2))
        bent[np.arange(used.size), used] = 1.0
        bent = _STEP * (bent.reshape(-1, n_categories, n_categories) - share)
        ends = [parts(share + side * bent) for side in (1, -1)]
        apart, chance = (
            whole + (up - down) / (2 * _STEP) for whole, up, down in zip((disagreement, by_chance), *ends, strict=True)
        )
        # The farthest that a pair could lie out, seen or not.
        corners = parts(np.eye(n_categories**2).reshape(-1, n_categories, n_categories))[0]
        most = float(corners.max()), float(chance.max())
        found = self.ratio(apart[place], chance[place], most, (self.verdicts, self.labels))
        return found.replace(value=value)

    def ratio(self, apart: Array, chance: Array, most: tuple[float, float], scarce: tuple[Array, ...]) -> Estimate:
        """Interval of 1 - (mean of `apart`) / (mean of `chance`).

        Args:
            apart, chance: What each pair adds to the disagreement and to that by chance, shape (n,).
            most: The largest that either could be for a pair.
            scarce: Where units are mostly the same in one of these or in `apart`, the limits are those of the units
                with one more that lies at the end of what is possible (`means.bounded_limits`).
        """
        d, e = self.sums(apart), self.sums(chance)
        estimate = 1 - float(d.total.sum() / e.total.sum())
        n_units = d.size.size
        told = Estimate(estimate, -1.0, 1.0, self.level, n_units, self.codes.size)
        if n_units < FEWEST:
            return told
        few = any(
            means.mostly_same(own.means, means.same_within(own.means, None), means.ENOUGH)
            for own in (d, *map(self.sums, scarce))
        )
        least = float(chance.min())

        def limits(a: float) -> tuple[float, float]:
            units = means.Sums((1 - a) * e.total - d.total, d.size)
            if few:
                own = units.means
                ends = min((1 - a) * least - most[0], float(own.min())), max((1 - a) * most[1], float(own.max()))
                return means.bounded_limits(units, ends, self.level)
            found = means.of_sums(units, self.level)
            return found.low, found.high

        low = checks.farthest(lambda a: limits(a)[0] > 0, estimate, -1.0)
        high = checks.farthest(lambda a: limits(a)[1] < 0, estimate, 1.0)
        return told.replace(low=min(low, estimate), high=max(high, estimate))


def costs(n_categories: int, weights: str) -> Array:
    """Disagreement of two categories, shape (n_categories, n_categories), 1 at most."""
    steps = np.abs(np.subtract.outer(np.arange(n_categories), np.arange(n_categories))).astype(np.float64)
    checks.option(weights, "weights", ("quadratic", "linear", "none"))
    cost = {"quadratic": steps**2, "linear": steps, "none": np.sign(steps)}[weights]
    return cost / cost.max()


def kappa(cost: Array) -> Parts:
    """Cohen's kappa with these costs of disagreement, shape (k, k)."""

    def parts(share: Array) -> tuple[Array, Array]:
        rows, columns = share.sum(axis=-1), share.sum(axis=-2)
        return np.einsum("...ij,ij->...", share, cost), np.einsum("...i,ij,...j->...", rows, cost, columns)

    return parts


def mirrored_kappa(cost: Array) -> Parts:
    """Kappa of choices between two outputs (the first two categories) whose numbering means nothing: by chance each is
    chosen, and is the better one, half of the time. It is the same whichever of the two is called the first."""
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
