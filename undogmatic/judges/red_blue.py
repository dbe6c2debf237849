"""`red_blue`: a team with reasons for a low score, a team with reasons for a high one, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import dspy

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number
from undogmatic.readouts.base import Reading
from undogmatic.records import Item


class RedBlue(Answer):
    """Both teams and the verdict. The red team argues for a low score, the blue team for a high one."""

    red_reasons: tuple[str, ...] = ()
    blue_reasons: tuple[str, ...] = ()
    red_strength: Annotated[float, Number("strength")]
    blue_strength: Annotated[float, Number("strength")]
    rationale: str | None = None
    final_score: Annotated[float, Number()]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class Balance(NamedTuple):
    """Blue's share of the strength in [0, 1] (None if neither team has any), the stronger team, the uncertainty."""

    share: float | None
    stronger: str
    level: str


class RedBlueJudge(Judge):
    """The verdict is the score; teams of nearly equal strength make it uncertain.

    Args:
        asker: How teams and verdict are asked for.
    """

    name = "red_blue"

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker = asker
        self.teams = asker.question("red_blue", RedBlue)

    async def aforward(self, item: Item) -> dspy.Prediction:
        """`reading` with the stronger team."""
        prediction = await self.teams.acall(text=item.text)
        answer: RedBlue = prediction.answer
        distribution = prediction.distributions.get("final_score")
        found = balance(answer.red_strength, answer.blue_strength)
        details: dict[str, float | str] = {
            "red_strength": answer.red_strength / 10,
            "blue_strength": answer.blue_strength / 10,
            "stronger_team": found.stronger,
        }
        if found.share is not None:
            details["blue_share"] = found.share
        for name, reasons in (("red_reasons", answer.red_reasons), ("blue_reasons", answer.blue_reasons)):
            if reasons:
                details[name] = "; ".join(reasons)
        reading = Reading(
            score=answer.final_score,
            distribution=distribution,
            confidence=answer.confidence if distribution is None else distribution.confidence,
            confidence_source="stated" if distribution is None else "entropy",
            rationale=answer.rationale,
            issues=() if found.share is not None else ("Neither team has any strength.",),
            uncertainty=found.level,
            review=found.level == "high",
            details=details,
        )
        return dspy.Prediction(reading=reading)

    def readouts(self) -> Sequence[Source]:
        return (self.asker,)

    def state(self) -> dict[str, Any]:
        return {"judge": self.name, "teams": self.teams.state()}


def balance(red_strength: float, blue_strength: float) -> Balance:
    """How the teams compare, after the bands of a debate: high if blue's share lies strictly between 0.4 and 0.6 or
    neither has any strength, else medium if the weaker team is above 5 of 10, else low.

    Args:
        red_strength, blue_strength: 0-10.
    """
    total = red_strength + blue_strength
    if total == 0:
        return Balance(None, "neither", "high")
    share = blue_strength / total
    stronger = "neither" if red_strength == blue_strength else "blue" if blue_strength > red_strength else "red"
    if 0.4 < share < 0.6:
        return Balance(share, stronger, "high")
    return Balance(share, stronger, "medium" if min(red_strength, blue_strength) > 5 else "low")
