"""`calibration_probe`: "of 100 texts you scored s, how many would be right?" """

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import dspy

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number
from undogmatic.readouts.base import Reading
from undogmatic.records import Item
from undogmatic.stats.uncertainty import critique_uncertainty


class Accuracy(Answer):
    """Estimated share of right scores."""

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
        self.initial, self.asker = initial, asker
        self.accuracy = asker.question("accuracy", Accuracy)

    async def aforward(self, item: Item, initial: Reading | None = None) -> dspy.Prediction:
        """`reading` with the estimate; `initial` is a reading of the initial judge that was already had."""
        if initial is None:
            initial = (await self.initial.acall(item=item)).reading
        context = {"initial": f"{initial.score:.0f}"}
        accuracy: float = (await self.accuracy.acall(text=item.text, context=context)).answer.accuracy
        level = critique_uncertainty(0.0, 1 - accuracy / 100, (0.0, 0.0), 0).level
        reading = initial._replace(
            confidence=accuracy,
            confidence_source="stated" if self.asker.in_words else "procedure",
            uncertainty=level,
            review=level == "high",
            details=initial.details | {"estimated_accuracy": accuracy},
        )
        return dspy.Prediction(reading=reading)

    def readouts(self) -> Sequence[Source]:
        return (*self.initial.readouts(), self.asker)

    def state(self) -> dict[str, Any]:
        return {"judge": self.name, "initial": self.initial.state(), "accuracy": self.accuracy.state()}
