"""Reads scores made elsewhere: tables of what judges said, long or wide, in one file or several
joined by item.

Nothing is judged again. The tables are read as `undogmatic check` reads them; what they say becomes
judgments, and meets the same analyses as our own; what they say is no score (a failed row, an empty
cell, a number off its scale) becomes a `Failure`.
"""

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from undogmatic.datasets.cells import OFF_SCALE
from undogmatic.datasets.doors import CHECK, RUN
from undogmatic.datasets.frames import Frame, read_frame
from undogmatic.datasets.items import check_fields
from undogmatic.datasets.labels import ends_of, scale_for
from undogmatic.datasets.narrow import (
    VERDICTS,
    Keys,
    Wide,
    has,
    of_cases,
    one_name,
    with_quotes,
)
from undogmatic.datasets.readers import find
from undogmatic.datasets.roles import (
    CONFIDENCE,
    CRITERION,
    FAILED,
    GROUP,
    ITEM,
    JUDGE,
    LABEL,
    LABEL_SCALE,
    RATER,
    REPEAT,
    SYSTEM,
    VERDICT,
)
from undogmatic.datasets.rows import (
    SUFFIXES,
    Names,
    beside_tables,
    empty,
    table_file,
    tables_in,
    unread_rows,
)
from undogmatic.datasets.scales import TableOptions, typed_scale
from undogmatic.datasets.table import table_of
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import SLICE, Evidence, Kind
from undogmatic.records.items import make_item
from undogmatic.records.own_scale import OwnScale
from undogmatic.records.records import (
    TYPED_GROUP,
    Cost,
    Failure,
    FailureKind,
    Item,
    Judgment,
    Provenance,
    Record,
    Verdict,
    digest,
)
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric

_BESIDES = (
    ITEM,
    LABEL,
    JUDGE,
    VERDICT,
    RATER,
    GROUP,
    SYSTEM,
    CRITERION,
    REPEAT,
    CONFIDENCE,
    FAILED,
)
_FIELDS = {RUN.called(role): CHECK.called(role) for role in _BESIDES}
"""What a column may be, besides what was judged: by its name in the config that of the option."""
QUOTES = "quotes."
"""How the columns of quotes begin."""


class Given(Record):
    """The scale on which a criterion was given: the numbers that stand for the `ends` of the
    rubric's scale, those between being mapped linearly; and the `values` that may be given, or None
    for every one between the ends.
    """

    ends: tuple[float, float]
    values: tuple[float, ...] | None = None


class VerdictsDataset:
    """Judgments that were made elsewhere, and the items that they are about.

    A criterion in `judges` is by that judge, whatever stands in the row: a score of the text
    repeated in the rows of several judges is one score.
    """

    name = "verdicts"

    def __init__(
        self,
        # a file, several, or a folder: all tables in it
        path: (str | Annotated[list[str], Field(min_length=1)]),
        # what was judged; usually what the rubric shows
        inputs: Sequence[str] = ("text",),
        optional: Sequence[str] = (),  # inputs of the rows that fill them
        # what is in which; null: recognised
        columns: Mapping[str, Names | None] | None = None,
        scores: Mapping[str, Names] = {},  # of a wide table: criterion -> its column
        again: Sequence[
            Mapping[str, Names]
        ] = (),  # the same and `failed`, for each time that it was judged again
        # criterion -> the scale it was given on, where that is not the rubric's
        scales: Mapping[str, Given] = {},
        judges: Mapping[str, str] = {},  # criterion -> judge
        # of a judgment, what is kept beside its scores
        details: Mapping[str, Names] = {},
        # file (without suffix) of single quotes -> the detail that they make up
        quotes: Mapping[str, str] = {},
        kind: Kind | None = None,  # of verdict
        scale: str | None = None,  # of all verdicts: 1-5, or categories: bad<ok<good
        label_scale: (
            str | tuple[float | str, ...] | None
        ) = None,  # of the labels, where it is another: [1,10], [10,1]
        passes: str | None = None,  # the category that passes
        # of a workbook: a sheet, a range (A1:C40) or both (NAME!A1:C40)
        sheet: str | None = None,
    ) -> None:
        self.inputs = tuple(dict.fromkeys([*inputs, *optional]))
        self.columns = dict(columns or {})
        check_fields(self.columns, [*self.inputs, *_FIELDS])
        self.wide = Wide(dict(scores), tuple(again), dict(judges))
        self.scales, self.quotes = dict(scales), dict(quotes)
        self.details = {
            d: (QUOTES + d, *details.get(d, ()))
            for d in dict.fromkeys([*details, *quotes.values()])
        }
        for criterion, given in self.scales.items():
            if not given.ends[0] < given.ends[1]:
                ends = f"[{given.ends[0]:g},{given.ends[1]:g}]"
                raise ConfigError(
                    f"`dataset.scales.{criterion}.ends` is {ends}; give the lower end first."
                )
        kind = "numeric" if self.scales and kind is None else kind
        # Choices are no scores, which is said once they are read: how they are numbered is not
        # asked before, as no setting could answer it.
        self.options = TableOptions(
            kind=kind,
            scale=scale,
            human_scale=_written(label_scale),
            passes=passes,
            sheet=sheet,
            choices="given",
        )
        self.read: list[Finding] = []
        self.files = _table_files([path] if isinstance(path, str) else path)
        self.about = ", ".join(file.name for file in self.files)

    def load(self, rubric: Rubric | None = None) -> list[Item]:
        """The items that have a verdict, in the order of the tables. Raises DataError naming file
        and line, ConfigError where it is not clear what a column says."""
        table, shown = self._table, self._shown
        judged = table.verdicts["item"].unique()
        known = {SLICE + name for name in self._frames[1].facts}
        metadata = [
            name for name in table.items if name.startswith(SLICE) and name not in known
        ]
        rated, scale = self._labels(rubric)
        items = []
        for item_id, facts in table.items.reindex(judged).to_dict("index").items():
            texts = {name: facts.get(column) for name, column in shown.items()}
            texts = {name: text for name, text in texts.items() if not empty(text)}
            own = {
                name.removeprefix(SLICE): facts[name]
                for name in metadata
                if not empty(facts[name])
            }
            own |= {"system": facts["system"]} if not empty(facts.get("system")) else {}
            alone = facts["group"] == item_id
            if self.columns.get(RUN.called(GROUP)):  # what somebody named is final
                own[TYPED_GROUP] = "" if alone else str(facts["group"])
            fields: dict[str, Any] = {
                "id": item_id,
                "inputs": texts or {"item": item_id},
                "metadata": own,
            }
            fields |= {"labels": rated.get(item_id, {}), "label_scale": scale}
            fields |= {} if alone or TYPED_GROUP in own else {"pair": facts["group"]}
            items.append(make_item(self.about, fields))
        return items

    def judgments(self, rubric: Rubric) -> list[Judgment]:
        """What the tables say of them, in units of the rubric. Raises DataError where the scale of
        the verdicts is not clear."""
        table, rows, kept = self._table, self._table.verdicts, self._kept
        mark = digest(rows.drop(columns="place").astype(str).to_numpy().tolist())
        judgments = []
        ends = {
            criterion: self._ends(criterion, rubric) for criterion in table.criteria
        }
        for row in rows.itertuples():
            (low, high), given = ends[row.criterion], self.scales.get(row.criterion)
            values = None if given is None else given.values
            where = f"{row.place}: {row.criterion}"
            outcome: Verdict | Failure
            if empty(row.verdict):
                reason: FailureKind = (
                    "off_scale" if row.reason == OFF_SCALE else "unparseable"
                )
                outcome = Failure(
                    reason=reason, message=f"{where} is no verdict ({row.reason})"
                )
            elif not low <= row.verdict <= high or (
                values is not None and row.verdict not in values
            ):
                span = (
                    f"{low:g} to {high:g}"
                    if values is None
                    else ", ".join(f"{value:g}" for value in values)
                )
                why = f"{where} is {row.verdict:g}, which is not on its scale ({span})"
                outcome = Failure(
                    reason="off_scale", message=why, raw=f"{row.verdict:g}"
                )
            else:
                same = (low, high) == (rubric.minimum, rubric.maximum)
                score = (
                    row.verdict
                    if same
                    else rubric.units((row.verdict - low) / (high - low))
                )
                outcome = Verdict(
                    score=score, raw_score=row.verdict, details=kept.get(row.place, {})
                )
            hashes = {
                "prompt_hash": digest(""),
                "program_hash": mark,
                "config_hash": mark,
            }
            where_from = Provenance(model=row.judge, readout="", prompt="", **hashes)
            key = {
                "item_id": row.item,
                "judge": row.judge,
                "criterion": row.criterion,
                "repeat": row.repeat,
            }
            judgments.append(
                Judgment(
                    **key, outcome=outcome, cost=Cost(usd=0.0), provenance=where_from
                )
            )
        return judgments

    def _labels(
        self, rubric: Rubric | None
    ) -> tuple[dict[str, dict[str, dict[str, float]]], tuple[float, float] | None]:
        """What people said of each item, by criterion and rater, and the scale that it is on, from
        what stands for the rubric's lowest score to what stands for its highest: the one on which
        they gave it where that is declared, else that of the verdicts. Without a rubric that is
        not known, and labels are as the table has them."""
        said = self._table.labels
        ends = {
            criterion: (
                ends_of(self._table, criterion)
                if rubric is None
                else self._ends(criterion, rubric)
            )
            for criterion in map(str, said["criterion"].unique())
        }
        own = self._declared
        if own is None and rubric is not None:
            scales = set(ends.values())
            # Criteria with scales of their own have none in common but the rubric's.
            own = scales.pop() if len(scales) == 1 else (rubric.minimum, rubric.maximum)
        rated: dict[str, dict[str, dict[str, float]]] = {}
        for one in said.itertuples():
            label, given = one.label, ends.get(one.criterion)
            if own is not None and given not in (None, own):
                label = OwnScale(*own, *given).score(label)
            rated.setdefault(one.item, {}).setdefault(one.criterion, {})[one.rater] = (
                label
            )
        return rated, own

    @property
    def _declared(self) -> tuple[float, float] | None:
        """The ends of the scale of the labels where it is declared in numbers."""
        if self._table.kind != "numeric" or self.options.human_scale is None:
            return None
        return typed_scale(self.options.human_scale, RUN.option(LABEL_SCALE), True)[0]

    def _ends(self, criterion: str, rubric: Rubric) -> tuple[float, float]:
        """The ends of the scale of the verdicts on a criterion."""
        if criterion in self.scales:
            return self.scales[criterion].ends
        option = f"'+dataset.scales.{criterion}={{{{ends: [{{}},{{}}]}}}}'"
        declared = (
            self.options.scale is not None or self.options.human_scale is not None
        )
        return scale_for(self._table, criterion, rubric, self.about, option, declared)

    # The tables

    @cached_property
    def _frames(self) -> tuple[list[Frame], TableOptions]:
        """The files as they are read, a row for each verdict where they are wide, and with which
        options."""
        frames = [read_frame(str(file), self.options.sheet, RUN) for file in self.files]
        chosen: dict[str, Any] = {}
        for role, names in self.columns.items():
            option = _FIELDS.get(role, role)
            if role in ("judge", "label") and names:
                chosen[option] = names
                # Several columns are several judges or persons, of whom a file may lack some.
                if len(names) > 1:
                    there = (name for name in names if has(frames, name))
                    chosen[option] = tuple(there)
            elif role not in self.inputs and names is not None:
                frames, found = one_name(frames, names)
                # "" says that no column is it.
                found = found if len(names) > 1 else "".join(names)
                chosen[option] = found
                if option == "system":
                    chosen[option] = (found,) if found else ()
        frames, inputs = self._with_inputs(frames)
        first = next(iter(inputs), None)
        if first is not None:
            chosen["text"] = (inputs[first],)
        shown = {
            role: "text" if role == first else SLICE + column
            for role, column in inputs.items()
        }
        alone = self.inputs[0] if len(self.inputs) == 1 else "text"
        self._shown = shown or {alone: "text"}
        shown_facts = [column.removeprefix(SLICE) for column in shown.values()]
        details = itertools.chain(*self.details.values())
        chosen["facts"] = frozenset([*shown_facts, *details])
        chosen["scales"] = {name: given.ends for name, given in self.scales.items()}
        keys = Keys.of(frames, chosen)
        judged = [name for names in self.wide.scores.values() for name in names]
        frames = self._with_quotes(frames, keys, judged)
        if has(frames, *judged):
            frames = [self.wide.rows(frame, keys) for frame in frames]
            chosen |= {
                "judge": (keys.judge,),
                "verdict": VERDICTS,
                "criterion": keys.criterion,
                "repeat": keys.repeat,
                "failed": keys.failed,
            }
        return frames, self.options.model_copy(update=chosen)

    def _with_inputs(
        self, frames: Sequence[Frame]
    ) -> tuple[list[Frame], dict[str, str]]:
        """The frames with one column for each input, and the column of each."""
        frames = list(frames)
        columns: dict[str, str] = {}
        for role in self.inputs:
            names = self.columns.get(role) or ()
            frames, found = one_name(frames, names or (role,))
            # A column that somebody named is it, there or not: where it is not, the table says so.
            column = names[0] if len(names) == 1 else found
            if column is not None:
                columns[role] = column
        return frames, columns

    def _with_quotes(
        self, frames: Sequence[Frame], keys: Keys, judged: Sequence[str]
    ) -> list[Frame]:
        """The frames without files of quotes, which stand beside the scores of their judgments."""
        stems = [Path(frame.name).stem for frame in frames]
        named = list(zip(stems, frames, strict=True))
        quoted = {stem: frame for stem, frame in named if stem in self.quotes}
        rest = of_cases([frame for stem, frame in named if stem not in quoted], keys)
        for stem, rows in quoted.items():
            name = QUOTES + self.quotes[stem]
            rest = [
                with_quotes(frame, rows, keys, name) if has([frame], *judged) else frame
                for frame in rest
            ]
        return rest

    @cached_property
    def _table(self) -> Evidence:
        frames, options = self._frames
        table = table_of(frames, options, RUN)
        # 0 and 1 may be numbers of a scale that has more
        if table.kind == "pass_fail" and options.kind is None:
            with suppress(ConfigError):
                numeric = options.model_copy(update={"kind": "numeric"})
                numbers = table_of(frames, numeric, RUN)
                same = (
                    numbers.verdicts["verdict"].notna().sum()
                    == table.verdicts["verdict"].notna().sum()
                )
                table = numbers if same else table
        lost = [problem for problem in table.problems if problem.values.get("rows")]
        if table.unread and lost:
            # The analyses of a run know failed judgments of known items alone: what is lost would
            # be counted nowhere.
            where = (
                lost[0].values.get("place") or lost[0].values.get("text") or self.about
            )
            what = (
                f"{unread_rows(lost):,} of {table.rows:,} rows cannot be read (the first: "
                f"{where})"
            )
            way = (
                "Repair them, or delete them, or count them as missing verdicts: undogmatic check"
                f" {self.files[0]}"
            )
            raise DataError(f"{self.about}: {what}. {way}")
        self.read = [*table.read, *table.problems]
        if table.kind not in ("numeric", "ordered", "pass_fail"):
            way = "undogmatic check reads them"
            raise DataError(
                f"{self.about}: the verdicts are {table.kind}, which are no scores of a rubric;"
                f" {way}."
            )
        return table

    @cached_property
    def _kept(self) -> dict[str, dict[str, float | str]]:
        """By the place of a row the details of its judgments."""
        kept = dict[str, dict[str, float | str]]()
        for frame in self._frames[0]:
            for detail, names in self.details.items():
                for name in [name for name in names if name in frame.cells]:
                    for place, cell in zip(
                        frame.places, frame.cells[name], strict=True
                    ):
                        if cell is not None and cell != "[]":
                            value = (
                                float(cell)
                                if isinstance(cell, int | float)
                                else str(cell)
                            )
                            kept.setdefault(place, {}).setdefault(detail, value)
        return kept


def _written(given: str | tuple[float | str, ...] | None) -> str | None:
    """A scale as a table's options write it."""
    if given is None or isinstance(given, str):
        return given
    words = [end for end in given if isinstance(end, str)]
    return "<".join(words) if words else ":".join(f"{float(end):g}" for end in given)


def _table_files(paths: Sequence[str]) -> list[Path]:
    """The files of paths, of folders all that are tables. Raises ConfigError."""
    files: list[Path] = []
    for typed in paths:
        inside = [file for file in tables_in(typed) if file.suffix.lower() != ".json"]
        if (folder := Path(typed).expanduser()).is_dir() and find(folder) is not None:
            inside = [folder]  # of a run
        elif folder.is_dir() and not inside:
            kinds = ", ".join(SUFFIXES)
            raise ConfigError(
                f"`dataset.path` is {typed!r}, a folder without a table ({kinds}). Name another."
            )
        elif inside:
            beside_tables(typed)  # none may be left out by its name
        files += inside or [table_file(typed, "dataset.path")]
    return files
