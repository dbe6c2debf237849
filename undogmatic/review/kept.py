"""Keeps the labels of several people in one file, whichever processes write to it at once.

A lock beside the file lets one process write at a time. Before it writes, it reads what others
have written since: their rows stay, and so do columns that it does not know. A label of an item
that the rater has not labelled yet is added at the end; for another answer the file is written
anew in one step. A label that is taken back leaves a row without one, so that no other process
takes its absence for a loss.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from filelock import FileLock, Timeout

from undogmatic.datasets.by_row import MARK, SHEET, SHOWN, WHEN
from undogmatic.datasets.rows import MARKS, csv_rows
from undogmatic.errors import DataError, StorageError
from undogmatic.safety import files

COLUMNS = ("item", "rater", "label", "comment", WHEN, MARK, SHOWN)
# to wait for another process, which holds the lock for as long as it writes one label
SECONDS = 20
Row = dict[str, str]
Key = tuple[str, str]
"""An item as the table has it now, and who labelled it."""
Find = Callable[[Sequence[Row]], Sequence[str | None]]
"""Finds the item of each row of the file in the table that is labelled; None where it is lost."""


class Kept(NamedTuple):
    """The rows of the file in their order, the row that counts for each item and rater, the places
    of all, and how many labels have lost their texts."""

    rows: list[Row]
    by_key: dict[Key, Row]
    places: list[str]
    lost: int


class LabelFile:
    """A file of labels that other processes may write to as well."""

    def __init__(self, path: Path, find: Find) -> None:
        self.path, self.find = path.resolve(), find  # the file itself, not a link to it
        self.columns: list[str] = list(COLUMNS)
        self.kept = Kept([], {}, [], 0)
        self._mine: dict[Key, Row] = {}  # what this process wrote
        self._seen: tuple[int, ...] | None = None
        self._as_ours = False  # whether a line can be added to it as it stands
        self.read()

    def read(self) -> None:
        """Read what is in the file, unless nobody has written to it since. Raises DataError where
        it is another kind of file."""
        state = self._state()
        if state == self._seen and state is not None:
            return
        rows, places = self._rows() if state is not None else ([], [])
        found = self.find(rows)
        by_key = {
            (item, row["rater"]): row
            for item, row in zip(found, rows, strict=True)
            if item is not None
        }
        self.kept = Kept(rows, by_key, places, sum(item is None for item in found))
        self._seen = state

    def keep(self, item: str, row: Row) -> Row | None:
        """Write a label of an item; the row of the same rater that it takes the place of. Raises
        StorageError, and DataError where the file is no file of labels any more."""
        key = item, row["rater"]
        with self._locked():
            self.read()
            before = self.kept.by_key.get(key)
            # Another program that held an older state of the file may have saved it over ours.
            gone = [
                own
                for known, own in self._mine.items()
                if known not in self.kept.by_key
            ]
            if before is None and not gone and self._as_ours:
                with files.Log(self.path) as log:
                    log.add(self._line(row))
                self.kept.rows.append(row)
                self.kept.by_key[key] = row
            else:
                # what others wrote in columns of their own stays
                row = (before or {}) | row
                rows = [row if each is before else each for each in self.kept.rows]
                self._write([*rows, *gone, *([row] if before is None else [])])
                self._seen = None
                self.read()
            self._seen = self._state()
            self._mine[key] = row
        return before

    def _rows(self) -> tuple[list[Row], list[str]]:
        lines = csv_rows(self.path, MARKS)
        header = next(lines, None)
        if header is None:
            self.columns, self._as_ours = list(COLUMNS), False
            return [], []
        names = [name.strip() for name in header.cells]
        if not set(names) >= SHEET:
            way = "It is no file of labels that this command wrote. Name another with --out"
            raise DataError(
                f"{self.path}:1: the columns are {', '.join(names[:8])}. {way}."
            )
        rows, places = [], []
        for line in lines:
            if len(line.cells) > len(names):
                what = f"{len(line.cells)} cells, and the file has {len(names)} columns"
                raise DataError(f"{self.path}:{line.first}: {what}.")
            # A row that somebody typed may end early.
            cells = [files.as_written(cell) for cell in line.cells]
            row = dict.fromkeys([*names, *COLUMNS], "") | dict(
                zip(names, cells, strict=False)
            )
            rows.append(row)
            places.append(f"{self.path}:{line.first}")
        self.columns = [*names, *(name for name in COLUMNS if name not in names)]
        usual = names == self.columns and header.mark == ","
        self._as_ours = usual and files.ends_whole(self.path)
        return rows, places

    def _write(self, rows: Sequence[Row]) -> None:
        mode = files.OWN
        # colleagues who may read and write it shall go on to
        with contextlib.suppress(OSError):
            mode = self.path.stat().st_mode & 0o777
        files.write(self.path, self._text(rows), mode)

    def _line(self, row: Row) -> str:
        return self._text([row], header=False).rstrip("\r\n")

    def _text(self, rows: Sequence[Row], header: bool = True) -> str:
        cells = [[row.get(name, "") for name in self.columns] for row in rows]
        frame = pd.DataFrame(cells, columns=self.columns, dtype=object)
        return files.csv(frame, header)

    def _state(self) -> tuple[int, ...] | None:
        """What is another after every write to the file; None without it."""
        try:
            told = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise files.refused(self.path, error) from None
        return told.st_ino, told.st_dev, told.st_size, told.st_mtime_ns

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        place = self.path.with_name(f".{self.path.name}.lock")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(place, thread_local=False)
            lock.acquire(timeout=SECONDS)
            # another user of the machine may have made it
            with contextlib.suppress(OSError):
                place.chmod(files.ALL)
        except Timeout:
            way = "Label the item again; if that does not help, end the other command"
            what = f"another process has held {place} for {SECONDS} seconds"
            raise StorageError(
                f"{self.path} cannot be written ({what}). {way}."
            ) from None
        except (OSError, NotImplementedError) as error:
            raise files.refused(place, error) from None
        try:
            yield
        finally:
            lock.release()
