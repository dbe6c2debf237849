"""Would the same judge say it again, and would another judge say it too?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.base import MOST_GROUPS, Judged, Unsuited, check_level
from undogmatic.analyses.ruling import AGREEMENT, REPEATS, Ruling, verdict
from undogmatic.analyses.runs import OtherRun, read_runs
from undogmatic.analyses.truth import Margin, check_order, margin_of, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats import agreement, checks, limits
from undogmatic.stats.agreement import BackToBack, back_to_back
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Estimate

FEWEST_ITEMS = 3
FEWEST_GROUPS = 10
"""Fewest independent texts for a verdict."""
# Krippendorff (2004), Content Analysis, p. 241: rely on 0.8 and above, draw tentative conclusions from 0.667.
RELIABLE, TENTATIVE = 0.8, 0.667
_COEFFICIENTS = ("pearson", "spearman", "kendall", "kappa")


@dataclass(frozen=True)
class ReliabilityAnalysis:
    """Repeats of this run against its first, and this run against others over the same items.

    Args:
        against: Folders of other runs, whose `judgments.jsonl` is read; their first repeat is used.
        tolerance: Largest difference that counts as the same score, in score units.
        margin: Largest difference that does not matter, in score units; None takes the rubric's.
        level: Confidence level of every interval, and the share within the limits of agreement.
    """

    name: ClassVar[str] = "reliability"
    against: Sequence[str] = ()
    tolerance: float = 0.0
    margin: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        if not self.tolerance >= 0:
            raise ConfigError(f"`analysis.tolerance` is {self.tolerance}; it must be 0 or more.")
        if len(self.against) >= MOST_GROUPS:
            raise ConfigError(
                f"`analysis.against` names {len(self.against)} runs; every two are compared, so give at most "
                f"{MOST_GROUPS - 1} beside this one."
            )

    def check(self, judged: Judged) -> None:
        """Raises Unsuited without repeats and other runs, else ConfigError or DataError for a run that does not fit."""
        check_order(self.name, judged.rubric)
        if judged.frame["repeat"].max() < 1 and not self.against and not judged.others:
            raise Unsuited(
                "analysis=reliability compares repeats or runs, and there is one run with run.repeats=1. "
                "Set run.repeats=2, or name the folders of other runs over the same dataset: "
                "analysis.against=[outputs/DATE/TIME]."
            )
        self._others(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `reliability.alpha` with other runs, else `reliability.repeat.exact_match`."""
        self.check(judged)
        parts = [self._repeats(judged), self._agreement(judged)]
        metrics = {k: v for part in parts for k, v in part.metrics.items()}
        wanted = ("reliability.alpha", "reliability.repeat.exact_match")
        decided = [part for part in reversed(parts) if part.verdict is not None]
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables={k: v for part in parts for k, v in part.tables.items()},
                findings=[f for part in parts for f in part.findings],
                figures=[f for part in parts for f in part.figures],
                verdict=decided[0].verdict if decided else None,
                standing=decided[0].standing if decided else None,
                headline=next((key for key in wanted if key in metrics), None),
            )
        ]

    def _repeats(self, judged: Judged) -> AnalysisResult:
        """Every later repeat against the first; the metrics are those of the worst."""
        frame = judged.frame
        last = int(frame["repeat"].max())
        if last < 1:
            return AnalysisResult(self.name, {})
        scores = frame.pivot(index="item_id", columns="repeat", values="score")
        groups = frame.drop_duplicates("item_id").set_index("item_id")["group"]
        margin = margin_of(judged.rubric, self.margin)
        rows, found, findings = [], [], []
        fresh: list[Repeated] = []
        for repeat in range(1, last + 1):
            fresh.append(repeated(judged, repeat, margin, 1 - (1 - self.level) / last))
            both = scores[[0, repeat]].dropna()
            again = frame[(frame["repeat"] == repeat) & frame["item_id"].isin(both.index)]
            cached = int(((again["cached"] > 0) & (again["calls"] == 0)).sum())
            left_out = len(scores) - len(both)
            if left_out:
                findings.append(Finding("reliability.repeat_left_out", {"repeat": repeat + 1, "n": left_out}))
            if len(both) < FEWEST_ITEMS:
                few = {"repeat": repeat + 1, "n": len(both), "needed": FEWEST_ITEMS}
                findings.append(Finding("reliability.repeat_too_few", few))
                continue
            first, second = both[0].to_numpy(), both[repeat].to_numpy()
            result = back_to_back(first, second, self.tolerance, self.level, groups=groups[both.index].tolist())
            found.append((result, cached))
            rows.append(_repeat_row(repeat, result, cached))
            if cached:
                findings.append(Finding("reliability.cached", {"repeat": repeat + 1, "n": cached, "total": len(both)}))
        ruling = verdict(REPEATS, RepeatsEvidence(fresh, margin, self.level))
        decided: dict[str, Any] = {"verdict": ruling.finding, "standing": ruling.standing}
        if not found:
            return AnalysisResult(self.name, {}, findings=findings, **decided)
        worst, _ = min(found, key=lambda pair: (pair[0].exact_match.value, -pair[0].max_abs_difference))
        cached_share = max(cached / result.n for result, cached in found)
        exact = worst.exact_match
        metrics = exact.metrics("reliability.repeat.exact_match")
        metrics |= {
            "reliability.repeat.max_difference": max(result.max_abs_difference for result, _ in found),
            "reliability.repeat.mean_abs_difference": worst.mean_abs_difference,
            "reliability.repeat.sd_within": worst.sd_within,
            "reliability.repeat.cached_share": cached_share,
        }
        for key, value in (("pearson", worst.pearson.estimate), ("spearman", worst.spearman.estimate)):
            if value is not None:
                metrics[f"reliability.repeat.{key}"] = value
        values: dict[str, Any] = {"n": worst.n, "matches": exact.hits, **exact.values("rate")}
        values |= {"largest": worst.max_abs_difference, "tolerance": self.tolerance}
        values |= {"pearson": worst.pearson.estimate, "spearman": worst.spearman.estimate}
        findings.insert(0, Finding("reliability.repeat", values))
        tables = {"repeats": pd.DataFrame(rows)}
        return AnalysisResult(self.name, metrics, tables, findings, **decided)

    def _others(self, judged: Judged) -> list[OtherRun]:
        return read_runs(judged, {f"analysis.against[{n}]": folder for n, folder in enumerate(self.against)})

    def _agreement(self, judged: Judged) -> AnalysisResult:
        """Every pair of runs, and all runs at once."""
        others = self._others(judged)
        if not others:
            return AnalysisResult(self.name, {})
        own = judged.frame[judged.frame["repeat"] == 0].set_index("item_id")
        first, groups = own["score"], pd.Series(units(own), index=own.index)
        margin = margin_of(judged.rubric, self.margin)
        scores = pd.DataFrame({judged.name: first} | {o.name: o.scores.reindex(first.index) for o in others})
        metrics: dict[str, float] = {}
        rows: list[dict[str, Any]] = []
        findings: list[Finding] = []
        figures: list[FigureData] = []
        for other in others:
            if other.differs:
                findings.append(Finding("reliability.other_dataset", {"run": other.name}))
        for a, b in itertools.combinations(scores.columns, 2):
            both = scores[[a, b]].dropna()
            if len(both) < len(scores):
                findings.append(Finding("reliability.left_out", {"a": a, "b": b, "n": len(scores) - len(both)}))
            if len(both) < FEWEST_ITEMS:
                values = {"a": a, "b": b, "n": len(both), "needed": FEWEST_ITEMS}
                findings.append(Finding("reliability.too_few", values))
                continue
            row = self._compare(judged, both[a].to_numpy(), both[b].to_numpy(), groups[both.index].tolist(), margin)
            rows.append({"a": a, "b": b} | row)
            findings.append(_say(a, b, row, margin))
            if a == judged.name:
                kept = (*_COEFFICIENTS, "bias", "lower", "upper", "change")
                metrics |= {metric_name("reliability", key, b): row[key] for key in kept if row[key] is not None}
                figures.append(_bland_altman(a, b, both, row, len(figures)))
        numbers, said, ruling = self._together(judged, scores, groups)
        tables, said = {"agreement": pd.DataFrame(rows)}, [*findings, *said]
        return AnalysisResult(self.name, metrics | numbers, tables, said, figures, ruling.finding, ruling.standing)

    def _together(
        self, judged: Judged, scores: pd.DataFrame, groups: pd.Series
    ) -> tuple[dict[str, float], list[Finding], Ruling]:
        """All runs at once: metrics, sentences and verdict."""
        rated = scores.loc[scores.notna().sum(axis=1) >= 2]
        n_groups, metrics, findings, found = int(groups[rated.index].nunique()), {}, [], None
        values: dict[str, Any] = {"runs": len(scores.columns), "n": len(rated)}
        if len(rated) >= FEWEST_ITEMS:
            alpha = agreement.krippendorff_alpha(rated.to_numpy().T).estimate
            interval: tuple[float | None, float | None] = (None, None)
            if alpha is not None:
                metrics["reliability.alpha"] = alpha
                found = self._alpha(judged, scores, groups) if n_groups >= FEWEST_GROUPS else None
            if found is not None:
                interval = found.interval
                metrics |= {"reliability.alpha_low": found.low, "reliability.alpha_high": found.high}
            findings.append(Finding("reliability.alpha", values | {"alpha": alpha, "interval": interval}))
        evidence = SimpleNamespace(**values, groups=n_groups, few=FEWEST_GROUPS, alpha=found)
        if found is not None:
            evidence.reliable = limits.hold(found, RELIABLE).outcome
            evidence.tentative = limits.hold(found, TENTATIVE)
        return metrics, findings, verdict(AGREEMENT, evidence)

    def _alpha(self, judged: Judged, scores: pd.DataFrame, groups: pd.Series) -> Estimate | None:
        scale = judged.rubric.minimum, judged.rubric.maximum
        ratings, own = scores.to_numpy(dtype=np.float64).T, groups[scores.index].tolist()
        return limits.alpha(ratings, scale, groups=own, level=self.level)

    def _compare(
        self, judged: Judged, a: np.ndarray, b: np.ndarray, groups: list[str], margin: Margin
    ) -> dict[str, Any]:
        levels = judged.rubric.levels
        kappa = agreement.weighted_kappa(agreement.nearest_level(a, levels), agreement.nearest_level(b, levels), levels)
        ends = agreement.bland_altman(a, b, self.level)
        bias, change = self._claim(a - b, groups, margin, (-margin.span, margin.span)), None
        moved = changes(a, b, margin.span)
        if moved is not None:
            change = self._claim(moved, groups, margin)
        return {
            "n": len(a),
            "pearson": agreement.correlation("pearson", a, b).estimate,
            "spearman": agreement.correlation("spearman", a, b).estimate,
            "kendall": agreement.correlation("kendall", a, b).estimate,
            "kappa": kappa.estimate,
            "bias": ends.bias.value,
            "bias_low": None if bias is None else bias.estimate.low,
            "bias_high": None if bias is None else bias.estimate.high,
            "bias_outcome": _outcome(bias, margin),
            "lower": ends.lower.value,
            "upper": ends.upper.value,
            "change": None if moved is None else float(moved.mean()),
            "change_low": None if change is None else change.estimate.low,
            "change_high": None if change is None else change.estimate.high,
            "change_outcome": _outcome(change, margin),
            "max_difference": float(np.max(np.abs(a - b))),
        }

    def _claim(
        self, values: np.ndarray, groups: list[str], margin: Margin, bounds: tuple[float, float] | None = None
    ) -> Claim | None:
        if len(set(groups)) < 2:
            return None
        return claim(values, margin.value, alpha=1 - self.level, groups=groups, bounds=bounds)


def changes(a: np.ndarray, b: np.ndarray, span: float) -> np.ndarray | None:
    """Values whose mean is the drift over the whole scale: the least-squares slope of a - b on the mean of both, times
    `span`; shape (n,). Their spread is that of the slope (leverage-corrected). None where every mean is the same.

    References:
        Long and Ervin (2000), doi:10.1080/00031305.2000.10474549, for HC3.
    """
    d, mean = a - b, (a + b) / 2
    centred = mean - mean.mean()
    square = float(centred @ centred)
    if square <= 1e-12 * max(1.0, float(mean @ mean)):
        return None
    slope = float(centred @ d) / square
    rest = (d - d.mean() - slope * centred) / np.maximum(1 - 1 / d.size - centred**2 / square, 1 / d.size)
    pull = d.size * centred * rest / square
    return np.asarray(span * (slope + pull - pull.mean()))


def _outcome(found: Claim | None, margin: Margin) -> str:
    if found is None or found.outcome == "open":
        return "is_open"
    if found.outcome == "within":
        return "is_none" if margin.equivalence else "no_margin"
    return "matters"


def _repeat_row(repeat: int, result: BackToBack, cached: int) -> dict[str, Any]:
    return {
        "repeat": repeat + 1,
        "n": result.n,
        "pearson": result.pearson.estimate,
        "spearman": result.spearman.estimate,
        "mean_difference": result.mean_difference,
        "mean_abs_difference": result.mean_abs_difference,
        "max_difference": result.max_abs_difference,
        "sd_within": result.sd_within,
        "exact_match_rate": result.exact_match.value,
        "n_cached": cached,
    }


def _say(a: str, b: str, row: dict[str, Any], margin: Margin) -> Finding:
    kept = ("n", *_COEFFICIENTS, "bias", "bias_outcome", "change", "change_outcome")
    values = {"a": a, "b": b, "margin": margin.value} | {key: row[key] for key in kept}
    values["change_interval"] = (row["change_low"], row["change_high"])
    values |= {"bias_interval": (row["bias_low"], row["bias_high"]), "limits": (row["lower"], row["upper"])}
    return Finding("reliability.agreement", values)


def _bland_altman(a: str, b: str, both: pd.DataFrame, row: dict[str, Any], number: int) -> FigureData:
    data = {
        "a": a,
        "b": b,
        "mean": both.mean(axis=1).tolist(),
        "difference": (both[a] - both[b]).tolist(),
        "bias": row["bias"],
        "lower": row["lower"],
        "upper": row["upper"],
        "y_label": f"{a} − {b}",
    }
    return FigureData("bland_altman" if number == 0 else f"bland_altman_{number + 1}", "bland_altman", data)


class Repeated(NamedTuple):
    """One later repeat against the first: the mean absolute difference of the scores of a text, against the margin.

    `n` texts were judged both times with a fresh second answer, from `n_groups` groups; `n_cached` more with one from
    the cache; `n_failed` have no score in one of the two. `worst` and `best` have these at the largest difference that
    the scale allows, and at 0. Claims are None with fewer than FEWEST_GROUPS groups.
    """

    n: int
    n_groups: int
    n_cached: int
    n_failed: int
    constant: bool
    judged: Claim | None
    worst: Claim | None
    best: Claim | None


def repeated(judged: Judged, repeat: int, margin: Margin, level: float) -> Repeated:
    """Hold a repeat against the first.

    Args:
        judged: The run.
        repeat: 1 or more.
        margin: Largest mean difference that does not matter.
        level: Confidence level.
    """
    frame, rubric = judged.frame, judged.rubric
    first = frame[frame["repeat"] == 0].set_index("item_id")
    again = frame[frame["repeat"] == repeat].set_index("item_id").loc[first.index]
    cached = ((again["cached"] > 0) & (again["calls"] == 0)).to_numpy()
    a, b = (rows["score"].to_numpy(dtype=np.float64)[~cached] for rows in (first, again))
    groups = [group for group, old in zip(units(first), cached, strict=True) if not old]
    failed = np.isnan(a) | np.isnan(b)
    fresh = [group for group, lost in zip(groups, failed, strict=True) if not lost]
    scores = np.concatenate([a[~failed], b[~failed]])
    constant = bool(scores.size) and checks.is_constant(scores)
    found = Repeated(len(fresh), len(set(fresh)), int(cached.sum()), int(failed.sum()), constant, None, None, None)
    if found.n_groups < FEWEST_GROUPS:
        return found
    d = np.abs(b - a)
    one = np.where(np.isnan(a), b, a)
    far = np.where(np.isnan(one), margin.span, np.maximum(one - rubric.minimum, rubric.maximum - one))

    def held(values: np.ndarray, own: list[str]) -> Claim:
        return claim(values, margin.value, alpha=1 - level, groups=own, bounds=(0.0, margin.span))

    alone = held(d[~failed], fresh)
    if not failed.any():
        return found._replace(judged=alone, worst=alone, best=alone)
    worst, best = held(np.where(failed, far, d), groups), held(np.where(failed, 0.0, d), groups)
    return found._replace(judged=alone, worst=worst, best=best)


class RepeatsEvidence(NamedTuple):
    """What the verdict on all repeats looks at: each later repeat, at a level that makes their intervals hold together;
    `level` is that of all together."""

    repeats: Sequence[Repeated]
    margin: Margin
    level: float
    few: int = FEWEST_GROUPS

    @property
    def least(self) -> Repeated:
        """The repeat with the fewest groups."""
        return min(self.repeats, key=lambda one: one.n_groups)

    @property
    def worst(self) -> Repeated:
        """The repeat whose scores move most."""
        known = [one for one in self.repeats if one.judged is not None]
        return max(known, key=lambda one: -np.inf if one.judged is None else one.judged.estimate.value)

    @property
    def open(self) -> Claim | None:
        """The first repeat that is not shown to stay within the margin."""
        claims = (one.judged for one in self.repeats)
        return next((one for one in claims if one is not None and one.outcome != "within"), None)

    @property
    def all_cached(self) -> bool:
        """Whether every second answer is one from the cache."""
        return not any(one.n for one in self.repeats) and any(one.n_cached for one in self.repeats)

    @property
    def n_cached(self) -> int:
        """The most answers from the cache."""
        return max(one.n_cached for one in self.repeats)

    @property
    def n_failed(self) -> int:
        """The most texts that failed."""
        return max(one.n_failed for one in self.repeats)

    @property
    def constant(self) -> bool:
        """Whether the judge says the same of all texts."""
        return all(one.constant for one in self.repeats)

    @property
    def sure(self) -> bool:
        """Whether failed judgments cannot turn it."""
        return all(one.worst is not None and one.worst.outcome == "within" for one in self.repeats)
