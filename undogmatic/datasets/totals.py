"""Finds rows at the end of a file that sum up what stands above them: means, totals, counts.

A spreadsheet often ends so. Read as an item, a total of 190 makes the scale of grades from 1 to 5
one that ends at 190, and both columns of it agree in the most extreme value.
"""

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
    has_texts = bool(texts) and bool(cells[list(texts)].notna().any(axis=None))
    last: list[Row] = cells.iloc[-MOST:].to_dict("records")
    possible = [_may_sum_up(row, sides, texts) for row in last]
    # The most rows first: a mean and a total above each other are both taken off.
    for n in range(len(last), 0, -1):
        above = cells.iloc[: len(cells) - n]
        # What is quick to see is asked first, as nearly every file has no such row.
        if all(possible[-n:]) and len(above) >= FEWEST_ABOVE:
            columns = {name: _Above(above[name]) for name in sides}
            if all(_sums_up(row, columns, texts, has_texts) for row in last[-n:]):
                return n
    return 0


_WORDS = frozenset(alternatives(LEXICON["cells"]["totals"]))


def _is_word(cell: object) -> bool:
    """Whether a cell says that its row sums up others: "Mean", "Total:", "Average (n = 60)"."""
    said = fold(str(cell)).replace("(", " ").replace(":", " ").replace("=", " ").split()
    return bool(said) and (said[0].rstrip(".") in _WORDS or " ".join(said) in _WORDS)


def _may_sum_up(row: Row, sides: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a row has numbers for verdict or label, no text, and nothing that names an item."""
    said = [str(row[name]) for name in sides if row[name] is not None]
    if not said or any(number_of(cell.strip()) is None for cell in said):
        return False
    if any(row[name] is not None and not _is_word(row[name]) for name in texts):
        return False
    return _says_so(row, sides) or all(
        row[name] is None for name in row if name not in sides
    )


def _says_so(row: Row, sides: Sequence[str]) -> bool:
    others = (row[name] for name in row if name not in sides)
    first = next((cell for cell in others if cell is not None), None)
    return first is not None and _is_word(first)


class _Above:
    """A column above the rows that may sum it up."""

    def __init__(self, column: pd.Series) -> None:
        read = read_cells(column.to_numpy())
        numbers = read.numbers[read.codes]
        self.numbers: Array = numbers[~np.isnan(numbers)]
        self.said = read.said

    def computed(self) -> list[float]:
        """What a total, a mean, a median, a spread or a count of the column would be."""
        if not self.numbers.size:
            return [float(self.said)]
        own = self.numbers
        # Spreadsheets have two deviations: that of the cells, and that of what they are a sample
        # of.
        spreads = [float(own.std(ddof=ddof)) for ddof in (0, 1) if own.size > ddof]
        middles = [float(own.sum()), float(own.mean()), float(np.median(own))]
        ends = [float(own.min()), float(own.max())]
        return [*middles, *spreads, float(self.said), *ends]

    def gives(self, number: float, digit: float) -> bool:
        """Whether a number is one of those that are computed, but for rounding."""
        return any(abs(number - own) <= digit * _SAME_DIGITS for own in self.computed())

    def holds(self, number: float) -> bool:
        """Whether the column could hold the number: within what it holds, and as whole."""
        if not self.numbers.size:
            return False
        # A 3.7 below whole grades is no grade.
        whole = bool(np.all(self.numbers % 1 == 0))
        inside = self.numbers.min() <= number <= self.numbers.max()
        return bool(inside and (number % 1 == 0 or not whole))


def _sums_up(
    row: Row, columns: dict[str, _Above], texts: Sequence[str], has_texts: bool
) -> bool:
    numbers = {name: _number(row[name]) for name in columns if row[name] is not None}
    computed = all(
        columns[name].gives(number, digit) for name, (number, digit) in numbers.items()
    )
    possible = [columns[name].holds(number) for name, (number, _) in numbers.items()]
    lacks_text = has_texts and all(row[name] is None for name in texts)
    if lacks_text and _says_so(row, tuple(columns)):
        # Of two means one may by chance be a grade, such as 3.0.
        return computed or not all(possible)
    # "Total" may be an item's text, or the name of the last of five aspects.
    return computed and not any(possible)


def _number(cell: object) -> tuple[float, float]:
    """The number in a cell, and the worth of its last digit."""
    written = str(cell).strip()
    number = number_of(written)
    assert number is not None, "only rows of numbers are looked at"
    decimals = written.rstrip("% ").replace(",", ".").partition(".")[2]
    return number, 10.0 ** -len(decimals) if decimals.isdigit() else 1.0
