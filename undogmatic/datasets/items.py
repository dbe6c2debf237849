"""Finds out which column of a table of items says what: what is judged, its id, its label, its
group.

Names are known in English and Portuguese; where they do not tell, what the columns hold does. A
doubtful guess is never taken: it is shown with the option that settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from undogmatic.datasets.cells import fold
from undogmatic.datasets.contents import Contents
from undogmatic.datasets.doors import IMPORT, NONE, OF_TEXTS, RUN, Command, Door, Doubt
from undogmatic.datasets.names import side_of
from undogmatic.datasets.roles import (
    CONDITION,
    CONTEXT,
    GROUP,
    ITEM,
    LABEL,
    MAKER,
    PAIR,
    PARENT,
    RATER,
    TEXT,
    VERDICT,
    Role,
    anything,
)
from undogmatic.datasets.search import OF_PEOPLE, Search
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

FIELDS = (ITEM, LABEL, RATER, GROUP, CONDITION, PAIR, PARENT, MAKER)
"""What a column of a run's items may be, besides what is judged."""
_SOUGHT = (RATER, ITEM, GROUP, CONDITION, PAIR)
"""Those that are recognised by known names, in this order: where there is a rater, an id may stand
in several rows."""
Typed = Mapping[str, Sequence[str] | None]


class Roles(NamedTuple):
    """The columns of each field and input, as the door calls it (of several the first that a row
    fills, but each of the labels is a person's), and what was recognised."""

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

    def found() -> Roles:
        needed = [_input(name) for name in inputs]
        others = [_input(name) for name in optional if name not in inputs]
        fields = [*needed, *others, *FIELDS]
        check_fields(typed, list(map(RUN.called, fields)))
        return _OfItems(cells, RUN).roles(needed, others, typed, nested)

    return _of_file(file, found)


def stands_alone(typed: Sequence[str] | None, columns: Collection[str]) -> bool:
    """Whether somebody typed that nothing belongs together: "none", which is no column."""
    return [fold(name) for name in typed or ()] == [NONE] and NONE not in map(
        fold, columns
    )


def find_texts(
    cells: pd.DataFrame,
    file: str,
    text: Sequence[str],
    item: str | None,
    every: bool = False,
) -> Roles:
    """Find the columns of the texts and of their ids for a command whose options --text and --item
    name them; where --text is not typed, `every` column that is known to hold texts, or the only
    one. Raises ConfigError.
    """
    return _of_file(file, lambda: _OfItems(cells, OF_TEXTS).texts(text, item, every))


def already_judged(cells: pd.DataFrame, typed: Typed) -> list[str]:
    """The columns that hold verdicts of a judge by their names and by what they say, but those that
    a person named for something else."""
    table = _OfItems(cells, RUN)
    named = {table.meant(name) for names in typed.values() for name in names or ()}
    free = [name for name in table.names if name not in named]
    labels = [name for name in free if side_of(name) == LABEL.side]
    return [
        name
        for name in free
        if side_of(name) == VERDICT.side
        and (table.is_value(name, loose=False) or table.says_as(name, labels))
    ]


def find_labels(cells: pd.DataFrame, file: str, typed: Mapping[str, str]) -> Roles:
    """Find the columns of a filled table of labels: `item_id`, `label` and, where there is one,
    `labeller`, by these names, as `typed` in options of these names (--item-id COLUMN), or as they
    are recognised. Raises ConfigError.
    """
    return _of_file(file, lambda: _OfItems(cells, IMPORT).filled(typed))


def check_fields(typed: Typed, fields: Sequence[str]) -> None:
    """Raise ConfigError for a key of `dataset.columns` that is none."""
    if unknown := [
        name for name, given in typed.items() if given and name not in fields
    ]:
        raise ConfigError(
            f"`dataset.columns` names {brief(unknown[0])}. It may name: {', '.join(fields)}."
        )


def _input(name: str) -> Role:
    """The role of something that is judged, which may be called as a text or a context is."""
    field = next((role for role in FIELDS if RUN.called(role) == name), None)
    known = next((role.names for role in (TEXT, CONTEXT) if name in role.names), ())
    return field or Role(name, names=known)


def _of_file(file: str, find: Callable[[], Roles]) -> Roles:
    try:
        return find()
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


class _OfItems(Search):
    """What is known of each item of a table, and what was judged."""

    def __init__(self, cells: pd.DataFrame, door: Door) -> None:
        super().__init__(cells, door)
        self.known = dict[Role, tuple[str, ...]]()
        # By role the column that was taken because it is the only one with sentences.
        self.only: dict[Role, str] = {}
        self.left: list[Finding] = []

    def roles(
        self, needed: Sequence[Role], others: Sequence[Role], typed: Typed, nested: bool
    ) -> Roles:
        """The columns of the items of a run, of which `needed` and `others` are judged."""
        every = [*needed, *others, *FIELDS]
        # First what somebody typed, then what is called so, then what the cells show: a guess
        # never takes a column that is named.
        called = {self.door.called(role): role for role in every}
        for name, names in typed.items():
            if names is None or name not in called:
                continue
            # An empty tuple is known, too: it says that there is none, and nothing is guessed.
            if called[name] is GROUP and stands_alone(names, self.names):
                self._take(GROUP, ())
                continue
            found = self._typed(called[name], names)
            if found is not None:
                self._take(called[name], found)
        for name, role in called.items():  # what is called so is it
            if role not in self.known and name in self.names:
                self._take(role, (name,))
        before = set(self.known)
        for role in () if nested else (*needed, *others):
            judged = None if role in self.known else self._judged(role, needed)
            if judged is not None:
                self._take(role, (judged,))
        for role in _SOUGHT:
            named = None if role in self.known else self.called(role, role.of_items)
            if named is not None:
                self._take(role, (named,))
        if LABEL not in self.known and not {"label", "labels"} & self.names.keys():
            self._take(LABEL, self._labels())
        return self._found(
            [role for role in self.known if role not in before and self.known[role]]
        )

    def texts(self, text: Sequence[str], item: str | None, every: bool) -> Roles:
        """The columns of texts and ids."""
        self._take(TEXT, tuple(self.named(each, TEXT) for each in text))
        if item:
            self._take(ITEM, (self.named(item, ITEM),))
        else:
            found = self.called(ITEM)
            self._take(ITEM, (found,) if found else ())
        if every and not text:
            self._take(TEXT, self._every_text())
        if not self.known[TEXT]:  # what is called so is it
            only = "text" if "text" in self.names else self._judged(TEXT, [TEXT])
            self._take(TEXT, (only,) if only else ())
        typed = {TEXT: bool(text), ITEM: bool(item)}
        return self._found(
            [role for role, names in self.known.items() if names and not typed[role]]
        )

    def _every_text(self) -> tuple[str, ...]:
        """The columns that are called as a context or a text is, and those of two outputs."""
        # Reversed, so that of two columns of one name the first counts.
        known = {self.joined[name]: name for name in reversed(self.free())}
        named = [
            known[name]
            for role in (CONTEXT, TEXT)
            for name in role.names
            if name in known
        ]
        # As the outputs of a choice are called: response_a, answer_2.
        ends = (("1",), ("2",), ("a",), ("b",))
        sides = [
            name
            for name in self.free()
            if self.names[name][-1:] in ends
            and name not in named
            and self.is_prose(name)
        ]
        return (*(name for name in named if self.sample(name).said), *sides)

    def filled(self, typed: Mapping[str, str]) -> Roles:
        """The columns of ids, labels and labellers."""
        for role in (ITEM, RATER, LABEL):
            name = self.door.called(role)
            if name in typed:
                self._take(role, (self.named(typed[name], role),))
            elif name in self.names:
                self._take(role, (name,))
            elif role is LABEL:
                self._take(role, self._labels())
            else:
                found = self.called(role, anything)
                self._take(role, (found,) if found else ())
        # In a file of labels each row has one; two columns are two people's, or one of them is no
        # label.
        if len(several := self.known[LABEL]) > 1:
            raise self.doubt(LABEL, "which column holds the labels", several)
        for role in (ITEM, LABEL):
            # A file without rows has nothing to be missed.
            if not self.known[role] and len(self.cells):
                listed = ", ".join(self.names) or "none"
                what = f"no column `{self.door.called(role)}`, and none that seems to be it"
                raise Doubt(role, f"{what}; columns: {listed}").at(self.door)
        return self._found(
            [
                role
                for role, names in self.known.items()
                if names
                and names != (self.door.called(role),)
                and self.door.called(role) not in typed
            ]
        )

    def _found(self, recognised: Sequence[Role]) -> Roles:
        """What was found, with what is said of the roles that were recognised."""
        notes = []
        if recognised:
            shown = [
                f"{self.door.called(role)} = {', '.join(f'`{name}`' for name in self.known[role])}"
                for role in recognised
            ]
            one = LABEL if LABEL in recognised else recognised[0]
            option = self.door.typed(one, self.known[one][0])
            notes.append(Finding("items.columns", {"roles": shown, "option": option}))
        for role, name in self.only.items():
            facts = {"role": self.door.called(role), "column": name}
            facts |= {"option": self.door.typed(role, name)}
            notes.append(Finding("items.only", facts))
        columns = {self.door.called(role): names for role, names in self.known.items()}
        return Roles(columns, notes + self.left + self.silent())

    def _take(self, role: Role, names: tuple[str, ...]) -> None:
        self.known[role] = names
        self.taken |= set(names)
        self.several = self.several or bool(role is RATER and names)

    def _option(self, role: Role) -> str:
        option = super()._option(role)
        return option if isinstance(self.door, Command) else f"`{option}`"

    def _typed(self, role: Role, names: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that the user names; None where several are named, and none of them is
        there."""
        found = [column for name in names if (column := self.meant(name)) is not None]
        if len(names) == 1 and not found:
            self.named(names[0], role)  # which says that it is none
        return tuple(found) if found or not names else None

    def _judged(self, role: Role, needed: Sequence[Role]) -> str | None:
        """The column of something that is judged. Raises ConfigError where it is `needed`, and not
        clear."""
        required = role in needed
        alone = sum(one.name in role.names for one in needed) == 1 or not required
        named = [
            name
            for name in self.free()
            if alone and self.joined[name] in role.names and self.is_text(name)
        ]
        prose = [name for name in named or self.free() if self.is_prose(name)]
        if len(named) == 1 or not required:
            return named[0] if len(named) == 1 else None
        if len(prose) == 1 and (named or len(needed) == 1):
            # Taken because it is the only one: that is said, as the name does not bear it out.
            self.only |= {} if named else {role: prose[0]}
            return prose[0]
        candidates = prose or named if len(needed) == 1 or named else []
        if candidates:
            raise self.doubt(
                role, f"which column is judged (`{role.name}`)", candidates
            )
        listed = ", ".join(f"`{name}`" for name in self.names) or "none"
        what = f"no column `{role.name}`, and none that seems to be it"
        raise Doubt(role, f"{what}. Columns: {listed}").at(self.door)

    def _labels(self) -> tuple[str, ...]:
        """The columns of what people said: those that are called so, or else those with grades."""
        people, unsaid = self.of_side(LABEL, _may_be_label)
        grades = [name for name in unsaid if LABEL.of_items(self, name)]
        labels = [name for name in people if LABEL.of_items(self, name)] or grades
        if not labels:
            # A formula that was never computed looks like a column without labels.
            self.check_formulas((*people, *unsaid), LABEL, optional=True)
        found = self.together(labels, LABEL, OF_PEOPLE, none=True)
        if not found and (words := [name for name in unsaid if self.is_value(name)]):
            shown = [f"`{name}`" for name in words]
            option = self.door.typed(LABEL, words[0])
            facts = {"columns": shown, "n": len(shown), "option": option}
            self.left.append(Finding("items.no_label", facts))
        return found


def _may_be_label(table: Contents, name: str) -> bool:
    """Whether a column is no label on a criterion, which its name would say."""
    return not name.startswith("label.")
