"""Finds rows at the end of a file that sum up what stands above them: means, totals, counts.

A spreadsheet often ends so. Read as an item, a total of 190 makes the scale of grades from 1 to 5
one that ends at 190, and both columns of it agree in the most extreme value.
"""

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import LEXICON, alternatives, fold, number_of, read_cells
from undogmatic.stats.checks import Array

Row = dict[Hashable, Any]
"""The cells of a row by their columns, None where one is empty."""
MOST = 6
"""Rows that may sum up a file."""
FEWEST_ABOVE = 3
"""Of fewer rows a mean or a total may be one of their values by chance."""
_SAME_DIGITS = 0.501
"""A number is what is computed if it differs by no more than half of its last digit."""


def totals(cells: pd.DataFrame, sides: Sequence[str], texts: Sequence[str]) -> int:
    """How many rows at the end of one file sum up those above them.

    The first cell of such a row says what it is ("Mean"), or nothing in it says which item it is.
    Its numbers are computed from the columns above, and are none that stand in these columns. One
    of the two is enough where it says what it is and has no text, and the other rows have one.

    Args:
        cells: The rows of the file, with None where a cell is empty.
        sides: Its columns of verdicts and labels. texts: Its columns of texts.
    """
    sides = [name for name in sides if name in cells]
    written = cells[list(texts)].notna()
    has_texts = bool(written.any(axis=None))
    last: list[Row] = cells.iloc[-MOST:].to_dict("records")
    possible = [_may_sum_up(row, sides, texts) for row in last]
    # The most rows first: a mean and a total above each other are both taken off.
    for n in range(len(last), 0, -1):
        n_above = len(cells) - n
        # What is quick to see is asked first, as nearly every file has no such row.
        if n_above < FEWEST_ABOVE or not all(possible[-n:]):
            continue
        above = cells.iloc[:n_above]
        columns = {name: _Above(above[name]) for name in sides}
        if all(_sums_up(row, columns, texts, has_texts) for row in last[-n:]):
            return n
    return 0


_WORDS = frozenset(alternatives(LEXICON["cells"]["totals"]))
_MARKS = re.compile("[(:=]")
"""They stand behind such a word, with or without a space."""


def _is_word(cell: object) -> bool:
    """Whether a cell says that its row sums up others: "Mean", "Total:", "Average (n = 60)"."""
    words = _MARKS.sub(" ", fold(str(cell))).split()
    if not words:
        return False
    # "Avg." is a word of totals; "Meaning" is none, so that whole words are compared.
    first = words[0].rstrip(".")
    return first in _WORDS or " ".join(words) in _WORDS


def _may_sum_up(row: Row, sides: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a row has numbers for verdict or label, no text, and nothing that names an item."""
    verdicts = [row[name] for name in sides if row[name] is not None]
    numbers = [number_of(str(verdict).strip()) for verdict in verdicts]
    if not numbers or None in numbers:
        return False
    # The word itself may stand in the column of texts.
    written = [row[name] for name in texts if row[name] is not None]
    if not all(map(_is_word, written)):
        return False
    return not _besides(row, sides) or _says_so(row, sides)


def _besides(row: Row, sides: Sequence[str]) -> list[object]:
    """What stands in a row besides verdicts and labels."""
    others = [cell for name, cell in row.items() if name not in sides]
    return [cell for cell in others if cell is not None]


def _says_so(row: Row, sides: Sequence[str]) -> bool:
    """Whether the first cell that is no verdict and no label says that its row sums up others."""
    besides = _besides(row, sides)
    return bool(besides) and _is_word(besides[0])


class _Above:
    """A column above the rows that may sum it up."""

    def __init__(self, column: pd.Series) -> None:
        read = read_cells(column.to_numpy())
        numbers = read.numbers[read.codes]
        self.numbers: Array = numbers[~np.isnan(numbers)]
        self.said = read.said

    def computed(self) -> list[float]:
        """What a total, a mean, a median, a spread or a count of the column would be."""
        count = float(self.said)
        numbers = self.numbers
        # Of words, such as "pass", a spreadsheet can only count how many there are.
        if not numbers.size:
            return [count]
        results = [
            numbers.sum(),
            numbers.mean(),
            np.median(numbers),
            numbers.min(),
            numbers.max(),
        ]
        # Spreadsheets have two deviations: that of the cells, and that of what they are a sample
        # of.
        for ddof in (0, 1):
            if numbers.size > ddof:
                results.append(numbers.std(ddof=ddof))
        return [count, *map(float, results)]

    def gives(self, number: float, digit: float) -> bool:
        """Whether a number is one of those that are computed, but for rounding."""
        tolerance = digit * _SAME_DIGITS
        return any(abs(number - result) <= tolerance for result in self.computed())

    def holds(self, number: float) -> bool:
        """Whether the column could hold the number: within what it holds, and as whole."""
        if not self.numbers.size:
            return False
        if not self.numbers.min() <= number <= self.numbers.max():
            return False
        # A 3.7 below whole grades is no grade.
        whole = np.all(self.numbers % 1 == 0)
        return bool(number % 1 == 0 or not whole)


def _sums_up(
    row: Row, columns: dict[str, _Above], texts: Sequence[str], has_texts: bool
) -> bool:
    """Whether a row that may sum up others holds what is computed from the columns above it."""
    computed = []
    possible = []
    for name, column in columns.items():
        if row[name] is not None:
            number, digit = _number(row[name])
            computed.append(column.gives(number, digit))
            possible.append(column.holds(number))
    lacks_text = has_texts and all(row[name] is None for name in texts)
    if lacks_text and _says_so(row, tuple(columns)):
        # Of two means one may by chance be a grade, such as 3.0.
        return all(computed) or not all(possible)
    # "Total" may be an item's text, or the name of the last of five aspects.
    return all(computed) and not any(possible)


def _number(cell: object) -> tuple[float, float]:
    """The number in a cell, and the worth of its last digit."""
    written = str(cell).strip()
    number = number_of(written)
    assert number is not None, "only rows of numbers are looked at"
    # Where people write "3,7", the comma is the point.
    pointed = written.rstrip("% ").replace(",", ".")
    _, _, decimals = pointed.partition(".")
    if not decimals.isdigit():
        return number, 1.0
    return number, 10.0 ** -len(decimals)
