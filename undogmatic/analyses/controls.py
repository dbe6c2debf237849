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
from undogmatic.analyses.ruling import CONTROLS, Rules, Ruling, verdict
from undogmatic.analyses.truth import check_order, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
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
        tell, rubric, conditions = Telling(self.name), judged.rubric, self._present(judged)
        counts = judged.counts(conditions)
        of_all = {c: class_of(judged, c) for c in conditions}
        classes = {c: own for c, own in of_all.items() if not np.isnan(own.scores).all()}
        absent = [c for c in self.bands if c not in classes]
        level = family_level(self.level, len(classes))
        tell.metrics |= {f"controls.{name}": int(counts[name].sum()) for name in ("judged", "failed")}
        tell.findings += failed_finding(counts)
        if absent:
            tell.say("controls.absent", conditions=absent)
        shares, rows = {}, []
        for condition, (turned, groups) in classes.items():
            low, high = self.bands[condition]
            low, high = rubric.minimum if low is None else low, rubric.maximum if high is None else high
            scores = judged.sign * turned
            failed = np.isnan(scores)
            flags = np.where(failed, np.nan, (scores >= low) & (scores <= high))
            share = shares[condition] = limits.share(flags, groups, level)
            hits, summary = int(np.nansum(flags)), paired.summary(scores[~failed])
            row = {"condition": condition, "band_low": low, "band_high": high, "n": summary.n, "n_in_band": hits}
            row |= share.row("share_in_band", "share_")
            row |= {name: getattr(summary, name) for name in ("mean", "median", "iqr")}
            rows.append(row | {"failed": int(failed.sum())})
            tell.number(share, "in_band", condition)
            tell.number(summary.mean, "mean", condition)
            values = {"condition": condition, "low": low, "high": high, "hits": hits, "n": summary.n}
            tell.say("controls.band", values, share.values("share"))
        bands = tell.tables["bands"] = pd.DataFrame(rows)
        if rows:
            tell.number(float(bands["n_in_band"].sum() / bands["n"].sum()), "in_band")
        others = {c: own for c, own in classes.items() if self.worst in classes and c != self.worst}
        areas = {c: told(judged, classes[self.worst], own, level) for c, own in others.items()}
        for condition, area in areas.items():
            tell.number(area, "auc", condition)
            tell.say("controls.auc", area.values("auc"), worst=self.worst, condition=condition)
        if rows:
            tell.say("controls.family", classes=len(classes), level=self.level, each=level)
        apart = {c: limits.hold(area, CHANCE) for c, area in areas.items()}
        inside = {c: limits.hold(share, self.share) for c, share in shares.items()}
        weakest = min((share.low for share in shares.values()), default=None)
        evidence = ClassesHeld(apart, inside, absent, self.share, weakest)
        ruling, _ = beyond_surface(CONTROLS, evidence, judged, [self.worst], list(areas), self.level, rng)
        plots.distributions(tell, rubric, {c: judged.scores(c) for c in conditions}, kinds=("box",))
        if rows:
            columns = {"labels": "condition", "values": "share_in_band", "low": "share_low", "high": "share_high"}
            data = {name: bands[column].tolist() for name, column in columns.items()}
            tell.draw("bands", "bars", **data, y_label="share")
        return [tell.result(*ruling.decided, headline="controls.in_band" if rows else None)]

    def _present(self, judged: Judged) -> list[str]:
        present = judged.conditions()
        return [c for c in self.bands if c in present]


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
        return [h.n_needed for h in (*self.apart.values(), *self.inside.values()) if h.outcome == "open"]

    @property
    def open(self) -> dict[str, Any]:
        """The classes that may not be told from the worst, and those that may miss their band; none is a word."""
        apart, inside = (_of("open", held) or ["no_class"] for held in (self.apart, self.inside))
        return {"apart": apart, "inside": inside, "share": self.share}

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


def beyond_surface(
    rules: Rules,
    evidence: Any,
    judged: Judged,
    worse: Sequence[str],
    better: Sequence[str],
    level: float,
    rng: np.random.Generator,
) -> tuple[Ruling, LabelledRival | None]:
    """The verdict; where it supports the claim, the surface judge is asked whether it tells the conditions apart, too.

    `evidence` has the fields `surface` and `counts` for what it came to, and how many things it counts.
    """
    ruling = verdict(rules, evidence)
    if ruling.standing != "supported":
        return ruling, None
    rival, counts = surface_of_classes(judged, worse, better, level, rng), len(Seen(judged.rubric.field_words).columns)
    return verdict(rules, evidence._replace(surface=rival.outcome, counts=counts)), rival


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
    guess = surface.predict(seen.similarities(texts)[1], is_worse, pd.factorize(rows["group"])[0], rng)
    columns = np.column_stack([scores, guess, is_worse])
    try:
        gain = jackknife.nearly_mean(columns, _gain, rng, level, groups=groups, bounds=(-1, 1))
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
