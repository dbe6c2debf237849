"""`score`: one pass. The readout's score is the judge's score."""

from __future__ import annotations

from collections.abc import Sequence

from undogmatic.judges.base import Judge, Source
from undogmatic.readouts.base import Reading, Readout
from undogmatic.records.records import Item


class ScoreJudge(Judge):
    """Ask once.

    Args:
        readout: How the score comes out of the model.
    """

    name = "score"

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        self.readout, self.rubric = readout, readout.rubric

    async def judge(self, item: Item) -> Reading:
        """`reading`: what the readout gave."""
        reading: Reading = (await self.readout.acall(item=item)).reading
        return reading

    def readouts(self) -> Sequence[Source]:
        return (self.readout,)
