"""Reads which defects were planted in the items of a verdict table, and of which item each is a
copy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from undogmatic.datasets.doors import Door, Question, Way
from undogmatic.datasets.faults import EXAMPLES
from undogmatic.datasets.roles import GROUP, INJECTED, ITEM
from undogmatic.datasets.together import heads_of
from undogmatic.datasets.vocabulary import planted
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import CLEAN, DEFECT, EQUIVALENT
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief


def kinds_of(
    cells: pd.Series, places: np.ndarray, door: Door, problems: list[Finding]
) -> np.ndarray:
    """What each row says was planted in its item (`vocabulary.planted`), None where it says nothing
    or something else, which is told among the problems.

    Raises:
        ConfigError: No row names a kind.
    """
    column = str(cells.name)
    said = cells.notna().to_numpy(dtype=bool)
    known = {cell: planted(cell) for cell in cells[said].unique()}
    found = np.array([known.get(cell) for cell in cells], dtype=object)
    odd = said & pd.isna(found)
    examples = [brief(str(cell), 40) for cell in cells[odd].unique()[:EXAMPLES]]
    if odd.sum() == said.sum():
        shown = f" (e.g. {', '.join(examples)})" if examples else ""
        raise ConfigError(
            f"{door.typed(INJECTED, column)} says in no row what was planted in it{shown}. Its"
            f" cells must be {CLEAN}, {EQUIVALENT}, or {DEFECT} and a name, such as {DEFECT}loop."
        )
    if odd.any():
        facts = {"column": column, "n": int(odd.sum()), "examples": examples}
        place = places[int(np.argmax(odd))]
        problems.append(Finding("table.odd_kinds", facts | {"place": place}))
    return found


def check_ids(
    ids: np.ndarray, kinds: np.ndarray, item: str, column: str, door: Door
) -> None:
    """Raise ConfigError where rows with one id have different kinds, so that they are different
    items."""
    both = pd.DataFrame({"id": ids, "kind": kinds}).dropna()
    several = both.groupby("id", sort=False)["kind"].nunique() > 1
    if several.any():
        way = [(ITEM, f"{item},{column}"), (GROUP, item)]
        raise Question(
            f"`{item}` was read as the ids of the items, and rows with one id"
            f" ({brief(str(several.idxmax()))}) differ in `{column}`, so they are different items.",
            [Way("If both together are the id:", way)],
        ).at(door)


def groups_with_parents(items: pd.DataFrame) -> tuple[pd.Series, int]:
    """The group of each item, in which its copies are, too; and how many items were in another."""
    known = items.loc[items["parent"].isin(items.index), "parent"]
    marks = [
        [own] if parent is None else [items.at[parent, "group"], own]
        for own, parent in zip(
            items["group"],
            known.reindex(items.index)
            .astype(object)
            .where(lambda each: each.notna(), None),
            strict=True,
        )
    ]
    groups = pd.Series(heads_of(marks), index=items.index)
    return groups, int((groups != items["group"]).sum())
