"""Keeps what is too much for memory in files without a name, which end with the process.

Up to HELD records stay in memory, as a list, and no more than take about HELD_BYTES. More of them
lie in a file: a record is written when it comes and read when it is asked for, and only the places
where records begin are held (eight bytes each).
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from pydantic_core import from_json, to_json

from undogmatic.errors import DataError
from undogmatic.safety.files import refused

T = TypeVar("T")
# records that may stay in memory, and what these may take there
HELD = 10_000
HELD_BYTES = 64_000_000
_BUFFER = 1 << 20  # bytes that are gathered before they are written
# bytes behind what was read, within which a place counts as the next one
_NEAR = 1 << 14


class _Stored(Sequence[T]):
    """What its `_read` finds at a place, for every place; a slice is a View."""

    def _read(self, place: int) -> T:
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return View(self, range(len(self))[place])
        return self._read(range(len(self))[place])

    def __iter__(self) -> Iterator[T]:
        return map(self._read, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        both = zip(self, other, strict=True)
        return all(one == another for one, another in both)

    __hash__ = None  # type: ignore[assignment]


class View(_Stored[T]):
    """Some records of a sequence that reads them when they are asked for, in an order of its
    own."""

    def __init__(self, whole: Sequence[T], places: Sequence[int]) -> None:
        self._whole, self._places = whole, places

    def __len__(self) -> int:
        return len(self._places)

    def _read(self, place: int) -> T:
        return self._whole[int(self._places[place])]

    def __iter__(self) -> Iterator[T]:
        if isinstance(self._whole, Spool):
            return self._whole.at(self._places)
        return super().__iter__()


def many(records: object) -> bool:
    """Whether the records are read when they are asked for, because there are so many."""
    return isinstance(records, _Stored)


def nameless() -> tuple[Any, Path]:
    """A file that ends with the process (whoever uses it closes it), and how messages call it.
    Raises StorageError."""
    try:
        file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        return file, Path(tempfile.gettempdir()) / "(a file of this run)"
    except OSError as error:
        raise refused(Path(tempfile.gettempdir()), error) from None


class Spool(_Stored[T]):
    """Records in a file without a name; `write` and `read` turn one into a value of JSON and back.
    Raises StorageError."""

    def __init__(self, write: Callable[[T], Any], read: Callable[[Any], T]) -> None:
        self._write, self._decode = write, read
        self._ends = array("Q", [0])
        self._waiting, self._written = bytearray(), 0
        self._file, self._path = nameless()
        weakref.finalize(self, self._file.close)

    def append(self, record: T) -> None:
        """Add a record behind the others."""
        self.add(to_json(self._write(record)))
        self._ends.append(self.size)

    def add(self, content: bytes) -> None:
        """Add bytes that are no record."""
        self._waiting += content
        if len(self._waiting) > _BUFFER:
            self._flush()

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._written + len(self._waiting)

    def raw(self, start: int, length: int) -> bytes:
        """The bytes at a place."""
        if self._waiting:
            self._flush()
        return os.pread(self._file.fileno(), length, start)

    def _flush(self) -> None:
        try:
            while self._waiting:
                done = self._file.write(self._waiting) or 0
                self._written += done
                del self._waiting[:done]
        except OSError as error:
            raise refused(self._path, error) from None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def _read(self, place: int) -> T:
        start = self._ends[place]
        return self._decode(from_json(self.raw(start, self._ends[place + 1] - start)))

    def __iter__(self) -> Iterator[T]:
        return self.at(range(len(self)))

    def at(self, places: Sequence[int]) -> Iterator[T]:
        """The records at these places. As long as they go forwards, more and more of the file is
        read at once, up to a megabyte; a place elsewhere is read alone."""
        ends, content = self._ends, b""
        # the bytes that `content` holds, and how many more to read
        start = behind = ahead = 0
        for place in map(int, places):
            begin, end = ends[place], ends[place + 1]
            if not start <= begin <= end <= behind:
                # Read ahead only where the places go on: of records that are drawn here
                # and there, a megabyte for each would be read for nothing.
                goes_on = behind <= begin <= behind + _NEAR
                ahead = min(2 * max(ahead, _NEAR), _BUFFER) if goes_on else 0
                start, behind = begin, min(max(end, begin + ahead), ends[-1])
                content = self.raw(start, behind - start)
            yield self._decode(from_json(content[begin - start : end - start]))


class _Again(_Stored[T]):
    def __init__(self, source: Callable[[], Iterable[T]], length: int) -> None:
        self._source, self._length = source, length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return iter(self._source())

    def _read(self, place: int) -> T:
        return next(islice(self._source(), place, None))


def again(source: Callable[[], Iterable[T]]) -> Sequence[T]:
    """What a source yields: a list where it is little (HELD), else read anew whenever it is gone
    through."""
    coming = iter(source())
    first = list(islice(coming, HELD + 1))
    if len(first) <= HELD:
        return first
    length = len(first)
    first.clear()
    return _Again(source, length + sum(1 for _ in coming))


class Blocks:
    """Pieces of bytes of one size, in a file without a name."""

    def __init__(self, size: int) -> None:
        self._size, self._spool = size, Spool[bytes](bytes, bytes)

    def append(self, block: bytes) -> None:
        """Add a block behind the others."""
        self._spool.add(block)

    def at(self, place: int) -> bytes:
        """The block at a place."""
        return self._spool.raw(place * self._size, self._size)

    def parts(self) -> Iterator[bytes]:
        """All blocks in their order, some megabytes at a time."""
        step = self._size * max(1, (4 << 20) // self._size)
        return (
            self._spool.raw(start, step) for start in range(0, self._spool.size, step)
        )


class Lines:
    """Lines of a file that only grows, each read at the place where it begins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise DataError(
                f"{path}: cannot be read ({error.strerror or error})."
            ) from None
        weakref.finalize(self, os.close, self._file)

    def at(self, start: int, length: int) -> bytes:
        """The bytes from `start` on. Raises DataError."""
        try:
            return os.pread(self._file, length, start)
        except OSError as error:
            raise DataError(
                f"{self.path}: cannot be read ({error.strerror or error})."
            ) from None


class Placed(_Stored[T], Generic[T]):
    """Records of which only the places in a file are held: `read` gets start and length. Some are
    held themselves."""

    def __init__(self, read: Callable[[int, int], T]) -> None:
        self._at = read
        self._starts, self._lengths = array("Q"), array("I")
        self._held: dict[int, T] = {}

    def append(self, start: int, length: int) -> None:
        """Add the record that stands there."""
        self._starts.append(start)
        self._lengths.append(length)

    def hold(self, record: T) -> None:
        """Add a record that stands nowhere."""
        self._held[len(self._starts)] = record
        self.append(0, 0)

    def __len__(self) -> int:
        return len(self._starts)

    def _read(self, place: int) -> T:
        if place in self._held:
            return self._held[place]
        return self._at(self._starts[place], self._lengths[place])


def _weight(value: Any, seen: set[int]) -> int:
    """About how many bytes the texts in a value of JSON take, without those that were `seen`."""
    if isinstance(value, str):
        # Many records share one text, as the rubric in each request; it stands in
        # memory once.
        known = id(value) in seen
        seen.add(id(value))
        return 0 if known else len(value)
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return sum(_weight(part, seen) for part in parts)


def gathered(
    records: Iterable[T], write: Callable[[T], Any], read: Callable[[Any], T]
) -> Sequence[T]:
    """The records, in memory where they are few (HELD) and short (HELD_BYTES), else in a file, read
    when asked for."""
    if isinstance(records, list) or many(records):
        return records  # type: ignore[return-value]
    source, first, size, seen = iter(records), list[T](), 0, set[int]()
    for record in source:
        first.append(record)
        size += _weight(write(record), seen)
        if len(first) > HELD or size > HELD_BYTES:
            break
    else:
        return first
    spool = Spool(write, read)
    for record in first:
        spool.append(record)
    first.clear()
    for record in source:
        spool.append(record)
    return spool


class _Mapped(_Stored[T]):
    def __init__(self, change: Callable[[Any], T], records: Sequence[Any]) -> None:
        self._change, self._records = change, records

    def __len__(self) -> int:
        return len(self._records)

    def _read(self, place: int) -> T:
        return self._change(self._records[place])

    def __iter__(self) -> Iterator[T]:
        return map(self._change, self._records)


def mapped(change: Callable[[Any], T], records: Sequence[Any]) -> Sequence[T]:
    """What is made of each record: a list of a list, else made when it is asked for."""
    return (
        [change(record) for record in records]
        if not many(records)
        else _Mapped(change, records)
    )


def chosen(records: Sequence[T], places: Sequence[int] | Any) -> Sequence[T]:
    """The records at these places, in their order: a list of a list, else a view."""
    return (
        [records[place] for place in places]
        if not many(records)
        else View(records, places)
    )
