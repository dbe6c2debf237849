"""Systems held against one another on the same cases: what is shown of every two, and of the one that comes first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.margins import Margin
from undogmatic.constructs.faithfulness.pillars import finding
from undogmatic.records.results import Finding, Standing
from undogmatic.stats import paired
from undogmatic.stats.claims import Claim, claim

NOISE = 12
"""Decimals: sums of the same numbers in another order are one."""


class Compared(NamedTuple):
    """Two systems: `claim` is of the mean of left minus right over cases, None where there is one group or every
    difference is 0; `p` of the exact signed-rank test over groups, None where every difference is 0."""

    left: str
    right: str
    difference: float
    claim: Claim | None
    p: float | None
    same: bool


class Comparison(NamedTuple):
    """Systems over the cases that all have. `alpha` is what each pair's interval leaves out, so that all together hold
    with the level asked for (Bonferroni); `order` has the systems by their means, the highest first."""

    pairs: list[Compared]
    order: list[str]
    alpha: float
    n_cases: int
    n_groups: int


def compare(table: pd.DataFrame, groups: Sequence[str], margin: Margin, level: float, power: float) -> Comparison:
    """Every two systems over the cases.

    Args:
        table: Cases x systems without a missing value, high is good.
        groups: The independent unit of each case.
        margin: Smallest difference that matters.
        level: Of all intervals together.
        power: For the number of cases that would decide.
    """
    order = table.mean().round(NOISE).sort_values(ascending=False, kind="stable").index.tolist()
    pairs = list(itertools.combinations(order, 2))
    alpha = (1 - level) / max(1, len(pairs))
    codes = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1]
    n_groups = int(codes.max()) + 1 if codes.size else 0
    found = []
    for left, right in pairs:
        d = (table[left] - table[right]).to_numpy(dtype=np.float64)
        same = not d.round(NOISE).any()
        p = held = None
        if not same:
            p = paired.wilcoxon((np.bincount(codes, d) / np.bincount(codes)).round(NOISE)).p_value
        if n_groups >= 2:
            reach = margin.span
            bounds = (-reach, reach) if np.abs(d).max() <= reach else None
            held = claim(d, margin.value, alpha=alpha, power=power, groups=codes, bounds=bounds)
        found.append(Compared(left, right, float(d.mean()) if d.size else float("nan"), held, p, same))
    return Comparison(found, order, alpha, len(table), n_groups)


def shown(pair: Compared, margin: Margin) -> str:
    """What is shown of the left system against the right one."""
    if pair.claim is None:
        return "open"
    outcome = pair.claim.outcome
    if outcome == "within":
        return "equal" if margin.equivalence else "open"
    if outcome == "open" or not margin.superiority:
        return "open"
    return "better" if outcome == "beyond" else "worse"


def tests(found: Comparison, margin: Margin) -> pd.DataFrame:
    """A row per pair, with Holm's correction of the p-values; what is shown is decided by the intervals."""
    known = [pair.p for pair in found.pairs if pair.p is not None]
    adjusted = iter(paired.holm(known).tolist() if known else [])
    rows = []
    for pair in found.pairs:
        held = pair.claim
        row: dict[str, Any] = {"left": pair.left, "right": pair.right, "difference": pair.difference}
        row |= {"low": held.low if held else np.nan, "high": held.high if held else np.nan, "n": found.n_cases}
        row |= {"p": np.nan if pair.p is None else pair.p}
        row |= {"p_holm": np.nan if pair.p is None else next(adjusted)}
        needed = held.n_needed if held and shown(pair, margin) == "open" else None
        rows.append(row | {"shown": shown(pair, margin), "needed": needed})
    return pd.DataFrame(rows)


class Ruled(NamedTuple):
    """The verdict on "one system is ahead of all others", and which one that is."""

    verdict: Finding
    standing: Standing
    first: str | None = None


def rule(found: Comparison, means: pd.Series, margin: Margin) -> Ruled:
    """The first that applies: nothing to compare; the first is beyond the margin of every other (supported); all lie
    within the margin of one another (refuted); undecided otherwise.

    Args:
        found: The comparison.
        means: Mean of each system.
        margin: As in `compare`.
    """
    values: dict[str, Any] = {"systems": len(found.order), "n": found.n_cases, "groups": found.n_groups}
    if len(found.order) < 2 or not found.n_cases:
        return Ruled(
            Finding("composite.verdict_one" if len(found.order) < 2 else "composite.verdict_none"), "undecided"
        )
    first, second = found.order[:2]
    ahead = [pair for pair in found.pairs if pair.left == first]
    nearest = ahead[0]
    values |= {"first": first, "second": second, "mean": float(means[first]), "margin": margin.value}
    values |= {"difference": nearest.difference, "interval": (None, None), "fewest": 2, "pair_level": 1 - found.alpha}
    if nearest.claim is not None:
        values |= {"interval": (nearest.claim.low, nearest.claim.high), "pair_level": nearest.claim.level}
        values |= {"fewest": nearest.claim.fewest}
    if all(shown(pair, margin) == "better" for pair in ahead):
        return Ruled(
            finding("composite.verdict_first", values, "first mean n second difference pair_level interval margin"),
            "supported",
            first,
        )
    if all(shown(pair, margin) == "equal" for pair in found.pairs):
        return Ruled(finding("composite.verdict_equal", values, "systems margin n"), "refuted", first)
    if any(pair.claim is None or pair.claim.reason == "too_few" for pair in found.pairs):
        return Ruled(
            finding("composite.verdict_few", values, "first mean second difference groups systems fewest"), "undecided"
        )
    needed = [pair.claim.n_needed for pair in ahead if pair.claim is not None and shown(pair, margin) == "open"]
    if any(each is None for each in needed):
        return Ruled(
            finding(
                "composite.verdict_open_endless", values, "first mean n margin second difference pair_level interval"
            ),
            "undecided",
        )
    values |= {"needed": max((each for each in needed if each is not None), default=0)}
    return Ruled(
        finding("composite.verdict_open", values, "first mean n margin second difference pair_level interval needed"),
        "undecided",
    )
