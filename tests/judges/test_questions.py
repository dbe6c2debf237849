"""The wording of the steps: complete in each language, and the schemas that servers get."""

from __future__ import annotations

import pytest

from tests.conftest import FakeChat
from tests.judges.conftest import WORDINGS
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import WordsAsker
from undogmatic.judges.debate import Advocate, Critic, Debate, Decision, RedBlue
from undogmatic.judges.devils_advocate import Accuracy, Critique, SinglePass
from undogmatic.judges.questions import Answer, StepWording, numbers, repeats, schema
from undogmatic.judges.score import points_answer
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.rubric import Rubric

STEPS: dict[str, type[Answer]] = {
    "critique": Critique,
    "debate": Debate,
    "advocate": Advocate,
    "critic": Critic,
    "arbiter": Decision,
    "red_blue": RedBlue,
    "single_pass": SinglePass,
    "accuracy": Accuracy,
}


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("step", STEPS)
def test_every_field_is_worded_in_every_language(step: str, language: str, rubric: Rubric) -> None:
    words, kind = StepWording.model_validate(WORDINGS[language][step]), STEPS[step]
    assert list(words.form) == list(kind.model_fields)
    for name, number in numbers(kind).items():
        if not number.words_only:
            answers = words.levels[name].answers
            assert len(answers or rubric.levels) == len(number.levels(rubric))


def test_a_language_without_wording_names_those_that_have_one(prompt: Prompt, rubric: Rubric) -> None:
    spoken = WordsAsker(FakeChat(lambda _: ("", None)), prompt, rubric, {"pt": WORDINGS["pt"]})
    with pytest.raises(ConfigError, match=r"no wording in 'en' \(it has: pt\)"):
        spoken.question("critique", Critique)


def test_the_schema_requires_and_bounds_every_field(rubric: Rubric) -> None:
    made = schema(Critique, rubric)
    assert made["required"] == list(Critique.model_fields)
    assert made["additionalProperties"] is False
    assert made["properties"]["range_high"] == {"type": "number", "minimum": 0, "maximum": 100}
    assert made["properties"]["critique_strength"] == {"type": "number", "minimum": 0, "maximum": 10}
    asked = schema(Debate, rubric)["properties"]["advocate_strengths"]
    assert (asked["minItems"], asked["maxItems"]) == (3, 3)
    assert schema(Debate, rubric)["properties"]["compelling"]["enum"] == ["advocate", "critic", "neither"]


@pytest.mark.parametrize(
    ("given", "is_one"),
    [
        ("Argument with evidence.", True),
        ("argument 2 with evidence", True),
        ("…", True),
        (["It cites Tema 69.", "..."], True),
        ({"text": "No scope.", "severity": "minor"}, False),
        ("The argument is that no evidence is given.", False),
        ("1988", False),
        (True, False),
    ],
)
def test_what_only_repeats_the_form_is_told_from_an_argument(given: object, is_one: bool) -> None:
    assert repeats('["argument with evidence", "...", {"severity": "minor" | "major"}]', given) is is_one


def test_points_have_a_field_per_level_that_means_it(rubric: Rubric) -> None:
    marks = numbers(points_answer(rubric, "en"))
    assert [mark.meaning for mark in marks.values()] == ["0: none", "25: little", "50: half", "75: much", "100: all"]
