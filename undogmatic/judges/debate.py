"""`debate`: an advocate of a high score, a critic for a low one, and a judge who decides between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import dspy

from undogmatic.judges.asker import Asker, Question
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number
from undogmatic.readouts.base import Reading
from undogmatic.records import Item
from undogmatic.stats.uncertainty import debate_uncertainty

HIGH, LOW = (0.8, 1.0), (0.1, 0.4)
"""The shares of the scale within which advocate and critic argue: 8-10 and 1-4 of 0-10."""


class Advocate(Answer):
    """The case for a high score."""

    advocate_strengths: tuple[str, ...] = ()
    advocate_score: Annotated[float, Number(band=HIGH)]


class Critic(Answer):
    """The case for a low score."""

    critic_weaknesses: tuple[str, ...] = ()
    critic_score: Annotated[float, Number(band=LOW)]


class Decision(Answer):
    """What the judge of the debate says."""

    rationale: str | None = None
    compelling: Literal["advocate", "critic", "neither"] | None = None
    final_score: Annotated[float, Number()]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class Debate(Answer):
    """All three in one answer."""

    advocate_strengths: tuple[str, ...] = ()
    advocate_score: Annotated[float, Number(band=HIGH)]
    critic_weaknesses: tuple[str, ...] = ()
    critic_score: Annotated[float, Number(band=LOW)]
    rationale: str | None = None
    compelling: Literal["advocate", "critic", "neither"] | None = None
    final_score: Annotated[float, Number()]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class DebateJudge(Judge):
    """The judge's score is the score; where it lies between the two sides is the uncertainty.

    Args:
        asker: How the sides and the judge are asked.
        separate_calls: Each side and the judge by a call of their own, so that no side knows the other. Numbers asked
            by log-probabilities are separate calls anyway.
    """

    name = "debate"

    def __init__(self, asker: Asker, separate_calls: bool = False) -> None:
        super().__init__()
        self.asker, self.separate_calls = asker, separate_calls
        low, span = asker.rubric.minimum, asker.rubric.maximum - asker.rubric.minimum
        ends = {"advocate_low": HIGH[0], "advocate_high": HIGH[1], "critic_low": LOW[0], "critic_high": LOW[1]}
        values = {name: f"{low + share * span:g}" for name, share in ends.items()}
        self.steps: list[Question] = [asker.question("debate", Debate, values)]
        if separate_calls and asker.in_words:
            self.steps = [
                asker.question("advocate", Advocate, values),
                asker.question("critic", Critic, values),
                asker.question("arbiter", Decision, values),
            ]

    async def aforward(self, item: Item) -> dspy.Prediction:
        """`reading` with both positions."""
        context: dict[str, Any] = {}
        for step in self.steps:
            prediction = await step.acall(text=item.text, context=context)
            said = prediction.answer.model_dump()
            context |= {k: "; ".join(v) if isinstance(v, tuple | list) else v for k, v in said.items()}
        distribution = prediction.distributions.get("final_score")
        rubric = self.asker.rubric
        advocate, critic, final = (context[f"{who}_score"] for who in ("advocate", "critic", "final"))
        found = debate_uncertainty(10 * rubric.share(advocate), 10 * rubric.share(critic), 10 * rubric.share(final))
        details: dict[str, float | str] = {
            "advocate_score": advocate,
            "critic_score": critic,
            "gap": advocate - critic,
            "compelling": context["compelling"] or _side(found.judge_position),
        }
        if found.judge_position is not None:
            details["judge_position"] = found.judge_position
        for name in ("advocate_strengths", "critic_weaknesses"):
            if context[name]:
                details[name] = context[name]
        stated = context["confidence"]
        reading = Reading(
            score=final,
            distribution=distribution,
            interval=rubric.interval(found.confidence_interval),
            confidence=stated if distribution is None else distribution.confidence,
            confidence_source="stated" if distribution is None else "entropy",
            rationale=context["rationale"],
            issues=found.notes,
            uncertainty=found.level,
            review=found.level == "high",
            details=details,
        )
        return dspy.Prediction(reading=reading)

    def readouts(self) -> Sequence[Source]:
        return (self.asker,)

    def state(self) -> dict[str, Any]:
        return {"judge": self.name, "steps": [step.state() for step in self.steps]}


def _side(position: float | None) -> str:
    """Whom a judge found compelling who did not say so: the nearer side."""
    if position is None or position == 0.5:
        return "neither"
    return "advocate" if position > 0.5 else "critic"
