"""Reads sessions of Claude Code: a line for each message or part of one, with the id of the line
before it (`parentUuid`) and of the session.

What a subagent did (`isSidechain`) is a run of its own, in the group of its session. The time
between a call and its result is how long the tool took, and somebody's leave with it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import About, Head
from undogmatic.datasets.readers.traces.messages import drafts_of
from undogmatic.datasets.readers.traces.script import (
    Faults,
    Records,
    Script,
    TraceReader,
    count_of,
    in_runs,
    name_of,
    objects,
    time_of,
)
from undogmatic.records.trace import Trace

KEPT = (
    "type",
    "message",
    "uuid",
    "parentUuid",
    "timestamp",
    "isMeta",
    "sessionId",
    "gitBranch",
)
OURS = ("isSidechain", "parentUuid", "sessionId", "leafUuid", "uuid")


def _claims(head: Head) -> bool:
    first = head.record()
    if "type" not in first:
        return False
    if {"sessionId", "uuid"} & first.keys() and any(key in first for key in OURS):
        return "steps" not in first
    return first.get("type") == "summary" and "leafUuid" in first


def _records(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line that is a message, with its run."""
    roots: dict[str, str] = {}
    for place, line in objects(path, faults):
        if line.get("type") not in ("user", "assistant"):
            continue
        if not isinstance(line.get("message"), dict):
            faults.add("no_message", place)
            continue
        run = name_of(line.get("sessionId")) or path.stem
        if line.get("isSidechain"):
            own = str(line.get("uuid") or "")
            root = roots[own] = roots.get(str(line.get("parentUuid") or ""), own)
            run = f"{run}/{name_of(line.get('agentId')) or root[:8]}"
        yield run, {key: line[key] for key in KEPT if key in line}


def _trace(run: str, records: Records, faults: Faults, place: str) -> Trace | None:
    script, seen, counted = Script(run), set[str](), set[str]()
    known = {str(line["uuid"]) for line in records if line.get("uuid")}
    asked: dict[str, float] = {}
    model = None
    for line in records:
        uuid, above = str(line.get("uuid") or ""), str(line.get("parentUuid") or "")
        if uuid in seen:
            faults.add("twice", place)
            continue
        seen |= {uuid} if uuid else set()
        if above and above not in known:
            faults.add("no_parent", place)
        message, moment = line["message"], time_of(line.get("timestamp"))
        drafts = drafts_of({"role": line["type"], **message})
        for draft in drafts:
            draft.time, draft.key, draft.after = moment, uuid or None, above or None
            if line.get("isMeta") and draft.kind == "user":
                draft.kind, draft.name = "other", "meta"
            if draft.kind == "tool_call" and draft.call and moment is not None:
                asked[draft.call] = moment
            if (
                draft.kind == "tool_result"
                and moment is not None
                and draft.call in asked
            ):
                draft.seconds = moment - asked[draft.call]
        reply = str(message.get("id") or "")
        usage = message.get("usage")
        if drafts and isinstance(usage, Mapping) and reply not in counted:
            drafts[0].tokens = count_of(usage.get("output_tokens"))
            counted |= {reply} if reply else set()
        model = message.get("model") or model
        script.say(drafts)
    names = {
        draft.call: draft.name for draft in script.drafts if draft.kind == "tool_call"
    }
    for draft in script.drafts:
        if draft.kind == "tool_result" and draft.name is None:
            draft.name = names.get(draft.call)
    metadata = {"model": name_of(model)} if model else {}
    session, _, agent = run.partition("/")
    return script.trace(
        faults, place, metadata=metadata | ({"group": session} if agent else {})
    )


READER = TraceReader(
    "a session of Claude Code",
    _claims,
    in_runs(_records, _trace),
    About(
        tool="Claude Code",
        file="a session (JSON Lines), also several in one file; a subagent's part is its own run",
        verdict="- (a table beside it, joined by the id)",
        label="- (a table beside it, joined by the id)",
        fixture="from what is known of its format, not seen with a file of its own",
    ),
)
