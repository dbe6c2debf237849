"""Finds the records of a journal by their keys: few are held in memory, of many only an index is
kept, on disk.

The journal is the truth. The index is a database without a name (SQLite), gone with the process; a
run that ends leaves a copy of it beside its journal, so that the journal of a million records need
not be read again to go on. The copy counts only for the very file it was made of: by its size and
the moment at which it was last written to. Where there is no such copy, the journal is read.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from undogmatic.errors import DataError, StorageError
from undogmatic.records.labels import Label
from undogmatic.records.records import (
    RETRIED_ON_RESUME,
    Failure,
    Judgment,
    Key,
    Made,
    first_problem,
)
from undogmatic.safety import spool
from undogmatic.safety.files import refused
from undogmatic.safety.outside import Unreadable, json_value, placed_lines

R = TypeVar("R", Judgment, Made)
L = TypeVar("L", Judgment, Made, Label)
PARSED = 9  # times its length a line takes when it is parsed
# that are kept of what servers call one model; characters of each
MOST_NAMES = 20
LONGEST_NAME = 200
LONGEST_HELD = 200_000  # characters of a line whose exchange stays in memory
_RECORDS = {
    "Judgment": ("a judgment", "to have its item judged again"),
    "Made": ("what a step made", "to have it made again"),
    "Label": ("a label", "and import the label again"),
}
_CACHE = 8_000  # kilobytes of the index that SQLite may keep in memory
_TABLE = (
    "CREATE TABLE places (key BLOB PRIMARY KEY, start INTEGER, length INTEGER, open INTEGER)"
    " WITHOUT ROWID"
)


def unanswered(record: Judgment | Made) -> bool:
    """Whether it failed for want of a server, and is to be asked for again."""
    outcome = record.outcome
    return isinstance(outcome, Failure) and outcome.reason in RETRIED_ON_RESUME


def without_exchange(
    record: R,
    length: int,
    most: int = LONGEST_HELD,
    why: str = "it is long; the journal has it",
) -> R:
    """The record as it stays in memory: without an exchange that is long, which the journal has."""
    if length <= most:
        return record
    left = {"request": {}, "reply": f"left out, because {why}"}
    return record.model_copy(
        update={"calls": tuple(call.model_copy(update=left) for call in record.calls)}
    )


class Place(NamedTuple):
    """Where the line of a record stands, and whether it is to be asked for again."""

    start: int
    length: int
    open: bool


class Records(Mapping[Key, R], Generic[R]):
    """The records that count of a journal: of several with one key the last. Without a path all are
    held in memory."""

    def __init__(self, path: Path | None, record: type[R]) -> None:
        self.path = path
        self._record: type[R] = record
        self.models: set[str] = set()  # names of those that have answered
        self.served: dict[
            str, set[str]
        ] = {}  # what servers call the model that answered, by what was asked for
        self._held: dict[Key, R] = {}
        self._places: dict[Key, Place] = {}  # of those that are held
        self._characters = 0  # of all lines so far
        self._index: _Index | None = None
        self._lines: spool.Lines | None = None
        if path is not None and path.exists() and not self._load(path):
            for start, length, each in placed_records(path, record):
                self.note(without_exchange(each, length), start, length)

    @property
    def many(self) -> bool:
        """Whether there are so many that they are read from the journal when they are asked for."""
        return self._index is not None

    def note(self, record: R, start: int, length: int) -> None:
        """A record stands in the journal now. Raises StorageError."""
        place = Place(start, length, unanswered(record))
        # What is to be asked for again says nothing yet of which models have answered.
        if not place.open:
            self.models.update(call.model for call in record.calls)
            self._serve(record)
        if self._index is not None:
            self._index.put([(record.key, place)])
            return
        self._held[record.key] = record
        if self.path is None:
            return
        self._places[record.key] = place
        self._characters += min(length, LONGEST_HELD)
        # By their number or by their length: a few thousand records of long
        # conversations fill the memory as well.
        if len(self._held) > spool.HELD or PARSED * self._characters > spool.HELD_BYTES:
            self._index = _Index()
            self._index.put(list(self._places.items()))
            self._held, self._places = {}, {}

    def _serve(self, record: R) -> None:
        for call in record.calls:
            asked = call.request.get("model")
            named = call.reply.get("model") if isinstance(call.reply, dict) else None
            if isinstance(asked, str) and isinstance(named, str) and named:
                names = self.served.setdefault(asked, set())
                # A server that calls its model something else with each answer must not
                # fill the memory.
                if len(names) < MOST_NAMES:
                    names.add(named[:LONGEST_NAME])

    def place(self, key: Key) -> Place | None:
        """Where the record of a key stands in the journal; None if there is none, or it was never
        written."""
        return self._places.get(key) if self._index is None else self._index.get(key)

    def settled(self, key: Key) -> bool:
        """Whether there is a record of the key that stays."""
        if self._index is None:
            return (record := self._held.get(key)) is not None and not unanswered(
                record
            )
        return (place := self._index.get(key)) is not None and not place.open

    def at(self, start: int, length: int) -> R:
        """The record that stands there. Raises DataError where something else does by now."""
        assert self.path is not None
        if self._lines is None:
            self._lines = spool.Lines(self.path)
        try:
            return without_exchange(
                self._record.model_validate_json(self._lines.at(start, length)), length
            )
        except ValueError:
            raise DataError(
                f"{self.path}: was changed while it was in use. Run the same command again."
            ) from None

    def __getitem__(self, key: Key) -> R:
        if self._index is None:
            return self._held[key]
        if (place := self._index.get(key)) is None:
            raise KeyError(key)
        return self.at(place.start, place.length)

    def __contains__(self, key: object) -> bool:
        return (
            key in self._held
            if self._index is None
            else self._index.get(key) is not None
        )

    def __len__(self) -> int:
        return len(self._held) if self._index is None else len(self._index)

    def __iter__(self) -> Iterator[Key]:
        return (
            iter(self._held)
            if self._index is None
            else (record.key for record in self.values())
        )

    def values(self) -> Any:
        """The records; of many, in the journal's order."""
        if self._index is None:
            return self._held.values()
        return (self.at(start, length) for start, length in self._index.in_order())

    def in_order(self) -> Sequence[R]:
        """The records in the journal's order; many are read when they are asked for."""
        if self._index is None:
            return list(self._held.values())
        placed = spool.Placed(self.at)
        for start, length in self._index.in_order():
            placed.append(start, length)
        return placed

    def of(self, keys: Iterable[Key | R]) -> Sequence[R]:
        """The records of these keys that there are, in their order, and with them those that are
        given themselves; many are read when they are asked for."""
        held, placed = list[R](), spool.Placed(self.at) if self.many else None
        for key in keys:
            if not isinstance(key, tuple):
                held.append(key) if placed is None else placed.hold(key)
            elif placed is None:
                held += [self._held[key]] if key in self._held else []
            elif (line := self.place(key)) is not None:
                placed.append(line.start, line.length)
        return held if placed is None else placed

    def keep(self) -> None:
        """Leave a copy of the index beside the journal, where there is one; without room for it
        there is none."""
        if self._index is not None and self._index.whole and self.path is not None:
            with contextlib.suppress(OSError, sqlite3.Error):
                self._index.keep(beside(self.path), self._about(self.path))

    def _about(self, path: Path) -> dict[str, Any]:
        served = {asked: sorted(names) for asked, names in self.served.items()}
        return {"of": _stamp(path), "models": sorted(self.models), "served": served}

    def _load(self, path: Path) -> bool:
        found = (
            _Index.kept(beside(path), _stamp(path))
            if path.stat().st_size > spool.HELD
            else None
        )
        if found is not None:
            self._index, self.models, self.served = found
        return found is not None


def beside(path: Path) -> Path:
    """The file that holds the index of a journal."""
    return path.with_name(f".{path.name}.index")


def _stamp(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns]


class _Index:
    """Key -> place, in a database that ends with the process."""

    def __init__(self) -> None:
        self.whole = True
        # A database without a name is a temporary file that is gone with the process,
        # however that ends. Nothing in it needs to outlive a crash, so it is spared all
        # that keeps one safe.
        self._database = sqlite3.connect(
            "", isolation_level=None, check_same_thread=False
        )
        weakref.finalize(self, self._database.close)
        for setting in (
            "journal_mode = OFF",
            "synchronous = OFF",
            f"cache_size = -{_CACHE}",
            "temp_store = FILE",
        ):
            self._database.execute(f"PRAGMA {setting}")
        self._execute(_TABLE)

    @classmethod
    def kept(
        cls, file: Path, stamp: list[int]
    ) -> tuple[_Index, set[str], dict[str, set[str]]] | None:
        """The index in a file, with the models that had answered and what servers call them; None
        without one that was made of this journal."""
        if not file.is_file():
            return None
        index = cls.__new__(cls)
        try:
            with contextlib.closing(
                sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
            ) as copy:
                about: Any = json_value(
                    copy.execute("SELECT about FROM journal").fetchone()[0]
                )
                # The journal was written to since, perhaps by hand: places of the copy
                # may lie in the middle of other lines.
                if about["of"] != stamp:
                    return None
                cls.__init__(index)
                copy.backup(index._database)
                index._execute("DROP TABLE journal")
            served = {
                asked: set(map(str, names))
                for asked, names in about.get("served", {}).items()
            }
            return index, set(map(str, about["models"])), served
        except (
            sqlite3.Error,
            Unreadable,
            LookupError,
            TypeError,
            AttributeError,
        ):  # damaged, or another program's
            return None

    def keep(self, file: Path, about: Mapping[str, Any]) -> None:
        """Write a copy in one step."""
        # Written beside and then given its name, so that nobody ever reads half of one.
        temporary = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            self._database.execute("CREATE TABLE journal (about TEXT)")
            self._database.execute(
                "INSERT INTO journal VALUES (?)", [json.dumps(about)]
            )
            self._database.execute("VACUUM INTO ?", [str(temporary)])
            temporary.chmod(0o600)
            temporary.replace(file)
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("DROP TABLE IF EXISTS journal")
            temporary.unlink(missing_ok=True)

    def put(self, places: list[tuple[Key, Place]]) -> None:
        rows = [(_mark(key), *place) for key, place in places]
        try:
            with self._database:
                self._database.executemany(
                    "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", rows
                )
        except sqlite3.Error as error:
            self.whole = False  # it lacks what the journal has, and is not to be kept
            raise _refused(error) from None

    def get(self, key: object) -> Place | None:
        row = self._execute(
            "SELECT start, length, open FROM places WHERE key = ?", _mark(key)
        ).fetchone()
        return None if row is None else Place(row[0], row[1], bool(row[2]))

    def in_order(self) -> Iterator[tuple[int, int]]:
        return iter(self._execute("SELECT start, length FROM places ORDER BY start"))

    def __len__(self) -> int:
        return int(self._execute("SELECT count(*) FROM places").fetchone()[0])

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise _refused(error) from None


def _mark(key: object) -> bytes:
    """Sixteen bytes that stand for a key."""
    return blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _refused(error: Exception) -> StorageError:
    return refused(Path(tempfile.gettempdir()) / "(the index of the journal)", error)


def read_records(path: Path, record: type[L]) -> Iterator[L]:
    """The records of a file that only grows, in its order. Raises DataError naming file and
    line."""
    return (each for _, _, each in placed_records(path, record))


def placed_records(path: Path, record: type[L]) -> Iterator[tuple[int, int, L]]:
    """The records of `read_records`, each with the byte at which its line begins and the length of
    the line."""
    what, hint = _RECORDS[record.__name__]
    for number, start, line in placed_lines(path):
        try:
            yield start, len(line), record.model_validate_json(line)
        except ValidationError as error:
            raise DataError(
                f"{path}:{number}: not {what} ({first_problem(error)}). Delete the line {hint}."
            ) from None
