from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.conftest import FakeChat, good_answer
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.calls import Gateway, ReplyCache, rollout
from undogmatic.prompts import Prompt
from undogmatic.readouts.base import Reading
from undogmatic.readouts.samples import SamplesReadout
from undogmatic.records import Item, Rubric


def read(model: FakeChat, prompt: Prompt, rubric: Rubric, gateway: Gateway, repeat: int = 0, n: int = 4) -> Reading:
    readout = SamplesReadout(n=n)
    model.connect(gateway)
    readout.bind(model, prompt, rubric)

    async def ask() -> Reading:
        with rollout(repeat):
            return (await readout.acall(item=Item(id="a", text="t"))).reading

    return asyncio.run(ask())


def test_the_spread_of_the_answers_is_the_distribution(prompt: Prompt, rubric: Rubric) -> None:
    scores = itertools.cycle([20, 40, 40, 60])
    reading = read(FakeChat(lambda _: (good_answer(next(scores)), None)), prompt, rubric, Gateway())
    assert reading.distribution is not None
    assert dict(zip(reading.distribution.values, reading.distribution.probabilities, strict=True)) == {
        20: 0.25,
        40: 0.5,
        60: 0.25,
    }
    assert reading.score == pytest.approx(40)


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
    answers = itertools.cycle([good_answer(10), good_answer(30)])
    model = FakeChat(lambda text: (next(answers), None))
    assert read(model, prompt, rubric, Gateway()).issues == ()
    with pytest.raises(UnparseableAnswer, match="4 of 4 answers failed"):
        read(FakeChat(lambda _: ("rubbish", None)), prompt, rubric, Gateway())


@pytest.mark.parametrize(("options", "key"), [({"n": 1}, "readout.n"), ({"temperature": 0.0}, "readout.temperature")])
def test_settings_that_make_no_spread_are_refused(options: dict, key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        SamplesReadout(**options)
