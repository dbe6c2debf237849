"""A judge style's further questions as level questions, one per number, read by log-probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dspy

from undogmatic.errors import UnparseableAnswer
from undogmatic.judges.asker import Asker, Question
from undogmatic.judges.questions import Answer, LevelWording, Number, make, numbers
from undogmatic.readouts import adapter
from undogmatic.readouts.base import shown_inputs
from undogmatic.readouts.chat import ask
from undogmatic.readouts.logprobs import check_labels, first_token, level_distribution

if TYPE_CHECKING:
    from undogmatic.records.records import Item, ScoreDistribution

LEAST_SHARE = 0.02
LEVEL_INPUTS = ("rubric", "given", "said")


class Asked(NamedTuple):
    """One number as a level question."""

    number: Number
    words: LevelWording
    question: str
    labels: tuple[str, ...]
    levels: tuple[float, ...]


class LevelsQuestion(Question):
    """A step as one level question per number, each a predictor of its own; what was answered is context of the next.

    A base model is asked by the question itself, which is its predictor's instructions; a chat model is told the step's
    task and asked the question.
    """

    def __init__(
        self,
        step: str,
        kind: type[Answer],
        asker: LevelsAsker,
        values: Mapping[str, Any] | None = None,
        known: Sequence[str] = (),
    ) -> None:
        super().__init__(step, kind, asker, values, known)
        self.minimum_mass, self.base = asker.minimum_mass, asker.model.base
        self.given = {} if self.base else {"the_rubric": self._about()}
        self.adapter = adapter.JudgeAdapter(self.prompt.words, self.base)
        self.numbers = {name: self._asked(name, mark) for name, mark in numbers(kind).items() if not mark.words_only}
        self.predicts = {n: self._predict(asked, asker.top) for n, asked in self.numbers.items() if n not in known}

    def _asked(self, name: str, number: Number) -> Asked:
        words = self.wording.levels[number.wording or name]
        levels = number.levels(self.rubric, len(words.answers))
        own = number.unit in ("score", "rubric") and number.band is None and number.own is None
        digits = self.rubric.labels if own else tuple(str(n) for n in range(len(levels)))
        labels = digits if self.base or not words.labels else words.labels
        question = self._fill(words.question, {"meaning": number.meaning})
        if labels is not digits and words.answer_with:
            question = f"{question} {words.answer_with}"
        return Asked(number, words, question, labels, levels)

    def _predict(self, asked: Asked, top: int) -> dspy.Predict:
        helpers = LEVEL_INPUTS if self.base else (*LEVEL_INPUTS, "question")
        meanings = asked.words.answers or self.rubric.meanings(self.prompt.language)
        level = {"level": adapter.level(asked.labels, meanings, asked.levels, asked.number.unit == "score")}
        task = asked.question if self.base else self._fill(self.wording.task)
        signature = adapter.signature(task, self._judged(), level, helpers=helpers)
        return dspy.Predict(signature, temperature=0.0, max_tokens=1, logprobs=True, top_logprobs=top)

    async def _put(self, item: Item, context: dict[str, Any], known: dict[str, float]) -> dspy.Prediction:
        values = dict(known)
        distributions = {}
        given = self._fill(self.wording.context or self.wording.given, context)
        said: list[str] = []
        for name, asked in self.numbers.items():
            repeated = {**context, "meaning": asked.number.meaning}
            if name in values:
                repeated["value"] = asked.number.written(values[name], self.rubric)
                given = f"{given}\n{self._fill(asked.words.said, repeated)}".strip()
                continue
            prediction = await ask(
                self.predicts[name],
                self.adapter,
                **shown_inputs(item, self.rubric),
                **self.given,
                the_given=given,
                the_said="\n".join(line for line in said if line) or None,
                **({} if self.base else {"the_question": asked.question}),
            )
            found = level_distribution(first_token(prediction), asked.labels, asked.levels, self.minimum_mass)
            found = _within(found, name, asked.number, values)
            distributions[name], values[name] = found, found.expectation
            repeated["value"] = asked.number.written(values[name], self.rubric)
            said.append(self._fill(asked.words.said, repeated))
        return dspy.Prediction(answer=make(self.kind, values, repr(values)), distributions=distributions)

    def shown(self) -> str:
        first = next(iter(self.predicts.values()))
        parts = [] if self.base else [self.adapter.system(first.signature, self.given)]
        parts.append(self._blank(self.wording.context or self.wording.given))
        for asked in (self.numbers[name] for name in self.predicts):
            meanings = list(asked.words.answers) or self.rubric.meanings(self.prompt.language)
            choice = [f"{label} = {meaning}" for label, meaning in zip(asked.labels, meanings, strict=True)]
            parts.append("\n".join([asked.question, *choice]))
        return "\n\n".join(part for part in parts if part)

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"given": self.given, "minimum_mass": self.minimum_mass}


class LevelsAsker(Asker):
    """A level question per number, read by log-probabilities as the expectation over its levels.

    Args:
        top, minimum_mass: As in the log-probability readout.
    """

    asks = LevelsQuestion
    in_words = False
    name = "logprobs"

    def __init__(self, *parts: Any, top: int = 20, minimum_mass: float = 0.25, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.top, self.minimum_mass = top, minimum_mass
        self.uses_prompt = not self.model.base  # a base model gets the question without the prompt's instructions
        check_labels(self.rubric)


def _within(found: ScoreDistribution, name: str, number: Number, values: Mapping[str, float]) -> ScoreDistribution:
    """The distribution given that the number respects its bounds: a range's high end is read from the levels not below
    its low end. The same request always gives the same answer, so asking again would not help.

    Raises:
        UnparseableAnswer: Less than LEAST_SHARE of the probability respects them.
    """
    if number.at_least is None and number.at_most is None:
        return found
    allowed = [
        p if number.problem(name, value, values) is None else 0.0
        for value, p in zip(found.values, found.probabilities, strict=True)
    ]
    total = sum(allowed)
    if total < LEAST_SHARE:
        problem = number.problem(name, found.expectation, values)
        raise UnparseableAnswer(f"{problem}, with a share of {1 - total:.3f}", repr(found.probabilities))
    return found.model_copy(update={"probabilities": tuple(p / total for p in allowed)})
