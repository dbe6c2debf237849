"""Finds out which column of a verdict table says what, by name and by content; asks where that is
doubtful.

Names are known in English and Portuguese, in any case, with or without accents.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import (
    EMPTY,
    FORMULA,
    NOT_APPLICABLE,
    Cells,
    fold,
    number_of,
    read_cells,
    unread,
)
from undogmatic.datasets.doors import CHECK, Door, spelled
from undogmatic.datasets.names import MODEL, NAMES, PARTS, side_of, tokens, typed_as
from undogmatic.datasets.orders import order_words
from undogmatic.datasets.scales import CHOICES, FAILS, ORDERS, PASSES, TableOptions
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

SETTINGS = {name: name.replace(" ", "_") for name in NAMES["settings"]}
SETTING = "settings."
"""How a reader's columns of settings begin."""
_SIDES = {"1": 0, "2": 1, "a": 0, "b": 1, "left": 0, "right": 1, "first": 0, "second": 1}
_SINGLE = ("item", "criterion", "repeat", "order", "confidence", "rater", "group", "failed")
LONGEST_ID = 3
"""Words that an id may have; what has more is a text."""
LONGEST_NAME = 25
"""Words that the name of a column may have; what has more is a text."""
_SAMPLE = 2000


@dataclass
class Columns:
    """Which column has which role.

    `judges` holds the names of judges (long form), of which `only` some may count; `among_raters`:
    they stand among the names of raters. `others` are of judges or people that were not asked for.
    `pairwise`: two outputs are compared.
    """

    item: str | None = None
    texts: tuple[str, ...] = ()
    group: str | None = None
    systems: tuple[str, ...] = ()
    criterion: str | None = None
    repeat: str | None = None
    order: str | None = None
    confidence: str | None = None
    failed: str | None = None
    rater: str | None = None
    context: str | None = None
    judges: str | None = None
    only: tuple[str, ...] = ()
    among_raters: bool = False
    verdicts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    pairwise: bool = False
    notes: list[Finding] = field(default_factory=list)

    def used(self) -> set[str]:
        """The columns with a role."""
        single = (getattr(self, role) for role in _SINGLE)
        many = (
            *self.texts,
            *self.systems,
            *self.verdicts,
            *self.labels,
            *self.settings,
            *self.remarks,
            *self.others,
        )
        return {name for name in (*single, self.judges, *many) if name is not None}


def find_columns(
    cells: pd.DataFrame,
    options: TableOptions,
    facts: Collection[str] = (),
    door: Door = CHECK,
) -> Columns:
    """Give each column its role; `facts` are columns known to hold neither verdicts nor labels.
    Raises ConfigError naming the candidates where it is doubtful, and for an option that names no
    column, with the options as they are spelled at the `door`."""
    return Search(cells, options, facts, door).columns()


class Search:
    """What the columns of a table seem to hold, by name and by content."""

    def __init__(
        self, cells: pd.DataFrame, options: TableOptions, facts: Collection[str], door: Door
    ) -> None:
        self.cells, self.options, self.facts, self.door = cells, options, facts, door
        self.names = {str(column): tokens(str(column)) for column in cells}
        self.joined = {name: " ".join(parts) for name, parts in self.names.items()}
        self._samples: dict[str, Cells] = {}
        self.found = Columns()
        self.taken: set[str] = set()

    def columns(self) -> Columns:
        found, options = self.found, self.options
        self.check_header()
        found.labels = tuple(self._named(name, "label") for name in options.human)
        found.only = self._names_of_judges()
        judged = tuple(
            self._named(name, "judge") for name in options.judge if name not in found.only
        )
        found.verdicts = (
            () if options.verdict is None else (self._named(options.verdict, "verdict"),)
        )
        self.taken |= {*found.labels, *judged, *found.verdicts}
        self._sides("texts", options.text, "text")
        self._sides("systems", options.system, "system")
        for role in _SINGLE:
            self._single(role, getattr(options, role))
        self._judges_by_name(judged)
        found.settings = tuple(
            n for n in self._free() if self.joined[n] in SETTINGS or n.startswith(SETTING)
        )
        self.taken |= set(found.settings)
        if not found.texts and (text := self._first("text", self._is_text)):
            found.texts = (text,)
            self.taken.add(text)
        if not found.systems and (system := self._first("system", self._is_names)):
            found.systems = (system,)
            self.taken.add(system)
        found.context = self._first("context", lambda name: True)
        if found.context is not None and self._is_constant(found.context):
            found.settings = (*found.settings, found.context)
            self.taken.add(found.context)
            found.context = None
        found.remarks = tuple(n for n in self._free() if self.joined[n] in NAMES["remark"])
        self.taken |= {*found.remarks, *([found.context] if found.context else [])}
        self._verdicts_and_labels()
        found.pairwise = self._pairwise()
        if not found.pairwise:
            found.texts, found.systems = found.texts[:1], found.systems[:1]
            found.order = found.order if options.order is not None else None
        self._check_model()
        self._leave_others()
        self._note()
        return found

    def check_header(self) -> None:
        """Raise ConfigError where the first line does not name the columns."""
        longest = max(self.names, key=lambda name: len(self.names[name]), default="")
        most = (
            LONGEST_ID if any(number_of(name) is not None for name in self.names) else LONGEST_NAME
        )
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
            if not (cells := self._cells(name)).said and FORMULA in cells.reasons:
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
            if (reasons := set(self._cells(name).reasons)) <= {EMPTY, NOT_APPLICABLE, FORMULA}:
                told[FORMULA in reasons].append(f"`{name}`")
        keys = {False: "items.empty_columns", True: "items.formulas"}
        return [
            Finding(keys[of], {"columns": names[:8], "n": len(names)})
            for of, names in told.items()
            if names
        ]

    # Single roles

    def _named(self, typed: str, role: str) -> str:
        """The column that the option of a role names."""
        if (column := self._meant(typed)) is not None:
            return column
        close = difflib.get_close_matches(typed, self.names, 1)
        hint = f" Did you mean {typed_as(close[0])}?" if close else ""
        raise ConfigError(
            f"{self._option(role)} is {brief(typed)}, which is no column.{hint} Columns:"
            f" {', '.join(self.names)}."
        )

    def _option(self, role: str) -> str:
        """The option that names the column of a role, in a sentence."""
        return self.door.option(role)

    def _meant(self, name: str) -> str | None:
        """The column that is called so; accents, capitals and signs do not count where only one is
        left."""
        same = [
            column
            for column in self.names
            if fold(column) == fold(name) or self.names[column] == tokens(name)
        ]
        return name if name in self.names else same[0] if len(same) == 1 else None

    def _free(self) -> list[str]:
        return [name for name in self.names if name not in self.taken]

    def _first(self, role: str, fits: object) -> str | None:
        """The free column with the first of the role's names that fits."""
        assert callable(fits)
        free = {self.joined[name]: name for name in reversed(self._free())}
        return next(
            (free[known] for known in NAMES[role] if known in free and fits(free[known])), None
        )

    def _single(self, role: str, typed: str | None) -> None:
        fits = {
            "order": self._is_order,
            "rater": lambda name: self._is_names(name) or self._has_labels_beside(name),
            "confidence": lambda name: self._cells(name).numeric > 0.5,
            "failed": lambda name: (
                self._cells(name).distinct_words().keys() <= PASSES | FAILS | {"0", "1"}
            ),
            "group": lambda name: name != self.found.item,
            "criterion": self._is_names,
            "item": lambda name: self._cells(name).said > 0 and not self._is_prose(name),
        }.get(role, lambda name: True)
        name = (
            self._named(typed, role)
            if typed
            else self._first(role, fits)
            if typed is None
            else None
        )
        if name is not None:
            setattr(self.found, role, name)
            self.taken.add(name)

    def _sides(self, found_as: str, typed: Sequence[str], role: str) -> None:
        """Two columns of one stem for the two outputs that are compared (`text_1`, `text_2`), or
        those typed."""
        found = tuple(self._named(name, role) for name in typed)
        if len(found) > 2:
            raise ConfigError(
                f"{self.door.option(role)} names {len(found)} columns; give one, or two where two"
                " outputs are compared."
            )
        if not found:
            sides: dict[str, dict[int, str]] = {}
            for name in self._free():
                parts = self.names[name]
                for stem, side in ((parts[:-1], parts[-1:]), (parts[1:], parts[:1])):
                    if side and side[0] in _SIDES and " ".join(stem) in NAMES[role]:
                        sides.setdefault(" ".join(stem), {}).setdefault(_SIDES[side[0]], name)
            whole = [pair for pair in sides.values() if len(pair) == 2]
            found = (whole[0][0], whole[0][1]) if whole else ()
        if found:
            setattr(self.found, found_as, found)
            self.taken |= set(found)

    def _names_of_judges(self) -> tuple[str, ...]:
        """The judges that are named, where the option names no column but what stands in the
        column of judges."""
        typed = [name for name in self.options.judge if name not in self.names]
        column = next(
            (
                name
                for known in NAMES["judges"]
                for name in self.names
                if self.joined[name] == known
            ),
            None,
        )
        held = set(self.cells[column]) if typed and column is not None else set()
        return tuple(name for name in typed if name in held)

    # What a column holds

    def _cells(self, name: str) -> Cells:
        if name not in self._samples:
            held = self.cells[name].to_numpy(dtype=object)
            step = max(1, len(held) // _SAMPLE)
            self._samples[name] = read_cells(held[::step])
        return self._samples[name]

    def _is_value(self, name: str, loose: bool = True) -> bool:
        """Whether it can hold verdicts: numbers, known words, or (loose) few different ones."""
        cells = self._cells(name)
        words = cells.distinct_words()
        if not words:
            return False
        if cells.numeric >= 0.7 or words.keys() <= _known_words():
            return True
        short = max(map(len, words)) <= 40
        return loose and short and (len(words) <= 12 and len(words) * 2 <= max(cells.said, 4))

    def _is_text(self, name: str) -> bool:
        cells = self._cells(name)
        return (
            cells.said > 0
            and cells.numeric < 0.5
            and not cells.distinct_words().keys() <= _known_words()
        )

    def _is_prose(self, name: str) -> bool:
        """Whether most of what it holds are sentences, not ids."""
        written = self._cells(name).written
        return (
            bool(written) and float(np.median([len(each.split()) for each in written])) > LONGEST_ID
        )

    def _is_names(self, name: str) -> bool:
        """Whether it holds names that come again, which are neither numbers nor known verdicts."""
        cells = self._cells(name)
        words = cells.distinct_words()
        return (
            bool(words)
            and cells.numeric < 0.5
            and not words.keys() <= _known_words() - CHOICES.keys()
        )

    def _has_labels_beside(self, name: str) -> bool:
        """Whether another column is clearly one of labels, so that the numbers in a column of
        raters are their ids."""
        others = [
            other
            for other in self._free()
            if other != name and self.joined[other] not in NAMES["rater"]
        ]
        return any(side_of(other) == -1 and self._is_value(other) for other in others)

    def _is_beside_verdicts(self, name: str) -> bool:
        """Whether another column holds what the names in this one said, and no label is one of
        these names."""
        labels = [*self.found.labels, *(other for other in self._free() if side_of(other) == -1)]
        own = self._cells(name).distinct_words().keys()
        if any(own & self._cells(other).distinct_words().keys() for other in labels):
            return False
        return any(side_of(other) in (0, 1) and self._is_value(other) for other in self._free())

    def _is_constant(self, name: str) -> bool:
        """Whether a column says one thing, or one for each judge."""
        judges = self.found.judges
        held = self.cells[name] if judges is None else self.cells.groupby(judges, sort=False)[name]
        return int(np.max(held.nunique())) < 2 and len(self.cells) > 1

    def _is_order(self, name: str) -> bool:
        return order_words(self.joined[name], self._cells(name).distinct_words()) is not None

    # Verdicts and labels

    def _judges_by_name(self, judged: Sequence[str]) -> None:
        """Find the column with the names of judges, if there is one."""
        found = self.found
        if judged:
            if len(judged) > 1 and self.options.verdict is not None:
                verdict, judge = self.door.option("verdict"), self.door.option("judge")
                raise ConfigError(
                    f"with {verdict}, {judge} names the one column that holds the names of judges."
                )
            names = [name for name in judged if self._is_names(name)]
            if self.options.verdict is not None or (
                len(judged) == 1 and names and self._is_beside_verdicts(judged[0])
            ):
                found.judges = judged[0]
            else:
                found.verdicts = tuple(judged)
            return
        rater = found.rater
        if rater is not None and any(
            side_of(str(name)) == 1 for name in self.cells[rater].unique()
        ):
            found.judges, found.rater, found.among_raters = rater, None, True
            return
        for wanted in NAMES["judges"]:
            for name in self._free():
                if self.joined[name] == wanted and (
                    self._is_names(name) or "id" in self.names[name]
                ):
                    others = [
                        n
                        for n in self._free()
                        if n != name and side_of(n) != -1 and self._is_value(n)
                    ]
                    own = self._cells(name).distinct_words().keys()
                    if any(own == self._cells(other).distinct_words().keys() for other in others):
                        continue  # what stands there are verdicts, too, and no names
                    if found.verdicts or others:
                        found.judges = name
                        self.taken.add(name)
                        return

    def _verdicts_and_labels(self) -> None:
        found = self.found
        sides: dict[int, list[str]] = {1: [], 0: [], -1: []}
        for name in self._free():
            side = side_of(name)
            if side is not None and name not in self.facts and self._is_value(name):
                sides[side].append(name)
        judges, neutral, people = sides[1], sides[0], sides[-1]
        typed_judges, typed_people = bool(found.verdicts), bool(found.labels)
        self._check_mute(
            typed_judges or found.judges is not None or bool(judges), typed_judges, typed_people
        )
        if not typed_people and people:
            found.labels = self._several(people, "label", "the labels of people", judge=False)
        if not typed_judges:
            if found.judges is not None:
                candidates = judges + neutral
                if len(candidates) != 1:
                    self._ask(candidates or self._values(), "verdict", "what the judges said")
                found.verdicts = (candidates[0],)
                neutral = [name for name in neutral if name != candidates[0]]
            elif judges:
                found.verdicts = self._several(
                    judges, "judge", "the verdicts of the judge", judge=True
                )
            elif len(neutral) == 1:
                found.verdicts, neutral = (neutral[0],), []
            elif neutral:
                self._ask(neutral, "judge", "the verdicts of the judge")
            else:
                self._ask(
                    self._values() or list(found.labels), "judge", "the verdicts of the judge"
                )
        if not found.labels and not typed_people and neutral and found.judges is None:
            if len(neutral) > 1:
                self._ask(neutral, "label", "the labels of people")
            found.labels = (neutral[0],)

    def _check_mute(self, judged: bool, typed_judges: bool, typed_people: bool) -> None:
        """Raise ConfigError where a column that is called one of verdicts or labels holds formulas
        alone, and where no verdicts were found (`judged`) and the judge's column is empty: another
        must not silently take its place.
        """
        free = [
            name for name in self._free() if name not in self.facts and not self._cells(name).said
        ]
        neutral = -1 if judged else 1  # whose a column is whose name does not tell
        for role, own, typed in (("judge", 1, typed_judges), ("label", -1, typed_people)):
            sides = [name for name in free if not typed and (side_of(name) or neutral) == own]
            self.check_formulas(sides, f"name another column: {self.door.typed(role, 'COLUMN')}")
        values = [] if judged else self._values()
        if values and (empty := [name for name in free if side_of(name) == 1]):
            others = " or ".join(self.door.typed("judge", name) for name in values[:4])
            raise ConfigError(
                f"`{empty[0]}` is empty in every row. If the verdicts are in another column:"
                f" {others}."
            )

    def _check_model(self) -> None:
        """Ask whether the models of a column are judges or makers, where neither its name nor what
        it holds tells."""
        found = self.found
        column = found.systems[0] if len(found.systems) == 1 and not self.options.system else None
        own = (
            found.judges is not None
            or any(side_of(name) == 1 for name in found.verdicts)
            or bool(self.options.judge)
        )
        if (
            column is None
            or own
            or self.joined[column] not in NAMES["models"]
            or found.item is None
        ):
            return
        by_item = self.cells.groupby(found.item, sort=False)
        if int(by_item[column].nunique().max()) < 2:
            return
        told = [
            name for name in (*found.texts, *found.labels) if int(by_item[name].nunique().max()) > 1
        ]
        if not told:
            ways = " or ".join(self.door.typed(role, column) for role in ("judge", "system"))
            raise ConfigError(
                f"are the names in `{column}` (e.g. {', '.join(self._cells(column).examples())})"
                f" those of judges, or of the makers of what was judged? Type {ways}."
            )

    def _leave_others(self) -> None:
        """Leave out the columns of judges and people beside those that were typed, which are
        nothing of the items."""
        typed = {0, 1} if self.options.judge and self.found.judges is None else set()
        typed |= {-1} if self.options.human and self.found.rater is None else set()
        named = {part for name in self.found.verdicts for part in self.names[name]} & PARTS[
            "neutral"
        ]
        own = {
            n: s for n in self._free() if n not in self.found.used() and (s := side_of(n)) in typed
        }
        own = {
            n: s
            for n, s in own.items()
            if self._is_value(n) and (s != 0 or named & set(self.names[n]))
        }
        self.found.others = tuple(own)
        if own:
            columns = [f"`{name}`" for name in own]
            options = [
                f"`{self.door.option(role)}`"
                for role, sides in (("judge", {0, 1}), ("label", {-1}))
                if sides & typed
            ]
            values = {"columns": columns[:8], "n": len(columns), "options": options}
            self.found.notes.append(Finding("table.left_others", values))

    def _note(self) -> None:
        """Say what was recognised and not declared: verdicts and labels first, as all else hangs on
        them."""
        found, options = self.found, self.options
        marked = {name: [f"`{n}`" for n in getattr(found, name)] for name in ("verdicts", "labels")}
        if found.judges is not None and not (options.judge and options.verdict):
            facts: dict[str, Any] = {"judge": f"`{found.judges}`", "columns": marked["verdicts"]}
            facts |= spelled(self.door, "judge", "verdict")
            found.notes.append(Finding("table.read_judges", facts))
        elif not options.judge:
            facts = {"columns": marked["verdicts"], "n": len(found.verdicts)}
            found.notes.append(Finding("table.read_verdict", facts | spelled(self.door, "judge")))
        if found.labels and found.rater is not None and not (options.human and options.rater):
            facts = {"rater": f"`{found.rater}`", "columns": marked["labels"]}
            facts |= spelled(self.door, "rater", "label")
            found.notes.append(Finding("table.read_raters", facts))
        elif found.labels and not options.human:
            facts = {"columns": marked["labels"], "n": len(found.labels)}
            found.notes.append(Finding("table.read_label", facts | spelled(self.door, "label")))
        roles = {"text": found.texts, "system": found.systems}
        roles |= {
            role: (name,)
            for role in _SINGLE
            if (name := getattr(found, role)) is not None and role != "rater"
        }
        typed = [
            f"`{self.door.typed(r, n)}`"
            for r, names in roles.items()
            if not getattr(options, r)
            for n in names
        ]
        found.notes += [Finding("table.read_roles", {"roles": typed})] if typed else []
        rest = [n for n in self._free() if self.joined[n] in NAMES["text"] and self._is_prose(n)]
        if rest and len(found.texts) == 1 and not (options.text or found.pairwise or found.judges):
            values = {
                "text": f"`{found.texts[0]}`",
                "others": [f"`{name}`" for name in rest[:4]],
                "n": len(rest),
            }
            found.notes.append(
                Finding("table.read_text", values | {"option": self.door.typed("text", rest[0])})
            )
        if not found.texts and (prose := [name for name in self._free() if self._is_prose(name)]):
            values = {"columns": [f"`{name}`" for name in prose[:4]], "n": len(prose)}
            found.notes.append(
                Finding("table.no_text", values | {"option": self.door.typed("text", prose[0])})
            )
        found.notes += self.silent()
        told = spelled(self.door, "judge", "label")
        found.notes += unread(self.cells, (*found.verdicts, *found.labels), found.used(), told)

    def _values(self) -> list[str]:
        return [name for name in self._free() if self._is_value(name)]

    def _several(self, names: list[str], role: str, what: str, judge: bool) -> tuple[str, ...]:
        """The columns if they are clearly those of several raters or judges: alike but for one part
        of their names."""
        if len(names) > 1:
            parts = [self.names[name] for name in names]
            shared = set(parts[0]).intersection(*map(set, parts[1:]))
            ends = {len(each) for each in parts}
            alike = (
                bool(shared)
                and max(ends) - min(ends) <= 1
                and all(len(set(each) - shared) >= 1 for each in parts)
            )
            models = judge and all(any(MODEL.match(part) for part in each) for each in parts)
            if not (alike or models):
                self._ask(names, role, what)
        return tuple(names)

    def _ask(self, names: Sequence[str], role: str, what: str) -> None:
        if not names:
            listed = ", ".join(f"`{name}`" for name in self.names)
            way = self.door.typed(role, "COLUMN")
            raise ConfigError(f"no column seems to hold {what}. Columns: {listed}. Name it: {way}.")
        shown = "; ".join(
            f"`{n}` (e.g. {', '.join(self._cells(n).examples()) or 'empty'})" for n in names[:8]
        )
        way = " or ".join(self.door.typed(role, name) for name in names[:4])
        several = (
            f" For several of them, repeat {self.door.option(role)}."
            if len(names) > 1 and role != "verdict"
            else ""
        )
        raise ConfigError(
            f"it is not clear which column holds {what}. It may be {shown}. Type {way}.{several}"
        )

    def _pairwise(self) -> bool:
        found = self.found
        if self.options.kind is not None:
            return self.options.kind == "pairwise"
        words = {word for name in found.verdicts for word in self._cells(name).distinct_words()}
        two = found.order is not None or len(found.texts) == 2 or len(found.systems) == 2
        named = any(set(self.names[name]) & PARTS["choice"] for name in found.verdicts)
        if not words <= CHOICES.keys():
            return named and len(found.systems) == 2
        return two or (named and len(words - {"c"}) >= 1 and not words <= {"0", "1"})


def _known_words() -> set[str]:
    return (
        PASSES
        | FAILS
        | CHOICES.keys()
        | {name for order in ORDERS for names in order for name in names}
    )
