"""Control texts whose answer is known: does each class land in its band, and is the worst told from the others?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses import plots
from undogmatic.analyses.base import (
    AnalysisResult,
    FigureData,
    Finding,
    Judged,
    Unsuited,
    check_groups,
    check_level,
    failed_finding,
    metric_name,
)
from undogmatic.analyses.truth import check_order
from undogmatic.errors import ConfigError
from undogmatic.stats import paired, ranking
from undogmatic.stats.proportion import Proportion, proportion

Band = tuple[float | None, float | None]


@dataclass(frozen=True)
class ControlsAnalysis:
    """Share of each class in its band, and how well the `worst` class is separated from every other one.

    Args:
        bands: Per condition the lowest and highest score that is right, ends included; None is the end of the scale.
        worst: The condition with most of the fault that the rubric measures.
        level: Confidence level of every interval.
    """

    name: ClassVar[str] = "controls"
    bands: dict[str, Band]
    worst: str
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        if self.worst not in self.bands:
            raise ConfigError(f"`analysis.worst` is {self.worst!r}; `analysis.bands` has: {', '.join(self.bands)}.")
        for condition, (low, high) in self.bands.items():
            if low is not None and high is not None and low > high:
                raise ConfigError(f"`analysis.bands.{condition}` is [{low}, {high}]; the lower end comes first.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited if the dataset has none of the classes, ConfigError for a band outside the scale."""
        check_order(self.name, judged.rubric)
        if not self._present(judged):
            raise Unsuited(
                f"analysis=controls needs texts with condition {', '.join(self.bands)}, which the dataset does not "
                "have. Use dataset=controls or dataset=curated, or set `analysis.bands` for your own conditions."
            )
        check_groups(self.name, "condition", self._present(judged), "take some out of `analysis.bands`")
        rubric = judged.rubric
        for condition, (low, high) in self.bands.items():
            for end in (low, high):
                if end is not None and not rubric.contains(end):
                    raise ConfigError(
                        f"`analysis.bands.{condition}` names {end}, but the scale of rubric={rubric.name} runs from "
                        f"{rubric.minimum:g} to {rubric.maximum:g}."
                    )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `controls.in_band`, the share of all control texts in their band."""
        self.check(judged)
        conditions = self._present(judged)
        counts = judged.counts(conditions)
        scores = {c: judged.scores(c) for c in conditions}
        judged_conditions = [c for c in conditions if scores[c].size]
        metrics: dict[str, float] = {
            "controls.judged": int(counts["judged"].sum()),
            "controls.failed": int(counts["failed"].sum()),
        }
        findings = failed_finding(counts)
        absent = [c for c in self.bands if c not in judged_conditions]
        if absent:
            findings.append(Finding("controls.absent", {"conditions": absent}))

        inside, shares, rows = [], {}, []
        for row in counts.itertuples():
            condition = str(row.condition)
            if not scores[condition].size:
                continue
            low, high = self._band(judged, condition)
            flags = (scores[condition] >= low) & (scores[condition] <= high)
            share = shares[condition] = proportion(flags, self.level)
            inside.append(flags)
            rows.append(_row(condition, (low, high), share, paired.summary(scores[condition]), int(row.failed)))
            metrics |= plots.interval(metric_name("controls.in_band", condition), share.share, share.low, share.high)
            metrics[metric_name("controls.mean", condition)] = float(scores[condition].mean())
            values = {"condition": condition, "low": low, "high": high, "hits": share.n_true, "n": share.n}
            findings.append(
                Finding("controls.band", values | {"share": share.share, "interval": (share.low, share.high)})
            )
        if inside:
            metrics["controls.in_band"] = float(np.concatenate(inside).mean())

        areas = self._separation(judged, {c: scores[c] for c in judged_conditions})
        for condition, area in areas.items():
            metrics |= plots.interval(metric_name("controls.auc", condition), area.auc, area.low, area.high)
            values = {"worst": self.worst, "condition": condition, "auc": area.auc, "interval": (area.low, area.high)}
            findings.append(Finding("controls.auc", values))
        figures, missing = self._figures(judged, scores, shares)
        columns = [c for c in ("condition", *_COLUMNS) if rows]
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables={"bands": pd.DataFrame(rows, columns=columns)},
                findings=findings + missing,
                figures=figures,
                verdict=_verdict(shares, areas, absent),
                headline="controls.in_band" if inside else None,
            )
        ]

    def _present(self, judged: Judged) -> list[str]:
        present = judged.conditions()
        return [c for c in self.bands if c in present]

    def _band(self, judged: Judged, condition: str) -> tuple[float, float]:
        low, high = self.bands[condition]
        rubric = judged.rubric
        return rubric.minimum if low is None else low, rubric.maximum if high is None else high

    def _separation(self, judged: Judged, scores: Mapping[str, Any]) -> dict[str, ranking.Auc]:
        if self.worst not in scores:
            return {}
        top = judged.sign * scores[self.worst]
        return {c: ranking.auc(top, judged.sign * s, self.level) for c, s in scores.items() if c != self.worst}

    def _figures(
        self, judged: Judged, scores: Mapping[str, Any], shares: Mapping[str, Proportion]
    ) -> tuple[list[FigureData], list[Finding]]:
        figures, missing = plots.distributions(judged.rubric, scores, kinds=("box",))
        if shares:
            data = {
                "labels": list(shares),
                "values": [s.share for s in shares.values()],
                "low": [s.low for s in shares.values()],
                "high": [s.high for s in shares.values()],
                "y_label": "share",
            }
            figures.append(FigureData("bands", "bars", data))
        return figures, missing


_COLUMNS = (
    "band_low",
    "band_high",
    "n",
    "n_in_band",
    "share_in_band",
    "share_low",
    "share_high",
    "mean",
    "median",
    "iqr",
    "failed",
)


def _row(
    condition: str, band: tuple[float, float], share: Proportion, scores: paired.Summary, failed: int
) -> dict[str, Any]:
    values = (*band, share.n, share.n_true, share.share, share.low, share.high)
    return {"condition": condition} | dict(
        zip(_COLUMNS, (*values, scores.mean, scores.median, scores.iqr, failed), strict=True)
    )


def _verdict(shares: Mapping[str, Proportion], areas: Mapping[str, ranking.Auc], absent: list[str]) -> Finding:
    """docs/verdicts.md, "Controls"."""
    if not areas:
        return Finding("controls.verdict_incomplete", {"conditions": absent})
    unsure = [c for c, area in areas.items() if area.low <= 0.5]
    if unsure:
        return Finding("controls.verdict_not_separated", {"conditions": unsure})
    outside = [c for c, share in shares.items() if share.low <= 0.5]
    if outside:
        return Finding("controls.verdict_separated", {"conditions": outside})
    return Finding("controls.verdict_in_band", {"share": min(s.share for s in shares.values())})
