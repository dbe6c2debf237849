"""Rubrics of every kind of scale, a model that answers whatever form it is asked to fill, and one
of known odds."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import FakeChat, token
from tests.stats.test_uncertainty import split
from undogmatic.models.base import Model
from undogmatic.models.calls import Reply
from undogmatic.models.hosted import Tokens, settled
from undogmatic.records.rubric import Rubric


def _rubric(
    name: str, scale: dict[str, Any], meanings: tuple[str, ...] = (), **fields: Any
) -> Rubric:
    wording: dict[str, Any] = {
        "definition": "What is meant.",
        "question": "How much of it?",
        "domain": "You judge.",
    }
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
    guide={
        "kind": "bands",
        "bands": [
            dict(zip(("name", "low", "high"), band, strict=True)) for band in BANDS
        ],
    },
)
YES_NO = _rubric(
    "yes_no",
    {"kind": "unordered", "categories": ["no", "yes"]},
    ("it is not so", "it is so"),
)
QUESTION_ANSWER = _rubric(
    "question_answer",
    {"kind": "ordered", "categories": ["wrong", "partly", "right"]},
    inputs=["question", "answer"],
    headings={"question": "The question", "answer": "The answer"},
)
COLOURS = _rubric(
    "colours", {"kind": "unordered", "categories": ["red", "green", "blue"]}
)
ORDERED = (TEN, FIVE, HUNDRED, YES_NO, QUESTION_ANSWER)
ALL = (*ORDERED, COLOURS)


class FormFiller(FakeChat):
    """A chat model that fills the JSON form it is given, and gives even odds over the digits and
    letters.

    Args:
        place: Where on every scale its numbers lie, 0-1.
    """

    name, tokens = "form-filler", Tokens(1, 1)

    def __init__(self, place: float = 0.5, base: bool = False) -> None:
        super().__init__(base=base)
        self.place = place

    def answered(
        self, payload: dict[str, Any], request: Any
    ) -> tuple[str, list[dict[str, float]]]:
        if request.config.logprobs:
            return "0", [dict.fromkeys("0123456789ABCDEFGHIJ", -3.0)]
        fields = _schema(request)["properties"]
        return json.dumps(
            {name: self._value(field) for name, field in fields.items()}
        ), []

    def _value(self, field: dict[str, Any]) -> Any:
        if "enum" in field:
            return field["enum"][int(self.place * (len(field["enum"]) - 1))]
        if field.get("type") in ("number", "integer"):
            value = field["minimum"] + self.place * (
                field["maximum"] - field["minimum"]
            )
            return round(value) if field["type"] == "integer" else value
        return (
            ["words"] * field.get("minItems", 0)
            if field.get("type") == "array"
            else "words"
        )


def _schema(request: Any) -> dict[str, Any]:
    found = request.config.response_format
    for key in ("json_schema", "schema"):
        found = found[key] if isinstance(found, dict) and key in found else found
    return dict(found)


@dataclass(eq=False)
class NumbersChat(Model):
    """A model whose odds over whole numbers are known, and that writes them as one token or digit
    by digit.

    Args:
    odds: Last user text -> probability by whole number; what is missing to 1 falls on a word.
    digits: Whether each digit is a token of its own.
    goes_on: Whether a begun answer is continued; else a new one begins.
    base: Whether it continues a text.
    reason: What it says when it is asked for words.
    """

    odds: Callable[[str], dict[int, float]]
    digits: bool = False
    goes_on: bool = True
    base: bool = False
    reason: str = "It says so."
    requests: list[list[dict[str, str]]] = field(default_factory=list)
    name = "numbers"
    readouts = ("logprobs", "structured")

    async def complete(self, request: Any) -> Any:
        messages = [{"role": m.role, "content": m.text or ""} for m in request.messages]
        if request.system is not None:
            messages.insert(0, {"role": "system", "content": request.system})

        async def send() -> Reply:
            self.requests.append(messages)
            return Reply("ok", input_tokens=10, output_tokens=1)

        await self.gateway.call(
            self.name, {"messages": messages, "config": repr(request.config)}, send
        )
        path = (
            self._path(messages, request.config.max_tokens)
            if request.config.logprobs
            else []
        )
        logprobs = tuple(
            token({each: math.log(mass) for each, mass in odds.items() if mass > 0})
            for _, odds in path
        )
        text = "".join(chosen for chosen, _ in path) if path else self.reason
        return settled({}, self.name, text, Tokens(10, 1), logprobs=logprobs or None)

    def _path(
        self, messages: list[dict[str, str]], most: int
    ) -> list[tuple[str, dict[str, float]]]:
        said = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
        asked = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        if self.base:
            asked, said = (
                "".join(m["content"] for m in messages),
                messages[-1]["content"].rpartition(":")[2],
            )
        odds = self.odds(asked)
        word = {"none": max(1e-9, 1 - sum(odds.values()))}
        if not self.digits:
            first = {str(number): mass for number, mass in odds.items()} | word
            return [(max(first, key=first.__getitem__), first)]
        first, after = split(odds)
        digits = said if self.goes_on else ""
        path = []
        while len(path) < most:
            here = (first | word if not digits else after.get(digits)) or {"\n": 1.0}
            path.append((max(here, key=here.__getitem__), here))
            if not path[-1][0].isdigit():
                break
            digits += path[-1][0]
        return path
