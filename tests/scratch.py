"""Keeps what tests write in memory, where the machine has a file system there.

Runs are written so that a power cut loses nothing: each file is flushed to the disk, and so is each
entry of MLflow's database. On a disk that takes 8 to 30 ms each time, thousands of times in all
tests, and the processor waits for it. In memory it takes none. The first process of the tests makes
the folder, which the workers and the commands inherit as their place for temporary files, and
removes it at the end. Who wants to look at what a failed test has left names another place:
`TMPDIR=/tmp pytest ...`.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
PREFIX = "undogmatic-"  # short, for names of sockets
LOCK = "in-use"
ROOM = 4 * 2**30
"""Bytes that must be free: a model of 250 MB is put together several times."""


def fits(place: Path) -> bool:
    """Whether tests can be done in a folder: it has room, and what lies in it may be executed."""
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        return False
    about = os.statvfs(place)
    return about.f_bavail * about.f_frsize >= ROOM and not about.f_flag & os.ST_NOEXEC


def made(place: Path) -> Path:
    """A new folder in a place, locked as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    lock = os.open(folder / "new", os.O_CREAT | os.O_WRONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(folder / "new", folder / LOCK)  # nobody sees it unlocked
    return folder


def swept(place: Path) -> None:
    """Remove the folders of tests that were killed: their locks are free."""
    for lock in place.glob(f"{PREFIX}*/{LOCK}"):
        # another user's, or one that is being removed
        with contextlib.suppress(OSError):
            found = os.open(lock, os.O_WRONLY)
            try:
                fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(found)


_folder: Path | None = None
_owner = os.getpid()


def forget() -> None:
    """Remove the folder, in the process that has made it."""
    if _folder is not None and os.getpid() == _owner:
        shutil.rmtree(_folder, ignore_errors=True)


if "TMPDIR" not in os.environ and fits(MEMORY):
    swept(MEMORY)
    _folder = made(MEMORY)
    os.environ["TMPDIR"] = tempfile.tempdir = str(_folder)
    atexit.register(forget)  # for benchmarks, which use what tests have
