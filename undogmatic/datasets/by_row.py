"""Gives ids to the rows of a table that has none, and finds the rows that people's labels are of.

`undogmatic label` notes with each label the number of its row and the digest of what was shown.
Later the digest finds the row, wherever it stands by then: rows are put in another order, added
or taken out, and a label may not wander to another text because of that. Of two equal texts each
keeps its own label as long as both are where they were; elsewhere they are taken in their order,
since nothing but their place tells them apart.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from undogmatic.datasets.frames import Frame, column_of
from undogmatic.datasets.items import find_texts
from undogmatic.datasets.roles import ITEM, JUDGE, ORDER, RATER, REPEAT
from undogmatic.datasets.scales import TableOptions
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import as_text, digest
from undogmatic.records.results import Finding
from undogmatic.safety.outside import Unreadable, brief, json_value

MARK, SHOWN, WHEN = "text_digest", "text_columns", "labelled_at"
"""Columns of a file of labels: the digest of what was shown, the columns that were shown, and
the time."""
SHEET = {"item", "rater", "label", WHEN}
"""The columns by which a file of labels is known."""
MARK_LENGTH = 16
SEVERAL = (JUDGE, RATER, REPEAT, ORDER)
"""Roles of columns that are there where a table has several rows of one item."""
ID = "item"
"""What the column of ids is called that a table without one gets."""
_ROW = re.compile(r"row (\d{1,9})")


class Place(NamedTuple):
    """Where the text of a label stands: the id of its row (None: nowhere), whether it was found
    there by its text although the number of its row is another now, and whether the row of that
    id shows another text now."""

    item: str | None
    moved: bool = False
    changed: bool = False


def mark_of(texts: Sequence[str | None]) -> str:
    """The digest of what is shown of a row; white space and the way in which accents are coded
    do not count."""
    plain = [
        # A spreadsheet that was saved anew may change both, and it is still the same text.
        " ".join(unicodedata.normalize("NFC", text or "").split())
        for text in texts
    ]
    return digest(plain)[:MARK_LENGTH]


def marks_of(cells: pd.DataFrame, columns: Sequence[str]) -> list[str | None]:
    """The digest of each row, None where all of its columns are empty."""
    rows = [_texts(row) for row in zip(*(cells[name] for name in columns), strict=True)]
    return [mark_of(row) if any(row) else None for row in rows]


def row_ids(cells: pd.DataFrame, marks: Sequence[str | None]) -> list[str]:
    """The ids of rows without a column of ids: their numbers. Where an item has several rows, as
    its columns show, that of the first row with the same text."""
    numbers = [f"row {n}" for n in range(1, len(cells) + 1)]
    # Two equal texts are then two items, as nothing says that they are one.
    if not any(column_of(cells, role) for role in SEVERAL):
        return numbers
    first: dict[str, str] = {}
    return [
        number if mark is None else first.setdefault(mark, number)
        for number, mark in zip(numbers, marks, strict=True)
    ]


def places(
    wanted: Sequence[tuple[str, str | None]],
    ids: Sequence[str | None],
    marks: Sequence[str | None],
    numbers: Sequence[str] | None = None,
) -> dict[tuple[str, str | None], Place]:
    """Where each label's text stands.

    Args:
        wanted: The items and digests of labels; without a digest the id alone tells, or the number
            of the row, by which an earlier version counted the rows with a text.
        ids, marks: Those of the rows of a table.
        numbers: Where ids are but the numbers of rows, those of the rows with a text.
    """
    of_id: dict[str, set[str | None]] = {}
    of_mark: dict[str, dict[str, None]] = {}
    for item, mark in zip(ids, marks, strict=True):
        if item is not None:
            of_id.setdefault(item, set()).add(mark)
            if mark is not None:
                of_mark.setdefault(mark, {})[item] = None
    found: dict[tuple[str, str | None], Place] = {}
    first = first_row(item for item, mark in wanted if mark is None)
    for item, mark in wanted:
        row = _ROW.fullmatch(item)
        if mark is None and numbers is not None and row is not None:
            # Labels of an earlier version bear no digest, and their numbers count the rows with a
            # text alone.
            at = int(row[1]) - first
            found[item, mark] = Place(numbers[at] if 0 <= at < len(numbers) else None)
        elif item in of_id and (mark is None or mark in of_id[item]):
            found[item, mark] = Place(item)
    taken = {place.item for place in found.values()}
    for item, mark in dict.fromkeys(wanted):
        if (item, mark) in found:
            continue
        if mark is not None and mark in of_mark:
            # Of two equal texts, one that already has its label does not take the other's as
            # well.
            free = (each for each in of_mark[mark] if each not in taken)
            place = Place(next(free, next(iter(of_mark[mark]))), moved=True)
            taken.add(place.item)
        elif item in of_id and numbers is None:
            # the id says that it is the same item, and its text was edited
            place = Place(item, changed=True)
        else:
            place = Place(None)
        found[item, mark] = place
    return found


def first_row(items: Iterable[str]) -> int:
    """The number that labels without a digest give the first row of a table.

    It is 2 where their rows are 2, 3, 4 and so on without a gap: then they were counted with the
    header, as a spreadsheet does; whoever labels from the top begins with the first text. Else 1.
    """
    numbers = {int(row[1]) for row in map(_ROW.fullmatch, items) if row is not None}
    return 2 if numbers and numbers == set(range(2, len(numbers) + 2)) else 1


def is_sheet(frame: Frame) -> bool:
    """Whether a file holds labels as `undogmatic label` writes them."""
    return set(map(str, frame.cells.columns)) >= SHEET


def with_labels(
    frames: Sequence[Frame], options: TableOptions
) -> tuple[list[Frame], TableOptions]:
    """The frames with the labels of `undogmatic label` on the rows that they are of, and the
    options, in which the ids of rows are named where the table has none of its own. Raises
    ConfigError, DataError."""
    sheets = [f for f in frames if is_sheet(f)]
    tables = [f for f in frames if not is_sheet(f)]
    if not sheets or not tables:
        return list(frames), options
    column = next(
        (name for table in tables if (name := _ids(table, options)) is not None), None
    )
    if column is None and len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        what = "its labels are of rows of one file, and there are several without ids"
        raise ConfigError(
            f"{sheets[0].name}: {what}: {names}. Name the one that was labelled."
        )
    if column is None:
        table, numbers = _numbered(tables[0], options)
        tables, options = [table], options.model_copy(update={"item": ID})
    else:
        table = next(each for each in tables if _ids(each, options) is not None)
        numbers = None
    others = {str(name) for each in tables for name in each.cells}
    ids = _texts(table.cells[_ids(table, options) or ID])
    rows = _Rows(table, ids, numbers)
    # The table comes first, whichever was typed first: further labels are given on it.
    return [*tables, *(_placed(sheet, rows, others) for sheet in sheets)], options


class _Rows(NamedTuple):
    """The rows of a table: their ids and, where these are but their numbers, the ids of the rows
    with a text in their order."""

    table: Frame
    ids: list[str | None]
    numbers: list[str] | None


def _ids(table: Frame, options: TableOptions) -> str | None:
    """The column of ids of a table; None where it has none."""
    return column_of(table.cells, ITEM, options.item)


def _texts(cells: Iterable[Any]) -> list[str | None]:
    """Cells as text, None where one is empty."""
    return [None if cell is None else str(cell) for cell in cells]


def _numbered(table: Frame, options: TableOptions) -> tuple[Frame, list[str]]:
    """The table with a column of ids, and the ids of its rows with a text."""
    marks: list[str | None] = [""] * len(table.cells)
    # then a label's own columns tell which texts are meant
    with contextlib.suppress(ConfigError):
        texts = find_texts(
            table.cells, table.name, options.text, None, every=True
        ).columns["text"]
        marks = marks_of(table.cells, texts)
    ids = row_ids(table.cells, [mark or None for mark in marks])
    with_text = [
        each for each, mark in zip(ids, marks, strict=True) if mark is not None
    ]
    return table._replace(cells=table.cells.assign(**{ID: ids})), with_text


def _placed(sheet: Frame, rows: _Rows, others: Collection[str]) -> Frame:
    """A file of labels with the ids of the rows that they are of, each rater's last label of an
    item alone, and what is to be said of it; `others` are the columns of the other files."""
    cells = sheet.cells
    nothing: list[str | None] = [None] * len(cells)
    items = _texts(cells["item"])
    marks = _texts(cells.get(MARK, nothing))
    shown = _texts(cells.get(SHOWN, nothing))
    found: dict[int, Place] = {}
    # People may have labelled the same file by other columns another time.
    for columns in dict.fromkeys(shown):
        at = [
            n
            for n, other in enumerate(shown)
            if other == columns and items[n] is not None
        ]
        if at:
            names = _columns(columns, sheet.places[at[0]])
            labels = [(str(items[n]), marks[n]) for n in at]
            places_of_labels = _found(labels, names, sheet, rows)
            found |= dict(zip(at, places_of_labels, strict=True))
    notes, problems = _told(found, items, marks, sheet, rows)
    # An id that the table does not have is told of where labels and verdicts are put together.
    left = items if rows.numbers is None else nothing
    item = [found[n].item or left[n] if n in found else None for n in range(len(cells))]
    # What the table says of its items, it says itself.
    doubled = {*others} - {"item", "rater", "label"}
    dropped = [name for name in cells if name in {MARK, SHOWN, WHEN, *doubled}]
    placed = cells.assign(item=item).drop(columns=dropped)
    last = ~placed.duplicated(["item", "rater"], keep="last") & placed["item"].notna()
    return sheet._replace(
        cells=placed[last].reset_index(drop=True),
        places=list(itertools.compress(sheet.places, last)),
        notes=(*sheet.notes, *notes),
        problems=(*sheet.problems, *problems),
    )


def _found(
    labels: Sequence[tuple[str, str | None]],
    names: Sequence[str],
    sheet: Frame,
    rows: _Rows,
) -> list[Place]:
    """Where labels are, each the id of an item and the digest of what columns of these names showed
    of it. Raises DataError where the rows are told apart by a column that is gone."""
    cells = rows.table.cells
    gone = [name for name in names if name not in cells]
    if gone and rows.numbers is not None:
        listed = ", ".join(str(name) for name in cells if name != ID)
        what = f"its labels are of texts in the column {brief(gone[0])}"
        way = (
            f"{rows.table.name} has none of that name: {listed}. Give it its name again"
        )
        raise DataError(f"{sheet.name}: {what}, and {way}.")
    marks: Sequence[str | None] = [None] * len(rows.ids)
    if names and not gone:
        marks = marks_of(cells, names)
    else:
        # Digests of something that cannot be seen tell nothing, so that the id alone counts.
        labels = [(item, None) for item, _ in labels]
    where = places(labels, rows.ids, marks, rows.numbers)
    return [where[label] for label in labels]


def _columns(typed: str | None, place: str) -> tuple[str, ...]:
    """The columns whose texts were shown, as a file of labels names them."""
    if typed is None:
        return ()
    try:
        names = json_value(typed)
    except Unreadable as error:
        raise DataError(
            f"{place}: `{SHOWN}` cannot be read: {error}. Leave it as it was written."
        ) from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{place}: `{SHOWN}` is {brief(typed)}, no list of columns. Leave it as it was written."
        )
    return tuple(names)


def columns_cell(names: Sequence[str]) -> str:
    """How a file of labels names the columns whose texts were shown."""
    return as_text(list(names))


def _told(
    found: Mapping[int, Place],
    items: Sequence[str | None],
    marks: Sequence[str | None],
    sheet: Frame,
    rows: _Rows,
) -> tuple[list[Finding], list[Finding]]:
    """What is to be noted of where labels were found, and what is wrong with it. Raises DataError
    where none has its text in a table whose rows are told apart by their texts."""
    facts: dict[str, Any] = {"file": sheet.name, "table": rows.table.name}

    def finding(key: str, which: Sequence[int]) -> list[Finding]:
        about = (
            {"n": len(which), "place": sheet.places[which[0]], "item": items[which[0]]}
            if which
            else {}
        )
        return [Finding(f"table.{key}", facts | about)] if which else []

    lost = [
        n
        for n, place in found.items()
        if place.item is None and rows.numbers is not None
    ]
    if lost and len(lost) == len(found):
        what = f"none of its {len(lost)} labels has its text in {rows.table.name}"
        way = (
            "Name the table that was labelled, or label this one: undogmatic label"
            f" {rows.table.name}"
        )
        raise DataError(
            f"{sheet.name}: {what} (the first is of {items[lost[0]]}). {way}"
        )
    changed = [n for n, place in found.items() if place.changed]
    moved = [n for n, place in found.items() if place.moved]
    unmarked = [
        n
        for n in found
        if marks[n] is None and rows.numbers is not None and n not in lost
    ]
    counted = first_row(str(items[n]) for n in unmarked)
    by_number = "labels_by_number" if counted == 1 else "labels_by_line"
    notes = [*finding("labels_moved", moved), *finding(by_number, unmarked)]
    return notes, [*finding("labels_lost", lost), *finding("labels_changed", changed)]
