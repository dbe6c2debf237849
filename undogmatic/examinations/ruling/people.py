"""Holds the rules of `examinations.people`: whether the judge agrees with people as they do among
themselves, may stand in for one of them, and who copied whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from undogmatic.examinations.ruling import Clause, Rule, Rules, Values, always, known
from undogmatic.records.results import Face, Finding, Subject, Weight
from undogmatic.stats import checks
from undogmatic.stats.annotators import AlternativeAnnotator, Ceiling


@dataclass(frozen=True)
class CeilingFacts:
    """Holds the agreement of the judge beside that of people, and the margin in units of the
    coefficient; None where nobody stated one."""

    found: Ceiling
    measure: str
    margin: float | None
    raters: int
    n: int
    groups: int
    grades: bool = False  # whether verdicts are numbers, so that a margin is one, too

    @property
    def needed(self) -> int | None:
        """Independent units that would show the judge to be as good, were the difference what it
        seems to be."""
        difference, margin = self.found.difference, self.margin
        if margin is None or difference.value <= -margin:
            return None
        reach = (difference.value - difference.low) / (difference.value + margin)
        return checks.worth_naming(self.groups * reach**2, self.groups)


def _ceiling(facts: CeilingFacts) -> Values:
    people, judge, difference = facts.found
    return {
        "people": people.value,
        "people_interval": people.interval,
        "judge": judge.value,
        "judge_interval": judge.interval,
        "difference": difference.value,
        "interval": difference.interval,
        "level": difference.level,
        "measure": facts.measure,
        "raters": facts.raters,
        "n": facts.n,
        "groups": facts.groups,
    }


def _ceiling_margin(facts: CeilingFacts) -> Values:
    return _ceiling(facts) | {"margin": facts.margin}


def _worse_within(facts: CeilingFacts) -> bool:
    """Whether the judge is shown to be worse, but by no more than the margin."""
    difference = facts.found.difference
    return (
        bool(facts.margin)
        and -known(facts.margin) < difference.low <= difference.high < 0
    )


def _as_good(facts: CeilingFacts) -> bool:
    """Whether the judge is shown to be at most the margin worse, and to agree at all."""
    difference = facts.found.difference
    return (
        bool(facts.margin)
        and difference.low > -known(facts.margin)
        and facts.found.judge.low > 0
    )


def _settle_ceiling(facts: CeilingFacts) -> Finding | None:
    """So many more items, where anybody can gather them."""
    if facts.needed is None:
        return None
    return Finding("people.settle_ceiling", {"needed": facts.needed})


CEILING = Rules[CeilingFacts](
    "people.ceiling_",
    (
        Rule("worse_within", None, _worse_within, _ceiling_margin),
        Rule(
            "worse",
            "refuted",
            lambda f: f.found.difference.high < 0,
            _ceiling,
            weight=Weight.LIMITS,
            face=Face("people.face_ceiling", "judge"),
        ),
        Rule(
            "better",
            "supported",
            lambda f: f.found.difference.low > 0 and f.found.judge.low > 0,
            _ceiling,
        ),
        Rule("as_good", "supported", _as_good, _ceiling_margin),
        Rule(
            "no_margin",
            "undecided",
            lambda f: f.margin is None,
            _ceiling,
            settle=lambda f: Finding("people.settle_margin", {"grades": int(f.grades)}),
        ),
        Rule("open", "undecided", always, _ceiling_margin, settle=_settle_ceiling),
    ),
    Subject.CEILING,
)
"""The judge beside the agreement of people among themselves: as good only within a margin that was
stated before."""


@dataclass(frozen=True)
class AnnotatorFacts:
    """Holds the test whether the judge may stand in for one of the `raters`, of whom it has `won`
    so many, and the same test of a judge that says one thing of every item (`constant`). `source`
    says who set `epsilon`; `ties` is the clause that says how many labels decided nothing."""

    test: AlternativeAnnotator
    constant: AlternativeAnnotator | None
    epsilon: float
    source: str
    won: int
    raters: int
    ties: Clause


def _annotator(facts: AnnotatorFacts) -> Values:
    return {
        "won": facts.won,
        "raters": facts.raters,
        "rate": facts.test.winning_rate,
        "advantage": facts.test.advantage.value,
        "epsilon": facts.epsilon,
        "source": facts.source,
        "ties": facts.ties,
    }


ANNOTATOR = Rules[AnnotatorFacts](
    "people.annotator_",
    (
        Rule(
            "fails",
            "refuted",
            lambda f: not f.test.passes,
            _annotator,
            face=Face("people.face_annotator", "won"),
        ),
        Rule(
            "constant",
            "undecided",
            lambda f: f.constant is not None and f.constant.passes,
            _annotator,
        ),
        Rule("passes", "supported", always, _annotator),
    ),
    Subject.ANNOTATOR,
)


@dataclass(frozen=True)
class CopyFacts:
    """Holds two who said the same of all of `n` items.

    `sign` is a second sign that one has it from the other, None without one: they are "fine" or
    "grade"s with so many `steps`, or so "many" items, or the same also where another person
    ("split") or everybody else ("alone") says something else, on `apart` items. `raters` are all
    who said what the judge says, where they are told together. `pairs` of raters without a
    second sign may be told together as well: then the two are those with the most items.
    """

    one: str
    other: str
    n: int
    of_judge: bool
    sign: str | None = None
    steps: float = 0.0
    apart: int = 0
    raters: Sequence[str] = ()
    pairs: int = 1

    @property
    def why(self) -> Finding:
        """The clause that says what the second sign is."""
        return Finding(
            f"people.why_{self.sign}", {"steps": self.steps, "apart": self.apart}
        )


def _two(facts: CopyFacts) -> Values:
    return {"one": facts.one, "other": facts.other, "n": facts.n}


COPY = Rules[CopyFacts](
    "people.",
    (
        Rule(
            "copies_judge",
            "refuted",
            lambda f: f.of_judge and f.sign,
            lambda f: {"rater": f.one, "n": f.n, "why": f.why},
            weight=Weight.REVERSES,
        ),
        Rule(
            "same_as_judge",
            "undecided",
            lambda f: f.of_judge,
            lambda f: {"raters": f.raters, "n": f.n},
            settle=lambda f: Finding("people.settle_equal", {}),
            weight=Weight.LIMITS,
            subject=Subject.SAME_LABELS,
        ),
        Rule(
            "copies_rater",
            "refuted",
            lambda f: f.sign,
            lambda f: _two(f) | {"why": f.why},
            weight=Weight.LIMITS,
        ),
        Rule(
            "same_as_raters",
            "undecided",
            lambda f: f.pairs > 1,
            lambda f: _two(f) | {"pairs": f.pairs},
        ),
        Rule("same_as_rater", "undecided", always, _two),
    ),
)
"""Labels that are all the same as the judge's, or as another rater's."""
