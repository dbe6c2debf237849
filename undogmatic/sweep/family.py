"""The family of a sweep: all that is tested between its jobs, corrected once, and what that shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.truth import Margin
from undogmatic.stats import paired
from undogmatic.stats.claims import Outcome, claim

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ALPHA = 0.05
"""Probability that anything at all is shown in a sweep in which nothing differs."""
NOISE = 9
"""Decimals; scores are kept with six, so what differs beyond is rounding."""
COLUMNS = ["left", "right", "measure", "difference", "low", "high", "n", "p", "p_holm", "shown", "needed"]

BETTER = {
    "review_gain": 1,
    "aurc": -1,
    "ece": -1,
    "spearman": 1,
    "absolute_error": -1,
    "pair_difference": 1,
    "interval_score": -1,
    "pearson": 1,
    "score": 0,
}
"""All measures that are tested, what speaks most to quality first: +1 where more is better, -1 where less is, 0 where
neither is. Coverage, width and seconds are described and not tested: more or less of them is no merit by itself."""
WITH_MARGIN = ("absolute_error", "pair_difference", "score")
"""In score units, so that there is a difference too small to matter."""

Shown = Literal["better", "worse", "higher", "lower", "equal", "open", "identical"]


class Limits(NamedTuple):
    """The interval of a difference, and what it shows against the margin; `needed` units would settle it."""

    low: float
    high: float
    outcome: Outcome
    needed: int | None


class Comparison(NamedTuple):
    """Two jobs by one measure: left minus right over `n` independent units.

    `p` is that of no difference, None where both have the same values, so that there is nothing to test. `limits`
    gives the interval for the share of errors that is allowed to it, which is known once all comparisons are.
    """

    left: str
    right: str
    measure: str
    difference: float
    n: int
    p: float | None
    limits: Callable[[float], Limits]


UNKNOWN = Limits(np.nan, np.nan, "open", None)


class Family(NamedTuple):
    """`table` has COLUMNS, a row per comparison; `size` hypotheses were corrected for; `alpha` is left to each
    interval, so that all of them together hold with probability 1 - ALPHA."""

    table: pd.DataFrame
    size: int
    alpha: float


def of_means(
    left: str, right: str, measure: str, values: Array, groups: Index, margin: Margin, reach: float | None = None
) -> Comparison:
    """Two jobs by the mean of a difference per text (or pair): Wilcoxon's test, and the interval against the margin.

    Args:
        left, right, measure: What is compared.
        values: Left minus right, shape (n,).
        groups: The independent unit of each value, any whole numbers; test and interval take groups as units.
        margin: What matters, in the units of the values.
        reach: Largest difference possible, None if there is none or it is not known.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    n = int(codes.max()) + 1
    if not values.round(NOISE).any():
        return Comparison(left, right, measure, 0.0, n, None, lambda _: UNKNOWN)
    p = paired.wilcoxon((np.bincount(codes, values) / np.bincount(codes)).round(NOISE)).p_value

    def limits(alpha: float) -> Limits:
        if n < 2:
            return UNKNOWN
        bounds = None if reach is None or np.abs(values).max() > reach else (-reach, reach)
        found = claim(values, margin.value, alpha=alpha, groups=codes, bounds=bounds)
        allowed = margin.equivalence if found.outcome == "within" else margin.superiority
        return Limits(found.low, found.high, found.outcome if allowed else "open", found.n_needed if allowed else None)

    return Comparison(left, right, measure, float(values.mean()), n, p, limits)


def corrected(comparisons: Sequence[Comparison], twins: Mapping[str, Mapping[str, str]]) -> Family:
    """All comparisons of a sweep with one correction, Holm's, over the hypotheses of all measures and pairs of jobs.

    A difference in a measure with a margin is shown by its interval alone, which must lie beyond the margin; in any
    other, by its corrected p-value below ALPHA and an interval without 0.

    Args:
        comparisons: Of every two jobs by every measure.
        twins: Per measure the first job with the same values as each job. Comparisons of the same values are one
            hypothesis: it counts once, with the largest p-value, and every row of it shows the corrected one.
    References:
        Holm (1979), A simple sequentially rejective multiple test procedure. https://www.jstor.org/stable/4615733
    """
    hypotheses: dict[tuple[str, frozenset[str]], float] = {}
    keys = []
    for each in comparisons:
        first = twins.get(each.measure, {})
        key = each.measure, frozenset(first.get(job, job) for job in (each.left, each.right))
        keys.append(key)
        if each.p is not None:
            hypotheses[key] = max(each.p, hypotheses.get(key, 0.0))
    size = len(hypotheses)
    adjusted = dict(zip(hypotheses, paired.holm(list(hypotheses.values())), strict=True)) if size else {}
    alpha = ALPHA / max(1, size)
    rows = []
    for each, key in zip(comparisons, keys, strict=True):
        p_holm = None if each.p is None else float(adjusted[key])
        limits = UNKNOWN if each.p is None else each.limits(alpha)
        row = {"left": each.left, "right": each.right, "measure": each.measure, "difference": each.difference}
        row |= {"low": limits.low, "high": limits.high, "n": each.n, "p": each.p, "p_holm": p_holm}
        rows.append(row | {"shown": _shown(each.measure, limits.outcome, p_holm), "needed": limits.needed})
    table = pd.DataFrame(rows, columns=COLUMNS)
    places = table["measure"].map({measure: n for n, measure in enumerate(BETTER)})
    order = pd.DataFrame({"place": places, "p": table["p_holm"].astype(float)})
    table = table.loc[order.sort_values(["place", "p"], kind="stable").index].reset_index(drop=True)
    return Family(table, size, alpha)


def _shown(measure: str, outcome: Outcome, p_holm: float | None) -> Shown:
    """What is shown of the left job against the right one."""
    if p_holm is None:
        return "identical"
    if outcome == "within":
        return "equal"
    if outcome == "open" or (measure not in WITH_MARGIN and p_holm >= ALPHA):
        return "open"
    up = outcome == "beyond"
    if not BETTER[measure]:
        return "higher" if up else "lower"
    return "better" if up == (BETTER[measure] > 0) else "worse"


def twins(values: Mapping[str, pd.Series | pd.DataFrame | None]) -> dict[str, str]:
    """Each job's first twin: the first job with the same values of the same items, itself where there is none."""
    known = {name: own.round(NOISE) for name, own in values.items() if own is not None}
    return {name: next(other for other in known if own.equals(known[other])) for name, own in known.items()}
