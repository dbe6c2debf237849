"""The middle of differences: median, and Hodges-Lehmann's median of means of pairs, with intervals over groups.

Both intervals are of values that are not ruled out: for the median by the exact sign test, for the other by the
interval of a mean (`means`) of how each difference stands to the others about that value.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, coefficients, means
from undogmatic.stats.checks import Array, Groups, Index
from undogmatic.stats.estimate import Estimate


def hodges_lehmann(differences: ArrayLike) -> float:
    """Hodges-Lehmann estimate of the typical difference: the median of (x[i] + x[j]) / 2 over all i <= j.

    In linear memory and time n log(n)^2: of the averages still in question, the weighted median of the rows' medians
    cuts away at least a quarter each time; the rest is sorted once it is few.

    Args:
        differences: Score A minus score B per pair, shape (n_pairs,), in score units.
    References:
        Hodges and Lehmann (1963), doi:10.1214/aoms/1177704172
        Johnson and Mizoguchi (1978), doi:10.1137/0207013, for selecting among sorted sums.
        Monahan (1984), doi:10.1145/1271.319414, for doing so with averages.
    """
    x = np.sort(checks.vector(differences, "differences"))
    total = x.size * (x.size + 1) // 2
    middle = _selected(x, (total - 1) // 2)
    return float(middle if total % 2 else (middle + _selected(x, total // 2)) / 2)


def _selected(x: Array, rank: int) -> float:
    """The average with `rank` smaller or equal ones before it.

    Row i of their table holds (x[i] + x[j]) / 2 for j >= i, ascending.
    """
    n = x.size
    rows = np.arange(n)
    low, high = rows.copy(), np.full(n, n)  # what is in question of each row: columns low to high - 1
    while True:
        width = high - low
        if width.sum() <= 8 * n:
            row = np.repeat(rows, width)
            column = np.arange(width.sum()) + np.repeat(low - (np.cumsum(width) - width), width)
            place = rank - int((low - rows).sum())
            return float(np.partition((x[row] + x[column]) / 2, place)[place])
        asked = width > 0
        own = (x[rows[asked]] + x[(low + width // 2)[asked]]) / 2
        order = np.argsort(own)
        weight = np.cumsum(width[asked][order])
        pivot = own[order[np.searchsorted(weight, weight[-1] / 2)]]
        below, upto = _ends(x, pivot, strict=True), _ends(x, pivot, strict=False)
        if rank < (below - rows).sum():
            high = np.minimum(high, below)
        elif rank >= (upto - rows).sum():
            low = np.maximum(low, upto)
        else:
            return float(pivot)
        high = np.maximum(low, high)


def _ends(x: Array, pivot: float, strict: bool) -> Index:
    """Per row i the first column j >= i whose average is not below (or, unless strict, not at) `pivot`.

    Averages are compared as they are rounded, so that no pair is taken for the pivot that does not equal it.
    """
    n = x.size
    rows = np.arange(n)
    first, last = rows.copy(), np.full(n, n)
    while True:
        searching = first < last
        if not searching.any():
            return first
        middle = (first + last) // 2
        average = (x + x[np.minimum(middle, n - 1)]) / 2
        before = average < pivot if strict else average <= pivot
        first = np.where(searching & before, middle + 1, first)
        last = np.where(searching & ~before, middle, last)


def median(
    values: ArrayLike, level: float = 0.95, *, groups: Groups = None, bounds: means.Bounds = (-np.inf, np.inf)
) -> Estimate:
    """The median with the ends of the exact sign test: ordered values (Conover 1999, section 3.2).

    A group counts as one observation, whatever its size: right where its values agree, else on the safe side.

    References:
        Conover (1999), Practical nonparametric statistics, 3rd edition, Wiley.
    """
    v, codes = checks.grouped(values, "values", level, groups)
    n = int(np.unique(codes).size)
    ordered = np.sort(v)
    below = np.arange(n + 1)
    # Of n values as many lie below the median as heads fall: so many may be left out at each end.
    out = below[stats.binom.cdf(below, n, 0.5) <= (1 - level) / 2]
    low, high = bounds
    if out.size:
        place = int(np.floor(out[-1] * v.size / n + 1e-9))
        low, high = float(ordered[place]), float(ordered[v.size - 1 - place])
    return Estimate(float(np.median(v)), low, high, level, n)


def hodges_lehmann_interval(
    differences: ArrayLike, level: float = 0.95, *, groups: Groups = None, bounds: means.Bounds = (-np.inf, np.inf)
) -> Estimate:
    """`hodges_lehmann` with an interval over differences, or over groups of them; they need not be symmetric.

    A value is ruled out if the share of means of pairs above it is surely not one half. The share is a mean over
    differences of the share of the others whose mean with it is above, twice which counts (Hoeffding 1948).

    References:
        Hoeffding (1948), doi:10.1214/aoms/1177730196
    """
    d, codes = checks.grouped(differences, "differences", level, groups)
    estimate, n = hodges_lehmann(d), int(np.unique(codes).size)
    if n < 2:
        return Estimate(estimate, *bounds, level, n)
    ordered = np.sort(d)

    def limits(value: float) -> tuple[float, float]:
        other = 2 * value - d
        upto = np.searchsorted(ordered, other, "left") + np.searchsorted(ordered, other, "right")
        own = 0.5 - upto / (2 * d.size)
        whole = float(own.mean())
        if abs(whole) == 0.5:  # all lie on one side of the value, as all of n coins may fall alike
            return (whole, whole) if 0.5**n <= (1 - level) / 2 else (-np.inf, np.inf)
        found = means.interval(2 * own - whole, level, groups=codes)
        return found.low, found.high

    room = 1e-6 * float(np.ptp(ordered)) + 1e-9 * float(np.max(np.abs(ordered)))
    lowest, highest = float(ordered[0]) - room, float(ordered[-1]) + room
    low = coefficients.farthest(lambda value: limits(value)[0] > 0, estimate, lowest)
    high = coefficients.farthest(lambda value: limits(value)[1] < 0, estimate, highest)
    # Beyond all values nothing changes any more: what is not ruled out there is nowhere.
    return Estimate(estimate, bounds[0] if low == lowest else low, bounds[1] if high == highest else high, level, n)
