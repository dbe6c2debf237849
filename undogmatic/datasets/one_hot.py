"""Reads choices and categories that are written as a column of 0 and 1 for each: `winner_model_a`,
`winner_model_b` and `winner_tie`, of which one is 1 in each row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from undogmatic.datasets.contents import Contents
from undogmatic.datasets.names import PARTS, side_of
from undogmatic.records.results import Finding

FEWEST = 2
_YES, _NO = {"1", "true"}, {"0", "false"}


def merged(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[Finding]]:
    """The table with one column of categories in place of each set of such columns, and what is
    said of that."""
    contents = Contents(cells)
    stems: dict[tuple[str, ...], dict[str, str]] = {}
    for name, parts in contents.names.items():
        stem = _stem(parts)
        if not stem:
            continue
        words = contents.sample(name).distinct_words()
        if words.keys() <= _YES | _NO:
            category = " ".join(parts[len(stem) :])
            stems.setdefault(stem, {})[category] = name
    notes: list[Finding] = []
    for stem, columns in stems.items():
        made = "_".join(stem)
        flags = {category: _flags(cells[name]) for category, name in columns.items()}
        # A column that is called by the stem alone is the choice itself, not one of its flags.
        if made in cells or "" in columns or not _are_choices([*flags.values()]):
            continue
        chosen = np.full(len(cells), None, dtype=object)
        for category, is_chosen in flags.items():
            chosen[is_chosen] = category
        cells = cells.drop(columns=[*columns.values()])
        cells[made] = pd.Series(chosen, dtype=object, index=cells.index)
        facts = {
            "columns": [f"`{name}`" for name in columns.values()][:8],
            "made": f"`{made}`",
        }
        notes.append(Finding("table.one_hot", facts))
    return cells, notes


def _are_choices(flags: list[np.ndarray]) -> bool:
    """Whether one of several columns is 1 in each row."""
    if len(flags) < FEWEST:
        return False
    n_chosen = np.sum(flags, axis=0)
    if not (n_chosen == 1).all():
        return False
    # Two columns of which one is never 1 say the same of every row; they are as likely two flags
    # that have nothing to do with each other.
    return len(flags) > FEWEST or all(column.any() for column in flags)


def _stem(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The words up to the one that says that a verdict, a label or a choice stands there."""
    ends = (
        PARTS["choice"]
        | PARTS["neutral"]
        | PARTS["perhaps_human"]
        | PARTS["perhaps_judge"]
    )
    # The last part alone is the category, whatever it is called.
    at = [n for n, part in enumerate(parts[:-1]) if part in ends]
    if not at:
        return ()
    stem = parts[: at[-1] + 1]
    return stem if side_of(" ".join(stem)) is not None else ()


def _flags(column: pd.Series) -> np.ndarray:
    """Which rows have a 1 in a column."""
    return np.array([str(cell).strip().lower() in _YES for cell in column], dtype=bool)
