"""Reads experiments of LangSmith as its SDK and its page write them as tables (`feedback.NAME`),
and lists of feedback as its API answers them.

LangSmith does not write down which model judged, so the judge is called as its column of feedback
(`feedback.correctness`), or `langsmith model` and `langsmith api` in a list of feedback. Feedback
that was given on the page (the source "app") is a person's label; of a table a column that a person
filled is known by its name (`feedback.human_correctness`).
"""

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
    joined,
    text_of,
)
from undogmatic.records.records import as_number

_FEEDBACK = "feedback."
_NO_FACTS = {
    "id",
    "example_id",
    "error",
    "execution_time",
    "status",
    "start_time",
    "end_time",
}
_RECORD = {"run_id", "key", "score", "feedback_source"}


def _claims(head: Head) -> bool:
    names = head.names()
    table = any(name.startswith(_FEEDBACK) for name in names)
    return names >= _RECORD or (
        table and any(name.startswith("inputs.") for name in names)
    )


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    if any("feedback_source" in record for _, record in given):
        yield from _of_feedback(given, source, problems)
    else:
        yield from _of_table(given)


def _of_table(given: Given) -> Iterator[Row]:
    names = dict.fromkeys(name for _, record in given for name in record)
    feedback = [name for name in names if name.startswith(_FEEDBACK)]
    criteria = [name.removeprefix(_FEEDBACK) for name in feedback]
    people = log.people_among(criteria, [c for c in criteria if not log.is_person(c)])
    examples = [record.get("example_id") for _, record in given]
    by_example = all(examples) and len(set(examples)) == len(examples)
    for count, (place, record) in enumerate(given, 1):
        item = record.get("example_id") if by_example else record.get("id")
        about: Row = {
            name: cell(value)
            for name, value in record.items()
            if name and "." not in name and name not in _NO_FACTS
        }
        about |= {
            "item": str(item or f"row {count}"),
            "group": record.get("example_id"),
            "text": _part(record, "outputs."),
            "input": _part(record, "inputs."),
            "context": _part(record, "reference"),
            "place": place,
        }
        about |= {c: cell(as_number(record.get(_FEEDBACK + c))) for c in people}
        for criterion in criteria:
            if criterion in people:
                continue
            value = cell(as_number(record.get(_FEEDBACK + criterion)))
            why = record.get("error") or "no feedback of this name"
            said = {"reason": str(why)} if value is None else {"verdict": value}
            yield (
                about | {"judge": _FEEDBACK + criterion, "criterion": criterion} | said
            )


def _part(record: Mapping[str, Any], prefix: str) -> str | None:
    """The text of the columns with this beginning, one by itself or each with its name."""
    held = {
        name.rpartition(".")[2]: value
        for name, value in record.items()
        if name.startswith(prefix) and value not in (None, "")
    }
    return (
        text_of(next(iter(held.values()))) if len(held) == 1 else text_of(held or None)
    )


def _of_feedback(
    given: Given, source: Path | str, problems: list[str]
) -> Iterator[Row]:
    verdicts, labels = list[Row](), list[Row]()
    for place, one in given:
        origin = one.get("feedback_source") or {}
        kind = str(origin.get("type") or "api")
        number = one.get("score")
        value = cell(one.get("value") if number is None else number)
        row: Row = {
            "item": str(one.get("run_id") or one.get("trace_id")),
            "criterion": str(one.get("key")),
            "place": place,
        }
        if kind == "app":
            who = origin.get("user_name") or origin.get("user_id") or "annotator"
            labels.append(row | {"label": value, "rater": str(who)})
            continue
        lack = str(one.get("comment") or "the feedback has no score")
        said = {"reason": lack} if value is None else {"verdict": value}
        # where `undogmatic export` wrote it
        named = (origin.get("metadata") or {}).get("judge")
        verdicts.append(row | {"judge": str(named or f"langsmith {kind}")} | said)
    yield from joined(verdicts, labels, source, problems)


READER = Reader(
    "an experiment of LangSmith",
    _claims,
    log.records,
    _rows,
    About(
        tool="LangSmith",
        file=(
            "an experiment as `to_pandas()` or the page writes it (CSV, JSON), or feedback as"
            " the API answers it"
        ),
        verdict="feedback of each name",
        label='feedback of the source "app"; a column `feedback.human_NAME`',
        fixture="by the tool (0.15.1), which uploaded nothing; feedback by its types",
    ),
)
