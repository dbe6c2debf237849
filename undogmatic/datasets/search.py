"""Searches the columns of a table for roles, whatever the table is read for.

What a person named is taken; else the column with a known name that holds what the role needs. A
doubtful guess is never taken: it is shown with the option that settles it, as the door spells it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from undogmatic.datasets.cells import (
    EMPTY,
    FORMULA,
    NOT_APPLICABLE,
    NOTHING,
    fold,
    number_of,
)
from undogmatic.datasets.contents import LONGEST_ID, Contents
from undogmatic.datasets.doors import Door, Doubt
from undogmatic.datasets.names import MODEL_NAME, is_measured, side_of, tokens, typed_as
from undogmatic.datasets.roles import JUDGE, TEXT, Role, Test
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

OF_PEOPLE = "which column holds the labels of people"
MOST_ASKED = 8
"""Columns that a question shows."""
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
        # A file without a line of names loses its first row without a word, and calls
        # its columns after it.
        longest = max(self.names, key=lambda name: len(self.names[name]), default="")
        numbers = any(number_of(name) is not None for name in self.names)
        # Where a column is called by a number, a name of four words is likely a cell.
        most = LONGEST_ID if numbers else LONGEST_NAME
        if len(self.names.get(longest, ())) > most:
            what = (
                f"the first line seems to be a row ({brief(longest, 60)}), and it must name the"
                " columns"
            )
            raise ConfigError(f"{what}. Put a line such as text,label above it.")

    def check_formulas(
        self, names: Iterable[str], role: Role, optional: bool = False
    ) -> None:
        """Raise ConfigError where one of these columns holds formulas alone; an `optional` role may
        be left out."""
        without = self.door.without(role) if optional else None
        way = (
            f"name another column: {self.door.typed(role, 'COLUMN')}"
            if without is None
            else f"leave the column out: {without}"
        )
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
            if (reasons := set(self.sample(name).reasons)) <= {
                EMPTY,
                NOTHING,
                NOT_APPLICABLE,
                FORMULA,
            }:
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
        # Exactly as it is written, before anything is folded: a file may hold `Label`
        # and `label`.
        if typed in self.names:
            return typed
        # A name that fits two columns when case and accents are dropped is no name of
        # either.
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
        # Shown, and never taken: who mistypes the column of labels must not get an
        # answer from another one.
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
        # Reversed, so that of two columns whose names fold to one the first in the file
        # is taken.
        free = {self.joined[name]: name for name in reversed(self.free())}
        # Only texts are looked for within objects: a label in `meta.label` may be that
        # of anything.
        ways = [free, self._inner_names()] if role is TEXT else [free]
        known = (way[name] for way in ways for name in role.names if name in way)
        return next((name for name in known if holds(self, name)), None)

    def _inner_names(self) -> dict[str, str]:
        """The free columns made of fields within objects, by the name of the field alone
        (`sample.text`), and one that is called a text among other words, as "text" (`Texto da
        peça`), where there is one so called, and it is not a judge's or a person's."""
        inner: dict[str, list[str]] = {}
        for name in self.free():
            if side_of(name) is not None or is_measured(name):
                continue
            if "." in name:
                inner.setdefault(" ".join(tokens(name.rpartition(".")[2])), []).append(
                    name
                )
            elif {*self.names[name]} & {"text", "texto"}:
                inner.setdefault("text", []).append(name)
        return {field: names[0] for field, names in inner.items() if len(names) == 1}

    def of_side(
        self, role: Role, holds: Test | None = None, but: Collection[str] = ()
    ) -> tuple[list[str], list[str]]:
        """The free columns of what a judge or people said that hold what the role needs: those
        whose names say that they are the role's, and those whose names do not say whose they are.
        `but` are columns known to be neither."""
        holds = role.holds if holds is None else holds
        own, unsaid = list[str](), list[str]()
        for name in self.free():
            side = side_of(name)
            # A name that says whose the column is allows for more categories than one
            # that says nothing, as there is less to be mistaken about.
            many = side == role.side and holds is role.holds and self.is_category(name)
            if (
                side in (role.side, 0)
                and name not in but
                and (many or holds(self, name))
            ):
                (unsaid if side == 0 else own).append(name)
        return own, unsaid

    def together(
        self, names: Sequence[str], role: Role, doubt: str, none: bool = False
    ) -> tuple[str, ...]:
        """The columns if they are clearly those of several people or judges: alike but for one part
        of their names. Raises ConfigError with the `doubt` where they are not; `none`: it may be
        that none of them has the role."""
        # Two columns of labels may be two people's, or a person's on two questions.
        # Taken for two people's, their disagreement would be an agreement of people
        # that nobody measured.
        if len(names) > 1 and not self._are_alike(names, models=role is JUDGE):
            raise self.doubt(role, doubt, names, none)
        return tuple(names)

    def _are_alike(self, names: Sequence[str], models: bool) -> bool:
        """Whether names share a part and differ in another, or (`models`) are those of models."""
        parts = [self.names[name] for name in names]
        if models and all(
            any(MODEL_NAME.match(part) for part in each) for each in parts
        ):
            return True
        if len({len(each) for each in parts}) == 1:
            # `rater1_domain1` and `rater2_domain1` differ in one place, where one says what the
            # other says elsewhere.
            places = [len(set(words)) > 1 for words in zip(*parts, strict=True)]
            if len(places) > 1 and sum(places) == 1 and len(set(parts)) == len(parts):
                return True
        shared = set(parts[0]).intersection(*map(set, parts[1:]))
        lengths = {len(each) for each in parts}
        return (
            bool(shared)
            and max(lengths) - min(lengths) <= 1
            and all(set(each) - shared for each in parts)
        )

    def doubt(
        self, role: Role, why: str, names: Sequence[str], none: bool = False
    ) -> ConfigError:
        """That it is not clear which of the columns has the role, with what each holds. Columns
        that all say the same may well have it together."""
        candidates = {name: self.shown(name) for name in names[:MOST_ASKED]}
        alike = all(self.says_as(name, [names[0]]) for name in names[1:])
        named = self._are_alike(names, models=False) if len(names) > 1 else False
        together = alike and (named or all(side_of(name) is None for name in names))
        return Doubt(role, why, candidates, none, together).at(self.door)

    def shown(self, name: str) -> str:
        """What a column holds, as a question shows it: two values, or the beginning of a text."""
        examples = self.sample(name).examples()
        if examples and self.is_prose(name):
            return brief(examples[0], 40)
        return ", ".join(examples) or "empty"
