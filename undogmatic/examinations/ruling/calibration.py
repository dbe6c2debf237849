"""Holds the rules of `examinations.calibration`: whether a judge's doubt orders its errors."""

import math
from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always, known
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.review import Beyond

# A correlation at equal score that surely lies below this is none: Cohen's small effect.
BARELY = 0.1


@dataclass(frozen=True)
class IfFailed:
    """Says what the measure would gain if each of the `n` failed texts had the largest error and
    the least doubt, and whether the measure is worth something even so."""

    n: int
    gain: Estimate
    holds: bool


@dataclass(frozen=True)
class CalibrationFacts:
    """Holds what is known of a measure of doubt, as far as there were texts enough to find out.

    `gain` is that of a review by it over one in random order, None where the measure is `constant`;
    `beyond` its association with the errors at equal score, None with fewer than `few` groups;
    `worst` what failed judgments could make of both, None where nothing failed. `no_error`: all
    errors are of one size.
    """

    n: int
    n_groups: int
    fewest: int
    few: int
    measure: str | None = None
    no_error: bool = False
    constant: bool = False
    gain: Estimate | None = None
    beyond: Beyond | None = None
    worst: IfFailed | None = None


def _gain(facts: CalibrationFacts) -> Values:
    gain = known(facts.gain)
    return {
        "gain": gain.value,
        "interval": gain.interval,
        "n": facts.n,
        "measure": facts.measure,
    }


def _gain_beyond(facts: CalibrationFacts) -> Values:
    beyond = known(facts.beyond).estimate
    return _gain(facts) | {
        "beyond": beyond.value,
        "beyond_interval": beyond.interval,
        "level": beyond.level,
    }


def _gain_if_failed(facts: CalibrationFacts) -> Values:
    worst = known(facts.worst)
    return _gain(facts) | {
        "failed": worst.n,
        "worst": worst.gain.value,
        "worst_interval": worst.gain.interval,
    }


def _not_shown_beyond(facts: CalibrationFacts) -> bool:
    """Whether the association at equal score is not shown to be above 0."""
    return not known(facts.beyond).estimate.low > 0


CALIBRATION = Rules[CalibrationFacts](
    "calibration.verdict_",
    (
        Rule(
            "too_few",
            "undecided",
            lambda f: f.n_groups < f.fewest,
            lambda f: {"n": f.n_groups, "needed": f.fewest},
        ),
        Rule("none", "undecided", lambda f: f.measure is None),
        Rule("no_error", "undecided", lambda f: f.no_error, lambda f: {"n": f.n}),
        Rule("constant", "refuted", lambda f: f.constant),
        Rule("misleads", "refuted", lambda f: known(f.gain).high < 0, _gain),
        Rule(
            "function",
            "refuted",
            lambda f: f.beyond is not None and f.beyond.function,
            lambda f: _gain(f) | {"share": known(f.beyond).share_of_score},
        ),
        Rule("unclear", "undecided", lambda f: known(f.gain).low <= 0, _gain),
        Rule(
            "few",
            "not_yet",
            lambda f: f.beyond is None,
            lambda f: _gain(f) | {"few": f.few},
        ),
        Rule(
            "error_of_score",
            "refuted",
            lambda f: math.isnan(known(f.beyond).estimate.value),
            _gain,
        ),
        Rule(
            "score_alone",
            "refuted",
            lambda f: known(f.beyond).estimate.high < BARELY and _not_shown_beyond(f),
            _gain_beyond,
        ),
        Rule(
            "undecided",
            "not_yet",
            lambda f: _not_shown_beyond(f) and known(f.beyond).units_needed is None,
            _gain_beyond,
        ),
        Rule(
            "undecided_needed",
            "not_yet",
            _not_shown_beyond,
            lambda f: _gain_beyond(f) | {"needed": known(f.beyond).units_needed},
        ),
        Rule(
            "failed",
            "undecided",
            lambda f: f.worst is not None and not f.worst.holds,
            _gain_if_failed,
        ),
        Rule("worth", "supported", always, _gain_beyond),
    ),
)
