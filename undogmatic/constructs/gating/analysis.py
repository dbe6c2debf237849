"""Compares judges of predicted hierarchies with what can be measured of them: do they follow the automatic metrics?"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.association import partial
from undogmatic.analyses.base import Judged, check_groups, check_level, family_level
from undogmatic.analyses.labelled import FEWEST_GROUPS
from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.analyses.truth import check_bound, check_order, units
from undogmatic.records.records import OVERALL
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats import agreement, checks, limits, means

F1, GATES, DEFECT = "metadata.automatic_f1", "metadata.gates", "metadata.defect"
MEASURED = {
    "automatic_f1": "f1",
    "precision": "precision",
    "recall": "recall",
    "structure_accuracy": "structure_accuracy",
    "critical_recall": "critical_recall",
    "hallucination_rate": "hallucination_rate",
    "depth_accuracy": "depth_accuracy",
}
"""Metadata of the dataset, and what the report calls it."""
COUNTERPARTS = {
    OVERALL: "automatic_f1",
    "f1": "automatic_f1",
    "completeness": "recall",
    "accuracy": "precision",
    "structure": "structure_accuracy",
    "critical_recall": "critical_recall",
}
"""Criterion -> the metric that measures the same, or the nearest to it."""

_COUNTED = "judge n groups level order needed"
_HELD = "judge n groups level order spearman=found.value interval=found.interval"
_BEYOND = f"{_HELD} beyond=beyond.estimate.value beyond_interval=beyond.estimate.interval"

JUDGE = Rules("gating.judge_", (
    Rule("no_overall", "undecided", lambda e: not e.overall, _COUNTED),
    Rule("few", "undecided", lambda e: e.groups < FEWEST_GROUPS, _COUNTED),
    Rule("constant", "refuted", lambda e: e.constant and e.whole, _COUNTED),
    Rule("constant", "undecided", lambda e: e.constant, _COUNTED),
    Rule("same_f1", "undecided", lambda e: e.found is None, _COUNTED),
    Rule("reversed", "refuted", lambda e: e.found.best_high < 0, _HELD),
    Rule("below", "refuted", lambda e: e.outcome == "below", _HELD),
    Rule("open", "undecided", lambda e: e.outcome == "open", _HELD),
    Rule("missing", "undecided", lambda e: e.outcome == "missing", _HELD),
    Rule("size", "undecided", lambda e: not e.beyond.estimate.low > 0, _BEYOND),
    Rule("follows", "supported", always, _BEYOND),
))  # fmt: skip
GATING = Rules("gating.verdict_", (
    Rule("refuted", "refuted", lambda e: e.refuted, "order level judges=refuted"),
    Rule("undecided", "undecided", lambda e: e.undecided or not e.supported, "order level judges=undecided"),
    Rule("supported", "supported", always, "order level judges=supported"),
))  # fmt: skip


@dataclass(frozen=True)
class GatingAnalysis:
    """Automatic metrics by fault and by system, predictions that are no hierarchy by defect, and whether each judge's
    criteria follow the metric that measures the same. Predictions of one case are one unit.

    The claim is about the overall score and F1: the whole interval of their rank correlation lies above `order`, and it
    stays above 0 between predictions with equally many gates, or counting gates would do as well.

    Args:
        order: The rank correlation that the lower limit must exceed.
        level: Confidence level of every interval; for several judges, of those of all together.
    """

    name: ClassVar[str] = "gating"
    long: ClassVar[bool] = True
    order: float = 0.5
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        check_bound(self.order)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited without F1 per item, DataError for more conditions or systems than can be compared."""
        check_order(self.name, judged.rubric)
        judged.need(self.name, F1)
        for column in ("condition", "metadata.system"):
            if column in judged.frame:
                check_groups(self.name, column, judged.frame[column].dropna().unique(), "leave the column out")

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `gating.spearman`, the lowest of the judges'."""
        self.check(judged)
        first = judged.frame[judged.frame["repeat"] == 0]
        items = first.drop_duplicates("item_id")
        measured = items[items[F1].notna()]
        findings, tables, metrics = self._predictions(items, measured)
        judges = [str(judge) for judge in first["judge"].dropna().unique()]
        level = family_level(self.level, max(1, len(judges)))
        known = first[first[F1].notna()]
        rulings = [
            verdict(JUDGE, self._followed(known[known["judge"] == judge], judge, level, rng)) for judge in judges
        ]
        followed = [ruling.evidence for ruling in rulings]
        findings += [ruling.finding for ruling in rulings]
        failed = known[known["error"].notna()].drop_duplicates(["item_id", "judge"])
        if len(failed):
            findings.append(Finding("gating.failed", {"n": len(failed)}))
        tracking = self._tracking(judged, known, rng, level)
        for row in tracking.itertuples():
            for column in ("spearman", "low", "high", "mae", "bias"):
                value = float(getattr(row, column))
                if np.isfinite(value):
                    metrics[metric_name("gating", column, str(row.judge), str(row.criterion))] = value
        shown = [judge.found for judge in followed if judge.found is not None]
        if shown:
            lowest = min(shown, key=lambda found: found.value)
            metrics |= lowest.metrics("gating.spearman")
        by = {
            standing: [ruling.evidence.judge for ruling in rulings if ruling.standing == standing]
            for standing in ("supported", "refuted", "undecided")
        }
        ruling = verdict(GATING, SimpleNamespace(order=self.order, level=level, **by))
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"tracking": tracking} | tables if len(tracking) else tables,
                findings,
                [_figure(judge.judge, judge.rows) for judge in followed if judge.n > 2],
                ruling.finding,
                ruling.standing,
                "gating.spearman" if shown else None,
            )
        ]

    def _predictions(
        self, items: pd.DataFrame, measured: pd.DataFrame
    ) -> tuple[list[Finding], dict[str, pd.DataFrame], dict[str, float]]:
        """What was predicted, before anybody judges it."""
        metrics: dict[str, float] = {"gating.predictions": len(items), "gating.malformed": len(items) - len(measured)}
        own = {"n": len(measured), "total": len(items), "cases": int(measured["group"].nunique())}
        findings = [Finding("gating.predictions", own)]
        tables: dict[str, pd.DataFrame] = {}
        if len(measured) < len(items):
            counts = items[DEFECT].value_counts()
            findings.append(Finding("gating.malformed", {"n": len(items) - len(measured)}))
            tables["defects"] = counts.rename_axis("defect").reset_index(name="n")
            metrics |= {metric_name("gating.defect", str(kind)): int(n) for kind, n in counts.items()}
        rows = []
        for name, label in MEASURED.items():
            column = f"metadata.{name}"
            if column not in measured or not (given := measured[measured[column].notna()]).size:
                continue
            row: dict[str, Any] = {"metric": label, "n": len(given), "average": float(given[column].mean())}
            if given["group"].nunique() > 1:
                held = means.interval(given[column], self.level, groups=units(given), bounds=(0.0, 1.0))
                row |= {"low": held.low, "high": held.high}
            rows.append(row)
            metrics[f"gating.mean.{label}"] = row["average"]
        tables["metrics"] = pd.DataFrame(rows)
        for table, column in (("by_condition", "condition"), ("by_system", "metadata.system")):
            if column in measured and measured[column].notna().any():
                tables[table] = _by(measured, column, table.removeprefix("by_"))
        return findings, tables, metrics

    def _followed(self, rows: pd.DataFrame, judge: str, level: float, rng: np.random.Generator) -> SimpleNamespace:
        """How the overall score of one judge follows F1, failures of it included: what JUDGE rules on. `beyond` is the
        correlation at an equal number of gates."""
        rows = rows[rows["criterion"] == OVERALL]
        done = rows[rows["score"].notna()]
        e = SimpleNamespace(judge=judge, rows=done, n=len(done), groups=done["group"].nunique(), level=level)
        e.order, e.overall, e.found, e.needed = self.order, not rows.empty, None, FEWEST_GROUPS
        e.constant = e.groups >= FEWEST_GROUPS and checks.is_constant(done["score"].to_numpy(dtype=np.float64))
        if e.constant:
            e.whole = len(done) == len(rows) and limits.most_order(e.groups, level) < self.order
            e.needed = limits.fewest_same(self.order, level)
        elif e.overall and e.groups >= FEWEST_GROUPS:
            e.found = limits.order(rows["score"], rows[F1], rng, groups=units(rows), level=level)
        if e.found is not None:
            e.beyond = partial(done["score"].rank(), done[F1].rank(), done[GATES].rank(), done["group"], rng, level)
            e.outcome = limits.hold(e.found, self.order).outcome
        return e

    def _tracking(self, judged: Judged, known: pd.DataFrame, rng: np.random.Generator, level: float) -> pd.DataFrame:
        """A row per judge and criterion that a metric measures: rank correlation, error and bias in shares."""
        rows = []
        for (judge, criterion), all_of_it in known.groupby(["judge", "criterion"], sort=False):
            column = f"metadata.{COUNTERPARTS.get(str(criterion), '')}"
            if column not in all_of_it:
                continue
            own = all_of_it[all_of_it[column].notna()]
            done = own[own["score"].notna()]
            share = done["score"].map(judged.rubric.share)
            row: dict[str, Any] = {"judge": judge, "criterion": criterion}
            row |= {"metric": MEASURED[column.removeprefix("metadata.")]}
            row |= {"n": len(done), "spearman": np.nan, "low": np.nan, "high": np.nan}
            row |= {"mae": float((share - done[column]).abs().mean()), "bias": float((share - done[column]).mean())}
            if len(done) >= 4:
                whole = agreement.correlation("spearman", share.to_numpy(), done[column].to_numpy()).estimate
                row["spearman"] = np.nan if whole is None else whole
                if whole is not None and done["group"].nunique() >= FEWEST_GROUPS:
                    held = limits.order(own["score"], own[column], rng, groups=units(own), level=level)
                    row |= {} if held is None else {"low": held.low, "high": held.high}
            rows.append(row)
        return pd.DataFrame(rows)


def _by(rows: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """Means of the metrics per group, the lowest F1 first."""
    columns = {f"metadata.{given}": label for given, label in MEASURED.items() if f"metadata.{given}" in rows}
    grouped = rows.rename(columns=columns).groupby(column, sort=False)
    table = grouped[list(columns.values())].mean()
    table.insert(0, "n", grouped.size())
    return table.sort_values("f1", kind="stable").rename_axis(name).reset_index()


def _figure(judge: str, rows: pd.DataFrame) -> FigureData:
    data: dict[str, Any] = {"x": rows[F1].tolist(), "y": rows["score"].tolist(), "x_label": "f1", "y_label": "score"}
    if rows["condition"].notna().all():
        data["groups"] = rows["condition"].tolist()
    return FigureData(f"scatter_{judge}", "scatter", data)
