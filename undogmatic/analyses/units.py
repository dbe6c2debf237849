"""What a run counts as one: how many independent groups its texts form, and which of them are copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from undogmatic.analyses.independence import Group, groups
from undogmatic.records.records import Item
from undogmatic.records.results import AnalysisResult, Finding

NAME = "units"
MOST_GROUPS, MOST_NAMED = 10, 4


def units(items: Sequence[Item]) -> AnalysisResult:
    """How many independent groups the texts form and by what; the copies and near-copies among them; the largest
    groups that are more than a pair. Its findings are said once per run, whatever is analysed."""
    found = groups(items)
    copied = [group for group in found if group.copied]
    n_copied = sum(len(group.copied) for group in copied)
    metrics = {"units.texts": len(items), "units.groups": len(found), "units.copies": n_copied}
    values = {"texts": len(items), "groups": len(found)}
    findings = [Finding("units.apart" if len(found) == len(items) else "units.groups", values)]
    if copied:
        one, other = max(copied, key=lambda group: len(group.copied)).copied[:2]
        findings.append(Finding("units.copies", values | {"n": n_copied, "one": one, "other": other}))
    else:
        findings.append(Finding("units.no_copies", {}))
    if len(found) == 1 < len(items):
        findings.append(Finding("units.one", values))
    return AnalysisResult(
        NAME, metrics, _largest(found), findings, texts=(Path(__file__).with_name(f"{NAME}.texts.yaml"),)
    )


def withheld(results: Sequence[AnalysisResult], seen: int, texts: int) -> list[AnalysisResult]:
    """The results, none of which supports a judge by texts that it has seen.

    Args:
        results: Of all analyses of a run.
        seen: How many of the judged texts were used to fit what judged them, or are shown to it as examples.
        texts: How many were judged.
    """
    said = Finding("units.verdict_seen", {"seen": seen, "texts": texts})
    return [
        replace(each, verdict=said, standing="undecided") if seen and each.standing == "supported" else each
        for each in results
    ]


class Failed(NamedTuple):
    """Failed judgments of a run: how many of how many, and the reason that most of them have."""

    n: int
    total: int
    reason: str
    n_reason: int

    @classmethod
    def of(cls, errors: pd.Series) -> Failed:
        """From the column `error` of the long table."""
        reasons = errors.dropna().value_counts()
        if reasons.empty:
            return cls(0, len(errors), "", 0)
        return cls(int(reasons.sum()), len(errors), str(reasons.index[0]), int(reasons.iloc[0]))

    def too_many(self, allowed: float) -> bool:
        """Whether more than the share `allowed` failed."""
        return self.total > 0 and self.n > allowed * self.total


def too_many_failed(results: Sequence[AnalysisResult], failed: Failed, allowed: float) -> list[AnalysisResult]:
    """The results without a verdict other than that too many judgments failed; the first result says so if none has.

    Args:
        results: Of all analyses of a run, `units` first.
        failed: Of the run.
        allowed: The share of judgments that may fail (`engine.max_failures`).
    """
    if not failed.too_many(allowed):
        return list(results)
    values: dict[str, Any] = {
        "failed": failed.n,
        "total": failed.total,
        "share": failed.n / failed.total,
        "allowed": allowed,
    }
    values |= {"count": failed.n_reason, "reason": f"failed_{failed.reason}", "advice": f"advice_{failed.reason}"}
    said = Finding("units.verdict_failed", values)
    if all(each.verdict is None for each in results):
        return [replace(each, verdict=said if n == 0 else None) for n, each in enumerate(results)]
    return [
        each if each.verdict is None else replace(each, verdict=said, standing=each.standing and "undecided")
        for each in results
    ]


def _largest(found: Sequence[Group]) -> dict[str, pd.DataFrame]:
    rows = [
        {"group": group.name, "n": len(group.ids), "tied_by": _tie(group), "texts": ", ".join(group.ids[:MOST_NAMED])}
        for group in sorted(found, key=lambda group: -len(group.ids))
        if _tie(group) != "pair"
    ]
    return {"largest": pd.DataFrame(rows[:MOST_GROUPS])} if rows else {}


def _tie(group: Group) -> str:
    """What ties the group, copies first: all else was known to whoever made the dataset."""
    designed = [tie for tie in group.ties if tie != "copies"]
    return "copies" if group.copied else next((tie for tie in designed if tie != "pair"), "pair")
