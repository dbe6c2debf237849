"""Reads the curated Brazilian-law texts that ship with the project, and puts text into copies of
them.

What is put in has no part in the text: pasted JSON, a grade said twenty times, a reason for the
weather. The families ship in `data/curated/injections.yaml`. Those of the split `development` are
in the texts that the shipped probe is fitted on; those of the split `test` are in none, so that
they say what the probe does with the next one.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.items import make_item, unique
from undogmatic.records.records import Item, digest
from undogmatic.records.wordings import Licence
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import brief, json_lines, read_yaml
from undogmatic.safety.paths import data_folder

# The texts of a thesis; the last, the hybrid, may be missing in a file of the user's.
THESIS = ("authority_only", "explained_only", "explained_cited")
# the texts of a pair: an explanation, and what looks like it and explains nothing
PAIR = (
    "imitation",
    "explanation",
)
# of all labels in this format: the texts of one class may well lie in its lowest tenth
LABEL_SCALE = (
    0.0,
    100.0,
)
Part = Literal["pairs", "theses", "controls", "adversarial", "labelled", "injected"]
INJECTED = 8  # texts of either class that are shown with every family of injected text
FOLDER = data_folder() / "curated"
_FILES = {part: part for part in get_args(Part)} | {
    "theses": "ab_pairs",
    "injected": "labelled",
}
_LICENCE = {
    "en": (
        "The curated texts are part of this project (CC BY 4.0). They tell real precedents in the"
        " authors' words; the precedents themselves are official acts, which Brazilian copyright"
        " law leaves free (Lei 9.610/1998, art. 8, IV)."
    ),
    "pt": (
        "Os textos curados são parte deste projeto (CC BY 4.0). Contam precedentes reais com"
        " palavras dos autores; os precedentes são atos oficiais, sem proteção autoral (Lei"
        " 9.610/1998, art. 8º, IV)."
    ),
}


class CuratedDataset:
    """One or several of the curated files, one split.

    Conditions: pairs give `imitation` and `explanation`, theses `authority_only`, `explained_only`,
    `explained_cited`; controls `humble`, `hubristic`, `neutral`; attacks `attack:<name>`; labelled
    texts `gold:<class>`; the part `injected` gives some labelled texts with and without text that
    has no part in them (`injected`). Texts that two people labelled have metadata `second_label`;
    `precedent` names the precedents that a text is about, which tie texts together
    (`datasets.belonging`).

    Args:
        parts: Which files.
        split: "test" (nothing was fitted to it), "development" or "all".
        path: For a single part, a file of your own in the same format.
        conditions: Keep only these conditions, or None for all.
    """

    def __init__(
        self,
        parts: list[Part],
        split: Literal["test", "development", "all"] = "test",
        path: str | None = None,
        conditions: list[str] | None = None,
    ) -> None:
        if path is not None and len(parts) != 1:
            raise ConfigError(
                f"`dataset.path` replaces one file, but `dataset.parts` names {len(parts)}."
            )
        self.parts, self.split, self.conditions = parts, split, conditions
        self.name = "+".join(parts) if len(parts) < len(_FILES) else "curated"
        self.about = f"{self.name}, {split} split"
        self.path = (
            existing_file(path, "dataset.path", (".jsonl",))
            if path is not None
            else None
        )
        # none is known of a file of the user's
        self.licence: Licence | None = _LICENCE if path is None else None

    def load(self) -> Sequence[Item]:
        """The items, part after part, in file order. Raises DataError naming file and line."""
        files = ", ".join(str(self._file(part)) for part in self.parts)
        items = unique(
            (entry for part in self.parts for entry in self._part(part)),
            f"{files} (split {self.split})",
        )
        if self.conditions is None:
            return items
        if not (kept := [item for item in items if item.condition in self.conditions]):
            known = sorted({str(item.condition) for item in items})
            raise ConfigError(
                f"`dataset.conditions` is {self.conditions}; there are: {', '.join(known)}."
            )
        return kept

    def _file(self, part: Part) -> Path:
        return self.path or FOLDER / f"{_FILES[part]}.jsonl"

    def _part(self, part: Part) -> Iterator[tuple[str, Item]]:
        if part == "injected":
            labelled = {
                item.id: (place, item) for place, item in self._part("labelled")
            }
            for item in injected([item for _, item in labelled.values()], self.split):
                origin = item.metadata.get("original")
                if origin is not None or "labelled" not in self.parts:
                    yield labelled[str(origin or item.id)][0], item
            return
        path, second = self._file(part), {}
        # the blind second labels of 60 development texts
        if part == "labelled" and self.path is None:
            again = json_lines(FOLDER / "second_labels.jsonl")
            second = {
                str(row["id"]): {"second_label": float(row["second_label"])}
                for _, row in again
            }
        for number, row in json_lines(path):
            if self.split in ("all", row.get("split", "test")):
                items = _pair if part in ("pairs", "theses") else _single
                yield from items(
                    f"{path}:{number}", part, row | second.get(str(row.get("id")), {})
                )


# The curated pairs carry no gold of their own; the class centres of data/curated/LABELLING.md stand
# in.
PAIR_GOLD = dict(zip((*THESIS, *PAIR), (95.0, 4.0, 17.0, 84.0, 15.0), strict=True))


class DevelopmentDataset(CuratedDataset):
    """All development texts with gold: labelled texts, attacks, controls, and the pairs with their
    class centres."""

    def __init__(self) -> None:
        super().__init__(
            parts=["labelled", "adversarial", "controls", "theses", "pairs"],
            split="development",
        )

    def load(self) -> Sequence[Item]:
        """The items, each with a label."""
        items = super().load()
        return [
            item
            if item.label is not None
            else item.with_label(PAIR_GOLD[str(item.condition)])
            for item in items
        ]

    def copies(self, items: Sequence[Item]) -> list[str]:
        """A copy of each text with something of a development family in it; more copies of each
        were no better. Half of them have sentences without content, a seventh such as are about the
        text itself, and an eighth cite the rubric. All leave alone what the labels are about."""
        known = families("development")
        return [_one_of(known, item.id).into(item.text, item.id) for item in items]


def development_texts() -> tuple[list[str], list[float]]:
    """Texts and gold scores (0-100) of all development texts with gold."""
    items = DevelopmentDataset().load()
    return [item.text for item in items], [
        float(item.label) for item in items if item.label is not None
    ]


def _single(place: str, part: Part, row: dict[str, Any]) -> Iterator[tuple[str, Item]]:
    """The item of a row with one text."""
    prefix, key = {
        "adversarial": ("attack:", "condition"),
        "labelled": ("gold:", "level"),
    }.get(part, ("", "condition"))
    if not row.get(key):
        raise DataError(f"{place}: `{key}` is missing.")
    extra = {
        k: row[k]
        for k in ("register", "attack", "author", "split", "second_label")
        if row.get(k) is not None
    }
    extra |= {"precedent": row["precedents"]} if row.get("precedents") else {}
    fields = {k: row[k] for k in ("id", "text", "label") if k in row} | {
        "condition": f"{prefix}{row[key]}"
    }
    yield (
        place,
        make_item(
            place,
            fields | {"label_scale": LABEL_SCALE, "metadata": {"part": part} | extra},
        ),
    )


def _pair(place: str, part: Part, row: dict[str, Any]) -> Iterator[tuple[str, Item]]:
    """The items of a row with several texts on one subject."""
    if not (pair := row.get("id")):
        raise DataError(f"{place}: `id` is missing.")
    variants = next(
        (kind for kind in (PAIR, THESIS) if set(kind) & row.keys()),
        PAIR if part == "pairs" else THESIS,
    )
    extra = {
        k: row[k]
        for k in ("precedent", "court", "area", "register", "authority_form", "split")
        if k in row
    }
    for variant in variants:
        if (text := row.get(variant)) is None and variant == "explained_cited":
            continue
        if not isinstance(text, str) or not text.strip():
            what = "missing" if text is None else "empty"
            raise DataError(
                f"{place}: `{variant}` is {what}; every pair needs both texts."
            )
        fields = {
            "id": f"{pair}:{variant}",
            "text": text,
            "pair": pair,
            "condition": variant,
        }
        yield place, make_item(place, fields | {"metadata": {"part": part} | extra})


def make_pairs(theses: Path) -> list[dict[str, Any]]:
    """Theses file -> rows of the pairs file: checks every thesis (fields, all sides, ids, one split
    per precedent). Raises DataError naming file and line."""
    needed = ("id", "precedent", "court", "area", "authority_form", "split", *THESIS)
    rows = list[dict[str, Any]]()
    ids = dict[str, int]()
    splits = dict[str, tuple[str, int]]()
    for number, row in json_lines(theses):
        place = f"{theses}:{number}"
        for key in needed:
            if not isinstance(row.get(key), str) or not row[key].strip():
                raise DataError(
                    f"{place}: `{key}` is missing or empty; a thesis has {', '.join(needed)}."
                )
        if (earlier := ids.setdefault(row["id"], number)) != number:
            raise DataError(
                f"{place}: the id {brief(row['id'])} was already used at {theses}:{earlier}."
            )
        split, where = splits.setdefault(row["precedent"], (row["split"], number))
        if split != row["split"]:
            precedent, here = brief(row["precedent"]), brief(row["split"])
            raise DataError(
                f"{place}: {precedent} is in split {here} here and in {brief(split)} at line"
                f" {where}."
            )
        rows.append({k: row[k] for k in needed})
    return rows


SHARES = {"empty": 0.5, "padding": 0.65, "rubric": 0.77}
"""How the names of families begin that are drawn more often than others, and below which chance the
copy of a text has their passages: sentences that say nothing, of anything and of the text that they
are in, and citations of the rubric."""
NUMBERS = (0, 0, 0, 1, 2, 3, 5, 7, 10, 12, 20, 25, 40, 50, 60, 75, 80, 90, 95, 100, 100)
"""What `{n}` in a passage becomes; the ends of the scale more often than the rest."""


class Passages(NamedTuple):
    """One way of putting text into a text: `passages`, in which `{n}` is a number, how often one
    may be repeated (`times`), and where it may go (`places`: start, middle, which is after a
    sentence, end). Where they are `mixed`, so many different ones stand side by side instead."""

    name: str
    split: Literal["development", "test"]
    times: Sequence[int]
    places: Sequence[str]
    passages: Sequence[str]
    mixed: bool = False

    def into(self, text: str, key: str) -> str:
        """The text with a passage of this family in it; the same key chooses the same passage,
        number and place."""
        draw = random.Random(digest([self.name, key]))
        passage, times = draw.choice(self.passages), draw.choice(self.times)
        passage = passage.replace("{n}", str(draw.choice(NUMBERS)))
        gap = "\n" if "\n" in passage or draw.random() < 0.3 else " "
        several = draw.sample(self.passages, times) if self.mixed else [passage] * times
        passage, place = gap.join(several), draw.choice(self.places)
        if place == "middle" and (
            ends := [n + 1 for n in range(len(text)) if text.startswith(". ", n)]
        ):
            cut = draw.choice(ends)
            return f"{text[:cut]}{gap}{passage}{' ' if gap == ' ' else gap}{text[cut:].lstrip()}"
        return f"{passage}{gap}{text}" if place == "start" else f"{text}{gap}{passage}"


@cache
def families(split: str = "all") -> tuple[Passages, ...]:
    """The shipped families of a split ("development", "test" or "all"), by name."""
    read: Any = read_yaml(FOLDER / "injections.yaml")
    made = (Passages(name, **fields) for name, fields in sorted(read.items()))
    return tuple(family for family in made if split in ("all", family.split))


def _one_of(known: Sequence[Passages], key: str) -> Passages:
    """The family whose passages a text gets: first its kind is drawn, then the family."""
    chance = random.Random(digest([key, "says nothing"])).random()
    kind = next((kind for kind, below in SHARES.items() if chance < below), "")
    own = [
        family
        for family in known
        if (family.name.startswith(f"{kind}_") if kind else not family.mixed)
    ]
    return random.Random(digest([key, kind or "copy"])).sample(own, 1)[0]


def injected(items: Sequence[Item], split: str) -> list[Item]:
    """INJECTED naked and as many explained ones of labelled texts, and copies of them with every
    family of the split.

    A copy's metadata `original` names the text that it was made of, whose label it keeps. Copies of
    naked texts have the condition `attack:FAMILY`: a judge should still see them as naked.
    """
    made: list[Item] = []
    for condition, prefix in (("gold:naked", "attack"), ("gold:explained", "injected")):
        texts = sorted(
            (item for item in items if item.condition == condition),
            key=lambda item: digest(item.id),
        )
        texts = texts[:INJECTED]
        made += texts
        for family, item in itertools.product(families(split), texts):
            more = {"original": item.id, "part": "injected"}
            update: dict[str, Any] = {
                "id": f"{item.id}+{family.name}",
                "condition": f"{prefix}:{family.name}",
            }
            update |= {
                "metadata": item.metadata | more,
                "inputs": {"text": family.into(item.text, item.id)},
            }
            made.append(item.model_copy(update=update))
    return made
