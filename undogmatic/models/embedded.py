"""`local`: a GGUF model in this process. Hidden states for probes, log-probabilities, and chat for models that can."""

from __future__ import annotations

import asyncio
import base64
import os
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from undogmatic.datasets.base import existing_file
from undogmatic.errors import ConfigError, ModelError
from undogmatic.models.base import Model, Pieces, View, cut, pool
from undogmatic.models.calls import Reply
from undogmatic.models.gguf_file import (
    GEMMA_LICENCE,
    GEMMA_SHA256,
    gemma_file,
    known_sha256,
    require,
    require_gguf,
    require_loadable,
)
from undogmatic.models.llama import Llama
from undogmatic.records.wordings import Licence
from undogmatic.safety.command import WORKERS
from undogmatic.safety.paths import data_folder

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

    from undogmatic.models.in_process import InProcessChat

T = TypeVar("T")
CONTEXT = 4096  # tokens, unless model.context says otherwise
_lock = threading.Lock()  # two evaluations at once only slow one another


@lru_cache(maxsize=1)
def _llama(path: Path, threads: int, context: int) -> Llama:
    """The loaded model, shared by the jobs of a sweep."""
    return Llama(path, threads, context)


def _own_share(threads: int) -> int:
    """The threads asked for, or this process's share of the cores where jobs of a sweep run side by side."""
    workers = int(os.environ.get(WORKERS, "1"))
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads if workers < 2 else max(1, min(threads, here // workers))


def _vector(data: Any) -> np.ndarray:
    """The vector that a reply stands for, fresh or cached. Raises ValueError for what is none."""
    found = np.frombuffer(base64.b64decode(data, validate=True), dtype="<f4")
    if not found.size or not np.isfinite(found).all():
        raise ValueError("no vector")
    return found


def _check_vector(data: Any) -> None:
    _vector(data)


def _pieces(data: Any) -> Pieces:
    """The pieces that a reply stands for, fresh or cached. Raises for what is none."""
    tokens = np.array(data["tokens"], dtype=np.int64)
    states = np.frombuffer(base64.b64decode(data["states"], validate=True), dtype="<f2").reshape(len(tokens), -1)
    if not states.size or not np.isfinite(states).all() or (tokens < 1).any():
        raise ValueError("no pieces")
    return Pieces(tokens, states)


def _check_pieces(data: Any) -> None:
    _pieces(data)


def _check_odds(data: Any) -> None:
    """Raise where a reply is no list of tokens and their log-probabilities."""
    if not data or not all(isinstance(token, str) and value <= 0.01 for token, value in data):
        raise ValueError("no tokens with log-probabilities")


def _check_text(data: Any) -> None:
    """Raise where a reply is no text."""
    if not isinstance(data, str):
        raise ValueError("no text")


def _file_licence(path: str | None) -> Licence:
    return {
        "en": f"The model file model.path={path} is under its publisher's own licence.",
        "pt": f"O arquivo de modelo model.path={path} segue a licença de quem o publicou.",
    }


class EmbeddedModel(Model):
    """Gemma 3 270M by default, or any GGUF file. Everything it gives is repeatable bit for bit.

    Args:
        path: A GGUF file, or None for the embedded Gemma.
        sha256: Expected hash of that file, or None to accept any (the name holds the hash all the same).
        threads: Threads; no more than there are cores, and fewer where jobs of a sweep run side by side.
        context: Tokens it can hold at once.
        base: Whether it is a base model, which continues a text, or an instruction model, which gets a chat.
    """

    max_concurrency = 1

    def __init__(
        self,
        path: str | None = None,
        sha256: str | None = None,
        threads: Annotated[int, Field(le=1024)] = 2,
        context: Annotated[int, Field(le=131_072)] = CONTEXT,
        base: bool = True,
    ) -> None:
        for name, value, least in (("threads", threads, 1), ("context", context, 64)):
            if value < least:
                raise ConfigError(f"`model.{name}` is {value}; it must be at least {least}.")
        self.base, self.threads = base, _own_share(threads)
        self.context: int = context
        self.readouts = ("probe", "logprobs") if base else ("probe", "logprobs", "structured", "samples")
        self.path = gemma_file() if path is None else require_gguf(existing_file(path, "model.path", (".gguf",)))
        self.sha256 = known_sha256(self.path)
        self.licence = GEMMA_LICENCE if self.sha256 == GEMMA_SHA256 else _file_licence(path)
        if sha256 is not None:
            require(self.path, sha256, "Correct model.sha256, or name the right file with model.path=FILE.")
        if path is not None:
            require_loadable(self.path)
        # A longer text is cut into windows of this size, so the size belongs to the identity, and to the cache's keys.
        self.name = f"{self.path.stem}-{self.sha256[:12]}" + (f"-context{context}" if context != CONTEXT else "")
        self._chat_model: InProcessChat | None = None

    def default_readout(self, rubric: str) -> str:
        """The probe where one ships for the rubric and this very file; else log-probabilities, or a chat's answer."""
        shipped = data_folder() / "probes" / f"{rubric}.safetensors"
        if self.sha256 == GEMMA_SHA256 and shipped.is_file():
            return "probe"
        return "logprobs" if self.base else "structured"

    async def pooled(self, text: str, view: View) -> np.ndarray:
        """The text through a view (see `models.base.pool`), cached. Shape (n_blocks * width,), float32.

        A text longer than the context is read in windows; their means are weighted by their tokens.

        Raises:
            ModelError: The text gave no states.
        """
        request = {"states": view.model_dump(mode="json"), "text": text}

        async def send() -> Reply:
            vector, tokens = await self._with_llama(lambda llama: self._read(llama, text, view))
            return Reply(base64.b64encode(vector.astype("<f4").tobytes()).decode(), input_tokens=tokens, usd=0.0)

        reply = await self.gateway.call(self.name, request, send, timed=False, check=_check_vector)
        return _vector(reply.data)

    async def pieces(self, text: str, view: View) -> Pieces:
        """The mean states of each of the text's pieces (see `models.base.cut`) in one reading of the text, cached.

        The states are in half precision, and without the words that a view puts around a text.

        Raises:
            ModelError: The text gave no states.
        """
        request = {"pieces": view.model_dump(mode="json"), "text": text}

        async def send() -> Reply:
            tokens, means = await self._with_llama(lambda llama: self._read_pieces(llama, text, view))
            states = base64.b64encode(means.astype("<f2").tobytes()).decode()
            return Reply({"tokens": tokens, "states": states}, input_tokens=sum(tokens), usd=0.0)

        reply = await self.gateway.call(self.name, request, send, timed=False, check=_check_pieces)
        return _pieces(reply.data)

    def _read_pieces(self, llama: Llama, text: str, view: View) -> tuple[list[int], np.ndarray]:
        parts = [llama.tokenize(piece, begin=False) for piece in cut(text)]
        parts = [part for part in parts if part]
        first, body = llama.tokenize(""), [token for part in parts for token in part]
        room = llama.limit - len(first)
        if not body:
            raise ModelError("the text has no tokens, so the model gave no states")
        windows = [
            llama.states([*first, *body[begin : begin + room]], view.blocks) for begin in range(0, len(body), room)
        ]
        rows = np.concatenate([np.concatenate(window, axis=1)[len(first) :] for window in windows])
        tokens = [len(part) for part in parts]
        starts = np.cumsum([0, *tokens[:-1]])
        return tokens, np.add.reduceat(rows, starts, axis=0) / np.array(tokens)[:, None]

    def _read(self, llama: Llama, text: str, view: View) -> tuple[np.ndarray, int]:
        outside = max(view.blocks)
        if outside > llama.blocks:
            raise ConfigError(f"{self.name} has {llama.blocks} blocks; block {outside} does not exist.")
        before, inside, after = view.segments(text)
        start, body, end = (llama.tokenize(part, begin=False) for part in (before, inside, after))
        first = llama.tokenize("")
        room = llama.limit - len(first) - len(start) - len(end)
        if room < 1 or not body:
            raise ModelError(f"the view's own words leave no room for the text in a context of {llama.limit} tokens")
        vectors, weights = [], []
        for begin in range(0, len(body), room):
            window = body[begin : begin + room]
            states = llama.states([*first, *start, *window, *end], view.blocks)
            vectors.append(pool(view, states, (len(start), len(window), len(end))))
            weights.append(len(window))
        return np.average(vectors, axis=0, weights=weights).astype(np.float32), len(body)

    async def _with_llama(self, work: Callable[[Llama], T]) -> T:
        """What `work` makes of the loaded model, in a thread; where nobody waits any more it ends at the next token."""
        ended = threading.Event()

        def alone() -> T:
            with _lock:
                llama = _llama(self.path, self.threads, self.context)
                with llama.until(ended):
                    return work(llama)

        try:
            return await asyncio.to_thread(alone)
        finally:
            ended.set()

    def count_tokens(self, text: str) -> int:
        with _lock:
            return len(_llama(self.path, self.threads, self.context).tokenize(text, begin=False))

    async def continue_text(self, text: str, most: int) -> str:
        """The likeliest continuation of a text, of at most so many tokens, cached. Raises ModelError."""

        async def send() -> Reply:
            found, read, written = await self._with_llama(lambda llama: llama.continued([text], most))
            return Reply(found, input_tokens=read, output_tokens=written, usd=0.0)

        request = {"continue": text, "most": most}
        found: str = (await self.gateway.call(self.name, request, send, timed=False, check=_check_text)).data
        return found

    async def complete(self, request: Request) -> Response:
        """A base model continues a text and gives its next token's odds; an instruction model answers a chat."""
        return await (self._continue(request) if self.base else self._chat(request))

    async def _continue(self, request: Request) -> Response:
        """All messages in a row are the text to continue; what several requests begin with is read once."""
        from dspy.lm15 import Message, Response, TextPart, TokenLogprob, TopLogprob, Usage

        parts, top = [message.text or "" for message in request.messages], request.config.logprobs or 1
        if request.config.logprobs is None:
            return await self._words(parts, request.config.max_tokens or 1)
        payload = {"parts": parts, "top": top}

        async def send() -> Reply:
            found, count = await self._with_llama(lambda llama: llama.next_token(parts, top))
            return Reply([list(pair) for pair in found], input_tokens=count, output_tokens=1, usd=0.0)

        reply = await self.gateway.call(self.name, payload, send, timed=False, check=_check_odds)
        odds = tuple(TopLogprob(token=token, logprob=min(0.0, value)) for token, value in reply.data)
        return Response(
            id=None,
            model=self.name,
            message=Message.assistant([TextPart(odds[0].token)]),
            finish_reason="stop",
            usage=Usage(input_tokens=reply.input_tokens, output_tokens=1),
            logprobs=(TokenLogprob(token=odds[0].token, logprob=odds[0].logprob, top=odds),),
        )

    async def _words(self, parts: list[str], most: int) -> Response:
        """The likeliest continuation up to the end of its line, cached."""
        from dspy.lm15 import Message, Response, TextPart, Usage

        async def send() -> Reply:
            found, read, written = await self._with_llama(lambda llama: llama.continued(parts, most, "\n"))
            return Reply(found, input_tokens=read, output_tokens=written, usd=0.0)

        request = {"parts": parts, "most": most}
        reply = await self.gateway.call(self.name, request, send, timed=False, check=_check_text)
        return Response(
            id=None,
            model=self.name,
            message=Message.assistant([TextPart(reply.data or " ")]),
            finish_reason="stop",
            usage=Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens),
        )

    async def _chat(self, request: Request) -> Response:
        from undogmatic.models.in_process import InProcessChat

        if self._chat_model is None:
            self._chat_model = InProcessChat(self.name, self.path, self.threads, self.context, _lock)
        self._chat_model.gateway = self.gateway
        return await self._chat_model.complete(request)
