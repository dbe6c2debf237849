"""`devils_advocate`: score, then argue against the score; the damage done is the uncertainty."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, written
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import Item, Record, Verdict
from undogmatic.stats.uncertainty import critique_uncertainty


class Issue(Record):
    """One problem of a score."""

    kind: Literal["factual", "logical", "missing", "assumption"]
    severity: Literal["minor", "moderate", "major"]
    text: str


class Critique(Answer):
    """The case against a score."""

    issues: tuple[Issue, ...] = ()
    critique_strength: Annotated[float, Number("strength")]
    range_low: Annotated[float, Number()]
    range_high: Annotated[float, Number(at_least="range_low")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class DevilsAdvocateJudge(Judge):
    """The initial score stands; the critique gives interval, uncertainty level and review flag.

    The confidence is 100 x (1 - strength of the critique); what the critic states of it is kept in the details. Without
    words (log-probabilities) no issues are named.

    Args:
        initial: Any judge; its score is what is argued against.
        asker: How the critique is asked for.
    """

    name = "devils_advocate"
    needs_order = True

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial, self.asker, self.rubric = initial, asker, asker.rubric
        self.critique = asker.question("critique", Critique)

    async def judge(self, item: Item, initial: Verdict | None = None) -> Verdict:
        """`verdict` with the critique's yield; `initial` is a verdict of the initial judge that was already had."""
        if initial is None:
            initial = (await self.initial.acall(item=item)).verdict
        rubric, score = self.rubric, float(initial.score or 0)
        context = {"initial": written(initial, rubric)}
        critique: Critique = (await self.critique.acall(item=item, context=context)).answer
        counts = Counter(issue.severity for issue in critique.issues)
        found = critique_uncertainty(
            10 * rubric.share(score),
            critique.critique_strength / 10,
            (10 * rubric.share(critique.range_low), 10 * rubric.share(critique.range_high)),
            counts["major"],
        )
        details: dict[str, float | str] = {
            "initial_score": score,
            "critique_strength": critique.critique_strength / 10,
            "score_delta": abs(score - (critique.range_low + critique.range_high) / 2),
            "level_from": found.level_from,
        }
        if self.asker.in_words:
            details |= {f"{severity}_issues": float(counts[severity]) for severity in ("minor", "moderate", "major")}
        if critique.confidence is not None:
            details["stated_confidence"] = critique.confidence
        return initial.replace(
            interval=rubric.interval(found.confidence_interval),
            confidence=100 - 10 * critique.critique_strength,
            confidence_source="procedure",
            issues=(*initial.issues, *(f"{i.severity} ({i.kind}): {i.text}" for i in critique.issues)),
            uncertainty=found.level,
            doubt=critique.critique_strength / 10,
            review=found.recommend_human_review,
            details=initial.details | details,
        )
