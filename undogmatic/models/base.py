"""Defines what a model is to the rest of the program.

A model talks through the `Gateway` it is given. What it can do is one of a few small protocols; a
readout asks for the one it needs and names the alternatives when the model lacks it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from pydantic import Field

from undogmatic.models.calls import Gateway
from undogmatic.records.records import Record
from undogmatic.records.wordings import Licence

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

BYTES_PER_TOKEN = 3
_ENDS = re.compile(r"(?<=[.!?…;:,}>|])(?=\s)")
_SHORT, _LONG = 20, 60  # characters of a piece, about


class Model:
    """Base of all models. `connect` is called once before the first call, `close` after the
    last."""

    # full identity for provenance and cache keys: server or file hash included
    name: str
    readouts: tuple[str, ...]  # names of the readouts it can serve, the default first
    max_concurrency: int | None = (
        None  # calls it can usefully have in flight, or None for no limit of its own
    )
    # whether it is a base model, which continues a text instead of answering a chat
    base: bool = False
    # of its file, where it is one: what was fitted on its states belongs to that file
    sha256: str | None = None
    # whether a server answers, while this process waits and may do something else
    waits: bool = False
    rubric: str | None = None  # the only rubric that it can judge by, or None for any
    # marks (`records.text_mark`) of the texts that it was itself fitted on
    fitted_on: frozenset[str] = frozenset()
    # tokens that question and answer may have together; None where it is not known
    context: int | None = None
    # by language; None: its provider's terms, whatever they are
    licence: Licence | None = None
    gateway: Gateway

    def default_readout(self, rubric: str) -> str:
        """What `readout=auto` stands for with this model and the rubric of this name."""
        return self.readouts[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        # a copy of a judge asks the same model; connections and the cache cannot be doubled
        return self

    def asked(self) -> Model:
        """The model that is asked where a judge has none of its own."""
        return self

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, in the model's own where it can count them. Else an estimate from
        above: one per BYTES_PER_TOKEN bytes, where prose in English has 4 to 5 and in Portuguese 3
        to 4."""
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    def connect(self, gateway: Gateway) -> None:
        self.gateway = gateway

    async def close(self) -> None:
        """Release connections. The model may be used again afterwards."""

    def all(self) -> Sequence[Model]:
        """Itself, or the models that it stands for."""
        return (self,)


class Nobody(Model):
    """Stands for the model of a run that asks none; `name` is what is said in its place."""

    readouts = ()

    def __init__(self, name: str) -> None:
        self.name = name


class SeveralModels(Model):
    """Connects and closes models together, the run's own first; the least parallel one bounds the
    items in flight."""

    readouts = ()

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = tuple(models)
        self.name = " + ".join(model.name for model in self.models)
        self.max_concurrency = min(
            (m.max_concurrency for m in models if m.max_concurrency is not None),
            default=None,
        )

    def asked(self) -> Model:
        return self.models[0]

    def all(self) -> Sequence[Model]:
        return self.models

    def connect(self, gateway: Gateway) -> None:
        for model in self.models:
            model.connect(gateway)

    async def close(self) -> None:
        for model in self.models:
            await model.close()


class View(Record):
    """One way to turn a text into a vector: the states of the `blocks` (counted from 1) are pooled
    and concatenated."""

    blocks: tuple[int, ...] = Field(min_length=1)
    before: str = ""  # words put before the text
    after: str = ""  # words put after it, e.g. a question about it
    pool: Literal["text", "after", "last"] = (
        "text"  # mean over its tokens, mean over those of `after`, or the last one
    )
    # whether the text is given twice; pooling is then over its second copy
    echo: bool = False

    def segments(self, text: str) -> tuple[str, str, str]:
        """What stands before the pooled copy of the text, that copy, and what stands after it."""
        before = f"{self.before}{text}\n\n" if self.echo else self.before
        return before, text, self.after

    def pooled(
        self, states: list[np.ndarray], lengths: tuple[int, int, int]
    ) -> np.ndarray:
        """States of the chosen blocks -> the feature vector, shape (len(blocks) * width,), float32.

        Args:
            states: Per block, shape (n_tokens, width); row 0 is the begin-of-text token, then the
                three segments.
            lengths: Tokens of the three segments; they and the begin-of-text token add up to
                n_tokens.
        """
        before, text, after = lengths
        end = 1 + before + text
        rows = {
            "text": slice(end - text, end),
            "after": slice(end, end + after),
            "last": slice(-1, None),
        }[self.pool]
        return np.concatenate([each[rows].mean(axis=0) for each in states]).astype(
            np.float32
        )


class Pieces(NamedTuple):
    """A text as it was read: each piece's tokens, shape (n_pieces,), and mean states, shape
    (n_pieces, n_features)."""

    tokens: np.ndarray
    states: np.ndarray


def cut(text: str) -> list[str]:
    """Cuts a text into clauses of about 20 to 60 characters, which joined are the text again; no
    piece goes past the end of a line. A clause without punctuation is cut at a space."""
    pieces: list[str] = []
    for line in re.split(r"(?<=\n)", text):
        rest = ""
        for clause in _ENDS.split(line):
            rest += clause
            while len(rest) > _LONG:
                space = rest.find(" ", _LONG - _SHORT)
                end = space if 0 < space <= _LONG else _LONG
                pieces.append(rest[:end])
                rest = rest[end:]
            if len(rest) >= _SHORT:
                pieces.append(rest)
                rest = ""
        pieces += [rest] if rest else []
    return pieces


@runtime_checkable
class Chats(Protocol):
    """Completes a chat (DSPy's canonical request and response); log-probabilities when asked
    for."""

    async def complete(self, request: Request) -> Response: ...


@runtime_checkable
class Embeds(Protocol):
    """Gives hidden states of a text through a view."""

    async def pooled(self, text: str, view: View) -> np.ndarray: ...


@runtime_checkable
class EmbedsPieces(Embeds, Protocol):
    """Gives hidden states of every piece of a text as well."""

    async def pieces(self, text: str, view: View) -> Pieces: ...


@runtime_checkable
class Foretells(Protocol):
    """Gives the log-probability of each token of a text after another text."""

    async def foretold(self, before: str, text: str) -> np.ndarray: ...


@runtime_checkable
class Decides(Protocol):
    """Answers typed questions with probabilities (System One)."""

    async def decide(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]: ...


@runtime_checkable
class Rates(Protocol):
    """Gives a score on 0-1 directly, by rules or by a fitted regression, and says why."""

    async def rate(self, text: str) -> tuple[float, str]: ...


@runtime_checkable
class Continues(Protocol):
    """Continues a text by what is likeliest, up to so many tokens; a base model that cannot be told
    what to do."""

    async def continue_text(self, text: str, most: int) -> str: ...


@runtime_checkable
class Summarises(Protocol):
    """Takes sentences out of a text of any length, about so many words, by a rule."""

    async def summarise(self, text: str, words: int) -> str: ...
