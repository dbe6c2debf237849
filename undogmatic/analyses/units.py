"""What a run counts as one: how many independent groups its texts form, and which of them are copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from undogmatic.analyses.base import AnalysisResult, Finding
from undogmatic.analyses.independence import Group, groups
from undogmatic.records import Item

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
