"""`rules`: the model rates the text directly, by patterns or by a fitted regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dspy

from undogmatic.errors import ConfigError
from undogmatic.models.base import Rates
from undogmatic.readouts.base import Reading, Readout
from undogmatic.records import Item, Rubric

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt


class RulesReadout(Readout):
    """A share between 0 and 1 from the model, mapped linearly to the rubric's scale. No distribution, no confidence."""

    name = "rules"
    uses_prompt = False

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        if not isinstance(model, Rates):
            raise ConfigError(f"{model.name} does not rate texts itself; it serves: {', '.join(model.readouts)}.")
        made_for = getattr(model, "rubric", None)
        if made_for is not None and made_for != rubric.name:
            raise ConfigError(
                f"{model.name} rates texts for rubric={made_for} only, and this run uses rubric={rubric.name}. "
                "Ask a language model: model=local readout=logprobs, or a hosted one."
            )
        self.rater = model

    def fitted_on(self) -> frozenset[str]:
        found: frozenset[str] = getattr(self.rater, "fitted_on", frozenset())
        return found

    async def aforward(self, item: Item) -> dspy.Prediction:
        share, reason = await self.rater.rate(item.text)
        score = self.rubric.minimum + share * (self.rubric.maximum - self.rubric.minimum)
        return dspy.Prediction(reading=Reading(score=score, rationale=reason))
