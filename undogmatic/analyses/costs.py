"""Counts what judging took per text (calls, tokens, money, time) beside a baseline, and how often a trigger fired."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Judged, check_level
from undogmatic.analyses.truth import units
from undogmatic.errors import DataError
from undogmatic.records.records import Cost, Failure, Judgment
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.runs.folder import JOURNAL, RunFolder
from undogmatic.stats.proportion import proportion

QUANTITIES = ("calls", "input_tokens", "output_tokens", "seconds", "usd")
TRIGGERED, FIRED, UNKNOWN = "details.escalated", "details.rules_fired", "details.rules_not_evaluated"
"""What `judge=selective` notes: whether the expensive judge was called (1 or 0), the rules that fired, and those that
are on but lacked a number."""


@dataclass(frozen=True)
class CostsAnalysis:
    """Cost per judged or failed text, all repeats together.

    Answers from the cache count as calls, since that is what the procedure needs. What they took when they were made is
    not known: tokens, seconds and money are those of the judgments that the cache had no part in, and unknown where
    there are none; the report says so.

    Args:
        baseline: Folder of a run over the same texts to compare with, e.g. of judge=score; None compares with one call
            per text.
        level: Confidence level of the intervals.
    """

    name: ClassVar[str] = "costs"
    baseline: str | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)

    def check(self, judged: Judged) -> None:
        """Raises ConfigError or DataError for a baseline that is no run over the same texts."""
        self._baseline(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result without headline: what is cheap is not therefore good."""
        rows = judged.frame[judged.frame["error"].ne("not_judged")]
        own, base = per_item(rows), self._baseline(judged)
        rows = read(rows)
        table = pd.DataFrame(
            [{"quantity": q, "per_item": own[q], "baseline": base[q], "ratio": _ratio(own[q], base[q])} for q in own]
        )
        metrics = {f"costs.{q}": value for q, value in own.items() if not np.isnan(value)}
        ratios = table[table["ratio"].notna()]
        metrics |= {metric_name("costs.ratio", row.quantity): float(row.ratio) for row in ratios.itertuples()}
        values: dict[str, Any] = {"calls": own["calls"], "n": len(rows), "ratio": _ratio(own["calls"], base["calls"])}
        key = "costs.calls_single" if self.baseline is None else "costs.calls_baseline"
        findings = [Finding(key, values)]
        spent = {q: own[q] for q in ("seconds", "input_tokens", "output_tokens", "usd")}
        cached, fresh = int(rows["cached"].sum()), int((rows["cached"] == 0).sum())
        if fresh:
            findings.append(Finding("costs.spent" if not np.isnan(own["usd"]) else "costs.spent_unpriced", spent))
        if cached:
            total = cached + int(rows["calls"].sum())
            told = {"n": cached, "total": total, "share": cached / total}
            findings.append(
                Finding("costs.cached", told | {"fresh": fresh}) if fresh else Finding("costs.all_cached", told)
            )
        figures = []
        if len(ratios) > 1:
            labels, bars = ratios["quantity"].tolist(), ratios["ratio"].tolist()
            data = {"labels": labels, "values": bars, "reference": 1.0, "y_label": "ratio"}
            figures.append(FigureData("ratio", "bars", data))
        tables = {"per_item": table}
        result = self._trigger(rows)
        if result is not None:
            metrics |= result.metrics
            findings += result.findings
            tables |= result.tables
            figures += result.figures
        return [AnalysisResult(self.name, metrics, tables, findings, figures)]

    def _trigger(self, rows: pd.DataFrame) -> AnalysisResult | None:
        """How often the expensive judge was called, and which rules fired; None for other judges."""
        known = rows[rows[TRIGGERED].notna()] if TRIGGERED in rows else rows.head(0)
        if known.empty:
            return None
        groups = units(known)
        called = proportion(known[TRIGGERED].astype(float) > 0, self.level, groups=groups)
        metrics = called.metrics("costs.trigger_rate")
        values = {**called.values("share"), "hits": called.hits, "n": called.n}
        findings = [Finding("costs.trigger", values)]
        listed, unknown = _names(known, FIRED), _names(known, UNKNOWN)
        rules = sorted({rule for names in (*listed, *unknown) for rule in names})
        if not rules:
            return AnalysisResult(self.name, metrics, {}, findings)
        shares = [proportion(listed.map(lambda names, r=rule: r in names), self.level, groups=groups) for rule in rules]
        table = pd.DataFrame(
            {
                "rule": rules,
                "n_fired": [s.hits for s in shares],
                "n": [s.n for s in shares],
                "share": [s.value for s in shares],
                "share_low": [s.low for s in shares],
                "share_high": [s.high for s in shares],
                "n_alone": [int(listed.map(lambda names, r=rule: names == [r]).sum()) for rule in rules],
                "n_not_evaluated": [int(unknown.map(lambda names, r=rule: r in names).sum()) for rule in rules],
            }
        ).sort_values("n_fired", ascending=False, kind="stable", ignore_index=True)
        shown = table[table["n_fired"] > 0]
        data = {"labels": shown["rule"].tolist(), "values": shown["share"].tolist(), "y_label": "share"}
        data |= {"low": shown["share_low"].tolist(), "high": shown["share_high"].tolist()}
        figures = [FigureData("rules", "bars", data)] if len(shown) > 1 else []
        return AnalysisResult(self.name, metrics, {"rules": table}, findings, figures)

    def _baseline(self, judged: Judged) -> dict[str, float]:
        if self.baseline is None:
            return {quantity: np.nan for quantity in QUANTITIES} | {"calls": 1.0}
        found = RunFolder.open(self.baseline, "`analysis.baseline`", [JOURNAL]).judgments
        own, there = set(judged.frame["item_id"]), {j.item_id for j in found}
        if own != there:
            raise DataError(
                f"`analysis.baseline`: {self.baseline} shares {len(own & there)} items with this run, which has "
                f"{len(own)}; that one has {len(there)}. Costs are compared on the same texts."
            )
        return per_item(spent(found))


def _names(rows: pd.DataFrame, column: str) -> pd.Series:
    """The comma-separated names in each row, as lists."""
    texts = rows[column].fillna("").astype(str) if column in rows else pd.Series("", rows.index)
    return texts.map(lambda text: [name.strip() for name in text.split(",") if name.strip()])


def spent(judgments: Iterable[Judgment]) -> pd.DataFrame:
    """One row per judgment: `item_id`, `repeat`, what it took, and in `error` why it failed (None: it did not)."""
    rows = [
        {
            "item_id": j.item_id,
            "repeat": j.repeat,
            "error": j.outcome.reason if isinstance(j.outcome, Failure) else None,
        }
        | j.cost.model_dump()
        for j in judgments
    ]
    return pd.DataFrame(rows, columns=["item_id", "repeat", "error", *Cost.model_fields])


def read(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those for which nobody was asked because the item lacks what the judge reads: no text of 0 calls
    was judged there. A judge that asks nobody, or nobody for some items, keeps its rows."""
    return rows[rows["error"].ne("input") | ((rows["calls"] + rows["cached"]) > 0)]


def per_item(rows: pd.DataFrame) -> dict[str, float]:
    """Mean per judgment of each quantity: calls of all, the rest of those without an answer from the cache (NaN: none).

    Money is unknown as soon as one of these judgments' is. Items that could not be read are left out (`read`).

    Args:
        rows: One row per judgment, with columns QUANTITIES, cached and error.
    """
    rows = read(rows)
    costs = rows[list(QUANTITIES)].astype("float64")
    fresh = costs[rows["cached"] == 0]
    found = {quantity: float(fresh[quantity].mean(skipna=False)) for quantity in QUANTITIES}
    return found | {"calls": float((costs["calls"] + rows["cached"]).mean())}


def _ratio(value: float, base: float) -> float:
    return value / base if base > 0 else np.nan
