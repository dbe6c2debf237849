"""Finds how much a judge may decide alone: a promise about the judgments of which it is sure, or why none can be made.

`judge=selective` keeps the promise: it hands on what lies above the threshold (`judge.rules.guaranteed`)."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.measures import Choice, Measure, choose, uncertainties
from undogmatic.analyses.ruling import ESCALATION, verdict
from undogmatic.analyses.truth import Truth, margin_of, read_truth, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding
from undogmatic.stats.escalation import Escalation, find_threshold, units_needed

THRESHOLD = "escalation.threshold"
ITEMS = ("item_id", "measure", "doubt", "right", "decided")
"""Columns of items_escalation.csv; with the metric THRESHOLD it is all that `judge=selective` needs."""


@dataclass(frozen=True)
class EscalationAnalysis:
    """First repeat, against people's labels or another run: the judge that would be asked when this one hands on.

    A judgment that failed is never decided alone.

    Args:
        rate: Rate of agreement that is promised for what the judge decides alone.
        confidence: Probability with which the promise holds.
        tolerance: Largest difference that counts as agreement, in score units; None is the rubric's margin.
        uncertainty: Which measure of doubt the threshold is on; see analysis=calibration.
        reference: Folder of a run over the same texts whose scores count as right (the expensive judge), or None.
        condition_labels: Condition -> score its texts deserve, or None. With neither, `label` counts.
    """

    name: ClassVar[str] = "escalation"
    rate: float = 0.9
    confidence: float = 0.95
    tolerance: float | None = None
    uncertainty: Choice = "auto"
    reference: str | None = None
    condition_labels: dict[str, float] | None = None

    def __post_init__(self) -> None:
        check_level(self.name, rate=self.rate, confidence=self.confidence)
        if self.tolerance is not None and not self.tolerance >= 0:
            raise ConfigError(f"`analysis.tolerance` is {self.tolerance}; a difference is 0 or more.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited where no true score is known, ConfigError or DataError for one off the scale."""
        read_truth(self.name, judged, self.reference, self.condition_labels)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `escalation.share`, the share that the judge may decide alone."""
        truth = read_truth(self.name, judged, self.reference, self.condition_labels)
        tolerance = margin_of(judged.rubric).value if self.tolerance is None else self.tolerance
        rows = truth.judged
        named = truth.rows.assign(condition=truth.rows["condition"].where(truth.rows["condition"].notna(), "all"))
        findings = failed_finding(Judged(named, judged.rubric).counts([str(c) for c in named["condition"].unique()]))
        needed = units_needed(self.rate, self.confidence)
        metrics: dict[str, float] = {
            "escalation.judged": len(rows),
            "escalation.failed": len(truth.rows) - len(rows),
            "escalation.needed": needed,
        }
        found = uncertainties(rows)
        used = choose(found, self.uncertainty) if len(rows) else None
        if used is None:
            ruling = verdict(ESCALATION, SimpleNamespace(measure=None))
            return [
                AnalysisResult(self.name, metrics, findings=findings, verdict=ruling.finding, standing=ruling.standing)
            ]
        right = ((rows["score"] - rows["truth"]).abs() <= tolerance + 1e-9).to_numpy()
        doubt = found[used].to_numpy(dtype=np.float64)
        result = find_threshold(doubt, right, self.rate, self.confidence, groups=units(rows))
        share = result.share * len(rows) / len(truth.rows)
        agreement = {"tolerance": tolerance, "right": float(right.mean()), "measure": used}
        findings = [_source(truth), Finding("escalation.agreement", agreement), *findings]
        metrics |= {"escalation.share": share, "escalation.agreement": float(right.mean())}
        evidence = SimpleNamespace(
            rate=self.rate,
            confidence=self.confidence,
            measure=used,
            tolerance=tolerance,
            threshold=result.threshold,
            texts=len(truth.rows),
            share=share,
            units=result.n_units,
            needed=needed,
            surest=None,
        )
        if result.steps:
            step = evidence.surest = result.steps[0]
            evidence.wrong = step.n - step.n_right
            evidence.more = units_needed(self.rate, self.confidence, evidence.wrong)
        if result.threshold is not None:
            evidence.low = [step for step in result.steps if step.passed][-1].least
            evidence.decided = int((doubt <= result.threshold).sum())
            metrics |= {THRESHOLD: result.threshold, "escalation.least_agreement": evidence.low}
            calls = float(rows["calls"].sum() + rows["cached"].sum()) / len(rows)
            findings.append(Finding("escalation.saved", {"calls": calls, "handed": 1 - share}))
        ruling = verdict(ESCALATION, evidence)
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"steps": pd.DataFrame(result.steps).rename(columns={"least": "low"})} if result.steps else {},
                findings,
                _figure(result),
                ruling.finding,
                ruling.standing,
                "escalation.share",
                items=_items(rows, used, doubt, right, result),
            )
        ]


def _source(truth: Truth) -> Finding:
    named: dict[str, Any] = {"name": truth.name} if truth.source == "reference" else {}
    return Finding(f"escalation.truth_{truth.source}", {"n": len(truth.judged)} | named)


def _items(rows: pd.DataFrame, used: Measure, doubt: np.ndarray, right: np.ndarray, found: Escalation) -> pd.DataFrame:
    decided = np.zeros(len(rows)) if found.threshold is None else (doubt <= found.threshold).astype(float)
    table = pd.DataFrame({"item_id": rows["item_id"].to_numpy(), "measure": used, "doubt": doubt})
    return table.assign(right=right.astype(float), decided=decided)[list(ITEMS)]


def _figure(found: Escalation) -> list[FigureData]:
    if len(found.steps) < 3:
        return []
    x = [step.n / found.n_units for step in found.steps]
    shown = {"x": x, "y": [step.n_right / step.n for step in found.steps]}
    limit = {"x": x, "y": [step.least for step in found.steps]}
    lines = {"agreement": shown, "lower_limit": limit, "promised": {"x": [x[0], x[-1]], "y": [found.rate, found.rate]}}
    data = {"lines": lines, "x_label": "decided", "y_label": "agreement", "n": found.n_units}
    return [FigureData("escalation", "curve", data)]
