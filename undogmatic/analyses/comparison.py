"""Two conditions of the same pairs: difference against the margin, test, effect size, direction; groups are units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots
from undogmatic.analyses.margins import Margin
from undogmatic.analyses.pairs import Pairs
from undogmatic.records.results import Finding
from undogmatic.stats import means, paired, ranking, typical
from undogmatic.stats.claims import Claim, claim


class Settings(NamedTuple):
    """How to compare. `sign` is +1 if the first condition is expected to score higher, else -1.

    `level` is that of intervals which describe, 1 - `alpha` that of the mean difference by which a verdict is reached.
    """

    sign: int
    margin: Margin
    level: float
    alpha: float
    power: float
    zero_method: paired.ZeroMethod


class Comparison(NamedTuple):
    """Condition `a` minus condition `b` over the pairs that have both.

    `differences` has shape (n_pairs,), `groups` the group of each. `claim` holds the mean difference *in the expected
    direction* (sign times a minus b) against the margin, `balance` the share of pairs in that direction minus the share
    of pairs in the other one against 0; None for fewer than two groups. `test` is over the means of groups,
    `rank_biserial` None where no pair differs; `auc` is how often a text of `a` lies on the expected side of a text of
    `b`, pairing ignored.
    """

    a: str
    b: str
    differences: NDArray[np.float64]
    groups: NDArray[Any]
    claim: Claim | None
    balance: Claim | None
    rank_biserial: float | None
    share: paired.ShareInDirection
    test: paired.WilcoxonResult
    auc: ranking.Auc

    @property
    def n_groups(self) -> int:
        """Independent units."""
        return len(set(self.groups))


def compare(pairs: Pairs, a: str, b: str, settings: Settings) -> Comparison | None:
    """Compare two conditions, or None if no pair has both scores."""
    ids = pairs.complete(a, b)
    if not len(ids):
        return None
    sign, margin = settings.sign, settings.margin
    first, second = pairs.scores(a, ids), pairs.scores(b, ids)
    d, groups = first - second, pairs.groups(a, ids)
    held = balance = None
    if len(set(groups)) > 1:
        bounds = (-margin.span, margin.span)
        held = claim(sign * d, margin.value, alpha=settings.alpha, power=settings.power, groups=groups, bounds=bounds)
        balance = claim(np.sign(sign * d), 0.0, alpha=settings.alpha, groups=groups, bounds=(-1.0, 1.0))
    return Comparison(
        a,
        b,
        d,
        groups,
        held,
        balance,
        paired.rank_biserial(d) if np.any(d != 0) else None,
        paired.share_in_direction(sign * d, "positive", settings.level, groups=groups),
        paired.wilcoxon(of_groups(d, groups), settings.zero_method),
        ranking.auc(sign * first, sign * second, settings.level, groups_a=groups, groups_b=groups),
    )


def of_groups(values: NDArray[np.float64], groups: NDArray[Any]) -> NDArray[np.float64]:
    """Mean per group, in order of appearance."""
    return pd.Series(values).groupby(groups, sort=False).mean().to_numpy(dtype=np.float64)


def outward(interval: tuple[float, float], sign: int) -> tuple[float, float]:
    """An interval in the expected direction, as one of first minus second."""
    return interval if sign > 0 else (-interval[1], -interval[0])


def describe(found: Comparison, settings: Settings) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of the primary comparison."""
    d, test, share, sign = found.differences, found.test, found.share, settings.sign
    metrics: dict[str, float] = {}
    findings = []
    if found.claim is not None:
        low, high = outward((found.claim.low, found.claim.high), sign)
        span = settings.margin.span
        middle = typical.median(d, settings.level, groups=found.groups, bounds=(-span, span))
        metrics |= plots.interval("ab.mean_difference", sign * found.claim.estimate, low, high)
        values: dict[str, Any] = {
            "mean": sign * found.claim.estimate,
            "mean_interval": (low, high),
            "mean_level": 1 - settings.alpha,
            "median": middle.estimate,
            "median_interval": (middle.low, middle.high),
            "level": settings.level,
        }
        findings.append(Finding("ab.difference", values))
        if found.claim.method == "bounded":
            findings.append(Finding("ab.bounded", {"same": 2 * means.SAME_SHARE * settings.margin.span}))
    metrics |= plots.interval("ab.share_expected", share.share, share.low, share.high)
    values = {"hits": share.n_in_direction, "n": share.n_pairs, "share": share.share, "ties": share.n_ties}
    findings.append(Finding("ab.share", values | {"interval": (share.low, share.high), "level": settings.level}))
    metrics |= {"ab.p": test.p_value, "ab.zero_differences": share.n_ties}
    values = {"statistic": test.statistic, "p": test.p_value, "n": share.n_pairs, "groups": test.n_pairs}
    findings.append(Finding(f"ab.test_{test.method}", values))
    findings.append(Finding(f"ab.zeros_{test.zero_method}", {"zeros": test.n_zero, "n": test.n_pairs}))
    if found.rank_biserial is not None:
        metrics["ab.rank_biserial"] = found.rank_biserial
        findings.append(Finding("ab.effect", {"rank_biserial": found.rank_biserial}))
    return metrics, findings


def describe_hybrid(
    over: Comparison | None, under: Comparison | None, hybrid: str, settings: Settings
) -> tuple[dict[str, float], list[Finding]]:
    """The hybrid between the two: treatment minus hybrid, and hybrid minus baseline."""
    if over is None or under is None or over.claim is None or under.claim is None:
        return {}, [Finding("ab.no_hybrid", {"hybrid": hybrid})]
    metrics: dict[str, float] = {}
    values: dict[str, Any] = {"treatment": over.a, "hybrid": hybrid, "baseline": under.b, "level": 1 - settings.alpha}
    for name, metric, one in (
        ("over", "treatment_vs_hybrid", over.claim),
        ("under", "hybrid_vs_baseline", under.claim),
    ):
        ends = outward((one.low, one.high), settings.sign)
        metrics |= plots.interval(f"ab.{metric}", settings.sign * one.estimate, *ends)
        values |= {name: settings.sign * one.estimate, f"{name}_interval": ends, f"{name}_groups": one.n_units}
    return metrics, [Finding("ab.hybrid", values)]


def table(comparisons: Sequence[Comparison], sign: int) -> pd.DataFrame:
    """One row per comparison."""
    rows = []
    for one in comparisons:
        ends = (None, None) if one.claim is None else outward((one.claim.low, one.claim.high), sign)
        rows.append(
            {
                "a": one.a,
                "b": one.b,
                "n": one.differences.size,
                "n_groups": one.n_groups,
                "n_zero": one.share.n_ties,
                "mean_difference": float(one.differences.mean()),
                "low": ends[0],
                "high": ends[1],
                "median_difference": float(np.median(one.differences)),
                "rank_biserial": one.rank_biserial,
                "share_expected": one.share.share,
                "auc": one.auc.auc,
                "p": one.test.p_value,
            }
        )
    return pd.DataFrame(rows)


def describe_further(found: Comparison, settings: Settings) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences that decide nothing: the typical difference, and the conditions without their pairs."""
    area, d = found.auc, found.differences
    metrics = plots.interval("ab.auc", area.auc, area.low, area.high)
    values: dict[str, Any] = {"auc": area.auc, "interval": (area.low, area.high), "level": settings.level}
    findings = [Finding("ab.auc", values | {"treatment": found.a, "baseline": found.b})]
    if found.claim is None:
        return metrics, findings
    span = settings.margin.span
    usual = typical.hodges_lehmann_interval(d, settings.level, groups=found.groups, bounds=(-span, span))
    metrics |= plots.interval("ab.hodges_lehmann", usual.estimate, usual.low, usual.high)
    values = {"estimate": usual.estimate, "interval": (usual.low, usual.high), "level": settings.level}
    return metrics, [*findings, Finding("ab.hodges_lehmann", values)]
