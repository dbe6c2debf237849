"""Finds how much a judge may decide alone: a promise about the judgments of which it is sure, or why none can be made.

`judge=selective` keeps the promise: it hands on what lies above the threshold (`judge.rules.guaranteed`)."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Judged, check_level, failed_texts
from undogmatic.analyses.measures import Choice, choose, uncertainties
from undogmatic.analyses.ruling import ESCALATION, verdict
from undogmatic.analyses.truth import margin_of, read_truth, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats.escalation import find_threshold, units_needed

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
        rows, needed, tell = truth.judged, units_needed(self.rate, self.confidence), Telling(self.name)
        failed = failed_texts(truth.rows, judged.rubric)
        tell.number(len(rows), "judged")
        tell.number(len(truth.rows) - len(rows), "failed")
        tell.number(needed, "needed")
        measures = uncertainties(rows)
        used = choose(measures, self.uncertainty) if len(rows) else None
        evidence = SimpleNamespace(rate=self.rate, confidence=self.confidence, measure=used, tolerance=tolerance)
        if used is None:
            tell.findings += failed
            return [tell.result(*verdict(ESCALATION, evidence).decided)]
        right = ((rows["score"] - rows["truth"]).abs() <= tolerance + 1e-9).to_numpy()
        doubt = measures[used].to_numpy(dtype=np.float64)
        result = find_threshold(doubt, right, self.rate, self.confidence, groups=units(rows))
        threshold, steps = result.threshold, result.steps
        share, agreement = result.share * len(rows) / len(truth.rows), float(right.mean())
        tell.say(f"truth_{truth.source}", truth.told)
        tell.say("agreement", tolerance=tolerance, right=agreement, measure=used)
        tell.findings += failed
        tell.number(share, "share")
        tell.number(agreement, "agreement")
        vars(evidence).update(threshold=threshold, texts=len(truth.rows), share=share, units=result.n_units)
        evidence.needed, evidence.surest = needed, None
        if steps:
            step = evidence.surest = steps[0]
            evidence.wrong = step.n - step.n_right
            evidence.more = units_needed(self.rate, self.confidence, evidence.wrong)
            tell.tables["steps"] = pd.DataFrame(steps).rename(columns={"least": "low"})
        decided = np.zeros(len(rows), dtype=np.bool_) if threshold is None else doubt <= threshold
        if threshold is not None:
            evidence.low, evidence.decided = [step for step in steps if step.passed][-1].least, int(decided.sum())
            tell.metrics[THRESHOLD] = threshold
            tell.number(evidence.low, "least_agreement")
            calls = float(rows["calls"].sum() + rows["cached"].sum()) / len(rows)
            tell.say("saved", calls=calls, handed=1 - share)
        if len(steps) >= 3:
            x = [step.n / result.n_units for step in steps]
            lines = {
                "agreement": {"x": x, "y": [step.n_right / step.n for step in steps]},
                "lower_limit": {"x": x, "y": [step.least for step in steps]},
                "promised": {"x": [x[0], x[-1]], "y": [result.rate, result.rate]},
            }
            tell.draw("escalation", "curve", lines=lines, x_label="decided", y_label="agreement", n=result.n_units)
        items = {"item_id": rows["item_id"].to_numpy(), "measure": used, "doubt": doubt, "right": right.astype(float)}
        table = pd.DataFrame(items | {"decided": decided.astype(float)}, columns=ITEMS)
        return [tell.result(*verdict(ESCALATION, evidence).decided, headline="escalation.share", items=table)]
