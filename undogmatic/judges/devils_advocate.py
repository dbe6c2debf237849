"""`devils_advocate`: score, then argue against the score; the damage done is the uncertainty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, written
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import Item, Record, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.stats.uncertainty import CritiqueUncertainty, critique_uncertainty


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
        initial = initial or (await self.initial.acall(item=item)).verdict
        rubric, score = self.rubric, float(initial.score or 0)
        context = {"initial": written(initial, rubric)}
        critique: Critique = (await self.critique.acall(item=item, context=context)).answer
        strength, ends = critique.critique_strength / 10, (critique.range_low, critique.range_high)
        damage, severities = damaged(rubric, score, strength, ends, critique.issues)
        details: dict[str, float | str] = {
            "initial_score": score,
            "critique_strength": strength,
            "score_delta": abs(score - sum(ends) / 2),
            "level_from": damage.level_from,
        }
        if self.asker.in_words:
            details |= severities
        if critique.confidence is not None:
            details["stated_confidence"] = critique.confidence
        return initial.replace(
            interval=rubric.interval(damage.confidence_interval),
            confidence=100 - 10 * critique.critique_strength,
            confidence_source="procedure",
            issues=(*initial.issues, *(f"{i.severity} ({i.kind}): {i.text}" for i in critique.issues)),
            uncertainty=damage.level,
            doubt=strength,
            review=damage.recommend_human_review,
            details=initial.details | details,
        )


def damaged(
    rubric: Rubric, score: float, strength: float, ends: Sequence[float], issues: Sequence[Any]
) -> tuple[CritiqueUncertainty, dict[str, float]]:
    """What a critique did to a score, and how many of its issues are of each severity, as details.

    Args:
        rubric: The scale of the score and of `ends`.
        score: Before the critique.
        strength: Of the critique, 0-1.
        ends: Of the range that it defends.
        issues: What it names, each with its `severity`.
    """
    counts = Counter(issue.severity for issue in issues)
    low, high = (10 * rubric.share(end) for end in ends)
    damage = critique_uncertainty(10 * rubric.share(score), strength, (low, high), counts["major"])
    return damage, {f"{severity}_issues": float(counts[severity]) for severity in ("minor", "moderate", "major")}
