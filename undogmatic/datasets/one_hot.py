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
        if stem and contents.sample(name).distinct_words().keys() <= _YES | _NO:
            category = " ".join(parts[len(stem) :])
            stems.setdefault(stem, {})[category] = name
    notes: list[Finding] = []
    for stem, columns in stems.items():
        flags = {category: _flags(cells[name]) for category, name in columns.items()}
        together = np.sum([*flags.values()], axis=0)
        if len(columns) < FEWEST or "" in columns or not (together == 1).all():
            continue
        # Two columns of which one is never 1 say the same of every row; they are as
        # likely two flags that have nothing to do with each other.
        if any(not own.any() for own in flags.values()) and len(columns) == FEWEST:
            continue
        chosen = np.full(len(cells), None, dtype=object)
        for category, own in flags.items():
            chosen[own] = category
        made = "_".join(stem)
        if made in cells:
            continue
        cells = cells.drop(columns=[*columns.values()])
        cells[made] = pd.Series(chosen, dtype=object, index=cells.index)
        facts = {
            "columns": [f"`{name}`" for name in columns.values()][:8],
            "made": f"`{made}`",
        }
        notes.append(Finding("table.one_hot", facts))
    return cells, notes


def _stem(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The words up to the one that says that a verdict, a label or a choice stands there."""
    ends = (
        PARTS["choice"]
        | PARTS["neutral"]
        | PARTS["perhaps_human"]
        | PARTS["perhaps_judge"]
    )
    at = [n for n, part in enumerate(parts[:-1]) if part in ends]
    stem = parts[: at[-1] + 1] if at else ()
    return stem if stem and side_of(" ".join(stem)) is not None else ()


def _flags(column: pd.Series) -> np.ndarray:
    return np.array([str(cell).strip().lower() in _YES for cell in column], dtype=bool)
