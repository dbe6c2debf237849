"""Writes to disk: whole or not at all, without secrets, and readable for whom it should be.

A file is made beside its place and moved there, so that a kill or a full disk leaves the earlier
file or the new one. What cannot be written stops the run with one message (StorageError); what was
judged by then is kept.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from undogmatic.errors import StorageError
from undogmatic.safety.secrets import scrub

if TYPE_CHECKING:
    import pandas as pd

OWN, ALL = 0o600, 0o666
"""Modes: a file is its owner's alone unless its writer says that it quotes no judged text and is to
be shared; then the user's umask decides."""

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def write(path: Path, text: str | Iterable[str], mode: int = OWN) -> None:
    """Write a text file without secrets in one step; its folder is made. A text that is too long
    for memory comes in parts of whole lines. `mode` is OWN or ALL, or that of the file whose place
    it takes. Raises StorageError.
    """
    parts = (text,) if isinstance(text, str) else text
    write_bytes(path, (scrub(part).encode("utf-8", "replace") for part in parts), mode)


def write_bytes(path: Path, content: bytes | Iterable[bytes], mode: int = OWN) -> None:
    """Write a file that is no text, in one step. Raises StorageError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb", opener=_opener(mode)) as file:
                file.writelines((content,) if isinstance(content, bytes) else content)
                if mode not in (OWN, ALL):
                    os.chmod(temporary, mode)
            temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def csv(frame: pd.DataFrame, header: bool = True) -> str:
    """A table as CSV. A text that a spreadsheet would take for a formula gets an apostrophe in
    front."""
    shown, end = frame.copy(deep=False), "\n"
    for n, kind in enumerate(shown.dtypes):
        if str(kind) in ("object", "str", "string", "category"):
            cells = [
                harmless(cell) if isinstance(cell, str) else cell
                for cell in shown.iloc[:, n]
            ]
            if any(isinstance(cell, str) and "\r" in cell for cell in cells):
                # else the csv module leaves a lone \r unquoted, and the row breaks there
                end = "\r\n"
            shown.isetitem(n, cells)
    return str(shown.to_csv(index=False, lineterminator=end, header=header))


def harmless(cell: str) -> str:
    """The cell with an apostrophe in front if a spreadsheet would run it; `as_written` takes it
    away again."""
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def as_written(cell: str) -> str:
    """The text that `harmless` was given."""
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell


class Log:
    """A file to which lines are appended, each whole: what a full disk cut off is taken back.

    A line is handed to the operating system as soon as it is written, so that killing the process
    loses at most the line being written. The file is created with `mode`, or continued, inside
    `with`. Without a path nothing is kept.
    """

    def __init__(self, path: Path | None, mode: int = OWN) -> None:
        self.path, self.mode = path, mode
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self.path is None:
            return self
        with _writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "ab", buffering=0, opener=_opener(self.mode))
        return self

    def add(self, line: str) -> tuple[int, int]:
        """Write one line without secrets; the byte at which it begins, and its length. Raises
        StorageError; the file then ends with the last whole line."""
        if self.path is None:
            return 0, 0
        assert self._file is not None, "add is for use inside `with log`"
        content = scrub(line).encode("utf-8", "replace") + b"\n"
        with _writing(self.path):
            before, done = os.fstat(self._file.fileno()).st_size, 0
            try:
                while done < len(content):
                    done += self._file.write(content[done:]) or 0
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file.fileno(), before)
                raise
        return before, len(content)

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        file, self._file = self._file, None
        if file is not None and self.path is not None:
            with (
                contextlib.closing(file),
                _writing(self.path) if error is None else contextlib.suppress(OSError),
            ):
                os.fsync(file.fileno())


def make_database(file: Path) -> None:
    """Make an empty file for a database, its owner's alone, where there is none; SQLite gives the
    files beside it the same mode.

    One that exists is never opened: to close it would release the locks of all other connections
    of this process (POSIX), and two that write at once destroy a database. Raises OSError.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWN))
    with contextlib.suppress(PermissionError):  # another one's file
        file.chmod(OWN)


def make_own(path: Path) -> None:
    """Take from others the right to read a file, where it is ours and they have it. Raises
    StorageError."""
    if not hasattr(os, "geteuid"):  # on Windows a file's mode says nothing of others
        return
    with _writing(path):
        if (
            path.is_file()
            and path.stat().st_mode & 0o077
            and path.stat().st_uid == os.geteuid()
        ):
            path.chmod(OWN)


def ends_whole(path: Path) -> bool:
    """Whether a line can be added to a file as it stands: it is not there, is empty, or its last
    line is ended."""
    if not path.is_file() or path.stat().st_size == 0:
        return True
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def check_writable(path: Path) -> None:
    """Raise StorageError where a file could not be written: for what asks and pays before it
    writes."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        temporary.touch()
        temporary.unlink()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Inside, what goes wrong over the file that is written is StorageError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise refused(path, error) from None


def _opener(mode: int):  # type: ignore[no-untyped-def]
    # Opening a pipe would otherwise last until somebody reads from it.
    return lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0), mode)


def refused(path: Path, error: Exception) -> StorageError:
    """What is raised of a file that cannot be written."""
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return StorageError(
        f"{path} cannot be written ({why}). Free space or correct the permissions, then go on."
    )
