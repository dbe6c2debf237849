"""What a judge or a readout is constructed with is its identity; what was rendered says what
reaches a model."""

import copy
from typing import Any

import numpy as np
import pytest

from tests.conftest import FakeChat, good_answer
from undogmatic.config import groups
from undogmatic.config.build import build
from undogmatic.judges.asker import WordsQuestion, asker_for
from undogmatic.judges.base import Judge, ways
from undogmatic.models.calls import Gateway
from undogmatic.readouts.base import Readout
from undogmatic.readouts.logprobs import LogprobsReadout
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.rubric import Rubric


class Words:
    """A part of a judge's, of a class of one's own."""

    def __init__(self, least: int) -> None:
        self.least = {"deep": np.array([least])}


class Mine(Judge):
    """A judge whose author says nothing of its settings."""

    name = "mine"

    def __init__(
        self, inner: Readout, words: Words, tolerance: float = 0.1, **more: Any
    ) -> None:
        super().__init__()
        self.held = {"inner": [inner]}


def made(least: int = 1, retries: int = 2, **options: Any) -> Mine:
    return Mine(StructuredReadout(retries=retries), Words(least), **options)


@pytest.mark.parametrize(
    "change", [{"tolerance": 0.2}, {"least": 2}, {"retries": 1}, {"further": "x"}]
)
def test_a_changed_argument_changes_the_program(change: dict[str, Any]) -> None:
    assert (
        made(**change).program_hash()
        != made().program_hash()
        == made(tolerance=0.1).program_hash()
    )


def test_a_copy_is_the_same_contents_stand_for_a_file_s_name_and_readouts_are_found_where_kept() -> (
    None
):
    judge = made(tolerance=0.3)
    assert (
        copy.deepcopy(judge).identity()
        == judge.deepcopy().identity()
        == judge.identity()
    )
    one, other = made(tolerance=0.1), made(tolerance=0.2)
    one.contents = other.contents = {"tolerance": "what was read"}
    assert one.program_hash() == other.program_hash()
    assert [source.name for source in made().readouts()] == ["structured"]


class OwnReadout(Readout):
    """No subclass of a shipped one; it hands on what it does not know."""

    def __init__(self, **options: Any) -> None:
        super().__init__()


def test_further_questions_have_the_temperature_of_a_readout_of_ones_own(
    prompt: Prompt, rubric: Rubric
) -> None:
    readout = OwnReadout(temperature=0.7)
    readout.bind(FakeChat(lambda _: ("", None)), prompt, rubric)
    asker = asker_for(readout, {})
    assert asker.asks is WordsQuestion
    assert (asker.options, asker.deterministic) == (
        {"temperature": 0.7, "top_p": 1.0},
        False,
    )


@pytest.mark.parametrize("base", [False, True], ids=["a chat model", "a base model"])
def test_a_prompt_says_whether_its_instructions_reach_the_model(
    prompt: Prompt, rubric: Rubric, base: bool
) -> None:
    """Two prompts "strict" and "kind" once sent a base model the same requests, and each was said
    to reach it."""
    model = FakeChat(lambda _: (good_answer(1), None))
    model.base = base
    model.connect(Gateway())
    shown = (Demonstration(inputs={"text": "Tema 69."}, score=100, rationale="cita"),)
    strict, kind = (
        prompt.model_copy(
            update={"id": name, "instructions": words, "demonstrations": shown}
        )
        for name, words in (
            ("strict", "Be severe with every citation."),
            ("kind", "Be kind to who cites."),
        )
    )
    asked = []
    for each in (strict, kind):
        readout: Any = LogprobsReadout() if base else StructuredReadout()
        readout.bind(model, each, rubric)
        asked += ways([readout])
    assert [way.without for way in asked] == [(), ()]
    assert "Be severe" in asked[0].text and "Be kind" in asked[1].text
    readout.predict.signature = readout.predict.signature.with_instructions(
        "Another question."
    )
    assert ways([readout])[0].without == ("instructions",)


def test_examples_with_several_inputs_reach_the_model() -> None:
    """They were said not to, because their inputs do not stand one behind the other without
    headings."""
    model = FakeChat(lambda _: (good_answer(1), None))
    model.base = True
    model.connect(Gateway())
    prompt, preference = (
        build(groups.plain(group, name, group), group)
        for group, name in (("prompt", "choices_en"), ("rubric", "preference"))
    )
    readout = LogprobsReadout()
    readout.bind(model, prompt, preference)
    assert ways([readout])[0].without == () and "Bonjour" in readout.shown()
