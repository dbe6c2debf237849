"""Lets a model write what the instrument test needs and nobody has: the question of a rubric in
other words, or texts to be judged. What it wrote is kept in a file, to be read and corrected."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

import dspy
import yaml

from undogmatic.config.build import build, settings
from undogmatic.datasets.edits import FOLDER, shipped
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.base import Chats, Model
from undogmatic.models.calls import rollout
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts import adapter
from undogmatic.readouts.chat import ask, insisting
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Record, Words
from undogmatic.records.rubric import Rubric
from undogmatic.safety.loops import finished
from undogmatic.safety.outside import read_yaml

WORDINGS = 3
"""How many wordings a model is asked for."""
RETRIES = 2
LONGEST_ANSWER = 1_500
"""Tokens."""
TEMPERATURE = 0.7


class Told(Record):
    """What the writer is told in one language (`data/instrument/writing.yaml`)."""

    fence: str
    heading: str
    wordings: str
    domain: str
    definition: str
    question: str
    texts: str
    text: str


class Written(NamedTuple):
    """What a model wrote: the lines of a file, how many wordings or texts these hold, and the
    model."""

    lines: list[str]
    number: int
    model: str


def wordings(config: Mapping[str, Any], count: int = WORDINGS) -> Written:
    """Make a file of edits in which a rubric's question stands in other words, by the config's
    model and in the language of its prompt, beside the edits that ship for the rubric. Raises
    ConfigError, ModelError."""
    writer = Writer(config)
    wording = writer.rubric.wordings[writer.prompt.language]
    names = [name for name in Words.model_fields if getattr(wording, name).strip()]
    fields = {name: getattr(writer.told, name) for name in names}
    said = "\n".join(getattr(wording, name).strip() for name in names)

    async def written() -> list[dict[str, str]]:
        return [
            # Each is told its number, so that they differ: the model sees none of the others.
            await writer.write(writer.told.wordings, fields, said, number, count)
            for number in range(count)
        ]

    made = writer.asked(written)
    # The file takes the place of the one that ships for the rubric.
    own = shipped(writer.rubric.name)
    shipped_edits: Any = {} if own is None else read_yaml(own)
    edits = {**shipped_edits, "wordings": {writer.prompt.language: made}}
    head = f"# `wordings` were written by {writer.model.name}: read them before you use them.\n"
    lines = [head, yaml.safe_dump(edits, allow_unicode=True, sort_keys=False)]
    return Written(lines, len(made), writer.model.name)


def texts(config: Mapping[str, Any], count: int) -> Written:
    """Make a table of texts for the config's rubric, of all its levels in turn: rows of the text,
    `made_by` and `language`. Raises ConfigError, ModelError."""
    writer = Writer(config)
    rubric, language = writer.rubric, writer.prompt.language
    # Two texts that belong together cannot be asked for one at a time.
    if len(rubric.inputs) - len(rubric.optional) > 1:
        raise ConfigError(
            f"rubric={rubric.name} judges {' and '.join(rubric.inputs)}, and a model is asked for"
            " one text at a time. Bring texts of your own: --texts FILE."
        )
    meanings = rubric.meanings(language)
    said = f"{writer.prompt.definition(rubric)}\n{writer.prompt.scale(rubric)}"
    about = {"made_by": writer.model.name, "language": language}

    async def written() -> list[dict[str, str]]:
        rows = []
        for number in range(count):
            told = writer.told.texts.replace(
                "{level}", meanings[number % len(meanings)]
            )
            made = await writer.write(
                told, {"text": writer.told.text}, said, number, count
            )
            rows.append({rubric.inputs[-1]: made["text"], **about})
        return rows

    rows = writer.asked(written)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    return Written(lines, len(rows), writer.model.name)


class Writer:
    """The model of a config, which writes. Raises ConfigError where it does not chat."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        parts = Recipe(config).build()
        self.rubric: Rubric = parts.rubric
        self.prompt: Prompt = parts.prompt
        model: Model = build(settings(config).model, "model")
        self.model = model
        self.engine: Any = build(settings(config).engine, "engine")
        if not ("structured" in model.readouts and isinstance(model, Chats)):
            raise ConfigError(
                f"{self.model.name} writes no answers in words (it serves:"
                f" {', '.join(self.model.readouts)}). Name a model that does, e.g. model=gpt."
            )
        known: Any = read_yaml(FOLDER / "writing.yaml")
        language = self.prompt.language
        if language not in known:
            raise ConfigError(
                f"prompt={self.prompt.id} is in {language!r}, and a writer can be told in"
                f" {', '.join(known)}. Choose another `prompt=`."
            )
        self.told = Told.model_validate(known[language])
        self.adapter = adapter.JudgeAdapter(
            self.prompt.words.model_copy(update={"fence": self.told.fence})
        )
        self.lm = LanguageModel(model)

    def asked(
        self, written: Callable[[], Coroutine[Any, Any, list[dict[str, str]]]]
    ) -> list[dict[str, str]]:
        """What the model writes, asked through the engine's door: its budget, its cache."""

        async def connected() -> list[dict[str, str]]:
            cache = self.engine.connect(self.model)
            try:
                return await written()
            finally:
                await self.model.close()
                if cache is not None:
                    cache.close()

        return finished(connected())

    async def write(
        self, told: str, fields: Mapping[str, str], said: str, number: int, total: int
    ) -> dict[str, str]:
        """One answer: a text for each of the fields, which none of the others has."""
        instruction = told.replace("{number}", str(number + 1)).replace(
            "{total}", str(total)
        )
        form = {
            name: adapter.words(str, f'"{place}"') for name, place in fields.items()
        }
        material = {"asked": adapter.material(self.told.heading)}
        signature = adapter.signature(
            instruction, material, form, helpers=("previous", "problem")
        )
        schema = {
            "type": "object",
            "properties": {name: {"type": "string"} for name in fields},
            "required": [*fields],
            "additionalProperties": False,
        }
        named = {"name": "writing", "schema": schema, "strict": True}
        predict = dspy.Predict(
            signature,
            temperature=TEMPERATURE,
            max_tokens=LONGEST_ANSWER,
            response_format={"type": "json_schema", "json_schema": named},
        )

        async def once(**before: str | None) -> dict[str, str]:
            with dspy.context(lm=self.lm):
                answer = await ask(predict, self.adapter, asked=said, **before)
            # A text on one line: a file of edits is read and corrected by people.
            made = {name: " ".join(str(answer[name]).split()) for name in fields}
            if empty := [name for name, text in made.items() if not text]:
                raise UnparseableAnswer(f"`{empty[0]}` is empty", str(answer))
            return made

        # A number of its own for each, or the cache would give the first answer again.
        with rollout(number):
            return await insisting(RETRIES, once)
