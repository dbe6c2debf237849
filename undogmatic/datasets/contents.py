"""Tells what the columns of a table are called and what they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import Cells, fold, number_of, read_cells
from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.vocabulary import CHOICES, KNOWN, order_words

LONGEST_ID = 3
"""Words that an id may have; what has more is a text."""
MOST_CATEGORIES, LONGEST_CATEGORY = 60, 60
"""Categories of a column whose name says that it holds verdicts or labels, and letters of one."""
MOST_VERDICTS, LONGEST_VERDICT = 12, 40
"""The same where the name says nothing, so that it may hold anything."""
FEWEST_ROWS, SAME_SHARE = 10, 0.98
"""Rows in which one column must say what another says for it to repeat the other, and their
share."""
NEAR_MEAN = 0.501
"""How far a mean may lie from what is written down, which may be rounded."""
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
            # At even steps, because files are often sorted, and the first rows would
            # all say "pass".
            step = max(1, len(held) // _SAMPLE)
            self._samples[name] = read_cells(held[::step])
        return self._samples[name]

    def is_value(self, name: str, loose: bool = True) -> bool:
        """Whether it can hold verdicts: numbers, known words, or (loose) few different ones."""
        cells = self.sample(name)
        words = cells.distinct_words()
        if not words:
            return False
        # Some cells of a column of grades hold "n/a" or a remark.
        if cells.numeric >= 0.7 or words.keys() <= KNOWN:
            return True
        short = max(map(len, words)) <= LONGEST_VERDICT
        # A verdict comes again; of four rows all may be different by chance.
        few = len(words) <= MOST_VERDICTS and len(words) * 2 <= max(cells.said, 4)
        return loose and short and few

    def is_category(self, name: str) -> bool:
        """Whether it holds categories that come again, of which there may be many: for a column
        whose name says that it holds verdicts or labels."""
        cells = self.sample(name)
        words = cells.distinct_words()
        # Each category comes four times on average; words that come once or twice are
        # answers in the judge's own words.
        few = 2 <= len(words) <= MOST_CATEGORIES and len(words) * 4 <= cells.said
        return few and max(map(len, words)) <= LONGEST_CATEGORY

    def says_as(self, name: str, others: Collection[str]) -> bool:
        """Whether it says what one of the others says: the same few words, or numbers from the
        same range."""
        own = self.sample(name)
        words = own.distinct_words().keys()
        return any(_say_the_same(own, words, self.sample(other)) for other in others)

    def grades_alike(self, name: str, other: str) -> bool:
        """Whether one of two columns says what the other says, or both hold numbers from mostly the
        same range: shares of people, and what a judge says from 0 to 1."""
        if self.says_as(name, [other]) or self.says_as(other, [name]):
            return True
        both = [self.sample(name), self.sample(other)]
        if min(cells.numeric for cells in both) < 0.9:
            return False
        numbers = [cells.distinct_numbers() for cells in both]
        lows = [in_order[0] for in_order in numbers]
        highs = [in_order[-1] for in_order in numbers]
        shared = min(highs) - max(lows)
        whole = max(highs) - min(lows)
        return bool(shared > 0 and 2 * shared >= whole)

    def repeats_cells(self, name: str, other: str) -> bool:
        """Whether it says in nearly every row what another column says there."""
        own, theirs = self.sample(name), self.sample(other)
        if not own.said or len(theirs.distinct_words()) < 2:
            return False
        pairs = [
            (own.words[one], theirs.words[two])
            for one, two in zip(own.codes.tolist(), theirs.codes.tolist(), strict=True)
            if theirs.words[two] is not None
        ]
        same = sum(one == two for one, two in pairs)
        return len(pairs) >= FEWEST_ROWS and same >= SAME_SHARE * len(pairs)

    def sums_up(self, name: str, others: Sequence[str]) -> bool:
        """Whether it says in nearly every row what most of the others say there, or their mean."""
        step = max(1, len(self.cells) // _SAMPLE)
        own = self.cells[name][::step].to_numpy(dtype=object)
        rows = self.cells[list(others)][::step].to_numpy(dtype=object)
        answers = []
        for said, row in zip(own, rows, strict=True):
            cells = [str(cell) for cell in row if cell is not None]
            if said is not None and cells:
                answers.append(_sums_up(str(said), cells))
        compared = [answer for answer in answers if answer is not None]
        enough = len(compared) >= FEWEST_ROWS
        return enough and sum(compared) >= SAME_SHARE * len(compared)

    def is_text(self, name: str) -> bool:
        """Whether it holds words that are no known verdicts."""
        cells = self.sample(name)
        known = cells.distinct_words().keys() <= KNOWN
        return cells.said > 0 and cells.numeric < 0.5 and not known

    def is_prose(self, name: str) -> bool:
        """Whether most of what it holds are sentences, not ids."""
        written = self.sample(name).written
        if not written:
            return False
        # The median, as a few ids may be called by a whole title.
        return float(np.median([len(each.split()) for each in written])) > LONGEST_ID

    def is_names(self, name: str) -> bool:
        """Whether it holds names, which are neither numbers nor known verdicts."""
        cells = self.sample(name)
        words = cells.distinct_words()
        # A system may be called as a choice is: "model a".
        are_verdicts = words.keys() <= KNOWN - CHOICES.keys()
        return bool(words) and cells.numeric < 0.5 and not are_verdicts

    def is_order(self, name: str) -> bool:
        """Whether it says in which order two outputs were shown."""
        words = self.sample(name).distinct_words()
        return order_words(self.joined[name], words) is not None

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

    def numbers_raters(self, name: str) -> bool:
        """Whether it holds the numbers of raters: whole numbers, beside a column that says what a
        judge says and that no name claims."""
        cells = self.sample(name)
        numbers = cells.distinct_numbers()
        # A grade is a whole number as well. What tells the two apart is the column
        # beside it, which says what a judge says.
        if cells.numeric < 1 or not (numbers == np.round(numbers)).all():
            return False
        values = [other for other in self.free() if self.is_value(other)]
        judged = [other for other in values if side_of(other) == 1]
        unclaimed = [other for other in values if other != name and not side_of(other)]
        if judged:
            return any(self.says_as(other, judged) for other in unclaimed)
        # No judge stands here, as in a file of labels alone.
        words = [other for other in unclaimed if self.sample(other).numeric < 0.1]
        return len(numbers) == 1 and len(words) == 1

    def says_what_judges_say(self, name: str) -> bool:
        """Whether it holds the words of another column, which is called a judge's."""
        # Numbers from the same range may be anything; words that judges say are no accident.
        if self.sample(name).numeric >= 0.5 or not self.is_value(name):
            return False
        others = [
            other
            for other in self.free()
            if other != name and side_of(other) == 1 and self.is_value(other)
        ]
        return self.says_as(name, others)

    def has_labels_beside(self, name: str, not_called: Collection[str]) -> bool:
        """Whether another free column, which is called none of these names, is clearly one of
        labels."""
        others = [
            other
            for other in self.free()
            if other != name and self.joined[other] not in not_called
        ]
        return any(side_of(other) == -1 and self.is_value(other) for other in others)


def _sums_up(said: str, cells: Sequence[str]) -> bool | None:
    """Whether a cell is the mean, the median or the sum of the numbers in others, or the word of
    most of them; None where they have neither."""
    folded = [fold(cell) for cell in cells]
    value = number_of(said)
    numbers = [number for cell in folded if (number := number_of(cell)) is not None]
    if value is not None and len(numbers) == len(folded):
        near_mean = abs(float(np.mean(numbers)) - value) <= NEAR_MEAN
        near_median = abs(float(np.median(numbers)) - value) < NEAR_MEAN
        # The sum of one number is the number, which says nothing of a sum.
        is_sum = len(numbers) > 1 and value == sum(numbers)
        return near_mean or near_median or is_sum
    word, count = Counter(folded).most_common(1)[0]
    # A tie has no word that most say, and is neither for nor against.
    return fold(said) == word if 2 * count > len(folded) else None


def _say_the_same(own: Cells, words: Collection[str], other: Cells) -> bool:
    """Whether a column says what another one says: the same few words, or numbers from its
    range."""
    known = set(other.distinct_words())
    said = set(words)
    if len(said) < 2 or len(known) < 2:
        return False
    if len(known) <= MOST_CATEGORIES and max(map(len, known)) <= LONGEST_CATEGORY:
        # A category that one of both never uses is nothing strange, but half of them are.
        fewer, more = sorted((said, known), key=len)
        return fewer <= more and len(fewer) * 2 > len(more)
    # Words that differ are different scales; of numbers only the range can tell.
    if min(own.numeric, other.numeric) < 0.9:
        return False
    numbers, theirs = own.distinct_numbers(), other.distinct_numbers()
    span = theirs[-1] - theirs[0]
    inside = theirs[0] <= numbers[0] and numbers[-1] <= theirs[-1]
    return bool(inside and numbers[-1] - numbers[0] >= span / 2)
