"""What failed judgments of a paired comparison could hide, in numbers and sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from undogmatic.analyses import plots
from undogmatic.analyses.comparison import Settings, outward
from undogmatic.analyses.pairs import Pairs
from undogmatic.records.results import Finding
from undogmatic.stats import missing
from undogmatic.stats.claims import Claim

COVARIATES = ("characters", "words")
"""What is known of a text whose judgment failed."""


def ends(pairs: Pairs, treatment: str, scale: tuple[float, float], *, against: bool, sign: int) -> dict[str, float]:
    """What each condition's failed judgments are set to: the end of the scale that speaks most against the claim that
    the treatment scores on the expected side of all others, or most for it."""
    bottom, top = scale if against == (sign > 0) else scale[::-1]
    return {condition: bottom if condition == treatment else top for condition in pairs.sides}


def describe(
    pairs: Pairs,
    treatment: str,
    baseline: str,
    settings: Settings,
    worst: Claim | None,
    best: Claim | None,
    rng: np.random.Generator,
) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences: bounds, whether failures depend on the condition, and the estimate over all pairs.

    Args:
        pairs, treatment, baseline: The comparison; nothing is said where no judgment of the two failed.
        settings: How it is compared.
        worst, best: The difference in the expected direction over all pairs with failed judgments set to the ends of
            the scale; None for fewer than two groups.
        rng: For the folds of the estimate.
    """
    if not pairs.failed(treatment, baseline):
        return {}, []
    metrics: dict[str, float] = {}
    findings = []
    ids = pairs.sides[treatment].index
    a, b = pairs.scores(treatment, ids), pairs.scores(baseline, ids)
    groups = pairs.groups(treatment, ids).tolist()
    if worst is not None and best is not None:
        low, high = outward((worst.estimate, best.estimate), settings.sign)
        outer = outward((worst.low, best.high), settings.sign)
        metrics |= {"ab.worst_case_low": low, "ab.worst_case_high": high}
        values: dict[str, Any] = {"total": len(ids), "bounds": (low, high), "interval": outer}
        findings.append(Finding("ab.bounds", values | {"level": 1 - settings.alpha}))
    test = missing.failure_test(a, b, groups)
    values = {"treatment": treatment, "baseline": baseline, "n_a": test.n_a, "n_b": test.n_b}
    if test.p_value is None:
        findings.append(Finding("ab.failures_even", values))
    else:
        metrics["ab.failures_p"] = test.p_value
        key = "ab.failures_depend" if test.p_value < settings.alpha else "ab.failures_unclear"
        findings.append(Finding(key, values | {"p": test.p_value}))
    columns = [np.column_stack([pairs.column(c, name, ids) for name in COVARIATES]) for c in (treatment, baseline)]
    robust = missing.robust_difference(a, b, (columns[0], columns[1]), rng, groups=groups, level=settings.level)
    if robust is None:
        values = {"failed": missing.FEWEST_FAILED, "judged": missing.FEWEST_JUDGED, "groups": missing.FEWEST_UNITS}
        return metrics, [*findings, Finding("ab.no_robust", values)]
    metrics |= plots.interval("ab.robust_difference", robust.estimate, robust.low, robust.high)
    values = {"estimate": robust.estimate, "interval": (robust.low, robust.high), "level": robust.level}
    return metrics, [*findings, Finding("ab.robust", values)]
