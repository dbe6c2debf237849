"""Reads a verdict table that `undogmatic export` wrote (CSV, JSON Lines): its columns are those of
the table itself."""

from collections.abc import Iterator
from pathlib import Path

from undogmatic.datasets.readers.log import (
    COLUMNS,
    Given,
    Head,
    Reader,
    Row,
    cell,
    records,
)
from undogmatic.records.records import as_number
from undogmatic.safety.files import as_written

FIRST = ("item", "judge", "criterion", "repeat", "verdict")
"""The columns with which such a table begins."""
_NUMBERS = ("repeat", "confidence", "verdict", "label")


def _claims(head: Head) -> bool:
    names = head.columns or (list(head.value) if isinstance(head.value, dict) else [])
    return tuple(names[: len(FIRST)]) == FIRST


def _rows(records: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    for place, given in records:
        row = {
            name: as_written(value) if isinstance(value, str) else value
            for name, value in given.items()
        }
        row = {
            name: cell(as_number(value) if name in _NUMBERS else value)
            for name, value in row.items()
            if name
        }
        row["repeat"] = int(row.get("repeat") or 0)
        yield row | {"place": row.get("place") or place}


READER = Reader("a verdict table of undogmatic", _claims, records, _rows)
__all__ = ["COLUMNS", "FIRST", "READER"]
