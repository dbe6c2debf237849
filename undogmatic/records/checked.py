"""Defines what a check of a verdict table yields: answers, figures, findings and what was not examined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pandas as pd

from undogmatic.records.results import Finding, Standing
from undogmatic.records.verdict_table import VerdictTable
from undogmatic.stats.estimate import Estimate


class Weight(IntEnum):
    """How much a finding changes the conclusion."""

    REVERSES = 0  # the judge may not be believed because of it
    LIMITS = 1  # the judge may be believed, but not for this use, slice or scale
    QUALIFIES = 2  # a reader should know it
    DETAIL = 3


@dataclass(frozen=True)
class Noted:
    """A finding of a check, how much it changes the conclusion, and the sentence with the command that would settle
    it where it leaves something open."""

    finding: Finding
    weight: Weight
    settle: Finding | None = None


@dataclass
class Told:
    """Collects what the parts of a check tell of one judge and criterion (or of all judges together).

    Attributes:
        figures: Name -> number with its interval. Names are dotted and start with the part: `agreement.kappa`. What a
            gate may hold against a threshold stands here.
        notes: Findings; the report orders them by weight.
        tables: Name -> table for the report.
        not_examined: Name of a check that could not run -> the sentence that says why. It never counts as passed.
    """

    section: str = ""
    figures: dict[str, Estimate] = field(default_factory=dict)
    notes: list[Noted] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    not_examined: dict[str, Finding] = field(default_factory=dict)

    def figure(self, name: str, estimate: Estimate | None) -> None:
        """Keep an estimate; None adds nothing."""
        if estimate is not None:
            self.figures[name] = estimate

    def note(
        self, key: str, weight: Weight = Weight.QUALIFIES, /, settle: Finding | None = None, **values: Any
    ) -> None:
        """Add a finding: `told.note("people.ceiling", Weight.QUALIFIES, **share.values("share"), n=12)`."""
        self.notes.append(Noted(Finding(key, values), weight, settle))

    def lacks(self, check: str, key: str, **values: Any) -> None:
        """Say why a check could not run."""
        self.not_examined[check] = Finding(key, values)

    def ordered(self) -> list[Noted]:
        """The findings, those that change the conclusion most first."""
        return sorted(self.notes, key=lambda noted: noted.weight)


@dataclass(frozen=True)
class JudgeCheck:
    """The answer about one judge on one criterion: the sentence, its standing, what else could explain the agreement,
    and all that was told. `n` items have a verdict and a label, in `groups` independent units."""

    judge: str
    criterion: str
    verdict: Finding
    standing: Standing
    rival: Finding
    told: Told
    n: int
    groups: int


@dataclass(frozen=True)
class CheckResult:
    """What `undogmatic check` found: an answer per judge and criterion, and what holds for all of them."""

    table: VerdictTable
    judges: Sequence[JudgeCheck]
    together: Told  # about several judges, the labels, the systems, change over time
    options: Mapping[str, Any]
    digests: Mapping[str, Any]
