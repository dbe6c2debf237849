"""Reads the rows of data files (CSV, workbooks, JSON, Parquet), each with its line, and tells what
a cell says."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from undogmatic.datasets import headers, shapes, sheets
from undogmatic.datasets.cells import number_of
from undogmatic.datasets.doors import RUN, Door
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Finding
from undogmatic.safety import outside
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import (
    ROW_BYTES,
    TWICE,
    Unreadable,
    brief,
    decoded,
    doubled_key,
    json_object,
    json_value,
    json_with_doubled,
    listed,
    opened,
    read_bytes,
    whole_entries,
)
from undogmatic.safety.spool import again, gathered, mapped

# Bytes of a file that is read at once, and what a workbook may unpack to
LARGEST = 1_000_000_000
# What separates the cells of CSV
MARKS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "bars",
}

# Line breaks in the cells of one CSV row; where there are more, a quote was left open
ROW_LINES = 100_000
BATCH_BYTES = 50_000_000  # What a batch of Parquet rows may take in memory
# by how a file begins
PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# Each is looked at for what it may hold, and compared with the answers
MOST_COLUMNS = 2_000
# Cells of a table in memory, empty ones among them: about a gigabyte of places
MOST_CELLS = 100_000_000
NAMED = 20  # Rows that could not be read are named one by one up to so many
# Rows below the names of the columns that tell whether some of these stand there, too
HEAD = 30
# How many times its size a Parquet file of more than a gigabyte of texts may unpack to
UNPACKED = 100


def note_unread(
    problems: list[Finding], key: str, rows: int = 1, **values: Any
) -> None:
    """Add to the problems that so many rows could not be read; of very many faults the first are
    named, and the others counted."""
    # A file of a million damaged rows must not make a report of a million lines.
    if sum("rows" in problem.values for problem in problems[: NAMED + 2]) < NAMED:
        problems.append(Finding(key, {**values, "rows": rows}))
    elif problems[-1].key == "table.more_unread":
        problems[-1] = Finding(
            "table.more_unread", {"rows": problems[-1].values["rows"] + rows}
        )
    else:
        problems.append(Finding("table.more_unread", {"rows": rows}))


def unread_rows(problems: Iterable[Finding]) -> int:
    """How many rows could not be read, by the problems that say so."""
    return sum(int(problem.values.get("rows", 0)) for problem in problems)


class Line(NamedTuple):
    """A row of a CSV file, the lines in which it begins and ends, and what separates its cells."""

    first: int
    last: int
    cells: list[str]
    mark: str


def encoding_of(path: Path) -> str:
    """The encoding of a file of text: UTF-8, UTF-16, or else Windows-1252, in which spreadsheets
    write. Raises DataError where it cannot be opened."""
    with opened(path) as file:
        head = file.read(1000)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\0" in head[:2]:
            return "utf-16-be" if head[0] == 0 else "utf-16-le"
        decoder = codecs.getincrementaldecoder("utf-8")()
        beyond_ascii = False
        try:
            for part in chain((head,), iter(lambda: file.read(1_000_000), b"")):
                beyond_ascii |= not decoder.decode(part).isascii()
            # A file of UTF-8 that breaks off within a character is still one.
            decoder.decode(b"", final=not beyond_ascii)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _ends_within_line(path: Path) -> bool:
    """Whether a file does not end with the end of a line."""
    with opened(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4))
        return file.read().rstrip(b"\0")[-1:] not in (b"\n", b"\r")


def separator(path: Path, lines: Sequence[str], marks: Iterable[str]) -> str:
    """Which of the marks separates the cells of CSV: the one that a first line `sep=;` names, as
    spreadsheets write it, or else the one that gives most lines as many cells as the first. Raises
    DataError where two fit equally well.
    """
    # What the file says of itself wins.
    top = lines[0].rstrip("\r\n") if lines else ""
    if len(top) == 5 and top.lower().startswith("sep=") and top[4] in marks:
        return top[4]

    def fits(mark: str) -> tuple[bool, bool, float, int]:
        widths, whole = list[int](), True
        try:
            widths += (
                len(row)
                for row in csv.reader(lines, delimiter=mark, strict=True)
                if row
            )
        except csv.Error as error:  # at the end of the lines a quote may be open
            whole = "expected after" not in str(error)
        first = widths[0] if widths else 0
        return (
            first > 1,
            whole,
            sum(width == first for width in widths) / max(1, len(widths)),
            first,
        )

    before = csv.field_size_limit(ROW_BYTES)
    try:
        fitting = {mark: fits(mark) for mark in marks}
        best = max(fitting, key=lambda mark: fitting[mark])
        # "1,5;2,5" is two numbers or three: read by the wrong sign, every grade is
        # another one.
        alike = [mark for mark, fit in fitting.items() if fit[:3] == fitting[best][:3]]
        if len(alike) < 2 or not fitting[best][0]:
            return best
        ways = "; ".join(
            f"{MARKS[m]} give {listed([*map(brief, next(csv.reader(lines, delimiter=m)))], 4)}"
            for m in alike
        )
        lead = " or ".join(f"sep={mark}" for mark in alike).replace("\t", "TAB")
        what = f"two signs could separate its cells equally well ({ways})"
        raise DataError(
            f"{path}: {what}. Say which it is in a line of its own above the first: {lead}."
        )
    finally:
        csv.field_size_limit(before)


def _text_lines(
    path: Path, file: IO[bytes], encoding: str
) -> Iterator[tuple[int, str]]:
    """The lines of an open file of text with their numbers and ends. Raises DataError."""
    if encoding.startswith("utf-16"):
        whole = io.TextIOWrapper(file, encoding, newline="")
        try:
            yield from enumerate(whole, 1)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: not UTF-16 ({error.reason}). Save the file as UTF-8."
            ) from None
        finally:
            whole.detach()
        return
    decoder = codecs.getincrementaldecoder(
        encoding
    )()  # which leaves out half a character at the end of the file
    for number, raw in outside.whole_lines(path, file, ROW_BYTES):
        try:
            text = decoder.decode(raw)
            if "\0" in text:
                decoded(text.encode())
            yield number, text
        except Unreadable as error:
            raise DataError(f"{path}:{number}: {error}") from None
        except UnicodeDecodeError as error:
            what = f"neither UTF-8 nor Windows-1252 ({error.reason})"
            raise DataError(
                f"{path}:{number}: {what}. Save the file as UTF-8."
            ) from None


def csv_rows(
    path: Path,
    marks: Iterable[str] = ",",
    problems: list[Finding] | None = None,
    above: list[headers.Above] | None = None,
) -> Iterator[Line]:
    """The rows of a CSV file (cells with line breaks in double quotes, any line ends), its header
    among them, blank lines left out; see `encoding_of` and `separator`. A row that cannot be read
    is one of the `problems`, or, without a list of these, raises DataError with file and line. What
    stands above the header (comments, a title) is left out where `above` takes it."""
    first, size, begun = 1, 0, 1
    encoding = encoding_of(path)

    def texts(file: IO[bytes]) -> Iterator[str]:
        nonlocal size, begun
        for number, text in _text_lines(path, file, encoding):
            size, begun = size + len(text), number if begun < 0 else begun
            # A quote that is never closed makes one row of the rest of the file.
            if size > ROW_BYTES or number - begun > ROW_LINES:
                most = f"{ROW_BYTES:,} bytes or {ROW_LINES:,} lines"
                raise DataError(
                    f"{path}:{first}: a row of more than {most}. Is a quote in it never closed?"
                )
            # As the csv module wants it: a lone \r ends a line too.
            yield from (
                io.StringIO(text, newline="")
                if "\r" in text.rstrip("\r\n")
                else (text,)
            )

    with opened(path) as file:
        lines = texts(file)
        start = []
        for line in lines:
            start.append(line)
            if len(start) == 50 or size > 1_000_000:
                break
        skipped = 0
        if above is not None:
            found = headers.above(start, marks)
            above.append(found)
            skipped = found.lines
            first += skipped
            start = start[skipped:]
            if found.commented:
                start[0] = headers.uncommented(start[0])
        mark = separator(path, start, marks)
        size, begun = 0, 1
        n_rows = n_lines = 0  # that were read
        reader = csv.reader(chain(start, lines), delimiter=mark, strict=True)
        cells: list[str] | None = []
        while cells is not None:
            # of the process; texts are often longer than its usual limit
            before = csv.field_size_limit(ROW_BYTES)
            try:
                cells = next(reader, None)
            except csv.Error as error:
                if problems is None:
                    what = f"not CSV ({error}). Is a quote in this row never closed?"
                    raise DataError(f"{path}:{first}: {what}") from None
                # How many rows the quote swallowed is not known: about as many as so many lines
                # hold elsewhere.
                # Counted among the rows that could not be read, so that the bounds of
                # every answer allow for them.
                swallowed = max(
                    1,
                    round(
                        (skipped + reader.line_num - first + 1)
                        * (n_rows + 1)
                        / (n_lines + 1)
                    ),
                )
                note_unread(
                    problems,
                    "table.open_quote",
                    swallowed,
                    place=f"{path}:{first}",
                    n=swallowed,
                )
                cells = []
            finally:
                csv.field_size_limit(before)
            if cells:
                last = skipped + reader.line_num
                n_rows, n_lines = n_rows + 1, n_lines + last - first + 1
                yield Line(first, last, cells, mark)
            first, size, begun = skipped + reader.line_num + 1, 0, -1


def parquet_rows(
    path: Path, needed: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers from 1; it must have the columns `needed`.
    Raises DataError naming the file, and the row where it can."""
    import pyarrow
    import pyarrow.parquet

    number = unpacked = 0
    with opened(path) as file:
        # A small file may unpack to any size; what an honest one needs is known from
        # its own.
        most = max(20 * BATCH_BYTES, UNPACKED * os.fstat(file.fileno()).st_size)
        try:
            limits = {
                "thrift_string_size_limit": ROW_BYTES,
                "thrift_container_size_limit": 1_000_000,
            }
            about = pyarrow.parquet.ParquetFile(file, **limits).metadata
            # Texts stay in their dictionaries: a file of some hundred bytes may repeat one of five
            # million in each row.
            leaves = [about.schema.column(n) for n in range(about.num_columns)]
            texts = [
                leaf.path
                for leaf in leaves
                if leaf.physical_type == "BYTE_ARRAY" and leaf.path == leaf.name
            ]
            table = pyarrow.parquet.ParquetFile(file, read_dictionary=texts, **limits)
            have(str(path), needed, table.schema_arrow.names)
            for batch in table.iter_batches(batch_size=_fitting(table.metadata)):
                if batch.nbytes > 4 * BATCH_BYTES:
                    raise DataError(
                        f"{path}: rows {number + 1} and the next take more memory than a row may."
                    )
                unpacked += batch.nbytes
                if unpacked > most:
                    much = f"more than {most:,} bytes, which is more than {UNPACKED} times its size"
                    way = (
                        "Write it without compression, or leave out what is not judged."
                    )
                    raise DataError(
                        f"{path}: up to row {number + 1} it unpacks to {much}. {way}"
                    )
                columns = {
                    name: _shared(batch.column(n))
                    for n, name in enumerate(batch.schema.names)
                }
                for n in range(batch.num_rows):
                    number += 1
                    yield number, {name: values[n] for name, values in columns.items()}
        except DataError:
            raise
        except (
            pyarrow.ArrowException,
            ArithmeticError,
            LookupError,
            MemoryError,
            OSError,
            TypeError,
            ValueError,
        ) as e:
            said = brief(
                str(e).splitlines()[0] if str(e) else type(e).__name__, 200
            ).strip("'\"")
            where = f":{number + 1}" if number else ""
            raise DataError(
                f"{path}{where}: not a Parquet file that can be read ({said})."
            ) from None


def _shared(array: Any) -> list[Any]:
    """The values of an Arrow array; rows with the same entry of a dictionary share one object."""
    from pyarrow import types

    if not types.is_dictionary(array.type):
        return list(map(_text, array.to_pylist()))
    used = array.indices.unique().drop_null()
    values = map(_text, array.dictionary.take(used).to_pylist())
    entries = dict(zip(used.to_pylist(), values, strict=True)) | {None: None}
    return [entries[place] for place in array.indices.to_pylist()]


def _text(value: Any) -> Any:
    """A value, with bytes read as text: some writers do not say that a column of theirs holds
    UTF-8. Bytes that are no such text stay bytes."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def _fitting(about: Any) -> int:
    """How many rows are read at once: few where they are large, or could repeat a large value
    inside a structure."""
    groups = [about.row_group(n) for n in range(about.num_row_groups)]
    parts = [group.column(n) for group in groups for n in range(group.num_columns)]
    whole = max(1, sum(group.total_byte_size for group in groups))
    largest = max(
        (part.total_uncompressed_size for part in parts if "." in part.path_in_schema),
        default=1,
    )
    return max(
        1,
        min(
            1000, about.num_rows * BATCH_BYTES // whole, BATCH_BYTES // max(1, largest)
        ),
    )


def check_size(place: str, columns: int, rows: int = 1) -> None:
    """Raise DataError for a table with more columns or cells than can be looked at."""
    if columns > MOST_COLUMNS:
        way = (
            "Leave out those that are not needed; of many judges or people write a row for each"
            " verdict or label"
        )
        raise DataError(
            f"{place}: {columns:,} columns, and at most {MOST_COLUMNS:,} are read. {way}."
        )
    if columns * rows > MOST_CELLS:
        what = (
            f"{rows:,} rows with {columns:,} columns are more than {MOST_CELLS:,} cells, the most"
            " that is read"
        )
        raise DataError(
            f"{place}: {what}. Leave out the columns that are not needed, or check the file in"
            " parts."
        )


def have(place: str, needed: Sequence[str], columns: Sequence[str]) -> None:
    """Raise DataError unless the columns are there, none of them twice, and not too many."""
    check_size(place, len(columns))
    if twice := [
        name for name, count in Counter(columns).items() if count > 1 and name
    ]:
        if number_of(twice[0]) is not None:
            what = (
                f"the first line seems to be a row (it holds {twice[0]} twice), and it must name"
                " the columns"
            )
            raise DataError(f"{place}: {what}. Put a line such as text,label above it.")
        raise DataError(
            f"{place}: two columns are called {brief(twice[0])}; rename one of them."
        )
    if (
        missing := [name for name in needed if name not in columns]
    ) and "inputs" not in columns:
        raise DataError(
            f"{place}: no column `{missing[0]}`; columns: {listed(columns)}."
        )


SUFFIXES = (".csv", ".tsv", *sheets.KINDS, ".jsonl", ".json", ".parquet")
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda given: (given,) if isinstance(given, str) else given,
        json_schema_input_type=str | tuple[str, ...],
    ),
]
"""Columns, of which the first that a row has counts."""


def table_file(path: str, key: str) -> Path:
    """The table that a user names under a `key`. Raises ConfigError where there is none, or it is
    of another kind."""
    file = existing_file(path, key, SUFFIXES)
    if file.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"`{key}` is {brief(path)}; known formats: {', '.join(SUFFIXES)}."
        )
    return file


def tables_in(path: str) -> list[Path]:
    """The tables in a folder, in the order of their names; none where it is no folder."""
    return [
        file
        for file in _inside(path)
        if file.suffix.lower() in SUFFIXES and file.is_file()
    ]


def beside_tables(path: str) -> list[Path]:
    """What else lies in the folder of tables, in the order of its names. Raises ConfigError where
    its name tells that it is, or was to be, one of them: packed, half written or set aside."""
    others = [
        other
        for other in _inside(path)
        if other.suffix.lower() not in SUFFIXES or not other.is_file()
    ]
    for other in others:
        if Path(other.stem).suffix.lower() in SUFFIXES or other.name.rstrip(
            "~"
        ).lower().endswith(SUFFIXES):
            what = (
                f"{brief(path)} holds {brief(other.name)}, by its name a table that is packed,"
                " unfinished or set aside"
            )
            way = "Unpack it, let it be finished, or move it out of the folder"
            raise ConfigError(f"{what}; its rows would be missing. {way}.")
    return others


def _inside(path: str) -> list[Path]:
    """What a folder holds, in the order of the names, but for what is hidden or marked as being no
    data."""
    try:
        folder = Path(path).expanduser()
        return (
            sorted(each for each in folder.iterdir() if each.name[:1] not in "._")
            if folder.is_dir()
            else []
        )
    except (OSError, RuntimeError, ValueError):  # said by table_file
        return []


def table_rows(
    path: Path,
    needed: Sequence[str] = (),
    filled: bool = True,
    sheet: str | None = None,
    notes: list[Finding] | None = None,
    problems: list[Finding] | None = None,
    door: Door = RUN,
    cut: dict[int, bool] | None = None,
) -> Sequence[tuple[int, dict[str, Any]]]:
    """Read the rows of a table, each with the line in which it begins; of a workbook those of a
    `sheet` or a range.

    Args:
        path: CSV, a workbook, JSON, JSON Lines or Parquet; its first bytes tell which where they
            can, else its suffix.
        needed: Columns that CSV, Parquet and workbooks must have.
        filled: Leave out the empty cells of CSV and workbooks, unless they are needed.
        notes: Takes what was assumed.
        problems: Takes what is wrong with single rows, which are then left out; None: the first
            raises DataError.
        door: Spells how another sheet is named.
        cut: Takes the lines of rows in CSV that end before the last column, and whether each stands
            below an empty line or begins with #, as remarks do. A writer may leave out the commas
            behind the last filled cell, or may have been stopped there: what the row should hold
            tells.
    Raises:
        DataError: With file and line. ConfigError: The file is of no known format.
    """
    notes = [] if notes is None else notes
    with opened(path) as file:
        head = file.read(1000)
    suffix = path.suffix.lower()
    if head.startswith(b"PAR1") or suffix == ".parquet":
        return again(lambda: parquet_rows(path, needed))
    if sheets.is_workbook(head):
        found = sheets.read_sheet(path, read_bytes(path, LARGEST), sheet, door, LARGEST)
        notes += found.notes
        have(str(path), needed, list(found.cells.columns))
        named = (
            {str(k): v for k, v in row.items()}
            for row in found.cells.to_dict("records")
        )
        kept = (
            {k: v for k, v in row.items() if v is not None or not filled}
            for row in named
        )
        return list(zip(map(int, found.lines), kept, strict=True))
    if packed := next(
        (kind for mark, kind in PACKED.items() if head.startswith(mark)), None
    ):
        raise DataError(
            f"{path} is packed ({packed}), and is read only when it is not. Unpack it."
        )
    if (encoding := encoding_of(path)) != "utf-8":
        shown = "Windows-1252" if encoding == "cp1252" else "UTF-16"
        notes.append(Finding("table.encoding", {"file": path.name, "encoding": shown}))
    begins = head.decode(encoding, "ignore").lstrip("\ufeff \t\r\n")
    if begins[:1] == "[" or (suffix == ".json" and not _is_lines(begins)):
        return gathered(_of_json(path, encoding, problems, notes), list, tuple)
    if begins[:1] == "{" and suffix not in (".csv", ".tsv"):
        rows = gathered(_of_json_lines(path, encoding, problems), list, tuple)
        # What is judged may be a list, such as the messages of a conversation: of a file that holds
        # verdicts alone the lists inside of rows are opened.
        return rows if problems is None else shapes.opened(rows, path.name, notes)
    if (no_table := _no_table(begins)) is not None:
        raise DataError(f"{path} {no_table}.")
    if suffix in (".csv", ".tsv", ".txt", ".tab", ""):
        return _of_csv(path, needed, filled, notes, problems, cut)
    if suffix in (".jsonl", ".json") and not begins:
        return []
    if suffix in SUFFIXES:
        what = (
            f"begins with {brief(begins.split(chr(10), 1)[0], 60)}"
            if begins
            else "is empty"
        )
        way = (
            "Every line must be one JSON object"
            if suffix == ".jsonl"
            else f"Save it again as {suffix}, or as CSV"
        )
        raise DataError(
            f"{path} is no {suffix} file that can be read: it {what}. {way}."
        )
    raise ConfigError(
        f"{brief(str(path))} is of no known format. Known formats: {', '.join(SUFFIXES)}."
    )


def _no_table(begins: str) -> str | None:
    """What a file is that was saved in place of a table; None for any other."""
    start = begins[:200].lower()
    if start.startswith(("<!doctype html", "<html")):
        return "is a web page, not a table. Download the file itself, e.g. by its link `raw`"
    if start.startswith("version https://git-lfs"):
        return "is a pointer of Git LFS, not the table. Fetch the table itself: git lfs pull"
    return None


def _is_lines(begins: str) -> bool:
    """Whether what begins so is an object on each line, not one over several."""
    first, mark, later = begins.partition("\n")
    try:
        return isinstance(json_value(first, infinite=True), dict) and bool(
            mark and later.strip()
        )
    except Unreadable:
        return False


def _of_json(
    path: Path, encoding: str, problems: list[Finding] | None, notes: list[Finding]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a JSON file; of one that breaks off those before the last. Several values behind
    one another, as where files were put together, are read as if each were a file."""
    with opened(path) as file:
        text = "".join(line for _, line in _text_lines(path, file, encoding))
    noted = problems is not None
    half: Unreadable | None = None
    try:
        json_value(text, infinite=noted)
        value = json_with_doubled(text)
    except Unreadable as error:
        if (several := _values_of(text)) is not None:
            facts = {"file": path.name, "n": len(several)}
            notes.append(Finding("table.concatenated", facts))
            parts = [shapes.rows_of(one, str(path), notes) for one in several]
            # Objects behind one another are a row each.
            yield from _checked(
                list(enumerate([row for part in parts for row in part], 1)),
                path,
                problems,
            )
            return
        half, value = error, None
        if noted:
            with contextlib.suppress(Unreadable):
                value = json_value(text, infinite=True, partial=True)
        if problems is None or value is None:
            raise DataError(f"{error.at(str(path)).rstrip('.')}.") from None
        value = whole_entries(text) if isinstance(value, list) else value
    rows = list(enumerate(shapes.rows_of(value, str(path), notes), 1))
    if half is not None and problems is not None:
        if not isinstance(value, list):
            rows = rows[:-1]  # the row in which the file breaks off
        note_unread(problems, "table.half_file", place=half.at(str(path)).rstrip("."))
    yield from _checked(rows, path, problems)


def _values_of(text: str) -> list[Any] | None:
    """The values of JSON that stand one behind the other, two at least; None where that is not all
    that the text is."""
    found, place = list[Any](), 0
    while place < len(text):
        if text[place].isspace() or text[place] in ",\ufeff":
            place += 1
            continue
        if text[place] not in "[{":
            return None
        try:
            _, end = json.JSONDecoder().raw_decode(text, place)
            json_value(text[place:end], infinite=True)
            found.append(json_with_doubled(text[place:end]))
        except (RecursionError, Unreadable, ValueError):
            return None
        place = end
    return found if len(found) > 1 else None


def _checked(
    rows: list[tuple[int, Any]], path: Path, problems: list[Finding] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows that are objects in which no key stands twice."""
    for number, row in rows:
        if not isinstance(row, dict):
            why = f"its entry {number} is no object with named fields"
        elif (twice := doubled_key(row)) is not None:
            why = f"in its entry {number} {TWICE.format(brief(twice)).replace(' in it', '')}"
        else:
            yield number, row
            continue
        if problems is None:
            raise DataError(f"{path}: {why}.")
        note_unread(problems, "table.bad_entry", place=path, why=why)


def _of_json_lines(
    path: Path, encoding: str, problems: list[Finding] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    with opened(path) as file:
        lines = gathered(
            (pair for pair in _text_lines(path, file, encoding) if pair[1].strip()),
            list,
            tuple,
        )
    for number, line in lines:
        try:
            yield (
                number,
                json_object(line.rstrip("\r\n"), infinite=problems is not None),
            )
        except Unreadable as error:
            why = str(error).rstrip(".")
            if problems is None:
                raise DataError(
                    f"{path}:{number}: {why}. Every line must be one JSON object."
                ) from None
            key = "table.half_line" if number == lines[-1][0] else "table.bad_line"
            note_unread(problems, key, place=f"{path}:{number}", why=why)


def _lines(cell: str) -> io.StringIO:
    """A cell as lines, none of which has a line break within, as `csv.reader` demands."""
    return io.StringIO(cell, newline="")


def _same_mark(place: str, cell: str, mark: str, width: int) -> None:
    """Raise DataError where the only cell of a row has as many parts as the header has columns, by
    another separator than the header's."""
    for other, name in MARKS.items():
        if other == mark:
            continue
        parts = next(csv.reader(_lines(cell), delimiter=other), ())
        if len(parts) == width:
            what = f"{place}: this row is separated by {name}, and the first line by {MARKS[mark]}"
            raise DataError(f"{what}. Separate all cells of the file by one of them.")


def _of_csv(
    path: Path,
    needed: Sequence[str],
    filled: bool,
    notes: list[Finding],
    problems: list[Finding] | None,
    cut: dict[int, bool] | None,
) -> Sequence[tuple[int, dict[str, Any]]]:
    above = list[headers.Above]()
    lines: Iterator[Line] = (
        row
        for row in csv_rows(path, MARKS, problems, above)
        if any(cell.strip() for cell in row.cells)
    )
    header = next(lines, None)
    # a spreadsheet's own line
    if header is not None and header.cells[0].lower().startswith("sep="):
        header = next(lines, None)
    if header is None:
        among = f", among them `{needed[0]}`" if needed else ""
        raise DataError(
            f"{path} is empty. Its first line must name the columns{among}."
        )
    written = header.cells
    header, following = _whole_header(header, lines, path, above[0], notes)
    width, mark = len(header.cells), header.mark
    have(f"{path}:{header.first}", needed, [name.strip() for name in header.cells])
    # without cells, too, they are no columns
    unnamed = {n for n, name in enumerate(header.cells) if not name.strip()}
    repeated, half = list[int](), _ends_within_line(path)

    def kept() -> Iterator[tuple[int, list[str]]]:
        below, short = header.last, 0
        for row, later in pairwise(chain(following, (None,))):
            assert row is not None, "nothing comes behind the end"
            apart = row.first > below + 1 or row.cells[0].startswith("#")
            below = row.last
            if any(row.cells[width:]):
                if problems is None:
                    raise DataError(
                        f"{path}:{row.first}: more cells than the header has columns."
                    )
                cells = len(row.cells)
                note_unread(
                    problems,
                    "table.long_row",
                    place=f"{path}:{row.first}",
                    cells=cells,
                    columns=width,
                )
                continue
            if row.cells == written:  # files were put one behind the other
                repeated.append(row.first)
                continue
            if len(row.cells) == 1 < width:
                _same_mark(f"{path}:{row.first}", row.cells[0], mark, width)
            if len(row.cells) < width and half and later is None and not short:
                what = (
                    f"the last line breaks off: it has {len(row.cells)} cells, and the header"
                    f" {width} columns"
                )
                if problems is None:
                    raise DataError(
                        f"{path}:{row.first}: {what}. Complete the line, or delete it."
                    )
                note_unread(
                    problems, "table.half_line", place=f"{path}:{row.first}", why=what
                )
                continue
            if len(row.cells) < width:
                short += 1
                if cut is not None:
                    cut[row.first] = apart
            unnamed.difference_update(
                [n for n in unnamed if n < len(row.cells) and row.cells[n]]
            )
            yield row.first, row.cells

    rows = gathered(kept(), list, tuple)
    notes += _told_of_headers(path.name, repeated)
    columns = [name.strip() or f"column {n}" for n, name in enumerate(header.cells, 1)]
    shown = [n not in unnamed for n in range(width)]

    def named(row: tuple[int, list[str]]) -> tuple[int, dict[str, Any]]:
        of_row = zip(columns, row[1], shown, strict=False)
        return row[0], {
            name: cell
            for name, cell, own in of_row
            if own and (cell or not filled or name in needed)
        }

    return mapped(named, rows)


def _told_of_headers(file: str, lines: Sequence[int]) -> list[Finding]:
    """That the names of the columns stand again in these lines."""
    facts = {"file": file, "n": len(lines), "line": lines[0] if lines else 0}
    return [Finding("table.repeated_header", facts)] if lines else []


def _whole_header(
    header: Line,
    lines: Iterator[Line],
    path: Path,
    above: headers.Above,
    notes: list[Finding],
) -> tuple[Line, Iterator[Line]]:
    """The header with the names that take two lines, and the rows below it without a line of
    units; what stands above and below it is noted."""
    file = path.name
    if above.comments:
        notes.append(Finding("table.comments", {"file": file, "n": above.comments}))
    if above.title is not None:
        facts = {"file": file, "title": above.title[:40], "line": header.first}
        notes.append(Finding("table.sheet_title", facts))
    start = list(islice(lines, HEAD))
    if (
        joined := headers.joined_names(header.cells, [row.cells for row in start])
    ) is not None:
        names, used = joined
        facts = {
            "file": file,
            "n": used + 1,
            "names": [name for name in names if name][:6],
        }
        notes.append(Finding("table.two_heads", facts))
        header = header._replace(cells=names, last=start[used - 1].last)
        start = start[used:]
    if units := headers.lines_of_units([row.cells for row in start]):
        facts = {"place": f"{path}:{start[0].first}", "n": units}
        notes.append(Finding("table.units", facts))
        header = header._replace(last=start[units - 1].last)
        start = start[units:]
    return header, chain(start, lines)


def empty(value: Any) -> bool:
    """Whether a cell says nothing."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or str(value).strip() == ""
    )
