"""Compares several things on the same texts: the test and the interval of each difference, one
correction for all.

Sweeps compare jobs with it, the composite compares systems, and an optimisation its program with
the one before. It also corrects for choosing the best of many: flattery, what is best by two
measures at once, how sure a ranking is, and letters for what was not shown to differ.
"""

import math
import string
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from undogmatic.stats import checks, jackknife, means, paired
from undogmatic.stats.checks import Array, Groups, Index, Labels, Rng
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Bounds, Estimate, Outcome

_SHOWN = {1: ("better", "worse"), -1: ("worse", "better"), 0: ("higher", "lower")}
"""What an interval beyond the margin, and one against it, says of the left thing; by `better` of
the measure."""

NOISE = 9
"""Decimals beyond which two numbers are one. Scores are kept with six, so nothing real lies beyond
nine; and sums of a thousand scores of 100 in another order differ in the twelfth, so that twelve
would take some of that for a difference.
"""
COLUMNS = [
    "left",
    "right",
    "measure",
    "difference",
    "low",
    "high",
    "n",
    "p",
    "p_holm",
    "shown",
    "needed",
]


class Differences:
    """Values of one thing less those of another on the same texts, shape (n,), and the independent
    unit of each."""

    def __init__(self, values: ArrayLike, groups: Labels) -> None:
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
        return np.asarray(
            (np.bincount(self.codes, self.values) / np.bincount(self.codes)).round(
                NOISE
            )
        )

    @property
    def p(self) -> float | None:
        """Wilcoxon's test of no difference over units; None where there is none."""
        return None if self.none else paired.wilcoxon(self.by_unit).p_value

    def p_beyond(self, margin: float) -> float:
        """Test that the difference lies within the margin, over units, on the side that speaks more
        against it."""
        above = paired.wilcoxon(self.by_unit - margin, alternative="greater").p_value
        below = paired.wilcoxon(self.by_unit + margin, alternative="less").p_value
        return min(1.0, 2 * min(above, below))

    def claim(
        self,
        margin: float,
        alpha: float,
        reach: float | None = None,
        power: float = 0.8,
    ) -> Claim | None:
        """Hold the mean difference against a margin; None of fewer than two units.

        Args:
            margin: Smallest difference that matters, in the units of the values.
            reach: Largest difference possible; None where there is none, or it is not known.
        """
        # One unit does not show by how much units differ.
        if self.n_units < 2:
            return None
        bounds = (
            None
            if reach is None or np.abs(self.values).max() > reach
            else (-reach, reach)
        )
        return claim(
            self.values,
            margin,
            alpha=alpha,
            power=power,
            groups=self.codes,
            bounds=bounds,
        )


class Apart(NamedTuple):
    """How far two things lie apart: the interval of the difference, and what it shows against the
    margin; `needed` units would settle it."""

    interval: means.Bounds
    outcome: Outcome | Literal["identical"]
    needed: int | None = None


UNKNOWN = Apart((np.nan, np.nan), "open")


@dataclass(frozen=True)
class Comparison:
    """Two things by one measure: left minus right over `n` independent units.

    `p` is that of no difference, None where both have the same values, so that there is nothing to
    test. `limits` gives the interval for the share of errors that is allowed to it, which is known
    once all comparisons are.
    """

    left: str
    right: str
    measure: str
    difference: float
    n: int
    p: float | None
    limits: Callable[[float], Apart]


def identical(left: str, right: str, measure: str, n: int) -> Comparison:
    """Compare two that have the same values."""
    shown = UNKNOWN._replace(outcome="identical")
    return Comparison(left, right, measure, 0.0, n, None, lambda _: shown)


class Family(NamedTuple):
    """`table` has COLUMNS, a row per comparison; `size` hypotheses were corrected for; `alpha` is
    left to each interval."""

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
    """Correct all comparisons at once, by Holm, over the hypotheses of all measures and pairs.

    A difference in a measure of `by_interval` is shown by its interval alone, which must lie beyond
    the margin; in any other, by its corrected p-value below `level` and an interval without 0.

    Args:
        better: Per measure +1 where more is better, -1 where less is, 0 where neither is.
        by_interval: Measures in score units, which have a margin.
        twins: Per measure the first thing with the same values as each. Comparisons of the same
            values are one hypothesis: it counts once, with the largest p-value, and every row of it
            shows the corrected one.
        level: Probability that anything at all is shown where nothing differs.
        alpha: Left to each interval; None: an equal share of `level` for every hypothesis.
    References:
        Holm (1979), A simple sequentially rejective multiple test procedure.
        https://www.jstor.org/stable/4615733
    """
    hypotheses: dict[tuple[str, frozenset[str]], float] = {}
    keys = []
    for one in comparisons:
        first = (twins or {}).get(one.measure, {})
        sides = frozenset(
            [first.get(one.left, one.left), first.get(one.right, one.right)]
        )
        key = one.measure, sides
        keys.append(key)
        if one.p is not None:
            # The same comparison by two names is one chance to be wrong, and the larger
            # p-value is the honest one.
            hypotheses[key] = max(one.p, hypotheses.get(key, 0.0))
    size = len(hypotheses)
    adjusted = {}
    if size:
        p_values = paired.holm(list(hypotheses.values()))
        adjusted = dict(zip(hypotheses, p_values, strict=True))
    # Holm's p-values have no intervals; Bonferroni's, which are wider, hold for all comparisons
    # together.
    alpha = level / max(1, size) if alpha is None else alpha
    rows = []
    for one, key in zip(comparisons, keys, strict=True):
        (low, high), outcome, needed = one.limits(alpha)
        by_test = one.measure not in by_interval
        # Both have to show it: an interval of one comparison is not corrected as its test is.
        if outcome in ("beyond", "against") and by_test and not adjusted[key] < level:
            outcome = "open"
        above, below = _SHOWN[better[one.measure]]
        words = {
            "beyond": above,
            "against": below,
            "within": "equal",
            "identical": "identical",
        }
        row = {
            "left": one.left,
            "right": one.right,
            "measure": one.measure,
            "difference": one.difference,
            "low": low,
            "high": high,
            "n": one.n,
            "p": np.nan if one.p is None else one.p,
            "p_holm": np.nan if one.p is None else float(adjusted[key]),
            "shown": words.get(outcome, "open"),
            "needed": needed,
        }
        rows.append(row)
    return Family(pd.DataFrame(rows, columns=COLUMNS), size, alpha)


def twins(values: Mapping[str, pd.Series | pd.DataFrame | None]) -> dict[str, str]:
    """Find each thing's first twin: the first one with the same values of the same texts, itself
    where there is none."""
    rounded = {
        name: column.round(NOISE)
        for name, column in values.items()
        if column is not None
    }

    def first_twin(column: pd.Series | pd.DataFrame) -> str:
        return next(name for name, other in rounded.items() if column.equals(other))

    return {name: first_twin(column) for name, column in rounded.items()}


def exchange_p(
    statistic: jackknife.Prepared,
    one: Array,
    other: Array,
    codes: Index,
    estimate: float,
    draws: int,
    rng: Rng,
) -> float | None:
    """Compute the p-value of a difference under exchange of both sides' rows, unit by unit; None
    where it is mostly undefined.

    Where fewer than 20 of the draws are as far from 0, it is that of a normal distribution with
    their spread: a correction for many comparisons asks for p-values that no number of draws can
    show.

    References:
        Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.
    """
    of_draws = statistic.on(np.concatenate([one, other]))
    # Whole units are exchanged: texts of a pair say nothing independent of each other.
    swapped = rng.random((draws, int(codes.max()) + 1)) < 0.5
    parts = []
    rows = np.arange(len(one))
    for part in np.array_split(swapped, 1 + draws * len(one) // jackknife.AT_ONCE):
        there = part[:, codes]
        mine = np.where(there, rows + len(one), rows)
        theirs = np.where(there, rows, rows + len(one))
        with np.errstate(all="ignore"):
            parts.append(of_draws(mine) - of_draws(theirs))
    drawn = np.concatenate(parts)
    drawn = drawn[~np.isnan(drawn)]
    # A coefficient that most exchanges leave undefined has no distribution to be far out in.
    if drawn.size < 0.95 * draws:
        return None
    # Rounding must not make a draw that is the data themselves a little nearer than they are.
    as_far = int(np.sum(np.abs(drawn) >= abs(estimate) * (1 - 1e-9)))
    spread = float(np.sqrt(np.mean(drawn**2)))
    if as_far >= 20 or spread == 0:
        return (as_far + 1) / (drawn.size + 1)
    return float(2 * special.ndtr(-abs(estimate) / spread))


def p_of_interval(limits: Callable[[float], means.Bounds]) -> float:
    """Find the smallest share of errors at which an interval leaves 0 out: the wider it is, the
    smaller is that share."""
    low, high = 0.0, 1.0
    for _ in range(30):  # then it is known to a billionth
        middle = (low + high) / 2
        bottom, top = limits(middle)
        if bottom > 0 or top < 0:
            high = middle
        else:
            low = middle
    return high


def flattery(values: Array, groups: Index, rng: Rng, resamples: int = 2000) -> float:
    """Measure by how much the mean of the candidate that is chosen for its mean exceeds what it is,
    on average.

    Groups of texts are drawn anew; in each draw the best is chosen by its mean there, and what it
    shows there beyond its mean over all texts is the flattery. What is seen stands for the truth,
    so where all candidates are alike but for chance it says somewhat less than the truth (their
    seen means differ already).

    Args:
        values: More is better, shape (n_candidates, n_texts), one at least, without NaN.
        groups: The independent unit of each text, shape (n_texts,).
    Returns:
        In units of the values; 0 for a single candidate, but for the draws' own chance.
    References:
        Efron (1983), Estimating the error rate of a prediction rule.
        doi:10.1080/01621459.1983.10477973
    """
    if values.ndim != 2 or not values.size or np.isnan(values).any():
        raise ValueError("values must be candidates x texts without NaN")
    codes = np.unique(groups, return_inverse=True)[1]
    n = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes, row, minlength=n) for row in values])
    sizes = np.bincount(codes, minlength=n)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    # All candidates by the same draw, as they are all measured on the same texts.
    means = (drawn @ sums.T) / (drawn @ sizes)[:, None]
    best = means.argmax(axis=1)
    return float((means[np.arange(resamples), best] - values.mean(axis=1)[best]).mean())


def apart(one: Estimate, other: Estimate) -> Estimate:
    """Estimate the difference of two independent estimates from their intervals, finite and of the
    same level as these.

    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures.
        doi:10.1002/sim.3095
    """
    if not np.isfinite([one.value, *one.interval, other.value, *other.interval]).all():
        raise ValueError("estimates and limits must be numbers")
    low, high = jackknife.apart(one, other, 0.0, math.inf)
    return Estimate(one.value - other.value, low, high, one.level)


def front(quality: Array, cost: Array) -> NDArray[np.bool_]:
    """Find the candidates that no other beats, shape (n,): none is at least as good (high
    `quality`) and as cheap, and better in one."""
    good = quality[:, None] <= quality[None, :]
    cheap = cost[:, None] >= cost[None, :]
    better = (quality[:, None] < quality[None, :]) | (cost[:, None] > cost[None, :])
    return np.asarray(~(good & cheap & better).any(axis=1))


def letter_display(
    names: Sequence[str], different: Collection[tuple[str, str]]
) -> dict[str, str]:
    """Give letters to names: two names share one exactly if they are not a different pair.

    Args:
        names: Distinct, in the order in which letters are given out (best first).
        different: Pairs of them that differ, in any order.
    Returns:
        Name -> its letters, e.g. "ab"; {} where more letters would be needed than there are (52).
    References:
        Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons,
        insert and absorb. doi:10.1198/1061860043515
    """
    if unknown := {name for pair in different for name in pair} - set(names):
        raise ValueError(f"pairs name {sorted(unknown)}, which are not among the names")
    groups = [frozenset(names)]
    for one, other in different:
        split: list[frozenset[str]] = []
        for group in groups:
            split += (
                [group - {one}, group - {other}] if {one, other} <= group else [group]
            )
        distinct = list(dict.fromkeys(split))
        # A group within another says nothing that the larger one does not say.
        groups = [
            group
            for group in distinct
            if not any(group < larger for larger in distinct)
        ]
    order = {name: n for n, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(order[name] for name in group))
    if len(groups) > len(string.ascii_letters):
        return {}
    letters = dict.fromkeys(names, "")
    for letter, group in zip(string.ascii_letters, groups, strict=False):
        for name in group:
            letters[name] += letter
    return letters


class Ranks(NamedTuple):
    """Per system, shape (n_systems,) each: its place by the mean (1 is the highest, ties share the
    mean place), the `ends` of the interval of its place, and the share of resamples in which it
    comes first (ties split it).
    """

    place: Array
    ends: Bounds
    first: Array
    n_units: int


def ranks(
    values: ArrayLike,
    rng: Rng,
    level: float = 0.95,
    n_resamples: int = 2000,
    *,
    groups: Groups = None,
) -> Ranks:
    """Place systems by their means over cases, with percentile intervals of a bootstrap over cases.

    Whole cases are drawn, so that systems stay compared on the same ones. With few cases the
    bootstrap sees too little of what other cases would do, and its intervals are too narrow: they
    describe, and tests between systems decide.

    Args:
        values: Shape (n_cases, n_systems), two or more, high is good.
    References:
        Goldstein and Spiegelhalter (1996), League tables and their limitations. doi:10.2307/2983325
    """
    table = checks.rows(values, "values")
    checks.share(level, "level")
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(
            f"`values` has shape {table.shape}; a ranking needs (n_cases, at least 2 systems)."
        )
    codes = checks.groups(groups, len(table))
    units = jackknife.Units(codes)
    drawn_means = [
        table.take(drawn, axis=0).mean(axis=1)
        for drawn in units.draws(rng, n_resamples)
    ]
    # Equal means differ in the last digits by the order of their sums.
    means = np.concatenate(drawn_means).round(12)
    places = checks.ranks(-means, axis=1)
    tails = [(1 - level) / 2, (1 + level) / 2]
    # A place that some resample has, and not one between two.
    low, high = np.quantile(places, tails, axis=0, method="inverted_cdf")
    place = checks.ranks(-table.mean(axis=0).round(12))
    ahead = means == means.max(axis=1, keepdims=True)
    first = (ahead / ahead.sum(axis=1, keepdims=True)).mean(axis=0)
    ends = Bounds(np.minimum(low, place), np.maximum(high, place))
    return Ranks(place, ends, first, units.n)
