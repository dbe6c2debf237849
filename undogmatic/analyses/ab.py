"""The paired experiment: do texts that differ only in how they argue get different scores, and is it not length?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.analyses import comparison, length, plots, rivals
from undogmatic.analyses.base import (
    AnalysisResult,
    FigureData,
    Finding,
    Judged,
    check_level,
    failed_finding,
    metric_name,
)
from undogmatic.analyses.comparison import Comparison, Settings, compare, describe
from undogmatic.analyses.margins import margin_of
from undogmatic.analyses.pairs import Pairs, match
from undogmatic.analyses.truth import check_order
from undogmatic.analyses.verdict import Evidence, decide
from undogmatic.errors import ConfigError
from undogmatic.stats import paired, power


@dataclass(frozen=True)
class AbAnalysis:
    """Treatment against baseline, pair by pair; the hybrid against both; power; length. docs/verdicts.md has the rules.

    The first repeat is used. A pair with a failed side is left out and counted.

    Args:
        treatment: Condition expected to have more of the fault that the rubric measures.
        baseline: Condition expected to have less of it.
        hybrid: A third condition, compared with both, or None; pairs may lack it.
        level: Confidence level of every interval.
        resamples: Bootstrap resamples.
        zero_method: What Wilcoxon's test does with differences of zero.
        alpha: Significance level.
        power: Wanted probability of finding a difference, for the minimum detectable effect.
        relevant_share: Smallest difference worth finding, as a share of the scale (0.1: a tenth of it).
        breakdowns: Metadata keys of the treatment's texts to describe the mean difference by, where they have them.
    """

    name: ClassVar[str] = "ab"
    treatment: str
    baseline: str
    hybrid: str | None = None
    level: float = 0.95
    resamples: Annotated[int, Field(le=1_000_000)] = 5000
    zero_method: paired.ZeroMethod = "pratt"
    alpha: float = 0.05
    power: float = 0.8
    relevant_share: float = 0.1
    breakdowns: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_level(
            self.name,
            self.resamples,
            level=self.level,
            alpha=self.alpha,
            power=self.power,
            relevant_share=self.relevant_share,
        )
        if self.power <= self.alpha:
            raise ConfigError(f"`analysis.power` is {self.power}; it must be above `analysis.alpha` ({self.alpha}).")
        if len({self.treatment, self.baseline, self.hybrid}) < 3:
            raise ConfigError(
                f"`analysis.treatment` is {self.treatment!r}, `analysis.baseline` {self.baseline!r} and "
                f"`analysis.hybrid` {self.hybrid!r}; they must be three conditions (or analysis.hybrid=null)."
            )

    def check(self, judged: Judged) -> None:
        """Raises DataError if the conditions are missing or a pair is not complete."""
        check_order(self.name, judged.rubric)
        judged.need(self.name, "condition", (self.treatment, self.baseline))
        judged.need(self.name, "pair_id")
        self._pairs(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `ab.share_expected`, absent where no pair is complete."""
        self.check(judged)
        pairs = self._pairs(judged)
        conditions = list(pairs.sides)
        ids = pairs.complete(self.treatment, self.baseline)
        counts = judged.counts(conditions)
        n_left_out = len(pairs.sides[self.treatment]) - len(ids)
        values = {c: pairs.scores(c, pairs.complete(c)) for c in conditions}

        metrics: dict[str, float] = {
            "ab.pairs": len(ids),
            "ab.pairs_left_out": n_left_out,
            "ab.judged": int(counts["judged"].sum()),
            "ab.failed": int(counts["failed"].sum()),
        }
        tables = {"groups": _groups(counts, values)}
        findings = [Finding("ab.pairs", {"n": len(ids), "treatment": self.treatment, "baseline": self.baseline})]
        findings += failed_finding(counts)
        if n_left_out:
            findings.append(Finding("ab.left_out", {"n": n_left_out, "total": n_left_out + len(ids)}))
        for row in tables["groups"].itertuples():
            metrics |= {
                metric_name("ab.mean", row.condition): row.mean,
                metric_name("ab.median", row.condition): row.median,
            }

        verdict = self._too_few(len(ids))
        if len(ids):
            settings = Settings(judged.sign, self.level, self.resamples, self.zero_method)
            comparisons = self._compare(pairs, settings, rng)
            numbers, said = describe(comparisons[0], settings, rng)
            metrics |= numbers
            findings += said
            findings += self._hybrid(comparisons, metrics)
            tables["comparisons"] = comparison.table(comparisons)
            tables["length"] = length.table(pairs, conditions, {c: pairs.complete(c) for c in conditions})
            tables |= self._breakdowns(pairs, ids)
            tables["pairs"] = self._pair_table(pairs, ids)
            if len(ids) >= 2:
                verdict, numbers, said = self._judge(judged, comparisons[0], pairs, ids, rng)
                metrics |= numbers
                findings += said
        figures, missing = self._figures(judged, pairs, ids, values)
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables=tables,
                findings=findings + missing,
                figures=figures,
                verdict=verdict,
                headline="ab.share_expected" if len(ids) else None,
            )
        ]

    def _pairs(self, judged: Judged) -> Pairs:
        optional = (self.hybrid,) if self.hybrid is not None and self.hybrid in judged.conditions() else ()
        return match(judged, (self.treatment, self.baseline), optional)

    def _compare(self, pairs: Pairs, settings: Settings, rng: np.random.Generator) -> list[Comparison]:
        """The primary comparison first, then the hybrid's two where pairs have it; all expected in one direction."""
        planned = [(self.treatment, self.baseline)]
        if self.hybrid is not None and self.hybrid in pairs.sides:
            planned += [(self.treatment, self.hybrid), (self.hybrid, self.baseline)]
        found = [compare(pairs, a, b, settings, rng) for a, b in planned]
        return [one for one in found if one is not None]

    def _hybrid(self, comparisons: Sequence[Comparison], metrics: dict[str, float]) -> list[Finding]:
        if self.hybrid is None:
            return []
        if len(comparisons) < 3:
            return [Finding("ab.no_hybrid", {"hybrid": self.hybrid})]
        adjusted = paired.holm([c.test.p_value for c in comparisons])
        keys = ("ab.p_holm", "ab.treatment_vs_hybrid_p_holm", "ab.hybrid_vs_baseline_p_holm")
        metrics |= dict(zip(keys, map(float, adjusted), strict=True))
        over, under = (float(c.differences.mean()) for c in comparisons[1:])
        metrics |= {"ab.treatment_vs_hybrid": over, "ab.hybrid_vs_baseline": under}
        values = {
            "hybrid": self.hybrid,
            "treatment": self.treatment,
            "baseline": self.baseline,
            "under": over,
            "under_p": float(adjusted[1]),
            "under_n": comparisons[1].test.n_pairs,
            "over": under,
            "over_p": float(adjusted[2]),
            "over_n": comparisons[2].test.n_pairs,
        }
        return [Finding("ab.hybrid", values)]

    def _judge(
        self, judged: Judged, found: Comparison, pairs: Pairs, ids: pd.Index, rng: np.random.Generator
    ) -> tuple[Finding, dict[str, float], list[Finding]]:
        """Power, length and the verdict over all."""
        relevant = self.relevant_share * (judged.rubric.maximum - judged.rubric.minimum)
        detectable, metrics, findings = self._power(found.differences, relevant)
        margin = margin_of(judged.rubric).value
        shared: dict[str, Any] = {"sign": judged.sign, "margin": margin, "level": self.level}
        checks = [
            length.check_length(pairs, self.treatment, self.baseline, ids, unit=unit, rng=rng, **shared)
            for unit in length.UNITS
        ]
        matched = length.check_matched(pairs, self.treatment, self.baseline, ids, target=self.power, rng=rng, **shared)
        rival = rivals.paired_rival(pairs, self.treatment, self.baseline, ids, rng=rng, **shared)
        said = [length.say(check, judged.sign, margin) for check in checks]
        said += [length.say_matched(matched, judged.sign, margin), rivals.say(rival, judged.sign, margin)]
        for numbers, sentences in said:
            metrics |= numbers
            findings += sentences
        evidence = Evidence(
            n_pairs=len(ids),
            fewest_pairs=power.fewest_pairs(self.alpha),
            p_value=found.test.p_value,
            direction=None if found.rank_biserial is None else judged.sign * found.rank_biserial,
            share_low=found.share.low,
            control=length.control(checks[0], matched, judged.sign, margin),
            detectable=detectable,
        )
        outcome = decide(evidence, self.alpha, relevant)
        if outcome == "too_few":
            return self._too_few(len(ids)), metrics, findings
        seen = {"p": found.test.p_value, "share": found.share.share, "difference": float(found.differences.mean())}
        extra: dict[str, dict[str, Any]] = {
            "identical": {},
            "not_supported": {"p": found.test.p_value, "detectable": detectable, "power": self.power},
            "underpowered": {"p": found.test.p_value, "detectable": detectable, "relevant": relevant},
        }
        values = {"treatment": self.treatment, "baseline": self.baseline, "n": len(ids)} | extra.get(outcome, seen)
        return Finding(f"ab.verdict_{outcome}", values), metrics, findings

    def _power(self, d: NDArray[np.float64], relevant: float) -> tuple[float | None, dict[str, float], list[Finding]]:
        """The smallest difference that this many pairs of this spread would find; None where there is no spread."""
        metrics: dict[str, float] = {}
        findings: list[Finding] = []
        spread, detectable = float(np.std(d, ddof=1)), None
        if d.size >= power.fewest_pairs(self.alpha) and spread > 0:
            effect = power.minimum_detectable_effect(d.size, spread, self.power, self.alpha)
            detectable = effect.effect
            at_relevant = power.power_at(relevant, d.size, spread, self.alpha)
            assert detectable is not None
            metrics |= {
                "ab.minimum_detectable": detectable,
                "ab.minimum_detectable_sd": effect.dz,
                "ab.power_at_relevant": at_relevant,
            }
            values = {"n": d.size, "detectable": detectable, "sd": spread, "dz": effect.dz, "power": self.power}
            findings.append(Finding("ab.power", values | {"relevant": relevant, "at_relevant": at_relevant}))
        return detectable, metrics, findings

    def _too_few(self, n: int) -> Finding:
        return Finding("ab.verdict_too_few", {"n": n, "needed": power.fewest_pairs(self.alpha)})

    def _breakdowns(self, pairs: Pairs, ids: pd.Index) -> dict[str, pd.DataFrame]:
        """Mean difference by each of `breakdowns`: description only, the groups are small."""
        d = pairs.scores(self.treatment, ids) - pairs.scores(self.baseline, ids)
        side = pairs.sides[self.treatment].loc[ids]
        tables = {}
        for key in self.breakdowns:
            column = f"metadata.{key}"
            if column in side and side[column].notna().any():
                grouped = pd.Series(d).groupby(side[column].to_numpy(dtype=object)).agg(["size", "mean"])
                grouped = grouped.rename(columns={"size": "n", "mean": "mean_difference"})
                tables[f"by_{key}"] = grouped.rename_axis(key).reset_index()
        return tables

    def _pair_table(self, pairs: Pairs, ids: pd.Index) -> pd.DataFrame:
        """The scores of every complete pair, smallest difference first."""
        table = pd.DataFrame({"pair_id": ids})
        for condition, side in pairs.sides.items():
            table[condition] = side["score"].reindex(ids).to_numpy()
        table["difference"] = table[self.treatment] - table[self.baseline]
        return table.sort_values("difference", kind="stable").reset_index(drop=True)

    def _figures(
        self, judged: Judged, pairs: Pairs, ids: pd.Index, values: dict[str, NDArray[np.float64]]
    ) -> tuple[list[FigureData], list[Finding]]:
        figures, missing = plots.distributions(judged.rubric, values)
        a, b = pairs.scores(self.treatment, ids), pairs.scores(self.baseline, ids)
        if len(ids) < plots.FEWEST:
            return figures, [*missing, plots.too_few("slope", len(ids))]
        lines = list(zip(b.tolist(), a.tolist(), strict=True))
        data = {"left": self.baseline, "right": self.treatment, "pairs": lines, "y_label": "score"}
        figures.append(FigureData("slope", "slope", data | {"limits": plots.limits(judged.rubric)}))
        return figures, missing


def _groups(counts: pd.DataFrame, values: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    rows = []
    for row in counts.itertuples():
        condition = str(row.condition)
        if values[condition].size:
            rows.append({"condition": condition, **paired.summary(values[condition])._asdict(), "failed": row.failed})
    return pd.DataFrame(rows, columns=["condition", *paired.Summary._fields, "failed"])
