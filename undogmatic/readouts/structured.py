"""`structured`: the model answers with a JSON object that is validated, not interpreted; `samples`:
several times."""

import functools
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from undogmatic.errors import ConfigError, ModelError, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.readouts import adapter
from undogmatic.readouts.base import (
    Readout,
    agreement_confidence,
    shown_inputs,
    spread_over,
    voted,
)
from undogmatic.readouts.chat import ask, insisting, voices
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import NumericScale, Rubric, Scale

PERCENT = NumericScale(minimum=0, maximum=100)


class StructuredReadout(Readout):
    """Score, the model's own confidence and a rationale from one validated JSON object.

    An answer that does not parse is shown to the model with the reason, `retries` times; then it is
    a Failure.
    """

    name = "structured"
    needs = "structured"

    def __init__(
        self,
        retries: Annotated[int, Field(ge=0, le=100)] = 2,
        temperature: Annotated[float, Field(ge=0, le=10)] = 0.0,
        top_p: Annotated[float, Field(gt=0, le=1)] = 1.0,
        max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 400,
    ) -> None:
        super().__init__()
        self.retries = retries
        self.temperature = temperature
        self.top_p = top_p
        self.max_tokens = max_tokens
        self.deterministic = temperature == 0

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        rationale = {"rationale": adapter.words(str, f'"{prompt.words.rationale}"')}
        numbers = {
            rubric.score_field: adapter.number(
                rubric.scale, form(rubric.scale), is_score=True
            ),
            "confidence": adapter.number(PERCENT, PERCENT.span()),
        }
        form_schema = {
            "name": "judgment",
            "schema": answer_schema(rubric, prompt.reasoning),
            "strict": True,
        }
        self.predict = self.predictor(
            prompt.task(rubric),
            rationale | numbers if prompt.reasoning else numbers | rationale,
            "rubric",
            "note",
            "previous",
            "problem",
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            response_format={"type": "json_schema", "json_schema": form_schema},
        )
        self.adapter = adapter.JudgeAdapter(prompt.words)
        self.given = {
            "the_rubric": f"{prompt.definition(rubric)}\n\n{prompt.scale(rubric)}",
            "the_note": prompt.words.reason_first if prompt.reasoning else None,
        }

    async def read(self, item: Item) -> Verdict:
        inputs = shown_inputs(item, self.rubric) | self.given
        answer = await insisting(
            self.retries, functools.partial(ask, self.predict, self.adapter, **inputs)
        )
        return Verdict(
            score=answer[self.rubric.score_field],
            confidence=answer.confidence,
            confidence_source="stated",
            rationale=answer.rationale.strip(),
        )


class SamplesReadout(Readout):
    """n structured answers at a temperature above 0, each with its own rollout id so that no cache
    answers twice.

    The score is their mean, the interval their central 90 %, and the confidence says how far they
    agree on the scale: equal answers give 100, an even split over both ends 0. Of categories
    without an order it is the entropy. Answers that fail are left out and named in the issues;
    fewer than half readable answers are a Failure.
    """

    name = "samples"
    needs = "samples"
    deterministic = False

    def __init__(
        self,
        n: Annotated[int, Field(le=1000)] = 5,
        temperature: Annotated[float, Field(le=10)] = 1.0,
        top_p: Annotated[float, Field(gt=0, le=1)] = 1.0,
        # per answer, as in `structured`
        retries: Annotated[int, Field(ge=0, le=100)] = 2,
        # room for each answer
        max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 400,
    ) -> None:
        super().__init__()
        if n < 2:
            raise ConfigError(f"`readout.n` is {n}; a spread needs at least 2 answers.")
        # Five equal answers would be told as certainty.
        if temperature <= 0:
            raise ConfigError(
                f"`readout.temperature` is {temperature:g}; at 0 all {n} answers are the same. Use"
                " e.g. 1.0."
            )
        self.n, self.temperature = n, temperature
        self.inner = StructuredReadout(
            retries=retries, temperature=temperature, top_p=top_p, max_tokens=max_tokens
        )

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        self.inner.bind(model, prompt, rubric)

    async def read(self, item: Item) -> Verdict:
        answers = await voices(
            item, [(self.inner, number) for number in range(self.n)], self.n
        )
        failed = [answer for answer in answers if isinstance(answer, ModelError)]
        verdicts = [answer for answer in answers if not isinstance(answer, ModelError)]
        # The mean of one readable answer in five is the score of whatever could be
        # read.
        if 2 * len(verdicts) < self.n:
            raise UnparseableAnswer(
                f"{len(failed)} of {self.n} answers failed, the first: {failed[0]}",
                failed[0].raw,
            )
        issues = tuple(f"{error.kind}: {error}" for error in failed)
        # Names have no mean; their votes are the distribution.
        if not self.rubric.scale.ordered:
            votes = [verdict.category for verdict in verdicts]
            return voted(
                votes, self.rubric, rationale=verdicts[0].rationale, issues=issues
            )
        scores = np.array([verdict.score for verdict in verdicts])
        middle = float(np.median(scores))
        return Verdict(
            score=float(scores.mean()),
            distribution=spread_over(scores.tolist(), self.rubric),
            interval=(
                float(np.quantile(scores, 0.05)),
                float(np.quantile(scores, 0.95)),
            ),
            confidence=agreement_confidence(
                [self.rubric.share(float(score)) for score in scores]
            ),
            confidence_source="procedure",
            # The reason that is shown is that of the answer nearest to the middle, and
            # not of the first one that came.
            rationale=min(
                verdicts, key=lambda verdict: abs(float(verdict.score or 0) - middle)
            ).rationale,
            issues=issues,
            doubt=float(scores.std()),
        )

    def shown(self) -> str:
        return self.inner.shown()


def form(scale: Scale) -> str:
    """How a value of the scale stands in the form that a model fills: 1-10, or "no" | "yes"."""
    if isinstance(scale, NumericScale):
        return f"{scale.minimum:g}-{scale.maximum:g}"
    return " | ".join(f'"{name}"' for name in scale.categories)


def scale_schema(scale: Scale) -> dict[str, Any]:
    """JSON Schema of a value of the scale."""
    if not isinstance(scale, NumericScale):
        return {"type": "string", "enum": list(scale.categories)}
    whole = (
        scale.step is not None
        and scale.step.is_integer()
        and scale.minimum.is_integer()
    )
    return {
        "type": "integer" if whole else "number",
        "minimum": scale.minimum,
        "maximum": scale.maximum,
    }


def answer_schema(rubric: Rubric, reasoning: bool) -> dict[str, Any]:
    """JSON Schema of the answer, for servers that can enforce one."""
    # whole numbers: cached answers know this request
    confidence = {
        "type": "number",
        "minimum": 0,
        "maximum": 100,
    }
    numbers = {rubric.score_field: scale_schema(rubric.scale), "confidence": confidence}
    rationale = {"rationale": {"type": "string"}}
    # A model fills a form from the top: reasons that come first can shape the number,
    # and reasons that come last defend it.
    fields = rationale | numbers if reasoning else numbers | rationale
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
