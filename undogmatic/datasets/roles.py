"""Finds out which column of a table of items says what: what is judged, its id, its label, its
group.

Names are known in English and Portuguese; where they do not tell, what the columns hold does. A
doubtful guess is never taken: it is shown with the option that settles it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from undogmatic.datasets.columns import Search
from undogmatic.datasets.doors import Command, Door, Settings
from undogmatic.datasets.names import NAMES, side_of
from undogmatic.datasets.scales import TableOptions
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

FIELDS = ("id", "label", "rater", "group", "condition", "pair", "parent", "maker")
"""What a column may be, besides what is judged."""
_SOUGHT = {
    "rater": "rater",
    "id": "item",
    "group": "group",
    "condition": "condition",
    "pair": "pair",
}
"""Fields that are recognised, and the names under which the lexicon has them."""
Typed = Mapping[str, Sequence[str] | None]
OF_ITEMS, OF_TEXTS = Settings(), Command()
"""The doors of a run's items and of the commands for texts, whose options are called as the roles
are here."""


class Roles(NamedTuple):
    """The columns of each field and input (of several the first that a row fills, but each of the
    labels is a person's), and what was recognised."""

    columns: dict[str, tuple[str, ...]]
    notes: list[Finding]


def find_roles(
    cells: pd.DataFrame,
    file: str,
    inputs: Sequence[str],
    optional: Sequence[str],
    typed: Typed,
    nested: bool,
) -> Roles:
    """Give each field and input its columns; `typed` are those that the user names (none: there is
    none), `nested` says that the rows name their inputs themselves. Raises ConfigError naming the
    candidates where it is doubtful.
    """
    try:
        return _ItemSearch(cells, OF_ITEMS).roles(inputs, optional, typed, nested)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def find_texts(
    cells: pd.DataFrame, file: str, text: Sequence[str], item: str | None, every: bool = False
) -> Roles:
    """Find the columns of the texts and of their ids for a command whose options --text and --item
    name them; where --text is not typed, `every` column that is known to hold texts, or the only
    one. Raises ConfigError.
    """
    search = _ItemSearch(cells, OF_TEXTS)
    try:
        return search.texts(text, item, every)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def find_labels(cells: pd.DataFrame, file: str, typed: Mapping[str, str]) -> Roles:
    """Find the columns of a filled table of labels: `item_id`, `label` and, where there is one,
    `labeller`, by these names, as `typed` in options of these names (--item-id COLUMN), or as they
    are recognised. Raises ConfigError.
    """
    search = _ItemSearch(cells, OF_TEXTS)
    try:
        return search.filled(typed)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def check_fields(typed: Typed, fields: Sequence[str]) -> None:
    """Raise ConfigError for a key of `dataset.columns` that is none."""
    if unknown := [name for name, given in typed.items() if given and name not in fields]:
        raise ConfigError(
            f"`dataset.columns` names {brief(unknown[0])}. It may name: {', '.join(fields)}."
        )


class _ItemSearch(Search):
    def __init__(self, cells: pd.DataFrame, door: Door) -> None:
        super().__init__(cells, TableOptions(), (), door)
        self.known = dict[str, tuple[str, ...]]()
        self.only: dict[
            str, str
        ] = {}  # by role the column that was taken because it is the only one with sentences
        self.left: list[Finding] = []

    def roles(
        self, inputs: Sequence[str], optional: Sequence[str], typed: Typed, nested: bool
    ) -> Roles:
        fields = [*inputs, *(name for name in optional if name not in inputs), *FIELDS]
        check_fields(typed, fields)
        self.check_header()
        for role, names in typed.items():
            if names is not None and (found := self._typed(role, names)) is not None:
                self._take(role, found)
        for role in fields:  # what is called so is it
            if role not in self.known and role in self.names:
                self._take(role, (role,))
        before = set(self.known)
        for role in () if nested else (*inputs, *optional):
            if (
                role not in self.known
                and (judged := self._input(role, inputs, role in inputs)) is not None
            ):
                self._take(role, (judged,))
        for role, known in _SOUGHT.items():
            if (
                role not in self.known
                and (named := self._first(known, self._fitting(role))) is not None
            ):
                self._take(role, (named,))
        if not {"label", "labels"} & {*self.known, *self.names}:
            self._take("label", self._labels())
        return Roles(
            self.known,
            self._notes([role for role in self.known if role not in before and self.known[role]]),
        )

    def texts(self, text: Sequence[str], item: str | None, every: bool) -> Roles:
        """The columns of texts and ids."""
        self.check_header()
        typed = {"text": [name for each in text for name in self._typed("text", [each]) or ()]}
        typed |= {"item": [*(self._typed("item", [item]) or ())]} if item else {}
        for role, names in typed.items():
            self._take(role, tuple(names))
        if not item:
            found = self._first(
                "item", lambda name: self._cells(name).said > 0 and not self._is_prose(name)
            )
            self._take("item", (found,) if found else ())
        if every and not text:
            known = {self.joined[name]: name for name in reversed(self._free())}
            named = [
                known[name] for role in ("context", "text") for name in NAMES[role] if name in known
            ]
            sides = [
                name
                for name in self._free()
                if self.names[name][-1:] in (("1",), ("2",), ("a",), ("b",))
            ]
            sides = [name for name in sides if name not in named and self._is_prose(name)]
            self._take("text", (*(name for name in named if self._cells(name).said), *sides))
        if not self.known["text"]:  # what is called so is it
            self._take(
                "text",
                ("text" if "text" in self.names else self._input("text", ("text",), True) or "",),
            )
        return Roles(
            self.known,
            self._notes([r for r, names in self.known.items() if names and not typed.get(r)]),
        )

    def filled(self, typed: Mapping[str, str]) -> Roles:
        """The columns of ids, labels and labellers."""
        self.check_header()
        for role, known in (("item_id", "item"), ("labeller", "rater")):
            self._take(
                role,
                (
                    self._typed(role, [typed[role]]) or ()
                    if role in typed
                    else self._called(role, known)
                ),
            )
        named = (
            self._typed("label", [typed["label"]])
            if "label" in typed
            else self._called("label", None)
        )
        self._take("label", named or self._labels())
        if len(several := self.known["label"]) > 1:
            self._doubt("label", "which column holds the labels", several)
        if lacking := [
            role for role in ("item_id", "label") if not self.known[role] and len(self.cells)
        ]:
            listed = ", ".join(self.names) or "none"
            what = f"no column `{lacking[0]}`, and none that seems to be it; columns: {listed}"
            raise ConfigError(f"{what}. Name it: {self.door.typed(lacking[0], 'COLUMN')}.")
        found = [
            role
            for role, names in self.known.items()
            if names and names != (role,) and role not in typed
        ]
        return Roles(self.known, self._notes(found))

    def _called(self, role: str, known: str | None) -> tuple[str, ...]:
        """The column that is called as the role is, or as the lexicon knows it."""
        found = (
            role if role in self.names else self._first(known, lambda name: True) if known else None
        )
        return () if found is None else (found,)

    def _option(self, role: str) -> str:
        option = super()._option(role)
        return option if isinstance(self.door, Command) else f"`{option}`"

    def _notes(self, recognised: Sequence[str]) -> list[Finding]:
        notes = []
        if recognised:
            shown = [
                f"{role} = {', '.join(f'`{name}`' for name in self.known[role])}"
                for role in recognised
            ]
            one = "label" if "label" in recognised else recognised[0]
            notes.append(
                Finding(
                    "items.columns",
                    {"roles": shown, "option": self.door.typed(one, self.known[one][0])},
                )
            )
        for role, name in self.only.items():
            notes.append(
                Finding(
                    "items.only",
                    {"role": role, "column": name, "option": self.door.typed(role, name)},
                )
            )
        return notes + self.left + self.silent()

    def _take(self, role: str, names: tuple[str, ...]) -> None:
        self.known[role] = names
        self.taken |= set(names)

    def _typed(self, role: str, names: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that the user names; None where several are named, and none of them is
        there."""
        found = [column for name in names if (column := self._meant(name)) is not None]
        if len(names) == 1 and not found:
            self._named(names[0], role)  # which says that it is none
        return tuple(found) if found or not names else None

    def _input(self, role: str, inputs: Sequence[str], required: bool) -> str | None:
        """The column of something that is judged."""
        known = next((names for of in ("text", "context") if role in (names := NAMES[of])), ())
        alone = sum(name in known for name in inputs) == 1 or not required
        named = [n for n in self._free() if alone and self.joined[n] in known and self._is_text(n)]
        prose = [n for n in named or self._free() if self._is_prose(n)]
        if len(named) == 1 or not required:
            return named[0] if len(named) == 1 else None
        if len(prose) == 1 and (named or len(inputs) == 1):
            self.only |= {} if named else {role: prose[0]}
            return prose[0]
        if candidates := (prose or named if len(inputs) == 1 or named else []):
            self._doubt(role, f"which column is judged (`{role}`)", candidates)
        listed = ", ".join(f"`{name}`" for name in self.names) or "none"
        way = self.door.typed(role, "COLUMN")
        raise ConfigError(
            f"no column `{role}`, and none that seems to be it. Columns: {listed}. Name it: {way}."
        )

    def _doubt(self, role: str, what: str, names: Sequence[str], more: str = "") -> None:
        shown = [
            f"`{name}` (e.g. {brief((self._cells(name).examples(1) or ['empty'])[0], 40)})"
            for name in names[:6]
        ]
        ways = " or ".join(self.door.typed(role, name) for name in names[:4])
        raise ConfigError(
            f"it is not clear {what}. It may be {'; '.join(shown)}. Type {ways}{more}."
        )

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
        """The columns of what people said: those that are called so, or else the only one with
        grades."""
        # these name a criterion
        free = [name for name in self._free() if not name.startswith("label.")]
        sides = {name: side for name in free if (side := side_of(name)) in (-1, 0)}
        people = [name for name, side in sides.items() if side == -1 and self._is_value(name)]
        grades = [
            name for name, side in sides.items() if side == 0 and self._is_value(name, loose=False)
        ]
        names = people or grades
        self.check_formulas(
            () if names else sides, "leave the column out: dataset.columns.label=[]"
        )
        if len(names) > 1:
            parts = [set(self.names[name]) for name in names]
            if not (
                set.intersection(*parts) and len({len(self.names[name]) for name in names}) == 1
            ):
                self._doubt(
                    "label",
                    "which column holds the labels of people",
                    names,
                    ", or dataset.columns.label=[]",
                )
        if not names and (words := [name for name in sides if self._is_value(name)]):
            shown = [f"`{name}`" for name in words]
            self.left.append(
                Finding(
                    "items.no_label",
                    {
                        "columns": shown,
                        "n": len(shown),
                        "option": self.door.typed("label", words[0]),
                    },
                )
            )
        return tuple(names)
