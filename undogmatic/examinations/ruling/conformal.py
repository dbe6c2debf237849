"""Holds the rules of `examinations.conformal`: whether intervals cover what they promise, and what
a judge may decide alone."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always, known
from undogmatic.stats.conformal import Candidate
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import Kept


@dataclass(frozen=True)
class SplitIntervals:
    """Holds what split conformal intervals did on the texts that they were not fitted on.

    `inside` is the share of true scores in them, `promise` what that shows of the promised one,
    `band_low` the lowest share that a valid method would have by chance, `mean_width` their width.
    Intervals around `one_score` for all texts would have `its_width`; `nearer`: the judge's scores
    are shown to lie nearer to the labels than that one.
    """

    inside: Estimate
    promise: Kept
    mean_width: float
    band_low: float | None
    one_score: float
    its_width: float
    nearer: bool


@dataclass(frozen=True)
class ConformalFacts:
    """Holds what was promised of intervals, and what came of it: `split` is None with fewer than
    the `needed` fitted texts. `n` texts were looked at, so many `more` would settle what is open;
    `span` is the width of the scale, `wide` 1 where the intervals take up most of it."""

    n: int
    needed: int
    nominal: float
    margin: float
    span: float
    wide: int
    more: int | None = None
    split: SplitIntervals | None = None


def _coverage(facts: ConformalFacts) -> Values:
    split = known(facts.split)
    return {
        "coverage": split.inside.value,
        "nominal": facts.nominal,
        "width": split.mean_width,
        "n": facts.n,
    }


def _broken(facts: ConformalFacts) -> bool:
    """Whether the coverage lies below what chance can do to a valid method."""
    split = known(facts.split)
    return split.band_low is not None and split.inside.value < split.band_low


def _holds(facts: ConformalFacts) -> bool:
    """Whether the promise is shown to be kept."""
    return known(facts.split).promise.outcome == "within"


def _beside_one_score(facts: ConformalFacts) -> Values:
    split = known(facts.split)
    return _coverage(facts) | {
        "one_score": split.one_score,
        "its_width": split.its_width,
        "interval": split.inside.interval,
    }


def _kept(facts: ConformalFacts) -> Values:
    return _coverage(facts) | {
        "span": facts.span,
        "wide": facts.wide,
        "margin": facts.margin,
        "interval": known(facts.split).promise.inner,
    }


def _not_shown(facts: ConformalFacts) -> Values:
    return _coverage(facts) | {
        "span": facts.span,
        "margin": facts.margin,
        "interval": known(facts.split).inside.interval,
    }


CONFORMAL = Rules[ConformalFacts](
    "conformal.verdict_",
    (
        Rule(
            "refused",
            "undecided",
            lambda f: f.split is None,
            lambda f: {"n": f.n, "needed": f.needed},
        ),
        Rule(
            # The coverage of a valid method varies by chance with the texts that it was
            # fitted on. Only below what chance can do is the promise broken.
            "broken",
            "refuted",
            _broken,
            lambda f: _coverage(f) | {"interval": known(f.split).inside.interval},
        ),
        Rule(
            # Intervals around any score cover what they promise, the same score for all
            # texts included. They say something of a judge only where its scores lie
            # nearer to the labels.
            "constant",
            "not_yet",
            lambda f: _holds(f) and not known(f.split).nearer,
            _beside_one_score,
        ),
        Rule("holds", "supported", _holds, _kept),
        Rule("open_wide", "undecided", lambda f: f.wide, _not_shown),
        Rule("open", "undecided", always, lambda f: _not_shown(f) | {"needed": f.more}),
    ),
)


@dataclass(frozen=True)
class EscalationFacts:
    """Holds what was promised of the judgments that a judge decides alone, and what can be.

    `measure` is the doubt that the `threshold` is on; both are None where there is none. Of so many
    `texts` it decides `decided`, the `share`; their agreement is at least `least`. A promise needs
    `needed` units, of which `of_units` must agree so that their items do at `rate`, and `if_alike`
    where all items of a unit agree. `constant` is one score for all texts that could be promised as
    well, and that would agree `always`. `surest` are the judgments with the least doubt, `wrong`
    of which disagree; then `more` units would be needed.
    """

    rate: float
    confidence: float
    measure: str | None
    tolerance: float
    threshold: float | None = None
    texts: int = 0
    decided: int = 0
    share: float = 0.0
    least: float | None = None
    units: int = 0
    needed: int | None = None
    of_units: float | None = None
    if_alike: int = 0
    constant: float | None = None
    always: float | None = None
    surest: Candidate | None = None
    wrong: int | None = None
    more: int | None = None


def _stated(facts: EscalationFacts) -> Values:
    return {"rate": facts.rate, "confidence": facts.confidence}


def _measured(facts: EscalationFacts) -> Values:
    return _stated(facts) | {"measure": facts.measure, "tolerance": facts.tolerance}


def _promised(facts: EscalationFacts) -> Values:
    return _measured(facts) | {
        "threshold": facts.threshold,
        "low": facts.least,
        "decided": facts.decided,
        "texts": facts.texts,
        "share": facts.share,
    }


def _refused(facts: EscalationFacts) -> Values:
    surest = known(facts.surest)
    return _stated(facts) | {
        "surest": surest.n,
        "wrong": facts.wrong,
        "surest_low": surest.least,
        "more": facts.more,
        "units": facts.units,
    }


def _too_few(facts: EscalationFacts) -> Values:
    return _stated(facts) | {"units": facts.units, "needed": facts.needed}


ESCALATION = Rules[EscalationFacts](
    "escalation.verdict_",
    (
        Rule("no_doubt", "undecided", lambda f: f.measure is None),
        Rule(
            # Where one score for everything could be promised as well, the promise is a
            # property of the labels, and no reason to let this judge decide.
            "constant",
            "not_yet",
            lambda f: f.constant is not None,
            lambda f: _measured(f) | {"constant": f.constant, "always": f.always},
        ),
        Rule("promised", "supported", lambda f: f.threshold is not None, _promised),
        Rule("refused", "undecided", lambda f: f.surest is not None, _refused),
        Rule(
            "too_few_heavy",
            "undecided",
            lambda f: f.units >= f.if_alike,
            lambda f: _too_few(f) | {"of_units": f.of_units},
        ),
        Rule("too_few", "undecided", always, _too_few),
    ),
)
