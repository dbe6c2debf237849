"""Finds out which column of a verdict table says what, by name and by content; asks where that is
doubtful."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import unread
from undogmatic.datasets.doors import CHECK, Door, Doubt, Question, Way, spelled
from undogmatic.datasets.names import (
    MODEL_NAME,
    PARTS,
    is_aggregate,
    is_fact,
    is_measured,
    may_be_id,
    names_a_role,
    own_words,
    side_of,
    tokens,
)
from undogmatic.datasets.roles import (
    CONFIDENCE,
    CONTEXT,
    CRITERION,
    EVERY,
    FAILED,
    GROUP,
    INJECTED,
    ITEM,
    JUDGE,
    LABEL,
    MODEL,
    ORDER,
    PARENT,
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
from undogmatic.datasets.vocabulary import CHOICES, CODES, TIES, order_words
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import AS_GIVEN, SWAPPED
from undogmatic.records.results import Finding

SETTINGS = {name: name.replace(" ", "_") for name in SETTING.names}
"""What is known of a judge, by the names of columns."""
SETTING_PREFIX = "settings."
"""How a reader's columns of settings begin."""
_SIDES = {
    "1": 0,
    "2": 1,
    "a": 0,
    "b": 1,
    "left": 0,
    "right": 1,
    "first": 0,
    "second": 1,
}
_SINGLE = (
    ITEM,
    INJECTED,
    PARENT,
    CRITERION,
    REPEAT,
    ORDER,
    CONFIDENCE,
    RATER,
    GROUP,
    FAILED,
)
"""The roles that one column has, in the order in which they are looked for."""
OF_JUDGE = "the verdicts of the judge"
MOST_LISTED = 30
"""Columns that a message lists where none seems to be the one."""
_INITIALS = re.compile(r"[A-Z]{1,3}\.?\d?")
"""A column that is called so may be a person's: JB, A1."""
STRAY_CHOICES = 0.05
"""The share of choices that may be no choice, as where a judge's answer could not be read."""


class Voice(NamedTuple):
    """Whose verdicts or labels a column holds, on which criterion (None: as the row says), and in
    which order two outputs were shown for it."""

    name: str
    criterion: str | None = None
    order: str | None = None


@dataclass
class Columns:
    """Which column has which role.

    `judges` holds the names of judges (long form), of which `only` some may count, and some may be
    those of `people`, who are typed; `among_raters`: they stand among the names of raters. `others`
    are of judges or people that were not asked for. `pairwise`: two outputs are compared. `voices`:
    what single columns of verdicts and labels are about, by their names. `confidences`: the column
    of its confidence, by that of the verdict.
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
    injected: str | None = None
    parent: str | None = None
    context: str | None = None
    judges: str | None = None
    only: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    among_raters: bool = False
    verdicts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    pairwise: bool = False
    voices: Mapping[str, Voice] = field(default_factory=dict)
    confidences: Mapping[str, str] = field(default_factory=dict)
    notes: list[Finding] = field(default_factory=list)

    @property
    def swapped(self) -> str | None:
        """The column of verdicts on two outputs in the other order, if there is one."""
        names = (name for name, voice in self.voices.items() if voice.order == SWAPPED)
        return next(names, None)

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
            *self.confidences.values(),
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


def found_so_far(cells: pd.DataFrame, options: TableOptions) -> Columns:
    """The roles that are clear, where others are not."""
    search = _OfVerdicts(cells, options, (), CHECK)
    with suppress(ConfigError):
        search.columns()
    return search.found


class _OfVerdicts(Search):
    """The columns of a verdict table: a judge's, people's, and those of what they are about."""

    def __init__(
        self,
        cells: pd.DataFrame,
        options: TableOptions,
        facts: Collection[str],
        door: Door,
    ) -> None:
        super().__init__(cells, door)
        self.options, self.facts = options, facts
        self.found = Columns()

    def columns(self) -> Columns:
        """Find them: what is typed, then what its name tells, then verdicts and labels among what
        is left."""
        found, options = self.found, self.options
        found.people = self._names_of_people()
        found.labels = tuple(
            self.named(name, LABEL)
            for name in options.human
            if name and name not in found.people
        )
        found.only = self._names_of_judges()
        judged = tuple(
            self.named(name, JUDGE) for name in options.judge if name not in found.only
        )
        found.verdicts = (
            () if options.verdict is None else (self.named(options.verdict, VERDICT),)
        )
        self.taken |= {*found.labels, *judged, *found.verdicts}
        found.texts = self._sides(options.text, TEXT)
        found.systems = self._sides(options.system, SYSTEM)
        for role in _SINGLE:
            setattr(found, role.name, self._single(role, getattr(options, role.name)))
        if found.item is None and options.item is None:
            found.item = self._only_ids()
        # Whether rows or columns tell judges apart decides what all others can be.
        self._judges_by_name(judged)
        found.settings = self._take(
            n
            for n in self.free()
            if self.joined[n] in SETTINGS or n.startswith(SETTING_PREFIX)
        )
        if not found.texts and (text := self._made_text() or self.called(TEXT)):
            found.texts = self._take([text])
        if not found.systems and (system := self.called(SYSTEM)):
            found.systems = self._take([system])
        found.context = self.called(CONTEXT)
        if found.context is not None:
            self.taken.add(found.context)
            if self._is_constant(found.context):
                # A prompt that is always the same is the judge's, and no part of an item.
                found.settings, found.context = (*found.settings, found.context), None
        found.remarks = self._take(
            n for n in self.free() if self.joined[n] in REMARK.names
        )
        others = found.texts or found.context or any(map(self.is_prose, self.free()))
        if found.item is not None and not others and self.is_prose(found.item):
            found.texts = (found.item,)  # items are called by their texts
        if not found.texts:
            found.texts = self._only_text()
        # Only now, among the columns that nothing else claims: nearly every column of
        # numbers could be a verdict.
        self._verdicts_and_labels()
        # A score that was made from a verdict agrees with it perfectly, and would count
        # as a second judge.
        self._leave_echoes()
        found.confidences = self._confidences()
        self.taken |= {*found.confidences.values()}
        found.verdicts = tuple(
            n for n in found.verdicts if n not in found.confidences.values()
        )
        found.voices = self._voices()
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
        if role in (INJECTED, PARENT) and self.door is not CHECK:
            return None  # a run makes its own copies, and knows what it did to them
        if role is PARENT and self.found.injected is None:
            if typed:
                door = self.door
                raise ConfigError(
                    f"{door.typed(PARENT, typed)} says of which item each one is a copy, and no"
                    f" column says what was planted in it. Name that: {door.option(INJECTED)}"
                    " COLUMN."
                )
            return None
        name = (
            self.named(typed, role)
            if typed
            else self.called(role)
            if typed is None
            else None
        )
        if name is not None:
            self.taken.add(name)
        return name

    def _only_ids(self) -> str | None:
        """The one column whose name says in other words than those known that it holds ids."""
        named = [
            name for name in self.free() if may_be_id(name) and not self.is_prose(name)
        ]
        # Two columns of ids are those of two things, such as item and document, and
        # which is the item is not guessed.
        if len(named) != 1:
            return None
        held = self.cells[named[0]]
        found = self.found
        apart = (found.rater, found.criterion, found.repeat, found.order)
        again = any(name is not None for name in (*apart, self.called(JUDGE)))
        # Where nothing tells rows of one id apart, it may be that of a document with several items.
        if held.isna().any() or (held.duplicated().any() and not again):
            return None
        self.taken.add(named[0])
        return named[0]

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
                        sides.setdefault(" ".join(stem), {}).setdefault(
                            _SIDES[side[0]], name
                        )
            # One output alone is no comparison: `text_1` without `text_2` is a text.
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

    def _names_of_people(self) -> tuple[str, ...]:
        """The people that are named, where the option names no column but what stands in the column
        of judges or raters."""
        typed = [name for name in self.options.human if name and name not in self.names]
        columns = (
            [self.called(role, anything) for role in (JUDGE, RATER)] if typed else []
        )
        held = {
            cell
            for column in columns
            if column is not None
            for cell in self.cells[column]
        }
        return tuple(name for name in typed if name in held)

    def _is_constant(self, name: str) -> bool:
        """Whether a column says one thing, or one for each judge."""
        judges = self.found.judges
        held = (
            self.cells[name]
            if judges is None
            else self.cells.groupby(judges, sort=False)[name]
        )
        return int(np.max(held.nunique())) < 2 and len(self.cells) > 1

    def _is_beside_verdicts(self, name: str) -> bool:
        """Whether another column holds what the names in this one said, and no label is one of
        these names."""
        labels = [
            *self.found.labels,
            *(other for other in self.free() if side_of(other) == -1),
        ]
        own = self.sample(name).distinct_words().keys()
        if any(own & self.sample(other).distinct_words().keys() for other in labels):
            return False
        return any(
            side_of(other) in (0, 1) and self.is_value(other) for other in self.free()
        )

    def _made_text(self) -> str | None:
        """The one column that is called what a model made, such as `predicted` or `model answer`,
        and holds texts that differ from row to row: beside it an `answer` is what was expected."""
        named = [
            name
            for name in self.free()
            if {*self.names[name]} & PARTS["made"]
            and {*self.names[name]} & (PARTS["made_text"] | {"predicted", "prediction"})
            and {*self.names[name]} <= PARTS["made"] | PARTS["made_text"]
            and TEXT.holds(self, name)
            and 2 * len(self.sample(name).distinct_words()) > self.sample(name).said
            and self.sample(name).numeric == 0
        ]
        return named[0] if len(named) == 1 else None

    def _only_text(self) -> tuple[str, ...]:
        """The text where no column is called one: what was asked, or the one column with
        sentences. What was said of an item by judges, or of all items alike, is none."""
        found = self.found
        if found.context is not None and self.is_prose(found.context):
            name, found.context = found.context, None
            return (name,)
        prose = [
            name
            for name in self.free()
            if self.is_prose(name) and not is_measured(name) and side_of(name) is None
            if not {*self.names[name]} & PARTS["remark"]
        ]
        if len(prose) != 1 or found.context is not None or self._is_constant(prose[0]):
            return ()
        (name,) = prose
        if found.item is not None:
            keys = [found.item, *found.systems]
            of_item = self.cells.groupby(keys, sort=False, dropna=False)[name].nunique()
            if int(of_item.max()) > 1:
                return ()
        option = self.door.typed(TEXT, name)
        facts = {"column": name, "role": self.door.called(TEXT), "option": option}
        found.notes.append(Finding("items.only", facts))
        return self._take([name])

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
        if rater is not None and (
            found.people
            or any(side_of(str(name)) == 1 for name in self.cells[rater].unique())
        ):
            found.judges, found.rater, found.among_raters = rater, None, True
            return
        about = found.criterion
        if about is not None and rater is None and self.options.criterion is None:
            sides = {side_of(str(name)) for name in self.cells[about].unique()}
            # A table of metrics in long form: judge and people differ by what stands in
            # `metric`.
            if {1, -1} <= sides:  # a column `metric` with what judges and people said
                found.judges, found.criterion, found.among_raters = about, None, True
                return
        named = (
            n for known in JUDGE.names for n in self.free() if self.joined[n] == known
        )
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
        typed_judges, typed_people = bool(found.verdicts), bool(self.options.human)
        # Last resort: in a file of ranks the ranks are the verdicts; beside verdicts
        # they are made from them.
        if not (judges or people or neutral or typed_judges or typed_people):
            judges, people = self._measured_on_both()
        # Once somebody named one side, names are not needed to tell the sides apart.
        if found.judges is None and not typed_judges and not typed_people:
            judges, people, neutral = self._called_after_others(judges, people, neutral)
        self._check_mute(
            typed_judges or found.judges is not None or bool(judges),
            typed_judges,
            typed_people,
        )
        more: list[str] = []
        summed = self._aggregates(
            list(found.labels) if typed_people else people, neutral
        )
        people, neutral = (
            [name for name in names if name not in summed]
            for names in (people, neutral)
        )
        # Before verdicts, because verdicts are recognised by saying what the labels
        # say.
        if not typed_people and people:
            if found.judges is None and not any(
                map(names_a_role, (*judges, *found.verdicts))
            ):
                people, more = _by_their_words(people)
            if self._are_criteria(judges or list(found.verdicts), people):
                found.labels = tuple(people)
            else:
                found.labels = self.together(people, LABEL, OF_PEOPLE)
        if not typed_judges:
            neutral = self._find_verdicts(judges, neutral, more)
        if found.labels or typed_people or found.judges is not None:
            return
        if found.rater is not None and len(neutral) == 1:
            # Beside a name that tells little stands another that says what the judge says.
            same = [
                name for name in self._unnamed() if self.says_as(name, found.verdicts)
            ]
            neutral = (
                neutral
                if self.says_as(neutral[0], found.verdicts) or not same
                else same
            )
        # Beside a judge's own column each may be another judge's, or a system's: alike or not,
        # several are not people's by themselves.
        # Guessing which of two columns is people's could hold one judge against
        # another, and call it agreement with people.
        if len(neutral) > 1:
            raise self.doubt(LABEL, OF_PEOPLE, neutral)
        found.labels = tuple(neutral[:1]) or self._labels_by_content()

    def _aggregates(self, people: Sequence[str], neutral: Sequence[str]) -> list[str]:
        """Leave out the columns that sum up those of several people, such as their majority: it is
        no further person and, as it was made from labels, nothing that explains them."""
        single = [name for name in people if not is_aggregate(name)]
        # Of one person there is nothing to sum up.
        if len(single) < 2:
            return []
        own = [name for name in single if {*self.names[name]} & PARTS["human"]]
        named = [
            name for name in self.free() if is_aggregate(name) and not is_measured(name)
        ]
        free = [name for name in (*people, *neutral, *named) if name not in self.taken]
        # Of a column that is called a majority it is told even where people settled it otherwise;
        # one that is called a score is a total only where it is computed.
        summed = [
            name
            for name in dict.fromkeys(free)
            if (is_aggregate(name) and len(own) > 1 and self.says_as(name, own))
            or ((is_aggregate(name) or name in neutral) and self.sums_up(name, single))
        ]
        if summed:
            self.found.remarks = (*self.found.remarks, *self._take(summed))
            facts = {"columns": [f"`{name}`" for name in summed[:8]], "n": len(summed)}
            self.found.notes.append(Finding("table.aggregates", facts))
        return summed

    def _leave_echoes(self) -> None:
        """Leave out the columns that repeat the verdicts."""
        if echoes := self._echoes():
            self.found.remarks = (*self.found.remarks, *self._take(echoes))
            self.found.verdicts = tuple(
                n for n in self.found.verdicts if n not in echoes
            )
            columns = [f"`{name}`" for name in echoes]
            facts = {"columns": columns[:8], "n": len(echoes)}
            self.found.notes.append(Finding("table.echoes", facts))

    def _find_verdicts(
        self, judges: list[str], neutral: list[str], more: Sequence[str]
    ) -> list[str]:
        """Find the columns of verdicts among those of judges and those whose names do not tell
        whose they are; `more` may be the judges' as well as people's. Returns those that nobody's
        name claims."""
        found = self.found
        if found.judges is not None:
            candidates = judges + neutral
            if len(candidates) > 1 and (own := self._as_labels(candidates)):
                candidates = own
            # In long form there is one column of verdicts: whose each is, the row says.
            if len(candidates) != 1:
                raise self._which(
                    VERDICT, "what the judges said", candidates or self._values()
                )
            found.verdicts = (candidates[0],)
            return [name for name in neutral if name != candidates[0]]
        if not any(map(names_a_role, judges)):
            # Where no column is called a judge's, a judge may be called anything.
            unnamed = [] if neutral and not judges else self._as_labels(self._unnamed())
            judges = [
                name for name in self.free() if name in {*judges, *more, *unnamed}
            ]
        elif any(not names_a_role(name) for name in judges) and len(judges) > 1:
            unnamed = self._as_labels(self._unnamed())
            judges = [name for name in self.free() if name in {*judges, *unnamed}]
        if judges:
            alike = found.labels and len(self._as_labels(judges)) == len(judges)
            if alike or self._are_criteria(judges, found.labels):
                found.verdicts = tuple(judges)
            else:
                found.verdicts = self.together(
                    judges, JUDGE, f"which column holds {OF_JUDGE}"
                )
            return neutral
        if len(neutral) == 1:
            found.verdicts = (neutral[0],)
            return []
        if neutral:
            own = self._as_labels(neutral)
            raise self._which(
                JUDGE, OF_JUDGE, [*own, *(n for n in neutral if n not in own)]
            )
        raise self._which(JUDGE, OF_JUDGE, self._values())

    def _called_after_others(
        self, judges: list[str], people: list[str], neutral: list[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """The same columns where some are called as another is, with a word for a judge or a model
        before or behind it: `gpt4_quality` beside `quality`, `model_stars` beside `stars`. They say
        what a judge says, and the others what stands in the data; these are labels where no column
        is called a person's."""
        stems: dict[str, str] = {}
        for name in self.free():
            if (
                not _told_of_judges(self.names[name])
                or name in self.facts
                or is_measured(name)
            ):
                continue
            if not self.is_value(name):
                continue
            stem = next(
                (other for other in self.free() if self._is_called_after(name, other)),
                None,
            )
            if stem is not None:
                stems[name] = stem
        after = [name for name in stems if stems[name] not in stems]
        if not after:
            return judges, people, neutral
        judges = [name for name in self.free() if name in {*judges, *after}]
        people = [name for name in people if name not in after]
        plain = [
            name
            for name in dict.fromkeys(stems[one] for one in after)
            if name not in people
        ]
        neutral = [name for name in neutral if name not in after]
        if not people:
            people = list(self._take(plain))
            neutral = [name for name in neutral if name not in people]
        return judges, people, neutral

    def _is_called_after(self, name: str, other: str) -> bool:
        """Whether a column is called as the other one, with a word for a judge or a model before or
        behind it, and says what that says."""
        # `model_label` is called as `human_label` is, but for who gave it.
        short = tuple(part for part in self.names[other] if part not in PARTS["human"])
        # and `is_toxic_gpt4` as `toxic`
        long = self.names[name][int(is_fact(name)) :]
        short = short[int(is_fact(other)) :]
        n = len(short)
        if is_fact(other) and not is_fact(name):
            return False  # of a fact it is asked whether people said it
        if not n or len(long) <= n or other in self.facts or is_measured(other):
            return False
        if side_of(other) == 1 or {*short} & {"id", "ids"}:
            return False
        rest = (
            long[:-n] if long[-n:] == short else long[n:] if long[:n] == short else ()
        )
        named = _told_of_judges(rest) and not {*rest} & PARTS["human"]
        return named and self.is_value(other) and self.grades_alike(name, other)

    def _measured_on_both(self) -> tuple[list[str], list[str]]:
        """The columns of a judge and of people where both are called what else is measured beside
        verdicts, and nothing else is there: `judge_rank` and `human_rank`."""
        sides = [
            {name: set(self.names[name]) for name in self.free() if self.is_value(name)}
            for _ in range(2)
        ]
        judges, people = (
            {
                name: words
                for name, words in side.items()
                if is_measured(name) and words & PARTS[of]
            }
            for side, of in zip(sides, ("judge", "human"), strict=True)
        )
        last = PARTS["measured_last"]
        shared = {w for words in judges.values() for w in words & last} & {
            w for words in people.values() for w in words & last
        }
        return [n for n in judges if judges[n] & shared], [
            n for n in people if people[n] & shared
        ]

    def _unnamed(self) -> list[str]:
        """The free columns whose names say nothing of what they hold."""
        known = {name for role in EVERY for name in role.names}
        return [
            name
            for name in self.free()
            if side_of(name) is None
            and not is_measured(name)
            and not is_fact(name)
            and self.joined[name] not in known
            and name not in self.facts
            and not set(self.names[name]) & {"id", "ids"}
            # of several people a majority is theirs, of several judges it is one more
            and not (is_aggregate(name) and len(self.found.labels) > 1)
        ]

    def _as_labels(self, names: Sequence[str]) -> list[str]:
        """Those of the columns that say what the labels say."""
        return [name for name in names if self.says_as(name, self.found.labels)]

    def _labels_by_content(self) -> tuple[str, ...]:
        """The columns that say what the judge says, where no name tells which are people's. Beside
        a column of raters there is one of labels; else it is asked, as they may be judges'."""
        found = self.found
        echoes = self._echoes()
        same = [
            name
            for name in self._unnamed()
            if name not in echoes and self.says_as(name, found.verdicts)
        ]
        # `is_toxic` beside `llm_says_toxic` says of the text what the judge says of it.
        about = {part for name in found.verdicts for part in self.names[name]}
        same += [
            name
            for name in self.free()
            if is_fact(name) and {*self.names[name][1:]} & about - PARTS["fact"]
            if name not in self.facts and self.says_as(name, found.verdicts)
        ]
        # A majority, a consensus: what several people's labels came to.
        came_to = [
            name
            for name in self.free()
            if is_aggregate(name)
            and not is_measured(name)
            and self.says_as(name, found.verdicts)
        ]
        if len(came_to) == 1:
            return (came_to[0],)
        if not same:
            return ()
        if found.rater is not None and len(same) == 1:
            return (same[0],)
        # Numbers 0 and 1 may say anything of an item; initials are people's.
        initials = [name for name in same if _INITIALS.fullmatch(name)]
        binary = all(
            self.sample(name).distinct_words().keys() <= {"0", "1"} for name in same
        )
        if binary and not initials:
            return ()
        same = initials if binary else same
        raise self.doubt(LABEL, OF_PEOPLE, same, none=True)

    def _are_criteria(self, judges: Sequence[str], people: Sequence[str]) -> bool:
        """Whether columns of judges and of people are about several criteria."""
        return self.found.criterion is None and bool(criteria_of(judges, people))

    def _echoes(self) -> list[str]:
        """The free columns that say in nearly every row what the verdict says: what the judge
        answered before its verdict was taken from it, or the verdict in capitals."""
        found = self.found
        same = [
            name
            for name in self._unnamed()
            if name not in (*found.verdicts, *found.labels)
            and any(self.repeats_cells(name, verdict) for verdict in found.verdicts)
        ]
        if not self.options.judge:
            # `verdict_upper` beside `verdict`; judges of other names who agree are two judges.
            same += [
                name
                for name in found.verdicts
                for other in found.verdicts
                if {*self.names[other]} < {*self.names[name]}
                and self.repeats_cells(name, other)
            ]
        return [
            name
            for name in dict.fromkeys(same)
            if not any(self.repeats_cells(name, label) for label in found.labels)
        ]

    def _confidences(self) -> dict[str, str]:
        """The column of its confidence for each column of verdicts that has one: it is called so,
        runs from 0 to 1 or to 100, and names the same judge, or there is but one."""
        found = self.found
        if found.confidence is not None or self.options.confidence == "":
            return {}
        sure = PARTS["confidence"]
        named = [
            name
            for name in (
                *self.free(),
                *(found.verdicts if not self.options.judge else ()),
            )
            if set(self.names[name]) & sure
            and not set(self.names[name]) & PARTS["human"]
        ]
        held = [name for name in named if self._is_share(name)]
        verdicts = [name for name in found.verdicts if name not in held]
        matched: dict[str, str] = {}
        for name in held:
            words = own_words(name) - sure
            own = [verdict for verdict in verdicts if words <= set(self.names[verdict])]
            if len(own) == 1 and own[0] not in matched:
                matched[own[0]] = name
        return matched

    def _is_share(self, name: str) -> bool:
        """Whether a column holds numbers from 0 to 1 or from 0 to 100."""
        cells = self.sample(name)
        numbers = cells.distinct_numbers()
        return cells.numeric >= 0.9 and bool(numbers[0] >= 0 and numbers[-1] <= 100)

    def _voices(self) -> dict[str, Voice]:
        """What single columns are about, where their names tell: the criteria of judges and people,
        or the order in which a judge was shown two outputs."""
        found = self.found
        if found.judges is not None or found.rater is not None:
            return {}
        if found.criterion is None and (
            voices := criteria_of(found.verdicts, found.labels)
        ):
            return voices
        return _both_orders(found.verdicts) if found.order is None else {}

    def _check_mute(self, judged: bool, typed_judges: bool, typed_people: bool) -> None:
        """Raise ConfigError where a column that is called one of verdicts or labels holds formulas
        alone, and where no verdicts were found (`judged`) and the judge's column is empty: another
        must not silently take its place.
        """
        free = [
            name
            for name in self.free()
            if name not in self.facts and not self.sample(name).said
        ]
        neutral = -1 if judged else 1  # whose a column is whose name does not tell
        for role, own, typed in ((JUDGE, 1, typed_judges), (LABEL, -1, typed_people)):
            sides = [
                name for name in free if not typed and (side_of(name) or neutral) == own
            ]
            self.check_formulas(sides, role)
        values = [] if judged else self._values()
        if values and (empty := [name for name in free if side_of(name) == 1]):
            raise Question(
                f"`{empty[0]}` is empty in every row.",
                [
                    Way(
                        "or" if n else "If the verdicts are in another column:",
                        [(JUDGE, name)],
                    )
                    for n, name in enumerate(values[:4])
                ],
            ).at(self.door)

    def _check_model(self) -> None:
        """Ask whether the models of a column are judges or makers, where neither its name nor what
        it holds tells."""
        found = self.found
        column = (
            found.systems[0]
            if len(found.systems) == 1 and not self.options.system
            else None
        )
        own = (
            found.judges is not None
            or any(side_of(name) == 1 for name in found.verdicts)
            or bool(self.options.judge)
        )
        if (
            column is None
            or own
            or self.joined[column] not in MODEL.names
            or found.item is None
        ):
            return
        by_item = self.cells.groupby(found.item, sort=False)
        if int(by_item[column].nunique().max()) < 2:
            return
        told = [
            name
            for name in (*found.texts, *found.labels)
            if int(by_item[name].nunique().max()) > 1
        ]
        if not told:
            raise Question(
                f"are the names in `{column}` (e.g. {self.shown(column)}) those of judges, or of"
                " the makers of what was judged?",
                [
                    Way("Of judges: type", [(JUDGE, column)]),
                    Way("of makers:", [(SYSTEM, column)]),
                ],
            ).at(self.door)

    def _leave_others(self) -> None:
        """Leave out the columns of judges and people beside those that were typed, which are
        nothing of the items."""
        typed = {0, 1} if self.options.judge and self.found.judges is None else set()
        typed |= {-1} if self.options.human and self.found.rater is None else set()
        named = {
            part for name in self.found.verdicts for part in self.names[name]
        } & PARTS["neutral"]
        own = {
            n: s
            for n in self.free()
            if n not in self.found.used() and (s := side_of(n)) in typed
        }
        own = {
            n: s
            for n, s in own.items()
            if (self.is_value(n) and (s != 0 or named & set(self.names[n])))
            # A name that tells a judge or a person may stand above many categories.
            or (s != 0 and self.is_category(n))
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
        marked = {
            name: [f"`{n}`" for n in getattr(found, name)]
            for name in ("verdicts", "labels")
        }
        if found.judges is not None and not (options.judge and options.verdict):
            facts: dict[str, Any] = {
                "judge": f"`{found.judges}`",
                "columns": marked["verdicts"],
            }
            facts |= spelled(self.door, JUDGE, VERDICT)
            found.notes.append(Finding("table.read_judges", facts))
        elif not options.judge:
            facts = {"columns": marked["verdicts"], "n": len(found.verdicts)}
            found.notes.append(
                Finding("table.read_verdict", facts | spelled(self.door, JUDGE))
            )
        if (
            found.labels
            and found.rater is not None
            and not (options.human and options.rater)
        ):
            facts = {"rater": f"`{found.rater}`", "columns": marked["labels"]}
            facts |= spelled(self.door, RATER, LABEL)
            found.notes.append(Finding("table.read_raters", facts))
        elif found.labels and not options.human:
            facts = {"columns": marked["labels"], "n": len(found.labels)}
            found.notes.append(
                Finding("table.read_label", facts | spelled(self.door, LABEL))
            )
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
        rest = [
            n for n in self.free() if self.joined[n] in TEXT.names and self.is_prose(n)
        ]
        if (
            rest
            and len(found.texts) == 1
            and not (options.text or found.pairwise or found.judges)
        ):
            values = {
                "text": f"`{found.texts[0]}`",
                "others": [f"`{name}`" for name in rest[:4]],
                "n": len(rest),
            }
            found.notes.append(
                Finding(
                    "table.read_text",
                    values | {"option": self.door.typed(TEXT, rest[0])},
                )
            )
        if not found.texts and (
            prose := [name for name in self.free() if self.is_prose(name)]
        ):
            values = {"columns": [f"`{name}`" for name in prose[:4]], "n": len(prose)}
            found.notes.append(
                Finding(
                    "table.no_text",
                    values | {"option": self.door.typed(TEXT, prose[0])},
                )
            )
        found.notes += self.silent()
        told = spelled(self.door, JUDGE, LABEL)
        known = {*found.used(), *self.facts}
        found.notes += unread(self.cells, (*found.verdicts, *found.labels), known, told)

    def _values(self) -> list[str]:
        """The columns that may hold verdicts though no name says so: none that is called a
        person's, what was measured, a fact, an id, or that says one thing. Words come first, and
        numbers by how few they are, as grades are few."""
        held = [
            name
            for name in self.free()
            if name not in self.found.labels
            and side_of(name) != -1
            and not is_measured(name)
            and not is_fact(name)
            and not set(self.names[name]) & {"id", "ids"}
            and self.is_value(name)
            and len(self.sample(name).distinct_words()) > 1
        ]
        if not held:  # better one that says one thing than none
            held = [
                name
                for name in self.free()
                if self.is_value(name) and side_of(name) != -1
            ]
        return sorted(held, key=lambda name: len(self.sample(name).distinct_words()))

    def _which(self, role: Role, what: str, names: Sequence[str]) -> ConfigError:
        """That several columns may hold what a judge or people said, or none seems to."""
        if (
            role is JUDGE
            and len(names) == 2
            and not self.found.labels
            and self._say_alike(names)
        ):
            return self._one_each(names)
        if names:
            return self.doubt(role, f"which column holds {what}", names)
        listed = ", ".join(f"`{name}`" for name in list(self.names)[:MOST_LISTED])
        listed += (
            f", ... ({len(self.names):,})" if len(self.names) > MOST_LISTED else ""
        )
        why = f"no column seems to hold {what}"
        empty = [n for n in self.free() if side_of(n) == 1 and not self.sample(n).said]
        why += f"; `{empty[0]}` is empty in every row" if empty else ""
        people = ", ".join(f"`{name}`" for name in self.found.labels)
        why += f"; {people} are labels of people" if people else ""
        way = "Name the file with the verdicts beside this one, if they are in another"
        return Doubt(role, f"{why}. {way}. Columns: {listed}").at(self.door)

    def _say_alike(self, names: Sequence[str]) -> bool:
        """Whether two columns say the same, and no name tells whose either is."""
        one, two = names
        plain = all(side_of(name) in (None, 0) for name in names)
        return plain and (self.says_as(one, [two]) or self.says_as(two, [one]))

    def _one_each(self, names: Sequence[str]) -> ConfigError:
        """That one of two columns may be a judge's and the other people's."""
        one, two = names
        both = self.door.all_of(JUDGE, names)
        shown = "; ".join(f"`{name}` (e.g. {self.shown(name)})" for name in names)
        asked = Question(
            f"two columns say the same, and nothing tells whose they are: {shown}.",
            [
                Way(
                    "If the first is a judge's and the second people's, type",
                    _whose(one, two),
                ),
                Way("if it is the other way round:", _whose(two, one)),
            ],
        ).at(self.door)
        return (
            asked
            if both is None
            else ConfigError(f"{asked} If both are judges': {both}.")
        )

    def _pairwise(self) -> bool:
        found = self.found
        if self.options.kind is not None:
            return self.options.kind == "pairwise"
        samples = [self.sample(name) for name in found.verdicts]
        words = {word for cells in samples for word in cells.distinct_words()}
        odd = words - CHOICES.keys() - {"0"}
        said = sum(cells.said for cells in samples)
        stray = sum(
            n
            for cells in samples
            for w, n in cells.distinct_words().items()
            if w in odd
        )
        # answers that could not be read, which are told
        if stray <= STRAY_CHOICES * said:
            words -= odd
        outputs = len(found.texts) == 2 or len(found.systems) == 2
        two = found.order is not None or outputs
        named = any(set(self.names[name]) & PARTS["choice"] for name in found.verdicts)
        numbered = two and "2" in words and words <= CHOICES.keys() | {"0"}
        if numbered or (outputs and self._is_coded(words)):
            return True
        if two and named and all(cells.numeric == 1 for cells in samples):
            numbers = np.concatenate([cells.distinct_numbers() for cells in samples])
            if len(numbers) > 1 and numbers.min() >= 1 and numbers.max() <= 2:
                return True
        if not words <= CHOICES.keys():
            return named and len(found.systems) == 2
        places = {CHOICES[word] for word in words if word != "c"}
        if places == {0, 1, 2} and words & TIES:
            return True  # a tie tells what the others are
        return two or (named and len(words - {"c"}) >= 1 and not words <= {"0", "1"})

    def _is_coded(self, words: Collection[str]) -> bool:
        """Whether verdicts or labels are numbers that may choose one of two outputs, and nothing
        on the other side is anything else."""
        labels = {
            w for name in self.found.labels for w in self.sample(name).distinct_words()
        }
        sides = [frozenset(side) for side in (words, labels) if side]
        coded = [side for side in sides if side in CODES]
        return bool(coded) and all(
            side in CODES or side <= CHOICES.keys() for side in sides
        )


def _told_of_judges(words: Iterable[str]) -> bool:
    """Whether one of the words is said of judges or models."""
    known = PARTS["judge"] | {*MODEL.names}
    return any(word in known or MODEL_NAME.match(word) for word in words)


def _by_their_words(people: Sequence[str]) -> tuple[list[str], list[str]]:
    """Columns that are called labels: those of people, and those that may be judges' labels. Beside
    a column that is called a person's, or a label and nothing else, `nova_label` is what something
    called nova said; without one, it may be a person."""
    others = [
        name
        for name in people
        if own_words(name) and not set(tokens(name)) & PARTS["human"]
    ]
    own = [name for name in people if name not in others]
    return (own, others) if own else (list(people), [])


def _whose(judge: str, human: str) -> list[tuple[Role, str]]:
    return [(JUDGE, judge), (LABEL, human)]


def criteria_of(judges: Sequence[str], people: Sequence[str]) -> dict[str, Voice]:
    """What the columns of judges and of people are about, where they are about the same two or more
    criteria: `judge_style` and `judge_facts` beside `ana_style` and `ana_facts`. Empty where they
    are not."""
    of_judges = {name: tokens(name) for name in judges}
    of_people = {name: tokens(name) for name in people}
    if min(len(of_judges), len(of_people)) < 2:
        return _one_labelled(of_judges, people)
    names = [set(parts) for parts in (*of_judges.values(), *of_people.values())]
    both = set().union(*of_judges.values()) & set().union(*of_people.values())
    # A word of every name, such as `score`, tells no criteria apart.
    words = {
        word
        for word in both - names[0].intersection(*names)
        if len(word) > 1 and not word.isdigit()
    }

    def criterion(parts: Iterable[str]) -> tuple[str, ...]:
        return tuple(part for part in parts if part in words)

    asked = {criterion(parts) for parts in of_judges.values()}
    labelled = {criterion(parts) for parts in of_people.values()}
    # What people labelled a judge must have been asked; it may have been asked for more.
    if len(labelled) < 2 or () in labelled or not labelled <= asked:
        return {}
    voices: dict[str, Voice] = {}
    for side, nobody in ((of_judges, JUDGE.name), (of_people, LABEL.name)):
        own: dict[str, Voice] = {}
        for name, parts in side.items():
            rest = "_".join(part for part in parts if part not in words)
            own[name] = Voice(rest, " ".join(criterion(parts)) or None)
        # Columns that are called by their criteria alone, such as `style`, are one voice.
        alone = not any(voice.name for voice in own.values())
        own = {
            name: voice._replace(name=nobody if alone else voice.name or name)
            for name, voice in own.items()
        }
        if len(set(own.values())) < len(own):
            return {}
        voices |= own
    return voices


def _one_labelled(
    judges: Mapping[str, tuple[str, ...]], people: Sequence[str]
) -> dict[str, Voice]:
    """What the columns of one judge are about, where people labelled one of its criteria:
    `gpt4_style` and `gpt4_overall` beside `human_overall`. Empty where they are not so called."""
    if len(judges) < 2 or len(people) != 1:
        return {}
    stem = set.intersection(*map(set, judges.values()))
    own = {
        name: [part for part in parts if part not in stem]
        for name, parts in judges.items()
    }
    one_word = all(len(words) == 1 and not words[0].isdigit() for words in own.values())
    met = [
        name for name, words in own.items() if words and words[0] in tokens(people[0])
    ]
    if not stem or not one_word or len(met) != 1:
        return {}
    named = {name: words[0] for name, words in own.items()} | {
        people[0]: own[met[0]][0]
    }
    # `gpt4_style` is by gpt4
    who = {
        name: re.sub(criterion, "", name, flags=re.IGNORECASE).strip("_-. ")
        for name, criterion in named.items()
    }
    if len({who[name] for name in judges}) > 1:
        return {}
    return {
        name: Voice(who[name] or name, criterion) for name, criterion in named.items()
    }


def _both_orders(verdicts: Sequence[str]) -> dict[str, Voice]:
    """The order in which two outputs were shown, where two columns of a judge differ in nothing
    else: `judge_ab` and `judge_ba`."""
    stems: dict[tuple[str, ...], dict[str, str]] = {}
    for name in verdicts:
        parts = tokens(name)
        for at in (len(parts) - 1, 0):
            known = order_words("", [parts[at]])
            if known is not None and not parts[at].isdigit():
                order = (AS_GIVEN, SWAPPED)[known[parts[at]]]
                stems.setdefault((*parts[:at], *parts[at + 1 :]), {})[order] = name
                break
    whole = {stem: orders for stem, orders in stems.items() if len(orders) == 2}
    if sum(map(len, whole.values())) < len(verdicts):
        return {}
    return {
        name: Voice("_".join(stem) or name, None, order)
        for stem, orders in whole.items()
        for order, name in orders.items()
    }
