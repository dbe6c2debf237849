"""`structured`: the model answers with a JSON object that is validated, not interpreted."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ModelError, OffScaleAnswer, UnparseableAnswer
from undogmatic.readouts.base import Reading, Readout
from undogmatic.readouts.chat import Messages, PromptAdapter, ask, before_the_text, language_model
from undogmatic.records import Item, Rubric

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt

_NOTHING = {"pt": "(vazio)", "en": "(empty)"}  # servers refuse an empty turn
_FENCED = re.compile(r"^```(?:json)?\s*(.*?)\s*```$", re.DOTALL)


class StructuredReadout(Readout):
    """Score, the model's own confidence and a rationale from one validated JSON object.

    An answer that does not parse is shown to the model with the reason, `retries` times; then it is a Failure.

    Args:
        retries: Further attempts after an unreadable answer.
        temperature: Sampling temperature; 0 by default.
        top_p: Nucleus sampling; 1 by default.
        max_tokens: Room for the answer.
    """

    name = "structured"

    def __init__(self, retries: int = 2, temperature: float = 0.0, top_p: float = 1.0, max_tokens: int = 400) -> None:
        super().__init__()
        self.retries, self.temperature, self.top_p, self.max_tokens = retries, temperature, top_p, max_tokens
        self.deterministic = temperature == 0

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        signature = dspy.Signature(
            {
                "text": (str, dspy.InputField()),
                "previous": (str | None, dspy.InputField(default=None)),
                "problem": (str | None, dspy.InputField(default=None)),
                "answer": (str, dspy.OutputField()),
            },
            prompt.system(rubric, "json"),
        )
        self.predict = dspy.Predict(signature)
        self.predict.demos = [
            dspy.Example(text=d.text, answer=prompt.answer(rubric, d.score, d.confidence, d.rationale)).with_inputs(
                "text"
            )
            for d in prompt.shown()
        ]
        self.predict.lm = language_model(
            model,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "judgment", "schema": answer_schema(rubric, prompt.reasoning), "strict": True},
            },
        )
        self.adapter = PromptAdapter(self._messages)

    def _messages(self, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> Messages:
        messages: Messages = [{"role": "system", "content": self.predict.signature.instructions}]
        for demo in demos:
            messages.append({"role": "user", "content": self.prompt.user(demo["text"])})
            messages.append({"role": "assistant", "content": demo["answer"]})
        messages.append({"role": "user", "content": self.prompt.user(inputs["text"])})
        if inputs.get("problem"):
            messages.append({"role": "assistant", "content": inputs["previous"] or _NOTHING[self.prompt.language]})
            messages.append({"role": "user", "content": self.prompt.retry(inputs["problem"])})
        return messages

    async def aforward(self, item: Item) -> dspy.Prediction:
        previous: str | None = None
        failure: ModelError | None = None
        for _ in range(self.retries + 1):
            try:
                prediction = await ask(
                    self.predict,
                    self.adapter,
                    text=item.text,
                    previous=previous,
                    problem=str(failure) if failure else None,
                )
                return dspy.Prediction(reading=parse_answer(prediction.answer, self.rubric))
            except (UnparseableAnswer, OffScaleAnswer) as error:
                failure, previous = error, error.raw
        assert failure is not None
        raise failure

    def shown(self) -> str:
        return before_the_text(self._messages(self.predict.demos, {"text": ""}))

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "retries": self.retries,
            "demos": [dict(d) for d in self.predict.demos],
            "instructions": self.predict.signature.instructions,
        }


def answer_schema(rubric: Rubric, reasoning: bool) -> dict[str, Any]:
    """JSON Schema of the answer, for servers that can enforce one."""
    score = {"type": "number", "minimum": rubric.minimum, "maximum": rubric.maximum}
    confidence = {"type": "number", "minimum": 0, "maximum": 100}
    rationale = {"type": "string"}
    fields = {rubric.score_field: score, "confidence": confidence, "rationale": rationale}
    if reasoning:
        fields = {"rationale": rationale, rubric.score_field: score, "confidence": confidence}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def parse_answer(text: str | None, rubric: Rubric) -> Reading:
    """Validate a JSON answer.

    A Markdown code fence around the object is tolerated; anything else around it is not.

    Raises:
        UnparseableAnswer: Not the object asked for.
        OffScaleAnswer: The score lies outside the rubric.
    """
    raw, answer = json_object(text)
    for field in (rubric.score_field, "confidence", "rationale"):
        if field not in answer:
            raise UnparseableAnswer(f"the field `{field}` is missing", raw)
    for field in (rubric.score_field, "confidence"):
        if isinstance(answer[field], bool) or not isinstance(answer[field], int | float):
            raise UnparseableAnswer(f"`{field}` is {answer[field]!r}, not a number", raw)
    rationale = answer["rationale"]
    if not isinstance(rationale, str) or not rationale.strip():
        raise UnparseableAnswer("`rationale` is empty or not a text", raw)
    score, confidence = float(answer[rubric.score_field]), float(answer["confidence"])
    if not rubric.contains(score):
        raise OffScaleAnswer(f"`{rubric.score_field}` is {score:g}, outside {rubric.minimum:g}-{rubric.maximum:g}", raw)
    if not 0 <= confidence <= 100:
        raise UnparseableAnswer(f"`confidence` is {confidence:g}, outside 0-100", raw)
    return Reading(score=score, confidence=confidence, confidence_source="stated", rationale=rationale.strip())


def json_object(text: str | None) -> tuple[str, dict[str, Any]]:
    """The raw answer without white space around it, and the JSON object it is; a Markdown code fence is tolerated.

    Raises:
        UnparseableAnswer: Anything else stands there.
    """
    raw = (text or "").strip()
    fenced = _FENCED.match(raw)
    try:
        answer = json.loads(fenced.group(1) if fenced else raw, parse_constant=lambda name: name)
    except json.JSONDecodeError as error:
        raise UnparseableAnswer(f"not a JSON object ({error.msg} at character {error.pos})", raw) from None
    if not isinstance(answer, dict):
        raise UnparseableAnswer(f"a JSON {type(answer).__name__}, not an object", raw)
    return raw, answer
