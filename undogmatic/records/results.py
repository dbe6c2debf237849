"""Defines what an analysis yields (metrics, tables, sentences, figures, verdict) and how the parts
of a run are named.

The nouns stand apart from `analyses/`, so that what only reads the results of a finished run does
not import analyses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from undogmatic.stats.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

Standing = Literal["supported", "refuted", "undecided"]
"""The claim holds, it is shown not to hold (or not to hold by itself), or these data cannot tell.
"""
STANDINGS: tuple[Standing, ...] = ("refuted", "undecided", "supported")  # the worst first

Leaves = Literal["supported", "refuted", "undecided", "not_yet"]
"""A standing; "not_yet" is undecided because another explanation is not excluded, or a needed
condition not shown."""
Answer = Literal["yes", "not_yet", "no", "undecided"]
ANSWERS: Mapping[str | None, Answer | None] = {
    "supported": "yes",
    "refuted": "no",
    "not_yet": "not_yet",
    "undecided": "undecided",
    None: None,
}
"""A verdict in one word, by how it leaves the claim."""
# of several answers the first of these counts
GRAVITY: tuple[Answer, ...] = (
    "no",
    "not_yet",
    "undecided",
    "yes",
)


class Weight(IntEnum):
    """How much a finding changes the conclusion."""

    REVERSES = 0  # the judge may not be believed because of it
    LIMITS = 1  # the judge may be believed, but not for this use, slice or scale
    QUALIFIES = 2  # a reader should know it
    DETAIL = 3


@dataclass(frozen=True)
class Finding:
    """Something that was found, as a sentence of the report.

    Attributes:
        key: Of its wording (see `undogmatic.records.wordings`).
        values: For the wording.
        answer: Of a verdict, in one word, which `analyses/ruling.py` decides.
        weight: How much it changes the conclusion.
        settle: What would settle it, as a sentence, where it leaves something open.
    """

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)
    answer: Answer | None = None
    weight: Weight = Weight.QUALIFIES
    settle: Finding | None = None

    @property
    def inner(self) -> Finding:
        """The verdict that this sentence holds beside something else; else the finding itself."""
        held = self.values.get("verdict")
        return held if isinstance(held, Finding) else self


@dataclass(frozen=True)
class FigureData:
    """What a figure shows: `kind` names a drawing function of `report/figures.py`, `data` its
    arguments."""

    name: str
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class AnalysisResult:
    """The yield of one analysis. Metric names are flat and start with the analysis' name:
    `ab.rank_biserial`."""

    name: str
    metrics: Mapping[str, float]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    figures: Sequence[FigureData] = ()
    verdict: Finding | None = None
    standing: Standing | None = (
        None  # how the verdict leaves the claim that it tests, for sweeps and gates
    )
    headline: str | None = (
        None  # key of the metric that sums the analysis up; sweeps rank and search by it
    )
    items: pd.DataFrame | None = (
        None  # numbers per item (`item_id` first), kept as `items_<name>.csv`, for sweeps
    )
    texts: Sequence[Path] = ()  # the files with its words; `analyse` fills them in
    part: str = ""  # judge, or judge and criterion, that it is about, where the run has several
    relative: bool = False
    """Whether it compares the judge with what it was made from: that says nothing of the judge by
    itself, so sweeps rank by another headline where there is one, and do not count the verdict as
    the judge's own."""

    def full(self, name: str) -> str:
        """The name of a metric or file of its own among those of the whole run."""
        return f"{self.part}.{name}" if self.part else name


@dataclass
class Telling:
    """Collects what one analysis has to tell; what is told together is passed to functions that add
    to it.

    Names of metrics, and keys of sentences without a dot, get `name` in front: the analysis'.
    """

    name: str
    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    figures: list[FigureData] = field(default_factory=list)

    def number(self, value: float | Estimate | None, *parts: str) -> None:
        """Add the metric `<name>.<parts>`, or three of an estimate (with `_low` and `_high`); None
        adds nothing."""
        name = metric_name(self.name, *parts)
        if isinstance(value, Estimate):
            self.metrics |= value.metrics(name)
        elif value is not None:
            self.metrics[name] = value

    def say(self, key: str, /, *several: Mapping[str, Any], **values: Any) -> None:
        """Add a sentence: `tell.say("share", share.values("share"), n=12)`."""
        full = key if "." in key else f"{self.name}.{key}"
        self.findings.append(
            Finding(full, {k: v for more in (*several, values) for k, v in more.items()})
        )

    def draw(self, name: str, kind: str, **data: Any) -> None:
        self.figures.append(FigureData(name, kind, data))

    def result(
        self, verdict: Finding | None = None, standing: Standing | None = None, **others: Any
    ) -> AnalysisResult:
        """All of it as the yield of the analysis, with what it concludes:
        `tell.result(*ruling.decided)`."""
        parts = self.metrics, self.tables, self.findings, self.figures
        return AnalysisResult(self.name, *parts, verdict, standing, **others)


def headline_of(results: Sequence[AnalysisResult]) -> str | None:
    """The metric that sums a run up: the headline of the first analysis of the judge by itself,
    else of the first."""
    told = sorted(
        (each for each in results if each.headline is not None), key=lambda each: each.relative
    )
    return told[0].full(str(told[0].headline)) if told else None


def metric_name(*parts: str) -> str:
    """Parts joined by dots; anything a tracking server might refuse in a part becomes an
    underscore."""
    return ".".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)


def part_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """How each judge and criterion of a run is named: "" if it is the only one, `<judge>`, or
    `<judge>.<criterion>` where that judge has several."""
    parts = list(dict.fromkeys(pairs))
    judges = [judge for judge, _ in parts]
    names = {
        pair: metric_name(*(pair if judges.count(pair[0]) > 1 else pair[:1])) for pair in parts
    }
    return names if len(parts) > 1 else dict.fromkeys(parts, "")
