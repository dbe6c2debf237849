"""Reads scores of Langfuse, as its API answers them or as its tables are exported (JSON, JSON
Lines, CSV).

A score with the source ANNOTATION is the label of its author; one of an evaluator (EVAL) or set by
a program (API) is a verdict on the criterion of its name. An export of scores holds no texts.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    first_of,
    joined,
    records,
    snake,
    text_of,
)
from undogmatic.records.records import as_number

_JUDGES = {"EVAL": "langfuse evaluator", "API": "langfuse api"}
_NEEDED = {"name", "value", "source"}
_PEOPLE = ("ANNOTATION", "REVIEW")
_SOURCES = {*_JUDGES, *_PEOPLE}


def _claims(head: Head) -> bool:
    first = head.record("data")
    names = {snake(name) for name in head.names("data")}
    scores = names >= _NEEDED and bool(names & {"trace_id", "subject", "session_id"})
    if scores and "data_type" not in names:  # before 2024 scores were numbers
        known = str(first.get("source")).upper() in _SOURCES
        scores = known or "observation_id" in names
    listed = first.get("scores")
    inside = first_of(listed) if isinstance(listed, list) else None
    traces = isinstance(inside, Mapping) and {snake(name) for name in inside} >= _NEEDED
    return scores or (traces and "id" in first)


def _rows(found: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    verdicts, labels = list[Row](), list[Row]()
    for place, score, about in _scores(found):
        value = _value(score)
        if score.get("data_type") in ("TEXT", "CORRECTION"):
            problems.append(
                f"{place}: a score of the type {score['data_type']} is no verdict; it was left out."
            )
            continue
        row: Row = about | {"item": _item(score), "criterion": str(score.get("name"))}
        row["place"] = place
        row |= {
            name: cell(score.get(name))
            for name in ("trace_name", "environment")
            if score.get(name)
        }
        origin = str(score.get("source")).upper()
        if origin in _PEOPLE:
            who = (
                score.get("author_user_name")
                or score.get("author_user_id")
                or "annotation"
            )
            labels.append(row | {"label": value, "rater": str(who)})
        else:
            said = (
                {"verdict": value}
                if value is not None
                else {"reason": "the score has no value"}
            )
            noted = score.get("metadata")
            named = noted.get("judge") if isinstance(noted, Mapping) else None
            judge = named or _JUDGES.get(origin, origin.lower())
            verdicts.append(row | {"judge": str(judge)} | said)
    yield from joined(verdicts, labels, source, problems)


def _scores(found: Given) -> Iterator[tuple[str, dict[str, Any], Row]]:
    """The scores of a file, and what is known of the trace that holds them, where one does."""
    for place, given in found:
        if not isinstance(given.get("scores"), list):
            yield place, {snake(name): value for name, value in given.items()}, {}
            continue
        about: Row = {
            "text": text_of(given.get("output")),
            "input": text_of(given.get("input")),
        }
        for number, one in enumerate(given["scores"], 1):
            score = {snake(name): value for name, value in one.items()}
            yield (
                f"{place}, score {number}",
                {"trace_id": given.get("id")} | score,
                about,
            )


def _value(score: Mapping[str, Any]) -> Any:
    value, words = score.get("value"), score.get("string_value")
    if score.get("data_type") == "CATEGORICAL":
        return cell(words or value)
    if score.get("data_type") == "BOOLEAN":
        said = str(words if words not in (None, "") else value).lower()
        return {"1": "true", "1.0": "true", "0": "false", "0.0": "false"}.get(
            said, said
        )
    return cell(as_number(value))


def _item(score: Mapping[str, Any]) -> str:
    """The trace, session or experiment that was scored; a part of a trace has the name of both."""
    subject = score.get("subject")
    if isinstance(subject, Mapping):
        parts = [subject.get("traceId") or subject.get("trace_id"), subject.get("id")]
    else:
        parts = [score.get("trace_id"), score.get("observation_id")]
        parts = (
            parts
            if any(parts)
            else [score.get("session_id") or score.get("dataset_run_id")]
        )
    return "/".join(str(part) for part in parts if part) or str(score.get("id"))


READER = Reader(
    "scores of Langfuse",
    _claims,
    lambda path, problems: records(path, problems, "data"),
    _rows,
    About(
        tool="Langfuse",
        file=(
            "scores as the API answers them, as a table (JSON, JSON Lines, CSV), or inside of"
            " traces"
        ),
        verdict="a score of the source EVAL or API",
        label="a score of the source ANNOTATION (before: REVIEW), by its author",
        fixture="by the types of its SDK (5.0.4); no server was asked",
    ),
)
