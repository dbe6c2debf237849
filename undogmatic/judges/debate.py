"""`debate`: an advocate of a high score, a critic for a low one, and a judge who decides between them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge
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
        distribution = prediction.distributions.get("final_score")
        rubric = self.rubric
        advocate, critic, final = (context[f"{who}_score"] for who in ("advocate", "critic", "final"))
        found = debate_uncertainty(10 * rubric.share(advocate), 10 * rubric.share(critic), 10 * rubric.share(final))
        position = found.judge_position
        # Whom a judge found compelling who did not say so: the nearer side.
        nearer = "neither" if position in (None, 0.5) else "advocate" if position > 0.5 else "critic"
        details: dict[str, float | str] = {
            "advocate_score": advocate,
            "critic_score": critic,
            "gap": advocate - critic,
            "compelling": context["compelling"] or nearer,
        }
        if position is not None:
            details["judge_position"] = position
        details |= {name: context[name] for name in ("advocate_strengths", "critic_weaknesses") if context[name]}
        # Half at the middle between the sides, 0 at either side, below 0 beyond them; a debate without a middle is as
        # unsure as can be.
        doubt = 0.5 if position is None else 0.5 - abs(position - 0.5)
        stated = context["confidence"] if distribution is None else distribution.confidence
        if stated is not None:
            details["stated_confidence"] = stated
        return Verdict(
            score=final,
            distribution=distribution,
            interval=rubric.interval(found.confidence_interval),
            confidence=100 * min(1.0, 1 - 2 * doubt),
            confidence_source="procedure",
            rationale=context["rationale"],
            issues=found.notes if position is None else (),  # a score beyond the sides is named with every judge's
            uncertainty=found.level,
            doubt=doubt,
            review=found.level == "high",
            details=details,
        )
