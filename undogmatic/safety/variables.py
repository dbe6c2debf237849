"""Finds what was set for this program in the environment or in `.env`, and takes it along to
processes elsewhere."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from undogmatic.safety.outside import read_env
from undogmatic.safety.secrets import keep_environment

_brought: dict[str, str] = {}
_noted: ContextVar[dict[str, str] | None] = ContextVar("undogmatic_noted", default=None)


def setting(variable: str) -> str | None:
    """The variable's value in the environment, else in `.env`, of which nothing reaches child
    processes (`os.environ` is left as it is); None where it is unset or blank. Raises DataError
    where `.env` is needed and cannot be read.
    """
    value = _brought.get(variable) or os.environ.get(variable, "").strip()
    value = value or read_env(Path(".env"), variable).get(variable, "").strip()
    if value:
        keep_environment({variable: value})
        if (noted := _noted.get()) is not None:
            noted[variable] = value
    return value or None


@contextmanager
def noting_settings() -> Iterator[dict[str, str]]:
    """Collects the variables that are found inside: what a process elsewhere needs to build the
    same models."""
    found: dict[str, str] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def bring_settings(variables: Mapping[str, str]) -> None:
    """Let `setting` find these in this process, where its own environment is not that of the
    run."""
    keep_environment(variables)
    _brought.update(variables)
