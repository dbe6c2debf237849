"""The rows of a data file: JSON Lines, CSV, Parquet, one after another, each with its line."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from undogmatic.errors import DataError
from undogmatic.safety.outside import (
    ROW_BYTES,
    Unreadable,
    brief,
    countable,
    decoded,
    json_value,
    opened,
    read_lines,
    whole_lines,
)

ROW_LINES = 100_000
"""Line breaks in the cells of one CSV row; where there are more, a quote was left open."""
BATCH_BYTES = 50_000_000
"""What a batch of Parquet rows may take in memory."""
UNPACKED = 100
"""How many times its size a Parquet file of more than a gigabyte of texts may unpack to."""


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; blank lines are skipped. Raises DataError with file and
    line for a line that is no JSON object, or in which a key stands twice."""
    for number, raw in read_lines(path, ROW_BYTES):
        try:
            yield number, _json_object(raw)
        except Unreadable as error:
            raise DataError(f"{path}:{number}: {str(error).rstrip('.')}. Every line must be one JSON object.") from None


def _json_object(raw: bytes) -> dict[str, Any]:
    """The object on a line of a data file, in which no key stands twice. Raises Unreadable."""
    text = decoded(raw)
    countable(text)
    try:
        json.loads(text, object_pairs_hook=_once)
    except Unreadable:
        raise
    except (RecursionError, ValueError):
        pass  # said by json_value, which is the stricter one
    found = json_value(text)
    if not isinstance(found, dict):
        raise Unreadable(f"a JSON {type(found).__name__}; every line must be an object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise Unreadable(f"not JSON that can be used (the key {brief(twice)} stands in it a second time)")
    return found


class Row(NamedTuple):
    """A row of a CSV file, the lines in which it begins and ends, and what separates its cells."""

    first: int
    last: int
    cells: list[str]
    mark: str


def csv_rows(path: Path, marks: str = ",") -> Iterator[Row]:
    """The rows of a CSV file, its header among them, blank lines left out. Raises DataError with file and line.

    Args:
        path: The file: UTF-8, cells with line breaks in double quotes, whatever ends the lines.
        marks: What may separate cells; of several, the one that is most often in the first line.
    """
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
        try:
            while (cells := _next_row(reader)) is not None:
                if cells:
                    yield Row(first, reader.line_num, cells, mark)
                first, size, begun = reader.line_num + 1, 0, -1
        except csv.Error as error:
            raise DataError(f"{path}:{first}: not CSV ({error}). Is a quote in this row never closed?") from None


def _next_row(reader: Any) -> list[str] | None:
    before = csv.field_size_limit(ROW_BYTES)  # the process's; a text is often longer than the module's own limit
    try:
        row: list[str] | None = next(reader, None)
        return row
    finally:
        csv.field_size_limit(before)


def parquet_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers from 1. Raises DataError naming the file, and the row where it can.

    Args:
        path: The file.
        needed: Columns it must have.
    """
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
            names = table.schema_arrow.names
            have(str(path), needed, names)
            for batch in table.iter_batches(batch_size=_fitting(table.metadata)):
                if batch.nbytes > 4 * BATCH_BYTES:
                    raise DataError(f"{path}: rows {number + 1} and the next take more memory than a row may.")
                unpacked += batch.nbytes
                if unpacked > most:
                    raise DataError(
                        f"{path}: up to row {number + 1} it unpacks to more than {most:,} bytes, which is more than "
                        f"{UNPACKED} times its size. Write it without compression, or leave out what is not judged."
                    )
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
    whole = sum(group.total_byte_size for group in groups)
    parts = [group.column(n) for group in groups for n in range(group.num_columns)]
    repeated = [part.total_uncompressed_size for part in parts if "." in part.path_in_schema]
    return max(1, min(1000, about.num_rows * BATCH_BYTES // max(1, whole), BATCH_BYTES // max(1, *repeated, 1)))


def have(place: str, needed: Sequence[str], columns: Sequence[str]) -> None:
    """Raise DataError unless the columns are there, and none of them twice."""
    twice = [name for name, count in Counter(columns).items() if count > 1 and name]
    if twice:
        raise DataError(f"{place}: two columns are called {brief(twice[0])}; rename one of them.")
    missing = [name for name in needed if name not in columns]
    if missing and "inputs" not in columns:
        raise DataError(f"{place}: no column `{missing[0]}`; columns: {listed(columns)}.")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Some names for a message."""
    shown = [name if len(name) <= 40 and name.isprintable() else brief(name, 40) for name in names[:most]]
    return ", ".join(shown) + (f", ... ({len(names):,})" if len(names) > most else "")
