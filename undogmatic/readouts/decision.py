"""`decision`: a decision model's own probabilities over the rubric's levels (System One score questions)."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ConfigError, OffScaleAnswer, UnparseableAnswer
from undogmatic.models.base import Decides
from undogmatic.readouts.base import Readout, entropy_reading
from undogmatic.records import Item, Rubric, ScoreDistribution

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt

SUM_TOLERANCE = 0.02  # servers round to 2-4 decimals


class DecisionReadout(Readout):
    """One typed score question; the criteria are the rubric's anchors, the judged text is the state.

    The confidence is recomputed from the probabilities, because servers define theirs differently.
    """

    name = "decision"

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        if not isinstance(model, Decides):
            raise ConfigError(f"{model.name} is not a decision model; it serves: {', '.join(model.readouts)}.")
        self.client = model
        if not 2 <= len(rubric.levels) <= 10:
            raise ConfigError(f"a score question takes 2 to 10 levels; rubric={rubric.name} has {len(rubric.levels)}.")

    async def aforward(self, item: Item) -> dspy.Prediction:
        answers = await self.client.decide({"text": item.text} | self._demos(), {self.rubric.score_field: self._ask()})
        answer = answers.get(self.rubric.score_field)
        distribution = parse_score_answer(answer, self.rubric.levels)
        return dspy.Prediction(reading=entropy_reading(distribution))

    def shown(self) -> str:
        return json.dumps(self._ask() | self._demos(), indent=2, ensure_ascii=False)

    def _ask(self) -> dict[str, Any]:
        wording = self.rubric.wordings[self.prompt.language]
        instructions = f"{self.prompt.instructions.strip()}\n{wording.definition.strip()}\n{wording.question.strip()}"
        return {
            "type": "score",
            "instructions": instructions,
            "criteria": self.rubric.meanings(self.prompt.language),
        }

    def _demos(self) -> dict[str, Any]:
        demos = [{"text": d.text, self.rubric.score_field: d.score} for d in self.prompt.shown()]
        return {"demos": demos} if demos else {}


def parse_score_answer(answer: Any, values: tuple[float, ...]) -> ScoreDistribution:
    """A System One score answer -> distribution over `values` (level k stands for values[k]).

    Probabilities may miss 1 by SUM_TOLERANCE (rounding) and are then renormalised.

    Raises:
        UnparseableAnswer: Missing, of another type, or not probabilities over exactly these levels.
        OffScaleAnswer: The reported score contradicts the probabilities.
    """
    raw = repr(answer)[:500]
    if not isinstance(answer, dict) or answer.get("type") != "score":
        kind = answer.get("type") if isinstance(answer, dict) else None
        raise UnparseableAnswer(f"no score answer came back (type {kind!r})", raw)
    probabilities = answer.get("probabilities")
    labels = [str(k) for k in range(len(values))]
    if not isinstance(probabilities, dict) or sorted(map(str, probabilities)) != sorted(labels):
        raise UnparseableAnswer(f"`probabilities` must name the levels {', '.join(labels)}", raw)
    by_label = {str(k): v for k, v in probabilities.items()}
    masses = [by_label[label] for label in labels]
    if any(isinstance(m, bool) or not isinstance(m, int | float) or not math.isfinite(m) or m < 0 for m in masses):
        raise UnparseableAnswer("`probabilities` holds something that is not a probability", raw)
    total = math.fsum(masses)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise UnparseableAnswer(f"`probabilities` sum to {total:.3f}", raw)
    score = answer.get("score")
    expected = math.fsum(k * m for k, m in enumerate(masses))
    if isinstance(score, int | float) and abs(score - expected) > SUM_TOLERANCE * len(values) * len(values):
        raise OffScaleAnswer(f"`score` is {score}, but the probabilities give {expected:.3f}", raw)
    return ScoreDistribution(values=values, probabilities=tuple(m / total for m in masses))
