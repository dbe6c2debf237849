"""Counts what judging took per text (calls, tokens, money, time) beside a baseline, and how often a trigger fired."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Limited, LongTable, Share, columns
from undogmatic.analyses.truth import units
from undogmatic.errors import DataError
from undogmatic.records.records import Cost, Judgment
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.runs.folder import JOURNAL, RunFolder
from undogmatic.stats.proportion import proportion

QUANTITIES = ("calls", "input_tokens", "output_tokens", "seconds", "usd")
TRIGGERED, FIRED, UNKNOWN = "details.escalated", "details.rules_fired", "details.rules_not_evaluated"
"""What `judge=selective` notes: whether the expensive judge was called (1 or 0), the rules that fired, and those that
are on but lacked a number."""


@dataclass(frozen=True)
class CostsAnalysis(Limited):
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
    reads_all: ClassVar[bool] = True
    baseline: str | None = None
    level: Share = 0.95

    def check(self, judged: LongTable) -> None:
        """Raises ConfigError or DataError for a baseline that is no run over the same texts."""
        self._baseline(judged)

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result without headline: what is cheap is not therefore good."""
        frame = judged.frame
        known = [name for name in (TRIGGERED, FIRED, UNKNOWN) if name in frame]
        known += ["group"] if TRIGGERED in frame else []  # of many texts the names of the groups are long
        rows = frame[frame["error"].ne("not_judged")][[*QUANTITIES, "cached", "error", *known]]
        costs, base = per_item(rows), self._baseline(judged)
        rows = read(rows)
        tell, cheaper = Telling(self.name), {q: costs[q] / base[q] if base[q] > 0 else np.nan for q in costs}
        table = pd.DataFrame({"per_item": costs, "baseline": base, "ratio": cheaper}).rename_axis("quantity")
        tell.tables["per_item"] = table = table.reset_index()
        for quantity, value in costs.items():
            tell.number(None if np.isnan(value) else value, quantity)
        ratios = table[table["ratio"].notna()]
        for row in ratios.itertuples():
            tell.number(float(row.ratio), "ratio", row.quantity)
        calls = {"calls": costs["calls"], "n": len(rows), "ratio": cheaper["calls"]}
        tell.say("calls_single" if self.baseline is None else "calls_baseline", calls)
        cached, fresh = int(rows["cached"].sum()), int((rows["cached"] == 0).sum())
        if fresh:
            spending = {q: costs[q] for q in ("seconds", "input_tokens", "output_tokens", "usd")}
            tell.say("spent_unpriced" if np.isnan(costs["usd"]) else "spent", spending)
        if cached:
            total = cached + int(rows["calls"].sum())
            told = {"n": cached, "total": total, "share": cached / total} | ({"fresh": fresh} if fresh else {})
            tell.say("cached" if fresh else "all_cached", told)
        if len(ratios) > 1:
            data = columns(ratios, labels="quantity", values="ratio")
            tell.draw("ratio", "bars", **data, reference=1.0, y_label="ratio")
        self._trigger(tell, rows)
        return [tell.result()]

    def _trigger(self, tell: Telling, rows: pd.DataFrame) -> None:
        """How often the expensive judge was called, and which rules fired; nothing of other judges."""
        known = rows[rows[TRIGGERED].notna()] if TRIGGERED in rows else rows.head(0)
        if known.empty:
            return
        groups = units(known)
        called = proportion(known[TRIGGERED].astype(float) > 0, self.level, groups=groups)
        tell.number(called, "trigger_rate")
        tell.say("trigger", called.values("share"), hits=called.hits, n=called.n)
        listed, unknown = _names(known, FIRED), _names(known, UNKNOWN)
        table = []
        for rule in sorted({rule for names in (*listed, *unknown) for rule in names}):
            fired, lacked = (column.map(lambda names, r=rule: r in names) for column in (listed, unknown))
            share = proportion(fired, self.level, groups=groups)
            row = {"rule": rule, "n_fired": share.hits, "n": share.n} | share.row("share", "share_")
            row["n_alone"] = int(listed.map(lambda names, r=rule: names == [r]).sum())
            table.append(row | {"n_not_evaluated": int(lacked.sum())})
        if not table:
            return
        rules = pd.DataFrame(table).sort_values("n_fired", ascending=False, kind="stable", ignore_index=True)
        tell.tables["rules"], shown = rules, rules[rules["n_fired"] > 0]
        if len(shown) > 1:
            data = columns(shown, labels="rule", values="share", low="share_low", high="share_high")
            tell.draw("rules", "bars", **data, y_label="share")

    def _baseline(self, judged: LongTable) -> dict[str, float]:
        if self.baseline is None:
            return {quantity: np.nan for quantity in QUANTITIES} | {"calls": 1.0}
        judgments = RunFolder.open(self.baseline, "`analysis.baseline`", [JOURNAL]).judgments
        here, there = set(judged.frame["item_id"]), {j.item_id for j in judgments}
        if here != there:
            raise DataError(
                f"`analysis.baseline`: {self.baseline} shares {len(here & there)} items with this run, which has "
                f"{len(here)}; that one has {len(there)}. Costs are compared on the same texts."
            )
        return per_item(spent(judgments))


def _names(rows: pd.DataFrame, column: str) -> pd.Series:
    """The comma-separated names in each row, as lists."""
    texts = rows[column].fillna("").astype(str) if column in rows else pd.Series("", rows.index)
    return texts.map(lambda text: [name.strip() for name in text.split(",") if name.strip()])


def spent(judgments: Iterable[Judgment]) -> pd.DataFrame:
    """One row per judgment: `item_id`, `repeat`, what it took, and in `error` why it failed (None: it did not)."""
    rows = [
        {"item_id": j.item_id, "repeat": j.repeat, "error": getattr(j.outcome, "reason", None)} | j.cost.model_dump()
        for j in judgments
    ]
    return pd.DataFrame(rows, columns=["item_id", "repeat", "error", *Cost.model_fields])


def read(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those for which nobody was asked because the item lacks what the judge reads: no text of 0 calls
    was judged there. A judge that asks nobody, or nobody for some items, keeps its rows."""
    return rows[rows["error"].ne("input") | ((rows["calls"] + rows["cached"]) > 0)]


def per_item(rows: pd.DataFrame) -> dict[str, float]:
    """Mean per judgment of each quantity: calls of all, the rest of those without an answer from the cache (NaN: none).

    Money is unknown as soon as one of these judgments' is. Items that could not be read are left out (`read`). A row is
    a judgment, with columns QUANTITIES, cached and error.
    """
    rows = read(rows)
    costs = rows[list(QUANTITIES)].astype("float64")
    fresh = costs[rows["cached"] == 0]
    means = {quantity: float(fresh[quantity].mean(skipna=False)) for quantity in QUANTITIES}
    return means | {"calls": float((costs["calls"] + rows["cached"]).mean())}
