"""`devils_advocate`: score, then argue against the score; the damage done is the uncertainty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import dspy

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number
from undogmatic.readouts.base import Reading
from undogmatic.records import Item, Record
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

    Without words (log-probabilities) no issues are named, and the confidence is 100 x (1 - strength).

    Args:
        initial: Any judge; its score is what is argued against.
        asker: How the critique is asked for.
    """

    name = "devils_advocate"

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial, self.asker = initial, asker
        self.critique = asker.question("critique", Critique)

    async def aforward(self, item: Item, initial: Reading | None = None) -> dspy.Prediction:
        """`reading` with the critique's yield; `initial` is a reading of the initial judge that was already had."""
        if initial is None:
            initial = (await self.initial.acall(item=item)).reading
        rubric = self.asker.rubric
        context = {"initial": f"{initial.score:.0f}"}
        critique: Critique = (await self.critique.acall(text=item.text, context=context)).answer
        counts = Counter(issue.severity for issue in critique.issues)
        found = critique_uncertainty(
            10 * rubric.share(initial.score),
            critique.critique_strength / 10,
            (10 * rubric.share(critique.range_low), 10 * rubric.share(critique.range_high)),
            counts["major"],
        )
        details: dict[str, float | str] = {
            "initial_score": initial.score,
            "critique_strength": critique.critique_strength / 10,
            "score_delta": abs(initial.score - (critique.range_low + critique.range_high) / 2),
        }
        if self.asker.in_words:
            details |= {f"{severity}_issues": float(counts[severity]) for severity in ("minor", "moderate", "major")}
        stated = critique.confidence
        reading = initial._replace(
            interval=rubric.interval(found.confidence_interval),
            confidence=100 - 10 * critique.critique_strength if stated is None else stated,
            confidence_source="procedure" if stated is None else "stated",
            issues=(*initial.issues, *(f"{i.severity} ({i.kind}): {i.text}" for i in critique.issues)),
            uncertainty=found.level,
            review=found.recommend_human_review,
            details=initial.details | details,
        )
        return dspy.Prediction(reading=reading)

    def readouts(self) -> Sequence[Source]:
        return (*self.initial.readouts(), self.asker)

    def state(self) -> dict[str, Any]:
        return {"judge": self.name, "initial": self.initial.state(), "critique": self.critique.state()}
