"""`logprobs`: one answer token; its log-probabilities over the level labels are the distribution."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy
import numpy as np

from undogmatic.errors import ConfigError, OffScaleAnswer, UnparseableAnswer
from undogmatic.readouts.base import Readout, entropy_reading
from undogmatic.readouts.chat import Messages, PromptAdapter, ask, before_the_text, language_model
from undogmatic.records import Item, Rubric, ScoreDistribution

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt


class LogprobsReadout(Readout):
    """Expected value over the rubric's levels, which are offered as the digits 0, 1, 2, ...

    A chat model gets the rubric as instructions; a base model (`model.base`) gets a plain text to continue. The mass
    that falls on anything but a level is kept as `off_scale`.

    Args:
        top: How many log-probabilities to ask for (hosted servers give 20 at most).
        minimum_mass: Below this share of probability on the levels, the answer is a Failure.
        calibration: A JSON file made by `undogmatic calibrate` for this model and prompt, or None for raw scores.
    """

    name = "logprobs"

    def __init__(self, top: int = 20, minimum_mass: float = 0.25, calibration: str | None = None) -> None:
        super().__init__()
        self.top, self.minimum_mass = top, minimum_mass
        self.calibration: dict[str, Any] | None = None
        self.calibration_path = calibration

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        if getattr(model, "base", False) and not prompt.demonstrations:
            raise ConfigError(
                f"{model.name} is a base model: it answers with a level only after examples, and prompt={prompt.id} "
                "shows none. Use a prompt with demonstrations, e.g. prompt=demos_pt."
            )
        if len(rubric.levels) > 10:
            raise ConfigError(
                f"readout=logprobs offers levels as digits; rubric={rubric.name} has {len(rubric.levels)}."
            )
        signature = dspy.Signature("text -> answer", prompt.system(rubric, "level"))
        self.predict = dspy.Predict(signature)
        self.predict.demos = [
            dspy.Example(text=d.text, answer=str(nearest_level(d.score, rubric))).with_inputs("text")
            for d in prompt.shown()
        ]
        self.predict.lm = language_model(model, temperature=0.0, max_tokens=1, logprobs=True, top_logprobs=self.top)
        self._render = self._continuation if getattr(model, "base", False) else self._messages
        self.adapter = PromptAdapter(self._render)
        if self.calibration_path is not None:
            self.calibration = load_calibration(self.calibration_path, model.name, prompt.hash(rubric))

    def _messages(self, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> Messages:
        messages: Messages = [{"role": "system", "content": self.predict.signature.instructions}]
        for demo in demos:
            messages.append({"role": "user", "content": self.prompt.user(demo["text"])})
            messages.append({"role": "assistant", "content": demo["answer"]})
        messages.append({"role": "user", "content": self.prompt.user(inputs["text"])})
        return messages

    def _continuation(self, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> Messages:
        shots = tuple((demo["text"], int(demo["answer"])) for demo in demos)
        return continuation(self.prompt.completion(self.rubric, shots, inputs["text"]))

    async def aforward(self, item: Item) -> dspy.Prediction:
        prediction = await ask(self.predict, self.adapter, text=item.text)
        distribution = level_distribution(first_token(prediction), self.rubric.levels, self.minimum_mass)
        if self.calibration is None:
            return dspy.Prediction(reading=entropy_reading(distribution))
        from undogmatic.stats import calibration as calibrators

        raw = distribution.expectation
        if self.calibration["method"] == "content_free":
            probabilities = calibrators.apply(self.calibration["parameters"], np.array(distribution.probabilities))
            even = ScoreDistribution(
                values=distribution.values,
                probabilities=tuple(probabilities.tolist()),
                off_scale=distribution.off_scale,
            )
            return dspy.Prediction(reading=entropy_reading(even, raw_score=raw))
        score = float(calibrators.apply(self.calibration["parameters"], np.array([raw]))[0])
        return dspy.Prediction(reading=entropy_reading(distribution, score=score, raw_score=raw))

    def fitted_on(self) -> frozenset[str]:
        return frozenset(self.calibration["texts"]) if self.calibration is not None else frozenset()

    def shown(self) -> str:
        messages = self._render(self.predict.demos, {"text": ""})
        return str(messages[0]["content"]) if self._render == self._continuation else before_the_text(messages)

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "top": self.top,
            "minimum_mass": self.minimum_mass,
            "calibration": self.calibration,
            "demos": [dict(d) for d in self.predict.demos],
            "instructions": self.predict.signature.instructions,
        }


def first_token(prediction: dspy.Prediction) -> list[tuple[str, float]]:
    """Candidates for the first token of the answer with their natural log-probabilities, as the model sent them.

    Raises:
        UnparseableAnswer: It sent none.
    """
    tokens = getattr(prediction, "logprobs", None)
    content = tokens["content"] if tokens else []
    if not content:
        raise UnparseableAnswer(
            "the server sent no log-probabilities; use readout=structured, or a server that supports `logprobs`",
            prediction.answer,
        )
    top = [(t["token"], t["logprob"]) for t in content[0]["top_logprobs"]]
    return top or [(content[0]["token"], content[0]["logprob"])]


def continuation(parts: Sequence[str]) -> Messages:
    """A text for a base model to continue: one message per part."""
    return [{"role": "user", "content": part} for part in parts]


def nearest_level(score: float, rubric: Rubric) -> int:
    """Index of the level closest to `score` (the lower one at a tie)."""
    return int(np.argmin([abs(value - score) for value in rubric.levels]))


def level_distribution(
    top: Iterable[tuple[str, float]], values: Sequence[float], minimum_mass: float
) -> ScoreDistribution:
    """Token log-probabilities -> distribution over levels labelled "0", "1", ...

    Spellings that differ in surrounding white space are added up. Tokens outside the list are unknown mass and count
    as off the scale.

    Args:
        top: Pairs of token text and natural log-probability.
        values: Level values in score units; label n stands for values[n].
        minimum_mass: Least share of probability on the labels.
    Raises:
        OffScaleAnswer: If the labels carry less than `minimum_mass`.
    """
    mass = [0.0] * len(values)
    seen = []
    for token, logprob in top:
        label = token.replace("\u2581", " ").strip()
        seen.append(f"{label!r} {math.exp(logprob):.2f}")
        if label.isascii() and label.isdigit() and str(int(label)) == label and int(label) < len(values):
            mass[int(label)] += math.exp(logprob)
    total = math.fsum(mass)
    if total < minimum_mass or total <= 0:
        raise OffScaleAnswer(
            f"the levels carry {total:.3f} of the probability, less than readout.minimum_mass={minimum_mass:g}",
            ", ".join(seen[:8]),
        )
    return ScoreDistribution(
        values=tuple(values), probabilities=tuple(m / total for m in mass), off_scale=min(1.0, max(0.0, 1.0 - total))
    )


def load_calibration(path: str, model: str, prompt_hash: str) -> dict[str, Any]:
    """Read a calibration and check that it was fitted for this model and prompt. Raises ConfigError."""
    file = Path(path)
    if not file.is_file():
        raise ConfigError(
            f"`readout.calibration` is {path!r}, which does not exist. Make one with `undogmatic calibrate`, "
            "or leave it null."
        )
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for key in ("model", "prompt_hash", "method", "texts", "parameters"):
            data[key]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} is not a calibration file ({error}). Make one with `undogmatic calibrate`."
        ) from None
    for key, actual in (("model", model), ("prompt_hash", prompt_hash)):
        if data[key] != actual:
            raise ConfigError(
                f"{path} was fitted for {key} {data[key]!r}, this run has {actual!r}. Fit one for this combination "
                "with `undogmatic calibrate`."
            )
    return data
