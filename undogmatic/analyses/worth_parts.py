"""What the parts of `analysis=calibration` share: what one yields, the settings, intervals over groups."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from undogmatic.records.results import FigureData, Finding
from undogmatic.stats import means
from undogmatic.stats.calibration_error import CalibrationError
from undogmatic.stats.jackknife import Coefficient

FEWEST_UNITS = 10
"""Fewest independent texts for coverage, correlations and curves."""


class Part(NamedTuple):
    """What one part adds to the result."""

    metrics: dict[str, float]
    findings: list[Finding]
    tables: dict[str, pd.DataFrame]
    figures: list[FigureData]


class Settings(NamedTuple):
    """`tolerance`, `middle` and `span` (width of the scale) are in score units; `level` is that of our intervals."""

    tolerance: float
    coverage_margin: float
    middle: float
    nominal: float
    bins: int
    level: float
    resamples: int
    span: float


def nothing(*findings: Finding) -> Part:
    """A part that has only something to say."""
    return Part({}, list(findings), {}, [])


def too_few(what: str, present: int, needed: int) -> Part:
    """A part left out for want of labels."""
    return nothing(Finding("calibration.too_few", {"what": what, "present": present, "needed": needed}))


def merged(parts: list[Part]) -> Part:
    """All parts as one, in order."""
    whole = nothing()
    for part in parts:
        whole = Part(
            whole.metrics | part.metrics,
            whole.findings + part.findings,
            whole.tables | part.tables,
            whole.figures + part.figures,
        )
    return whole


def ends(found: means.Mean | Coefficient | CalibrationError) -> tuple[float, float, float]:
    """Estimate, low, high: what `plots.interval` takes."""
    return found.estimate, found.low, found.high


def groups_or_none(names: list[str]) -> list[str] | None:
    """None where every row is a group of its own."""
    return names if len(set(names)) < len(names) else None
