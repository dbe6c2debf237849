"""Holds the rules of `analyses.labelled`: whether scores follow people's labels, in order and in
size."""

from collections.abc import Callable
from dataclasses import dataclass

from undogmatic.analyses.rivals import LabelledRival
from undogmatic.analyses.ruling import Rule, Rules, Values, always, known
from undogmatic.analyses.truth import Bounded, Margin
from undogmatic.records.results import Finding
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.limits import Held


@dataclass(frozen=True)
class SizeFacts:
    """Holds how near scores come to labels: `gain`, the error of the constant answer minus the
    judge's, and `bias`, score minus label, against the margin of what does not matter."""

    gain: Bounded
    bias: Bounded
    margin: Margin


SIZE = Rules[SizeFacts](
    "",
    (
        Rule("size_larger", None, lambda f: f.gain.judged.outcome == "against"),
        Rule("size_not_smaller", None, lambda f: f.gain.judged.outcome != "beyond"),
        Rule("size_bias", None, lambda f: f.bias.judged.outcome in ("beyond", "against")),
        Rule("size_no_margin", None, lambda f: not f.margin.equivalence),
        Rule("size_bias_open", None, lambda f: f.bias.judged.outcome == "open"),
        Rule("size_shown", None, lambda f: f.gain.sure and f.bias.sure),
        Rule("size_missing", None, always),
    ),
)
"""What is shown of the size of the errors; its key is a clause of the verdict's sentence."""


@dataclass(frozen=True)
class LabelledFacts:
    """Holds what is known of labelled texts, judged and failed, as far as there were enough.

    `n` texts were judged, in `n_groups` independent groups, of which a verdict needs `few`;
    `failed` have no score. `order` is the rank correlation from which scores follow labels,
    `margin` what a bias must stay within. `same_score`, `same_label`: the one value that all judged
    texts have, or None. `same`: the judge says the same of texts with different labels; then
    `enough_same` says whether there are the `fewest_same` groups that show that it cannot follow
    them. `sizes` needs `few` groups, and `error` and `size` say it in words; `follows` is the rank
    correlation, None without an interval, and `held` what it shows. Where the order is shown, there
    are `rival`, which counts so many things in a text (`counts`), `reason`, which is what
    `undogmatic check` would say against the judge, and `equal`, what it says of equal texts.
    """

    n: int
    n_groups: int
    few: int
    failed: int
    order: float
    margin: Margin
    small: float
    same_score: float | None
    same_label: float | None
    same: bool = False
    enough_same: bool = False
    fewest_same: int | None = None
    sizes: SizeFacts | None = None
    error: str = ""
    size: str = ""
    follows: Estimate | None = None
    held: Held | None = None
    rival: LabelledRival | None = None
    counts: int = 0
    reason: Finding | None = None
    equal: Finding | None = None


def _left_alone(otherwise: str) -> Callable[[LabelledFacts], Values]:
    """Name the failed judgments, and what the verdict would be without them."""
    return lambda f: {"otherwise": otherwise, "failed": f.failed, "n": f.n}


def _same_score(facts: LabelledFacts) -> Values:
    return {"n": facts.n, "score": facts.same_score, "order": facts.order}


def _follows(facts: LabelledFacts) -> Values:
    follows = known(facts.follows)
    return {
        "spearman": follows.value,
        "interval": follows.interval,
        "level": follows.level,
        "n": facts.n,
    }


def _follows_order(facts: LabelledFacts) -> Values:
    return _follows(facts) | {"order": facts.order}


def _follows_error(facts: LabelledFacts) -> Values:
    return _follows_order(facts) | {"error": facts.error}


def _part_beyond(facts: LabelledFacts) -> Values:
    """Name the part of the correlation that is left beside what the surface says."""
    part = known(known(facts.rival).beyond)
    return _follows_order(facts) | {
        "small": facts.small,
        "part": part.value,
        "part_interval": part.interval,
    }


def _order_and_size(facts: LabelledFacts) -> Values:
    gain = known(facts.sizes).gain.judged.estimate
    return _follows_order(facts) | {
        "margin": facts.margin.value,
        "counts": facts.counts,
        "gain": gain.value,
        "gain_interval": gain.interval,
    }


LABELLED = Rules[LabelledFacts](
    "labelled.verdict_",
    (
        Rule(
            "scores_equal",
            "refuted",
            lambda f: f.same and not f.failed and f.enough_same,
            _same_score,
        ),
        Rule("missing", "undecided", lambda f: f.same and f.failed, _left_alone("alone_same")),
        Rule(
            "scores_equal_few",
            "undecided",
            lambda f: f.same,
            lambda f: _same_score(f) | {"needed": f.fewest_same},
        ),
        Rule(
            "too_few",
            "undecided",
            lambda f: f.n_groups < f.few,
            lambda f: {"n": f.n, "groups": f.n_groups, "needed": f.few},
        ),
        Rule(
            "labels_equal",
            "undecided",
            lambda f: f.same_label is not None,
            lambda f: {"n": f.n, "label": f.same_label},
        ),
        Rule("no_interval", "undecided", lambda f: f.follows is None, lambda f: {"n": f.n}),
        Rule(
            "reversed",
            "refuted",
            lambda f: known(f.follows).high < 0 and known(f.follows).best_high < 0,
            _follows,
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: known(f.follows).high < 0,
            _left_alone("alone_reversed"),
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: known(f.held).outcome == "missing" and known(f.follows).low > f.order,
            _left_alone("alone_follows"),
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: known(f.held).outcome == "missing",
            _left_alone("alone_too_weak"),
        ),
        Rule("too_weak", "refuted", lambda f: known(f.held).outcome == "below", _follows_order),
        Rule(
            "open_endless",
            "undecided",
            lambda f: known(f.held).outcome == "open" and known(f.held).n_needed is None,
            _follows_error,
        ),
        Rule(
            "open",
            "undecided",
            lambda f: known(f.held).outcome == "open",
            lambda f: _follows_error(f) | {"groups": f.n_groups, "needed": known(f.held).n_needed},
        ),
        Rule(
            "surface_explains",
            "refuted",
            lambda f: known(f.rival).outcome == "surface_explains",
            _part_beyond,
        ),
        Rule(
            "surface_as_good",
            "not_yet",
            lambda f: known(f.rival).outcome == "surface_as_good",
            lambda f: _follows_order(f) | {"surface": known(f.rival).correlation},
        ),
        Rule("surface_open", "not_yet", lambda f: known(f.rival).outcome == "open", _follows_order),
        Rule("no_texts", "not_yet", lambda f: known(f.rival).outcome == "no_texts", _follows_order),
        Rule(
            "checked",
            "not_yet",
            lambda f: f.reason,
            lambda f: _follows_order(f) | {"reason": f.reason},
        ),
        Rule(
            "order",
            "supported",
            lambda f: f.size != "size_shown",
            lambda f: _follows_order(f) | {"size": f.size, "counts": f.counts},
        ),
        Rule("order_and_size", "supported", always, _order_and_size),
    ),
)
