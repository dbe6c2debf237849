"""Whole numbers as answers: one call where they are tokens, a bounded number where they are split
into digits."""

import itertools
from typing import Any

import pytest

from tests.conftest import FakeChat, reading_of
from tests.rubrics import COLOURS, HUNDRED, TEN, NumbersChat
from undogmatic.config.build import build
from undogmatic.config.groups import plain
from undogmatic.errors import ConfigError, OffScaleAnswer, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway
from undogmatic.readouts.integers import IntegersReadout
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric

PLAIN = Prompt(id="plain", language="en")
DEMOS = Prompt(
    id="demos",
    language="en",
    demonstrations=(
        Demonstration(
            inputs={"text": "all of it"}, score=93, rationale="It is all there."
        ),
        Demonstration(
            inputs={"text": "none of it"}, score=4, rationale="Nothing is there."
        ),
    ),
)
SPREAD = {87: 0.3, 80: 0.2, 8: 0.1, 100: 0.1, 10: 0.1, 1: 0.05, 0: 0.05}
MEAN = sum(number * mass for number, mass in SPREAD.items()) / sum(SPREAD.values())


def readout(**options: Any) -> IntegersReadout:
    found = build(plain("readout", "integers", "readout") | options, "readout")
    assert isinstance(found, IntegersReadout)
    return found


def read(
    model: Model,
    prompt: Prompt = PLAIN,
    rubric: Rubric = HUNDRED,
    text: str = "t",
    **options: Any,
) -> Verdict:
    own = readout(**options)
    model.connect(Gateway())
    own.bind(model, prompt, rubric)
    return reading_of(own, model, Item(id="a", text=text))


@pytest.mark.parametrize("digits", [False, True])
@pytest.mark.parametrize("base", [False, True])
def test_the_score_is_the_mean_over_whole_numbers_however_they_are_split(
    digits: bool, base: bool
) -> None:
    model = NumbersChat(lambda _: SPREAD, digits=digits, base=base)
    found = read(model, DEMOS if base else PLAIN)
    assert found.score == pytest.approx(
        MEAN
    ) and found.distribution.off_scale == pytest.approx(0.1)
    assert found.distribution.probabilities[87] == pytest.approx(1 / 3)
    assert len(found.distribution.values) == 101
    if not digits and not base:
        assert len(model.requests) == 1


def test_further_calls_are_bounded_and_too_little_on_the_numbers_is_a_failure_and_never_a_score() -> (
    None
):
    odds = {number: 0.1 for number in range(5, 100, 10)}
    model = NumbersChat(lambda _: odds, digits=True, base=True)
    found = read(model, DEMOS, look_ahead=3)
    assert len(model.requests) == 4
    assert found.details["look_ahead"] == 3
    # 5 and 55 by the first of the three calls
    assert found.distribution.off_scale == pytest.approx(0.6)
    with pytest.raises(
        OffScaleAnswer, match=r"carry 0\.200 .* readout\.minimum_mass=0\.25"
    ):
        read(NumbersChat(lambda _: odds, digits=True, base=True), DEMOS, look_ahead=1)
    with pytest.raises(OffScaleAnswer):
        read(NumbersChat(lambda _: {50: 0.2}))
    assert read(NumbersChat(lambda _: {50: 0.2}), minimum_mass=0.1).score == 50


def test_models_without_log_probabilities_or_that_answer_anew_and_scales_without_whole_numbers_are_refused() -> (
    None
):
    model = NumbersChat(lambda _: SPREAD)
    model.readouts = ("structured", "samples")
    with pytest.raises(
        ConfigError,
        match=r"readout=integers does not work.*it serves: structured, samples",
    ):
        read(model)
    with pytest.raises(UnparseableAnswer, match="sent no log-probabilities"):
        read(FakeChat(lambda _: ("50", None)))
    model = NumbersChat(lambda _: SPREAD, digits=True, goes_on=False)
    with pytest.raises(
        ConfigError, match=r"splits numbers into digits.*readout=logprobs"
    ):
        read(model)
    with pytest.raises(
        ConfigError, match=r"readout=integers reads whole numbers.*readout=logprobs"
    ):
        read(NumbersChat(lambda _: SPREAD), rubric=COLOURS)
    assert read(
        NumbersChat(lambda _: {10: 0.5, 1: 0.4, 11: 0.1}, digits=True), rubric=TEN
    ).score == pytest.approx(6)


def test_a_base_model_gets_examples_as_numbers_and_a_chat_the_guide_and_is_asked_for_a_number_alone() -> (
    None
):
    with pytest.raises(ConfigError, match="answers with a number only after examples"):
        read(NumbersChat(lambda _: SPREAD, base=True))
    model = NumbersChat(lambda _: SPREAD, base=True)
    read(model, DEMOS, text="some\nof it")
    asked = "".join(message["content"] for message in model.requests[0])
    assert asked.index("Text: all of it\nScore:93") < asked.index(
        "Text: none of it\nScore:4"
    )
    assert asked.endswith("Text: some of it\nScore:")
    assert "LOW (0-30) = little of it" in asked
    model = NumbersChat(lambda _: SPREAD)
    read(model, DEMOS)
    system, *turns = model.requests[0]
    assert "HIGH (70-100) = much of it" in system["content"]
    assert system["content"].endswith(
        "Answer with one whole number from 0 to 100 and nothing else."
    )
    assert [turn["content"] for turn in turns if turn["role"] == "assistant"] == [
        "93",
        "4",
    ]


def test_with_reasoning_a_reason_comes_first_and_stands_before_the_number() -> None:
    prompt = DEMOS.model_copy(update={"reasoning": True})
    chat = NumbersChat(lambda _: SPREAD, reason="Most of it is there.")
    found = read(chat, prompt)
    assert (found.rationale, found.score) == (
        "Most of it is there.",
        pytest.approx(MEAN),
    )
    first, second = chat.requests
    assert [turn["content"] for turn in first if turn["role"] == "assistant"] == [
        "It is all there.",
        "93",
        "Nothing is there.",
        "4",
    ]
    assert second[-2]["content"] == "Most of it is there."
    assert "no number yet" in first[0]["content"]

    base = NumbersChat(lambda _: SPREAD, base=True)
    read(base, prompt)
    asked = [
        "".join(message["content"] for message in request)
        for request in base.requests[:2]
    ]
    assert asked[0].endswith("Text: t\nReason:")
    assert "Text: all of it\nReason: It is all there.\nScore:93" in asked[0]
    assert asked[1].endswith("Text: t\nReason: It says so.\nScore:")


def test_without_the_guide_the_prose_stands_in_its_place() -> None:
    wording = HUNDRED.wordings["en"].model_copy(
        update={"prose": "In prose.", "distinctions": ("not that",)}
    )
    rubric = HUNDRED.model_copy(update={"wordings": {"en": wording}})
    shown = []
    for anchors in (True, False):
        model = NumbersChat(lambda _: SPREAD)
        read(model, PLAIN.model_copy(update={"anchors": anchors}), rubric)
        shown.append(model.requests[0][0]["content"])
    assert "- not that" in shown[0] and "In prose." not in shown[0]
    assert "In prose." in shown[1] and "- not that" not in shown[1]
    assert "LOW" not in shown[1]


def test_what_it_asks_determines_its_identity() -> None:
    prompts = (PLAIN, PLAIN.model_copy(update={"reasoning": True}))
    found = []
    for prompt, ahead in itertools.product(prompts, (3, 10)):
        own = readout(look_ahead=ahead)
        own.bind(NumbersChat(lambda _: SPREAD), prompt, HUNDRED)
        found.append([own.identity(), prompt.hash(HUNDRED)])
    assert all(one != other for one, other in itertools.combinations(found, 2))
