"""Reads the rows of data files (JSON Lines, CSV, Parquet), each with its line, and tells what a cell of them says."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from undogmatic.datasets.base import existing_file
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import as_number, as_text
from undogmatic.safety.outside import ROW_BYTES, Unreadable, brief, decoded, json_value, opened, read_lines, whole_lines

ROW_LINES = 100_000  # Line breaks in the cells of one CSV row; where there are more, a quote was left open
BATCH_BYTES = 50_000_000  # What a batch of Parquet rows may take in memory
UNPACKED = 100  # How many times its size a Parquet file of more than a gigabyte of texts may unpack to


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; blank lines are skipped. Raises DataError with file and
    line for a line that is no JSON object, or in which a key stands twice."""
    for number, raw in read_lines(path, ROW_BYTES):
        try:
            yield number, json_object(decoded(raw))
        except Unreadable as error:
            raise DataError(f"{path}:{number}: {str(error).rstrip('.')}. Every line must be one JSON object.") from None


def json_object(text: str, infinite: bool = False) -> dict[str, Any]:
    """The JSON object that a line is (`infinite`: NaN may be in it). Raises Unreadable, also where a key stands in it
    twice."""
    value = json_value(text, infinite=infinite)
    if not isinstance(value, dict):
        raise Unreadable(f"a JSON {type(value).__name__}; every line must be an object")
    json.loads(text, object_pairs_hook=_check_keys)
    return value


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise Unreadable(f"not JSON that can be used (the key {brief(twice[0])} stands in it a second time)")


class Line(NamedTuple):
    """A row of a CSV file, the lines in which it begins and ends, and what separates its cells."""

    first: int
    last: int
    cells: list[str]
    mark: str


def csv_rows(path: Path, marks: str = ",") -> Iterator[Line]:
    """The rows of a CSV file (UTF-8, cells with line breaks in double quotes, any line ends), its header among them,
    blank lines left out. Of the `marks` that may separate cells, the one that is most often in the first line does.
    Raises DataError with file and line."""
    first, size, begun = 1, 0, 1

    def texts(file: IO[bytes]) -> Iterator[str]:
        nonlocal size, begun
        for number, raw in whole_lines(path, file, ROW_BYTES):
            size, begun = size + len(raw), number if begun < 0 else begun
            if size > ROW_BYTES or number - begun > ROW_LINES:
                most = f"{ROW_BYTES:,} bytes or {ROW_LINES:,} lines"
                raise DataError(f"{path}:{first}: a row of more than {most}. Is a quote in it never closed?")
            try:
                text = decoded(raw)
            except Unreadable as error:
                raise DataError(f"{path}:{number}: {error}") from None
            # As the csv module wants it: a lone \r ends a line too.
            yield from io.StringIO(text, newline="") if "\r" in text.rstrip("\r\n") else (text,)

    with opened(path) as file:
        lines = texts(file)
        start = next(lines, "")
        mark = max(marks, key=start.count)
        reader = csv.reader(chain((start,), lines), delimiter=mark, strict=True)
        cells: list[str] | None = []
        while cells is not None:
            before = csv.field_size_limit(ROW_BYTES)  # of the process; texts are often longer than its usual limit
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise DataError(f"{path}:{first}: not CSV ({error}). Is a quote in this row never closed?") from None
            finally:
                csv.field_size_limit(before)
            if cells:
                yield Line(first, reader.line_num, cells, mark)
            first, size, begun = reader.line_num + 1, 0, -1


def parquet_rows(path: Path, needed: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers from 1; it must have the columns `needed`. Raises DataError naming
    the file, and the row where it can."""
    import pyarrow
    import pyarrow.parquet

    number = unpacked = 0
    with opened(path) as file:
        most = max(20 * BATCH_BYTES, UNPACKED * os.fstat(file.fileno()).st_size)
        try:
            limits = {"thrift_string_size_limit": ROW_BYTES, "thrift_container_size_limit": 1_000_000}
            about = pyarrow.parquet.ParquetFile(file, **limits).metadata
            # Texts stay in their dictionaries: a file of some hundred bytes may repeat one of five million in each row.
            leaves = [about.schema.column(n) for n in range(about.num_columns)]
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.path == leaf.name]
            table = pyarrow.parquet.ParquetFile(file, read_dictionary=texts, **limits)
            have(str(path), needed, table.schema_arrow.names)
            for batch in table.iter_batches(batch_size=_fitting(table.metadata)):
                if batch.nbytes > 4 * BATCH_BYTES:
                    raise DataError(f"{path}: rows {number + 1} and the next take more memory than a row may.")
                unpacked += batch.nbytes
                if unpacked > most:
                    much = f"more than {most:,} bytes, which is more than {UNPACKED} times its size"
                    way = "Write it without compression, or leave out what is not judged."
                    raise DataError(f"{path}: up to row {number + 1} it unpacks to {much}. {way}")
                columns = {name: _shared(batch.column(n)) for n, name in enumerate(batch.schema.names)}
                for n in range(batch.num_rows):
                    number += 1
                    yield number, {name: values[n] for name, values in columns.items()}
        except DataError:
            raise
        except (pyarrow.ArrowException, ArithmeticError, LookupError, MemoryError, OSError, TypeError, ValueError) as e:
            said = brief(str(e).splitlines()[0] if str(e) else type(e).__name__, 200).strip("'\"")
            where = f":{number + 1}" if number else ""
            raise DataError(f"{path}{where}: not a Parquet file that can be read ({said}).") from None


def _shared(array: Any) -> list[Any]:
    """The values of an Arrow array; rows with the same entry of a dictionary share one object."""
    from pyarrow import types

    if not types.is_dictionary(array.type):
        return list(array.to_pylist())
    used = array.indices.unique().drop_null()
    entries = dict(zip(used.to_pylist(), array.dictionary.take(used).to_pylist(), strict=True)) | {None: None}
    return [entries[place] for place in array.indices.to_pylist()]


def _fitting(about: Any) -> int:
    """How many rows are read at once: few where they are large, or could repeat a large value inside a structure."""
    groups = [about.row_group(n) for n in range(about.num_row_groups)]
    parts = [group.column(n) for group in groups for n in range(group.num_columns)]
    whole = max(1, sum(group.total_byte_size for group in groups))
    largest = max((part.total_uncompressed_size for part in parts if "." in part.path_in_schema), default=1)
    return max(1, min(1000, about.num_rows * BATCH_BYTES // whole, BATCH_BYTES // max(1, largest)))


def have(place: str, needed: Sequence[str], columns: Sequence[str]) -> None:
    """Raise DataError unless the columns are there, and none of them twice."""
    if twice := [name for name, count in Counter(columns).items() if count > 1 and name]:
        raise DataError(f"{place}: two columns are called {brief(twice[0])}; rename one of them.")
    if (missing := [name for name in needed if name not in columns]) and "inputs" not in columns:
        raise DataError(f"{place}: no column `{missing[0]}`; columns: {listed(columns)}.")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Some names for a message."""
    shown = [name if len(name) <= 40 and name.isprintable() else brief(name, 40) for name in names[:most]]
    return ", ".join(shown) + (f", ... ({len(names):,})" if len(names) > most else "")


SUFFIXES = (".jsonl", ".csv", ".parquet")
TRUE, FALSE = ("true", "yes", "1", "1.0"), ("false", "no", "0", "0.0", "", "none", "nan")
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda given: (given,) if isinstance(given, str) else given, json_schema_input_type=str | tuple[str, ...]
    ),
]
"""Columns, of which the first that a row has counts."""


def table_file(path: str, key: str, kinds: Sequence[str] = SUFFIXES) -> Path:
    """The table that a user names under a `key`. Raises ConfigError where there is none, or it is of another kind."""
    file = existing_file(path, key, kinds)
    if file.suffix not in kinds:
        raise ConfigError(f"`{key}` is {brief(path)}; known formats: {', '.join(kinds)}. Save a sheet as CSV, UTF-8.")
    return file


def table_rows(path: Path, needed: Sequence[str] = (), commas: bool = True) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table with their lines (of CSV those in which they end); its suffix, of SUFFIXES, tells the format.
    CSV and Parquet must have the columns `needed`. With `commas`, only they may separate the cells of CSV (spreadsheets
    take others where the comma is a decimal point), and empty cells that are not needed are left out. Raises DataError
    naming file and line."""
    if path.suffix != ".csv":
        yield from json_lines(path) if path.suffix == ".jsonl" else parquet_rows(path, needed)
        return
    rows = csv_rows(path, ",;\t")
    if (header := next(rows, None)) is None:
        among = f", among them `{needed[0]}`" if needed else ""
        raise DataError(f"{path} is empty. Its first line must name the columns{among}.")
    place, columns = f"{path}:{header.first}", header.cells
    if commas and header.mark != ",":
        name, lacks = "semicolons" if header.mark == ";" else "tabs", f"no column `{needed[0]}`; " if needed else ""
        seems = f"the file seems to be separated by {name} ({brief(header.mark.join(columns))})"
        way = "Save it as CSV separated by commas (in a spreadsheet: the field separator of the export), or as .jsonl."
        raise DataError(f"{place}: {lacks}{seems}. {way}")
    have(place, needed, columns)
    for row in rows:
        if len(row.cells) > len(columns):
            raise DataError(f"{path}:{row.first}: more cells than the header has columns.")
        cells = dict(zip(columns, row.cells, strict=False))
        yield row.last, {name: cell for name, cell in cells.items() if cell or not commas or name in needed}


class Row(NamedTuple):
    """A row of a table: where it stands, the name of its file, and its cells by column; an object in a cell is its
    fields, `retest.score`."""

    place: str
    stem: str
    cells: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path, line: int, row: Mapping[str, Any]) -> Row:
        """From what `table_rows` yields."""
        cells: dict[str, Any] = {}
        for name, value in row.items():
            cells |= {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {name: value}
        return cls(f"{path}:{line}", path.stem, cells)

    def get(self, names: Sequence[str]) -> Any:
        return next((self.cells[name] for name in names if name in self.cells), None)

    def has(self, names: Sequence[str]) -> bool:
        return any(name in self.cells for name in names)

    def failure(self, names: Sequence[str]) -> str | None:
        """Why none of the row's scores is one, if so. Raises DataError for what says neither yes nor no."""
        value = self.get(names)
        if empty(value) or str(value).strip().lower() in FALSE:
            return None
        column = next(name for name in names if name in self.cells)
        if str(value).strip().lower() not in TRUE:
            raise DataError(f"{self.place}: `{column}` is {brief(value)}; it must be true or false.")
        return f"the table says that the judge failed (`{column}` is {value})"

    def repeat(self, names: Sequence[str]) -> int:
        """The repeat that it names; 0 where it names none. Raises DataError."""
        value = as_number(self.get(names))
        if empty(value):
            return 0
        if type(value) not in (int, float) or not 0 <= value < 10_000 or value != int(value):
            raise DataError(f"{self.place}: the repeat is {brief(value)}; it must be a whole number, 0 for the first.")
        return int(value)

    def detail(self, names: Sequence[str]) -> float | str | None:
        """A cell as a detail of a judgment, a number or text; None for one that says nothing."""
        value = self.get(names)
        if empty(value) or value == []:
            return None
        if isinstance(value, bool | list | dict):
            return as_text(value)
        return float(value) if isinstance(value, int | float) else str(value)


def empty(value: Any) -> bool:
    """Whether a cell says nothing."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value).strip() == ""
