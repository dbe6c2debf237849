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
        names = [str(column) for column in cells]
        self.names = {name: tokens(name) for name in names}
        self.joined = {name: " ".join(self.names[name]) for name in self.names}
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
        n_words = len(words)
        longest = max(map(len, words))
        short = longest <= LONGEST_VERDICT
        few = n_words <= MOST_VERDICTS
        # A verdict comes again; of four rows all may be different by chance.
        comes_again = n_words * 2 <= max(cells.said, 4)
        return loose and short and few and comes_again

    def is_category(self, name: str) -> bool:
        """Whether it holds categories that come again, of which there may be many: for a column
        whose name says that it holds verdicts or labels."""
        cells = self.sample(name)
        words = cells.distinct_words()
        n_words = len(words)
        few = 2 <= n_words <= MOST_CATEGORIES
        # Each category comes four times on average; words that come once or twice are
        # answers in the judge's own words.
        comes_again = n_words * 4 <= cells.said
        if not (few and comes_again):
            return False
        longest = max(map(len, words))
        return longest <= LONGEST_CATEGORY

    def says_as(self, name: str, others: Collection[str]) -> bool:
        """Whether it says what one of the others says: the same few words, or numbers from the
        same range."""
        own = self.sample(name)
        words = own.distinct_words().keys()
        columns = map(self.sample, others)
        return any(_say_the_same(own, words, column) for column in columns)

    def grades_alike(self, name: str, other: str) -> bool:
        """Whether one of two columns says what the other says, or both hold numbers from mostly the
        same range: shares of people, and what a judge says from 0 to 1."""
        # Numbers lie within the range of others, and either may be the narrower one.
        if self.says_as(name, [other]):
            return True
        if self.says_as(other, [name]):
            return True
        both = [self.sample(name), self.sample(other)]
        if min(cells.numeric for cells in both) < 0.9:
            return False
        numbers = [cells.distinct_numbers() for cells in both]
        lows = [in_order[0] for in_order in numbers]
        highs = [in_order[-1] for in_order in numbers]
        shared = min(highs) - max(lows)
        whole = max(highs) - min(lows)
        # Two columns of one number each share a range of no width, which says nothing.
        return bool(shared > 0 and 2 * shared >= whole)

    def repeats_cells(self, name: str, other: str) -> bool:
        """Whether it says in nearly every row what another column says there."""
        own = self.sample(name)
        theirs = self.sample(other)
        # What says one word throughout is repeated by any column that says it too.
        if not own.said or len(theirs.distinct_words()) < 2:
            return False
        rows = zip(own.codes.tolist(), theirs.codes.tolist(), strict=True)
        pairs = [
            (own.words[one], theirs.words[two])
            for one, two in rows
            if theirs.words[two] is not None
        ]
        if len(pairs) < FEWEST_ROWS:
            return False
        same = sum(one == two for one, two in pairs)
        return same >= SAME_SHARE * len(pairs)

    def sums_up(self, name: str, others: Sequence[str]) -> bool:
        """Whether it says in nearly every row what most of the others say there, or their mean."""
        step = max(1, len(self.cells) // _SAMPLE)
        looked_at = self.cells[::step]
        own = looked_at[name].to_numpy(dtype=object)
        rows = looked_at[list(others)].to_numpy(dtype=object)
        answers = []
        for said, row in zip(own, rows, strict=True):
            cells = [str(cell) for cell in row if cell is not None]
            if said is not None and cells:
                answers.append(_sums_up(str(said), cells))
        compared = [answer for answer in answers if answer is not None]
        n_compared = len(compared)
        if n_compared < FEWEST_ROWS:
            return False
        return sum(compared) >= SAME_SHARE * n_compared

    def is_text(self, name: str) -> bool:
        """Whether it holds words that are no known verdicts."""
        cells = self.sample(name)
        known = cells.distinct_words().keys() <= KNOWN
        numbers = cells.numeric >= 0.5
        return cells.said > 0 and not numbers and not known

    def is_prose(self, name: str) -> bool:
        """Whether most of what it holds are sentences, not ids."""
        written = self.sample(name).written
        if not written:
            return False
        lengths = [len(each.split()) for each in written]
        # The median, as a few ids may be called by a whole title.
        return float(np.median(lengths)) > LONGEST_ID

    def is_names(self, name: str) -> bool:
        """Whether it holds names, which are neither numbers nor known verdicts."""
        cells = self.sample(name)
        words = cells.distinct_words()
        # A system may be called as a choice is: "model a".
        verdicts = KNOWN - CHOICES.keys()
        are_verdicts = words.keys() <= verdicts
        are_numbers = cells.numeric >= 0.5
        return bool(words) and not are_numbers and not are_verdicts

    def is_order(self, name: str) -> bool:
        """Whether it says in which order two outputs were shown."""
        words = self.sample(name).distinct_words()
        return order_words(self.joined[name], words) is not None

    def identifies(self, name: str) -> bool:
        """Whether each row has an id there, and none has that of another but where an item may have
        several rows."""
        held = self.cells[name].dropna()
        everywhere = len(held) == len(self.cells)
        once = self.several or held.nunique() == len(held)
        if not (everywhere and once):
            return False
        return not self.is_prose(name)

    def repeats(self, name: str) -> bool:
        """Whether what it holds comes again, so that rows can belong together by it."""
        held = self.cells[name].dropna()
        if not 0 < held.nunique() < len(held):
            return False
        # A text that stands in many rows, such as an instruction, names no group.
        return not self.is_prose(name)

    def numbers_raters(self, name: str) -> bool:
        """Whether it holds the numbers of raters: whole numbers, beside a column that says what a
        judge says and that no name claims."""
        cells = self.sample(name)
        numbers = cells.distinct_numbers()
        # A grade is a whole number as well. What tells the two apart is the column
        # beside it, which says what a judge says.
        if cells.numeric < 1:
            return False
        if not (numbers == np.round(numbers)).all():
            return False
        judged = []
        unclaimed = []
        for other in filter(self.is_value, self.free()):
            side = side_of(other)
            if side == 1:
                judged.append(other)
            elif not side and other != name:
                unclaimed.append(other)
        if judged:
            return any(self.says_as(other, judged) for other in unclaimed)
        # No judge stands here, as in a file of labels alone.
        samples = map(self.sample, unclaimed)
        in_words = [cells for cells in samples if cells.numeric < 0.1]
        return len(numbers) == 1 and len(in_words) == 1

    def says_what_judges_say(self, name: str) -> bool:
        """Whether it holds the words of another column, which is called a judge's."""
        # Numbers from the same range may be anything; words that judges say are no accident.
        if self.sample(name).numeric >= 0.5:
            return False
        if not self.is_value(name):
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
        called_labels = [other for other in others if side_of(other) == -1]
        return any(map(self.is_value, called_labels))


def _sums_up(said: str, cells: Sequence[str]) -> bool | None:
    """Whether a cell is the mean, the median or the sum of the numbers in others, or the word of
    most of them; None where they have neither."""
    folded = [fold(cell) for cell in cells]
    value = number_of(said)
    read = [number_of(cell) for cell in folded]
    numbers = [number for number in read if number is not None]
    if value is not None and len(numbers) == len(folded):
        from_mean = abs(float(np.mean(numbers)) - value)
        from_median = abs(float(np.median(numbers)) - value)
        near = from_mean <= NEAR_MEAN or from_median < NEAR_MEAN
        # The sum of one number is the number, which says nothing of a sum.
        several = len(numbers) > 1
        return near or (several and value == sum(numbers))
    [(word, count)] = Counter(folded).most_common(1)
    # A tie has no word that most say, and is neither for nor against.
    if 2 * count <= len(folded):
        return None
    return fold(said) == word


def _say_the_same(own: Cells, words: Collection[str], other: Cells) -> bool:
    """Whether a column says what another one says: the same few words, or numbers from its
    range."""
    known = set(other.distinct_words())
    said = set(words)
    if len(said) < 2 or len(known) < 2:
        return False
    few = len(known) <= MOST_CATEGORIES
    longest = max(map(len, known))
    if few and longest <= LONGEST_CATEGORY:
        # A category that one of both never uses is nothing strange, but half of them are.
        fewer, more = sorted((said, known), key=len)
        return fewer <= more and len(fewer) * 2 > len(more)
    # Words that differ are different scales; of numbers only the range can tell.
    if min(own.numeric, other.numeric) < 0.9:
        return False
    numbers = own.distinct_numbers()
    low, high = numbers[0], numbers[-1]
    others = other.distinct_numbers()
    lowest, highest = others[0], others[-1]
    inside = lowest <= low and high <= highest
    # Numbers in a corner of a wide range are as likely those of a narrower scale.
    wide = high - low >= (highest - lowest) / 2
    return bool(inside and wide)
