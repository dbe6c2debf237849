"""What a judge promises of itself, held against the true scores: its intervals, its confidence, its estimated accuracy.

A promise is kept or broken only where the limits say so (`stats.promise`); a test that finds nothing shows nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses import plots
from undogmatic.analyses.truth import units
from undogmatic.analyses.worth import FEWEST_CONFIDENCES
from undogmatic.analyses.worth_parts import (
    FEWEST_UNITS,
    Part,
    Settings,
    ends,
    groups_or_none,
    nothing,
    too_few,
)
from undogmatic.records.results import FigureData, Finding
from undogmatic.stats import calibration_error, means
from undogmatic.stats.intervals import interval_quality
from undogmatic.stats.promise import Promise, kept


def intervals(rows: pd.DataFrame, settings: Settings, rng: np.random.Generator) -> Part:
    """Coverage of the judge's intervals against `nominal`, their width, and whether wide ones are where errors are."""
    given = rows[rows["low"] <= rows["high"]]  # a debate whose sides changed places gives none
    if given.empty:
        return nothing(Finding("calibration.no_intervals", {}))
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
    metrics = plots.interval("calibration.coverage", share.share, share.low, share.high)
    metrics |= plots.interval("calibration.width", *ends(width))
    metrics |= plots.interval("calibration.interval_score", *ends(score))
    values = _promise(covered) | {"width": width.estimate, "score": score.estimate}
    return Part(metrics, [Finding(f"calibration.coverage_{_COVERAGE[covered.outcome]}", values)], {}, [])


_COVERAGE = {"within": "nominal", "below": "narrow", "above": "wide", "open": "open"}
_ESTIMATE = {"within": "holds", "below": "too_high", "above": "too_low", "open": "open"}


def _promise(found: Promise) -> dict[str, Any]:
    share, within = found.share, found.outcome == "within"
    values: dict[str, Any] = {
        "share": share.share,
        "interval": found.inner if within else (share.low, share.high),
        "n": share.n,
    }
    values |= {"promised": found.promised}
    values |= {"margin": found.margin} if found.outcome in ("within", "open") else {}
    return values | ({"needed": found.n_needed} if found.outcome == "open" else {})


def confidences(rows: pd.DataFrame, settings: Settings, rng: np.random.Generator) -> Part:
    """ECE, Brier score and reliability diagram of confidence against |error| <= tolerance."""
    given = rows[rows["confidence"].notna()]
    if given.empty:
        return nothing(Finding("calibration.no_confidence", {}))
    n = len(set(units(given)))
    if n < FEWEST_CONFIDENCES:
        return too_few("ece", n, FEWEST_CONFIDENCES)
    stated = given["confidence"].to_numpy(dtype=np.float64) / 100
    right = given["right"].to_numpy(dtype=np.float64)
    groups = groups_or_none(units(given))
    error = calibration_error.error_interval(stated, right, rng, settings.bins, settings.level, groups=groups)
    brier = means.interval((stated - right) ** 2, settings.level, groups=groups, bounds=(0, 1))
    bins = calibration_error.reliability_table(stated, right, settings.bins, settings.level, groups=groups)
    table = pd.DataFrame(bins)
    metrics = plots.interval("calibration.ece", *ends(error)) | plots.interval("calibration.brier", *ends(brier))
    metrics["calibration.share_right"] = float(right.mean())
    metrics["calibration.mean_confidence"] = float(stated.mean())
    metrics["calibration.ece_if_perfect"] = error.if_perfect
    values = {
        "ece": error.estimate,
        "perfect": error.if_perfect,
        "beyond": error.beyond,
        "interval": (error.low, error.high),
        "brier": brier.estimate,
        "stated": float(stated.mean()),
        "right": float(right.mean()),
        "n": len(given),
    }
    columns = {"confidence": "mean_confidence", "accuracy": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
    data = {name: table[column].tolist() for name, column in columns.items()} | {"count": table["n"].tolist()}
    figure = FigureData("reliability", "reliability", data | {"tolerance": settings.tolerance})
    return Part(
        metrics,
        [Finding("calibration.ece_off" if error.low > 0 else "calibration.ece_open", values)],
        {"reliability": table},
        [figure],
    )


def estimated_accuracy(rows: pd.DataFrame, settings: Settings) -> Part:
    """What `judge=calibration_probe` estimated of its own accuracy against the share that was right."""
    column = "details.estimated_accuracy"
    given = rows[rows[column].notna()] if column in rows else rows.head(0)
    if given.empty:
        return nothing()
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("estimated_accuracy", n, FEWEST_UNITS)
    estimate = float(given[column].astype(np.float64).mean()) / 100
    groups = groups_or_none(units(given))
    right = kept(given["right"], estimate, settings.coverage_margin, settings.level, groups=groups)
    gap = estimate - right.share.share
    metrics = {"calibration.estimated_accuracy": estimate, "calibration.estimated_accuracy_gap": gap}
    return Part(metrics, [Finding(f"calibration.estimate_{_ESTIMATE[right.outcome]}", _promise(right))], {}, [])
