"""Makes evidence of what a run judged, and asks it what `undogmatic check` asks, so that the same
judge on the same items gets the same answer from both."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from undogmatic.datasets import faults
from undogmatic.datasets.doors import RUN
from undogmatic.datasets.readers.own_run import EVIDENCE
from undogmatic.datasets.table import read_table
from undogmatic.examinations import examination, surface_rival
from undogmatic.examinations.check import check
from undogmatic.examinations.kinds import HEADLINES
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import margin_of
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import COUNTED, Evidence
from undogmatic.records.own_scale import OwnScale
from undogmatic.records.results import Finding, Told, part_names
from undogmatic.safety.imports import counter

PARTS = (
    "alone",
    "check",
    "examination",
    "injected",
    "judges",
    "kin",
    "kinds",
    "people",
    "position",
    "steps",
    "surface",
    "systems",
)
OF_TABLES = Path(faults.__file__).with_name("table.texts.yaml")
"""The words for what is wrong with a table of verdicts."""
BESIDE_HEADLINE = (
    "agreement.raw",
    "agreement.error",
    "agreement.bias",
    "surface.agreement",
    "alone.share",
    "injected.recall",
    "injected.equivalent",
    "steps.exact",
)
"""What a report of a run shows beside how far the judge agrees with people."""


def kept_evidence(folder: Path) -> Evidence | None:
    """The evidence that a run against labels has kept in its folder; None where it kept none.
    Raises DataError where it cannot be read."""
    return read_table([folder]) if (folder / EVIDENCE).is_file() else None


def answers(name: str, judged: RunEvidence, options: CheckOptions) -> list[Told]:
    """Say what a check says of a run: one answer for each judge on each criterion, and what holds
    for all of them.

    Args:
        name: Of the analysis, which stands in front of the names of numbers.
        judged: What was judged.
        options: What is asked for.
    """
    evidence = evidence_of(judged)
    result = check(evidence, options)
    # What was counted in the texts is kept for the next judge of them, of which a run has no more.
    surface_rival.forget()
    head = f"{name}.agreement.{HEADLINES[result.table.kind]}"
    names = part_names((each.judge, each.criterion) for each in result.judges)
    graded = judged.graded is not None and evidence.kind == "numeric"
    told = []
    for each in result.judges:
        own = _renamed(name, each)
        # First what the judge is compared with, or the numbers after it say nothing.
        own.findings.insert(0, each.rival)
        about = {
            "part": names[each.judge, each.criterion],
            "judge": each.judge,
            "criterion": each.criterion,
            "n": each.n,
            "groups": each.groups,
            "evidence": evidence,
        }
        headline = head if head in own.metrics else None
        told.append(own.result(each.verdict, each.standing, headline=headline, **about))
    if result.together.findings or result.together.tables:
        told.append(_renamed(name, result.together))
    return [replace(each, texts=words(name), graded=graded) for each in told]


def words(name: str) -> tuple[Path, ...]:
    """The files with the words of an analysis of this name that asks what a check asks."""
    asked = (Path(inspect.getfile(each.examine)).stem for each in examination.OURS)
    own_words = (
        Path(__file__).with_name(f"{part}.texts.yaml")
        for part in dict.fromkeys((name, *PARTS, *asked))
    )
    found = (file for file in own_words if file.is_file())
    return (*found, OF_TABLES, *examination.texts())


def _renamed(name: str, told: Told) -> Told:
    """The same with the analysis' name in front of its numbers, the findings that change most
    first, and after them why something was not examined."""
    own = Told(name, tables=dict(told.tables), columns=dict(told.columns))
    own.drawings += told.drawings
    for key, value in told.numbers.items():
        shown = key in BESIDE_HEADLINE
        own.number(value, key, unit=told.units.get(key, ""), beside_headline=shown)
    for finding in (*told.ordered(), *told.not_examined.values()):
        # A check tells some findings of each judge and once for all together.
        if finding not in own.findings:
            own.findings.append(finding)
    return own


def evidence_of(judged: RunEvidence) -> Evidence:
    """What a run judged as a check reads it: with what programs count in the texts and, where only
    two verdicts are possible, the one that passes."""
    if judged.kind == "pairwise":
        # Choices have no scale: first, second and tie are no amounts.
        return judged.changed(scale=None, problems=_stand_alone(judged))
    evidence = _of_two(judged)
    faulty = [
        problem
        for judge, own in evidence.verdicts.groupby("judge", sort=False)
        for problem in faults.counting(str(judge), own, evidence.items)
    ]
    # With two verdicts the numbers are 0 and 1, whatever the rubric's scale is.
    numeric = evidence.kind == "numeric"
    known = evidence.changed(
        items=evidence.items.assign(**_counted(judged)),
        scale=judged.scale if numeric else None,
        # Of categories it is a share, and the rubric states an amount.
        margin=margin_of(judged.rubric).stated if numeric else None,
        problems=[*faulty, *_stand_alone(judged)],
    )
    return (
        known
        if judged.graded is None or not numeric
        else _in_grades(known, judged.graded)
    )


def _in_grades(evidence: Evidence, graded: OwnScale) -> Evidence:
    """The evidence on the scale on which people gave the labels: whoever gave 1 to 5 reads of 1 to
    5, and of a judge that is 0.4 off, not 10."""
    verdicts, labels = evidence.verdicts, evidence.labels
    return evidence.changed(
        verdicts=verdicts.assign(verdict=graded.score(verdicts["verdict"])),
        labels=labels.assign(label=graded.score(labels["label"])),
        scale=graded.ends,
        margin=None if evidence.margin is None else graded.amount(evidence.margin),
    )


def _stand_alone(judged: RunEvidence) -> list[Finding]:
    """That nothing was taken to belong together, where somebody said so."""
    return [faults.stands_alone(RUN)] if judged.grouping == "none" else []


def _of_two(judged: RunEvidence) -> Evidence:
    """The evidence where one of two passes: of two categories, and of numbers of which only the two
    ends of the scale occur."""
    values, labels = judged.verdicts["verdict"], judged.labels["label"]
    categories = judged.categories
    if judged.kind == "numeric" and {*values.dropna(), *labels.dropna()} <= {
        *judged.scale
    }:
        categories = ("fail", "pass")
    if len(categories) != 2:
        return judged.changed()
    # The end that is good: the lower one where more is worse.
    passes = judged.scale[judged.sign < 0]
    if judged.kind != "numeric" and judged.sign > 0:
        categories = categories[::-1]
    verdicts, said = (
        (own == passes).astype(float).where(own.notna()) for own in (values, labels)
    )
    return judged.changed(
        kind="pass_fail",
        categories=categories,
        verdicts=judged.verdicts.assign(verdict=verdicts),
        labels=judged.labels.assign(label=said),
    )


def _counted(judged: RunEvidence) -> dict[str, NDArray[np.float64]]:
    """What the rubric's own functions count in the texts, and what models say of them that were
    fitted to the construct elsewhere."""
    texts = judged.items["text"].tolist()
    counted: dict[str, NDArray[np.float64]] = {}
    if judged.rubric.field_words is not None:
        count, names = counter(judged.rubric.field_words, "rubric.field_words")
        table = np.array([count(text) for text in texts], dtype=np.float64)
        counted |= dict(zip(names, table.T, strict=True))
    models = None if judged.known_surface is None else judged.known_surface(texts)
    if models is not None:
        said = models(texts).T
        for place, values in enumerate(said, 1):
            counted[f"fitted_model {place}" if len(said) > 1 else "fitted_model"] = (
                values
            )
    return {COUNTED + name: values for name, values in counted.items()}
