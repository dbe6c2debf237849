"""Reads the sheets of an OpenDocument workbook (ODS) as the cells that are filled.

The format may say of a row or a cell that it stands there a million times, and the libraries that
read it write all of them out. So rows that are empty are only counted here, and those that are
filled are limited.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, Any
from xml.etree import ElementTree

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_NUMBERS = ("float", "percentage", "currency")
_NOT_SHOWN = (f"{_OFFICE}annotation", f"{_TEXT}note")
PART = "content.xml"


def is_opendocument(parts: zipfile.ZipFile) -> bool:
    """Whether a packed file is an OpenDocument workbook."""
    return PART in parts.namelist() and "[Content_Types].xml" not in parts.namelist()


def sheets_in(file: IO[bytes]) -> Iterator[tuple[str, Iterator[tuple[int, list[Any]]]]]:
    """The name of each sheet, and its filled rows with their places from 0; the rows of a sheet
    must be gone through before the next is asked for. Raises ElementTree.ParseError where the file
    is damaged."""
    events = ElementTree.iterparse(file, ("start", "end"))
    for event, part in events:
        if event == "start" and part.tag == f"{_TABLE}table":
            yield part.get(f"{_TABLE}name", ""), _rows(events)


def _rows(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[int, list[Any]]]:
    place, depth = 0, 1
    for event, part in events:
        if part.tag == f"{_TABLE}table":
            depth += 1 if event == "start" else -1
            if not depth:
                return
        elif event == "end" and part.tag == f"{_TABLE}table-row" and depth == 1:
            cells = _cells(part)
            times = int(part.get(f"{_TABLE}number-rows-repeated", 1))
            for n in range(times if cells else 0):
                yield place + n, cells
            place += times
            part.clear()


def _cells(row: Any) -> list[Any]:
    """The cells of a row up to the last that is filled."""
    cells, empty = list[Any](), 0
    for part in row:
        if part.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        value = _value(part)
        times = int(part.get(f"{_TABLE}number-columns-repeated", 1))
        if value is None or value == "":
            empty += times
            continue
        if len(cells) + empty + times > MOST_COLUMNS:
            raise ValueError(f"a row has a cell beyond column {MOST_COLUMNS:,}")
        cells += [None] * empty + [value] * times
        empty = 0
    return cells


def _value(cell: Any) -> Any:
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in _NUMBERS:
        return float(cell.get(f"{_OFFICE}value"))
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    if kind in ("date", "time"):
        return cell.get(f"{_OFFICE}{kind}-value")
    return "\n".join(
        _shown(part) for part in cell if part.tag in (f"{_TEXT}p", f"{_TEXT}h")
    )


def _shown(part: Any) -> str:
    """The text in a part of a cell, without the remarks that stand beside it."""
    if part.tag in _NOT_SHOWN:
        return ""
    if part.tag == f"{_TEXT}s":
        return " " * min(int(part.get(f"{_TEXT}c", 1)), MOST_COLUMNS)
    if part.tag in _SIGNS:
        return _SIGNS[part.tag]
    return (part.text or "") + "".join(
        _shown(inner) + (inner.tail or "") for inner in part
    )


_SIGNS = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
MOST_COLUMNS = 16_384
"""As many columns as a sheet of the common spreadsheet programs may have."""
