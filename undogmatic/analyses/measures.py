"""One number of uncertainty per judgment: the ways to get it, and which one speaks for a judge."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from undogmatic.errors import ConfigError

Measure = Literal["procedure", "width", "entropy", "confidence", "level"]
Choice = Literal["auto", "procedure", "width", "entropy", "confidence", "level"]

MEASURES: tuple[Measure, ...] = ("procedure", "width", "entropy", "confidence", "level")
"""What is nearest to the procedure first, and the finest first. `auto` takes the first that all judgments have and that
is not the same for all: a rule that looks at no label, since the measure that happens to do best on the labels would be
chosen with what it is tested on."""

_LEVELS = {"low": 0.0, "medium": 1.0, "high": 2.0}


def uncertainties(rows: pd.DataFrame) -> dict[Measure, pd.Series]:
    """Every measure that all of these judged rows have, larger where the judge is less sure.

    procedure: what the judge style itself measures, see `_procedure`. width: of the interval, in score units. entropy:
    of the score distribution, normalised to [0, 1]. confidence: 100 - confidence. level: low 0, medium 1, high 2.
    """
    columns: dict[Measure, pd.Series] = {
        "procedure": _procedure(rows),
        "width": (rows["high"] - rows["low"]).abs(),
        "entropy": rows["entropy"],
        "confidence": 100.0 - rows["confidence"],
        "level": rows["uncertainty"].map(_LEVELS),
    }
    return {name: column.astype("float64") for name, column in columns.items() if column.notna().all()}


def choose(found: dict[Measure, pd.Series], wanted: Choice) -> Measure | None:
    """The measure that speaks for the judge; None if it gives no uncertainty at all.

    Args:
        found: What `uncertainties` found.
        wanted: A measure, or "auto": see MEASURES. A judge whose every measure is constant gets the first of them.
    Raises:
        ConfigError: The wanted measure does not exist for every judgment.
    """
    if wanted != "auto":
        if wanted not in found:
            raise ConfigError(
                f"`analysis.uncertainty` is {wanted!r}, which not every judgment has; they all have: "
                f"{', '.join(found) or 'none'}. Use analysis.uncertainty=auto or another judge."
            )
        return wanted
    varying = [name for name in MEASURES if name in found and found[name].round(9).nunique() > 1]
    present = [name for name in MEASURES if name in found]
    return next(iter(varying or present), None)


def _procedure(rows: pd.DataFrame) -> pd.Series:
    """From the first of these details that the verdicts have; NaN without any.

    Estimated accuracy (what it leaves), strength of the critique, nearness of the verdict to the middle between
    advocate and critic, evenness of red and blue team, disagreement of a panel, entropy of the points. A debate or a
    match without position or share is degenerate, and as unsure as can be.
    """
    details = {c.removeprefix("details."): rows[c] for c in rows.columns if c.startswith("details.")}
    if "estimated_accuracy" in details:
        return 100.0 - details["estimated_accuracy"].astype("float64")
    if "critique_strength" in details:
        return details["critique_strength"].astype("float64")
    for given, middle in (("gap", "judge_position"), ("stronger_team", "blue_share")):
        if given in details:
            position = details.get(middle, pd.Series(np.nan, rows.index)).astype("float64")
            evenness = (0.5 - (position - 0.5).abs()).where(position.notna(), 0.5)
            return evenness.where(details[given].notna())
    for name in ("disagreement", "entropy"):
        if name in details:
            return details[name].astype("float64")
    return pd.Series(np.nan, rows.index)
