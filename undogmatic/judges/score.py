"""`score`: one pass. The readout's score is the judge's score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from undogmatic.judges.base import Judge, Source
from undogmatic.readouts.base import Readout
from undogmatic.records import Item


class ScoreJudge(Judge):
    """Ask once.

    Args:
        readout: How the score comes out of the model.
    """

    name = "score"

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        self.readout = readout

    async def aforward(self, item: Item) -> dspy.Prediction:
        """`reading`: what the readout gave."""
        return dspy.Prediction(reading=(await self.readout.acall(item=item)).reading)

    def readouts(self) -> Sequence[Source]:
        return (self.readout,)

    def state(self) -> dict[str, Any]:
        return {"judge": self.name, "readout": self.readout.state()}
