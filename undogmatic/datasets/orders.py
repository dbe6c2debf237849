"""Puts choices between two outputs into the given numbering, whichever was shown first."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from undogmatic.datasets.doors import Door, Question, Way, spelled
from undogmatic.datasets.roles import NUMBERING, ORDER
from undogmatic.records.evidence import SWAPPED
from undogmatic.records.results import Finding


def orient(
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    column: str | None,
    choices: Literal["given", "shown"] | None,
    notes: list[Finding],
    problems: list[Finding],
    door: Door,
) -> None:
    """Put choices that number the outputs as they were shown into the given numbering. Raises
    ConfigError where the labels say that they are not in the numbering that would be assumed."""
    if column is None:
        if verdicts["order"].isna().all():
            problems.append(Finding("table.no_order", spelled(door, ORDER)))
        return
    swapped = (verdicts["order"] == SWAPPED).to_numpy(dtype=bool)
    if choices == "shown":
        turn(verdicts, "verdict", swapped)
    elif choices is None:
        if _against_labels(verdicts, labels, swapped):
            raise Question(
                f"where `{column}` says swapped, the choices are against the labels, whichever"
                " output is better, and else they are with them. So a choice seems to number the"
                " outputs as they were shown:",
                [
                    Way("type", [(NUMBERING, "shown")]),
                    Way(
                        "or, if it numbers them as they are given,",
                        [(NUMBERING, "given")],
                    ),
                ],
            ).at(door)
        told = {"order": column, "option": door.typed(NUMBERING, "shown")}
        notes.append(Finding("table.choices_given", told))


def turned(keys: pd.DataFrame, notes: list[Finding]) -> np.ndarray:
    """The rows in which the two systems of an item stand the other way round than where it first
    stands."""
    low = np.where(keys["0"].fillna("") <= keys["1"].fillna(""), keys["0"], keys["1"])
    high = np.where(keys["0"].fillna("") <= keys["1"].fillna(""), keys["1"], keys["0"])
    first = keys.groupby([keys["id"], low, high], sort=False, dropna=False)[
        "0"
    ].transform("first")
    turned = (first != keys["0"]).to_numpy() & keys.notna().all(axis=1).to_numpy()
    if turned.any():
        notes.append(Finding("table.read_swapped", {"n": int(turned.sum())}))
    return turned


def turn(rows: pd.DataFrame, name: str, where: np.ndarray) -> None:
    """Exchange first and second in some rows; a tie stays."""
    values = rows[name].to_numpy(dtype=float)
    rows[name] = np.where(where & (values < 2), 1 - values, values)


def _against_labels(
    verdicts: pd.DataFrame, labels: pd.DataFrame, swapped: np.ndarray
) -> bool:
    """Whether choices in the swapped order are mostly wrong, and the others mostly right, whichever
    output is better. Neither a judge that prefers a position nor one that prefers a number of
    output does that."""
    rows = verdicts.assign(swapped=swapped)[["item", "criterion", "verdict", "swapped"]]
    rows = rows.merge(labels[["item", "criterion", "label"]], on=["item", "criterion"])
    rows = rows[(rows["verdict"] < 2) & (rows["label"] < 2)]
    right = (
        (rows["verdict"] == rows["label"])
        .groupby([rows["label"], rows["swapped"]])
        .agg(["mean", "size"])
    )
    if len(right) < 4:
        return False
    beyond = (right["mean"] - 0.5) / np.sqrt(0.25 / right["size"])
    sign = np.where(right.index.get_level_values("swapped"), -1, 1)
    return bool((beyond * sign > 3).all())
