"""What a readout is: a model's answer -> a `Reading`, from which a judge makes its verdict."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

import dspy

from undogmatic.errors import ConfigError
from undogmatic.records import Item, Rubric, ScoreDistribution

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt


class Reading(NamedTuple):
    """One score as it came out of a model, in the rubric's units.

    `raw_score` is the score before calibration where there was one. `confidence` is 0-100 and `confidence_source` says
    whether it is the model's own word ("stated"), 100 x (1 - normalised entropy) ("entropy") or follows from a judge's
    procedure ("procedure"). `uncertainty`, `review` and `details` come from judge styles: see `records.Verdict`.
    """

    score: float
    distribution: ScoreDistribution | None = None
    interval: tuple[float, float] | None = None
    confidence: float | None = None
    confidence_source: str = "none"
    rationale: str | None = None
    raw_score: float | None = None
    issues: tuple[str, ...] = ()
    uncertainty: str | None = None
    review: bool = False
    details: dict[str, float | str] = {}  # noqa: RUF012  never changed, always replaced


class Readout(dspy.Module):
    """Base of all readouts. `bind` is called once with what the run composed; `aforward(item)` gives a Prediction
    with one field, `reading`.

    Attributes:
        name: Its name in `readout=`.
        uses_prompt: Whether the prompt variant reaches the model at all; reports say so where it does not.
        deterministic: Whether it asks at temperature 0.
    """

    name = "readout"
    uses_prompt = True
    deterministic = True

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        """Take the composed parts and check that they fit. Raises ConfigError."""
        if self.name not in model.readouts:
            raise ConfigError(
                f"readout={self.name} does not work with this model ({model.name}); it serves: "
                f"{', '.join(model.readouts)}. Use readout=auto for its default."
            )
        self.model, self.prompt, self.rubric = model, prompt, rubric

    async def aforward(self, item: Item) -> dspy.Prediction:
        """Read one item. Raises ModelError."""
        raise NotImplementedError

    def forward(self, item: Item) -> dspy.Prediction:
        """`aforward` for callers without an event loop, DSPy's optimisers among them."""
        return asyncio.run(self.aforward(item=item))

    def fitted_on(self) -> frozenset[str]:
        """Marks (`records.text_mark`) of the texts it was fitted on; reports warn where they are judged."""
        return frozenset()

    def shown(self) -> str:
        """What the model is shown beside the judged text, demonstrations included; for reports and the registry."""
        return ""

    def state(self) -> dict[str, Any]:
        """What, besides prompt and rubric, determines the answer; part of the program hash."""
        return {"readout": self.name}


def entropy_reading(distribution: ScoreDistribution, **fields: Any) -> Reading:
    """A reading whose score is the expectation and whose confidence comes from the entropy."""
    return Reading(
        score=fields.pop("score", distribution.expectation),
        distribution=distribution,
        confidence=distribution.confidence,
        confidence_source="entropy",
        **fields,
    )
