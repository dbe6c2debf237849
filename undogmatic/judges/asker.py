"""How a judge style's further questions reach the model: as one JSON answer, or as one level question per number.

The readout in use decides (`asker_for`). A judge gets an `Asker` and makes its questions with it; it never knows which.
Every question is a DSPy module over predictors: one per step in words, one per number in levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.judges.questions import (
    Answer,
    Number,
    Wording,
    as_json,
    desc,
    ends,
    make,
    numbers,
    repeats,
    schema,
)
from undogmatic.readouts import adapter
from undogmatic.readouts.base import Unit, shown_inputs
from undogmatic.readouts.chat import LanguageModel, ask, insisting
from undogmatic.readouts.structured import shown

if TYPE_CHECKING:
    from undogmatic.models.base import Model
    from undogmatic.readouts.prompt import Prompt
    from undogmatic.records.records import Item
    from undogmatic.records.rubric import Rubric

RETRIES = 1
STEP_INPUTS = ("rubric", "context", "previous", "problem")
Wordings = Mapping[str, Mapping[str, Any]]
"""Language -> step -> its wording, as in a file of conf/judge/."""


class Question(Unit):
    """One step of a judge style, for a prompt and a rubric.

    Args:
        step: Name of its wording.
        kind: Class of its answer.
        asker: Where it comes from.
        values: Further values for the wording, the same for every item.
        known: Number fields that are always given where numbers are asked one by one.
    """

    def __init__(
        self,
        step: str,
        kind: type[Answer],
        asker: Asker,
        values: Mapping[str, Any] | None = None,
        known: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.values = dict(values or {})
        self.step, self.kind = step, kind
        self.prompt, self.rubric, self.lm = asker.prompt, asker.rubric, asker.lm
        self.wording = asker.wording(step)

    async def aforward(
        self, item: Item, context: Mapping[str, Any] | None = None, known: Mapping[str, float] | None = None
    ) -> dspy.Prediction:
        """Ask about `item`.

        Args:
            item: What is judged.
            context: Values for the wording's context, from earlier steps.
            known: Number fields that need not be asked, where numbers are asked one by one.
        Returns:
            A prediction with `answer` (of class `kind`) and `distributions` (per number, where there are any).
        Raises:
            ModelError: No answer, or none that can be read.
        """
        with dspy.context(lm=self.lm or dspy.settings.lm):
            return await self._put(item, dict(context or {}), dict(known or {}))

    async def _put(self, item: Item, context: dict[str, Any], known: dict[str, float]) -> dspy.Prediction:
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        own = self.wording.model_dump(mode="json", exclude={"scale"} if self.wording.scale else None)
        for level in own["levels"].values():
            if not level["labels"]:  # an earlier version knew none
                del level["labels"]
        return {"step": self.step, "wording": own, "values": self.values}

    def shown(self) -> str:
        """What the model is shown besides the item, with `{name}` where an earlier answer will stand."""
        raise NotImplementedError

    def _fill(self, template: str, context: Mapping[str, Any] | None = None) -> str:
        question = self.rubric.wordings[self.prompt.language].question.strip()
        values = {**ends(self.rubric), "question": question, **self.values, **(context or {})}
        return template.format_map(values).strip()

    def _blank(self, template: str) -> str:
        """`_fill` before anything is known: what comes from earlier answers keeps its name in braces."""
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        return self._fill(template, {n: f"{{{n}}}" for n in names - {"low", "high", "question", *self.values}})

    def _judged(self) -> dict[str, Any]:
        return adapter.judged(self.rubric, self.prompt.language)

    def _about(self) -> str:
        prompt, rubric = self.prompt, self.rubric
        scale = prompt.scale(rubric) if self.wording.scale else ""
        return "\n\n".join(p for p in (prompt.task(rubric), prompt.definition(rubric), scale) if p)


class Asker:
    """Makes the questions of a judge style for one model, prompt and rubric.

    Attributes:
        asks: The class of its questions.
        in_words: Whether answers hold words (reasons, issues) beside numbers.
        name: The name of the readout that the questions use.
        lm: The model to be asked where it is not that of the run.
        uses_prompt, deterministic: As in a readout.
    """

    asks: type[Question]
    in_words: bool
    name: str
    uses_prompt = True
    deterministic = True

    def __init__(
        self, model: Model, prompt: Prompt, rubric: Rubric, wordings: Wordings, lm: LanguageModel | None = None
    ) -> None:
        prompt.check(rubric)
        self.model, self.prompt, self.rubric, self.wordings, self.lm = model, prompt, rubric, wordings, lm
        self.questions: list[Question] = []

    def fitted_on(self) -> frozenset[str]:
        """Nothing in it is fitted; see `Readout.fitted_on`."""
        return frozenset()

    def question(
        self, step: str, kind: type[Answer], values: Mapping[str, Any] | None = None, known: Sequence[str] = ()
    ) -> Question:
        """The question for a step; `aforward` gives an answer of class `kind`.

        Args:
            step: Name of its wording.
            kind: Class of its answer.
            values: Fill its wording.
            known: As in the question.
        """
        made = self.asks(step, kind, self, values, known)
        self.questions.append(made)
        return made

    def wording(self, step: str) -> Wording:
        """The wording of a step in the prompt's language. Raises ConfigError where there is none."""
        steps = self.wordings.get(self.prompt.language)
        if steps is None:
            raise ConfigError(
                f"this judge style has no wording in {self.prompt.language!r} (it has: "
                f"{', '.join(self.wordings) or 'none'}). Choose another `prompt=`, or add "
                f"`wordings.{self.prompt.language}` to its file in conf/judge/."
            )
        if step not in steps:
            raise ConfigError(
                f"`judge.wordings.{self.prompt.language}` has no step {step!r} (it has: {', '.join(steps)})."
            )
        return Wording.model_validate(steps[step])

    def shown(self) -> str:
        """What the model is shown besides the item, step by step; see `Question.shown`."""
        return "\n\n".join(f"[{question.step}]\n{question.shown()}" for question in self.questions)


class WordsQuestion(Question):
    """A step as one JSON answer."""

    def __init__(self, step: str, kind: type[Answer], asker: WordsAsker, *more: Any) -> None:
        super().__init__(step, kind, asker, *more)
        marks = numbers(kind)
        fields: dict[str, Any] = {}
        self.worded: dict[str, str] = {}
        for name, field in kind.model_fields.items():
            mark = marks.get(name)
            worded = self._form(name, mark)
            if mark is None:
                self.worded[name] = worded
                fields[name] = adapter.words(field.annotation, worded)
                continue
            bounds = {"at_least": mark.at_least, "at_most": mark.at_most}
            asked = desc(mark, worded, self.rubric)
            fields[name] = adapter.number(mark.scale(self.rubric), asked, mark.unit == "score", **bounds)
        form_schema = {"name": step, "schema": schema(kind, self.rubric), "strict": True}
        self.predict = dspy.Predict(
            adapter.signature(self._fill(self.wording.task), self._judged(), fields, helpers=STEP_INPUTS),
            temperature=asker.temperature,
            top_p=asker.top_p,
            max_tokens=kind.room,
            response_format={"type": "json_schema", "json_schema": form_schema},
        )
        self.adapter = adapter.JudgeAdapter(self.prompt.words, exact=True)
        self.given = {"the_rubric": self._about()}

    def shown(self) -> str:
        whole = shown(self.predict, self.adapter, self.rubric, self.given)
        return "\n\n".join(part for part in (whole, self._blank(self.wording.context)) if part)

    def _form(self, name: str, number: Number | None) -> str:
        key = (number.wording if number else None) or name
        return self._fill(self.wording.form[key], {"meaning": number.meaning if number else ""})

    async def _put(self, item: Item, context: dict[str, Any], known: dict[str, float]) -> dspy.Prediction:
        inputs = shown_inputs(item, self.rubric) | self.given
        inputs["the_context"] = self._fill(self.wording.context, context)

        async def once(**said: str | None) -> dspy.Prediction:
            prediction = await ask(self.predict, self.adapter, **inputs, **said)
            given = {name: prediction[name] for name in self.kind.model_fields}
            for name, worded in self.worded.items():
                if repeats(worded, given[name]):
                    raise UnparseableAnswer(f"`{name}` has no words of its own, only those of the form", as_json(given))
            return dspy.Prediction(answer=make(self.kind, given, as_json(given)), distributions={})

        return await insisting(RETRIES, once)

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"given": self.given, "retries": RETRIES}


class WordsAsker(Asker):
    """A JSON object per step, validated; one retry with the reason.

    Args:
        temperature, top_p: As in the run's structured readout.
    """

    asks = WordsQuestion
    in_words = True
    name = "structured"

    def __init__(self, *parts: Any, temperature: float = 0.0, top_p: float = 1.0, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.temperature, self.top_p = temperature, top_p
        self.deterministic = temperature == 0
