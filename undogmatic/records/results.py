"""Defines what an analysis yields (metrics, tables, sentences, figures, verdict) and how the parts
of a run are named.

The nouns stand apart from `examinations/`, so that what only reads the results of a finished run
does not import analyses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from undogmatic.stats.estimate import Estimate, Unit

if TYPE_CHECKING:
    import pandas as pd

Standing = Literal["supported", "refuted", "undecided"]
"""The claim holds, it is shown not to hold (or not to hold by itself), or these data cannot tell.
"""
# the worst first
# Of several verdicts the worst counts: a judge that fails one test is not saved by the
# others.
STANDINGS: tuple[Standing, ...] = ("refuted", "undecided", "supported")

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


Number = float | Estimate
"""A number that is told, with its interval where it has one."""


class Subject(StrEnum):
    """What a finding is about, where other findings or the answer hang on it."""

    HEADLINE = "headline"  # how far the judge agrees with people
    GRADES = "grades"  # whether its grades are too high or too low
    MEAN = "mean"  # the mean of all items, corrected by labels
    CEILING = "ceiling"  # the judge beside the agreement of people among themselves
    ANNOTATOR = "annotator"  # whether it may stand in for one of them
    ALONE = "alone"  # what it may decide alone
    REACH = "reach"  # how far its verdicts may lie from what people say
    RIVAL = "rival"  # how far something that does not read agrees with people
    SAME_LABELS = "same_labels"  # labels that are all the same as its verdicts
    CHANGE = "change"  # of its verdicts since an earlier file
    AGREED = "agreed"  # whether it agrees with people as before, where that was asked
    # what somebody asked for besides the answer: it is said before that
    ASKED = "asked"
    VAIN = "vain"  # that more labels or texts would not help
    UNSEEN = "unseen"  # what came of texts that a search has not seen
    WORSE = "worse"  # that the high end of people's labels is taken to be the bad one
    REVERSED = "reversed"  # that the judge goes the other way than people's labels
    TURNED = "turned"  # that their labels may be turned round
    KIND = "kind"  # what kind of verdicts the data hold
    NOT_READ = "not_read"  # columns of which nobody knows what they are


class Needs(StrEnum):
    """What has to hold so that a finding may be used."""

    BELIEF = "belief"  # nobody lets a judge decide that is not shown to be believed
    NO_NUMBER = "no_number"  # no number in the text that may be the label


class Face(NamedTuple):
    """How a fault is told together with another one that accounts for it: as the sentence `key`,
    with the value that the finding about the same subject has without that other fault."""

    key: str
    value: str


@dataclass(frozen=True)
class Finding:
    """Something that was found, as a sentence of the report.

    Attributes:
        key: Of its wording (see `undogmatic.records.wordings`).
        values: For the wording.
        answer: Of a verdict, in one word, which `examinations/ruling/` decides.
        weight: How much it changes the conclusion.
        settle: What would settle it, as a sentence, where it leaves something open.
        subject: What it is about, where other findings hang on it.
        needs: What has to hold so that it may be used.
        face: Of a fault that grades which are too high or too low may account for.
        criterion: The one that it is about, where what is told has several.
    """

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)
    answer: Answer | None = None
    weight: Weight = Weight.QUALIFIES
    settle: Finding | None = None
    subject: Subject | None = None
    needs: Needs | None = None
    face: Face | None = None
    criterion: str = ""

    @property
    def inner(self) -> Finding:
        """The verdict that this sentence holds beside something else; else the finding itself."""
        held = self.values.get("verdict")
        return held if isinstance(held, Finding) else self


@dataclass(frozen=True)
class FigureData:
    """What a figure shows: `kind` names a drawing function of `report/figures.py`, `data` its
    arguments, `section` whose words it is captioned in ("" for those of whoever tells it)."""

    name: str
    kind: str
    data: Mapping[str, Any]
    section: str = ""


NOTHING = Finding("")
"""What is told of other explanations by an examination that looks for none."""


@dataclass
class Told:
    """Collects what one examination tells, and what it concludes from it.

    Names of numbers, and keys of sentences without a dot, get `name` in front: the examination's.
    A check of evidence has many parts that tell into one collector without a name, and takes names
    and keys as they are.

    Attributes:
        name: Of the examination.
        numbers: Name -> number, with its interval where it has one. Names are dotted:
            `ab.rank_biserial`. What a gate may hold against a threshold stands here.
        units: Name of a number without an interval -> its unit, where it has one; an estimate holds
            its own.
        subjects: What a number is about, where others hang on it -> its name.
        promises: Names of numbers that tell what the judge may decide alone once it is believed; a
            gate lets none of them pass before that.
        beside_headline: Names of numbers that a report shows beside the headline, with those that
            have an interval.
        tables, drawings: Name -> table, and figures, for the report.
        columns: Name of a table -> column -> its unit, of those that have one.
        findings: Sentences, which the report of a check orders by weight.
        not_examined: Name of what could not be examined -> the sentence that says why. It never
            counts as passed.
        verdict: The answer, as a sentence. standing: How it leaves the claim that was tested, for
            sweeps and gates.
        headline: Name of the number that sums it up; sweeps rank and search by it.
        items: Numbers per item (`item_id` first), kept as `items_<name>.csv`, for sweeps.
        evidence: What it was concluded from (`records.evidence.Evidence`), kept as
            `evidence.jsonl`: a check of that file, or of the run's folder, gives the same answer.
        texts: The files with its words; `analyse` fills them in.
        part: Judge, or judge and criterion, that it is about, where a run has several.
        relative: Whether it compares the judge with what it was made from: that says nothing of the
            judge by itself, so sweeps rank by another headline where there is one, and do not count
            the verdict as the judge's own.
        planned: Whether it was locked before the run.
        directed: Whether its answer turns round where labels run the other way than is assumed.
        graded: Whether its numbers are on the scale on which people gave the labels, and not on the
            rubric's.
        judge, criterion: Whom the answer of a check is about. rival: What else could explain that
            the judge agrees with people. n: Items with a verdict and a label, in `groups`
            independent units. unasked: Names of the examinations that could have spoken against
            the judge and were not asked, so that there is no answer.
    """

    name: str = ""
    numbers: dict[str, Number] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    subjects: dict[Subject, str] = field(default_factory=dict)
    promises: list[str] = field(default_factory=list)
    beside_headline: list[str] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    columns: dict[str, Mapping[str, Unit]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    drawings: list[FigureData] = field(default_factory=list)
    verdict: Finding | None = None
    standing: Standing | None = None
    headline: str | None = None
    items: pd.DataFrame | None = None
    evidence: Any = None
    texts: Sequence[Path] = ()
    part: str = ""
    relative: bool = False
    planned: bool = False
    directed: bool = False
    graded: bool = False
    not_examined: dict[str, Finding] = field(default_factory=dict)
    judge: str = ""
    criterion: str = ""
    rival: Finding = NOTHING
    n: int = 0
    groups: int = 0
    unasked: Sequence[str] = ()

    @property
    def answer(self) -> Finding:
        """The verdict of an examination that always comes to one."""
        assert self.verdict is not None, f"{self.name} came to no verdict"
        return self.verdict

    @property
    def settle(self) -> Finding | None:
        """What would settle the verdict, where it leaves something open."""
        return None if self.verdict is None else self.verdict.settle

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The numbers that have an interval."""
        return {
            name: value
            for name, value in self.numbers.items()
            if isinstance(value, Estimate)
        }

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers as a tracking server takes them: three of an estimate, with `_low` and
        `_high`."""
        flat: dict[str, float] = {}
        for name, value in self.numbers.items():
            flat |= (
                value.metrics(name) if isinstance(value, Estimate) else {name: value}
            )
        return flat

    @property
    def metric_units(self) -> dict[str, Unit]:
        """The unit of each of the metrics that has one."""
        units = dict(self.units)
        for name, estimate in self.estimates.items():
            if estimate.unit:
                units |= dict.fromkeys(estimate.metrics(name), estimate.unit)
        return units

    def full(self, name: str) -> str:
        """The name of a number or file of its own among those of the whole run."""
        return f"{self.part}.{name}" if self.part else name

    def number(
        self,
        value: Number | None,
        *parts: str,
        unit: Unit = "",
        measure: str = "",
        subject: Subject | None = None,
        beside_headline: bool = False,
        promises: bool = False,
    ) -> None:
        """Add the number `<name>.<parts>`; None adds nothing.

        Args:
            unit: In what it is; "" for an estimate that knows its unit itself.
            measure: By which coefficient an estimate is measured, where its name does not say so.
            subject: What it is about, where a report or a card looks for that.
            beside_headline: Whether a report shows it beside the headline.
            promises: Whether it tells what the judge may decide alone once it is believed.
        """
        # The numbers of a check are keys that people write into gate files: names of judges and
        # systems stand there as they are in the data.
        name = metric_name(self.name, *parts) if self.name else ".".join(parts)
        # A number that does not exist is no metric. As NaN it would spoil every mean
        # that a tracking server makes of it.
        if value is None:
            return
        if isinstance(value, Estimate):
            unit, measure = unit or value.unit, measure or value.measure
            self.numbers[name] = value.replace(unit=unit, measure=measure)
        else:
            self.numbers[name] = value
            self.units |= {name: unit} if unit else {}
        self.subjects |= {subject: name} if subject is not None else {}
        self.beside_headline += [name] if beside_headline else []
        self.promises += [name] if promises else []

    def table(self, name: str, table: pd.DataFrame, **units: Unit) -> None:
        """Add a table, with the units of its columns: `told.table("by_rater", frame,
        agreement="share", p="p")`. The ends of an interval are in the unit of the column before
        them."""
        self.tables[name] = table
        self.columns[name] = units

    def say(
        self,
        key: str,
        /,
        *several: Mapping[str, Any],
        weight: Weight = Weight.QUALIFIES,
        settle: Finding | None = None,
        subject: Subject | None = None,
        needs: Needs | None = None,
        face: Face | None = None,
        **values: Any,
    ) -> None:
        """Add a sentence: `told.say("share", share.values("share"), n=12)`."""
        full = key if "." in key else f"{self.name}.{key}"
        together = {
            name: value for more in (*several, values) for name, value in more.items()
        }
        more: dict[str, Any] = {"subject": subject, "needs": needs, "face": face}
        self.findings.append(
            Finding(full, together, weight=weight, settle=settle, **more)
        )

    def draw(self, name: str, kind: str, **data: Any) -> None:
        """Add a figure of this kind."""
        self.drawings.append(FigureData(name, kind, data))

    def lacks(self, check: str, key: str, **values: Any) -> None:
        """Say why something could not be examined."""
        self.not_examined[check] = Finding(key, values)

    def result(
        self,
        verdict: Finding | None = None,
        standing: Standing | None = None,
        **others: Any,
    ) -> Told:
        """The same with what it concludes: `told.result(*ruling.decided)`."""
        return replace(self, verdict=verdict, standing=standing, **others)

    def beside(self, other: Told) -> Told:
        """The same with what another tells besides; what both find is there once."""
        new = [finding for finding in other.findings if finding not in self.findings]
        return replace(
            self,
            numbers=self.numbers | other.numbers,
            units=self.units | other.units,
            subjects=other.subjects | self.subjects,
            promises=list(dict.fromkeys([*self.promises, *other.promises])),
            tables=self.tables | other.tables,
            columns=self.columns | other.columns,
            findings=[*self.findings, *new],
            not_examined=self.not_examined | other.not_examined,
        )

    def about(self, subject: Subject) -> Finding | None:
        """The first finding about a subject."""
        return next(
            (found for found in self.findings if found.subject == subject), None
        )

    def number_about(self, subject: Subject) -> tuple[str, Estimate] | None:
        """The name of the number about a subject, and the number with its interval."""
        name = self.subjects.get(subject, "")
        value = self.numbers.get(name)
        return (name, value) if isinstance(value, Estimate) else None

    def ordered(self) -> list[Finding]:
        """The findings, those that change the conclusion most first."""
        return sorted(self.findings, key=lambda finding: finding.weight)


def headline_of(results: Sequence[Told]) -> str | None:
    """The metric that sums a run up: the headline of the first analysis of the judge by itself,
    else of the first."""
    told = sorted(
        (each for each in results if each.headline is not None),
        key=lambda each: each.relative,
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
        pair: metric_name(*(pair if judges.count(pair[0]) > 1 else pair[:1]))
        for pair in parts
    }
    return names if len(parts) > 1 else dict.fromkeys(parts, "")
