"""Finds out which column of a table of items says what: what is judged, its id, its label, its group.

Names are known in English and Portuguese; where they do not tell, what the columns hold does. A doubtful guess is never
taken: it is shown with the option that settles it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from undogmatic.datasets.cells import FORMULA, fold, number_of
from undogmatic.datasets.columns import LONGEST_ID, NAMES, Search, side_of, tokens
from undogmatic.datasets.scales import TableOptions
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

FIELDS = ("id", "label", "rater", "group", "condition", "pair", "parent", "maker")
"""What a column may be, besides what is judged."""
_SOUGHT = {"rater": "rater", "id": "item", "group": "group", "condition": "condition", "pair": "pair"}
"""Fields that are recognised, and the names under which the lexicon has them."""
LONGEST_NAME = 25
"""Words that the name of a column may have; what has more is a text."""
Typed = Mapping[str, Sequence[str] | None]


class Roles(NamedTuple):
    """The columns of each field and input (of several the first that a row fills, but each of the labels is a
    person's), and what was recognised."""

    columns: dict[str, tuple[str, ...]]
    notes: list[Finding]


def find_roles(
    cells: pd.DataFrame, file: str, inputs: Sequence[str], optional: Sequence[str], typed: Typed, nested: bool
) -> Roles:
    """Give each field and input its columns; `typed` are those that the user names (none: there is none), `nested` says
    that the rows name their inputs themselves. Raises ConfigError naming the candidates where it is doubtful."""
    return _ItemSearch(cells, file).roles(inputs, optional, typed, nested)


def typed_as(name: str) -> str:
    """A column's name as it can be typed in an option: without accents, spaces and signs."""
    return name if name.isascii() and name.isidentifier() else "_".join(tokens(name)) or name


class _ItemSearch(Search):
    def __init__(self, cells: pd.DataFrame, file: str) -> None:
        super().__init__(cells, TableOptions(), ())
        self.file, self.known = file, dict[str, tuple[str, ...]]()

    def roles(self, inputs: Sequence[str], optional: Sequence[str], typed: Typed, nested: bool) -> Roles:
        fields = [*inputs, *(name for name in optional if name not in inputs), *FIELDS]
        self._check(typed, fields)
        for role, names in typed.items():
            if names is not None and (found := self._typed(role, names)) is not None:
                self._take(role, found)
        for role in fields:  # what is called so is it
            if role not in self.known and role in self.names:
                self._take(role, (role,))
        before = set(self.known)
        for role in () if nested else (*inputs, *optional):
            if role not in self.known and (judged := self._input(role, inputs, role in inputs)) is not None:
                self._take(role, (judged,))
        for role, known in _SOUGHT.items():
            if role not in self.known and (named := self._first(known, self._fitting(role))) is not None:
                self._take(role, (named,))
        if not {"label", "labels"} & {*self.known, *self.names}:
            self._take("label", self._labels())
        return Roles(self.known, self._notes([role for role in self.known if role not in before and self.known[role]]))

    def _check(self, typed: Typed, fields: Sequence[str]) -> None:
        """Raise ConfigError for a key of `dataset.columns` that is none, and where the first line names no columns."""
        if unknown := [name for name, given in typed.items() if given and name not in fields]:
            raise ConfigError(f"`dataset.columns` names {brief(unknown[0])}. It may name: {', '.join(fields)}.")
        longest = max(self.names, key=lambda name: len(self.names[name]), default="")
        most = LONGEST_ID if any(number_of(name) is not None for name in self.names) else LONGEST_NAME
        if len(self.names.get(longest, ())) > most:
            what = f"the first line seems to be a row ({brief(longest, 60)}), and it must name the columns"
            raise ConfigError(f"{self.file}: {what}. Put a line such as text,label above it.")

    def _notes(self, recognised: Sequence[str]) -> list[Finding]:
        notes = []
        if recognised:
            shown = [f"{role} = {', '.join(f'`{name}`' for name in self.known[role])}" for role in recognised]
            one = "label" if "label" in recognised else recognised[0]
            option = f"dataset.columns.{one}={typed_as(self.known[one][0])}"
            notes.append(Finding("items.columns", {"roles": shown, "option": option}))
        unsaid = [name for name in self.names if len(self.cells) and not self._cells(name).said]
        for key, formulas in (("items.empty_columns", False), ("items.formulas", True)):
            if columns := [f"`{name}`" for name in unsaid if (FORMULA in self._cells(name).reasons) == formulas]:
                notes.append(Finding(key, {"columns": columns[:8], "n": len(columns)}))
        return notes

    def _take(self, role: str, names: tuple[str, ...]) -> None:
        self.known[role] = names
        self.taken |= set(names)

    def _typed(self, role: str, names: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that the user names; None where several are named, and none of them is there."""
        found = [column for name in names if (column := self._meant(name)) is not None]
        if len(names) == 1 and not found:
            close = difflib.get_close_matches(names[0], self.names, 1)
            hint = f" Did you mean {typed_as(close[0])}?" if close else ""
            there = f"Columns: {', '.join(self.names)}"
            what = f"`dataset.columns.{role}` is {brief(names[0])}, which is no column.{hint}"
            raise ConfigError(f"{self.file}: {what} {there}.")
        return tuple(found) if found or not names else None

    def _meant(self, name: str) -> str | None:
        """The column that is called so; accents, capitals and signs do not count where only one is left."""
        same = [column for column in self.names if fold(column) == fold(name) or self.names[column] == tokens(name)]
        return name if name in self.names else same[0] if len(same) == 1 else None

    def _input(self, role: str, inputs: Sequence[str], required: bool) -> str | None:
        """The column of something that is judged."""
        known = next((names for of in ("text", "context") if role in (names := NAMES[of])), ())
        alone = sum(name in known for name in inputs) == 1 or not required
        named = [n for n in self._free() if alone and self.joined[n] in known and self._is_text(n)]
        prose = [n for n in named or self._free() if self._is_prose(n)]
        if len(named) == 1 or not required:
            return named[0] if len(named) == 1 else None
        if len(prose) == 1 and (named or len(inputs) == 1):
            return prose[0]
        if candidates := (prose or named if len(inputs) == 1 or named else []):
            self._doubt(role, f"which column is judged (`{role}`)", candidates)
        listed = ", ".join(f"`{name}`" for name in self.names) or "none"
        way = f"dataset.columns.{role}=COLUMN"
        raise ConfigError(
            f"{self.file}: no column `{role}`, and none that seems to be it. Columns: {listed}. Name it: {way}."
        )

    def _doubt(self, role: str, what: str, names: Sequence[str], more: str = "") -> None:
        shown = [f"`{name}` (e.g. {brief((self._cells(name).examples(1) or ['empty'])[0], 40)})" for name in names[:6]]
        ways = " or ".join(f"dataset.columns.{role}={typed_as(name)}" for name in names[:4])
        raise ConfigError(f"{self.file}: it is not clear {what}. It may be {'; '.join(shown)}. Type {ways}{more}.")

    def _fitting(self, role: str) -> object:
        """What a column must hold to be taken for a field."""

        def fits(name: str) -> bool:
            held = self.cells[name].dropna()
            if role == "id":
                once = held.nunique() == len(held) or bool(self.known.get("rater"))
                return len(held) == len(self.cells) and once and not self._is_prose(name)
            return 0 < held.nunique() < len(held) and not self._is_prose(name)

        return fits

    def _labels(self) -> tuple[str, ...]:
        """The columns of what people said: those that are called so, or else the only one with grades."""
        free = [name for name in self._free() if not name.startswith("label.")]  # these name a criterion
        sides = {name: side for name in free if (side := side_of(name)) in (-1, 0)}
        people = [name for name, side in sides.items() if side == -1 and self._is_value(name)]
        grades = [name for name, side in sides.items() if side == 0 and self._is_value(name, loose=False)]
        names = people or grades
        for name in () if names else sides:
            if FORMULA in (cells := self._cells(name)).reasons:
                what = f"`{name}` holds formulas without the values that they came to (e.g. {cells.examples(1)[0]})"
                way = "Open the file in a spreadsheet program and save it"
                raise ConfigError(f"{self.file}: {what}. {way}, or leave the column out: dataset.columns.label=[].")
        if len(names) > 1:
            parts = [set(self.names[name]) for name in names]
            if not (set.intersection(*parts) and len({len(self.names[name]) for name in names}) == 1):
                self._doubt("label", "which column holds the labels of people", names, ", or dataset.columns.label=[]")
        return tuple(names)
