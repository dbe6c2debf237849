"""Counts what judging took per text (calls, tokens, money, time) beside a baseline, and how often a
trigger fired."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.errors import DataError
from undogmatic.examinations.base import Limited, Share, columns
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import units
from undogmatic.records.records import Cost, Judgment
from undogmatic.records.results import Told
from undogmatic.runs.folder import JOURNAL, RunFolder
from undogmatic.safety.spool import HELD
from undogmatic.stats.estimate import Unit
from undogmatic.stats.proportion import proportion

QUANTITIES = ("calls", "input_tokens", "output_tokens", "seconds", "usd")
_UNITS: dict[str, Unit] = {"seconds": "seconds", "usd": "usd"}
TRIGGERED = "details.escalated"
FIRED = "details.rules_fired"
UNKNOWN = "details.rules_not_evaluated"
"""What `judge=selective` notes: whether the expensive judge was called (1 or 0), the rules that
fired, and those that are on but lacked a number."""


@dataclass(frozen=True)
class CostsAnalysis(Limited):
    """Cost per judged or failed text, all repeats together.

    Answers from the cache count as calls, since that is what the procedure needs. What they took
    when they were made is not known: tokens, seconds and money are those of the judgments that the
    cache had no part in, and unknown where there are none; the report says so.

    Args:
        baseline: Folder of a run over the same texts to compare with, e.g. of judge=score; None
            compares with one call per text.
        level: Confidence level of the intervals.
    """

    name: ClassVar[str] = "costs"
    reads_all: ClassVar[bool] = True
    baseline: str | None = None
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises ConfigError or DataError for a baseline that is no run over the same texts."""
        self._baseline(judged)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result without headline: what is cheap is not therefore good."""
        frame = judged.frame
        # A text whose turn never came cost nothing, and would make the others look cheap.
        rows = read(frame[frame["error"].ne("not_judged")])
        costs, base = per_item(rows), self._baseline(judged)
        tell = Told(self.name)
        cheaper = {q: costs[q] / base[q] if base[q] > 0 else np.nan for q in costs}
        table = pd.DataFrame(
            {"per_item": costs, "baseline": base, "ratio": cheaper}
        ).rename_axis("quantity")
        tell.tables["per_item"] = table = table.reset_index()
        for quantity, value in costs.items():
            unit = _UNITS.get(quantity, "")
            tell.number(None if np.isnan(value) else value, quantity, unit=unit)
        ratios = table[table["ratio"].notna()]
        for row in ratios.itertuples():
            tell.number(float(row.ratio), "ratio", row.quantity)
        calls = {"calls": costs["calls"], "n": len(rows), "ratio": cheaper["calls"]}
        # Without a run to compare with, one call for each text is the cheapest that a judge can
        # be.
        tell.say("calls_single" if self.baseline is None else "calls_baseline", calls)
        cached = int(rows["cached"].sum())
        fresh = int((rows["cached"] == 0).sum())
        # Without one text that was judged anew nothing is known of time and money.
        if fresh:
            spending = {
                q: costs[q] for q in ("seconds", "input_tokens", "output_tokens", "usd")
            }
            tell.say("spent_unpriced" if np.isnan(costs["usd"]) else "spent", spending)
        if cached:
            total = cached + int(rows["calls"].sum())
            told = {"n": cached, "total": total, "share": cached / total} | (
                {"fresh": fresh} if fresh else {}
            )
            tell.say("cached" if fresh else "all_cached", told)
        if len(ratios) > 1:
            data = columns(ratios, labels="quantity", values="ratio")
            tell.draw("ratio", "bars", **data, reference=1.0, y_label="ratio")
        if TRIGGERED in frame:
            noted = [name for name in (TRIGGERED, FIRED, UNKNOWN) if name in frame]
            self._trigger(tell, rows[["group", *noted]])
        return [tell.result()]

    def _trigger(self, tell: Told, rows: pd.DataFrame) -> None:
        """How often the expensive judge was called, and which rules fired; nothing of other
        judges."""
        known = rows[rows[TRIGGERED].notna()]
        # Other judges note nothing of the kind.
        if known.empty:
            return
        groups = units(known)
        called = proportion(
            known[TRIGGERED].astype(float) > 0, self.level, groups=groups
        )
        tell.number(called, "trigger_rate")
        tell.say("trigger", called.values("share"), hits=called.hits, n=called.n)
        listed, unknown = _names(known, FIRED), _names(known, UNKNOWN)
        table = []
        for rule in sorted({rule for names in (*listed, *unknown) for rule in names}):
            fired, lacked = (
                column.map(lambda names, r=rule: r in names)
                for column in (listed, unknown)
            )
            share = proportion(fired, self.level, groups=groups)
            row = {"rule": rule, "n_fired": share.hits, "n": share.n} | share.row(
                "share", "share_"
            )
            row["n_alone"] = int(listed.map(lambda names, r=rule: names == [r]).sum())
            table.append(row | {"n_not_evaluated": int(lacked.sum())})
        if not table:
            return
        rules = pd.DataFrame(table).sort_values(
            "n_fired", ascending=False, kind="stable", ignore_index=True
        )
        tell.table("rules", rules, share="share")
        shown = rules[rules["n_fired"] > 0]
        if len(shown) > 1:
            data = columns(
                shown, labels="rule", values="share", low="share_low", high="share_high"
            )
            tell.draw("rules", "bars", **data, y_label="share")

    def _baseline(self, judged: RunEvidence) -> dict[str, float]:
        if self.baseline is None:
            return {quantity: np.nan for quantity in QUANTITIES} | {"calls": 1.0}
        judgments = RunFolder.open(
            self.baseline, "`analysis.baseline`", [JOURNAL]
        ).judgments
        here, there = set(judged.frame["item_id"]), {j.item_id for j in judgments}
        if here != there:
            raise DataError(
                f"`analysis.baseline`: {self.baseline} shares {len(here & there)} items with this"
                f" run, which has {len(here)}; that one has {len(there)}. Costs are compared on the"
                " same texts."
            )
        return per_item(spent(judgments))


def _names(rows: pd.DataFrame, column: str) -> pd.Series:
    """The comma-separated names in each row, as lists."""
    texts = (
        rows[column].fillna("").astype(str)
        if column in rows
        else pd.Series("", rows.index)
    )
    return texts.map(
        lambda text: [name.strip() for name in text.split(",") if name.strip()]
    )


def spent(judgments: Iterable[Judgment]) -> pd.DataFrame:
    """One row per judgment: `item_id`, `repeat`, what it took, and in `error` why it failed (None:
    it did not)."""
    names = ["item_id", "repeat", "error", *Cost.model_fields]
    rows = (
        (
            j.item_id,
            j.repeat,
            getattr(j.outcome, "reason", None),
            *(getattr(j.cost, name) for name in names[3:]),
        )
        for j in judgments
    )
    # as objects a row takes eight times as much
    parts = [pd.DataFrame([*islice(rows, HELD)], columns=names)]
    while len(parts[-1]) == HELD and (more := [*islice(rows, HELD)]):
        parts.append(pd.DataFrame(more, columns=names))
    return pd.concat(
        [part.astype({"error": object, "usd": float}) for part in parts],
        ignore_index=True,
    )


def read(rows: Any) -> Any:
    """The rows of a table without those for which nobody was asked because the item lacks what the
    judge reads: no text of 0 calls was judged there. A judge that asks nobody, or nobody for some
    items, keeps its rows.
    """
    return rows[rows["error"].ne("input") | ((rows["calls"] + rows["cached"]) > 0)]


def per_item(rows: Any) -> dict[str, float]:
    """Mean per judgment of each quantity: calls of all, the rest of those without an answer from
    the cache (NaN: none).

    Money is unknown as soon as one of these judgments' is. Items that could not be read are left
    out (`read`). A row is a judgment, with columns QUANTITIES, cached and error; they are read one
    after the other.
    """
    rows = read(rows)
    fresh = (rows["cached"] == 0).to_numpy()
    means = {
        name: float(rows[name].astype("float64")[fresh].mean(skipna=False))
        for name in QUANTITIES
    }
    return means | {
        "calls": float((rows["calls"].astype("float64") + rows["cached"]).mean())
    }
