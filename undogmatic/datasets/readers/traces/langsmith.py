"""Reads runs of LangSmith as its SDK and its export write them: one object for each call of a
chain, a model or a tool, with the id of the trace that it is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from undogmatic.datasets.readers.log import About, Head, first_of
from undogmatic.datasets.readers.traces.messages import drafts_of, listed, parsed
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
from undogmatic.records.records import OVERALL
from undogmatic.records.trace import Trace

TEXTS = (
    "input",
    "question",
    "query",
    "prompts",
    "prompt",
    "output",
    "answer",
    "text",
    "result",
    "response",
    "generation",
)
"""Names under which what was said may stand, where it is no list of messages."""
NOISE = ("prompt", "parser", "embedding")
"""Calls that are no steps: what they make is heard by the next model."""


def _claims(head: Head) -> bool:
    first = head.record()
    runs = first.get("runs")
    if isinstance(runs, list):
        first = first_of(runs)
    return isinstance(first, Mapping) and {"run_type", "inputs"} <= first.keys()


def _trace(run: str, records: Records, faults: Faults, place: str) -> Trace | None:
    spans = [_span(record) for record in records if record.get("run_type") not in NOISE]
    # Calls of a chain that were left out may stand between a step and what it belongs to.
    around = {_id(r): _id(r, "parent_run_id") for r in records}
    kept = {span.id for span in spans}
    for span in spans:
        while span.parent and span.parent not in kept and span.parent in around:
            span.parent = around.pop(span.parent) or None
    return trace_of(run, spans, faults, place)


def _id(record: Mapping[str, Any], name: str = "id") -> str:
    return str(record.get(name) or "")


def _records(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each call with its trace, also those that lie in their parent."""
    for place, whole in objects(path, faults, ("runs",)):
        if "run_type" not in whole:
            faults.add("no_object", place, loses=True)
            continue
        for record in _with_children(whole, _id(whole, "trace_id")):
            run = _id(record, "trace_id") or _id(record)
            if run and _id(record):
                yield run, record
            else:
                faults.add("no_run", place, loses=True)


def _with_children(record: dict[str, Any], trace: str) -> Iterator[dict[str, Any]]:
    inner = record.get("child_runs")
    run = trace or _id(record)
    yield {k: v for k, v in record.items() if k != "child_runs"} | {"trace_id": run}
    for child in inner if isinstance(inner, list) else ():
        if isinstance(child, dict):
            yield from _with_children({"parent_run_id": _id(record), **child}, run)


def _span(record: Mapping[str, Any]) -> Span:
    kind = str(record.get("run_type"))
    as_kind: dict[str, Literal["model", "tool", "around"]] = {
        "llm": "model",
        "tool": "tool",
        "retriever": "tool",
    }
    given, came = record.get("inputs"), record.get("outputs")
    span = Span(
        id=_id(record),
        kind=as_kind.get(kind, "around"),
        parent=_id(record, "parent_run_id") or None,
        name=name_of(record.get("name")) or None,
        start=time_of(record.get("start_time")),
        end=time_of(record.get("end_time")),
        error=bool(record.get("error")) or record.get("status") == "error",
        tokens=_tokens(record),
    )
    if span.kind == "tool":
        _of_tool(span, record)
    else:
        role: Literal["user", "assistant"] = "user"
        span.heard = messages_of(given, role)
        span.told = messages_of(came, "assistant")
        if span.kind == "around":
            span.told = [draft for draft in span.told if draft.kind == "assistant"][-1:]
    # A model that failed said nothing; the error stands where its answer would.
    if span.error and not span.told and span.kind == "model":
        span.told = [Draft("assistant", text_or_none(record.get("error")))]
    metadata = record.get("extra")
    held = metadata.get("metadata") if isinstance(metadata, Mapping) else None
    for name in ("session_id", "thread_id", "conversation_id"):
        if isinstance(held, Mapping) and held.get(name):
            span.metadata["group"] = name_of(held[name])
    if span.parent is None and record.get("name"):
        span.metadata["agent"] = name_of(record["name"])
    span.said = list(_feedback(record, None if span.parent is None else span.id))
    return span


def _tokens(record: Mapping[str, Any]) -> int | None:
    return count_of(record.get("completion_tokens"))


def _of_tool(span: Span, record: Mapping[str, Any]) -> None:
    given, came = record.get("inputs"), record.get("outputs")
    # LangChain wraps the single argument of a tool or a retriever in an object.
    if isinstance(given, Mapping) and set(given) in ({"input"}, {"query"}):
        given = next(iter(given.values()))
    span.arguments = text_or_none(given)
    # And what it gives back, whatever the name of the one field is.
    if isinstance(came, Mapping) and len(came) == 1:
        came = next(iter(came.values()))
    drafts = drafts_of(came, "tool_result") if isinstance(came, Mapping) else []
    if drafts and drafts[0].kind == "tool_result" and _is_message(came):
        span.result, span.call = drafts[0].text, drafts[0].call
        span.error = span.error or drafts[0].error
    else:
        span.result = text_or_none(
            came if came or not span.error else record.get("error")
        )


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(
        {"lc", "content", "tool_call_id", "role"} & value.keys()
    )


def messages_of(value: Any, role: Literal["user", "assistant"]) -> list[Draft]:
    """What a call was given, or what it gave: messages under one of the names that LangChain and
    the clients of models use, or a text."""
    held = parsed(value)
    if not isinstance(held, Mapping):
        return drafts_of(held, role)
    for key in ("generations", "choices", "messages"):
        if isinstance(held.get(key), list):
            # Several choices are drafts of one answer, of which the first was used.
            each = listed(held[key])[:1] if key == "choices" else listed(held[key])
            return [draft for one in each for draft in drafts_of(_bare(one), role)]
    if _is_message(held):
        return drafts_of(held, role)
    for name in TEXTS:
        if held.get(name) not in (None, ""):
            inner = parsed(held[name])
            return (
                messages_of(inner, role)
                if isinstance(inner, Mapping)
                else drafts_of(inner, role)
            )
    return drafts_of(text_or_none(held), role) if held else []


def _bare(one: Any) -> Any:
    """The message of an answer of which there may be several; a message itself."""
    if not isinstance(one, Mapping) or _is_message(one):
        return one
    return one.get("message") or one.get("text")


def _feedback(record: Mapping[str, Any], key: str | None) -> Iterator[Said]:
    """The feedback on a call: the mean of each name, or one by one where the file has it so."""
    stats = record.get("feedback_stats")
    for name, own in stats.items() if isinstance(stats, Mapping) else ():
        held = own if isinstance(own, Mapping) else {"avg": own}
        value, words = held.get("avg"), held.get("values")
        # Feedback in words has counts in place of a mean; one word that was said alone is the
        # verdict.
        if value is None and isinstance(words, Mapping) and len(words) == 1:
            value = next(iter(words))
        by, person, criterion = spoken(name_of(name), "langsmith feedback")
        yield Said(by, value, criterion, person, key)
    for one in record.get("feedback") or ():
        if not isinstance(one, Mapping):
            continue
        source = one.get("feedback_source")
        kind = source.get("type") if isinstance(source, Mapping) else None
        value = one.get("score") if one.get("score") is not None else one.get("value")
        by, person, criterion = spoken(
            name_of(one.get("key")) or OVERALL, f"langsmith {kind}"
        )
        if kind == "app" and isinstance(source, Mapping):
            by = str(source.get("user_name") or source.get("user_id") or "app")
            person = True
        yield Said(by, value, criterion, person, key, text_or_none(one.get("comment")))


READER = TraceReader(
    "runs of LangSmith",
    _claims,
    in_runs(_records, _trace),
    About(
        tool="LangSmith",
        file="runs as its SDK and its export write them (JSON, JSON Lines), also with `child_runs`",
        verdict=(
            "`feedback_stats` (the mean of each name) or `feedback` of a call; of the first call it"
            " is on the run"
        ),
        label='feedback of the source "app"; a name that begins with `human`',
        fixture="by its SDK (0.15.1), which uploaded nothing",
    ),
)
