"""Findings, tables and figures -> report.md, report.html and figures/*.png. Computes nothing."""

from __future__ import annotations

from undogmatic.report.contents import compose
from undogmatic.report.document import save
from undogmatic.report.words import Words
from undogmatic.runs.outcome import FinishedRun


def write(run: FinishedRun) -> None:
    """Write `report.md`, `report.html` (one file, pictures inside) and `figures/` into the run's folder."""
    save(compose(run, Words.of(run)), run.folder)
