"""How much may this judge decide alone? A promise about the judgments of which it is sure, or why none can be made.

`judge=selective` keeps the promise: it hands on what lies above the threshold (`judge.rules.guaranteed`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.margins import margin_of
from undogmatic.analyses.measures import Choice, Measure, choose, uncertainties
from undogmatic.analyses.truth import Truth, read_truth, units
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
        promise: dict[str, Any] = {"rate": self.rate, "confidence": self.confidence}
        found = uncertainties(rows)
        used = choose(found, self.uncertainty) if len(rows) else None
        if used is None:
            verdict = Finding("escalation.verdict_no_doubt")
            return [AnalysisResult(self.name, metrics, findings=findings, verdict=verdict, standing="undecided")]
        right = ((rows["score"] - rows["truth"]).abs() <= tolerance + 1e-9).to_numpy()
        doubt = found[used].to_numpy(dtype=np.float64)
        result = find_threshold(doubt, right, self.rate, self.confidence, groups=units(rows))
        share = result.share * len(rows) / len(truth.rows)
        agreement = {"tolerance": tolerance, "right": float(right.mean()), "measure": used}
        findings = [_source(truth), Finding("escalation.agreement", agreement), *findings]
        metrics |= {"escalation.share": share, "escalation.agreement": float(right.mean())}
        if result.threshold is not None:
            low = [step for step in result.steps if step.passed][-1].low
            metrics |= {THRESHOLD: result.threshold, "escalation.least_agreement": low}
            decided = {"decided": int((doubt <= result.threshold).sum()), "texts": len(truth.rows), "share": share}
            calls = float(rows["calls"].sum() + rows["cached"].sum()) / len(rows)
            findings.append(Finding("escalation.saved", {"calls": calls, "handed": 1 - share}))
            known = {"measure": used, "tolerance": tolerance, "threshold": result.threshold, "low": low}
            verdict = Finding("escalation.verdict_promised", promise | known | decided)
        elif result.steps:
            step = result.steps[0]
            wrong = step.n - step.n_right
            more = units_needed(self.rate, self.confidence, wrong)
            values = {"surest": step.n, "wrong": wrong, "surest_low": step.low, "more": more, "units": result.n_units}
            verdict = Finding("escalation.verdict_refused", promise | values)
        else:
            verdict = Finding("escalation.verdict_too_few", promise | {"units": result.n_units, "needed": needed})
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"steps": pd.DataFrame(result.steps)} if result.steps else {},
                findings,
                _figure(result),
                verdict,
                "supported" if result.threshold is not None else "undecided",
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
    limit = {"x": x, "y": [step.low for step in found.steps]}
    lines = {"agreement": shown, "lower_limit": limit, "promised": {"x": [x[0], x[-1]], "y": [found.rate, found.rate]}}
    data = {"lines": lines, "x_label": "decided", "y_label": "agreement", "n": found.n_units}
    return [FigureData("escalation", "curve", data)]
