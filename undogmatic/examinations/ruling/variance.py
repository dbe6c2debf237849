"""Holds the rules of `examinations.variance`: whether one score is reliable enough, and what
averaging would do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from undogmatic.examinations.ruling import Rule, Rules, Values, always
from undogmatic.records.results import Finding
from undogmatic.stats.estimate import Estimate


@dataclass(frozen=True)
class VarianceFacts:
    """Holds the reliability of one score (`phi`) and the one that is wanted (`target`).

    `design` says in words how many of what to average to reach it, None where no number does;
    `few` of what of that there are only few values, and `names` them.
    """

    phi: Estimate
    level: float
    groups: int
    target: float
    design: Finding | None
    few: Finding | None
    names: Sequence[str]


def _phi(facts: VarianceFacts) -> Values:
    return {
        "phi": facts.phi.value,
        "interval": facts.phi.interval,
        "level": facts.level,
        "target": facts.target,
    }


VARIANCE = Rules[VarianceFacts](
    "variance.verdict_",
    (
        # Enough is what the lower limit says is enough.
        Rule("enough", None, lambda f: f.phi.low >= f.target, _phi),
        Rule(
            "open",
            None,
            lambda f: f.phi.value >= f.target,
            lambda f: _phi(f) | {"groups": f.groups},
        ),
        Rule("never", None, lambda f: f.design is None, _phi),
        Rule(
            "average_few",
            None,
            lambda f: f.few,
            lambda f: _phi(f) | {"few": f.few, "names": f.names},
        ),
        Rule("average", None, always, lambda f: _phi(f) | {"design": f.design}),
    ),
)
VARIANCE_OF_PEOPLE = replace(VARIANCE, prefix="variance.people_")
