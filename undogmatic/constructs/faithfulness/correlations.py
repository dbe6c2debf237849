"""Pillars against one another: do they measure one thing, and does one of them run against the rest?"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.association import associate
from undogmatic.analyses.base import DIGITS, Judged, check_level
from undogmatic.analyses.classes import family_level
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.pillars import Scores, finding
from undogmatic.records.results import AnalysisResult, FigureData, Finding, Standing, metric_name

_USED = "pillar weight rho interval n"


@dataclass(frozen=True)
class CorrelationsAnalysis:
    """Spearman's correlation of every two pillars (and of every two judges' pillars), and of each with the mean of the
    others. A pillar that falls where the others rise is flagged; whether it does so beyond chance, its interval says.

    Args:
        composite: What the composite is made of.
        level: Confidence level of every interval; of those of pillars with the rest, together.
    """

    name: ClassVar[str] = "pillars"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)

    def check(self, judged: Judged) -> None:
        """As the composite."""
        self.composite.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `pillars.lowest`, the lowest correlation of a pillar with the mean of the others."""
        self.check(judged)
        scores = self.composite.pillars.scores(judged)
        groups = scores.about["group"]
        columns = _columns(scores)
        pairs = []
        for (a, x), (b, y) in itertools.combinations(columns.items(), 2):
            found = associate("spearman", x, y, groups, rng, self.level)
            pairs.append({"left": a, "right": b, "n": found.n, "rho": found.estimate, "low": found.low})
            pairs[-1] |= {"high": found.high, "p": found.p}
        rest = self._rest(scores, rng)
        table = pd.DataFrame(pairs)
        metrics = {
            metric_name("pillars.rho", f"{row.left}-{row.right}"): float(row.rho)
            for row in table.itertuples()
            if not np.isnan(row.rho)
        }
        metrics |= {
            metric_name("pillars.rest", row.pillar): float(row.rho)
            for row in rest.itertuples()
            if not np.isnan(row.rho)
        }
        known = rest["rho"].dropna()
        if len(known):
            metrics["pillars.lowest"] = float(known.min())
        findings = []
        for row in rest.to_dict("records"):
            key = "pillars.flagged" if row["flagged"] else "pillars.with_rest"
            findings.append(finding(key, row | {"interval": (row["low"], row["high"])}, _USED))
        verdict, standing = self._verdict(rest)
        figure = {"matrix": _matrix(table, list(columns)), "rows": list(columns), "columns": list(columns)}
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"rest": rest, "pairs": table},
                findings,
                [FigureData("matrix", "heatmap", figure | {"label": "rho", "limits": (-1.0, 1.0)})],
                verdict,
                standing,
                headline="pillars.lowest" if len(known) else None,
            )
        ]

    def _rest(self, scores: Scores, rng: np.random.Generator) -> pd.DataFrame:
        """Each pillar with the weighted mean of the others."""
        weights = pd.Series(dict(self.composite.weights), dtype=float)
        level = family_level(self.level, len(weights))
        rows: list[dict[str, Any]] = []
        for pillar in weights.index if len(weights) > 1 else ():
            others = weights.drop(pillar)
            mean = (scores.pillars[others.index] * others).sum(axis=1, skipna=False).round(DIGITS)
            found = associate("spearman", scores.pillars[pillar], mean, scores.about["group"], rng, level)
            row = {"pillar": pillar, "n": found.n, "rho": found.estimate, "low": found.low, "high": found.high}
            rows.append(row | {"p": found.p, "flagged": bool(found.estimate < 0), "weight": float(weights[pillar])})
        return pd.DataFrame(rows, columns=["pillar", "n", "rho", "low", "high", "p", "flagged", "weight"])

    def _verdict(self, rest: pd.DataFrame) -> tuple[Finding, Standing]:
        values: dict[str, Any] = {"n": len(rest), "level": self.level, "pillars": rest["pillar"].tolist()}
        against = rest[rest["high"] < 0]
        if len(against):
            return Finding(
                "pillars.verdict_against", {"level": self.level, "pillars": against["pillar"].tolist()}
            ), "refuted"
        if len(rest) and bool((rest["low"] > 0).all()):
            return finding("pillars.verdict_together", values, "n level"), "supported"
        open_ = rest[~(rest["low"] > 0)]
        return Finding("pillars.verdict_open", values | {"pillars": open_["pillar"].tolist()}), "undecided"


def _columns(scores: Scores) -> dict[str, pd.Series]:
    """Every pillar, and where it has several judges, each of them."""
    found: dict[str, pd.Series] = {}
    for pillar, voices in scores.voices.items():
        found[pillar] = scores.pillars[pillar]
        if voices.shape[1] > 1:
            found |= {f"{pillar} ({judge})": voices[judge] for judge in voices}
    return found


def _matrix(pairs: pd.DataFrame, names: list[str]) -> list[list[float]]:
    found = np.eye(len(names))
    for row in pairs.itertuples():
        a, b = names.index(row.left), names.index(row.right)
        found[a, b] = found[b, a] = row.rho
    return [list(map(float, row)) for row in found]
