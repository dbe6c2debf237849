"""From a model to DSPy: the language model that calls go through, and a predictor's call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError

from undogmatic.errors import (
    ConfigError,
    ModelError,
    OffScaleAnswer,
    UnparseableAnswer,
    ours,
)
from undogmatic.models.base import Chats, Model
from undogmatic.models.calls import attempt, current_rollout, rollout
from undogmatic.readouts.adapter import covered, read_again, worded
from undogmatic.readouts.nearest import chosen
from undogmatic.records.records import Item, Verdict

if TYPE_CHECKING:
    from dspy.lm15 import Config, Request, Response

Messages = list[dict[str, Any]]
T = TypeVar("T")
_PLAIN = {
    "temperature",
    "top_p",
    "max_tokens",
    "logprobs",
    "top_logprobs",
    "response_format",
    "rollout_id",
}


class Guest(NamedTuple):
    """Who asks through a program of DSPy's own (`optimize.module`), and sees its history; `adapter`
    is in place of ours where there is one."""

    adapter: dspy.Adapter | None = None


guest_of_dspy: ContextVar[Guest | None] = ContextVar("guest_of_dspy", default=None)


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
            " LanguageModel from undogmatic.readouts.chat."
        )
    return lm.served


async def ask(
    predict: dspy.Predict, adapter: dspy.Adapter, **inputs: Any
) -> dspy.Prediction:
    """Call a predictor through `adapter`; our own errors come out as they went in, not wrapped by
    DSPy."""
    guest = guest_of_dspy.get()
    if guest is not None:
        return await _watched(guest, predict, adapter, **inputs)
    if (lm := _alone(predict, adapter)) is not None and (
        given := covered(predict.signature, inputs)
    ) is not None:
        messages = adapter.format(
            predict.signature, list(chosen(predict, inputs)), given
        )
        answer = (await lm.answer(messages, predict.config))[0]
        text, logprobs = (
            (answer["text"], answer["logprobs"])
            if isinstance(answer, dict)
            else (answer, None)
        )
        if not text:
            raise UnparseableAnswer("the answer is empty", "")
        fields = adapter.parse(predict.signature, text)
        return (
            dspy.Prediction(**fields)
            if logprobs is None
            else dspy.Prediction(**fields, logprobs=logprobs)
        )
    with dspy.context(disable_history=True):
        return await _through(predict, adapter, **inputs)


async def _watched(
    guest: Guest, predict: dspy.Predict, adapter: dspy.Adapter, **inputs: Any
) -> dspy.Prediction:
    """`ask` with DSPy looking on, and with the guest's adapter, whose answer is held against the
    scale as ours is."""
    if guest.adapter is None:
        with dspy.context(send_stream=None):  # an answer is read whole, or not at all
            return await _through(predict, adapter, **inputs)
    # The form of the answer is the adapter's own, and so is how a server is told of it.
    free = {"signature": worded(predict.signature), "config": {"response_format": None}}
    with dspy.context(send_stream=None):
        answer = await _through(predict, guest.adapter, **inputs, **free)
    return dspy.Prediction(**read_again(predict.signature, dict(answer.items())))


async def _through(
    predict: dspy.Predict, adapter: dspy.Adapter, **inputs: Any
) -> dspy.Prediction:
    if getattr(predict, "nearest", None) is not None:
        inputs["demos"] = chosen(predict, inputs)
    try:
        with dspy.context(adapter=adapter):
            return await predict.acall(**inputs)
    # DSPy wraps whatever an engine raises; find ours underneath
    except Exception as error:
        if (cause := ours(error)) is not None:
            raise cause from None
        if isinstance(error, AdapterParseError):
            # DSPy's own word for an answer without text, or that another adapter cannot read
            raw = str(error.lm_response or "")
            what = (
                "the adapter cannot read the answer" if raw else "the answer is empty"
            )
            raise UnparseableAnswer(what, raw) from None
        raise


def _alone(predict: dspy.Predict, adapter: dspy.Adapter) -> LanguageModel | None:
    """The model to be asked where nothing of DSPy looks on (a trace, a callback, a count of tokens,
    a stream), else None: then a predictor does no more than format, ask and parse, and what it does
    around that took a sixth of the time that a hosted call takes in this process
    (benchmarks/hosted.py)."""
    settings = dspy.settings
    watched = (
        settings.trace is not None
        or settings.usage_tracker
        or settings.track_usage
        or predict.callbacks
    )
    if (
        watched
        or settings.callbacks
        or adapter.callbacks
        or settings.send_stream is not None
    ):
        return None
    lm = predict.lm or settings.lm
    return (
        lm
        if type(predict) is dspy.Predict
        and isinstance(lm, LanguageModel)
        and not lm.watched()
        else None
    )


async def insisting(retries: int, once: Callable[..., Awaitable[T]]) -> T:
    """An answer that can be read: one that cannot is shown to the model with the reason, `retries`
    times at most, each a real call. `once` asks with the inputs `the_previous` and `the_problem`.
    Raises UnparseableAnswer or OffScaleAnswer where the last answer could not be read either."""
    answer: dict[str, str | None] = {"the_previous": None, "the_problem": None}
    for number in range(retries + 1):
        try:
            with attempt(number):
                return await once(**answer)
        except (UnparseableAnswer, OffScaleAnswer) as error:
            if number == retries:
                raise
            answer = {"the_previous": error.raw, "the_problem": str(error)}
    raise AssertionError("the loop returns or raises")


async def voices(
    item: Item, asked: Sequence[tuple[dspy.Module, int]], times: int
) -> list[Verdict | ModelError]:
    """What each of these readouts or judges says of an item, asked all at once, each under a number
    below `times` that makes its calls real ones of their own. What is not the fault of one answer
    alone is raised when none is in flight any more, so that no call is left without its record."""
    base = current_rollout() * times

    async def once(module: dspy.Module, number: int) -> Verdict:
        with rollout(base + number):
            verdict: Verdict = (await module.acall(item=item)).verdict
            return verdict

    answers = await asyncio.gather(
        *(once(*voice) for voice in asked), return_exceptions=True
    )
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, ModelError):
            raise answer
    return answers  # type: ignore[return-value]
