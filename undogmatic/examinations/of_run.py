"""Makes evidence of what a run judged, and asks it what `undogmatic check` asks, so that the same
judge on the same items gets the same answer from both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.config.build import counter
from undogmatic.datasets import faults
from undogmatic.datasets.cells import as_slice
from undogmatic.datasets.doors import NONE, RUN
from undogmatic.datasets.roles import GROUP
from undogmatic.examinations import examination
from undogmatic.examinations.base import LongTable, texts_of
from undogmatic.examinations.check import check
from undogmatic.examinations.independence import TOGETHER
from undogmatic.examinations.kinds import HEADLINES
from undogmatic.examinations.truth import margin_of
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import (
    AS_GIVEN,
    COUNTED,
    FIRST,
    LABEL_COLUMNS,
    SECOND,
    SLICE,
    SWAPPED,
    TIE,
    Evidence,
    Kind,
)
from undogmatic.records.records import OVERALL, TYPED_GROUP, UNNAMED
from undogmatic.records.results import Finding, Told, part_names
from undogmatic.records.rubric import Rubric

PARTS = (
    "alone",
    "check",
    "examination",
    "judges",
    "kin",
    "kinds",
    "people",
    "position",
    "surface",
    "systems",
)
OF_TABLES = Path(faults.__file__).with_name("table.texts.yaml")
"""The words for what is wrong with a table of verdicts."""
CHOICES = {"first": 0.0, "second": 1.0, "tie": 2.0}
"""What `judge=compare` says of two outputs, as a place among the categories of a choice."""
METADATA = "metadata."
BESIDE_HEADLINE = (
    "agreement.raw",
    "agreement.error",
    "agreement.bias",
    "surface.agreement",
    "alone.share",
)
"""What a report of a run shows beside how far the judge agrees with people."""


def answers(name: str, evidence: Evidence, options: CheckOptions) -> list[Told]:
    """Say what a check says of a run: one answer for each judge on each criterion, and what holds
    for all of them.

    Args:
        name: Of the analysis, which stands in front of the names of numbers.
        evidence: What was judged (`evidence_of`).
        options: What is asked for.
    """
    result = check(evidence, options)
    head = f"{name}.agreement.{HEADLINES[result.table.kind]}"
    names = part_names((each.judge, each.criterion) for each in result.judges)
    told = []
    for each in result.judges:
        own = _renamed(name, each)
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
    return [replace(each, texts=words(name)) for each in told]


def words(name: str) -> tuple[Path, ...]:
    """The files with the words of an analysis of this name that asks what a check asks."""
    own_words = (Path(__file__).with_name(f"{part}.texts.yaml") for part in (name, *PARTS))
    return (*own_words, OF_TABLES, *examination.texts())


def _renamed(name: str, told: Told) -> Told:
    """The same with the analysis' name in front of its numbers, the findings that change most
    first, and after them why something was not examined."""
    own = Told(name, tables=dict(told.tables), columns=dict(told.columns))
    own.drawings += told.drawings
    for key, value in told.numbers.items():
        shown = key in BESIDE_HEADLINE
        own.number(value, key, unit=told.units.get(key, ""), beside_headline=shown)
    for finding in (*told.ordered(), *told.not_examined.values()):
        if finding not in own.findings:
            own.findings.append(finding)
    return own


def evidence_of(judged: LongTable) -> Evidence:
    """What a run judged, beside what people said of it; its folder is the source, so that what
    would settle an answer names it."""
    choices = AS_GIVEN in set(judged.frame["criterion"])
    evidence = _choices(judged) if choices else _scores(judged)
    sources = {judged.folder: judged.digest or ""} if judged.folder else {}
    return replace(evidence, sources=sources)


def _scores(judged: LongTable) -> Evidence:
    rows, scale = judged.frame, judged.rubric.scale
    said = _labels(judged)
    if scale.kind == "numeric":
        verdicts = rows["score"].to_numpy(dtype=np.float64)
    else:
        names = [name.casefold() for name in scale.categories]
        places = {name: float(place) for place, name in enumerate(names)}
        category = rows["category"].map(lambda name: places.get(str(name).casefold(), np.nan))
        verdicts = category.to_numpy(dtype=np.float64)
    labels = said["label"].to_numpy(dtype=np.float64)
    kind, categories = _kind(judged.rubric, np.concatenate([verdicts, labels]))
    if kind == "pass_fail":
        passes = scale.minimum if judged.sign > 0 else scale.maximum
        verdicts, labels = (
            np.where(np.isnan(values), np.nan, values == passes) for values in (verdicts, labels)
        )
    table = _verdicts(rows, verdicts)
    about = _items(judged)
    ends = judged.scale if kind == "numeric" else None
    problems = [
        problem
        for judge, own in table.groupby("judge", sort=False)
        for problem in faults.counting(str(judge), own, about)
    ]
    return Evidence(
        kind,
        table,
        said.assign(label=labels),
        about,
        scale=ends,
        categories=categories,
        # Of categories it is a share, and the rubric states an amount.
        margin=margin_of(judged.rubric, None).stated if kind == "numeric" else None,
        grouping=_grouping(rows),
        problems=[*problems, *_stand_alone(rows)],
    )


def _grouping(rows: pd.DataFrame) -> Literal["found", "typed", "none"]:
    """Whether somebody named the groups of the items, or said that there are none."""
    column = METADATA + TYPED_GROUP
    if column not in rows:
        return "found"
    return "none" if (rows[column] == "").all() else "typed"


def _stand_alone(rows: pd.DataFrame) -> list[Finding]:
    """That nothing was taken to belong together, where somebody said so: a limit of the answer."""
    if _grouping(rows) != "none":
        return []
    return [Finding("table.group_none", {"option": RUN.typed(GROUP, NONE)})]


def _kind(rubric: Rubric, values: NDArray[np.float64]) -> tuple[Kind, tuple[str, ...]]:
    """The kind of verdict, and its categories. Of numbers of which only the two ends of the scale
    occur, one passes, as it does of two categories."""
    scale = rubric.scale
    worse_first = rubric.direction == "higher_is_better"
    if scale.kind == "numeric":
        if set(values[~np.isnan(values)]) <= {scale.minimum, scale.maximum}:
            return "pass_fail", ("fail", "pass")
        return "numeric", ()
    if len(scale.categories) == 2:
        return "pass_fail", scale.categories if worse_first else scale.categories[::-1]
    return scale.kind, scale.categories


def _verdicts(rows: pd.DataFrame, values: NDArray[np.float64]) -> pd.DataFrame:
    """Rows of a run as verdicts."""
    return pd.DataFrame(
        {
            "item": rows["item_id"].astype(str),
            "judge": rows["judge"].astype(str),
            "criterion": rows["criterion"].astype(str),
            "repeat": rows["repeat"],
            "order": None,
            "verdict": values,
            "confidence": rows["confidence"].astype(float) / 100,
            "reason": rows["error"],
            "place": rows["place"],
        }
    ).reset_index(drop=True)


def _labels(judged: LongTable) -> pd.DataFrame:
    """What people said, a row for each person, item and criterion; where only the mean of an item
    is known, the mean."""
    scale = judged.rubric.scale
    means = judged.first().dropna(subset="label").drop_duplicates(["item_id", "criterion"])
    labels = []
    columns = (means[name] for name in ("item_id", "criterion", "label"))
    for item, criterion, mean in zip(*columns, strict=True):
        people = judged.said.get(item, {}).get(criterion, {}) or {UNNAMED: mean}
        labels += [
            (
                str(item),
                str(criterion),
                rater,
                scale.read(label) if isinstance(label, str) else label,
            )
            for rater, label in people.items()
        ]
    return pd.DataFrame(labels, columns=list(LABEL_COLUMNS))


def _items(judged: LongTable) -> pd.DataFrame:
    """What is known of the items: group, text, maker, the slices of their metadata, and what
    programs counted in their texts."""
    first = judged.frame.drop_duplicates("item_id")
    texts = texts_of(first)
    known: dict[str, Any] = {"group": first["group"].astype(str).to_numpy(), "text": texts}
    for column in map(str, first.columns):
        key = column.removeprefix(METADATA)
        if not column.startswith(METADATA) or key in (*TOGETHER, TYPED_GROUP) or "label" in key:
            continue
        if first[column].notna().any():
            known["system" if key == "system" else SLICE + key] = as_slice(first[column])
    items = pd.DataFrame(known, index=pd.Index(first["item_id"].astype(str), name="item"))
    counted = _counted(judged, texts)
    return items.assign(**{COUNTED + name: values for name, values in counted.items()})


def _counted(judged: LongTable, texts: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """What the rubric's own functions count in the texts, and what models say of them that were
    fitted to the construct elsewhere."""
    counted: dict[str, NDArray[np.float64]] = {}
    if judged.rubric.field_words is not None:
        count, names = counter(judged.rubric.field_words, "rubric.field_words")
        table = np.array([count(text) for text in texts], dtype=np.float64)
        counted |= dict(zip(names, table.T, strict=True))
    models = None if judged.known_surface is None else judged.known_surface(texts)
    if models is not None:
        said = models(texts).T
        many = len(said) > 1
        for place, values in enumerate(said, 1):
            counted[f"fitted_model {place}" if many else "fitted_model"] = values
    return counted


def _choices(judged: LongTable) -> Evidence:
    """The choices in both orders, in the given numbering."""
    rows = judged.frame[judged.frame["criterion"].isin((AS_GIVEN, SWAPPED))]
    places = rows["category"].map(CHOICES).to_numpy(dtype=np.float64)
    verdicts = _verdicts(rows, places).assign(order=rows["criterion"].to_numpy())
    verdicts["criterion"] = OVERALL
    scale = judged.rubric.scale
    said = [
        (item, OVERALL, rater, CHOICES[scale.write(float(label))])
        for item, criteria in judged.said.items()
        for rater, label in criteria.get(OVERALL, {}).items()
    ]
    first = judged.frame.drop_duplicates("item_id").set_index("item_id")
    texts = {
        f"text_{n}": [judged.inputs[item].get(f"output_{n}") for item in first.index]
        for n in (1, 2)
    }
    systems = {
        f"system_{n}": first[f"metadata.system_{n}"]
        for n in (1, 2)
        if f"metadata.system_{n}" in first
    }
    items = pd.DataFrame(
        {"group": first["group"].astype(str), **texts, **systems}, index=first.index.rename("item")
    )
    labels = pd.DataFrame(said, columns=list(LABEL_COLUMNS))
    ties = (TIE,) if CHOICES["tie"] in {*places, *labels["label"]} else ()
    return Evidence(
        "pairwise",
        verdicts,
        labels,
        items,
        categories=(FIRST, SECOND, *ties),
        grouping=_grouping(rows),
        problems=_stand_alone(rows),
    )
