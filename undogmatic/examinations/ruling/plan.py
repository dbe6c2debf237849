"""Holds the rules of `examinations.plan`: what came of the hypotheses of a plan."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always


@dataclass(frozen=True)
class PlanFacts:
    """Counts the `n` hypotheses by what came of them, with the names of those of each kind; `alpha`
    and `family` are the plan's."""

    n: int
    alpha: float
    family: str
    supported: int
    supported_names: str
    refuted: int
    refuted_names: str
    undecided: int
    undecided_names: str


def _hypotheses(facts: PlanFacts) -> Values:
    return {
        "n": facts.n,
        "alpha": facts.alpha,
        "family": facts.family,
        "supported": facts.supported,
        "refuted": facts.refuted,
        "undecided": facts.undecided,
        "supported_names": facts.supported_names,
        "refuted_names": facts.refuted_names,
        "undecided_names": facts.undecided_names,
    }


PLAN = Rules[PlanFacts](
    "plan.verdict_",
    (
        Rule("refuted", "refuted", lambda f: f.refuted, _hypotheses),
        Rule("undecided", "undecided", lambda f: f.undecided, _hypotheses),
        Rule("supported", "supported", always, _hypotheses),
    ),
)
