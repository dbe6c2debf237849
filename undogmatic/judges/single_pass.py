"""`single_pass`: score, confidence, defensible range and key uncertainty in one answer."""

from __future__ import annotations

from typing import Annotated

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import Item, Verdict
from undogmatic.stats.uncertainty import critique_uncertainty


class SinglePass(Answer):
    """A score and the range that a competent person could still defend."""

    score: Annotated[float, Number("score")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None
    range_low: Annotated[float, Number(at_most="score")]
    range_high: Annotated[float, Number(at_least="score")]
    key_uncertainty: str | None = None
    rationale: str | None = None


class SinglePassJudge(Judge):
    """The range is the interval, and its width the uncertainty (the bands of the devil's advocate).

    Without words, the score is the initial judge's, and the range is asked about that score.

    Args:
        initial: Gives the score where numbers are asked one by one.
        asker: How the answer is asked for.
    """

    name = "single_pass"
    needs_order = True

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial = None if asker.in_words else initial  # in words the answer holds its own score
        self.asker, self.rubric = asker, asker.rubric
        self.answer = asker.question("single_pass", SinglePass, known=("score",))

    async def judge(self, item: Item) -> Verdict:
        """`verdict` with the range."""
        if self.initial is None:
            answer: SinglePass = (await self.answer.acall(item=item)).answer
            verdict = Verdict(
                score=answer.score,
                confidence=answer.confidence,
                confidence_source="stated",
                rationale=answer.rationale,
                issues=(answer.key_uncertainty,) if answer.key_uncertainty is not None else (),
            )
        else:
            verdict = (await self.initial.acall(item=item)).verdict
            answer = (await self.answer.acall(item=item, known={"score": verdict.score})).answer
        rubric = self.rubric
        ends = (10 * rubric.share(answer.range_low), 10 * rubric.share(answer.range_high))
        level = critique_uncertainty(10 * rubric.share(answer.score), 0.0, ends, 0).level
        return verdict.replace(
            interval=(answer.range_low, answer.range_high),
            uncertainty=level,
            review=level == "high",
            details=verdict.details | {"width": answer.range_high - answer.range_low, "level_from": "width"},
        )
