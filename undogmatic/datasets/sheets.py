"""Reads a sheet of a workbook (XLSX, ODS, XLS) as cells under one line of column names.

What a formula came to is read, where the workbook holds it. A sheet with two tables, or with heads
in two lines, is refused with the range that settles it.
"""

from __future__ import annotations

import io
import math
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets import opendocument
from undogmatic.datasets.cells import fold, number_of
from undogmatic.datasets.doors import Door
from undogmatic.datasets.roles import SHEET
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Finding
from undogmatic.safety.extras import needs
from undogmatic.safety.outside import brief

KINDS = (".xlsx", ".ods", ".xls")
_ZIP, _OLE = b"PK\3\4", b"\xd0\xcf\x11\xe0"
MOST_CELLS = 5_000_000
"""Cells of a sheet that are read; of each sheet the empty ones before the last that a row fills
count, too."""
UNPACKED = 500_000_000
"""Bytes to which the parts of a workbook may unpack: some minutes of reading."""
_LINES = 1_048_576
"""Lines that a sheet may have in the programs that people use."""
Rows = dict[int, list[Any]]
"""The filled rows of a sheet by their places from 0, each up to its last filled cell; None is an
empty cell."""
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What the libraries raise for a damaged, locked or unknown workbook; a SyntaxError is one of its
XML."""
_RANGE = re.compile(r"(?:(.+)!)?\$?([A-Za-z]{1,3})\$?(\d+):\$?([A-Za-z]{1,3})\$?(\d+)")


class Sheet(NamedTuple):
    """The cells of a sheet by column name (None where one is empty), the line of each row, and what
    was assumed."""

    cells: pd.DataFrame
    lines: np.ndarray
    notes: list[Finding]


def is_workbook(head: bytes) -> bool:
    """Whether a file that begins so is a workbook."""
    return head.startswith((_ZIP, _OLE))


def read_sheet(
    path: Path, raw: bytes, where: str | None, door: Door, largest: int
) -> Sheet:
    """Read the first sheet with rows, or `where`: a sheet's name, a range (A1:C40) or both
    (NAME!A1:C40), which the `door` spells. Raises ConfigError for what is not there,
    DataError where it is not clear what to read.
    """
    books, notes = _sheets(path, raw, largest), list[Finding]()
    name, left, right, first, last = _place(where, [title for title, _ in books], door)
    full = [
        (title, rows)
        for title, rows in books
        if name in (None, title) and len(rows) > 1
    ]
    if not full:
        raise DataError(
            f"{path}: no sheet of the workbook holds rows below a line of column names."
        )
    title, rows = full[0]
    if others := [other for other, _ in full[1:]]:
        values = {
            "file": path.name,
            "sheet": title,
            "others": others,
            "n": len(others),
            "option": door.option(SHEET),
        }
        notes.append(Finding("table.sheet", values))
    grid = _grid(rows, (left, right), (first, last))
    # who names a range means all that is in it
    if where is None or not _RANGE.fullmatch(where):
        grid = _without_strays(grid, path, notes)
    grid = grid[grid.notna().any(axis=1).cummax()]
    if not len(grid):
        named = door.typed(SHEET, where or title)
        raise DataError(f"{path}: {named} holds no filled cell. Name another range.")
    head = _head(grid, path, notes)
    grid = grid.iloc[head:]
    _check_one_table(grid, path, title if len(books) > 1 else "", door)
    names = ["" if cell is None else str(cell).strip() for cell in grid.iloc[0]]
    body = grid.iloc[1:]
    body = body[body.notna().any(axis=1)]
    kept = [
        n for n, named in enumerate(names) if named or body.iloc[:, n].notna().any()
    ]
    lines = body.index.to_numpy(dtype=int) + 1
    places = [int(grid.columns[n]) for n in kept]
    body = body.iloc[:, kept]
    body.columns = pd.Index(
        [
            names[n] or f"column {place + 1}"
            for n, place in zip(kept, places, strict=True)
        ]
    )
    return Sheet(body.reset_index(drop=True), lines, notes)


def _grid(
    rows: Rows, columns: tuple[int, int | None], lines: tuple[int, int | None]
) -> pd.DataFrame:
    """The cells within some columns and lines, under their places in the sheet; of empty lines and
    columns that follow each other, however many, there is one."""
    left, right = columns
    within = {
        line: row[left:right]
        for line, row in rows.items()
        if lines[0] <= line < (lines[1] or _LINES)
    }
    within = {
        line: row
        for line, row in within.items()
        if any(cell is not None for cell in row)
    }
    filled = sorted(
        {
            left + n
            for row in within.values()
            for n, cell in enumerate(row)
            if cell is not None
        }
    )
    places, at = _with_gaps(filled, left), _with_gaps(sorted(within), lines[0])
    cells = (
        [_cell(within.get(line, ()), place - left) for place in places] for line in at
    )
    return pd.DataFrame(list(cells), index=at, columns=places, dtype=object)


def _with_gaps(places: Sequence[int], first: int) -> list[int]:
    """The places in order, and the one before each that does not follow another."""
    found = list[int]()
    for place in places:
        if place > (found[-1] + 1 if found else first):
            found.append(place - 1)
        found.append(place)
    return found


def _cell(row: Sequence[Any], place: int) -> Any:
    return row[place] if place < len(row) else None


def _without_strays(
    grid: pd.DataFrame, path: Path, notes: list[Finding]
) -> pd.DataFrame:
    """The grid without single cells that stand apart below an empty line or beside an empty column,
    at its ends: they are no table, but slips of the hand, or remarks."""
    strays = list[str]()
    for axis in (0, 1, 0):
        while len(grid):
            filled = grid.notna().to_numpy()
            empty = np.flatnonzero(~filled.any(axis=1 - axis))
            if (
                not len(empty)
                or empty[-1] == 0
                or not filled.take(range(empty[-1]), axis).any()
            ):
                break
            apart = filled.take(range(empty[-1] + 1, filled.shape[axis]), axis)
            if apart.sum() != 1:
                break
            row, column = (
                np.argwhere(filled)[-1]
                if axis == 0
                else np.argwhere(filled.T)[-1][::-1]
            )
            strays.append(
                f"{_letters(int(grid.columns[column]))}{int(grid.index[row]) + 1}"
            )
            grid = grid.iloc[: empty[-1]] if axis == 0 else grid.iloc[:, : empty[-1]]
    if strays:
        notes.append(
            Finding(
                "table.strays",
                {"file": path.name, "cells": strays[:8], "n": len(strays)},
            )
        )
    return grid


def _whole(cell: Any) -> Any:
    """A cell with a whole number as an integer: some programs hold every number as a float. None
    for an empty one."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return (
        None if cell == "" or (isinstance(cell, float) and math.isnan(cell)) else cell
    )


def _sheets(path: Path, raw: bytes, largest: int) -> list[tuple[str, Rows]]:
    """The sheets by name, each with its filled rows."""
    try:
        with warnings.catch_warnings():
            # what a library cannot keep of a workbook, such as a drop-down list
            warnings.simplefilter("ignore")
            if not raw.startswith(_ZIP):
                return _of_calamine(raw)
            with zipfile.ZipFile(io.BytesIO(raw)) as parts:
                if sum(part.file_size for part in parts.infolist()) > min(
                    largest, UNPACKED
                ):
                    what = f"the workbook unpacks to more than {min(largest, UNPACKED):,} bytes"
                    raise DataError(f"{path}: {what}. Save the sheet as CSV.")
                if opendocument.is_opendocument(parts):
                    content = io.BytesIO(parts.read(opendocument.PART))
                    return [
                        (title, _filled(rows))
                        for title, rows in opendocument.sheets_in(content)
                    ]
            return _of_openpyxl(raw)
    except _Much as error:
        raise DataError(f"{path}: {error}.") from None
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        way = "pip install 'undogmatic[sheets]', or save the sheet as CSV"
        raise ConfigError(
            f"{path}: reading a workbook needs {name}, which is not installed: {way}."
        ) from None
    except _DAMAGED as error:
        why = brief(
            str(error).splitlines()[0] if str(error) else type(error).__name__, 200
        ).strip("'\"")
        way = "It may be damaged: open it in a spreadsheet program, and save the sheet as CSV"
        raise DataError(
            f"{path}: not a workbook that can be read ({why}). {way}."
        ) from None


class _Much(Exception):
    """A sheet that is larger than what is read."""


def _filled(rows: Iterable[tuple[int, Sequence[Any]]]) -> Rows:
    """The rows that are filled, each up to its last filled cell, by their places from 0. Raises
    _Much."""
    found, cells = dict[int, list[Any]](), 0
    for place, row in rows:
        if place >= _LINES:
            raise ValueError(
                f"it has a cell beyond line {_LINES:,}, which no sheet has"
            )
        whole = [_whole(cell) for cell in row]
        while whole and whole[-1] is None:
            whole.pop()
        if whole:
            found[place] = whole
            cells += len(whole)
        if cells > MOST_CELLS:
            what = (
                f"up to line {place + 1:,} the sheet holds more than {MOST_CELLS:,} cells, the most"
                " that is read"
            )
            raise _Much(
                f"{what} of a workbook. Delete what is not needed, or save the sheet as CSV"
            )
    return found


def _of_openpyxl(raw: bytes) -> list[tuple[str, Rows]]:
    needs("openpyxl")
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    def sheets(values: bool) -> list[tuple[str, Rows]]:
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=values)
        found = []
        for sheet in book.worksheets:
            # or each row would be as wide as the farthest cell of the sheet is far
            sheet.reset_dimensions()
            found.append(
                (sheet.title, _filled(enumerate(sheet.iter_rows(values_only=True))))
            )
        book.close()
        return found

    try:
        # The library gives what was typed or what it came to, not both. Where a
        # workbook does not hold what a formula came to, the formula stays, and is told
        # as one: an empty cell would be a verdict that is missing.
        written = sheets(False)
        if not any(
            _is_formula(cell)
            for _, rows in written
            for row in rows.values()
            for cell in row
        ):
            return written
        known = dict(sheets(True))  # what formulas came to, where the workbook holds it
    except InvalidFileException as error:
        raise ValueError(str(error)) from None
    for title, rows in written:
        for line, row in rows.items():
            values = known[title].get(line, ())
            row[:] = [
                cell if _cell(values, n) is None else values[n]
                for n, cell in enumerate(row)
            ]
    return written


def _is_formula(cell: Any) -> bool:
    return isinstance(cell, str) and cell.startswith("=")


def _of_calamine(raw: bytes) -> list[tuple[str, Rows]]:
    needs("python_calamine")
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        sheets = ((name, book.get_sheet_by_name(name)) for name in book.sheet_names)
        return [
            (name, _filled(enumerate(sheet.to_python(skip_empty_area=False))))
            for name, sheet in sheets
        ]
    except python_calamine.CalamineError as error:
        raise ValueError(str(error)) from None


def _place(
    where: str | None, titles: Sequence[str], door: Door
) -> tuple[str | None, int, int | None, int, int | None]:
    """The sheet that is meant, and the first column and the end of the columns, and of the rows,
    counted from 0."""
    if where is None:
        return None, 0, None, 0, None
    found = None if where in titles else _RANGE.fullmatch(where)
    name = where if found is None else found[1]
    if name is not None and name not in titles:
        way = "Name one of them, a range (A1:C40), or both (NAME!A1:C40)"
        raise ConfigError(
            f"{door.option(SHEET)} is {brief(where)}, which is no sheet. Sheets:"
            f" {', '.join(titles)}. {way}."
        )
    if found is None:
        return name, 0, None, 0, None
    (left, right) = sorted(map(_column, found.group(2, 4)))
    (first, last) = sorted(map(int, found.group(3, 5)))
    return name, left, right + 1, max(first - 1, 0), last


def _column(letters: str) -> int:
    """The place of a column by its letters, counted from 0."""
    place = 0
    for letter in letters.upper():
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(
        ord("A") + place % 26
    )


def _head(grid: pd.DataFrame, path: Path, notes: list[Finding]) -> int:
    """The place of the row with the column names: below a title, which is one cell above a row of
    several."""
    filled = grid.notna().sum(axis=1).to_numpy()
    later = np.flatnonzero(filled[1:])
    if len(filled) > 1 and filled[0] == 1 and len(later) and filled[later[0] + 1] > 1:
        head = int(later[0]) + 1
        title, line = str(grid.iloc[0].dropna().iloc[0])[:40], int(grid.index[head]) + 1
        notes.append(
            Finding(
                "table.sheet_title", {"file": path.name, "title": title, "line": line}
            )
        )
        return head
    return 0


def _check_one_table(grid: pd.DataFrame, path: Path, title: str, door: Door) -> None:
    """Raise DataError where below or beside the first table there seems to be another, or its heads
    take two lines."""
    filled = grid.notna().to_numpy()
    sheet = f"{title}!" if title else ""

    def told(what: str, rows: tuple[int, int], columns: tuple[int, int]) -> DataError:
        (first, last) = (int(grid.index[n]) + 1 for n in rows)
        (left, right) = (int(grid.columns[n]) for n in columns)
        span = f"{sheet}{_letters(left)}{first}:{_letters(right)}{last}"
        way = door.typed(SHEET, span)
        return DataError(f"{path}: {what}. Name the range of one table: {way}.")

    columns = np.flatnonzero(filled.any(axis=0))
    left, right = int(columns[0]), int(columns[-1])
    bottom = int(np.flatnonzero(filled.any(axis=1))[-1])
    gaps = [n for n in range(left, right) if not filled[:, n].any()]
    if gaps:
        beside = filled[:, gaps[0] + 1 :].any(axis=1)
        ends = [
            int(np.flatnonzero(part)[-1])
            for part in (filled[:, : gaps[0]].any(axis=1), beside)
        ]
        if ends[0] != ends[1]:
            what = (
                f"beside an empty column there is another table, of {ends[1]} rows, while the first"
                f" has {ends[0]}"
            )
            raise told(what, (0, ends[0]), (left, gaps[0] - 1))
    empty = np.flatnonzero(~filled[: bottom + 1].any(axis=1))
    if len(empty):
        after = int(np.flatnonzero(filled[empty[0] :].any(axis=1))[0] + empty[0])
        above, below = filled[1 : empty[0]].any(axis=0), filled[after:].any(axis=0)
        names = {fold(str(cell)) for cell in grid.iloc[0].dropna()}
        again = {fold(str(cell)) for cell in grid.iloc[after].dropna()} & names
        if again or (below != above).any() or _is_text_above_numbers(grid, after):
            cells = ", ".join(
                brief(str(cell), 30) for cell in grid.iloc[after].dropna()[:4]
            )
            line = int(grid.index[after]) + 1
            what = (
                f"line {line}, below an empty line, seems to begin another table, or totals"
                f" ({cells})"
            )
            raise told(what, (0, int(empty[0]) - 1), (left, right))
    unnamed = [
        n for n in range(left, right + 1) if not filled[0, n] and filled[1:, n].any()
    ]
    second = grid.iloc[1] if len(grid) > 1 else None
    if second is not None and any(isinstance(second.iloc[n], str) for n in unnamed):
        lacking = (filled[0] & ~filled[1]).any()
        if lacking or any(
            _is_text_above_numbers(grid.iloc[:, [n]], 1) for n in unnamed
        ):
            heads = ", ".join(str(cell) for cell in grid.iloc[0].dropna()[:4])
            under = ", ".join(str(cell) for cell in second.dropna()[:4])
            what = (
                f"the column names seem to take two lines, as merged cells do ({heads}; below:"
                f" {under})"
            )
            way = "Give each column one name in one line, or leave the first line out"
            raise told(f"{what}. {way}", (1, bottom), (left, right))


def _is_text_above_numbers(grid: pd.DataFrame, row: int) -> bool:
    """Whether a row holds text where most cells of that column are numbers."""
    for n in range(grid.shape[1]):
        cell = grid.iloc[row, n]
        others = grid.iloc[1:, n].drop(grid.index[row], errors="ignore").dropna()
        numbers = sum(
            not isinstance(each, str) or number_of(each.strip()) is not None
            for each in others
        )
        if (
            isinstance(cell, str)
            and number_of(cell.strip()) is None
            and numbers > 0.7 * max(len(others), 1)
        ):
            return True
    return False
