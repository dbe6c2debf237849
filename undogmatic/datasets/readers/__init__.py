"""Finds out which tool wrote a file of verdicts, and reads it as rows with the columns of a verdict
table.

A module of this folder that has a `READER` is one: what `undogmatic check` can read needs no list
elsewhere. An installed package adds readers by an entry point:

    [project.entry-points."undogmatic.readers"]
    tickets = "my_package.tickets:READER"
"""

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from undogmatic.datasets.readers.log import (
    DEEP_BYTES,
    HEAD_BYTES,
    Reader,
    head_of,
    of_columns,
)
from undogmatic.records.added import added

__all__ = ["Reader", "every", "find", "head_of", "of_columns", "page"]
GROUP = "undogmatic.readers"


def every() -> Iterator[Reader]:
    """The readers: ours in the order of their modules' names, then those of installed packages, so
    that none of them takes a file that is read already."""
    yield from _ours()
    yield from installed()


@functools.cache
def installed() -> tuple[Reader, ...]:
    """The readers of installed packages, in the order of their names. Raises ConfigError where one
    cannot be imported or is no reader."""
    return tuple(reader for _, reader in added(GROUP, Reader, "reader"))


def _ours() -> Iterator[Reader]:
    for module in pkgutil.iter_modules(__path__):
        found = getattr(
            importlib.import_module(f"{__name__}.{module.name}"), "READER", None
        )
        if found is not None:
            yield found


def page() -> str:
    """The table of the readers in the documentation, in Markdown."""
    lines = [
        "| tool | file | a verdict is | a label is | how the files of its tests were made |",
        "|---|---|---|---|---|",
    ]
    told = [reader.about for reader in _ours() if reader.about is not None]
    lines += [
        f"| {' | '.join(about)} |"
        for about in sorted(told, key=lambda a: a.tool.lower())
    ]
    return "\n".join(lines)


def find(path: Path) -> Reader | None:
    """The reader of the tool that wrote this file or folder, by what it holds: its first bytes and
    keys, and of JSON more where the first record is longer than that. None for any other, also for
    one that cannot be opened."""
    for most in (HEAD_BYTES, DEEP_BYTES):
        head = head_of(path, most)
        if head is None:
            return None
        found = next((reader for reader in every() if reader.claims(head)), None)
        if found is not None or head.value is None or len(head.raw) < most:
            return found
    return None
