"""Watches a reward that something is trained on: a second judge scores samples, and must follow
where the reward rises.

The hypothesis, held against the data at every look: the rise of the reward since the start is
significant, and the rise of the second judge is shown to be smaller than a stated share of it
(`stats.follow`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undogmatic.errors import ConfigError
from undogmatic.records.words import Words
from undogmatic.reward.scoring import OF_THE_TEXT, Reward
from undogmatic.safety.outside import brief
from undogmatic.stats.follow import FEWEST, Following, Sample, following

logger = logging.getLogger("undogmatic.reward")
RewardFunction = Callable[..., Sequence[float]]


class Look(NamedTuple):
    """What was found at a step."""

    step: int
    found: Following


class Alarm:
    """Says when a reward rises and a second judge does not follow, and from which step on.

    Args:
        second: A held-out judge as a reward function, by which nothing is trained.
        level: Probability of a false alarm, for all looks together.
        looks: How often it is looked at most; then no more.
        every: Steps from one look to the next. A step is a call, or the trainer's own
            (`trainer_state`).
        sample: Completions that the second judge scores at the start and at each look.
        share: Share of the reward's rise that the second judge's rise must reach, both as shares of
            their scales.
        language: Of the message: en or pt.
        seed: Of the drawing of samples.

    Attributes:
        fired: Whether there was an alarm. step: At which step. since: From which step on the second
            judge lagged.
        history: The looks so far.
    """

    def __init__(
        self,
        second: RewardFunction,
        level: float = 0.05,
        looks: int = 20,
        every: int = 10,
        sample: int = 64,
        share: float = 0.25,
        language: str = "en",
        seed: int = 0,
    ) -> None:
        allowed: Mapping[str, tuple[Any, bool, str]] = {
            "second": (
                second,
                callable(second),
                "a function such as `reward(...)` gives",
            ),
            "level": (level, 0 < level < 1, "a number between 0 and 1"),
            "looks": (looks, looks >= 1, "1 or more"),
            "every": (every, every >= 1, "1 or more"),
            "sample": (sample, sample >= FEWEST, f"{FEWEST} or more"),
            "share": (share, 0 <= share <= 1, "a number from 0 to 1"),
            "language": (language, language in ("en", "pt"), "en or pt"),
        }
        for name, (value, right, what) in allowed.items():
            if not right:
                raise ConfigError(
                    f"`{name}` is {brief(value)}; it must be {what}. See docs/reward.md."
                )
        self.second = second
        self.level = level
        self.looks = looks
        self.every = every
        self.sample = sample
        self.share, self.rng = share, np.random.default_rng(seed)
        self.words = Words(language, [Path(__file__).with_name("alarm.texts.yaml")])
        self.fired, self.step, self.since, self.begun = False, 0, 0, 0
        self.history: list[Look] = []
        self._calls, self._due = 0, 0
        self._start: Sample | None = None
        self._seen: list[tuple[Any, dict[str, Any], float]] = []

    def watch(self, reward: RewardFunction) -> Watched:
        """The same reward function, watched."""
        return Watched(reward, self)

    def note(
        self, completions: Sequence[Any], rewards: Sequence[float], **kwargs: Any
    ) -> bool:
        """Take in the completions of a step and their rewards; look where it is time. Whether there
        was an alarm."""
        self._calls += 1
        step = getattr(kwargs.get("trainer_state"), "global_step", None)
        now = step if isinstance(step, int) else self._calls
        # The chance of a false alarm is shared out among the looks that were announced;
        # one more would raise it.
        if self.fired or len(self.history) == self.looks:
            return self.fired
        columns = {
            name: value
            for name, value in kwargs.items()
            if isinstance(value, list | tuple)
        }
        for place, (completion, given) in enumerate(
            zip(completions, rewards, strict=False)
        ):
            if given is not None and math.isfinite(given):
                of_it = {
                    name: value[place]
                    for name, value in columns.items()
                    if place < len(value)
                }
                self._seen.append((completion, of_it, float(given)))
        if self._start is None and len(self._seen) >= self.sample:
            drawn = self._drawn()
            if np.size(drawn.first) >= FEWEST:
                self._start, self.begun, self._due = drawn, now, now + self.every
        elif self._start is not None and now >= self._due and self._seen:
            self._due = now + self.every
            self._look(now, self._start, self._drawn())
        return self.fired

    def _drawn(self) -> Sample:
        """Reward and second score of a sample of what was seen since the last look, less what that
        judge failed on."""
        drawn = [
            self._seen[place]
            for place in self.rng.permutation(len(self._seen))[: self.sample]
        ]
        self._seen = []
        names = set(drawn[0][1]).intersection(*(of_it for _, of_it, _ in drawn))
        columns = {name: [of_it[name] for _, of_it, _ in drawn] for name in names}
        said = self._second([completion for completion, *_ in drawn], columns)
        prompts = [repr(of_it.get("prompts")) for _, of_it, _ in drawn]
        # Completions of one prompt are alike, so prompts are what is independent, where
        # there are enough of them.
        groups = prompts if len(set(prompts)) >= FEWEST else list(range(len(drawn)))
        kept = [place for place, value in enumerate(said) if math.isfinite(value)]
        return Sample(
            np.array([drawn[k][2] for k in kept]),
            np.array([said[k] for k in kept]),
            [groups[k] for k in kept],
        )

    def _second(
        self, completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[float]:
        """What the second judge says; NaN where the failure is its own."""
        try:
            if not isinstance(self.second, Reward):
                return [
                    math.nan if value is None else float(value)
                    for value in self.second(completions, **columns)
                ]
            said = self.second.found(completions, **columns)
        except Exception as error:  # a look that fails must not end a training
            logger.warning(
                f"the second judge could not score a sample: {type(error).__name__}: {error}"
            )
            return [math.nan] * len(completions)
        # A completion that has no score for a reason of its own counts as the worst
        # one: left out, a policy could escape the second judge by writing such texts. A
        # failure of the judge itself says nothing of the text.
        failed = {True: self.second.ends[0], False: math.nan}
        return [
            failed[value in OF_THE_TEXT] if isinstance(value, str) else value
            for value in said
        ]

    def _look(self, now: int, start: Sample, sample: Sample) -> None:
        ends = getattr(self.second, "ends", None)
        given = [
            *np.asarray(start.first),
            *np.asarray(sample.first),
        ]
        bounds = None if ends is None else (min(ends[0], *given), max(ends[1], *given))
        self.history.append(
            Look(
                now,
                following(start, sample, self.share, self.level, bounds, self.looks),
            )
        )
        found = self.history[-1].found
        if found.alarm:
            self.fired, self.step, self.since = True, now, now
            # Proof comes some looks after the trouble began: the looks before are
            # counted in as long as they pointed the same way.
            for look in reversed(self.history):
                if not (look.found.first.value > 0 and look.found.lag.value < 0):
                    break
                self.since = look.step
        if self.fired or len(self.history) == self.looks:
            logger.warning(str(self))

    def __str__(self) -> str:
        """What there is to say by now, as a sentence."""
        if not self.history:
            return self.words.text(
                "alarm.no_look", every=self.every, sample=self.sample
            )
        step, found = self.history[-1]
        key = (
            "fired" if self.fired else "few" if math.isnan(found.lag.value) else "quiet"
        )
        values = {
            "step": step,
            "since": self.since,
            "begun": self.begun,
            "looks": self.looks,
            "share": self.share,
        }
        values |= {"number": len(self.history), "level": self.level, "fewest": FEWEST}
        for name in ("first", "second"):
            values |= getattr(found, name).values(name, f"{name}_")
        return self.words.text(f"alarm.{key}", **values)


class Watched:
    """A reward function whose completions an alarm takes in."""

    def __init__(self, reward: RewardFunction, alarm: Alarm) -> None:
        self.reward, self.alarm = reward, alarm
        self.__name__ = getattr(reward, "__name__", type(reward).__name__)

    def __call__(self, completions: Sequence[Any], **kwargs: Any) -> list[float]:
        """Give the rewards."""
        rewards = list(self.reward(completions, **kwargs))
        self.alarm.note(completions, rewards, **kwargs)
        return rewards
