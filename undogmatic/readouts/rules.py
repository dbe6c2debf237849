"""`rules`: the model rates the text directly, by patterns or by a fitted regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from undogmatic.errors import ConfigError
from undogmatic.models.base import Model, Rates
from undogmatic.readouts.base import Readout, shown_text
from undogmatic.readouts.chat import served_model
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric

if TYPE_CHECKING:
    from undogmatic.readouts.prompts import Prompt


class RulesReadout(Readout):
    """A share between 0 and 1 from the model, mapped linearly to the rubric's scale. No distribution, no confidence."""

    name = "rules"
    needs = "rules"
    uses_prompt = False

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        if not isinstance(model, Rates):
            raise ConfigError(f"{model.name} does not rate texts itself; it serves: {', '.join(model.readouts)}.")
        if model.rubric is not None and model.rubric != rubric.name:
            raise ConfigError(
                f"{model.name} rates texts for rubric={model.rubric} only, and this run uses rubric={rubric.name}. "
                "Ask a language model: model=local readout=logprobs, or a hosted one."
            )

    def fitted_on(self) -> frozenset[str]:
        return self.model.fitted_on

    async def read(self, item: Item) -> Verdict:
        rater = served_model()
        if not isinstance(rater, Rates):
            raise ConfigError(f"{rater.name} does not rate texts itself; it serves: {', '.join(rater.readouts)}.")
        share, reason = await rater.rate(shown_text(item, self.rubric))
        return Verdict(score=self.rubric.units(share), rationale=reason)
