"""DSPy plumbing that the chat readouts share: the language model over our engine, and the adapter that renders our prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dspy

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.models.base import Chats, Model

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

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


def language_model(model: Model, **settings: Any) -> dspy.LM:
    """A `dspy.LM` whose calls go through our gateway. DSPy's own cache and retries are off: the gateway has them."""
    if not isinstance(model, Chats):
        raise ConfigError(f"{model.name} does not chat; it serves the readouts {', '.join(model.readouts)}.")
    return dspy.LM(
        model.name, engine=_Sync(model), async_engine=_Async(model), cache=False, num_retries=0, **settings
    )


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
