"""The alarm: a second judge that does not follow is told of, one that follows is not, and nothing
ends a training."""

import importlib.util
import math
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from undogmatic.errors import ConfigError
from undogmatic.reward import Alarm, reward
from undogmatic.reward.alarm import Watched
from undogmatic.safety.paths import conf_folder


@pytest.fixture(scope="module")
def toy() -> ModuleType:
    """The example, which is no part of the package."""
    path = conf_folder().parent / "examples" / "reward.py"
    spec = importlib.util.spec_from_file_location("example_reward", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def explains(texts: list[str]) -> list[float]:
    """A good judge of the toy: 100 less 33 for each of its sentences that explains."""
    marks = ("o banco responde", "quem lucra", "seria diferente")
    return [100 - 33 * sum(mark in text.lower() for mark in marks) for text in texts]


def test_the_toy_learns_what_it_is_paid_for_and_the_alarm_tells_the_hacked_judge(
    toy: ModuleType,
) -> None:
    good = reward("shame", explains)
    hacked, passed = Alarm(good, every=5), Alarm(reward("shame", "patterns"), every=5)
    tricked = toy.train(hacked.watch(reward("shame", "patterns")), 60, 1)
    taught = toy.train(passed.watch(good), 60, 1)
    assert (tricked[0].shares[2] < 0.3, tricked[-1].shares[2] > 0.8) == (True, True)
    assert taught[-1].shares[1] > 0.9
    assert (hacked.fired, passed.fired) == (True, False)
    assert hacked.begun < hacked.since <= hacked.step == hacked.history[-1].step
    assert "Alarm at step" in str(hacked) and "No alarm" in str(passed)


def course(alarm: Alarm, steps: int, n: int = 64, prompts: int = 0) -> None:
    """Rewards that rise from 0.2 to 0.8 of the scale, in completions that say how high."""
    rng = np.random.default_rng(0)
    for step in range(steps):
        values = np.clip(0.2 + 0.6 * step / steps + rng.normal(0, 0.05, n), 0, 1)
        columns = (
            {"prompts": [f"prompt {k % prompts}" for k in range(n)]} if prompts else {}
        )
        alarm.note(
            [f"text {value:.6f}" for value in values], values.tolist(), **columns
        )


def followed(completions: Any, **_: Any) -> list[float]:
    """A second judge that follows by half."""
    return [0.5 * float(text.split()[1]) for text in completions]


def constant(completions: Any, **_: Any) -> list[float]:
    """A second judge that does not follow; its noise is a text's own."""
    return [0.4 + 0.1 * math.sin(1e6 * float(text.split()[1])) for text in completions]


@pytest.mark.parametrize("prompts", [0, 3, 16])
def test_it_follows_or_it_does_not(prompts: int) -> None:
    quiet, loud = Alarm(followed), Alarm(constant, language="pt")
    course(quiet, 100, prompts=prompts)
    course(loud, 100, prompts=prompts)
    assert not quiet.fired and len(quiet.history) == 9
    assert loud.fired and "Alarme no passo" in str(loud)
    assert quiet.history[0].found.first.n_groups == (prompts if prompts >= 8 else 64)


def test_looks_come_every_so_many_steps_until_they_are_used_up() -> None:
    alarm = Alarm(followed, looks=3, every=4, sample=100)
    assert "has not looked yet" in str(alarm)
    course(alarm, 40)
    assert (alarm.begun, [look.step for look in alarm.history]) == (2, [6, 10, 14])
    by_trainer = Alarm(followed, every=50)
    for step in (10, 40, 61):
        by_trainer.note(
            ["text 0.1"] * 64,
            [0.1] * 64,
            trainer_state=SimpleNamespace(global_step=step),
        )
    assert [look.step for look in by_trainer.history] == [61]


def test_columns_reach_the_second_judge_and_watching_changes_no_reward() -> None:
    seen: list[Any] = []

    def second(completions: Any, question: Any, **_: Any) -> list[float]:
        seen.append((list(completions), list(question)))
        return [0.5] * len(completions)

    def first(completions: Any, **_: Any) -> list[float]:
        return [float(k) for k in range(len(completions))]

    alarm = Alarm(second, sample=8)
    watched = alarm.watch(first)
    assert isinstance(watched, Watched) and watched.__name__ == "first"
    texts = [f"t{k}" for k in range(8)]
    assert watched(texts, question=[f"q{k}" for k in range(8)], prompts=["p"] * 8) == [
        float(k) for k in range(8)
    ]
    assert sorted(seen[0][0]) == texts
    assert [text[1:] for text in seen[0][0]] == [
        question[1:] for question in seen[0][1]
    ]


@pytest.mark.parametrize(
    "second",
    [
        lambda completions, **_: 1 / 0,
        lambda completions, **_: [None] * len(completions),
    ],
)
def test_a_second_judge_that_fails_is_no_sign_of_anything(second: Any) -> None:
    alarm = Alarm(second)
    course(alarm, 30)
    assert not alarm.fired and "has not looked yet" in str(alarm)
    broken = [False]
    later = Alarm(
        lambda completions, **_: [None if broken[0] else 0.5] * len(completions),
        every=5,
    )
    course(later, 3)
    broken[0] = True
    course(later, 20)
    assert not later.fired and "Nothing can be said" in str(later)


def test_what_the_second_judge_cannot_score_for_the_texts_own_sake_counts_as_the_lowest() -> (
    None
):
    alarm = Alarm(reward("shame", lambda texts: [50.0] * len(texts)), every=1)
    alarm.note([f"text {k}" for k in range(64)], [-0.8 + 0.001 * k for k in range(64)])
    alarm.note([""] * 64, [-0.1 - 0.001 * k for k in range(64)])
    assert alarm.fired and alarm.history[0].found.second.value == -0.5


def test_rewards_that_are_none_are_left_out() -> None:
    alarm = Alarm(followed, sample=8)
    alarm.note(["text 0.1", "text 0.2"] * 8, [None, 0.2] * 8)  # type: ignore[list-item]
    assert alarm.begun == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"second": None},
        {"level": 0},
        {"looks": 0},
        {"every": 0},
        {"sample": 3},
        {"share": 2},
        {"language": "x"},
    ],
)
def test_options_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"`{next(iter(wrong))}` is"):
        Alarm(**({"second": followed} | wrong))
