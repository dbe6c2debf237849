"""Holds systems against one another on the same cases: what is shown of every two, and of the one that comes first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.margins import Margin
from undogmatic.constructs.faithfulness.pillars import finding
from undogmatic.records.results import Finding, Standing
from undogmatic.stats import compare
from undogmatic.stats.claims import Claim, Outcome
from undogmatic.stats.compare import NOISE, Apart, Comparison, Differences


class SystemPair(NamedTuple):
    """Two systems, left minus right over cases: the claim (None where there is one group), and what the margin allows
    to say of it."""

    left: str
    right: str
    differences: Differences
    claim: Claim | None
    outcome: Outcome

    @property
    def needed(self) -> int | None:
        """Cases that would decide; None where it is decided, or no number would."""
        return self.claim.n_needed if self.claim is not None and self.outcome == "open" else None


class Systems(NamedTuple):
    """Systems over the cases that all have. `alpha` is what each pair's interval leaves out, so that all together hold
    with the level asked for (Bonferroni); `order` has the systems by their means, the highest first."""

    pairs: list[SystemPair]
    order: list[str]
    alpha: float
    n_cases: int
    n_groups: int

    def tests(self) -> pd.DataFrame:
        """A row per pair, with Holm's correction of the p-values; what is shown is decided by the intervals."""
        comparisons = [
            Comparison(left, right, "", own.mean, self.n_cases, own.p, partial(self._apart, n))
            for n, (left, right, own, *_) in enumerate(self.pairs)
        ]
        return compare.corrected(comparisons, {"": 1}, by_interval=("",), alpha=self.alpha).table.drop(
            columns="measure"
        )

    def _apart(self, n: int, alpha: float) -> Apart:
        _, _, _, claim, outcome = self.pairs[n]
        return Apart((np.nan, np.nan) if claim is None else (claim.low, claim.high), outcome, self.pairs[n].needed)


def compare_systems(table: pd.DataFrame, groups: Sequence[str], margin: Margin, level: float, power: float) -> Systems:
    """Every two systems over the cases.

    Args:
        table: Cases x systems without a missing value, high is good.
        groups: The independent unit of each case.
        margin: Smallest difference that matters.
        level: Of all intervals together.
        power: For the number of cases that would decide.
    """
    order = table.mean().round(NOISE).sort_values(ascending=False, kind="stable").index.tolist()
    names = list(itertools.combinations(order, 2))
    alpha = (1 - level) / max(1, len(names))
    pairs = []
    for left, right in names:
        differences = Differences(table[left] - table[right], [str(group) for group in groups])
        claim = differences.claim(margin.value, alpha, margin.span, power)
        outcome: Outcome = claim.outcome if claim is not None and margin.allows(claim.outcome) else "open"
        pairs.append(SystemPair(left, right, differences, claim, outcome))
    return Systems(pairs, order, alpha, len(table), len(set(map(str, groups))))


class Ruled(NamedTuple):
    """The verdict on "one system is ahead of all others", and which one that is."""

    verdict: Finding
    standing: Standing
    first: str | None = None


_ABOUT = "first mean n margin second difference pair_level interval"


def rule(found: Systems, means: pd.Series, margin: Margin) -> Ruled:
    """The first that applies: nothing to compare; the first is beyond the margin of every other (supported); all lie
    within the margin of one another (refuted); undecided otherwise.

    Args:
        found: The comparison.
        means: Mean of each system.
        margin: As in `compare_systems`.
    """
    if len(found.order) < 2 or not found.n_cases:
        return Ruled(
            Finding("composite.verdict_one" if len(found.order) < 2 else "composite.verdict_none"), "undecided"
        )
    first, second = found.order[:2]
    ahead = [pair for pair in found.pairs if pair.left == first]
    nearest = ahead[0].claim
    values: dict[str, Any] = {"systems": len(found.order), "n": found.n_cases, "groups": found.n_groups}
    values |= {"first": first, "second": second, "mean": float(means[first]), "margin": margin.value}
    values |= {"difference": ahead[0].differences.mean}
    values |= {
        "interval": (None, None) if nearest is None else (nearest.low, nearest.high),
        "fewest": 2 if nearest is None else nearest.fewest,
        "pair_level": 1 - found.alpha if nearest is None else nearest.level,
    }
    if all(pair.outcome == "beyond" for pair in ahead):
        return Ruled(finding("composite.verdict_first", values, _ABOUT), "supported", first)
    if all(pair.outcome == "within" for pair in found.pairs):
        return Ruled(finding("composite.verdict_equal", values, "systems margin n"), "refuted", first)
    if any(pair.claim is None or pair.claim.reason == "too_few" for pair in found.pairs):
        used = "first mean second difference groups systems fewest"
        return Ruled(finding("composite.verdict_few", values, used), "undecided")
    needed = [pair.needed for pair in ahead if pair.outcome == "open"]
    if any(each is None for each in needed):
        return Ruled(finding("composite.verdict_open_endless", values, _ABOUT), "undecided")
    values |= {"needed": max((each for each in needed if each is not None), default=0)}
    return Ruled(finding("composite.verdict_open", values, f"{_ABOUT} needed"), "undecided")
