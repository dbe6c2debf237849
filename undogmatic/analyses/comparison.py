"""Compares two conditions of the same pairs, and gathers what the rules of the paired verdict look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import length, plots, rivals
from undogmatic.analyses.pairs import Pairs
from undogmatic.analyses.ruling import AB, Ruling, verdict
from undogmatic.analyses.truth import Margin
from undogmatic.records.results import Finding
from undogmatic.stats import claims, means, paired, ranking, typical
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Estimate


class PairSettings(NamedTuple):
    """How to compare. `sign` is +1 if the first condition is expected to score higher, else -1.

    `level` is that of intervals which describe, 1 - `alpha` that of the mean difference by which a verdict is reached;
    `seen` is what the surface judge sees.
    """

    sign: int
    margin: Margin
    level: float
    alpha: float
    power: float
    zero_method: paired.ZeroMethod
    seen: rivals.Seen = rivals.Seen()


class PairComparison(NamedTuple):
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
    auc: Estimate

    @property
    def n_groups(self) -> int:
        """Independent units."""
        return len(set(self.groups))


def compare(pairs: Pairs, a: str, b: str, settings: PairSettings) -> PairComparison | None:
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
    return PairComparison(
        a,
        b,
        d,
        groups,
        held,
        balance,
        paired.rank_biserial(d) if np.any(d != 0) else None,
        paired.share_in_direction(sign * d, settings.level, groups=groups),
        paired.wilcoxon(of_groups(d, groups), settings.zero_method),
        ranking.auc(sign * first, sign * second, settings.level, groups_a=groups, groups_b=groups),
    )


def of_groups(values: NDArray[np.float64], groups: NDArray[Any]) -> NDArray[np.float64]:
    """Mean per group, in order of appearance."""
    return pd.Series(values).groupby(groups, sort=False).mean().to_numpy(dtype=np.float64)


def outward(interval: tuple[float, float], sign: int) -> tuple[float, float]:
    """An interval in the expected direction, as one of first minus second."""
    return interval if sign > 0 else (-interval[1], -interval[0])


def describe(found: PairComparison, settings: PairSettings) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of the primary comparison."""
    d, test, share, sign = found.differences, found.test, found.share, settings.sign
    metrics: dict[str, float] = {}
    findings = []
    if found.claim is not None:
        low, high = outward(found.claim.estimate.interval, sign)
        span = settings.margin.span
        middle = typical.median(d, settings.level, groups=found.groups, bounds=(-span, span))
        metrics |= plots.interval("ab.mean_difference", sign * found.claim.estimate.value, low, high)
        values: dict[str, Any] = {
            "mean": sign * found.claim.estimate.value,
            "mean_interval": (low, high),
            "mean_level": 1 - settings.alpha,
            **middle.values("median", "median_"),
            "level": settings.level,
        }
        findings.append(Finding("ab.difference", values))
        if found.claim.estimate.method == "bounded":
            findings.append(Finding("ab.bounded", {"same": 2 * means.SAME_SHARE * settings.margin.span}))
    metrics |= share.estimate.metrics("ab.share_expected")
    values = {"hits": share.estimate.hits, "n": share.estimate.n, "share": share.estimate.value, "ties": share.n_ties}
    findings.append(Finding("ab.share", values | {"interval": share.estimate.interval, "level": settings.level}))
    metrics |= {"ab.p": test.p_value, "ab.zero_differences": share.n_ties}
    values = {"statistic": test.statistic, "p": test.p_value, "n": share.estimate.n, "groups": test.n_pairs}
    findings.append(Finding(f"ab.test_{test.method}", values))
    findings.append(Finding(f"ab.zeros_{test.zero_method}", {"zeros": test.n_zero, "n": test.n_pairs}))
    if found.rank_biserial is not None:
        metrics["ab.rank_biserial"] = found.rank_biserial
        findings.append(Finding("ab.effect", {"rank_biserial": found.rank_biserial}))
    return metrics, findings


def describe_hybrid(
    over: PairComparison | None, under: PairComparison | None, hybrid: str, settings: PairSettings
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
        ends = outward(one.estimate.interval, settings.sign)
        metrics |= plots.interval(f"ab.{metric}", settings.sign * one.estimate.value, *ends)
        values |= {
            name: settings.sign * one.estimate.value,
            f"{name}_interval": ends,
            f"{name}_groups": one.estimate.n_groups,
        }
    return metrics, [Finding("ab.hybrid", values)]


def table(comparisons: Sequence[PairComparison], sign: int) -> pd.DataFrame:
    """One row per comparison."""
    rows = []
    for one in comparisons:
        ends = (None, None) if one.claim is None else outward(one.claim.estimate.interval, sign)
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
                "share_expected": one.share.estimate.value,
                "auc": one.auc.value,
                "p": one.test.p_value,
            }
        )
    return pd.DataFrame(rows)


def describe_further(found: PairComparison, settings: PairSettings) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences that decide nothing: the typical difference, and the conditions without their pairs."""
    area, d = found.auc, found.differences
    metrics = area.metrics("ab.auc")
    values: dict[str, Any] = {**area.values("auc"), "level": settings.level}
    findings = [Finding("ab.auc", values | {"treatment": found.a, "baseline": found.b})]
    if found.claim is None:
        return metrics, findings
    span = settings.margin.span
    usual = typical.hodges_lehmann_interval(d, settings.level, groups=found.groups, bounds=(-span, span))
    metrics |= usual.metrics("ab.hodges_lehmann")
    values = {**usual.values("estimate"), "level": settings.level}
    return metrics, [*findings, Finding("ab.hodges_lehmann", values)]


COVARIATES = ("characters", "words")
"""What is known of a text whose judgment failed."""


def ends(pairs: Pairs, treatment: str, scale: tuple[float, float], *, against: bool, sign: int) -> dict[str, float]:
    """What each condition's failed judgments are set to: the end of the scale that speaks most against the claim that
    the treatment scores on the expected side of all others, or most for it."""
    bottom, top = scale if against == (sign > 0) else scale[::-1]
    return {condition: bottom if condition == treatment else top for condition in pairs.sides}


def describe_failures(
    pairs: Pairs,
    treatment: str,
    baseline: str,
    settings: PairSettings,
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
        low, high = outward((worst.estimate.value, best.estimate.value), settings.sign)
        outer = outward((worst.estimate.low, best.estimate.high), settings.sign)
        metrics |= {"ab.worst_case_low": low, "ab.worst_case_high": high}
        values: dict[str, Any] = {"total": len(ids), "bounds": (low, high), "interval": outer}
        findings.append(Finding("ab.bounds", values | {"level": 1 - settings.alpha}))
    test = paired.failure_test(a, b, groups)
    values = {"treatment": treatment, "baseline": baseline, "n_a": test.n_a, "n_b": test.n_b}
    if test.p_value is None:
        findings.append(Finding("ab.failures_even", values))
    else:
        metrics["ab.failures_p"] = test.p_value
        key = "ab.failures_depend" if test.p_value < settings.alpha else "ab.failures_unclear"
        findings.append(Finding(key, values | {"p": test.p_value}))
    columns = [np.column_stack([pairs.column(c, name, ids) for name in COVARIATES]) for c in (treatment, baseline)]
    robust = paired.robust_difference(a, b, (columns[0], columns[1]), rng, groups=groups, level=settings.level)
    if robust is None:
        values = {"failed": paired.FEWEST_FAILED, "judged": paired.FEWEST_JUDGED, "groups": paired.FEWEST_UNITS}
        return metrics, [*findings, Finding("ab.no_robust", values)]
    metrics |= robust.metrics("ab.robust_difference")
    values = {**robust.values("estimate"), "level": robust.level}
    return metrics, [*findings, Finding("ab.robust", values)]


class Sides(NamedTuple):
    """The conditions that are compared; `hybrid` is None where no pair has one."""

    treatment: str
    baseline: str
    hybrid: str | None

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [name for name in self if name is not None]


class Lengths(NamedTuple):
    """The controls for length: by unit, by pairs of equal length, and what they come to together."""

    checks: list[length.LengthCheck]
    matched: length.Matched | None
    control: length.Control


class HybridEvidence(NamedTuple):
    """Claims in the expected direction: treatment minus hybrid, hybrid minus baseline; None for fewer than two groups.

    `n_groups` independent units have treatment and hybrid. `surface` is the rival of treatment against hybrid; None,
    not looked at, where their difference is not beyond the margin.
    """

    n_groups: int
    over: Claim | None
    under: Claim | None
    surface: rivals.Outcome | None


class PairEvidence(NamedTuple):
    """What the verdict looks at and what its sentence names: differences in the expected direction over complete pairs.

    `judged` counts the judged texts of treatment and baseline, `failed` the failed judgments of all conditions;
    `fewest` is the smallest number of groups with which a result can be significant. `share` of the pairs go in the
    expected direction, and `balance_low` is the lower limit of that share minus the share of those that go the other
    way; ties are in neither. `hybrid` is None where the dataset has none. `surface` and `length` may be None, not
    looked at, where the difference is not beyond the margin. `otherwise` is the verdict that failed judgments could
    turn (`withheld`).

    Behind it stand the comparisons, None where no pair has both conditions; lengths and rival, None for fewer than two
    groups or where they were not asked for; and the rival of treatment against hybrid, None where their difference is
    not beyond the margin.
    """

    judged: tuple[int, int]
    n_pairs: int
    n_groups: int
    fewest: int
    margin: Margin
    identical: bool
    difference: Claim | None
    p_value: float
    share: float
    balance_low: float
    hybrid: HybridEvidence | None
    surface: rivals.Outcome | None
    length: length.Control | None
    sides: Sides
    settings: PairSettings
    failed: int = 0
    otherwise: str | None = None
    main: PairComparison | None = None
    over: PairComparison | None = None
    under: PairComparison | None = None
    lengths: Lengths | None = None
    rival: rivals.Rival | None = None
    rival_of_hybrid: rivals.Rival | None = None

    @property
    def unjudged(self) -> list[str]:
        """The sides without a judged text."""
        return [c for c, n in zip(self.sides, self.judged, strict=False) if n == 0 and c is not None]

    @property
    def expected(self) -> str:
        """Where the treatment is expected to score."""
        return directions(self.settings.sign)[0]

    @property
    def opposite(self) -> str:
        """The other side."""
        return directions(self.settings.sign)[1]

    @property
    def source(self) -> str:
        """The word for who set the margin."""
        return f"margin_{self.margin.source}"

    @property
    def level(self) -> float:
        """Of the interval by which the verdict is reached."""
        return 1 - self.settings.alpha

    @property
    def inner_level(self) -> float:
        """Of the interval that two one-sided tests come to."""
        return 1 - 2 * self.settings.alpha

    @property
    def short(self) -> bool:
        """Whether the difference is shown not to reach the margin, by a one-sided test."""
        claim = self.difference
        return claim is not None and claim.outcome != "beyond" and claim.inner[1] < self.margin.value

    @property
    def turned(self) -> Estimate:
        """The difference seen from the other side."""
        assert self.difference is not None, "it was looked at"
        return -self.difference.estimate

    @property
    def seen(self) -> str:
        """The word for where the estimate itself lies."""
        assert self.difference is not None, "it was looked at"
        estimate = self.difference.estimate.value
        side = "beyond" if estimate > 0 else "reversed"
        return f"seen_{'within' if abs(estimate) <= self.margin.value else side}"

    @property
    def inconsistent(self) -> bool:
        """Whether test, share and balance do not all go with the mean difference."""
        return not (self.p_value < self.settings.alpha and self.balance_low > 0 and self.share > 0.5)

    @property
    def against(self) -> float:
        """The share of pairs that go the other way."""
        assert self.main is not None, "there are pairs"
        return 1 - self.main.share.estimate.value - self.main.share.n_ties / self.main.share.estimate.n

    @property
    def untied(self) -> int:
        """1 where no pair is a tie."""
        return int(self.main is not None and self.main.share.n_ties == 0)

    @property
    def counts(self) -> int:
        """How many things the surface judge counts."""
        return len(self.settings.seen.columns)

    @property
    def by_hybrid(self) -> str | None:
        """Does the treatment score beyond the margin above a text that explains *and* cites, and not by its surface?
        None, or what is the matter.

        A judge that reads citations and counts words would else pass: the one sets the treatment off from the baseline,
        the other from the hybrid.
        """
        if self.hybrid is None:
            return None
        over, under = self.hybrid.over, self.hybrid.under
        if over is None or under is None or self.hybrid.n_groups < self.fewest:
            return "hybrid_few"
        if over.outcome == "beyond":
            return None if self.hybrid.surface == "beyond_surface" else "hybrid_surface"
        if over.outcome == "against" or (self.margin.equivalence and over.inner[1] < self.margin.value):
            return "reads_citation"
        return "citation_first" if under.outcome == "beyond" else "hybrid_open"


def directions(sign: int) -> tuple[str, str]:
    """Where the treatment is expected to score, and the opposite."""
    return ("higher", "lower") if sign > 0 else ("lower", "higher")


def withheld(ruling: Ruling, at_worst: Ruling) -> Ruling:
    """The verdict where judgments failed.

    It stands if it stands, too, with all of them set to the end of the scale that speaks against it (`at_worst`); else
    they could turn it, and it is none.
    """
    if ruling.standing in ("undecided", at_worst.standing):
        return ruling
    return verdict(AB, ruling.evidence._replace(otherwise=f"alone_{ruling.key}"))


def examine(
    pairs: Pairs, sides: Sides, settings: PairSettings, rng: np.random.Generator, *, for_report: bool = True
) -> PairEvidence:
    """Gather the evidence on the scores that these pairs have.

    Args:
        pairs, sides, settings: What is compared, and how.
        rng: For rivals and lengths.
        for_report: Look at rivals and lengths whatever the difference is; else only where the rules ask for them, which
            is where it is beyond the margin.
    """
    treatment, baseline, hybrid = sides
    main = compare(pairs, treatment, baseline, settings)
    over = None if hybrid is None else compare(pairs, treatment, hybrid, settings)
    under = None if hybrid is None else compare(pairs, hybrid, baseline, settings)
    ids = pairs.complete(treatment, baseline)
    lengths, rival, third, rival_of_hybrid = None, None, None, None
    sign, margin = settings.sign, settings.margin.value
    span = settings.margin.span
    shared: dict[str, Any] = {"sign": sign, "margin": margin, "level": 1 - settings.alpha, "rng": rng}
    shared["bounds"] = -span, span
    if main is not None and main.claim is not None and (for_report or main.claim.outcome == "beyond"):
        checks = [length.check_length(pairs, treatment, baseline, ids, unit=unit, **shared) for unit in length.UNITS]
        matched = length.check_matched(
            pairs, treatment, baseline, ids, sign=sign, margin=margin, level=1 - settings.alpha
        )
        lengths = Lengths(checks, matched, length.control(checks[0], matched, sign, margin))
        rival = rivals.paired_rival(pairs, treatment, baseline, ids, seen=settings.seen, **shared)
    if hybrid is not None:
        above, below = (None if one is None else one.claim for one in (over, under))
        if rival is not None and above is not None and above.outcome == "beyond":
            both = pairs.complete(treatment, hybrid)
            rival_of_hybrid = rivals.paired_rival(pairs, treatment, hybrid, both, seen=settings.seen, **shared)
        outcome = None if rival_of_hybrid is None else rival_of_hybrid.outcome
        third = HybridEvidence(0 if over is None else over.n_groups, above, below, outcome)
    return PairEvidence(
        judged=(len(pairs.complete(treatment)), len(pairs.complete(baseline))),
        n_pairs=len(ids),
        n_groups=0 if main is None else main.n_groups,
        fewest=claims.fewest_pairs(settings.alpha),
        margin=settings.margin,
        identical=main is not None and main.rank_biserial is None,
        difference=None if main is None else main.claim,
        p_value=1.0 if main is None else main.test.p_value,
        share=0.0 if main is None else main.share.estimate.value,
        balance_low=0.0 if main is None or main.balance is None else main.balance.estimate.low,
        hybrid=third,
        surface=None if rival is None else rival.outcome,
        length=None if lengths is None else lengths.control,
        sides=sides,
        settings=settings,
        failed=pairs.failed(*sides.names),
        main=main,
        over=over,
        under=under,
        lengths=lengths,
        rival=rival,
        rival_of_hybrid=rival_of_hybrid,
    )
