"""Holds what a sweep yields over its jobs: what report and tracking read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from undogmatic.records.own_scale import OwnScale
from undogmatic.records.records import Item
from undogmatic.records.results import FigureData, Finding
from undogmatic.records.rubric import Rubric
from undogmatic.stats.estimate import Unit


@dataclass(frozen=True)
class SweepResult:
    """What a sweep yielded over its jobs; `report.sweep.write` and `report.terminal.show_sweep`
    read it.

    Attributes:
        jobs: One row per job, or per judge and criterion of it, best first: `number`, `name`,
            `status` ("finished", "stopped" or "failed"), one column per config key that varies (and
            `judge`, `criterion`), `standing` (the worst of its own verdicts, None where none was
            noted), then `headline` with `low` and `high` (NaN where there is none), then further
            metrics under their own names.
        choices: The columns of `jobs` that are varying config keys, e.g. ("model", "prompt").
        headline: Name of the metric in column `headline`, e.g. "ab.share_expected", or None if no
            job yielded one.
        comparisons: What was tested between jobs, all measures with one correction: `left`,
            `right`, `measure`, `difference`, `low`, `high`, `n`, `p`, `p_holm`, `shown`, `needed`
            (see `stats.compare`).
        agreement: Agreement between jobs, one row per pair: `left`, `right`, then one column per
            coefficient.
        unit: Of the headline. columns: Name of a table ("jobs", "comparisons", "agreement", or of
            `tables`) -> column -> its unit, of those that have one.
    """

    name: str
    folder: Path
    language: str
    jobs: pd.DataFrame
    choices: Sequence[str]
    headline: str | None
    comparisons: pd.DataFrame
    agreement: pd.DataFrame
    # the first `verdicts` of them are verdicts, one per criterion
    findings: Sequence[Finding] = ()
    figures: Sequence[FigureData] = ()
    failed: Sequence[tuple[str, str]] = ()  # job and message, of those without a result
    # e.g. the worth of the jobs' uncertainty
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    unit: Unit = ""
    columns: Mapping[str, Mapping[str, Unit]] = field(default_factory=dict)
    rubric: Rubric | None = None  # of the first job with a result
    # files with the words of the sweep and of the jobs' analyses
    texts: Sequence[Path] = ()
    verdicts: int = 1
    # of each item (row) by each job (its name), best first
    scores: pd.DataFrame = field(default_factory=pd.DataFrame)
    numbers: Mapping[str, int] = field(default_factory=dict)  # of the jobs by name
    items: Sequence[Item] = ()  # what the jobs judged, where it could be read again
    unread: str = ""  # why it could not
    redacted: bool = False  # the jobs' folders hold no judged text
    # from which difference on scores matter, where all jobs have the same
    margin: float | None = None
    # the scale that all its numbers are on, where people gave labels on one that is not the
    # rubric's; the `rubric` is then on it, too
    own: OwnScale | None = None

    @property
    def count(self) -> int:
        """How many jobs there were."""
        return int(self.jobs["number"].nunique())
