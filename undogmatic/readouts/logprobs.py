"""`logprobs`: one answer token; its log-probabilities over the level labels are the
distribution."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import dspy
import numpy as np
from pydantic import Field

from undogmatic.config import groups
from undogmatic.errors import ConfigError, DataError, OffScaleAnswer, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.models.calls import reading
from undogmatic.readouts import adapter
from undogmatic.readouts.base import Readout, shown_inputs
from undogmatic.readouts.chat import ask
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, ScoreDistribution, Verdict, entropy_verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import brief, read_json


class LogprobsReadout(Readout):
    """Expected value over the rubric's levels, which are offered under one-token labels
    (`Rubric.labels`).

    A chat model gets the rubric as instructions; a base model (`model.base`) gets a plain text to
    continue. The mass that falls on anything but a level is kept as `off_scale`.
    """

    name = "logprobs"
    needs = "logprobs"

    def __init__(
        self,
        top: Annotated[
            int, Field(ge=1, le=1000)
        ] = 20,  # log-probabilities to ask for (hosted servers give 20 at most)
        minimum_mass: Annotated[
            float, Field(ge=0, le=1)
        ] = 0.25,  # on the levels; with less it is a Failure
        # a file of `undogmatic calibrate` for this model and prompt; None: raw scores
        calibration: str | None = None,
        # whether a base model may be asked without examples: as a baseline of optimisation
        zero_shot: bool = False,
    ) -> None:
        super().__init__()
        self.top, self.minimum_mass, self.zero_shot = top, minimum_mass, zero_shot
        self.calibration: dict[str, Any] | None = None
        self.calibration_path = calibration

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        # A base model continues the text before it. Without examples what follows is
        # anything but a level.
        if not (prompt.brings_program or self.zero_shot):
            check_examples(model, prompt, rubric, "level")
        check_labels(rubric)
        level = adapter.level(
            rubric.labels,
            rubric.meanings(prompt.language),
            rubric.levels,
            is_score=True,
        )
        task = prompt.task(rubric)
        # it continues a text, which begins with the instructions, if there are any, and the
        # question
        if model.base:
            levels = prompt.level_lines(rubric) if prompt.anchors else None
            question = rubric.wordings[prompt.language].question
            task = "\n".join(
                part.strip() for part in (prompt.instructions, question, levels) if part
            )
        settings = {
            # The probabilities are read, and not the token: sampling would only make
            # the same call look like another.
            "temperature": 0.0,
            # The answer is one token; what comes behind it was decided by it.
            "max_tokens": 1,
            "logprobs": True,
            "top_logprobs": self.top,
        }
        self.predict = self.predictor(task, {"level": level}, "rubric", **settings)
        for demo in self.predict.demos:
            demo["score"] = rubric.scale.read(demo["score"])
        about = f"{prompt.definition(rubric)}\n\n{prompt.level_lines(rubric)}"
        self.given = {} if model.base else {"the_rubric": about}
        self.adapter = adapter.JudgeAdapter(prompt.words, model.base)
        if self.calibration_path is not None:
            self.calibration = load_calibration(
                self.calibration_path, model.name, prompt.hash(rubric)
            )
            self.contents = {"calibration": self.calibration}

    async def read(self, item: Item) -> Verdict:
        rubric = self.rubric
        prediction = await ask(
            self.predict, self.adapter, **shown_inputs(item, rubric), **self.given
        )
        levels = level_distribution(
            first_token(prediction), rubric.labels, rubric.levels, self.minimum_mass
        )
        if self.calibration is None:
            return entropy_verdict(levels)
        from undogmatic.stats import calibration as calibrators

        # The raw score is kept beside the calibrated one, so that what a calibration
        # changed can be seen.
        raw, parameters = levels.expectation, self.calibration["parameters"]
        if self.calibration["method"] == "content_free":
            even = calibrators.apply(
                parameters, np.array(levels.probabilities)
            ).tolist()
            spread = ScoreDistribution(**levels.model_dump() | {"probabilities": even})
            return entropy_verdict(spread, raw_score=raw)
        score = float(calibrators.apply(parameters, np.array([raw]))[0])
        return entropy_verdict(levels, score=score, raw_score=raw)

    def fitted_on(self) -> frozenset[str]:
        return (
            frozenset(self.calibration["texts"])
            if self.calibration is not None
            else frozenset()
        )


def check_labels(rubric: Rubric) -> None:
    """Raise ConfigError where one token cannot name each level."""
    if len(rubric.labels) < len(rubric.levels):
        raise ConfigError(
            f"readout=logprobs offers levels as digits or letters; rubric={rubric.name} has"
            f" {len(rubric.levels)}, more than there are letters. Give it a guide with fewer"
            " anchors, or use readout=structured."
        )


def check_examples(model: Model, prompt: Prompt, rubric: Rubric, what: str) -> None:
    """Raise ConfigError for a base model that is shown no example of `what` it shall answer
    with."""
    if not model.base or prompt.shown():
        return
    nodes = (
        (name, groups.plain("prompt", name, "prompt"))
        for name in groups.options("prompt")
    )
    shown = ("demonstrations", "shipped", "examples")
    shows = [
        (name, node) for name, node in nodes if any(node.get(key) for key in shown)
    ]
    fit = [f"prompt={name}" for name, node in shows if _may_show(node, rubric)]
    advice = f"use one with examples for this rubric ({', '.join(fit[:3])})"
    if not fit:
        advice = (
            "add ++prompt.examples=8, and eight labelled rows of the dataset become examples and"
            " are not judged"
        )
    raise ConfigError(
        f"{model.name} is a base model: it answers with a {what} only after examples, and"
        f" prompt={prompt.id} shows none. Two ways lead on: {advice}; or ask an instruction model:"
        " model=qwen."
    )


def _may_show(node: Mapping[str, Any], rubric: Rubric) -> bool:
    """Whether a prompt's examples can be of this rubric: they are written for it or for none, and
    have what it shows."""
    needed = set(rubric.inputs) - set(rubric.optional)
    demonstrations = node.get("demonstrations") or ()
    whole = all(needed <= set(demo.get("inputs") or demo) for demo in demonstrations)
    return whole and node.get("rubric") in (None, rubric.name)


def sent_tokens(prediction: dspy.Prediction) -> list[Any]:
    """The tokens of an answer as the server sent them. Raises UnparseableAnswer where it sent
    none."""
    tokens = getattr(prediction, "logprobs", None)
    if not tokens or not tokens["content"]:
        raise UnparseableAnswer(
            "the server sent no log-probabilities; use readout=structured, or a server that"
            " supports `logprobs`",
            prediction.level,
        )
    return list(tokens["content"])


@reading(None)
def first_token(prediction: dspy.Prediction) -> list[tuple[str, float]]:
    """Candidates for the first token of the answer with their natural log-probabilities, as the
    model sent them. Raises UnparseableAnswer where it sent none."""
    first = sent_tokens(prediction)[0]
    return [
        (each["token"], each["logprob"]) for each in first["top_logprobs"] or [first]
    ]


@reading(None)
def level_distribution(
    top: Iterable[tuple[str, float]],
    labels: Sequence[str],
    values: Sequence[float],
    minimum_mass: float,
) -> ScoreDistribution:
    """Token log-probabilities -> distribution over levels by their labels.

    Spellings that differ in surrounding white space are added up. A label that is a word is met by
    any token that it begins with, in capitals or not. Tokens outside the list are unknown mass and
    count as off the scale.

    Args:
        top: Pairs of token text and natural log-probability.
        labels: What stands for each level, shape (n_levels,).
        values: Level values in score units, shape (n_levels,).
        minimum_mass: Least share of probability on the labels; with less, OffScaleAnswer is raised.
    """
    mass = [0.0] * len(values)
    seen = []
    for token, logprob in top:
        label = token.replace("\u2581", " ").strip()
        seen.append(f"{label!r} {math.exp(logprob):.2f}")
        meant = [
            n
            for n, each in enumerate(labels)
            if label == each
            or (
                label and len(each) > 1 and each.casefold().startswith(label.casefold())
            )
        ]
        if len(meant) == 1:
            mass[meant[0]] += math.exp(logprob)
    return distribution(values, mass, minimum_mass, "the levels", seen)


def distribution(
    values: Sequence[float],
    masses: Sequence[float],
    minimum_mass: float,
    what: str,
    seen: Sequence[str],
) -> ScoreDistribution:
    """The distribution over values by the probability that they have, what they lack of 1 as off
    the scale. Raises OffScaleAnswer where that is less than `minimum_mass`: `what` says what they
    are, and `seen` what was answered.
    """
    total = math.fsum(masses)
    if total < minimum_mass or total <= 0:
        least = f"less than readout.minimum_mass={minimum_mass:g}"
        raise OffScaleAnswer(
            f"{what} carry {total:.3f} of the probability, {least}", ", ".join(seen[:8])
        )
    shares = tuple(mass / total for mass in masses)
    off_scale = min(1.0, max(0.0, 1.0 - total))
    return ScoreDistribution(
        values=tuple(values), probabilities=shares, off_scale=off_scale
    )


def load_calibration(path: str, model: str, prompt_hash: str) -> dict[str, Any]:
    """Read a calibration and check that it was fitted for this model and prompt. Raises
    ConfigError."""
    from undogmatic.stats import calibration as calibrators

    if not Path(path).exists():
        raise ConfigError(
            f"`readout.calibration` is {path!r}, which does not exist. Make one with `undogmatic"
            " calibrate`, or leave it null."
        )
    try:
        data: Any = read_json(Path(path))
    except DataError as error:
        raise ConfigError(f"`readout.calibration` is {brief(path)}: {error}") from None
    problem, keys = None, ("model", "prompt_hash", "method", "texts", "parameters")
    if not isinstance(data, dict):
        problem = "it holds no object"
    elif missing := [key for key in keys if key not in data]:
        problem = f"it has no `{missing[0]}`"
    elif not isinstance(data["texts"], list) or not all(
        isinstance(mark, str) for mark in data["texts"]
    ):
        problem = "`texts` is no list of marks"
    else:  # its parameters are tried
        try:
            tried = np.array([0.0, 1.0, 50.0])
            if data["method"] == "content_free":
                tried = np.full(
                    count := len(data["parameters"]["weights"]), 1 / max(1, count)
                )
            with np.errstate(over="ignore", invalid="ignore"):
                if not np.isfinite(calibrators.apply(data["parameters"], tried)).all():
                    problem = "`parameters` give no finite scores"
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            problem = f"`parameters`: {str(error)[:200]}"
    if problem is not None:
        raise ConfigError(
            f"{path} is not a calibration file ({problem}). Make one with `undogmatic calibrate`."
        )
    for key, actual in (("model", model), ("prompt_hash", prompt_hash)):
        if data[key] != actual:
            raise ConfigError(
                f"{path} was fitted for {key} {brief(data[key])}, this run has {actual!r}. Fit one"
                " for this combination with `undogmatic calibrate`."
            )
    return data  # type: ignore[no-any-return]
