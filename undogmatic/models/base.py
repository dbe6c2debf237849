"""What a model is to the rest of the program.

A model has a `name` (its full identity: server or file hash included), says which readouts it can serve (the first is
its default), and talks through the `Gateway` it is given. What it can do is one of four small protocols; a readout
asks for the one it needs and names the alternatives when the model lacks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from undogmatic.models.calls import Gateway
from undogmatic.records.wordings import Licence

if TYPE_CHECKING:
    import numpy as np
    from dspy.lm15 import Request, Response

    from undogmatic.models.views import Pieces, View


BYTES_PER_TOKEN = 3


class Model:
    """Base of all models. `connect` is called once before the first call, `close` after the last.

    Attributes:
        name: Identity for provenance and cache keys.
        readouts: Names of the readouts it can serve, the default first.
        max_concurrency: Calls it can usefully have in flight, or None for no limit of its own.
        base: Whether it is a base model, which continues a text instead of answering a chat.
        sha256: Hash of its file, where it is one: what was fitted on its states belongs to that file.
        rubric: The only rubric that it can judge by, or None for any.
        fitted_on: Marks (`records.text_mark`) of the texts that the model itself was fitted on.
        context: Tokens that question and answer may have together; None where it is not known.
        licence: Under which licence it is, by language; None: its provider's terms, whatever they are.
    """

    name: str
    readouts: tuple[str, ...]
    max_concurrency: int | None = None
    base: bool = False
    sha256: str | None = None
    rubric: str | None = None
    fitted_on: frozenset[str] = frozenset()
    context: int | None = None
    licence: Licence | None = None
    gateway: Gateway

    def default_readout(self, rubric: str) -> str:
        """What `readout=auto` stands for with this model and the rubric of this name."""
        return self.readouts[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self  # a copy of a judge asks the same model; connections and the cache cannot be doubled

    def asked(self) -> Model:
        """The model that is asked where a judge has none of its own."""
        return self

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, in the model's own where it can count them. Else an estimate from above: one per
        BYTES_PER_TOKEN bytes, where prose in English has 4 to 5 and in Portuguese 3 to 4."""
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)

    def connect(self, gateway: Gateway) -> None:
        """Use this gateway for all calls."""
        self.gateway = gateway

    async def close(self) -> None:
        """Release connections. The model may be used again afterwards."""


@runtime_checkable
class Chats(Protocol):
    """Completes a chat (DSPy's canonical request and response); log-probabilities when asked for."""

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
class Decides(Protocol):
    """Answers typed questions with probabilities (System One)."""

    async def decide(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]: ...


@runtime_checkable
class Rates(Protocol):
    """Gives a score on 0-1 directly, by rules or by a fitted regression, and says why."""

    async def rate(self, text: str) -> tuple[float, str]: ...


@runtime_checkable
class Continues(Protocol):
    """Continues a text by what is likeliest, up to so many tokens; a base model that cannot be told what to do."""

    async def continue_text(self, text: str, most: int) -> str: ...


@runtime_checkable
class Summarises(Protocol):
    """Takes sentences out of a text of any length, about so many words, by a rule."""

    async def summarise(self, text: str, words: int) -> str: ...
