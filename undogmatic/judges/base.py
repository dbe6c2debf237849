"""What a judge is, and its reading as a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import dspy

from undogmatic.readouts.base import Reading
from undogmatic.records import OVERALL, Item, Verdict, digest

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt


class Source(Protocol):
    """What a judge asks a model through, for reports: a readout, or a style's asker."""

    @property
    def name(self) -> str: ...

    @property
    def uses_prompt(self) -> bool: ...

    @property
    def deterministic(self) -> bool: ...

    @property
    def model(self) -> Model: ...

    @property
    def prompt(self) -> Prompt: ...

    def fitted_on(self) -> frozenset[str]: ...

    def shown(self) -> str: ...


class Judge(dspy.Module):
    """Base of all judge styles: a DSPy module whose prediction carries a `reading`, or `readings` by criterion.

    Attributes:
        name: Its name in `judge=`.
        criteria: What it judges of an item. With several, its prediction has `readings`: criterion -> Reading, or the
            ModelError that stands in its way.
        weighed_on: Marks of the texts that the procedure itself (no readout in it) was fitted on.
        places: Model, prompt and readout of each judge inside it that has its own, as in a run of this judge alone.
    """

    name = "judge"
    criteria: tuple[str, ...] = (OVERALL,)
    weighed_on: frozenset[str] = frozenset()
    places: Sequence[Mapping[str, Any]] = ()

    def forward(self, item: Item) -> dspy.Prediction:
        """`aforward` for callers without an event loop, DSPy's optimisers among them."""
        return asyncio.run(self.aforward(item=item))

    async def aforward(self, item: Item) -> dspy.Prediction:
        """Judge one item: a prediction with the field `reading`. Raises ModelError."""
        raise NotImplementedError

    def readouts(self) -> Sequence[Source]:
        """The readouts and askers it uses, for reports on what reaches a model; some may be equal."""
        raise NotImplementedError

    def fitted_on(self) -> frozenset[str]:
        """Marks (`records.text_mark`) of the texts that it, or anything inside it, was fitted on."""
        judges = [judge.weighed_on for _, judge in self.named_sub_modules(Judge)]
        return frozenset().union(*judges, *(source.fitted_on() for source in self.readouts()))

    def state(self) -> dict[str, Any]:
        """What determines its answers, besides its `places`."""
        raise NotImplementedError

    def program_hash(self) -> str:
        """SHA-256 of its state and places; part of the provenance."""
        return digest([self.state(), self.places] if self.places else self.state())


def verdict(reading: Reading) -> Verdict:
    """A reading as a verdict."""
    return Verdict(
        score=reading.score,
        raw_score=reading.raw_score,
        distribution=reading.distribution,
        interval=reading.interval,
        confidence=reading.confidence,
        confidence_source=reading.confidence_source,  # type: ignore[arg-type]
        rationale=reading.rationale,
        issues=reading.issues,
        uncertainty=reading.uncertainty,  # type: ignore[arg-type]
        review=reading.review,
        details=reading.details,
    )
