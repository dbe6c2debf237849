"""Does the judge repeat itself? The claim that its scores move by less than matters, over fresh answers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from undogmatic.analyses.base import Judged
from undogmatic.analyses.margins import Margin
from undogmatic.analyses.truth import units
from undogmatic.records.results import Finding, Standing
from undogmatic.stats import checks
from undogmatic.stats.claims import Claim, claim

FEWEST_GROUPS = 10
"""Fewest independent texts for a verdict."""


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


def verdict_of(found: Sequence[Repeated], margin: Margin, level: float) -> tuple[Finding, Standing]:
    """One sentence on all repeats: one beyond the margin refutes, all within it support.

    Args:
        found: Each later repeat, at a level that makes their intervals hold together.
        margin: What they were held against.
        level: That of all together.
    """
    unsaid = _unsaid(found, margin)
    if unsaid is not None:
        return unsaid, "undecided"
    known = [(one.judged, one) for one in found if one.judged is not None]
    moved, worst = max(known, key=lambda pair: pair[0].estimate)
    values: dict[str, Any] = {"n": worst.n, "moved": moved.estimate, "interval": (moved.low, moved.high)}
    values |= {"level": level, "margin": margin.value}
    if moved.outcome == "beyond":
        if worst.best is not None and worst.best.outcome == "beyond":
            return Finding("reliability.verdict_varies", values), "refuted"
        return _missing(found), "undecided"
    undecided = next((own for own, _ in known if own.outcome != "within"), None)
    if undecided is not None:
        return _open(values, worst, undecided), "undecided"
    if not all(one.worst is not None and one.worst.outcome == "within" for one in found):
        return _missing(found), "undecided"
    return Finding("reliability.verdict_repeats", values), "supported"


def _unsaid(found: Sequence[Repeated], margin: Margin) -> Finding | None:
    """What makes it impossible to say anything."""
    least = min(found, key=lambda one: one.n_groups)
    if not any(one.n for one in found) and any(one.n_cached for one in found):
        return Finding("reliability.verdict_cached", {"n": max(one.n_cached for one in found)})
    if least.judged is None:
        values = {"n": least.n, "groups": least.n_groups, "needed": FEWEST_GROUPS}
        return Finding("reliability.verdict_repeat_few", values)
    if not margin.equivalence:
        return Finding("reliability.verdict_repeat_no_margin", {"margin": margin.value})
    if all(one.constant for one in found):
        return Finding("reliability.verdict_repeat_constant", {"n": least.n})
    return None


def _open(values: dict[str, Any], worst: Repeated, undecided: Claim) -> Finding:
    if undecided.n_needed is None:
        return Finding("reliability.verdict_repeat_open_endless", values)
    values = values | {"groups": worst.n_groups, "needed": undecided.n_needed}
    return Finding("reliability.verdict_repeat_open", values)


def _missing(found: Sequence[Repeated]) -> Finding:
    return Finding("reliability.verdict_repeat_missing", {"failed": max(one.n_failed for one in found)})
