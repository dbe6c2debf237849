"""One fault of the disk at each place where a command writes, as SQLite is tested.

A command runs in a forked child, whose writes are counted: each file opened to be written, each
block written to one, each folder made, each file renamed, each statement that a database is given.
From the n-th on the disk is full, or the n-th is forbidden, or the process is killed there.
Whatever opens, renames and makes folders in Python passes the interpreter's audit hooks, so
libraries' writes count as well as our own.
"""

import builtins
import errno
import io
import os
import sqlite3
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

NONE, FULL, FORBIDDEN, KILLED = "none", "full", "forbidden", "killed"
KILL_STATUS = 9
_ERRNO = {FULL: errno.ENOSPC, FORBIDDEN: errno.EACCES}
_WRITES = ("open", "os.mkdir", "os.rename", "os.truncate")


class Ended(NamedTuple):
    """How a command ended: its status, what it printed to stderr, and what it wrote where, in
    order."""

    status: int
    stderr: str
    places: list[str]


class _Faulty:
    """Counts writes below a folder, and lets one fail."""

    def __init__(self, below: Path, fault: str, at: int, log: Any) -> None:
        self.below, self.fault, self.at, self.log = str(below), fault, at, log
        self.count = 0
        self.quiet = False
        self.last = ("", "")

    def reached(self, what: str, path: object) -> None:
        """One more write."""
        name = (
            os.path.abspath(os.fsdecode(path))
            if isinstance(path, str | bytes | os.PathLike)
            else self.below
        )
        if (
            self.quiet
            or not name.startswith(self.below)
            or (what, name) == self.last == ("open", name)
        ):
            return  # `open` with an opener passes the hook twice
        self.last = what, name
        self.count += 1
        os.write(self.log, f"{what} {os.path.relpath(name, self.below)}\n".encode())
        if self.fault == KILLED and self.count == self.at:
            os._exit(KILL_STATUS)
        if (self.fault == FORBIDDEN and self.count == self.at) or (
            self.fault == FULL and self.count >= self.at
        ):
            number = _ERRNO[self.fault]
            raise OSError(number, os.strerror(number), name)

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook."""
        if event not in _WRITES or (event == "open" and isinstance(arguments[0], int)):
            return
        if event == "os.mkdir" and os.path.isdir(arguments[0]):
            return  # which nothing is written for
        if event == "open":
            flags = arguments[2]
            if isinstance(flags, int) and flags & (
                os.O_WRONLY | os.O_RDWR | os.O_CREAT
            ):
                self.reached("open", arguments[0])
        else:
            self.reached(event, arguments[1] if event == "os.rename" else arguments[0])


def _counting_writes(faulty: _Faulty) -> None:
    """Also count the blocks that are written to files, and the statements that a database is
    given."""
    plain = io.open

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        found = plain(file, mode, *rest, **named)
        if isinstance(file, int) or not set(mode) & set("wax+"):
            return found
        return _Written(found, faulty, file)

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *rest: Any) -> Any:
            if statement.lstrip()[:6].upper() in (
                "INSERT",
                "CREATE",
                "UPDATE",
                "DELETE",
            ):
                try:
                    faulty.reached("sqlite", faulty.below)
                except OSError as error:
                    raise sqlite3.OperationalError(str(error.strerror)) from None
            return super().execute(statement, *rest)

    builtins.open = io.open = opened  # type: ignore[assignment]
    connect = sqlite3.connect
    sqlite3.connect = lambda *rest, **named: connect(
        *rest, **({"factory": Connection} | named)
    )  # type: ignore[assignment]


class _Written:
    """A file whose writes are counted."""

    def __init__(self, file: Any, faulty: _Faulty, path: Any) -> None:
        self._file, self._faulty, self._path = file, faulty, path

    def write(self, content: Any) -> Any:
        self._faulty.reached("write", self._path)
        return self._file.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __iter__(self) -> Any:
        return iter(self._file)

    def __enter__(self) -> Any:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)


def run(words: Sequence[str], folder: Path, fault: str = NONE, at: int = 0) -> Ended:
    """Run `undogmatic WORDS` in a child, in `folder`, with a fault at its `at`-th write below that
    folder."""
    from undogmatic.cli import main

    return forked(lambda: main(list(words)), folder, fault, at)


def forked(
    entered: Callable[[], object], folder: Path, fault: str = NONE, at: int = 0
) -> Ended:
    """See `run`; `entered` is what the child does."""
    said, places = (
        folder.parent / f"{folder.name}.said",
        folder.parent / f"{folder.name}.places",
    )
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = _entered(entered, folder, said, places, fault, at)
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    return Ended(
        os.waitstatus_to_exitcode(ended),
        said.read_text(errors="replace"),
        places.read_text().splitlines(),
    )


def _entered(
    entered: Callable[[], object],
    folder: Path,
    said: Path,
    places: Path,
    fault: str,
    at: int,
) -> int:
    log = os.open(places, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    os.chdir(folder)
    faulty = _Faulty(folder, fault, at, log)
    _counting_writes(faulty)
    sys.addaudithook(faulty.heard)
    status = 0
    try:
        entered()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 98
    faulty.quiet = True
    sys.stdout.flush()
    sys.stderr.flush()
    return status
