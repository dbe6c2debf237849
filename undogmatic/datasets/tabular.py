"""Reads the items of a table, whoever made it: what is judged and, optionally, id, condition, pair,
group, labels.

Finds labelled texts to fit something on, too: those that ship for a rubric, or a file of the
user's.
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from undogmatic.config.build import build
from undogmatic.datasets.base import Dataset
from undogmatic.datasets.cells import (
    ABSTAINED,
    EMPTY,
    NOT_APPLICABLE,
    NOTHING,
    read_cell,
)
from undogmatic.datasets.frames import cells_of
from undogmatic.datasets.items import already_judged, find_roles, stands_alone
from undogmatic.datasets.readers import find
from undogmatic.datasets.rows import (
    Names,
    beside_tables,
    empty,
    table_file,
    table_rows,
    tables_in,
)
from undogmatic.datasets.scales import typed_scale
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.items import make_item, unique
from undogmatic.records.records import OVERALL, TYPED_GROUP, UNNAMED, Item, LabelScale
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric
from undogmatic.safety import spool
from undogmatic.safety.outside import brief

_FIELDS = ("id", "condition", "pair", "parent", "maker", "label", "labels")
OPTIONS = "options"  # The one input that a file may give as a list, or by letters
# `label.CRITERION` and `label.CRITERION.RATER` are columns of labels where a file cannot nest them.
_RATED = "label."


class TextsDataset:
    """A table of items (CSV, a workbook, JSON, Parquet), or a folder of such tables, its shards, in
    the order of their names. Columns beyond the known ones are kept as metadata.

    Known are id, condition, pair, parent, maker, label (one number or category), labels (criterion
    -> rater -> label), label.CRITERION and label.CRITERION.RATER, and what is judged: a column per
    input, or `inputs` with all of them. A row without `id` gets its line number, behind the name of
    its shard. With `columns` those that are called otherwise are recognised, and decimals may have
    a comma. Labels that look as if they were on another scale than is said are not taken as they
    are.
    """

    name = "texts"

    def __init__(
        self,
        path: str,
        # what is judged; usually what the rubric shows
        inputs: Sequence[str] = ("text",),
        label_scale: (
            str | tuple[float | str, ...] | None
        ) = None,  # [1,10], 1-10, [bad,good]; None: see `read_labels`
        key: str = "dataset.path",  # what the user set, for messages
        optional: Sequence[str] = (),  # inputs of the rows that fill them
        columns: (
            Mapping[str, Names | None] | None
        ) = None,  # what is in which; null: recognised. None: nothing is
        # of a workbook: a sheet, a range (A1:C40) or both (NAME!A1:C40)
        sheet: str | None = None,
    ) -> None:
        self.inputs = tuple(name for name in inputs if name not in optional)
        self.optional = tuple(optional)
        (self.files, self._passed) = _shards(path, key)
        self.label_scale = _scale(label_scale)
        self.path = self.files[0] if len(self.files) == 1 else self.files[0].parent
        self.columns, self.sheet, self.about = columns, sheet, self.path.name
        # Filled when the file is read, since nothing is known before; a run asks for it
        # afterwards (`Assumes`).
        self.read: Sequence[Finding] = ()

    def load(self) -> Sequence[Item]:
        """The items in file order. Raises DataError naming file and line, ConfigError where it is
        not clear what a column says."""
        notes: list[Finding] = [] if self._passed is None else [self._passed]
        self.read = notes
        log = None if self.columns is None else find(self.path)
        if log is not None:
            told = {"file": self.path.name, "tool": log.name, "command": self._check()}
            notes.append(Finding("items.log", told))
        # Without `columns` a table has our names, and nothing in it is guessed.
        rows = (
            self._plain(notes)
            if self.columns is None
            else self._recognised(notes, self.columns)
        )
        # The line number, as an id has to stay the same when rows are added behind it.
        named = (
            (place, row if row.get("id") is not None else row | {"id": n})
            for place, n, row in rows
        )
        read = (
            (place, item_of(place, row, self.inputs, self.label_scale, self.optional))
            for place, row in named
        )
        return unique(read, str(self.path))

    def _plain(self, notes: list[Finding]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The rows of a table whose columns have our names."""
        for file in self.files:
            for number, row in self._of(file, self.inputs, True, notes):
                yield f"{file}:{number}", self._id(file, number), row

    def _of(
        self,
        file: Path,
        needed: Sequence[str],
        filled: bool,
        notes: list[Finding] | None,
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of one of several files; one that has none is noted."""
        rows = 0
        for rows, numbered in enumerate(  # noqa: B007 (told after the loop)
            table_rows(file, needed, filled, self.sheet, notes), 1
        ):
            yield numbered
        if notes is not None and not rows:
            notes.append(Finding("table.empty_shard", {"file": file.name}))

    def _judged(
        self, cells: pd.DataFrame, typed: Mapping[str, Names | None]
    ) -> list[Finding]:
        """Say that the table holds verdicts, if it does and nothing was said of it."""
        said = any(note.key == "items.log" for note in self.read)
        columns = [] if said else [f"`{name}`" for name in already_judged(cells, typed)]
        told = {"columns": columns[:8], "n": len(columns), "command": self._check()}
        return [Finding("items.verdicts", told)] if columns else []

    def _check(self) -> str:
        """The command that checks the verdicts of this table."""
        of_sheet = [] if self.sheet is None else ["--sheet", self.sheet]
        return shlex.join(["undogmatic", "check", *map(str, self.files), *of_sheet])

    def _id(self, file: Path, number: int) -> str:
        """The id of a row that has none."""
        return str(number) if len(self.files) == 1 else f"{file.stem}:{number}"

    def _recognised(
        self, notes: list[Finding], typed: Mapping[str, Names | None]
    ) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The rows with their columns under our names; rows that only differ in rater and label are
        one."""
        single = (
            table_rows(self.path, filled=False, sheet=self.sheet, notes=notes)
            if len(self.files) == 1
            else None
        )

        def rows(
            noted: list[Finding] | None = None,
        ) -> Iterator[tuple[Path, int, dict[str, Any]]]:
            for file in self.files:  # shards are read twice, and one at a time
                of_file = self._of(file, (), False, noted) if single is None else single
                yield from ((file, number, row) for number, row in of_file)

        n_rows = None if single is None else len(single)
        known_by = _telling((row for _, _, row in rows(notes)), n_rows)
        cells = cells_of(known_by, flat=False)
        notes += self._judged(cells, typed)
        nested = any(isinstance(row.get("inputs"), dict) for row in known_by)
        found = find_roles(
            cells, str(self.path), self.inputs, self.optional, typed, nested
        )
        notes += found.notes
        raters = found.columns.get("rater", ())
        roles = {
            role: names
            for role, names in found.columns.items()
            if role not in ("label", "rater")
        }
        merged: dict[Any, tuple[str, str, dict[str, Any]]] = {}
        lacking, example, total = 0, "", 0

        def without_group(place: str, row: Mapping[str, Any]) -> None:
            nonlocal lacking, example, total
            total += 1
            if "group" in found.columns and "group" not in row:
                lacking, example = lacking + 1, example or place

        for file, number, row in rows():
            place = f"{file}:{number}"
            known = {k: v for k, v in row.items() if not empty(v)}
            own: dict[str, Any] = {}
            for role, columns in roles.items():
                if filled := [name for name in columns if name in known]:
                    own[role] = known.pop(filled[0])
            own |= _typed_group(own, typed.get("group"), cells)
            who = next(
                (str(known.pop(name)) for name in raters if name in known), UNNAMED
            )
            labels = {
                name: _label(place, name, known.pop(name, None))
                for name in found.columns.get("label", ())
            }
            said = {
                name if len(labels) > 1 else who: value
                for name, value in labels.items()
                if value is not None
            }
            if said and "labels" not in known:
                own["labels"] = {OVERALL: said}
            if not raters:
                without_group(place, known | own)
                yield place, self._id(file, number), known | own
                continue
            # By id and texts together: an id that stands for two texts is an error, and
            # is told later as one.
            key = (own.get("id"), *(own.get(name) for name in self.inputs))
            before = merged.get(key, ("", "", {}))[2].get("labels", {}).get(OVERALL)
            # A second label by the same person is no second row of the item: it stays
            # apart, and `unique` names both places.
            if before is not None and said and not said.keys() & before.keys():
                before |= said
            else:
                merged[key if key not in merged else place] = (
                    place,
                    self._id(file, number),
                    known | own,
                )
        for place, _, row in merged.values():
            without_group(place, row)
        yield from merged.values()
        if 0 < lacking < total:
            notes.append(_without_group(found.columns["group"][0], lacking, example))


def _telling(
    rows: Iterable[dict[str, Any]], n_rows: int | None
) -> list[dict[str, Any]]:
    """Some thousands of rows, which show which column is what: some at even steps, and the first
    in which each column is filled. `n_rows` is None where nobody has counted them.

    A file of a million rows must not be held to find out what its columns are.
    """
    step = 1 if n_rows is None else max(1, n_rows // spool.HELD)
    telling: list[dict[str, Any]] = []
    filled_once: set[str] = set()
    for n, row in enumerate(rows):
        # A column that is empty in all rows but the last must not be called empty.
        new = {name for name, cell in row.items() if not empty(cell)} - filled_once
        filled_once |= new
        if n_rows is None:
            step = max(1, n // spool.HELD)
        if new or n % step == 0:
            telling.append(row)
    return telling


def _without_group(column: str, lacking: int, example: str) -> Finding:
    """That so many rows have no group in its column."""
    return Finding(
        "table.empty_group", {"column": column, "n": lacking, "example": example}
    )


def _typed_group(
    row: Mapping[str, Any], typed: Sequence[str] | None, cells: pd.DataFrame
) -> dict[str, str]:
    """The group of a row where somebody named the column, or said that nothing belongs together;
    it is final also where texts are alike."""
    if not typed:
        return {}
    # A file may have a column that is called "none".
    alone = stands_alone(typed, list(cells.columns))
    return {TYPED_GROUP: "" if alone else str(row.get("group", ""))}


def _shards(path: str, key: str) -> tuple[list[Path], Finding | None]:
    """The table at the path, or the tables of the folder there, and what is told of the rest of it.
    Raises ConfigError where there is none, where they are of several kinds, and where one would be
    left out by its name.
    """
    others = beside_tables(path)
    if not (shards := tables_in(path)):
        if inner := next(
            (file for other in others for file in tables_in(str(other))), None
        ):
            what = (
                f"`{key}` is {brief(path)}, a folder whose tables lie in folders of their own"
                f" ({brief(str(inner))})"
            )
            raise ConfigError(
                f"{what}. Name one of these, or put the shards of one table side by side."
            )
        return [table_file(path, key)], None
    if other := [
        file.name for file in shards if file.suffix.lower() != shards[0].suffix.lower()
    ]:
        what = (
            f"`{key}` is {brief(path)}, a folder with tables of several kinds ({shards[0].name},"
            f" {other[0]})"
        )
        raise ConfigError(
            f"{what}. Name one of them, or keep the shards of one table in a folder of their own."
        )
    if not others:
        return shards, None
    names = [f"{each.name}/" if each.is_dir() else each.name for each in others]
    return shards, Finding(
        "table.passed_over", {"folder": path, "n": len(shards), "names": names}
    )


def _label(place: str, column: str, cell: Any) -> Any:
    """What a person said in a cell: a number, a word or nothing. Raises DataError for what is none
    of them."""
    if empty(cell) or isinstance(cell, bool | int | float):
        return None if empty(cell) else cell
    number, _, reason = read_cell(cell)
    # Words for "no label" are no labels. What cannot be read at all ends the run, since
    # a label lost in silence would be worse.
    if reason in (EMPTY, NOTHING, NOT_APPLICABLE):
        return None
    if reason not in (None, ABSTAINED):
        way = "Write the label there, or leave the cell empty"
        raise DataError(
            f"{place}: `{column}` is {brief(str(cell))}, which is no label but a {reason}. {way}."
        )
    return str(cell).strip() if math.isnan(number) else number


def _scale(given: Any) -> LabelScale | None:
    """The scale that is declared for labels. Raises ConfigError."""
    if given is None:
        return None
    try:
        if isinstance(given, str):
            ends, words = typed_scale(given, "`dataset.label_scale`")
            return LabelScale(ends=ends, words=tuple(words))
        if len(given) == 2 and not any(isinstance(end, str) for end in given):
            return LabelScale(ends=given)
        return LabelScale(words=tuple(map(str, given)))
    except ValueError:
        way = (
            "what stands for the lowest score first, e.g. dataset.label_scale=[1,10] or"
            " dataset.label_scale=[bad,good]"
        )
        shown = (
            f"[{','.join(map(str, given))}]"
            if isinstance(given, tuple | list)
            else brief(given)
        )
        raise ConfigError(
            f"`dataset.label_scale` is {shown}; give its ends or its words, {way}."
        ) from None


def item_of(
    place: str,
    row: Mapping[str, Any],
    inputs: Sequence[str],
    label_scale: LabelScale | None = None,
    optional: Sequence[str] = (),
) -> Item:
    """A row of a table as an item; other fields are its metadata. Raises DataError naming the
    place."""
    cells = {
        str(k): v
        for k, v in row.items()
        if v is not None and not (isinstance(v, float) and math.isnan(v))
    }
    fields = {k: cells.pop(k) for k in _FIELDS if k in cells}
    texts = cells.pop("inputs", {})
    if not isinstance(texts, dict):
        raise DataError(
            f"{place}: `inputs` is {brief(texts)}; it must be an object of named texts."
        )
    shown: dict[str, Any] = dict(texts)
    for name in (*inputs, *optional):
        cell = cells.get(name)
        if name in cells and not (
            name not in inputs and isinstance(cell, str) and not cell.strip()
        ):
            shown[name] = cells.pop(name)
    # one a line behind its letter; what is no list and no object of texts stays
    options = shown.get(OPTIONS)
    if isinstance(options, list) and len(options) <= len(ascii_uppercase):
        shown[OPTIONS] = options = dict(zip(ascii_uppercase, options, strict=False))
    if isinstance(options, dict) and not any(
        isinstance(text, dict | list | None) for text in options.values()
    ):
        shown[OPTIONS] = "\n".join(
            f"{letter}: {text}" for letter, text in options.items()
        )
    if missing := [name for name in inputs if name not in shown]:
        fields_there = (
            f"Fields: id, {', '.join(inputs)}; optional: condition, pair, label"
        )
        raise DataError(
            f"{place}: the field `{missing[0]}` is missing. {fields_there}."
        )
    rated: dict[str, dict[str, Any]] = {}
    for key in [k for k in cells if k.startswith(_RATED)]:
        criterion, _, rater = key.removeprefix(_RATED).partition(".")
        rated.setdefault(criterion, {})[rater or UNNAMED] = cells.pop(key)
    if rated:
        if not isinstance(nested := fields.get("labels", {}), dict):
            raise DataError(
                f"{place}: `labels` is {brief(nested)}; it must be an object of criteria."
            )
        fields["labels"] = nested | rated
    fields |= {
        key: str(fields[key])
        for key in ("id", "condition", "pair")
        if type(fields.get(key)) is int
    }
    noted = cells.pop("metadata", {})
    fields["metadata"] = (
        noted if isinstance(noted, dict) else {"metadata": noted}
    ) | cells
    return make_item(place, fields | {"inputs": shown, "label_scale": label_scale})


@runtime_checkable
class Copying(Protocol):
    """A dataset that knows what can be put into its texts and has no part in them."""

    def copies(self, items: Sequence[Item]) -> list[str]: ...


def labelled_items(path: str | None, rubric: Rubric) -> Sequence[Item]:
    """What to fit on: the user's labelled file, or the development texts that ship with labels for
    the rubric. Raises ConfigError where there are neither; DataError naming a text without label.
    """
    if path is None:
        return _shipped(rubric).load()
    items = TextsDataset(
        path, rubric.inputs, key="--data", optional=rubric.optional
    ).load()
    for item in items:
        if item.label is None:
            raise DataError(
                f"{path}: the item {brief(item.id)} has no `label`; fitting needs one for every"
                " text."
            )
    return items


def shipped_copies(
    path: str | None, rubric: Rubric, items: Sequence[Item]
) -> list[str] | None:
    """A copy of each text of `labelled_items` with something put into it that has no part in it;
    None where none were written for the rubric."""
    dataset = None if path is not None or rubric.labelled is None else _shipped(rubric)
    return dataset.copies(items) if isinstance(dataset, Copying) else None


def _shipped(rubric: Rubric) -> Dataset:
    if rubric.labelled is None:
        raise ConfigError(
            f"no labelled texts ship for rubric={rubric.name}, which needs its own: give --data"
            " FILE."
        )
    return shipped_dataset(rubric.labelled, rubric.name)


def shipped_dataset(option: str, rubric: str) -> Dataset:
    """The dataset with texts that ship for a rubric, by its `option` in `dataset=` (see
    `Rubric.labelled`) and the rubric's name."""
    from omegaconf import OmegaConf

    from undogmatic.config.groups import plain

    node = plain("dataset", option, "rubric.labelled")
    whole = OmegaConf.create({"rubric": {"name": rubric}, "dataset": node})
    resolved: Any = OmegaConf.to_container(whole["dataset"], resolve=True)
    return build(resolved, "dataset")  # type: ignore[no-any-return]


def check_labels(items: Sequence[Item], rubric: Rubric) -> None:
    """Raise DataError for a label outside the rubric."""
    for item in items:
        if item.label is None or not rubric.contains(item.label):
            wrong = (
                f"{item.place or 'dataset'}: the item {brief(item.id)} has the label "
                f"{item.label}"
            )
            scale = f"the rubric {rubric.name!r} runs from {rubric.minimum:g} to {rubric.maximum:g}"
            raise DataError(
                f"{wrong}; {scale}. Rescale the labels or choose another rubric=."
            )
