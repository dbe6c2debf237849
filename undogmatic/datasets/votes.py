"""Puts the labels of several people that stand in one cell into a column for each of them.

A cell may hold an object of raters ({"ana": 4, "ben": 5}), a list of labels ([4, 5, 4], or 4;5;4),
or how many people gave which label ({"yes": 3, "no": 2}). What it holds is known from the cells and
from a name that says that the column is one of verdicts or labels. Lists of one or more labels in
which none comes twice are no people's: they name what may be right, and become A|B.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import fold, is_empty
from undogmatic.datasets.contents import MOST_CATEGORIES
from undogmatic.datasets.names import is_measured, side_of
from undogmatic.datasets.vocabulary import KNOWN
from undogmatic.errors import DataError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import Unreadable, brief, json_value

MOST_VOICES, LONGEST = 200, 40
"""People in one cell, and the letters of one label."""
MOST_LENGTH = 20_000
MARKS = (";", "|", ", ")
"""What stands between several labels in a cell."""
FEWEST_TOGETHER = 0.1
"""The share of cells that must hold several labels for the column to be one of lists."""


def spread(cells: pd.DataFrame, place: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The table with a column for each person in place of columns whose cells hold the labels of
    several, and what is said of that. Raises DataError for shares, which do not say of how many
    people they are."""
    notes: list[Finding] = []
    known = _said_alone(cells)
    for name in map(str, list(cells.columns)):
        column = cells[name]
        if is_measured(name):
            continue
        if side_of(name) is None and not _are_lists_of_labels(column, known):
            continue
        held: Sequence[Any] = [_inside(cell) for cell in column]
        if not any(value is not None for value in held):
            held = _parted(column, known)
        filled = [value for value in held if value is not None]
        n_cells = int(column.notna().sum())
        # One cell that holds something else, and the column is not what it seemed: half
        # of it would be lost if it were taken apart.
        if not filled or len(filled) < n_cells:
            continue
        if _name_what_may_be_right(filled):
            joined = [
                None if value is None else "|".join(map(str, value)) for value in held
            ]
            cells[name] = pd.Series(joined, dtype=object, index=cells.index)
            continue
        # The new columns must be found as labels by the search for roles, which goes by
        # names.
        called = name if side_of(name) is not None else f"label_{name}"
        made, kind = _columns(called, held, filled, place, known)
        if made is None:
            continue
        # In the place of the old column, so that the order of a file is the user's.
        at = list(cells.columns).index(name)
        rest = cells.drop(columns=[name])
        before = rest.iloc[:, :at]
        after = rest.iloc[:, at:]
        cells = pd.concat([before, made.set_index(rest.index), after], axis=1)
        facts = {
            "column": f"`{name}`",
            "columns": [f"`{n}`" for n in made][:8],
            "n": made.shape[1],
        }
        notes.append(Finding(f"table.spread_{kind}", facts))
    return cells, notes


def _are_lists_of_labels(column: pd.Series, known: Collection[str]) -> bool:
    """Whether the cells of a column whose name tells nothing are lists of several things that a
    judge says alone: `Overall` with [4, 5, 4] beside `gpt4_overall`."""
    held = [_inside(cell) for cell in column if not is_empty(cell)]
    lists = [value for value in held if isinstance(value, list)]
    if not lists or len(lists) < len(held):
        return False
    if min(map(len, lists)) < 2:
        return False
    words = [fold(str(label)) for value in lists for label in value]
    n_known = sum(word in known for word in words)
    # A judge that says one thing throughout shows nothing of what labels may be.
    return len(known) > 1 and n_known >= 0.9 * len(words)


def _said_alone(cells: pd.DataFrame) -> set[str]:
    """What a judge says in cells with one word each, by which labels are known."""
    known: set[str] = set()
    for name in map(str, cells.columns):
        if side_of(name) != 1 or is_measured(name):
            continue
        words = {fold(str(cell)) for cell in cells[name] if not is_empty(cell)}
        longest = max(map(len, words), default=0)
        # Many or long ones are reasons, in the judge's own words.
        if longest <= LONGEST and len(words) <= MOST_CATEGORIES:
            known |= words
    return known


def _parted(column: pd.Series, known: Collection[str]) -> list[list[str] | None]:
    """The labels in cells of text that hold several with one mark between them, of which each is
    something that the judge says, too; None for all where they do not."""
    nothing: list[list[str] | None] = [None] * len(column)
    filled = [str(cell) for cell in column if not is_empty(cell)]
    for mark in MARKS:
        n_several = sum(mark in cell for cell in filled)
        if n_several < max(1, FEWEST_TOGETHER * len(filled)):
            continue
        parts = {fold(part) for cell in filled for part in cell.split(mark)}
        # A mark at the end leaves nothing behind it.
        if parts <= {*known, ""}:
            return [_split(cell, mark) for cell in column]
    return nothing


def _split(cell: Any, mark: str) -> list[str] | None:
    """The labels in a cell with this mark between them; None where it is empty."""
    if is_empty(cell):
        return None
    return [part.strip() for part in str(cell).split(mark)]


def _name_what_may_be_right(filled: Sequence[Any]) -> bool:
    """Whether lists are of one label or of several different ones: several people would agree now
    and then."""
    if not all(isinstance(value, list) for value in filled):
        return False
    lengths = {len(value) for value in filled}
    if 1 not in lengths or len(lengths) < 2:
        return False
    return all(len(set(map(str, value))) == len(value) for value in filled)


def _inside(cell: Any) -> dict[str, Any] | list[Any] | None:
    """The object or list of single labels in a cell; None where there is none."""
    if is_empty(cell) or not isinstance(cell, str) or len(cell) > MOST_LENGTH:
        return None
    text = cell.strip()
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))):
        return None
    try:
        value = json_value(text)
    except Unreadable:
        try:
            value = ast.literal_eval(text)  # as Python writes it
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if not isinstance(value, dict | list) or not value or len(value) > MOST_VOICES:
        return None
    labels = list(value.values()) if isinstance(value, dict) else value
    return value if all(map(_is_short, labels)) else None


def _is_short(label: Any) -> bool:
    """Whether what stands in a cell may be one label: nothing, or a short word or number."""
    plain = label is None or isinstance(label, str | int | float)
    return plain and len(str(label)) <= LONGEST


def _columns(
    name: str,
    held: Sequence[Any],
    filled: Sequence[Any],
    place: str,
    known: Collection[str],
) -> tuple[pd.DataFrame | None, str]:
    """The columns in place of one, and what its cells were: of raters, a list or votes."""
    if all(isinstance(value, list) for value in filled):
        longest = max(map(len, filled))
        if longest < 2:
            return None, ""
        rows = [_filled_up(value or [], longest) for value in held]
        names = [f"{name}_{n}" for n in range(1, longest + 1)]
        return pd.DataFrame(rows, columns=names, dtype=object), "list"
    if not all(isinstance(value, dict) for value in filled):
        return None, ""
    keys = list(dict.fromkeys(str(key) for value in filled for key in value))
    if len(keys) > MOST_VOICES:
        return None, ""
    numbers = [number for value in filled for number in value.values()]
    are_numbers = all(isinstance(number, int | float) for number in numbers)
    if are_numbers and _are_labels(keys, known):
        # By its type, as True and False are whole numbers to Python.
        are_counts = all(type(number) is int for number in numbers)
        if not are_counts:
            raise DataError(
                f"{place}: `{name}` holds shares of people ({brief(str(filled[0]), 60)}), which do"
                ' not say how many people there were. Write how many gave which label ({"yes": 3,'
                ' "no": 2}), or a column for each person.'
            )
        return _of_votes(name, held), "votes"
    made = {f"{name}_{key}": [_label(value, key) for value in held] for key in keys}
    return pd.DataFrame(made, dtype=object), "raters"


def _filled_up(labels: Sequence[Any], length: int) -> list[Any]:
    """Labels, with None behind them up to a length, as each row of a table needs."""
    return [*labels, *[None] * (length - len(labels))]


def _label(value: dict[str, Any] | None, key: str) -> Any:
    if value is None:
        return None
    by_name = {str(name): label for name, label in value.items()}
    return by_name.get(key)


def _are_labels(keys: Sequence[str], known: Collection[str]) -> bool:
    """Whether the keys of objects are labels, and no names of raters."""
    words = set(map(fold, keys))
    if words <= {*known}:
        return True
    # Grades are labels, too, whoever gives them.
    other_keys = [key for key in keys if fold(key) not in KNOWN]
    return all(key.lstrip("-").isdigit() for key in other_keys)


def _of_votes(name: str, held: Sequence[dict[str, int] | None]) -> pd.DataFrame:
    """A column for each vote. Who gave which is not known, so that they are put in an order that
    says nothing: sorted, the first person would seem to be milder than the last."""
    # The same seed always, so that the same file gives the same table.
    rng = np.random.default_rng(0)
    rows = []
    for value in held:
        votes: list[str] = []
        for label, n in (value or {}).items():
            # A count of a million would make as many columns.
            votes += [label] * min(n, MOST_VOICES)
        order = rng.permutation(len(votes))
        rows.append([votes[place] for place in order])
    most = max(map(len, rows))
    names = [f"{name}_{n}" for n in range(1, most + 1)]
    filled = [_filled_up(row, most) for row in rows]
    return pd.DataFrame(filled, columns=names, dtype=object)
