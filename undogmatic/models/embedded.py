"""`local`: a GGUF model in this process. Hidden states for probes, log-probabilities, and chat for
models that can."""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from undogmatic.errors import ConfigError, ModelError
from undogmatic.models import gguf_file
from undogmatic.models.base import Model, Pieces, View, cut
from undogmatic.models.calls import Reply, reading
from undogmatic.models.hosted import ChatModel, Tokens, settled
from undogmatic.models.llama import Ended, Llama, library
from undogmatic.safety.command import WORKERS
from undogmatic.safety.existing import existing_file
from undogmatic.safety.paths import data_folder

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

T = TypeVar("T")
CONTEXT = 4096  # tokens, unless model.context says otherwise
AT_ONCE = 64
"""Tokens of a chat's prompt that its server reads before it asks whether anybody still waits. (Its
context, and with it llama.cpp's abort callback, cannot be reached from here.) A model of 1.5
billion weights reads so many in about a second on two cores. With 512, the server's own number,
reading took 6 % less, and an interrupt eight times as long."""
_lock = threading.Lock()  # two evaluations at once only slow one another
_llama = lru_cache(maxsize=1)(Llama)  # The loaded model, shared by the jobs of a sweep


async def _alone(work: Callable[[Ended], T]) -> T:
    """What `work` gives in a thread, one at a time; the flag is set when nobody waits for it any
    more."""
    ended = Ended()

    def once() -> T:
        with _lock:
            return work(ended)

    try:
        return await asyncio.to_thread(once)
    finally:
        # an interrupt leaves the thread alone, and the command waits for its end
        ended.set()


def _encoded(values: np.ndarray, kind: str = "<f4") -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode()


def _decoded(data: Any, kind: str = "<f4") -> np.ndarray:
    """What a reply stands for, fresh or cached. Raises, as the next three do, for what is none."""
    values = np.frombuffer(base64.b64decode(data, validate=True), dtype=kind)
    if not values.size or not np.isfinite(values).all():
        raise ValueError("no states")
    return values


def _pieces(data: Any) -> Pieces:
    tokens = np.array(data["tokens"], dtype=np.int64)
    if (tokens < 1).any():
        raise ValueError("no pieces")
    return Pieces(tokens, _decoded(data["states"], "<f2").reshape(len(tokens), -1))


def _odds(data: Any) -> list[tuple[str, float]]:
    if not data or not all(
        isinstance(token, str) and value <= 0.01 for token, value in data
    ):
        raise ValueError("no tokens with log-probabilities")
    return [(token, value) for token, value in data]


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError("no text")
    return data


class EmbeddedModel(Model):
    """Gemma 3 270M by default, or any GGUF file. Everything it gives is repeatable bit for bit."""

    max_concurrency = 1

    def __init__(
        self,
        path: str | None = None,  # a GGUF file, or None for the embedded Gemma
        # of that file, or None to accept any (the name holds the hash all the same)
        sha256: str | None = None,
        threads: Annotated[
            int, Field(ge=1, le=1024)
        ] = 2,  # fewer where jobs of a sweep run side by side
        # tokens it can hold at once
        context: Annotated[int, Field(ge=64, le=131_072)] = CONTEXT,
        # whether it continues a text; an instruction model gets a chat
        base: bool = True,
    ) -> None:
        workers = int(os.environ.get(WORKERS, "1"))
        # this process's share of the cores where jobs of a sweep run side by side
        if workers > 1:
            cores = (
                len(os.sched_getaffinity(0))
                if hasattr(os, "sched_getaffinity")
                else os.cpu_count() or 1
            )
            threads = max(1, min(threads, cores // workers))
        self.base, self.threads, self.context = base, threads, context
        self.readouts = (
            ("probe", "logprobs")
            if base
            else ("probe", "logprobs", "structured", "samples")
        )
        named_file = (
            None
            if path is None
            else gguf_file.require_gguf(existing_file(path, "model.path", (".gguf",)))
        )
        self.path = named_file or gguf_file.gemma_file()
        self.sha256 = gguf_file.known_sha256(self.path)
        self.licence = gguf_file.GEMMA_LICENCE
        if self.sha256 != gguf_file.GEMMA_SHA256:
            self.licence = {
                "en": f"The model file model.path={path} is under its publisher's own licence.",
                "pt": f"O arquivo de modelo model.path={path} segue a licença de quem o publicou.",
            }
        if sha256 is not None:
            gguf_file.require(
                self.path,
                sha256,
                "Correct model.sha256, or name the right file with model.path=FILE.",
            )
        if path is not None:
            gguf_file.require_loadable(self.path)
        # A longer text is cut into windows of this size, so the size belongs to the identity, and
        # to the cache's keys.
        self.name = f"{self.path.stem}-{self.sha256[:12]}" + (
            f"-context{context}" if context != CONTEXT else ""
        )
        self._chat = (
            None if base else InProcessChat(self.name, self.path, self.threads, context)
        )

    def default_readout(self, rubric: str) -> str:
        """The probe where one ships for the rubric and this very file; else log-probabilities, or a
        chat's answer."""
        shipped = (data_folder() / "probes" / f"{rubric}.safetensors").is_file()
        if shipped and self.sha256 == gguf_file.GEMMA_SHA256:
            return "probe"
        return "logprobs" if self.base else "structured"

    async def pooled(self, text: str, view: View) -> np.ndarray:
        """The text through a view (see `View.pooled`), cached. Shape (n_blocks * width,), float32.
        A text longer than the context is read in windows; their means are weighted by their tokens.
        Raises ModelError without states.
        """

        def work(llama: Llama) -> Reply:
            if (block := max(view.blocks)) > llama.blocks:
                raise ConfigError(
                    f"{self.name} has {llama.blocks} blocks; block {block} does not exist."
                )
            start, body, end = (
                llama.tokenize(part, begin=False) for part in view.segments(text)
            )
            first = llama.tokenize("")
            room = llama.limit - len(first) - len(start) - len(end)
            if room < 1 or not body:
                raise ModelError(
                    f"the view's own words leave no room for the text in a context of {llama.limit}"
                    " tokens"
                )
            windows = [
                body[begin : begin + room] for begin in range(0, len(body), room)
            ]
            states = (
                llama.states([*first, *start, *window, *end], view.blocks)
                for window in windows
            )
            lengths = [(len(start), len(window), len(end)) for window in windows]
            vectors = list(map(view.pooled, states, lengths))
            return Reply(
                _encoded(np.average(vectors, axis=0, weights=list(map(len, windows)))),
                len(body),
            )

        return (
            await self._call(
                {"states": view.model_dump(mode="json"), "text": text}, work, _decoded
            )
        )[0]

    async def pieces(self, text: str, view: View) -> Pieces:
        """The mean states of each of the text's pieces (see `models.base.cut`) in one reading of
        the text, cached: in half precision, and without the words that a view puts around a text.
        Raises ModelError without states.
        """

        def work(llama: Llama) -> Reply:
            parts = [
                part
                for piece in cut(text)
                if (part := llama.tokenize(piece, begin=False))
            ]
            first = llama.tokenize("")
            body = [token for part in parts for token in part]
            room = llama.limit - len(first)
            if not body:
                raise ModelError("the text has no tokens, so the model gave no states")
            windows = [
                llama.states([*first, *body[at : at + room]], view.blocks)
                for at in range(0, len(body), room)
            ]
            rows = np.concatenate(
                [np.concatenate(window, axis=1)[len(first) :] for window in windows]
            )
            tokens = [len(part) for part in parts]
            means = (
                np.add.reduceat(rows, np.cumsum([0, *tokens[:-1]]), axis=0)
                / np.array(tokens)[:, None]
            )
            return Reply(
                {"tokens": tokens, "states": _encoded(means, "<f2")}, len(body)
            )

        return (
            await self._call(
                {"pieces": view.model_dump(mode="json"), "text": text}, work, _pieces
            )
        )[0]

    async def foretold(self, before: str, text: str) -> np.ndarray:
        """How well the text was to be foreseen after what stands before it: the log-probability of
        each of its tokens, cached, shape (n_tokens,), float32. Raises ModelError for a text without
        tokens, or where both do not fit the context."""

        def work(llama: Llama) -> Reply:
            start, body = llama.tokenize(before), llama.tokenize(text, begin=False)
            if not body:
                raise ModelError("the text has no tokens, so the model gave no odds")
            return Reply(_encoded(llama.logprobs(start, body)), len(start) + len(body))

        request = {"foretold": text, "before": before}
        return (await self._call(request, work, _decoded))[0]

    async def _call(
        self,
        request: dict[str, Any],
        work: Callable[[Llama], Reply],
        read: Callable[[Any], T],
    ) -> tuple[T, Reply]:
        """What `read` makes of the reply, and the reply, cached or by `work` on the loaded
        model."""

        def asked(ended: Ended) -> Reply:
            llama = _llama(self.path, self.threads, self.context)
            with llama.until(ended):
                return work(llama)._replace(usd=0.0)

        reply = await self.gateway.call(
            self.name, request, lambda: _alone(asked), timed=False, check=read
        )
        return read(reply.data), reply

    def count_tokens(self, text: str) -> int:
        with _lock:
            return len(
                _llama(self.path, self.threads, self.context).tokenize(
                    text, begin=False
                )
            )

    async def continue_text(self, text: str, most: int) -> str:
        """The likeliest continuation of a text, of at most so many tokens, cached. Raises
        ModelError."""
        request = {"continue": text, "most": most}
        return (
            await self._call(
                request, lambda llama: Reply(*llama.continued([text], most)), _text
            )
        )[0]

    async def complete(self, request: Request) -> Response:
        """A base model continues a text and gives its next token's odds; an instruction model
        answers a chat. All messages in a row are the text to continue; what several requests begin
        with is read once. Where no odds are asked for, it is the likeliest continuation up to the
        end of its line."""
        if self._chat is not None:
            self._chat.gateway = self.gateway
            return await self._chat.complete(request)
        from dspy.lm15 import TokenLogprob, TopLogprob

        parts = [message.text or "" for message in request.messages]
        most, top = request.config.max_tokens or 1, request.config.logprobs or 1
        if request.config.logprobs is None:
            text, reply = await self._call(
                {"parts": parts, "most": most},
                lambda llama: Reply(*llama.continued(parts, most, "\n")),
                _text,
            )
            return settled(
                {},
                self.name,
                text or " ",
                Tokens(reply.input_tokens, reply.output_tokens),
            )
        read, reply = await self._call(
            {"parts": parts, "top": top},
            lambda llama: Reply(*llama.next_token(parts, top), 1),
            _odds,
        )
        odds = tuple(
            TopLogprob(token=token, logprob=min(0.0, value)) for token, value in read
        )
        first = TokenLogprob(token=odds[0].token, logprob=odds[0].logprob, top=odds)
        return settled(
            {},
            self.name,
            first.token or " ",
            Tokens(reply.input_tokens, 1),
            logprobs=(first,),
        )


class InProcessChat(ChatModel):
    """A `ChatModel` whose server is `xllamacpp.Server`, called directly. Payloads and replies are
    the chat API's; the file's own chat template is used."""

    timed = False  # work in this process cannot be abandoned

    def __init__(self, name: str, path: Path, threads: int, context: int) -> None:
        # The prefix cache is off because answers would depend on what was asked before.
        super().__init__(
            path.stem, "http://127.0.0.1/v1", extra={"cache_prompt": False, "seed": 0}
        )
        self.name, self.context = name, context
        self._path, self._threads = path, threads
        self._server: Any = None

    async def send(self, payload: dict[str, Any]) -> Reply:
        pieces: list[dict[str, Any]] = []

        def ask(ended: Ended) -> None:
            def add(piece: dict[str, Any]) -> bool:
                """Take one piece, a token or how far the prompt is read; whether the server shall
                stop."""
                pieces.append(piece)
                return ended.is_set()

            if not ended.is_set():
                self._server = self._server or self._started()
                streamed = {
                    "stream": True,
                    "stream_options": {"include_usage": True},
                    "return_progress": True,
                }
                self._server.handle_chat_completions(payload | streamed, add)

        await _alone(ask)
        with reading(pieces):
            data = _whole(pieces)
        if "error" in data:  # llama.cpp reports failures as ordinary answers
            error = data["error"]
            raise ModelError(
                f"llama.cpp: {error.get('message', error) if isinstance(error, dict) else error}"
            )
        used = self._tokens(data)
        return Reply(data, used.input or 0, used.output or 0, usd=0.0)

    def _started(self) -> Any:
        xllamacpp = library()
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._path)
        parameters.n_ctx, parameters.n_parallel = self.context, 1
        parameters.n_batch = parameters.n_ubatch = AT_ONCE
        parameters.cache_ram_mib, parameters.verbosity = 0, -1
        parameters.warmup = parameters.ui = False
        # its port is open to every local user otherwise
        parameters.api_keys = [secrets.token_hex(16)]
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = (
            self._threads
        )
        try:
            return xllamacpp.Server(parameters)
        except RuntimeError as error:
            raise ConfigError(f"llama.cpp cannot serve {self._path}: {error}") from None


def _whole(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The pieces of a streamed answer, put together to what the server gives in one piece."""
    body: dict[str, Any] = {}
    message = {"role": "assistant", "content": ""}
    whole: dict[str, Any] = {"finish_reason": None, "index": 0, "message": message}
    tokens: list[Any] = []
    for piece in pieces:
        body |= {
            key: value
            for key, value in piece.items()
            if key not in ("choices", "prompt_progress")
        }
        for choice in piece.get("choices") or ():
            for field, text in choice["delta"].items():
                if field != "role" and isinstance(text, str):
                    message[field] = message.get(field, "") + text
            tokens += (choice.get("logprobs") or {}).get("content") or ()
            whole["finish_reason"] = (
                choice.get("finish_reason") or whole["finish_reason"]
            )
    whole |= {"logprobs": {"content": tokens}} if tokens else {}
    return body | {"choices": [whole], "object": "chat.completion"}
