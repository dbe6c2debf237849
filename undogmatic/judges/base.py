"""From what a judge module predicts to the record that the rest of the program reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import dspy

from undogmatic.errors import ModelError
from undogmatic.models.calls import recording, rollout
from undogmatic.readouts.base import Reading
from undogmatic.records import Call, Cost, Failure, Item, Judgment, Provenance, Verdict, digest

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
    """Base of all judge styles: a DSPy module whose prediction carries a `reading`.

    Attributes:
        name: Its name in `judge=`.
        weighed_on: Marks of the texts that the procedure itself (no readout in it) was fitted on.
        places: Model, prompt and readout of each judge inside it that has its own, as in a run of this judge alone.
    """

    name = "judge"
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


def total(calls: Sequence[Call], seconds: float) -> Cost:
    """Sum of the exchanges; money is None as soon as one made call has no known price."""
    made = [c for c in calls if not c.cached]
    prices = [c.usd for c in made]
    return Cost(
        calls=sum(c.attempts for c in made),
        cached=len(calls) - len(made),
        input_tokens=sum(c.input_tokens for c in made),
        output_tokens=sum(c.output_tokens for c in made),
        usd=None if any(p is None for p in prices) else float(sum(p for p in prices if p is not None)),
        seconds=seconds,
    )


async def judge_item(judge: Judge, item: Item, provenance: Provenance, repeat: int = 0) -> Judgment:
    """Judge one item. A ModelError becomes a Failure; BudgetExceeded and ConfigError pass."""
    clock = time.perf_counter()
    # DSPy's trace is for optimisers; left on, it keeps the last 10,000 texts in memory.
    with recording() as calls, rollout(repeat), dspy.context(trace=None):
        try:
            outcome: Verdict | Failure = verdict((await judge.acall(item=item)).reading)
        except ModelError as error:
            outcome = Failure(reason=error.kind, message=str(error), raw=error.raw)  # type: ignore[arg-type]
    return Judgment(
        item_id=item.id,
        repeat=repeat,
        judge=judge.name,
        outcome=outcome,
        cost=total(calls, time.perf_counter() - clock),
        provenance=provenance,
        calls=tuple(calls),
    )
