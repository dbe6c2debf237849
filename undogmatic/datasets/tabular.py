"""A user's own items: JSON Lines, CSV or Parquet with id, what is judged, and optionally condition, pair, labels."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.datasets.base import existing_file, json_lines, make_item, unique
from undogmatic.errors import ConfigError, DataError
from undogmatic.records import UNNAMED, Item

SUFFIXES = (".jsonl", ".csv", ".parquet")
_FIELDS = ("id", "condition", "pair", "parent", "maker", "label", "labels")
_RATED = "label."
"""`label.CRITERION` and `label.CRITERION.RATER` are columns of labels where a file cannot nest them."""


class TextsDataset:
    """A file of items. Columns beyond the known ones are kept as metadata.

    Known are id, condition, pair, parent, maker, label (one number or category), labels (criterion -> rater -> label),
    label.CRITERION and label.CRITERION.RATER, and what is judged: a column per input, or `inputs` with all of them.

    Args:
        path: The file; its suffix tells the format. A row may leave out `id`: it then gets its line number.
        inputs: The columns that are judged; usually those that the rubric shows.
        label_scale: The ends of the scale on which the labels were given; None is the rubric's own, and labels that
            look as if they were on another are then refused.
        key: What the user set, for messages.
    """

    name = "texts"

    def __init__(
        self,
        path: str,
        inputs: Sequence[str] = ("text",),
        label_scale: tuple[float, float] | None = None,
        key: str = "dataset.path",
    ) -> None:
        if label_scale is not None and not -math.inf < label_scale[0] < label_scale[1] < math.inf:
            raise ConfigError(
                f"`dataset.label_scale` is [{label_scale[0]:g},{label_scale[1]:g}]; give the lowest and the highest "
                "label, e.g. dataset.label_scale=[1,10]."
            )
        self.inputs, self.label_scale = tuple(inputs), label_scale
        self.path = existing_file(path, key, SUFFIXES)
        self.about = self.path.name
        if self.path.suffix not in SUFFIXES:
            raise DataError(f"`{key}` is {path!r}; known formats: {', '.join(SUFFIXES)}.")

    def load(self) -> list[Item]:
        """The items in file order. Raises DataError naming file and line."""
        return unique(_items(self.path, self.inputs, self.label_scale), str(self.path))


def _items(path: Path, inputs: tuple[str, ...], label_scale: tuple[float, float] | None) -> Iterator[tuple[str, Item]]:
    for number, row in _rows(path, inputs):
        place = f"{path}:{number}"
        yield place, item_of(place, {"id": str(number)} | row, inputs, label_scale)


def item_of(
    place: str, row: Mapping[str, Any], inputs: Sequence[str], label_scale: tuple[float, float] | None = None
) -> Item:
    """A row of a table as an item; other fields are its metadata. Raises DataError naming the place."""
    given = {k: v for k, v in row.items() if v is not None}
    fields = {k: given.pop(k) for k in _FIELDS if k in given}
    texts = given.pop("inputs", {})
    if not isinstance(texts, dict):
        raise DataError(f"{place}: `inputs` is {texts!r}; it must be an object of named texts.")
    fields["inputs"] = texts | {k: given.pop(k) for k in inputs if k in given}
    missing = [name for name in inputs if name not in fields["inputs"]]
    if missing:
        raise DataError(
            f"{place}: the field `{missing[0]}` is missing. Fields: id, {', '.join(inputs)}; optional: condition, "
            "pair, label."
        )
    rated: dict[str, dict[str, Any]] = {}
    for key in [k for k in given if k.startswith(_RATED)]:
        criterion, _, rater = key.removeprefix(_RATED).partition(".")
        rated.setdefault(criterion, {})[rater or UNNAMED] = given.pop(key)
    for criterion, ratings in rated.items():
        fields["labels"] = fields.get("labels", {}) | {criterion: ratings}
    for key in ("id", "condition", "pair"):
        if isinstance(fields.get(key), int):
            fields[key] = str(fields[key])
    noted = given.pop("metadata", {})
    fields["metadata"] = (noted if isinstance(noted, dict) else {"metadata": noted}) | given
    return make_item(place, fields | {"label_scale": label_scale})


def _rows(path: Path, inputs: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix == ".jsonl":
        yield from json_lines(path)
    elif path.suffix == ".csv":
        yield from _csv_rows(path, inputs)
    else:
        yield from _parquet_rows(path, inputs)


def _csv_rows(path: Path, inputs: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            _commas(path, inputs[0], file.readline())
            file.seek(0)
            reader = csv.DictReader(file, strict=True)
            if reader.fieldnames is None:
                raise DataError(f"{path} is empty. Its first line must name the columns, among them `{inputs[0]}`.")
            _have(f"{path}:1", inputs, reader.fieldnames)
            for row in reader:
                if None in row:
                    raise DataError(f"{path}:{reader.line_num}: more cells than the header has columns.")
                yield reader.line_num, {k: v for k, v in row.items() if v not in (None, "") or k in inputs}
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV ({error}).") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start}). Save the file as UTF-8.") from None


def _have(place: str, inputs: Sequence[str], columns: Sequence[str]) -> None:
    missing = [name for name in inputs if name not in columns]
    if missing and "inputs" not in columns:
        raise DataError(f"{place}: no column `{missing[0]}`; columns: {', '.join(columns)}.")


def _commas(path: Path, needed: str, header: str) -> None:
    """Refuse a file whose columns something else separates, as spreadsheets do where the comma is a decimal point."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if mark in header and "," not in header:
            raise DataError(
                f"{path}:1: no column `{needed}`; the file seems to be separated by {name} ({header.strip()!r}). Save "
                "it as CSV separated by commas (in a spreadsheet: the field separator of the export), or as .jsonl."
            )


def _parquet_rows(path: Path, inputs: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a Parquet file ({error}).") from None
    _have(str(path), inputs, table.column_names)
    for number, row in enumerate(table.to_pylist(), 1):
        yield number, {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
