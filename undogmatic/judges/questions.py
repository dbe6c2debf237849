"""What a judge style asks: the typed answer of each step, its check, and its wording in each language.

A step is a class of `Answer`. Its fields annotated with a `Number` are numbers on a scale: a chat model gives them in a
JSON object, log-probabilities give each as a question of its own with five to ten levels. The other fields are words,
which only a chat model can give. The wording is data: `texts/<language>.yaml`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import ValidationError

from undogmatic.errors import ConfigError, OffScaleAnswer, UnparseableAnswer
from undogmatic.readouts.structured import json_object
from undogmatic.records import Record, Rubric

_SPAN = {"strength": (0.0, 10.0), "percent": (0.0, 100.0)}
STEPS = 5


class Answer(Record):
    """Base of all answers. Word fields have an empty default, for readouts that give numbers only."""


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Number:
    """A number field of an answer.

    Attributes:
        unit: "rubric" (the rubric's own units), "strength" (0-10) or "percent" (0-100).
        band: Part of the rubric's scale, as shares, that the offered levels run over; None offers the rubric's levels.
        at_least: Field below which it cannot lie.
        at_most: Field above which it cannot lie.
        words_only: Whether only a chat model is asked for it; elsewhere it follows from the procedure.
        wording: Name of its wording where that is not the field's own name.
        meaning: Fills `{meaning}` in the wording.
    """

    unit: Literal["rubric", "strength", "percent"] = "rubric"
    band: tuple[float, float] | None = None
    at_least: str | None = None
    at_most: str | None = None
    words_only: bool = False
    wording: str | None = None
    meaning: str = ""

    def span(self, rubric: Rubric) -> tuple[float, float]:
        """Least and greatest value that is on the scale."""
        return (rubric.minimum, rubric.maximum) if self.unit == "rubric" else _SPAN[self.unit]

    def levels(self, rubric: Rubric) -> tuple[float, ...]:
        """Values of the levels offered to a log-probability readout, ascending."""
        if self.unit == "rubric" and self.band is None:
            return rubric.levels
        low, high = self.span(rubric)
        first, last = self.band or (0.0, 1.0)
        return tuple(low + (high - low) * (first + (last - first) * k / (STEPS - 1)) for k in range(STEPS))

    def problem(self, name: str, value: float, others: Mapping[str, Any]) -> str | None:
        """Why `value` contradicts the fields it is bound to, or None."""
        if self.at_least is not None and value < others[self.at_least]:
            return f"`{name}` is {value:g}, below `{self.at_least}` {others[self.at_least]:g}"
        if self.at_most is not None and value > others[self.at_most]:
            return f"`{name}` is {value:g}, above `{self.at_most}` {others[self.at_most]:g}"
        return None


def numbers(kind: type[Answer]) -> dict[str, Number]:
    """The number fields of an answer, in order."""
    found = {}
    for name, field in kind.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, Number):
                found[name] = mark
    return found


def schema(kind: type[Answer], rubric: Rubric) -> dict[str, Any]:
    """JSON Schema of the answer, for servers that can enforce one: every field required, every number bounded."""
    made = kind.model_json_schema()
    made["required"] = list(made["properties"])
    for name, field in made["properties"].items():
        field.pop("default", None)
        if "anyOf" in field:  # a default of None is for readouts without words; here the field must be filled
            made["properties"][name] = next(option for option in field["anyOf"] if option.get("type") != "null")
    for name, number in numbers(kind).items():
        low, high = number.span(rubric)
        made["properties"][name] = {"type": "number", "minimum": low, "maximum": high}
    return made


def parse(kind: type[A], text: str | None, rubric: Rubric) -> A:
    """Validate a JSON answer.

    Raises:
        UnparseableAnswer: Not the object asked for, a missing, empty or contradictory field.
        OffScaleAnswer: A number outside its scale.
    """
    raw, given = json_object(text)
    for name in kind.model_fields:
        if name not in given:
            raise UnparseableAnswer(f"the field `{name}` is missing", raw)
    for name, number in numbers(kind).items():
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UnparseableAnswer(f"`{name}` is {value!r}, not a number", raw)
        low, high = number.span(rubric)
        if not low <= value <= high:
            raise OffScaleAnswer(f"`{name}` is {value:g}, outside {low:g}-{high:g}", raw)
    for name, number in numbers(kind).items():
        problem = number.problem(name, given[name], given)
        if problem is not None:
            raise UnparseableAnswer(problem, raw)
    for name, value in given.items():
        parts = value if isinstance(value, list) else [value]
        if any(part is None or (isinstance(part, str) and not part.strip()) for part in parts):
            raise UnparseableAnswer(f"`{name}` is empty", raw)
    return make(kind, given, raw)


def make(kind: type[A], given: Mapping[str, Any], raw: str) -> A:
    """The answer with these fields. Raises UnparseableAnswer, which keeps `raw`."""
    try:
        return kind.model_validate_json(json.dumps(given))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        what = what[:1].lower() + what[1:]
        raise UnparseableAnswer(f"`{where}`: {what}" if where else what, raw) from None


class LevelWording(Record):
    """How one number is asked as a level question. `answers` are the labels, or empty for the rubric's anchors; `said`
    repeats the answer as context of the questions after it."""

    question: str
    answers: tuple[str, ...] = ()
    said: str = ""


class Wording(Record):
    """One step in one language.

    `task` instructs a chat model and `form` describes the JSON fields; `context` is what is known from earlier steps;
    `given` stands in its place before level questions, where a step has none. All are format strings over the rubric's
    ends `low` and `high`, its `question`, and the step's own context.
    """

    task: str
    context: str = ""
    given: str = ""
    form: dict[str, str]
    levels: dict[str, LevelWording]


@cache
def _texts(language: str) -> dict[str, Wording]:
    path = Path(__file__).parent / "texts" / f"{language}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.yaml")))
        raise ConfigError(
            f"judge styles have no wording in {language!r} (they have: {known}). Choose another `prompt=`."
        )
    return {name: Wording.model_validate(node) for name, node in yaml.safe_load(path.read_text("utf-8")).items()}


def wording(step: str, language: str) -> Wording:
    """The wording of a step. Raises ConfigError where the language has none."""
    return _texts(language)[step]
