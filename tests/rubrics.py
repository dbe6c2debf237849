"""Rubrics of every kind of scale, and a model that answers whatever form it is asked to fill."""

from __future__ import annotations

from typing import Any

from undogmatic.models.base import Model
from undogmatic.models.calls import Reply
from undogmatic.records.rubric import Rubric


def _rubric(name: str, scale: dict[str, Any], meanings: tuple[str, ...] = (), **fields: Any) -> Rubric:
    wording = {
        "definition": "What is meant.",
        "question": "How much of it?",
        "domain": "You judge.",
        "meanings": meanings,
    }
    wording |= {"headings": fields.pop("headings", {})}
    ordered = scale["kind"] != "unordered" or len(scale["categories"]) == 2
    return Rubric.model_validate(
        {"name": name, "scale": scale, "wordings": {"en": wording, "pt": wording}}
        | ({"direction": "higher_is_better"} if ordered else {})
        | fields
    )


TEN = _rubric("ten", {"kind": "numeric", "minimum": 1, "maximum": 10, "step": 1})
FIVE = _rubric(
    "five",
    {"kind": "numeric", "minimum": 1, "maximum": 5, "step": 1},
    ("bad", "poor", "fair", "good", "best"),
    guide={"kind": "anchors", "at": [1, 2, 3, 4, 5]},
)
HUNDRED = _rubric(
    "hundred",
    {"kind": "numeric", "minimum": 0, "maximum": 100, "step": 1},
    ("little of it", "some of it", "much of it"),
    guide={
        "kind": "bands",
        "bands": [
            {"name": "LOW", "low": 0, "high": 30},
            {"name": "MID", "low": 30, "high": 70},
            {"name": "HIGH", "low": 70, "high": 100},
        ],
    },
)
YES_NO = _rubric("yes_no", {"kind": "unordered", "categories": ["no", "yes"]}, ("it is not so", "it is so"))
QUESTION_ANSWER = _rubric(
    "question_answer",
    {"kind": "ordered", "categories": ["wrong", "partly", "right"]},
    inputs=["question", "answer"],
    headings={"question": "The question", "answer": "The answer"},
)
COLOURS = _rubric("colours", {"kind": "unordered", "categories": ["red", "green", "blue"]})
ORDERED = (TEN, FIVE, HUNDRED, YES_NO, QUESTION_ANSWER)
ALL = (*ORDERED, COLOURS)


class FormFiller(Model):
    """A chat model that fills the JSON form it is given, and gives even odds over the digits and letters.

    Args:
        place: Where on every scale its numbers lie, 0-1.
    """

    readouts = ("structured", "logprobs", "samples")

    def __init__(self, place: float = 0.5, base: bool = False) -> None:
        self.name, self.place, self.base = "form-filler", place, base
        self.requests: list[dict[str, Any]] = []

    async def complete(self, request: Any) -> Any:
        import json

        from dspy._vendor.lm15.types import TokenLogprob, TopLogprob
        from dspy.lm15 import Message, Response, TextPart, Usage

        messages = [{"role": m.role, "content": m.text or ""} for m in request.messages]
        payload = {"system": request.system, "messages": messages}

        async def send() -> Reply:
            self.requests.append(payload)
            return Reply("ok")

        await self.gateway.call(self.name, payload | {"config": repr(request.config)}, send)
        top, text = None, "0"
        if request.config.logprobs:
            top = tuple(TopLogprob(token=t, logprob=-3.0) for t in "0123456789ABCDEFGHIJ")
        else:
            text = json.dumps(self._fill(_schema(request)))
        return Response(
            id=None,
            model=self.name,
            message=Message.assistant([TextPart(text)]),
            finish_reason="stop",
            usage=Usage(input_tokens=1, output_tokens=1, total_tokens=2),
            logprobs=None if top is None else (TokenLogprob(token="0", logprob=-3.0, top=top),),
        )

    def _fill(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {name: self._value(name, field) for name, field in schema["properties"].items()}

    def _value(self, name: str, field: dict[str, Any]) -> Any:
        if "enum" in field:
            return field["enum"][int(self.place * (len(field["enum"]) - 1))]
        if field.get("type") in ("number", "integer"):
            value = field["minimum"] + self.place * (field["maximum"] - field["minimum"])
            return round(value) if field["type"] == "integer" else value
        return ["words"] * field.get("minItems", 0) if field.get("type") == "array" else "words"


def _schema(request: Any) -> dict[str, Any]:
    found = request.config.response_format
    for key in ("json_schema", "schema"):
        found = found[key] if isinstance(found, dict) and key in found else found
    return dict(found)
