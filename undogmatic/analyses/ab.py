"""The paired experiment: do texts that differ only in how they argue get different scores, and is it not their length?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import length, plots
from undogmatic.analyses.base import (
    AnalysisResult,
    FigureData,
    Finding,
    Judged,
    check_level,
    failed_finding,
    metric_name,
)
from undogmatic.analyses.pairs import Pairs, match
from undogmatic.analyses.verdict import Evidence, decide
from undogmatic.errors import ConfigError
from undogmatic.stats import paired, power, ranking

# The Hodges-Lehmann estimate averages all pairs of differences; beyond this its bootstrap takes minutes.
_MOST_PAIRS_HODGES_LEHMANN = 300
_BREAKDOWNS = ("court", "authority_form")


class Comparison(NamedTuple):
    """Condition `a` minus condition `b` over the pairs that have both. `rank_biserial` is None if nothing differs."""

    a: str
    b: str
    differences: NDArray[np.float64]
    mean: paired.BootstrapInterval | None
    rank_biserial: float | None
    share: paired.ShareInDirection
    test: paired.WilcoxonResult


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
        relevant_share: Smallest difference worth finding, as a share of the scale (0.1: 10 points of 100).
    """

    name: ClassVar[str] = "ab"
    treatment: str = "authority_only"
    baseline: str = "explained_only"
    hybrid: str | None = "explained_cited"
    level: float = 0.95
    resamples: int = 5000
    zero_method: paired.ZeroMethod = "pratt"
    alpha: float = 0.05
    power: float = 0.8
    relevant_share: float = 0.1

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level, alpha=self.alpha, power=self.power, relevant_share=self.relevant_share)
        if self.power <= self.alpha:
            raise ConfigError(f"`analysis.power` is {self.power}; it must be above `analysis.alpha` ({self.alpha}).")
        if self.resamples < 100:
            raise ConfigError(f"`analysis.resamples` is {self.resamples}; give at least 100.")
        if len({self.treatment, self.baseline, self.hybrid}) < 3:
            raise ConfigError(
                f"`analysis.treatment` is {self.treatment!r}, `analysis.baseline` {self.baseline!r} and `analysis.hybrid` "
                f"{self.hybrid!r}; they must be three conditions (or analysis.hybrid=null)."
            )

    def check(self, judged: Judged) -> None:
        """Raises DataError if the conditions are missing or a pair is not complete."""
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
            metrics |= {metric_name("ab.mean", row.condition): row.mean, metric_name("ab.median", row.condition): row.median}

        verdict = self._too_few(len(ids))
        if len(ids):
            comparisons = self._compare(judged, pairs, rng)
            numbers, said = self._describe(judged, comparisons[0], pairs, ids, rng)
            metrics |= numbers
            findings += said
            findings += self._hybrid(comparisons, metrics)
            tables["comparisons"] = _comparison_table(comparisons)
            tables["length"] = length.table(pairs, conditions, {c: pairs.complete(c) for c in conditions})
            tables |= self._breakdowns(pairs, ids)
            tables["pairs"] = self._pair_table(pairs, ids)
            if len(ids) >= 2:
                verdict, numbers, said = self._judge(judged, comparisons[0], pairs, ids)
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

    def _compare(self, judged: Judged, pairs: Pairs, rng: np.random.Generator) -> list[Comparison]:
        """The primary comparison first, then the hybrid's two where pairs have it; all expected in one direction."""
        planned = [(self.treatment, self.baseline)]
        if self.hybrid is not None and self.hybrid in pairs.sides:
            planned += [(self.treatment, self.hybrid), (self.hybrid, self.baseline)]
        found = []
        for a, b in planned:
            ids = pairs.complete(a, b)
            if not len(ids):
                continue
            d = pairs.scores(a, ids) - pairs.scores(b, ids)
            found.append(
                Comparison(
                    a,
                    b,
                    d,
                    paired.bootstrap_interval(d, _mean, rng, self.level, self.resamples) if d.size > 1 else None,
                    paired.rank_biserial(d) if np.any(d != 0) else None,
                    paired.share_in_direction(d, "positive" if judged.sign > 0 else "negative", self.level),
                    paired.wilcoxon(d, self.zero_method),
                )
            )
        return found

    def _describe(
        self, judged: Judged, found: Comparison, pairs: Pairs, ids: pd.Index, rng: np.random.Generator
    ) -> tuple[dict[str, float], list[Finding]]:
        """Difference, test, direction and separation of treatment and baseline."""
        d, sign, test = found.differences, judged.sign, found.test
        area = ranking.auc(
            sign * pairs.scores(self.treatment, ids), sign * pairs.scores(self.baseline, ids), self.level
        )
        metrics: dict[str, float] = {"ab.p": test.p_value, "ab.zero_differences": test.n_zero}
        metrics |= plots.interval("ab.share_expected", found.share.share, found.share.low, found.share.high)
        metrics |= plots.interval("ab.auc", area.auc, area.low, area.high)
        if found.rank_biserial is not None:
            metrics["ab.rank_biserial"] = found.rank_biserial
        findings = []
        if found.mean is not None:
            middle = paired.bootstrap_interval(d, _median, rng, self.level, self.resamples)
            metrics |= plots.interval("ab.mean_difference", found.mean.estimate, found.mean.low, found.mean.high)
            metrics |= plots.interval("ab.median_difference", middle.estimate, middle.low, middle.high)
            values: dict[str, Any] = {
                "mean": found.mean.estimate,
                "mean_interval": (found.mean.low, found.mean.high),
                "median": middle.estimate,
                "median_interval": (middle.low, middle.high),
                "level": self.level,
            }
            findings.append(Finding("ab.difference", values))
            if d.size <= _MOST_PAIRS_HODGES_LEHMANN:
                typical = paired.bootstrap_interval(d, paired.hodges_lehmann, rng, self.level, self.resamples)
                metrics |= plots.interval("ab.hodges_lehmann", typical.estimate, typical.low, typical.high)
                values = {"estimate": typical.estimate, "interval": (typical.low, typical.high)}
                findings.append(Finding("ab.hodges_lehmann", values))
            else:
                findings.append(
                    Finding("ab.no_hodges_lehmann", {"n": d.size, "most": _MOST_PAIRS_HODGES_LEHMANN})
                )
        values = {"statistic": test.statistic, "p": test.p_value, "n": test.n_pairs}
        findings.append(Finding(f"ab.test_{test.method}", values))
        findings.append(Finding(f"ab.zeros_{test.zero_method}", {"zeros": test.n_zero, "n": test.n_pairs}))
        if found.rank_biserial is not None:
            findings.append(Finding("ab.effect", {"rank_biserial": found.rank_biserial}))
        share = found.share
        values = {"hits": share.n_in_direction, "n": share.n_pairs, "share": share.share, "ties": share.n_ties}
        findings.append(Finding("ab.share", values | {"interval": (share.low, share.high)}))
        findings.append(Finding("ab.auc", {"auc": area.auc, "interval": (area.low, area.high)}))
        return metrics, findings

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
        self, judged: Judged, found: Comparison, pairs: Pairs, ids: pd.Index
    ) -> tuple[Finding, dict[str, float], list[Finding]]:
        """Power, length and the verdict over both."""
        d = found.differences
        metrics: dict[str, float] = {}
        findings: list[Finding] = []
        relevant = self.relevant_share * (judged.rubric.maximum - judged.rubric.minimum)
        spread, fewest, detectable = float(np.std(d, ddof=1)), power.fewest_pairs(self.alpha), None
        if d.size >= fewest and spread > 0:
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

        checks = [length.check_length(pairs, self.treatment, self.baseline, ids, u, self.level) for u in length.UNITS]
        matched = length.check_matched(
            pairs, self.treatment, self.baseline, ids, self.zero_method, self.alpha, self.power
        )
        for one in checks:
            numbers, said = _say_length(one)
            metrics |= numbers
            findings += said
        if matched is not None:
            metrics |= {
                "ab.matched_pairs": matched.n,
                "ab.matched_difference": matched.mean_difference,
                "ab.matched_p": matched.test.p_value,
            }
            values = {"n": matched.n, "difference": matched.mean_difference, "p": matched.test.p_value}
            findings.append(Finding("ab.matched" if matched.telling else "ab.matched_too_few", values))

        sign = judged.sign
        evidence = Evidence(
            n_pairs=d.size,
            fewest_pairs=fewest,
            p_value=found.test.p_value,
            direction=None if found.rank_biserial is None else sign * found.rank_biserial,
            share_low=found.share.low,
            control=length.control(checks[0], matched, sign, self.alpha),
            detectable=detectable,
        )
        outcome = decide(evidence, self.alpha, relevant)
        if outcome == "too_few":
            return self._too_few(d.size), metrics, findings
        values = {"treatment": self.treatment, "baseline": self.baseline, "n": d.size}
        extra: dict[str, dict[str, Any]] = {
            "identical": {},
            "not_supported": {"p": found.test.p_value, "detectable": detectable, "power": self.power},
            "underpowered": {"p": found.test.p_value, "detectable": detectable, "relevant": relevant},
        }
        seen = {"p": found.test.p_value, "share": found.share.share, "difference": float(d.mean())}
        return Finding(f"ab.verdict_{outcome}", values | extra.get(outcome, seen)), metrics, findings

    def _too_few(self, n: int) -> Finding:
        return Finding("ab.verdict_too_few", {"n": n, "needed": power.fewest_pairs(self.alpha)})

    def _breakdowns(self, pairs: Pairs, ids: pd.Index) -> dict[str, pd.DataFrame]:
        """Mean difference by court and by form of the citation: description only, the groups are small."""
        d = pairs.scores(self.treatment, ids) - pairs.scores(self.baseline, ids)
        side = pairs.sides[self.treatment].loc[ids]
        tables = {}
        for key in _BREAKDOWNS:
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


def _say_length(check: length.LengthCheck) -> tuple[dict[str, float], list[Finding]]:
    unit, area = check.unit, check.auc
    metrics = plots.interval(f"ab.length_auc.{unit}", area.auc, area.low, area.high)
    values: dict[str, Any] = {"unit": unit, "auc": area.auc, "interval": (area.low, area.high)}
    if check.correlation.estimate is not None:
        metrics[f"ab.length_spearman.{unit}"] = check.correlation.estimate
    findings = [Finding("ab.length", values | {"spearman": check.correlation.estimate})]
    fit = check.controlled
    if fit is None:
        key = "ab.same_length" if check.same_length else "ab.not_controlled"
        return metrics, [*findings, Finding(key, {"unit": unit})]
    metrics |= plots.interval(f"ab.controlled_difference.{unit}", fit.intercept, fit.low, fit.high)
    values = {"unit": unit, "raw": fit.raw_difference, "difference": fit.intercept, "interval": (fit.low, fit.high)}
    key = "ab.controlled_extrapolated" if fit.extrapolated else "ab.controlled"
    return metrics, [*findings, Finding(key, values)]


def _groups(counts: pd.DataFrame, values: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    rows = []
    for row in counts.itertuples():
        condition = str(row.condition)
        if values[condition].size:
            rows.append({"condition": condition, **paired.summary(values[condition])._asdict(), "failed": row.failed})
    return pd.DataFrame(rows, columns=["condition", *paired.Summary._fields, "failed"])


def _comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    adjusted = paired.holm([c.test.p_value for c in comparisons])
    rows = []
    for one, p_holm in zip(comparisons, adjusted, strict=True):
        mean = one.mean
        rows.append(
            {
                "a": one.a,
                "b": one.b,
                "n": one.test.n_pairs,
                "n_zero": one.test.n_zero,
                "mean_difference": float(one.differences.mean()),
                "low": None if mean is None else mean.low,
                "high": None if mean is None else mean.high,
                "median_difference": float(np.median(one.differences)),
                "rank_biserial": one.rank_biserial,
                "share_expected": one.share.share,
                "p": one.test.p_value,
                "p_holm": float(p_holm),
            }
        )
    return pd.DataFrame(rows)


def _mean(values: NDArray[np.float64]) -> float:
    return float(np.mean(values))


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values))
