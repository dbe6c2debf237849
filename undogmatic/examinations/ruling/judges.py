"""Holds the rules of `examinations.judges`: which of several judges agrees better with people, and
which errors they share."""

from collections.abc import Sequence
from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always
from undogmatic.records.results import Finding
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.panel import SharedErrors


@dataclass(frozen=True)
class JudgePairFacts:
    """Holds the difference of two judges on `n` items, of which the left one agrees more with
    people; `shown` is what the correction over all `pairs` leaves of it
    (`stats.compare.Family`)."""

    left: str
    right: str
    difference: float
    interval: tuple[float, float]
    n: int
    shown: str
    pairs: int
    margin: float | None
    measure: str


def _pair(facts: JudgePairFacts) -> Values:
    return {
        "left": facts.left,
        "right": facts.right,
        "difference": facts.difference,
        "interval": facts.interval,
        "n": facts.n,
        "pairs": facts.pairs,
        "measure": facts.measure,
    }


def _pair_margin(facts: JudgePairFacts) -> Values:
    return _pair(facts) | {"margin": facts.margin}


JUDGE_PAIR = Rules[JudgePairFacts](
    "judges.pair_",
    (
        Rule(
            "identical",
            None,
            lambda f: f.shown == "identical",
            lambda f: {"left": f.left, "right": f.right, "n": f.n},
        ),
        Rule("better", "supported", lambda f: f.shown == "better", _pair),
        Rule("equivalent", "supported", lambda f: f.shown == "equal", _pair_margin),
        Rule("no_margin", "undecided", lambda f: f.margin is None, _pair),
        Rule("undecided", "undecided", always, _pair_margin),
    ),
)
"""Two judges, the one that agrees more with people first."""


@dataclass(frozen=True)
class BestJudgeFacts:
    """Holds the agreement of the judge that agrees most with people, and of how many of the
    `others` it is shown that they are `worse`, with the clauses that say so (`shown`). `flattery`
    is by how much it looks better for having been chosen as the best."""

    best: str
    agreement: Estimate
    measure: str
    worse: int
    others: int
    shown: Sequence[Finding]
    flattery: float | None


def _best(facts: BestJudgeFacts) -> Values:
    return {
        "best": facts.best,
        "agreement": facts.agreement.value,
        "interval": facts.agreement.interval,
        "level": facts.agreement.level,
        "others": facts.others,
        "shown": facts.shown,
        "measure": facts.measure,
    }


# With less, the flattery is 0.00 or 0.01 in the sentence.
WORTH_TELLING = 0.005

BEST_JUDGE = Rules[BestJudgeFacts](
    "judges.best_",
    (
        Rule("alone", "supported", lambda f: f.worse == f.others, _best),
        Rule(
            # The best of several looks better than it is for having been chosen by
            # these very labels.
            "chosen",
            "undecided",
            lambda f: f.flattery is not None and f.flattery >= WORTH_TELLING,
            lambda f: _best(f) | {"flattery": f.flattery},
        ),
        Rule("open", "undecided", always, _best),
    ),
)


@dataclass(frozen=True)
class SharedErrorsFacts:
    """Holds the correlation of the errors of all judges, and of the two that share most: `phi`,
    the share of items on which `both` err, and what it would be by `chance`. `amounts`: errors are
    amounts, not right or wrong."""

    found: SharedErrors
    one: str
    other: str
    amounts: bool
    phi: float
    both: float
    chance: float


def _errors(facts: SharedErrorsFacts) -> Values:
    mean = facts.found.mean
    return {
        "phi": mean.value,
        "interval": mean.interval,
        "level": mean.level,
        "n": mean.n,
        "judges": facts.found.judges,
        "effective": facts.found.effective,
        "one": facts.one,
        "other": facts.other,
        "most": facts.phi,
    }


SHARED_ERRORS = Rules[SharedErrorsFacts](
    "judges.errors_",
    (
        Rule(
            "shared_amounts",
            "supported",
            lambda f: f.found.mean.low > 0 and f.amounts,
            _errors,
        ),
        Rule(
            "shared",
            "supported",
            lambda f: f.found.mean.low > 0,
            lambda f: _errors(f) | {"both": f.both, "chance": f.chance},
        ),
        Rule("open", "undecided", always, _errors),
    ),
)
