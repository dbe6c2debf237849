"""Labelled texts to fit something on: the shipped development texts, or a file of the user's."""

from __future__ import annotations

from collections.abc import Sequence

from undogmatic.constructs.shame.curated import CuratedDataset, copies
from undogmatic.constructs.traits.responses import development_responses
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import brief

# The curated pairs carry no gold of their own; the class centres of data/curated/LABELLING.md stand in.
PAIR_GOLD = {
    "authority_only": 95.0,
    "explained_only": 4.0,
    "explained_cited": 17.0,
    "imitation": 84.0,
    "explanation": 15.0,
}


def development_items() -> list[Item]:
    """All development texts with gold: labelled texts, attacks, controls, and the pairs with their class centres."""
    items = CuratedDataset(parts=["labelled", "adversarial", "controls", "theses", "pairs"], split="development").load()
    return [item if item.label is not None else item.with_label(PAIR_GOLD[str(item.condition)]) for item in items]


def labelled_items(path: str | None, rubric: Rubric) -> list[Item]:
    """What to fit on: the user's labelled file, or what ships with labels for the rubric, of development alone.

    Raises:
        ConfigError: No file was given, and no labels ship for the rubric.
        DataError: A text without label, named.
    """
    if path is not None:
        return labelled_file(path, rubric)
    items = development_items() if rubric.name == "shame" else development_responses(rubric.name)
    if not items:
        raise ConfigError(
            f"the shipped labels are ShameScores, traits and coherence, and rubric={rubric.name} needs its own: give "
            "--data FILE."
        )
    return items


def shipped_copies(path: str | None, rubric: Rubric, items: Sequence[Item]) -> list[str] | None:
    """A copy of each text of `labelled_items` with something put into it that has no part in it; None where none
    were written for the rubric.

    The families are Portuguese, and they leave alone what the shipped labels of legal texts are about.
    """
    return copies(items) if path is None and rubric.name == "shame" else None


def labelled_file(path: str, rubric: Rubric) -> list[Item]:
    """A user's texts, every one of which must have a label. Raises DataError naming the first without."""
    items = TextsDataset(path, rubric.inputs, optional=rubric.optional).load()
    for item in items:
        if item.label is None:
            raise DataError(f"{path}: the item {brief(item.id)} has no `label`; fitting needs one for every text.")
    return items


def check_labels(items: Sequence[Item], rubric: Rubric) -> None:
    """Raise DataError for a label outside the rubric."""
    for item in items:
        if item.label is None or not rubric.contains(item.label):
            raise DataError(
                f"{item.place or 'dataset'}: the item {brief(item.id)} has the label {item.label}; the rubric "
                f"{rubric.name!r} runs from {rubric.minimum:g} to {rubric.maximum:g}. Rescale the labels or choose "
                "another rubric=."
            )


def development_texts() -> tuple[list[str], list[float]]:
    """Texts and gold scores (0-100) of `development_items`."""
    items = development_items()
    return [item.text for item in items], [float(item.label) for item in items if item.label is not None]
