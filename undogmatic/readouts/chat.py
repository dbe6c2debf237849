"""DSPy plumbing that the chat readouts share: the language model over our engine, the adapter for our prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.models.base import Chats, Model

if TYPE_CHECKING:
    from dspy.lm15 import Config, Request, Response, TokenLogprob

Messages = list[dict[str, Any]]


class _Sync:
    """DSPy wants a synchronous engine beside the asynchronous one; optimisers use it."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def complete(self, request: Request) -> Response:
        async def once() -> Response:
            try:
                return await self.model.complete(request)
            finally:
                await self.model.close()  # connections belong to this call's event loop

        return asyncio.run(once())


class _Async:
    def __init__(self, model: Chats) -> None:
        self.model = model

    async def complete(self, request: Request) -> Response:
        return await self.model.complete(request)


_PLAIN = {"temperature", "top_p", "max_tokens", "logprobs", "top_logprobs", "response_format"}


class _LanguageModel(dspy.LM):
    """`dspy.LM` without two hand-overs to worker threads and a conversion of the settings for every call.

    They cost a third of the throughput at 64 calls in flight (benchmarks/hosted.py). Calls that want more of DSPy than
    messages in and text out (history, callbacks, streaming, usage, several generations) go its own way.
    """

    def __init__(self, chats: Chats, name: str, **settings: Any) -> None:
        super().__init__(name, engine=_Sync(chats), async_engine=_Async(chats), cache=False, num_retries=0, **settings)
        self.chats = chats
        self._converted: tuple[dict[str, Any], Config] | None = None

    async def acall(self, prompt: Any = None, *, messages: Messages | None = None, **kwargs: Any) -> Any:
        settings = dspy.settings
        wanted = {key: value for key, value in {**self.kwargs, **kwargs}.items() if value is not None}
        watched = settings.callbacks or self.callbacks or settings.usage_tracker or not settings.disable_history
        plain = wanted.keys() <= _PLAIN and isinstance(wanted.get("response_format", {}), dict)
        if watched or settings.send_stream is not None or not plain or not _only_text(messages):
            return await super().acall(prompt, messages=messages, **kwargs)
        assert messages is not None
        response = await self.chats.complete(self._request(messages, wanted))
        if response.logprobs is None:
            return [response.text]
        return [{"text": response.text, "logprobs": {"content": [_token(t) for t in response.logprobs]}}]

    def _request(self, messages: Messages, wanted: dict[str, Any]) -> Request:
        from dspy.lm15 import Message, Request, TextPart, request_from_openai_chat

        if self._converted is None or self._converted[0] != wanted:
            whole = request_from_openai_chat({"model": self.model, "messages": messages, **wanted})
            self._converted = (wanted, whole.config)
        system = messages[0]["content"] if messages[0]["role"] == "system" else None
        turns = messages if system is None else messages[1:]
        return Request(
            model=self.model,
            messages=tuple(Message(role=turn["role"], parts=(TextPart(turn["content"]),)) for turn in turns),
            system=system,
            config=self._converted[1],
        )


def _only_text(messages: Messages | None) -> bool:
    """Whether these are a system prompt, if any, and turns of plain text."""
    if not messages:
        return False
    turns = messages[1:] if messages[0].get("role") == "system" else messages
    return (
        bool(turns)
        and all(isinstance(m.get("content"), str) and len(m) == 2 for m in messages)
        and all(m.get("role") in ("user", "assistant") for m in turns)
    )


def _token(found: TokenLogprob) -> dict[str, Any]:
    top = [{"token": t.token, "logprob": t.logprob} for t in found.top]
    return {"token": found.token, "logprob": found.logprob, "top_logprobs": top}


def language_model(model: Model, **settings: Any) -> dspy.LM:
    """A `dspy.LM` whose calls go through our gateway. DSPy's own cache and retries are off: the gateway has them."""
    if not isinstance(model, Chats):
        raise ConfigError(f"{model.name} does not chat; it serves the readouts {', '.join(model.readouts)}.")
    return _LanguageModel(model, model.name, **settings)


class PromptAdapter(dspy.Adapter):
    """Renders messages with a function of (demos, inputs) and hands the raw text back as the field `answer`.

    Parsing stays with the readout, which knows how to ask again.
    """

    def __init__(self, render: Callable[[list[dict[str, Any]], dict[str, Any]], Messages]) -> None:
        super().__init__()
        self._render = render

    def format(self, signature: Any, demos: list[dict[str, Any]], inputs: dict[str, Any]) -> Messages:
        return self._render(demos, inputs)

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        return {"answer": completion}


def before_the_text(messages: Messages) -> str:
    """All messages but the last, which holds the judged text, as one text."""
    return "\n\n".join(
        str(m["content"]) if m["role"] == "system" else f"[{m['role']}]\n{m['content']}" for m in messages[:-1]
    )


async def ask(predict: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> dspy.Prediction:
    """Call a predictor through `adapter`; our own errors come out as they went in, not wrapped by DSPy."""
    try:
        with dspy.context(adapter=adapter, disable_history=True):
            return await predict.acall(**inputs)
    except Exception as error:  # DSPy wraps whatever an engine raises; find ours underneath
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, UndogmaticError):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        raise
