"""Tells what the columns of a table are called and what they hold."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import Cells, read_cells
from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.vocabulary import CHOICES, KNOWN, order_words

LONGEST_ID = 3
"""Words that an id may have; what has more is a text."""
_SAMPLE = 2000
"""Cells of a column that are looked at."""


class Contents:
    """The columns of a table, which of them have a role already (`taken`), and whether an item may
    have `several` rows, as a column of raters shows."""

    def __init__(self, cells: pd.DataFrame) -> None:
        self.cells = cells
        self.names = {str(column): tokens(str(column)) for column in cells}
        self.joined = {name: " ".join(parts) for name, parts in self.names.items()}
        self.taken: set[str] = set()
        self.several = False
        self._samples: dict[str, Cells] = {}

    def free(self) -> list[str]:
        """The columns that have no role yet."""
        return [name for name in self.names if name not in self.taken]

    def sample(self, name: str) -> Cells:
        """Some cells of a column, at even steps."""
        if name not in self._samples:
            held = self.cells[name].to_numpy(dtype=object)
            step = max(1, len(held) // _SAMPLE)
            self._samples[name] = read_cells(held[::step])
        return self._samples[name]

    def is_value(self, name: str, loose: bool = True) -> bool:
        """Whether it can hold verdicts: numbers, known words, or (loose) few different ones."""
        cells = self.sample(name)
        words = cells.distinct_words()
        if not words:
            return False
        if cells.numeric >= 0.7 or words.keys() <= KNOWN:
            return True
        short = max(map(len, words)) <= 40
        return loose and short and (len(words) <= 12 and len(words) * 2 <= max(cells.said, 4))

    def is_text(self, name: str) -> bool:
        """Whether it holds words that are no known verdicts."""
        cells = self.sample(name)
        return cells.said > 0 and cells.numeric < 0.5 and not cells.distinct_words().keys() <= KNOWN

    def is_prose(self, name: str) -> bool:
        """Whether most of what it holds are sentences, not ids."""
        written = self.sample(name).written
        if not written:
            return False
        return float(np.median([len(each.split()) for each in written])) > LONGEST_ID

    def is_names(self, name: str) -> bool:
        """Whether it holds names, which are neither numbers nor known verdicts."""
        cells = self.sample(name)
        words = cells.distinct_words()
        # A system may be called as a choice is: "model a".
        return bool(words) and cells.numeric < 0.5 and not words.keys() <= KNOWN - CHOICES.keys()

    def is_order(self, name: str) -> bool:
        """Whether it says in which order two outputs were shown."""
        return order_words(self.joined[name], self.sample(name).distinct_words()) is not None

    def identifies(self, name: str) -> bool:
        """Whether each row has an id there, and none has that of another but where an item may have
        several rows."""
        held = self.cells[name].dropna()
        once = self.several or held.nunique() == len(held)
        return len(held) == len(self.cells) and once and not self.is_prose(name)

    def repeats(self, name: str) -> bool:
        """Whether what it holds comes again, so that rows can belong together by it."""
        held = self.cells[name].dropna()
        return 0 < held.nunique() < len(held) and not self.is_prose(name)

    def has_labels_beside(self, name: str, not_called: Collection[str]) -> bool:
        """Whether another free column, which is called none of these names, is clearly one of
        labels."""
        others = [
            other for other in self.free() if other != name and self.joined[other] not in not_called
        ]
        return any(side_of(other) == -1 and self.is_value(other) for other in others)
