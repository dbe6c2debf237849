"""Keeps what a command writes apart from what it reads, so that no table, card or run is written
over by its own answer.

Two names may lead to one file: by a symbolic link, a hard link, `./`, or other capitals where
the disk does not tell them apart. The disk itself is asked whether they do.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from undogmatic.errors import ConfigError

FOLDERS = ("figures", "tables")
"""Folders of a report, in which every file may be written."""
PAGES = ("report.html", "report.md")
READ = (
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".parquet",
    ".xlsx",
    ".ods",
    ".eval",
    ".yaml",
    ".yml",
)
"""Kinds of files that a folder is read for. Which of them matter is known to its reader alone,
so none is written over; a page or an XML file in it is no part of what is read, and may be made
anew."""


class Named(NamedTuple):
    """A file or folder, and the option that names it, as it is typed ("--card"). Where the
    option names a folder in which the file lies, `typed` is that folder."""

    option: str
    path: Path
    typed: Path | None = None


def named(
    option: str,
    paths: Iterable[str | Path] | str | Path | None,
    typed: Path | None = None,
) -> list[Named]:
    """What an option names; nothing where it was not typed."""
    several = [paths] if isinstance(paths, str | Path) else paths or ()
    return [Named(option, Path(path), typed) for path in several if str(path)]


def in_settings(words: Iterable[str]) -> list[Named]:
    """The files that settings name: `model.path=FILE`, `prompt=@FILE`."""
    found = []
    for word in words:
        key, _, value = word.partition("=")
        value = value.removeprefix("@")
        if value and os.path.lexists(value):
            found.append(Named(key, Path(value)))
    return found


def keep_apart(read: Sequence[Named], written: Sequence[Named]) -> None:
    """Raise ConfigError where a file that a command is to write is one that it reads, or is one
    that another of its options writes; and where the shell sends what is printed into a file that
    is read.

    A new file may be added to a folder that is read; what is there already is written over only
    where it is neither of a kind that is READ nor a report."""
    for number, target in enumerate(written):
        for other in read:
            if other.path.exists() and same(target.path, other.path):
                _refuse(target, other, "which is read")
            if (
                other.path.is_dir()
                and _within(target.path, other.path)
                and _matters(target.path)
            ):
                _refuse(
                    target, other, "a folder that is read, and has this file already"
                )
        for other in written[:number]:
            if other.option != target.option and same(target.path, other.path):
                _refuse(target, other, "which is written too")
    for other in read:
        if _is_printed_to(other.path):
            what = (
                f"what is printed goes into {other.path}, and {other.option} is the same, which is"
                " read"
            )
            way = (
                "The shell empties a file behind `>` before the command begins: look whether yours"
                " is still whole"
            )
            raise ConfigError(
                f"{what}. {way}. Then send the output elsewhere: > {free(other.path)}"
            )


def inside(read: Sequence[Named]) -> None:
    """Raise ConfigError for what lies outside of the folder in which the command was started, where
    a link leads there, too. A run that lies in MLflow's store (`mlflow:RUN`) is no file."""
    here = Path.cwd()
    for each in read:
        place = Path(os.path.realpath(each.path.expanduser()))
        if not str(each.path).startswith("mlflow:") and not place.is_relative_to(
            here.resolve()
        ):
            raise ConfigError(
                f"{each.option} is {str(each.path)!r}, which lies outside of {here}, and nothing"
                " else is read here. Start it in a folder that holds it."
            )


def report_files(folder: Path, read: Sequence[Named], option: str) -> list[Named]:
    """What a report in a folder may write over: its pages, and whatever is read from its other
    folders. A folder that is read itself, such as that of a run, has a report of its own. Raises
    ConfigError for what is a file."""
    if folder.is_file():
        way = f"Name a folder, e.g. {option} {folder.stem or 'report'}-report"
        raise ConfigError(
            f"{option} is {str(folder)!r:.200}, which is a file, and a report is a folder. {way}."
        )
    pages = [folder / name for name in PAGES]
    inside = [
        each.path
        for each in read
        if any(_within(each.path, folder / part) for part in FOLDERS)
    ]
    itself = [folder for each in read if each.path.is_dir() and same(folder, each.path)]
    return named(option, [*itself, *pages, *inside], folder)


def same(one: Path, other: Path) -> bool:
    """Whether two names lead to one file or folder, there already or not."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        pass
    try:
        return one.resolve() == other.resolve()
    # a circle of links, or no name of a file at all
    except (OSError, RuntimeError, ValueError):
        return False


def free(path: Path) -> Path:
    """The name of a file beside this one that is not taken."""
    return next(each for each in _beside(path) if not os.path.lexists(each))


def _beside(path: Path) -> Iterator[Path]:
    number = 2
    while True:
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1


def _within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def _matters(path: Path) -> bool:
    return os.path.lexists(path) and (path.suffix.lower() in READ or path.name in PAGES)


def _refuse(target: Named, other: Named, why: str) -> None:
    """Raise ConfigError that names both options and a file that is free."""
    alike = os.path.normpath(target.path) == os.path.normpath(other.path)
    what = (
        f"{target.option} is {target.path}, and {other.option} is"
        f" {'the same' if alike else other.path}, {why}"
    )
    way = f"Name another: {target.option} {free(target.typed or target.path)}"
    # where it is written is not for the user to choose
    if not target.option.startswith("-"):
        mark = "=" if "." in other.option else " "
        way = (
            "Copy that file, and name the copy: "
            f"{other.option}{mark}{free(Path(other.path.name))}"
        )
    raise ConfigError(f"{what}. One would be written over the other. {way}")


def _is_printed_to(path: Path) -> bool:
    """Whether standard output goes into this very file."""
    try:
        printed = os.fstat(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
        there = path.stat()
    except (OSError, ValueError):  # closed, or no file of the system's
        return False
    return path.is_file() and os.path.samestat(printed, there)
