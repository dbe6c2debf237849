"""Could the length of the texts explain what a paired comparison found?"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots
from undogmatic.analyses.base import Finding
from undogmatic.analyses.pairs import Pairs
from undogmatic.stats import agreement, confound, paired, power, ranking

UNITS = ("characters", "words")
Control = Literal["survives", "fails", "inseparable"]


class Matched(NamedTuple):
    """The pairs of equal length alone; `telling` says whether they are enough to find the difference of all pairs."""

    n: int
    mean_difference: float
    test: paired.WilcoxonResult
    telling: bool


class LengthCheck(NamedTuple):
    """One unit's answer. `controlled` is None where `note` says why the regression does not exist.

    `auc` is how well length alone tells the conditions apart (0.5: not at all), `correlation` of score with length over
    the texts of both conditions.
    """

    unit: str
    auc: ranking.Auc
    correlation: agreement.Correlation
    controlled: confound.ControlledDifference | None
    same_length: bool


def check_length(pairs: Pairs, treatment: str, baseline: str, ids: pd.Index, *, unit: str, level: float) -> LengthCheck:
    """Length and score of the complete pairs `ids`, in one unit. Needs at least two pairs."""
    a, b = pairs.scores(treatment, ids), pairs.scores(baseline, ids)
    size_a, size_b = pairs.column(treatment, unit, ids), pairs.column(baseline, unit, ids)
    try:
        controlled = confound.controlled_difference(a, b, size_a, size_b, level)
    except ValueError:
        # Too few pairs, one length ratio throughout, or one pair that fixes the slope: no regression exists.
        controlled = None
    both = np.concatenate([size_a, size_b])
    return LengthCheck(
        unit,
        confound.length_auc(size_a, size_b, level),
        agreement.correlation("spearman", np.concatenate([a, b]), both),
        controlled,
        bool(np.array_equal(size_a, size_b)),
    )


def check_matched(
    pairs: Pairs,
    treatment: str,
    baseline: str,
    ids: pd.Index,
    *,
    zero_method: paired.ZeroMethod,
    alpha: float,
    target: float,
) -> Matched | None:
    """The pairs marked `length_matched` alone, or None if the dataset has no such mark or none of `ids` has it."""
    side = pairs.sides[treatment]
    if "metadata.length_matched" not in side:
        return None
    kept = ids[side.loc[ids, "metadata.length_matched"].map(_is_true).to_numpy(dtype=bool)]
    if not len(kept):
        return None
    everything = pairs.scores(treatment, ids) - pairs.scores(baseline, ids)
    d = pairs.scores(treatment, kept) - pairs.scores(baseline, kept)
    spread = float(np.std(everything, ddof=1)) if everything.size > 1 else 0.0
    telling = len(kept) >= power.fewest_pairs(alpha)
    if telling and spread > 0:
        telling = power.power_at(float(everything.mean()), len(kept), spread, alpha) >= target
    return Matched(len(kept), float(d.mean()), paired.wilcoxon(d, zero_method), telling)


def control(check: LengthCheck, matched: Matched | None, sign: int, alpha: float) -> Control:
    """Whether the difference survives: every check that the data allow must pass, and there must be one.

    Args:
        check: The regression on length.
        matched: The length-matched pairs.
        sign: +1 if the treatment is expected to score higher, else -1.
        alpha: Significance level of the length-matched pairs.
    """
    passed: list[bool] = []
    if check.same_length:
        passed.append(True)
    elif check.controlled is not None and not check.controlled.extrapolated:
        near = check.controlled.low if sign > 0 else -check.controlled.high
        passed.append(near > 0)
    if matched is not None and matched.telling:
        passed.append(matched.test.p_value < alpha and sign * matched.mean_difference > 0)
    if not passed:
        return "inseparable"
    return "survives" if all(passed) else "fails"


def say(check: LengthCheck) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of one unit."""
    unit, area = check.unit, check.auc
    metrics = plots.interval(f"ab.length_auc.{unit}", area.auc, area.low, area.high)
    values: dict[str, Any] = {"unit": unit, "auc": area.auc, "interval": (area.low, area.high)}
    if check.correlation.estimate is not None:
        metrics[f"ab.length_spearman.{unit}"] = check.correlation.estimate
    findings = [Finding("ab.length", values | {"spearman": check.correlation.estimate})]
    fit = check.controlled
    if fit is None:
        key = "ab.same_length" if check.same_length else "ab.not_controlled"
        return metrics, [*findings, Finding(key, {"unit": unit})]
    metrics |= plots.interval(f"ab.controlled_difference.{unit}", fit.intercept, fit.low, fit.high)
    values = {"unit": unit, "raw": fit.raw_difference, "difference": fit.intercept, "interval": (fit.low, fit.high)}
    key = "ab.controlled_extrapolated" if fit.extrapolated else "ab.controlled"
    return metrics, [*findings, Finding(key, values)]


def say_matched(matched: Matched | None) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and a sentence of the length-matched pairs; nothing where there are none."""
    if matched is None:
        return {}, []
    metrics = {
        "ab.matched_pairs": matched.n,
        "ab.matched_difference": matched.mean_difference,
        "ab.matched_p": matched.test.p_value,
    }
    values = {"n": matched.n, "difference": matched.mean_difference, "p": matched.test.p_value}
    return metrics, [Finding("ab.matched" if matched.telling else "ab.matched_too_few", values)]


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


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() == "true"
