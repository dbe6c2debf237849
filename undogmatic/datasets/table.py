"""Reads files of verdicts that were made elsewhere, with or without labels, as one verdict table.

Files with the same columns are one after the other; others are joined by the ids of their items.
What was recognised and what is wrong is told in findings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from undogmatic.datasets import cells as said
from undogmatic.datasets import faults, injections, orders
from undogmatic.datasets.by_row import with_labels
from undogmatic.datasets.cells import Cells, as_slice, fold, number_of, read_cells
from undogmatic.datasets.columns import (
    SETTING_PREFIX,
    SETTINGS,
    Columns,
    find_columns,
)
from undogmatic.datasets.doors import (
    CHECK,
    NONE,
    OF_TEXTS,
    RUN,
    Door,
    Doubt,
    Question,
    Way,
    spelled,
)
from undogmatic.datasets.frames import Frame, aligned, column_of, is_trace, read_frame
from undogmatic.datasets.joined import by_texts_or_rows
from undogmatic.datasets.names import may_be_person, side_of, tokens
from undogmatic.datasets.narrow import of_criterion, parted, with_ids
from undogmatic.datasets.one_hot import merged
from undogmatic.datasets.outputs import apart
from undogmatic.datasets.preferences import oriented
from undogmatic.datasets.readers.traces.units import RUNS, Unit, silent
from undogmatic.datasets.roles import (
    CHOSEN,
    CRITERION,
    GROUP,
    ITEM,
    JUDGE,
    KIND,
    LABEL,
    LABEL_SCALE,
    ORDER,
    RATER,
    SCALE,
    SHEET,
    SYSTEM,
    TEXT,
)
from undogmatic.datasets.rows import unread_rows
from undogmatic.datasets.scales import (
    Beside,
    Scales,
    TableOptions,
    find_scales,
    typed_scale,
)
from undogmatic.datasets.sheets import KINDS as WORKBOOKS
from undogmatic.datasets.spoken import categories_among
from undogmatic.datasets.together import Groups, groups_of
from undogmatic.datasets.totals import totals
from undogmatic.datasets.vocabulary import order_words
from undogmatic.datasets.votes import spread
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import (
    AS_GIVEN,
    COUNTED,
    FIRST,
    KINDS,
    LABEL_COLUMNS,
    SECOND,
    SLICE,
    STATED,
    SWAPPED,
    VERDICT_COLUMNS,
    Evidence,
    Selection,
)
from undogmatic.records.own_scale import PLACES
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

__all__ = ["TableOptions", "columns_of", "read_table", "table_of"]
DEFAULT = TableOptions()
DOUBTFUL = (
    "preferences",
    "choices_given",
    "rows_are_repeats",
    "read_files",
    "read_people",
    "mapped",
    "placed",
    "words_as_numbers",
    "item_is_text",
    "read_swapped",
    "read_text",
    "numeric_guess",
)
"""What was assumed and may well be otherwise; it is told first."""
_MAY_BE_NONE = (
    "item",
    "criterion",
    "repeat",
    "order",
    "confidence",
    "rater",
    "failed",
    "injected",
    "parent",
)
_OF_LOGS = (
    "item",
    "verdict",
    "rater",
    "criterion",
    "repeat",
    "order",
    "confidence",
    "group",
)
_LOST_LABELS = (said.FORMULA, said.DATE, said.ERROR)
"""Why a label is damaged, rather than not given."""
_NO_LABEL = (
    said.EMPTY,
    said.NOTHING,
    said.NOT_APPLICABLE,
    said.ABSTAINED,
    said.SEVERAL,
)
"""Why a label was not given."""
_FAULTS = (said.FORMULA, said.DATE, said.UNREADABLE, said.SEVERAL, *said.SPOKEN)
"""What is told of verdicts and labels that do not count, though something stands there."""


def read_table(
    sources: str | Path | pd.DataFrame | Sequence[str | Path | pd.DataFrame],
    options: TableOptions = DEFAULT,
    called: str = "FILE",
) -> Evidence:
    """Read verdicts, labels and what is known of the items from files or data frames; `called`: how
    the files are named at the door. Raises ConfigError where an option is wrong or a guess would be
    doubtful, DataError where nothing can be read."""
    given = (
        [sources] if isinstance(sources, str | Path | pd.DataFrame) else list(sources)
    )
    if not given:
        raise ConfigError("no file is named; name a table of verdicts.")
    # An option that has nothing to act on is a mistake of who typed it, and would be
    # believed to have been followed.
    if options.sheet is not None and not any(map(_has_sheets, given)):
        kinds = ", ".join(WORKBOOKS)
        raise ConfigError(
            f"--sheet is {brief(options.sheet)}, and no file is a workbook ({kinds}). Leave it out."
        )
    if options.unit is not None and not any(map(_has_traces, given)):
        raise ConfigError(
            f"--unit is {options.unit}, and no file holds traces (docs/trace_files.md lists those"
            " that are read). Leave it out."
        )
    frames = _read(given, options, called)
    check_said(frames, options.unit or "run")
    return table_of(frames, options)


def _read(
    given: Sequence[str | Path | pd.DataFrame], options: TableOptions, called: str
) -> list[Frame]:
    """The frames of files. Traces are read last, so that of their items only those are kept of
    which they or another file say something: a long file has many steps."""
    frames: dict[int, Frame] = {}
    traced = [
        n for n, source in enumerate(given) if len(given) > 1 and _has_traces(source)
    ]
    named: set[str] | None = set()
    # Tables first: of an agent's log with a million steps only those are wanted of
    # which some table says something.
    for n in sorted(range(len(given)), key=lambda n: n in traced):
        only = named if n in traced and len(traced) < len(given) else None
        frames[n] = read_frame(
            given[n], options.sheet, called=called, unit=options.unit, only=only
        )
        if (
            traced
            and n not in traced
            and options.item is None
            and options.unit in (None, "run")
        ):
            frames[n] = _by_run(frames[n])
        if n not in traced and named is not None:
            (own,) = with_ids([frames[n]], options.item, CHECK)
            column = column_of(own.cells, ITEM, options.item)
            named = (
                None
                if column is None
                else named | set(map(str, own.cells[column].dropna()))
            )
    return [frames[n] for n in range(len(given))]


def _by_run(frame: Frame) -> Frame:
    """A table beside traces, where a run is an item: its column `run` has the ids if no other has
    them."""
    if "run" not in frame.cells or column_of(frame.cells, ITEM, None) is not None:
        return frame
    return frame._replace(cells=frame.cells.rename(columns={"run": "item"}))


def _has_traces(source: str | Path | pd.DataFrame) -> bool:
    return not isinstance(source, pd.DataFrame) and is_trace(Path(source).expanduser())


def check_said(frames: Sequence[Frame], unit: Unit) -> None:
    """Raise DataError where there is nothing but traces of which nobody says anything."""
    for frame in frames:
        if not frame.is_log or {"verdict", "label"} & set(map(str, frame.cells)):
            return
    first = frames[0]
    raise DataError(f"{first.name}: {silent(unit, list(first.cells['item']))}.")


def _has_sheets(source: str | Path | pd.DataFrame) -> bool:
    return (
        not isinstance(source, pd.DataFrame)
        and Path(source).suffix.lower() in WORKBOOKS
    )


def table_of(
    frames: Sequence[Frame], options: TableOptions, door: Door = CHECK
) -> Evidence:
    """The verdict table of frames that were read, as `read_table` returns it; `door` spells the
    options in what is said of it."""
    return _Builder(frames, options, door).table()


def columns_of(
    frames: Sequence[Frame], options: TableOptions, door: Door = CHECK
) -> tuple[pd.DataFrame, Columns]:
    """The cells of a table and the roles of its columns, as `table_of` reads them."""
    builder = _Builder(frames, options, door)
    return builder.cells, builder.columns


def _selection(labels: str, door: Door) -> tuple[Selection, str | None]:
    """How the labelled items were chosen, and the column of probabilities."""
    kind, _, column = labels.partition(":")
    known: dict[str, Selection] = {
        "unknown": "unknown",
        "all": "all",
        "random": "random",
        "by-verdict": "by_verdict",
    }
    if kind in known and not column:
        return known[kind], None
    if kind == "probabilities" and column:
        return "probabilities", column
    ways = "all, random, by-verdict, probabilities:COLUMN or unknown"
    raise ConfigError(
        f"{door.option(CHOSEN)} is {brief(labels)}; it says how the labelled items were chosen:"
        f" {ways}. A column of labels is named by {door.option(LABEL)}."
    )


def _reading(options: TableOptions) -> tuple[str, ...]:
    """The options that `undogmatic label` takes too, as they are typed."""
    named = {ITEM: [options.item], TEXT: options.text, SHEET: [options.sheet]}
    words = [
        (OF_TEXTS.option(of), name)
        for of, names in named.items()
        for name in names
        if name
    ]
    words += [("--unit", options.unit)] if options.unit is not None else []
    return tuple(word for pair in words for word in pair)


def _as_stated(
    frames: Sequence[Frame], options: TableOptions, notes: list[Finding], door: Door
) -> tuple[TableOptions, float | None]:
    """The options with what files state of all their verdicts, where nobody has set it; and the
    margin that they state, which is noted. Raises DataError for what cannot be meant."""
    stated = {name: own for frame in frames for name, own in frame.stated.items()}
    named = {name: list(dict.fromkeys(own.values())) for name, own in stated.items()}
    file = next((frame.name for frame in frames if frame.stated), "")
    more: dict[str, Any] = {}
    # What a person types wins over what a file states of itself.
    if options.kind is None and options.scale is None:
        more |= {
            name: str(values[0])
            for name, values in named.items()
            if name in ("kind", "scale", "passes") and len(values) == 1
        }
        if (kind := more.get("kind")) is not None and kind not in KINDS:
            raise DataError(
                f"{file}: `{STATED}kind` is {brief(kind)}; it is one of {', '.join(KINDS)}. Correct"
                f" it, delete the column, or name the kind: {door.typed(KIND, 'numeric')}."
            )
        if len(named.get("scale", ())) > 1 and not options.scales:
            ends = {
                str(criterion): typed_scale(str(scale), f"{file}: `{STATED}scale`")[0]
                for criterion, scale in stated["scale"].items()
            }
            more["scales"] = {
                name: own for name, own in ends.items() if own is not None
            }
        elif "scale" in more:
            typed_scale(more["scale"], f"{file}: `{STATED}scale`")
    final = named.get("group", [None])[0]
    if options.group is None and final == NONE:
        more["group"] = NONE
    elif (
        options.group is None
        and final
        and any(GROUP.name in frame.cells for frame in frames)
    ):
        more["group"] = GROUP.name
    margins = named.get("margin", [])
    if not margins:
        return options.model_copy(update=more), None
    margin = number_of(str(margins[0]))
    # Two margins in one file are two questions. None of them may be picked.
    if len(margins) > 1 or margin is None or margin <= 0:
        shown = " and ".join(map(str, margins[:2]))
        raise DataError(
            f"{file}: `{STATED}margin` is {brief(shown)}; it must be one number above 0 in all"
            " rows. Correct it, or delete the column."
        )
    notes.append(Finding("table.stated_margin", {"margin": margin}))
    return options.model_copy(update=more), margin


def _without_roles(frames: Sequence[Frame], options: TableOptions) -> TableOptions:
    """The options with "none" for a role that no column has; a column of that name is one."""
    columns = {fold(str(name)) for frame in frames for name in frame.cells}
    # Then "none" names that column, as anything that is typed names a column first.
    if NONE in columns:
        return options
    update: dict[str, Any] = {
        name: "" for name in _MAY_BE_NONE if fold(getattr(options, name) or "") == NONE
    }
    if [fold(name) for name in options.human] == [NONE]:
        update["human"] = ("",)
    if fold(options.group or "") == NONE:
        update["group"] = NONE
    return options.model_copy(update=update)


class _Builder:
    """Puts a verdict table together, step by step."""

    # what was planted in the item of each row, once it is read
    kinds: np.ndarray | None = None

    def __init__(
        self, frames: Sequence[Frame], options: TableOptions, door: Door
    ) -> None:
        stated: list[Finding] = []
        self.are_runs = options.group is None and any(
            RUNS in frame.stated.get(GROUP.name, {}).values() for frame in frames
        )
        options, self.margin = _as_stated(frames, parted(frames, options), stated, door)
        self.selection, self.probability = _selection(options.labels, door)
        self.door = door
        self.reading = _reading(options)
        frames, options = with_labels(with_ids(frames, options.item, door), options)
        options = _without_roles(frames, options)
        frames = list(frames)
        # Before columns are searched for: which column is what is asked of the whole
        # table, once.
        if len(frames) > 1:
            frames = aligned(frames, options.item, options.judge, options.human, door)
        if (joined := by_texts_or_rows(frames, options.item, door)) is not None:
            frames = joined.frames
            options = options.model_copy(update={"item": joined.item})
        self.alone = options.group == NONE
        options = options.model_copy(update={"group": ""}) if self.alone else options
        self.options = options
        self.frames = frames
        self.joined = len({frozenset(frame.cells.columns) for frame in self.frames}) > 1
        self.cells = pd.concat(
            [frame.cells for frame in self.frames], ignore_index=True, sort=False
        ).astype(object)
        # One sign for "nothing here": NaN is unequal to itself, and would be a value of
        # its own.
        self.cells = self.cells.where(self.cells.notna(), None)
        self.file = np.repeat(
            np.arange(len(frames)), [len(frame.cells) for frame in self.frames]
        )
        self.places = np.array(
            [place for frame in self.frames for place in frame.places], dtype=object
        )
        self.notes: list[Finding] = [
            note for frame in self.frames for note in frame.notes
        ]
        self.notes += stated
        self.problems: list[Finding] = [
            problem for frame in self.frames for problem in frame.problems
        ]
        is_log = any(frame.is_log for frame in self.frames)
        split = False if is_log else self._take_apart()
        kept, options = of_criterion(self.cells, options, door)
        self.cells = self.cells[kept].reset_index(drop=True)
        self.file = self.file[kept]
        self.places = self.places[kept]
        try:
            self.columns: Columns = find_columns(
                self.cells,
                self._of_log(options),
                {*options.facts, *self._facts()},
                door,
            )
        except ConfigError as error:
            raise ConfigError(
                f"{', '.join(frame.name for frame in self.frames)}: {error}"
            ) from None
        if self.joined and self.columns.item is None:
            raise Doubt(
                ITEM,
                "the files have different columns, and no column with the ids of the items by"
                f" which they could be joined. Columns: {', '.join(map(str, self.cells.columns))}",
            ).at(door)
        # A row that was taken apart into several has no longer one end in the file.
        if not split:
            self._leave_out_cut(kept)
        # After the roles are known, as a total is recognised by the columns of grades
        # above it.
        self._leave_out_totals()
        self.turned = np.zeros(len(self.cells), dtype=bool)

    def _take_apart(self) -> bool:
        """Give each verdict and each label a cell of its own; whether rows became several rows by
        that."""
        # The order matters: cells that hold several labels first, then columns that
        # hold one category each, then choices that name systems. Each leaves a table
        # that the next can read.
        self.cells, spread_notes = spread(self.cells, self.frames[0].name)
        self.notes += spread_notes
        self.cells, merged_notes = merged(self.cells)
        self.notes += merged_notes
        self.cells, turned_notes = oriented(
            self.cells, self.options, self.frames[0].name
        )
        self.notes += turned_notes
        item = column_of(self.cells, ITEM)
        self.cells, rows, apart_notes = apart(self.cells, self.options, item)
        self.file, self.places = self.file[rows], self.places[rows]
        self.notes += apart_notes
        return bool(apart_notes)

    def _leave_out_cut(self, kept: np.ndarray) -> None:
        """Leave out the rows of CSV that end before a verdict or a label: what they were to say is
        lost, unless they are remarks such as a footer. `kept`: which of the files' rows there still
        are."""
        speaking = [frame.cut if self._speaks(frame) else {} for frame in self.frames]
        ends = [
            pd.Series(cut, dtype=object).reindex(range(len(frame.cells)))
            for cut, frame in zip(speaking, self.frames, strict=True)
        ]
        cut = pd.concat(ends, ignore_index=True).to_numpy(dtype=object)[kept]
        # A row that broke off behind its verdict has said what it had to say.
        is_cut = pd.notna(cut) & ~self._says(slice(None))
        if not is_cut.any():
            return
        remark = is_cut & (cut == True)  # noqa: E712
        for rows, key, told in (
            (remark, "remarks", self.notes),
            (is_cut & ~remark, "cut_rows", self.problems),
        ):
            if rows.any():
                facts = {
                    "n": int(rows.sum()),
                    "place": self.places[int(np.argmax(rows))],
                }
                told.append(
                    Finding(
                        f"table.{key}",
                        facts | ({} if told is self.notes else {"rows": facts["n"]}),
                    )
                )
        self.cells = self.cells[~is_cut].reset_index(drop=True)
        self.file = self.file[~is_cut]
        self.places = self.places[~is_cut]

    def _leave_out_totals(self) -> None:
        """Leave out the rows at the end of a file that sum up those above them."""
        sides = [*self.columns.verdicts, *self.columns.labels]
        kept = np.ones(len(self.cells), dtype=bool)
        for n in np.unique(self.file):
            rows = np.flatnonzero(self.file == n)
            if found := totals(self.cells.iloc[rows], sides, self.columns.texts):
                kept[rows[-found:]] = False
                facts = {"n": found, "place": self.places[rows[-found]]}
                self.notes.append(Finding("table.totals", facts))
        if not kept.all():
            self.cells = self.cells[kept].reset_index(drop=True)
            self.file = self.file[kept]
            self.places = self.places[kept]

    def _unread(self, lost: pd.DataFrame, labels: pd.DataFrame) -> int:
        """How many rows may have held a verdict or a label and could not be read; and items whose
        only labels are damaged (`lost`), of which nobody knows what they were."""
        # A damaged row of a file of texts loses a text, and no verdict.
        other = sum(frame.unread for frame in self.frames if not self._speaks(frame))
        known = labels[["item", "criterion"]].drop_duplicates()
        mute = (
            lost.drop_duplicates().merge(known, how="left", indicator=True)["_merge"]
            == "left_only"
        )
        return unread_rows(self.problems) - other + int(mute.sum())

    def _speaks(self, frame: Frame) -> bool:
        """Whether a file has a column of verdicts or labels, rather than texts and facts alone."""
        return not {*self.columns.verdicts, *self.columns.labels}.isdisjoint(
            frame.cells.columns
        )

    def _says(self, rows: Any) -> np.ndarray:
        """Which of the rows hold a verdict or a label."""
        names = [*self.columns.verdicts, *self.columns.labels]
        return np.asarray(
            self.cells[names].notna().any(axis=1).to_numpy(dtype=bool)[rows]
        )

    def _of_log(self, options: TableOptions) -> TableOptions:
        """The options with the columns that a tool's log has by the names that its reader gives
        them."""
        if not any(frame.is_log for frame in self.frames):
            return options
        known: dict[str, Any] = {"judge": ("judge",), "human": ("label",)} | {
            role: role for role in _OF_LOGS
        }
        own = {
            role: named
            for role, named in known.items()
            if not getattr(options, role)
            and (named if isinstance(named, str) else named[0]) in self.cells
        }
        # names of judges, not a column
        if not (set(options.judge) <= set(map(str, self.cells))):
            own["judge"] = ("judge", *options.judge)
        return options.model_copy(update=own)

    def _facts(self) -> set[str]:
        """The columns of logs that are in no other file: what they hold beside verdicts and labels
        is known."""
        columns = [
            (frame.is_log, set(map(str, frame.cells.columns))) for frame in self.frames
        ]
        return set().union(
            *(names for is_log, names in columns if is_log)
        ) - set().union(*(names for is_log, names in columns if not is_log))

    def table(self) -> Evidence:
        """The verdict table."""
        columns, options = self.columns, self.options
        self.systems = [self._text(name) for name in columns.systems]
        self.texts = [self._text(name) for name in columns.texts]
        item = self._items()
        # From here on a row is one verdict, or one label, whatever the file looked
        # like.
        verdicts = self._stack(item, columns.verdicts, columns.judges, "judge")
        labels = self._stack(item, columns.labels, columns.rater, "rater")
        # where a verdict stands beside each of its labels
        if any(frame.is_log for frame in self.frames):
            # Of two files with the same log the second says the same again, which is told below.
            held = verdicts.drop(columns="row").assign(file=self.file[verdicts["row"]])
            verdicts = verdicts[~held.duplicated()].reset_index(drop=True)
        verdicts, labels = self._people_apart(verdicts, labels)
        faults.check_voices(verdicts, labels, self.frames[0].name, self.door)
        # Before any value is read, since a column with two kinds of verdict has no
        # scale.
        verdicts, labels = faults.of_one_kind(
            verdicts, labels, options, self.problems, self.door
        )
        # Choices name an output or a tie, so that "none" is a choice or nothing by itself.
        self.categories = (
            frozenset()
            if columns.pairwise
            else categories_among(verdicts, labels, options)
        )
        # Verdicts and labels are read side by side: the scale of one is often shown by
        # the other alone.
        of_verdicts, of_labels = (
            read_cells(rows["raw"].to_numpy(), self.categories)
            for rows in (verdicts, labels)
        )
        if not of_verdicts.said and not of_labels.said:
            shown = ", ".join(
                f"`{name}`" for name in (*columns.verdicts, *columns.labels)
            )
            raise DataError(
                f"{self.frames[0].name}: {shown} is empty in every row. Name other columns with"
                f" {self.door.option(JUDGE)}."
            )
        try:
            beside = Beside(verdicts, labels, self.categories)
            scales = self._scales(of_verdicts, of_labels, options, beside)
        except ConfigError as error:
            shown = ", ".join(
                f"`{name}`" for name in (*columns.verdicts, *columns.labels)
            )
            raise ConfigError(
                f"{', '.join(frame.name for frame in self.frames)}, columns {shown}: {error}"
            ) from None
        by_criterion = self._by_criterion(verdicts, labels, scales)
        self.notes += scales.notes
        verdicts["verdict"], verdicts["reason"] = self._values(
            verdicts, of_verdicts, scales, by_criterion, "verdicts"
        )
        if any(frame.is_log for frame in self.frames) and "reason" in self.cells:
            why = self._text("reason")[verdicts["row"].to_numpy(dtype=int)]
            verdicts["reason"] = np.where(
                verdicts["verdict"].isna() & pd.notna(why), why, verdicts["reason"]
            )
        labels["label"], labels["reason"] = self._values(
            labels, of_labels, scales, by_criterion, "labels"
        )
        self._tell_acceptable(verdicts, labels, scales)
        # A label that nobody gave is no missing datum: that person simply did not label
        # it. One that is damaged is, and is counted in the bounds.
        labels = labels[~labels["reason"].isin(_NO_LABEL).to_numpy(dtype=bool)]
        lost = labels.loc[labels["reason"].isin(_LOST_LABELS), ["item", "criterion"]]
        if scales.kind == "pairwise":
            for rows, name in ((verdicts, "verdict"), (labels, "label")):
                orders.turn(rows, name, self.turned[rows["row"].to_numpy(dtype=int)])
            # Choices are turned last, once it is known which number chooses the first
            # output.
            orders.orient(
                verdicts,
                labels,
                # A choice is in the order of its row where the rows stand in both.
                None if self.turned.any() else columns.order or columns.swapped,
                options.choices,
                self.notes,
                self.problems,
                self.door,
            )
        verdicts, labels = (
            rows.assign(place=self.places[rows["row"].to_numpy(dtype=int)])
            for rows in (verdicts, labels)
        )
        keys = ["item", "judge", "criterion", "repeat", "order"]
        verdicts = faults.unique(
            verdicts,
            keys,
            "verdict",
            self.notes,
            self.problems,
            self.door,
            repeats=columns.repeat is None,
        )
        labels = faults.unique(
            labels,
            ["item", "criterion", "rater"],
            "label",
            self.notes,
            self.problems,
            self.door,
        )
        lost = pd.concat(
            [
                lost,
                labels.loc[
                    labels["reason"] == said.CONTRADICTION, ["item", "criterion"]
                ],
            ]
        )
        labels = labels.dropna(subset=["label"])
        labels = self._with_criterion(labels, verdicts)
        items = self._about(item)
        faults.compare(
            verdicts, labels, items, scales, self.joined, self.problems, self.door
        )
        settings = self._settings()
        unread = self._unread(lost, labels)
        table = Evidence(
            kind=scales.kind,
            verdicts=_plain(verdicts, VERDICT_COLUMNS),
            labels=_plain(labels, LABEL_COLUMNS),
            items=items,
            scale=scales.ends,
            categories=scales.categories,
            criterion_scales={
                name: own.ends
                for name, own in by_criterion.items()
                if own.ends is not None
            },
            margin=self.margin,
            selection=self.selection,
            grouping=self._grouping(),
            rows=sum(len(frame.cells) + frame.unread for frame in self.frames),
            unread=unread,
            unaccounted=faults.unaccounted(verdicts, labels, unread),
            sources={frame.name: frame.digest for frame in self.frames},
            settings=settings,
            reading=self.reading,
            columns=self._own_columns(),
        )
        # What was assumed and may be wrong comes first in the report: who sees one line
        # should see that one.
        read = sorted(
            (*columns.notes, *self.notes),
            key=lambda note: note.key.removeprefix("table.") not in DOUBTFUL,
        )
        return dataclasses.replace(
            table, read=tuple(read), problems=tuple(self.problems)
        )

    # Columns as arrays

    def _text(self, name: str) -> np.ndarray:
        """A column as texts; None where a cell is empty."""
        return np.array(
            [None if cell is None else str(cell) for cell in self.cells[name]],
            dtype=object,
        )

    def _present(self, name: str) -> np.ndarray:
        """The rows whose file has the column."""
        there = [name in frame.cells.columns for frame in self.frames]
        if not any(there):
            return np.ones(len(self.file), dtype=bool)  # made of another column
        return np.array(there, dtype=bool)[self.file]

    def _items(self) -> np.ndarray:
        """The id of the item of each row: its column, with the system where one id stands for
        several of them."""
        columns = self.columns
        if columns.item is None:
            if (
                columns.judges is None
                and columns.rater is None
                and columns.repeat is None
                and columns.order is None
            ):
                return np.array(
                    [f"row {n}" for n in range(1, len(self.cells) + 1)], dtype=object
                )
            if not self.texts:
                raise Doubt(
                    ITEM,
                    "no column with the ids of the items was recognised, and a file with several"
                    f" rows per item needs one. Columns: {', '.join(map(str, self.cells.columns))}",
                ).at(self.door)
            keys = pd.DataFrame(dict(enumerate([*self.texts, *self.systems]))).fillna(
                ""
            )
            told = {"columns": [f"`{name}`" for name in columns.texts]}
            self.notes.append(
                Finding("table.item_is_text", told | spelled(self.door, ITEM))
            )
            return np.array(
                [
                    f"text {n + 1}"
                    for n in keys.groupby(list(keys), sort=False).ngroup()
                ],
                dtype=object,
            )
        ids = self._text(columns.item)
        lacking = np.array([each is None for each in ids], dtype=bool)
        if lacking.any():
            first, n = self.places[int(np.argmax(lacking))], int(lacking.sum())
            if 2 * n > len(ids):
                what = (
                    f"`{columns.item}`, read as the ids of the items, is empty here and in {n} of"
                    f" {len(ids)} rows"
                )
                way = (
                    "If cells were merged in the spreadsheet, write the value into every one of"
                    " them"
                )
                other = self.door.typed(ITEM, "COLUMN")
                raise DataError(
                    f"{first}: {what}. {way}; or name another column: {other}."
                )
            facts = {
                "n": n,
                "column": columns.item,
                "place": first,
                "rows": int(self._says(lacking).sum()),
            }
            self.problems.append(Finding("table.no_id", facts))
        self.case = ids
        if columns.injected is not None:
            kinds = self._kinds()
            injections.check_ids(ids, kinds, columns.item, columns.injected, self.door)
        self._check_repeated_ids(columns.item)
        if not self.systems:
            return ids
        keys = pd.DataFrame(
            {"id": ids} | {str(n): system for n, system in enumerate(self.systems)},
            dtype=object,
        )
        if len(self.systems) > 1:
            self.turned = self._turned(keys)
            keys.loc[self.turned, ["0", "1"]] = keys.loc[
                self.turned, ["1", "0"]
            ].to_numpy()
        if keys.dropna().drop_duplicates().groupby("id").size().max() > 1:
            whole = keys["id"]
            for n in range(len(self.systems)):
                whole = whole + "/" + keys[str(n)].fillna("?")
            facts = {"item": columns.item, "systems": list(columns.systems)}
            facts |= spelled(self.door, ITEM, SYSTEM)
            self.notes.append(Finding("table.item_and_system", facts))
            return whole.where(~lacking, None).to_numpy(dtype=object)
        return ids

    def _kinds(self) -> np.ndarray:
        """What was planted in the item of each row."""
        if self.kinds is None:
            cells = self.cells[self.columns.injected]
            self.kinds = injections.kinds_of(
                cells, self.places, self.door, self.problems
            )
        return self.kinds

    def _turned(self, keys: pd.DataFrame) -> np.ndarray:
        """The rows in which the two outputs of an item stand the other way round. Where a column
        says in which order they were shown, these must be the rows of one of both orders: else it
        is about something else, and the rows are taken as they stand."""
        notes: list[Finding] = []
        turned = orders.turned(keys, notes)
        if self.columns.order is not None and turned.any():
            both = pd.DataFrame(
                {"id": keys["id"], "other": turned != (self._orders() == SWAPPED)}
            )
            pairs = [
                np.where(keys["0"] <= keys["1"], keys[a], keys[b])
                for a, b in ("01", "10")
            ]
            if (both.groupby([keys["id"], *pairs])["other"].nunique() > 1).any():
                return np.zeros(len(keys), dtype=bool)
        self.notes += notes
        return turned

    def _check_repeated_ids(self, item: str) -> None:
        """Ask for a second column of ids where rows with one id are about different texts: they are
        no repeats of one verdict."""
        columns = self.columns
        told_apart = (columns.criterion, columns.repeat, columns.order)
        if (
            any(name is not None for name in told_apart)
            or columns.systems
            or self.joined
        ):
            return
        if any(frame.is_log for frame in self.frames) or len(self.frames) > 1:
            return
        keys = [
            item,
            *(name for name in (columns.judges, columns.rater) if name is not None),
        ]
        said = self.cells[
            self._says(slice(None)) & self.cells[item].notna().to_numpy(dtype=bool)
        ]
        again = said.duplicated(keys, keep=False)
        if not again.any():
            return
        free = [name for name in map(str, said.columns) if name not in columns.used()]
        ids = [
            name
            for name in free
            if set(tokens(name)) & {"id", "ids"}
            and " ".join(tokens(name)) not in RATER.names
        ]
        shown = [
            *columns.texts,
            *([] if columns.context is None else [columns.context]),
        ]
        rows = said[again]
        for name in (*ids, *shown):
            if not rows.duplicated([*keys, name]).any() and rows[name].notna().all():
                raise Question(
                    f"`{item}` was read as the ids of the items, and rows with one id differ in"
                    f" `{name}` (e.g. {brief(str(rows[item].iloc[0]))}), so they are no repeats of"
                    " one verdict.",
                    [Way("If both together are the id:", [(ITEM, f"{item},{name}")])],
                ).at(self.door)

    def _stack(
        self, item: np.ndarray, columns: Sequence[str], names: str | None, who: str
    ) -> pd.DataFrame:
        """One row per verdict or label: those of one column after the other."""
        own = self.columns
        criterion = self._named(own.criterion, OVERALL)
        repeat = self._repeats()
        order = self._orders()
        confidence = self._confidence()
        failed = (
            faults.failures(self.cells, own.failed, self.places)
            if who == "judge" and own.failed
            else None
        )
        by_file = (
            self._judges_are_files(item)
            if who == "judge"
            else self._people_are_files(item)
        )
        parts = []
        for column in columns:
            rows = np.flatnonzero(
                self._present(column)
                & np.array([each is not None for each in item], dtype=bool)
            )
            voice = own.voices.get(column)
            if by_file:
                name: Any = np.array(
                    [Path(frame.name).stem for frame in self.frames], dtype=object
                )[self.file[rows]]
            else:
                called = column if voice is None else voice.name
                name = self._named(names, column)[rows] if names is not None else called
            about = None if voice is None else voice.criterion
            shown = None if voice is None else voice.order
            sure = confidence
            if who == "judge" and column in own.confidences:
                sure = self._numbers_in(own.confidences[column])
            parts.append(
                pd.DataFrame(
                    {
                        "item": item[rows],
                        who: name,
                        "criterion": criterion[rows] if about is None else about,
                        "repeat": repeat[rows],
                        "order": order[rows] if shown is None else shown,
                        "confidence": sure[rows],
                        "raw": self._raw(column, failed)[rows],
                        "row": rows,
                    }
                )
            )
        if not parts:
            empty = {
                name: pd.Series(dtype=object)
                for name in ("item", who, "criterion", "repeat", "order", "raw")
            }
            return pd.DataFrame(
                empty
                | {"confidence": pd.Series(dtype=float), "row": pd.Series(dtype=int)}
            )
        stacked = pd.concat(parts, ignore_index=True)
        return (
            stacked[stacked[who].isin(own.only)].reset_index(drop=True)
            if own.only and who == "judge"
            else stacked
        )

    def _own_columns(self) -> dict[str, str]:
        """The column of each judge that has one of its own."""
        own = self.columns
        if own.judges is not None or len(self.frames) > 1:
            return {}
        named = [
            (
                column if own.voices.get(column) is None else own.voices[column].name,
                column,
            )
            for column in own.verdicts
        ]
        names = [name for name, _ in named]
        return {name: column for name, column in named if names.count(name) == 1}

    def _judges_are_files(self, item: np.ndarray) -> bool:
        """Whether files with the same columns speak of the same items, so that each is one
        judge's."""
        own = self.columns
        if (
            self.joined
            or len(self.frames) < 2
            or own.item is None
            or own.judges is not None
            or len(own.verdicts) != 1
        ):
            return False
        same = self._same_items(item, range(len(self.frames)))
        if same:
            self.notes.append(Finding("table.read_files", spelled(self.door, JUDGE)))
        return same

    def _same_items(self, item: np.ndarray, files: Iterable[int]) -> bool:
        """Whether each of some files has most of its items in common with the first of them."""
        first, *others = (set(item[self.file == n]) for n in files)
        return all(
            2 * len(first & other) > min(len(first), len(other)) for other in others
        )

    def _people_are_files(self, item: np.ndarray) -> bool:
        """Whether files of labels with the same columns speak of the same items, and say something
        else, so that each is one person's."""
        own = self.columns
        if own.rater is not None or own.item is None or len(own.labels) != 1:
            return False
        there = [
            n
            for n, frame in enumerate(self.frames)
            if own.labels[0] in frame.cells
            and not {*own.verdicts} & {*map(str, frame.cells)}
        ]
        if len(there) < 2 or any(frame.is_log for frame in self.frames):
            return False
        if not self._same_items(item, there):
            return False
        said = self.cells[own.labels[0]].to_numpy(dtype=object)
        first, *others = (
            dict(zip(item[self.file == n], said[self.file == n], strict=True))
            for n in there
        )
        differ = any(
            each.get(key, one) != one for each in others for key, one in first.items()
        )
        if differ:
            self.notes.append(Finding("table.people_files", spelled(self.door, RATER)))
        return differ

    def _raw(self, column: str, failed: np.ndarray | None) -> np.ndarray:
        """The cells of a column of verdicts or labels; where the judge failed, an error; the name
        of a system that was chosen is its number."""
        raw = self.cells[column].to_numpy(dtype=object)
        if failed is not None:
            raw = np.where(failed, f"error: {self.columns.failed}", raw)
        if self.columns.pairwise and len(self.systems) > 1:
            raw = np.where(
                raw == self.systems[0],
                FIRST,
                np.where(raw == self.systems[1], SECOND, raw),
            )
        return raw

    def _people_apart(
        self, verdicts: pd.DataFrame, labels: pd.DataFrame
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Take what people said for labels where people stand among the judges, and there are no
        other labels."""
        column = self.columns.judges
        names = (
            [] if column is None or len(labels) else list(verdicts["judge"].unique())
        )
        people = [
            n
            for n in names
            if side_of(n) == -1 or (self.columns.among_raters and side_of(n) != 1)
        ]
        if self.columns.people:
            people = [n for n in names if n in self.columns.people]
        elif column is not None and not self.columns.only and not self.options.human:
            unknown = [
                n
                for n in names
                if side_of(n) != 1 and n not in people and may_be_person(n)
            ]
            self._check_names(column, names, unknown, people)
            # Beside people and models author_1 is a person.
            people = [n for n in names if n in people or (people and n in unknown)]
        if not people or len(people) == len(names):
            return verdicts, labels
        facts = {"judge": f"`{column}`", "raters": people, "n": len(people)}
        facts |= spelled(self.door, LABEL)
        self.notes.append(Finding("table.read_people", facts))
        theirs = verdicts["judge"].isin(people).to_numpy(dtype=bool)
        own = verdicts[~theirs].reset_index(drop=True)
        return own, verdicts[theirs].rename(columns={"judge": "rater"}).reset_index(
            drop=True
        )

    def _check_names(
        self,
        column: str,
        names: Sequence[str],
        unknown: Sequence[str],
        people: Sequence[str],
    ) -> None:
        """Ask about `unknown` names among those of judges that may well be people's, beside names
        of models, where none is known to be a person's."""
        models = [name for name in names if side_of(name) == 1]
        if not models or not unknown or people:
            return
        raise Question(
            f"`{column}` holds names of models ({', '.join(models[:3])}), and nothing says whether"
            f" {', '.join(unknown[:3])} {'is a person' if len(unknown) == 1 else 'are people'}.",
            [
                Way("If so, type", [(LABEL, ",".join(unknown))]),
                Way("if not:", [(LABEL, NONE)]),
            ],
        ).at(self.door)

    def _named(self, column: str | None, default: str) -> np.ndarray:
        if column is None:
            return np.full(len(self.cells), default, dtype=object)
        return np.array(
            [default if each is None else each for each in self._text(column)],
            dtype=object,
        )

    def _repeats(self) -> np.ndarray:
        if self.columns.repeat is None:
            return np.zeros(len(self.cells), dtype=int)
        held = read_cells(self.cells[self.columns.repeat].to_numpy())
        keys = (
            held.numbers[held.codes]
            if held.numeric == 1
            else self._text(self.columns.repeat)
        )
        return np.maximum(pd.factorize(keys, sort=True)[0], 0)

    def _orders(self) -> np.ndarray:
        name = self.columns.order
        if name is None or self.turned.any():
            ways = np.array([AS_GIVEN, SWAPPED], dtype=object)[self.turned.astype(int)]
            return (
                ways
                if self.turned.any()
                else np.full(len(self.cells), None, dtype=object)
            )
        held = read_cells(self.cells[name].to_numpy())
        known = order_words(" ".join(tokens(name)), held.distinct_words())
        if known is None:
            shown = ", ".join(list(held.distinct_words())[:6])
            raise ConfigError(
                f"{self.door.typed(ORDER, name)}: its cells are {shown}; write as_given and"
                " swapped."
            )
        return np.array(
            [None if w is None else (AS_GIVEN, SWAPPED)[known[w]] for w in held.words],
            dtype=object,
        )[held.codes]

    def _confidence(self) -> np.ndarray:
        if self.columns.confidence is None:
            return np.full(len(self.cells), np.nan)
        return self._numbers_in(self.columns.confidence)

    def _numbers_in(self, column: str) -> np.ndarray:
        return read_cells(self.cells[column].to_numpy()).values()[0]

    # Values

    def _scales(
        self,
        verdicts: Cells,
        labels: Cells,
        options: TableOptions,
        beside: Beside | None = None,
    ) -> Scales:
        """The scales of verdicts and labels. Whoever checks a judge reads of people's grades; a run
        places both on its rubric's scale."""
        pairwise = self.columns.pairwise and beside is not None
        found = find_scales(verdicts, labels, options, pairwise, self.door, beside)
        return found if self.door is RUN else found.in_grades(self.door)

    def _by_criterion(
        self, verdicts: pd.DataFrame, labels: pd.DataFrame, scales: Scales
    ) -> dict[str, Scales]:
        """The scale of each criterion, where there are several with numbers and none was
        declared."""
        criteria = list(verdicts["criterion"].unique())
        several, declared = len(criteria) > 1, self.options.scales
        if (
            scales.kind != "numeric"
            or not (several or declared)
            or self.options.scale is not None
        ):
            return {}
        own: dict[str, Scales] = {}
        numeric = self.options.model_copy(update={"kind": "numeric"})
        for name in criteria:
            if name in declared:
                own[name] = Scales("numeric", declared[name])
                continue
            raw = [
                rows.loc[rows["criterion"] == name, "raw"].to_numpy()
                for rows in (verdicts, labels)
            ]
            own[name] = self._scales(read_cells(raw[0]), read_cells(raw[1]), numeric)
        if not declared and len({each.ends for each in own.values()}) == 1:
            return {}
        shown = [
            f"{name} {each.ends[0]:g}-{each.ends[1]:g}"
            for name, each in own.items()
            if each.ends is not None
        ]
        self.notes.append(
            Finding("table.criteria", {"scales": shown, **spelled(self.door, SCALE)})
        )
        return own

    def _values(
        self,
        rows: pd.DataFrame,
        whole: Cells,
        scales: Scales,
        by_criterion: Mapping[str, Scales],
        what: str,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The values on the scale of the table or of their criterion, and why there is none; faults
        are told."""
        values = np.full(len(rows), np.nan)
        reasons = np.full(len(rows), None, dtype=object)
        criterion = rows["criterion"].to_numpy()
        for name, own in (by_criterion or {"": scales}).items():
            at = (
                np.flatnonzero(criterion == name)
                if by_criterion
                else np.arange(len(rows))
            )
            held = whole
            if by_criterion:
                held = read_cells(rows["raw"].to_numpy()[at], self.categories)
            mapping = own.of_verdicts if what == "verdicts" else own.of_labels
            values[at], reasons[at] = held.values(mapping)
            if mapping is not None:
                several = held.of_several(mapping.keys())
                reasons[at] = np.where(several[held.codes], said.SEVERAL, reasons[at])
                values[at] = np.where(several[held.codes], np.nan, values[at])
            factor, shift = own.placed if what == "verdicts" else own.mapped
            if mapping is None and (factor, shift) != (1.0, 0.0):
                values[at] = (values[at] * factor + shift).round(PLACES)
            if own.ends is not None:
                outside = at[
                    (values[at] < own.ends[0] - 1e-9)
                    | (values[at] > own.ends[1] + 1e-9)
                ]
                values[outside], reasons[outside] = np.nan, said.OFF_SCALE
        raw, at = rows["raw"].to_numpy(), rows["row"].to_numpy()
        for reason in (*_FAULTS, said.OFF_SCALE):
            where = np.flatnonzero(reasons == reason)
            if len(where):
                examples = list(dict.fromkeys(brief(raw[n], 40) for n in where[:50]))[
                    : faults.EXAMPLES
                ]
                facts = {
                    "n": len(where),
                    "what": what,
                    "examples": examples,
                    "place": self.places[at[where[0]]],
                }
                if reason == said.OFF_SCALE:
                    facts |= spelled(self.door, SCALE, LABEL_SCALE)
                elif reason in said.SPOKEN:
                    word = str(raw[where[0]])
                    facts["category"] = self._as_category(word, scales)
                self.problems.append(Finding(f"table.{reason}", facts))
        return values, reasons

    def _as_category(self, word: str, scales: Scales) -> Finding | list[Finding]:
        """What to type where a word that was taken for nothing is a category; nothing beside
        numbers and choices, where it cannot be one."""
        if scales.kind == "ordered":
            typed = self.door.typed(SCALE, "A<B<C")
            return Finding("table.category_ordered", {"typed": typed})
        if scales.kind in ("pass_fail", "unordered"):
            named = "<".join([*scales.categories, word])
            typed = (
                f"{self.door.typed(KIND, 'unordered')} {self.door.typed(SCALE, named)}"
            )
            return Finding("table.category_unordered", {"typed": typed})
        return []

    def _tell_acceptable(
        self, verdicts: pd.DataFrame, labels: pd.DataFrame, scales: Scales
    ) -> None:
        """Say how often a verdict is one of several categories that a label names. They are no part
        of the agreement: its chance is that of single labels."""
        several = labels[(labels["reason"] == said.SEVERAL).to_numpy(dtype=bool)]
        if several.empty or scales.of_labels is None:
            return
        accepted = [
            {scales.of_labels.get(fold(part)) for part in str(raw).split("|")}
            for raw in several["raw"]
        ]
        keys = ["item", "criterion"]
        both = (
            several[keys]
            .assign(accepted=accepted)
            .merge(verdicts[[*keys, "verdict"]], on=keys)
        )
        both = both[both["verdict"].notna()]
        if both.empty:
            return
        shares = verdicts["verdict"].value_counts(normalize=True)
        met = [
            one in among
            for one, among in zip(both["verdict"], both["accepted"], strict=True)
        ]
        chance = [
            float(shares.reindex(list(among)).sum()) for among in both["accepted"]
        ]
        facts = {"n": len(both), "met": sum(met), "chance": float(np.mean(chance))}
        self.notes.append(Finding("table.acceptable", facts))

    # Items

    def _about(self, item: np.ndarray) -> pd.DataFrame:
        """What is known of each item: the first that a row says of it."""
        columns = self.columns
        facts: dict[str, Any] = {"item": item}
        names = ("text",) if len(self.texts) == 1 else ("text_1", "text_2")
        facts |= dict(zip(names, self.texts, strict=False)) if self.texts else {}
        names = ("system",) if len(self.systems) == 1 else ("system_1", "system_2")
        facts |= dict(zip(names, self.systems, strict=False)) if self.systems else {}
        for name in map(str, self.cells.columns):
            if name not in columns.used():
                own = name if name.startswith(COUNTED) else SLICE + name
                facts[own] = as_slice(self.cells[name])
        if self.probability is not None:
            if self.probability not in self.cells:
                listed = ", ".join(map(str, self.cells.columns))
                raise ConfigError(
                    f"{self.door.option(CHOSEN)} probabilities:{self.probability}: no such"
                    f" column. Columns: {listed}."
                )
            facts["probability"] = self._probabilities(self.probability)
            facts.pop(SLICE + self.probability, None)
        if columns.injected is not None:
            facts["injected"] = self._kinds()
        if columns.parent is not None:
            facts["parent"] = self._text(columns.parent)
        named, how = self._named_groups(item)
        context = None if columns.context is None else self._text(columns.context)
        typed = self.options.group is not None and columns.group is not None
        if self.alone:
            named, context, how = item, None, None
        found = groups_of(item, named, context, [] if self.alone else self.texts, typed)
        facts["group"] = found.names
        table = pd.DataFrame(facts)
        table = table[table["item"].notna()]
        by_item = table.groupby("item", sort=False)
        items = by_item.first()
        # what most items have several of is of their verdicts, and none of the items
        if len(items) < len(table):
            differing = by_item[
                [name for name in table if name.startswith(SLICE)]
            ].nunique()
            items = items.drop(
                columns=[
                    n
                    for n, own in differing.items()
                    if (own > 1).sum() > (own == 1).sum()
                ]
            )
        without = (
            pd.Series(named).groupby(item).first().reindex(items.index).isna()
            if columns.group is not None
            else None
        )
        if without is not None and 0 < (lacking := without).sum() < len(items):
            facts = {
                "column": columns.group,
                "n": int(lacking.sum()),
                "example": lacking.idxmax(),
            }
            self.problems.append(Finding("table.empty_group", facts))
        items["group"] = (
            items["group"].fillna(pd.Series(items.index, index=items.index)).astype(str)
        )
        self._tell_groups(items, found, item, how, typed)
        if "parent" in items and not (self.alone or typed):
            items["group"], joined = injections.groups_with_parents(items)
            if joined:
                self.notes.append(Finding("table.group_parent", {"n": joined}))
        return items

    def _tell_groups(
        self,
        items: pd.DataFrame,
        found: Groups,
        item: np.ndarray,
        how: str | None,
        typed: bool,
    ) -> None:
        """Say how many groups the items form, and by what."""
        if self.alone:
            self.problems.append(faults.stands_alone(self.door))
            return
        columns = self.columns
        compared = [
            *([] if columns.context is None else [columns.context]),
            *columns.texts,
        ]
        marked = [f"`{name}`" for name in compared]
        alike = () if found.alike is None else (item[row] for row in found.alike)
        told: dict[str, Any] = {
            "columns": marked,
            "example": " = ".join(map(str, alike)),
        }
        told |= spelled(self.door, GROUP)
        groups = int(items["group"].nunique())
        if how is not None and groups < len(items):
            facts = {"column": how, "groups": groups, "n": len(items), **told}
            self.notes.append(
                Finding("table.group_text" if how == "" else "table.group", facts)
            )
        if found.by_copies and self.are_runs:
            self.notes.append(
                Finding("trace_files.alike", {"n": found.by_copies, **told})
            )
        elif found.by_copies and typed:
            self.problems.append(
                Finding("table.group_typed", {"n": found.by_copies, **told})
            )
        elif found.by_copies:
            self.notes.append(
                Finding("table.group_copies", {"column": how, "n": found.by_copies})
            )
        if found.shared:
            names = [marked[place] for place in found.shared]
            self.notes.append(Finding("table.group_shared", {"columns": names}))

    def _grouping(self) -> Literal["found", "typed", "none"]:
        """Whether somebody named the groups, or said that there are none."""
        if self.alone:
            return "none"
        typed = self.options.group is not None and self.columns.group is not None
        return "typed" if typed else "found"

    def _named_groups(self, item: np.ndarray) -> tuple[np.ndarray | None, str | None]:
        """What a column says belongs together, and which column that is ("": the texts say it;
        None: nothing does)."""
        columns = self.columns
        if columns.group is not None:
            return self._text(columns.group), columns.group
        if columns.item is not None and self.systems and (self.case != item).any():
            return self.case, columns.item
        return None, columns.context or ("" if self.texts else None)

    def _probabilities(self, column: str) -> np.ndarray:
        values = read_cells(self.cells[column].to_numpy()).values()[0]
        wrong = ~((values > 0) & (values <= 1)) & ~np.isnan(values)
        if wrong.any():
            n = int(np.argmax(wrong))
            raise DataError(
                f"{self.places[n]}: `{column}` is {values[n]:g}; a probability is above 0 and at"
                " most 1."
            )
        return values

    def _settings(self) -> dict[str, dict[str, str]]:
        """What columns of settings say of each judge, where they say one thing."""
        own = self.columns
        if not own.settings:
            return {}
        judge = self._named(own.judges, "") if own.judges is not None else None
        names = own.verdicts if judge is None else list(dict.fromkeys(judge))
        found: dict[str, dict[str, str]] = {}
        for name in names:
            rows = (
                np.ones(len(self.cells), dtype=bool) if judge is None else judge == name
            )
            for column in own.settings:
                values = {cell for cell in self._text(column)[rows] if cell is not None}
                if len(values) == 1:
                    key = SETTINGS.get(
                        " ".join(tokens(column)), column.removeprefix(SETTING_PREFIX)
                    )
                    found.setdefault(name, {})[key] = values.pop()
        return found

    def _with_criterion(
        self, labels: pd.DataFrame, verdicts: pd.DataFrame
    ) -> pd.DataFrame:
        """The labels with the criterion of the verdicts, where they have none of their own and
        there is but one."""
        criteria = list(verdicts["criterion"].unique())
        lacking = (labels["criterion"] == OVERALL).to_numpy(dtype=bool) & (
            OVERALL not in criteria
        )
        if lacking.any() and len(criteria) == 1:
            return labels.assign(
                criterion=np.where(lacking, criteria[0], labels["criterion"])
            )
        if lacking.any():
            facts = {"n": int(lacking.sum()), "criteria": criteria[:8]}
            facts |= spelled(self.door, CRITERION)
            self.problems.append(Finding("table.labels_without_criterion", facts))
        return labels


def _plain(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The columns, those of texts as objects with None where there is none."""
    rows = rows[list(columns)].reset_index(drop=True)
    for name in columns:
        if name in ("verdict", "label", "confidence"):
            rows[name] = rows[name].astype(float)
        elif name == "repeat":
            rows[name] = rows[name].astype(int)
        else:
            held = rows[name].astype(object)
            rows[name] = held.where(held.notna(), None)
    return rows
