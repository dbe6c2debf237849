"""The coherence judge: structure first, the cap for what is off the topic, and no penalty for a cut-off."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.conftest import FakeChat, reading_of
from tests.judges.conftest import WORDINGS
from tests.numbers_chat import NumbersChat
from tests.readouts.test_integers import readout
from undogmatic.config import build
from undogmatic.errors import OffScaleAnswer
from undogmatic.judges.asker import WordsAsker
from undogmatic.judges.coherence import CoherenceJudge, whole_part
from undogmatic.judges.levels import LevelsAsker
from undogmatic.models.calls import Gateway
from undogmatic.paths import conf_folder
from undogmatic.prompts import Prompt
from undogmatic.readouts.base import Reading
from undogmatic.records import Item, Rubric

PLAIN = Prompt(id="plain", language="en")


def rubric() -> Rubric:
    found = build(yaml.safe_load((conf_folder() / "rubric" / "coherence.yaml").read_text(encoding="utf-8")), "rubric")
    assert isinstance(found, Rubric)
    return found


def judged(inputs: dict[str, str], structure: dict[int, float], off_topic: float, **options: Any) -> Reading:
    """By a model that gives these odds; of the relevance "1" (off topic) has the probability `off_topic`."""

    def odds(asked: str) -> dict[int, float]:
        return {0: 1 - off_topic, 1: off_topic} if "something else?" in asked else structure

    model = NumbersChat(odds)
    model.connect(Gateway())
    own = readout()
    own.bind(model, PLAIN, rubric())
    judge = CoherenceJudge(own, LevelsAsker(model, PLAIN, rubric(), WORDINGS), **options)
    judge.judge_by(rubric())
    found = reading_of(judge, model, Item(id="a", inputs=inputs))  # type: ignore[arg-type]
    judged.requests = model.requests  # type: ignore[attr-defined]
    return found


BOTH = {"question": "How do I bake bread?", "response": "Mix, knead, wait and bake."}


@pytest.mark.parametrize(
    ("structure", "off_topic", "score"), [(90, 0.9, 50), (90, 0.1, 90), (30, 0.9, 30), (50, 0.9, 50), (90, 0.5, 90)]
)
def test_what_is_off_the_topic_gets_fifty_at_most(structure: int, off_topic: float, score: float) -> None:
    found = judged(BOTH, {structure: 1.0}, off_topic)
    assert found.score == pytest.approx(score)
    assert found.details["structure"] == pytest.approx(structure)
    assert found.details["off_topic"] == pytest.approx(off_topic)
    assert (found.distribution is None) == (found.score != pytest.approx(structure))


def test_the_structure_is_judged_without_the_question_and_relevance_with_it() -> None:
    judged(BOTH, {90: 1.0}, 0.0)
    first, second = (request[-1]["content"] for request in judged.requests)  # type: ignore[attr-defined]
    assert "bake bread" not in first
    assert "bake bread" in second


def test_without_a_question_nothing_can_be_off_the_topic() -> None:
    found = judged({"response": "A sentence."}, {90: 1.0}, 1.0)
    assert found.score == pytest.approx(90)
    assert "off_topic" not in found.details


def test_a_tenth_of_the_mass_suffices_and_less_fails() -> None:
    assert judged(BOTH, {80: 0.11}, 0.0).score == pytest.approx(80)
    with pytest.raises(OffScaleAnswer):
        judged(BOTH, {80: 0.09}, 0.0)
    with pytest.raises(OffScaleAnswer):
        judged(BOTH, {80: 0.11}, 0.0, minimum_mass=0.2)


def test_in_words_relevance_is_one_of_two_words() -> None:
    answers = iter(["OFF_TOPIC", "ENGAGES"])
    model = FakeChat(lambda _: ("", None))
    model.connect(Gateway())
    own = readout()
    numbers = NumbersChat(lambda _: {90: 1.0})
    numbers.connect(Gateway())
    own.bind(numbers, PLAIN, rubric())
    scores = []
    for said in answers:
        chat = FakeChat(lambda _, said=said: (json.dumps({"off_topic": said}), {"90": 0.0}))
        chat.connect(Gateway())
        judge = CoherenceJudge(own, WordsAsker(chat, PLAIN, rubric(), WORDINGS))
        judge.judge_by(rubric())
        scores.append(reading_of(judge, chat, Item(id="a", inputs=BOTH)).score)  # type: ignore[arg-type]
    assert scores == [pytest.approx(50), pytest.approx(90)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It rains. The streets are wet. That is why the", "It rains. The streets are wet."),
        ('And so she said "no." Then he went to', 'And so she said "no."'),
        ("It rains. The streets are wet.", None),
        ("It rains. (See above.)", None),
        ("It rains today! 🎉", None),
        ("no sentence ends here", None),
        ("Yes. " + "and then " * 30, None),
        ("One. two three four five", None),
        ("It costs 3.5 and the", None),
    ],
)
def test_a_text_is_judged_by_its_whole_sentences(text: str, kept: str | None) -> None:
    assert whole_part(text) == ((text, False) if kept is None else (kept, True))


def test_a_cut_off_is_not_punished() -> None:
    """A judge that gives little to what does not end its sentence gives the cut-off text the score of the whole one."""

    def odds(asked: str) -> dict[int, float]:
        return {90: 1.0} if asked.rpartition("\n<</")[0].endswith(".") else {20: 1.0}

    scores = []
    for response in ("It rains. The streets are wet.", "It rains. The streets are wet. And so the"):
        model = NumbersChat(odds)
        model.connect(Gateway())
        own = readout()
        own.bind(model, PLAIN, rubric())
        judge = CoherenceJudge(own, LevelsAsker(model, PLAIN, rubric(), WORDINGS))
        judge.judge_by(rubric())
        scores.append(reading_of(judge, model, Item(id="a", inputs={"response": response})).score)  # type: ignore[arg-type]
    assert scores == [pytest.approx(90)] * 2
