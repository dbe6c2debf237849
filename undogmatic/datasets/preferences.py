"""Reads tables in which one output was preferred to another (`chosen` beside `rejected`), as
datasets of preferences and benchmarks of reward models are published.

There the label is the place: the preferred output stands in the column `chosen`. Read as they
stand, all labels would choose the first output, and nothing could be said of agreement beyond
chance. So the outputs of each row are put in the order of a digest of their texts, which knows
nothing of the preference. A judge's verdict may be whether it prefers the chosen one, which of both
it prefers, or a score of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import fold, number_of
from undogmatic.datasets.contents import Contents
from undogmatic.datasets.names import is_measured, side_of, tokens
from undogmatic.datasets.roles import ITEM, TEXT
from undogmatic.datasets.scales import TableOptions
from undogmatic.datasets.vocabulary import CHOICES, FAILS, PASSES
from undogmatic.records.evidence import FIRST, SECOND, TIE
from undogmatic.records.results import Finding

WORDS = (
    ("chosen", "rejected"),
    ("preferred", "rejected"),
    ("preferred", "dispreferred"),
    ("accepted", "rejected"),
    ("winner", "loser"),
    ("better", "worse"),
    ("escolhida", "rejeitada"),
    ("escolhido", "rejeitado"),
    ("preferida", "preterida"),
)
"""What the preferred output and the other one are called."""
SAYS_WELL = frozenset(
    ("correct", "correto", "result", "results", "accuracy", "acerto", "win", "wins")
)
"""Words in the name of a column that says whether the judge prefers what the data prefer."""
LABEL = "label.{}"
"""The column that is made for the preference of the data."""


class _Pair(NamedTuple):
    """What the two outputs are called, the columns that hold them, and which rows have them the
    other way round."""

    words: tuple[str, str]
    columns: tuple[str, str]
    turned: np.ndarray


def oriented(
    cells: pd.DataFrame, options: TableOptions, place: str
) -> tuple[pd.DataFrame, list[Finding]]:
    """The table with two outputs in an order that does not tell which was preferred, choices
    between them, and the preference as a label; and what is said of that. A table without such
    outputs, or without a judge's choice, as it is."""
    if options.text or options.kind not in (None, "pairwise") or options.human_scale:
        return cells, []
    contents = Contents(cells)
    pair = _pair_in(contents)
    if pair is None:
        return cells, []
    made = _choices(contents, pair)
    judges = [name for name, (_, gone) in made.items() if side_of(name) != -1]
    gone = {name for _, columns in made.values() for name in columns} | {*pair.columns}
    typed = {
        *options.judge,
        *options.human,
        options.verdict,
        options.item,
        options.group,
    }
    # Whoever types one of the columns that would go means it as it stands.
    if not judges or typed & (gone - made.keys()):
        return cells, []
    first, second = (cells[name].to_numpy(dtype=object) for name in pair.columns)
    told = {f"{TEXT.name}_1": np.where(pair.turned, second, first)}
    told |= {f"{TEXT.name}_2": np.where(pair.turned, first, second)}
    told |= {name: held for name, (held, _) in made.items()}
    label = LABEL.format(pair.words[0])
    if all(side_of(name) != -1 for name in made):
        told[label] = _as_given(np.zeros(len(cells)), pair)
    kept = cells.drop(columns=[name for name in gone if name in cells])
    new = {
        name: pd.Series(list(held), dtype=object, index=cells.index)
        for name, held in told.items()
    }
    chosen, rejected = (f"`{name}`" for name in pair.columns)
    facts = {"file": place, "chosen": chosen, "rejected": rejected}
    return kept.assign(**new), [Finding("table.preferences", facts)]


def _pair_in(contents: Contents) -> _Pair | None:
    """The columns of the preferred outputs and of the others, where there is one such pair of
    texts."""
    for words in WORDS:
        pairs = [
            pair
            for pair in _stems(contents, words).values()
            if all(map(contents.is_prose, pair))
        ]
        if len(pairs) == 1:
            ((one, two),) = pairs
            digests = [
                [
                    hashlib.sha256(str(cell).encode()).digest()
                    for cell in contents.cells[name]
                ]
                for name in (one, two)
            ]
            turned = np.array(
                [a > b for a, b in zip(*digests, strict=True)], dtype=bool
            )
            return _Pair(words, (one, two), turned)
    return None


def _stems(
    contents: Contents, words: tuple[str, str]
) -> dict[tuple[str, ...], tuple[str, str]]:
    """The columns whose names differ in nothing but these two words."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for name, parts in contents.names.items():
        for word in words:
            if word in parts:
                rest = tuple(part for part in parts if part != word)
                found.setdefault(rest, {}).setdefault(word, name)
    return {
        rest: (held[words[0]], held[words[1]])
        for rest, held in found.items()
        if len(held) == 2
    }


def _as_given(places: np.ndarray, pair: _Pair) -> np.ndarray:
    """The choices by the number of the output in its new order; `places`: 0 for the preferred
    output, 1 for the other, 2 for a tie, NaN for none."""
    ways = np.array([FIRST, SECOND, TIE], dtype=object)
    turned = np.where(pair.turned & (places < 2), 1 - places, places)
    return np.array(
        [None if np.isnan(n) else ways[int(n)] for n in turned], dtype=object
    )


def _choices(
    contents: Contents, pair: _Pair
) -> dict[str, tuple[np.ndarray, Sequence[str]]]:
    """The choices that columns hold, by the name of the column that is made, and the columns in
    whose place it stands."""
    made: dict[str, tuple[np.ndarray, Sequence[str]]] = {}
    scores: dict[str, tuple[np.ndarray, Sequence[str]]] = {}
    for rest, (one, two) in _stems(contents, pair.words).items():
        numeric = all(contents.sample(name).numeric >= 0.9 for name in (one, two))
        if not rest or not numeric or is_measured(one):
            continue
        better, worse = (_numbers(contents, name) for name in (one, two))
        places = np.where(better > worse, 0.0, np.where(better < worse, 1.0, 2.0))
        places[np.isnan(better) | np.isnan(worse)] = np.nan
        # A score that never prefers the other output is where the preference comes from.
        target = scores if not (places == 1).any() else made
        target[_without(one, pair.words[0])] = (_as_given(places, pair), (one, two))
    for name in contents.names:
        if name in pair.columns or any(
            name in gone for _, gone in (*made.values(), *scores.values())
        ):
            continue
        read = _reader(contents, name, pair.words)
        if read is not None:
            places = np.array(
                [read(cell) for cell in contents.cells[name]], dtype=float
            )
            made[name] = (_as_given(places, pair), (name,))
    return made or scores


def _without(name: str, word: str) -> str:
    """What a column of scores is called without the word for the output."""
    rest = "_".join(part for part in tokens(name) if part != word)
    return rest if side_of(rest) is not None else f"judge_{rest}"


def _numbers(contents: Contents, name: str) -> np.ndarray:
    read = [
        None if cell is None else number_of(str(cell)) for cell in contents.cells[name]
    ]
    return np.array(
        [np.nan if number is None else number for number in read], dtype=float
    )


def _reader(
    contents: Contents, name: str, words: tuple[str, str]
) -> Callable[[Any], float] | None:
    """What reads a cell of a column as the place of the output that is preferred there; None where
    the column does not say that."""
    said = contents.sample(name).distinct_words().keys()
    if not said or is_measured(name) or " ".join(contents.names[name]) in ITEM.names:
        return None
    named = {words[0]: 0.0, words[1]: 1.0}
    ties = {word: 2.0 for word, place in CHOICES.items() if place == 2}
    if said & named.keys() and said <= named.keys() | ties.keys():
        return _mapped(named | ties)
    parts = set(contents.names[name])
    about = parts & (SAYS_WELL | {*words}) or side_of(name) in (0, 1)
    if not about or not said <= PASSES | FAILS | {"0", "1", "0.5"}:
        return None
    yes, no = (1.0, 0.0) if words[1] in parts and words[0] not in parts else (0.0, 1.0)
    mapping = (
        dict.fromkeys(PASSES | {"1"}, yes)
        | dict.fromkeys(FAILS | {"0"}, no)
        | {"0.5": 2.0}
    )
    return _mapped(mapping)


def _mapped(mapping: dict[str, float]) -> Callable[[Any], float]:
    def read(cell: Any) -> float:
        if cell is None:
            return np.nan
        number = number_of(str(cell).strip())
        key = fold(str(cell)) if number is None else f"{number:g}"
        return mapping.get(key, np.nan)

    return read
