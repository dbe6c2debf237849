"""The threshold that a run with `analysis=escalation` has promised for a judge, read for `judge=selective`."""

from __future__ import annotations

from typing import NamedTuple

from undogmatic.errors import ConfigError
from undogmatic.judges.base import Judge
from undogmatic.judges.history import check_member, check_scale
from undogmatic.records.records import Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import RunFolder

KEY = "`judge.rules.guaranteed.run`"
THRESHOLD, ITEMS = "escalation.threshold", "items_escalation.csv"
_LEVELS = {"low": 0.0, "medium": 1.0, "high": 2.0}


class Promise(NamedTuple):
    """The judge may decide alone where its doubt, read by `measure`, is at most `threshold`."""

    measure: str
    threshold: float


def read_promise(typed: str, cheap: Judge, rubric: Rubric) -> Promise:
    """What the run in this folder promises for this judge.

    Args:
        typed: The folder, as typed.
        cheap: The judge that is to decide alone; the run must be its.
        rubric: Its scale.
    Raises:
        ConfigError: No such run, one of another judge or scale, or one that could promise nothing.
    """
    folder = RunFolder.open(typed, KEY)
    folder.check_finished()
    check_scale(folder, rubric, "this judge")
    judge, criterion = check_member(folder, cheap, rubric, "judge.cheap")
    if "escalation.needed" not in folder.metrics:
        raise ConfigError(
            f"{folder.named}, a run without analysis=escalation. Repeat its command with `analysis=escalation "
            f"run.resume={folder.path}`; nothing is asked again."
        )
    if THRESHOLD not in folder.metrics:
        raise ConfigError(
            f"{folder.named}, which could promise no threshold for {judge} ({criterion}): its report says what is "
            "missing. Label more texts, or promise less: analysis.rate=0.8."
        )
    measures = folder.table(ITEMS)["measure"].unique()
    return Promise(str(measures[0]), float(folder.metrics[THRESHOLD]))


def doubt_of(verdict: Verdict, measure: str) -> float | None:
    """The doubt of one verdict, by the measures of `analyses.measures`; None where it has none."""
    low, high = verdict.interval or (None, None)
    values = {
        "procedure": verdict.doubt,
        "width": None if low is None or high is None else abs(high - low),
        "entropy": None if verdict.distribution is None else verdict.distribution.normalised_entropy,
        "confidence": None if verdict.confidence is None else 100.0 - verdict.confidence,
        "level": None if verdict.uncertainty is None else _LEVELS[verdict.uncertainty],
    }
    return values[measure]
