"""`score`: one pass. The readout's score is the judge's score."""

from __future__ import annotations

from undogmatic.judges.base import Judge
from undogmatic.readouts.base import Readout
from undogmatic.records.records import Item, Verdict


class ScoreJudge(Judge):
    """Ask once.

    Args:
        readout: How the score comes out of the model.
    """

    name = "score"

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        self.readout, self.rubric = readout, readout.rubric

    async def judge(self, item: Item) -> Verdict:
        """`verdict`: what the readout gave."""
        verdict: Verdict = (await self.readout.acall(item=item)).verdict
        return verdict
