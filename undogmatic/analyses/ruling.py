"""Decides every verdict: the rules of each are a table of checks in order of gravity, which one function reads.

An analysis gathers its evidence (any object with attributes), and asks for the verdict:

    TASTE = Rules("taste.verdict_", (
        Rule("few", "undecided", lambda e: e.n < 10, "n"),
        Rule("bitter", "refuted", lambda e: e.share.high < 0.5, "n share=share.estimate interval=share.low,share.high"),
        Rule("sweet", "supported", lambda e: e.share.low > 0.5, "n share=share.estimate"),
        Rule("open", "undecided", always, "n"),
    ))
    ruling = verdict(TASTE, Evidence(n=40, share=share))
    AnalysisResult(..., verdict=ruling.finding, standing=ruling.standing)

The first rule whose condition holds decides. Its sentence is a wording, here `taste.verdict_few` in `taste.texts.yaml`,
with the values that the rule names. docs/verdicts.md explains the rules to readers. A construct or a sweep keeps the
table of its own verdict beside its evidence; those of the analyses are all here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from undogmatic.records.results import Finding, Standing


class Rule(NamedTuple):
    """One check of a verdict.

    Attributes:
        key: Of its wording, behind the prefix of the table.
        standing: How it leaves the claim; None where no claim is tested.
        when: Whether it applies to the evidence; the rules before it do not.
        says: What its sentence names, by attributes of the evidence: `n`, or `n=judged.n`, or
            `interval=mean.low,mean.high` for a pair of them; or what makes the values from the evidence.
        adds: Values of the sentence that are the same whatever the evidence.
        against: Whether it is one of several reasons against a claim that may hold together. The sentence of the first
            then names the others behind it: values `alone` (1 where there are none) and `also`.
    """

    key: str
    standing: Standing | None
    when: Callable[[Any], object]
    says: str | Callable[[Any], Mapping[str, Any]] = ""
    adds: Mapping[str, Any] = {}
    against: bool = False


class Rules(NamedTuple):
    """The rules of a verdict, the gravest first; `prefix` is that of the keys of their wordings."""

    prefix: str
    rules: tuple[Rule, ...]


class Ruling(NamedTuple):
    """The rule that decided, on what, and the keys of the further reasons against the claim, gravest first."""

    prefix: str
    rule: Rule
    evidence: Any
    others: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Of the rule."""
        return self.rule.key

    @property
    def standing(self) -> Standing | None:
        """How the claim is left."""
        return self.rule.standing

    @property
    def finding(self) -> Finding:
        """The sentence."""
        values, says = dict(self.rule.adds), self.rule.says
        if callable(says):
            values |= says(self.evidence)
        else:
            for name, _, path in (named.partition("=") for named in says.split()):
                values[name] = attrgetter(*(path or name).split(","))(self.evidence)
        if self.rule.against:
            values |= {"alone": 0 if self.others else 1, "also": [f"also_{other}" for other in self.others]}
        return Finding(f"{self.prefix}{self.key}", values)


def verdict(rules: Rules, evidence: Any) -> Ruling:
    """The first rule that applies, and of the reasons against a claim all that do."""
    applying = (rule for rule in rules.rules if rule.when(evidence))
    first = next(applying, None)
    assert first is not None, "the last rule always applies"
    others = tuple(rule.key for rule in applying if rule.against) if first.against else ()
    return Ruling(rules.prefix, first, evidence, others)


def always(evidence: Any) -> bool:
    """Holds: the condition of the last rule."""
    return True


def surface(outcome: str) -> Callable[[Any], bool]:
    """The condition that the surface judge on the same texts came to this outcome (`rivals.Outcome`)."""
    return lambda e: bool(e.surface == outcome)


_SURFACE = (
    Rule("surface_explains", "refuted", surface("surface_explains")),
    Rule("surface_as_good", "undecided", surface("surface_as_good")),
    Rule("surface_open", "undecided", surface("open")),
    Rule("no_texts", "undecided", surface("no_texts")),
)

CONTROLS = Rules("controls.verdict_", (
    Rule("incomplete", "undecided", lambda e: not e.apart, "conditions=absent"),
    Rule("reversed", "refuted", lambda e: e.reversed, "conditions=reversed"),
    Rule("outside", "refuted", lambda e: e.outside, "conditions=outside share"),
    Rule("open_endless", "undecided", lambda e: None in e.needed, "apart=not_apart inside=not_inside share"),
    Rule("open", "undecided", lambda e: e.needed, "apart=not_apart inside=not_inside share needed=most_needed"),
    Rule("missing", "undecided", lambda e: e.missing, "conditions=missing"),
    *_SURFACE,
    Rule("hold", "supported", always, "share weakest counts"),
))  # fmt: skip

ADVERSARIAL = Rules("adversarial.verdict_", (
    Rule("nothing_judged", "undecided", lambda e: not e.total, "conditions=baseline"),
    Rule("succeeds", "refuted", lambda e: e.of("succeeds")["n"], lambda e: e.of("succeeds")),
    Rule("open_endless", "undecided", lambda e: e.of("open")["n"] and e.needed is None, lambda e: e.of("open")),
    Rule("open", "undecided", lambda e: e.of("open")["n"], lambda e: e.of("open") | {"needed": e.needed}),
    Rule("missing", "undecided", lambda e: e.of("missing")["n"], lambda e: e.of("missing")),
    *_SURFACE,
    Rule("withstood", "supported", always, "total counts"),
))  # fmt: skip
