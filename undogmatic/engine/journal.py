"""The journal: judgments are appended as they come, so that a killed run loses nothing that was paid for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from filelock import FileLock, Timeout
from pydantic import ValidationError

from undogmatic.errors import ConfigError, DataError
from undogmatic.records import RETRIED_ON_RESUME, Failure, Judgment


class Journal:
    """One JSON line per judgment, in the order in which they were made.

    A line is handed to the operating system as soon as it is written, so that killing the process loses at most the
    line being written; a torn last line is cut off when the journal is opened again.

    Args:
        path: The file; created, or continued if it exists. None keeps the judgments in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.done: dict[tuple[str, int], Judgment] = {}
        if path is not None and path.exists():
            _cut_torn_line(path)
            self.done = last_judgments(path)
        self._file: IO[str] | None = None

    def settled(self, item_id: str, repeat: int) -> Judgment | None:
        """The judgment to keep for this item, or None if it is still to be made (or failed for want of a server)."""
        judgment = self.done.get((item_id, repeat))
        if judgment is None:
            return None
        outcome = judgment.outcome
        if isinstance(outcome, Failure) and outcome.reason in RETRIED_ON_RESUME:
            return None
        return judgment

    def append(self, judgment: Judgment) -> None:
        """Write one judgment; a later judgment of the same item and repeat replaces an earlier one when read."""
        if self.path is not None:
            assert self._file is not None, "append is for use inside `with journal`"
            self._file.write(judgment.model_dump_json() + "\n")
            self._file.flush()
        self.done[judgment.item_id, judgment.repeat] = judgment

    def __enter__(self) -> Journal:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise ConfigError(
                    f"another process is writing {self.path}; wait for it, or leave run.resume out to start anew."
                ) from None
            self._file = self.path.open("a", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
        self._lock.release()


def read_journal(path: Path) -> Iterator[Judgment]:
    """The judgments of a journal, in file order. Raises DataError naming file and line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield Judgment.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"]))
                raise DataError(
                    f"{path}:{number}: not a judgment ({place + ': ' if place else ''}{first['msg']}). "
                    "Delete the line to have its item judged again."
                ) from None


def last_judgments(path: Path) -> dict[tuple[str, int], Judgment]:
    """The judgment that counts per item and repeat: the last one, since a resumed run asks again what got no answer."""
    return {(judgment.item_id, judgment.repeat): judgment for judgment in read_journal(path)}


def _cut_torn_line(path: Path) -> None:
    """Remove an incomplete last line, left by a kill in the middle of a write."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        end = data.rfind(b"\n") + 1
        try:
            json.loads(data[end:])
        except ValueError:
            with path.open("r+b") as file:
                file.truncate(end)
        else:
            with path.open("ab") as file:
                file.write(b"\n")
