"""What an analysis reads and what it yields.

An analysis never calls a model and never draws: it turns a table of judgments into numbers, tables, findings and
figure data. `report/` gives them words and pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

from undogmatic.errors import DataError
from undogmatic.records import Item, Judgment, Rubric, Verdict

COLUMNS = (
    "item_id pair_id condition label repeat score raw_score low high confidence uncertainty calls cached usd seconds "
    "error characters words"
).split()


@dataclass(frozen=True)
class Judged:
    """All judgments of one run as a table, one row per item and repeat, in input order.

    `frame` has COLUMNS; `score` is NaN exactly where `error` names a failure kind. `metadata.<key>` columns follow.
    """

    frame: pd.DataFrame
    rubric: Rubric
    name: str = "run"
    others: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Frames of other runs over the same items (by run name), for agreement between models."""

    def scored(self, repeat: int | None = 0) -> pd.DataFrame:
        """The judged rows (no failures) of one repeat, or of all with None."""
        rows = self.frame[self.frame["error"].isna()]
        return rows if repeat is None else rows[rows["repeat"] == repeat]

    def need(self, analysis: str, column: str, values: Sequence[str] = ()) -> None:
        """Raise DataError unless `column` is filled and holds every one of `values`."""
        present = [v for v in self.frame[column].dropna().unique()]
        missing = [v for v in values if v not in present]
        if not present or missing:
            what = f"condition(s) {', '.join(missing)}" if missing else f"the field `{column}`"
            raise DataError(
                f"analysis={analysis} needs {what}, which the dataset does not have"
                + (f" (it has: {', '.join(map(str, sorted(present, key=str)[:12]))})" if present else "")
                + ". Choose another `analysis=` (analysis=none only scores) or a dataset with it."
            )


def tabulate(items: Sequence[Item], judgments: Sequence[Judgment], repeats: int) -> pd.DataFrame:
    """Items and judgments -> the frame of `Judged`. An item without judgment has error "not_judged"."""
    by_key = {(j.item_id, j.repeat): j for j in judgments}
    rows: list[dict[str, Any]] = []
    for repeat in range(repeats):
        for item in items:
            judgment = by_key.get((item.id, repeat))
            verdict = judgment.outcome if judgment and isinstance(judgment.outcome, Verdict) else None
            error = None
            if verdict is None:
                error = "not_judged" if judgment is None else judgment.outcome.reason  # type: ignore[union-attr]
            rows.append(
                {
                    "item_id": item.id,
                    "pair_id": item.pair,
                    "condition": item.condition,
                    "label": item.label if item.label is not None else np.nan,
                    "repeat": repeat,
                    "score": verdict.score if verdict else np.nan,
                    "raw_score": verdict.raw_score if verdict and verdict.raw_score is not None else np.nan,
                    "low": verdict.interval[0] if verdict and verdict.interval else np.nan,
                    "high": verdict.interval[1] if verdict and verdict.interval else np.nan,
                    "confidence": verdict.confidence if verdict and verdict.confidence is not None else np.nan,
                    "uncertainty": verdict.uncertainty if verdict else None,
                    "calls": judgment.cost.calls if judgment else 0,
                    "cached": judgment.cost.cached if judgment else 0,
                    "usd": judgment.cost.usd if judgment and judgment.cost.usd is not None else np.nan,
                    "seconds": judgment.cost.seconds if judgment else 0.0,
                    "error": error,
                    "characters": len(item.text),
                    "words": len(item.text.split()),
                }
                | {f"metadata.{k}": v for k, v in item.metadata.items()}
            )
    frame = pd.DataFrame(rows)
    for column in ("pair_id", "condition", "uncertainty", "error"):
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


@dataclass(frozen=True)
class Finding:
    """A sentence of the report: a key of `report/texts/<language>.yaml` and the values its wording uses."""

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FigureData:
    """What a figure shows: `kind` names a drawing function of `report/figures.py`, `data` its arguments."""

    name: str
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class AnalysisResult:
    """The yield of one analysis. Metric names are flat and start with the analysis' name: `ab.rank_biserial`."""

    name: str
    metrics: Mapping[str, float]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    figures: Sequence[FigureData] = ()
    verdict: Finding | None = None
    headline: str | None = None
    """Key of the metric that sums the analysis up; sweeps rank and search by it."""


class Analysis(Protocol):
    """judgments -> numbers. Constructor arguments are the keys of `conf/analysis/<name>.yaml`.

    A list comes back because an analysis may consist of several (`analysis=suite`).
    """

    name: str

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]: ...
