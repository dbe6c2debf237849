"""Where settings that must not be in a config come from: the environment, or a `.env` file in the working directory."""

from __future__ import annotations

import io
import os
from pathlib import Path

from undogmatic.errors import ConfigError, DataError
from undogmatic.outside import read_text

LARGEST_FILE = 64_000  # bytes; reading its lines takes time that grows with their square
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
        value = _in_file(Path(".env"), variable)
    return value.strip() if value is not None and value.strip() else None


def _in_file(file: Path, variable: str) -> str | None:
    """The variable's value in a file of NAME=VALUE lines; None where file or variable is missing."""
    if not file.is_file():
        return None
    from dotenv.parser import parse_stream

    try:
        lines = list(parse_stream(io.StringIO(read_text(file, LARGEST_FILE))))
    except DataError as error:
        raise ConfigError(str(error)) from None
    found = [line.value for line in lines if line.key == variable]
    damaged = [line for line in lines if line.error]
    if not found and damaged:
        raise ConfigError(f"{file}:{damaged[0].original.line}: not NAME=VALUE; is a quote left open?")
    return found[-1] if found else None


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
