"""Puts a judge style's further questions to the model: as one JSON answer, or as one level question
per number.

The readout in use decides which (`asker_for`). A judge gets an `Asker` and makes its questions with
it; it never knows which. Every question is a DSPy module over predictors: one per step in words,
one per number in levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, ClassVar

import dspy

from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.judges.questions import (
    Answer,
    Number,
    StepWording,
    ends,
    make,
    numbers,
    repeats,
    schema,
)
from undogmatic.models.base import Model
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts import adapter
from undogmatic.readouts.base import Readout, Unit, shown, shown_inputs
from undogmatic.readouts.chat import ask, insisting
from undogmatic.readouts.logprobs import check_labels, first_token, level_distribution
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.structured import form
from undogmatic.records.records import Item, ScoreDistribution, as_text
from undogmatic.records.rubric import NumericScale, Rubric

LEAST_SHARE = 0.02
"""Of the probability, on levels that respect the bounds of a number; with less, the answer
contradicts itself."""
# Language -> step -> its wording, as in a file of conf/judge/
Wordings = Mapping[str, Mapping[str, Any]]


class Question(Unit):
    """One step of a judge style: it is worded as `asker` says, and answered by a `kind`.

    Args:
        values: Further values for the wording by name, the same for every item.
        known: Number fields that are always given where numbers are asked one by one.
    """

    in_words: bool  # whether answers hold words (reasons, issues) beside numbers
    way: str  # the name of the readout that it uses
    # of the settings that it shares with that readout
    defaults: ClassVar[Mapping[str, float]]

    def __init__(
        self,
        step: str,
        kind: type[Answer],
        asker: Asker,
        values: Any = None,
        known: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.step, self.kind, self.values = step, kind, dict(values or {})
        self.prompt, self.rubric, self.lm = asker.prompt, asker.rubric, asker.lm
        self.wording = asker.wording(step)
        self.contents = {
            "asker": asker.identity(),
            "wording": self.wording.model_dump(mode="json"),
        }

    async def aforward(
        self,
        item: Item,
        context: Mapping[str, Any] | None = None,
        known: Mapping[str, float] | None = None,
    ) -> dspy.Prediction:
        """Ask about `item`: `answer` (of class `kind`) and `distributions` (per number, where there
        are any). `context` has values for the wording's context, from earlier steps, and `known`
        number fields that need not be asked. Raises ModelError where there is no answer, or none
        that can be read."""
        with dspy.context(lm=self.lm or dspy.settings.lm):
            return await self._put(item, dict(context or {}), dict(known or {}))

    async def _put(
        self, item: Item, context: dict[str, Any], known: dict[str, float]
    ) -> dspy.Prediction:
        raise NotImplementedError

    def shown(self) -> str:
        """What the model is shown besides the item, with `{name}` where an earlier answer will
        stand."""
        raise NotImplementedError

    def _fill(self, template: str, context: Mapping[str, Any] | None = None) -> str:
        question = self.rubric.wordings[self.prompt.language].question.strip()
        values = {
            **ends(self.rubric),
            "question": question,
            **self.values,
            **(context or {}),
        }
        return template.format_map(values).strip()

    def _blank(self, template: str) -> str:
        """`_fill` before anything is known: what comes from earlier answers keeps its name in
        braces."""
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        return self._fill(
            template,
            {n: f"{{{n}}}" for n in names - {"low", "high", "question", *self.values}},
        )

    def _signature(
        self, task: str, fields: Mapping[str, Any], helpers: Sequence[str]
    ) -> Any:
        return adapter.signature(
            task,
            adapter.judged(self.rubric, self.prompt.language),
            fields,
            helpers=helpers,
        )

    def _about(self) -> str:
        parts = [self.prompt.task(self.rubric), self.prompt.definition(self.rubric)]
        parts += [self.prompt.scale(self.rubric)] if self.wording.scale else []
        return "\n\n".join(part for part in parts if part)


class Asker:
    """Makes the questions of a judge style, all of one class, for one model, prompt and rubric;
    `lm` is the model to be asked where it is not that of the run. A base model gets the questions
    without the prompt's instructions.
    """

    def __init__(
        self,
        asks: type[Question],
        model: Model,
        prompt: Prompt,
        rubric: Rubric,
        wordings: Wordings,
        lm: LanguageModel | None = None,
        **options: Any,
    ) -> None:
        # Before any wording is read, as a prompt for another rubric has no question of
        # this one.
        prompt.check(rubric)
        self.model = model
        self.prompt = prompt
        self.rubric = rubric
        self.wordings = wordings
        self.lm = lm
        self.asks = asks
        self.in_words = asks.in_words
        self.name = asks.way
        self.options = {**asks.defaults, **options}
        self.uses_prompt = self.in_words or not model.base
        self.deterministic = self.options.get("temperature", 0) == 0
        self.questions: list[Question] = []
        if not self.in_words:
            check_labels(rubric)

    def identity(self) -> dict[str, Any]:
        """Its way of asking; what it asks is in the identity of its questions."""
        return {"asker": self.name} | self.options

    def fitted_on(self) -> frozenset[str]:
        """Nothing in it is fitted; see `Readout.fitted_on`."""
        return frozenset()

    def question(
        self,
        step: str,
        kind: type[Answer],
        values: Mapping[str, Any] | None = None,
        known: Sequence[str] = (),
    ) -> Question:
        self.questions.append(self.asks(step, kind, self, values, known))
        return self.questions[-1]

    def wording(self, step: str) -> StepWording:
        """The wording of a step in the prompt's language. Raises ConfigError where there is
        none."""
        language = self.prompt.language
        # Asking in another language than the prompt's would change what is measured
        # without a word.
        if language not in self.wordings:
            raise ConfigError(
                f"this judge style has no wording in {language!r} (it has:"
                f" {', '.join(self.wordings) or 'none'}). Choose another `prompt=`, or add"
                f" `wordings.{language}` to its file in conf/judge/."
            )
        steps = self.wordings[language]
        if step not in steps:
            raise ConfigError(
                f"`judge.wordings.{language}` has no step {step!r} (it has: {', '.join(steps)})."
            )
        return StepWording.model_validate(steps[step])

    def shown(self) -> str:
        """What the model is shown besides the item, step by step; see `Question.shown`."""
        return "\n\n".join(
            f"[{question.step}]\n{question.shown()}" for question in self.questions
        )


class WordsQuestion(Question):
    """A step as one JSON answer, validated; one retry with the reason."""

    in_words = True
    way = "structured"
    defaults: ClassVar[Mapping[str, float]] = {"temperature": 0.0, "top_p": 1.0}

    def __init__(self, step: str, kind: type[Answer], asker: Asker, *more: Any) -> None:
        super().__init__(step, kind, asker, *more)
        marks, fields = numbers(self.kind), {}
        self.worded: dict[str, str] = {}
        for name, field in self.kind.model_fields.items():
            if (mark := marks.get(name)) is None:
                self.worded[name] = self._fill(self.wording.form[name], {"meaning": ""})
                fields[name] = adapter.words(field.annotation, self.worded[name])
                continue
            worded = self._fill(
                self.wording.form[mark.wording or name], {"meaning": mark.meaning}
            )
            scale = mark.scale(self.rubric)
            bounds = {
                "at_least": mark.at_least,
                "at_most": mark.at_most,
            }
            asked = worded if isinstance(scale, NumericScale) else form(scale)
            fields[name] = adapter.number(scale, asked, mark.unit == "score", **bounds)
        form_schema = {
            "name": self.step,
            "schema": schema(self.kind, self.rubric),
            "strict": True,
        }
        self.predict = dspy.Predict(
            self._signature(
                self._fill(self.wording.task),
                fields,
                ("rubric", "context", "previous", "problem"),
            ),
            **asker.options,
            max_tokens=self.kind.room,
            response_format={"type": "json_schema", "json_schema": form_schema},
        )
        self.adapter = adapter.JudgeAdapter(self.prompt.words, exact=True)
        self.given = {"the_rubric": self._about()}

    def shown(self) -> str:
        whole = shown(self.predict, self.adapter, self.rubric, self.given)
        return "\n\n".join(
            part for part in (whole, self._blank(self.wording.context)) if part
        )

    async def _put(
        self, item: Item, context: dict[str, Any], known: dict[str, float]
    ) -> dspy.Prediction:
        inputs = shown_inputs(item, self.rubric) | self.given
        inputs["the_context"] = self._fill(self.wording.context, context)

        async def once(**earlier: str | None) -> dspy.Prediction:
            prediction = await ask(self.predict, self.adapter, **inputs, **earlier)
            fields = {name: prediction[name] for name in self.kind.model_fields}
            # Some models give the form back as their answer. Its words are none of
            # theirs, and would be told as their reasons.
            if bare := [
                name
                for name, worded in self.worded.items()
                if repeats(worded, fields[name])
            ]:
                raise UnparseableAnswer(
                    f"`{bare[0]}` has no words of its own, only those of the form",
                    as_text(fields),
                )
            return dspy.Prediction(
                answer=make(self.kind, fields, as_text(fields)), distributions={}
            )

        return await insisting(1, once)


class LevelsQuestion(Question):
    """A step as one level question per number, each a predictor, read as the expectation over its
    levels; what was answered is context of the next.

    A base model is asked by the question itself, which is its predictor's instructions; a chat
    model is told the step's task and asked the question.
    """

    in_words = False
    way = "logprobs"
    defaults: ClassVar[Mapping[str, float]] = {"top": 20, "minimum_mass": 0.25}

    def __init__(
        self,
        step: str,
        kind: type[Answer],
        asker: Asker,
        values: Any = None,
        known: Sequence[str] = (),
    ) -> None:
        super().__init__(step, kind, asker, values, known)
        self.minimum_mass, self.base = asker.options["minimum_mass"], asker.model.base
        self.given = {} if self.base else {"the_rubric": self._about()}
        self.adapter = adapter.JudgeAdapter(self.prompt.words, self.base)
        settings = {
            "temperature": 0.0,
            "max_tokens": 1,
            "logprobs": True,
            "top_logprobs": asker.options["top"],
        }
        helpers = ("rubric", "given", "said", *(() if self.base else ("question",)))
        self.numbers = {
            name: number
            for name, number in numbers(self.kind).items()
            if not number.words_only
        }
        self.asked, self.predicts = dict[str, str](), dict[str, dspy.Predict]()
        for name, number in self.numbers.items():
            words = self.wording.levels[number.wording or name]
            levels = number.levels(self.rubric, len(words.answers))
            of_rubric = (
                number.unit in ("score", "rubric")
                and number.band is None
                and number.own is None
            )
            labels = (
                self.rubric.labels
                if of_rubric
                else tuple(str(n) for n in range(len(levels)))
            )
            question = self._fill(words.question, {"meaning": number.meaning})
            if words.labels and not self.base:
                labels = words.labels
                question = f"{question} {words.answer_with}".rstrip()
            if name not in known:
                meanings = list(words.answers) or self.rubric.meanings(
                    self.prompt.language
                )
                level = adapter.level(labels, meanings, levels, number.unit == "score")
                task = question if self.base else self._fill(self.wording.task)
                self.predicts[name] = dspy.Predict(
                    self._signature(task, {"level": level}, helpers), **settings
                )
                self.asked[name] = question

    async def _put(
        self, item: Item, context: dict[str, Any], known: dict[str, float]
    ) -> dspy.Prediction:
        values, distributions = dict(known), {}
        before = self._fill(self.wording.context or self.wording.given, context)
        answers: list[str] = []
        for name, number in self.numbers.items():
            if name not in known:
                inputs = (
                    shown_inputs(item, self.rubric) | self.given | {"the_given": before}
                )
                inputs |= {} if self.base else {"the_question": self.asked[name]}
                # What was answered stands before the next question, as in one answer in
                # words, where a number follows from those before it.
                said = "\n".join(line for line in answers if line) or None
                predict = self.predicts[name]
                tokens = first_token(
                    await ask(predict, self.adapter, **inputs, the_said=said)
                )
                levels = level_distribution(
                    tokens, *adapter.offered(predict.signature), self.minimum_mass
                )
                distributions[name] = _within(levels, name, number, values)
                values[name] = distributions[name].expectation
            written = {
                "meaning": number.meaning,
                "value": number.written(values[name], self.rubric),
            }
            line = self._fill(
                self.wording.levels[number.wording or name].said, context | written
            )
            if name in known:
                before = f"{before}\n{line}".strip()
            else:
                answers.append(line)
        return dspy.Prediction(
            answer=make(self.kind, values, repr(values)), distributions=distributions
        )

    def shown(self) -> str:
        first = next(iter(self.predicts.values()))
        parts = [] if self.base else [self.adapter.system(first.signature, self.given)]
        parts.append(self._blank(self.wording.context or self.wording.given))
        parts += [
            f"{self.asked[name]}\n{adapter.choice(one.signature)}"
            for name, one in self.predicts.items()
        ]
        return "\n\n".join(part for part in parts if part)


def _within(
    levels: ScoreDistribution, name: str, number: Number, values: Mapping[str, float]
) -> ScoreDistribution:
    """The distribution given that the number respects its bounds: a range's high end is read from
    the levels not below its low end. Raises UnparseableAnswer where less than LEAST_SHARE respects
    them: asking again would not help.
    """
    if number.at_least is None and number.at_most is None:
        return levels
    bounds = number.at_least, number.at_most
    chances = zip(levels.values, levels.probabilities, strict=True)
    allowed = [
        0.0 if adapter.contradiction(name, value, values, *bounds) else chance
        for value, chance in chances
    ]
    total = sum(allowed)
    if total < LEAST_SHARE:
        problem = adapter.contradiction(name, levels.expectation, values, *bounds)
        raise UnparseableAnswer(
            f"{problem}, with a share of {1 - total:.3f}", repr(levels.probabilities)
        )
    return levels.model_copy(
        update={"probabilities": tuple(p / total for p in allowed)}
    )


WAYS = {
    "structured": WordsQuestion,
    "samples": WordsQuestion,
    "logprobs": LevelsQuestion,
}
"""By what a readout needs of a model, or else by what the model serves."""


def asker_for(readout: Readout, wordings: Wordings) -> Asker:
    """The asker that goes with a bound readout: in its own way of asking and with its settings of
    the same names (`temperature`, `top`, ...), else in a way in which the model can be asked.
    Raises ConfigError where it answers neither in words nor with log-probabilities."""
    model = readout.model
    able = (name for name in ("structured", "logprobs") if name in model.readouts)
    asks = WAYS.get(readout.needs) or WAYS.get(next(able, ""))
    if asks is None:
        raise ConfigError(
            f"this judge asks the model further questions, and {model.name} answers none (it"
            f" serves: {', '.join(model.readouts)}). Use a model that serves structured or"
            " logprobs, e.g. model=local or model=gpt, or a judge that only scores: judge=score."
        )
    same = {
        name: value
        for name in asks.defaults
        if (value := readout.argument(name)) is not None
    }
    return Asker(
        asks, model, readout.prompt, readout.rubric, wordings, readout.lm, **same
    )
