"""Where settings that must not be in a config come from: the environment, or a `.env` file in the working directory."""

from __future__ import annotations

import os
from pathlib import Path

from undogmatic.errors import ConfigError

_SHORTEST_SCRUBBED = 8  # "EMPTY" or "none" as a stand-in key must not be cut out of ordinary text


class Secret:
    """A key whose value only `reveal` gives away: printing, formatting and logging show the variable's name.

    Args:
        variable: The environment variable it came from.
        value: The key itself.
    """

    __slots__ = ("_value", "variable")

    def __init__(self, variable: str, value: str) -> None:
        self.variable, self._value = variable, value

    def reveal(self) -> str:
        """The key, for the header of a request and nothing else."""
        return self._value

    def scrub(self, text: str) -> str:
        """`text` with every occurrence of the key replaced; servers echo keys in error messages."""
        if len(self._value) < _SHORTEST_SCRUBBED or self._value not in text:
            return text
        return text.replace(self._value, f"<{self.variable}>")

    def __repr__(self) -> str:
        return f"Secret({self.variable})"


def setting(variable: str) -> str | None:
    """The variable's value in the environment, else in `.env`; None where it is unset or blank.

    `os.environ` is left as it is, so that nothing from `.env` reaches child processes or logs of the environment.
    """
    value = os.environ.get(variable)
    if value is None or not value.strip():
        file = Path(".env")
        if not file.is_file():
            return None
        from dotenv import dotenv_values

        value = dotenv_values(file, interpolate=False).get(variable)
    return value.strip() if value is not None and value.strip() else None


def find_key(variable: str | None, model: str) -> Secret | None:
    """The key named by `model.key_env`.

    Args:
        variable: Name of the variable, or None for a server that needs no key.
        model: How the message names the model, e.g. "model.name=gpt-4.1-mini".
    Raises:
        ConfigError: The variable is unset, or its value cannot be a key.
    """
    if variable is None:
        return None
    value = setting(variable)
    if value is None:
        raise ConfigError(f"{model} needs {variable} in the environment or .env. To run without a key: model=local.")
    if not value.isascii() or any(c.isspace() or not c.isprintable() for c in value):
        raise ConfigError(
            f"{variable} holds something that is not a key (spaces, line breaks or non-ASCII characters)."
        )
    return Secret(variable, value)
