"""How a judge style's further questions reach the model: as one JSON answer, or as one level question per number.

The readout in use decides (`asker_for`). A judge gets an `Asker` and makes its questions with it; it never knows which.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ConfigError, ModelError, OffScaleAnswer, UnparseableAnswer
from undogmatic.judges.questions import Answer, LevelWording, Number, make, numbers, parse, schema, wording
from undogmatic.readouts.chat import Messages, PromptAdapter, ask, language_model
from undogmatic.readouts.logprobs import LogprobsReadout, continuation, first_token, level_distribution
from undogmatic.readouts.structured import StructuredReadout

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.prompts import Prompt
    from undogmatic.readouts.base import Readout
    from undogmatic.records import Rubric, ScoreDistribution

RETRIES = 1
ROOM = 1000
LEAST_SHARE = 0.02


class Question(dspy.Module):
    """One step of a judge style, bound to model, prompt and rubric.

    Args:
        step: Name of its wording.
        kind: Class of its answer.
        asker: Where it comes from.
        values: Further values for the wording, the same for every text.
    """

    def __init__(self, step: str, kind: type[Answer], asker: Asker, values: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.values = dict(values or {})
        self.step, self.kind = step, kind
        self.model, self.prompt, self.rubric = asker.model, asker.prompt, asker.rubric
        self.wording = wording(step, asker.prompt.language)

    async def aforward(
        self, text: str, context: Mapping[str, Any] | None = None, known: Mapping[str, float] | None = None
    ) -> dspy.Prediction:
        """Ask about `text`.

        Args:
            text: The judged text.
            context: Values for the wording's context, from earlier steps.
            known: Number fields that need not be asked, where numbers are asked one by one.
        Returns:
            A prediction with `answer` (of class `kind`) and `distributions` (per number, where there are any).
        Raises:
            ModelError: No answer, or none that can be read.
        """
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """What determines the answer besides model and prompt."""
        return {"step": self.step, "wording": self.wording.model_dump(mode="json"), "values": self.values}

    def shown(self) -> str:
        """What the model is shown besides the text, with `{name}` where an earlier answer will stand."""
        raise NotImplementedError

    def _fill(self, template: str, context: Mapping[str, Any] | None = None) -> str:
        values = {
            "low": f"{self.rubric.minimum:g}",
            "high": f"{self.rubric.maximum:g}",
            "question": self.rubric.wordings[self.prompt.language].question.strip(),
        }
        return template.format_map(values | self.values | dict(context or {})).strip()

    def _blank(self, template: str) -> str:
        """`_fill` before anything is known: what comes from earlier answers keeps its name in braces."""
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        return self._fill(template, {n: f"{{{n}}}" for n in names - {"low", "high", "question", *self.values}})


class Asker:
    """Makes the questions of a judge style for one model, prompt and rubric.

    Attributes:
        in_words: Whether answers hold words (reasons, issues) beside numbers.
        name: The name of the readout that the questions use.
        uses_prompt, deterministic: As in a readout.
    """

    in_words: bool
    name: str
    uses_prompt = True
    deterministic = True

    def fitted_on(self) -> frozenset[str]:
        """Nothing in it is fitted; see `Readout.fitted_on`."""
        return frozenset()

    def __init__(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        self.model, self.prompt, self.rubric = model, prompt, rubric
        self.questions: list[Question] = []

    def question(self, step: str, kind: type[Answer], values: Mapping[str, Any] | None = None) -> Question:
        """The question for a step; `aforward` gives an answer of class `kind`. `values` fill its wording."""
        made = self._question(step, kind, values)
        self.questions.append(made)
        return made

    def shown(self) -> str:
        """What the model is shown besides the text, step by step; see `Question.shown`."""
        return "\n\n".join(f"[{question.step}]\n{question.shown()}" for question in self.questions)

    def _question(self, step: str, kind: type[Answer], values: Mapping[str, Any] | None) -> Question:
        raise NotImplementedError


class WordsAsker(Asker):
    """A JSON object per step, validated; one retry with the reason.

    Args:
        temperature, top_p: As in the run's structured readout.
    """

    in_words = True
    name = "structured"

    def __init__(
        self, model: Model, prompt: Prompt, rubric: Rubric, temperature: float = 0.0, top_p: float = 1.0
    ) -> None:
        super().__init__(model, prompt, rubric)
        self.temperature, self.top_p = temperature, top_p
        self.deterministic = temperature == 0

    def _question(self, step: str, kind: type[Answer], values: Mapping[str, Any] | None) -> Question:
        return WordsQuestion(step, kind, self, values)


class WordsQuestion(Question):
    """A step as one JSON answer."""

    def __init__(
        self, step: str, kind: type[Answer], asker: WordsAsker, values: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(step, kind, asker, values)
        marks = numbers(kind)
        form = ", ".join(f'"{name}": {self._form(name, marks.get(name))}' for name in kind.model_fields)
        instructions = self.prompt.briefing(self.rubric, self._fill(self.wording.task), f"{{{form}}}")
        fields = {
            "text": (str, dspy.InputField()),
            "context": (str, dspy.InputField()),
            "previous": (str | None, dspy.InputField(default=None)),
            "problem": (str | None, dspy.InputField(default=None)),
            "answer": (str, dspy.OutputField()),
        }
        self.predict = dspy.Predict(dspy.Signature(fields, instructions))
        self.settings = {"temperature": asker.temperature, "top_p": asker.top_p, "max_tokens": ROOM}
        form_schema = {"name": step, "schema": schema(kind, self.rubric), "strict": True}
        self.predict.lm = language_model(
            self.model, response_format={"type": "json_schema", "json_schema": form_schema}, **self.settings
        )
        self.adapter = PromptAdapter(self._messages)

    def shown(self) -> str:
        context = self._blank(self.wording.context)
        return "\n\n".join(part for part in (str(self.predict.signature.instructions), context) if part)

    def _form(self, name: str, number: Number | None) -> str:
        key = (number.wording if number else None) or name
        return self._fill(self.wording.form[key], {"meaning": number.meaning if number else ""})

    def _messages(self, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> Messages:
        asked = "\n\n".join(part for part in (self.prompt.user(inputs["text"]), inputs["context"]) if part)
        messages: Messages = [{"role": "system", "content": self.predict.signature.instructions}]
        messages.append({"role": "user", "content": asked})
        if inputs.get("problem"):
            messages.append({"role": "assistant", "content": inputs["previous"] or "-"})
            messages.append({"role": "user", "content": self.prompt.retry(inputs["problem"])})
        return messages

    async def aforward(
        self, text: str, context: Mapping[str, Any] | None = None, known: Mapping[str, float] | None = None
    ) -> dspy.Prediction:
        previous: str | None = None
        failure: ModelError | None = None
        for _ in range(RETRIES + 1):
            try:
                prediction = await ask(
                    self.predict,
                    self.adapter,
                    text=text,
                    context=self._fill(self.wording.context, context),
                    previous=previous,
                    problem=str(failure) if failure else None,
                )
                answer = parse(self.kind, prediction.answer, self.rubric)
                return dspy.Prediction(answer=answer, distributions={})
            except (UnparseableAnswer, OffScaleAnswer) as error:
                failure, previous = error, error.raw
        assert failure is not None
        raise failure

    def state(self) -> dict[str, Any]:
        asked = {"instructions": self.predict.signature.instructions, "retries": RETRIES}
        return super().state() | self.settings | asked


class LevelsAsker(Asker):
    """A level question per number, read by log-probabilities as the expectation over its levels.

    Args:
        top, minimum_mass: As in the log-probability readout.
    """

    in_words = False
    name = "logprobs"

    def __init__(self, model: Model, prompt: Prompt, rubric: Rubric, top: int = 20, minimum_mass: float = 0.25) -> None:
        super().__init__(model, prompt, rubric)
        self.top, self.minimum_mass = top, minimum_mass
        self.uses_prompt = not getattr(model, "base", False)  # a base model gets the question without instructions
        if len(rubric.levels) > 10:
            raise ConfigError(f"rubric={rubric.name} has {len(rubric.levels)} levels; digits can name ten at most.")

    def _question(self, step: str, kind: type[Answer], values: Mapping[str, Any] | None) -> Question:
        return LevelsQuestion(step, kind, self, values)


class LevelsQuestion(Question):
    """A step as one level question per number; what was answered is context of the next."""

    def __init__(
        self, step: str, kind: type[Answer], asker: LevelsAsker, values: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(step, kind, asker, values)
        self.top, self.minimum_mass = asker.top, asker.minimum_mass
        self.base = getattr(self.model, "base", False)
        instructions = self.prompt.briefing(self.rubric, self._fill(self.wording.task))
        self.predict = dspy.Predict(dspy.Signature("text, given, question, labels -> answer", instructions))
        self.predict.lm = language_model(
            self.model, temperature=0.0, max_tokens=1, logprobs=True, top_logprobs=self.top
        )
        self.adapter = PromptAdapter(self._messages)

    def _messages(self, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> Messages:
        labels = list(inputs["labels"])
        if self.base:
            return continuation(self.prompt.continued(inputs["text"], inputs["given"], inputs["question"], labels))
        lines = [f"{n} = {label}" for n, label in enumerate(labels)]
        asked = "\n".join([inputs["given"], inputs["question"], *lines, self.prompt.labels_only(len(labels))])
        return [
            {"role": "system", "content": self.predict.signature.instructions},
            {"role": "user", "content": f"{self.prompt.user(inputs['text'])}\n\n{asked}"},
        ]

    async def aforward(
        self, text: str, context: Mapping[str, Any] | None = None, known: Mapping[str, float] | None = None
    ) -> dspy.Prediction:
        values: dict[str, float] = dict(known or {})
        distributions = {}
        given = self._fill(self.wording.context or self.wording.given, context)
        lines: list[str] = []
        for name, number in numbers(self.kind).items():
            if number.words_only:
                continue
            words, here = self.wording.levels[number.wording or name], {**(context or {}), "meaning": number.meaning}
            if name in values:
                given = f"{given}\n{self._fill(words.said, here | {'value': f'{values[name]:.0f}'})}".strip()
                continue
            question = "\n".join(line for line in [*lines, self._fill(words.question, here)] if line)
            found = await self._distribution(text, given, question, name, number, words, values)
            distributions[name], values[name] = found, found.expectation
            lines.append(self._fill(words.said, here | {"value": f"{values[name]:.0f}"}))
        return dspy.Prediction(answer=make(self.kind, values, repr(values)), distributions=distributions)

    def shown(self) -> str:
        start = "" if self.base else str(self.predict.signature.instructions)
        parts = [start, self._blank(self.wording.context or self.wording.given)]
        for name, number in numbers(self.kind).items():
            if not number.words_only:
                words = self.wording.levels[number.wording or name]
                question = self._blank(words.question.replace("{meaning}", number.meaning))
                parts.append("\n".join([question, *(f"{n} = {label}" for n, label in enumerate(self._labels(words)))]))
        return "\n\n".join(part for part in parts if part)

    def _labels(self, words: LevelWording) -> list[str]:
        return list(words.answers) or self.rubric.meanings(self.prompt.language)

    async def _distribution(
        self,
        text: str,
        given: str,
        question: str,
        name: str,
        number: Number,
        words: LevelWording,
        values: Mapping[str, float],
    ) -> ScoreDistribution:
        labels = self._labels(words)
        levels = number.levels(self.rubric)
        prediction = await ask(self.predict, self.adapter, text=text, given=given, question=question, labels=labels)
        found = level_distribution(first_token(prediction), levels, self.minimum_mass)
        return _within(found, name, number, values)

    def state(self) -> dict[str, Any]:
        return super().state() | {"top": self.top, "minimum_mass": self.minimum_mass}


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


def asker_for(readout: Readout) -> Asker:
    """The asker that goes with a bound readout: its own kind where it asks in words or levels, else what the model can.

    Raises:
        ConfigError: The model answers neither in words nor with log-probabilities.
    """
    model, prompt, rubric = readout.model, readout.prompt, readout.rubric
    words = readout.inner if readout.name == "samples" else readout
    if isinstance(words, StructuredReadout):
        return WordsAsker(model, prompt, rubric, words.temperature, words.top_p)
    if isinstance(readout, LogprobsReadout):
        return LevelsAsker(model, prompt, rubric, readout.top, readout.minimum_mass)
    if "structured" in model.readouts:
        return WordsAsker(model, prompt, rubric)
    if "logprobs" in model.readouts:
        return LevelsAsker(model, prompt, rubric)
    raise ConfigError(
        f"this judge asks the model further questions, and {model.name} answers none (it serves: "
        f"{', '.join(model.readouts)}). Use a model that serves structured or logprobs, e.g. model=local or model=gpt, "
        "or a judge that only scores: judge=score."
    )
