"""Would the same judge say it again, and would another judge say it too?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses import plots
from undogmatic.analyses.base import (
    MOST_GROUPS,
    AnalysisResult,
    FigureData,
    Finding,
    Judged,
    Unsuited,
    check_level,
    metric_name,
)
from undogmatic.analyses.runs import OtherRun, read_runs
from undogmatic.analyses.truth import check_order
from undogmatic.errors import ConfigError
from undogmatic.stats import agreement
from undogmatic.stats.repeat import BackToBack, back_to_back

FEWEST_ITEMS = 3
# Krippendorff (2004), Content Analysis, p. 241: rely on 0.8 and above, draw tentative conclusions from 0.667.
_RELIABLE, _TENTATIVE = 0.8, 0.667
_COEFFICIENTS = ("pearson", "spearman", "kendall", "kappa")


@dataclass(frozen=True)
class ReliabilityAnalysis:
    """Repeats of this run against its first, and this run against others over the same items.

    Args:
        against: Folders of other runs, whose `judgments.jsonl` is read; their first repeat is used.
        tolerance: Largest difference that counts as the same score, in score units.
        level: Confidence level of every interval, and the share within the limits of agreement.
    """

    name: ClassVar[str] = "reliability"
    against: Sequence[str] = ()
    tolerance: float = 0.0
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
        verdicts = [part.verdict for part in reversed(parts) if part.verdict is not None]
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables={k: v for part in parts for k, v in part.tables.items()},
                findings=[f for part in parts for f in part.findings],
                figures=[f for part in parts for f in part.figures],
                verdict=verdicts[0] if verdicts else None,
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
        rows, found, findings = [], [], []
        for repeat in range(1, last + 1):
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
            result = back_to_back(both[0].to_numpy(), both[repeat].to_numpy(), self.tolerance, self.level)
            found.append((result, cached))
            rows.append(_repeat_row(repeat, result, cached))
            if cached:
                findings.append(Finding("reliability.cached", {"repeat": repeat + 1, "n": cached, "total": len(both)}))
        if not found:
            return AnalysisResult(self.name, {}, findings=findings)
        worst, _ = min(found, key=lambda pair: (pair[0].exact_match.rate, -pair[0].max_abs_difference))
        cached_share = max(cached / result.n for result, cached in found)
        exact = worst.exact_match
        metrics = plots.interval("reliability.repeat.exact_match", exact.rate, exact.low, exact.high)
        metrics |= {
            "reliability.repeat.max_difference": max(result.max_abs_difference for result, _ in found),
            "reliability.repeat.mean_abs_difference": worst.mean_abs_difference,
            "reliability.repeat.sd_within": worst.sd_within,
            "reliability.repeat.cached_share": cached_share,
        }
        for key, value in (("pearson", worst.pearson.estimate), ("spearman", worst.spearman.estimate)):
            if value is not None:
                metrics[f"reliability.repeat.{key}"] = value
        values: dict[str, Any] = {
            "n": worst.n,
            "matches": exact.n_match,
            "rate": exact.rate,
            "interval": (exact.low, exact.high),
        }
        values |= {"largest": worst.max_abs_difference, "tolerance": self.tolerance}
        values |= {"pearson": worst.pearson.estimate, "spearman": worst.spearman.estimate}
        findings.insert(0, Finding("reliability.repeat", values))
        verdict = _repeat_verdict(exact.rate, metrics["reliability.repeat.max_difference"], worst, cached_share)
        return AnalysisResult(self.name, metrics, {"repeats": pd.DataFrame(rows)}, findings, verdict=verdict)

    def _others(self, judged: Judged) -> list[OtherRun]:
        return read_runs(judged, {f"analysis.against[{n}]": folder for n, folder in enumerate(self.against)})

    def _agreement(self, judged: Judged) -> AnalysisResult:
        """Every pair of runs, and all runs at once."""
        others = self._others(judged)
        if not others:
            return AnalysisResult(self.name, {})
        first = judged.frame[judged.frame["repeat"] == 0].set_index("item_id")["score"]
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
            row = self._compare(judged, both[a].to_numpy(), both[b].to_numpy())
            rows.append({"a": a, "b": b} | row)
            findings.append(_say(a, b, row))
            if a == judged.name:
                kept = (*_COEFFICIENTS, "bias", "lower", "upper", "drift")
                metrics |= {metric_name("reliability", key, b): row[key] for key in kept if row[key] is not None}
                figures.append(_bland_altman(a, b, both, row, len(figures)))
        rated = scores.loc[scores.notna().sum(axis=1) >= 2]
        verdict = None
        if len(rated) >= FEWEST_ITEMS:
            alpha = agreement.krippendorff_alpha(rated.to_numpy().T)
            values = {"runs": len(scores.columns), "n": alpha.n_units, "alpha": alpha.estimate}
            findings.append(Finding("reliability.alpha", values))
            if alpha.estimate is not None:
                metrics["reliability.alpha"] = alpha.estimate
                verdict = _agreement_verdict(alpha.estimate, values)
        return AnalysisResult(self.name, metrics, {"agreement": pd.DataFrame(rows)}, findings, figures, verdict)

    def _compare(self, judged: Judged, a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
        levels = judged.rubric.levels
        kappa = agreement.weighted_kappa(agreement.nearest_level(a, levels), agreement.nearest_level(b, levels), levels)
        limits = agreement.bland_altman(a, b, self.level)
        return {
            "n": len(a),
            "pearson": agreement.correlation("pearson", a, b).estimate,
            "spearman": agreement.correlation("spearman", a, b).estimate,
            "kendall": agreement.correlation("kendall", a, b).estimate,
            "kappa": kappa.estimate,
            "bias": limits.bias,
            "bias_low": limits.bias_low,
            "bias_high": limits.bias_high,
            "lower": limits.lower,
            "upper": limits.upper,
            "drift": limits.drift,
            "drift_p": limits.drift_p,
            "max_difference": agreement.max_abs_difference(a, b),
        }


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
        "exact_match_rate": result.exact_match.rate,
        "n_cached": cached,
    }


def _say(a: str, b: str, row: dict[str, Any]) -> Finding:
    kept = ("n", *_COEFFICIENTS, "bias", "drift", "drift_p")
    values = {"a": a, "b": b} | {key: row[key] for key in kept}
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


def _repeat_verdict(rate: float, largest: float, worst: BackToBack, cached_share: float) -> Finding:
    """docs/verdicts.md, "Repeats"."""
    if cached_share == 1:
        return Finding("reliability.verdict_cached", {"n": worst.n})
    if rate == 1:
        return Finding("reliability.verdict_repeats", {"n": worst.n})
    return Finding("reliability.verdict_varies", {"n": worst.n, "rate": rate, "largest": largest})


def _agreement_verdict(alpha: float, values: dict[str, Any]) -> Finding:
    """docs/verdicts.md, "Agreement"."""
    word = "agree" if alpha >= _RELIABLE else "agree_roughly" if alpha >= _TENTATIVE else "disagree"
    return Finding(f"reliability.verdict_{word}", values)
