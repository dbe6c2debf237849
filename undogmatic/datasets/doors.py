"""Spells the options by which a person says how a table is to be read.

A table is read in the same way whoever asks for it. What differs is how a person names a column or
a scale: `--judge score` behind a command, `dataset.columns.judge=score` for a run. Whoever reads a
table is told through which door it came in, and asks the door for the spelling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from undogmatic.datasets.names import quoted, typed_as
from undogmatic.datasets.roles import JUDGE, LABEL, TEXT, Option, Role
from undogmatic.errors import ConfigError

NONE = "none"
"""What is typed for a role that no column has; of ids it says that the files are joined by row."""


class Door(Protocol):
    """How options are spelled at a door."""

    def called(self, what: Option) -> str:
        """What a role or another option is called there: `judge`."""
        ...

    def option(self, what: Option) -> str:
        """The option as such: `--judge`."""
        ...

    def typed(self, what: Option, value: str) -> str:
        """The option with a value, as it is typed in a shell: `--judge score`."""
        ...

    def without(self, role: Role) -> str | None:
        """What is typed where no column has the role; None where that cannot be said."""
        ...

    def several(self, role: Role, names: Sequence[str]) -> str | None:
        """How several columns of a role are named; None where it has one at most."""
        ...

    def all_of(self, role: Role, names: Sequence[str]) -> str | None:
        """What is typed where all these columns have the role; None where it has one at most."""
        ...


@dataclass(frozen=True)
class Command:
    """A command that reads a table: `--judge score`. Some options may be given again."""

    name: str
    repeated: Sequence[Role] = ()

    def called(self, what: Option) -> str:
        return what.at.get(self.name, what.name)

    def option(self, what: Option) -> str:
        return "--" + self.called(what).replace("_", "-")

    def typed(self, what: Option, value: str) -> str:
        shown = _in_shell(value) if what.name == "item" else quoted(value)
        shown = shown if isinstance(what, Role) else _in_shell(value)
        # What begins with a minus would be read as another option.
        return f"{self.option(what)}{'=' if value.startswith('-') else ' '}{shown}"

    def without(self, role: Role) -> str | None:
        return (
            f"{self.option(role)} none"
            if role is LABEL and role in self.repeated
            else None
        )

    def several(self, role: Role, names: Sequence[str]) -> str | None:
        return f"repeat {self.option(role)}" if role in self.repeated else None

    def all_of(self, role: Role, names: Sequence[str]) -> str | None:
        if role not in self.repeated or any("," in name for name in names):
            return None
        return f"{self.option(role)} {_in_shell(','.join(names))}"


@dataclass(frozen=True)
class Settings:
    """A command whose config holds the dataset: `dataset.columns.judge=score`."""

    name: str

    def called(self, what: Option) -> str:
        return what.at.get(self.name, what.name)

    def option(self, what: Option) -> str:
        section = "dataset.columns" if isinstance(what, Role) else "dataset"
        return f"{section}.{self.called(what)}"

    def typed(self, what: Option, value: str) -> str:
        # A config is read without the marks that a shell would need around a column's name.
        shown = typed_as(value) if isinstance(what, Role) else _in_shell(value)
        return f"{self.option(what)}={shown}"

    def without(self, role: Role) -> str | None:
        return f"{self.option(role)}=[]" if role is LABEL else None

    def several(self, role: Role, names: Sequence[str]) -> str | None:
        if role not in SEVERAL:
            return None
        return f"type {self.all_of(role, names)}"

    def all_of(self, role: Role, names: Sequence[str]) -> str | None:
        if role not in SEVERAL:
            return None
        return f"'{self.option(role)}=[{','.join(map(typed_as, names))}]'"


SEVERAL = (JUDGE, LABEL)
"""The roles that several columns of a table of verdicts may have, one for each voice."""
CHECK = Command("check", SEVERAL)
"""`undogmatic check`, and every command that takes its options."""
OF_TEXTS = Command("texts", (TEXT,))
"""The commands for texts: `undogmatic label`, `undogmatic precedents`."""
IMPORT = Command("import")
"""`undogmatic review import`."""
RUN = Settings("run")
"""`undogmatic run`, with a dataset of items or of verdicts."""


def spelled(door: Door, *what: Option) -> dict[str, str]:
    """The options as values of a finding, in whose wording `{judge_option}` stands for that of
    judges."""
    return {f"{one.name}_option": door.option(one) for one in what}


def _in_shell(value: str) -> str:
    return value if re.fullmatch(r"[\w.:,-]+", value) else quoted(value)


@dataclass(frozen=True)
class Doubt:
    """That it is not clear which column has a role.

    Attributes:
        role: The role.
        why: What is not clear or, without candidates, what is lacking, as a part of a sentence.
        candidates: The columns that may have it, each with examples of what it holds.
        none: Whether it may be that none of them has it.
        together: Whether it is likely that all of them have it.
    """

    role: Role
    why: str
    candidates: Mapping[str, str] = field(default_factory=dict)
    none: bool = False
    together: bool = False

    def at(self, door: Door) -> ConfigError:
        """The doubt as an error that asks for an option of the door."""
        if not self.candidates:
            return ConfigError(
                f"{self.why}. Name it: {door.typed(self.role, 'COLUMN')}."
            )
        shown = "; ".join(
            f"`{name}` (e.g. {held})" for name, held in self.candidates.items()
        )
        names = list(self.candidates)[:SHOWN]
        ways = " or ".join(door.typed(self.role, name) for name in names)
        without = door.without(self.role) if self.none else None
        more = "" if without is None else f", or {without}"
        every = door.all_of(self.role, list(self.candidates)) if self.together else None
        if every is not None and len(self.candidates) > 1:
            return ConfigError(
                f"it is not clear {self.why}. It may be {shown}. Type {every} for all of them, or"
                f" {ways} for one{more}."
            )
        again = door.several(self.role, names) if len(names) > 1 else None
        also = "" if again is None else f" For several of them, {again}."
        return ConfigError(
            f"it is not clear {self.why}. It may be {shown}. Type {ways}{more}.{also}"
        )


class Way(NamedTuple):
    """Options, each with its value, that settle a question, and the words before them."""

    before: str
    options: Sequence[tuple[Option, str]]


@dataclass(frozen=True)
class Question:
    """That it is not clear how something is to be read, though it is clear where it stands.

    Attributes:
        what: What was seen, in whole sentences.
        ways: How it can be read, each with what a person types for it.
    """

    what: str
    ways: Sequence[Way]

    def at(self, door: Door) -> ConfigError:
        """The question as an error that asks for options of the door."""
        typed = (
            f"{before} {' '.join(door.typed(option, value) for option, value in options)}"
            for before, options in self.ways
        )
        return ConfigError(f"{self.what} {', '.join(typed)}.")


SHOWN = 4
"""Columns of which it is shown how to name them."""
