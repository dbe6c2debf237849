"""Any user's texts: JSON Lines, CSV or Parquet with the fields id, text and optionally condition, pair, label."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from undogmatic.datasets.base import existing_file, json_lines, make_item, unique
from undogmatic.errors import DataError
from undogmatic.records import Item

SUFFIXES = (".jsonl", ".csv", ".parquet")
_FIELDS = ("id", "text", "condition", "pair", "label")


class TextsDataset:
    """A file of texts. Columns beyond the five known ones are kept as metadata.

    Args:
        path: The file; its suffix tells the format. A row may leave out `id`: it then gets its line number.
        key: What the user set, for messages.
    """

    name = "texts"

    def __init__(self, path: str, key: str = "dataset.path") -> None:
        self.path = existing_file(path, key, SUFFIXES)
        self.about = self.path.name
        if self.path.suffix not in SUFFIXES:
            raise DataError(f"`{key}` is {path!r}; known formats: {', '.join(SUFFIXES)}.")

    def load(self) -> list[Item]:
        """The items in file order. Raises DataError naming file and line."""
        return unique(_items(self.path), str(self.path))


def _items(path: Path) -> Iterator[tuple[str, Item]]:
    for number, row in _rows(path):
        place = f"{path}:{number}"
        fields = {k: row[k] for k in _FIELDS if row.get(k) is not None}
        if "id" not in fields:
            fields["id"] = str(number)
        for key in ("id", "condition", "pair"):
            if isinstance(fields.get(key), int):
                fields[key] = str(fields[key])
        fields["metadata"] = {k: v for k, v in row.items() if k not in _FIELDS and v is not None}
        yield place, make_item(place, fields)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix == ".jsonl":
        yield from json_lines(path)
    elif path.suffix == ".csv":
        yield from _csv_rows(path)
    else:
        yield from _parquet_rows(path)


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            _commas(path, file.readline())
            file.seek(0)
            reader = csv.DictReader(file, strict=True)
            if reader.fieldnames is None:
                raise DataError(f"{path} is empty. Its first line must name the columns, among them `text`.")
            if "text" not in reader.fieldnames:
                raise DataError(f"{path}:1: no column `text`; columns: {', '.join(reader.fieldnames)}.")
            for row in reader:
                if None in row:
                    raise DataError(f"{path}:{reader.line_num}: more cells than the header has columns.")
                yield reader.line_num, {k: v for k, v in row.items() if v not in (None, "") or k == "text"}
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV ({error}).") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start}). Save the file as UTF-8.") from None


def _commas(path: Path, header: str) -> None:
    """Refuse a file whose columns something else separates, as spreadsheets do where the comma is a decimal point."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if mark in header and "," not in header:
            raise DataError(
                f"{path}:1: no column `text`; the file seems to be separated by {name} ({header.strip()!r}). Save it "
                "again as CSV separated by commas (in a spreadsheet: the field separator of the export), or as .jsonl."
            )


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a Parquet file ({error}).") from None
    if "text" not in table.column_names:
        raise DataError(f"{path}: no column `text`; columns: {', '.join(table.column_names)}.")
    for number, row in enumerate(table.to_pylist(), 1):
        yield number, {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
