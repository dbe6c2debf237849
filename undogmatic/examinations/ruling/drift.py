"""Holds the rules of `examinations.drift`: whether a judge judges as it did before."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Clause, Rule, Rules, Values, always, known
from undogmatic.records.results import Finding, Subject, Weight
from undogmatic.stats.estimate import Estimate


@dataclass(frozen=True)
class DriftFacts:
    """Holds how the verdicts of one judge on the same items and texts changed.

    `change` is the share of items whose verdict differs, or the mean distance of numbers; `shift`
    is new less old, with its p-value, where the verdicts have a mean. `within`: two one-sided tests
    put the shift within the margin; `told_shift` has the interval that decided that. `tests` is the
    clause that says which tests these are.
    """

    judge: str
    margin: float | None
    n: int
    groups: int
    measure: str
    change: Estimate
    shift: Estimate | None
    p: float
    within: bool
    alpha: float
    told_shift: Estimate | None
    tests: Finding


def _change(facts: DriftFacts) -> Values:
    return {
        "judge": facts.judge,
        "change": facts.change.value,
        "change_interval": facts.change.interval,
        "level": facts.change.level,
        "n": facts.n,
        "groups": facts.groups,
        "measure": facts.measure,
    }


def _change_margin(facts: DriftFacts) -> Values:
    return _change(facts) | {"margin": facts.margin}


def _shift(facts: DriftFacts) -> Values:
    """Name the shift, whose level takes the place of that of the change."""
    shift = known(facts.told_shift)
    return _change(facts) | {
        "shift": shift.value,
        "interval": shift.interval,
        "level": shift.level,
    }


def _shift_p(facts: DriftFacts) -> Values:
    return _shift(facts) | {"p": facts.p}


def _settle_margin(grades: bool) -> Finding:
    """A stated margin, in the units of the verdicts."""
    return Finding("drift.settle_margin", {"grades": int(grades)})


DRIFT = Rules[DriftFacts](
    "drift.verdicts_",
    (
        Rule(
            # Not to see a change is no proof that there is none: all of the interval
            # must lie within what somebody said does not matter.
            "kept",
            "supported",
            lambda f: f.margin is not None and f.change.high < f.margin,
            _change_margin,
        ),
        Rule(
            # A mean that stays where it was can hide verdicts that moved up and down,
            # so it is no answer to whether they are the same.
            "mean_kept",
            "undecided",
            lambda f: f.within,
            lambda f: _shift(f) | {"margin": f.margin, "tests": f.tests},
        ),
        Rule(
            "higher",
            "refuted",
            lambda f: f.shift is not None and f.shift.low > 0 and f.p < f.alpha,
            _shift_p,
            weight=Weight.LIMITS,
            subject=Subject.CHANGE,
        ),
        Rule(
            "lower",
            "refuted",
            lambda f: f.shift is not None and f.shift.high < 0 and f.p < f.alpha,
            _shift_p,
            weight=Weight.LIMITS,
            subject=Subject.CHANGE,
        ),
        Rule(
            "changed",
            "refuted",
            lambda f: f.margin is not None and f.change.low > f.margin,
            _change_margin,
            weight=Weight.LIMITS,
        ),
        Rule(
            # A change can be shown without a margin, so these come first. That there is
            # none cannot.
            "no_margin",
            "undecided",
            lambda f: f.margin is None,
            _change,
            settle=lambda f: _settle_margin(f.measure == "distance"),
        ),
        Rule("open", "undecided", always, _change_margin),
    ),
)
"""The verdicts of one judge on the same items and texts, now and before: kept only within a stated
margin."""


@dataclass(frozen=True)
class DriftAgreementFacts:
    """Holds how a judge's agreement with people changed, from `before` to `after`.

    `change` is after less before, where more is better; `told_change` has the sign in which it is
    told (of numbers the distance from the labels is: then `distance` is 1) and the interval that
    decided whether it lies `within` the margin. `moved` is the clause that the verdicts themselves
    have changed; `then` the one that says when, or where, it was as before.
    """

    judge: str
    then: Finding
    margin: float | None
    n: int
    measure: str
    before: float
    after: float
    change: Estimate
    told_change: Estimate
    within: bool
    distance: int
    tests: Finding
    moved: Clause


def _after(facts: DriftAgreementFacts) -> Values:
    return {
        "judge": facts.judge,
        "then": facts.then,
        "distance": facts.distance,
        "before": facts.before,
        "after": facts.after,
        "change": facts.told_change.value,
        "interval": facts.told_change.interval,
        "level": facts.told_change.level,
        "n": facts.n,
        "measure": facts.measure,
    }


def _agreement_kept(facts: DriftAgreementFacts) -> Values:
    return _after(facts) | {
        "margin": facts.margin,
        "tests": facts.tests,
        "moved": facts.moved,
    }


DRIFT_AGREEMENT = Rules[DriftAgreementFacts](
    "drift.agreement_",
    (
        Rule(
            "kept",
            "supported",
            lambda f: f.within and f.told_change.low <= 0 <= f.told_change.high,
            _agreement_kept,
        ),
        Rule(
            # Both are said, as both are shown: it agrees less than before, and by less
            # than matters.
            "kept_worse",
            "supported",
            lambda f: f.within and f.change.value < 0,
            _agreement_kept,
        ),
        Rule("kept_better", "supported", lambda f: f.within, _agreement_kept),
        Rule(
            "worse",
            "refuted",
            lambda f: f.change.high < 0,
            _after,
            weight=Weight.LIMITS,
        ),
        Rule("better", "supported", lambda f: f.change.low > 0, _after),
        Rule(
            "no_margin",
            "undecided",
            lambda f: f.margin is None,
            _after,
            settle=lambda f: _settle_margin(bool(f.distance)),
        ),
        Rule("open", "undecided", always, lambda f: _after(f) | {"margin": f.margin}),
    ),
)


@dataclass(frozen=True)
class DriftApartFacts:
    """Holds how far a judge agrees with people now and before, each on its own items, as two
    independent estimates of one coefficient; `change` is their difference."""

    judge: str
    then: Finding
    measure: str
    before: Estimate
    before_n: int
    now: Estimate
    n: int
    change: Estimate


def _both_agree(facts: DriftApartFacts) -> Values:
    return {
        "judge": facts.judge,
        "then": facts.then,
        "measure": facts.measure,
        "before": facts.before.value,
        "before_interval": facts.before.interval,
        "before_n": facts.before_n,
        "after": facts.now.value,
        "after_interval": facts.now.interval,
        "n": facts.n,
        "change": facts.change.value,
        "interval": facts.change.interval,
        "level": facts.change.level,
    }


DRIFT_APART = Rules[DriftApartFacts](
    "drift.apart_",
    (
        Rule(
            "worse",
            "refuted",
            lambda f: f.change.against(0) == "against",
            _both_agree,
            weight=Weight.LIMITS,
        ),
        Rule(
            "better",
            "supported",
            lambda f: f.change.against(0) == "beyond",
            _both_agree,
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: f.change.against(0) == "missing",
            _both_agree,
        ),
        Rule("open", "undecided", always, _both_agree),
    ),
    Subject.AGREED,
)
"""How far one judge agrees with people now and before, by the figures alone."""


@dataclass(frozen=True)
class DriftOtherTextsFacts:
    """Holds how verdicts and people's labels moved on other texts of the same items.

    `apart` is the move of the verdicts beyond that of the labels, `told_apart` the same with the
    interval that decided whether it lies `within` the margin; both and `labels` are None without
    labels enough. `changed`: the same texts show that the judge itself has changed; `unchanged` is
    the clause that says what they show.
    """

    judge: str
    margin: float | None
    n: int
    verdicts: Estimate
    labels: Estimate | None
    apart: Estimate | None
    told_apart: Estimate | None
    within: bool
    changed: bool
    unchanged: Finding
    grades: bool = False  # whether verdicts are numbers, so that a margin is one, too


def _verdicts_moved(facts: DriftOtherTextsFacts) -> Values:
    return {
        "judge": facts.judge,
        "verdicts": facts.verdicts.value,
        "verdicts_interval": facts.verdicts.interval,
        "level": facts.verdicts.level,
        "n": facts.n,
    }


def _both_moved(facts: DriftOtherTextsFacts) -> Values:
    """Name both moves; the level is that of what lies between them."""
    labels = known(facts.labels)
    apart = known(facts.told_apart)
    return _verdicts_moved(facts) | {
        "labels": labels.value,
        "labels_interval": labels.interval,
        "apart": known(facts.apart).value,
        "interval": apart.interval,
        "level": apart.level,
    }


def _both_moved_margin(facts: DriftOtherTextsFacts) -> Values:
    return _both_moved(facts) | {"margin": facts.margin}


def _labels_moved(facts: DriftOtherTextsFacts) -> bool:
    """Whether people's labels are shown to have moved."""
    labels = known(facts.labels)
    return labels.low > 0 or labels.high < 0


def _moved_apart(facts: DriftOtherTextsFacts) -> bool:
    """Whether the verdicts are shown to have moved otherwise than the labels."""
    apart = known(facts.apart)
    return not apart.low <= 0 <= apart.high


DRIFT_OTHER_TEXTS = Rules[DriftOtherTextsFacts](
    "drift.other_",
    (
        Rule(
            "no_labels",
            "undecided",
            lambda f: f.apart is None,
            _verdicts_moved,
            settle=lambda f: Finding("drift.settle_labels"),
        ),
        Rule(
            "systems",
            "supported",
            lambda f: f.within and _labels_moved(f),
            _both_moved_margin,
        ),
        Rule("neither", "supported", lambda f: f.within, _both_moved_margin),
        Rule(
            # On other texts verdicts may move because the texts did. That the judge
            # moved needs the same texts, judged then and now.
            "judge",
            "refuted",
            lambda f: f.changed and _moved_apart(f),
            _both_moved,
            weight=Weight.LIMITS,
        ),
        Rule(
            "apart",
            "undecided",
            _moved_apart,
            lambda f: _both_moved(f) | {"unchanged": f.unchanged},
            weight=Weight.LIMITS,
            settle=lambda f: Finding("drift.settle_anew", {}),
        ),
        Rule(
            "no_margin",
            "undecided",
            lambda f: f.margin is None,
            _both_moved,
            settle=lambda f: _settle_margin(f.grades),
        ),
        Rule("open", "undecided", always, _both_moved_margin),
    ),
)
"""The verdicts on other texts of the same items: whether the judge moved, or what it judges."""
