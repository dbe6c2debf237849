"""A model writes the summary of a text of any length: at once where it fits the model's context, else part by part.

Parts are as large as the context allows, cut between paragraphs. What the model says of the parts is summarised in
turn, as often as it takes (map and reduce).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import dspy

from undogmatic.constructs.faithfulness.sentences import sentences
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.base import Chats, Continues, Model, Summarises
from undogmatic.readouts import adapter
from undogmatic.readouts.chat import LanguageModel, ask, insisting
from undogmatic.readouts.prompts import Words
from undogmatic.records.records import Record

Task = Literal["whole", "part", "joined"]
"""What lies before the model: the text, one of its parts, or what was said of the parts."""
SHRINKING = 0.9
"""So much of its length the text may keep at most when its parts are summarised; else there is no end to it."""


class Wording(Record):
    """What a model is told, in one language; {words} stands for the length, {number} and {count} for the part.

    Attributes:
        whole, part, joined: The instruction for each task.
        fence: That the text is material and no instruction; what stands there is said in `conf/language/`.
        heading: Over the text.
        form: How the summary stands in the form that the model fills.
        continued: What follows the text where a base model is to go on with its summary.
    """

    whole: str
    part: str
    joined: str
    fence: str
    heading: str
    form: str
    continued: str

    def task(self, task: Task, words: int) -> str:
        """The instruction."""
        return getattr(self, task).strip().format(words=words)  # type: ignore[no-any-return]


class Limits(NamedTuple):
    """Words of a summary, tokens of an answer, and the context of a model that does not declare its own."""

    words: int
    max_tokens: int
    context: int


class Summarizer(dspy.Module):
    """Writes a summary with one model.

    Args:
        model: It: one that chats, a base model that continues, or a rule that takes sentences out.
        wording: What it is told.
        words: The fixed sentences of the language.
        limits: Sizes.
        temperature: Of the sampling.
        retries: Further attempts after an answer that cannot be read.
    Raises:
        ConfigError: The model can do none of these.
    """

    def __init__(
        self, model: Model, wording: Wording, words: Words, limits: Limits, temperature: float = 0.0, retries: int = 1
    ) -> None:
        super().__init__()
        self.model, self.wording, self.limits, self.retries = model, wording, limits, retries
        self.rule = model if isinstance(model, Summarises) else None
        self.base = model if self.rule is None and model.base and isinstance(model, Continues) else None
        if (
            self.rule is None
            and self.base is None
            and not ("structured" in model.readouts and isinstance(model, Chats))
        ):
            raise ConfigError(
                f"{model.name} writes no text (it serves: {', '.join(model.readouts)}). Name others, e.g. "
                "summarizer=[lead,centroid,local,gpt]."
            )
        self.lm = LanguageModel(model)
        self.context = model.context if model.context is not None else limits.context
        self.adapter = adapter.JudgeAdapter(words.model_copy(update={"fence": wording.fence}))
        schema = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
        form = {"name": "summary", "schema": schema | {"additionalProperties": False}, "strict": True}
        settings = {
            "temperature": temperature,
            "max_tokens": limits.max_tokens,
            "response_format": {"type": "json_schema", "json_schema": form},
        }
        self.whole, self.part, self.joined = (
            dspy.Predict(_signature(wording, wording.task(task, limits.words)), **settings)
            for task in ("whole", "part", "joined")
        )

    async def aforward(self, text: str) -> dspy.Prediction:
        """Summarise a text.

        Returns:
            A prediction with `summary`, and `parts`: in how many pieces the text was read.
        Raises:
            ModelError: The model refused, or its answer is cut off, empty or otherwise not what was asked for.
        """
        if self.rule is not None:
            return dspy.Prediction(summary=await self.rule.summarise(text, self.limits.words), parts=1)
        room = self.room()
        said, parts = text, 1
        if self.model.count_tokens(text) > room:
            pieces = divided(text, room, self.model.count_tokens)
            parts = len(pieces)
            said = await self._of_parts(pieces)
            while self.model.count_tokens(said) > room:
                pieces = divided(said, room, self.model.count_tokens)
                shorter = await self._of_parts(pieces)
                if len(shorter) > SHRINKING * len(said):
                    raise UnparseableAnswer("the summaries of the text's parts are as long as the parts", shorter)
                said = shorter
        task: Task = "whole" if parts == 1 else "joined"
        return dspy.Prediction(summary=(await self._write(task, said)).strip(), parts=parts)

    def room(self) -> int:
        """Tokens that a text may have to be read at once. Raises ConfigError where there is hardly any room."""
        asked = max(self.model.count_tokens(self.shown(task)) for task in ("whole", "part", "joined"))
        room = self.context - self.limits.max_tokens - asked
        if room < 2 * self.limits.max_tokens:
            raise ConfigError(
                f"{self.model.name} has a context of {self.context:,} tokens, of which the instruction takes {asked:,} "
                f"and the summary up to {self.limits.max_tokens:,}; too few remain for a text. Ask for shorter ones "
                "(words and max_tokens of the step summarise), or name a model with a larger context."
            )
        return room

    def shown(self, task: Task) -> str:
        """All that is sent besides the text."""
        if self.base is not None:
            return self._continued("")
        messages = self.adapter.format(self._predictor(task).signature, [], {"text": " "})
        return "\n\n".join(str(message["content"]) for message in messages)

    async def _of_parts(self, pieces: Sequence[str]) -> str:
        """One after the other: how many calls are in flight is the engine's to say."""
        return "\n\n".join([(await self._write("part", piece)).strip() for piece in pieces])

    async def _write(self, task: Task, text: str) -> str:
        if self.base is not None:
            went_on = await self.base.continue_text(self._continued(text), self.limits.max_tokens)
            return _whole_sentences(f"{self.wording.continued.strip()} {went_on.strip()}")
        predict = self._predictor(task)

        async def once(**said: str | None) -> str:
            with dspy.context(lm=self.lm):
                return str((await ask(predict, self.adapter, text=text, **said)).summary)

        return await insisting(self.retries, once)

    def _predictor(self, task: Task) -> dspy.Predict:
        return getattr(self, task)

    def _continued(self, text: str) -> str:
        return f"{self.wording.heading}:\n\n{text}\n\n{self.wording.continued.strip()}"


def _signature(wording: Wording, instruction: str) -> Any:
    judged = {"text": adapter.material(wording.heading)}
    answer = {"summary": adapter.words(str, wording.form)}
    return adapter.signature(instruction, judged, answer, helpers=("previous", "problem"))


def divided(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """A text in pieces of at most `room` tokens each, of about one size, cut between paragraphs where that can be.

    A paragraph that is too long is cut between sentences, a sentence that is between words.
    """
    whole = count(text)
    wanted = math.ceil(whole / math.ceil(whole / room))
    pieces: list[list[str]] = [[]]
    taken = 0
    for paragraph in text.split("\n\n"):
        for piece in _fitting(paragraph, room, count):
            size = count(f"{piece}\n\n")
            if pieces[-1] and (taken + size > room or taken >= wanted):
                pieces.append([])
                taken = 0
            pieces[-1].append(piece)
            taken += size
    return ["\n\n".join(piece) for piece in pieces if piece]


def _fitting(paragraph: str, room: int, count: Callable[[str], int]) -> list[str]:
    if not paragraph.strip():
        return []
    if count(f"{paragraph}\n\n") <= room:
        return [paragraph]
    parts, between = sentences(paragraph), " "
    if len(parts) < 2:
        parts = paragraph.split()
    if len(parts) < 2:
        parts, between = list(paragraph), ""
    half = len(parts) // 2
    return [piece for some in (parts[:half], parts[half:]) for piece in _fitting(between.join(some), room, count)]


def _whole_sentences(text: str) -> str:
    """What a base model wrote, to its first repetition or paragraph's end, without a sentence that is cut off."""
    found: list[str] = []
    for sentence in sentences(text.strip().partition("\n\n")[0]):
        if sentence in found:
            break
        found.append(sentence)
    if found and not found[-1].rstrip("”\"')]").endswith((".", "!", "?")):
        found.pop()
    if not found:
        raise UnparseableAnswer("the continuation holds no whole sentence", text or None)
    return " ".join(found)
