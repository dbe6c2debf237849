"""Makes a model of ours DSPy's language model, so that its calls go through the gateway."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ConfigError
from undogmatic.models.base import Chats, Model
from undogmatic.models.calls import current_rollout, rollout

if TYPE_CHECKING:
    from dspy.lm15 import Config, Request, Response

Messages = list[dict[str, Any]]
_PLAIN = {
    "temperature",
    "top_p",
    "max_tokens",
    "logprobs",
    "top_logprobs",
    "response_format",
    "rollout_id",
}


class LanguageModel(dspy.LM):
    """A model of ours as DSPy's language model, for `dspy.context(lm=...)`; its calls go through
    the model's gateway.

    DSPy's own cache and retries are off: the gateway has them. `rollout_id` makes a call of its
    own, as there. Two hand-overs to worker threads and a conversion of the settings for every call
    are spared: they cost a third of the throughput at 64 calls in flight (benchmarks/hosted.py).
    Calls that want more of DSPy than messages in and text out (history, callbacks, streaming,
    usage, several generations) go its own way. A model that does not chat serves the readouts that
    ask it otherwise.
    """

    def __init__(self, model: Model, **settings: Any) -> None:
        self.served = model
        # optimisers use it
        engines: Any = {"engine": SimpleNamespace(complete=self._complete_alone)}
        engines["async_engine"] = SimpleNamespace(complete=self._complete)
        super().__init__(model.name, **engines, cache=False, num_retries=0, **settings)
        self._converted: tuple[dict[str, Any], Config] | None = None
        # to look for a protocol takes its time
        self._chat = model if isinstance(model, Chats) else None

    def __deepcopy__(self, memo: dict[int, Any]) -> LanguageModel:
        # connections, cache and budget are shared by the copies of a program
        return self

    async def _complete(self, request: Request) -> Response:
        if self._chat is None:
            name, ways = self.served.name, ", ".join(self.served.readouts)
            raise ConfigError(f"{name} does not chat; it serves the readouts {ways}.")
        return await self._chat.complete(request)

    def _complete_alone(self, request: Request) -> Response:
        async def once() -> Response:
            try:
                return await self._complete(request)
            finally:
                # connections belong to this call's event loop
                await self.served.close()

        return asyncio.run(once())

    def watched(self) -> bool:
        """Whether something of DSPy looks on at what this model is asked."""
        settings = dspy.settings
        return bool(
            settings.callbacks
            or self.callbacks
            or settings.usage_tracker
            or settings.send_stream is not None
        )

    async def acall(
        self, prompt: Any = None, *, messages: Messages | None = None, **kwargs: Any
    ) -> Any:
        if (
            messages
            and prompt is None
            and dspy.settings.disable_history
            and not self.watched()
        ):
            return await self.answer(messages, kwargs)
        with rollout(current_rollout() + int(kwargs.get("rollout_id") or 0)):
            return await super().acall(prompt, messages=messages, **kwargs)

    async def answer(self, messages: Messages, settings: dict[str, Any]) -> list[Any]:
        """What DSPy makes of the answers to `messages`, where nothing of it looks on; no history is
        kept."""
        wanted = {
            key: value
            for key, value in (self.kwargs | settings).items()
            if value is not None
        }
        repeat = int(wanted.pop("rollout_id", 0))
        with (
            rollout(current_rollout() + repeat) if repeat else contextlib.nullcontext()
        ):
            turns = messages[messages[0].get("role") == "system" :]
            plain = wanted.keys() <= _PLAIN and isinstance(
                wanted.get("response_format", {}), dict
            )
            texts = all(
                isinstance(m.get("content"), str) and len(m) == 2 for m in messages
            )
            if not (
                plain
                and texts
                and turns
                and {m["role"] for m in turns} <= {"user", "assistant"}
            ):
                with dspy.context(disable_history=True):
                    answer: Any = await super().acall(messages=messages, **settings)
                    return answer
            from dspy.lm15 import Message, Request, TextPart, request_from_openai_chat

            if self._converted is None or self._converted[0] != wanted:
                whole = request_from_openai_chat(
                    {"model": self.model, "messages": messages, **wanted}
                )
                self._converted = (wanted, whole.config)
            said = tuple(
                Message(role=m["role"], parts=(TextPart(m["content"]),)) for m in turns
            )
            system = messages[0]["content"] if len(turns) < len(messages) else None
            response = await self._complete(
                Request(self.model, said, system, config=self._converted[1])
            )
        if response.logprobs is None:
            return [response.text]
        content: list[dict[str, Any]] = [
            {"token": token.token, "logprob": token.logprob}
            | {
                "top_logprobs": [
                    {"token": other.token, "logprob": other.logprob}
                    for other in token.top
                ]
            }
            for token in response.logprobs
        ]
        return [{"text": response.text, "logprobs": {"content": content}}]


def served_model() -> Model:
    """The model of ours that `dspy.context(lm=...)` names. Raises ConfigError if it names none."""
    lm = dspy.settings.lm
    if not isinstance(lm, LanguageModel):
        raise ConfigError(
            "this readout asks its model otherwise than by chat, and dspy's `lm` is"
            f" {type(lm).__name__}. Call it within dspy.context(lm=LanguageModel(model)), with"
            " LanguageModel from undogmatic.models.language_model."
        )
    return lm.served
