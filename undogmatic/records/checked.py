"""Defines what a check of evidence yields: answers, figures, findings and what was not
examined."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from undogmatic.records.evidence import Evidence, Kind
from undogmatic.records.records import Record
from undogmatic.records.results import Finding, Subject, Told

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
        tried: How many answers are asked of these labels in all, such as one for each prompt that
            was tried, or for each look as labels grow; each is paid for, as are the judges and
            criteria of a table.
        over: Column of the dates over which a change is looked for, with a rate of false alarms of
            1 - `level`; None: nobody asks.
        worse: Which end of the scores is the worse one, where what was planted is examined; None
            takes the low end.
        only: Names of the examinations that are asked; none stands for all. Where one that could
            speak against the judge is not among them, there is no answer.
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
    tried: int = Field(default=1, ge=1, le=100_000, exclude_if=lambda n: n == 1)
    over: str | None = Field(default=None, exclude_if=lambda name: name is None)
    worse: Literal["low", "high"] | None = Field(
        default=None, exclude_if=lambda end: end is None
    )
    only: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)

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


@dataclass(frozen=True)
class CheckResult:
    """What `undogmatic check` found: an answer per judge and criterion, and what holds for all of
    them."""

    table: Evidence
    judges: Sequence[Told]  # one of each judge on each criterion
    together: Told  # about several judges, the labels, the systems, change over time
    options: CheckOptions

    @property
    def changes(self) -> list[Finding]:
        """Whether agreement with people has changed, where that was asked: of each judge."""
        return self._about(Subject.AGREED)

    @property
    def asked(self) -> list[Finding]:
        """What somebody asked for besides the answer: what each judge sees of planted defects, and
        what an instrument test of it means for these data."""
        return self._about(Subject.ASKED)

    def _about(self, subject: Subject) -> list[Finding]:
        told = [self.together, *self.judges]
        found = [
            each for part in told for each in part.findings if each.subject == subject
        ]
        return [each for n, each in enumerate(found) if each not in found[:n]]

    @property
    def agrees_less(self) -> bool:
        """Whether a judge is shown to agree with people less than before."""
        return any(found.answer == "no" for found in self.changes)
