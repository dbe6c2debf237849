"""Reads traces and experiments of Opik with their feedback scores: a list of traces, a file or a
folder of `opik export`, or a table with columns `feedback_scores.NAME`.

A score of the source "ui" is a label of the user who gave it; one of the SDK or of an online rule
is a verdict on the criterion of its name.
"""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    facts,
    joined,
    text_of,
)
from undogmatic.records.records import as_number

_COLUMN = "feedback_scores."
_JUDGES = {"online_scoring": "opik online", "sdk": "opik sdk"}
_WORDS = ("category_name", "categoryName")


def _claims(head: Head) -> bool:
    if head.path.is_dir():
        return any(head.path.glob("trace_*.json"))
    names = head.names("content")
    if _exported(head.value) is not None:
        return True
    table = any(name.startswith(_COLUMN) for name in names)
    listed = isinstance(head.record("content").get("feedback_scores"), list)
    about = {
        "project_id",
        "project_name",
        "experiment_id",
        "dataset_item_id",
        "span_count",
    }
    return (listed and bool(names & {*about, "start_time"})) or (
        table and "id" in names
    )


def _exported(value: Any) -> Mapping[str, Any] | None:
    """The trace in a file of `opik export`."""
    trace = value.get("trace") if isinstance(value, Mapping) else None
    is_one = isinstance(trace, Mapping) and "id" in trace and "start_time" in trace
    return trace if is_one else None


def _records(path: Path, problems: list[str]) -> Given:
    files = sorted(path.glob("trace_*.json")) if path.is_dir() else [path]
    return list(
        itertools.chain.from_iterable(_of_file(file, problems) for file in files)
    )


def _of_file(path: Path, problems: list[str]) -> Given:
    head = log.head_of(path)
    if head is not None and _exported(head.value) is not None:
        value, half = log.load(path)
        if half:
            problems.append(log.Unread(f"{path}: breaks off; what is whole was read."))
            if (
                list(value) == ["trace"]
                and list(value["trace"])[-1] == "feedback_scores"
            ):
                value["trace"]["feedback_scores"].pop()  # which is cut
        return [(f"{path}#trace", value["trace"])]
    return log.records(path, problems, "content")


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    verdicts, labels = list[Row](), list[Row]()
    known: dict[tuple[str, str], None] = {}
    read = [(place, one, list(_scores(one))) for place, one in given]
    for _, _, scores in read:
        known |= {(judge, name): None for judge, name, *_ in scores if judge}
    for count, (place, one, scores) in enumerate(read, 1):
        metadata = one.get("metadata")
        about = facts(metadata if isinstance(metadata, Mapping) else {}) | {
            "item": str(one.get("dataset_item_id") or one.get("id") or f"row {count}"),
            "text": text_of(one.get("output")),
            "input": text_of(one.get("input")),
            "place": place,
        }
        said = {(judge, name) for judge, name, *_ in scores}
        for judge, name, value, who in scores:
            row = about | {"criterion": name}
            if not judge:
                labels.append(row | {"label": value, "rater": who})
            else:
                told = (
                    {"reason": "the score has no value"}
                    if value is None
                    else {"verdict": value}
                )
                verdicts.append(row | {"judge": judge} | told)
        error = one.get("error_info") or {}
        if error:
            why = str(
                error.get("message")
                or error.get("exception_type")
                or "the trace failed"
            )
            verdicts += [
                about | {"judge": judge, "criterion": name, "reason": why}
                for judge, name in known
                if (judge, name) not in said
            ]
    yield from joined(verdicts, labels, source, problems)


def _scores(one: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, str]]:
    """The judge ("": a person), the name, the value and the author of each score of a trace."""
    for score in one.get("feedback_scores") or ():
        origin = str(score.get("source") or "sdk").lower()
        word = next((score[key] for key in _WORDS if score.get(key)), None)
        value = cell(word if word is not None else score.get("value"))
        several = score.get("value_by_author") or {}
        name, who = str(score.get("name")), str(score.get("created_by") or "annotator")
        if origin == "ui" and len(several) > 1:
            for author, own in several.items():
                yield "", name, cell(own.get("value")), str(author)
        else:
            yield (
                "" if origin == "ui" else _JUDGES.get(origin, f"opik {origin}"),
                name,
                value,
                who,
            )
    for column in [name for name in one if name.startswith(_COLUMN)]:
        name = column.removeprefix(_COLUMN)
        if "." in name or name.endswith("_reason"):
            continue
        value = cell(as_number(one[column]))
        if log.is_person(name):
            if value is not None:
                yield "", name.partition("_")[2] or name, value, name
        else:
            yield "opik", name, value, ""


READER = Reader(
    "traces of Opik",
    _claims,
    _records,
    _rows,
    About(
        tool="Opik",
        file=(
            "traces with feedback scores (JSON, JSON Lines), a file or folder of `opik export`"
        ),
        verdict="a score of the SDK or of an online rule",
        label='a score of the source "ui"',
        fixture="from what is known of its format, not seen with a file of its own",
    ),
)
