"""The paired experiment: do texts that differ only in how they argue get different scores, and is
it nothing else?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat

from undogmatic.analyses import rivals
from undogmatic.analyses.base import FEWEST_DRAWN, Limited, LongTable, Share, count, too_few
from undogmatic.analyses.pairs import Names, Pairs, contrast, listed, match, numbers
from undogmatic.analyses.rivals import PairSettings
from undogmatic.analyses.ruling import AB, Ruling, verdict
from undogmatic.analyses.truth import check_order, margin_of, units
from undogmatic.errors import ConfigError
from undogmatic.records.results import Told
from undogmatic.stats import claims, means, paired, ranking
from undogmatic.stats.checks import Rng
from undogmatic.stats.confound import AtEqual


@dataclass(frozen=True)
class AbAnalysis(Limited):
    """Treatment against baseline, pair by pair, against a margin; the hybrid; rivals; failures.
    docs/verdicts.md has the rules.

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
        if self.power <= self.alpha:
            raise ConfigError(
                f"`analysis.power` is {self.power}; it must be above `analysis.alpha`"
                f" ({self.alpha})."
            )
        names = [*listed(self.treatment), *listed(self.baseline), *listed(self.hybrid)]
        if not listed(self.treatment) or not listed(self.baseline) or len(set(names)) < len(names):
            raise ConfigError(
                f"`analysis.treatment` is {self.treatment!r}, `analysis.baseline` {self.baseline!r}"
                f" and `analysis.hybrid` {self.hybrid!r}; they must be three conditions (or"
                " analysis.hybrid=null), and none may be named twice."
            )

    def check(self, judged: LongTable) -> None:
        """Raises DataError if the conditions are missing or a pair is not complete."""
        check_order(self.name, judged.rubric)
        judged.need(self.name, "condition", contrast(self.treatment, self.baseline, judged.frame))
        judged.need(self.name, "pair_id")
        self.matched(judged)

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[Told]:
        """One result; headline `ab.share_expected`, absent where no pair is complete."""
        self.check(judged)
        pairs, tell = self.matched(judged), Told(self.name)
        treatment, baseline, *_ = conditions = list(pairs.sides)
        first, second = pairs.between(treatment, baseline)
        left_out = len(pairs.sides[treatment]) - len(first)
        tell.number(len(first), "pairs")
        tell.number(left_out, "pairs_left_out")
        failed = count(tell, judged.first(*conditions), conditions)
        scores = {
            c: numbers(side.dropna(subset="score"), "score") for c, side in pairs.sides.items()
        }
        rows = []
        for condition, values in scores.items():
            if values.size:
                summary = paired.summary(values)
                rows.append(
                    {"condition": condition, **summary._asdict(), "failed": pairs.failed(condition)}
                )
                tell.number(summary.mean, "mean", condition)
                tell.number(summary.median, "median", condition)
        tell.tables["groups"] = pd.DataFrame(
            rows, columns=["condition", *paired.Summary._fields, "failed"]
        )
        e = PairEvidence(pairs, self._settings(judged), rng)
        sides = {"treatment": treatment, "baseline": baseline}
        tell.number(e.margin.value, "margin")
        tell.number(e.n_groups, "groups")
        tell.say("expected", sides, expected=e.expected)
        tell.say("pairs", sides, n=e.n_pairs, groups=e.n_groups)
        tell.say("margin", margin=e.margin.value, source=e.source)
        if e.margin.value == 0:
            tell.say("margin_zero")
        tell.findings += failed
        if left_out:
            tell.say("left_out", n=left_out, total=len(first) + left_out)
        if e.n_pairs and pairs.failed(treatment, baseline):
            _say_failures(tell, judged, e, rng)
        ruling = _ruled(judged, e, rng)
        if e.main is not None:
            self._describe(tell, e, e.main)
            tell.tables["length"] = rivals.table_of_lengths(pairs)
            d = first["score"] - second["score"]
            for key in self.breakdowns:  # description only, the groups are small
                by = first.get(f"metadata.{key}")
                if by is not None and by.notna().any():
                    grouped = d.groupby(by.to_numpy(dtype=object)).agg(
                        n="size", mean_difference="mean"
                    )
                    tell.tables[f"by_{key}"] = grouped.rename_axis(key).reset_index()
            scored = {
                c: side["score"].reindex(first.index).to_numpy() for c, side in pairs.sides.items()
            }
            table = pd.DataFrame({"pair_id": first.index, "group": units(first)} | scored)
            table["difference"] = table[treatment] - table[baseline]
            tell.tables["pairs"] = table.sort_values("difference", kind="stable").reset_index(
                drop=True
            )
        _draw(tell, judged, pairs, treatment, baseline)
        return [tell.result(*ruling.decided, headline="ab.share_expected" if len(first) else None)]

    def matched(self, judged: LongTable) -> Pairs:
        """The pairs of the contrast that counts, with a hybrid that stands with it in a pair."""
        frame = judged.frame
        two = contrast(self.treatment, self.baseline, frame)
        together = frame["pair_id"].isin(
            frame.loc[frame["condition"].isin(two), "pair_id"].dropna()
        )
        present = set(frame.loc[together, "condition"])
        return match(judged, two, [name for name in listed(self.hybrid) if name in present][:1])

    def ruling(self, judged: LongTable, pairs: Pairs, rng: np.random.Generator) -> Ruling:
        """The verdict alone, by the same rules, without what only a report needs; scores are those
        of `pairs`."""
        return _ruled(
            judged, PairEvidence(pairs, self._settings(judged), rng, for_report=False), rng
        )

    def _settings(self, judged: LongTable) -> PairSettings:
        margin, seen = margin_of(judged.rubric, self.margin), rivals.Seen(judged.rubric.field_words)
        return PairSettings(
            judged.sign, margin, self.level, self.alpha, self.power, self.zero_method, seen
        )

    def _describe(self, tell: Told, e: "PairEvidence", main: "PairComparison") -> None:
        """Tell all that was examined, in the order in which the rules look at it, and the smallest
        true difference that so many groups of this spread would show to be beyond the margin."""
        settings, margin = e.settings, e.margin.value
        _say_main(tell, main, settings)
        if e.rival is not None:
            rivals.say_rival(tell, e.rival, settings)
        if e.hybrid is not None:
            _say_hybrid(tell, e)
        elif self.hybrid is not None:
            tell.say("no_hybrid", hybrid=listed(self.hybrid))
        rivals.say_lengths(tell, e.pairs.between(main.a, main.b), e.lengths, settings)
        if e.matched is not None:
            rivals.say_matched(tell, e.matched, settings)
        tell.number(main.auc, "auc")
        tell.say(
            "auc", main.auc.values("auc"), level=settings.level, treatment=main.a, baseline=main.b
        )
        if main.claim is not None:
            d, bounds = main.differences, settings.bounds
            usual = paired.hodges_lehmann_interval(
                d, settings.level, groups=main.groups, bounds=bounds
            )
            tell.number(usual, "hodges_lehmann")
            tell.say("hodges_lehmann", usual.values("estimate"), level=settings.level)
        d = of_groups(main.differences, main.groups)
        if d.size >= e.fewest and (spread := float(np.std(d, ddof=1))) > 0:
            excess = claims.minimum_detectable_effect(d.size, spread, self.power, self.alpha)
            tell.number(margin + excess, "minimum_detectable")
            tell.say(
                "power", groups=d.size, detectable=margin + excess, sd=spread, power=self.power
            )
        tell.tables["comparisons"] = pd.DataFrame(
            [one.row() for one in (main, e.over, e.under) if one is not None]
        )


class PairComparison:
    """Condition `a` minus condition `b` over the pairs that have both.

    `differences` has shape (n_pairs,), `groups` the group of each. `claim` holds the mean
    difference *in the expected direction* (sign times a minus b) against the margin, `balance` the
    share of pairs in that direction minus the share of pairs in the other one (`against`) against
    0; None for fewer than two groups. `test` is over the means of groups, `rank_biserial` None
    where no pair differs; `auc` is how often a text of `a` lies on the expected side of a text of
    `b`, pairing ignored.
    """

    claim: claims.Claim | None = None
    balance: claims.Claim | None = None

    def __init__(
        self, a: str, b: str, sides: tuple[pd.DataFrame, pd.DataFrame], settings: PairSettings
    ) -> None:
        self.a, self.b, self.settings, self.groups = a, b, settings, units(sides[0])
        first, second = (numbers(side, "score") for side in sides)
        self.differences, groups, level, alpha = (
            first - second,
            self.groups,
            settings.level,
            settings.alpha,
        )
        self.n_groups, expected = len(set(groups)), settings.sign * self.differences
        if self.n_groups > 1:
            margin, bounds = settings.margin.value, settings.bounds
            self.claim = claims.claim(
                expected, margin, alpha=alpha, power=settings.power, groups=groups, bounds=bounds
            )
            self.balance = claims.claim(
                np.sign(expected), 0.0, alpha=alpha, groups=groups, bounds=(-1.0, 1.0)
            )
        self.rank_biserial = (
            paired.rank_biserial(self.differences) if np.any(self.differences != 0) else None
        )
        self.share = paired.share_in_direction(expected, level, groups=groups)
        self.test = paired.wilcoxon(of_groups(self.differences, groups), settings.zero_method)
        self.untied = int(self.share.n_ties == 0)
        self.against = 1 - self.share.estimate.value - self.share.n_ties / self.share.estimate.n
        turned = settings.sign * first, settings.sign * second
        self.auc = ranking.auc(*turned, level, groups_a=groups, groups_b=groups)

    def row(self) -> dict[str, object]:
        """The row of the table `comparisons`."""
        low, high = (
            (None, None)
            if self.claim is None
            else self.settings.turned(self.claim.estimate).interval
        )
        row: dict[str, object] = {
            "a": self.a,
            "b": self.b,
            "n": self.differences.size,
            "n_groups": self.n_groups,
        }
        row |= {"n_zero": self.share.n_ties, "mean_difference": float(self.differences.mean())}
        row |= {"low": low, "high": high, "median_difference": float(np.median(self.differences))}
        row |= {"rank_biserial": self.rank_biserial, "share_expected": self.share.estimate.value}
        return row | {"auc": self.auc.value, "p": self.test.p_value}


def compare(pairs: Pairs, a: str, b: str, settings: PairSettings) -> PairComparison | None:
    """Compare two conditions, or None if no pair has both scores."""
    sides = pairs.between(a, b)
    return None if sides[0].empty else PairComparison(a, b, sides, settings)


def of_groups(values: NDArray[np.float64], groups: list[str]) -> NDArray[np.float64]:
    """Mean per group, in order of appearance."""
    by = np.asarray(groups, dtype=object)
    return pd.Series(values).groupby(by, sort=False).mean().to_numpy(dtype=np.float64)


class PairEvidence:
    """What the verdict looks at and what its sentence names: differences in the expected direction
    over complete pairs.

    `judged` counts the judged texts of treatment and baseline, `failed` the failed judgments of
    all; `fewest` is the smallest number of groups with which a result can be significant. `main` is
    None where no pair has both conditions, `hybrid` where the dataset has none, `over` (treatment
    against hybrid) and `under` (hybrid against baseline) where no pair has both. Lengths and rivals
    are None, not looked at, for fewer than two groups, where the difference is not beyond the
    margin, or without need; `over_rival` is that of treatment and hybrid. `otherwise` is the
    verdict that failed judgments could turn (`withheld`).

    Args:
        pairs, settings: What is compared (treatment, baseline, perhaps a hybrid), and how.
        rng: For rivals and lengths.
        for_report: Look at rivals and lengths whatever the difference is; else only where the rules
            ask for them, which is where it is beyond the margin.
    """

    otherwise: str | None = None
    over: PairComparison | None = None
    under: PairComparison | None = None
    rival: rivals.Rival | None = None
    over_rival: rivals.Rival | None = None
    matched: rivals.Matched | None = None
    length: rivals.Control | None = None

    def __init__(
        self, pairs: Pairs, settings: PairSettings, rng: Rng, *, for_report: bool = True
    ) -> None:
        treatment, baseline, *others = conditions = list(pairs.sides)
        both, self.main = (
            pairs.between(treatment, baseline),
            compare(pairs, treatment, baseline, settings),
        )
        self.pairs, self.settings, self.margin = pairs, settings, settings.margin
        self.treatment, self.baseline, self.hybrid = treatment, baseline, next(iter(others), None)
        self.judged = {
            condition: len(pairs.complete(condition)) for condition in (treatment, baseline)
        }
        self.n_pairs, self.failed = len(both[0]), pairs.failed(*conditions)
        self.n_groups, self.difference = (
            (0, None) if self.main is None else (self.main.n_groups, self.main.claim)
        )
        self.turned = None if self.difference is None else -self.difference.estimate
        self.fewest = claims.fewest_pairs(settings.alpha)
        self.lengths: dict[str, AtEqual | None] = {}
        self.expected, self.opposite = ("higher", "lower")[:: settings.sign]
        self.source, self.counts = f"margin_{settings.margin.source}", len(settings.seen.columns)
        self.level, self.inner_level = 1 - settings.alpha, 1 - 2 * settings.alpha
        if self.difference is not None and (for_report or self.difference.outcome == "beyond"):
            self.lengths = {
                unit: rivals.at_equal_length(*both, unit, settings, rng) for unit in rivals.UNITS
            }
            self.matched = rivals.check_matched(*both, settings)
            same = bool((both[0]["characters"] == both[1]["characters"]).all())
            self.length = rivals.control(self.lengths["characters"], self.matched, settings, same)
            self.rival = rivals.paired_rival(*both, settings, rng)
        self.surface = None if self.rival is None else self.rival.outcome
        if self.hybrid is None:
            return
        self.over = compare(pairs, treatment, self.hybrid, settings)
        self.hybrid_groups = 0 if self.over is None else self.over.n_groups
        self.under = compare(pairs, self.hybrid, baseline, settings)
        beyond = (
            self.over is not None
            and self.over.claim is not None
            and self.over.claim.outcome == "beyond"
        )
        if beyond and self.rival is not None:
            self.over_rival = rivals.paired_rival(
                *pairs.between(treatment, self.hybrid), settings, rng
            )

    @property
    def seen(self) -> str:
        """On which side of the margin the difference was seen."""
        assert self.difference is not None, "there is a difference"
        value = self.difference.estimate.value
        if abs(value) <= self.margin.value:
            return "seen_within"
        return "seen_beyond" if value > 0 else "seen_reversed"

    @property
    def short(self) -> bool:
        """Whether the difference is shown not to reach the margin, by a one-sided test."""
        claim = self.difference
        return (
            claim is not None and claim.outcome != "beyond" and claim.inner[1] < self.margin.value
        )

    @property
    def inconsistent(self) -> bool:
        """Whether test, share and balance do not all go with the mean difference."""
        assert self.main is not None and self.main.balance is not None, "there is a difference"
        share, balance = self.main.share.estimate, self.main.balance.estimate
        return not (
            self.main.test.p_value < self.settings.alpha and balance.low > 0 and share.value > 0.5
        )

    @property
    def by_hybrid(self) -> str | None:
        """Does the treatment score beyond the margin above a text that explains *and* cites, and
        not by its surface? None, or what is the matter.

        A judge that reads citations and counts words would else pass: the one sets the treatment
        off from the baseline, the other from the hybrid.
        """
        over, under, rival = self.over, self.under, self.over_rival
        if self.hybrid is None:
            return None
        if (
            over is None
            or over.claim is None
            or under is None
            or under.claim is None
            or over.n_groups < self.fewest
        ):
            return "hybrid_few"
        if over.claim.outcome == "beyond":
            return (
                None
                if rival is not None and rival.outcome == "beyond_surface"
                else "hybrid_surface"
            )
        if over.claim.outcome == "against" or (
            self.margin.equivalence and over.claim.inner[1] < self.margin.value
        ):
            return "reads_citation"
        return "citation_first" if under.claim.outcome == "beyond" else "hybrid_open"


def withheld(ruling: Ruling, at_worst: Ruling) -> Ruling:
    """The verdict, which stands if it stands, too, with all failed judgments set to the end of the
    scale that speaks against it (`at_worst`); else they could turn it, and it is none."""
    if ruling.standing in ("undecided", at_worst.standing):
        return ruling
    return ruling.again(otherwise=f"alone_{ruling.key}")


def _filled(judged: LongTable, pairs: Pairs) -> list[Pairs]:
    """The pairs with every failed judgment at the end of the scale that speaks most against the
    claim that the treatment scores on the expected side of all others, and most for it."""
    treatment, ends = (
        next(iter(pairs.sides)),
        (judged.rubric.minimum, judged.rubric.maximum)[:: judged.sign],
    )
    return [pairs.filled(treatment, *ends), pairs.filled(treatment, *ends[::-1])]


def _draw(tell: Told, judged: LongTable, pairs: Pairs, treatment: str, baseline: str) -> None:
    """Scores by condition, and a line for each pair."""
    sides = {c: side.dropna(subset="score") for c, side in pairs.sides.items()}
    scores, ids = (
        {c: numbers(side, "score") for c, side in sides.items()},
        {c: [*s["item_id"]] for c, s in sides.items()},
    )
    judged.draw(tell, scores, "box", "histogram", ids=ids)
    first, second = pairs.between(treatment, baseline)
    if len(first) < FEWEST_DRAWN:
        tell.findings.append(too_few("slope", len(first)))
        return
    lines = list(
        zip(numbers(second, "score").tolist(), numbers(first, "score").tolist(), strict=True)
    )
    ends = {"left": baseline, "right": treatment, "y_label": "score", "limits": judged.scale}
    tell.draw("slope", "slope", pairs=lines, ids=list(first.index), **ends)


def _ruled(judged: LongTable, e: PairEvidence, rng: Rng) -> Ruling:
    """The verdict, or what is left of it with failed judgments at their worst for it."""
    ruling = verdict(AB, e)
    if ruling.standing == "undecided" or not e.failed or not e.n_pairs:
        return ruling
    filled = _filled(judged, e.pairs)[ruling.standing != "supported"]
    return withheld(ruling, verdict(AB, PairEvidence(filled, e.settings, rng, for_report=False)))


def _say_failures(tell: Told, judged: LongTable, e: PairEvidence, rng: Rng) -> None:
    """Tell what failed judgments of the two sides could do: bounds, whether they depend on the
    condition, the estimate over all pairs."""
    settings, first = e.settings, e.pairs.sides[e.treatment]
    second = e.pairs.sides[e.baseline].loc[first.index]
    a, b, groups = numbers(first, "score"), numbers(second, "score"), units(first)
    ends = [
        compare(filled, e.treatment, e.baseline, settings) for filled in _filled(judged, e.pairs)
    ]
    worst, best = (None if one is None or one.claim is None else one.claim.estimate for one in ends)
    if worst is not None and best is not None:
        mean = settings.turned(worst.replace(low=worst.value, high=best.value)).interval
        outer = settings.turned(worst.replace(high=best.high)).interval
        tell.number(mean[0], "worst_case_low")
        tell.number(mean[1], "worst_case_high")
        tell.say("bounds", total=len(a), bounds=mean, interval=outer, level=1 - settings.alpha)
    test = paired.failure_test(a, b, groups)
    values = {"treatment": e.treatment, "baseline": e.baseline, "n_a": test.n_a, "n_b": test.n_b}
    tell.number(test.p_value, "failures_p")
    if (p := test.p_value) is None:
        tell.say("failures_even", values)
    else:
        tell.say("failures_depend" if p < settings.alpha else "failures_unclear", values, p=p)
    # Of a text whose judgment failed, its length is known.
    known = [side[list(rivals.UNITS)].to_numpy(dtype=np.float64) for side in (first, second)]
    robust = paired.robust_difference(a, b, known, rng, groups=groups, level=settings.level)
    tell.number(robust, "robust_difference")
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
    share, ties, test, level = main.share.estimate, main.share.n_ties, main.test, settings.level
    if main.claim is not None:
        mean = settings.turned(main.claim.estimate)
        middle = paired.median(main.differences, level, groups=main.groups, bounds=settings.bounds)
        tell.number(mean, "mean_difference")
        values = mean.values("mean", "mean_") | middle.values("median", "median_")
        tell.say("difference", values, mean_level=1 - settings.alpha, level=level)
        if mean.method == "bounded":
            tell.say("bounded", same=2 * means.SAME_SHARE * settings.margin.span)
    tell.number(share, "share_expected")
    tell.say("share", share.values("share"), hits=share.hits, n=share.n, ties=ties, level=level)
    tell.number(test.p_value, "p")
    tell.number(ties, "zero_differences")
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


def _say_hybrid(tell: Told, e: PairEvidence) -> None:
    """Tell treatment minus hybrid and hybrid minus baseline, and what of the former remains between
    texts of equal surface, where that was looked at."""
    over, under, rival = e.over, e.under, e.over_rival
    conditions = {"treatment": e.treatment, "hybrid": e.hybrid}
    if over is None or under is None or over.claim is None or under.claim is None:
        tell.say("no_hybrid", hybrid=e.hybrid)
    else:
        first, second = (
            e.settings.turned(over.claim.estimate),
            e.settings.turned(under.claim.estimate),
        )
        tell.number(first, "treatment_vs_hybrid")
        tell.number(second, "hybrid_vs_baseline")
        values = first.values("over", "over_") | second.values("under", "under_") | conditions
        groups = {"over_groups": first.n_groups, "under_groups": second.n_groups}
        tell.say("hybrid", values, groups, baseline=e.baseline, level=e.level)
    if rival is not None and rival.at_equal is not None and rival.share is not None:
        rest = rival.at_equal.difference.estimate
        tell.say(
            "hybrid_equal",
            rest.values("difference"),
            conditions,
            share=rival.share.value,
            level=rest.level,
        )
