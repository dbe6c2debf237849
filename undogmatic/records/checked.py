"""Defines what a check of evidence yields: answers, figures, findings and what was not
examined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.records.evidence import Evidence, Kind
from undogmatic.records.records import Record
from undogmatic.records.results import Finding, Standing, Weight
from undogmatic.stats.estimate import Estimate

LEAST_AGREEMENT = 0.4
"""Least agreement beyond chance, on a scale from 0 (a coin) to 1, that the lower limit of a
believed judge exceeds: a kappa, of categories or choices."""
LEAST_ORDER = 0.5
"""The same of numbers, as a rank correlation, which is larger than a kappa for the same share of
mistakes."""


class CheckOptions(Record):
    """What may be set for a check, beside how the files are read.

    Attributes:
        level: Of every interval. least: Least agreement beyond chance that a believed judge must be
            shown to have; None asks for what is usual for the kind of verdict (`least_of`).
        margin: Differences up to this do not matter, in units of the verdicts (for categories: a
            share); without one, "no difference" is never claimed. prevalence: Share of "pass" where
            the judge will be used.
        epsilon: In the alternative annotator test, by what share of the items a person may be
            closer more often than the judge; None takes the margin of categories, else the test's
            usual value.
        alpha, delta: How often the judge may be wrong where it decides alone, and with what
            probability that may fail.
        ignore: Columns that are no rival explanation and no slice. seed: Of everything that is
            drawn.
    """

    level: float = Field(default=0.95, gt=0.5, lt=1)
    least: float | None = Field(default=None, ge=0, lt=1)
    margin: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    prevalence: float | None = Field(default=None, gt=0, lt=1)
    epsilon: float | None = Field(default=None, ge=0, lt=1)
    alpha: float = Field(default=0.1, gt=0, lt=0.5)
    delta: float = Field(default=0.05, gt=0, lt=0.5)
    ignore: tuple[str, ...] = ()
    seed: int = Field(default=0, ge=0)

    def least_of(self, kind: Kind) -> float:
        """Least agreement that is asked for, in the coefficient of this kind of verdict."""
        return (
            self.least
            if self.least is not None
            else LEAST_ORDER
            if kind == "numeric"
            else LEAST_AGREEMENT
        )

    def rng(self) -> np.random.Generator:
        """A generator that starts anew with each call, so that no part changes what another
        draws."""
        return np.random.default_rng(self.seed)


@dataclass
class Told:
    """Collects what the parts of a check tell of one judge and criterion (or of all judges
    together).

    Attributes:
        figures: Name -> number with its interval. Names are dotted and start with the part:
            `agreement.kappa`. What a gate may hold against a threshold stands here.
        notes: Findings, which the report orders by weight.
        tables: Name -> table for the report.
        not_examined: Name of a check that could not run -> the sentence that says why. It never
            counts as passed.
    """

    section: str = ""
    figures: dict[str, Estimate] = field(default_factory=dict)
    notes: list[Finding] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    not_examined: dict[str, Finding] = field(default_factory=dict)

    def figure(self, name: str, estimate: Estimate | None) -> None:
        """Keep an estimate; None adds nothing."""
        if estimate is not None:
            self.figures[name] = estimate

    def note(
        self,
        key: str,
        weight: Weight = Weight.QUALIFIES,
        /,
        settle: Finding | None = None,
        **values: Any,
    ) -> None:
        """Add a finding: `told.note("people.ceiling", Weight.QUALIFIES, **share.values("share"),
        n=12)`."""
        self.notes.append(Finding(key, values, weight=weight, settle=settle))

    def lacks(self, check: str, key: str, **values: Any) -> None:
        """Say why a check could not run."""
        self.not_examined[check] = Finding(key, values)

    def beside(self, other: "Told") -> "Told":
        """What both tell, as one; what both note is there once."""
        notes = [*self.notes, *(finding for finding in other.notes if finding not in self.notes)]
        figures, tables = self.figures | other.figures, self.tables | other.tables
        return Told(self.section, figures, notes, tables, self.not_examined | other.not_examined)

    def ordered(self) -> list[Finding]:
        """The findings, those that change the conclusion most first."""
        return sorted(self.notes, key=lambda finding: finding.weight)


@dataclass(frozen=True)
class JudgeCheck:
    """The answer about one judge on one criterion: the sentence, its standing, what else could
    explain the agreement, and all that was told. `n` items have a verdict and a label, in `groups`
    independent units."""

    judge: str
    criterion: str
    verdict: Finding
    standing: Standing
    rival: Finding
    told: Told
    n: int
    groups: int
    settle: Finding | None = None  # what would settle this verdict


@dataclass(frozen=True)
class CheckResult:
    """What `undogmatic check` found: an answer per judge and criterion, and what holds for all of
    them."""

    table: Evidence
    judges: Sequence[JudgeCheck]
    together: Told  # about several judges, the labels, the systems, change over time
    options: CheckOptions
    digests: Mapping[str, Any]
