"""Finds out which tool wrote a file of runs, and reads it run by run.

A module of this folder that has a `READER` is one. An installed package adds readers by an entry
point:

    [project.entry-points."undogmatic.trace_readers"]
    desk = "my_package.desk:READER"
"""

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from undogmatic.datasets.readers.log import DEEP_BYTES, HEAD_BYTES, Head, head_of
from undogmatic.datasets.readers.traces.script import Faults, TraceReader
from undogmatic.errors import DataError
from undogmatic.records.added import added
from undogmatic.records.records import text_mark
from undogmatic.records.trace import Trace

__all__ = ["Faults", "TraceReader", "every", "find", "page", "read_traces"]


GROUP = "undogmatic.trace_readers"


def every() -> Iterator[TraceReader]:
    """The readers: ours, then those of installed packages, so that none of them takes a file that
    is read already."""
    yield from _ours()
    yield from installed()


@functools.cache
def installed() -> tuple[TraceReader, ...]:
    """The readers of installed packages, in the order of their names. Raises ConfigError where one
    cannot be imported or is no reader."""
    return tuple(reader for _, reader in added(GROUP, TraceReader, "reader of traces"))


def _ours() -> Iterator[TraceReader]:
    """Those of this folder in the order of their modules' names; the items of conversations, which
    have the fewest signs, come last."""
    names = sorted(
        (module.name for module in pkgutil.iter_modules(__path__)),
        key=lambda name: (name == "openai_agents", name),
    )
    for name in names:
        found = getattr(importlib.import_module(f"{__name__}.{name}"), "READER", None)
        if found is not None:
            yield found


def find(path: Path) -> TraceReader | None:
    """The reader of the tool that wrote the runs of this file, by what it holds; None for any
    other."""
    if not path.is_file():
        return None
    for most in (HEAD_BYTES, DEEP_BYTES):
        head: Head | None = head_of(path, most)
        if head is None:
            return None
        found = next((reader for reader in every() if reader.claims(head)), None)
        if found is not None or len(head.raw) < most:
            return found
    return None


def read_traces(path: Path, faults: Faults | None = None) -> Iterator[Trace]:
    """The runs of a file, one at a time, whoever wrote it; what is wrong is counted in `faults`.

    A run that comes a second time just as before is left out, and another one with the same id gets
    a number behind it. Raises DataError where no reader knows the file.
    """
    reader = find(path)
    if reader is None:
        known = ", ".join(each.about.tool for each in every())
        raise DataError(
            f"{path}: not recognised as a file of traces. Read are those of {known}"
            " (docs/trace_files.md)."
        )
    faults = Faults() if faults is None else faults
    before: dict[str, set[str]] = {}
    for trace in reader.traces(path, faults):
        mark, known_marks = text_mark(trace.line()), before.setdefault(trace.run, set())
        if mark in known_marks:
            faults.add("same_run", trace.run)
            continue
        known_marks.add(mark)
        if len(known_marks) == 1:
            yield trace
            continue
        faults.add("two_runs", trace.run)
        name = f"{trace.run} ({len(known_marks)})"
        steps = tuple(step.replace(run=name) for step in trace.steps)
        yield trace.replace(run=name, steps=steps)


def page() -> str:
    """The table of the readers in the documentation, in Markdown."""
    lines = [
        "| tool | file | a verdict is | a label is | how the files of its tests were made |"
    ]
    lines.append("|---|---|---|---|---|")
    told = sorted(
        (reader.about for reader in _ours()), key=lambda about: about.tool.lower()
    )
    return "\n".join([*lines, *(f"| {' | '.join(about)} |" for about in told)])
