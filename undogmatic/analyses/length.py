"""Could the length of the texts explain what a paired comparison found?"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.pairs import Pairs
from undogmatic.records.results import Finding
from undogmatic.stats import agreement, checks, confound, means, paired
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Estimate

UNITS = ("characters", "words")
MATCHED = 0.10
"""The texts of a pair are of equal length if they differ by at most this share of the longer one, in characters."""

SURE = 1.645
"""Standard errors by which chance lowers a mean in one of twenty runs."""

Control = Literal["survives", "confounded", "open", "inseparable"]
"""At equal length the difference is shown to be beyond the margin, shown to be below it, or neither; "inseparable"
where the texts allow no control."""
Held = Literal["beyond", "below", "open"]


class Matched(NamedTuple):
    """The pairs of equal length alone; `telling` says whether they are enough to find the difference of all pairs
    beyond the margin. `difference` is None for fewer than two groups."""

    n: int
    mean: float
    difference: Claim | None
    telling: bool


class LengthCheck(NamedTuple):
    """One unit's answer. `at_equal` is None where no regression exists.

    `auc` is how well length alone tells the conditions apart (0.5: not at all), `correlation` of score with length over
    the texts of both conditions.
    """

    unit: str
    auc: Estimate
    correlation: agreement.Coefficient
    at_equal: confound.AtEqual | None
    same_length: bool


def check_length(
    pairs: Pairs,
    treatment: str,
    baseline: str,
    ids: pd.Index,
    *,
    unit: str,
    sign: int,
    margin: float,
    level: float,
    rng: np.random.Generator,
    bounds: means.Bounds | None = None,
) -> LengthCheck:
    """Length and score of the complete pairs `ids`, in one unit, against the margin. Needs at least two pairs.

    `bounds` are the lowest and highest difference that scores could have.
    """
    a, b = pairs.scores(treatment, ids), pairs.scores(baseline, ids)
    size_a, size_b = pairs.column(treatment, unit, ids), pairs.column(baseline, unit, ids)
    groups = pairs.sides[treatment].loc[ids, "group"].tolist()
    try:
        at_equal = confound.at_equal_length(
            a, b, size_a, size_b, margin, rng, sign=sign, alpha=1 - level, groups=groups, bounds=bounds
        )
    except ValueError:
        # Too few pairs, one length ratio throughout, or one pair that fixes the slope: no regression exists.
        at_equal = None
    both = np.concatenate([size_a, size_b])
    return LengthCheck(
        unit,
        confound.length_auc(size_a, size_b, level),
        agreement.correlation("spearman", np.concatenate([a, b]), both),
        at_equal,
        bool(np.array_equal(size_a, size_b)),
    )


def check_matched(
    pairs: Pairs,
    treatment: str,
    baseline: str,
    ids: pd.Index,
    *,
    sign: int,
    margin: float,
    level: float,
) -> Matched | None:
    """The pairs of equal length (MATCHED) alone, or None if there is none or all are.

    They are telling if, with the mean difference of all pairs and the spread that these have around their own mean, the
    interval that decides about them would lie beyond the margin by so much that chance moves it below in one of twenty
    runs: the interval of few values is far wider than power formulas for tests know. Enough pairs that all agree on a
    difference which is not beyond the margin are telling, too.
    """
    size_a, size_b = (pairs.column(c, "characters", ids) for c in (treatment, baseline))
    near = np.abs(size_a - size_b) <= MATCHED * np.maximum(size_a, size_b)
    if not near.any():
        return None
    everything = pairs.scores(treatment, ids) - pairs.scores(baseline, ids)
    d = everything[near]
    groups = pairs.sides[treatment].loc[ids, "group"].to_numpy(dtype=object)[near].tolist()
    if len(set(groups)) < 2:
        return Matched(int(near.sum()), float(d.mean()), None, False)
    shared: dict[str, Any] = {"sign": sign, "alpha": 1 - level, "groups": groups}
    likely = claim(d - d.mean() + everything.mean(), margin, **shared)
    near_end = likely.estimate.low if sign > 0 else -likely.estimate.high
    room = SURE * likely.sd / math.sqrt(likely.estimate.n_groups)
    agree = float(np.ptp(d)) <= checks.SAME * float(np.abs(everything).max())
    telling = sign * float(d.mean()) <= margin if agree else near_end - room > margin
    telling = telling and likely.estimate.n_groups >= likely.fewest
    return Matched(int(near.sum()), float(d.mean()), claim(d, margin, **shared), telling)


def control(check: LengthCheck, matched: Matched | None, sign: int, margin: float) -> Control:
    """Whether a difference beyond the margin is one at equal length, too: every check that the data allow must hold,
    and there must be one.

    Args:
        check: The regression on length.
        matched: The length-matched pairs.
        sign: +1 if the treatment is expected to score higher, else -1.
        margin: In score units.
    """
    found: list[Held] = []
    if check.same_length:
        found.append("beyond")
    elif check.at_equal is not None and not check.at_equal.extrapolated:
        found.append(held(check.at_equal.difference, sign, margin))
    if matched is not None and matched.telling and matched.difference is not None:
        found.append(held(matched.difference, sign, margin))
    if not found:
        return "inseparable"
    if "below" in found:
        return "confounded"
    return "survives" if all(one == "beyond" for one in found) else "open"


def held(found: Claim, sign: int, margin: float) -> Held:
    """Where the whole interval lies: beyond the margin on the expected side, below it, or on both sides of it."""
    near, far = found.estimate.interval if sign > 0 else (-found.estimate.high, -found.estimate.low)
    return "beyond" if near > margin else "below" if far < margin else "open"


def say(check: LengthCheck, sign: int, margin: float) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of one unit."""
    unit, area = check.unit, check.auc
    metrics = area.metrics(f"ab.length_auc.{unit}")
    values: dict[str, Any] = {"unit": unit, "auc": area.value, "interval": area.interval}
    if check.correlation.estimate is not None:
        metrics[f"ab.length_spearman.{unit}"] = check.correlation.estimate
    findings = [Finding("ab.length", values | {"spearman": check.correlation.estimate})]
    fit = check.at_equal
    if fit is None:
        key = "ab.same_length" if check.same_length else "ab.not_controlled"
        return metrics, [*findings, Finding(key, {"unit": unit})]
    rest, moved = fit.difference, fit.moved
    metrics |= rest.estimate.metrics(f"ab.controlled_difference.{unit}")
    metrics |= moved.estimate.metrics(f"ab.length_shift.{unit}")
    values = {"unit": unit, "raw": fit.raw, **rest.estimate.values("difference")}
    if fit.extrapolated:
        return metrics, [*findings, Finding("ab.controlled_extrapolated", values)]
    findings.append(Finding(f"ab.controlled_{held(rest, sign, margin)}", values | {"margin": margin}))
    values = {"unit": unit, "moved": moved.estimate.value, "interval": moved.inner, "margin": margin}
    if moved.outcome == "within":
        findings.append(Finding("ab.length_moves_nothing", values))
    return metrics, findings


def say_matched(matched: Matched | None, sign: int, margin: float) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and a sentence of the length-matched pairs; nothing where there are none."""
    if matched is None:
        return {}, []
    metrics: dict[str, float] = {"ab.matched_pairs": matched.n}
    found = matched.difference
    if found is None:
        metrics["ab.matched_difference"] = matched.mean
        return metrics, [Finding("ab.matched_alone", {"n": matched.n, "difference": matched.mean})]
    metrics |= found.estimate.metrics("ab.matched_difference")
    values = {"n": matched.n, **found.estimate.values("difference")}
    if not matched.telling:
        return metrics, [Finding("ab.matched_too_few", values)]
    return metrics, [Finding(f"ab.matched_{held(found, sign, margin)}", values | {"margin": margin})]


def table(pairs: Pairs, conditions: list[str], ids: dict[str, pd.Index]) -> pd.DataFrame:
    """Length statistics per condition and unit, and the rank correlation of score with length within it."""
    rows = []
    for unit in UNITS:
        for condition in conditions:
            lengths = pairs.column(condition, unit, ids[condition])
            if not lengths.size:
                continue
            s = paired.summary(lengths)
            within = _within(pairs.scores(condition, ids[condition]), lengths)
            rows.append(
                {
                    "condition": condition,
                    "unit": unit,
                    "n": s.n,
                    "mean": s.mean,
                    "median": s.median,
                    "q1": s.q1,
                    "q3": s.q3,
                    "minimum": s.minimum,
                    "maximum": s.maximum,
                    "score_spearman": within,
                }
            )
    return pd.DataFrame(rows)


def _within(scores: NDArray[np.float64], lengths: NDArray[np.float64]) -> float:
    found = agreement.correlation("spearman", scores, lengths).estimate if scores.size >= 3 else None
    return np.nan if found is None else found
