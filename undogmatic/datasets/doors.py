"""Spells the options by which a person says how a table is to be read.

A table is read in the same way whoever asks for it. What differs is how a person names a column or
a scale: `--judge score` behind a command, `dataset.columns.judge=score` for a run. Whoever reads a
table is told through which door it came in, and asks the door for the spelling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from undogmatic.datasets.names import quoted, typed_as

SETTINGS = ("kind", "scale", "label_scale", "passes", "sheet")
"""Options that say something of a whole table; each other one names a column."""


class Door(Protocol):
    """How options are spelled at a door. Their names are those of the roles of columns (`judge`,
    `label`, `item`) and SETTINGS."""

    def option(self, name: str) -> str:
        """The option as such: `--judge`."""
        ...

    def typed(self, name: str, value: str) -> str:
        """The option with a value, as it is typed in a shell: `--judge score`."""
        ...


@dataclass(frozen=True)
class Command:
    """A command that reads a table; `called` are its options that have another name than the
    role."""

    called: Mapping[str, str] = field(default_factory=dict)

    def option(self, name: str) -> str:
        return "--" + self.called.get(name, name).replace("_", "-")

    def typed(self, name: str, value: str) -> str:
        return f"{self.option(name)} {_setting(value) if name in SETTINGS else quoted(value)}"


@dataclass(frozen=True)
class Settings:
    """A run, whose config holds the dataset; `called` are its settings that have another name than
    the role."""

    called: Mapping[str, str] = field(default_factory=dict)

    def option(self, name: str) -> str:
        called = self.called.get(name, name)
        return f"dataset.{called}" if name in SETTINGS else f"dataset.columns.{called}"

    def typed(self, name: str, value: str) -> str:
        # The config knows no quotes around the name of a column.
        return f"{self.option(name)}={_setting(value) if name in SETTINGS else typed_as(value)}"


CHECK = Command({"label": "human", "label_scale": "human_scale"})
"""`undogmatic check`, and every command with its options."""
RUN = Settings({"item": "id"})
"""`undogmatic run dataset=verdicts`."""


def spelled(door: Door, *names: str) -> dict[str, str]:
    """The options as values of a finding, in whose wording `{judge_option}` stands for that of
    judges."""
    return {f"{name}_option": door.option(name) for name in names}


def _setting(value: str) -> str:
    """A value as it is typed in a shell."""
    return value if re.fullmatch(r"[\w.:-]+", value) else quoted(value)
