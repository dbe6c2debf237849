"""Control texts whose answer is known: does each class land in its band, and is the worst told from the others?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses import plots, rivals
from undogmatic.analyses.base import Judged, Unsuited, check_groups, check_level, failed_finding
from undogmatic.analyses.classes import Class, class_of, family_level, outdone, surface, told
from undogmatic.analyses.labelled_rival import check_known
from undogmatic.analyses.truth import check_order
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, Standing, metric_name
from undogmatic.stats import limits, paired
from undogmatic.stats.limits import Held, Limits

Band = tuple[float | None, float | None]
CHANCE = 0.5
"""The AUC of a judge that does not tell two classes apart."""


@dataclass(frozen=True)
class ControlsAnalysis:
    """Share of each class in its band, and how well the `worst` class is separated from every other one.

    Args:
        bands: Per condition the lowest and highest score that is right, ends included; None is the end of the scale.
        worst: The condition with most of the fault that the rubric measures.
        share: The part of every class that must be shown to land in its band.
        level: Confidence level of the intervals of all classes together; each has a higher one (Bonferroni).
    """

    name: ClassVar[str] = "controls"
    bands: dict[str, Band]
    worst: str
    share: float = 0.5
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level, share=self.share)
        if self.worst not in self.bands:
            raise ConfigError(f"`analysis.worst` is {self.worst!r}; `analysis.bands` has: {', '.join(self.bands)}.")
        for condition, (low, high) in self.bands.items():
            if low is not None and high is not None and low > high:
                raise ConfigError(f"`analysis.bands.{condition}` is [{low}, {high}]; the lower end comes first.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited if the dataset has none of the classes, ConfigError for a band outside the scale."""
        check_order(self.name, judged.rubric)
        check_known(judged.rubric)
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
        classes = {c: class_of(judged, c) for c in conditions if scores[c].size}
        level = family_level(self.level, len(classes))
        metrics: dict[str, float] = {
            "controls.judged": int(counts["judged"].sum()),
            "controls.failed": int(counts["failed"].sum()),
        }
        findings = failed_finding(counts)
        absent = [c for c in self.bands if c not in classes]
        if absent:
            findings.append(Finding("controls.absent", {"conditions": absent}))

        inside, shares, rows = [], {}, []
        for row in counts[counts["judged"] > 0].itertuples():
            condition = str(row.condition)
            low, high = self._band(judged, condition)
            own = judged.sign * classes[condition].scores
            flags = np.where(np.isnan(own), np.nan, (own >= low) & (own <= high))
            share = shares[condition] = limits.share(flags, classes[condition].groups, level)
            inside.append(flags[~np.isnan(flags)])
            hits = int(inside[-1].sum())
            rows.append(_row(condition, (low, high), share, hits, paired.summary(scores[condition]), int(row.failed)))
            metrics |= plots.interval(metric_name("controls.in_band", condition), share.estimate, share.low, share.high)
            metrics[metric_name("controls.mean", condition)] = float(scores[condition].mean())
            values = {"condition": condition, "low": low, "high": high, "hits": hits, "n": scores[condition].size}
            findings.append(
                Finding("controls.band", values | {"share": share.estimate, "interval": (share.low, share.high)})
            )
        if inside:
            metrics["controls.in_band"] = float(np.concatenate(inside).mean())

        areas = self._separation(judged, classes, level)
        for condition, area in areas.items():
            metrics |= plots.interval(metric_name("controls.auc", condition), area.estimate, area.low, area.high)
            interval = (area.low, area.high)
            values = {"worst": self.worst, "condition": condition, "auc": area.estimate, "interval": interval}
            findings.append(Finding("controls.auc", values))
        if inside:
            values = {"classes": len(classes), "level": self.level, "each": level}
            findings.append(Finding("controls.family", values))
        verdict, standing = self._verdict(judged, shares, areas, absent, rng)
        figures, missing = self._figures(judged, scores, shares)
        columns = [c for c in ("condition", *_COLUMNS) if rows]
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables={"bands": pd.DataFrame(rows, columns=columns)},
                findings=findings + missing,
                figures=figures,
                verdict=verdict,
                standing=standing,
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

    def _separation(self, judged: Judged, classes: Mapping[str, Class], level: float) -> dict[str, Limits]:
        if self.worst not in classes:
            return {}
        worst = classes[self.worst]
        return {c: told(judged, worst, own, level) for c, own in classes.items() if c != self.worst}

    def _verdict(
        self,
        judged: Judged,
        shares: Mapping[str, Limits],
        areas: Mapping[str, Limits],
        absent: list[str],
        rng: np.random.Generator,
    ) -> tuple[Finding, Standing]:
        """docs/verdicts.md, "Controls"."""
        if not areas:
            return Finding("controls.verdict_incomplete", {"conditions": absent}), "undecided"
        apart = {c: limits.hold(area, CHANCE) for c, area in areas.items()}
        inside = {c: limits.hold(share, self.share) for c, share in shares.items()}
        reversed_, outside = _of("below", apart), _of("below", inside)
        if reversed_:
            return Finding("controls.verdict_reversed", {"conditions": reversed_}), "refuted"
        if outside:
            return Finding("controls.verdict_outside", {"conditions": outside, "share": self.share}), "refuted"
        undecided = _open(apart, inside, self.share)
        if undecided is not None:
            return undecided, "undecided"
        rival = surface(judged, [self.worst], list(areas), self.level, rng)
        weakest = min(share.low for share in shares.values())
        return outdone(rival, _EXPLAINED) or (
            Finding("controls.verdict_hold", {"share": self.share, "weakest": weakest, "counts": len(rivals.COLUMNS)}),
            "supported",
        )

    def _figures(
        self, judged: Judged, scores: Mapping[str, Any], shares: Mapping[str, Limits]
    ) -> tuple[list[FigureData], list[Finding]]:
        figures, missing = plots.distributions(judged.rubric, scores, kinds=("box",))
        if shares:
            data = {
                "labels": list(shares),
                "values": [s.estimate for s in shares.values()],
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
    condition: str, band: tuple[float, float], share: Limits, hits: int, scores: paired.Summary, failed: int
) -> dict[str, Any]:
    values = (*band, scores.n, hits, share.estimate, share.low, share.high)
    return {"condition": condition} | dict(
        zip(_COLUMNS, (*values, scores.mean, scores.median, scores.iqr, failed), strict=True)
    )


_EXPLAINED: dict[rivals.Outcome, str] = {
    "surface_explains": "controls.verdict_surface_explains",
    "surface_as_good": "controls.verdict_surface_as_good",
    "open": "controls.verdict_surface_open",
    "no_texts": "controls.verdict_no_texts",
}


def _of(outcome: limits.Outcome, held: Mapping[str, Held]) -> list[str]:
    return [condition for condition, one in held.items() if one.outcome == outcome]


def _open(apart: Mapping[str, Held], inside: Mapping[str, Held], share: float) -> Finding | None:
    """What the texts of some class leave open, or None."""
    undecided = [one for held in (apart, inside) for one in held.values() if one.outcome == "open"]
    values: dict[str, Any] = {"apart": _of("open", apart), "inside": _of("open", inside)}
    if undecided:
        known = [one.n_needed for one in undecided if one.n_needed is not None]
        if len(known) < len(undecided):
            return Finding("controls.verdict_open_endless", _named(values) | {"share": share})
        return Finding("controls.verdict_open", _named(values) | {"share": share, "needed": max(known)})
    missing = list(dict.fromkeys([*_of("missing", apart), *_of("missing", inside)]))
    return Finding("controls.verdict_missing", {"conditions": missing}) if missing else None


def _named(values: dict[str, list[str]]) -> dict[str, Any]:
    """Empty lists are a word."""
    return {key: conditions or ["no_class"] for key, conditions in values.items()}
