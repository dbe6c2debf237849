"""Gives each of two outputs a row of its own, where judge and people graded both: `judge_a`,
`judge_b`, `human_a` and `human_b` beside `response_a` and `response_b`.

Taken as they stand the grades of the two outputs would be two judges and two people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets.contents import Contents
from undogmatic.datasets.names import side_of
from undogmatic.datasets.roles import GROUP, ITEM
from undogmatic.datasets.scales import TableOptions
from undogmatic.records.results import Finding

SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"))
OUTPUT = "output"
"""The column that says which of the two a row is about."""


def apart(
    cells: pd.DataFrame, options: TableOptions, item: str | None
) -> tuple[pd.DataFrame, np.ndarray, list[Finding]]:
    """The table with a row for each output, which of the old rows each is from, and what is said of
    that. A table in which judge and people did not both grade two outputs stays as it is.

    Args:
        item: The column of ids, if there is one.
    """
    same = cells, np.arange(len(cells)), list[Finding]()
    typed = (options.judge, options.human, options.text, options.verdict, options.item)
    if (
        any(typed)
        or options.group is not None
        or OUTPUT in cells
        or GROUP.name in cells
    ):
        return same
    contents = Contents(cells)
    for sides in SIDES:
        pairs = _pairs(contents, sides)
        texts = [
            stem for stem, pair in pairs.items() if all(map(contents.is_prose, pair))
        ]
        graded = {
            stem: side_of(" ".join(stem))
            for stem, pair in pairs.items()
            if all(
                contents.sample(name).numeric >= 0.9 and contents.is_value(name)
                for name in pair
            )
        }
        numbers = {
            number
            for stem in graded
            for name in pairs[stem]
            for number in contents.sample(name).distinct_numbers().tolist()
        }
        # Two judges and two people may choose one of the outputs by its number.
        if (
            len(texts) == 1
            and {1, -1} <= {*graded.values()}
            and not numbers <= {0.0, 1.0, 2.0}
        ):
            return _stacked(cells, pairs, sides, item)
    return same


Pairs = Mapping[tuple[str, ...], tuple[str, str]]


def _pairs(contents: Contents, sides: tuple[str, str]) -> Pairs:
    """The columns whose names differ in nothing but which output they are about, which stands last
    or first."""
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for name, parts in contents.names.items():
        for rest, word in ((parts[:-1], parts[-1:]), (parts[1:], parts[:1])):
            if rest and word and word[0] in sides:
                found.setdefault(rest, {})[sides.index(word[0])] = name
                break
    return {rest: (held[0], held[1]) for rest, held in found.items() if len(held) == 2}


def _stacked(
    cells: pd.DataFrame, pairs: Pairs, sides: Sequence[str], item: str | None
) -> tuple[pd.DataFrame, np.ndarray, list[Finding]]:
    columns = [name for pair in pairs.values() for name in pair]
    rest = cells.drop(columns=columns)
    ids = (
        [f"row {n}" for n in range(1, len(cells) + 1)]
        if item is None
        else list(cells[item])
    )
    parts = []
    for place, side in enumerate(sides):
        renamed = {pair[place]: "_".join(stem) for stem, pair in pairs.items()}
        own: dict[str, Any] = {
            ITEM.name if item is None else item: [f"{each}/{side}" for each in ids]
        }
        own |= {GROUP.name: ids, OUTPUT: side}
        part = pd.concat([rest, cells[list(renamed)].rename(columns=renamed)], axis=1)
        parts.append(part.assign(**own))
    order = np.arange(2 * len(cells)).reshape(2, -1).T.ravel()
    whole = (
        pd.concat(parts, ignore_index=True)
        .iloc[order]
        .reset_index(drop=True)
        .astype(object)
    )
    graded = [
        f"`{name}`"
        for stem, pair in pairs.items()
        if side_of("_".join(stem))
        for name in pair
    ]
    note = Finding("table.outputs_apart", {"columns": graded[:8]})
    return whole, np.repeat(np.arange(len(cells)), 2), [note]
