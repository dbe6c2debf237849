"""Holds the rules of `examinations.ab`: whether texts that differ only in how they argue get
different scores, and it is nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from undogmatic.examinations.comparison import PairComparison
from undogmatic.examinations.rivals import Control, Outcome, Rival, unforeseen
from undogmatic.examinations.ruling import Rule, Rules, Values, always, known
from undogmatic.examinations.truth import Margin
from undogmatic.records.results import Finding, Leaves
from undogmatic.stats.claims import Claim
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.surface import KERNELS


@dataclass(frozen=True)
class AbFacts:
    """Holds what is known of the difference in the expected direction over complete pairs.

    `judged` counts the judged texts of treatment and baseline, `failed` the failed judgments of
    all; `fewest` is the smallest number of groups with which a result can be significant at
    `alpha`. `main` is None where no pair has both conditions, `hybrid` where the dataset has none,
    `over` (treatment against hybrid) and `under` (hybrid against baseline) where no pair has both.
    `length` and `rival` are None, not looked at, for fewer than two groups, where the difference is
    not beyond the margin, or without need; `over_rival` is that of treatment and hybrid, and a
    rival counts `counts` things. `expected` is on which side the treatment should score, `opposite`
    the other one. `otherwise` is the verdict that failed judgments could turn.
    """

    treatment: str
    baseline: str
    hybrid: str | None
    expected: str
    opposite: str
    margin: Margin
    alpha: float
    fewest: int
    counts: int
    judged: Mapping[str, int]
    failed: int
    n_pairs: int
    n_groups: int
    main: PairComparison | None
    difference: Claim | None
    length: Control | None = None
    rival: Rival | None = None
    over: PairComparison | None = None
    under: PairComparison | None = None
    over_rival: Rival | None = None
    otherwise: str | None = None

    @property
    def level(self) -> float:
        """The level of the interval that decides about the difference."""
        return 1 - self.alpha

    @property
    def inner_level(self) -> float:
        """The level of the interval by which two one-sided tests decide."""
        return 1 - 2 * self.alpha

    @property
    def source(self) -> str:
        """The words for who set the margin."""
        return f"margin_{self.margin.source}"

    @property
    def surface(self) -> Outcome | None:
        """What the surface judge came to."""
        return None if self.rival is None else self.rival.outcome

    @property
    def hybrid_groups(self) -> int:
        """The groups in which treatment and hybrid are compared."""
        return 0 if self.over is None else self.over.n_groups

    @property
    def seen(self) -> str:
        """On which side of the margin the difference was seen."""
        value = known(self.difference).estimate.value
        if abs(value) <= self.margin.value:
            return "seen_within"
        return "seen_beyond" if value > 0 else "seen_reversed"

    @property
    def beyond(self) -> bool:
        """Whether the difference is shown to be beyond the margin on the expected side."""
        return known(self.difference).outcome == "beyond"

    @property
    def short(self) -> bool:
        """Whether the difference is shown not to reach the margin, by a one-sided test."""
        claim = self.difference
        return (
            claim is not None
            and claim.outcome != "beyond"
            and claim.inner[1] < self.margin.value
        )

    @property
    def inconsistent(self) -> bool:
        """Whether test, share and balance do not all go with the mean difference."""
        main = known(self.main)
        share, balance = main.share.estimate, known(main.balance).estimate
        return not (
            main.test.p_value < self.alpha and balance.low > 0 and share.value > 0.5
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


def _sides(facts: AbFacts) -> Values:
    return {
        "treatment": facts.treatment,
        "baseline": facts.baseline,
        "expected": facts.expected,
    }


def _margin(facts: AbFacts) -> Values:
    return {"margin": facts.margin.value, "source": facts.source}


def _size(facts: AbFacts) -> Values:
    """Name the difference with the interval that the table has, too, not the narrower one of the
    two one-sided tests."""
    difference = known(facts.difference).estimate
    return _sides(facts) | {
        "difference": difference.value,
        "interval": difference.interval,
        "level": facts.level,
    }


def _size_margin(facts: AbFacts) -> Values:
    return _size(facts) | _margin(facts)


def _share(facts: AbFacts) -> Values:
    return {"share": known(facts.main).share.estimate.value, "n": facts.n_pairs}


def _missing(facts: AbFacts) -> Values:
    return _sides(facts) | {
        "failed": facts.failed,
        "n": facts.n_pairs,
        "otherwise": facts.otherwise,
    }


def _all_failed(facts: AbFacts) -> Values:
    return {
        "conditions": [condition for condition, n in facts.judged.items() if n == 0]
    }


def _too_few(facts: AbFacts) -> Values:
    return {"n": facts.n_pairs, "groups": facts.n_groups, "needed": facts.fewest}


def _reversed(facts: AbFacts) -> Values:
    """Name the difference the other way round."""
    turned = -known(facts.difference).estimate
    return (
        _sides(facts)
        | _margin(facts)
        | {
            "level": facts.level,
            "n": facts.n_pairs,
            "opposite": facts.opposite,
            "difference": turned.value,
            "interval": turned.interval,
        }
    )


def _within(facts: AbFacts) -> Values:
    return _size_margin(facts) | {
        "n": facts.n_pairs,
        "groups": facts.n_groups,
        "ties": known(facts.main).share.n_ties,
    }


def _open(facts: AbFacts) -> Values:
    return _size_margin(facts) | {
        "groups": facts.n_groups,
        "needed": known(facts.difference).n_needed,
        "seen": facts.seen,
    }


def _hybrid(facts: AbFacts) -> Values:
    return _size(facts) | {"hybrid": facts.hybrid}


def _over(facts: AbFacts, claim: Claim) -> Values:
    return _hybrid(facts) | {"over": claim.estimate.value, "margin": facts.margin.value}


def _over_inner(facts: AbFacts) -> Values:
    claim = known(known(facts.over).claim)
    return _over(facts, claim) | {
        "over_interval": claim.inner,
        "over_level": facts.inner_level,
    }


def _over_outer(facts: AbFacts) -> Values:
    claim = known(known(facts.over).claim)
    return _over(facts, claim) | {
        "over_interval": claim.estimate.interval,
        "over_level": facts.level,
    }


def _hybrid_few(facts: AbFacts) -> Values:
    return _hybrid(facts) | {"groups": facts.hybrid_groups, "needed": facts.fewest}


def _rival_share(facts: AbFacts) -> Values:
    share: Estimate = known(known(facts.rival).share)
    return _size(facts) | _share(facts) | {"surface": share.value}


def _surface_open(facts: AbFacts) -> Values:
    """Name what is left between texts that the word counter takes for alike, where that is
    known."""
    at_equal = known(facts.rival).at_equal
    if at_equal is None or at_equal.extrapolated:
        return _size(facts) | {"rest": []}
    left = at_equal.difference.estimate
    turned = left if facts.expected == "higher" else -left
    values = turned.values("left") | {"margin": facts.margin.value}
    if turned.low <= facts.margin.value:
        return _size(facts) | {"rest": [Finding("ab.open_left", values)]}
    # The interval passes the margin: what it lacks is what the counter did not foresee.
    sign = 1 if facts.expected == "higher" else -1
    values["slack"] = unforeseen(at_equal, sign)
    values["shown"] = turned.low - values["slack"]
    return _size(facts) | {"rest": [Finding("ab.open_left_unforeseen", values)]}


def _inconsistent(facts: AbFacts) -> Values:
    main = known(facts.main)
    balance = known(main.balance).estimate
    return (
        _size(facts)
        | _share(facts)
        | {
            "ties": main.share.n_ties,
            "balance_interval": balance.interval,
            "balance_level": balance.level,
            "p": main.test.p_value,
            "against": main.against,
        }
    )


def _supported(facts: AbFacts) -> Values:
    main = known(facts.main)
    return (
        {"kernels": KERNELS}
        | _size_margin(facts)
        | _share(facts)
        | {"ties": main.share.n_ties, "untied": main.untied, "counts": facts.counts}
    )


def _reason(
    key: str,
    leaves: Leaves,
    when: Callable[[AbFacts], object],
    says: Callable[[AbFacts], Values] = _size,
) -> Rule[AbFacts]:
    """A rule that is one of several reasons against the claim."""
    return Rule(key, leaves, when, says, against=True)


AB = Rules[AbFacts](
    "ab.verdict_",
    (
        Rule("missing", "undecided", lambda f: f.otherwise is not None, _missing),
        Rule("all_failed", "undecided", lambda f: 0 in f.judged.values(), _all_failed),
        Rule(
            "no_pairs",
            "undecided",
            lambda f: f.n_pairs == 0,
            lambda f: {"failed": f.failed},
        ),
        Rule(
            "one_group",
            "undecided",
            lambda f: f.n_groups == 1 and f.n_pairs > 1,
            lambda f: {"n": f.n_pairs, "needed": f.fewest},
        ),
        Rule("too_few", "undecided", lambda f: f.n_groups < f.fewest, _too_few),
        Rule(
            "margin_wide",
            "undecided",
            lambda f: not f.margin.superiority,
            lambda f: {"margin": f.margin.value, "span": f.margin.span},
        ),
        # No difference beyond the margin in the expected direction.
        Rule(
            "identical",
            "refuted",
            lambda f: known(f.main).rank_biserial is None,
            lambda f: _sides(f) | {"n": f.n_pairs},
        ),
        Rule(
            "reversed",
            "refuted",
            lambda f: known(f.difference).outcome == "against",
            _reversed,
        ),
        Rule(
            "within",
            "refuted",
            lambda f: (
                f.short
                and f.margin.equivalence
                and known(f.difference).outcome == "within"
            ),
            _within,
        ),
        Rule(
            "below", "refuted", lambda f: f.short and f.margin.equivalence, _size_margin
        ),
        Rule(
            "no_margin",
            "undecided",
            lambda f: f.short and f.margin.value > 0,
            _size_margin,
        ),
        Rule(
            "open_zero",
            "undecided",
            lambda f: not f.beyond and f.margin.value == 0,
            _size,
        ),
        Rule(
            "open",
            "undecided",
            lambda f: not f.beyond and known(f.difference).n_needed is not None,
            _open,
        ),
        Rule("open_endless", "undecided", lambda f: not f.beyond, _size_margin),
        # Such a difference, but not one that is shown to be the judge's reading: in this order of
        # weight.
        _reason(
            "surface_explains", "refuted", lambda f: f.surface == "surface_explains"
        ),
        _reason(
            "reads_citation",
            "refuted",
            lambda f: f.by_hybrid == "reads_citation",
            _over_inner,
        ),
        _reason("confounded", "refuted", lambda f: f.length == "confounded"),
        _reason(
            "surface_as_good",
            "not_yet",
            lambda f: f.surface == "surface_as_good",
            _rival_share,
        ),
        _reason(
            "citation_first",
            "not_yet",
            lambda f: f.by_hybrid == "citation_first",
            _over_outer,
        ),
        _reason("inseparable", "not_yet", lambda f: f.length == "inseparable"),
        _reason(
            "surface_open", "not_yet", lambda f: f.surface == "open", _surface_open
        ),
        _reason("no_texts", "not_yet", lambda f: f.surface == "no_texts"),
        _reason("length_open", "not_yet", lambda f: f.length == "open"),
        _reason(
            "hybrid_few", "not_yet", lambda f: f.by_hybrid == "hybrid_few", _hybrid_few
        ),
        _reason(
            "hybrid_open",
            "not_yet",
            lambda f: f.by_hybrid == "hybrid_open",
            _over_outer,
        ),
        _reason(
            "hybrid_surface",
            "not_yet",
            lambda f: f.by_hybrid == "hybrid_surface",
            _hybrid,
        ),
        _reason("inconsistent", "not_yet", lambda f: f.inconsistent, _inconsistent),
        Rule("supported", "supported", always, _supported),
    ),
)
