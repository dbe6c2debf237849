"""Holds a judge's intervals, confidence and doubt against the errors that it really made.

What a judge promises of itself is kept or broken only where the limits say so (`stats.promise`); a test that finds
nothing shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses import worth
from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.measures import Choice, Measure, choose, uncertainties
from undogmatic.analyses.ruling import CALIBRATION, verdict
from undogmatic.analyses.truth import Truth, read_truth, units
from undogmatic.analyses.worth import (
    FEWEST_CONFIDENCES,
    FEWEST_UNITS,
    DoubtSettings,
    Part,
    Worst,
    groups_or_none,
    said,
    too_few,
)
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding
from undogmatic.records.rubric import Rubric
from undogmatic.stats import beyond_score, calibration, means
from undogmatic.stats.beyond_score import Beyond
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import Kept, interval_quality, interval_scores, kept

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


class DoubtEvidence(NamedTuple):
    """What the verdict looks at: the used measure, None where the judge gives no uncertainty; its gain over a review in
    random order, what it is worth at equal score (None with too few groups) and if all failed judgments were wrong."""

    n: int
    n_groups: int
    measure: Measure | None = None
    no_error: bool = False
    constant: bool = False
    gain: Estimate | None = None
    beyond: Beyond | None = None
    worst: Worst | None = None
    fewest: int = FEWEST_UNITS
    few: int = beyond_score.FEWEST


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
        settings = DoubtSettings(
            tolerance,
            self.coverage_margin,
            (judged.rubric.minimum + judged.rubric.maximum) / 2,
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
        evidence = DoubtEvidence(len(rows), len(set(units(rows))))
        if evidence.n_groups < FEWEST_UNITS:
            few = verdict(CALIBRATION, evidence)
            return [AnalysisResult(self.name, metrics, findings=findings, verdict=few.finding, standing=few.standing)]
        groups = groups_or_none(units(rows))
        rows["expected_error"] = beyond_score.error_by_score(size, rows["score"], settings.middle, groups=groups)
        metrics["calibration.mae"] = float(size.mean())
        metrics["calibration.share_right"] = float(rows["right"].mean())
        right = {"tolerance": tolerance, "share": metrics["calibration.share_right"], "mae": metrics["calibration.mae"]}
        findings += [_source(truth, len(rows)), Finding("calibration.right", right)]

        found = uncertainties(rows)
        used = choose(found, self.uncertainty)
        whole = _intervals(rows, settings, rng) + _confidences(rows, settings, rng)
        whole += _estimated_accuracy(rows, settings)
        if used is None:
            whole += said("calibration.no_uncertainty")
        else:
            whole += said("calibration.measure", measure=used, measures=list(found))
            whole += worth.disagreement(rows, found[used], settings, rng)
            order, evidence = self._ordered(rows, truth, found, used, settings, judged.rubric, rng)
            whole += order
        ruling = verdict(CALIBRATION, evidence)
        metrics |= whole.metrics
        headline = "calibration.review_gain"
        return [
            AnalysisResult(
                self.name,
                metrics,
                whole.tables,
                findings + whole.findings,
                whole.figures,
                ruling.finding,
                ruling.standing,
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
        settings: DoubtSettings,
        rubric: Rubric,
        rng: np.random.Generator,
    ) -> tuple[Part, DoubtEvidence]:
        """How the measures order the errors, and the evidence on the one that is used."""
        evidence = DoubtEvidence(len(rows), len(set(units(rows))), used)
        if rows["error_size"].round(9).nunique() == 1:
            return Part(), evidence._replace(no_error=True)
        further = worth.at_equal_score(rows, found, settings)
        part, gain = worth.errors_found(rows, found, used, further, settings, rng)
        if gain is None:
            return part, evidence._replace(constant=True)
        own = further.get(used)
        failed = truth.rows[truth.rows["error"].notna()]
        level = self.level if own is None else own.estimate.level
        worst = worth.if_failed(failed, rows, found[used], settings, rubric, level, rng)
        if worst is not None:
            part += Part(worst.gain.metrics("calibration.worst_gain"))
            part += said("calibration.if_failed", n=worst.n, gain=worst.gain.value, interval=worst.gain.interval)
        return part, evidence._replace(gain=gain, beyond=own, worst=worst)


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


def _intervals(rows: pd.DataFrame, settings: DoubtSettings, rng: np.random.Generator) -> Part:
    """Coverage of the judge's intervals against `nominal`, their width, and whether wide ones are where errors are."""
    given = rows[rows["low"] <= rows["high"]]  # a debate whose sides changed places gives none
    if given.empty:
        return said("calibration.no_intervals")
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("coverage", n, FEWEST_UNITS)
    groups = groups_or_none(units(given))
    found = interval_quality(
        given["low"],
        given["high"],
        given["truth"],
        settings.nominal,
        settings.level,
        groups=groups,
        span=settings.span,
    )
    inside = (given["low"] <= given["truth"]) & (given["truth"] <= given["high"])
    covered = kept(inside, settings.nominal, settings.coverage_margin, settings.level, groups=groups)
    share, width, score = covered.share, found.mean_width, found.interval_score
    metrics = share.metrics("calibration.coverage")
    metrics |= width.metrics("calibration.width")
    metrics |= score.metrics("calibration.interval_score")
    values = _promise(covered) | {"width": width.value, "score": score.value}
    return Part(metrics, [Finding(f"calibration.coverage_{_COVERAGE[covered.outcome]}", values)])


_COVERAGE = {"within": "nominal", "below": "narrow", "above": "wide", "open": "open"}
_ESTIMATE = {"within": "holds", "below": "too_high", "above": "too_low", "open": "open"}


def _promise(found: Kept) -> dict[str, Any]:
    share, within = found.share, found.outcome == "within"
    values: dict[str, Any] = {
        "share": share.value,
        "interval": found.inner if within else share.interval,
        "n": share.n,
    }
    values |= {"promised": found.promised}
    values |= {"margin": found.margin} if found.outcome in ("within", "open") else {}
    return values | ({"needed": found.n_needed} if found.outcome == "open" else {})


def _confidences(rows: pd.DataFrame, settings: DoubtSettings, rng: np.random.Generator) -> Part:
    """ECE, Brier score and reliability diagram of confidence against |error| <= tolerance."""
    given = rows[rows["confidence"].notna()]
    if given.empty:
        return said("calibration.no_confidence")
    n = len(set(units(given)))
    if n < FEWEST_CONFIDENCES:
        return too_few("ece", n, FEWEST_CONFIDENCES)
    stated = given["confidence"].to_numpy(dtype=np.float64) / 100
    right = given["right"].to_numpy(dtype=np.float64)
    groups = groups_or_none(units(given))
    error = calibration.error_interval(stated, right, rng, settings.bins, settings.level, groups=groups)
    brier = means.interval((stated - right) ** 2, settings.level, groups=groups, bounds=(0, 1))
    bins = calibration.reliability_table(stated, right, settings.bins, settings.level, groups=groups)
    table = pd.DataFrame([each.row() for each in bins])
    metrics = error.estimate.metrics("calibration.ece") | brier.metrics("calibration.brier")
    metrics["calibration.share_right"] = float(right.mean())
    metrics["calibration.mean_confidence"] = float(stated.mean())
    metrics["calibration.ece_if_perfect"] = error.if_perfect
    values = {
        "ece": error.estimate.value,
        "perfect": error.if_perfect,
        "beyond": error.beyond,
        "interval": error.estimate.interval,
        "brier": brier.value,
        "stated": float(stated.mean()),
        "right": float(right.mean()),
        "n": len(given),
    }
    columns = {"confidence": "mean_confidence", "accuracy": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
    data = {name: table[column].tolist() for name, column in columns.items()} | {"count": table["n"].tolist()}
    figure = FigureData("reliability", "reliability", data | {"tolerance": settings.tolerance})
    return Part(
        metrics,
        [Finding("calibration.ece_off" if error.estimate.low > 0 else "calibration.ece_open", values)],
        {"reliability": table},
        [figure],
    )


def _estimated_accuracy(rows: pd.DataFrame, settings: DoubtSettings) -> Part:
    """What `judge=calibration_probe` estimated of its own accuracy against the share that was right."""
    column = "details.estimated_accuracy"
    given = rows[rows[column].notna()] if column in rows else rows.head(0)
    if given.empty:
        return Part()
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("estimated_accuracy", n, FEWEST_UNITS)
    estimate = float(given[column].astype(np.float64).mean()) / 100
    groups = groups_or_none(units(given))
    right = kept(given["right"], estimate, settings.coverage_margin, settings.level, groups=groups)
    gap = estimate - right.share.value
    metrics = {"calibration.estimated_accuracy": estimate, "calibration.estimated_accuracy_gap": gap}
    return Part(metrics, [Finding(f"calibration.estimate_{_ESTIMATE[right.outcome]}", _promise(right))])
