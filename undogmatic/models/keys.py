"""Reads settings that must not be in a config from the environment, or from a `.env` file in the working directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from undogmatic.errors import ConfigError
from undogmatic.safety.outside import read_env
from undogmatic.safety.secrets import keep, keep_environment

_asked = ContextVar("_asked", default=True)


class Secret:
    """A key whose value only `reveal` gives away: printing, formatting and logging show the variable's name, and
    whatever the program writes holds it no more.

    Args:
        variable: The environment variable it came from.
        value: The key itself.
    """

    __slots__ = ("_value", "variable")

    def __init__(self, variable: str, value: str) -> None:
        self.variable, self._value = variable, value
        keep(value, variable)

    def reveal(self) -> str:
        """The key, for the header of a request and nothing else."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.variable})"


def setting(variable: str) -> str | None:
    """The variable's value in the environment, else in `.env`; None where it is unset or blank.

    `os.environ` is left as it is, so that nothing from `.env` reaches child processes or logs of the environment.

    Raises:
        DataError: `.env` is needed and cannot be read; with the line.
    """
    value = os.environ.get(variable)
    if value is None or not value.strip():
        value = read_env(Path(".env"), variable).get(variable)
    if value is None or not value.strip():
        return None
    keep_environment({variable: value.strip()})
    return value.strip()


@contextlib.contextmanager
def without_keys() -> Iterator[None]:
    """Build models without their keys, where nothing will be sent."""
    token = _asked.set(False)
    try:
        yield
    finally:
        _asked.reset(token)


def find_key(variable: str | None, model: str) -> Secret | None:
    """The key named by `model.key_env`.

    Args:
        variable: Name of the variable, or None for a server that needs no key.
        model: How the message names the model, e.g. "model.name=gpt-4.1-mini".
    Raises:
        ConfigError: The variable is unset, or its value cannot be a key.
    """
    if variable is None or not _asked.get():
        return None
    value = setting(variable)
    if value is None:
        raise ConfigError(f"{model} needs {variable} in the environment or .env. To run without a key: model=local.")
    if not value.isascii() or any(c.isspace() or not c.isprintable() for c in value):
        raise ConfigError(
            f"{variable} holds something that is not a key (spaces, line breaks or non-ASCII characters)."
        )
    return Secret(variable, value)
