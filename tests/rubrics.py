"""Rubrics of every kind of scale, and a model that answers whatever form it is asked to fill."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import FakeChat
from undogmatic.models.hosted import Tokens
from undogmatic.records.rubric import Rubric


def _rubric(name: str, scale: dict[str, Any], meanings: tuple[str, ...] = (), **fields: Any) -> Rubric:
    wording: dict[str, Any] = {"definition": "What is meant.", "question": "How much of it?", "domain": "You judge."}
    wording |= {"meanings": meanings, "headings": fields.pop("headings", {})}
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
BANDS = (("LOW", 0, 30), ("MID", 30, 70), ("HIGH", 70, 100))
HUNDRED = _rubric(
    "hundred",
    {"kind": "numeric", "minimum": 0, "maximum": 100, "step": 1},
    ("little of it", "some of it", "much of it"),
    guide={"kind": "bands", "bands": [dict(zip(("name", "low", "high"), band, strict=True)) for band in BANDS]},
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


class FormFiller(FakeChat):
    """A chat model that fills the JSON form it is given, and gives even odds over the digits and letters.

    Args:
        place: Where on every scale its numbers lie, 0-1.
    """

    name, tokens = "form-filler", Tokens(1, 1)

    def __init__(self, place: float = 0.5, base: bool = False) -> None:
        super().__init__(base=base)
        self.place = place

    def answered(self, payload: dict[str, Any], request: Any) -> tuple[str, list[dict[str, float]]]:
        if request.config.logprobs:
            return "0", [dict.fromkeys("0123456789ABCDEFGHIJ", -3.0)]
        fields = _schema(request)["properties"]
        return json.dumps({name: self._value(field) for name, field in fields.items()}), []

    def _value(self, field: dict[str, Any]) -> Any:
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
