"""Is the uncertainty worth anything? Intervals, confidence and doubt against the errors the judge really made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses import beyond, plots, promises, worth, worth_parts
from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.measures import Choice, Measure, choose, uncertainties
from undogmatic.analyses.truth import Truth, read_truth, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding, Standing
from undogmatic.records.rubric import Rubric
from undogmatic.stats import beyond_score
from undogmatic.stats.intervals import interval_scores

_REFUTED: Standing = "refuted"

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
    "expected_error",
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
        coverage_margin: How far a share (of true scores inside intervals, of right judgments) may lie from the promised
            one and still keep the promise, in (0, 1).
        bins: Bins of the reliability diagram and of ECE, of equal width.
        level: Confidence level of every interval.
        resamples: Bootstrap resamples for the bands of curves; texts of one pair are resampled together.
    """

    name: ClassVar[str] = "calibration"
    reference: str | None = None
    condition_labels: dict[str, float] | None = None
    uncertainty: Choice = "auto"
    tolerance: float | None = None
    nominal: float = 0.9
    coverage_margin: float = 0.05
    bins: Annotated[int, Field(le=1000)] = 10
    level: float = 0.95
    resamples: Annotated[int, Field(le=1_000_000)] = 2000

    def __post_init__(self) -> None:
        shares = {"level": self.level, "nominal": self.nominal, "coverage_margin": self.coverage_margin}
        check_level(self.name, self.resamples, **shares)
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
        middle = (judged.rubric.minimum + judged.rubric.maximum) / 2
        settings = worth_parts.Settings(
            tolerance,
            self.coverage_margin,
            middle,
            self.nominal,
            self.bins,
            self.level,
            self.resamples,
            judged.rubric.maximum - judged.rubric.minimum,
        )
        size = (truth.judged["score"] - truth.judged["truth"]).abs()
        rows = truth.judged.assign(error_size=size, right=size <= tolerance + 1e-9)
        named = truth.rows.assign(condition=truth.rows["condition"].where(truth.rows["condition"].notna(), "all"))
        findings = failed_finding(Judged(named, judged.rubric).counts([str(c) for c in named["condition"].unique()]))
        metrics: dict[str, float] = {
            "calibration.judged": len(rows),
            "calibration.failed": len(truth.rows) - len(rows),
        }
        n = len(set(units(rows)))
        if n < worth_parts.FEWEST_UNITS:
            few = Finding("calibration.verdict_too_few", {"n": n, "needed": worth_parts.FEWEST_UNITS})
            return [AnalysisResult(self.name, metrics, findings=findings, verdict=few, standing="undecided")]
        groups = worth_parts.groups_or_none(units(rows))
        rows["expected_error"] = beyond_score.error_by_score(size, rows["score"], middle, groups=groups)
        metrics["calibration.mae"] = float(size.mean())
        metrics["calibration.share_right"] = float(rows["right"].mean())
        right = {"tolerance": tolerance, "share": metrics["calibration.share_right"], "mae": metrics["calibration.mae"]}
        findings += [_source(truth, len(rows)), Finding("calibration.right", right)]

        found = uncertainties(rows)
        used = choose(found, self.uncertainty)
        parts = [
            promises.intervals(rows, settings, rng),
            promises.confidences(rows, settings, rng),
            promises.estimated_accuracy(rows, settings),
        ]
        verdict, standing = Finding("calibration.verdict_none", {}), _REFUTED
        if used is None:
            parts.append(worth_parts.nothing(Finding("calibration.no_uncertainty", {})))
        else:
            measures = {"measure": used, "measures": list(found)}
            parts.append(worth_parts.nothing(Finding("calibration.measure", measures)))
            parts.append(worth.disagreement(rows, found[used], settings, rng))
            order, verdict, standing = self._ordered(rows, truth, found, used, settings, judged.rubric, rng)
            parts.append(order)
        whole = worth_parts.merged(parts)
        metrics |= whole.metrics
        headline = "calibration.review_gain"
        return [
            AnalysisResult(
                self.name,
                metrics,
                whole.tables,
                findings + whole.findings,
                whole.figures,
                verdict,
                standing,
                headline=headline if headline in metrics else None,
                items=_items(rows, found[used] if used is not None else None, self.nominal),
            )
        ]

    def _ordered(
        self,
        rows: pd.DataFrame,
        truth: Truth,
        found: dict[Measure, pd.Series],
        used: Measure,
        settings: worth_parts.Settings,
        rubric: Rubric,
        rng: np.random.Generator,
    ) -> tuple[worth_parts.Part, Finding, Standing]:
        """How the measures order the errors, and the verdict on the one that is used."""
        n = len(rows)
        if rows["error_size"].round(9).nunique() == 1:
            return worth_parts.nothing(), Finding("calibration.verdict_no_error", {"n": n}), "undecided"
        further = beyond.measured(rows, found, settings)
        part = worth.errors_found(rows, found, used, further, settings, rng)
        if found[used].round(9).nunique() == 1:
            return part, Finding("calibration.verdict_constant", {}), "refuted"
        own = further.get(used)
        failed = truth.rows[truth.rows["error"].notna()]
        level = self.level if own is None else own.level
        worst = beyond.if_failed(failed, rows, found[used], settings, rubric, level, rng)
        if worst is not None:
            said = {"n": worst.n, "gain": worst.gain.estimate, "interval": (worst.gain.low, worst.gain.high)}
            finding = Finding("calibration.if_failed", said)
            bound = plots.interval("calibration.worst_gain", *worth_parts.ends(worst.gain))
            part = worth_parts.merged([part, worth_parts.Part(bound, [finding], {}, [])])
        return part, *beyond.verdict(part.metrics, own, worst, n, used)


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
