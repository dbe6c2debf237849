"""Judges by reading a text twice: whole, and without its last sentence."""

import re

from undogmatic.judges.base import Judge
from undogmatic.readouts.base import Readout
from undogmatic.records.records import Item, Verdict


class TwiceJudge(Judge):
    """The score of the whole text; how far that of the shortened text lies from it is the doubt."""

    name = "twice"

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        self.readout = readout

    async def judge(self, item: Item) -> Verdict:
        """The verdict on the whole, with its doubt."""
        whole = (await self.readout.acall(item=item)).verdict
        shortened = {name: shorter(text) for name, text in item.inputs.items()}
        other = item.model_copy(update={"inputs": shortened})
        part = (await self.readout.acall(item=other)).verdict
        gap = abs(whole.score - part.score) / (
            self.rubric.maximum - self.rubric.minimum
        )
        return whole.replace(doubt=gap, details={"shortened": part.score})


def shorter(text: str) -> str:
    """The text without its last sentence; whole where it has only one."""
    sentences = re.split(r"(?<=[.!?])\s+", text.strip())
    return " ".join(sentences[:-1]) or text
