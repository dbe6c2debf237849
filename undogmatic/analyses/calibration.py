"""Holds a judge's intervals, confidence and doubt against the errors that it really made.

What a judge promises of itself is kept or broken only where the limits say so (`stats.promise`); a test that finds
nothing shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses.base import Judged, check_level, failed_texts
from undogmatic.analyses.measures import Choice, choose, uncertainties
from undogmatic.analyses.ruling import CALIBRATION, verdict
from undogmatic.analyses.truth import read_truth, units
from undogmatic.analyses.worth import FEWEST_CONFIDENCES, FEWEST_UNITS, Doubt, enough, groups_or_none
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import beyond_score, calibration, means
from undogmatic.stats.proportion import Kept, interval_quality, interval_scores, kept

ITEMS = (
    "item_id unit score truth error right uncertainty confidence inside width interval_score expected_error"
).split()
_COVERAGE = {"within": "nominal", "below": "narrow", "above": "wide", "open": "open"}
_ESTIMATE = {"within": "holds", "below": "too_high", "above": "too_low", "open": "open"}


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
        rubric, tell = judged.rubric, Telling(self.name)
        # By default the nearest level is the right one.
        tolerance = float(np.diff(rubric.levels).min()) / 2 if self.tolerance is None else self.tolerance
        size = (truth.judged["score"] - truth.judged["truth"]).abs()
        rows = truth.judged.assign(error_size=size, right=size <= tolerance + 1e-9)
        tell.findings += failed_texts(truth.rows, rubric)
        tell.number(len(rows), "judged")
        tell.number(len(truth.rows) - len(rows), "failed")
        evidence = SimpleNamespace(n=len(rows), n_groups=len(set(units(rows))), measure=None, no_error=False)
        evidence.fewest, evidence.few, evidence.constant = FEWEST_UNITS, beyond_score.FEWEST, False
        if evidence.n_groups < FEWEST_UNITS:
            return [tell.result(*verdict(CALIBRATION, evidence).decided)]
        middle, groups = (rubric.minimum + rubric.maximum) / 2, groups_or_none(rows)
        rows["expected_error"] = beyond_score.error_by_score(size, rows["score"], middle, groups=groups)
        right = {"share": float(rows["right"].mean()), "mae": float(size.mean())}
        tell.number(right["mae"], "mae")
        tell.number(right["share"], "share_right")
        tell.say(f"truth_{truth.source}", truth.told)
        tell.say("right", right, tolerance=tolerance)
        self._intervals(tell, rows, rubric.maximum - rubric.minimum)
        self._confidences(tell, rows, tolerance, rng)
        self._estimated_accuracy(tell, rows)
        measures = uncertainties(rows)
        evidence.measure = used = choose(measures, self.uncertainty)
        if used is None:
            tell.say("no_uncertainty")
        else:
            tell.say("measure", measure=used, measures=list(measures))
            doubt = Doubt(tell, rows, measures, used, rubric, self.level, self.resamples, rng)
            doubt.disagreement()
            evidence.no_error = size.round(9).nunique() == 1
            if not evidence.no_error:
                beyond = doubt.at_equal_score()
                evidence.gain, evidence.beyond = doubt.errors_found(beyond), beyond.get(used)
                evidence.constant = evidence.gain is None
            if not evidence.no_error and not evidence.constant:
                level = self.level if evidence.beyond is None else evidence.beyond.estimate.level
                evidence.worst = doubt.if_failed(truth.rows[truth.rows["error"].notna()], level)
        headline = "calibration.review_gain" if "calibration.review_gain" in tell.metrics else None
        items = self._items(rows, np.nan if used is None else measures[used])
        return [tell.result(*verdict(CALIBRATION, evidence).decided, headline=headline, items=items)]

    def _items(self, rows: pd.DataFrame, doubt: pd.Series | float) -> pd.DataFrame:
        """Columns ITEMS, one row per judged text with a known true score; `confidence` is a share, `inside` 1 or 0."""
        given = rows["low"] <= rows["high"]
        score = pd.Series(interval_scores(rows["low"], rows["high"], rows["truth"], self.nominal), rows.index)
        return rows.assign(
            unit=units(rows),
            error=rows["error_size"],
            uncertainty=doubt,
            confidence=rows["confidence"] / 100,
            inside=rows["truth"].between(rows["low"], rows["high"]).astype(float).where(given),
            right=rows["right"].astype(float),
            width=(rows["high"] - rows["low"]).where(given),
            interval_score=score.where(given),
        )[ITEMS].reset_index(drop=True)

    def _intervals(self, tell: Telling, rows: pd.DataFrame, span: float) -> None:
        """Coverage of the judge's intervals against `nominal`, their width, and whether wide ones are where errors
        are; `span` is the width of the scale."""
        given = rows[rows["low"] <= rows["high"]]  # a debate whose sides changed places gives none
        if given.empty:
            tell.say("no_intervals")
            return
        if not enough(tell, "coverage", given):
            return
        low, high, truth, groups = given["low"], given["high"], given["truth"], groups_or_none(given)
        quality = interval_quality(low, high, truth, self.nominal, self.level, groups=groups, span=span)
        covered = kept(truth.between(low, high), self.nominal, self.coverage_margin, self.level, groups=groups)
        width, score = quality.mean_width, quality.interval_score
        for name, estimate in (("coverage", covered.share), ("width", width), ("interval_score", score)):
            tell.number(estimate, name)
        tell.say(f"coverage_{_COVERAGE[covered.outcome]}", _promise(covered), width=width.value, score=score.value)

    def _confidences(self, tell: Telling, rows: pd.DataFrame, tolerance: float, rng: np.random.Generator) -> None:
        """ECE, Brier score and reliability diagram of confidence against |error| <= tolerance."""
        given = rows[rows["confidence"].notna()]
        if given.empty:
            tell.say("no_confidence")
            return
        if not enough(tell, "ece", given, FEWEST_CONFIDENCES):
            return
        stated, right = given["confidence"].to_numpy(dtype=np.float64) / 100, given["right"].to_numpy(dtype=np.float64)
        groups = groups_or_none(given)
        error = calibration.error_interval(stated, right, rng, self.bins, self.level, groups=groups)
        brier = means.interval((stated - right) ** 2, self.level, groups=groups, bounds=(0, 1))
        bins = calibration.reliability_table(stated, right, self.bins, self.level, groups=groups)
        tell.tables["reliability"] = table = pd.DataFrame([each.row() for each in bins])
        tell.number(error.estimate, "ece")
        tell.number(brier, "brier")
        tell.number(float(right.mean()), "share_right")
        tell.number(float(stated.mean()), "mean_confidence")
        tell.number(error.if_perfect, "ece_if_perfect")
        values = {"perfect": error.if_perfect, "beyond": error.beyond, "brier": brier.value, "n": len(given)}
        values |= {"stated": float(stated.mean()), "right": float(right.mean())}
        tell.say("ece_off" if error.estimate.low > 0 else "ece_open", error.estimate.values("ece"), values)
        columns = {"confidence": "mean_confidence", "accuracy": "accuracy", "count": "n"}
        columns |= {"low": "accuracy_low", "high": "accuracy_high"}
        data = {name: table[column].tolist() for name, column in columns.items()}
        tell.draw("reliability", "reliability", tolerance=tolerance, **data)

    def _estimated_accuracy(self, tell: Telling, rows: pd.DataFrame) -> None:
        """What `judge=calibration_probe` estimated of its own accuracy against the share that was right."""
        column = "details.estimated_accuracy"
        given = rows[rows[column].notna()] if column in rows else rows.head(0)
        if given.empty or not enough(tell, "estimated_accuracy", given):
            return
        estimate = float(given[column].astype(np.float64).mean()) / 100
        right = kept(given["right"], estimate, self.coverage_margin, self.level, groups=groups_or_none(given))
        tell.number(estimate, "estimated_accuracy")
        tell.number(estimate - right.share.value, "estimated_accuracy_gap")
        tell.say(f"estimate_{_ESTIMATE[right.outcome]}", _promise(right))


def _promise(found: Kept) -> dict[str, Any]:
    """The values of a sentence about a promise; what is not shown names the margin, and what would show it."""
    values = {"share": found.share.value, "interval": found.share.interval, "n": found.share.n}
    values |= {"interval": found.inner} if found.outcome == "within" else {}
    values |= {"margin": found.margin} if found.outcome in ("within", "open") else {}
    return values | {"promised": found.promised} | ({"needed": found.n_needed} if found.outcome == "open" else {})
