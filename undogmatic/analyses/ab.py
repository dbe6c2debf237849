"""The paired experiment: do texts that differ only in how they argue get different scores, and is it nothing else?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import comparison, length, plots, rivals
from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.comparison import PairEvidence, PairSettings, Sides, compare, examine, withheld
from undogmatic.analyses.pairs import Pairs, chosen, contrast, listed, match
from undogmatic.analyses.ruling import AB, Ruling, verdict
from undogmatic.analyses.truth import check_order, margin_of
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats import claims, paired


@dataclass(frozen=True)
class AbAnalysis:
    """Treatment against baseline, pair by pair, against a margin; the hybrid; rivals; failures. docs/verdicts.md has
    the rules.

    The first repeat is used. A pair with a failed side is left out and counted, and what it could change is computed.

    Args:
        treatment: Condition expected to have more of the fault that the rubric measures, or several by preference.
        baseline: Condition expected to have less of it, or several: the first combination that stands together in a
            pair counts (`pairs.contrast`). Of two lists of one length, names in the same place belong together, and
            others are never mixed.
        hybrid: A third condition that the treatment must differ from, too, or several by preference, or None; pairs
            may lack it.
        margin: Smallest difference that matters, in score units; None takes the rubric's.
        level: Confidence level of the intervals that describe.
        zero_method: What Wilcoxon's test does with differences of zero.
        alpha: Significance level; the mean difference is held against the margin by its interval of level 1 - alpha.
        power: Wanted probability of finding a difference, for the minimum detectable effect and the pairs needed.
        breakdowns: Metadata keys of the treatment's texts to describe the mean difference by, where they have them.
    """

    name: ClassVar[str] = "ab"
    treatment: str | Sequence[str]
    baseline: str | Sequence[str]
    hybrid: str | Sequence[str] | None = None
    margin: float | None = None
    level: float = 0.95
    zero_method: paired.ZeroMethod = "pratt"
    alpha: float = 0.05
    power: float = 0.8
    breakdowns: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level, alpha=self.alpha, power=self.power)
        if self.power <= self.alpha:
            raise ConfigError(f"`analysis.power` is {self.power}; it must be above `analysis.alpha` ({self.alpha}).")
        if self.alpha >= 0.5:
            raise ConfigError(f"`analysis.alpha` is {self.alpha}; it must be below 0.5, since 1 - 2 alpha is a level.")
        names = [*listed(self.treatment), *listed(self.baseline), *listed(self.hybrid)]
        if not listed(self.treatment) or not listed(self.baseline) or len(set(names)) < len(names):
            raise ConfigError(
                f"`analysis.treatment` is {self.treatment!r}, `analysis.baseline` {self.baseline!r} and "
                f"`analysis.hybrid` {self.hybrid!r}; they must be three conditions (or analysis.hybrid=null), and none "
                "may be named twice."
            )

    def check(self, judged: Judged) -> None:
        """Raises DataError if the conditions are missing or a pair is not complete."""
        check_order(self.name, judged.rubric)
        margin_of(judged.rubric, self.margin)
        sides = self._sides(judged)
        judged.need(self.name, "condition", (sides.treatment, sides.baseline))
        judged.need(self.name, "pair_id")
        self._pairs(judged, sides)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `ab.share_expected`, absent where no pair is complete."""
        self.check(judged)
        sides, pairs = self.matched(judged)
        ids = pairs.complete(sides.treatment, sides.baseline)
        counts = judged.counts(sides.names)
        scored = {c: pairs.complete(c) for c in sides.names}
        values = {c: pairs.scores(c, scored[c]) for c in sides.names}
        total = len(pairs.sides[sides.treatment])
        metrics: dict[str, float] = {
            "ab.pairs": len(ids),
            "ab.pairs_left_out": total - len(ids),
            "ab.judged": int(counts["judged"].sum()),
            "ab.failed": int(counts["failed"].sum()),
        }
        tables = {"groups": _groups(counts, values)}
        for row in tables["groups"].itertuples():
            metrics |= {
                metric_name("ab.mean", row.condition): row.mean,
                metric_name("ab.median", row.condition): row.median,
            }

        settings = self._settings(judged)
        evidence = examine(pairs, sides, settings, rng)
        findings = _setting(evidence, metrics)
        findings += failed_finding(counts)
        if total > len(ids):
            findings.append(Finding("ab.left_out", {"n": total - len(ids), "total": total}))
        ruling = verdict(AB, evidence)
        if evidence.failed and len(ids):
            ruling, numbers, said = self._failures(judged, pairs, ruling, rng)
            metrics |= numbers
            findings += said
        if evidence.main is not None:
            numbers, said = self._describe(evidence)
            metrics |= numbers
            findings += said
            compared = [one for one in (evidence.main, evidence.over, evidence.under) if one is not None]
            tables["comparisons"] = comparison.table(compared, judged.sign)
            tables["length"] = length.table(pairs, sides.names, scored)
            tables |= self._breakdowns(pairs, sides, ids)
            tables["pairs"] = _pair_table(pairs, sides, ids)
        figures, missing = _figures(judged, pairs, sides, ids, values)
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables=tables,
                findings=findings + missing,
                figures=figures,
                verdict=ruling.finding,
                standing=ruling.standing,
                headline="ab.share_expected" if len(ids) else None,
            )
        ]

    def _sides(self, judged: Judged) -> Sides:
        """The contrast that counts, and a hybrid that stands with it in a pair."""
        treatment, baseline = contrast(self.treatment, self.baseline, judged.frame)
        if self.hybrid is None:
            return Sides(treatment, baseline, None)
        frame = judged.frame
        own = frame["pair_id"].isin(frame.loc[frame["condition"].isin([treatment, baseline]), "pair_id"].dropna())
        present = frame.loc[own, "condition"].dropna().unique().tolist()
        hybrid = chosen(self.hybrid, present)
        return Sides(treatment, baseline, hybrid if hybrid in present else None)

    def _pairs(self, judged: Judged, sides: Sides) -> Pairs:
        return match(judged, (sides.treatment, sides.baseline), () if sides.hybrid is None else (sides.hybrid,))

    def _failures(
        self, judged: Judged, pairs: Pairs, ruling: Ruling, rng: np.random.Generator
    ) -> tuple[Ruling, dict[str, float], list[Finding]]:
        """The verdict after what failed judgments could do to it, and what is known of them."""
        sides, settings = ruling.evidence.sides, ruling.evidence.settings
        filled = self._filled(judged, pairs, sides)
        ends = [compare(one, sides.treatment, sides.baseline, settings) for one in filled]
        worst, best = (None if one is None else one.claim for one in ends)
        numbers, said = comparison.describe_failures(pairs, sides.treatment, sides.baseline, settings, worst, best, rng)
        return self._withheld(ruling, *filled, rng), numbers, said

    def matched(self, judged: Judged) -> tuple[Sides, Pairs]:
        """The contrast that counts, and its pairs."""
        sides = self._sides(judged)
        return sides, self._pairs(judged, sides)

    def ruling(self, judged: Judged, sides: Sides, pairs: Pairs, rng: np.random.Generator) -> Ruling:
        """The verdict alone, by the same rules, without what only a report needs; scores are those of `pairs`."""
        settings = self._settings(judged)
        ruling = verdict(AB, examine(pairs, sides, settings, rng, for_report=False))
        if ruling.evidence.failed and ruling.evidence.n_pairs:
            return self._withheld(ruling, *self._filled(judged, pairs, sides), rng)
        return ruling

    def _settings(self, judged: Judged) -> PairSettings:
        margin = margin_of(judged.rubric, self.margin)
        seen = rivals.Seen(judged.rubric.field_words)
        return PairSettings(judged.sign, margin, self.level, self.alpha, self.power, self.zero_method, seen)

    def _filled(self, judged: Judged, pairs: Pairs, sides: Sides) -> tuple[Pairs, Pairs]:
        """The pairs with every failed judgment at the end of the scale that speaks against the claim, and for it."""
        scale = (judged.rubric.minimum, judged.rubric.maximum)
        least, most = (
            pairs.filled(comparison.ends(pairs, sides.treatment, scale, against=against, sign=judged.sign))
            for against in (True, False)
        )
        return least, most

    def _withheld(self, ruling: Ruling, least: Pairs, most: Pairs, rng: np.random.Generator) -> Ruling:
        """What is left of a verdict with failed judgments at their worst for it."""
        if ruling.standing == "undecided":
            return ruling
        filled, e = least if ruling.standing == "supported" else most, ruling.evidence
        return withheld(ruling, verdict(AB, examine(filled, e.sides, e.settings, rng, for_report=False)))

    def _describe(self, e: PairEvidence) -> tuple[dict[str, float], list[Finding]]:
        """Metrics and sentences of all that was examined, in the order in which the rules look at it."""
        assert e.main is not None
        settings, sign, margin = e.settings, e.settings.sign, e.margin.value
        metrics, findings = comparison.describe(e.main, settings)
        parts = []
        if e.rival is not None:
            parts.append(rivals.say(e.rival, sign, margin))
        if e.sides.hybrid is not None:
            parts.append(comparison.describe_hybrid(e.over, e.under, e.sides.hybrid, settings))
            parts.append(({}, _surface_of_hybrid(e)))
        elif self.hybrid is not None:
            parts.append(({}, [Finding("ab.no_hybrid", {"hybrid": listed(self.hybrid)})]))
        if e.lengths is not None:
            parts += [length.say(check, sign, margin) for check in e.lengths.checks]
            parts.append(length.say_matched(e.lengths.matched, sign, margin))
        parts.append(comparison.describe_further(e.main, settings))
        parts.append(self._power(comparison.of_groups(e.main.differences, e.main.groups), margin))
        for numbers, said in parts:
            metrics |= numbers
            findings += said
        return metrics, findings

    def _power(self, d: NDArray[np.float64], margin: float) -> tuple[dict[str, float], list[Finding]]:
        """The smallest true difference that so many groups of this spread would show to be beyond the margin."""
        if d.size < claims.fewest_pairs(self.alpha) or np.std(d, ddof=1) <= 0:
            return {}, []
        spread = float(np.std(d, ddof=1))
        excess = claims.minimum_detectable_effect(d.size, spread, self.power, self.alpha)
        metrics = {"ab.minimum_detectable": margin + excess}
        values = {"groups": d.size, "detectable": margin + excess, "sd": spread, "power": self.power}
        return metrics, [Finding("ab.power", values)]

    def _breakdowns(self, pairs: Pairs, sides: Sides, ids: pd.Index) -> dict[str, pd.DataFrame]:
        """Mean difference by each of `breakdowns`: description only, the groups are small."""
        d = pairs.scores(sides.treatment, ids) - pairs.scores(sides.baseline, ids)
        side = pairs.sides[sides.treatment].loc[ids]
        tables = {}
        for key in self.breakdowns:
            column = f"metadata.{key}"
            if column in side and side[column].notna().any():
                grouped = pd.Series(d).groupby(side[column].to_numpy(dtype=object)).agg(["size", "mean"])
                grouped = grouped.rename(columns={"size": "n", "mean": "mean_difference"})
                tables[f"by_{key}"] = grouped.rename_axis(key).reset_index()
        return tables


def _setting(evidence: PairEvidence, metrics: dict[str, float]) -> list[Finding]:
    """What is expected, of how many pairs, and from where on a difference matters; adds its metrics."""
    margin, sides = evidence.margin, evidence.sides
    metrics |= {"ab.margin": margin.value, "ab.groups": evidence.n_groups}
    values: dict[str, Any] = {"treatment": sides.treatment, "baseline": sides.baseline}
    findings = [
        Finding("ab.expected", values | {"expected": evidence.expected}),
        Finding("ab.pairs", {"n": evidence.n_pairs, "groups": evidence.n_groups} | values),
        Finding("ab.margin", {"margin": margin.value, "source": evidence.source}),
    ]
    return [*findings, Finding("ab.margin_zero")] if margin.value == 0 else findings


def _surface_of_hybrid(e: PairEvidence) -> list[Finding]:
    """What of treatment minus hybrid remains between texts of equal surface, where that was looked at."""
    rival = e.rival_of_hybrid
    if rival is None or rival.at_equal is None:
        return []
    rest = rival.at_equal.difference
    values: dict[str, Any] = {"treatment": e.sides.treatment, "hybrid": e.sides.hybrid, "share": rival.share}
    values |= {**rest.estimate.values("difference"), "level": rest.estimate.level}
    return [Finding("ab.hybrid_equal", values)]


def _pair_table(pairs: Pairs, sides: Sides, ids: pd.Index) -> pd.DataFrame:
    """The scores of every complete pair, smallest difference first."""
    table = pd.DataFrame({"pair_id": ids, "group": pairs.groups(sides.treatment, ids)})
    for condition, side in pairs.sides.items():
        table[condition] = side["score"].reindex(ids).to_numpy()
    table["difference"] = table[sides.treatment] - table[sides.baseline]
    return table.sort_values("difference", kind="stable").reset_index(drop=True)


def _figures(
    judged: Judged, pairs: Pairs, sides: Sides, ids: pd.Index, values: dict[str, NDArray[np.float64]]
) -> tuple[list[FigureData], list[Finding]]:
    figures, missing = plots.distributions(judged.rubric, values)
    a, b = pairs.scores(sides.treatment, ids), pairs.scores(sides.baseline, ids)
    if len(ids) < plots.FEWEST:
        return figures, [*missing, plots.too_few("slope", len(ids))]
    lines = list(zip(b.tolist(), a.tolist(), strict=True))
    data = {"left": sides.baseline, "right": sides.treatment, "pairs": lines, "y_label": "score"}
    figures.append(FigureData("slope", "slope", data | {"limits": plots.limits(judged.rubric)}))
    return figures, missing


def _groups(counts: pd.DataFrame, values: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    rows = []
    for row in counts.itertuples():
        condition = str(row.condition)
        if values[condition].size:
            rows.append({"condition": condition, **paired.summary(values[condition])._asdict(), "failed": row.failed})
    return pd.DataFrame(rows, columns=["condition", *paired.Summary._fields, "failed"])
