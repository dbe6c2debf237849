"""Matched pairs: the rows of a run arranged so that the texts of one pair stand side by side."""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.errors import DataError
from undogmatic.examinations.run_evidence import RunEvidence


@dataclass(frozen=True)
class Pairs:
    """Pairs by condition: `sides[condition]` has one row per pair id (index), all sides in the same
    order.

    A side that the judge failed on is there, with a NaN score; a condition that a pair may lack
    (the hybrid) has no row for it.
    """

    sides: dict[str, pd.DataFrame]

    def complete(self, *conditions: str) -> pd.Index:
        """Ids of the pairs that have a score in every one of `conditions`."""
        scored = (
            self.sides[condition]["score"].dropna().index for condition in conditions
        )
        return functools.reduce(lambda kept, more: kept[kept.isin(more)], scored)

    def between(self, a: str, b: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The sides `a` and `b` of the pairs that have a score in both."""
        ids = self.complete(a, b)
        return self.sides[a].loc[ids], self.sides[b].loc[ids]

    def failed(self, *conditions: str) -> int:
        """How many texts of these conditions have no score."""
        return sum(
            int(self.sides[condition]["score"].isna().sum()) for condition in conditions
        )

    def filled(self, condition: str, here: float, elsewhere: float) -> "Pairs":
        """The same pairs with every failed judgment of a condition given one score, and those of
        the others another: what they might have been at worst."""
        sides = self.sides.items()
        return Pairs(
            {
                c: s.assign(
                    score=s["score"].fillna(here if c == condition else elsewhere)
                )
                for c, s in sides
            }
        )


def numbers(side: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A column as numbers, shape (n_pairs,)."""
    return side[column].to_numpy(dtype=np.float64)


Names = str | Sequence[str]
"""A condition, or several by preference: the first that the dataset has counts."""


def listed(names: Names | None) -> list[str]:
    """The names one by one; none for None."""
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def contrast(
    treatments: Names, baselines: Names, rows: pd.DataFrame
) -> tuple[str, str]:
    """The treatment and the baseline that count: the first combination that stands together in a
    pair.

    Of two lists of one length, the names in the same place belong together and no others do, so
    that sides of different designs are never held against each other. Otherwise every treatment may
    go with every baseline. Where no pair has both, the first combination that the dataset has both
    of; where there is none, the first of all.

    Args:
        treatments, baselines: Names by preference.
        rows: The texts, with columns `pair_id` and `condition`.
    """
    first, second = listed(treatments), listed(baselines)
    possible = list(
        zip(first, second, strict=True)
        if len(first) == len(second)
        else itertools.product(first, second)
    )
    pairs_of = {
        c: set(own.dropna())
        for c, own in rows.groupby("condition", sort=False)["pair_id"]
    }
    known = [(a, b) for a, b in possible if a in pairs_of and b in pairs_of]
    together = [(a, b) for a, b in known if pairs_of[a] & pairs_of[b]]
    return (together or known or possible)[0]


def match(
    judged: RunEvidence, needed: Sequence[str], optional: Sequence[str] = ()
) -> Pairs:
    """Arrange the first repeat by pair: rows of the conditions that every pair must have and of
    those that it may have.

    Raises:
        DataError: A pair lacks a needed condition or has one twice, or a text of such a condition
            has no pair id.
    """
    rows = judged.first(*needed, *optional)
    alone = rows[rows["pair_id"].isna()]
    if len(alone):
        verb = "the condition is" if len(alone) == 1 else "the conditions are"
        raise DataError(
            f"{_named(alone['item_id'])}: no `pair`, though {verb}"
            f" {', '.join(alone['condition'].unique())}. Give the texts of one pair the same"
            " `pair`."
        )
    refuse_twice(rows)
    ids = rows["pair_id"].drop_duplicates()
    sides = {
        c: rows[rows["condition"] == c].set_index("pair_id")
        for c in [*needed, *optional]
    }
    for condition in needed:
        missing = ids[~ids.isin(sides[condition].index)]
        if len(missing):
            raise DataError(
                f"pair {_named(missing)}: no text with condition {condition}; every pair needs"
                f" {' and '.join(needed)}. Add the text or take the pair out (`run.limit` may have"
                " cut it off)."
            )
    order = pd.Index(ids)
    return Pairs(
        {c: side.loc[order[order.isin(side.index)]] for c, side in sides.items()}
    )


def refuse_twice(rows: pd.DataFrame) -> None:
    """Raise DataError where a pair has a condition twice: which of the two texts would be
    compared?"""
    twice = rows[
        rows["pair_id"].notna() & rows.duplicated(["pair_id", "condition"], keep=False)
    ]
    if len(twice):
        pair, condition = twice.iloc[0][["pair_id", "condition"]]
        raise DataError(
            f"pair {pair!r} has {condition} more than once; a pair has one text per condition."
        )


def _named(ids: pd.Series) -> str:
    named = ", ".join(repr(str(i)) for i in ids[:5])
    return named + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
