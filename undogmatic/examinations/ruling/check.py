"""Holds the rules of `examinations.check`: whether a judge may be believed whose verdicts were made
elsewhere."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from undogmatic.examinations import kinds, people, surface
from undogmatic.examinations.kinds import FEWEST, Agreement, label_of
from undogmatic.examinations.people import COPIED, Copied
from undogmatic.examinations.ruling import (
    AT_ONCE,
    Rule,
    Rules,
    Values,
    always,
    known,
    nothing,
)
from undogmatic.examinations.ruling.people import CeilingFacts
from undogmatic.examinations.surface_rival import SurfaceRival
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.results import Finding, Subject
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
    or to be no less than that of people with each other (`ceiling`, None where too few labelled the
    same items), with `few` groups at least; `among` answers were asked for at once. `limits` counts
    the findings that limit the use of a judge that is believed, `reason` is a finding that forbids
    it.

    What would settle an open answer hangs on the finding about the agreement (`headline`), on
    whether labels equal the verdicts everywhere (`same_labels`), and on why it could not be
    examined what the judge may decide alone (`alone`). `planted`: the labels say what was planted
    in each item and nothing else.
    """

    judge: str
    own: JudgeView
    agreement: Agreement
    rival: SurfaceRival
    least: float
    limits: int
    ceiling: CeilingFacts | None = None
    reason: Finding | None = None
    few: int = FEWEST
    default: bool = False
    options: CheckOptions = field(default_factory=CheckOptions)
    among: int = 1
    headline: Finding | None = None
    same_labels: bool = False
    alone: Finding | None = None
    planted: bool = False

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
    def agrees_enough(self) -> bool:
        """Whether it is shown to agree with people more than is asked for, or no less than they
        agree with each other."""
        # A judge that agrees with people as they agree with each other does all that
        # labels like these can show, even where that is little: "no less than people"
        # takes the place of a fixed limit.
        return self._enough(known(self.estimate), self.ceiling)

    @property
    def as_people(self) -> bool:
        """Whether it is believed for agreeing no less than people do with each other."""
        # Only where the fixed limit alone would not have done: the sentence then names
        # people, and not the limit.
        return known(self.estimate).low <= self.least and self._as_people(self.ceiling)

    @property
    def weak_labels(self) -> bool:
        """Whether people agree with each other so little that a judge which agrees as little may be
        as good as they are: less than is asked for, or not shown to agree more than it does."""
        if self.ceiling is None:
            return False
        found = self.ceiling.found
        return found.people.value < self.least or found.difference.high >= 0

    def _enough(self, estimate: Estimate, ceiling: CeilingFacts | None) -> bool:
        above = min(estimate.low, estimate.worst_low) > self.least
        return above or self._as_people(ceiling)

    def _as_people(self, ceiling: CeilingFacts | None) -> bool:
        """How good missing verdicts would be is not known beside people's agreement, so there must
        be none."""
        # A limit that is fixed can be held against the worst that missing verdicts
        # could be. People's agreement among themselves cannot: nobody knows what they
        # would have said of those items.
        if ceiling is None or self.agreement.missing:
            return False
        found, margin = ceiling.found, ceiling.margin or 0.0
        return (
            found.people.low > 0
            and found.judge.low > 0
            and found.difference.low > -margin
        )

    @property
    def copied(self) -> Copied | None:
        """How its verdicts may have been made from the labels."""
        return self.agreement.copied

    @property
    def takes_first(self) -> bool:
        """Whether it is shown to choose by place."""
        # In one order alone, choosing what stands first may be choosing the better one;
        # both orders tell the two apart.
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
    def may_be_turned(self) -> bool:
        """Whether it puts numbers in people's order from the other end, where nobody said which end
        is the good one."""
        said = (
            read.key for read in self.own.table.read if read.subject == Subject.KIND
        )
        # Numbers say an order and no direction. If nobody stated which end is good,
        # agreement in the opposite order is as likely a column that counts faults as a
        # judge that is wrong.
        guessed = any(key in ("table.numeric", "table.numeric_guess") for key in said)
        return guessed and known(self.estimate).high < -self.least

    @property
    def goes_against(self) -> bool:
        """Whether it is shown to say the opposite of people, as a judge does whose scale is read
        from the wrong end. One that is a little below a coin is no better than a coin."""
        found = known(self.estimate)
        return found.high <= 0 and found.value <= -self.least / 2

    @property
    def in_order(self) -> bool:
        """Whether it is the order of the items that is held against people's."""
        return self.own.table.kind == "numeric"

    @cached_property
    def of_all(self) -> Estimate | None:
        """The agreement with the interval that holds for all answers together; None for few, where
        each holds so."""
        # Two answers are given at the level that was asked, so that who checks one
        # judge against another loses nothing by it.
        if self.among <= AT_ONCE:
            return None
        return kinds.agreement(self.own, self._strict).estimate

    @property
    def by_chance(self) -> bool:
        """Whether one of so many answers may be this good by chance: whether it is no longer shown
        that it agrees enough, and more than a word counter, where all answers are to hold together
        with the level that was asked.
        """
        if self.of_all is None:
            return False
        told = people.ceiling(self.own, self._strict)
        # A finding says why there is no ceiling.
        ceiling = told if isinstance(told, CeilingFacts) else None
        # A judge that is good whatever the level passes both; of many judges that are
        # none, one or the other lies just above the limit.
        if not self._enough(self.of_all, ceiling):
            return True
        rival = surface.surface_rival(self.own, self._strict)
        return rival.outcome != self.rival.outcome

    @property
    def of_tries(self) -> Finding | None:
        """That earlier tries are paid for, where somebody said how many there are."""
        # Who tried ten prompts and shows the best has had ten chances, though the file
        # holds one judge.
        if self.options.tried == 1:
            return None
        values = {
            "among": self.among,
            "level": self._strict.level,
            # Only the lower of an interval's two ends can make a wrong yes.
            "wrong": (1 - self._strict.level) / 2,
            "together": self.among * (1 - self._strict.level) / 2,
        }
        return Finding("check.tried", values)

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
        # Only what speaks against a judge is withheld here. What speaks for it meets
        # the same rows further down, in `missing` after `open`.
        refuted = self.agreement.constant
        found = self.estimate
        if found is None:
            return refuted
        refuted = refuted or found.high < self.least
        return refuted and self.least <= found.best_high

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
        # A share of equal answers says nothing of numbers, where hardly two are the
        # same.
        if a.raw is None:
            key = "check.planted_in_order" if self.planted else "check.agrees_in_order"
            return Finding(key, values)
        drawn = self.own.stands_for is not None
        key = "check.agrees_in_drawn" if drawn else "check.agrees_in_share"
        if self.planted:  # no person said it
            key = "check.planted_in_share"
        return Finding(key, values | {"raw": a.raw.value})


def truth_among(agreement: float) -> float:
    """How far one who knew the truth would agree with single people, who agree with each other so
    far: the square root, where they err independently of each other.

    References:
        Spearman (1904), The proof and measurement of association between two things.
        doi:10.2307/1412159, for the correction for attenuation.
    """
    return float(max(agreement, 0.0) ** 0.5)


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


def _believed(facts: CheckFacts) -> Values:
    """Name besides by what measure that is enough: what is asked for, or people themselves."""
    enough = Finding("check.enough", {"least": facts.least, "default": facts.default})
    if facts.as_people:
        found = known(facts.ceiling).found
        values = found.difference.values("difference") | {
            "level": found.difference.level
        }
        enough = Finding(
            "check.enough_as_people", values | {"people": found.people.value}
        )
    return _agrees(facts) | {"enough": enough, "in_order": facts.in_order}


def _weak_labels(facts: CheckFacts) -> Values:
    """Name how far people agree with each other, and how far one who knew the truth would agree
    with them."""
    found = known(facts.ceiling).found
    return _agrees_enough(facts) | {
        "people": found.people.value,
        "people_interval": found.people.interval,
        "truth": truth_among(found.people.value),
    }


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
        "tried": facts.options.tried,
        "level": of_all.level,
        "interval": of_all.interval,
        "all": facts.options.level,
    }


def _label(facts: CheckFacts) -> Values:
    """Name the command with which people label more."""
    return {"label": label_of(facts.own.table)}


def _settle(
    what: str, says: Callable[[CheckFacts], Values]
) -> Callable[[CheckFacts], Finding]:
    """What would settle an answer: always the same sentence."""
    return lambda facts: Finding(f"check.settle_{what}", says(facts))


def _settle_agreement(facts: CheckFacts) -> Finding | None:
    """What the finding about the agreement says of itself."""
    return facts.headline and facts.headline.settle


def _besides(
    first: Callable[[CheckFacts], Finding | None],
    other: Callable[[CheckFacts], Finding | None],
) -> Callable[[CheckFacts], Finding | None]:
    """What would settle an answer that two things leave open: both, in this order."""

    def settle(facts: CheckFacts) -> Finding | None:
        one, besides = first(facts), other(facts)
        if one is None or besides is None:
            return one or besides
        return Finding("check.settle_both", {"first": one, "besides": besides})

    return settle


def _settle_open(facts: CheckFacts) -> Finding | None:
    """What the agreement lacks where something else decided; None where it lacks nothing."""
    if known(facts.estimate).low > facts.least or facts.agrees_enough:
        return None
    return _settle_agreement(facts)


def _settle_rival(facts: CheckFacts) -> Finding | None:
    """What a word counter or a column leaves open where something else decided."""
    ways: Mapping[str, Callable[[CheckFacts], Finding]] = {
        "column": _settle("column", _label),
        "as_good": _settle_surface,
        "follows": _settle("follows", _label),
        "open": _settle("surface_open", _label),
    }
    way = ways.get(facts.rival.outcome)
    return None if way is None else way(facts)


def _settle_missing(facts: CheckFacts) -> Finding:
    """The verdicts that are missing, or the rows that cannot be read if these are all of them."""
    # Two things may be missing: rows that could not be read, which the user can mend,
    # and verdicts that the judge never gave, which take another run of it.
    if facts.own.table.unaccounted != facts.agreement.missing:
        return Finding("check.settle_missing")
    who = [Finding("check.settle_who")] if facts.same_labels else []
    return Finding("check.settle_rows", {"who": who})


def _settle_surface(facts: CheckFacts) -> Finding:
    """Items on which the word counter is wrong, or the number in the texts that may be the
    label."""
    if facts.rival.by_number:
        return Finding("check.settle_number", _label(facts))
    leans = Finding("surface.leans", {"what": list(facts.rival.what[:1])})
    return Finding("check.settle_surface", {**_label(facts), "what": leans})


def _settle_few(facts: CheckFacts) -> Finding:
    """How many more labels an answer takes, and what the judge may decide alone; and whether on
    these items or on others."""
    more, groups = max(facts.few - facts.agreement.groups, 1), facts.agreement.groups
    values = {
        "more": more,
        "n": facts.agreement.n,
        "groups": groups,
        "alone": [],
        **_label(facts),
    }
    values["who"] = [Finding("check.settle_first_who")] if facts.same_labels else []
    if facts.alone is not None and facts.alone.values.get("needed", 0) > facts.few:
        more = facts.alone.values["needed"] - facts.agreement.groups
        values["alone"] = [Finding("check.settle_few_alone", {"more": more})]
    if more <= facts.own.table.items["group"].nunique() - groups:
        return Finding("check.settle_few", values)
    # there were labels enough, were they of other texts
    alike = facts.agreement.n - groups >= more
    return Finding(
        "check.settle_few_alike" if alike else "check.settle_few_add", values
    )


def _rare(facts: CheckFacts) -> Values:
    """Name the rarer label, and how many items have it."""
    rarer = known(facts.agreement.rarer)
    return _judge(facts) | {
        "category": rarer.category,
        "items": round(rarer.items),
        "n": rarer.of,
        "few": kinds.FEWEST_RARER,
    }


def _settle_rare(facts: CheckFacts) -> Finding:
    """Labels that are drawn evenly from the verdicts: enough that as many of the rarer kind are to
    be expected as are needed."""
    table = facts.own.table
    # Drawn evenly from both verdicts, half of the labels are of the rarer verdict.
    more = 2 * kinds.FEWEST_RARER
    judge = facts.own.judge
    drawn = judge in table.columns and facts.labelled + more <= facts.judged
    label = label_of(table, by=judge if drawn else None, n=more)
    if drawn:
        return Finding("check.settle_rare", {"label": label, "more": more})
    rarer = known(facts.agreement.rarer)
    lacking = kinds.FEWEST_RARER - int(rarer.items)
    values = {"label": label, "lacking": lacking, "category": rarer.category}
    return Finding("check.settle_rare_more", values)


def _settle_no_labels(facts: CheckFacts) -> Finding:
    """Labels; those that the file may have already in columns that nobody took for them."""
    table = facts.own.table
    values = {
        "more": max(facts.few - facts.agreement.groups, 1),
        "unread": [],
        **_label(facts),
    }
    for read in table.read:
        # Who gets "there are no labels" mostly has them, under a name that nobody knew;
        # the command to read them is worth more than advice to label.
        if read.subject == Subject.NOT_READ:
            humans = " ".join(
                f"--human {shlex.quote(str(column).strip('`'))}"
                for column in read.values["columns"]
            )
            files = [*table.sources] or ["FILE"]
            named = {"source": shlex.join([*files, *table.reading]), "humans": humans}
            values["unread"] = [
                Finding("check.settle_unread", {**read.values, **named})
            ]
    return Finding("check.settle_no_labels", values)


def _copied(way: Copied) -> Rule[CheckFacts]:
    """Refuse an answer from verdicts that may be the labels themselves, made in this way: the rule
    and its sentences are called like the way."""
    return Rule(
        way,
        "not_yet",
        lambda facts: facts.copied == way,
        _judge_on,
        settle=_settle(way, _label),
    )


CHECK = Rules[CheckFacts](
    # The order is that of docs/verdicts.md, and is part of the promise: the first that
    # holds decides. Rules that say the file cannot answer come before those that judge
    # the judge; of these, what refutes comes before what explains, and what explains
    # before what is merely open.
    "check.verdict_",
    (
        Rule("no_verdicts", "undecided", lambda f: not f.judged, _judge),
        Rule(
            "no_labels",
            "undecided",
            lambda f: not f.labelled,
            _judge,
            settle=_settle_no_labels,
        ),
        Rule(
            "nothing_common",
            "undecided",
            lambda f: not f.agreement.n,
            lambda f: {"judge": f.judge, "judged": f.judged, "labelled": f.labelled},
            settle=_settle("nothing_common", _label),
        ),
        # Before any number is looked at: verdicts made from the labels agree with them
        # perfectly, and every rule below would believe them.
        *map(_copied, COPIED),
        Rule(
            "not_computable",
            "undecided",
            lambda f: f.may_be_undone and f.estimate is None,
            _judge_on,
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: f.may_be_undone,
            _missing,
            settle=_besides(_settle_missing, _settle_rival),
        ),
        Rule(
            "constant",
            "refuted",
            lambda f: f.agreement.constant and f.agreement.groups >= kinds.FEWEST,
            _judge_on,
        ),
        Rule(
            "one_class",
            "undecided",
            lambda f: f.agreement.one_class,
            _judge_on,
            settle=_settle("one_class", _label),
        ),
        # Place decides for such a judge, so that its agreement, whatever it is, belongs
        # to how the file was made.
        Rule("first", "refuted", lambda f: f.takes_first, _takes_first),
        Rule(
            "few",
            "undecided",
            lambda f: f.agreement.groups < f.few,
            lambda f: _judge_on(f) | {"groups": f.agreement.groups, "few": f.few},
            settle=_settle_few,
        ),
        Rule(
            "rare",
            "undecided",
            lambda f: f.agreement.rarer is not None and f.agreement.rarer.is_rare,
            _rare,
            settle=_settle_rare,
        ),
        # All rules from here on read the estimate.
        Rule("not_computable", "undecided", lambda f: f.estimate is None, _judge_on),
        Rule(
            "labels",
            "undecided",
            lambda f: (
                known(f.estimate).high < f.least
                and f.weak_labels
                and not f.agrees_enough
            ),
            _weak_labels,
            settle=_settle("labels", _label),
        ),
        Rule(
            "turned",
            "undecided",
            lambda f: f.may_be_turned,
            _agrees,
            subject=Subject.REVERSED,
            settle=_settle("turned", lambda facts: {}),
        ),
        Rule(
            "reversed",
            "refuted",
            lambda f: f.goes_against,
            _agrees,
            subject=Subject.REVERSED,
        ),
        Rule(
            "coin",
            "refuted",
            lambda f: known(f.estimate).low <= 0 and known(f.estimate).high < f.least,
            _agrees_enough,
        ),
        Rule(
            "coin_open",
            "undecided",
            lambda f: known(f.estimate).low <= 0,
            _agrees,
            settle=_settle_agreement,
        ),
        Rule(
            "below",
            "refuted",
            lambda f: known(f.estimate).high < f.least and not f.agrees_enough,
            _agrees_enough,
        ),
        Rule(
            "column",
            "not_yet",
            lambda f: f.rival.outcome == "column",
            lambda f: _agrees(f) | {"what": f.rival.named},
            settle=_besides(_settle("column", _label), _settle_open),
        ),
        Rule(
            "surface",
            "not_yet",
            lambda f: f.rival.outcome == "as_good",
            lambda f: (
                _agrees(f)
                | {"number": f.rival.by_number, "better": int(f.rival.better)}
            ),
            settle=_besides(_settle_surface, _settle_open),
        ),
        Rule(
            "follows",
            "not_yet",
            lambda f: f.rival.outcome == "follows",
            _agrees,
            settle=_besides(_settle("follows", _label), _settle_open),
        ),
        Rule(
            "open",
            "undecided",
            lambda f: known(f.estimate).low <= f.least and not f.agrees_enough,
            _agrees_enough,
            settle=_settle_agreement,
        ),
        Rule(
            "missing",
            "undecided",
            lambda f: not f.agrees_enough or f.rival.undone,
            _missing,
            settle=_besides(_settle_missing, _settle_rival),
        ),
        Rule(
            "edge",
            "undecided",
            lambda f: f.rival.past_edge is not None,
            _agrees,
            settle=_settle("edge", _label),
        ),
        Rule(
            "surface_open",
            "not_yet",
            lambda f: f.rival.outcome == "open",
            _agrees,
            settle=_settle("surface_open", _label),
        ),
        Rule(
            "order",
            "not_yet",
            lambda f: f.one_order,
            _agrees,
            settle=_settle("order", nothing),
        ),
        Rule(
            "planted",
            "not_yet",
            lambda f: f.planted,
            _agrees,
            settle=_settle("planted", nothing),
        ),
        Rule(
            "texts_same",
            "not_yet",
            lambda f: f.rival.outcome == "no_texts" and f.rival.told_apart,
            lambda f: _agrees(f) | {"lacking": f.rival.lacking, "n": f.rival.n},
            settle=_settle("texts_same", nothing),
        ),
        Rule(
            "texts_lack",
            "not_yet",
            lambda f: f.rival.outcome == "no_texts" and f.rival.lacking,
            lambda f: _agrees(f) | {"lacking": f.rival.lacking, "n": f.rival.n},
            settle=_settle("texts_lack", nothing),
        ),
        Rule(
            "no_texts",
            "not_yet",
            lambda f: f.rival.outcome == "no_texts",
            _agrees,
            settle=_settle("no_texts", nothing),
        ),
        Rule(
            "few_texts",
            "not_yet",
            lambda f: f.rival.outcome in ("few", "rare"),
            _agrees,
            settle=_settle("few_texts", _label),
        ),
        Rule(
            "reason",
            "not_yet",
            lambda f: f.reason is not None,
            lambda f: _agrees(f) | {"reason": f.reason},
        ),
        Rule(
            "several",
            "undecided",
            lambda f: f.by_chance,
            _by_chance,
            settle=_settle("several", lambda f: _label(f) | _judge(f)),
        ),
        Rule(
            "limited",
            "supported",
            lambda f: f.limits,
            lambda f: _believed(f) | {"limits": f.limits},
        ),
        Rule(
            "believed",
            "supported",
            always,
            _believed,
        ),
    ),
)


@dataclass(frozen=True)
class PartFacts:
    """Holds whom a check is about of which only a part was asked, and which of the examinations
    that could have spoken against it were `unasked`."""

    judge: str
    unasked: tuple[str, ...]


PART = Rules[PartFacts](
    "check.verdict_",
    (
        Rule(
            "part",
            "undecided",
            always,
            lambda f: {"judge": f.judge, "n": len(f.unasked)},
            settle=lambda f: Finding("check.settle_part"),
        ),
    ),
)
"""In place of the answer, where it would be given without having asked all that could speak against
it: a yes from a part of the examinations is worth nothing."""
