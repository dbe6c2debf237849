"""Against gold labels: does the score follow them, in order and in size, and what did calibration change?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.analyses import plots
from undogmatic.analyses.base import (
    AnalysisResult,
    FigureData,
    Finding,
    Judged,
    check_level,
    failed_finding,
)
from undogmatic.analyses.truth import check_order, check_scale
from undogmatic.stats import agreement, ranking
from undogmatic.stats.proportion import proportion

FEWEST_TEXTS = 10
"""Fewest labelled texts for a verdict and for bootstrap intervals."""

_TENTHS = 10


class Accuracy(NamedTuple):
    """One set of scores against gold. What does not exist for these data is None; bias is score minus gold."""

    n: int
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    pearson: float | None
    mae: float
    mae_low: float | None
    mae_high: float | None
    rmse: float
    bias: float
    bias_low: float | None
    bias_high: float | None


@dataclass(frozen=True)
class LabelledAnalysis:
    """Scores against `label`, first repeat. Texts of one pair are resampled together.

    Args:
        prefix: Use only the conditions that start so, where there are any: in a mixed dataset, controls and attacks
            have labels too, and analyses of their own. None uses every labelled text.
        level: Confidence level of every interval.
        resamples: Bootstrap resamples.
    """

    name: ClassVar[str] = "labelled"
    prefix: str | None = None
    level: float = 0.95
    resamples: Annotated[int, Field(le=1_000_000)] = 2000

    def __post_init__(self) -> None:
        check_level(self.name, self.resamples, level=self.level)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited if no text has a label, DataError for a label outside the scale."""
        check_order(self.name, judged.rubric)
        judged.need(self.name, "label")
        check_scale(judged.frame, "label", "label", judged.rubric)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `labelled.spearman`, absent where no rank correlation exists."""
        self.check(judged)
        first, others = self._used(judged)
        rows = first[first["error"].isna()]
        named = first.assign(condition=first["condition"].where(first["condition"].notna(), "all"))
        counts = Judged(named, judged.rubric).counts([str(c) for c in named["condition"].unique()])
        findings = failed_finding(counts)
        if others:
            findings.append(Finding("labelled.only", {"prefix": self.prefix, "n": others}))
        metrics: dict[str, float] = {"labelled.judged": len(rows), "labelled.failed": len(first) - len(rows)}
        if rows.empty:
            verdict = Finding("labelled.verdict_too_few", {"n": 0, "needed": FEWEST_TEXTS})
            return [AnalysisResult(self.name, metrics, findings=findings, verdict=verdict)]

        accuracy = self._accuracy(rows, "score", rng)
        metrics |= {f"labelled.{k}": v for k, v in accuracy._asdict().items() if v is not None and k != "n"}
        findings += _say(accuracy)
        gold = rows["label"].to_numpy(dtype=np.float64)
        constant = float(np.mean(np.abs(gold - np.median(gold))))
        metrics["labelled.mae_of_constant"] = constant
        findings.append(Finding("labelled.constant", {"mae": constant, "median": float(np.median(gold))}))

        tables = {"by_gold": _by_gold(judged, rows)}
        for table, column in (("by_class", "condition"), ("by_register", "metadata.register")):
            if column in rows and rows[column].notna().any():
                tables[table] = _by(rows, column, table.removeprefix("by_"))
        numbers, said = self._intervals(rows)
        metrics |= numbers
        findings += said
        figures, missing = _figures(judged, rows)
        numbers, said, tables_of, drawn = self._calibration(judged, rows, rng)
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics | numbers,
                tables=tables | tables_of,
                findings=[*findings, *said, *missing],
                figures=[*figures, *drawn],
                verdict=_verdict(accuracy, constant),
                headline="labelled.spearman" if accuracy.spearman is not None else None,
            )
        ]

    def _used(self, judged: Judged) -> tuple[pd.DataFrame, int]:
        """The labelled texts to compare, judged or not, and how many other labelled texts there are."""
        labelled = judged.frame[(judged.frame["repeat"] == 0) & judged.frame["label"].notna()]
        if self.prefix is None:
            return labelled, 0
        chosen = labelled[labelled["condition"].map(lambda c: isinstance(c, str) and c.startswith(str(self.prefix)))]
        return (chosen, len(labelled) - len(chosen)) if len(chosen) else (labelled, 0)

    def _accuracy(self, rows: pd.DataFrame, column: str, rng: np.random.Generator) -> Accuracy:
        from sklearn.metrics import root_mean_squared_error

        score, gold = rows[column].to_numpy(dtype=np.float64), rows["label"].to_numpy(dtype=np.float64)
        groups = rows["pair_id"].where(rows["pair_id"].notna(), rows["item_id"]).tolist()
        n = score.size
        order = agreement.correlation("spearman", score, gold).estimate if n >= 3 else None
        linear = agreement.correlation("pearson", score, gold).estimate if n >= 3 else None
        bias = agreement.bland_altman(score, gold, self.level) if n >= 3 else None
        enough = len(set(groups)) >= FEWEST_TEXTS
        ranks = error = None
        if enough:
            error = ranking.mean_absolute_error(gold, score, rng, self.level, self.resamples, groups=groups)
            if order is not None:
                try:
                    ranks = ranking.spearman_interval(score, gold, rng, self.level, self.resamples, groups=groups)
                except ValueError:
                    # Nearly all scores are equal: too many resamples have no rank correlation for an interval.
                    ranks = None
        return Accuracy(
            n=n,
            spearman=order,
            spearman_low=None if ranks is None else ranks.low,
            spearman_high=None if ranks is None else ranks.high,
            pearson=linear,
            mae=float(np.mean(np.abs(score - gold))),
            mae_low=None if error is None else error.low,
            mae_high=None if error is None else error.high,
            rmse=float(root_mean_squared_error(gold, score)),
            bias=float(np.mean(score - gold)),
            bias_low=None if bias is None else bias.bias_low,
            bias_high=None if bias is None else bias.bias_high,
        )

    def _intervals(self, rows: pd.DataFrame) -> tuple[dict[str, float], list[Finding]]:
        """Do the judge's own intervals hold the gold label, and how wide are they?"""
        given = rows[rows["low"].notna() & rows["high"].notna()]
        if given.empty:
            return {}, []
        covered = proportion((given["low"] <= given["label"]) & (given["label"] <= given["high"]), self.level)
        width = float((given["high"] - given["low"]).mean())
        metrics = plots.interval("labelled.coverage", covered.share, covered.low, covered.high)
        metrics["labelled.interval_width"] = width
        values = {"coverage": covered.share, "interval": (covered.low, covered.high), "n": covered.n, "width": width}
        return metrics, [Finding("labelled.coverage", values)]

    def _calibration(
        self, judged: Judged, rows: pd.DataFrame, rng: np.random.Generator
    ) -> tuple[dict[str, float], list[Finding], dict[str, pd.DataFrame], list[FigureData]]:
        """Raw and calibrated score on the texts that have both."""
        both = rows[rows["raw_score"].notna()]
        if both.empty or (both["raw_score"] == both["score"]).all():
            return {}, [], {}, []
        before, after = self._accuracy(both, "raw_score", rng), self._accuracy(both, "score", rng)
        table = pd.DataFrame([{"score": k} | a._asdict() for k, a in (("raw", before), ("calibrated", after))])
        metrics = {"labelled.raw_mae": before.mae, "labelled.raw_bias": before.bias, "labelled.raw_rmse": before.rmse}
        if before.spearman is not None:
            metrics["labelled.raw_spearman"] = before.spearman
        values: dict[str, Any] = {"n": before.n, "before": before.mae, "after": after.mae}
        values |= {"spearman_before": before.spearman, "spearman_after": after.spearman}
        figures = []
        if len(both) >= plots.FEWEST:
            columns = {"raw": "raw_score", "calibrated": "score", "gold": "label"}
            data: dict[str, Any] = {name: both[column].tolist() for name, column in columns.items()}
            figures = [FigureData("calibration", "calibration", data | {"limits": plots.limits(judged.rubric)})]
        return metrics, [Finding("labelled.calibrated", values)], {"calibration": table}, figures


def _say(a: Accuracy) -> list[Finding]:
    order = {"spearman": a.spearman, "interval": (a.spearman_low, a.spearman_high), "pearson": a.pearson, "n": a.n}
    size = {"mae": a.mae, "interval": (a.mae_low, a.mae_high), "rmse": a.rmse}
    bias = {"bias": a.bias, "interval": (a.bias_low, a.bias_high)}
    return [Finding("labelled.order", order), Finding("labelled.size", size), Finding("labelled.bias", bias)]


def _by(rows: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """Number, means, bias and error per group, the worst first."""
    table = _errors(rows, rows[column].to_numpy(dtype=object))
    ordered = table.sort_values("mae", ascending=False, kind="stable")
    return ordered.rename_axis(name).reset_index()


def _by_gold(judged: Judged, rows: pd.DataFrame) -> pd.DataFrame:
    """Per tenth of the scale that gold lies in: where on the scale the score is too high or too low."""
    edges = np.linspace(judged.rubric.minimum, judged.rubric.maximum, _TENTHS + 1)
    tenth = np.clip(np.searchsorted(edges, rows["label"].to_numpy(), side="right") - 1, 0, _TENTHS - 1)
    table = _errors(rows, tenth).reset_index(names="tenth")
    table.insert(0, "gold_from", edges[table["tenth"]])
    table.insert(1, "gold_to", edges[table["tenth"] + 1])
    return table.drop(columns="tenth")


def _errors(rows: pd.DataFrame, groups: NDArray[Any]) -> pd.DataFrame:
    error = rows["score"] - rows["label"]
    numbers = pd.DataFrame({"label": rows["label"], "score": rows["score"], "bias": error, "mae": error.abs()})
    grouped = numbers.groupby(groups)
    table = grouped.mean().rename(columns={"label": "mean_gold", "score": "mean_score"})
    table.insert(0, "n", grouped.size())
    return table


def _figures(judged: Judged, rows: pd.DataFrame) -> tuple[list[FigureData], list[Finding]]:
    if len(rows) < plots.FEWEST:
        return [], [plots.too_few("scatter", len(rows))]
    data: dict[str, Any] = {
        "x": rows["label"].tolist(),
        "y": rows["score"].tolist(),
        "x_label": "label",
        "y_label": "score",
        "identity": True,
        "limits": plots.limits(judged.rubric),
    }
    if rows["condition"].notna().all():
        data["groups"] = rows["condition"].tolist()
    return [FigureData("scatter", "scatter", data)], []


def _verdict(a: Accuracy, constant: float) -> Finding:
    """docs/verdicts.md, "Gold labels"."""
    if a.mae_high is None:
        return Finding("labelled.verdict_too_few", {"n": a.n, "needed": FEWEST_TEXTS})
    if a.spearman_high is not None and a.spearman_high < 0:
        values = {"spearman": a.spearman, "interval": (a.spearman_low, a.spearman_high), "n": a.n}
        return Finding("labelled.verdict_reversed", values)
    if a.spearman_low is None or a.spearman_low <= 0:
        return Finding("labelled.verdict_does_not_track", {"spearman": a.spearman, "n": a.n})
    values = {"spearman": a.spearman, "mae": a.mae, "constant": constant, "n": a.n}
    return Finding(
        "labelled.verdict_tracks_scale" if a.mae_high < constant else "labelled.verdict_tracks_order", values
    )
