"""The paired experiment: do texts that differ only in how they argue get different scores, and is it nothing else?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses import plots, rivals
from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.comparison import PairComparison, PairEvidence, compare, examine, of_groups, withheld
from undogmatic.analyses.pairs import Pairs, contrast, listed, match, numbers
from undogmatic.analyses.rivals import PairSettings
from undogmatic.analyses.ruling import AB, Ruling, verdict
from undogmatic.analyses.truth import check_order, margin_of, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import claims, means, paired, typical

COVARIATES = ["characters", "words"]
"""What is known of a text whose judgment failed."""


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
