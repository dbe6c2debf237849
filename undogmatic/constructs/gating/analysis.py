"""Predicted hierarchies and their judges against what can be measured: do judges follow the automatic metrics?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses import plots
from undogmatic.analyses.association import Association, partial
from undogmatic.analyses.base import Judged, check_groups, check_level, family_level
from undogmatic.analyses.following import FEWEST_GROUPS
from undogmatic.analyses.truth import check_bound, check_order, units
from undogmatic.records.records import OVERALL
from undogmatic.records.results import AnalysisResult, FigureData, Finding, Standing, metric_name
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


_OUTCOMES: dict[limits.Outcome, tuple[str, Standing]] = {
    "above": ("follows", "supported"),
    "below": ("below", "refuted"),
    "open": ("open", "undecided"),
    "missing": ("missing", "undecided"),
}


class Followed(NamedTuple):
    """How one judge's overall score follows F1. `reason` is the key of the sentence that says so, `standing` what it
    means for the claim; `beyond` is the correlation at an equal number of gates."""

    judge: str
    rows: pd.DataFrame
    order: limits.Limits | None
    beyond: Association
    reason: str
    standing: Standing


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
        followed = [self._followed(known[known["judge"] == judge], judge, level, rng) for judge in judges]
        findings += [self._say(each, level) for each in followed]
        findings += _failed(known)
        tracking = self._tracking(judged, known, rng, level)
        for row in tracking.itertuples():
            for column in ("spearman", "low", "high", "mae", "bias"):
                value = float(getattr(row, column))
                if np.isfinite(value):
                    metrics[metric_name("gating", column, str(row.judge), str(row.criterion))] = value
        shown = [each.order for each in followed if each.order is not None]
        if shown:
            lowest = min(shown, key=lambda found: found.estimate)
            metrics |= plots.interval("gating.spearman", lowest.estimate, lowest.low, lowest.high)
        verdict, standing = self._verdict(followed, level)
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"tracking": tracking} | tables if len(tracking) else tables,
                findings,
                [_figure(judged, each) for each in followed if len(each.rows) > 2],
                verdict,
                standing,
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

    def _followed(self, rows: pd.DataFrame, judge: str, level: float, rng: np.random.Generator) -> Followed:
        """The overall score of one judge against F1, failures of it included."""
        rows = rows[rows["criterion"] == OVERALL]
        done = rows[rows["score"].notna()]
        nothing = Association(np.nan, np.nan, np.nan, np.nan, len(done))
        if (why := self._unheld(rows, done, level)) is not None:
            return Followed(judge, done, None, nothing, *why)
        found = limits.order(rows["score"], rows[F1], rng, groups=units(rows), level=level)
        if found is None:
            return Followed(judge, done, None, nothing, "same_f1", "undecided")
        beyond = partial(done["score"].rank(), done[F1].rank(), done[GATES].rank(), done["group"], rng, level)
        reason, standing = _OUTCOMES[limits.hold(found, self.order).outcome]
        if found.best_high < 0:
            reason, standing = "reversed", "refuted"
        elif standing == "supported" and not beyond.low > 0:
            reason, standing = "size", "undecided"
        return Followed(judge, done, found, beyond, reason, standing)

    def _unheld(self, rows: pd.DataFrame, done: pd.DataFrame, level: float) -> tuple[str, Standing] | None:
        """What makes it needless to look at the order, and how it leaves the claim."""
        groups = done["group"].nunique()
        if rows.empty:
            return "no_overall", "undecided"
        if groups < FEWEST_GROUPS:
            return "few", "undecided"
        if checks.is_constant(done["score"].to_numpy(dtype=np.float64)):
            shown = len(done) == len(rows) and limits.most_order(groups, level) < self.order
            return "constant", "refuted" if shown else "undecided"
        return None

    def _say(self, each: Followed, level: float) -> Finding:
        found = each.order
        values: dict[str, Any] = {"judge": each.judge, "n": len(each.rows), "groups": each.rows["group"].nunique()}
        values |= {"level": level, "order": self.order}
        if found is None:
            needed = limits.fewest_same(self.order, level) if each.reason == "constant" else FEWEST_GROUPS
            return Finding(f"gating.judge_{each.reason}", values | {"needed": needed})
        values |= {"spearman": found.estimate, "interval": (found.low, found.high)}
        if each.reason in ("follows", "size"):
            values |= {"beyond": each.beyond.estimate, "beyond_interval": (each.beyond.low, each.beyond.high)}
        return Finding(f"gating.judge_{each.reason}", values)

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
            row: dict[str, Any] = {"judge": judge, "criterion": criterion, "metric": _label(column)}
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

    def _verdict(self, followed: list[Followed], level: float) -> tuple[Finding, Standing]:
        by: dict[str, list[str]] = {"supported": [], "refuted": [], "undecided": []}
        for each in followed:
            by[each.standing].append(each.judge)
        values = {"order": self.order, "level": level}
        if by["refuted"]:
            return Finding("gating.verdict_refuted", values | {"judges": by["refuted"]}), "refuted"
        if by["undecided"] or not followed:
            return Finding("gating.verdict_undecided", values | {"judges": by["undecided"]}), "undecided"
        return Finding("gating.verdict_supported", values | {"judges": by["supported"]}), "supported"


def _label(column: str) -> str:
    return MEASURED[column.removeprefix("metadata.")]


def _failed(known: pd.DataFrame) -> list[Finding]:
    """Predictions that are hierarchies, and that a judge failed on all the same."""
    failed = known[known["error"].notna()].drop_duplicates(["item_id", "judge"])
    if failed.empty:
        return []
    return [Finding("gating.failed", {"n": len(failed)})]


def _by(rows: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """Means of the metrics per group, the lowest F1 first."""
    columns = {f"metadata.{given}": label for given, label in MEASURED.items() if f"metadata.{given}" in rows}
    grouped = rows.rename(columns=columns).groupby(column, sort=False)
    table = grouped[list(columns.values())].mean()
    table.insert(0, "n", grouped.size())
    return table.sort_values("f1", kind="stable").rename_axis(name).reset_index()


def _figure(judged: Judged, each: Followed) -> FigureData:
    data: dict[str, Any] = {
        "x": each.rows[F1].tolist(),
        "y": each.rows["score"].tolist(),
        "x_label": "f1",
        "y_label": "score",
    }
    if each.rows["condition"].notna().all():
        data["groups"] = each.rows["condition"].tolist()
    return FigureData(f"scatter_{each.judge}", "scatter", data)
