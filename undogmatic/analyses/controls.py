"""Control texts whose answer is known: does each class land in its band, and is the worst told from the others?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.analyses import plots
from undogmatic.analyses.base import Judged, Unsuited, check_groups, check_level, failed_finding, family_level
from undogmatic.analyses.labelled_rival import LabelledRival, labelled_rival, seen_of
from undogmatic.analyses.rivals import MOST_TEXTS, Outcome, Seen, drawn
from undogmatic.analyses.ruling import CONTROLS, Ruling, verdict
from undogmatic.analyses.truth import check_order, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats import jackknife, limits, paired, surface
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.limits import Held

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
        judged.check_surface()
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
            hits, summary = int(inside[-1].sum()), paired.summary(scores[condition])
            rows.append(
                {
                    "condition": condition,
                    "band_low": low,
                    "band_high": high,
                    "n": summary.n,
                    "n_in_band": hits,
                    "share_in_band": share.value,
                    "share_low": share.low,
                    "share_high": share.high,
                    "mean": summary.mean,
                    "median": summary.median,
                    "iqr": summary.iqr,
                    "failed": int(row.failed),
                }
            )
            metrics |= share.metrics(metric_name("controls.in_band", condition))
            metrics[metric_name("controls.mean", condition)] = float(scores[condition].mean())
            values = {"condition": condition, "low": low, "high": high, "hits": hits, "n": scores[condition].size}
            findings.append(Finding("controls.band", values | share.values("share")))
        if inside:
            metrics["controls.in_band"] = float(np.concatenate(inside).mean())

        areas = self._separation(judged, classes, level)
        for condition, area in areas.items():
            metrics |= area.metrics(metric_name("controls.auc", condition))
            interval = area.interval
            values = {"worst": self.worst, "condition": condition, "auc": area.value, "interval": interval}
            findings.append(Finding("controls.auc", values))
        if inside:
            values = {"classes": len(classes), "level": self.level, "each": level}
            findings.append(Finding("controls.family", values))
        ruling = self._ruling(judged, shares, areas, absent, rng)
        figures, missing = self._figures(judged, scores, shares)
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables={"bands": pd.DataFrame(rows)},
                findings=findings + missing,
                figures=figures,
                verdict=ruling.finding,
                standing=ruling.standing,
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

    def _separation(self, judged: Judged, classes: Mapping[str, Class], level: float) -> dict[str, Estimate]:
        if self.worst not in classes:
            return {}
        worst = classes[self.worst]
        return {c: told(judged, worst, own, level) for c, own in classes.items() if c != self.worst}

    def _ruling(
        self,
        judged: Judged,
        shares: Mapping[str, Estimate],
        areas: Mapping[str, Estimate],
        absent: list[str],
        rng: np.random.Generator,
    ) -> Ruling:
        """The verdict; the surface judge is asked where all limits hold."""
        apart = {c: limits.hold(area, CHANCE) for c, area in areas.items()}
        inside = {c: limits.hold(share, self.share) for c, share in shares.items()}
        weakest = min((share.low for share in shares.values()), default=None)
        ruling = verdict(CONTROLS, ClassesHeld(apart, inside, absent, self.share, weakest))
        if ruling.standing != "supported":
            return ruling
        counts = len(Seen(judged.rubric.field_words).columns)
        rival = surface_of_classes(judged, [self.worst], list(areas), self.level, rng)
        return verdict(CONTROLS, ruling.evidence._replace(surface=rival.outcome, counts=counts))

    def _figures(
        self, judged: Judged, scores: Mapping[str, Any], shares: Mapping[str, Estimate]
    ) -> tuple[list[FigureData], list[Finding]]:
        figures, missing = plots.distributions(judged.rubric, scores, kinds=("box",))
        if shares:
            data = {
                "labels": list(shares),
                "values": [s.value for s in shares.values()],
                "low": [s.low for s in shares.values()],
                "high": [s.high for s in shares.values()],
                "y_label": "share",
            }
            figures.append(FigureData("bands", "bars", data))
        return figures, missing


class ClassesHeld(NamedTuple):
    """What the verdict looks at: area and share of each class against their bounds, the classes without a judged text,
    the share that is asked for, the lowest limit of a share, and what the surface judge came to, once it was asked."""

    apart: Mapping[str, Held]
    inside: Mapping[str, Held]
    absent: Sequence[str]
    share: float
    weakest: float | None
    surface: Outcome | None = None
    counts: int = 0

    @property
    def reversed(self) -> list[str]:
        """The classes that are told from the worst the wrong way round."""
        return _of("below", self.apart)

    @property
    def outside(self) -> list[str]:
        """The classes that miss their band."""
        return _of("below", self.inside)

    @property
    def needed(self) -> list[int | None]:
        """How many texts would decide what is open, each."""
        every = [*self.apart.values(), *self.inside.values()]
        return [held.n_needed for held in every if held.outcome == "open"]

    @property
    def most_needed(self) -> int:
        """The most of these."""
        return max(n for n in self.needed if n is not None)

    @property
    def not_apart(self) -> list[str]:
        """The classes that may not be told from the worst; no class is a word."""
        return _of("open", self.apart) or ["no_class"]

    @property
    def not_inside(self) -> list[str]:
        """The classes that may miss their band; no class is a word."""
        return _of("open", self.inside) or ["no_class"]

    @property
    def missing(self) -> list[str]:
        """The classes of which failed judgments could turn what is shown."""
        return list(dict.fromkeys([*_of("missing", self.apart), *_of("missing", self.inside)]))


def _of(outcome: limits.Outcome, held: Mapping[str, Held]) -> list[str]:
    return [condition for condition, one in held.items() if one.outcome == outcome]


class Class(NamedTuple):
    """`scores` of the first repeat, NaN where the judgment failed, turned so that high means more of the fault;
    `groups` is what the texts belong to. Shape (n,) each."""

    scores: NDArray[np.float64]
    groups: list[str]


def class_of(judged: Judged, *conditions: str) -> Class:
    """All texts of these conditions."""
    rows = judged.frame[(judged.frame["repeat"] == 0) & judged.frame["condition"].isin(conditions)]
    return Class(judged.sign * rows["score"].to_numpy(dtype=np.float64), units(rows))


def told(judged: Judged, worse: Class, better: Class, level: float) -> Estimate:
    """How often a text of the one scores worse than one of the other; each has a judged text."""
    ends = judged.rubric.minimum, judged.rubric.maximum
    scale = ends if judged.sign > 0 else (-ends[1], -ends[0])
    return limits.area(worse.scores, better.scores, worse.groups, better.groups, scale, level)


def surface_of_classes(
    judged: Judged, worse: Sequence[str], better: Sequence[str], level: float, rng: np.random.Generator
) -> LabelledRival:
    """Hold the judge against a surface judge fitted to tell the conditions `worse` from `better`.

    The judge must beat it in the area under the ROC curve, too: of two that tell the classes apart without a fault, the
    one with fewer different scores has the higher rank correlation with a class.
    """
    rows = judged.scored()
    rows = rows[rows["condition"].isin([*worse, *better])]
    rows = rows[drawn(rows["group"].to_numpy(dtype=object), MOST_TEXTS, rng)]
    is_worse = rows["condition"].isin(list(worse)).to_numpy(dtype=np.float64)
    scores = judged.sign * rows["score"].to_numpy(dtype=np.float64)
    texts, groups = rows["text"].astype(str).tolist(), units(rows)
    seen = seen_of(judged, texts)
    rival = labelled_rival(texts, scores, is_worse, groups, rng, level=level, seen=seen)
    if rival.outcome != "beyond_surface":
        return rival
    similar = seen.similarities(texts)[1]
    guess = surface.predict(similar, is_worse, pd.factorize(np.asarray(groups, dtype=object))[0], rng)
    try:
        gain = jackknife.nearly_mean(
            np.column_stack([scores, guess, is_worse]), _gain, rng, level, groups=groups, bounds=(-1, 1)
        )
    except ValueError:
        return rival._replace(outcome="open")
    return rival if gain.low > 0 else rival._replace(outcome="surface_as_good")


def _gain(columns: NDArray[np.float64]) -> float:
    """The area of the first column minus that of the second, or one half, for telling where the third is 1."""
    is_worse = columns[:, 2] == 1
    n, others = int(is_worse.sum()), int((~is_worse).sum())
    if n == 0 or others == 0:
        return float("nan")
    sums = stats.rankdata(columns[:, :2], axis=0)[is_worse].sum(axis=0)
    areas = (sums - n * (n + 1) / 2) / (n * others)
    return float(areas[0] - max(0.5, areas[1]))
