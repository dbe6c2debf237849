"""Is a doubt worth something beyond the score: every measure at equal score, corrected for their number, and the worst
that the failed judgments could make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from undogmatic.analyses import plots
from undogmatic.analyses.measures import Measure
from undogmatic.analyses.truth import units
from undogmatic.analyses.worth_parts import Part, Settings, groups_or_none, nothing
from undogmatic.records.results import Finding, Standing
from undogmatic.records.rubric import Rubric
from undogmatic.stats import beyond_score, review
from undogmatic.stats.beyond_score import Beyond
from undogmatic.stats.jackknife import Coefficient

BARELY = 0.1
"""A correlation at equal score that surely lies below this is no better than the score: Cohen's small effect."""


class Worst(NamedTuple):
    """The used measure if every failed judgment were as bad as can be: see `if_failed`."""

    n: int
    gain: Coefficient
    beyond: Beyond | None


def measured(rows: pd.DataFrame, found: Mapping[Measure, pd.Series], settings: Settings) -> dict[Measure, Beyond]:
    """Every measure that varies, at equal score; {} with too few groups. Intervals have the level that Holm's
    correction over all these measures gives them, so that one lies above 0 exactly if its test holds after correction;
    measures that order the texts alike, and those that follow from the score, are no further hypotheses."""
    if len(set(units(rows))) < beyond_score.FEWEST:
        return {}
    own = {name: _beyond(rows, doubt, settings, settings.level) for name, doubt in found.items()}
    tested = {name: one for name, one in own.items() if one is not None}
    orders = {name: stats.rankdata(found[name].round(9)).tobytes() for name in tested}
    p = {orders[name]: one.p_value for name, one in tested.items() if not one.function}
    alpha = 1 - settings.level
    among: dict[bytes, int] = {}
    held = len(p)
    for place, order in enumerate(sorted(p, key=lambda order: p[order])):
        # The first that does not hold ends it: all others are held against what that one was held against.
        if held == len(p) - place:
            held -= p[order] <= alpha / held
            among[order] = len(p) - place
        else:
            among[order] = held
    return {
        name: one
        if among.get(orders[name], 1) == 1
        else _beyond(rows, found[name], settings, 1 - alpha / among[orders[name]]) or one
        for name, one in tested.items()
    }


def cells(found: Beyond | None) -> dict[str, Any]:
    """The columns of one measure in the table of measures."""
    if found is None:
        return dict.fromkeys(("beyond_score", "beyond_low", "beyond_high", "share_of_score"))
    ends = (found.correlation, found.low, found.high)
    given = dict(zip(("beyond_score", "beyond_low", "beyond_high"), ends, strict=True))
    return given | {"share_of_score": found.share_of_score}


def said(found: Beyond | None, n: int, alone: Coefficient) -> Part:
    """Metrics and sentence of the measure that is used."""
    values: dict[str, Any] = {"alone": alone.estimate, "alone_interval": (alone.low, alone.high)}
    if found is None:
        return nothing(Finding("calibration.beyond_few", values | {"n": n, "needed": beyond_score.FEWEST}))
    metrics = {"calibration.share_of_score": found.share_of_score}
    values |= {"share": found.share_of_score, "n": found.n_units}
    if np.isnan(found.correlation):
        return Part(metrics, [Finding("calibration.beyond_function", values)], {}, [])
    metrics |= plots.interval("calibration.beyond_score", found.correlation, found.low, found.high)
    values |= {"beyond": found.correlation, "interval": (found.low, found.high), "level": found.level}
    return Part(metrics, [Finding("calibration.beyond", values)], {}, [])


def if_failed(
    failed: pd.DataFrame,
    rows: pd.DataFrame,
    doubt: pd.Series,
    settings: Settings,
    rubric: Rubric,
    level: float,
    rng: np.random.Generator,
) -> Worst | None:
    """What the measure would be worth if each failed text had the score farthest from its true one and the least doubt.

    A text without a judgment is not one whose error was found. `level` is that of the association. None where nothing
    failed.
    """
    if failed.empty:
        return None
    ends = np.array([rubric.minimum, rubric.maximum])
    away = np.abs(failed["truth"].to_numpy(dtype=np.float64)[:, None] - ends)
    guessed = failed.assign(score=ends[away.argmax(axis=1)], error_size=away.max(axis=1))
    both = pd.concat([rows, guessed], ignore_index=True)[["group", "score", "error_size"]]
    series = pd.concat([doubt, pd.Series(float(doubt.min()), guessed.index)], ignore_index=True)
    gain = review.review_gain_interval(
        series, both["error_size"], rng, settings.level, groups=groups_or_none(units(both))
    )
    few = len(set(units(both))) < beyond_score.FEWEST
    return Worst(len(failed), gain, None if few else _beyond(both, series, settings, level))


def verdict(
    metrics: Mapping[str, float], found: Beyond | None, worst: Worst | None, n: int, measure: Measure
) -> tuple[Finding, Standing]:
    """docs/verdicts.md, "Worth of the uncertainty", for a doubt that varies; `metrics` of `worth.errors_found`."""
    gain, low, high = (metrics[f"calibration.review_gain{end}"] for end in ("", "_low", "_high"))
    values: dict[str, Any] = {"gain": gain, "interval": (low, high), "n": n, "measure": measure}
    word, standing = _word(low, high, found, worst)
    if word == "few":
        values["few"] = beyond_score.FEWEST
    elif word == "failed" and worst is not None:
        ends = (worst.gain.low, worst.gain.high)
        values |= {"failed": worst.n, "worst": worst.gain.estimate, "worst_interval": ends}
    elif word == "function" and found is not None:
        values["share"] = found.share_of_score
    elif word in ("worth", "score_alone", "undecided", "undecided_needed") and found is not None:
        values |= {"beyond": found.correlation, "beyond_interval": (found.low, found.high), "level": found.level}
        values |= {"needed": found.units_needed} if word == "undecided_needed" else {}
    return Finding(f"calibration.verdict_{word}", values), standing


def _word(low: float, high: float, found: Beyond | None, worst: Worst | None) -> tuple[str, Standing]:
    """The first rule that applies; `low` and `high` are the ends of the gain's interval."""
    rules: list[tuple[bool, str, Standing]] = [
        (high < 0, "misleads", "refuted"),
        (found is not None and found.function, "function", "refuted"),
        (low <= 0, "unclear", "undecided"),
        (found is None, "few", "undecided"),
        (found is not None and np.isnan(found.correlation), "error_of_score", "refuted"),
        (found is not None and found.high < BARELY and not found.low > 0, "score_alone", "refuted"),
        (found is not None and not found.low > 0 and found.units_needed is None, "undecided", "undecided"),
        (found is not None and not found.low > 0, "undecided_needed", "undecided"),
        (worst is not None and not _holds(worst), "failed", "undecided"),
    ]
    return next(((word, standing) for applies, word, standing in rules if applies), ("worth", "supported"))


def _holds(worst: Worst) -> bool:
    return worst.gain.low > 0 and worst.beyond is not None and worst.beyond.low > 0


def _beyond(rows: pd.DataFrame, doubt: pd.Series, settings: Settings, level: float) -> Beyond | None:
    """None for a doubt that is the same for all."""
    u = doubt.to_numpy(dtype=np.float64).round(9)
    if np.ptp(u) == 0:
        return None
    groups = groups_or_none(units(rows))
    return beyond_score.beyond_score(u, rows["error_size"], rows["score"], settings.middle, level, groups=groups)
