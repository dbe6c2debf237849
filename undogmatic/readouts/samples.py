"""`samples`: the same question asked n times; the answers' spread is the distribution."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from undogmatic.errors import ConfigError, ModelError, UnparseableAnswer
from undogmatic.models.calls import current_rollout, rollout
from undogmatic.readouts.base import Readout, agreement_confidence, entropy_verdict, spread_over
from undogmatic.readouts.chat import together
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.records import Item, ScoreDistribution, Verdict
from undogmatic.records.rubric import Rubric

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.readouts.prompt import Prompt


class SamplesReadout(Readout):
    """n structured answers at a temperature above 0, each with its own rollout id so that no cache answers twice.

    The score is their mean, the interval their central 90 %, and the confidence says how far they agree on the scale:
    equal answers give 100, an even split over both ends 0. Of categories without an order it is the entropy. Answers
    that fail are left out and named in the issues; fewer than half readable answers are a Failure.

    Args:
        n: Number of answers, at least 2.
        temperature: Sampling temperature; must be above 0, or all answers are the same.
        top_p: Nucleus sampling.
        retries: Per answer, as in `structured`.
        max_tokens: Room for each answer.
    """

    name = "samples"
    needs = "samples"
    deterministic = False

    def __init__(
        self,
        n: Annotated[int, Field(le=1000)] = 5,
        temperature: Annotated[float, Field(le=10)] = 1.0,
        top_p: Annotated[float, Field(gt=0, le=1)] = 1.0,
        retries: Annotated[int, Field(ge=0, le=100)] = 2,
        max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 400,
    ) -> None:
        super().__init__()
        if n < 2:
            raise ConfigError(f"`readout.n` is {n}; a spread needs at least 2 answers.")
        if temperature <= 0:
            raise ConfigError(
                f"`readout.temperature` is {temperature:g}; at 0 all {n} answers are the same. Use e.g. 1.0."
            )
        self.n, self.temperature = n, temperature
        self.inner = StructuredReadout(retries=retries, temperature=temperature, top_p=top_p, max_tokens=max_tokens)

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        self.inner.bind(model, prompt, rubric)

    async def read(self, item: Item) -> Verdict:
        base = current_rollout() * self.n

        async def once(number: int) -> Any:
            with rollout(base + number):
                return (await self.inner.acall(item=item)).verdict

        answers = await together([once(k) for k in range(self.n)])
        failed = [a for a in answers if isinstance(a, ModelError)]
        verdicts = [a for a in answers if not isinstance(a, ModelError)]
        if 2 * len(verdicts) < self.n:
            first = failed[0]
            raise UnparseableAnswer(f"{len(failed)} of {self.n} answers failed, the first: {first}", first.raw)
        issues = tuple(f"{a.kind}: {a}" for a in failed)
        if not self.rubric.scale.ordered:
            counts = Counter(self.rubric.scale.read(r.category) for r in verdicts)
            shares = tuple(counts[value] / len(verdicts) for value in self.rubric.levels)
            spread = ScoreDistribution(values=self.rubric.levels, probabilities=shares)
            return entropy_verdict(spread, rationale=verdicts[0].rationale, issues=issues)
        scores = np.array([r.score for r in verdicts])
        shares_of_scale = [self.rubric.share(float(score)) for score in scores]
        median = min(verdicts, key=lambda r: abs(r.score - float(np.median(scores))))
        return Verdict(
            score=float(scores.mean()),
            distribution=spread_over(scores.tolist(), self.rubric),
            interval=(float(np.quantile(scores, 0.05)), float(np.quantile(scores, 0.95))),
            confidence=agreement_confidence(shares_of_scale),
            confidence_source="procedure",
            rationale=median.rationale,
            issues=issues,
            doubt=float(scores.std()),
        )

    def shown(self) -> str:
        return self.inner.shown()

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"n": self.n}
