"""One number of uncertainty per judgment: the ways to get it, and which one speaks for a judge."""

from typing import Literal, get_args

import pandas as pd

from undogmatic.errors import ConfigError

Measure = Literal["procedure", "width", "entropy", "confidence", "level"]
Choice = Literal["auto", Measure]

MEASURES: tuple[Measure, ...] = get_args(Measure)
"""What is nearest to the procedure first, and the finest first. `auto` takes the first that all judgments have and that
is not the same for all: a rule that looks at no label, since the measure that happens to do best on the labels would be
chosen with what it is tested on."""


def uncertainties(rows: pd.DataFrame) -> dict[Measure, pd.Series]:
    """Every measure that all of these judged rows have; see `measured`."""
    return {name: column for name, column in measured(rows).items() if column.notna().all()}


def measured(rows: pd.DataFrame) -> dict[Measure, pd.Series]:
    """Every measure, larger where the judge is less sure, NaN where a row has it not.

    procedure: the doubt that the judge style itself measures. width: of the interval, in score units. entropy: of the
    score distribution, normalised to [0, 1]. confidence: 100 - confidence. level: low 0, medium 1, high 2.
    """
    columns: dict[Measure, pd.Series] = {
        "procedure": rows["doubt"],
        "width": (rows["high"] - rows["low"]).abs(),
        "entropy": rows["entropy"],
        "confidence": 100.0 - rows["confidence"],
        "level": rows["uncertainty"].map({"low": 0.0, "medium": 1.0, "high": 2.0}),
    }
    return {name: column.astype("float64") for name, column in columns.items()}


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
    present = [name for name in MEASURES if name in found]
    return next((name for name in present if found[name].round(9).nunique() > 1), next(iter(present), None))
