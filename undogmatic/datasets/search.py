"""Searches the columns of a table for roles, whatever the table is read for.

What a person named is taken; else the column with a known name that holds what the role needs. A
doubtful guess is never taken: it is shown with the option that settles it, as the door spells it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import pandas as pd

from undogmatic.datasets.cells import EMPTY, FORMULA, NOT_APPLICABLE, fold, number_of
from undogmatic.datasets.contents import LONGEST_ID, Contents
from undogmatic.datasets.doors import Door
from undogmatic.datasets.names import tokens, typed_as
from undogmatic.datasets.roles import Role, Test
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

LONGEST_NAME = 25
"""Words that the name of a column may have; what has more is a text."""


class Search(Contents):
    """The columns of a table, of which a person may have named some through a door."""

    def __init__(self, cells: pd.DataFrame, door: Door) -> None:
        super().__init__(cells)
        self.door = door
        self._check_header()

    def _check_header(self) -> None:
        """Raise ConfigError where the first line does not name the columns."""
        longest = max(self.names, key=lambda name: len(self.names[name]), default="")
        numbers = any(number_of(name) is not None for name in self.names)
        most = LONGEST_ID if numbers else LONGEST_NAME
        if len(self.names.get(longest, ())) > most:
            what = (
                f"the first line seems to be a row ({brief(longest, 60)}), and it must name the"
                " columns"
            )
            raise ConfigError(f"{what}. Put a line such as text,label above it.")

    def check_formulas(self, names: Iterable[str], way: str) -> None:
        """Raise ConfigError where one of these columns holds formulas alone; `way` is another way
        than to save it."""
        for name in names:
            cells = self.sample(name)
            if not cells.said and FORMULA in cells.reasons:
                what = (
                    f"`{name}` holds formulas without the values that they came to (e.g."
                    f" {cells.examples(1)[0]})"
                )
                raise ConfigError(
                    f"{what}. Open the file in a spreadsheet program and save it, or {way}."
                )

    def silent(self) -> list[Finding]:
        """Name the columns that say nothing: those that are empty, and those that hold formulas
        alone."""
        told = {False: list[str](), True: list[str]()}
        for name in self.names if len(self.cells) else ():
            if (reasons := set(self.sample(name).reasons)) <= {EMPTY, NOT_APPLICABLE, FORMULA}:
                told[FORMULA in reasons].append(f"`{name}`")
        keys = {False: "items.empty_columns", True: "items.formulas"}
        return [
            Finding(keys[of], {"columns": names[:8], "n": len(names)})
            for of, names in told.items()
            if names
        ]

    def meant(self, typed: str) -> str | None:
        """The column that is called so; accents, capitals and signs do not count where only one is
        left."""
        if typed in self.names:
            return typed
        same = [
            column
            for column in self.names
            if fold(column) == fold(typed) or self.names[column] == tokens(typed)
        ]
        return same[0] if len(same) == 1 else None

    def named(self, typed: str, role: Role) -> str:
        """The column that a person named for a role. Raises ConfigError for a name that is none."""
        if (column := self.meant(typed)) is not None:
            return column
        close = difflib.get_close_matches(typed, self.names, 1)
        hint = f" Did you mean {typed_as(close[0])}?" if close else ""
        raise ConfigError(
            f"{self._option(role)} is {brief(typed)}, which is no column.{hint} Columns:"
            f" {', '.join(self.names)}."
        )

    def _option(self, role: Role) -> str:
        """The option of a role, in a sentence."""
        return self.door.option(role)

    def called(self, role: Role, holds: Test | None = None) -> str | None:
        """The free column with the first of the role's names that holds what the role needs."""
        holds = role.holds if holds is None else holds
        free = {self.joined[name]: name for name in reversed(self.free())}
        known = (free[name] for name in role.names if name in free)
        return next((name for name in known if holds(self, name)), None)
