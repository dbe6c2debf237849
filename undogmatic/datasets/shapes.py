"""Finds the rows of a table in a JSON value, in the shapes in which pandas and other programs write
one.

A table may be a list of rows, an object of columns, an object of rows under their ids, or lists of
cells beside a list of names. What each column holds is found elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.roles import EVERY, ITEM
from undogmatic.errors import DataError
from undogmatic.safety.outside import Doubled, brief

_WAY = (
    "Write it as a list of objects with named fields: in pandas, DataFrame.to_json(FILE,"
    " orient='records')"
)


def rows_of(value: Any, place: str) -> list[Any]:
    """The rows in a JSON value. Raises DataError, which begins with the `place`, for rows whose
    cells have no names."""
    if isinstance(value, dict):
        return _of_object(value, place)
    if not isinstance(value, list):
        return [value]
    if value and all(isinstance(row, list) for row in value):
        raise DataError(
            f"{place}: its {len(value):,} rows are lists of cells without names. {_WAY}."
        )
    return value


def _of_object(value: Mapping[str, Any], place: str) -> list[Any]:
    """The rows in an object, which may be one row itself."""
    _check_keys(value, place)
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return _split(value, place)
    if isinstance(value.get("schema"), dict) and isinstance(value.get("data"), list):
        return _with_schema(value)
    columns = [held for held in value.values() if isinstance(held, list)]
    lists = [held for held in columns if held and isinstance(held[0], dict)]
    if len(lists) == 1:
        return list(lists[0])
    if columns and len(columns) == len(value) and len({len(held) for held in columns}) == 1:
        return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if len(value) > 1 and all(isinstance(held, dict) and held for held in value.values()):
        return _of_objects(value, place)
    return [value]


def _split(value: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    """The rows of names, index and data (pandas: split, tight)."""
    names, rows = [str(name) for name in value["columns"]], value["data"]
    if wrong := [
        n for n, row in enumerate(rows, 1) if not isinstance(row, list) or len(row) != len(names)
    ]:
        what = (
            f"row {wrong[0]} of its `data` does not have as many cells as `columns` has names"
            f" ({len(names)})"
        )
        raise DataError(f"{place}: {what}. {_WAY}.")
    made = [dict(zip(names, row, strict=True)) for row in rows]
    index = value.get("index")
    if not isinstance(index, list) or len(index) != len(made) or _counts(index):
        return made
    return _with_ids(made, index)


def _with_schema(value: Mapping[str, Any]) -> list[Any]:
    """The rows of a table with a schema (pandas: table), without an index that only counts them."""
    rows, keys = value["data"], value["schema"].get("primaryKey")
    if keys == ["index"] and _counts([row.get("index") for row in rows if isinstance(row, dict)]):
        return [
            {k: v for k, v in row.items() if k != "index"} if isinstance(row, dict) else row
            for row in rows
        ]
    return list(rows)


def _check_keys(value: Any, place: str) -> None:
    """Raise DataError for what holds many rows and a key twice; of a single row that is told where
    rows are read."""
    if isinstance(value, Doubled):
        what = (
            f"the key {brief(value.key)} stands in it a second time, and nobody knows which of them"
            " is meant"
        )
        raise DataError(f"{place}: {what}. Delete one of them.")


def _of_objects(value: Mapping[str, dict[str, Any]], place: str) -> list[dict[str, Any]]:
    """The rows of an object of objects: each is a column (pandas: columns), or each a row (pandas:
    index), whose key is its id unless it only counts. Names that are known tell which, or else that
    the keys of one of both count rows.
    """
    outer, inner = list(value), list(dict.fromkeys(key for held in value.values() for key in held))
    if _counts(inner) != _counts(outer):
        by_column = _counts(inner)
    elif _known(outer) != _known(inner):
        by_column = _known(outer) > _known(inner)
    else:
        what = (
            f"an object of {len(value):,} objects, of which it is not clear whether they are"
            " columns or rows"
        )
        raise DataError(
            f"{place}: {what} ({brief(outer[0], 40)}: {brief(inner[0], 40)}, ...). {_WAY}."
        )
    if by_column:
        for held in value.values():
            _check_keys(held, place)
        rows = [{name: held[key] for name, held in value.items() if key in held} for key in inner]
        return rows if _counts(inner) else _with_ids(rows, inner)
    rows = list(value.values())
    return rows if _counts(outer) else _with_ids(rows, outer)


def _with_ids(rows: list[dict[str, Any]], ids: list[Any]) -> list[dict[str, Any]]:
    """The rows with their ids, where no column of theirs is called one."""
    names = {" ".join(tokens(name)) for row in rows for name in row}
    if names & set(ITEM.names):
        return rows
    with_ids = zip(ids, rows, strict=True)
    return [row if isinstance(row, Doubled) else {"id": key, **row} for key, row in with_ids]


def _counts(keys: Collection[Any]) -> bool:
    """Whether keys are the numbers of rows, from 0 or from 1 on."""
    if not all(str(key).isascii() and str(key).isdigit() and len(str(key)) < 12 for key in keys):
        return False
    numbers = sorted(int(key) for key in keys)
    return (
        bool(numbers)
        and numbers[0] in (0, 1)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def _known(keys: Collection[str]) -> float:
    """The share of keys that are known as names of columns."""
    known = {name for role in EVERY for name in role.names}
    named = [
        key for key in keys if side_of(str(key)) is not None or " ".join(tokens(str(key))) in known
    ]
    return len(named) / len(keys)
