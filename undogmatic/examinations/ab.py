"""The paired experiment: do texts that differ only in how they argue get different scores, and is
it nothing else?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeFloat

from undogmatic.errors import ConfigError
from undogmatic.examinations import rivals
from undogmatic.examinations.base import (
    FEWEST_DRAWN,
    OF_SCORES,
    Limited,
    Share,
    count,
    draw,
    need,
    too_few,
)
from undogmatic.examinations.comparison import PairComparison, compare, of_groups
from undogmatic.examinations.pairs import Names, Pairs, contrast, listed, match, numbers
from undogmatic.examinations.rivals import PairSettings
from undogmatic.examinations.ruling import Ruling, verdict
from undogmatic.examinations.ruling.ab import AB, AbFacts
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import texts_of
from undogmatic.examinations.truth import check_order, margin_of, units
from undogmatic.records.results import Told
from undogmatic.safety.outside import brief
from undogmatic.stats import claims, means, paired
from undogmatic.stats.checks import Rng
from undogmatic.stats.confound import AtEqual


@dataclass(frozen=True)
class AbAnalysis(Limited):
    """Treatment against baseline, pair by pair, against a margin; the hybrid; rivals; failures.
    docs/verdicts_in_detail.md has the rules.

    The first repeat is used. A pair with a failed side is left out and counted, and what it could
    change is computed.

    Args:
        treatment: Condition expected to have more of the fault that the rubric measures, or several
            by preference.
        baseline: Condition expected to have less of it, or several: the first combination that
            stands together in a pair counts (`pairs.contrast`). Of two lists of one length, names
            in the same place belong together, and others are never mixed.
        hybrid: A third condition that the treatment must differ from, too, or several by
            preference, or None; pairs may lack it.
        margin: Smallest difference that matters, in score units; None takes the rubric's.
        level: Confidence level of the intervals that describe.
        zero_method: What Wilcoxon's test does with differences of zero.
        alpha: Significance level; the mean difference is held against the margin by its interval of
            level 1 - alpha.
        power: Wanted probability of finding a difference, for the minimum detectable effect and the
            pairs needed.
        breakdowns: Metadata keys of the treatment's texts to describe the mean difference by, where
            they have them.
    """

    name: ClassVar[str] = "ab"
    treatment: Names
    baseline: Names
    hybrid: Names | None = None
    margin: NonNegativeFloat | None = None
    level: Share = 0.95
    zero_method: paired.ZeroMethod = "pratt"
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05  # 1 - 2 alpha is a level
    power: Share = 0.8
    breakdowns: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        # A test that finds nothing but by chance has a power of alpha.
        if self.power <= self.alpha:
            raise ConfigError(
                f"`analysis.power` is {self.power}; it must be above `analysis.alpha`"
                f" ({self.alpha})."
            )
        names = [*listed(self.treatment), *listed(self.baseline), *listed(self.hybrid)]
        if (
            not listed(self.treatment)
            or not listed(self.baseline)
            or len(set(names)) < len(names)
        ):
            raise ConfigError(
                f"`analysis.treatment` is {brief(self.treatment)}, `analysis.baseline`"
                f" {brief(self.baseline)} and `analysis.hybrid` {brief(self.hybrid)}; they must be"
                " three conditions (or analysis.hybrid=null), and none may be named twice."
            )

    def check(self, judged: RunEvidence) -> None:
        """Raises DataError if the conditions are missing or a pair is not complete."""
        check_order(self.name, judged.rubric)
        need(
            judged,
            self.name,
            "condition",
            contrast(self.treatment, self.baseline, judged.frame),
        )
        need(judged, self.name, "pair_id")
        self.matched(judged)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `ab.share_expected`, absent where no pair is complete."""
        self.check(judged)
        pairs, tell = self.matched(judged), Told(self.name)
        treatment, baseline, *_ = conditions = list(pairs.sides)
        first, second = pairs.between(treatment, baseline)
        # A pair with a failed side is left out whole: half of a pair has no difference.
        left_out = len(pairs.sides[treatment]) - len(first)
        tell.number(len(first), "pairs", unit="count")
        tell.number(left_out, "pairs_left_out", unit="count")
        failed = count(tell, judged.first(*conditions), conditions)
        scores = {
            c: numbers(side.dropna(subset="score"), "score")
            for c, side in pairs.sides.items()
        }
        rows = []
        for condition, values in scores.items():
            if values.size:
                summary = paired.summary(values)
                rows.append(
                    {
                        "condition": condition,
                        **summary._asdict(),
                        "failed": pairs.failed(condition),
                    }
                )
                tell.number(summary.mean, "mean", condition, unit="score")
                tell.number(summary.median, "median", condition, unit="score")
        described = pd.DataFrame(
            rows, columns=["condition", *paired.Summary._fields, "failed"]
        )
        tell.table("groups", described, **OF_SCORES)
        evidence = examine(pairs, self._settings(judged), rng)
        facts = evidence.facts
        sides = {"treatment": treatment, "baseline": baseline}
        margin = facts.margin.value
        tell.number(margin, "margin", unit="amount", beside_headline=True)
        tell.number(facts.n_groups, "groups", unit="count")
        tell.say("expected", sides, expected=facts.expected)
        tell.say("pairs", sides, n=facts.n_pairs, groups=facts.n_groups)
        tell.say("margin", margin=facts.margin.value, source=facts.source)
        if facts.margin.value == 0:
            tell.say("margin_zero")
        tell.findings += failed
        if left_out:
            tell.say("left_out", n=left_out, total=len(first) + left_out)
        if facts.n_pairs and pairs.failed(treatment, baseline):
            _say_failures(tell, judged, evidence, rng)
        # Decided from the same evidence that is then described, so that no sentence can
        # contradict the answer.
        ruling = _ruled(judged, evidence, rng)
        if facts.main is not None:
            self._describe(tell, evidence, facts.main)
            tell.tables["length"] = rivals.table_of_lengths(pairs)
            d = first["score"] - second["score"]
            for key in self.breakdowns:  # description only, the groups are small
                by = first.get(f"metadata.{key}")
                if by is not None and by.notna().any():
                    grouped = d.groupby(by.to_numpy(dtype=object)).agg(
                        n="size", mean_difference="mean"
                    )
                    tell.table(
                        f"by_{key}",
                        grouped.rename_axis(key).reset_index(),
                        mean_difference="change",
                    )
            scored = {
                c: side["score"].reindex(first.index).to_numpy()
                for c, side in pairs.sides.items()
            }
            table = pd.DataFrame(
                {"pair_id": first.index, "group": units(first)} | scored
            )
            table["difference"] = table[treatment] - table[baseline]
            tell.tables["pairs"] = table.sort_values(
                "difference", kind="stable"
            ).reset_index(drop=True)
            tell.columns["pairs"] = {
                treatment: "score",
                baseline: "score",
                "difference": "change",
            }
        _draw(tell, judged, pairs, treatment, baseline)
        return [
            tell.result(
                *ruling.decided, headline="ab.share_expected" if len(first) else None
            )
        ]

    def matched(self, judged: RunEvidence) -> Pairs:
        """The pairs of the contrast that counts, with a hybrid that stands with it in a pair."""
        frame = judged.frame
        two = contrast(self.treatment, self.baseline, frame)
        # A condition of the hybrid counts only where it stands in a pair with the two
        # that are compared.
        together = frame["pair_id"].isin(
            frame.loc[frame["condition"].isin(two), "pair_id"].dropna()
        )
        present = set(frame.loc[together, "condition"])
        return match(
            judged, two, [name for name in listed(self.hybrid) if name in present][:1]
        )

    def ruling(
        self, judged: RunEvidence, pairs: Pairs, rng: np.random.Generator
    ) -> Ruling[AbFacts]:
        """The verdict alone, by the same rules, without what only a report needs; scores are those
        of `pairs`."""
        evidence = examine(pairs, self._settings(judged), rng, for_report=False)
        return _ruled(judged, evidence, rng)

    def _settings(self, judged: RunEvidence) -> PairSettings:
        margin = margin_of(judged.rubric, self.margin)
        seen = rivals.seen_of(judged, texts_of(judged.first()))
        return PairSettings(
            judged.sign,
            margin,
            self.level,
            self.alpha,
            self.power,
            self.zero_method,
            seen,
        )

    def _describe(
        self, tell: Told, evidence: "PairEvidence", main: PairComparison
    ) -> None:
        """Tell all that was examined, in the order in which the rules look at it, and the smallest
        true difference that so many groups of this spread would show to be beyond the margin."""
        facts, settings = evidence.facts, evidence.settings
        margin = facts.margin.value
        _say_main(tell, main, settings)
        if facts.rival is not None:
            rivals.say_rival(tell, facts.rival, settings)
        if facts.hybrid is not None:
            _say_hybrid(tell, facts, settings)
        elif self.hybrid is not None:
            tell.say("no_hybrid", hybrid=listed(self.hybrid))
        both = evidence.pairs.between(main.a, main.b)
        rivals.say_lengths(tell, both, evidence.lengths, settings)
        if evidence.matched is not None:
            rivals.say_matched(tell, evidence.matched, settings)
        tell.number(main.auc, "auc")
        tell.say(
            "auc",
            main.auc.values("auc"),
            level=settings.level,
            treatment=main.a,
            baseline=main.b,
        )
        if main.claim is not None:
            d, bounds = main.differences, settings.bounds
            usual = paired.hodges_lehmann_interval(
                d, settings.level, groups=main.groups, bounds=bounds
            )
            tell.number(usual, "hodges_lehmann", unit="change")
            tell.say("hodges_lehmann", usual.values("estimate"), level=settings.level)
        # By groups, as the test counts groups: power by pairs would promise more than
        # so many copies can show.
        d = of_groups(main.differences, main.groups)
        if d.size >= facts.fewest and (spread := float(np.std(d, ddof=1))) > 0:
            excess = claims.minimum_detectable_effect(
                d.size, spread, self.power, self.alpha
            )
            tell.number(margin + excess, "minimum_detectable", unit="amount")
            tell.say(
                "power",
                groups=d.size,
                detectable=margin + excess,
                sd=spread,
                power=self.power,
            )
        compared = [
            one.row() for one in (main, facts.over, facts.under) if one is not None
        ]
        tell.table("comparisons", pd.DataFrame(compared), share_expected="share", p="p")


@dataclass(frozen=True)
class PairEvidence:
    """Holds pairs, how they are compared, and what was found of them: the `facts` that the verdict
    looks at, and what the report alone tells of their lengths."""

    pairs: Pairs
    settings: PairSettings
    facts: AbFacts
    lengths: Mapping[str, AtEqual | None]
    matched: rivals.Matched | None


def examine(
    pairs: Pairs, settings: PairSettings, rng: Rng, *, for_report: bool = True
) -> PairEvidence:
    """Gather what the verdict looks at.

    Args:
        pairs, settings: What is compared (treatment, baseline, perhaps a hybrid), and how.
        rng: For rivals and lengths.
        for_report: Look at rivals and lengths whatever the difference is; else only where the rules
            ask for them, which is where it is beyond the margin.
    """
    treatment, baseline, *others = conditions = list(pairs.sides)
    hybrid = next(iter(others), None)
    both = pairs.between(treatment, baseline)
    main = compare(pairs, treatment, baseline, settings)
    difference = None if main is None else main.claim
    expected, opposite = ("higher", "lower")[:: settings.sign]
    facts = AbFacts(
        treatment=treatment,
        baseline=baseline,
        hybrid=hybrid,
        expected=expected,
        opposite=opposite,
        margin=settings.margin,
        alpha=settings.alpha,
        fewest=claims.fewest_pairs(settings.alpha),
        counts=len(settings.seen.columns),
        judged={
            condition: len(pairs.complete(condition))
            for condition in (treatment, baseline)
        },
        failed=pairs.failed(*conditions),
        n_pairs=len(both[0]),
        n_groups=0 if main is None else main.n_groups,
        main=main,
        difference=difference,
    )
    lengths: dict[str, AtEqual | None] = {}
    matched = None
    # A difference that is not there needs no other explanation, and rivals take most of
    # the time.
    if difference is not None and (for_report or difference.outcome == "beyond"):
        lengths = {
            unit: rivals.at_equal_length(*both, unit, settings, rng)
            for unit in rivals.UNITS
        }
        matched = rivals.check_matched(*both, settings)
        same = bool((both[0]["characters"] == both[1]["characters"]).all())
        length = rivals.control(lengths["characters"], matched, settings, same)
        rival = rivals.paired_rival(*both, settings, rng)
        facts = replace(facts, length=length, rival=rival)
    if hybrid is not None:
        over = compare(pairs, treatment, hybrid, settings)
        under = compare(pairs, hybrid, baseline, settings)
        over_rival = None
        beyond = (
            over is not None
            and over.claim is not None
            and over.claim.outcome == "beyond"
        )
        if beyond and facts.rival is not None:
            over_rival = rivals.paired_rival(
                *pairs.between(treatment, hybrid), settings, rng
            )
        facts = replace(facts, over=over, under=under, over_rival=over_rival)
    return PairEvidence(pairs, settings, facts, lengths, matched)


def withheld(ruling: Ruling[AbFacts], at_worst: Ruling[AbFacts]) -> Ruling[AbFacts]:
    """The verdict, which stands if it stands, too, with all failed judgments set to the end of the
    scale that speaks against it (`at_worst`); else they could turn it, and it is none."""
    # Failed judgments can only take an answer back: what they leave open is open.
    if ruling.standing in ("undecided", at_worst.standing):
        return ruling
    return verdict(AB, replace(ruling.facts, otherwise=f"alone_{ruling.key}"))


def _filled(judged: RunEvidence, pairs: Pairs) -> list[Pairs]:
    """The pairs with every failed judgment at the end of the scale that speaks most against the
    claim that the treatment scores on the expected side of all others, and most for it."""
    treatment = next(iter(pairs.sides))
    ends = (judged.rubric.minimum, judged.rubric.maximum)[:: judged.sign]
    return [pairs.filled(treatment, *ends), pairs.filled(treatment, *ends[::-1])]


def _draw(
    tell: Told, judged: RunEvidence, pairs: Pairs, treatment: str, baseline: str
) -> None:
    """Scores by condition, and a line for each pair."""
    sides = {c: side.dropna(subset="score") for c, side in pairs.sides.items()}
    scores = {c: numbers(side, "score") for c, side in sides.items()}
    ids = {c: [*s["item_id"]] for c, s in sides.items()}
    draw(judged, tell, scores, "box", "histogram", ids=ids)
    first, second = pairs.between(treatment, baseline)
    if len(first) < FEWEST_DRAWN:
        tell.findings.append(too_few("slope", len(first)))
        return
    lines = list(
        zip(
            numbers(second, "score").tolist(),
            numbers(first, "score").tolist(),
            strict=True,
        )
    )
    ends = {
        "left": baseline,
        "right": treatment,
        "y_label": "score",
        "limits": judged.scale,
    }
    tell.draw("slope", "slope", pairs=lines, ids=list(first.index), **ends)


def _ruled(judged: RunEvidence, evidence: PairEvidence, rng: Rng) -> Ruling[AbFacts]:
    """The verdict, or what is left of it with failed judgments at their worst for it."""
    facts = evidence.facts
    ruling = verdict(AB, facts)
    if ruling.standing == "undecided" or not facts.failed or not facts.n_pairs:
        return ruling
    filled = _filled(judged, evidence.pairs)[ruling.standing != "supported"]
    at_worst = examine(filled, evidence.settings, rng, for_report=False)
    return withheld(ruling, verdict(AB, at_worst.facts))


def _say_failures(
    tell: Told, judged: RunEvidence, evidence: PairEvidence, rng: Rng
) -> None:
    """Tell what failed judgments of the two sides could do: bounds, whether they depend on the
    condition, the estimate over all pairs."""
    settings, pairs = evidence.settings, evidence.pairs
    treatment, baseline = evidence.facts.treatment, evidence.facts.baseline
    first = pairs.sides[treatment]
    second = pairs.sides[baseline].loc[first.index]
    a, b, groups = numbers(first, "score"), numbers(second, "score"), units(first)
    ends = [
        compare(filled, treatment, baseline, settings)
        for filled in _filled(judged, pairs)
    ]
    worst, best = (
        None if one is None or one.claim is None else one.claim.estimate for one in ends
    )
    if worst is not None and best is not None:
        mean = settings.turned(worst.replace(low=worst.value, high=best.value)).interval
        outer = settings.turned(worst.replace(high=best.high)).interval
        tell.number(mean[0], "worst_case_low", unit="change")
        tell.number(mean[1], "worst_case_high", unit="change")
        tell.say(
            "bounds",
            total=len(a),
            bounds=mean,
            interval=outer,
            level=1 - settings.alpha,
        )
    test = paired.failure_test(a, b, groups)
    values = {
        "treatment": treatment,
        "baseline": baseline,
        "n_a": test.n_a,
        "n_b": test.n_b,
    }
    tell.number(test.p_value, "failures_p", unit="p")
    if (p := test.p_value) is None:
        tell.say("failures_even", values)
    else:
        tell.say(
            "failures_depend" if p < settings.alpha else "failures_unclear", values, p=p
        )
    # Of a text whose judgment failed, its length is known.
    known = [
        side[list(rivals.UNITS)].to_numpy(dtype=np.float64) for side in (first, second)
    ]
    robust = paired.robust_difference(
        a, b, known, rng, groups=groups, level=settings.level
    )
    tell.number(robust, "robust_difference", unit="change")
    if robust is None:
        few = {
            "failed": paired.FEWEST_FAILED,
            "judged": paired.FEWEST_JUDGED,
            "groups": paired.FEWEST_UNITS,
        }
        tell.say("no_robust", few)
    else:
        tell.say("robust", robust.values("estimate"), level=robust.level)


def _say_main(tell: Told, main: PairComparison, settings: PairSettings) -> None:
    """Tell the primary comparison."""
    share = main.share.estimate
    ties = main.share.n_ties
    test = main.test
    level = settings.level
    if main.claim is not None:
        mean = settings.turned(main.claim.estimate)
        middle = paired.median(
            main.differences, level, groups=main.groups, bounds=settings.bounds
        )
        tell.number(mean, "mean_difference", unit="change")
        values = mean.values("mean", "mean_") | middle.values("median", "median_")
        tell.say("difference", values, mean_level=1 - settings.alpha, level=level)
        if mean.method == "bounded":
            tell.say("bounded", same=2 * means.SAME_SHARE * settings.margin.span)
    tell.number(share, "share_expected", unit="share")
    tell.say(
        "share",
        share.values("share"),
        hits=share.hits,
        n=share.n,
        ties=ties,
        level=level,
    )
    tell.number(test.p_value, "p", unit="p")
    tell.number(ties, "zero_differences", unit="count")
    tell.say(
        f"test_{test.method}",
        statistic=test.statistic,
        p=test.p_value,
        n=share.n,
        groups=test.n_pairs,
    )
    tell.say(f"zeros_{test.zero_method}", zeros=test.n_zero, n=test.n_pairs)
    if main.rank_biserial is not None:
        tell.number(main.rank_biserial, "rank_biserial")
        tell.say("effect", rank_biserial=main.rank_biserial)


def _say_hybrid(tell: Told, facts: AbFacts, settings: PairSettings) -> None:
    """Tell treatment minus hybrid and hybrid minus baseline, and what of the former remains between
    texts of equal surface, where that was looked at."""
    over, under, rival = facts.over, facts.under, facts.over_rival
    conditions = {"treatment": facts.treatment, "hybrid": facts.hybrid}
    if over is None or under is None or over.claim is None or under.claim is None:
        tell.say("no_hybrid", hybrid=facts.hybrid)
    else:
        first = settings.turned(over.claim.estimate)
        second = settings.turned(under.claim.estimate)
        tell.number(first, "treatment_vs_hybrid", unit="change")
        tell.number(second, "hybrid_vs_baseline", unit="change")
        values = (
            first.values("over", "over_")
            | second.values("under", "under_")
            | conditions
        )
        groups = {"over_groups": first.n_groups, "under_groups": second.n_groups}
        tell.say("hybrid", values, groups, baseline=facts.baseline, level=facts.level)
    if rival is not None and rival.at_equal is not None and rival.share is not None:
        rest = rival.at_equal.difference.estimate
        tell.say(
            "hybrid_equal",
            rest.values("difference"),
            conditions,
            share=rival.share.value,
            level=rest.level,
        )
