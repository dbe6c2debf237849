"""`summarise`: every text is summarised by each of several models, so that the summaries can be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from undogmatic.constructs.faithfulness.summarizer import Limits, Summarizer, Wording
from undogmatic.engine.step import Step
from undogmatic.errors import ConfigError, DataError
from undogmatic.models.base import Model
from undogmatic.readouts.prompts import language as words_of
from undogmatic.records.records import Item

SYSTEM = "system"


class SummariseStep(Step):
    """A summary of each item by each model, as an item of its own, `ITEM/SYSTEM`.

    Two stages: the item is multiplied by the systems, and then each asks its model. So a model that refuses is a
    failure of its own summary alone, and what is made already is not made again.

    Args:
        models: What writes; a model's name (up to its server) is the name of the system.
        wordings: Language -> what a model is told (`Wording`).
        language: In which it is told, and in which the fixed sentences around it are, where the item names no language
            that there is a wording in.
        text: The input that is summarised.
        words: How long a summary shall be.
        max_tokens: Room for an answer; None: three tokens per word, and 200. A model that thinks first needs more.
        context: Tokens that a model is taken to have room for, where it does not declare that itself.
        temperature: Of the sampling.
        retries: Further attempts after an answer that cannot be read.
    """

    name = "summarise"

    def __init__(
        self,
        models: Sequence[Model],
        wordings: dict[str, Wording],
        language: str = "en",
        text: str = "opinion",
        words: Annotated[int, Field(ge=10, le=10_000)] = 200,
        max_tokens: Annotated[int, Field(ge=50, le=1_000_000)] | None = None,
        context: Annotated[int, Field(ge=1_000, le=100_000_000)] = 8_000,
        temperature: Annotated[float, Field(ge=0, le=10)] = 0.0,
        retries: Annotated[int, Field(ge=0, le=100)] = 1,
    ) -> None:
        if language not in wordings:
            raise ConfigError(
                f"the step summarise has no wording in {language!r} (it has: {', '.join(wordings)}). Choose another "
                f"`prompt=`, or add `wordings.{language}` to its file in conf/step/."
            )
        self.text = text
        limits = Limits(words, max_tokens if max_tokens is not None else 3 * words + 200, context)
        self.language = language
        self.systems: Mapping[str, Mapping[str, Summarizer]] = {
            name: {
                code: Summarizer(model, wording, words_of(code), limits, temperature, retries)
                for code, wording in wordings.items()
            }
            for name, model in system_names(models).items()
        }

    def stages(self) -> Sequence[Step]:
        return (SystemsStep(tuple(self.systems), self.text), self)

    def maker(self, item: Item) -> str:
        return f"{self.name} by {self._system(item).model.name}"

    async def make(self, item: Item) -> Sequence[Item]:
        """The item with its summary; its metadata tell `word_count`, and `parts`, in how many the text was read."""
        found = await self._system(item).acall(text=item.inputs[self.text])
        summary: str = found.summary
        added = {"word_count": len(summary.split()), "parts": found.parts}
        inputs = {"summary": summary} | {name: text for name, text in item.inputs.items() if name != "summary"}
        return [item.model_copy(update={"inputs": inputs, "metadata": item.metadata | added})]

    def _system(self, item: Item) -> Summarizer:
        tongues = self.systems[item.metadata[SYSTEM]]
        return tongues.get(item.language or self.language) or tongues[self.language]


class SystemsStep(Step):
    """An item for each system: what it is to summarise. It asks nothing.

    Args:
        systems: Their names.
        text: The input that they are to summarise.
    """

    name = "systems"

    def __init__(self, systems: Sequence[str], text: str) -> None:
        self.systems, self.text = systems, text

    async def make(self, item: Item) -> Sequence[Item]:
        """The items `ITEM/SYSTEM`, which share the item as their pair. Raises DataError where there is no text."""
        if self.text not in item.inputs:
            raise DataError(
                f"{item.place + ': ' if item.place else ''}item {item.id!r} has no input `{self.text}` to "
                f"summarise (it has: {', '.join(item.inputs)}). Read documents first "
                "(steps=[extract,summarise]), or name the input: steps=[{step: summarise, text: NAME}]."
            )
        shared = {"pair": item.pair if item.pair is not None else item.id}
        return [
            item.model_copy(
                update=shared
                | {"id": f"{item.id}/{system}", "metadata": item.metadata | {"case": item.id, SYSTEM: system}}
            )
            for system in self.systems
        ]


def system_names(models: Sequence[Model]) -> dict[str, Model]:
    """Models by the names of systems: their own, without the server where that is enough to tell them apart.

    Raises:
        ConfigError: One is named twice.
    """
    full = Counter(model.name for model in models)
    if twice := next((name for name, times in full.items() if times > 1), None):
        raise ConfigError(f"{twice} is named twice among the models that summarise; name each once.")
    short = Counter(model.name.partition("@")[0] for model in models)
    return {
        model.name if short[model.name.partition("@")[0]] > 1 else model.name.partition("@")[0]: model
        for model in models
    }
