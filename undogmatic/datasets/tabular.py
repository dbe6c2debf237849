"""Reads a user's own items (JSON Lines, CSV, Parquet): what is judged and, optionally, id, condition, pair, labels.

Finds labelled texts to fit something on, too: those that ship for a rubric, or a file of the user's.
"""

import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Protocol, runtime_checkable

from undogmatic.config.build import build
from undogmatic.datasets.base import Dataset, make_item, unique
from undogmatic.datasets.rows import table_file, table_rows
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import UNNAMED, Item
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import brief

_FIELDS = ("id", "condition", "pair", "parent", "maker", "label", "labels")
OPTIONS = "options"  # The one input that a file may give as a list, or by letters
_RATED = "label."  # `label.CRITERION` and `label.CRITERION.RATER` are columns of labels where a file cannot nest them.


class TextsDataset:
    """A file of items. Columns beyond the known ones are kept as metadata.

    Known are id, condition, pair, parent, maker, label (one number or category), labels (criterion -> rater -> label),
    label.CRITERION and label.CRITERION.RATER, and what is judged: a column per input, or `inputs` with all of them. A
    row without `id` gets its line number. Labels that look as if they were on another scale than is said are refused.
    """

    name = "texts"

    def __init__(
        self,
        path: str,  # its suffix tells the format
        inputs: Sequence[str] = ("text",),  # the columns that are judged; usually those that the rubric shows
        label_scale: tuple[float, float] | None = None,  # ends of the labels' scale; None is the rubric's own
        key: str = "dataset.path",  # what the user set, for messages
        optional: Sequence[str] = (),  # columns that are inputs in the rows that fill them
    ) -> None:
        if label_scale is not None and not 0 < label_scale[1] - label_scale[0] < math.inf:
            way = "give the lowest and the highest label, e.g. dataset.label_scale=[1,10]"
            raise ConfigError(f"`dataset.label_scale` is [{label_scale[0]:g},{label_scale[1]:g}]; {way}.")
        self.inputs, self.optional = tuple(name for name in inputs if name not in optional), tuple(optional)
        self.path, self.label_scale = table_file(path, key), label_scale
        self.about = self.path.name

    def load(self) -> list[Item]:
        """The items in file order. Raises DataError naming file and line."""
        rows = ((f"{self.path}:{number}", number, row) for number, row in table_rows(self.path, self.inputs))
        named = ((place, row if row.get("id") is not None else row | {"id": str(n)}) for place, n, row in rows)
        read = ((place, item_of(place, row, self.inputs, self.label_scale, self.optional)) for place, row in named)
        return unique(read, str(self.path))


def item_of(
    place: str,
    row: Mapping[str, Any],
    inputs: Sequence[str],
    label_scale: tuple[float, float] | None = None,
    optional: Sequence[str] = (),
) -> Item:
    """A row of a table as an item; other fields are its metadata. Raises DataError naming the place."""
    cells = {str(k): v for k, v in row.items() if v is not None and not (isinstance(v, float) and math.isnan(v))}
    fields = {k: cells.pop(k) for k in _FIELDS if k in cells}
    texts = cells.pop("inputs", {})
    if not isinstance(texts, dict):
        raise DataError(f"{place}: `inputs` is {brief(texts)}; it must be an object of named texts.")
    shown: dict[str, Any] = dict(texts)
    for name in (*inputs, *optional):
        cell = cells.get(name)
        if name in cells and not (name not in inputs and isinstance(cell, str) and not cell.strip()):
            shown[name] = cells.pop(name)
    options = shown.get(OPTIONS)  # one a line behind its letter; what is no list and no object of texts stays
    if isinstance(options, list) and len(options) <= len(ascii_uppercase):
        shown[OPTIONS] = options = dict(zip(ascii_uppercase, options, strict=False))
    if isinstance(options, dict) and not any(isinstance(text, dict | list | None) for text in options.values()):
        shown[OPTIONS] = "\n".join(f"{letter}: {text}" for letter, text in options.items())
    if missing := [name for name in inputs if name not in shown]:
        fields_there = f"Fields: id, {', '.join(inputs)}; optional: condition, pair, label"
        raise DataError(f"{place}: the field `{missing[0]}` is missing. {fields_there}.")
    rated: dict[str, dict[str, Any]] = {}
    for key in [k for k in cells if k.startswith(_RATED)]:
        criterion, _, rater = key.removeprefix(_RATED).partition(".")
        rated.setdefault(criterion, {})[rater or UNNAMED] = cells.pop(key)
    if rated:
        if not isinstance(nested := fields.get("labels", {}), dict):
            raise DataError(f"{place}: `labels` is {brief(nested)}; it must be an object of criteria.")
        fields["labels"] = nested | rated
    fields |= {key: str(fields[key]) for key in ("id", "condition", "pair") if type(fields.get(key)) is int}
    noted = cells.pop("metadata", {})
    fields["metadata"] = (noted if isinstance(noted, dict) else {"metadata": noted}) | cells
    return make_item(place, fields | {"inputs": shown, "label_scale": label_scale})


@runtime_checkable
class Copying(Protocol):
    """A dataset that knows what can be put into its texts and has no part in them."""

    def copies(self, items: Sequence[Item]) -> list[str]: ...


def labelled_items(path: str | None, rubric: Rubric) -> list[Item]:
    """What to fit on: the user's labelled file, or the development texts that ship with labels for the rubric. Raises
    ConfigError where there are neither; DataError naming a text without label."""
    if path is None:
        return _shipped(rubric).load()
    items = TextsDataset(path, rubric.inputs, optional=rubric.optional).load()
    for item in items:
        if item.label is None:
            raise DataError(f"{path}: the item {brief(item.id)} has no `label`; fitting needs one for every text.")
    return items


def shipped_copies(path: str | None, rubric: Rubric, items: Sequence[Item]) -> list[str] | None:
    """A copy of each text of `labelled_items` with something put into it that has no part in it; None where none
    were written for the rubric."""
    dataset = None if path is not None or rubric.labelled is None else _shipped(rubric)
    return dataset.copies(items) if isinstance(dataset, Copying) else None


def _shipped(rubric: Rubric) -> Dataset:
    if rubric.labelled is None:
        raise ConfigError(f"no labelled texts ship for rubric={rubric.name}, which needs its own: give --data FILE.")
    from omegaconf import OmegaConf

    from undogmatic.config.groups import plain

    node = plain("dataset", rubric.labelled, "rubric.labelled")
    whole = OmegaConf.create({"rubric": {"name": rubric.name}, "dataset": node})
    resolved: Any = OmegaConf.to_container(whole["dataset"], resolve=True)
    return build(resolved, "dataset")  # type: ignore[no-any-return]


def check_labels(items: Sequence[Item], rubric: Rubric) -> None:
    """Raise DataError for a label outside the rubric."""
    for item in items:
        if item.label is None or not rubric.contains(item.label):
            wrong = f"{item.place or 'dataset'}: the item {brief(item.id)} has the label {item.label}"
            scale = f"the rubric {rubric.name!r} runs from {rubric.minimum:g} to {rubric.maximum:g}"
            raise DataError(f"{wrong}; {scale}. Rescale the labels or choose another rubric=.")
