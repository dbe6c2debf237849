"""No analysis: what was scored, in numbers, and nothing concluded from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses import plots
from undogmatic.analyses.base import MOST_GROUPS, Judged, failed_finding
from undogmatic.analyses.interim import so_far
from undogmatic.records.results import AnalysisResult, Finding, metric_name
from undogmatic.stats import paired

_QUANTILES = (0.05, 0.95)


@dataclass(frozen=True)
class NoAnalysis:
    """Count, mean, quantiles and failures of all texts and of each condition (first repeat), and a histogram.

    Of categories without an order, their number in all texts and in each condition.
    """

    name: ClassVar[str] = "none"

    def check(self, judged: Judged) -> None:
        """Any dataset will do."""

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result without headline."""
        first = judged.frame[judged.frame["repeat"] == 0]
        scores = judged.scored()["score"].to_numpy(dtype=np.float64)
        # Texts without condition are one group of their own; with them alone the total says it all.
        named = first.assign(condition=first["condition"].where(first["condition"].notna(), "all"))
        everything = Judged(named, judged.rubric)
        conditions = everything.conditions()
        if not judged.rubric.scale.ordered:
            return [_categories(everything, conditions)]
        by_condition = dict(iter(everything.scored().groupby("condition", sort=False)["score"]))
        groups = {c: by_condition.get(c, named["score"].head(0)).to_numpy(dtype=np.float64) for c in conditions}
        counts = everything.counts(conditions)
        failed = int(counts["failed"].sum())
        metrics: dict[str, float] = {"none.judged": scores.size, "none.failed": failed}
        rows = []
        for label, values, n_failed in [
            ("total", scores, failed),
            *((str(r.condition), groups[str(r.condition)], int(r.failed)) for r in counts.itertuples()),
        ]:
            if values.size and not (label == "all" and len(conditions) == 1):
                rows.append(_row(label, values, n_failed))
        findings = failed_finding(counts)
        if scores.size:
            s = paired.summary(scores)
            metrics |= {"none.mean": s.mean, "none.median": s.median, "none.q1": s.q1, "none.q3": s.q3}
            values_said = {"n": s.n, "mean": s.mean, "median": s.median, "quartiles": (s.q1, s.q3)}
            findings.insert(0, Finding("none.summary", values_said))
        mean = so_far(judged.frame, judged.rubric)
        if mean is not None:
            said = {"n": mean.n, "total": mean.n_total, "mean": mean.estimate, "interval": (mean.low, mean.high)}
            findings.append(Finding("none.so_far", said | {"level": mean.level}))
        # More groups than can be told apart are drawn as one; the table has them all.
        drawn = groups if len(groups) <= MOST_GROUPS else {"all": scores}
        figures, missing = plots.distributions(judged.rubric, drawn, kinds=("histogram",))
        tables = {"scores": pd.DataFrame(rows)} if rows else {}
        return [AnalysisResult(self.name, metrics, tables, findings + missing, figures)]


def _categories(judged: Judged, conditions: list[str]) -> AnalysisResult:
    """How many texts got which category, those that nobody got included."""
    rows, counts = judged.scored(), judged.counts(conditions)
    scale = judged.rubric.scale
    categories = [scale.write(value) for value in scale.default_levels()]
    groups = {"total": rows}
    if conditions != ["all"]:
        by_condition = dict(iter(rows.groupby("condition", sort=False)))
        groups |= {c: by_condition.get(c, rows.head(0)) for c in conditions}
    table = pd.DataFrame(
        [
            {"condition": group, "category": category, "n": n, "share": n / len(own)}
            for group, own in groups.items()
            for category, n in own["category"].value_counts().reindex(categories, fill_value=0).items()
            if len(own)
        ]
    )
    metrics: dict[str, float] = {"none.judged": len(rows), "none.failed": int(counts["failed"].sum())}
    findings = failed_finding(counts)
    if len(rows):
        total = table[table["condition"] == "total"]
        metrics |= {metric_name("none.share", str(row.category)): float(row.share) for row in total.itertuples()}
        most = total.loc[total["n"].idxmax()]
        findings.insert(0, Finding("none.most", {"n": len(rows), "category": most["category"], "share": most["share"]}))
    return AnalysisResult(NoAnalysis.name, metrics, {"categories": table} if len(rows) else {}, findings)


def _row(label: str, values: np.ndarray, failed: int) -> dict[str, object]:
    p5, p95 = (float(q) for q in np.quantile(values, _QUANTILES))
    s = paired.summary(values)
    spread = {"minimum": s.minimum, "p5": p5, "q1": s.q1, "median": s.median, "q3": s.q3, "p95": p95}
    return {"condition": label, "n": s.n, "mean": s.mean, "sd": s.sd, **spread, "maximum": s.maximum, "failed": failed}
