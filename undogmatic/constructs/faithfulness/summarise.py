"""Lets several models summarise every text, at once or part by part, so that the summaries can be
judged.

Parts are as large as a model's context allows, cut between paragraphs. What it says of the parts is
summarised in turn, as often as it takes (map and reduce). `lead` and `centroid` take sentences out
of the text instead of writing; they are baselines: who summarises worse than the first sentences
has not summarised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any

import dspy
import numpy as np
from pydantic import Field

from undogmatic.constructs.faithfulness.facts.words import sentences
from undogmatic.engine.step import Step
from undogmatic.errors import ConfigError, DataError, UnparseableAnswer
from undogmatic.models.base import Chats, Continues, Model, Summarises
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts import adapter
from undogmatic.readouts.chat import ask, insisting
from undogmatic.readouts.prompt import FixedWords
from undogmatic.readouts.prompt import language as words_of
from undogmatic.records.records import Item, Record
from undogmatic.records.wordings import of_this_project

SYSTEM = "system"


class SummariseStep(Step):
    """A summary of each item by each model, as an item of its own, `ITEM/SYSTEM`.

    Two stages: the item is multiplied by the systems, and then each asks its model. So a model that
    refuses is a failure of its own summary alone, and what is made already is not made again.

    Args:
        models: What writes; a model's name (up to its server) is the name of the system.
        wordings: Language -> what a model is told (`SummaryWording`).
        language: In which it is told, and in which the fixed sentences around it are, where the
            item names no language that there is a wording in.
        text: The input that is summarised.
        words: How long a summary shall be.
        max_tokens: Room for an answer; None: three tokens per word, and 200. A model that thinks
            first needs more.
        context: Tokens that a model is taken to have room for, where it does not declare that
            itself.
        temperature, retries: Of the sampling; further attempts after an answer that cannot be read.
    """

    name = "summarise"

    def __init__(
        self,
        models: Sequence[Model],
        wordings: dict[str, SummaryWording],
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
                f"the step summarise has no wording in {language!r} (it has:"
                f" {', '.join(wordings)}). Choose another `prompt=`, or add `wordings.{language}`"
                " to its file in conf/step/."
            )
        full = [model.name for model in models]
        if twice := next((name for name in full if full.count(name) > 1), None):
            raise ConfigError(
                f"{twice} is named twice among the models that summarise; name each once."
            )
        # without the server, where that tells them apart
        short = [name.partition("@")[0] for name in full]
        names = [
            full[n] if short.count(name) > 1 else name for n, name in enumerate(short)
        ]
        self.text, self.language = text, language
        tokens = max_tokens if max_tokens is not None else 3 * words + 200
        settings = words, tokens, context, temperature, retries
        self.systems: Mapping[str, Mapping[str, Summarizer]] = {
            name: {
                code: Summarizer(model, told, words_of(code), *settings)
                for code, told in wordings.items()
            }
            for name, model in zip(names, models, strict=True)
        }

    def stages(self) -> Sequence[Step]:
        return (SystemsStep(tuple(self.systems), self.text), self)

    def maker(self, item: Item) -> str:
        return f"{self.name} by {self._system(item).model.name}"

    async def make(self, item: Item) -> Sequence[Item]:
        """The item with its summary; its metadata tell `word_count`, and `parts`, in how many the
        text was read."""
        made = await self._system(item).acall(text=item.inputs[self.text])
        about = item.metadata | {
            "word_count": len(made.summary.split()),
            "parts": made.parts,
        }
        inputs = {"summary": made.summary} | {
            k: text for k, text in item.inputs.items() if k != "summary"
        }
        return [item.model_copy(update={"inputs": inputs, "metadata": about})]

    def _system(self, item: Item) -> Summarizer:
        tongues = self.systems[item.metadata[SYSTEM]]
        return tongues.get(item.language or self.language) or tongues[self.language]


class SystemsStep(Step):
    """An item for each of the `systems`, which is to summarise the input `text`. It asks
    nothing."""

    name = "systems"

    def __init__(self, systems: Sequence[str], text: str) -> None:
        self.systems, self.text = systems, text

    async def make(self, item: Item) -> Sequence[Item]:
        """The items `ITEM/SYSTEM`, which share the item as their pair. Raises DataError where there
        is no text."""
        if self.text not in item.inputs:
            raise DataError(
                f"{item.place + ': ' if item.place else ''}item {item.id!r} has no input"
                f" `{self.text}` to summarise (it has: {', '.join(item.inputs)}). Read documents"
                " first (steps=[extract,summarise]), or name the input: 'steps=[{step: summarise,"
                " text: NAME}]'."
            )
        shared = {"pair": item.pair if item.pair is not None else item.id}
        about = item.metadata | {"case": item.id}
        return [
            item.model_copy(
                update=shared
                | {"id": f"{item.id}/{system}", "metadata": about | {SYSTEM: system}}
            )
            for system in self.systems
        ]


# what the model sees: the text, one of its parts, or what was said of the parts
TASKS = (
    "whole",
    "part",
    "joined",
)
# so much of its length may stay when a text's parts are summarised; else there is no end to it
SHRINKING = 0.9


class SummaryWording(Record):
    """What a model is told, in one language: for each task the instruction, in which {words} stands
    for the length."""

    whole: str
    part: str
    joined: str
    # that the text is material and no instruction; what stands there is said in `conf/language/`
    fence: str
    heading: str  # over the text
    form: str  # how the summary stands in the form that the model fills
    # what follows the text where a base model is to go on with its summary
    continued: str


class Summarizer(dspy.Module):
    """Writes a summary with one model: one that chats, a base model that continues, or a rule that
    takes sentences out. Raises ConfigError where the model can do none of these.

    Args:
        wording, fixed: What the model is told, and the fixed sentences of the language around it.
        words, max_tokens: Of a summary, and of an answer.
        context: Tokens that the model has room for, where it does not declare that itself.
        retries: Further attempts after an answer that cannot be read.
    """

    def __init__(
        self,
        model: Model,
        wording: SummaryWording,
        fixed: FixedWords,
        words: int,
        max_tokens: int,
        context: int,
        temperature: float = 0.0,
        retries: int = 1,
    ) -> None:
        super().__init__()
        self.model, self.wording, self.retries = model, wording, retries
        self.words, self.max_tokens = words, max_tokens
        self.rule = model if isinstance(model, Summarises) else None
        self.base = (
            model
            if self.rule is None and model.base and isinstance(model, Continues)
            else None
        )
        chats = "structured" in model.readouts and isinstance(model, Chats)
        if self.rule is None and self.base is None and not chats:
            raise ConfigError(
                f"{model.name} writes no text (it serves: {', '.join(model.readouts)}). Name"
                " others, e.g. summarizer=[lead,centroid,local,gpt]."
            )
        self.lm = LanguageModel(model)
        self.context = model.context if model.context is not None else context
        self.adapter = adapter.JudgeAdapter(
            fixed.model_copy(update={"fence": wording.fence})
        )
        schema = {
            "type": "object",
            "properties": {"summary": {"type": "string"}},
            "required": ["summary"],
        }
        form = {
            "name": "summary",
            "schema": schema | {"additionalProperties": False},
            "strict": True,
        }
        settings: dict[str, Any] = {
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        settings["response_format"] = {"type": "json_schema", "json_schema": form}
        fields = (
            {"text": adapter.material(wording.heading)},
            {"summary": adapter.words(str, wording.form)},
        )
        for task in TASKS:
            instruction = getattr(wording, task).strip().format(words=words)
            signature = adapter.signature(
                instruction, *fields, helpers=("previous", "problem")
            )
            setattr(self, task, dspy.Predict(signature, **settings))

    async def aforward(self, text: str) -> dspy.Prediction:
        """Summarise a text: a prediction with `summary`, and `parts`, in how many pieces the text
        was read. Raises ModelError where the model refused, or its answer is cut off, empty or
        otherwise not what was asked for.
        """
        if self.rule is not None:
            return dspy.Prediction(
                summary=await self.rule.summarise(text, self.words), parts=1
            )
        sent = [self._continued("")]
        if self.base is None:
            formatted = [
                self.adapter.format(getattr(self, task).signature, [], {"text": " "})
                for task in TASKS
            ]
            sent = [
                "\n\n".join(str(message["content"]) for message in messages)
                for messages in formatted
            ]
        asked = max(map(self.model.count_tokens, sent))
        # tokens that a text may have to be read at once
        room = self.context - self.max_tokens - asked
        if room < 2 * self.max_tokens:
            raise ConfigError(
                f"{self.model.name} has a context of {self.context:,} tokens, of which the"
                f" instruction takes {asked:,} and the summary up to {self.max_tokens:,}; too few"
                " remain for a text. Ask for shorter ones (words and max_tokens of the step"
                " summarise), or name a model with a larger context."
            )
        notes, parts = text, 0
        while self.model.count_tokens(notes) > room:
            pieces = divided(notes, room, self.model.count_tokens)
            # One after the other: how many calls are in flight is the engine's to say.
            shorter = "\n\n".join(
                [(await self._write("part", piece)).strip() for piece in pieces]
            )
            if parts and len(shorter) > SHRINKING * len(notes):
                raise UnparseableAnswer(
                    "the summaries of the text's parts are as long as the parts",
                    shorter,
                )
            notes, parts = shorter, parts or len(pieces)
        summary = await self._write("joined" if parts > 1 else "whole", notes)
        return dspy.Prediction(summary=summary.strip(), parts=max(1, parts))

    async def _write(self, task: str, text: str) -> str:
        """The summary; of what a base model wrote, all to its first repetition or paragraph's end,
        without a sentence that is cut off."""
        if self.base is not None:
            went_on = await self.base.continue_text(
                self._continued(text), self.max_tokens
            )
            written = f"{self.wording.continued.strip()} {went_on.strip()}"
            every = sentences(written.strip().partition("\n\n")[0])
            kept = every[
                : next(
                    (n for n, sentence in enumerate(every) if sentence in every[:n]),
                    None,
                )
            ]
            if kept and not kept[-1].rstrip("”\"')]").endswith((".", "!", "?")):
                kept.pop()
            if not kept:
                raise UnparseableAnswer(
                    "the continuation holds no whole sentence", written
                )
            return " ".join(kept)

        async def once(**said: str | None) -> str:
            with dspy.context(lm=self.lm):
                return str(
                    (
                        await ask(getattr(self, task), self.adapter, text=text, **said)
                    ).summary
                )

        return await insisting(self.retries, once)

    def _continued(self, text: str) -> str:
        return f"{self.wording.heading}:\n\n{text}\n\n{self.wording.continued.strip()}"


def divided(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """A text in pieces of at most `room` tokens each, of about one size, cut between paragraphs
    where that can be. A paragraph that is too long is cut between sentences, a sentence that is
    between words."""
    whole, taken = count(text), 0
    wanted = math.ceil(whole / math.ceil(whole / room))
    pieces: list[list[str]] = [[]]
    for piece in (
        piece
        for paragraph in text.split("\n\n")
        for piece in _fitting(paragraph, room, count)
    ):
        size = count(f"{piece}\n\n")
        if pieces[-1] and (taken + size > room or taken >= wanted):
            pieces.append([])
            taken = 0
        pieces[-1].append(piece)
        taken += size
    return ["\n\n".join(piece) for piece in pieces if piece]


def _fitting(paragraph: str, room: int, count: Callable[[str], int]) -> list[str]:
    if count(f"{paragraph}\n\n") <= room or not paragraph.strip():
        return [paragraph] if paragraph.strip() else []
    ways = (
        (sentences(paragraph), " "),
        (paragraph.split(), " "),
        (list(paragraph), ""),
    )
    parts, between = next((way for way in ways if len(way[0]) > 1), ways[-1])
    half = len(parts) // 2
    return [
        piece
        for some in (parts[:half], parts[half:])
        for piece in _fitting(between.join(some), room, count)
    ]


REPEATED = 0.6  # cosine above which a sentence says what a chosen one says
SHORTEST = 5  # words; a heading, a number of a docket or a name has fewer


class LeadModel(Model):
    """Chooses the first sentences of a text. It answers no question, so it cannot judge."""

    name = "lead"
    readouts = ()
    licence = of_this_project(name)

    def default_readout(self, rubric: str) -> str:
        raise ConfigError(
            f"model={self.name} takes sentences out of a text and judges nothing. Name it in"
            f" summarizer=[{self.name}], and another model here: model=local or model=gpt."
        )

    async def summarise(self, text: str, words: int) -> str:
        """Whole sentences in their order, at most `words` words, but at least one sentence. Raises
        UnparseableAnswer where there is none in it."""
        every = sentences(text)
        usable = [
            n for n, sentence in enumerate(every) if len(sentence.split()) >= SHORTEST
        ] or list(range(len(every)))
        if not usable:
            raise UnparseableAnswer("there is no sentence in the text")
        ranked = [usable[n] for n in self.ranked([every[k] for k in usable])]
        lengths = list(accumulate(len(every[k].split()) for k in ranked))
        fitting = max(1, sum(length <= words for length in lengths))
        return " ".join(every[n] for n in sorted(ranked[:fitting]))

    def ranked(self, sentences: Sequence[str]) -> Iterable[int]:
        """Positions of sentences, the first to be taken first."""
        return range(len(sentences))


class CentroidModel(LeadModel):
    """Chooses the sentences nearest to the middle of all, by TF-IDF, none of which repeats another.

    References:
        Radev, Jing, Styś and Tam (2004), Centroid-based summarization of multiple documents.
        doi:10.1016/j.ipm.2003.10.006
    """

    name = "centroid"
    licence = of_this_project(name)

    def ranked(self, sentences: Sequence[str]) -> Iterable[int]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectors = TfidfVectorizer(
                sublinear_tf=True, strip_accents="unicode"
            ).fit_transform(sentences)
        except ValueError:  # no word in any of them has two letters
            return range(len(sentences))
        near = np.asarray(vectors @ np.asarray(vectors.mean(axis=0)).T).ravel()
        order: list[int] = []
        for n in np.argsort(-near, kind="stable"):
            if not order or float((vectors[order] @ vectors[n].T).max()) < REPEATED:
                order.append(int(n))
        return order
