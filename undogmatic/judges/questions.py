"""Describes what a judge style asks: the typed answer of each step, its check, and its wording in
each language.

A step is a class of `Answer`. Its fields annotated with a `Number` are numbers on a scale: a chat
model gives them in a JSON object, log-probabilities give each as a question of its own. The other
fields are words, which only a chat model can give. The wording is data: `wordings` in the style's
file of `conf/judge/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from undogmatic.errors import UnparseableAnswer
from undogmatic.readouts.structured import PERCENT, scale_schema
from undogmatic.records.records import Record
from undogmatic.records.rubric import NumericScale, Rubric, Scale

STRENGTH = NumericScale(minimum=0, maximum=10)
STEPS = 5


class Answer(Record):
    """Base of all answers. Word fields have an empty default, for readouts that give numbers
    only."""

    room: ClassVar[int] = 1000
    """Tokens that a chat model may take for it."""


Arguments = Annotated[
    tuple[str, ...], Field(min_length=3, json_schema_extra={"maxItems": 3})
]
"""A side's three arguments. A fourth is not asked for, and no harm where it comes."""


@dataclass(frozen=True)
class Number:
    """A number field of an answer."""

    unit: Literal["score", "rubric", "strength", "percent"] = "rubric"
    """A score by the rubric, any number between the rubric's ends, 0-10, or percent."""
    band: tuple[float, float] | None = (
        None  # part of the scale, as shares, for levels; None: the rubric's levels
    )
    at_least: str | None = None  # the field below which it cannot lie
    at_most: str | None = None  # and the one above which it cannot
    # whether only a chat model is asked for it; elsewhere it follows from the procedure
    words_only: bool = False
    # the name of its wording where that is not the field's own name
    wording: str | None = None
    meaning: str = ""  # fills `{meaning}` in the wording
    # in place of its unit's; the levels are as many even steps as its wording has answers
    own: Scale | None = None

    def scale(self, rubric: Rubric) -> Scale:
        """What a chat model may answer."""
        if self.own is not None:
            return self.own
        if self.unit == "score":
            return rubric.scale
        between = NumericScale(minimum=rubric.minimum, maximum=rubric.maximum)
        return {"rubric": between, "strength": STRENGTH, "percent": PERCENT}[self.unit]

    def levels(self, rubric: Rubric, answers: int = 0) -> tuple[float, ...]:
        """Values of the levels offered to a log-probability readout, ascending; `answers`: how many
        its wording has."""
        if self.own is not None:
            low, span = self.own.minimum, self.own.maximum - self.own.minimum
            if answers < 2:
                return self.own.default_levels()
            return tuple(low + span * k / (answers - 1) for k in range(answers))
        if self.unit in ("score", "rubric") and self.band is None:
            return rubric.levels
        scale, (first, last) = self.scale(rubric), self.band or (0.0, 1.0)
        span = scale.maximum - scale.minimum
        return tuple(
            scale.minimum + span * (first + (last - first) * k / (STEPS - 1))
            for k in range(STEPS)
        )

    def written(self, value: float, rubric: Rubric) -> str:
        """An answer as later questions repeat it, with the precision of its scale; a strength in
        whole tenths."""
        return (
            f"{value:.0f}"
            if self.unit == "strength"
            else self.scale(rubric).write(value)
        )


def numbers(kind: type[Answer]) -> dict[str, Number]:
    """The number fields of an answer, in order."""
    fields = kind.model_fields.items()
    return {
        name: mark
        for name, field in fields
        for mark in field.metadata
        if isinstance(mark, Number)
    }


def ends(rubric: Rubric) -> dict[str, str]:
    """The ends of the rubric's scale, for wordings: {low} and {high}. Categories are shown with
    their numbers."""
    numeric = isinstance(rubric.scale, NumericScale)
    values = {"low": rubric.minimum, "high": rubric.maximum}
    return {
        name: f"{v:g}" if numeric else f"{v:g} ({rubric.scale.write(v)})"
        for name, v in values.items()
    }


def schema(kind: type[Answer], rubric: Rubric) -> dict[str, Any]:
    """JSON Schema of the answer, for servers that can enforce one: every field required, every
    number bounded."""
    made = kind.model_json_schema()
    made["required"] = list(made["properties"])
    for name, field in made["properties"].items():
        field.pop("default", None)
        # a default of None is for readouts without words; here the field must be filled
        if "anyOf" in field:
            made["properties"][name] = next(
                option for option in field["anyOf"] if option.get("type") != "null"
            )
    for name, number in numbers(kind).items():
        made["properties"][name] = scale_schema(number.scale(rubric))
    return made


def make(kind: type[Answer], fields: Mapping[str, Any], raw: str) -> Answer:
    """The answer with these fields. Raises UnparseableAnswer, which keeps `raw`: a field has
    another form."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        what = what[:1].lower() + what[1:]
        raise UnparseableAnswer(f"`{where}`: {what}" if where else what, raw) from None


def repeats(wording: str, answer: Any) -> bool:
    """Whether an answer, or any text in it, only repeats the words with which the form asked for
    it, or is nothing but dots. Words to choose among in the form ("minor" | "major") may be
    repeated, of course."""
    answer = answer.model_dump() if isinstance(answer, BaseModel) else answer
    if isinstance(answer, list | tuple | Mapping):
        return any(
            repeats(wording, part)
            for part in (answer.values() if isinstance(answer, Mapping) else answer)
        )
    if not isinstance(answer, str):
        return False
    asked = set(_WORD.findall(_CHOICES.sub("", wording).casefold()))
    # "argument 1"
    words = {word for word in _WORD.findall(answer.casefold()) if not word.isdigit()}
    return words <= asked if words else set(answer) <= set(" .…")


_WORD = re.compile(r"\w+")
_CHOICES = re.compile(r'"[^"]*"(\s*\|\s*"[^"]*")+')


class LevelWording(Record):
    """How one number is asked as a level question. With `labels` a chat model answers with these
    words. A base model is always given digits: it goes on with a number after a list, and with
    neither word."""

    question: str
    answers: tuple[str, ...] = ()  # what the levels mean, or empty for the rubric's
    labels: tuple[Annotated[str, Field(pattern=r"^\w+$")], ...] = ()
    answer_with: str = ""  # the sentence that asks for one of the words
    said: str = ""  # repeats the answer as context of the questions after it

    @model_validator(mode="after")
    def _told_apart(self) -> LevelWording:
        """A model's first token, of whatever length, must tell the labels apart."""
        if self.labels and len(self.labels) != len(self.answers):
            raise ValueError(
                f"`labels` are {len(self.labels)} and `answers` {len(self.answers)}; give one for"
                " each."
            )
        if len({label[0].casefold() for label in self.labels}) < len(self.labels):
            raise ValueError(
                f"`labels` are {', '.join(self.labels)}; each must begin with another letter."
            )
        return self


class StepWording(Record):
    """One step in one language.

    `task` instructs a chat model and `form` describes the JSON fields; `context` is what is known
    from earlier steps; `given` stands in its place before level questions, where a step has none.
    All are format strings over the rubric's ends `low` and `high`, its `question`, and the step's
    own context. `scale` says whether the rubric's scale is shown.
    """

    task: str
    context: str = ""
    given: str = ""
    form: dict[str, str]
    levels: dict[str, LevelWording] = Field(default={})
    scale: bool = True
