"""The rows of tables of judgments, whatever their format, and what a cell of them says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from undogmatic.datasets.base import existing_file
from undogmatic.datasets.rows import csv_rows, have, json_lines, parquet_rows
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.outside import brief

SUFFIXES = (".jsonl", ".csv", ".parquet")
TRUE, FALSE = ("true", "yes", "1", "1.0"), ("false", "no", "0", "0.0", "", "none", "nan")
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
"""Columns, of which the first that a row has counts."""


class Row(NamedTuple):
    """A row: where it stands, the name of its file, and its cells by column."""

    place: str
    stem: str
    cells: Mapping[str, Any]

    def get(self, names: Sequence[str]) -> Any:
        return next((self.cells[name] for name in names if name in self.cells), None)

    def has(self, names: Sequence[str]) -> bool:
        return any(name in self.cells for name in names)


def table_files(paths: Sequence[str]) -> list[Path]:
    """The files of paths, of folders all that are tables. Raises ConfigError."""
    found: list[Path] = []
    for typed in paths:
        folder = Path(typed).expanduser()
        if folder.is_dir():
            inside = sorted(each for each in folder.iterdir() if each.suffix in SUFFIXES and each.is_file())
            if not inside:
                kinds = ", ".join(SUFFIXES)
                raise ConfigError(f"`dataset.path` is {typed!r}, a folder without a table ({kinds}). Name another.")
            found += inside
            continue
        file = existing_file(typed, "dataset.path", SUFFIXES)
        if file.suffix not in SUFFIXES:
            raise ConfigError(f"`dataset.path` is {typed!r}; known formats: {', '.join(SUFFIXES)}.")
        found.append(file)
    return found


def table_rows(path: Path) -> Iterator[Row]:
    """The rows of a table; an object in a cell is its fields, `retest.score`."""
    numbered = _csv(path) if path.suffix == ".csv" else json_lines(path)
    for number, row in parquet_rows(path, ()) if path.suffix == ".parquet" else numbered:
        cells: dict[str, Any] = {}
        for name, value in row.items():
            cells |= {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {name: value}
        yield Row(f"{path}:{number}", path.stem, cells)


def _csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv_rows(path, ",;\t")
    header = next(rows, None)
    if header is None:
        raise DataError(f"{path} is empty. Its first line must name the columns.")
    have(f"{path}:{header.first}", (), header.cells)
    for row in rows:
        if len(row.cells) > len(header.cells):
            raise DataError(f"{path}:{row.first}: more cells than the header has columns.")
        yield row.last, dict(zip(header.cells, row.cells, strict=False))


def empty(value: Any) -> bool:
    """Whether a cell says nothing."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value).strip() == ""


def as_number(value: Any) -> Any:
    """Files of text give numbers as text."""
    if isinstance(value, str) and "_" not in value:
        try:
            number = float(value)
        except ValueError:
            return value
        return number if math.isfinite(number) else value
    return value


def why_failed(row: Row, names: Sequence[str]) -> str | None:
    """Why none of the row's scores is one, if so. Raises DataError for what says neither yes nor no."""
    value = row.get(names)
    if empty(value) or str(value).strip().lower() in FALSE:
        return None
    column = next(name for name in names if name in row.cells)
    if str(value).strip().lower() not in TRUE:
        raise DataError(f"{row.place}: `{column}` is {brief(value)}; it must be true or false.")
    return f"the table says that the judge failed (`{column}` is {value})"


def repeat_of(row: Row, names: Sequence[str]) -> int:
    """The repeat that a row names; 0 where it names none. Raises DataError."""
    value = as_number(row.get(names))
    if empty(value):
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or not 0 <= value < 10_000:
        raise DataError(f"{row.place}: the repeat is {brief(value)}; it must be a whole number, 0 for the first.")
    return int(value)


def as_json(value: Any) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def as_detail(value: Any) -> float | str | None:
    """A cell as a detail of a judgment, a number or text; None for one that says nothing."""
    if empty(value):
        return None
    if isinstance(value, bool | list | dict):
        return as_json(value) if value != [] else None
    return value if isinstance(value, float) else float(value) if isinstance(value, int) else str(value)
