"""Makes `clean.jsonl` from the runs that were written by hand in `documents.yaml`, `records.yaml`
and `files.yaml`. Run `python data/traces/make.py` after a change; the same sources give the same
bytes.

What was written is taken as it stands. Only the times are made up here: when a run began, and how
long each step took.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from undogmatic.datasets.edits import language_of
from undogmatic.records.records import digest
from undogmatic.records.trace import Trace, as_jsonl

HERE = Path(__file__).resolve().parent
TASKS = ("documents", "records", "files")
FIRST = 1_767_600_000  # 5 January 2026, in the morning
WEEKS = 20
TAKES = {
    "user": (4, 90),
    "assistant": (1, 6),
    "tool_call": (0.1, 0.6),
    "tool_result": (0.2, 4),
}
"""How many seconds a step of each kind takes, from least to most."""


def steps(written: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The steps of a run as a line of our files has them."""
    place = 0
    for entry in written:
        if "c" not in entry:
            ((kind, text),) = entry.items()
            yield {"kind": {"u": "user", "a": "assistant"}[kind], "text": text}
            place += 1
            continue
        ((tool, arguments),) = entry["c"].items()
        sent = json.dumps(arguments, ensure_ascii=False)
        yield {"kind": "tool_call", "name": tool, "text": sent}
        failed = "x" in entry
        told = {"text": entry["x" if failed else "r"], "error": failed, "parent": place}
        yield {"kind": "tool_result", "name": tool} | told
        place += 2


def trace(written: Mapping[str, Any], task: str) -> Trace:
    """A run with its times."""
    draw = random.Random(digest(written["id"]))
    now = FIRST + 86_400 * 7 * draw.randrange(WEEKS) + draw.randrange(5 * 86_400)
    made = []
    for step in steps(written["steps"]):
        took = round(draw.uniform(*TAKES[step["kind"]]), 1)
        made.append(step | {"time": round(now, 1), "seconds": took})
        now += took
    said = " ".join(
        step["text"] for step in made if step["kind"] in ("user", "assistant")
    )
    about = {"task": task, "language": language_of(said)}
    asked = made[0]["text"]
    return Trace(run=written["id"], task=asked, steps=tuple(made), metadata=about)


if __name__ == "__main__":
    runs = [
        trace(written, task)
        for task in TASKS
        for written in yaml.safe_load(
            (HERE / f"{task}.yaml").read_text(encoding="utf-8")
        )
    ]
    (HERE / "clean.jsonl").write_text("".join(as_jsonl(runs)), encoding="utf-8")
    print(f"{len(runs)} runs, {sum(len(run.steps) for run in runs)} steps")
