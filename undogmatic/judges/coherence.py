"""`coherence`: how well a response is built, and whether it engages with what was asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.levels import LevelsAsker
from undogmatic.judges.questions import Answer, Number
from undogmatic.readouts.base import Reading, Readout
from undogmatic.readouts.integers import IntegersReadout
from undogmatic.records import Item
from undogmatic.scale import UnorderedScale

QUESTION, RESPONSE = "question", "response"
RELEVANCE = UnorderedScale(categories=("ENGAGES", "OFF_TOPIC"))
LONGEST_REST = 40
_ENDED = re.compile(r"[.!?…][\"'”’»)\]*_]*(?=\s|$)")


class Relevance(Answer):
    """Whether the response is about what was asked; a probability where the model gives one."""

    off_topic: Annotated[float, Number(own=RELEVANCE)]


class CoherenceJudge(Judge):
    """First the structure of the response, seen alone; then whether it engages with the question. A response that is
    off the topic gets no more than the cap, however well it is written.

    A response that breaks off is judged by its whole sentences. Without a question nothing can be off the topic.

    Args:
        readout: How the score of the structure comes out of the model.
        asker: How the question of relevance is put.
        minimum_mass: Least probability on the numbers of the scale, and on the two answers about relevance.
        cap: Highest score of a response that is off the topic, as a share of the scale.
    """

    name = "coherence"

    def __init__(
        self,
        readout: Readout,
        asker: Asker,
        minimum_mass: Annotated[float, Field(ge=0, le=1)] = 0.1,
        cap: Annotated[float, Field(ge=0, le=1)] = 0.5,
    ) -> None:
        super().__init__()
        self.minimum_mass, self.cap = minimum_mass, cap
        self.readout = readout.tolerating(minimum_mass) if isinstance(readout, IntegersReadout) else readout
        if isinstance(asker, LevelsAsker):
            asker.minimum_mass = minimum_mass
        self.asker = asker
        self.relevance = asker.question("relevance", Relevance)

    async def judge(self, item: Item) -> Reading:
        """The structure, capped where the response is off the topic."""
        text, broken_off = whole_part(item.inputs[RESPONSE]) if RESPONSE in item.inputs else (item.text, False)
        alone = item.model_copy(update={"inputs": {RESPONSE: text}})
        reading: Reading = (await self.readout.acall(item=alone)).reading
        assert reading.score is not None
        details: dict[str, float | str] = {
            **reading.details,
            "structure": reading.score,
            "cut_off": float(broken_off),
        }
        if QUESTION not in item.inputs:
            return reading._replace(details=details)
        answer: Relevance = (await self.relevance.acall(item=item)).answer
        details["off_topic"] = answer.off_topic
        cap = self.rubric.units(self.cap)
        if answer.off_topic <= 0.5 or reading.score <= cap:
            return reading._replace(details=details)
        # The distribution is that of the structure, and its expectation no longer the score.
        return reading._replace(score=cap, distribution=None, interval=None, details=details)

    def readouts(self) -> Sequence[Source]:
        return (self.readout, self.asker)

    def settings(self) -> dict[str, object]:
        return super().settings() | {"minimum_mass": self.minimum_mass, "cap": self.cap, "rest": LONGEST_REST}


def whole_part(text: str) -> tuple[str, bool]:
    """A text up to its last whole sentence, and whether something was left out after it.

    What is left out is never more than what stays, nor than LONGEST_REST words: a text that never ends a sentence is
    not cut off, and stays as it is.
    """
    ends = [match.end() for match in _ENDED.finditer(text)]
    if not ends:
        return text, False
    kept, rest = text[: ends[-1]], text[ends[-1] :].split()
    if not rest or not any(word[:1].isalnum() for word in rest):
        return text, False
    if len(rest) > min(LONGEST_REST, len(kept.split())):
        return text, False
    return kept, True
