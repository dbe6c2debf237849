"""The files people fill in: CSV that a spreadsheet opens safely, and JSON Lines; both read back with line numbers."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.datasets.base import existing_file, json_lines
from undogmatic.errors import DataError

SUFFIXES = (".csv", ".jsonl")
_JOIN = " | "
# A spreadsheet runs a cell that begins so as a formula; the judged text is data.
_FORMULA = re.compile(r"[=+\-@\t\r\n']")
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


class Filled(NamedTuple):
    """One row as filled in.

    Attributes:
        place: Where it is, for messages: "queue.csv:7".
        cells: By column.
        origin: Where it is, as fields of a Label.
        comma: Whether decimals may be written with a comma.
        quoted: Whether a quote may stand before an item's id, as written to CSV.
    """

    place: str
    cells: Mapping[str, Any]
    origin: Mapping[str, Any]
    comma: bool = False
    quoted: bool = False


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows for a spreadsheet: UTF-8 with a mark, lists joined, and no cell that would run as a formula."""
    with path.open("x", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL)
        writer.writerow(columns)
        writer.writerows([[_cell(row[column]) for column in columns] for row in rows])


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line, UTF-8."""
    with path.open("x", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read(path: str, needed: Sequence[str]) -> tuple[Path, list[Filled]]:
    """The rows of a filled file.

    Args:
        path: CSV (comma, semicolon or tab) or JSON Lines.
        needed: Columns without which it cannot be read.
    Raises:
        ConfigError: No such file.
        DataError: Naming file and line.
    """
    file = existing_file(path, "LABELS", SUFFIXES)
    if file.suffix not in SUFFIXES:
        raise DataError(f"LABELS is {path!r}; known formats: {', '.join(SUFFIXES)}. Save the sheet as CSV (UTF-8).")
    table = file.suffix == ".csv"
    about = {"file": file.name, "file_hash": hashlib.sha256(file.read_bytes()).hexdigest()}
    rows = [
        Filled(f"{file}:{line}", cells, about | {"line": line}, comma, quoted=table)
        for line, cells, comma in (_csv_rows(file, needed) if table else _json_rows(file, needed))
    ]
    return file, rows


def item_of(row: Filled, known: Mapping[str, Any]) -> str:
    """The item id of a row as exported: an id that would have run as a formula has a quote before it in CSV."""
    cell = str(row.cells["item_id"])
    if not row.quoted or not cell.startswith("'"):
        return cell
    bare = cell[1:]
    return bare if row.cells.get("queue") and bare in known and _FORMULA.match(bare) else cell


def number(value: Any, comma: bool) -> float | None:
    """The finite number that a cell holds, or None. In a sheet with semicolons "72,5" is a number too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if comma and re.fullmatch(r"[+-]?\d+,\d+", text, re.ASCII):
        text = text.replace(",", ".")
    if _DECIMAL.fullmatch(text) is None or abs(float(text)) == float("inf"):
        return None
    return float(text)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        value = _JOIN.join(map(str, value))
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


_Line = tuple[int, Mapping[str, Any], bool]  # its number, its cells, whether decimals may be written with a comma


def _json_rows(path: Path, needed: Sequence[str]) -> Iterator[_Line]:
    for line, row in json_lines(path):
        for column in needed:
            if column not in row:
                raise DataError(f"{path}:{line}: the field `{column}` is missing; fields: {', '.join(row) or 'none'}.")
        yield line, row, False


def _csv_rows(path: Path, needed: Sequence[str]) -> Iterator[_Line]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start}). Save the sheet as CSV UTF-8.") from None
    header = text.splitlines()[0] if text.strip() else ""
    delimiter = max(",;\t", key=header.count)
    with _long_cells():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            columns = next(reader, [])
            for column in needed:
                if columns.count(column) != 1:
                    how = "no column" if column not in columns else "more than one column"
                    raise DataError(f"{path}:1: {how} `{column}`; columns: {', '.join(columns) or 'none'}.")
            begin = reader.line_num + 1
            for cells in reader:
                if len(cells) > len(columns):
                    raise DataError(f"{path}:{begin}: more cells than the header has columns.")
                if any(cells):
                    filled = dict(zip(columns, [*cells, *[""] * (len(columns) - len(cells))], strict=True))
                    yield begin, filled, delimiter == ";"
                begin = reader.line_num + 1
        except csv.Error as error:
            raise DataError(f"{path}:{reader.line_num}: not CSV ({error}).") from None


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """A judged text may be longer than the csv module's limit, which is the process's."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
