"""Holds the rules of `examinations.reliability`: whether a judge says the same again, and whether
several runs agree."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always, known
from undogmatic.examinations.truth import Margin
from undogmatic.records.results import Finding
from undogmatic.stats.claims import Claim
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.limits import Held, Outcome


@dataclass(frozen=True)
class Repeated:
    """Holds how far the scores of a text in a repeat lie from those of the first, in the mean.

    `n` texts were judged both times with a fresh second answer, from `n_groups` groups; `n_cached`
    more with one from the cache; `n_failed` have no score in one of the two. `constant`: all scores
    are the same. `judged`, `worst` and `best` are those of `truth.Bounded`: failed ones have the
    largest difference that the scale allows, or 0. They are None with too few groups.
    """

    n: int
    n_groups: int
    n_cached: int
    n_failed: int
    constant: bool
    judged: Claim | None = None
    worst: Claim | None = None
    best: Claim | None = None


@dataclass(frozen=True)
class RepeatsFacts:
    """Holds what is known of all repeats.

    `least` is the one with the fewest groups, `worst` the one that moves scores most, None where
    none had groups enough; `open` is the first that is not shown to lie within the margin. `sure`:
    each of them does, failures notwithstanding. `n_cached` and `n_failed` are the most of one.
    """

    margin: Margin
    level: float
    few: int
    least: Repeated
    worst: Repeated | None
    open: Claim | None
    all_cached: bool
    n_cached: int
    n_failed: int
    constant: bool
    sure: bool


def _moved(facts: RepeatsFacts) -> Values:
    worst = known(facts.worst)
    moved = known(worst.judged).estimate
    return {
        "n": worst.n,
        "moved": moved.value,
        "interval": moved.interval,
        "level": facts.level,
        "margin": facts.margin.value,
    }


def _varies(facts: RepeatsFacts) -> bool:
    """Whether the judged texts show that scores move beyond the margin."""
    return known(known(facts.worst).judged).outcome == "beyond"


REPEATS = Rules[RepeatsFacts](
    "reliability.verdict_",
    (
        # An answer from the cache is a copy of the first and not said again: it would
        # repeat whatever the judge does.
        Rule("cached", "not_yet", lambda f: f.all_cached, lambda f: {"n": f.n_cached}),
        Rule(
            "repeat_few",
            "undecided",
            lambda f: f.least.judged is None,
            lambda f: {"n": f.least.n, "groups": f.least.n_groups, "needed": f.few},
        ),
        Rule(
            "repeat_no_margin",
            "undecided",
            lambda f: not f.margin.equivalence,
            lambda f: {"margin": f.margin.value},
        ),
        Rule(
            # A judge with one score for everything repeats itself without fail, and
            # that says nothing of one that tells texts apart.
            "repeat_constant",
            "undecided",
            lambda f: f.constant,
            lambda f: {"n": f.least.n},
        ),
        Rule(
            "varies",
            "refuted",
            lambda f: _varies(f) and known(known(f.worst).best).outcome == "beyond",
            _moved,
        ),
        # The judged texts show that scores move, but they would not if all that failed
        # were as they were: then it is not known.
        Rule("repeat_missing", "undecided", _varies, lambda f: {"failed": f.n_failed}),
        Rule(
            "repeat_open_endless",
            "undecided",
            lambda f: f.open is not None and f.open.n_needed is None,
            _moved,
        ),
        Rule(
            "repeat_open",
            "undecided",
            lambda f: f.open is not None,
            lambda f: (
                _moved(f)
                | {"groups": known(f.worst).n_groups, "needed": known(f.open).n_needed}
            ),
        ),
        Rule(
            "repeat_missing",
            "undecided",
            lambda f: not f.sure,
            lambda f: {"failed": f.n_failed},
        ),
        Rule("repeats", "supported", always, _moved),
    ),
)


@dataclass(frozen=True)
class AgreementFacts:
    """Holds how several runs agree: Krippendorff's `alpha` over `n` items that two of them scored,
    None with fewer than `few` groups or where there is none, and what it shows of the bounds from
    which agreement is `reliable` and `tentative`. `repeating` says whether the judge repeats
    itself."""

    runs: int
    n: int
    groups: int
    few: int
    alpha: Estimate | None
    reliable: Outcome | None
    tentative: Held | None
    repeating: Finding


def _alpha(facts: AgreementFacts) -> Values:
    alpha = known(facts.alpha)
    return {
        "runs": facts.runs,
        "n": facts.n,
        "alpha": alpha.value,
        "interval": alpha.interval,
        "level": alpha.level,
        "repeating": facts.repeating,
    }


AGREEMENT = Rules[AgreementFacts](
    "reliability.verdict_",
    (
        Rule(
            "few",
            "undecided",
            lambda f: f.groups < f.few,
            lambda f: {"runs": f.runs, "n": f.n, "groups": f.groups, "needed": f.few},
        ),
        Rule(
            "no_alpha",
            "undecided",
            lambda f: f.alpha is None,
            lambda f: {"runs": f.runs, "n": f.n},
        ),
        Rule(
            "agree",
            "supported",
            lambda f: known(f.tentative).outcome == f.reliable == "above",
            _alpha,
        ),
        Rule(
            # Krippendorff's own two bounds: above the higher one data are reliable,
            # between the two they allow tentative conclusions.
            "agree_roughly",
            "supported",
            lambda f: known(f.tentative).outcome == "above",
            _alpha,
        ),
        Rule(
            "disagree",
            "refuted",
            lambda f: known(f.tentative).outcome == "below",
            _alpha,
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: known(f.tentative).outcome == "missing",
            _alpha,
        ),
        Rule(
            "open",
            "undecided",
            lambda f: known(f.tentative).n_needed is not None,
            lambda f: _alpha(f) | {"needed": known(f.tentative).n_needed},
        ),
        Rule("open_endless", "undecided", always, _alpha),
    ),
)
