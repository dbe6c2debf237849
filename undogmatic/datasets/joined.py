"""Joins files that have different columns and no ids: by a text that all of them hold or, where
that is typed, by the number of the row.

Rows that stand beside each other in two files are about one item only if nobody sorted, added or
left out any. Texts that agree row by row show it; without them nothing does, and it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from undogmatic.datasets.by_row import ID, SEVERAL, marks_of
from undogmatic.datasets.contents import Contents
from undogmatic.datasets.doors import NONE, Door, Doubt, Question, Way, spelled
from undogmatic.datasets.frames import Frame, column_of
from undogmatic.datasets.names import side_of
from undogmatic.datasets.roles import ITEM
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

MOSTLY = 0.5
"""The share of the rows of the shorter file whose text must stand in the other one, too."""


class Joined(NamedTuple):
    """Files with a column of ids in common."""

    frames: list[Frame]
    item: str


def by_texts_or_rows(
    frames: Sequence[Frame], item: str | None, door: Door
) -> Joined | None:
    """The files with ids, where they are of different columns and not all of them have any; None
    where they need none. `item` is the column that is typed, "" for none. Raises ConfigError where
    it is not clear which rows belong together, DataError where they cannot."""
    if item or len({frozenset(frame.cells.columns) for frame in frames}) < 2:
        return None
    names = [column_of(frame.cells, ITEM) for frame in frames]
    if any(frame.is_log for frame in frames) or all(names):
        return None
    if item == "":
        _check_lengths(frames, door)
        return Joined([_with(frame, ID, _numbers(frame)) for frame in frames], ID)
    whole = next((n for n, name in enumerate(names) if name is not None), 0)
    column = names[whole] or ID
    base = frames[whole]
    ids = _numbers(base) if names[whole] is None else list(base.cells[column])
    shared = _shared(frames)
    marks = {
        name: [marks_of(frame.cells, [name]) for frame in frames] for name in shared
    }
    for name in shared:
        # The same texts in the same rows of all files: then the rows stand beside each
        # other, texts that come twice included.
        if all(own == marks[name][0] for own in marks[name][1:]):
            given, how = [ids for _ in frames], "row"
            break
        if _is_key(marks[name]):
            given, how = _by_text(marks[name], whole, ids), "text"
            break
    else:
        raise _in_doubt(frames, marks, door)
    note = Finding(
        f"table.joined_by_{how}", {"columns": [f"`{name}`"], **spelled(door, ITEM)}
    )
    made = [_with(frame, column, own) for frame, own in zip(frames, given, strict=True)]
    return Joined([made[0]._replace(notes=(*made[0].notes, note)), *made[1:]], column)


def _shared(frames: Sequence[Frame]) -> list[str]:
    """The columns of all files that may tell items apart, the most telling first: texts, and what
    differs in most rows. What a judge or people said tells none."""
    columns = [set(map(str, frame.cells)) for frame in frames]
    first = Contents(frames[0].cells)
    names = [
        name for name in map(str, frames[0].cells) if name in set.intersection(*columns)
    ]
    telling = [
        name
        for name in names
        if side_of(name) is None
        and (
            first.is_prose(name)
            or frames[0].cells[name].nunique() > MOSTLY * len(first.cells)
        )
    ]
    return sorted(telling, key=lambda name: not first.is_prose(name))


def _is_key(marks: Sequence[Sequence[str | None]]) -> bool:
    """Whether the text of a row is that of one item: it comes once in one file at least, and most
    rows of the others have a text from there."""
    plain = [[mark for mark in own if mark is not None] for own in marks]
    once = next((own for own in plain if len(set(own)) == len(own)), None)
    if once is None:
        return False
    known = set(once)
    return all(
        len(known & set(own)) >= MOSTLY * min(len(known), len(set(own))) > 0
        for own in plain
    )


def _by_text(
    marks: Sequence[Sequence[str | None]], whole: int, ids: Sequence[Any]
) -> list[list[Any]]:
    """The ids of the rows of each file: of a text that the file with `ids` has, its id there; of
    any other one of its own."""
    known: dict[str, Any] = {}
    for mark, own in zip(marks[whole], ids, strict=True):
        if mark is not None:
            known.setdefault(mark, own)
    for mark in dict.fromkeys(
        mark for own in marks for mark in own if mark is not None
    ):
        known.setdefault(mark, f"text {len(known) + 1}")
    return [[None if mark is None else known[mark] for mark in own] for own in marks]


def _numbers(frame: Frame) -> list[str]:
    return [f"row {n}" for n in range(1, len(frame.cells) + 1)]


def _with(frame: Frame, column: str, ids: Sequence[Any]) -> Frame:
    cells = pd.Series(list(ids), dtype=object, index=frame.cells.index)
    return frame._replace(cells=frame.cells.assign(**{column: cells}))


def _check_lengths(frames: Sequence[Frame], door: Door) -> None:
    """Raise DataError where the number of a row does not tell its item."""
    typed = door.typed(ITEM, NONE)
    if len({len(frame.cells) for frame in frames}) > 1:
        counts = ", ".join(
            f"{frame.name} has {len(frame.cells):,} rows" for frame in frames
        )
        raise DataError(
            f"{typed} joins the files row by row, and {counts}. Write the id of its item into each"
            " row, or make both as long."
        )
    # One row that is left out moves all that follow up by one, and each would be held
    # against the label of its neighbour.
    if lossy := next((frame for frame in frames if frame.unread), None):
        raise DataError(
            f"{typed} joins the files row by row, and {lossy.unread:,} rows of {lossy.name} cannot"
            " be read, so that those after them may stand beside others. Repair them first."
        )
    for frame in frames:
        if several := next(
            (r for r in SEVERAL if column_of(frame.cells, r) is not None), None
        ):
            column = column_of(frame.cells, several)
            raise DataError(
                f"{typed} joins the files row by row, and `{column}` shows that {frame.name} has"
                " several rows for an item. Write the id of its item into each row."
            )


def _in_doubt(
    frames: Sequence[Frame], marks: dict[str, list[list[str | None]]], door: Door
) -> ConfigError:
    """That the files cannot be joined as they are, with the way that there is."""
    columns = dict.fromkeys(str(name) for frame in frames for name in frame.cells)
    why = (
        "the files have different columns, and no column with the ids of the items by which they"
        " could be joined"
    )
    try:
        _check_lengths(frames, door)
    except DataError:
        return Doubt(ITEM, f"{why}. Columns: {', '.join(columns)}").at(door)
    n = len(frames[0].cells)
    if not marks:
        return Question(
            f"{why}. Each has {n:,} rows.",
            [
                Way(
                    "If they are about the same items in the same order, type",
                    [(ITEM, NONE)],
                )
            ],
        ).at(door)
    name, (first, *others) = next(iter(marks.items()))
    other = next(own for own in others if own != first)
    row = next(at for at in range(n) if first[at] != other[at])
    shown = brief(str(frames[0].cells[name].iloc[row]), 40)
    why += (
        f"; both have a column `{name}`, which differs from row {row + 1} on ({shown})"
    )
    return Doubt(ITEM, f"{why}. Columns: {', '.join(columns)}").at(door)
