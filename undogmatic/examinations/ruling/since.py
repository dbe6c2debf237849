"""Holds the rules of `examinations.since`: whether agreement with people, or the verdicts, changed
at some time."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Clause, Rule, Rules, Values, always
from undogmatic.records.results import Subject, Weight
from undogmatic.stats.estimate import Estimate


@dataclass(frozen=True)
class SinceFacts:
    """Holds the most likely change over time of one judge.

    `agreement`: whether it is one of the agreement with people (`gained`: for the better), else of
    the verdicts. `measure` is of what the mean is told `before` and `after`, of `category` where it
    is the share of one; `distance` is 1 where it is that of verdicts from labels. `at` is the first
    day after the change, and `span` the clause that says which other days fit. `dealt` is 1 where
    the `units` that were dealt anew are days, 2 where they are longer, else they are groups.
    """

    judge: str
    agreement: bool
    gained: bool
    measure: str
    category: str
    distance: int
    at: str
    span: Clause
    first: str
    last: str
    before: float
    after: float
    change: Estimate
    p: float
    alpha: float
    n: int
    units: int
    dealt: Clause

    @property
    def shown(self) -> bool:
        """Whether so large a change seldom comes of chance."""
        return self.p <= self.alpha


def _searched(facts: SinceFacts) -> Values:
    return {
        "judge": facts.judge,
        "n": facts.n,
        "first": facts.first,
        "last": facts.last,
        "units": facts.units,
        "dealt": facts.dealt,
        "p": facts.p,
        "alpha": facts.alpha,
    }


def _changed(facts: SinceFacts) -> Values:
    return _searched(facts) | {
        "at": facts.at,
        "span": facts.span,
        "measure": facts.measure,
        "category": facts.category,
        "distance": facts.distance,
        "before": facts.before,
        "after": facts.after,
        "change": facts.change.value,
        "interval": facts.change.interval,
        "level": facts.change.level,
    }


SINCE = Rules[SinceFacts](
    "since.",
    (
        Rule("open", "undecided", lambda f: f.agreement and not f.shown, _searched),
        Rule("still", "undecided", lambda f: not f.shown, _searched),
        # Without labels nobody knows whether the verdicts that moved are better or
        # worse, or the items are others.
        Rule("moved", "undecided", lambda f: not f.agreement, _changed),
        Rule("better", "supported", lambda f: f.gained, _changed),
        Rule("worse", "refuted", always, _changed, weight=Weight.LIMITS),
    ),
    Subject.AGREED,
)
"""Did the judge's agreement with people change at some time, or without labels its verdicts?"""
