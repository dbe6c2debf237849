"""The paired experiment: do texts that differ only in how they argue get different scores, and is it nothing else?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots, rivals
from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.pairs import Pairs, contrast, listed, match, numbers
from undogmatic.analyses.rivals import PairSettings
from undogmatic.analyses.ruling import AB, Ruling, verdict
from undogmatic.analyses.truth import Margin, check_order, margin_of, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import claims, means, paired, ranking, typical
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.confound import AtEqual
from undogmatic.stats.estimate import Estimate

COVARIATES = ["characters", "words"]
"""What is known of a text whose judgment failed."""


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
    groups: list[str]
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
    sides = pairs.between(a, b)
    if sides[0].empty:
        return None
    groups, level, alpha = units(sides[0]), settings.level, settings.alpha
    first, second = (numbers(side, "score") for side in sides)
    d = first - second
    expected = settings.sign * d
    held = balance = None
    if len(set(groups)) > 1:
        margin, bounds = settings.margin.value, settings.bounds
        held = claim(expected, margin, alpha=alpha, power=settings.power, groups=groups, bounds=bounds)
        balance = claim(np.sign(expected), 0.0, alpha=alpha, groups=groups, bounds=(-1.0, 1.0))
    return PairComparison(
        a,
        b,
        d,
        groups,
        held,
        balance,
        paired.rank_biserial(d) if np.any(d != 0) else None,
        paired.share_in_direction(expected, level, groups=groups),
        paired.wilcoxon(of_groups(d, groups), settings.zero_method),
        ranking.auc(settings.sign * first, settings.sign * second, level, groups_a=groups, groups_b=groups),
    )


def of_groups(values: NDArray[np.float64], groups: list[str]) -> NDArray[np.float64]:
    """Mean per group, in order of appearance."""
    by = np.asarray(groups, dtype=object)
    return pd.Series(values).groupby(by, sort=False).mean().to_numpy(dtype=np.float64)


class HybridEvidence(NamedTuple):
    """Treatment against hybrid and hybrid against baseline, None where no pair has both, and the rival of the former;
    None, not looked at, where their difference is not beyond the margin."""

    over: PairComparison | None
    under: PairComparison | None
    rival: rivals.Rival | None


class PairEvidence(NamedTuple):
    """What the verdict looks at and what its sentence names: differences in the expected direction over complete pairs.

    `conditions` are treatment, baseline and, where pairs have one, the hybrid. `judged` counts the judged texts of the
    first two, `failed` the failed judgments of all; `fewest` is the smallest number of groups with which a result can
    be significant. `main` is None where no pair has both conditions, `hybrid` where the dataset has none. `surface` and
    `length` may be None, not looked at, where the difference is not beyond the margin. `otherwise` is the verdict that
    failed judgments could turn (`withheld`).

    Behind it stand lengths and rival, none for fewer than two groups or where they were not asked for.
    """

    judged: tuple[int, int]
    n_pairs: int
    n_groups: int
    fewest: int
    margin: Margin
    main: PairComparison | None
    difference: Claim | None
    hybrid: HybridEvidence | None
    surface: rivals.Outcome | None
    length: rivals.Control | None
    conditions: Sequence[str]
    settings: PairSettings
    failed: int = 0
    otherwise: str | None = None
    lengths: Mapping[str, AtEqual | None] = MappingProxyType({})
    matched: rivals.Matched | None = None
    rival: rivals.Rival | None = None

    @property
    def named(self) -> SimpleNamespace:
        """What sentences name besides: conditions, direction, who set the margin, levels, counts, the difference turned
        round."""
        treatment, baseline, *others = self.conditions
        expected, opposite = ("higher", "lower")[:: self.settings.sign]
        names = SimpleNamespace(
            treatment=treatment,
            baseline=baseline,
            hybrid=next(iter(others), None),
            unjudged=[c for c, n in zip(self.conditions, self.judged, strict=False) if n == 0],
            expected=expected,
            opposite=opposite,
            source=f"margin_{self.margin.source}",
            level=1 - self.settings.alpha,
            inner_level=1 - 2 * self.settings.alpha,
            counts=len(self.settings.seen.columns),
        )
        if self.difference is not None:
            names.turned, value = -self.difference.estimate, self.difference.estimate.value
            side = "beyond" if value > 0 else "reversed"
            names.seen = f"seen_{'within' if abs(value) <= self.margin.value else side}"
        if self.hybrid is not None:
            names.hybrid_groups = 0 if self.hybrid.over is None else self.hybrid.over.n_groups
        if self.main is not None:
            share, ties = self.main.share.estimate, self.main.share.n_ties
            names.against, names.untied = 1 - share.value - ties / share.n, int(ties == 0)
        return names

    @property
    def short(self) -> bool:
        """Whether the difference is shown not to reach the margin, by a one-sided test."""
        claim = self.difference
        return claim is not None and claim.outcome != "beyond" and claim.inner[1] < self.margin.value

    @property
    def inconsistent(self) -> bool:
        """Whether test, share and balance do not all go with the mean difference."""
        assert self.main is not None and self.main.balance is not None, "there is a difference"
        share, balance = self.main.share.estimate, self.main.balance.estimate
        return not (self.main.test.p_value < self.settings.alpha and balance.low > 0 and share.value > 0.5)

    @property
    def by_hybrid(self) -> str | None:
        """Does the treatment score beyond the margin above a text that explains *and* cites, and not by its surface?
        None, or what is the matter.

        A judge that reads citations and counts words would else pass: the one sets the treatment off from the baseline,
        the other from the hybrid.
        """
        if self.hybrid is None:
            return None
        over, under, rival = self.hybrid
        if over is None or over.claim is None or under is None or under.claim is None or over.n_groups < self.fewest:
            return "hybrid_few"
        if over.claim.outcome == "beyond":
            return None if rival is not None and rival.outcome == "beyond_surface" else "hybrid_surface"
        if over.claim.outcome == "against" or (self.margin.equivalence and over.claim.inner[1] < self.margin.value):
            return "reads_citation"
        return "citation_first" if under.claim.outcome == "beyond" else "hybrid_open"


def withheld(ruling: Ruling, at_worst: Ruling) -> Ruling:
    """The verdict where judgments failed.

    It stands if it stands, too, with all of them set to the end of the scale that speaks against it (`at_worst`); else
    they could turn it, and it is none.
    """
    if ruling.standing in ("undecided", at_worst.standing):
        return ruling
    return ruling.again(otherwise=f"alone_{ruling.key}")


def examine(pairs: Pairs, settings: PairSettings, rng: np.random.Generator, *, for_report: bool = True) -> PairEvidence:
    """Gather the evidence on the scores that these pairs have.

    Args:
        pairs, settings: What is compared (treatment, baseline, perhaps a hybrid), and how.
        rng: For rivals and lengths.
        for_report: Look at rivals and lengths whatever the difference is; else only where the rules ask for them, which
            is where it is beyond the margin.
    """
    treatment, baseline, *others = conditions = list(pairs.sides)
    main, both = compare(pairs, treatment, baseline, settings), pairs.between(treatment, baseline)
    lengths, matched, control, rival, third = {}, None, None, None, None
    if main is not None and main.claim is not None and (for_report or main.claim.outcome == "beyond"):
        lengths = {unit: rivals.at_equal_length(*both, unit, settings, rng) for unit in rivals.UNITS}
        matched, same = rivals.check_matched(*both, settings), rivals.same_length(*both, "characters")
        control = rivals.control(lengths["characters"], matched, settings, same)
        rival = rivals.paired_rival(*both, settings, rng)
    for hybrid in others:
        over, under = compare(pairs, treatment, hybrid, settings), compare(pairs, hybrid, baseline, settings)
        beyond = over is not None and over.claim is not None and over.claim.outcome == "beyond"
        look = rival is not None and beyond
        cited = rivals.paired_rival(*pairs.between(treatment, hybrid), settings, rng) if look else None
        third = HybridEvidence(over, under, cited)
    return PairEvidence(
        judged=(len(pairs.complete(treatment)), len(pairs.complete(baseline))),
        n_pairs=len(both[0]),
        n_groups=0 if main is None else main.n_groups,
        fewest=claims.fewest_pairs(settings.alpha),
        margin=settings.margin,
        main=main,
        difference=None if main is None else main.claim,
        hybrid=third,
        surface=None if rival is None else rival.outcome,
        length=control,
        conditions=conditions,
        settings=settings,
        failed=pairs.failed(*conditions),
        lengths=lengths,
        matched=matched,
        rival=rival,
    )


@dataclass(frozen=True)
class AbAnalysis:
    """Treatment against baseline, pair by pair, against a margin; the hybrid; rivals; failures. docs/verdicts.md has
    the rules.

    The first repeat is used. A pair with a failed side is left out and counted, and what it could change is computed.

    Args:
        treatment: Condition expected to have more of the fault that the rubric measures, or several by preference.
        baseline: Condition expected to have less of it, or several: the first combination that stands together in a
            pair counts (`pairs.contrast`). Of two lists of one length, names in the same place belong together, and
            others are never mixed.
        hybrid: A third condition that the treatment must differ from, too, or several by preference, or None; pairs
            may lack it.
        margin: Smallest difference that matters, in score units; None takes the rubric's.
        level: Confidence level of the intervals that describe.
        zero_method: What Wilcoxon's test does with differences of zero.
        alpha: Significance level; the mean difference is held against the margin by its interval of level 1 - alpha.
        power: Wanted probability of finding a difference, for the minimum detectable effect and the pairs needed.
        breakdowns: Metadata keys of the treatment's texts to describe the mean difference by, where they have them.
    """

    name: ClassVar[str] = "ab"
    treatment: str | Sequence[str]
    baseline: str | Sequence[str]
    hybrid: str | Sequence[str] | None = None
    margin: float | None = None
    level: float = 0.95
    zero_method: paired.ZeroMethod = "pratt"
    alpha: float = 0.05
    power: float = 0.8
    breakdowns: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level, alpha=self.alpha, power=self.power)
        if self.power <= self.alpha:
            raise ConfigError(f"`analysis.power` is {self.power}; it must be above `analysis.alpha` ({self.alpha}).")
        if self.alpha >= 0.5:
            raise ConfigError(f"`analysis.alpha` is {self.alpha}; it must be below 0.5, since 1 - 2 alpha is a level.")
        names = [*listed(self.treatment), *listed(self.baseline), *listed(self.hybrid)]
        if not listed(self.treatment) or not listed(self.baseline) or len(set(names)) < len(names):
            raise ConfigError(
                f"`analysis.treatment` is {self.treatment!r}, `analysis.baseline` {self.baseline!r} and "
                f"`analysis.hybrid` {self.hybrid!r}; they must be three conditions (or analysis.hybrid=null), and none "
                "may be named twice."
            )

    def check(self, judged: Judged) -> None:
        """Raises DataError if the conditions are missing or a pair is not complete."""
        check_order(self.name, judged.rubric)
        margin_of(judged.rubric, self.margin)
        judged.need(self.name, "condition", contrast(self.treatment, self.baseline, judged.frame))
        judged.need(self.name, "pair_id")
        self.matched(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `ab.share_expected`, absent where no pair is complete."""
        self.check(judged)
        pairs = self.matched(judged)
        treatment, baseline, *_ = conditions = list(pairs.sides)
        first, second = pairs.between(treatment, baseline)
        counts, total = judged.counts(conditions), len(pairs.sides[treatment])
        scores = {c: numbers(side.dropna(subset="score"), "score") for c, side in pairs.sides.items()}
        tell, left_out = Telling(self.name), total - len(first)
        tell.metrics |= {"ab.pairs": len(first), "ab.pairs_left_out": left_out}
        tell.metrics |= {f"ab.{name}": int(counts[name].sum()) for name in ("judged", "failed")}
        rows = [
            {"condition": condition, **paired.summary(values)._asdict(), "failed": failed}
            for (condition, values), failed in zip(scores.items(), counts["failed"], strict=True)
            if values.size
        ]
        tell.tables["groups"] = pd.DataFrame(rows, columns=["condition", *paired.Summary._fields, "failed"])
        for row in rows:
            tell.number(row["mean"], "mean", row["condition"])
            tell.number(row["median"], "median", row["condition"])

        e = examine(pairs, self._settings(judged), rng)
        _say_setting(tell, e)
        tell.findings += failed_finding(counts)
        if left_out:
            tell.say("ab.left_out", n=left_out, total=total)
        if e.failed and e.n_pairs:
            _say_failures(tell, judged, pairs, e, rng)
        ruling = _at_worst(judged, pairs, verdict(AB, e), rng)
        if e.main is not None:
            self._describe(tell, pairs, e, e.main)
            tell.tables["length"] = rivals.table_of_lengths(pairs)
            tell.tables |= self._breakdowns(first, second)
            table = pd.DataFrame({"pair_id": first.index, "group": units(first)})
            for condition, side in pairs.sides.items():
                table[condition] = side["score"].reindex(first.index).to_numpy()
            table["difference"] = table[treatment] - table[baseline]
            tell.tables["pairs"] = table.sort_values("difference", kind="stable").reset_index(drop=True)
        plots.distributions(tell, judged.rubric, scores)
        if len(first) < plots.FEWEST:
            tell.findings.append(plots.too_few("slope", len(first)))
        else:
            lines = list(zip(numbers(second, "score").tolist(), numbers(first, "score").tolist(), strict=True))
            ends = {"left": baseline, "right": treatment, "limits": plots.limits(judged.rubric)}
            tell.draw("slope", "slope", pairs=lines, y_label="score", **ends)
        return [tell.result(*ruling.decided, headline="ab.share_expected" if len(first) else None)]

    def matched(self, judged: Judged) -> Pairs:
        """The pairs of the contrast that counts, with a hybrid that stands with it in a pair."""
        frame = judged.frame
        two = contrast(self.treatment, self.baseline, frame)
        together = frame["pair_id"].isin(frame.loc[frame["condition"].isin(two), "pair_id"].dropna())
        present = set(frame.loc[together, "condition"])
        hybrid = next((name for name in listed(self.hybrid) if name in present), None)
        return match(judged, two, () if hybrid is None else (hybrid,))

    def ruling(self, judged: Judged, pairs: Pairs, rng: np.random.Generator) -> Ruling:
        """The verdict alone, by the same rules, without what only a report needs; scores are those of `pairs`."""
        evidence = examine(pairs, self._settings(judged), rng, for_report=False)
        return _at_worst(judged, pairs, verdict(AB, evidence), rng)

    def _settings(self, judged: Judged) -> PairSettings:
        margin, seen = margin_of(judged.rubric, self.margin), rivals.Seen(judged.rubric.field_words)
        return PairSettings(judged.sign, margin, self.level, self.alpha, self.power, self.zero_method, seen)

    def _describe(self, tell: Telling, pairs: Pairs, e: PairEvidence, main: PairComparison) -> None:
        """Tell all that was examined, in the order in which the rules look at it, and the smallest true difference that
        so many groups of this spread would show to be beyond the margin."""
        settings, margin = e.settings, e.margin.value
        _say_main(tell, main, settings)
        if e.rival is not None:
            rivals.say_rival(tell, e.rival, settings)
        if e.hybrid is not None:
            _say_hybrid(tell, e)
        elif self.hybrid is not None:
            tell.say("ab.no_hybrid", hybrid=listed(self.hybrid))
        rivals.say_lengths(tell, *pairs.between(main.a, main.b), e.lengths, settings)
        if e.matched is not None:
            rivals.say_matched(tell, e.matched, settings)
        tell.number(main.auc, "auc")
        tell.say("ab.auc", main.auc.values("auc"), level=settings.level, treatment=main.a, baseline=main.b)
        if main.claim is not None:
            d, bounds = main.differences, settings.bounds
            usual = typical.hodges_lehmann_interval(d, settings.level, groups=main.groups, bounds=bounds)
            tell.number(usual, "hodges_lehmann")
            tell.say("ab.hodges_lehmann", usual.values("estimate"), level=settings.level)
        d = of_groups(main.differences, main.groups)
        if d.size >= e.fewest and (spread := float(np.std(d, ddof=1))) > 0:
            excess = claims.minimum_detectable_effect(d.size, spread, self.power, self.alpha)
            tell.number(margin + excess, "minimum_detectable")
            tell.say("ab.power", groups=d.size, detectable=margin + excess, sd=spread, power=self.power)
        hybrid = () if e.hybrid is None else e.hybrid[:2]
        tell.tables["comparisons"] = pd.DataFrame([_row(one, settings) for one in (main, *hybrid) if one is not None])

    def _breakdowns(self, first: pd.DataFrame, second: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Mean difference by each of `breakdowns`: description only, the groups are small."""
        tables, d = {}, first["score"] - second["score"]
        for key in self.breakdowns:
            column = f"metadata.{key}"
            if column in first and first[column].notna().any():
                grouped = d.groupby(first[column].to_numpy(dtype=object)).agg(n="size", mean_difference="mean")
                tables[f"by_{key}"] = grouped.rename_axis(key).reset_index()
        return tables


def _filled(judged: Judged, pairs: Pairs) -> list[Pairs]:
    """The pairs with every failed judgment at the end of the scale that speaks most against the claim that the
    treatment scores on the expected side of all others, and most for it."""
    treatment, ends = next(iter(pairs.sides)), (judged.rubric.minimum, judged.rubric.maximum)[:: judged.sign]
    return [pairs.filled(treatment, *ends), pairs.filled(treatment, *ends[::-1])]


def _at_worst(judged: Judged, pairs: Pairs, ruling: Ruling, rng: np.random.Generator) -> Ruling:
    """What is left of a verdict with failed judgments at their worst for it."""
    e = ruling.evidence
    if ruling.standing == "undecided" or not e.failed or not e.n_pairs:
        return ruling
    filled = _filled(judged, pairs)[ruling.standing != "supported"]
    return withheld(ruling, verdict(AB, examine(filled, e.settings, rng, for_report=False)))


def _say_setting(tell: Telling, e: PairEvidence) -> None:
    """Tell what is expected, of how many pairs, and from where on a difference matters."""
    sides = {"treatment": e.named.treatment, "baseline": e.named.baseline}
    tell.metrics |= {"ab.margin": e.margin.value, "ab.groups": e.n_groups}
    tell.say("ab.expected", sides, expected=e.named.expected)
    tell.say("ab.pairs", sides, n=e.n_pairs, groups=e.n_groups)
    tell.say("ab.margin", margin=e.margin.value, source=e.named.source)
    if e.margin.value == 0:
        tell.say("ab.margin_zero")


def _say_failures(tell: Telling, judged: Judged, pairs: Pairs, e: PairEvidence, rng: np.random.Generator) -> None:
    """Tell what failed judgments could do: bounds, whether they depend on the condition, the estimate over all pairs.

    Nothing is told where no judgment of the two sides failed."""
    treatment, baseline, settings = e.named.treatment, e.named.baseline, e.settings
    if not pairs.failed(treatment, baseline):
        return
    first = pairs.sides[treatment]
    second = pairs.sides[baseline].loc[first.index]
    a, b, groups = numbers(first, "score"), numbers(second, "score"), units(first)
    ends = [compare(filled, treatment, baseline, settings) for filled in _filled(judged, pairs)]
    worst, best = (None if one is None or one.claim is None else one.claim.estimate for one in ends)
    if worst is not None and best is not None:
        mean = settings.turned(worst.replace(low=worst.value, high=best.value)).interval
        outer = settings.turned(worst.replace(high=best.high)).interval
        tell.metrics |= {"ab.worst_case_low": mean[0], "ab.worst_case_high": mean[1]}
        tell.say("ab.bounds", total=len(a), bounds=mean, interval=outer, level=1 - settings.alpha)
    test = paired.failure_test(a, b, groups)
    values = {"treatment": treatment, "baseline": baseline, "n_a": test.n_a, "n_b": test.n_b}
    tell.number(test.p_value, "failures_p")
    if test.p_value is None:
        tell.say("ab.failures_even", values)
    else:
        key = "ab.failures_depend" if test.p_value < settings.alpha else "ab.failures_unclear"
        tell.say(key, values, p=test.p_value)
    known = first[COVARIATES].to_numpy(dtype=np.float64), second[COVARIATES].to_numpy(dtype=np.float64)
    robust = paired.robust_difference(a, b, known, rng, groups=groups, level=settings.level)
    tell.number(robust, "robust_difference")
    if robust is None:
        few = {"failed": paired.FEWEST_FAILED, "judged": paired.FEWEST_JUDGED, "groups": paired.FEWEST_UNITS}
        tell.say("ab.no_robust", few)
    else:
        tell.say("ab.robust", robust.values("estimate"), level=robust.level)


def _say_main(tell: Telling, main: PairComparison, settings: PairSettings) -> None:
    """Tell the primary comparison."""
    share, test, level = main.share.estimate, main.test, settings.level
    if main.claim is not None:
        mean = settings.turned(main.claim.estimate)
        middle = typical.median(main.differences, level, groups=main.groups, bounds=settings.bounds)
        tell.number(mean, "mean_difference")
        values = mean.values("mean", "mean_") | middle.values("median", "median_")
        tell.say("ab.difference", values, mean_level=1 - settings.alpha, level=level)
        if mean.method == "bounded":
            tell.say("ab.bounded", same=2 * means.SAME_SHARE * settings.margin.span)
    tell.number(share, "share_expected")
    tell.say("ab.share", share.values("share"), hits=share.hits, n=share.n, ties=main.share.n_ties, level=level)
    tell.metrics |= {"ab.p": test.p_value, "ab.zero_differences": main.share.n_ties}
    tell.say(f"ab.test_{test.method}", statistic=test.statistic, p=test.p_value, n=share.n, groups=test.n_pairs)
    tell.say(f"ab.zeros_{test.zero_method}", zeros=test.n_zero, n=test.n_pairs)
    if main.rank_biserial is not None:
        tell.number(main.rank_biserial, "rank_biserial")
        tell.say("ab.effect", rank_biserial=main.rank_biserial)


def _say_hybrid(tell: Telling, e: PairEvidence) -> None:
    """Tell treatment minus hybrid and hybrid minus baseline, and what of the former remains between texts of equal
    surface, where that was looked at."""
    assert e.hybrid is not None
    (over, under, rival), names, turned = e.hybrid, e.named, e.settings.turned
    conditions = {"treatment": names.treatment, "hybrid": names.hybrid}
    if over is None or under is None or over.claim is None or under.claim is None:
        tell.say("ab.no_hybrid", hybrid=names.hybrid)
    else:
        first, second = turned(over.claim.estimate), turned(under.claim.estimate)
        tell.number(first, "treatment_vs_hybrid")
        tell.number(second, "hybrid_vs_baseline")
        values = first.values("over", "over_") | second.values("under", "under_") | conditions
        groups = {"over_groups": first.n_groups, "under_groups": second.n_groups}
        tell.say("ab.hybrid", values, groups, baseline=names.baseline, level=names.level)
    if rival is not None and rival.at_equal is not None and rival.share is not None:
        rest = rival.at_equal.difference.estimate
        tell.say("ab.hybrid_equal", rest.values("difference"), conditions, share=rival.share.value, level=rest.level)


def _row(one: PairComparison, settings: PairSettings) -> dict[str, object]:
    low, high = (None, None) if one.claim is None else settings.turned(one.claim.estimate).interval
    return {
        "a": one.a,
        "b": one.b,
        "n": one.differences.size,
        "n_groups": one.n_groups,
        "n_zero": one.share.n_ties,
        "mean_difference": float(one.differences.mean()),
        "low": low,
        "high": high,
        "median_difference": float(np.median(one.differences)),
        "rank_biserial": one.rank_biserial,
        "share_expected": one.share.estimate.value,
        "auc": one.auc.value,
        "p": one.test.p_value,
    }
