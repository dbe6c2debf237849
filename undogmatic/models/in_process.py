"""Chat with an instruction model in this process: llama.cpp's own chat endpoint, without the network."""

from __future__ import annotations

import asyncio
import secrets
import threading
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError, ModelError
from undogmatic.models.calls import Reply
from undogmatic.models.hosted import ChatModel


class InProcessChat(ChatModel):
    """A `ChatModel` whose server is `xllamacpp.Server`, called directly. Payloads and replies are the chat API's.

    Args:
        name: Identity of the model, with the file's hash.
        path: The GGUF file; its own chat template is used.
        threads: Threads.
        context: Tokens it can hold at once.
        lock: Held while it evaluates.
    """

    timed = False  # work in this process cannot be abandoned

    def __init__(self, name: str, path: Path, threads: int, context: int, lock: threading.Lock) -> None:
        # The prefix cache is off because answers would depend on what was asked before.
        super().__init__(path.stem, "http://127.0.0.1/v1", extra={"cache_prompt": False, "seed": 0})
        self.name = name
        self.context = context
        self._path, self._threads, self._context, self._lock = path, threads, context, lock
        self._server: Any = None

    async def send(self, payload: dict[str, Any]) -> Reply:
        ended = threading.Event()
        try:
            data = await asyncio.to_thread(self._ask, payload, ended)
        finally:
            ended.set()  # an interrupt leaves the thread alone: it goes on to its next token
        if "error" in data:  # llama.cpp reports failures as ordinary answers
            error = data["error"]
            raise ModelError(f"llama.cpp: {error.get('message', error) if isinstance(error, dict) else error}")
        used = self._tokens(data)
        return Reply(data, used.input or 0, used.output or 0, usd=0.0)

    def _ask(self, payload: dict[str, Any], ended: threading.Event) -> dict[str, Any]:
        """The answer, written token by token so that it stops at the next one where nobody waits for it any more."""
        answer = _Streamed(ended)
        with self._lock:
            if not ended.is_set():
                if self._server is None:
                    self._server = self._started()
                streamed = payload | {"stream": True, "stream_options": {"include_usage": True}}
                self._server.handle_chat_completions(streamed, answer.add)
        return answer.whole()

    def _started(self) -> Any:
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._path)
        parameters.n_ctx = self._context
        parameters.n_parallel = 1
        parameters.cache_ram_mib = 0
        parameters.warmup = False
        parameters.verbosity = -1
        parameters.ui = False
        parameters.api_keys = [secrets.token_hex(16)]  # its port is open to every local user otherwise
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = self._threads
        try:
            return xllamacpp.Server(parameters)
        except RuntimeError as error:
            raise ConfigError(f"llama.cpp cannot serve {self._path}: {error}") from None


class _Streamed:
    """Puts the pieces of a streamed answer together to what the server gives in one piece.

    Args:
        ended: Set where nobody waits for the answer any more.
    """

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended
        self._body: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._tokens: list[Any] = []
        self._reason: str | None = None

    def add(self, piece: dict[str, Any]) -> bool:
        """Take one piece; whether the server shall stop. What is raised here would not reach the caller."""
        self._body |= {key: value for key, value in piece.items() if key != "choices"}
        for choice in piece.get("choices") or ():
            for field, text in choice["delta"].items():
                if field != "role" and isinstance(text, str):
                    self._texts.setdefault(field, []).append(text)
            self._tokens += (choice.get("logprobs") or {}).get("content") or ()
            self._reason = choice.get("finish_reason") or self._reason
        return self._ended.is_set()

    def whole(self) -> dict[str, Any]:
        """The body of the answer, or of the error that the server reported."""
        if "error" in self._body:
            return self._body
        message = {"role": "assistant", "content": ""} | {key: "".join(said) for key, said in self._texts.items()}
        choice: dict[str, Any] = {"finish_reason": self._reason, "index": 0, "message": message}
        if self._tokens:
            choice["logprobs"] = {"content": self._tokens}
        return self._body | {"choices": [choice], "object": "chat.completion"}
