"""Reads spans of OpenTelemetry with the attributes of its conventions for generative AI
(`gen_ai.*`): OTLP as JSON, also in lines, and spans one by one as exporters print them.

The conventions have changed often. What was said stands in attributes of spans
(`gen_ai.input.messages`, `gen_ai.output.messages`, before 2025 `gen_ai.prompt.0.content`), or in
events of spans and logs (`gen_ai.user.message`, `gen_ai.choice`), or nowhere, where nobody asked to
keep it. Evaluations are events (`gen_ai.evaluation.result`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import About, Head
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
from undogmatic.records.records import as_number
from undogmatic.records.trace import Trace

LISTS = tuple(
    (
        "resourceSpans resource_spans scopeSpans scope_spans instrumentationLibrarySpans spans"
        " resourceLogs resource_logs scopeLogs scope_logs logRecords log_records"
    ).split()
)
"""The lists in which OTLP keeps spans and events."""
MODELS = ("chat", "text_completion", "generate_content", "completion", "responses")
TOOLS = ("execute_tool",)
_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.(\d+)\.(.+)")
EVALUATION = "gen_ai.evaluation."


def _claims(head: Head) -> bool:
    first = head.record()
    # A file of logs alone may hold the evaluations, whose spans lie in another.
    if any(key in first for key in ("resourceSpans", "resource_spans", "resourceLogs")):
        return True
    context = first.get("context")
    ids = {"trace_id", "traceId", "traceID"} & {
        *first,
        *(context if isinstance(context, Mapping) else ()),
    }
    return (
        bool(ids)
        and "name" in first
        and isinstance(first.get("attributes"), Mapping | list)
    )


def _plain(value: Any) -> Any:
    """A value of OTLP ({"stringValue": ...}) as a plain one."""
    # Exporters of some languages write attributes plainly, those of others with their types.
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((kind, held),) = value.items()
    if kind in ("arrayValue", "array_value"):
        inner = held.get("values") if isinstance(held, Mapping) else None
        return [_plain(each) for each in inner or ()]
    if kind in ("kvlistValue", "kvlist_value"):
        return _attributes(held.get("values") if isinstance(held, Mapping) else None)
    if kind in ("intValue", "int_value"):
        # OTLP writes whole numbers of 64 bits as texts, as JSON's own numbers would lose digits.
        return count_of(held) if count_of(held) is not None else held
    return held if kind.lower().replace("_", "").endswith("value") else value


def _attributes(given: Any) -> dict[str, Any]:
    """Attributes by name, of OTLP's list of keys with values or of a plain object."""
    if isinstance(given, Mapping):
        return {str(key): _plain(value) for key, value in given.items()}
    listed = given if isinstance(given, list) else ()
    pairs = (each for each in listed if isinstance(each, Mapping) and "key" in each)
    return {str(each["key"]): _plain(each.get("value")) for each in pairs}


def _get(record: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there, also in the `context` of a span."""
    context = record.get("context")
    # The SDK for Python prints the ids within `context`, OTLP has them in the span.
    for held in (record, context if isinstance(context, Mapping) else {}):
        for name in names:
            if held.get(name) not in (None, ""):
                return held[name]
    return None


def _identity(value: Any) -> str:
    """An id as text: in hex, with or without 0x before it, of one case."""
    # Spans and events of one trace may be written by two programs.
    return "" if value is None else str(value).removeprefix("0x").lower()


def _records(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each span and each event of a log, with the id of its trace."""
    for place, record in objects(path, faults, LISTS):
        run = _identity(_get(record, "traceId", "trace_id", "traceID"))
        if run:
            yield run, record
        elif record:
            faults.add("no_run", place, loses=True)


def _trace(run: str, records: Records, faults: Faults, place: str) -> Trace | None:
    spans = [_span(record) for record in records if _is_span(record)]
    by_id = {span.id: span for span in spans}
    for record in records:
        if not _is_span(record):
            own = by_id.get(_identity(_get(record, "spanId", "span_id")))
            _of_event(
                record, own if own is not None else (spans or [Span("", "around")])[0]
            )
    for span in spans:
        # Such a span is no step, so that what is said of it is said of the run.
        if span.parent is None or span.kind == "around":
            span.said = [said._replace(key=None) for said in span.said]
    return trace_of(run, spans, faults, place)


def _is_span(record: Mapping[str, Any]) -> bool:
    logged = (
        "eventName",
        "event_name",
        "severityText",
        "severityNumber",
        "observedTimeUnixNano",
    )
    return "body" not in record and not any(key in record for key in logged)


def _span(record: Mapping[str, Any]) -> Span:
    own = _attributes(record.get("attributes"))
    operation = str(own.get("gen_ai.operation.name") or "")
    name = name_of(record.get("name"))
    tool = own.get("gen_ai.tool.name") or own.get("traceloop.entity.name")
    # Before there was an operation, the tool's name alone told it; OpenLLMetry has names of its
    # own.
    is_tool = operation in TOOLS or (not operation and "gen_ai.tool.name" in own)
    is_tool = is_tool or own.get("traceloop.span.kind") == "tool"
    is_model = operation in MODELS or (
        not operation
        and any(key.startswith(("gen_ai.completion", "gen_ai.prompt")) for key in own)
    )
    status = record.get("status")
    status = status if isinstance(status, Mapping) else {}
    code = str(status.get("code", status.get("status_code", "")))
    span = Span(
        id=_identity(_get(record, "spanId", "span_id", "spanID")),
        kind="tool" if is_tool else "model" if is_model else "around",
        parent=_identity(_get(record, "parentSpanId", "parent_span_id", "parent_id"))
        or None,
        name=name_of(tool)
        or (name.removeprefix("execute_tool ") if is_tool else name)
        or None,
        start=time_of(
            _get(record, "startTimeUnixNano", "start_time_unix_nano", "start_time")
        ),
        end=time_of(_get(record, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
        error=code in ("2", "ERROR", "STATUS_CODE_ERROR")
        or bool(own.get("error.type")),
        tokens=count_of(
            own.get(
                "gen_ai.usage.output_tokens", own.get("gen_ai.usage.completion_tokens")
            )
        ),
    )
    # `traceloop.*` are the names of OpenLLMetry, which is older than the conventions.
    if is_tool:
        given = (
            "gen_ai.tool.call.arguments",
            "tool_arguments",
            "traceloop.entity.input",
        )
        came = ("gen_ai.tool.call.result", "tool_response", "traceloop.entity.output")
        span.arguments = text_or_none(next((own[k] for k in given if k in own), None))
        span.result = text_or_none(next((own[k] for k in came if k in own), None))
        call = own.get("gen_ai.tool.call.id")
        span.call = str(call) if call else None
    elif not is_model and operation not in (
        "invoke_agent",
        "create_agent",
        "invoke_workflow",
        "",
    ):
        span.name = name or operation
    span.heard, span.told = _heard(own), _told(own)
    for key, fact in (
        ("gen_ai.request.model", "model"),
        ("gen_ai.agent.name", "agent"),
        ("gen_ai.conversation.id", "group"),
    ):
        if own.get(key):
            span.metadata[fact] = name_of(own[key])
    for event in record.get("events") or ():
        if isinstance(event, Mapping):
            _of_event(event, span)
    return span


def _heard(own: Mapping[str, Any]) -> list[Draft]:
    """What a model was sent, by the attributes of its span."""
    told = drafts_of(own.get("gen_ai.system_instructions"), "other")
    for draft in told:
        draft.name = draft.name or "system"
    # The newest convention first: a program in transition writes both, and each message would
    # come twice.
    if "gen_ai.input.messages" in own:
        return [*told, *drafts_of(own["gen_ai.input.messages"])]
    return [*told, *drafts_of(_indexed(own, "prompt") or own.get("gen_ai.prompt"))]


def _told(own: Mapping[str, Any]) -> list[Draft]:
    """What it said."""
    if "gen_ai.output.messages" in own:
        return drafts_of(own["gen_ai.output.messages"], "assistant")
    return drafts_of(
        _indexed(own, "completion") or own.get("gen_ai.completion"), "assistant"
    )


def _indexed(own: Mapping[str, Any], which: str) -> list[dict[str, Any]]:
    """The messages of attributes such as `gen_ai.prompt.0.role` and
    `gen_ai.completion.0.tool_calls.0.name`."""
    found: dict[int, dict[str, Any]] = {}
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    for key, value in own.items():
        match = _INDEXED.fullmatch(key)
        if match is None or match[1] != which:
            continue
        message = found.setdefault(int(match[2]), {})
        inner = re.fullmatch(r"tool_calls\.(\d+)\.(?:function\.)?(\w+)", match[3])
        if inner is None:
            message[match[3]] = value
        else:
            calls.setdefault((int(match[2]), int(inner[1])), {})[inner[2]] = value
    # Attributes stand in any order; the numbers in their names say in which calls were made.
    for (number, _), call in sorted(calls.items()):
        listed = found[number].setdefault("tool_calls", [])
        if isinstance(listed, list):
            listed.append(call)
    return [found[number] for number in sorted(found)]


def _of_event(event: Mapping[str, Any], span: Span) -> None:
    """Take what an event says into its span: a message, a result of an evaluation, an exception."""
    own = _attributes(event.get("attributes"))
    body = _plain(event.get("body"))
    held = {**own, **(body if isinstance(body, Mapping) else {})}
    name = str(
        event.get("eventName") or event.get("event_name") or event.get("name") or ""
    )
    name = name or str(own.get("event.name") or "")
    if name == "gen_ai.evaluation.result" or f"{EVALUATION}name" in own:
        span.said.append(_evaluation(own, span.id))
    elif name == "exception":
        span.error = True
        if span.kind == "tool" and span.result is None:
            span.result = text_or_none(own.get("exception.message"))
    # The event that an answer was until 2025. Some write the message under `message`, some its
    # parts.
    elif name == "gen_ai.choice":
        message = parsed(held.get("message", held.get("content")))
        inner = message if isinstance(message, Mapping) else {"content": message}
        calls = {"tool_calls": held["tool_calls"]} if "tool_calls" in held else {}
        if span.kind == "tool":
            came = drafts_of({"role": "tool", **inner})
            span.result = came[0].text if came else span.result
        else:
            span.told = [
                *span.told,
                *drafts_of({"role": "assistant", **inner, **calls}),
            ]
    elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
        if name.endswith("prompt"):
            span.heard = [*span.heard, *drafts_of(own.get("gen_ai.prompt"))]
        else:
            span.told = [
                *span.told,
                *drafts_of(own.get("gen_ai.completion"), "assistant"),
            ]
    elif match := re.fullmatch(r"gen_ai\.(system|user|assistant|tool)\.message", name):
        # A tool's span may repeat the messages that led to its call.
        if span.kind != "tool":
            message = {
                "role": match[1],
                **{k: v for k, v in held.items() if "." not in k},
            }
            span.heard = [*span.heard, *drafts_of(message)]
    elif "gen_ai.input.messages" in own or "gen_ai.output.messages" in own:
        span.heard, span.told = [*span.heard, *_heard(own)], [*span.told, *_told(own)]


def _evaluation(own: Mapping[str, Any], key: str) -> Said:
    """What an evaluation found of its span: its value, else its label."""
    name = name_of(own.get(f"{EVALUATION}name")) or "evaluation"
    by, person, criterion = spoken(name, "gen_ai.evaluation")
    value = own.get(f"{EVALUATION}score.value")
    label = own.get(f"{EVALUATION}score.label")
    # A label such as "pass" beside a score says the same in words; the number keeps more.
    found = as_number(value) if value is not None else label
    why = own.get(f"{EVALUATION}explanation") or own.get("error.type")
    return Said(by, found, criterion, person, key, text_or_none(why))


READER = TraceReader(
    "spans of OpenTelemetry",
    _claims,
    in_runs(_records, _trace),
    About(
        tool="OpenTelemetry",
        file="OTLP as JSON or JSON Lines, spans as JSON one by one; logs with events of messages",
        verdict="`gen_ai.evaluation.result`; of a root span or an agent's it is on the run",
        label="an evaluation whose name begins with `human`",
        fixture="by its SDK (1.45.2); older conventions from their description",
    ),
)
