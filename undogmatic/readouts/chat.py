"""Calls a predictor of DSPy: through our adapter, or as a program of DSPy's own does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError

from undogmatic.errors import (
    ModelError,
    OffScaleAnswer,
    UnparseableAnswer,
    ours,
)
from undogmatic.models.calls import attempt, current_rollout, rollout
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.adapter import covered, read_again, worded
from undogmatic.readouts.nearest import chosen
from undogmatic.records.records import Item, Verdict

T = TypeVar("T")


class Guest(NamedTuple):
    """Who asks through a program of DSPy's own (`engine.module`), and sees its history; `adapter`
    is in place of ours where there is one."""

    adapter: dspy.Adapter | None = None


guest_of_dspy: ContextVar[Guest | None] = ContextVar("guest_of_dspy", default=None)


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
