"""Two sides and a judge between them: `debate` has positions on the scale, `red_blue` teams with
strengths."""

from typing import Annotated, Any, Literal

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, between_sides
from undogmatic.judges.questions import Answer, Arguments, Number
from undogmatic.records.records import Item, Verdict
from undogmatic.stats.uncertainty import Level, debate_uncertainty

HIGH, LOW = (0.8, 1.0), (0.1, 0.4)
"""The shares of the scale within which advocate and critic argue: 8-10 and 1-4 of 0-10."""


class Advocate(Answer):
    """The case for a high score."""

    advocate_strengths: Arguments = ()
    advocate_score: Annotated[float, Number(band=HIGH)]


class Critic(Answer):
    """The case for a low score."""

    critic_weaknesses: Arguments = ()
    critic_score: Annotated[float, Number(band=LOW)]


class Decision(Answer):
    """What the judge of the debate says."""

    rationale: str | None = None
    compelling: Literal["advocate", "critic", "neither"] | None = None
    final_score: Annotated[float, Number("score")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class Debate(Decision, Critic, Advocate):
    """All three in one answer."""


class DebateJudge(Judge):
    """The judge's score is the score; where it lies between the two sides is the uncertainty.

    Half-way between the sides the confidence is 0, at either side 100; what the judge states of it
    is in the details. With `separate_calls` no side knows the other. Numbers asked by
    log-probabilities are separate calls anyway.
    """

    name = "debate"
    needs_order = True

    def __init__(self, asker: Asker, separate_calls: bool = False) -> None:
        super().__init__()
        self.asker = asker
        self.separate_calls = separate_calls
        self.rubric = asker.rubric
        ends = {
            "advocate_low": HIGH[0],
            "advocate_high": HIGH[1],
            "critic_low": LOW[0],
            "critic_high": LOW[1],
        }
        values = {
            name: f"{asker.rubric.units(share):g}" for name, share in ends.items()
        }
        kinds: dict[str, type[Answer]] = {"debate": Debate}
        if separate_calls and asker.in_words:
            kinds = {"advocate": Advocate, "critic": Critic, "arbiter": Decision}
        self.steps = [
            asker.question(name, kind, values) for name, kind in kinds.items()
        ]

    async def judge(self, item: Item) -> Verdict:
        context: dict[str, Any] = {}
        for step in self.steps:
            prediction = await step.acall(item=item, context=context)
            answer = prediction.answer.model_dump()
            context |= {
                k: "; ".join(v) if isinstance(v, tuple | list) else v
                for k, v in answer.items()
            }
        advocate, critic, final = (
            context[f"{who}_score"] for who in ("advocate", "critic", "final")
        )
        debated = debate_uncertainty(
            *(10 * self.rubric.share(score) for score in (advocate, critic, final))
        )
        position = debated.judge_position
        # Whom a judge found compelling who did not say so: the nearer side.
        nearer = (
            "neither"
            if position in (None, 0.5)
            else "advocate"
            if position > 0.5
            else "critic"
        )
        details: dict[str, float | str] = {
            "advocate_score": advocate,
            "critic_score": critic,
            "gap": advocate - critic,
        }
        details["compelling"] = context["compelling"] or nearer
        details |= {} if position is None else {"judge_position": position}
        details |= {
            name: context[name]
            for name in ("advocate_strengths", "critic_weaknesses")
            if context[name]
        }
        return between_sides(
            prediction,
            position,
            debated.level,
            details,
            interval=self.rubric.interval(debated.confidence_interval),
            # a score beyond the sides is named with every judge's
            issues=(debated.notes if position is None else ()),
        )


class RedBlue(Answer):
    """Both teams and the verdict. The red team argues for a low score, the blue team for a high
    one."""

    red_reasons: Arguments = ()
    blue_reasons: Arguments = ()
    red_strength: Annotated[float, Number("strength")]
    blue_strength: Annotated[float, Number("strength")]
    rationale: str | None = None
    final_score: Annotated[float, Number("score")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class RedBlueJudge(Judge):
    """The verdict is the score; teams of nearly equal strength make it uncertain.

    Equal teams give a confidence of 0, a single team with any strength 100; what the judge states
    is in the details.
    """

    name = "red_blue"
    needs_order = True

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker, self.rubric = asker, asker.rubric
        self.teams = asker.question("red_blue", RedBlue)

    async def judge(self, item: Item) -> Verdict:
        prediction = await self.teams.acall(item=item)
        answer: RedBlue = prediction.answer
        strengths = {
            "red_strength": answer.red_strength,
            "blue_strength": answer.blue_strength,
        }
        share, stronger, level = balance(*strengths.values())
        details: dict[str, float | str] = {
            name: strength / 10 for name, strength in strengths.items()
        }
        details["stronger_team"] = stronger
        details |= {} if share is None else {"blue_share": share}
        reasons = {
            "red_reasons": answer.red_reasons,
            "blue_reasons": answer.blue_reasons,
        }
        details |= {
            name: "; ".join(several) for name, several in reasons.items() if several
        }
        issues = () if share is not None else ("Neither team has any strength.",)
        return between_sides(prediction, share, level, details, issues=issues)


def balance(
    red_strength: float, blue_strength: float
) -> tuple[float | None, str, Level]:
    """Blue's share of the strengths (0-10 each) in [0, 1], or None if neither team has any; the
    stronger team; and the uncertainty, after the bands of a debate: high if the share lies strictly
    between 0.4 and 0.6 or neither has any strength, else medium if the weaker team is above 5 of
    10, else low."""
    total = red_strength + blue_strength
    if total == 0:
        return None, "neither", "high"
    share = blue_strength / total
    stronger = (
        "neither"
        if red_strength == blue_strength
        else "blue"
        if blue_strength > red_strength
        else "red"
    )
    apart: Level = "medium" if min(red_strength, blue_strength) > 5 else "low"
    return share, stronger, "high" if 0.4 < share < 0.6 else apart
