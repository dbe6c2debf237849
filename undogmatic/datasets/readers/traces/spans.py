"""Makes a run of spans: models that heard and said something, tools that were used, and what lies
around them. OpenTelemetry, LangSmith and Langfuse all write runs so.

A model is sent the whole conversation each time, so what it heard is told once. A tool whose use
was measured by itself is the call that a model asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from undogmatic.datasets.readers.traces.script import Draft, Faults, Said, Script
from undogmatic.records.trace import Trace


@dataclass
class Span:
    """A part of a run, whoever measured it.

    Attributes:
        kind: A `model` that was asked, a `tool` that was used, or what lies `around` these.
        heard, told: What a model was sent and what it said; of what lies around them what came in
            and went out.
        arguments, result: Of a tool. call: The id of its call.
        events: Steps that are told by themselves, each with its time.
    """

    id: str
    kind: Literal["model", "tool", "around"]
    parent: str | None = None
    name: str | None = None
    start: float | None = None
    end: float | None = None
    heard: Sequence[Draft] = ()
    told: Sequence[Draft] = ()
    arguments: str | None = None
    result: str | None = None
    call: str | None = None
    error: bool = False
    tokens: int | None = None
    said: list[Said] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return (
            None
            if self.start is None or self.end is None
            else max(0.0, self.end - self.start)
        )


def trace_of(
    run: str,
    spans: Sequence[Span],
    faults: Faults,
    place: str,
    metadata: Mapping[str, Any] = {},
) -> Trace | None:
    """The run of these spans; what is wrong with them is counted."""
    known: dict[str, Span] = {}
    for span in spans:
        if span.id in known and span != known[span.id]:
            faults.add("twice", place)
        known.setdefault(span.id, span)
    strangers = sum(1 for s in known.values() if s.parent and s.parent not in known)
    if strangers:
        faults.add("no_parent", place, strangers)
    script = Script(run)
    for _, starts, span in sorted(
        _moments(list(known.values()), known), key=lambda m: m[0]
    ):
        (_begin if starts else _finish)(script, span)
    for span in known.values():
        script.said += span.said
    own = {
        key: value for span in known.values() for key, value in span.metadata.items()
    }
    return script.trace(faults, place, metadata=own | dict(metadata))


def _moments(
    spans: Sequence[Span], known: Mapping[str, Span]
) -> Iterator[tuple[tuple[float, int, int], bool, Span]]:
    """The beginnings and ends of spans with their order. Where no time is known, the file's order
    stands for it; at one moment what ends comes before what begins, and what lies inside ends
    first."""
    timed = all(span.start is not None for span in spans)
    for number, span in enumerate(spans):
        start = float(number) if not timed or span.start is None else span.start
        end = (
            max(start, span.end)
            if span.end is not None and (timed or span.end == inf)
            else start
        )
        depth = _depth(span, known)
        yield (start, 1, depth), True, span
        yield (end, 2 if end <= start else 0, -depth), False, span


def _depth(span: Span, known: Mapping[str, Span]) -> int:
    depth, seen = 0, {span.id}
    above = known.get(span.parent or "")
    while above is not None and above.id not in seen:
        depth, above = depth + 1, known.get(above.parent or "")
        seen.add(above.id if above is not None else "")
    return depth


def _begin(script: Script, span: Span) -> None:
    """Tell what came in."""
    for draft in span.heard:
        if draft.time is None:
            draft.time = span.start
    script.hear(span.heard)


def _finish(script: Script, span: Span) -> None:
    """Tell what went out."""
    if span.kind == "tool":
        call = Draft(
            "tool_call", span.arguments, span.name, span.call, span.id, time=span.start
        )
        result = Draft("tool_result", span.result, span.name, span.call, span.id)
        result.error, result.seconds, result.time = span.error, span.seconds, span.end
        if call.call is None:
            result.call = call.call = None
        script.use(call, result)
        return
    drafts = [*span.told]
    if span.kind == "around":
        if span.error and not drafts and not script.drafts:
            drafts = [Draft("other", None, name=span.name or "error")]
        _measured(drafts, span, whole=False)
        script.hear(drafts)
        return
    if not drafts:
        drafts = [Draft("assistant", None)]
    _measured(drafts, span, whole=True)
    script.say(drafts)


def _measured(drafts: Sequence[Draft], span: Span, whole: bool) -> None:
    """Note what was measured with the steps of a span: on the first how long it took and how many
    tokens, on the last whether it failed."""
    for draft in drafts:
        draft.key = span.id if draft.kind != "tool_call" else None
        draft.time = span.end if draft.time is None else draft.time
    if drafts and whole:
        drafts[0].seconds, drafts[0].tokens = span.seconds, span.tokens
    if drafts and span.error:
        drafts[-1].error = True
