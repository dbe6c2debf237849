"""Finds labelled texts to fit something on: those that ship for a rubric, or a file of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from omegaconf import OmegaConf

from undogmatic.config.build import build
from undogmatic.config.groups import plain
from undogmatic.datasets.base import Dataset
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import brief


@runtime_checkable
class Copying(Protocol):
    """A dataset that knows what can be put into its texts and has no part in them."""

    def copies(self, items: Sequence[Item]) -> list[str]: ...


def labelled_items(path: str | None, rubric: Rubric) -> list[Item]:
    """What to fit on: the user's labelled file, or the development texts that ship with labels for the rubric.

    Raises:
        ConfigError: No file was given, and no labels ship for the rubric.
        DataError: A text without label, named.
    """
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
    """The dataset that the rubric names."""
    if rubric.labelled is None:
        raise ConfigError(f"no labelled texts ship for rubric={rubric.name}, which needs its own: give --data FILE.")
    node = plain("dataset", rubric.labelled, "rubric.labelled")
    whole = OmegaConf.create({"rubric": {"name": rubric.name}, "dataset": node})
    resolved: Any = OmegaConf.to_container(whole["dataset"], resolve=True)
    dataset: Dataset = build(resolved, "dataset")
    return dataset


def check_labels(items: Sequence[Item], rubric: Rubric) -> None:
    """Raise DataError for a label outside the rubric."""
    for item in items:
        if item.label is None or not rubric.contains(item.label):
            raise DataError(
                f"{item.place or 'dataset'}: the item {brief(item.id)} has the label {item.label}; the rubric "
                f"{rubric.name!r} runs from {rubric.minimum:g} to {rubric.maximum:g}. Rescale the labels or choose "
                "another rubric=."
            )
