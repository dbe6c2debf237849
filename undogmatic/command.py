"""What one command shares between its modules and its processes: the exit status, and how a sweep speaks to its jobs.

It lives apart from `run.py`, because `python -m undogmatic.run` is the module `__main__`: whoever imports
`undogmatic.run` from elsewhere, such as Hydra's callbacks, meets a second copy of it.
"""

from __future__ import annotations

from pathlib import Path

SWEEP_FOLDER = "UNDOGMATIC_SWEEP_FOLDER"  # environment variable: set while a sweep runs, in its workers too
SWEEP_RUN = "UNDOGMATIC_SWEEP_RUN"  # environment variable: the MLflow run that the jobs' runs belong to
ERROR_FILE = "error.txt"  # in a run's folder: why it has no result

_noted: list[int] = []


def note_status(status: int) -> None:
    """The command shall end with at least this exit status."""
    _noted.append(status)


def exit_status() -> int:
    """The highest status noted in this process, 0 if none was."""
    return max(_noted, default=0)


def as_typed(path: Path) -> Path:
    """The path as one would type it here: relative to the working directory if it lies below, else absolute."""
    whole, here = path.absolute(), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else whole
