"""`red_blue`: a team with reasons for a low score, a team with reasons for a high one, and a verdict."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, between_sides
from undogmatic.judges.questions import Answer, Arguments, Number
from undogmatic.records.records import Item, Verdict
from undogmatic.stats.uncertainty import Level


class RedBlue(Answer):
    """Both teams and the verdict. The red team argues for a low score, the blue team for a high one."""

    red_reasons: Arguments = ()
    blue_reasons: Arguments = ()
    red_strength: Annotated[float, Number("strength")]
    blue_strength: Annotated[float, Number("strength")]
    rationale: str | None = None
    final_score: Annotated[float, Number("score")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class Balance(NamedTuple):
    """Blue's share of the strength in [0, 1] (None if neither team has any), the stronger team, the uncertainty."""

    share: float | None
    stronger: str
    level: Level


class RedBlueJudge(Judge):
    """The verdict is the score; teams of nearly equal strength make it uncertain.

    Equal teams give a confidence of 0, a single team with any strength 100; what the judge states is in the details.

    Args:
        asker: How teams and verdict are asked for.
    """

    name = "red_blue"
    needs_order = True

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker, self.rubric = asker, asker.rubric
        self.teams = asker.question("red_blue", RedBlue)

    async def judge(self, item: Item) -> Verdict:
        """`verdict` with the stronger team."""
        prediction = await self.teams.acall(item=item)
        answer: RedBlue = prediction.answer
        teams = balance(answer.red_strength, answer.blue_strength)
        details: dict[str, float | str] = {
            "red_strength": answer.red_strength / 10,
            "blue_strength": answer.blue_strength / 10,
            "stronger_team": teams.stronger,
        }
        details |= {} if teams.share is None else {"blue_share": teams.share}
        reasons = {"red_reasons": answer.red_reasons, "blue_reasons": answer.blue_reasons}
        details |= {name: "; ".join(several) for name, several in reasons.items() if several}
        issues = () if teams.share is not None else ("Neither team has any strength.",)
        return between_sides(prediction, teams.share, teams.level, details, issues=issues)


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
    apart: Level = "medium" if min(red_strength, blue_strength) > 5 else "low"
    return Balance(share, stronger, "high" if 0.4 < share < 0.6 else apart)
