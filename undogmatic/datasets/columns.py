"""Finds out which column of a verdict table says what, by name and by content; asks where that is
doubtful."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import unread
from undogmatic.datasets.doors import CHECK, Door, Doubt, Question, Way, spelled
from undogmatic.datasets.names import PARTS, side_of
from undogmatic.datasets.roles import (
    CONFIDENCE,
    CONTEXT,
    CRITERION,
    FAILED,
    GROUP,
    ITEM,
    JUDGE,
    LABEL,
    MODEL,
    ORDER,
    RATER,
    REMARK,
    REPEAT,
    SETTING,
    SYSTEM,
    TEXT,
    VERDICT,
    Role,
    anything,
)
from undogmatic.datasets.scales import TableOptions
from undogmatic.datasets.search import OF_PEOPLE, Search
from undogmatic.datasets.vocabulary import CHOICES
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding

SETTINGS = {name: name.replace(" ", "_") for name in SETTING.names}
"""What is known of a judge, by the names of columns."""
SETTING_PREFIX = "settings."
"""How a reader's columns of settings begin."""
_SIDES = {"1": 0, "2": 1, "a": 0, "b": 1, "left": 0, "right": 1, "first": 0, "second": 1}
_SINGLE = (ITEM, CRITERION, REPEAT, ORDER, CONFIDENCE, RATER, GROUP, FAILED)
"""The roles that one column has, in the order in which they are looked for."""
OF_JUDGE = "the verdicts of the judge"


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
        single = (getattr(self, role.name) for role in _SINGLE)
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
    return _OfVerdicts(cells, options, facts, door).columns()


class _OfVerdicts(Search):
    """The columns of a verdict table: a judge's, people's, and those of what they are about."""

    def __init__(
        self, cells: pd.DataFrame, options: TableOptions, facts: Collection[str], door: Door
    ) -> None:
        super().__init__(cells, door)
        self.options, self.facts = options, facts
        self.found = Columns()

    def columns(self) -> Columns:
        """Find them: what is typed, then what its name tells, then verdicts and labels among what
        is left."""
        found, options = self.found, self.options
        found.labels = tuple(self.named(name, LABEL) for name in options.human)
        found.only = self._names_of_judges()
        judged = tuple(self.named(name, JUDGE) for name in options.judge if name not in found.only)
        found.verdicts = () if options.verdict is None else (self.named(options.verdict, VERDICT),)
        self.taken |= {*found.labels, *judged, *found.verdicts}
        found.texts = self._sides(options.text, TEXT)
        found.systems = self._sides(options.system, SYSTEM)
        for role in _SINGLE:
            setattr(found, role.name, self._single(role, getattr(options, role.name)))
        self._judges_by_name(judged)
        found.settings = self._take(
            n for n in self.free() if self.joined[n] in SETTINGS or n.startswith(SETTING_PREFIX)
        )
        if not found.texts and (text := self.called(TEXT)):
            found.texts = self._take([text])
        if not found.systems and (system := self.called(SYSTEM)):
            found.systems = self._take([system])
        found.context = self.called(CONTEXT)
        if found.context is not None:
            self.taken.add(found.context)
            if self._is_constant(found.context):
                # A prompt that is always the same is the judge's, and no part of an item.
                found.settings, found.context = (*found.settings, found.context), None
        found.remarks = self._take(n for n in self.free() if self.joined[n] in REMARK.names)
        self._verdicts_and_labels()
        found.pairwise = self._pairwise()
        if not found.pairwise:
            found.texts, found.systems = found.texts[:1], found.systems[:1]
            found.order = found.order if options.order is not None else None
        self._check_model()
        self._leave_others()
        self._note()
        return found

    # Single roles

    def _take(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns, which have a role from now on."""
        taken = tuple(names)
        self.taken |= set(taken)
        return taken

    def _single(self, role: Role, typed: str | None) -> str | None:
        """The column of a role that one column has; typed as "" it is none."""
        name = self.named(typed, role) if typed else self.called(role) if typed is None else None
        if name is not None:
            self.taken.add(name)
        return name

    def _sides(self, typed: Sequence[str], role: Role) -> tuple[str, ...]:
        """Two columns of one stem for the two outputs that are compared (`text_1`, `text_2`), or
        those typed."""
        found = tuple(self.named(name, role) for name in typed)
        if len(found) > 2:
            raise ConfigError(
                f"{self.door.option(role)} names {len(found)} columns; give one, or two where two"
                " outputs are compared."
            )
        if not found:
            sides: dict[str, dict[int, str]] = {}
            for name in self.free():
                parts = self.names[name]
                for stem, side in ((parts[:-1], parts[-1:]), (parts[1:], parts[:1])):
                    if side and side[0] in _SIDES and " ".join(stem) in role.names:
                        sides.setdefault(" ".join(stem), {}).setdefault(_SIDES[side[0]], name)
            whole = [pair for pair in sides.values() if len(pair) == 2]
            found = (whole[0][0], whole[0][1]) if whole else ()
        return self._take(found)

    def _names_of_judges(self) -> tuple[str, ...]:
        """The judges that are named, where the option names no column but what stands in the
        column of judges."""
        typed = [name for name in self.options.judge if name not in self.names]
        column = self.called(JUDGE, anything)
        held = set(self.cells[column]) if typed and column is not None else set()
        return tuple(name for name in typed if name in held)

    def _is_constant(self, name: str) -> bool:
        """Whether a column says one thing, or one for each judge."""
        judges = self.found.judges
        held = self.cells[name] if judges is None else self.cells.groupby(judges, sort=False)[name]
        return int(np.max(held.nunique())) < 2 and len(self.cells) > 1

    def _is_beside_verdicts(self, name: str) -> bool:
        """Whether another column holds what the names in this one said, and no label is one of
        these names."""
        labels = [*self.found.labels, *(other for other in self.free() if side_of(other) == -1)]
        own = self.sample(name).distinct_words().keys()
        if any(own & self.sample(other).distinct_words().keys() for other in labels):
            return False
        return any(side_of(other) in (0, 1) and self.is_value(other) for other in self.free())

    # Verdicts and labels

    def _judges_by_name(self, judged: Sequence[str]) -> None:
        """Find the column with the names of judges, if there is one."""
        found = self.found
        if judged:
            if len(judged) > 1 and self.options.verdict is not None:
                verdict, judge = self.door.option(VERDICT), self.door.option(JUDGE)
                raise ConfigError(
                    f"with {verdict}, {judge} names the one column that holds the names of judges."
                )
            names = [name for name in judged if self.is_names(name)]
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
        named = (n for known in JUDGE.names for n in self.free() if self.joined[n] == known)
        for name in named:
            if JUDGE.holds(self, name) and self._judges_what(name):
                found.judges = name
                self.taken.add(name)
                return

    def _judges_what(self, name: str) -> bool:
        """Whether beside the names of judges there is what they said."""
        others = [
            other
            for other in self.free()
            if other != name and side_of(other) != -1 and self.is_value(other)
        ]
        own = self.sample(name).distinct_words().keys()
        if any(own == self.sample(other).distinct_words().keys() for other in others):
            return False  # what stands there are verdicts, too, and no names
        return bool(self.found.verdicts or others)

    def _verdicts_and_labels(self) -> None:
        found = self.found
        judges, neutral = self.of_side(VERDICT, but=self.facts)
        people, _ = self.of_side(LABEL, but=self.facts)
        typed_judges, typed_people = bool(found.verdicts), bool(found.labels)
        self._check_mute(
            typed_judges or found.judges is not None or bool(judges), typed_judges, typed_people
        )
        if not typed_people and people:
            found.labels = self.together(people, LABEL, OF_PEOPLE)
        if not typed_judges:
            if found.judges is not None:
                candidates = judges + neutral
                if len(candidates) != 1:
                    raise self._which(VERDICT, "what the judges said", candidates or self._values())
                found.verdicts = (candidates[0],)
                neutral = [name for name in neutral if name != candidates[0]]
            elif judges:
                found.verdicts = self.together(judges, JUDGE, f"which column holds {OF_JUDGE}")
            elif len(neutral) == 1:
                found.verdicts, neutral = (neutral[0],), []
            elif neutral:
                raise self._which(JUDGE, OF_JUDGE, neutral)
            else:
                raise self._which(JUDGE, OF_JUDGE, self._values() or list(found.labels))
        if not found.labels and not typed_people and neutral and found.judges is None:
            # Beside a judge's own column each may be another judge's, or a system's: alike or not,
            # several are not people's by themselves.
            if len(neutral) > 1:
                raise self.doubt(LABEL, OF_PEOPLE, neutral)
            found.labels = (neutral[0],)

    def _check_mute(self, judged: bool, typed_judges: bool, typed_people: bool) -> None:
        """Raise ConfigError where a column that is called one of verdicts or labels holds formulas
        alone, and where no verdicts were found (`judged`) and the judge's column is empty: another
        must not silently take its place.
        """
        free = [
            name for name in self.free() if name not in self.facts and not self.sample(name).said
        ]
        neutral = -1 if judged else 1  # whose a column is whose name does not tell
        for role, own, typed in ((JUDGE, 1, typed_judges), (LABEL, -1, typed_people)):
            sides = [name for name in free if not typed and (side_of(name) or neutral) == own]
            self.check_formulas(sides, role)
        values = [] if judged else self._values()
        if values and (empty := [name for name in free if side_of(name) == 1]):
            raise Question(
                f"`{empty[0]}` is empty in every row.",
                [
                    Way("or" if n else "If the verdicts are in another column:", [(JUDGE, name)])
                    for n, name in enumerate(values[:4])
                ],
            ).at(self.door)

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
        if column is None or own or self.joined[column] not in MODEL.names or found.item is None:
            return
        by_item = self.cells.groupby(found.item, sort=False)
        if int(by_item[column].nunique().max()) < 2:
            return
        told = [
            name for name in (*found.texts, *found.labels) if int(by_item[name].nunique().max()) > 1
        ]
        if not told:
            raise Question(
                f"are the names in `{column}` (e.g. {self.shown(column)}) those of judges, or of"
                " the makers of what was judged?",
                [Way("Of judges: type", [(JUDGE, column)]), Way("of makers:", [(SYSTEM, column)])],
            ).at(self.door)

    def _leave_others(self) -> None:
        """Leave out the columns of judges and people beside those that were typed, which are
        nothing of the items."""
        typed = {0, 1} if self.options.judge and self.found.judges is None else set()
        typed |= {-1} if self.options.human and self.found.rater is None else set()
        named = {part for name in self.found.verdicts for part in self.names[name]} & PARTS[
            "neutral"
        ]
        own = {
            n: s for n in self.free() if n not in self.found.used() and (s := side_of(n)) in typed
        }
        own = {
            n: s
            for n, s in own.items()
            if self.is_value(n) and (s != 0 or named & set(self.names[n]))
        }
        self.found.others = tuple(own)
        if own:
            columns = [f"`{name}`" for name in own]
            options = [
                f"`{self.door.option(role)}`"
                for role, sides in ((JUDGE, {0, 1}), (LABEL, {-1}))
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
            facts |= spelled(self.door, JUDGE, VERDICT)
            found.notes.append(Finding("table.read_judges", facts))
        elif not options.judge:
            facts = {"columns": marked["verdicts"], "n": len(found.verdicts)}
            found.notes.append(Finding("table.read_verdict", facts | spelled(self.door, JUDGE)))
        if found.labels and found.rater is not None and not (options.human and options.rater):
            facts = {"rater": f"`{found.rater}`", "columns": marked["labels"]}
            facts |= spelled(self.door, RATER, LABEL)
            found.notes.append(Finding("table.read_raters", facts))
        elif found.labels and not options.human:
            facts = {"columns": marked["labels"], "n": len(found.labels)}
            found.notes.append(Finding("table.read_label", facts | spelled(self.door, LABEL)))
        roles = {TEXT: found.texts, SYSTEM: found.systems}
        for role in _SINGLE:
            name = getattr(found, role.name)
            if name is not None and role is not RATER:
                roles[role] = (name,)
        typed = [
            f"`{self.door.typed(role, name)}`"
            for role, names in roles.items()
            if not getattr(options, role.name)
            for name in names
        ]
        found.notes += [Finding("table.read_roles", {"roles": typed})] if typed else []
        rest = [n for n in self.free() if self.joined[n] in TEXT.names and self.is_prose(n)]
        if rest and len(found.texts) == 1 and not (options.text or found.pairwise or found.judges):
            values = {
                "text": f"`{found.texts[0]}`",
                "others": [f"`{name}`" for name in rest[:4]],
                "n": len(rest),
            }
            found.notes.append(
                Finding("table.read_text", values | {"option": self.door.typed(TEXT, rest[0])})
            )
        if not found.texts and (prose := [name for name in self.free() if self.is_prose(name)]):
            values = {"columns": [f"`{name}`" for name in prose[:4]], "n": len(prose)}
            found.notes.append(
                Finding("table.no_text", values | {"option": self.door.typed(TEXT, prose[0])})
            )
        found.notes += self.silent()
        told = spelled(self.door, JUDGE, LABEL)
        found.notes += unread(self.cells, (*found.verdicts, *found.labels), found.used(), told)

    def _values(self) -> list[str]:
        return [name for name in self.free() if self.is_value(name)]

    def _which(self, role: Role, what: str, names: Sequence[str]) -> ConfigError:
        """That several columns may hold what a judge or people said, or none seems to."""
        if names:
            return self.doubt(role, f"which column holds {what}", names)
        listed = ", ".join(f"`{name}`" for name in self.names)
        return Doubt(role, f"no column seems to hold {what}. Columns: {listed}").at(self.door)

    def _pairwise(self) -> bool:
        found = self.found
        if self.options.kind is not None:
            return self.options.kind == "pairwise"
        words = {word for name in found.verdicts for word in self.sample(name).distinct_words()}
        two = found.order is not None or len(found.texts) == 2 or len(found.systems) == 2
        named = any(set(self.names[name]) & PARTS["choice"] for name in found.verdicts)
        if not words <= CHOICES.keys():
            return named and len(found.systems) == 2
        return two or (named and len(words - {"c"}) >= 1 and not words <= {"0", "1"})
