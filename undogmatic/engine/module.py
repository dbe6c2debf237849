"""Makes the judge of a composed config a DSPy program of one's own: inputs of the rubric in, a
prediction out, with whatever of DSPy looks on."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from undogmatic.config.build import build, settings
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.errors import ConfigError, DataError
from undogmatic.judges.base import Judge
from undogmatic.readouts.chat import Guest, guest_of_dspy
from undogmatic.records.records import OVERALL, Item, Judgment, Verdict
from undogmatic.safety.loops import finished

TOLD = (
    "score",
    "category",
    "confidence",
    "interval",
    "rationale",
    "uncertainty",
    "issues",
)
"""The fields of a verdict that a prediction has under their own names."""


def compares(config: Mapping[str, Any]) -> bool:
    """Whether a composed config compares two programs, so that it has no one judge."""
    return settings(config).optimizes


class Composed:
    """A composed config with its judge, whose models are connected once, for calls from any thread;
    copies of a program share it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config, self._lock, self._connected = config, threading.Lock(), False
        self.parts: Parts = Recipe(config).build()
        if len(self.parts.judges) > 1 or self.parts.steps:
            raise ConfigError(
                "one judge is one program: name it with judge=, and leave `judges` and `steps` out."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Composed:
        return self

    def connect(self) -> None:
        """Connect the models, if they are not yet."""
        with self._lock:
            if not self._connected:
                engine = build(settings(self.config).engine, "engine")
                engine.connect(self.parts.model)
                self._connected = True

    def item(self, inputs: Mapping[str, Any]) -> Item:
        """The item that these inputs are. Raises DataError where one is missing, or is none of the
        rubric's."""
        rubric = self.parts.rubric
        shown = ", ".join(f"{name}=..." for name in rubric.inputs)
        needed = set(rubric.inputs) - set(rubric.optional if rubric.partial else ())
        if wrong := sorted(needed - set(inputs)) or sorted(
            set(inputs) - set(rubric.inputs)
        ):
            what = "is missing" if wrong[0] in needed else "is none of them"
            raise DataError(
                f"rubric={rubric.name} judges {shown}; `{wrong[0]}` {what}."
            )
        if empty := [name for name, value in inputs.items() if not str(value).strip()]:
            raise DataError(f"`{empty[0]}` is empty, so there is nothing to judge.")
        return Item(
            id="item", inputs={name: str(value) for name, value in inputs.items()}
        )

    def judgments(self, inputs: Mapping[str, Any]) -> Sequence[Judgment]:
        """What the judge says of these inputs, by criterion; an answer that could not be had is a
        Failure."""
        self.connect()
        item, step = self.item(inputs), self.parts.judges[0]

        async def judged() -> Sequence[Judgment]:
            try:
                return await step.process(item, 0)
            finally:
                # connections belong to this call's event loop
                await self.parts.model.close()

        with self.parts.asking():
            return finished(judged())


class JudgeModule(dspy.Module):
    """A judge as a DSPy program: `module(text="...")` gives a prediction with the fields `TOLD` of
    the verdict, and `verdict`; of a judge of several criteria `verdicts` by criterion.

    DSPy sees all of it: history, callbacks, traces, usage, status messages. An answer that could
    not be had raises ModelError: a failure is not a score.

    Args:
        composed: The composed config, whose model is asked.
        adapter: An adapter of DSPy's or of one's own that formats and reads requests in place of
            ours; the fence around judged texts is ours, and is gone then.
    Raises:
        ConfigError: An adapter for a judge that is not answered in words.
    """

    def __init__(self, composed: Composed, adapter: dspy.Adapter | None = None) -> None:
        super().__init__()
        self.judge: Judge = composed.parts.judge
        self.composed, self.adapter = composed, adapter
        read = {source.name for source in self.judge.readouts()}
        if adapter is not None and (other := sorted(read - {"structured", "samples"})):
            raise ConfigError(
                f"`adapter` is {type(adapter).__name__}, and readout={other[0]} reads no answer in"
                " words. Leave it out, or take readout=structured and a model that chats."
            )

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Judge the rubric's inputs."""
        self.composed.connect()
        item = self.composed.item(inputs)
        token = guest_of_dspy.set(Guest(self.adapter))
        try:
            with self.composed.parts.asking():
                judged = await self.judge.acall(item=item)
        finally:
            guest_of_dspy.reset(token)
        verdict = judged.get("verdict") or judged.get("verdicts", {}).get(OVERALL)
        told = dict(judged.items())
        if isinstance(verdict, Verdict):
            told |= {name: getattr(verdict, name) for name in TOLD}
        return dspy.Prediction(**told)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """`aforward` for callers without an event loop."""

        async def alone() -> dspy.Prediction:
            try:
                return await self.aforward(**inputs)
            finally:
                await self.composed.parts.model.close()

        return finished(alone())

    def __deepcopy__(self, memo: dict[int, Any]) -> JudgeModule:
        made = object.__new__(type(self))
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in vars(self).items()})
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """How `save(save_program=True)` keeps it: config, adapter, and what an optimiser changed.
        Neither a model's file nor a key is in it."""
        return remade, (self.composed.config, self.adapter, self.dump_state())


def remade(
    config: Mapping[str, Any], adapter: dspy.Adapter | None, state: dict[str, Any]
) -> JudgeModule:
    """The module that was saved, with the model built anew."""
    module = JudgeModule(Composed(config), adapter)
    module.load_state(state)
    return module
