"""Is the uncertainty worth anything? Intervals, confidence and doubt against the errors the judge really made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses import worth
from undogmatic.analyses.base import AnalysisResult, Finding, Judged, check_level, failed_finding
from undogmatic.analyses.measures import Choice, Measure, choose, uncertainties
from undogmatic.analyses.truth import Truth, read_truth, units
from undogmatic.errors import ConfigError
from undogmatic.records import Rubric
from undogmatic.stats.intervals import interval_scores

ITEMS = [
    "item_id",
    "unit",
    "score",
    "truth",
    "error",
    "right",
    "uncertainty",
    "confidence",
    "inside",
    "width",
    "interval_score",
]


@dataclass(frozen=True)
class CalibrationAnalysis:
    """First repeat, against the true score: the label, another run's score, or a score set per condition.

    Args:
        reference: Folder of a run over the same texts whose scores count as right, or None.
        condition_labels: Condition -> score its texts deserve, or None. With neither, `label` counts.
        uncertainty: Which number per judgment is its uncertainty: procedure (what the judge style itself measures),
            width (of the interval), entropy (of the distribution), confidence (the lack of it), level (low, medium,
            high), or auto: see `measures.MEASURES`.
        tolerance: Largest error, in score units, that counts as right; None is half the smallest step of levels.
        nominal: What share of true scores the judge's intervals claim to hold.
        bins: Bins of the reliability diagram and of ECE, of equal width.
        level: Confidence level of every interval.
        resamples: Bootstrap resamples; texts of one pair are resampled together.
    """

    name: ClassVar[str] = "calibration"
    reference: str | None = None
    condition_labels: dict[str, float] | None = None
    uncertainty: Choice = "auto"
    tolerance: float | None = None
    nominal: float = 0.9
    bins: Annotated[int, Field(le=1000)] = 10
    level: float = 0.95
    resamples: Annotated[int, Field(le=1_000_000)] = 2000

    def __post_init__(self) -> None:
        check_level(self.name, self.resamples, level=self.level, nominal=self.nominal)
        if self.bins < 2:
            raise ConfigError(f"`analysis.bins` is {self.bins}; give at least 2.")
        if self.tolerance is not None and self.tolerance < 0:
            raise ConfigError(f"`analysis.tolerance` is {self.tolerance}; an error is 0 or more.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited where no true score is known, ConfigError or DataError for one off the scale."""
        read_truth(self.name, judged, self.reference, self.condition_labels)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `calibration.review_gain`, absent where no order of review can gain anything."""
        truth = read_truth(self.name, judged, self.reference, self.condition_labels)
        tolerance = _half_step(judged.rubric) if self.tolerance is None else self.tolerance
        settings = worth.Settings(tolerance, self.nominal, self.bins, self.level, self.resamples)
        size = (truth.judged["score"] - truth.judged["truth"]).abs()
        rows = truth.judged.assign(error_size=size, right=size <= tolerance + 1e-9)
        named = truth.rows.assign(condition=truth.rows["condition"].where(truth.rows["condition"].notna(), "all"))
        findings = failed_finding(Judged(named, judged.rubric).counts([str(c) for c in named["condition"].unique()]))
        metrics: dict[str, float] = {
            "calibration.judged": len(rows),
            "calibration.failed": len(truth.rows) - len(rows),
        }
        n = len(set(units(rows)))
        if n < worth.FEWEST_UNITS:
            verdict = Finding("calibration.verdict_too_few", {"n": n, "needed": worth.FEWEST_UNITS})
            return [AnalysisResult(self.name, metrics, findings=findings, verdict=verdict)]
        metrics["calibration.mae"] = float(size.mean())
        metrics["calibration.share_right"] = float(rows["right"].mean())
        right = {"tolerance": tolerance, "share": metrics["calibration.share_right"], "mae": metrics["calibration.mae"]}
        findings += [_source(truth, len(rows)), Finding("calibration.right", right)]

        found = uncertainties(rows)
        used = choose(found, self.uncertainty)
        parts = [
            worth.intervals(rows, settings, rng),
            worth.confidences(rows, settings, rng),
            worth.estimated_accuracy(rows, settings),
        ]
        if used is None:
            parts.append(worth.nothing(Finding("calibration.no_uncertainty", {})))
        else:
            parts.append(worth.nothing(Finding("calibration.measure", {"measure": used, "measures": list(found)})))
            if size.round(9).nunique() > 1:
                parts.append(worth.errors_found(rows, found, used, settings, rng))
            parts.append(worth.disagreement(rows, found[used], settings, rng))
        whole = worth.merged(parts)
        metrics |= whole.metrics
        headline = "calibration.review_gain"
        return [
            AnalysisResult(
                self.name,
                metrics,
                whole.tables,
                findings + whole.findings,
                whole.figures,
                _verdict(metrics, used, len(rows), constant_error=size.round(9).nunique() == 1),
                headline=headline if headline in metrics else None,
                items=_items(rows, found[used] if used is not None else None, self.nominal),
            )
        ]


def _half_step(rubric: Rubric) -> float:
    """The nearest level is the right one."""
    return float(np.diff(rubric.levels).min()) / 2


def _source(truth: Truth, n: int) -> Finding:
    named: dict[str, Any] = {"name": truth.name} if truth.source == "reference" else {}
    return Finding(f"calibration.truth_{truth.source}", {"n": n} | named)


def _items(rows: pd.DataFrame, doubt: pd.Series | None, nominal: float) -> pd.DataFrame:
    """Columns ITEMS, one row per judged text with a known true score; `confidence` is a share, `inside` 1 or 0."""
    given = rows["low"] <= rows["high"]
    score = pd.Series(interval_scores(rows["low"], rows["high"], rows["truth"], nominal), rows.index)
    inside = ((rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])).astype(float).where(given)
    return rows.assign(
        unit=units(rows),
        error=rows["error_size"],
        uncertainty=np.nan if doubt is None else doubt,
        confidence=rows["confidence"] / 100,
        inside=inside,
        right=rows["right"].astype(float),
        width=(rows["high"] - rows["low"]).where(given),
        interval_score=score.where(given),
    )[ITEMS].reset_index(drop=True)


def _verdict(metrics: dict[str, float], used: Measure | None, n: int, constant_error: bool) -> Finding:
    """docs/verdicts.md, "Worth of the uncertainty"."""
    if used is None:
        return Finding("calibration.verdict_none", {})
    if constant_error:
        return Finding("calibration.verdict_no_error", {"n": n})
    gain = metrics.get("calibration.review_gain")
    if gain is None:
        return Finding("calibration.verdict_constant", {})
    low, high = metrics["calibration.review_gain_low"], metrics["calibration.review_gain_high"]
    word = "worth" if low > 0 else "misleads" if high < 0 else "unclear"
    values = {"gain": gain, "interval": (low, high), "n": n, "measure": used}
    return Finding(f"calibration.verdict_{word}", values)
