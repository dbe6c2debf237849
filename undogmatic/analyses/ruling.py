"""Decides every verdict: the rules of each are a table of checks in order of gravity, which one
function reads.

An analysis gathers its evidence (any object with attributes), and asks for the verdict:

    TASTE = Rules("taste.verdict_", (
        Rule("few", "undecided", lambda e: e.n < 10, "n"),
        Rule("bitter", "refuted", lambda e: e.share.high < 0.5, "n share=share.value"),
        Rule("sweet", "supported", lambda e: e.share.low > 0.5, "n share=share.value"),
        Rule("open", "undecided", always, "n"),
    ))
    ruling = verdict(TASTE, Evidence(n=40, share=share))
    Told(..., verdict=ruling.finding, standing=ruling.standing)

The first rule whose condition holds decides. Its sentence is a wording, here `taste.verdict_few` in
`taste.texts.yaml`, with the values that the rule names. docs/verdicts.md explains the rules to
readers. A construct, a sweep or the gate keeps the table of its own verdict beside its evidence;
those of the analyses are all here.
"""

import copy
import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from undogmatic.records.results import ANSWERS, Finding, Leaves, Standing
from undogmatic.stats.surface import KERNELS

AT_ONCE = 2
"""Answers that hold together as they are: an interval misses on either side, and one side is what
counts."""


class Rule(NamedTuple):
    """One check of a verdict.

    Attributes:
        key: Of its wording, behind the prefix of the table.
        leaves: How it leaves the claim, a standing or "not_yet" (see `Leaves`); None where no claim
            is tested.
        when: Whether it applies to the evidence; the rules before it do not.
        says: What its sentence names, by attributes of the evidence: `n`, or `n=judged.n`, or
            `interval=mean.low,mean.high` for a pair of them; or what makes the values from the
            evidence.
        adds: Values of the sentence that are the same whatever the evidence.
        against: Whether it is one of several reasons against a claim that may hold together. The
            sentence of the first then names the others behind it: values `alone` (1 where there are
            none) and `also`.
    """

    key: str
    leaves: Leaves | None
    when: Callable[[Any], object]
    says: str | Callable[[Any], Mapping[str, Any]] = ""
    adds: Mapping[str, Any] = {}
    against: bool = False


class Rules(NamedTuple):
    """The rules of a verdict, the gravest first; `prefix` is that of the keys of their wordings."""

    prefix: str
    rules: tuple[Rule, ...]


class Ruling(NamedTuple):
    """The rule that decided, with its key and how it leaves the claim, on what evidence, and the
    keys of the further reasons against the claim, gravest first."""

    rules: Rules
    rule: Rule
    key: str
    standing: Standing | None
    evidence: Any
    others: tuple[str, ...] = ()

    @property
    def decided(self) -> tuple[Finding, Standing | None]:
        """The sentence and the standing, as `Told.result` takes them."""
        return self.finding, self.standing

    @property
    def finding(self) -> Finding:
        """The sentence."""
        values, says = dict(self.rule.adds), self.rule.says
        if callable(says):
            values |= says(self.evidence)
        else:
            for name, _, path in (named.partition("=") for named in says.split()):
                values[name] = attrgetter(*(path or name).split(","))(self.evidence)
        if self.rule.against:
            values |= {
                "alone": 0 if self.others else 1,
                "also": [f"also_{other}" for other in self.others],
            }
        return Finding(f"{self.rules.prefix}{self.key}", values, ANSWERS[self.rule.leaves])

    def again(self, **changes: Any) -> "Ruling":
        """The verdict by the same rules on changed evidence."""
        evidence = copy.copy(self.evidence)
        vars(evidence).update(changes)
        return verdict(self.rules, evidence)


def verdict(rules: Rules, evidence: Any) -> Ruling:
    """The first rule that applies, and of the reasons against a claim all that do."""
    applying = (rule for rule in rules.rules if rule.when(evidence))
    first = next(applying)  # the last rule always applies
    others = tuple(rule.key for rule in applying if rule.against) if first.against else ()
    standing = "undecided" if first.leaves == "not_yet" else first.leaves
    return Ruling(rules, first, first.key, standing, evidence, others)


def always(evidence: Any) -> bool:
    """Holds: the condition of the last rule."""
    return True


def _is(attribute: str, value: str) -> Callable[[Any], bool]:
    """The condition that this of the evidence has this value: that the surface judge came to an
    outcome."""
    return lambda e: bool(getattr(e, attribute) == value)


_SURFACE = (
    Rule("surface_explains", "refuted", _is("surface", "surface_explains")),
    Rule("surface_as_good", "not_yet", _is("surface", "surface_as_good")),
    Rule("surface_open", "not_yet", _is("surface", "open")),
    Rule("no_texts", "not_yet", _is("surface", "no_texts")),
)

CONTROLS = Rules(
    "controls.verdict_",
    (
        Rule("incomplete", "undecided", lambda e: not e.compared, "conditions=absent"),
        Rule("reversed", "refuted", lambda e: e.reversed, "conditions=reversed"),
        Rule("outside", "refuted", lambda e: e.outside, "conditions=outside share"),
        Rule("open_endless", "undecided", lambda e: None in e.needed, lambda e: e.open),
        Rule("open", "undecided", lambda e: e.needed, lambda e: e.open | {"needed": max(e.needed)}),
        Rule("missing", "undecided", lambda e: e.missing, "conditions=missing"),
        *_SURFACE,
        Rule("hold", "supported", always, "share weakest counts"),
    ),
)
ADVERSARIAL = Rules(
    "adversarial.verdict_",
    (
        Rule("nothing_judged", "undecided", lambda e: not e.total, "conditions=baseline"),
        Rule("succeeds", "refuted", lambda e: e.succeeds["n"], lambda e: e.succeeds),
        Rule(
            "open_endless",
            "undecided",
            lambda e: e.open["n"] and e.needed is None,
            lambda e: e.open,
        ),
        Rule("open", "undecided", lambda e: e.open["n"], lambda e: e.open | {"needed": e.needed}),
        Rule("missing", "undecided", lambda e: e.missing["n"], lambda e: e.missing),
        *_SURFACE,
        Rule("withstood", "supported", always, "total counts"),
    ),
)

_SIDES = "treatment baseline expected"
_SIZE = f"{_SIDES} difference=difference.estimate.value interval=difference.estimate.interval level"
_MARGIN = "margin=margin.value source"
_INNER = (  # the interval that the table has, too, not the narrower one of the two one-sided tests
    f"{_SIZE} {_MARGIN}"
)
_PAIRS = f"{_INNER} n=n_pairs groups=n_groups ties=main.share.n_ties"
_OVER = f"{_SIZE} hybrid over=over.claim.estimate.value margin=margin.value"
_OUTER = f"{_OVER} over_interval=over.claim.estimate.interval over_level=level"


def _reason(key: str, leaves: Leaves, when: Callable[[Any], object], says: str = _SIZE) -> Rule:
    return Rule(key, leaves, when, says, against=True)


AB = Rules(
    "ab.verdict_",
    (
        Rule(
            "missing",
            "undecided",
            lambda e: e.otherwise is not None,
            f"{_SIDES} failed n=n_pairs otherwise",
        ),
        Rule(
            "all_failed",
            "undecided",
            lambda e: 0 in e.judged.values(),
            lambda e: {"conditions": [condition for condition, n in e.judged.items() if n == 0]},
        ),
        Rule("no_pairs", "undecided", lambda e: e.n_pairs == 0, "failed"),
        Rule(
            "one_group",
            "undecided",
            lambda e: e.n_groups == 1 and e.n_pairs > 1,
            "n=n_pairs needed=fewest",
        ),
        Rule(
            "too_few",
            "undecided",
            lambda e: e.n_groups < e.fewest,
            "n=n_pairs groups=n_groups needed=fewest",
        ),
        Rule(
            "margin_wide",
            "undecided",
            lambda e: not e.margin.superiority,
            "margin=margin.value span=margin.span",
        ),
        # No difference beyond the margin in the expected direction.
        Rule("identical", "refuted", lambda e: e.main.rank_biserial is None, f"{_SIDES} n=n_pairs"),
        Rule(
            "reversed",
            "refuted",
            lambda e: e.difference.outcome == "against",
            f"{_SIDES} {_MARGIN} level n=n_pairs "
            "opposite difference=turned.value interval=turned.interval",
        ),
        Rule(
            "within",
            "refuted",
            lambda e: e.short and e.margin.equivalence and e.difference.outcome == "within",
            _PAIRS,
        ),
        Rule("below", "refuted", lambda e: e.short and e.margin.equivalence, _INNER),
        Rule("no_margin", "undecided", lambda e: e.short and e.margin.value > 0, _INNER),
        Rule(
            "open_zero",
            "undecided",
            lambda e: e.difference.outcome != "beyond" and e.margin.value == 0,
            _SIZE,
        ),
        Rule(
            "open",
            "undecided",
            lambda e: e.difference.outcome != "beyond" and e.difference.n_needed is not None,
            f"{_SIZE} {_MARGIN} groups=n_groups needed=difference.n_needed seen",
        ),
        Rule(
            "open_endless",
            "undecided",
            lambda e: e.difference.outcome != "beyond",
            f"{_SIZE} {_MARGIN}",
        ),
        # Such a difference, but not one that is shown to be the judge's reading: in this order of
        # weight.
        _reason("surface_explains", "refuted", _is("surface", "surface_explains")),
        _reason(
            "reads_citation",
            "refuted",
            _is("by_hybrid", "reads_citation"),
            f"{_OVER} over_interval=over.claim.inner over_level=inner_level",
        ),
        _reason("confounded", "refuted", _is("length", "confounded")),
        _reason(
            "surface_as_good",
            "not_yet",
            _is("surface", "surface_as_good"),
            f"{_SIZE} share=main.share.estimate.value n=n_pairs surface=rival.share.value",
        ),
        _reason("citation_first", "not_yet", _is("by_hybrid", "citation_first"), _OUTER),
        _reason("inseparable", "not_yet", _is("length", "inseparable")),
        _reason("surface_open", "not_yet", _is("surface", "open")),
        _reason("no_texts", "not_yet", _is("surface", "no_texts")),
        _reason("length_open", "not_yet", _is("length", "open")),
        _reason(
            "hybrid_few",
            "not_yet",
            _is("by_hybrid", "hybrid_few"),
            f"{_SIZE} hybrid groups=hybrid_groups needed=fewest",
        ),
        _reason("hybrid_open", "not_yet", _is("by_hybrid", "hybrid_open"), _OUTER),
        _reason("hybrid_surface", "not_yet", _is("by_hybrid", "hybrid_surface"), f"{_SIZE} hybrid"),
        _reason(
            "inconsistent",
            "not_yet",
            lambda e: e.inconsistent,
            f"{_SIZE} share=main.share.estimate.value n=n_pairs "
            "ties=main.share.n_ties balance_interval=main.balance.estimate.interval "
            "balance_level=main.balance.estimate.level p=main.test.p_value against=main.against",
        ),
        Rule(
            "supported",
            "supported",
            always,
            f"{_SIZE} {_MARGIN} share=main.share.estimate.value n=n_pairs "
            "ties=main.share.n_ties untied=main.untied counts",
            {"kernels": KERNELS},
        ),
    ),
)

_FOLLOWS = "spearman=follows.value interval=follows.interval level n"

LABELLED = Rules(
    "labelled.verdict_",
    (
        Rule(
            "scores_equal",
            "refuted",
            lambda e: e.same and not e.failed and e.enough_same,
            "n score=same_score order",
        ),
        Rule(
            "missing",
            "undecided",
            lambda e: e.same and e.failed,
            "failed n",
            {"otherwise": "alone_same"},
        ),
        Rule(
            "scores_equal_few",
            "undecided",
            lambda e: e.same,
            "n score=same_score order needed=fewest_same",
        ),
        Rule("too_few", "undecided", lambda e: e.n_groups < e.few, "n groups=n_groups needed=few"),
        Rule("labels_equal", "undecided", lambda e: e.same_label is not None, "n label=same_label"),
        Rule("no_interval", "undecided", lambda e: e.follows is None, "n"),
        Rule(
            "reversed",
            "refuted",
            lambda e: e.follows.high < 0 and e.follows.best_high < 0,
            _FOLLOWS,
        ),
        Rule(
            "missing",
            "undecided",
            lambda e: e.follows.high < 0,
            "failed n",
            {"otherwise": "alone_reversed"},
        ),
        Rule(
            "missing",
            "undecided",
            lambda e: e.held.outcome == "missing" and e.follows.low > e.order,
            "failed n",
            {"otherwise": "alone_follows"},
        ),
        Rule(
            "missing",
            "undecided",
            lambda e: e.held.outcome == "missing",
            "failed n",
            {"otherwise": "alone_too_weak"},
        ),
        Rule("too_weak", "refuted", lambda e: e.held.outcome == "below", f"{_FOLLOWS} order"),
        Rule(
            "open_endless",
            "undecided",
            lambda e: e.held.outcome == "open" and e.held.n_needed is None,
            f"{_FOLLOWS} order error",
        ),
        Rule(
            "open",
            "undecided",
            lambda e: e.held.outcome == "open",
            f"{_FOLLOWS} order error groups=n_groups needed=held.n_needed",
        ),
        Rule(
            "surface_explains",
            "refuted",
            _is("surface", "surface_explains"),
            f"{_FOLLOWS} order small part=rival.beyond.value part_interval=rival.beyond.interval",
        ),
        Rule(
            "surface_as_good",
            "not_yet",
            _is("surface", "surface_as_good"),
            f"{_FOLLOWS} order surface=rival.correlation",
        ),
        Rule("surface_open", "not_yet", _is("surface", "open"), f"{_FOLLOWS} order"),
        Rule("no_texts", "not_yet", _is("surface", "no_texts"), f"{_FOLLOWS} order"),
        Rule("checked", "not_yet", lambda e: e.reason, f"{_FOLLOWS} order reason"),
        Rule(
            "order", "supported", lambda e: e.size != "size_shown", f"{_FOLLOWS} order size counts"
        ),
        Rule(
            "order_and_size",
            "supported",
            always,
            f"{_FOLLOWS} order margin=margin.value counts "
            "gain=gain.judged.estimate.value gain_interval=gain.judged.estimate.interval",
        ),
    ),
)
SIZE = Rules(
    "",
    (
        Rule("size_larger", None, lambda e: e.gain.judged.outcome == "against"),
        Rule("size_not_smaller", None, lambda e: e.gain.judged.outcome != "beyond"),
        Rule("size_bias", None, lambda e: e.bias.judged.outcome in ("beyond", "against")),
        Rule("size_no_margin", None, lambda e: not e.margin.equivalence),
        Rule("size_bias_open", None, lambda e: e.bias.judged.outcome == "open"),
        Rule("size_shown", None, lambda e: e.gain.sure and e.bias.sure),
        Rule("size_missing", None, always),
    ),
)

_GAIN = "gain=gain.value interval=gain.interval n measure"
_BEYOND = (
    f"{_GAIN} beyond=beyond.estimate.value beyond_interval=beyond.estimate.interval"
    " level=beyond.estimate.level"
)
BARELY = (
    0.1  # a correlation at equal score that surely lies below this is none: Cohen's small effect
)

CALIBRATION = Rules(
    "calibration.verdict_",
    (
        Rule("too_few", "undecided", lambda e: e.n_groups < e.fewest, "n=n_groups needed=fewest"),
        Rule("none", "undecided", lambda e: e.measure is None),
        Rule("no_error", "undecided", lambda e: e.no_error, "n"),
        Rule("constant", "refuted", lambda e: e.constant),
        Rule("misleads", "refuted", lambda e: e.gain.high < 0, _GAIN),
        Rule(
            "function",
            "refuted",
            lambda e: e.beyond is not None and e.beyond.function,
            f"{_GAIN} share=beyond.share_of_score",
        ),
        Rule("unclear", "undecided", lambda e: e.gain.low <= 0, _GAIN),
        Rule("few", "not_yet", lambda e: e.beyond is None, f"{_GAIN} few"),
        Rule("error_of_score", "refuted", lambda e: math.isnan(e.beyond.estimate.value), _GAIN),
        Rule(
            "score_alone",
            "refuted",
            lambda e: e.beyond.estimate.high < BARELY and not e.beyond.estimate.low > 0,
            _BEYOND,
        ),
        Rule(
            "undecided",
            "not_yet",
            lambda e: not e.beyond.estimate.low > 0 and e.beyond.units_needed is None,
            _BEYOND,
        ),
        Rule(
            "undecided_needed",
            "not_yet",
            lambda e: not e.beyond.estimate.low > 0,
            f"{_BEYOND} needed=beyond.units_needed",
        ),
        Rule(
            "failed",
            "undecided",
            lambda e: e.worst is not None and not e.worst.holds,
            f"{_GAIN} failed=worst.n worst=worst.gain.value worst_interval=worst.gain.interval",
        ),
        Rule("worth", "supported", always, _BEYOND),
    ),
)
_COVERAGE = "coverage nominal width=mean_width n"
CONFORMAL = Rules(
    "conformal.verdict_",
    (
        Rule("refused", "undecided", lambda e: not e.split, "n needed"),
        Rule(
            "broken",
            "refuted",
            lambda e: e.band_low is not None and e.coverage < e.band_low,
            f"{_COVERAGE} interval=low,high",
        ),
        Rule(
            "constant",
            "not_yet",
            lambda e: e.promise.outcome == "within" and not e.nearer,
            f"{_COVERAGE} one_score its_width interval=low,high",
        ),
        Rule(
            "holds",
            "supported",
            lambda e: e.promise.outcome == "within",
            f"{_COVERAGE} span wide margin interval=promise.inner",
        ),
        Rule(
            "open_wide", "undecided", lambda e: e.wide, f"{_COVERAGE} span margin interval=low,high"
        ),
        Rule("open", "undecided", always, f"{_COVERAGE} span margin interval=low,high needed=more"),
    ),
)
ESCALATION = Rules(
    "escalation.verdict_",
    (
        Rule("no_doubt", "undecided", lambda e: e.measure is None),
        Rule(
            "constant",
            "not_yet",
            lambda e: e.constant is not None,
            "rate confidence measure tolerance constant always",
        ),
        Rule(
            "promised",
            "supported",
            lambda e: e.threshold is not None,
            "rate confidence measure tolerance threshold low decided texts share",
        ),
        Rule(
            "refused",
            "undecided",
            lambda e: e.surest is not None,
            "rate confidence surest=surest.n wrong surest_low=surest.least more units",
        ),
        Rule(
            "too_few_heavy",
            "undecided",
            lambda e: e.units >= e.if_alike,
            "rate confidence units needed of_units",
        ),
        Rule("too_few", "undecided", always, "rate confidence units needed"),
    ),
)
FEW_LABELS = Rules(
    "few_labels.verdict_",
    (
        Rule("too_few", None, lambda e: e.labels < e.fewest, "n=labels needed=fewest"),
        Rule(
            "too_few_groups",
            None,
            lambda e: e.effective < e.fewest_effective,
            "n=labels effective needed=fewest_effective",
        ),
        Rule(
            "too_few_for_map",
            None,
            lambda e: e.mean is None,
            "n=labels effective needed=fewest_for_map map",
        ),
        Rule(
            "estimate",
            None,
            always,
            "n labels level estimate=mean.estimate.value interval=mean.estimate.interval"
            " judge=mean.judge_mean only=mean.labels_only.value"
            " only_interval=mean.labels_only.interval",
        ),
    ),
)
_MOVED = (
    "n=worst.n moved=worst.judged.estimate.value interval=worst.judged.estimate.interval level "
    "margin=margin.value"
)
REPEATS = Rules(
    "reliability.verdict_",
    (
        Rule("cached", "not_yet", lambda e: e.all_cached, "n=n_cached"),
        Rule(
            "repeat_few",
            "undecided",
            lambda e: e.least.judged is None,
            "n=least.n groups=least.n_groups needed=few",
        ),
        Rule(
            "repeat_no_margin",
            "undecided",
            lambda e: not e.margin.equivalence,
            "margin=margin.value",
        ),
        Rule("repeat_constant", "undecided", lambda e: e.constant, "n=least.n"),
        Rule(
            "varies",
            "refuted",
            lambda e: e.worst.judged.outcome == e.worst.best.outcome == "beyond",
            _MOVED,
        ),
        Rule(
            "repeat_missing",
            "undecided",
            lambda e: e.worst.judged.outcome == "beyond",
            "failed=n_failed",
        ),
        Rule(
            "repeat_open_endless",
            "undecided",
            lambda e: e.open is not None and e.open.n_needed is None,
            _MOVED,
        ),
        Rule(
            "repeat_open",
            "undecided",
            lambda e: e.open is not None,
            f"{_MOVED} groups=worst.n_groups needed=open.n_needed",
        ),
        Rule("repeat_missing", "undecided", lambda e: not e.sure, "failed=n_failed"),
        Rule("repeats", "supported", always, _MOVED),
    ),
)

_ALPHA = "runs n alpha=alpha.value interval=alpha.interval level=alpha.level repeating"
AGREEMENT = Rules(
    "reliability.verdict_",
    (
        Rule("few", "undecided", lambda e: e.groups < e.few, "runs n groups needed=few"),
        Rule("no_alpha", "undecided", lambda e: e.alpha is None, "runs n"),
        Rule("agree", "supported", lambda e: e.tentative.outcome == e.reliable == "above", _ALPHA),
        Rule("agree_roughly", "supported", lambda e: e.tentative.outcome == "above", _ALPHA),
        Rule("disagree", "refuted", lambda e: e.tentative.outcome == "below", _ALPHA),
        Rule("missing", "undecided", lambda e: e.tentative.outcome == "missing", _ALPHA),
        Rule(
            "open",
            "undecided",
            lambda e: e.tentative.n_needed is not None,
            f"{_ALPHA} needed=tentative.n_needed",
        ),
        Rule("open_endless", "undecided", always, _ALPHA),
    ),
)

_PHI = "phi=one.phi.value interval=one.phi.interval level target"
VARIANCE = Rules(
    "variance.verdict_",
    (
        Rule("enough", None, lambda e: e.one.phi.low >= e.target, _PHI),
        Rule("open", None, lambda e: e.one.phi.value >= e.target, f"{_PHI} groups"),
        Rule("never", None, lambda e: e.design is None, _PHI),
        Rule("average_few", None, lambda e: e.few, f"{_PHI} few names"),
        Rule("average", None, always, f"{_PHI} design"),
    ),
)
VARIANCE_OF_PEOPLE = VARIANCE._replace(prefix="variance.people_")

IMPROVEMENT = Rules(
    "improvement.verdict_",
    (
        Rule("unchanged", "refuted", lambda e: e.unchanged),
        Rule("missing", "undecided", lambda e: e.turned),
        Rule("too_few", "undecided", lambda e: e.gain is None),
        Rule("identical", "undecided", lambda e: e.identical),
        Rule("better", "supported", lambda e: e.gain.outcome == "beyond" and e.gain.p < e.alpha),
        Rule("worse", "refuted", lambda e: e.gain.outcome == "against" and e.gain.p < e.alpha),
        Rule("within", "refuted", lambda e: e.gain.outcome == "within" and e.margin.equivalence),
        Rule("open", "undecided", lambda e: e.gain.detectable is not None),
        Rule("blind", "undecided", always),
    ),
)
"""The sentences name all that the analysis knows (`improvement`)."""

_HYPOTHESES = (
    "n alpha family supported refuted undecided supported_names refuted_names undecided_names"
)
PLAN = Rules(
    "plan.verdict_",
    (
        Rule("refuted", "refuted", lambda e: e.refuted, _HYPOTHESES),
        Rule("undecided", "undecided", lambda e: e.undecided, _HYPOTHESES),
        Rule("supported", "supported", always, _HYPOTHESES),
    ),
)

_AGREES = "judge agrees"
CHECK = Rules(
    "check.verdict_",
    (
        Rule("no_verdicts", "undecided", lambda e: not e.judged, "judge"),
        Rule("no_labels", "undecided", lambda e: not e.labelled, "judge"),
        Rule("nothing_common", "undecided", lambda e: not e.agreement.n, "judge judged labelled"),
        Rule("identical", "not_yet", _is("copied", "identical"), "judge n=agreement.n"),
        Rule("in_step", "not_yet", _is("copied", "in_step"), "judge n=agreement.n"),
        Rule("consensus", "not_yet", _is("copied", "consensus"), "judge n=agreement.n"),
        Rule(
            "not_computable",
            "undecided",
            lambda e: e.may_be_undone and e.estimate is None,
            "judge n=agreement.n",
        ),
        Rule(
            "missing",
            "undecided",
            lambda e: e.may_be_undone,
            "judge agrees missing=agreement.missing",
        ),
        Rule("constant", "refuted", lambda e: e.agreement.constant, "judge n=agreement.n"),
        Rule("one_class", "undecided", lambda e: e.agreement.one_class, "judge n=agreement.n"),
        Rule(
            "first",
            "refuted",
            lambda e: e.takes_first,
            "judge first=agreement.first.value interval=agreement.first.interval"
            " level=agreement.first.level",
        ),
        Rule(
            "few",
            "undecided",
            lambda e: e.agreement.groups < e.few,
            "judge n=agreement.n groups=agreement.groups few",
        ),
        Rule("not_computable", "undecided", lambda e: e.estimate is None, "judge n=agreement.n"),
        Rule("reversed", "refuted", lambda e: e.estimate.high <= 0, _AGREES),
        Rule(
            "coin",
            "refuted",
            lambda e: e.estimate.low <= 0 and e.estimate.high < e.least,
            f"{_AGREES} least default",
        ),
        Rule("coin_open", "undecided", lambda e: e.estimate.low <= 0, _AGREES),
        Rule("below", "refuted", lambda e: e.estimate.high < e.least, f"{_AGREES} least default"),
        Rule(
            "column", "not_yet", lambda e: e.rival.outcome == "column", f"{_AGREES} what=rival.what"
        ),
        Rule(
            "surface",
            "not_yet",
            lambda e: e.rival.outcome == "as_good",
            f"{_AGREES} number=rival.by_number",
        ),
        Rule("follows", "not_yet", lambda e: e.rival.outcome == "follows", _AGREES),
        Rule("surface_open", "not_yet", lambda e: e.rival.outcome == "open", _AGREES),
        Rule("open", "undecided", lambda e: e.estimate.low <= e.least, f"{_AGREES} least default"),
        Rule(
            "missing",
            "undecided",
            lambda e: e.estimate.worst_low <= e.least,
            "judge agrees missing=agreement.missing",
        ),
        Rule("order", "not_yet", lambda e: e.one_order, _AGREES),
        Rule(
            "texts_lack",
            "not_yet",
            lambda e: e.rival.outcome == "no_texts" and e.rival.lacking,
            f"{_AGREES} lacking=rival.lacking n=rival.n",
        ),
        Rule("no_texts", "not_yet", lambda e: e.rival.outcome == "no_texts", _AGREES),
        Rule("few_texts", "not_yet", lambda e: e.rival.outcome in ("few", "rare"), _AGREES),
        Rule("reason", "not_yet", lambda e: e.reason is not None, f"{_AGREES} reason"),
        Rule(
            "several",
            "undecided",
            lambda e: e.by_chance,
            f"{_AGREES} least default among level=of_all.level interval=of_all.interval"
            " all=options.level",
        ),
        Rule(
            "limited", "supported", lambda e: e.limits, f"{_AGREES} limits least default in_order"
        ),
        Rule("believed", "supported", always, f"{_AGREES} least default in_order"),
    ),
)

SEEN = Rules("units.verdict_", (Rule("seen", "not_yet", always, "seen texts"),))
"""In place of a verdict that supports a judge by texts that it has seen."""
CHOSEN = Rules(
    "units.verdict_",
    (
        Rule("chosen", "not_yet", lambda e: e.chosen, "certain labels"),
        Rule("in_view", "not_yet", always, "seen labels"),
    ),
)
"""In place of a verdict that supports a judge by labels of items that were chosen, not drawn, or
that lean on it."""
FAILED = Rules(
    "units.verdict_",
    (
        Rule(
            "failed",
            "undecided",
            always,
            "failed=failed.n total=failed.total share allowed count=failed.n_reason reason advice",
        ),
    ),
)
"""In place of every verdict of a run in which too many judgments failed."""

_CEILING = (
    "people=found.people.value people_interval=found.people.interval judge=found.judge.value "
    "judge_interval=found.judge.interval difference=found.difference.value "
    "interval=found.difference.interval level=found.difference.level measure raters n groups"
)
CEILING = Rules(
    "people.ceiling_",
    (
        Rule(
            "worse_within",
            None,
            lambda e: (
                e.margin and -e.margin < e.found.difference.low <= e.found.difference.high < 0
            ),
            f"{_CEILING} margin",
        ),
        Rule("worse", "refuted", lambda e: e.found.difference.high < 0, _CEILING),
        Rule(
            "better",
            "supported",
            lambda e: e.found.difference.low > 0 and e.found.judge.low > 0,
            _CEILING,
        ),
        Rule(
            "as_good",
            "supported",
            lambda e: e.margin and e.found.difference.low > -e.margin and e.found.judge.low > 0,
            f"{_CEILING} margin",
        ),
        Rule("no_margin", "undecided", lambda e: e.margin is None, _CEILING),
        Rule("open", "undecided", always, f"{_CEILING} margin"),
    ),
)
"""The judge beside the agreement of people among themselves: as good only within a margin that was
stated before."""

_ANNOTATOR = "won raters rate=test.winning_rate advantage=test.advantage.value epsilon source ties"
ANNOTATOR = Rules(
    "people.annotator_",
    (
        Rule("fails", "refuted", lambda e: not e.test.passes, _ANNOTATOR),
        Rule(
            "constant",
            "undecided",
            lambda e: e.constant is not None and e.constant.passes,
            _ANNOTATOR,
        ),
        Rule("passes", "supported", always, _ANNOTATOR),
    ),
)
COPY = Rules(
    "people.",
    (
        Rule("copies_judge", "refuted", lambda e: e.of_judge and e.sign, "rater=one n why"),
        Rule("same_as_judge", "undecided", lambda e: e.of_judge, "raters n"),
        Rule("copies_rater", "refuted", lambda e: e.sign, "one other n why"),
        Rule("same_as_rater", "undecided", always, "one other n"),
    ),
)
"""Labels that are all the same as the judge's, or as another rater's."""

_PAIR = "left right difference interval=low,high n pairs measure"
JUDGE_PAIR = Rules(
    "judges.pair_",
    (
        Rule("identical", None, _is("shown", "identical"), "left right n"),
        Rule("better", "supported", _is("shown", "better"), _PAIR),
        Rule("equivalent", "supported", _is("shown", "equal"), f"{_PAIR} margin"),
        Rule("no_margin", "undecided", lambda e: e.margin is None, _PAIR),
        Rule("undecided", "undecided", always, f"{_PAIR} margin"),
    ),
)
"""Two judges, the one that agrees more with people first."""

_BEST = (
    "best agreement=agreement.value interval=agreement.interval level=agreement.level others shown"
    " measure"
)
BEST_JUDGE = Rules(
    "judges.best_",
    (
        Rule("alone", "supported", lambda e: e.worse == e.others, _BEST),
        Rule(
            "chosen",
            "undecided",
            lambda e: e.flattery is not None and e.flattery >= 0.005,
            f"{_BEST} flattery",
        ),
        Rule("open", "undecided", always, _BEST),
    ),
)
_ERRORS = (
    "phi=found.mean.value interval=found.mean.interval level=found.mean.level n=found.mean.n "
    "judges=found.judges effective=found.effective one other most=phi"
)
SHARED_ERRORS = Rules(
    "judges.errors_",
    (
        Rule("shared_amounts", "supported", lambda e: e.found.mean.low > 0 and e.amounts, _ERRORS),
        Rule("shared", "supported", lambda e: e.found.mean.low > 0, f"{_ERRORS} both chance"),
        Rule("open", "undecided", always, _ERRORS),
    ),
)

_CHANGE = (
    "judge change=change.value change_interval=change.interval level=change.level n groups measure"
)
_SHIFT = f"{_CHANGE} shift=told_shift.value interval=told_shift.interval level=told_shift.level"
DRIFT = Rules(
    "drift.verdicts_",
    (
        Rule(
            "kept",
            "supported",
            lambda e: e.margin is not None and e.change.high < e.margin,
            f"{_CHANGE} margin",
        ),
        Rule("mean_kept", "undecided", lambda e: e.within, f"{_SHIFT} margin tests"),
        Rule(
            "higher",
            "refuted",
            lambda e: e.shift is not None and e.shift.low > 0 and e.p < e.alpha,
            f"{_SHIFT} p",
        ),
        Rule(
            "lower",
            "refuted",
            lambda e: e.shift is not None and e.shift.high < 0 and e.p < e.alpha,
            f"{_SHIFT} p",
        ),
        Rule(
            "changed",
            "refuted",
            lambda e: e.margin is not None and e.change.low > e.margin,
            f"{_CHANGE} margin",
        ),
        Rule("no_margin", "undecided", lambda e: e.margin is None, _CHANGE),
        Rule("open", "undecided", always, f"{_CHANGE} margin"),
    ),
)
"""The verdicts of one judge on the same items and texts, now and before: kept only within a stated
margin."""

_AFTER = "judge before after change=told.value interval=told.interval level=told.level n measure"
_KEPT = f"{_AFTER} margin tests moved"
DRIFT_AGREEMENT = Rules(
    "drift.agreement_",
    (
        Rule("kept", "supported", lambda e: e.within and e.told.low <= 0 <= e.told.high, _KEPT),
        Rule(
            "kept_worse",
            "supported",
            lambda e: e.within and e.change.value < 0,
            f"{_KEPT} distance",
        ),
        Rule("kept_better", "supported", lambda e: e.within, f"{_KEPT} distance"),
        Rule("worse", "refuted", lambda e: e.change.high < 0, _AFTER),
        Rule("better", "supported", lambda e: e.change.low > 0, _AFTER),
        Rule("no_margin", "undecided", lambda e: e.margin is None, _AFTER),
        Rule("open", "undecided", always, f"{_AFTER} margin"),
    ),
)

_OTHER = "judge verdicts=verdicts.value verdicts_interval=verdicts.interval level=verdicts.level n"
_BOTH = (
    f"{_OTHER} labels=labels.value labels_interval=labels.interval apart=apart.value"
    " interval=told.interval level=told.level"
)
DRIFT_OTHER_TEXTS = Rules(
    "drift.other_",
    (
        Rule("no_labels", "undecided", lambda e: e.apart is None, _OTHER),
        Rule(
            "systems",
            "supported",
            lambda e: e.within and (e.labels.low > 0 or e.labels.high < 0),
            f"{_BOTH} margin",
        ),
        Rule("neither", "supported", lambda e: e.within, f"{_BOTH} margin"),
        Rule(
            "judge", "refuted", lambda e: e.changed and not e.apart.low <= 0 <= e.apart.high, _BOTH
        ),
        Rule(
            "apart",
            "undecided",
            lambda e: not e.apart.low <= 0 <= e.apart.high,
            f"{_BOTH} unchanged",
        ),
        Rule("no_margin", "undecided", lambda e: e.margin is None, _BOTH),
        Rule("open", "undecided", always, f"{_BOTH} margin"),
    ),
)
"""The verdicts on other texts of the same items: whether the judge moved, or what it judges."""
