"""Keeps what a run's report tells beyond the judgments (results.json), and reads a run back, so
that its report can be made again without judging or analysing."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.run_items import items_of
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import LabelScale
from undogmatic.records.results import FigureData, Finding, Told, Weight
from undogmatic.records.stored import voices
from undogmatic.records.wordings import texts_noted
from undogmatic.records.words import missing
from undogmatic.runs.folder import RESULTS, RunFolder
from undogmatic.runs.outcome import SETTINGS, Asked, FinishedRun, Repeatability
from undogmatic.safety import files
from undogmatic.safety.spool import many
from undogmatic.stats.estimate import Estimate

_ELSEWHERE = (
    "folder rubric judgments frame metrics items results config asked repeatability texts"
    " label_scale".split()
)
_AS_THEY_ARE = [
    field.name for field in fields(FinishedRun) if field.name not in _ELSEWHERE
]
KEPT = (
    "name numbers units beside_headline tables columns findings verdict standing headline texts"
    " part relative planned directed graded".split()
)
"""What is kept of a result beside its drawings; its items have a file of their own."""
_OF_FINDING = ("key", "values", "answer", "weight", "settle", "subject", "needs")
_FINDING, _FRAME, _ESTIMATE = "$finding", "$frame", "$estimate"


def keep(run: FinishedRun) -> None:
    """Write results.json into the run's folder."""
    judged_by = [*map(list, voices(run.frame))]
    repeats = run.repeats[-1] + 1
    told: dict[str, Any] = {name: _plain(getattr(run, name)) for name in _AS_THEY_ARE}
    told |= {"asked": [asdict(each) for each in run.asked]}
    told |= {
        "repeatability": _plain(asdict(run.repeatability)),
        "texts": [*map(str, run.texts)],
    }
    told |= {
        "items": None if many(run.items) else [item.id for item in run.items],
        "judged_by": judged_by,
        "repeats": repeats,
    }
    told |= {"gaps": len(run.frame) == len(run.items) * repeats * len(judged_by)}
    told |= {"config": {name: _plain(run.config.get(name)) for name in SETTINGS}}
    told |= {"results": [_of_result(result) for result in run.results]}
    told |= {"label_scale": run.label_scale and run.label_scale.model_dump(mode="json")}
    files.write(
        run.folder / RESULTS,
        json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n",
    )


def remade(folder: RunFolder) -> FinishedRun:
    """The run as it was when it ended. Raises ConfigError for a run without results.json,
    DataError where the items are no longer what was judged, or a file is damaged."""
    if not folder.has(RESULTS):
        way = (
            f"Its own command with run.resume={folder.path} makes both anew, without asking again"
            " what was answered"
        )
        raise ConfigError(
            f"{folder.named}, which has no {RESULTS}: an earlier version made it. {way}."
        )
    try:
        return _run(folder, folder.json(RESULTS))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = (
            f"{folder.named}: its {RESULTS} cannot be read ({type(error).__name__}: "
            f"{error!s:.100})"
        )
        raise DataError(
            f"{what}; another version made it, or it is damaged. Repeat its command."
        ) from None


def results_of(folder: RunFolder) -> list[Told]:
    """What the analyses of a run told. Raises DataError where that cannot be read."""
    try:
        return [_result(each) for each in folder.json(RESULTS)["results"]]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{folder.named}: its {RESULTS} cannot be read ({type(error).__name__}); another"
            " version made it, or it is damaged. Repeat its command."
        ) from None


def _run(folder: RunFolder, told: Mapping[str, Any]) -> FinishedRun:
    items = items_of(folder)
    pairs = [(judge, criterion) for judge, criterion in told["judged_by"]]
    if told["items"] is not None:
        known = {item.id: item for item in items}
        items = [known[name] for name in told["items"]]
    # The journal has judgments in the order in which models answered; tables and draws
    # need that of the items, or the report made again would differ from the first one.
    ordered = folder.journal.of(
        (item.id, judge, criterion, repeat)
        for repeat in range(told["repeats"])
        for item in items
        for judge, criterion in pairs
    )
    compared = Repeatability(**told["repeatability"])
    return FinishedRun(
        **{name: _whole(told[name]) for name in _AS_THEY_ARE if name in told},
        folder=folder.path,
        config=told["config"],
        rubric=folder.rubric,
        items=items,
        judgments=ordered,
        frame=tabulate(items, ordered, told["repeats"], pairs, told["gaps"]),
        results=[_result(each) for each in told["results"]],
        metrics=folder.metrics,
        asked=[
            Asked(**each | {"without": tuple(each["without"])})
            for each in told["asked"]
        ],
        repeatability=replace(
            compared, earlier=compared.earlier and Path(compared.earlier)
        ),
        texts=[*map(texts_noted, told["texts"])],
        label_scale=told["label_scale"]
        and LabelScale.model_validate(told["label_scale"]),
    )


def _of_result(result: Told) -> dict[str, Any]:
    whole = {name: _plain(getattr(result, name)) for name in KEPT}
    drawings = [
        (each.name, each.kind, _plain(each.data), each.section)
        for each in result.drawings
    ]
    return whole | {"figures": drawings}


def _result(told: Mapping[str, Any]) -> Told:
    whole = {name: _whole(value) for name, value in told.items()}
    whole["drawings"] = [FigureData(*each) for each in whole.pop("figures")]
    whole["texts"] = [*map(texts_noted, whole["texts"])]
    return Told(**whole)


def _plain(value: Any) -> Any:
    """A value of a result as JSON has it; tables and findings under a name of their own."""
    if isinstance(value, Finding):
        told = {name: getattr(value, name) for name in _OF_FINDING}
        told["weight"] = value.weight.name
        return {
            _FINDING: {
                name: _plain(own) for name, own in told.items() if own is not None
            }
        }
    if isinstance(value, Estimate):
        value = {_ESTIMATE: asdict(value)}
    if isinstance(value, pd.DataFrame):
        frame = value if isinstance(value.index, pd.RangeIndex) else value.reset_index()
        rows = [_plain(row) for row in frame.itertuples(index=False, name=None)]
        return {_FRAME: [str(column) for column in frame.columns], "rows": rows}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | pd.Series | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    known = value is None or isinstance(value, bool | int | float | str)
    return value if known else None if missing(value) else str(value)


def _whole(value: Any) -> Any:
    """What `_plain` made JSON of; a pair in a table, which is an interval, is a tuple again."""
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if _FINDING in value:
        told = {name: _whole(inner) for name, inner in value[_FINDING].items()}
        return Finding(**told | {"weight": Weight[told["weight"]]})
    if _ESTIMATE in value:
        return Estimate(**value[_ESTIMATE])
    if _FRAME in value:
        rows = [
            # JSON knows no tuples. An interval that came back as a list would be
            # written otherwise in the tables.
            [tuple(cell) if isinstance(cell, list) else cell for cell in row]
            for row in value["rows"]
        ]
        return pd.DataFrame(rows, columns=value[_FRAME])
    return {key: _whole(inner) for key, inner in value.items()}
