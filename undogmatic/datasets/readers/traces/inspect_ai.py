"""Reads what happened in the samples of an Inspect log: messages and uses of tools, and the scores
as `readers.inspect_ai` reads them. One sample at a time is in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import inspect_ai as verdicts
from undogmatic.datasets.readers.log import About, facts, text_of
from undogmatic.datasets.readers.traces.messages import drafts_of
from undogmatic.datasets.readers.traces.script import (
    Draft,
    Faults,
    Said,
    Script,
    TraceReader,
    count_of,
    made,
    name_of,
    pieces,
    text_or_none,
    time_of,
)
from undogmatic.records.records import OVERALL
from undogmatic.records.trace import Trace
from undogmatic.safety.outside import Unreadable, decoded, json_value, opened

ATTACHED = "attachment://"
HEADERS = ("_journal/start.json", "header.json")


def _traces(path: Path, faults: Faults) -> Iterator[Trace]:
    with opened(path) as file:
        packed = file.read(4) == verdicts.LOCAL
    log: dict[str, Any] = {}
    for sample in _packed(path, log, faults) if packed else _plain(path, log, faults):
        place = f"{path}#sample {sample.get('id')}, epoch {sample.get('epoch')}"
        if not isinstance(sample.get("messages", []), list) or sample.get("id") is None:
            faults.add("no_run", place, loses=True)
            continue
        yield from made(partial(_trace, sample, log, faults, place), faults, place)


def _plain(path: Path, log: dict[str, Any], faults: Faults) -> Iterator[dict[str, Any]]:
    for piece in pieces(path, faults, ("samples",)):
        if piece.about and isinstance(piece.value, dict):
            log |= piece.value
        elif piece.key == "samples" and isinstance(piece.value, dict):
            yield piece.value
        else:
            faults.add("no_object", f"{path}, byte {piece.place:,}", loses=True)


def _packed(
    path: Path, log: dict[str, Any], faults: Faults
) -> Iterator[dict[str, Any]]:
    """The samples of an `.eval` file, whose header is read before them wherever it stands."""
    with opened(path) as file:
        members, is_whole = verdicts.members_of(file, path)
        order = sorted(members, key=lambda member: member.name not in HEADERS)
        for member in order:
            if member.name not in HEADERS and not member.name.startswith("samples/"):
                continue
            try:
                value = json_value(
                    decoded(verdicts.unpack(file, member)), infinite=True
                )
            except (Unreadable, ValueError, zlib.error, OSError):
                faults.add(
                    "unreadable", f"{path}#{member.name}", loses=member.name[0] == "s"
                )
                continue
            if not isinstance(value, dict):
                faults.add("no_object", f"{path}#{member.name}", loses=True)
            elif member.name in HEADERS:
                log |= value
            else:
                yield value
    if not is_whole:
        faults.add("cut", str(path), loses=True)


def _trace(
    sample: Mapping[str, Any], log: Mapping[str, Any], faults: Faults, place: str
) -> Trace | None:
    about = log.get("eval")
    about = about if isinstance(about, Mapping) else {}
    named, epoch = name_of(sample.get("id")), count_of(sample.get("epoch")) or 1
    script = Script(named if epoch == 1 else f"{named} (epoch {epoch})")
    held = sample.get("attachments")
    attached = held if isinstance(held, Mapping) else {}
    measured = _measured(sample.get("events"))
    for message in sample.get("messages") or ():
        if not isinstance(message, Mapping):
            continue
        drafts = drafts_of(
            {key: _whole(value, attached) for key, value in message.items()}
        )
        seconds, tokens, moment = measured.get(
            str(message.get("id")), (None, None, None)
        )
        for number, draft in enumerate(drafts):
            draft.time = moment
            if draft.kind == "assistant" and number == 0:
                draft.seconds, draft.tokens = seconds, tokens
            if draft.kind == "tool_result" and draft.call is not None:
                draft.seconds, _, draft.time = measured.get(
                    draft.call, (None, None, moment)
                )
        script.say(drafts)
    error = sample.get("error")
    if isinstance(error, Mapping):
        what = text_or_none(error.get("message"))
        script.add(Draft("other", what, name="error", error=True))
    script.said = list(_said(sample, log, about))
    metadata: dict[str, Any] = {"group": named}
    if about.get("model"):
        metadata["model"] = name_of(about["model"])
    return script.trace(
        faults,
        place,
        task=text_or_none(text_of(sample.get("input"))),
        metadata=facts(sample.get("metadata")) | metadata,
    )


def _whole(value: Any, attached: Mapping[str, Any]) -> Any:
    """A value of a message with what was kept apart from it in its place."""
    if not attached:
        return value
    if isinstance(value, str) and value.startswith(ATTACHED):
        return attached.get(value.removeprefix(ATTACHED), value)
    if isinstance(value, list):
        return [_whole(each, attached) for each in value]
    if isinstance(value, Mapping):
        return {key: _whole(each, attached) for key, each in value.items()}
    return value


Measured = tuple[float | None, int | None, float | None]


def _measured(events: Any) -> dict[str, Measured]:
    """How long a call of a tool or a message of a model took, how many tokens, and when it began,
    by its id, where the log keeps its events."""
    found: dict[str, Measured] = {}
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, Mapping) or event.get("event") not in (
            "tool",
            "model",
        ):
            continue
        began, seconds = time_of(event.get("timestamp")), event.get("working_time")
        if not isinstance(seconds, int | float):
            ended = time_of(event.get("completed"))
            seconds = (
                None if began is None or ended is None else max(0.0, ended - began)
            )
        if event["event"] == "tool":
            found[str(event.get("id"))] = seconds, None, began
            continue
        output = event.get("output")
        output = output if isinstance(output, Mapping) else {}
        usage, choices = output.get("usage"), output.get("choices")
        tokens = (
            count_of(usage.get("output_tokens")) if isinstance(usage, Mapping) else None
        )
        for choice in choices if isinstance(choices, list) else ():
            message = choice.get("message") if isinstance(choice, Mapping) else None
            if isinstance(message, Mapping) and message.get("id"):
                found[str(message["id"])] = seconds, tokens, began
    return found


def _said(
    sample: Mapping[str, Any],
    log: Mapping[str, Any],
    about: Mapping[str, Any],
) -> Iterator[Said]:
    """The scores of a sample; that of a scorer which did not score it is missing."""
    scorer = verdicts.only_scorer(log)
    scored = set[str]()
    for one in verdicts.scores_of(sample, {**about, "scorer": scorer}, {}):
        judge, criterion = str(one["judge"]), str(one["criterion"] or OVERALL)
        scored.add(judge)
        why = None if "verdict" in one else str(one.get("reason") or "")
        if judge.lower().startswith("human"):
            yield Said(judge, one.get("verdict"), criterion, person=True)
            continue
        yield Said(judge, one.get("verdict"), criterion, reason=why)
        if "label" in one:
            yield Said(
                str(one.get("rater") or "annotator"),
                one["label"],
                criterion,
                person=True,
            )
    error = sample.get("error")
    why = error.get("message") if isinstance(error, Mapping) else None
    for judge, criterion in _planned(log):
        if judge not in scored and not judge.lower().startswith("human"):
            reason = text_or_none(why or "the sample was not scored")
            yield Said(judge, None, criterion, reason=reason)


def _planned(log: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The scorers of a log with their criteria, as its results name them."""
    results = log.get("results")
    listed = results.get("scores") if isinstance(results, Mapping) else None
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping) and each.get("scorer"):
            name, judge = str(each.get("name")), str(each["scorer"])
            yield judge, OVERALL if name == judge else name


READER = TraceReader(
    "a log of Inspect",
    verdicts.READER.claims,
    _traces,
    About(
        tool="Inspect",
        file="`.eval` or `.json` log: a sample is a run, each epoch of it another, in one group",
        verdict="the value of each scorer, as without `--unit`",
        label="what a person put in place of a score; a scorer whose name begins with `human`",
        fixture="by the tool (0.3.285)",
    ),
)
