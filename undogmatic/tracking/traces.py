"""Traces made from the journal after the fact: one per judgment, one span in it per call to a
model.

Nothing is traced while judging. The spans go to the store in one batch. A trace's id is derived
from the judgment, so that logging a continued run again updates its traces and keeps what people
have noted on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from undogmatic.records.records import OVERALL, Call, Failure, Item, Judgment, digest
from undogmatic.tracking import rows
from undogmatic.tracking.notes import of_dataset, of_judge, shown
from undogmatic.tracking.store import AT_ONCE, Store, WithoutSecrets

if TYPE_CHECKING:
    from mlflow.entities import Span

LONGEST_VECTOR = 64  # numbers; a longer list (hidden states) is shown by its length
LONGEST_WORD = 1000  # characters without white space; beyond that it is data, not text
_NANO = 1_000_000_000


def mark_of(experiment_id: str, judgment: Judgment) -> str:
    """64 hex digits that identify a judgment in an experiment, whether it was traced or not."""
    # Without defaults: a field that a later version adds leaves the marks of earlier judgments as
    # they are.
    return digest(
        [experiment_id, judgment.model_dump(mode="json", exclude_defaults=True)]
    )


def trace_id(mark: str) -> str:
    """The id of the trace of the judgment with this mark."""
    return f"tr-{mark[:32]}"


def log_traces(
    store: Store,
    run_id: str,
    items: Iterable[Item],
    judgments: Mapping[str, Judgment],
    started: float,
) -> int:
    """Write one trace per judgment, with the text of its item, its score and label, and link them
    to the run.

    Args:
        judgments: What to trace, by `mark_of` each, as it is to be shown.
        started: Unix seconds, for a judgment without calls.
    Returns:
        How many were written: all, or 0 where the server is too old for it (MLflow before 3.4).
    """
    from mlflow.tracing.client import TracingClient

    if not judgments:
        return 0
    traces, tables = told_of(items, judgments, started), TracingClient(store.uri).store
    if not hasattr(tables, "ManagedSessionMaker"):
        return send(store, run_id, traces)
    rows.write(tables, store.experiment_id, run_id, traces)
    return len(traces)


def told_of(
    items: Iterable[Item], judgments: Mapping[str, Judgment], started: float
) -> dict[str, rows.TraceRows]:
    """What is shown and said of judgments, given by their marks, by the ids of their traces."""
    judged = {judgment.item_id for judgment in judgments.values()}
    by_id = {item.id: item for item in items if item.id in judged}
    traces: dict[str, rows.TraceRows] = {}
    for mark, j in judgments.items():
        item = by_id[j.item_id]
        said = [*of_judge(j), *of_dataset(item, j.criterion)]
        traces[trace_id(mark)] = rows.TraceRows(
            _trace(mark, item, j, started), *shown(item, j), said
        )
    return traces


def send(store: Store, run_id: str, traces: Mapping[str, rows.TraceRows]) -> int:
    """Have a server write traces; it makes the previews itself, and takes each assessment in a call
    of its own."""
    from mlflow.tracing.client import TracingClient

    client, ids = WithoutSecrets(TracingClient(store.uri)), list(traces)
    try:
        client.log_spans(
            store.experiment_id,
            [span for told in traces.values() for span in told.spans],
        )
    except NotImplementedError:
        return 0
    for part in (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)):
        store.client.link_traces_to_run(part, run_id)
        there = {
            (info.trace_id, one.name, one.source.source_id)
            for info in client.store.batch_get_trace_infos(part)
            for one in info.assessments or ()
        }
        for trace in part:
            for one in traces[trace].assessments:
                if (trace, one.name, one.source.source_id) not in there:
                    client.log_assessment(trace, one)
    return len(ids)


def _trace(mark: str, item: Item, judgment: Judgment, started: float) -> list[Span]:
    """The spans of a judgment: it, and the calls in it."""
    calls, outcome = judgment.calls, judgment.outcome
    begin = min((c.started for c in calls), default=started)
    times = [
        (call.started or begin, (call.started or begin) + call.seconds)
        for call in calls
    ]
    end = max([begin + judgment.cost.seconds, *(stop for _, stop in times)])
    failure = outcome if isinstance(outcome, Failure) else None
    tags = {
        "item": item.id,
        "condition": item.condition,
        "repeat": judgment.repeat,
        "judge": judgment.judge,
        "criterion": None if judgment.criterion == OVERALL else judgment.criterion,
        "error": None if failure is None else failure.reason,
        # None says what goes without saying.
        "cached": (bool(calls) and all(c.cached for c in calls)) or None,
    }
    about: dict[str, Any] = {
        f"{rows.TAG}{k}": str(v) for k, v in tags.items() if v is not None
    }
    judged = outcome.model_dump(mode="json", exclude_defaults=True)
    about |= _shown("EVALUATOR", {"item": item.id, "text": item.text}, judged)
    # For a call with tokens and without a price MLflow imports litellm, which takes seconds, and
    # finds none either; so these tokens are noted at the judgment.
    priced = all(call.usd is not None for call in calls)
    about |= {} if priced else {rows.USAGE: _used(calls)}
    name = item.id if judgment.repeat == 0 else f"{item.id} (repeat {judgment.repeat})"
    error = None if failure is None else f"{failure.reason}: {failure.message}"
    spans = [_span(mark, 0, name, (begin, end), error, about)]
    for number, (call, seconds) in enumerate(zip(calls, times, strict=True), 1):
        used = _used([call])
        about = _shown("CHAT_MODEL", _brief(call.request), _brief(call.reply)) | {
            rows.MODEL: call.model,
            "cached": call.cached,
            "attempts": call.attempts,
        }
        about |= (
            used
            if call.usd is None
            else {rows.USAGE: used, rows.COST: {"total_cost": call.usd}}
        )
        name = f"{call.model} (from the cache)" if call.cached else call.model
        spans.append(_span(mark, number, name, seconds, call.error, about))
    return spans


def _used(calls: Sequence[Call]) -> dict[str, int]:
    """Tokens in MLflow's words."""
    sent, written = (
        sum(getattr(call, name) for call in calls)
        for name in ("input_tokens", "output_tokens")
    )
    return {
        "input_tokens": sent,
        "output_tokens": written,
        "total_tokens": sent + written,
    }


def _shown(kind: str, inputs: Any, outputs: Any) -> dict[str, Any]:
    return {
        "mlflow.spanType": kind,
        "mlflow.spanInputs": inputs,
        "mlflow.spanOutputs": outputs,
    }


def _span(
    mark: str,
    number: int,
    name: str,
    seconds: tuple[float, float],
    error: str | None,
    about: Mapping[str, Any],
) -> Span:
    """A finished span; number 0 is the root."""
    from mlflow.entities import Span
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

    def context(n: int) -> SpanContext:
        first = int(mark[32:46], 16) << 8
        return SpanContext(
            int(mark[:32], 16), first + n + 1, False, TraceFlags(TraceFlags.SAMPLED)
        )

    attributes = {"mlflow.traceRequestId": trace_id(mark), **about}
    return Span(
        ReadableSpan(
            name=name,
            context=context(number),
            parent=None if number == 0 else context(0),
            resource=Resource.get_empty(),
            attributes={
                k: json.dumps(v, ensure_ascii=False) for k, v in attributes.items()
            },
            status=Status(StatusCode.OK)
            if error is None
            else Status(StatusCode.ERROR, error),
            start_time=int(seconds[0] * _NANO),
            end_time=int(seconds[1] * _NANO),
        )
    )


def _brief(value: Any) -> Any:
    """The value with long lists of numbers, and numbers packed into base64, replaced by a word on
    their length."""
    if isinstance(value, Mapping):
        return {k: _brief(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        if len(value) > LONGEST_VECTOR and all(
            isinstance(v, int | float) for v in value
        ):
            return f"[{len(value)} numbers, in judgments.jsonl]"
        return [_brief(v) for v in value]
    if (
        isinstance(value, str)
        and len(value) > LONGEST_WORD
        and not any(c.isspace() for c in value)
    ):
        return f"[{len(value)} characters of data, in judgments.jsonl]"
    return value
