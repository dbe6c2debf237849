"""Holds the rules of `examinations.improvement`: whether an optimised program is better than what
it was made from."""

from dataclasses import dataclass
from typing import NamedTuple

from undogmatic.examinations.ruling import Rule, Rules, always, known
from undogmatic.examinations.truth import Margin
from undogmatic.stats.estimate import Estimate, Outcome


class Gain(NamedTuple):
    """What the optimised program earns more than the baseline, with the interval and the test.

    `detectable` is the true gain that so many groups of this spread would find beyond the margin
    with the wanted power; None where there is no spread, or no gain that is possible would be found
    so.
    """

    outcome: Outcome
    before: float
    after: float
    gain: Estimate
    p: float
    detectable: float | None


@dataclass(frozen=True)
class ImprovementFacts:
    """Holds what the program gained over its baseline: `gain` is None with too few groups.
    `unchanged`: it is the baseline itself; `identical`: both earned the same of every text;
    `turned`: failed judgments could turn the verdict."""

    gain: Gain | None
    margin: Margin
    alpha: float
    identical: bool
    unchanged: bool
    turned: bool = False


def _significant(facts: ImprovementFacts) -> bool:
    """Whether the test of the groups' means finds a difference beyond the margin."""
    return known(facts.gain).p < facts.alpha


IMPROVEMENT = Rules[ImprovementFacts](
    "improvement.verdict_",
    (
        Rule("unchanged", "refuted", lambda f: f.unchanged),
        Rule("missing", "undecided", lambda f: f.turned),
        Rule("too_few", "undecided", lambda f: f.gain is None),
        Rule("identical", "undecided", lambda f: f.identical),
        Rule(
            "better",
            "supported",
            lambda f: known(f.gain).outcome == "beyond" and _significant(f),
        ),
        Rule(
            "worse",
            "refuted",
            lambda f: known(f.gain).outcome == "against" and _significant(f),
        ),
        Rule(
            "within",
            "refuted",
            lambda f: known(f.gain).outcome == "within" and f.margin.equivalence,
        ),
        Rule("open", "undecided", lambda f: known(f.gain).detectable is not None),
        Rule("blind", "undecided", always),
    ),
)
"""The sentences name all that the analysis knows (`improvement`)."""
