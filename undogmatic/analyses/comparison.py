"""Two conditions of the same pairs: difference, interval, test, effect size, direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots
from undogmatic.analyses.base import Finding
from undogmatic.analyses.pairs import Pairs
from undogmatic.stats import paired, ranking, resampling

# The Hodges-Lehmann estimate averages all pairs of differences; beyond this its bootstrap takes minutes.
MOST_PAIRS_HODGES_LEHMANN = 300


class Settings(NamedTuple):
    """How to compare. `sign` is +1 if the first condition is expected to score higher, else -1."""

    sign: int
    level: float
    resamples: int
    zero_method: paired.ZeroMethod


class Comparison(NamedTuple):
    """Condition `a` minus condition `b` over the pairs that have both, shape (n_pairs,).

    `mean` is None for a single pair, `rank_biserial` where no pair differs; `auc` is how often a text of `a` lies on
    the expected side of a text of `b`, pairing ignored.
    """

    a: str
    b: str
    differences: NDArray[np.float64]
    mean: paired.BootstrapInterval | None
    rank_biserial: float | None
    share: paired.ShareInDirection
    test: paired.WilcoxonResult
    auc: ranking.Auc


def compare(pairs: Pairs, a: str, b: str, settings: Settings, rng: np.random.Generator) -> Comparison | None:
    """Compare two conditions, or None if no pair has both scores."""
    ids = pairs.complete(a, b)
    if not len(ids):
        return None
    sign, level, resamples, zero_method = settings
    first, second = pairs.scores(a, ids), pairs.scores(b, ids)
    d = first - second
    direction: Literal["positive", "negative"] = "positive" if sign > 0 else "negative"
    return Comparison(
        a,
        b,
        d,
        paired.bootstrap_interval(d, resampling.MEAN, rng, level, resamples) if d.size > 1 else None,
        paired.rank_biserial(d) if np.any(d != 0) else None,
        paired.share_in_direction(d, direction, level),
        paired.wilcoxon(d, zero_method),
        ranking.auc(sign * first, sign * second, level),
    )


def describe(found: Comparison, settings: Settings, rng: np.random.Generator) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of the primary comparison."""
    d, test, share, area = found.differences, found.test, found.share, found.auc
    metrics: dict[str, float] = {"ab.p": test.p_value, "ab.zero_differences": test.n_zero}
    metrics |= plots.interval("ab.share_expected", share.share, share.low, share.high)
    metrics |= plots.interval("ab.auc", area.auc, area.low, area.high)
    findings = []
    if found.mean is not None:
        middle = paired.bootstrap_interval(d, resampling.MEDIAN, rng, settings.level, settings.resamples)
        metrics |= plots.interval("ab.mean_difference", found.mean.estimate, found.mean.low, found.mean.high)
        metrics |= plots.interval("ab.median_difference", middle.estimate, middle.low, middle.high)
        values: dict[str, Any] = {
            "mean": found.mean.estimate,
            "mean_interval": (found.mean.low, found.mean.high),
            "median": middle.estimate,
            "median_interval": (middle.low, middle.high),
            "level": settings.level,
        }
        findings.append(Finding("ab.difference", values))
        if d.size <= MOST_PAIRS_HODGES_LEHMANN:
            typical = paired.bootstrap_interval(d, paired.hodges_lehmann, rng, settings.level, settings.resamples)
            metrics |= plots.interval("ab.hodges_lehmann", typical.estimate, typical.low, typical.high)
            findings.append(
                Finding("ab.hodges_lehmann", {"estimate": typical.estimate, "interval": (typical.low, typical.high)})
            )
        else:
            findings.append(Finding("ab.no_hodges_lehmann", {"n": d.size, "most": MOST_PAIRS_HODGES_LEHMANN}))
    values = {"statistic": test.statistic, "p": test.p_value, "n": test.n_pairs}
    findings.append(Finding(f"ab.test_{test.method}", values))
    findings.append(Finding(f"ab.zeros_{test.zero_method}", {"zeros": test.n_zero, "n": test.n_pairs}))
    if found.rank_biserial is not None:
        metrics["ab.rank_biserial"] = found.rank_biserial
        findings.append(Finding("ab.effect", {"rank_biserial": found.rank_biserial}))
    values = {"hits": share.n_in_direction, "n": share.n_pairs, "share": share.share, "ties": share.n_ties}
    findings.append(Finding("ab.share", values | {"interval": (share.low, share.high)}))
    findings.append(Finding("ab.auc", {"auc": area.auc, "interval": (area.low, area.high)}))
    return metrics, findings


def table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row per comparison, with the p-values as they are and after Holm's correction over these rows."""
    adjusted = paired.holm([c.test.p_value for c in comparisons])
    rows = [
        {
            "a": one.a,
            "b": one.b,
            "n": one.test.n_pairs,
            "n_zero": one.test.n_zero,
            "mean_difference": float(one.differences.mean()),
            "low": None if one.mean is None else one.mean.low,
            "high": None if one.mean is None else one.mean.high,
            "median_difference": float(np.median(one.differences)),
            "rank_biserial": one.rank_biserial,
            "share_expected": one.share.share,
            "auc": one.auc.auc,
            "p": one.test.p_value,
            "p_holm": float(p_holm),
        }
        for one, p_holm in zip(comparisons, adjusted, strict=True)
    ]
    return pd.DataFrame(rows)
