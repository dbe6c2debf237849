from __future__ import annotations

import itertools

import pytest

from tests.conftest import FakeChat, good_answer, reading_of
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.samples import SamplesReadout
from undogmatic.records.records import Verdict
from undogmatic.records.rubric import Rubric


def read(
    model: FakeChat, prompt: Prompt, rubric: Rubric, gateway: Gateway, repeat: int = 0, n: int = 4, retries: int = 2
) -> Verdict:
    readout = SamplesReadout(n=n, retries=retries)
    model.connect(gateway)
    readout.bind(model, prompt, rubric)
    return reading_of(readout, model, repeat=repeat)


def test_the_spread_of_the_answers_is_the_distribution(prompt: Prompt, rubric: Rubric) -> None:
    scores = itertools.cycle([20, 40, 40, 60])
    reading = read(FakeChat(lambda _: (good_answer(next(scores)), None)), prompt, rubric, Gateway())
    assert reading.distribution is not None
    assert reading.distribution.values == rubric.levels
    assert reading.distribution.probabilities == pytest.approx((0.05, 0.4, 0.45, 0.1, 0))
    assert reading.distribution.expectation == pytest.approx(reading.score) == pytest.approx(40)
    assert reading.doubt == pytest.approx(200**0.5)


@pytest.mark.parametrize(
    ("answers", "confidence"),
    [
        ((70, 70, 70, 71, 71), 99.0),
        ((62, 62, 63, 63), 99.0),  # on both sides of the border between two levels
        ((70, 70, 70, 70), 100.0),
        ((0, 100, 0, 100), 0.0),
        ((0, 50, 100, 50), 29.3),
    ],
)
def test_the_confidence_says_how_far_answers_agree_not_how_many_differ(
    answers: tuple[int, ...], confidence: float, prompt: Prompt, rubric: Rubric
) -> None:
    scores = iter(answers)
    reading = read(FakeChat(lambda _: (good_answer(next(scores)), None)), prompt, rubric, Gateway(), n=len(answers))
    assert (reading.confidence, reading.confidence_source) == (pytest.approx(confidence, abs=0.05), "procedure")


def test_each_answer_is_a_call_of_its_own_and_a_rerun_is_answered_by_the_cache(
    prompt: Prompt, rubric: Rubric, tmp_path
) -> None:
    counter = itertools.count()
    model = FakeChat(lambda _: (good_answer(next(counter)), None))
    cache = ReplyCache(tmp_path / "replies")
    first = read(model, prompt, rubric, Gateway(cache))
    again = read(model, prompt, rubric, Gateway(cache))
    other_repeat = read(model, prompt, rubric, Gateway(cache), repeat=1)
    cache.close()
    assert len(model.requests) == 8
    assert first == again
    assert other_repeat.score > first.score


def test_failures_are_named_and_too_many_are_a_failure(prompt: Prompt, rubric: Rubric) -> None:
    answers = itertools.cycle([good_answer(10), "rubbish", good_answer(30), good_answer(50)])
    reading = read(FakeChat(lambda _: (next(answers), None)), prompt, rubric, Gateway(), retries=0)
    assert reading.score == pytest.approx(30)
    (issue,) = reading.issues
    assert issue.startswith("unparseable: ")
    whole = read(FakeChat(lambda _: (good_answer(10), None)), prompt, rubric, Gateway())
    assert whole.issues == ()
    with pytest.raises(UnparseableAnswer, match="4 of 4 answers failed"):
        read(FakeChat(lambda _: ("rubbish", None)), prompt, rubric, Gateway())


@pytest.mark.parametrize(("options", "key"), [({"n": 1}, "readout.n"), ({"temperature": 0.0}, "readout.temperature")])
def test_settings_that_make_no_spread_are_refused(options: dict, key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        SamplesReadout(**options)
