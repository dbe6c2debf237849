"""Holds what stands in place of a verdict: that the judge has seen the texts, that the labels were
chosen, that too many judgments failed."""

from dataclasses import dataclass

from undogmatic.examinations.ruling import Rule, Rules, Values, always


@dataclass(frozen=True)
class SeenFacts:
    """Counts the texts that were judged, and those of them that the judge has seen."""

    seen: int
    texts: int


SEEN = Rules[SeenFacts](
    "units.verdict_",
    (Rule("seen", "not_yet", always, lambda f: {"seen": f.seen, "texts": f.texts}),),
)
"""In place of a verdict that supports a judge by texts that it has seen."""


@dataclass(frozen=True)
class ChosenFacts:
    """Counts the labels, those of items that were chosen for certain, and those that were given
    with the judge's score in view; `chosen` says whether the items are no even sample."""

    chosen: bool
    certain: int
    seen: int
    labels: int


CHOSEN = Rules[ChosenFacts](
    "units.verdict_",
    (
        Rule(
            "chosen",
            "not_yet",
            lambda f: f.chosen,
            lambda f: {"certain": f.certain, "labels": f.labels},
        ),
        Rule(
            "in_view", "not_yet", always, lambda f: {"seen": f.seen, "labels": f.labels}
        ),
    ),
)
"""In place of a verdict that supports a judge by labels of items that were chosen, not drawn, or
that lean on it."""


@dataclass(frozen=True)
class FailedFacts:
    """Counts the failed judgments among the `total`, and those that have the most frequent reason;
    `reason` and `advice` are keys of the words for it."""

    failed: int
    total: int
    share: float
    allowed: float
    n_reason: int
    reason: str
    advice: str


def _failures(facts: FailedFacts) -> Values:
    return {
        "failed": facts.failed,
        "total": facts.total,
        "share": facts.share,
        "allowed": facts.allowed,
        "count": facts.n_reason,
        "reason": facts.reason,
        "advice": facts.advice,
    }


FAILED = Rules[FailedFacts](
    "units.verdict_", (Rule("failed", "undecided", always, _failures),)
)
"""In place of every verdict of a run in which too many judgments failed."""
