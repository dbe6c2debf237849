"""Reads sessions of the OpenAI Agents SDK: the items of a conversation, one a line or in a list, as
`to_input_list()` and `Session.get_items()` give them; the rows of its table `agent_messages`; and
sessions of Codex, which hold the same items (`response_item`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import About, Head, first_of
from undogmatic.datasets.readers.traces.messages import drafts_of, parsed
from undogmatic.datasets.readers.traces.script import (
    Faults,
    Records,
    Script,
    TraceReader,
    in_runs,
    name_of,
    pieces,
    time_of,
)
from undogmatic.records.trace import Trace

ROW, LISTS = ("session_id", "message_data"), ("items", "messages", "input")
FIELDS = frozenset(
    "role content type id status name arguments call_id output summary phase encrypted_content"
    " namespace provider_data caller action tool_calls tool_call_id refusal function_call".split()
)
"""What an item may have; a line with a field of another name is of another file."""


def _claims(head: Head) -> bool:
    first = head.record()
    if all(key in first for key in ROW):
        return True
    if "payload" in first and first.get("type") in ("session_meta", "response_item"):
        return True
    inner = next(
        (first_of(first[k]) for k in LISTS if isinstance(first.get(k), list)), None
    )
    if inner is not None and first.keys() <= {*LISTS, "session_id", "id", "created_at"}:
        return _is_item(inner)
    return _is_item(first)


def _is_item(value: Any) -> bool:
    if not isinstance(value, Mapping) or not value.keys() <= FIELDS:
        return False
    kind = str(value.get("type") or "")
    return ("role" in value and "content" in value) or kind.endswith(
        ("_call", "_call_output")
    )


def _trace(run: str, records: Records, faults: Faults, place: str) -> Trace | None:
    script = Script(run)
    asked: dict[str, tuple[str | None, float | None]] = {}
    for record in records:
        moment = time_of(record["time"])
        drafts = drafts_of(record["item"])
        for draft in drafts:
            draft.time = moment
            if draft.kind == "tool_call" and draft.call:
                asked[draft.call] = draft.name, moment
            if draft.kind == "tool_result" and draft.call in asked:
                name, began = asked[draft.call]
                draft.name = draft.name or name
                if moment is not None and began is not None:
                    draft.seconds = moment - began
        script.say(drafts)
    return script.trace(faults, place)


def _records(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each item with the session that it is of: that of its line, else the one that was named
    before it, else the file."""
    run = path.stem
    for piece in pieces(path, faults, LISTS):
        line, place = piece.value, f"{path}, byte {piece.place:,}"
        if piece.about:
            run = name_of(line.get("session_id") or line.get("id")) or run
            continue
        if not isinstance(line, dict):
            faults.add("no_object", place, loses=True)
            continue
        moment = line.get("timestamp") or line.get("created_at")
        payload = line.get("payload")
        if isinstance(payload, dict):
            if line.get("type") == "session_meta":
                run = name_of(payload.get("id")) or run
            if line.get("type") == "response_item":
                yield run, {"item": payload, "time": moment}
            continue
        own = name_of(line.get("session_id")) or run
        item = parsed(line["message_data"]) if "message_data" in line else line
        if isinstance(item, dict) and ("role" in item or "type" in item):
            yield own, {"item": item, "time": moment}
        else:
            faults.add("no_message", place)


READER = TraceReader(
    "a session of the OpenAI Agents SDK",
    _claims,
    in_runs(_records, _trace),
    About(
        tool="OpenAI Agents, Codex",
        file="items of a session (JSON Lines, a list), rows of `agent_messages`, a rollout file",
        verdict="- (a table beside it, joined by the id)",
        label="- (a table beside it, joined by the id)",
        fixture="by its SDK (0.24.0); Codex from what is known of its format",
    ),
)
