"""Compares things two by two on the same texts: the test and the interval of each difference, one correction for all.

Sweeps compare jobs with it, the composite compares systems, and an optimisation its program with the one before.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, jackknife, means, paired
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Outcome

_SHOWN = {1: ("better", "worse"), -1: ("worse", "better"), 0: ("higher", "lower")}
"""What an interval beyond the margin, and one against it, says of the left thing; by `better` of the measure."""

NOISE = 9
"""Decimals beyond which two numbers are one. Scores are kept with six, so nothing real lies beyond nine; and sums of a
thousand scores of 100 in another order differ in the twelfth, so that twelve would take some of that for a difference.
"""
COLUMNS = ["left", "right", "measure", "difference", "low", "high", "n", "p", "p_holm", "shown", "needed"]


class Differences:
    """Values of one thing less those of another on the same texts, shape (n,), and the independent unit of each."""

    def __init__(self, values: ArrayLike, groups: Sequence[object] | ArrayLike) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.codes = checks.labels(groups, "groups", self.values.size)
        self.n_units = int(self.codes.max(initial=-1)) + 1
        self.mean = float(self.values.mean()) if self.values.size else float("nan")

    @property
    def none(self) -> bool:
        """Whether both have the same values."""
        return not self.values.round(NOISE).any()

    @cached_property
    def by_unit(self) -> Array:
        """The mean difference of each unit, shape (n_units,)."""
        return np.asarray((np.bincount(self.codes, self.values) / np.bincount(self.codes)).round(NOISE))

    @property
    def p(self) -> float | None:
        """Wilcoxon's test of no difference over units; None where there is none."""
        return None if self.none else paired.wilcoxon(self.by_unit).p_value

    def p_beyond(self, margin: float) -> float:
        """Test that the difference lies within the margin, over units, on the side that speaks more against it."""
        above = paired.wilcoxon(self.by_unit - margin, alternative="greater").p_value
        below = paired.wilcoxon(self.by_unit + margin, alternative="less").p_value
        return min(1.0, 2 * min(above, below))

    def claim(self, margin: float, alpha: float, reach: float | None = None, power: float = 0.8) -> Claim | None:
        """Hold the mean difference against a margin; None of fewer than two units.

        Args:
            margin: Smallest difference that matters, in the units of the values.
            reach: Largest difference possible; None where there is none, or it is not known.
        """
        if self.n_units < 2:
            return None
        bounds = None if reach is None or np.abs(self.values).max() > reach else (-reach, reach)
        return claim(self.values, margin, alpha=alpha, power=power, groups=self.codes, bounds=bounds)


class Apart(NamedTuple):
    """How far two things lie apart: the interval of the difference, and what it shows against the margin; `needed`
    units would settle it."""

    interval: means.Bounds
    outcome: Outcome | Literal["identical"]
    needed: int | None = None


UNKNOWN = Apart((np.nan, np.nan), "open")


@dataclass(frozen=True)
class Comparison:
    """Two things by one measure: left minus right over `n` independent units.

    `p` is that of no difference, None where both have the same values, so that there is nothing to test. `limits`
    gives the interval for the share of errors that is allowed to it, which is known once all comparisons are.
    """

    left: str
    right: str
    measure: str
    difference: float
    n: int
    p: float | None
    limits: Callable[[float], Apart]


def identical(left: str, right: str, measure: str, n: int) -> Comparison:
    """The comparison of two that have the same values."""
    return Comparison(left, right, measure, 0.0, n, None, lambda _: UNKNOWN._replace(outcome="identical"))


class Family(NamedTuple):
    """`table` has COLUMNS, a row per comparison; `size` hypotheses were corrected for; `alpha` is left to each
    interval."""

    table: pd.DataFrame
    size: int
    alpha: float


def corrected(
    comparisons: Sequence[Comparison],
    better: Mapping[str, int],
    by_interval: Collection[str] = (),
    twins: Mapping[str, Mapping[str, str]] | None = None,
    level: float = 0.05,
    alpha: float | None = None,
) -> Family:
    """All comparisons with one correction, Holm's, over the hypotheses of all measures and pairs.

    A difference in a measure of `by_interval` is shown by its interval alone, which must lie beyond the margin; in any
    other, by its corrected p-value below `level` and an interval without 0.

    Args:
        better: Per measure +1 where more is better, -1 where less is, 0 where neither is.
        by_interval: Measures in score units, which have a margin.
        twins: Per measure the first thing with the same values as each. Comparisons of the same values are one
            hypothesis: it counts once, with the largest p-value, and every row of it shows the corrected one.
        level: Probability that anything at all is shown where nothing differs.
        alpha: Left to each interval; None: an equal share of `level` for every hypothesis.
    References:
        Holm (1979), A simple sequentially rejective multiple test procedure. https://www.jstor.org/stable/4615733
    """
    hypotheses: dict[tuple[str, frozenset[str]], float] = {}
    keys = []
    for one in comparisons:
        first = (twins or {}).get(one.measure, {})
        keys.append((one.measure, frozenset(first.get(name, name) for name in (one.left, one.right))))
        if one.p is not None:
            hypotheses[keys[-1]] = max(one.p, hypotheses.get(keys[-1], 0.0))
    size = len(hypotheses)
    adjusted = dict(zip(hypotheses, paired.holm(list(hypotheses.values())), strict=True)) if size else {}
    alpha = level / max(1, size) if alpha is None else alpha
    rows = []
    for one, key in zip(comparisons, keys, strict=True):
        (low, high), outcome, needed = one.limits(alpha)
        if outcome in ("beyond", "against") and one.measure not in by_interval and not adjusted[key] < level:
            outcome = "open"
        above, below = _SHOWN[better[one.measure]]
        shown = {"beyond": above, "against": below, "within": "equal", "identical": "identical"}.get(outcome, "open")
        tested = (np.nan, np.nan) if one.p is None else (one.p, float(adjusted[key]))
        rows.append((one.left, one.right, one.measure, one.difference, low, high, one.n, *tested, shown, needed))
    return Family(pd.DataFrame(rows, columns=COLUMNS), size, alpha)


def twins(values: Mapping[str, pd.Series | pd.DataFrame | None]) -> dict[str, str]:
    """Each thing's first twin: the first one with the same values of the same texts, itself where there is none."""
    known = {name: own.round(NOISE) for name, own in values.items() if own is not None}
    return {name: next(other for other in known if own.equals(known[other])) for name, own in known.items()}


def exchange_p(
    statistic: jackknife.Prepared, one: Array, other: Array, codes: Index, estimate: float, draws: int
) -> float | None:
    """p-value of a difference under exchange of both sides' rows, unit by unit; None where it is mostly undefined.

    Where fewer than 20 of the draws are as far from 0, it is that of a normal distribution with their spread: a
    correction for many comparisons asks for p-values that no number of draws can show.

    References:
        Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.
    """
    of_draws = statistic.on(np.concatenate([one, other]))
    swapped = np.random.default_rng(0).random((draws, int(codes.max()) + 1)) < 0.5
    parts = []
    for part in np.array_split(swapped, 1 + draws * len(one) // jackknife.AT_ONCE):
        rows, there = np.arange(len(one)), part[:, codes]
        mine, theirs = np.where(there, rows + len(one), rows), np.where(there, rows, rows + len(one))
        with np.errstate(all="ignore"):
            parts.append(of_draws(mine) - of_draws(theirs))
    drawn = np.concatenate(parts)
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size < 0.95 * draws:
        return None
    as_far = int(np.sum(np.abs(drawn) >= abs(estimate) * (1 - 1e-9)))
    spread = float(np.sqrt(np.mean(drawn**2)))
    if as_far >= 20 or spread == 0:
        return (as_far + 1) / (drawn.size + 1)
    return float(2 * special.ndtr(-abs(estimate) / spread))


def p_of_interval(limits: Callable[[float], means.Bounds]) -> float:
    """The smallest share of errors at which an interval leaves 0 out: the wider it is, the smaller is that share."""
    low, high = 0.0, 1.0
    for _ in range(30):  # then it is known to a billionth
        middle = (low + high) / 2
        ends = limits(middle)
        low, high = (low, middle) if ends[0] > 0 or ends[1] < 0 else (middle, high)
    return high
