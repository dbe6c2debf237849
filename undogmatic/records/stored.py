"""Keeps the rows of a run with many judgments on disk, as Parquet, and reads from them only what
is asked for.

A column is read when it is looked at, some rows with all their columns when they are chosen by
their places. What the items and verdicts of a run hold besides the columns of every run stands in
one more, as an object of JSON.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype, take
from pydantic_core import from_json, to_json

from undogmatic.records.records import Item
from undogmatic.safety.files import refused
from undogmatic.safety.spool import nameless

_WHOLE = (
    "repeat",
    "calls",
    "cached",
    "input_tokens",
    "output_tokens",
    "characters",
    "words",
)
_REAL = "label score raw_score low high confidence entropy doubt revised_score usd seconds".split()
# None where a row says nothing
_OBJECTS = (
    "pair_id",
    "condition",
    "uncertainty",
    "is_uncertain",
    "error",
)
_NAMES = ("item_id", "judge", "criterion", "group", "category")
_MORE = "more"


def storable() -> bool:
    """Whether a table can be kept on disk: pyarrow is installed."""
    return find_spec("pyarrow") is not None


class _Kind(ExtensionDtype):
    name, na_value = "texts", None

    @property
    def type(self) -> Any:
        return str

    @classmethod
    def construct_array_type(cls) -> Any:
        return Texts


class Texts(ExtensionArray):
    """The texts of the items at these places; a place below 0 is no text."""

    def __init__(self, items: Sequence[Item], places: np.ndarray) -> None:
        self._items, self._places = items, places

    @property
    def dtype(self) -> ExtensionDtype:
        return _Kind()

    @property
    def nbytes(self) -> int:
        return int(self._places.nbytes)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | np.integer):
            place = int(self._places[item])
            return None if place < 0 else self._items[place].text
        return Texts(
            self._items,
            self._places[np.asarray(item) if isinstance(item, list) else item],
        )

    def isna(self) -> np.ndarray:
        return np.asarray(self._places < 0)

    def copy(self) -> Texts:
        return Texts(self._items, self._places.copy())

    def take(
        self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None
    ) -> Texts:
        return Texts(
            self._items,
            take(self._places, indices, allow_fill=allow_fill, fill_value=-1),
        )

    @classmethod
    def _from_sequence(
        cls, scalars: Any, *, dtype: Any = None, copy: bool = False
    ) -> Any:
        return np.array(list(scalars), dtype=object)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Texts]) -> Texts:
        return cls(
            to_concat[0]._items, np.concatenate([each._places for each in to_concat])
        )


class StoredTable:
    """A table on disk with the doors of a data frame that are used of one: columns by name, rows by
    a mask (a table on disk again) or by their places (`iloc`, a data frame), and what is needed to
    go through it (`parts`).
    """

    def __init__(self, items: Sequence[Item]) -> None:
        import pyarrow
        import pyarrow.parquet

        self._items = items
        kinds = dict.fromkeys(_WHOLE, pyarrow.int64()) | dict.fromkeys(
            _REAL, pyarrow.float64()
        )
        kinds |= dict.fromkeys((*_OBJECTS, *_NAMES, _MORE), pyarrow.string())
        kinds |= {
            "is_uncertain": pyarrow.bool_(),
            "review": pyarrow.bool_(),
            "text": pyarrow.int32(),
        }
        self._schema = pyarrow.schema(list(kinds.items()))
        self._file, self._path = nameless()
        # The file has no name, so closing it is what removes it.
        weakref.finalize(self, self._file.close)
        with _stored(self._path):
            self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema)
        self._starts, self._places = [0], None  # type: tuple[list[int], Any]
        self.columns: list[str] = []

    def add(self, rows: pd.DataFrame, more: Sequence[dict[str, Any]]) -> None:
        """Add rows, whose `text` is the place of the item, and what each holds besides. Raises
        StorageError."""
        import pyarrow

        self.columns = [
            *dict.fromkeys(
                (*self.columns, *rows, *(name for each in more for name in each))
            )
        ]
        told = {_MORE: [to_json(each).decode() if each else None for each in more]}
        arrays = [
            pyarrow.array(
                told.get(field.name, rows.get(field.name)), field.type, from_pandas=True
            )
            for field in self._schema
        ]
        if len(rows):
            with _stored(self._path):
                part = pyarrow.Table.from_arrays(arrays, schema=self._schema)
                self._writer.write_table(part, row_group_size=len(rows))
            self._starts.append(self._starts[-1] + len(rows))

    def close(self) -> StoredTable:
        """End the writing; the table can be read from then on. Raises StorageError."""
        import pyarrow.parquet

        with _stored(self._path):
            self._writer.close()
            del self._writer  # and what it holds of every part
            self._read = pyarrow.parquet.ParquetFile(self._file)
        pyarrow.default_memory_pool().release_unused()
        return self

    def __len__(self) -> int:
        return self._starts[-1] if self._places is None else len(self._places)

    @property
    def index(self) -> pd.RangeIndex:
        """The rows are called by their places."""
        return pd.RangeIndex(len(self))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, what: Any) -> Any:
        if isinstance(what, str):
            return self._columns([what])[what]
        if isinstance(what, list):
            return self._columns(what)
        mask = np.asarray(what, dtype=bool)
        return (
            self
            if mask.all()
            else self._of(
                np.flatnonzero(mask) if self._places is None else self._places[mask]
            )
        )

    @property
    def iloc(self) -> _Rows:
        """The door for rows by their places."""
        return _Rows(self)

    def head(self, n: int) -> pd.DataFrame:
        """The first rows."""
        return self.iloc[:n]

    def reset_index(self, drop: bool) -> StoredTable:
        """The table itself: its rows are called by their places already."""
        return self

    def parts(self, names: list[str]) -> Iterator[pd.DataFrame]:
        """These columns of all rows, some thousands of rows at a time; of no rows one empty
        part."""
        if not len(self):
            yield self[names]
        for group, start in enumerate(self._starts[:-1]):
            frame = self._frame(
                self._read.read_row_group(group, self._stored(names)), names
            )
            if self._places is not None:
                low, high = np.searchsorted(self._places, [start, start + len(frame)])
                frame = frame.iloc[self._places[low:high] - start].reset_index(
                    drop=True
                )
            if len(frame):
                yield frame

    def sample(self, most: int) -> pd.DataFrame:
        """At most so many rows with all their columns: all rows of some groups, by a hash of their
        names; of fewer rows all, and at least one group."""
        return self.iloc[
            np.flatnonzero(
                drawn(
                    (name for part in self.parts(["group"]) for name in part["group"]),
                    most,
                )
            )
        ]

    def rows(self, places: np.ndarray) -> pd.DataFrame:
        """The rows at these places, in their order."""
        import pyarrow

        where = places if self._places is None else self._places[places]
        order = np.argsort(where, kind="stable")
        within, taken = where[order], []
        ends = np.searchsorted(within, self._starts)
        for group, (low, high) in enumerate(pairwise(ends)):
            if low < high:
                rows = within[low:high] - self._starts[group]
                taken.append(
                    self._read.read_row_group(group, self._schema.names).take(
                        pyarrow.array(rows)
                    )
                )
        back = np.empty(len(order), dtype=int)
        back[order] = np.arange(len(order))
        table = pyarrow.concat_tables(taken) if taken else self._schema.empty_table()
        return self._frame(table, self.columns).iloc[back].reset_index(drop=True)

    def _of(self, places: np.ndarray) -> StoredTable:
        chosen = object.__new__(StoredTable)
        chosen.__dict__ |= self.__dict__ | {
            "_places": places.astype(np.int32),
            "_of_file": self,
        }
        return chosen

    def _columns(self, names: list[str]) -> pd.DataFrame:
        if lacking := [name for name in names if name not in self.columns]:
            raise KeyError(lacking[0])
        import pyarrow

        table = self._read.read(self._stored(names))
        frame = self._frame(
            table if self._places is None else table.take(self._places), names
        )
        pyarrow.default_memory_pool().release_unused()
        return frame

    def _stored(self, names: Sequence[str]) -> list[str]:
        """The columns of the file in which these are."""
        return [
            *dict.fromkeys(
                name if name in self._schema.names else _MORE
                for name in names
                if name != "place"
            )
        ]

    def _frame(self, table: Any, names: Sequence[str]) -> pd.DataFrame:
        """Columns as a data frame, each of the kind that it has where all is held."""
        told = None
        if any(name != "place" and name not in self._schema.names for name in names):
            told = [from_json(row) if row else {} for row in table[_MORE].to_pylist()]
        made = {}
        for name in names:
            if name == "place":
                made[name] = np.full(len(table), None)
            elif name == "text":
                made[name] = Texts(self._items, table[name].to_numpy())
            elif name in _OBJECTS:
                made[name] = pd.Series(table[name].to_numpy(), dtype=object)
            elif name in _NAMES:
                empty = table[name].null_count == len(table)
                made[name] = (
                    np.full(len(table), None) if empty else table[name].to_pandas()
                )
            elif name in self._schema.names:
                made[name] = table[name].to_numpy()
            else:
                assert told is not None
                made[name] = pd.Series([row.get(name, np.nan) for row in told])
        return pd.DataFrame(made, columns=list(names))


class _Rows:
    def __init__(self, table: StoredTable) -> None:
        self._table = table

    def __getitem__(self, places: Any) -> pd.DataFrame:
        return self._table.rows(np.arange(len(self._table))[places])


def whole(frame: Any) -> pd.DataFrame:
    """The data frame that holds a table, for what needs all of it."""
    return frame.iloc[:] if isinstance(frame, StoredTable) else frame


def in_parts(frame: Any, names: list[str]) -> Iterator[pd.DataFrame]:
    """These columns of a table, part by part where it is stored."""
    return (
        frame.parts(names) if isinstance(frame, StoredTable) else iter([frame[names]])
    )


def voices(frame: Any) -> list[tuple[Any, Any]]:
    """Judge and criterion of all rows of a table, each pair once, in the order of the rows."""
    parts = (part.drop_duplicates() for part in in_parts(frame, ["judge", "criterion"]))
    return [
        *dict.fromkeys(
            pair for part in parts for pair in part.itertuples(index=False, name=None)
        )
    ]


def foremost(
    frame: Any,
    names: list[str],
    values: Callable[[pd.DataFrame], Mapping[str, np.ndarray]],
    most: int,
) -> dict[str, np.ndarray]:
    """The places of the rows with the largest `values`, at most so many of each, from the largest;
    equal ones in the order of the rows, and none of NaN. `values` are made of these columns, part
    by part."""
    best, begun = dict[str, tuple[np.ndarray, np.ndarray]](), 0
    for rows in in_parts(frame, names):
        for key, own in values(rows).items():
            known = np.flatnonzero(~np.isnan(own))
            before, places = best.get(key, (np.empty(0), np.empty(0, dtype=int)))
            every = np.concatenate([before, own[known]])
            places = np.concatenate([places, known + begun])
            order = np.argsort(-every, kind="stable")[:most]
            best[key] = every[order], places[order]
        begun += len(rows)
    return {key: places for key, (_, places) in best.items()}


def drawn(groups: Iterable[str], most: int) -> np.ndarray:
    """Which of the rows of these groups are chosen, at most so many: all rows of some groups, by a
    hash of their names; of fewer rows all, and at least one group. Shape (n,)."""
    marks = np.array([*map(_mark, groups)], dtype=np.int64)
    if len(marks) <= most:
        return np.ones(len(marks), dtype=bool)
    limit = np.partition(marks, most)[most]
    return np.asarray(marks < limit if (marks < limit).any() else marks <= limit)


def some(frame: Any, most: int) -> pd.DataFrame:
    """At most so many rows of a table, chosen as `drawn` does."""
    return (
        frame.sample(most)
        if isinstance(frame, StoredTable)
        else frame[drawn(frame["group"], most)]
    )


def _mark(name: str) -> int:
    return int.from_bytes(
        blake2b(
            name.encode("utf-8", "replace"), digest_size=7, person=b"sample"
        ).digest(),
        "big",
    )


class _stored:
    """Inside, what goes wrong over the file is StorageError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        if isinstance(error, OSError):
            raise refused(self.path, error) from None
