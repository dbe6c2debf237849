"""`calibration_probe`: "of 100 texts you scored s, how many would be right?" """

from __future__ import annotations

from typing import Annotated

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, written
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import Item, Verdict
from undogmatic.stats.uncertainty import critique_uncertainty


class Accuracy(Answer):
    """Estimated share of right scores, after one sentence on what it rests on."""

    reason: str | None = None
    accuracy: Annotated[float, Number("percent")]


class CalibrationProbeJudge(Judge):
    """The estimated accuracy is the confidence; the doubt it leaves has the devil's advocate's bands (0.3 and 0.6).

    Args:
        initial: Any judge; it is asked how often its score would be right.
        asker: How that is asked.
    """

    name = "calibration_probe"

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial, self.asker, self.rubric = initial, asker, asker.rubric
        self.accuracy = asker.question("accuracy", Accuracy)

    async def judge(self, item: Item, initial: Verdict | None = None) -> Verdict:
        """`verdict` with the estimate; `initial` is a verdict of the initial judge that was already had."""
        initial = initial or (await self.initial.acall(item=item)).verdict
        context = {"initial": written(initial, self.rubric)}
        answer: Accuracy = (await self.accuracy.acall(item=item, context=context)).answer
        details: dict[str, float | str] = {"estimated_accuracy": answer.accuracy, "level_from": "accuracy"}
        if answer.reason is not None:
            details["accuracy_reason"] = answer.reason
        doubt = 1 - answer.accuracy / 100
        level = critique_uncertainty(0.0, doubt, (0.0, 0.0), 0).level
        return initial.replace(
            confidence=answer.accuracy,
            confidence_source="stated" if self.asker.in_words else "procedure",
            uncertainty=level,
            doubt=doubt,
            review=level == "high",
            details=initial.details | details,
        )
