"""Finds words: the languages of reports, and the file of words beside the module that they are
about.

A class in `mine.py` brings its words in `mine.texts.yaml` beside it: language -> section ->
wordings. The section of an analysis is its `name`, as in the keys of its findings
(`Finding("mine.verdict")` is `en: {mine: {verdict: ...}}`); a dataset's section `names` says what
its conditions are called.
"""

import contextlib
import functools
import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.outside import read_yaml

PACKAGE = Path(__file__).resolve().parents[1]
# The report's own words, one file per language
REPORT_TEXTS = PACKAGE / "report" / "texts"
FALLBACK = "en"

# Language -> the sentence that says under which licence something is used
Licence = Mapping[str, str]


def of_this_project(what: str) -> Licence:
    """The licence of what ships with the package."""
    words = {
        "en": "The model {} is part of this project",
        "pt": "O modelo {} é parte deste projeto",
    }
    return {
        language: f"{text.format(what)} (Apache-2.0)."
        for language, text in words.items()
    }


@runtime_checkable
class Licensed(Protocol):
    """A dataset that says under which licence it is; None where it does not know."""

    @property
    def licence(self) -> Licence | None: ...


@runtime_checkable
class Wraps(Protocol):
    """What speaks with the words of another, such as a dataset that is a part of it."""

    @property
    def words_of(self) -> object: ...


def languages() -> list[str]:
    """The languages that a report can be written in."""
    return sorted(path.stem for path in REPORT_TEXTS.glob("*.yaml"))


def of_terminal() -> str:
    """The language of the terminal, where the program speaks it; else English."""
    named = next(
        filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), ""
    )
    spoken = re.split(r"[_.@-]", named)[0].lower()
    return spoken if spoken in languages() else FALLBACK


def translated(path: Path, language: str) -> Mapping[str, str]:
    """A file's translations of sentences that stand in English where they are used: each of them,
    and what it is in this language; {} for English. Raises ConfigError as `read`."""
    return read(path).get(language, {}).get("help", {})


def texts_noted(path: str) -> Path:
    """The file of words that a run noted under this path; that of this package where the run's has
    moved or is gone."""
    noted = Path(path)
    if noted.is_file() or PACKAGE.name not in noted.parts:
        return noted
    within = len(noted.parts) - noted.parts[::-1].index(PACKAGE.name)
    here = PACKAGE.joinpath(*noted.parts[within:])
    return here if here.is_file() else noted


def texts_beside(owner: object) -> tuple[Path, ...]:
    """The files of words beside the modules that define `owner` (a class or an instance) and what
    it inherits from. Raises ConfigError where one is no such file."""
    if isinstance(owner, Wraps) and not isinstance(owner, type):
        return texts_beside(owner.words_of)
    files = []
    for cls in (owner if isinstance(owner, type) else type(owner)).__mro__:
        # Built in or defined in a notebook: there is no file to lie beside.
        with contextlib.suppress(TypeError, OSError):
            module = Path(inspect.getfile(cls)).resolve()
            files.append(module.with_name(f"{module.stem}.texts.yaml"))
    return tuple(path for path in dict.fromkeys(files) if path.is_file() and read(path))


@functools.cache
def read(path: Path) -> Mapping[str, Any]:
    """The wordings in a file; {} if it is gone. Raises ConfigError naming the file and what is
    wrong with it."""
    if not path.is_file():
        return {}
    try:
        loaded = read_yaml(path)
    except DataError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(loaded, Mapping) or not all(
        isinstance(section, Mapping) for section in loaded.values()
    ):
        raise ConfigError(
            f"{path} must hold language -> section -> wordings, e.g. en: {{mine: {{title: ...}}}}."
        )
    return loaded
