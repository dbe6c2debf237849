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
        data = await asyncio.to_thread(self._ask, payload)
        if "error" in data:  # llama.cpp reports failures as ordinary answers
            error = data["error"]
            raise ModelError(f"llama.cpp: {error.get('message', error) if isinstance(error, dict) else error}")
        used = self._tokens(data)
        return Reply(data, used.input or 0, used.output or 0, usd=0.0)

    def _ask(self, payload: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._server is None:
                self._server = self._started()
            answer: dict[str, Any] = self._server.handle_chat_completions(payload)
        return answer

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
