"""Compares answers field by field, and takes off what was accepted."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ABSENT = None
"""What stands for a field or a line that is on one side alone."""


@dataclass(frozen=True)
class Difference:
    """One field of one session of commands, or one line of it, that is not what it was."""

    command: str
    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.command}  {self.field}",
                f"    before: {_shown(self.before)}",
                f"    now:    {_shown(self.after)}",
            ]
        )


MOST_SHOWN = 600
"""Characters of a value that are shown."""


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "(nothing)"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MOST_SHOWN:
        return f"{text[:MOST_SHOWN]}... ({len(text)} characters)"
    return text


def differences(command: str, before: Any, after: Any) -> list[Difference]:
    """Every difference between two answers of a session, in the order of the fields."""
    compared = _compared("", before, after)
    return [Difference(command, field, old, new) for field, old, new in compared]


def _compared(field: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            inner = f"{field}/{key}" if field else str(key)
            yield from _compared(inner, before.get(key, ABSENT), after.get(key, ABSENT))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(field, before, after)
    elif type(before) is not type(after) or before != after:
        yield field, before, after


def _lists(
    field: str, before: list[Any], after: list[Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Compare entry by entry; texts, and lists of another length, as lines of a text are."""
    texts = all(isinstance(entry, str) for entry in [*before, *after])
    if len(before) == len(after) and not texts:
        for n, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _compared(f"{field}/{n}", old, new)
        return
    old_lines, new_lines = map(_as_lines, (before, after))
    matcher = difflib.SequenceMatcher(a=old_lines, b=new_lines, autojunk=False)
    for kind, begin, end, new_begin, new_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone, come = before[begin:end], after[new_begin:new_end]
        for n in range(max(len(gone), len(come))):
            yield (
                field,
                gone[n] if n < len(gone) else ABSENT,
                come[n] if n < len(come) else ABSENT,
            )


def _as_lines(entries: Iterable[Any]) -> list[str]:
    return [json.dumps(entry, sort_keys=True, ensure_ascii=False) for entry in entries]


@dataclass(frozen=True)
class Accepted:
    """A difference that is meant, with the reason.

    Where `before` or `after` is given, only a difference with these values is meant. A `*` in any
    of the texts stands for whatever is there.
    """

    command: str
    field: str
    reason: str
    before: Any = ...
    after: Any = ...

    def covers(self, difference: Difference) -> bool:
        """Whether this difference is the one that is meant."""
        return (
            self.names(difference.command)
            and _fits(self.field, difference.field)
            and (self.before is ... or _fits(self.before, difference.before))
            and (self.after is ... or _fits(self.after, difference.after))
        )

    def names(self, command: str) -> bool:
        """Whether it speaks of this session."""
        return _fits(self.command, command)

    def __str__(self) -> str:
        return f"{self.command}  {self.field}  ({self.reason})"


def _fits(pattern: Any, value: Any) -> bool:
    """Whether a value is the one that is written; in a text a `*` is anything.

    Brackets mean themselves, as they stand around every interval, which they do not in `fnmatch`.
    """
    if isinstance(pattern, str) and isinstance(value, str):
        parts = ".*".join(map(re.escape, pattern.split("*")))
        return re.fullmatch(parts, value, re.DOTALL) is not None
    return type(pattern) is type(value) and pattern == value


def read_accepted(path: Path) -> list[Accepted]:
    """The accepted differences of a file.

    Raises:
        SystemExit: An entry says too little or has a key that is not known.
    """
    entries = yaml.safe_load(path.read_text("utf-8")) or []
    for n, entry in enumerate(entries, 1):
        missing = {"command", "field", "reason"} - set(entry)
        unknown = set(entry) - {"command", "field", "reason", "before", "after"}
        if missing or unknown:
            wrong = (
                f"lacks {sorted(missing)}"
                if missing
                else f"has the unknown {sorted(unknown)}"
            )
            raise SystemExit(
                f"{path}: entry {n} {wrong}. It holds command, field and reason."
            )
    return [Accepted(**entry) for entry in entries]


@dataclass(frozen=True)
class Outcome:
    """What a comparison came to."""

    unexpected: list[Difference]
    accepted: list[Difference]
    stale: list[Accepted]


def judged(
    found: Sequence[Difference],
    accepted: Sequence[Accepted],
    compared: Sequence[str],
    every: Sequence[str],
) -> Outcome:
    """Part the differences into those that are meant and those that are not.

    An entry is stale where all sessions of `every` that it names were compared and none of them
    differs as it says. Where some were left out, nothing is said of it.
    """

    def meant(difference: Difference) -> bool:
        return any(entry.covers(difference) for entry in accepted)

    def stale(entry: Accepted) -> bool:
        named = {name for name in every if entry.names(name)}
        return named <= set(compared) and not any(map(entry.covers, found))

    return Outcome(
        unexpected=[difference for difference in found if not meant(difference)],
        accepted=[difference for difference in found if meant(difference)],
        stale=[entry for entry in accepted if stale(entry)],
    )
