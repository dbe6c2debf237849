"""Holds the rules of `analyses.check`: whether a judge may be believed whose verdicts were made
elsewhere."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from undogmatic.analyses import kinds, surface
from undogmatic.analyses.kinds import FEWEST, Agreement
from undogmatic.analyses.ruling import AT_ONCE, Rule, Rules, Values, always, known
from undogmatic.analyses.surface import SurfaceRival
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.results import Finding
from undogmatic.stats.estimate import Estimate

TAKES_FIRST = 0.8
"""A judge that is shown to choose the output that stands first in more than this share of both
orders chooses by place: where both orders are shown, half is what the outputs themselves can
account for."""


@dataclass(frozen=True)
class CheckFacts:
    """Holds what is known of one judge on one criterion.

    `judge` is its name, with the criterion where there are several; `own` its verdicts beside the
    labels. Its agreement is to lie above `least`, which is the `default` where nobody stated one,
    with `few` groups at least; `among` answers were asked for at once. `limits` counts the findings
    that limit the use of a judge that is believed, `reason` is a finding that forbids it.
    """

    judge: str
    own: JudgeView
    agreement: Agreement
    rival: SurfaceRival
    least: float
    limits: int
    reason: Finding | None = None
    few: int = FEWEST
    default: bool = False
    options: CheckOptions = field(default_factory=CheckOptions)
    among: int = 1

    @property
    def judged(self) -> int:
        """Items with a verdict."""
        verdicts = self.own.verdicts
        return int(verdicts.loc[verdicts["verdict"].notna(), "item"].nunique())

    @property
    def labelled(self) -> int:
        """Items with a label."""
        labels = self.own.labels
        return int(labels.loc[labels["label"].notna(), "item"].nunique())

    @property
    def raters(self) -> int:
        """How many people labelled."""
        return len(self.own.table.raters(self.own.criterion))

    @property
    def estimate(self) -> Estimate | None:
        """Agreement with people beyond chance."""
        return self.agreement.estimate

    @property
    def copied(self) -> str | None:
        """How its verdicts may have been made from the labels."""
        return self.agreement.copied

    @property
    def takes_first(self) -> bool:
        """Whether it is shown to choose by place."""
        first = self.agreement.first
        return first is not None and not self.one_order and first.low > TAKES_FIRST

    @cached_property
    def one_order(self) -> bool:
        """Whether a choice of two was shown in one order alone, or in an order that nobody
        knows."""
        return (
            self.own.table.kind == "pairwise"
            and self.own.verdicts["order"].nunique(dropna=True) < 2
        )

    @property
    def in_order(self) -> bool:
        """Whether it is the order of the items that is held against people's."""
        return self.own.table.kind == "numeric"

    @cached_property
    def of_all(self) -> Estimate | None:
        """The agreement with the interval that holds for all answers together; None for few, where
        each holds so."""
        return kinds.agreement(self.own, self._strict).estimate if self.among > AT_ONCE else None

    @property
    def by_chance(self) -> bool:
        """Whether one of so many answers may be this good by chance: whether it is no longer shown
        that it agrees enough, and more than a word counter, where all answers are to hold together
        with the level that was asked.
        """
        if self.of_all is None:
            return False
        agrees = min(self.of_all.low, self.of_all.worst_low) > self.least
        return (
            not agrees
            or surface.surface_rival(self.own, self._strict).outcome != self.rival.outcome
        )

    @property
    def _strict(self) -> CheckOptions:
        return self.options.model_copy(
            update={"level": 1 - AT_ONCE * (1 - self.options.level) / self.among}
        )

    @property
    def may_be_undone(self) -> bool:
        """Whether the readable rows refute the judge, and those that could not be read may undo
        that."""
        if not self.own.table.unaccounted:
            return False
        constant, found = self.agreement.constant, self.estimate
        return (
            constant
            if found is None
            else (constant or found.high < self.least) and self.least <= found.best_high
        )

    @property
    def agrees(self) -> Finding:
        """The clause that says how far it agrees with people."""
        a = self.agreement
        values: dict[str, Any] = {
            "n": a.n,
            "groups": a.groups,
            "coefficient": a.name,
            "raters": self.raters,
        }
        if a.estimate is not None:
            values |= a.estimate.values("value") | {"level": a.estimate.level}
        if a.raw is None:
            return Finding("check.agrees_in_order", values)
        return Finding("check.agrees_in_share", values | {"raw": a.raw.value})


def _judge(facts: CheckFacts) -> Values:
    return {"judge": facts.judge}


def _judge_on(facts: CheckFacts) -> Values:
    """Name the judge, and on how many items it was held against labels."""
    return {"judge": facts.judge, "n": facts.agreement.n}


def _agrees(facts: CheckFacts) -> Values:
    """Name the judge, and how far it agrees with people."""
    return {"judge": facts.judge, "agrees": facts.agrees}


def _agrees_enough(facts: CheckFacts) -> Values:
    """Name besides how much agreement is asked for."""
    return _agrees(facts) | {"least": facts.least, "default": facts.default}


def _missing(facts: CheckFacts) -> Values:
    return _agrees(facts) | {"missing": facts.agreement.missing}


def _takes_first(facts: CheckFacts) -> Values:
    first = known(facts.agreement.first)
    return {
        "judge": facts.judge,
        "first": first.value,
        "interval": first.interval,
        "level": first.level,
    }


def _by_chance(facts: CheckFacts) -> Values:
    of_all = known(facts.of_all)
    return _agrees_enough(facts) | {
        "among": facts.among,
        "level": of_all.level,
        "interval": of_all.interval,
        "all": facts.options.level,
    }


CHECK = Rules[CheckFacts](
    "check.verdict_",
    (
        Rule("no_verdicts", "undecided", lambda f: not f.judged, _judge),
        Rule("no_labels", "undecided", lambda f: not f.labelled, _judge),
        Rule(
            "nothing_common",
            "undecided",
            lambda f: not f.agreement.n,
            lambda f: {"judge": f.judge, "judged": f.judged, "labelled": f.labelled},
        ),
        Rule("identical", "not_yet", lambda f: f.copied == "identical", _judge_on),
        Rule("in_step", "not_yet", lambda f: f.copied == "in_step", _judge_on),
        Rule("consensus", "not_yet", lambda f: f.copied == "consensus", _judge_on),
        Rule(
            "not_computable",
            "undecided",
            lambda f: f.may_be_undone and f.estimate is None,
            _judge_on,
        ),
        Rule("missing", "undecided", lambda f: f.may_be_undone, _missing),
        Rule("constant", "refuted", lambda f: f.agreement.constant, _judge_on),
        Rule("one_class", "undecided", lambda f: f.agreement.one_class, _judge_on),
        Rule("first", "refuted", lambda f: f.takes_first, _takes_first),
        Rule(
            "few",
            "undecided",
            lambda f: f.agreement.groups < f.few,
            lambda f: _judge_on(f) | {"groups": f.agreement.groups, "few": f.few},
        ),
        Rule("not_computable", "undecided", lambda f: f.estimate is None, _judge_on),
        Rule("reversed", "refuted", lambda f: known(f.estimate).high <= 0, _agrees),
        Rule(
            "coin",
            "refuted",
            lambda f: known(f.estimate).low <= 0 and known(f.estimate).high < f.least,
            _agrees_enough,
        ),
        Rule("coin_open", "undecided", lambda f: known(f.estimate).low <= 0, _agrees),
        Rule("below", "refuted", lambda f: known(f.estimate).high < f.least, _agrees_enough),
        Rule(
            "column",
            "not_yet",
            lambda f: f.rival.outcome == "column",
            lambda f: _agrees(f) | {"what": f.rival.what},
        ),
        Rule(
            "surface",
            "not_yet",
            lambda f: f.rival.outcome == "as_good",
            lambda f: _agrees(f) | {"number": f.rival.by_number, "better": int(f.rival.better)},
        ),
        Rule("follows", "not_yet", lambda f: f.rival.outcome == "follows", _agrees),
        Rule("surface_open", "not_yet", lambda f: f.rival.outcome == "open", _agrees),
        Rule("open", "undecided", lambda f: known(f.estimate).low <= f.least, _agrees_enough),
        Rule("missing", "undecided", lambda f: known(f.estimate).worst_low <= f.least, _missing),
        Rule("order", "not_yet", lambda f: f.one_order, _agrees),
        Rule(
            "texts_lack",
            "not_yet",
            lambda f: f.rival.outcome == "no_texts" and f.rival.lacking,
            lambda f: _agrees(f) | {"lacking": f.rival.lacking, "n": f.rival.n},
        ),
        Rule("no_texts", "not_yet", lambda f: f.rival.outcome == "no_texts", _agrees),
        Rule("few_texts", "not_yet", lambda f: f.rival.outcome in ("few", "rare"), _agrees),
        Rule(
            "reason",
            "not_yet",
            lambda f: f.reason is not None,
            lambda f: _agrees(f) | {"reason": f.reason},
        ),
        Rule("several", "undecided", lambda f: f.by_chance, _by_chance),
        Rule(
            "limited",
            "supported",
            lambda f: f.limits,
            lambda f: (
                _agrees(f)
                | {
                    "limits": f.limits,
                    "least": f.least,
                    "default": f.default,
                    "in_order": f.in_order,
                }
            ),
        ),
        Rule(
            "believed",
            "supported",
            always,
            lambda f: _agrees_enough(f) | {"in_order": f.in_order},
        ),
    ),
)
