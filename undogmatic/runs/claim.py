"""Locks a run's folder: one process claims it before anything in it is touched, and lets it go at
the end.

A folder of a command's own is made exclusively, so that commands of the same second never share
one. A lock in it keeps other processes out, also from the jobs of a running sweep; it dies with its
process. A folder in which nothing was judged is taken away again.

Imported by the Hydra entry point, so it stays light.
"""

import contextlib
import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from undogmatic.errors import ConfigError, StorageError, UndogmaticError
from undogmatic.runs.folder import JOURNAL, SWEEP_MANIFEST
from undogmatic.safety import files
from undogmatic.safety.command import ERROR_FILE, SWEEP_FOLDER, as_typed
from undogmatic.safety.files import refused

LOCK = ".lock"  # in a claimed folder

_TRIES = 100


@dataclass
class _Claim:
    """A folder of this process: its lock, and the folders that were made for it, the uppermost
    first."""

    folder: Path
    lock: FileLock
    made: list[Path] = field(default_factory=list)


_held: dict[Path, _Claim] = {}


def claim(folder: Path, fresh: bool = False) -> Path:
    """Make a folder this process's own until `let_go`; claiming it again changes nothing.

    It is a run's or a sweep's, made if it is not there, and returned. Where it shall be `fresh` and
    another command has taken it, it is `folder`-2, -3, ...

    Raises:
        ConfigError: Another process is at work in it, or it is a file.
        StorageError: It cannot be made or written.
    """
    made = None
    places = itertools.chain(
        [folder],
        (folder.with_name(f"{folder.name}-{n}") for n in itertools.count(2)),
    )
    while made is None:
        chosen = next(places)
        if chosen.resolve() in _held and not fresh:
            return chosen
        made = _make(chosen, fresh)
    if fresh:  # outputs/DATE/TIME: whoever leaves it empty takes it away
        made = [*reversed([part for part in chosen.parents[:2] if part.name]), chosen]
    try:
        # The lock dies with the process. A mark in a file would stay behind a kill, and
        # nobody would know whether it still counts.
        _held[chosen.resolve()] = _Claim(chosen, _locked(chosen), made)
    except UndogmaticError:
        _remove(made)
        raise
    return chosen


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Claim a folder for as long as the context lasts, or for longer if this process has claimed it
    already."""
    # Whoever claimed it first lets it go.
    theirs = folder.resolve() in _held
    claim(folder)
    try:
        yield
    finally:
        if not theirs:
            let_go(folder)


def own() -> Path | None:
    """The folder that this command claimed first: its run's, or its sweep's."""
    return next((each.folder for each in _held.values()), None)


def let_go(folder: Path) -> bool:
    """Give up a claim, and take away what was made for it if nothing was judged. Returns whether
    the folder stays.

    A job of a sweep leaves its folder in any case, as the sweep's report says why it has no result.
    """
    if (claimed := _held.pop(folder.resolve(), None)) is None:
        return folder.is_dir()
    sweep = os.environ.get(SWEEP_FOLDER)
    job = sweep is not None and Path(sweep).resolve() == folder.resolve().parent
    journals = (
        path
        for path in (folder / JOURNAL, *folder.glob("steps/*.jsonl"))
        if path.is_file()
    )
    # Only what this process made may be taken away: a folder that was there belongs to
    # somebody.
    stays = not claimed.made or job or any(path.stat().st_size for path in journals)
    # a job was begun
    stays = stays or any(path.name.isdigit() for path in folder.iterdir())
    if not stays:
        shutil.rmtree(folder, ignore_errors=True)
        _remove(claimed.made[:-1])
    claimed.lock.release()
    return stays


def keep(folder: Path) -> None:
    """Whatever was judged, the folder stays: there is something in it to be read."""
    if found := _held.get(folder.resolve()):
        found.made = []


def leave(folder: Path, why: str, kept: bool) -> bool:
    """Write into a run's folder why it has no result; where that is to be `kept`, the folder stays.
    Whether it could be written: it may be why the run ended."""
    try:
        files.write(folder / ERROR_FILE, why)
    except StorageError:
        return False
    if kept:
        keep(folder)
    return True


def _make(folder: Path, fresh: bool) -> list[Path] | None:
    """Make a folder and those above it. Returns those that were made; None if it shall be fresh and
    is not."""
    made: list[Path] = []
    for attempt in range(_TRIES):
        for part in (*reversed(folder.parents), folder):
            try:
                # One by one and exclusively, so that two commands of the same second
                # never take one folder.
                part.mkdir()
                made.append(part)
            except FileExistsError:
                if part == folder and fresh:
                    return None
                if not part.is_dir():
                    what = f"{as_typed(part)} is a file, so no run can be kept there"
                    raise ConfigError(
                        f"{what}. Choose another hydra.run.dir."
                    ) from None
            except (
                FileNotFoundError
            ) as error:  # another command has just taken away the empty folder above
                if attempt == _TRIES - 1:
                    raise refused(folder, error) from None
                break
            except (OSError, ValueError) as error:
                if part.is_dir():  # a folder above, of which nothing can be made
                    continue
                _remove(made)
                raise refused(part, error) from None
        else:
            return made
    raise AssertionError("the last attempt returns or raises")


def _remove(made: list[Path]) -> None:
    """Take away folders that were made, where they are empty."""
    for part in reversed(made):
        with contextlib.suppress(OSError):
            (part / LOCK).unlink(missing_ok=True)
            part.rmdir()


def _locked(folder: Path) -> FileLock:
    """The folder's lock, acquired, while no sweep that it belongs to is running, nor a job of the
    sweep that it is."""
    above = folder.absolute().parent
    with contextlib.ExitStack() as stack:
        if (
            (above / SWEEP_MANIFEST).is_file()
            and SWEEP_FOLDER not in os.environ
            and above.resolve() not in _held
        ):
            stack.callback(_acquired(above).release)
        lock = _acquired(folder)
        try:
            for path in (*folder.glob("*"), *folder.glob("*/*")):
                # A folder may be anybody's. Opening a pipe in it would wait for a
                # reader that never comes.
                if not path.is_file() and not path.is_dir() and path.exists():
                    what = (
                        f"{as_typed(path)} is a pipe, a socket or a device, not a file"
                    )
                    way = "Remove it, or choose another folder for the run"
                    raise ConfigError(
                        f"{what}; writing to it could wait for ever. {way}."
                    )
            if (folder / SWEEP_MANIFEST).is_file():
                # A sweep may not be continued while one of its jobs is still at work in
                # another process.
                for job in folder.iterdir():
                    if job.name.isdigit() and (job / LOCK).is_file():
                        _acquired(job).release()
        except BaseException:
            lock.release()
            raise
    return lock


def _acquired(folder: Path) -> FileLock:
    # Readable by others, writable by the owner: for a file that others may write, filelock tries
    # the folder out first.
    lock = FileLock(folder / LOCK, mode=0o644, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        way = "Wait for it, or leave run.resume out to start anew."
        raise ConfigError(
            f"another process is at work in {as_typed(folder)}. {way}"
        ) from None
    except (OSError, NotImplementedError) as error:
        raise refused(folder / LOCK, error) from None
    return lock
