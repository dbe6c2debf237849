"""`debate`: an advocate of a high score, a critic for a low one, and a judge who decides between them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, between_sides
from undogmatic.judges.questions import Answer, Arguments, Number
from undogmatic.records.records import Item, Verdict
from undogmatic.stats.uncertainty import debate_uncertainty

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

    Half-way between the sides the confidence is 0, at either side 100; what the judge states of it is in the details.

    Args:
        asker: How the sides and the judge are asked.
        separate_calls: Each side and the judge by a call of their own, so that no side knows the other. Numbers asked
            by log-probabilities are separate calls anyway.
    """

    name = "debate"
    needs_order = True

    def __init__(self, asker: Asker, separate_calls: bool = False) -> None:
        super().__init__()
        self.asker, self.separate_calls, self.rubric = asker, separate_calls, asker.rubric
        ends = {"advocate_low": HIGH[0], "advocate_high": HIGH[1], "critic_low": LOW[0], "critic_high": LOW[1]}
        values = {name: f"{asker.rubric.units(share):g}" for name, share in ends.items()}
        kinds: dict[str, type[Answer]] = {"debate": Debate}
        if separate_calls and asker.in_words:
            kinds = {"advocate": Advocate, "critic": Critic, "arbiter": Decision}
        self.steps = [asker.question(name, kind, values) for name, kind in kinds.items()]

    async def judge(self, item: Item) -> Verdict:
        """`verdict` with both positions."""
        context: dict[str, Any] = {}
        for step in self.steps:
            prediction = await step.acall(item=item, context=context)
            said = prediction.answer.model_dump()
            context |= {k: "; ".join(v) if isinstance(v, tuple | list) else v for k, v in said.items()}
        scores = [context[f"{who}_score"] for who in ("advocate", "critic", "final")]
        debated = debate_uncertainty(*(10 * self.rubric.share(score) for score in scores))
        position = debated.judge_position
        # Whom a judge found compelling who did not say so: the nearer side.
        nearer = "neither" if position in (None, 0.5) else "advocate" if position > 0.5 else "critic"
        details: dict[str, float | str] = {
            "advocate_score": scores[0],
            "critic_score": scores[1],
            "gap": scores[0] - scores[1],
            "compelling": context["compelling"] or nearer,
        }
        details |= {} if position is None else {"judge_position": position}
        details |= {name: context[name] for name in ("advocate_strengths", "critic_weaknesses") if context[name]}
        return between_sides(
            prediction,
            position,
            debated.level,
            details,
            interval=self.rubric.interval(debated.confidence_interval),
            issues=debated.notes if position is None else (),  # a score beyond the sides is named with every judge's
        )
