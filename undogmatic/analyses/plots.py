"""Figure data that several analyses share, and when there is too little to draw. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.records.results import Finding, Telling
from undogmatic.records.rubric import Rubric

FEWEST = 3
"""Fewest marks, pairs or scores per group for which a picture says more than the numbers."""

_BINS = 20


def limits(rubric: Rubric) -> tuple[float, float]:
    """The ends of the axis of scores."""
    return rubric.minimum, rubric.maximum


def columns(table: pd.DataFrame, **names: str) -> dict[str, list[Any]]:
    """Arguments of a figure that are columns of a table: `estimate="auc"`."""
    return {name: table[column].tolist() for name, column in names.items()}


def too_few(figure: str, present: int, needed: int = FEWEST) -> Finding:
    """A figure was left out: `present` of the `needed` marks, pairs or scores."""
    return Finding("analyses.too_few", {"figure": figure, "present": present, "needed": needed})


def distributions(
    tell: Telling,
    rubric: Rubric,
    groups: Mapping[str, NDArray[np.float64]],
    kinds: tuple[str, ...] = ("box", "histogram"),
) -> None:
    """Draw box plot and histogram of scores by group; a finding names what is too small to be drawn."""
    drawn = {name: scores.tolist() for name, scores in groups.items() if scores.size >= FEWEST}
    if not drawn:
        present = max((scores.size for scores in groups.values()), default=0)
        tell.findings += [too_few(kind, present) for kind in kinds]
        return
    edges = np.linspace(rubric.minimum, rubric.maximum, _BINS + 1).tolist()
    for kind in kinds:
        axis = {"y_label": "score"} if kind == "box" else {"bins": edges, "x_label": "score"}
        tell.draw(kind, kind, groups=drawn, **axis, limits=limits(rubric))
    if small := [name for name in groups if name not in drawn]:
        tell.say("analyses.groups_not_drawn", groups=small, needed=FEWEST)
