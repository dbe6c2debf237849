"""Reads traces of Langfuse with their observations and scores, as its API answers them, and tables
of observations (JSON, JSON Lines)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from undogmatic.datasets.readers.log import About, Head, snake
from undogmatic.datasets.readers.traces.langsmith import messages_of
from undogmatic.datasets.readers.traces.messages import drafts_of, parsed
from undogmatic.datasets.readers.traces.script import (
    Draft,
    Faults,
    Records,
    Said,
    TraceReader,
    count_of,
    in_runs,
    name_of,
    objects,
    spoken,
    text_or_none,
    time_of,
)
from undogmatic.datasets.readers.traces.spans import Span, trace_of
from undogmatic.records.records import OVERALL, as_number
from undogmatic.records.trace import Trace

KINDS: Mapping[str, Literal["model", "tool"]] = {
    "GENERATION": "model",
    "TOOL": "tool",
    "RETRIEVER": "tool",
}
SKIPPED = ("EMBEDDING", "GUARDRAIL", "EVALUATOR")
PEOPLE = ("ANNOTATION", "REVIEW")


def _claims(head: Head) -> bool:
    first = head.record("data")
    # The API writes `traceId`, an export of the table `trace_id`.
    names = {snake(name) for name in first}
    observations = first.get("observations")
    if isinstance(observations, list) and "id" in names:
        return not observations or isinstance(observations[0], Mapping)
    return {"trace_id", "type", "start_time", "id"} <= names and "run_type" not in names


def _snake(record: Mapping[str, Any]) -> dict[str, Any]:
    return {snake(name): value for name, value in record.items()}


def _trace(run: str, records: Records, faults: Faults, place: str) -> Trace | None:
    whole: dict[str, Any] = {}
    spans, said = list[Span](), list[Said]()
    for record in records:
        if record["is"] == "trace":
            whole |= record
        elif record["is"] == "score":
            said.append(_score(record))
        elif record.get("type") not in SKIPPED:
            spans.append(_span(record))
            whole.setdefault("session_id", record.get("session_id"))
    # A session is a conversation of several traces, which go together.
    metadata = (
        {"group": name_of(whole["session_id"])} if whole.get("session_id") else {}
    )
    if whole.get("name"):
        metadata["agent"] = name_of(whole["name"])
    return trace_of(run, [_root(run, whole, said), *spans], faults, place, metadata)


def _root(run: str, whole: Mapping[str, Any], said: list[Said]) -> Span:
    """What the trace itself says came in and went out."""
    told = messages_of(whole.get("output"), "assistant")
    root = Span(
        id=f"trace {run}",
        kind="around",
        # Around everything else, whatever the clocks of two machines say.
        start=float("-inf"),
        end=float("inf"),
        heard=messages_of(whole.get("input"), "user"),
        # Only the answer: the messages before it are those of the generations below.
        told=[draft for draft in told if draft.kind == "assistant"][-1:],
        said=said,
    )
    for draft in [*root.heard, *root.told]:
        draft.time = time_of(whole.get("timestamp"))
    return root


def _records(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each trace, observation and score, with the trace that it is of."""
    for place, value in objects(path, faults, ("data",)):
        record = _snake(value)
        inner, scores = record.pop("observations", None), record.pop("scores", None)
        # A trace has an `id` alone; an observation names its trace beside its own.
        is_observation = "trace_id" in record and "type" in record
        run = name_of(record.get("trace_id") if is_observation else record.get("id"))
        if not run:
            faults.add("no_run", place, loses=True)
            continue
        yield run, record | {"is": "observation" if is_observation else "trace"}
        for what, found in (("observation", inner), ("score", scores)):
            for each in found if isinstance(found, list) else ():
                if isinstance(each, dict):
                    yield run, _snake(each) | {"is": what}
                inner_scores = each.get("scores") if isinstance(each, dict) else None
                for one in inner_scores if isinstance(inner_scores, list) else ():
                    if isinstance(one, dict):
                        own = {"observation_id": each.get("id"), **_snake(one)}
                        yield run, own | {"is": "score"}


def _span(record: Mapping[str, Any]) -> Span:
    given, came = record.get("input"), record.get("output")
    usage = record.get("usage_details") or record.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    span = Span(
        id=str(record.get("id") or ""),
        kind=KINDS.get(str(record.get("type")).upper(), "around"),
        parent=str(record.get("parent_observation_id") or "") or None,
        name=name_of(record.get("name")) or None,
        start=time_of(record.get("start_time")),
        end=time_of(record.get("end_time")),
        error=record.get("level") == "ERROR",
        tokens=count_of(usage.get("output", record.get("completion_tokens"))),
    )
    if span.kind == "tool":
        span.arguments = text_or_none(given)
        span.result = text_or_none(
            # Of a call that failed, Langfuse keeps the error here and no output.
            came if came is not None else record.get("status_message")
        )
        result = parsed(came)
        if isinstance(result, Mapping) and (
            "tool_call_id" in result or result.get("role")
        ):
            drafts = drafts_of({"role": "tool", **result})
            span.result, span.call = (
                (drafts[0].text, drafts[0].call) if drafts else (None, None)
            )
        return span
    span.heard, span.told = messages_of(given, "user"), messages_of(came, "assistant")
    if span.kind == "around":
        span.told = [draft for draft in span.told if draft.kind == "assistant"][-1:]
    elif span.error and not span.told:
        span.told = [Draft("assistant", text_or_none(record.get("status_message")))]
    if span.kind == "model" and record.get("model"):
        span.metadata["model"] = name_of(record["model"])
    return span


def _score(record: Mapping[str, Any]) -> Said:
    name = name_of(record.get("name")) or OVERALL
    source = str(record.get("source") or "").upper()
    by, person, criterion = spoken(name, f"langfuse {source.lower() or 'score'}")
    # Who it was is not told by the name of the score, but by its author.
    if source in PEOPLE:
        author = record.get("author_user_name") or record.get("author_user_id")
        by, person = name_of(author) or "annotation", True
    # A categorical score has a number too, which only numbers the categories.
    words = record.get("string_value")
    value = words if words not in (None, "") else as_number(record.get("value"))
    key = str(record.get("observation_id") or "") or None
    return Said(by, value, criterion, person, key, text_or_none(record.get("comment")))


READER = TraceReader(
    "traces of Langfuse",
    _claims,
    in_runs(_records, _trace),
    About(
        tool="Langfuse",
        file="traces with their observations and scores (JSON, JSON Lines), or observations alone",
        verdict="a score of the source EVAL or API; with an observation it is on that step",
        label="a score of the source ANNOTATION (before: REVIEW), by its author",
        fixture="by the types of its SDK (5.0.4); no server was asked",
    ),
)
