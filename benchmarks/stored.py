"""Keeps what benchmarks measured in tables of benchmarks/results."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a stored table; none where there is no such table yet."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def keep(name: str, keys: Sequence[str], new: Iterable[Mapping[str, Any]]) -> None:
    """Put rows into a table, in the place of those that have the same values of `keys`.

    Rows stand in the order in which their keys first came. All new rows have the same columns,
    which become those of the table.
    """
    made = [{column: str(value) for column, value in row.items()} for row in new]
    known = {tuple(row[key] for key in keys): row for row in [*rows(name), *made]}
    columns = list(made[-1])
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n", restval="")
        table.writeheader()
        table.writerows(
            {column: row.get(column, "") for column in columns}
            for row in known.values()
        )
