"""The files people fill in: CSV that a spreadsheet opens safely, and JSON Lines; both read back with line numbers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.datasets.rows import Line, csv_rows, json_lines, listed, table_file
from undogmatic.errors import DataError
from undogmatic.records.labels import Filled
from undogmatic.safety import files
from undogmatic.safety.outside import opened

SUFFIXES = (".csv", ".jsonl")
_JOIN = " | "
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows for a spreadsheet: UTF-8 with a mark, lists joined, and no cell that would run as a formula."""
    import pandas as pd

    def cell(value: Any) -> Any:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return _JOIN.join(map(str, value)) if isinstance(value, list | tuple) else value

    cells = [[cell(row[column]) for column in columns] for row in rows]
    files.write(path, "\ufeff" + files.csv(pd.DataFrame(cells, columns=list(columns), dtype=object)))


def read(path: str, needed: Sequence[str]) -> tuple[Path, list[Filled]]:
    """Read a filled file: CSV (comma, semicolon or tab) or JSON Lines with the columns `needed`. Raises ConfigError
    where there is no such file, DataError naming file and line."""
    file = table_file(path, "LABELS")
    table = file.suffix == ".csv"
    with opened(file) as content:
        about = {"file": file.name, "file_hash": hashlib.file_digest(content, "sha256").hexdigest()}
    rows = [
        Filled(f"{file}:{line}", cells, about | {"line": line}, comma, quoted=table)
        for line, cells, comma in (_csv_rows(file, needed) if table else _json_rows(file, needed))
    ]
    return file, rows


def item_of(row: Filled, known: Container[str]) -> str:
    """The item id of a row: in CSV one that would run as a formula was written with an apostrophe before it, which a
    spreadsheet keeps or removes."""
    cell = str(row.cells["item_id"])
    if not row.quoted:
        return cell
    written, bare = files.as_written(cell), cell.removeprefix("'")
    meant = (written, cell, bare) if row.cells.get("queue") else (cell, written)  # a sheet of ours, or of their own
    return next((one for one in meant if one in known), cell)


def number(value: Any, comma: bool) -> float | None:
    """The finite number that a cell holds, or None. In a sheet with semicolons "72,5" is a number too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if comma and re.fullmatch(r"[+-]?\d+,\d+", text, re.ASCII):
        text = text.replace(",", ".")
    return float(text) if _DECIMAL.fullmatch(text) is not None and abs(float(text)) != float("inf") else None


_Line = tuple[int, Mapping[str, Any], bool]  # its number, its cells, whether decimals may be written with a comma


def _json_rows(path: Path, needed: Sequence[str]) -> Iterator[_Line]:
    for line, row in json_lines(path):
        if missing := [column for column in needed if column not in row]:
            fields = listed(list(row)) or "none"
            raise DataError(f"{path}:{line}: the field `{missing[0]}` is missing; fields: {fields}.")
        yield line, row, False


def _csv_rows(path: Path, needed: Sequence[str]) -> Iterator[_Line]:
    rows = csv_rows(path, ",;\t")
    header = next(rows, Line(1, 1, [], ","))
    columns = header.cells
    for column in needed:
        if columns.count(column) != 1:
            how = "no column" if column not in columns else "more than one column"
            raise DataError(f"{path}:{header.first}: {how} `{column}`; columns: {listed(columns) or 'none'}.")
    for row in rows:
        if len(row.cells) > len(columns):
            raise DataError(f"{path}:{row.first}: more cells than the header has columns.")
        if any(row.cells):
            filled = dict(zip(columns, [*row.cells, *[""] * (len(columns) - len(row.cells))], strict=True))
            yield row.first, filled, row.mark == ";"
