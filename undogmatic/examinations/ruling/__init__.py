"""Decides every verdict: the rules of each are a table of checks in order of gravity, which one
function reads.

An analysis gathers its facts in a frozen dataclass of their own, and asks for the verdict:

    @dataclass(frozen=True)
    class TasteFacts:
        \"\"\"Holds what the rules read: the `share` of `n` that are sweet.\"\"\"

        n: int
        share: Estimate

    def _tasted(facts: TasteFacts) -> Values:
        return {"n": facts.n, "share": facts.share.value}

    TASTE = Rules[TasteFacts]("taste.verdict_", (
        Rule("few", "undecided", lambda facts: facts.n < 10, lambda facts: {"n": facts.n}),
        Rule("bitter", "refuted", lambda facts: facts.share.high < 0.5, _tasted),
        Rule("sweet", "supported", lambda facts: facts.share.low > 0.5, _tasted),
        Rule("open", "undecided", always, _tasted),
    ))
    ruling = verdict(TASTE, TasteFacts(n=40, share=share))
    Told(..., verdict=ruling.finding, standing=ruling.standing)

The first rule whose condition holds decides. Its sentence is a wording, here `taste.verdict_few` in
`taste.texts.yaml`, with the values that the rule names. docs/verdicts.md explains the rules to
readers. The tables of the analyses are all in this folder, each with its facts in a module that has
the analysis' name; a construct, a sweep or the gate keeps the table of its own verdict beside its
evidence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from undogmatic.records.results import (
    ANSWERS,
    Face,
    Finding,
    Leaves,
    Standing,
    Subject,
    Weight,
)

AT_ONCE = 2
"""Answers that hold together as they are: an interval misses on either side, and one side is what
counts."""

Values = dict[str, Any]
"""What a sentence names, by the names in its wording."""
Clause = Finding | Sequence[Finding]
"""A clause of a sentence; an empty list is none."""
Known = TypeVar("Known")
Facts = TypeVar("Facts")
Read_contra = TypeVar("Read_contra", contravariant=True)
"""The facts that a rule reads. A rule that reads few of them serves every table whose facts have
these."""


def nothing(facts: object) -> Values:
    """Name no value: the sentence is the same whatever the facts are."""
    return {}


def unsettled(facts: object) -> None:
    """Name nothing that would settle it."""


@dataclass(frozen=True)
class Rule(Generic[Read_contra]):
    """One check of a verdict.

    Attributes:
        key: Of its wording, behind the prefix of the table.
        leaves: How it leaves the claim, a standing or "not_yet" (see `Leaves`); None where no claim
            is tested.
        when: Whether it applies to the facts; the rules before it do not.
        says: The values that its sentence names.
        against: Whether it is one of several reasons against a claim that may hold together. The
            sentence of the first then names the others behind it: values `alone` (1 where there are
            none) and `also`.
        settle: What would settle what it leaves open, as a sentence.
        weight, subject, face: Of its finding (see `Finding`).
    """

    key: str
    leaves: Leaves | None
    when: Callable[[Read_contra], object]
    says: Callable[[Read_contra], Values] = nothing
    against: bool = False
    settle: Callable[[Read_contra], Finding | None] = unsettled
    weight: Weight = Weight.QUALIFIES
    subject: Subject | None = None
    face: Face | None = None


@dataclass(frozen=True)
class Rules(Generic[Read_contra]):
    """The rules of a verdict, the gravest first; `prefix` is that of the keys of their wordings,
    `subject` what all their findings are about."""

    prefix: str
    rules: tuple[Rule[Read_contra], ...]
    subject: Subject | None = None


@dataclass(frozen=True)
class Ruling(Generic[Facts]):
    """The rule that decided, by which rules, on what facts, and the keys of the further reasons
    against the claim, gravest first."""

    rules: Rules[Facts]
    rule: Rule[Facts]
    facts: Facts
    others: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of the rule that decided."""
        return self.rule.key

    @property
    def standing(self) -> Standing | None:
        """How the rule leaves the claim; None where no claim is tested."""
        return "undecided" if self.rule.leaves == "not_yet" else self.rule.leaves

    @property
    def decided(self) -> tuple[Finding, Standing | None]:
        """The sentence and the standing, as the result of an analysis takes them."""
        return self.finding, self.standing

    @property
    def finding(self) -> Finding:
        """The sentence."""
        values = self.rule.says(self.facts)
        if self.rule.against:
            values = values | {
                "alone": 0 if self.others else 1,
                "also": [f"also_{other}" for other in self.others],
            }
        return Finding(
            f"{self.rules.prefix}{self.key}",
            values,
            ANSWERS[self.rule.leaves],
            self.rule.weight,
            settle=self.rule.settle(self.facts),
            subject=self.rule.subject or self.rules.subject,
            face=self.rule.face,
        )


def verdict(rules: Rules[Facts], facts: Facts) -> Ruling[Facts]:
    """The first rule that applies, and of the reasons against a claim all that do."""
    applying = (rule for rule in rules.rules if rule.when(facts))
    first = next(applying)  # the last rule always applies
    others = (
        tuple(rule.key for rule in applying if rule.against) if first.against else ()
    )
    return Ruling(rules, first, facts, others)


def always(facts: object) -> bool:
    """Hold: the condition of the last rule."""
    return True


def known(fact: Known | None) -> Known:
    """Return a fact that is known wherever this is asked: an earlier rule decides where it is
    not."""
    assert fact is not None, "an earlier rule decides where this is not known"
    return fact
