"""Readouts of models that judge by themselves: `decision` (System One), `rules`; and the rivals of
a rubric."""

import functools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undogmatic.config.build import build
from undogmatic.errors import ConfigError, OffScaleAnswer, UnparseableAnswer
from undogmatic.models.base import Decides, Model, Rates
from undogmatic.models.calls import reading
from undogmatic.models.language_model import served_model
from undogmatic.readouts import adapter
from undogmatic.readouts.base import Readout, shown_inputs, shown_text
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.marks import text_marks
from undogmatic.records.records import Item, ScoreDistribution, Verdict, entropy_verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.loops import finished

SUM_TOLERANCE = 0.02  # servers round to 2-4 decimals


class DecisionReadout(Readout):
    """One typed score question; the criteria are the rubric's anchors, the judged text is the
    state.

    The confidence is recomputed from the probabilities, because servers define theirs differently.
    """

    name = "decision"
    needs = "decision"

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        _able(model, Decides)
        if not 2 <= len(rubric.levels) <= 10:
            raise ConfigError(
                f"a score question takes 2 to 10 levels; rubric={rubric.name} has"
                f" {len(rubric.levels)}."
            )
        level = adapter.level(
            rubric.labels,
            rubric.meanings(prompt.language),
            rubric.levels,
            is_score=True,
        )
        task = f"{prompt.task(rubric)}\n{prompt.definition(rubric)}".strip()
        # A predictor, so that optimisers find the instructions and demonstrations; it is asked as a
        # typed question.
        self.predict = self.predictor(task, {"level": level})

    async def read(self, item: Item) -> Verdict:
        name = self.rubric.score_field
        state = shown_inputs(item, self.rubric) | self._demos()
        answers = await _able(served_model(), Decides).decide(
            state, {name: self._ask()}
        )
        return entropy_verdict(
            parse_score_answer(answers.get(name), self.rubric.levels)
        )

    def shown(self) -> str:
        return json.dumps(self._ask() | self._demos(), indent=2, ensure_ascii=False)

    def _ask(self) -> dict[str, Any]:
        criteria = self.rubric.meanings(self.prompt.language)
        return {
            "type": "score",
            "instructions": self.predict.signature.instructions,
            "criteria": criteria,
        }

    def _demos(self) -> dict[str, Any]:
        names, field = self.rubric.inputs, self.rubric.score_field
        whole = [
            demo
            for demo in map(dict, self.predict.demos)
            if {"score", *names} <= demo.keys()
        ]
        demos = [
            {name: demo[name] for name in names} | {field: demo["score"]}
            for demo in whole
        ]
        return {"demos": demos} if demos else {}


@reading(None)
def parse_score_answer(answer: Any, values: tuple[float, ...]) -> ScoreDistribution:
    """A System One score answer -> distribution over `values` (level k stands for values[k]).

    Probabilities may miss 1 by SUM_TOLERANCE (rounding) and are then renormalised. Raises
    OffScaleAnswer where the score contradicts them, UnparseableAnswer for what is missing, or not
    probabilities over exactly these levels.
    """
    raw = repr(answer)[:500]
    kind = answer.get("type") if isinstance(answer, dict) else None
    if kind != "score":
        raise UnparseableAnswer(f"no score answer came back (type {kind!r})", raw)
    probabilities = answer.get("probabilities")
    labels = [str(k) for k in range(len(values))]
    if not isinstance(probabilities, dict) or sorted(map(str, probabilities)) != sorted(
        labels
    ):
        raise UnparseableAnswer(
            f"`probabilities` must name the levels {', '.join(labels)}", raw
        )
    by_label = {str(k): v for k, v in probabilities.items()}
    masses = [by_label[label] for label in labels]
    if any(
        isinstance(m, bool)
        or not isinstance(m, int | float)
        or not math.isfinite(m)
        or m < 0
        for m in masses
    ):
        raise UnparseableAnswer(
            "`probabilities` holds something that is not a probability", raw
        )
    total = math.fsum(masses)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise UnparseableAnswer(f"`probabilities` sum to {total:.3f}", raw)
    score = answer.get("score")
    expected = math.fsum(k * m for k, m in enumerate(masses))
    if isinstance(score, int | float) and abs(score - expected) > SUM_TOLERANCE * len(
        values
    ) * len(values):
        raise OffScaleAnswer(
            f"`score` is {score}, but the probabilities give {expected:.3f}", raw
        )
    return ScoreDistribution(
        values=values, probabilities=tuple(m / total for m in masses)
    )


class RulesReadout(Readout):
    """A share between 0 and 1 from the model, mapped linearly to the rubric's scale. No
    distribution, no confidence."""

    name = "rules"
    needs = "rules"
    uses_prompt = False

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        _able(model, Rates)
        if model.rubric not in (None, rubric.name):
            raise ConfigError(
                f"{model.name} rates texts for rubric={model.rubric} only, and this run uses"
                f" rubric={rubric.name}. Ask a language model: model=local readout=logprobs, or a"
                " hosted one."
            )

    def fitted_on(self) -> frozenset[str]:
        return self.model.fitted_on

    async def read(self, item: Item) -> Verdict:
        share, reason = await _able(served_model(), Rates).rate(
            shown_text(item, self.rubric)
        )
        return Verdict(score=self.rubric.units(share), rationale=reason)


def _able(model: Model, protocol: Any) -> Any:
    """The model, if it can do what the protocol says. Raises ConfigError."""
    if not isinstance(model, protocol):
        what = {
            Decides: "is not a decision model",
            Rates: "does not rate texts itself",
        }[protocol]
        raise ConfigError(
            f"{model.name} {what}; it serves: {', '.join(model.readouts)}."
        )
    return model


class Rivals:
    """The rivals of a rubric by their dotted names (`Rubric.rivals`), built when they are first
    needed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def check(self) -> None:
        """Raise ConfigError where `rubric.rivals` names what is no model, or one that does not rate
        texts."""
        for name in self._names:
            _rater(name)

    def __call__(
        self, texts: Sequence[str]
    ) -> Callable[[Sequence[str]], NDArray[np.float64]] | None:
        """Texts to what the models say of them, shape (n_texts, n_models); None without any that
        saw none of `texts` when they were fitted."""
        marks = text_marks(texts) if self._names else set()
        raters = [_rater(name) for name in self._names]
        fresh = [
            rater
            for rater in raters
            if isinstance(rater, Model) and not marks & rater.fitted_on
        ]

        async def ask(read: Sequence[str]) -> list[list[float]]:
            return [[(await rater.rate(text))[0] for rater in fresh] for text in read]

        return (lambda read: np.array(finished(ask(read)))) if fresh else None


@functools.lru_cache
def _rater(name: str) -> Rates:
    model = build({"_target_": name}, "rubric.rivals.model")
    if not isinstance(model, Rates):
        raise ConfigError(
            f"`rubric.rivals` names {name}, which does not rate texts itself (readout rules)."
        )
    return model
