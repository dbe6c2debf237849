"""Reads a whole table (CSV, JSON Lines, JSON, Parquet, XLSX) as a data frame of raw cells, with the line of each row.

A fault in a row is noted with its place, and the rest of the file is still read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.columns import NAMES, side_of, tokens
from undogmatic.datasets.readers import find
from undogmatic.datasets.rows import (
    LARGEST,
    MARKS,
    SUFFIXES,
    encoding_of,
    have,
    json_object,
    json_records,
    parquet_rows,
    separator,
)
from undogmatic.datasets.sheets import is_workbook, read_sheet
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import as_text
from undogmatic.records.results import Finding
from undogmatic.safety.outside import Unreadable, brief, decoded, json_value, read_bytes

FORMATS = SUFFIXES
_HELD = {
    ".jsonl": 'Every line must be one JSON object, e.g. {"text": "...", "label": 3}',
    ".json": "It must hold a list of JSON objects",
}


class Frame(NamedTuple):
    """A file's `cells` (columns of objects, by name), the place of each row (file:line), the file's name and digest,
    what a reader should know of how it was read, and what is wrong in it."""

    name: str
    cells: pd.DataFrame
    places: list[str]
    digest: str
    notes: tuple[Finding, ...] = ()
    problems: tuple[Finding, ...] = ()
    is_log: bool = False  # of a tool whose columns are known


class _Rows(NamedTuple):
    cells: pd.DataFrame
    lines: np.ndarray
    notes: list[Finding]
    problems: list[Finding]


def read_frame(source: str | Path | pd.DataFrame, sheet: str | None = None) -> Frame:
    """Read a file (of a workbook a `sheet` or a range), or take a data frame. Raises
    ConfigError where there is no such file or it is of no known format, DataError where nothing in it can be read."""
    if isinstance(source, pd.DataFrame) and "reader" in source.attrs:
        return _log(source.attrs["source"], source)
    if isinstance(source, pd.DataFrame):
        hashed = pd.util.hash_pandas_object(source.astype(str), index=False).to_numpy()
        digest = hashlib.sha256("\0".join(map(str, source.columns)).encode() + hashed.tobytes()).hexdigest()
        cells = source.rename(columns=str).reset_index(drop=True).astype(object)
        have("the data frame", (), list(cells.columns))
        places = [f"row {n}" for n in range(1, len(cells) + 1)]
        return Frame("data frame", _plain(cells), places, digest)
    path = _there(str(source))
    if (reader := find(path)) is not None:
        return _log(str(path), reader.read(path), path)
    if not path.is_file():
        raise ConfigError(f"{brief(str(source))} is a folder. Name a table: {', '.join(FORMATS)}.")
    raw = read_bytes(path, LARGEST)
    rows = _rows(path, raw, sheet)
    said = (rows.cells.notna() & (rows.cells != "")).to_numpy(dtype=bool).any(axis=1)
    if not said.any():
        faults = f" {len(rows.problems)} faults were found in it." if rows.problems else ""
        raise DataError(
            f"{path}: the file holds no rows.{faults} Its first line names the columns, each other is a row."
        )
    cells, lines = rows.cells[said].reset_index(drop=True), rows.lines[said]
    have(str(path), (), list(cells.columns))
    digest = hashlib.sha256(raw).hexdigest()
    places = [f"{source}:{line}" for line in lines]
    return Frame(str(source), _plain(cells), places, digest, tuple(rows.notes), tuple(rows.problems))


def _there(typed: str) -> Path:
    """The file or folder that was named. Raises ConfigError where there is none, listing what lies beside it."""
    try:
        path = Path(typed).expanduser()
        if path.exists():
            return path
        folder = path.parent
        beside = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in FORMATS) if folder.is_dir() else []
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"{brief(typed)} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    if not folder.is_dir():
        listing = f"Nor does the folder {brief(str(folder))}."
    elif beside:
        listing = f"Tables in {brief(str(folder))}: {', '.join(beside[:8])}{', ...' if len(beside) > 8 else ''}."
    else:
        listing = f"The folder {brief(str(folder))} holds no table ({', '.join(FORMATS)})."
    raise ConfigError(f"{brief(typed)} does not exist. {listing} Name a file that exists.")


def _log(name: str, cells: pd.DataFrame, path: Path | None = None) -> Frame:
    """What the reader of a tool's log found in it."""
    told, tool = cells.attrs["problems"], cells.attrs["reader"]
    places, cells = [str(place) for place in cells["place"]], cells.drop(columns="place")
    cells = cells.loc[:, cells.notna().any()]
    raw = read_bytes(path, LARGEST) if path is not None and path.is_file() else cells.to_json(orient="split").encode()
    note = Finding("table.log", {"file": Path(name).name, "tool": tool})
    problems = tuple(Finding("table.log_fault", {"text": text}) for text in told)
    return Frame(name, _plain(cells), places, hashlib.sha256(raw).hexdigest(), (note,), problems, True)


def _rows(path: Path, raw: bytes, sheet: str | None) -> _Rows:
    """What the file holds; its first bytes tell the format where they can, else its suffix does."""
    suffix = path.suffix.lower()
    if raw.startswith(b"PAR1"):
        return _records(parquet_rows(path), [])
    if is_workbook(raw):
        found = read_sheet(path, raw, sheet, "--sheet ", LARGEST)
        return _Rows(found.cells, found.lines, found.notes, [])
    text, notes = _text(path, raw)
    start = text.lstrip()[:1]
    if start == "[" or (suffix == ".json" and start == "{" and not _is_lines(text)):
        return _json(path, text, notes)
    if start == "{" and suffix not in (".csv", ".tsv"):
        return _json_lines(path, text, notes)
    if suffix in (".csv", ".tsv", ".txt", ".tab", ""):
        return _csv(path, text, notes)
    if suffix in FORMATS:
        begins = f"begins with {brief(text.strip().split(chr(10), 1)[0], 60)}" if start else "is empty"
        wanted = _HELD.get(suffix, f"Save it again as {suffix}, or as CSV")
        raise DataError(f"{path} is no {suffix} file that can be read: it {begins}. {wanted}.")
    raise ConfigError(f"{brief(str(path))} is of no known format. Known formats: {', '.join(FORMATS)}.")


def _text(path: Path, raw: bytes) -> tuple[str, list[Finding]]:
    """The text of a file, and what its encoding was, if not UTF-8."""
    encoding, named = encoding_of(path), ""
    try:
        if encoding == "utf-8":
            text = decoded(raw)
        else:
            text = raw.decode(encoding, errors="replace" if encoding == "cp1252" else "strict")
            named = "Windows-1252" if encoding == "cp1252" else "UTF-16"
            if "\0" in text:
                decoded(text.encode())
    except Unreadable as error:
        raise DataError(error.at(str(path))) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: neither UTF-8 nor UTF-16 ({error.reason}). Save the file as UTF-8.") from None
    notes = [Finding("table.encoding", {"file": path.name, "encoding": named})] if named else []
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def _is_lines(text: str) -> bool:
    first = text.lstrip().split("\n", 1)[0]
    try:
        json_value(first)
    except Unreadable:
        return False
    return "\n" in text.strip()


def _csv(path: Path, text: str, notes: list[Finding]) -> _Rows:
    skipped = 0
    mark = separator(path, text.lstrip("\n")[:100_000].split("\n", 50)[:50], MARKS)
    if text[:4].lower() == "sep=":  # a spreadsheet's own line
        text, skipped = text.partition("\n")[2], 1
    problems: list[Finding] = []
    plain = {"sep": mark, "header": None, "dtype": object, "na_filter": False, "skip_blank_lines": False}
    try:
        grid = pd.read_csv(io.StringIO(text), **plain)  # type: ignore[call-overload]
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} is empty. Its first line must name the columns.") from None
    except pd.errors.ParserError:
        grid, lines = _careful(path, text, mark, problems)
    else:
        breaks = np.zeros(len(grid), dtype=int)
        if text.count("\n") > len(grid):  # cells with line breaks
            for column in grid:
                breaks += grid[column].str.count("\n").to_numpy(dtype=int)
        lines = np.arange(1, len(grid) + 1) + np.concatenate([[0], np.cumsum(breaks)[:-1]])
    filled = (grid != "").to_numpy().any(axis=1)
    if not filled.any():
        raise DataError(f"{path} is empty. Its first line must name the columns.")
    top = int(np.argmax(filled))
    return _Rows(_headed(grid, top), lines[top + 1 :] + skipped, notes, problems)


def _headed(grid: pd.DataFrame, top: int) -> pd.DataFrame:
    """The rows below that with the names of the columns; a column without name and cells is none."""
    header = ["" if name is None else str(name).strip() for name in grid.iloc[top]]
    body = grid.iloc[top + 1 :].reset_index(drop=True)
    named = [n for n, name in enumerate(header) if name or (body[n].notna() & (body[n] != "")).any()]
    body = body[named]
    body.columns = pd.Index([header[n] or f"column {n + 1}" for n in named])
    return body


def _careful(path: Path, text: str, mark: str, problems: list[Finding]) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows of CSV in which some have too many cells, or a quote is never closed; those are left out and named."""
    rows: list[list[str]] = []
    lines: list[int] = []
    before = csv.field_size_limit(LARGEST)
    reader, first, width = csv.reader(io.StringIO(text), delimiter=mark, strict=True), 1, 0
    try:
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                break
            except csv.Error:
                problems.append(Finding("table.open_quote", {"place": f"{path}:{first}"}))
                if reader.line_num >= text.count("\n"):
                    break
                cells = []
            width = width or len(cells)
            if len(cells) > width and any(cells[width:]):
                values = {"place": f"{path}:{first}", "cells": len(cells), "columns": width}
                problems.append(Finding("table.long_row", values))
            elif cells:
                rows.append((cells + [""] * width)[:width])
                lines.append(first)
            first = reader.line_num + 1
    finally:
        csv.field_size_limit(before)
    return pd.DataFrame(rows, dtype=object), np.array(lines, dtype=int)


def _json_lines(path: Path, text: str, notes: list[Finding]) -> _Rows:
    problems: list[Finding] = []

    def objects() -> Iterator[tuple[int, dict[str, Any]]]:
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, json_object(line, infinite=True)
                except Unreadable as error:
                    last = not any(map(str.strip, lines[number:]))
                    why = {"place": f"{path}:{number}", "why": str(error).rstrip(".")}
                    problems.append(Finding("table.half_line" if last else "table.bad_line", why))

    rows = _records(objects(), notes)
    return rows._replace(problems=problems)


def _json(path: Path, text: str, notes: list[Finding]) -> _Rows:
    """A JSON list of objects, an object with one such list in it, or an object of columns."""
    problems: list[Finding] = []
    try:
        value = json_value(text, infinite=True)
    except Unreadable as error:
        try:
            value = json_value(text, infinite=True, partial=True)
        except Unreadable:
            raise DataError(f"{error.at(str(path)).rstrip('.')}.") from None
        if isinstance(value, list):
            value = value[:-1]  # the row in which the file breaks off
        problems.append(Finding("table.half_file", {"place": error.at(str(path)).rstrip(".")}))
    value = json_records(value)
    wrong = [n for n, row in enumerate(value, 1) if not isinstance(row, dict)]
    if wrong:
        problems.append(Finding("table.no_object", {"file": path.name, "n": len(wrong), "row": wrong[0]}))
    rows = _records(((n, row) for n, row in enumerate(value, 1) if isinstance(row, dict)), notes)
    return rows._replace(problems=problems)


def _records(rows: Iterator[tuple[int, Mapping[str, Any]]], notes: list[Finding]) -> _Rows:
    """Rows as a frame; an object in a cell is its fields: `retest.score`."""
    lines, records = [], []
    for line, row in rows:
        lines.append(line)
        records.append(_flat(row) if any(isinstance(cell, Mapping) for cell in row.values()) else row)
    names = list(dict.fromkeys(itertools.chain.from_iterable(records)))
    cells = pd.DataFrame({name: pd.Series([row.get(name) for row in records], dtype=object) for name in names})
    return _Rows(cells, np.array(lines, dtype=int), notes, [])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, Mapping):
            cells |= {f"{name}.{key}": value for key, value in _flat(cell).items()}
        else:
            cells[name] = cell
    return cells


def _plain(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells as text, numbers and None: lists as JSON, booleans as words, other objects as text."""
    for column in cells:
        held = cells[column]
        kinds = set(map(type, held))
        if not kinds <= {str, type(None), int}:
            cells[column] = pd.Series(list(map(_plain_cell, held)), dtype=object, index=held.index)
    return cells


def _plain_cell(cell: Any) -> Any:
    if hasattr(cell, "tolist"):  # NumPy's
        cell = cell.tolist()
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return None if not math.isfinite(cell) else int(cell) if cell.is_integer() and abs(cell) < 2**53 else cell
    if cell is None or isinstance(cell, str | int):
        return cell
    if cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, list | dict):
        return as_text(cell)
    return str(cell)


def aligned(frames: Sequence[Frame], item: str | None) -> list[Frame]:
    """The frames of files that are joined: the column of ids has one name (that of the first file, or `item`), and
    columns of verdicts or labels with the same name are told apart by the names of the files, where these say whose
    they are (`humans.csv`, `judge.csv`)."""
    ids = [column_of(frame.cells, "item", item) for frame in frames]
    first = item or next((name for name in ids if name is not None), None)
    sides = [side_of(Path(frame.name).stem) for frame in frames]
    told = {1, -1} <= set(sides)
    held = [{str(name) for name in frame.cells if side_of(str(name)) is not None} for frame in frames]
    result = []
    for n, frame in enumerate(frames):
        names = {ids[n]: first} if ids[n] is not None and first is not None and first not in frame.cells else {}
        if told and sides[n] in (1, -1):
            others = set().union(*(held[m] for m in range(len(frames)) if sides[m] == -(sides[n] or 0)))
            names |= {name: f"{Path(frame.name).stem}.{name}" for name in held[n] & others}
        result.append(frame._replace(cells=frame.cells.rename(columns=names)))
    return result


def column_of(cells: pd.DataFrame, role: str, given: str | None = None) -> str | None:
    """The column `given` for a role of NAMES, or the first that is called so; None without one."""
    known = {" ".join(tokens(str(name))): str(name) for name in reversed(list(cells.columns))}
    return given if given in cells else next((known[name] for name in NAMES[role] if name in known), None)
