"""Reads scores made elsewhere: tables of what judges said, long or wide, in one file or several joined by item.

Nothing is judged again. What the tables say becomes judgments, and meets the same analyses as our own; what they say is
no score (a failed row, an empty cell, a number off its scale) becomes a `Failure`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
from pydantic import Field

from undogmatic.datasets.base import make_item
from undogmatic.datasets.cells import OFF_SCALE, number_of
from undogmatic.datasets.frames import column_of
from undogmatic.datasets.labels import FEWEST_LABELS, check_scale
from undogmatic.datasets.rows import SUFFIXES, Names, Row, empty, listed, table_file, table_rows
from undogmatic.datasets.table import read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import (
    OVERALL,
    UNNAMED,
    Cost,
    Failure,
    FailureKind,
    Item,
    Judgment,
    Provenance,
    Record,
    Verdict,
    as_number,
    as_text,
    digest,
)
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric
from undogmatic.records.verdict_table import SLICE, VerdictTable
from undogmatic.safety.outside import brief

_SOUGHT = {"judge": "judges", "item": "item"} | {name: name for name in ("system", "criterion", "repeat", "rater")}
"""Roles whose columns are recognised where none has the names given, and the lexicon's names for them."""


class Columns(Record):
    """Which columns say what. A long table has `score` (and `criterion`, `repeat`), a wide one one per criterion."""

    item: Names = ()  # the id of what was judged; without one it is case and system
    case: Names = ()  # what was summarised, translated, answered; texts of a case belong together
    system: Names = ()  # who made the text
    judge: Names = ()  # who judged; a score without one is by the judge of its criterion's name
    criterion: Names = ()
    score: Names = ()
    repeat: Names = ()
    failed: Names = ()  # true where the judge failed: none of the row's scores is one then
    label: Names = ()  # what a person said of the item (and criterion)
    rater: Names = ()  # who said it
    inputs: dict[str, Names] = Field(default_factory=dict)  # of an item, the columns with its texts
    details: dict[str, Names] = Field(default_factory=dict)  # of a judgment, what is kept beside its scores


class Given(Record):
    """The scale on which a criterion was given: the numbers that stand for the `ends` of the rubric's scale, those
    between being mapped linearly; and the `values` that may be given, or None for every one between the ends."""

    ends: tuple[float, float]
    values: tuple[float, ...] | None = None


class _Key(NamedTuple):
    """Which score it is."""

    item_id: str
    judge: str
    criterion: str
    repeat: int


class _Said(NamedTuple):
    """One score as it stands in a table, in a row about a case ("": none); `failed` says why it is no score."""

    place: str
    case: str
    given: Any
    failed: str | None
    details: dict[str, float | str]


class VerdictsDataset:
    """Judgments that were made elsewhere, and the items that they are about.

    A criterion in `judges` is by that judge, whatever stands in the row: a score of the text repeated in the rows of
    several judges is one score.
    """

    name = "verdicts"

    def __init__(
        self,
        path: str | Annotated[list[str], Field(min_length=1)],  # a file, several, or a folder: all tables in it
        columns: Columns | None,  # which columns say what; null: they are recognised, as `undogmatic check` does
        scores: Mapping[str, Names] = {},  # of a wide table: criterion -> its column
        again: Sequence[Mapping[str, Names]] = (),  # the same and `failed`, for each time that it was judged again
        scales: Mapping[str, Given] = {},  # criterion -> the scale it was given on, where that is not the rubric's
        judges: Mapping[str, str] = {},  # criterion -> judge
        quotes: Mapping[str, str] = {},  # file (without suffix) of single quotes -> the detail that they make up
        metadata: Sequence[str] = (),  # columns about the item in rows that name a judge; in others all others are
    ) -> None:
        self.recognised = columns is None
        columns = columns or Columns()
        self.columns, self.wide, self.again = columns, dict(scores), list(again)
        self.scales, self.judges, self.quotes, self.kept = dict(scales), dict(judges), dict(quotes), tuple(metadata)
        single = {name: names for name, names in columns if isinstance(names, tuple)}
        tables = (single, columns.inputs, columns.details, self.wide, *self.again)
        self.mapped = {column for table in tables for names in table.values() for column in names}
        for criterion, scale in self.scales.items():
            if not scale.ends[0] < scale.ends[1]:
                ends = f"[{scale.ends[0]:g},{scale.ends[1]:g}]"
                raise ConfigError(f"`dataset.scales.{criterion}.ends` is {ends}; give the lower end first.")
        self.read: list[Finding] = []
        self.files = _table_files([path] if isinstance(path, str) else path)
        self.about = ", ".join(file.name for file in self.files)

    def load(self) -> list[Item]:
        """The items that have a score, in the order of the tables. Raises DataError naming file and line."""
        return self._tables[0]

    def judgments(self, rubric: Rubric) -> list[Judgment]:
        """What the tables say of them, in units of the rubric. Raises DataError naming file and line."""
        if self.recognised:
            return self._judgments_of_table(rubric)
        verdicts = self._tables[1]
        for criterion in dict.fromkeys(key.criterion for key in verdicts):
            values = [_number(e.given) for key, e in verdicts.items() if key.criterion == criterion and not e.failed]
            numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
            if criterion not in self.scales and len(numbers) >= FEWEST_LABELS:
                option = f"'+dataset.scales.{criterion}={{{{ends: [{{}},{{}}]}}}}'"
                check_scale(self.about, numbers, rubric, criterion, "scores", option)
        said = [[*key, str(entry.given), entry.failed, entry.details] for key, entry in verdicts.items()]
        return _judgments({key: self._outcome(entry, key.criterion, rubric) for key, entry in verdicts.items()}, said)

    @cached_property
    def _tables(self) -> tuple[list[Item], dict[_Key, _Said]]:
        """The items that have a score, and what was said of them."""
        if self.recognised:
            return self._items_of_table(), {}
        given = [(file, *row) for file in self.files for row in table_rows(file, filled=False, notes=self.read)]
        rows = [Row.of(*row) for row in given]
        self._recognise(list(dict.fromkeys(name for row in rows for name in row.cells)))
        quoted = self._quoted([row for row in rows if row.stem in self.quotes])
        facts: dict[str, dict[str, Any]] = {}
        labels: dict[str, dict[str, dict[str, Any]]] = {}
        verdicts: dict[_Key, _Said] = {}
        for row in rows:
            if row.stem not in self.quotes:
                whole = self._item_of(row)
                self._note_facts(row, facts.setdefault(whole, {"place": row.place}))
                self._note_scores(row, whole, verdicts, quoted)
                self._note_label(row, labels.setdefault(whole, {}))
        if not verdicts:
            wanted = ", ".join([*self.columns.score, *(n for names in self.wide.values() for n in names)]) or "none"
            way = "name yours with 'dataset.scores={CRITERION: COLUMN}' or dataset.columns.score"
            raise DataError(f"{self.about}: no scores. Columns that would be scores: {wanted}; {way}.")
        items = []
        for item_id, case in {key.item_id: entry.case for key, entry in verdicts.items()}.items():
            known = {**facts.get(case, {}), **facts.get(item_id, {})}
            place = str(known.pop("place", self.about))
            inputs = {n: known.pop(f"inputs.{n}") for n in self.columns.inputs if f"inputs.{n}" in known}
            if "summary" in inputs:
                known.setdefault("word_count", len(inputs["summary"].split()))
            fields = {"id": item_id, "inputs": inputs or {"item": item_id}, "pair": case or None, "metadata": known}
            fields["labels"] = labels.get(item_id, {})
            items.append(make_item(place, fields))
        # Repeats are counted from 0, whatever the table counts from.
        order = {repeat: n for n, repeat in enumerate(sorted({key.repeat for key in verdicts}))}
        return items, {key._replace(repeat=order[key.repeat]): entry for key, entry in verdicts.items()}

    def _recognise(self, there: Sequence[str]) -> None:
        """Find the columns of roles none of whose names is there by the names that the lexicon knows."""
        found = dict[str, str]()
        for role, known in _SOUGHT.items():
            if not set(getattr(self.columns, role)) & set(there):
                free = pd.DataFrame(columns=[n for n in there if n not in self.mapped and n not in found.values()])
                if (name := column_of(free, known)) is not None and not (role == "item" and "case" in there):
                    found[role] = name
        self.columns = self.columns.model_copy(update={role: (name,) for role, name in found.items()})
        self.mapped |= set(found.values())
        if found:
            option = "dataset.columns.{}={}".format(*next(iter(found.items())))
            self.read.append(
                Finding("items.columns", {"roles": [f"{r} = `{n}`" for r, n in found.items()], "option": option})
            )

    def _item_of(self, row: Row) -> str:
        """Id of the item that a row is about, or of its case."""
        item, case, system = (row.get(names) for names in (self.columns.item, self.columns.case, self.columns.system))
        if empty(item) and empty(case):
            keys = ", ".join(f"`{name}`" for name in (*self.columns.item, *self.columns.case))
            way = "Name the one that tells what was judged: dataset.columns.item=COLUMN or dataset.columns.case=COLUMN"
            raise DataError(f"{row.place}: no {keys}; columns: {listed(list(row.cells))}. {way}.")
        if not empty(item):
            return str(item)
        return str(case) if empty(system) else f"{case}/{system}"

    def _note_facts(self, row: Row, known: dict[str, Any]) -> None:
        """Add texts and metadata of an item, or of all items of a case, to what is known of it."""
        named = {f"inputs.{name}": columns for name, columns in self.columns.inputs.items()}
        named |= {"case": self.columns.case, "system": self.columns.system}
        texts = ((name, str(text)) for name, columns in named.items() if not empty(text := row.get(columns)))
        of_judge = row.has(self.columns.judge)
        others = (
            (name, as_number(value))
            for name, value in row.cells.items()
            if (name in self.kept or not (of_judge or name in self.mapped))
            and not (empty(value) or isinstance(value, list | dict))
        )
        for name, value in chain(texts, others):
            if known.setdefault(name, value) != value:
                other = f"{brief(known[name])} elsewhere for the same item"
                raise DataError(f"{row.place}: `{name}` is {brief(value)}, and {other}. Correct one.")

    def _note_scores(
        self, row: Row, whole: str, verdicts: dict[_Key, _Said], quoted: Mapping[tuple[str, str], dict[str, str]]
    ) -> None:
        judge, case = (row.get(names) for names in (self.columns.judge, self.columns.case))
        kept = {name: text for name, names in self.columns.details.items() if (text := row.detail(names))}
        for criterion, score, failed, repeat in self._scores(row):
            who = self.judges.get(criterion) or (str(judge) if not empty(judge) else criterion)
            details = kept | (quoted.get((whole, who), {}) if repeat == 0 else {})
            new = _Said(row.place, "" if empty(case) else str(case), score, failed, details)
            old = verdicts.setdefault(_Key(whole, who, criterion, repeat), new)
            same = criterion in self.judges and old.failed == failed and str(old.given) == str(score)
            if old is not new and not same:
                twice = f"{criterion} of {brief(whole)} by {brief(who)} stands there a second time (first: {old.place})"
                way = "Give judgments made again a column `repeat` (dataset.columns.repeat)"
                raise DataError(f"{row.place}: {twice}. {way}.")

    def _note_label(self, row: Row, labels: dict[str, dict[str, Any]]) -> None:
        """Add what a person says in a row to the labels of its item, by criterion and rater."""
        value, rater, criterion = (row.get(n) for n in (self.columns.label, self.columns.rater, self.columns.criterion))
        if empty(value):
            return
        name, of = UNNAMED if empty(rater) else str(rater), OVERALL if empty(criterion) else str(criterion)
        if labels.setdefault(of, {}).setdefault(name, _number(value)) != _number(value):
            other = f"{brief(labels[of][name])} elsewhere for the same item"
            way = "Correct one, or name the column of raters: dataset.columns.rater"
            raise DataError(f"{row.place}: the label is {brief(value)}, and {other}. {way}.")

    # Recognised tables

    @cached_property
    def _table(self) -> VerdictTable:
        table = read_table(self.files)
        self.read = [*table.read, *table.problems]
        if table.kind not in ("numeric", "ordered", "pass_fail"):
            way = "undogmatic check reads them"
            raise DataError(f"{self.about}: the verdicts are {table.kind}, which are no scores of a rubric; {way}.")
        return table

    def _items_of_table(self) -> list[Item]:
        table = self._table
        ends, names = _ends(table), [name for name in table.items if name.startswith(SLICE)]
        rated: dict[str, dict[str, dict[str, Any]]] = {}
        for one in table.labels.itertuples():
            rated.setdefault(one.item, {}).setdefault(one.criterion, {})[one.rater] = one.label
        items = []
        for item_id, facts in table.items.to_dict("index").items():
            text = facts.get("text")
            fields: dict[str, Any] = {"id": item_id, "inputs": {"item": item_id} if empty(text) else {"text": text}}
            fields["metadata"] = {name.removeprefix(SLICE): facts[name] for name in names if not empty(facts[name])}
            if facts["group"] != item_id:
                fields["pair"] = facts["group"]
            items.append(make_item(self.about, fields | {"labels": rated.get(item_id, {}), "label_scale": ends}))
        return items

    def _judgments_of_table(self, rubric: Rubric) -> list[Judgment]:
        table = self._table
        low, high = _ends(table)
        rows = table.verdicts
        outcomes: dict[_Key, Verdict | Failure] = {}
        for row in rows.itertuples():
            key = _Key(row.item, row.judge, row.criterion, row.repeat)
            if empty(row.verdict):
                reason: FailureKind = "off_scale" if row.reason == OFF_SCALE else "unparseable"
                why = f"{row.place}: {row.criterion} is no verdict ({row.reason})"
                outcomes[key] = Failure(reason=reason, message=why)
            else:
                share = (row.verdict - low) / (high - low)
                outcomes[key] = Verdict(score=rubric.units(share), raw_score=row.verdict)
        return _judgments(outcomes, rows.drop(columns="place").astype(str).to_numpy().tolist())

    def _scores(self, row: Row) -> Iterator[tuple[str, Any, str | None, int]]:
        """Criterion, what was given, why it is no score, and repeat, of every score of a row."""
        failed, repeat = row.failure(self.columns.failed), self.columns.repeat
        if row.has(self.columns.score):
            criterion = row.get(self.columns.criterion)
            name = OVERALL if empty(criterion) else str(criterion)
            yield name, row.get(self.columns.score), failed, row.repeat(repeat)
            return
        for criterion, names in self.wide.items():
            if row.has(names):  # a failed judge does not make another's score fail
                yield criterion, row.get(names), None if criterion in self.judges else failed, row.repeat(repeat)
        for n, time in enumerate(self.again, 1):
            failed = row.failure(time.get("failed", ()))
            for criterion, names in time.items():
                if criterion != "failed" and row.has(names) and (failed or not empty(row.get(names))):
                    yield criterion, row.get(names), failed, n

    def _quoted(self, rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, str]]:
        """Item and judge -> detail -> the rows of quotes, as JSON text."""
        quotes_of: dict[tuple[str, str], dict[str, list[Any]]] = {}
        about = {*self.columns.item, *self.columns.case, *self.columns.system, *self.columns.judge}
        for row in rows:
            quote = {name: value for name, value in row.cells.items() if name not in about}
            key = self._item_of(row), str(row.get(self.columns.judge))
            quotes_of.setdefault(key, {}).setdefault(self.quotes[row.stem], []).append(quote)
        return {key: {name: as_text(quotes) for name, quotes in each.items()} for key, each in quotes_of.items()}

    def _outcome(self, verdict: _Said, criterion: str, rubric: Rubric) -> Verdict | Failure:
        """A score in units of the rubric; what is none is a Failure, never a number."""
        if verdict.failed is not None:
            return Failure(reason="unparseable", message=verdict.failed)
        value, where = _number(verdict.given), f"{verdict.place}: {criterion} is"
        if empty(value) or isinstance(value, bool) or not isinstance(value, int | float):
            what = "empty" if empty(value) else "no number"
            return Failure(reason="unparseable", message=f"{where} {what}", raw=brief(verdict.given))
        scale = self.scales.get(criterion) or Given(ends=(rubric.minimum, rubric.maximum))
        (low, high), values = scale.ends, scale.values
        if (values is not None and value not in values) or not low <= value <= high:
            span = ", ".join(f"{v:g}" for v in values) if values is not None else f"{low:g} to {high:g}"
            message = f"{where} {value:g}, which is not on its scale ({span})"
            return Failure(reason="off_scale", message=message, raw=str(verdict.given))
        details = verdict.details | ({"bucket": float(value)} if values is not None else {})
        score = rubric.units((value - low) / (high - low))
        return Verdict(score=score, raw_score=float(value), details=details)


def _number(cell: Any) -> Any:
    """The number that a cell holds, also with a decimal comma; anything else as it is."""
    found = number_of(cell.strip()) if isinstance(cell, str) else None
    return as_number(cell) if found is None else found


def _ends(table: VerdictTable) -> tuple[float, float]:
    """The lowest and highest value of a table's verdicts; of categories their places."""
    return table.scale if table.scale is not None else (0.0, len(table.categories) - 1.0)


def _judgments(outcomes: Mapping[_Key, Verdict | Failure], said: list[list[Any]]) -> list[Judgment]:
    """The judgments with these outcomes; `said` is all that the tables say of them."""
    mark, judgments = digest(said), []
    for key, outcome in outcomes.items():
        hashes = {"prompt_hash": digest(""), "program_hash": mark, "config_hash": mark}
        where = Provenance(model=key.judge, readout="", prompt="", **hashes)
        judgments.append(Judgment(**key._asdict(), outcome=outcome, cost=Cost(usd=0.0), provenance=where))
    return judgments


def _table_files(paths: Sequence[str]) -> list[Path]:
    """The files of paths, of folders all that are tables. Raises ConfigError."""
    files: list[Path] = []
    for typed in paths:
        folder = Path(typed).expanduser()
        if folder.is_dir():
            inside = sorted(
                each
                for each in folder.iterdir()
                if each.suffix in SUFFIXES and each.suffix != ".json" and each.is_file()
            )
            if not inside:
                kinds = ", ".join(SUFFIXES)
                raise ConfigError(f"`dataset.path` is {typed!r}, a folder without a table ({kinds}). Name another.")
        else:
            inside = [table_file(typed, "dataset.path")]
        files += inside
    return files
