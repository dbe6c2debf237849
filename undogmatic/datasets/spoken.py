"""Tells which words that elsewhere mean "nothing" are categories of a table: none, n/a, refused.

A word is a category before it is nothing. People who write that a text has no error, or that an
answer refuses, say something, and a judge that misses it is wrong. But a judge that writes "n/a"
where nobody else does has not judged, and what a program writes for nothing is no word at all.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import (
    ABSTAINED,
    ERROR,
    NOT_APPLICABLE,
    REFUSAL,
    fold,
    is_empty,
    read_cell,
    read_cells,
    said_of_nothing,
    visible,
)
from undogmatic.datasets.scales import NUMBERS, TableOptions, order_of

LARGE_SHARE = 0.1
"""The share of the cells of one side from which on a word that the other never uses may be a
category. Below it, such a word is rather how somebody noted a gap."""
MOST_WORDS = 4
"""Words of a category; what has more is a sentence, such as that of a model that refuses."""


class _Side:
    """What one side, the judges or the people, wrote: its cells, and which words may be nothing."""

    def __init__(self, raw: pd.Series) -> None:
        held = raw.to_numpy(dtype=object)
        self.counted = Counter(
            cell for cell in held if not is_empty(cell) and visible(str(cell))
        )
        self.doubtful: dict[str, int] = {}
        self.written: dict[str, set[str]] = {}
        for cell, n in self.counted.items():
            word = said_of_nothing(cell)
            if word is not None and len(word.split()) <= MOST_WORDS:
                self.doubtful[word] = self.doubtful.get(word, 0) + n
                self.written.setdefault(word, set()).add(visible(str(cell)))
        self.plain = read_cells(np.array([*self.counted], dtype=object))
        self.numeric = read_cells(held).numeric >= NUMBERS

    @property
    def filled(self) -> int:
        return self.counted.total()

    @property
    def words(self) -> set[str]:
        """The words that are categories wherever they stand."""
        return set(self.plain.distinct_words())

    def is_large(self, word: str) -> bool:
        return self.doubtful.get(word, 0) >= LARGE_SHARE * self.filled

    def looks_written(self, word: str) -> bool:
        """Whether a person wrote the word as the categories beside it, rather than a program: None
        and NA beside other words in lower case are what Python and R write for nothing."""
        capital = all(text[:1].isupper() for text in self.written.get(word, ()))
        others = [text for text in self.plain.written if text[:1].isalpha()]
        return not capital or (
            bool(others) and all(text[0].isupper() for text in others)
        )


def named_categories(options: TableOptions) -> set[str]:
    """The words that a declared scale, or the option for what passes, names."""
    scales = [
        scale
        for scale in (options.scale, options.human_scale)
        if scale and "<" in scale
    ]
    named = {fold(name) for scale in scales for name in scale.split("<")}
    return named | {
        fold(name) for name in (options.passes or "").split(",") if name.strip()
    }


def categories_among(
    verdicts: pd.DataFrame, labels: pd.DataFrame, options: TableOptions
) -> frozenset[str]:
    """The words among verdicts and labels that are categories though elsewhere they say nothing.

    What the options name is one. So is what both sides use, and what stands beside others in one
    of the known orders (none < minor < major). Of what one side uses alone, a word of people that
    makes a large share of their labels is one, and so is one of the judges where it is an answer
    (none, refused) and not the lack of one (cannot assess, n/a).
    """
    named = named_categories(options)
    judges, people = _Side(verdicts["raw"]), _Side(labels["raw"])
    if judges.numeric or (people.numeric and people.filled):
        # Beside numbers such a word is no category: it stands where a number is lacking.
        return frozenset(named)
    found = {
        word
        for word in judges.doubtful.keys() & people.doubtful.keys()
        if _is_said(word, labels)
    }
    words = judges.words | people.words
    for side, other in ((judges, people), (people, judges)):
        for word in side.doubtful.keys() - found:
            stands_in_order = order_of(words | {word}) is not None and len(words) > 1
            if stands_in_order or (
                side.is_large(word)
                and side.looks_written(word)
                and _is_answer(word, of_people=side is people and bool(other.filled))
                and _is_said(word, labels if side is people else verdicts)
            ):
                found.add(word)
    return frozenset(found | named)


def _is_answer(word: str, of_people: bool) -> bool:
    """Whether a word that one side uses alone may be its answer. People who say of many items that
    something does not apply, or cannot be known, say something of them, which the judge may miss.
    """
    reason = read_cell(word).reason
    if reason == ERROR:
        return False
    return of_people or reason not in (NOT_APPLICABLE, ABSTAINED) or reason == REFUSAL


def _is_said(word: str, rows: pd.DataFrame) -> bool:
    """Whether a word is what voices say, and not what fills the cells of those who said nothing:
    of several people who each labelled some items, most cells are then the word, and hardly one is
    empty."""
    who = [name for name in ("rater", "judge") if name in rows]
    if not who or rows[who[0]].nunique() < 2:
        return True
    raw = rows["raw"]
    is_word = raw.map({cell: said_of_nothing(cell) == word for cell in raw.unique()})
    cells = pd.DataFrame({"word": is_word, "empty": raw.map(is_empty)})
    shares = cells.groupby(rows[who[0]].to_numpy()).mean()
    return bool(((shares["word"] < 0.5) | (shares["empty"] >= LARGE_SHARE)).all())
