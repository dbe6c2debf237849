"""What judges have in common that hold a text against a reference, sentence by sentence, without asking a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.constructs.faithfulness.sentences import sentences
from undogmatic.errors import UnfitInput
from undogmatic.models.base import Model
from undogmatic.readouts.chat import LanguageModel
from undogmatic.records.records import Item

if TYPE_CHECKING:
    from undogmatic.readouts.prompts import Prompt

SUMMARY, REFERENCE = "summary", "reference"


class Means(NamedTuple):
    """A judge's source (`judges.base.Source`) that is no language model: rules, embeddings, a classifier."""

    name: str
    model: Model
    prompt: Prompt
    uses_prompt: bool = False
    deterministic: bool = True
    lm: LanguageModel | None = None

    def fitted_on(self) -> frozenset[str]:
        """Nothing in it is fitted on texts that it could be asked about."""
        return frozenset()

    def shown(self) -> str:
        """Nothing is put to a model."""
        return ""


class Sides(NamedTuple):
    """The sentences of the reference and of the text that is held against it."""

    reference: list[str]
    summary: list[str]


def sides(item: Item, least: int) -> Sides:
    """Both texts as sentences.

    Args:
        item: With the inputs `summary` and `reference`.
        least: Shorter sentences are skipped, in characters.
    Raises:
        UnfitInput: An input is missing, or has no sentence that long.
    """
    found = {}
    for name in (REFERENCE, SUMMARY):
        text = needed(item, name)
        found[name] = sentences(text, least)
        if not found[name]:
            raise UnfitInput(f"the {name} has no sentence of at least {least} characters: {text[:80]!r}")
    return Sides(found[REFERENCE], found[SUMMARY])


def needed(item: Item, name: str) -> str:
    """An input of the item. Raises UnfitInput where it is not there."""
    if name not in item.inputs:
        raise UnfitInput(f"there is no {name} to compare with (the item has: {', '.join(item.inputs)})")
    return item.inputs[name]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a verdict's details keep them: JSON text, numbers to six places."""
    plain = [{k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    return json.dumps(plain, ensure_ascii=False)
