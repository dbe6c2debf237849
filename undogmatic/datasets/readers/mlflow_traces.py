"""Reads traces of MLflow with assessments, as exported: `Trace.to_dict()` or `to_json()` in a list
or one a line, or the data frame of `mlflow.search_traces` written as JSON records.

Feedback of a judge or of code is a verdict; feedback and expectations of people on the same name
are labels. A judge's feedback that a person overrode stays its verdict, and what the person put in
its place is the label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from undogmatic.records.labels import HUMAN
from undogmatic.records.records import as_number
from undogmatic.safety.outside import Unreadable, json_value

if TYPE_CHECKING:
    import pandas as pd


def _claims(head: Head) -> bool:
    trace = head.record("traces")
    info = trace.get("info")
    whole = isinstance(info, Mapping) and ("trace_id" in info or "request_id" in info)
    return whole or all(name in trace for name in ("trace_id", "trace", "state"))


def frame_of(traces: Sequence[Mapping[str, Any]], source: str) -> pd.DataFrame:
    """The table of traces in hand (each as `Trace.to_dict()`), as `Reader.read` returns it. Raises
    DataError."""
    return READER.frame(
        [(f"{source}#{number}", trace) for number, trace in enumerate(traces, 1)],
        source,
        [],
    )


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    traces = [(place, *_trace(trace)) for place, trace in given]
    every = [one for *_, assessments in traces for one in assessments]
    judged = {_name(one) for one in every if "JUDGE" in _source(one)}
    judged = judged or {
        _name(one) for one in every if _source(one) != "HUMAN" and one.get("feedback")
    }
    others = {
        _name(one)
        for one in every
        if _gives_label(one, judged) and _name(one) not in judged
    }
    renamed = dict.fromkeys(others, *judged) if len(judged) == len(others) == 1 else {}
    verdicts, labels, times = list[Row](), list[Row](), Counter[tuple[Any, ...]]()
    for place, about, assessments in traces:
        expected = {
            _name(one): _value(one)
            for one in assessments
            if one.get("expectation") and _name(one) != HUMAN
        }
        row = facts(expected) | about | {"place": place}
        replaced = {one["overrides"] for one in assessments if one.get("overrides")}
        for one in assessments:
            name, value, stands = _name(one), _value(one), one.get("valid") is not False
            if _gives_label(one, judged) and stands:
                labels.append(
                    row
                    | {
                        "criterion": renamed.get(name, name),
                        "label": value,
                        "rater": _who(one),
                    }
                )
            elif _source(one) != "HUMAN" and (
                stands or one.get("assessment_id") in replaced
            ):
                said: Row = {"judge": _who(one), "criterion": name} | _noted(one)
                said["repeat"] = times[
                    key := (row["item"], said["judge"], name, said.get("order"))
                ]
                times[key] += 1
                verdicts.append(
                    row
                    | said
                    | (
                        {"verdict": value}
                        if value is not None
                        else {"reason": _error(one)}
                    )
                )
    yield from joined(verdicts, labels, source, problems)


def _gives_label(one: Mapping[str, Any], judged: set[str]) -> bool:
    """Whether a person's assessment is a label: all feedback is, and an expectation with the name
    of what judges say or that with which labels are logged."""
    return _source(one) == "HUMAN" and (
        bool(one.get("feedback")) or _name(one) in {*judged, HUMAN}
    )


def _trace(given: Mapping[str, Any]) -> tuple[Row, list[Mapping[str, Any]]]:
    """What is known of the output of a trace, and its assessments."""
    info = given.get("info") or given
    spans = (given.get("data") or {}).get("spans") or given.get("spans") or ()
    root: Mapping[str, Any] = next(
        (
            span
            for span in spans
            if not (span.get("parent_span_id") or span.get("parent_id"))
        ),
        {},
    )
    attributes, noted = root.get("attributes") or {}, info.get("trace_metadata") or {}
    asked = (
        attributes.get("mlflow.spanInputs")
        or noted.get("mlflow.traceInputs")
        or info.get("request_preview")
    )
    made = (
        attributes.get("mlflow.spanOutputs")
        or noted.get("mlflow.traceOutputs")
        or info.get("response_preview")
    )
    tags = {
        key: value
        for key, value in (info.get("tags") or {}).items()
        if not key.startswith("mlflow.")
    }
    made = _plain(given.get("response") or made)
    both = isinstance(made, Mapping) and "text_2" in made
    sides = {name: made[name] for name in ("text_1", "text_2")} if both else {}
    about = {
        "item": str(tags.get("item") or info.get("trace_id") or info.get("request_id")),
        "input": text_of(given.get("request") or _plain(asked)),
        "text": None if sides else text_of(made),
        "system": tags.get("system") or noted.get("mlflow.modelId"),
    }
    return facts(tags) | about | sides, [
        one for one in info.get("assessments") or () if isinstance(one, Mapping)
    ]


def _plain(text: Any) -> Any:
    """The value of a JSON text; what is none as it is."""
    try:
        return json_value(text) if isinstance(text, str) else text
    except Unreadable:
        return text


def _name(one: Mapping[str, Any]) -> str:
    return str(one.get("assessment_name") or one.get("name") or "")


def _source(one: Mapping[str, Any]) -> str:
    return str((one.get("source") or {}).get("source_type"))


def _who(one: Mapping[str, Any]) -> str:
    return str((one.get("source") or {}).get("source_id") or _source(one).lower())


def _value(one: Mapping[str, Any]) -> Any:
    held = (one.get("feedback") or one.get("expectation") or {}).get("value")
    return cell(
        _plain(held.get("value"))
        if isinstance(held, Mapping) and "value" in held
        else held
    )


def _error(one: Mapping[str, Any]) -> str:
    error = (one.get("feedback") or {}).get("error") or one.get("error") or {}
    return str(
        error.get("error_message")
        or error.get("error_code")
        or "the feedback has no value"
    )


def _noted(one: Mapping[str, Any]) -> Row:
    """What is noted of the judge, and of this verdict."""
    noted = one.get("metadata") or {}
    own: Row = {"order": noted["order"]} if noted.get("order") else {}
    own |= (
        {"confidence": cell(as_number(noted["confidence"]))}
        if noted.get("confidence")
        else {}
    )
    known = ("model", "prompt", "temperature", "mlflow.assessment.judgeModel")
    return own | {
        f"settings.{key.rpartition('.')[2]}": str(noted[key])
        for key in known
        if noted.get(key)
    }


READER = Reader(
    "traces of MLflow",
    _claims,
    lambda path, problems: log.records(path, problems, "traces"),
    _rows,
    About(
        tool="MLflow",
        file=(
            "traces as `to_dict()` or `to_json()`, the table of `search_traces` as JSON "
            "records, or a run's id"
        ),
        verdict="feedback of an LLM judge or of code; what a person overrode stays the verdict",
        label=(
            "feedback of people on the same name, or on the only other one; expectations of "
            "the judge's name"
        ),
        fixture="by the tool (3.17)",
    ),
)
