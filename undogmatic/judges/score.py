"""`score`: one pass; the readout's score is the judge's. `distributional`: 100 points over the
rubric's levels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import create_model, model_validator

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge
from undogmatic.judges.questions import Answer, Number
from undogmatic.readouts.base import Readout
from undogmatic.records.records import Item, ScoreDistribution, Verdict, entropy_verdict
from undogmatic.records.rubric import Anchors, Rubric
from undogmatic.stats.uncertainty import points_entropy, quantile_interval


class ScoreJudge(Judge):
    """Ask once; the readout says how the score comes out of the model."""

    name = "score"

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        self.readout, self.rubric = readout, readout.rubric

    async def judge(self, item: Item) -> Verdict:
        verdict: Verdict = (await self.readout.acall(item=item)).verdict
        return verdict


class Points(Answer):
    """Points per level, and why the level with the most of them; the fields of the levels are made
    for the rubric."""

    reason: str | None = None

    @model_validator(mode="after")
    def _some(self) -> Points:
        if not any(self.points().values()):
            raise ValueError("all levels got 0 points")
        return self

    def points(self) -> dict[str, float]:
        return self.model_dump(exclude={"reason"})


def points_answer(rubric: Rubric, language: str) -> type[Points]:
    """The answer's class: `level_0`, `level_1`, ... with the points of each level of the rubric."""
    fields: dict[str, Any] = {}
    for n, (level, meaning) in enumerate(
        zip(rubric.levels, rubric.meanings(language), strict=True)
    ):
        # Without anchors the meaning begins with the number or category, and that is enough.
        shown = (
            f"{level:g}: {meaning}" if isinstance(rubric.guide, Anchors) else meaning
        )
        fields[f"level_{n}"] = (
            Annotated[float, Number("percent", wording="points", meaning=shown)],
            ...,
        )
    return create_model("Points", __base__=Points, **fields)


class DistributionalJudge(Judge):
    """The score is the expectation over the points, the interval their central 90 %, their spread
    the uncertainty.

    Points that do not sum to 100 are scaled and the defect is named. Log-probabilities ask how
    likely each level is.
    """

    name = "distributional"

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker, self.rubric = asker, asker.rubric
        self.points = asker.question(
            "points", points_answer(asker.rubric, asker.prompt.language)
        )

    async def judge(self, item: Item) -> Verdict:
        answer: Points = (await self.points.acall(item=item)).answer
        spread, levels = points_entropy(answer.points()), self.rubric.levels
        return entropy_verdict(
            ScoreDistribution(values=levels, probabilities=spread.probabilities),
            interval=(
                quantile_interval(spread.probabilities, levels)
                if self.rubric.scale.ordered
                else None
            ),
            # Chances asked one by one need not sum to 100; points given in one answer were told to.
            issues=spread.notes if self.asker.in_words else (),
            rationale=answer.reason,
            uncertainty=spread.band,
            doubt=spread.normalised_entropy,
            review=spread.band == "high",
            details={"entropy": spread.normalised_entropy, "points_sum": spread.total},
        )
