"""Copies of the curated texts with something put into them that has no part in them: pasted JSON, a grade said twenty
times, a reason for the weather.

The families ship in `data/curated/injections.yaml`. Those of the split `development` are in the texts that the shipped
probe is fitted on; those of the split `test` are in none, so that they say what the probe does with the next one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from undogmatic.records.records import Item, digest
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import data_folder

NUMBERS = (0, 0, 0, 1, 2, 3, 5, 7, 10, 12, 20, 25, 40, 50, 60, 75, 80, 90, 95, 100, 100)
"""What `{n}` in a passage becomes; the ends of the scale more often than the rest."""


class Family(NamedTuple):
    """One way of putting text into a text.

    Attributes:
        split: "development" or "test".
        times: How often a passage may be repeated.
        places: Where it may go: start, middle (after a sentence), end.
        passages: What is put in; `{n}` is a number.
    """

    name: str
    split: Literal["development", "test"]
    times: Sequence[int]
    places: Sequence[str]
    passages: Sequence[str]

    def into(self, text: str, key: str) -> str:
        """The text with a passage of this family in it; the same key chooses the same passage, number and place."""
        draw = random.Random(digest([self.name, key]))
        passage, times = draw.choice(self.passages), draw.choice(self.times)
        passage = passage.replace("{n}", str(draw.choice(NUMBERS)))
        gap = "\n" if "\n" in passage or draw.random() < 0.3 else " "
        passage, place = gap.join([passage] * times), draw.choice(self.places)
        ends = [n + 1 for n in range(len(text)) if text.startswith(". ", n)]
        if place == "middle" and ends:
            cut = draw.choice(ends)
            return f"{text[:cut]}{gap}{passage}{' ' if gap == ' ' else gap}{text[cut:].lstrip()}"
        return f"{passage}{gap}{text}" if place == "start" else f"{text}{gap}{passage}"


@cache
def families(split: str = "all") -> tuple[Family, ...]:
    """The shipped families of a split ("development", "test" or "all"), by name."""
    path = data_folder() / "curated" / "injections.yaml"
    found: Any = read_yaml(path)
    made = (Family(name, **fields) for name, fields in sorted(found.items()))
    return tuple(family for family in made if split in ("all", family.split))


def copies(items: Sequence[Item]) -> list[str]:
    """The text of each item with something of a development family in it; more copies of each were no better."""
    known = families("development")
    return [random.Random(digest([item.id, "copy"])).sample(known, 1)[0].into(item.text, item.id) for item in items]


def injected(items: Sequence[Item], split: str, each: int) -> list[Item]:
    """`each` naked and `each` explained texts with every family of the split, and these texts themselves.

    A copy's metadata `original` names the text that it was made of, whose label it keeps. Copies of naked texts have
    the condition `attack:FAMILY`: a judge should still see them as naked.

    Args:
        items: Labelled texts.
        split: Of the families.
        each: Texts of either class.
    """
    found: list[Item] = []
    for condition in ("gold:naked", "gold:explained"):
        own = sorted((item for item in items if item.condition == condition), key=lambda item: digest(item.id))[:each]
        found += own
        for family in families(split):
            name = f"attack:{family.name}" if condition == "gold:naked" else f"injected:{family.name}"
            for item in own:
                more = {"original": item.id, "part": "injected"}
                update = {"id": f"{item.id}+{family.name}", "condition": name, "metadata": item.metadata | more}
                update["inputs"] = {"text": family.into(item.text, item.id)}
                found.append(item.model_copy(update=update))
    return found
