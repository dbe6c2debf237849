"""One door for every call to a model: cache, budget, time limit, retries and the record of what was said.

A model turns a request into a JSON payload and knows how to send it; the `Gateway` decides whether it needs sending at
all. Everything that passes is noted as a `Call` for the judgment being made (see `recording`), so that the journal
and the traces hold the exact exchange.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import random
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextvars import ContextVar, Token
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_core import PydanticSerializationError, to_json

from undogmatic.errors import (
    AnswerTimeout,
    ModelError,
    StorageError,
    TransportError,
    UndogmaticError,
    UnparseableAnswer,
)
from undogmatic.models.budget import Budget
from undogmatic.models.cache import Reply, ReplyCache
from undogmatic.records.records import Call
from undogmatic.safety.outside import without_halves

_calls: ContextVar[list[Call] | None] = ContextVar("undogmatic_calls", default=None)
_rollout: ContextVar[int] = ContextVar("undogmatic_rollout", default=0)
_attempt: ContextVar[int] = ContextVar("undogmatic_attempt", default=0)

RAW_LIMIT = 4000
"""Characters of an answer that could not be read which are kept."""


def _put_back(variable: ContextVar[Any], token: Token[Any]) -> None:
    """Undo a `set`. What an interrupt leaves half done is closed later from another context, whose value is its own."""
    with contextlib.suppress(ValueError):
        variable.reset(token)


@contextlib.contextmanager
def recording() -> Iterator[list[Call]]:
    """Collect every `Call` made inside the block (and in tasks started from it)."""
    calls: list[Call] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _put_back(_calls, token)


@contextlib.contextmanager
def rollout(number: int) -> Iterator[None]:
    """Calls inside belong to repeat `number`: the cache keeps repeats apart, so that a repeat is a real call."""
    token = _rollout.set(number)
    try:
        yield
    finally:
        _put_back(_rollout, token)


@contextlib.contextmanager
def attempt(number: int) -> Iterator[None]:
    """Calls inside are asked for the `number`-th time again (0 = the first): the cache keeps attempts apart, so that
    asking again is a real call, also where the same wrong answer makes the same request once more."""
    token = _attempt.set(number)
    try:
        yield
    finally:
        _put_back(_attempt, token)


def current_rollout() -> int:
    """The repeat that the calls being made belong to (0 = the first)."""
    return _rollout.get()


class Retryable(UndogmaticError):
    """Raised by a model's sender for a fault worth another try (408, 429, 5xx, a reset connection).

    Args:
        message: What happened, without secrets.
        after: Seconds the server asked us to wait (`Retry-After`), or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


@contextlib.contextmanager
def reading(raw: Any) -> Iterator[None]:
    """Inside, an answer is read: whatever goes wrong over it is UnparseableAnswer with `raw`, what was read."""
    try:
        yield
    except (UndogmaticError, TimeoutError):
        raise
    except Exception as error:  # an answer may be anything, and so may what goes wrong over it
        said = str(error).partition("\n")[0][:200]
        raise UnparseableAnswer(
            f"the answer has another form than agreed ({type(error).__name__}: {without_halves(said)})",
            None if raw is None else shown(raw),
        ) from error


def shown(raw: Any) -> str:
    """What was read, as far as it can be shown."""
    try:
        return without_halves(raw if isinstance(raw, str) else to_json(raw).decode())[:RAW_LIMIT]
    except (PydanticSerializationError, UnicodeError, ValueError):
        return f"a {type(raw).__name__} that cannot be written"


class Gateway:
    """Every call of a run goes through one of these.

    A `Retry-After` holds back every call, not only the one that was told: a server that is full is full for all. With a
    cache, a call that is under way is not made a second time: whoever asks the same waits for its answer. A cache that
    fails in the middle of a run is said once and not used any more.

    Args:
        cache: Where finished calls are kept, or None for no cache.
        budget: Limits on calls and money.
        timeout: Seconds for one attempt.
        retries: Further attempts after a retryable fault.
        backoff: Seconds before the first retry; doubles each time, at most `max_backoff`, less up to a quarter at
            random. A longer `Retry-After` wins.
        max_backoff: See `backoff`.
        max_wait: A server that asks to wait longer than so many seconds is given up at once.
        answered: Names of models that have answered in an earlier part of the run.
    """

    def __init__(
        self,
        cache: ReplyCache | None = None,
        budget: Budget | None = None,
        timeout: float = 60.0,
        retries: int = 4,
        backoff: float = 0.5,
        max_backoff: float = 30.0,
        max_wait: float = 300.0,
        answered: Collection[str] = (),
    ) -> None:
        self.answered = answered
        self.cache, self.budget = cache, budget or Budget()
        self.timeout, self.retries = timeout, retries
        self.backoff, self.max_backoff, self.max_wait = backoff, max_backoff, max_wait
        self._held_until = 0.0  # on time.monotonic's clock
        self._shares = cache is not None  # else every call is wanted by itself
        self._under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Future[Reply]]] = (
            WeakKeyDictionary()
        )

    async def call(
        self,
        model: str,
        request: dict[str, Any],
        send: Callable[[], Awaitable[Reply]],
        timed: bool = True,
        check: Callable[[Any], None] | None = None,
    ) -> Reply:
        """Answer `request` from the cache, or by `send` under budget, time limit and retries.

        Args:
            model: Full identity of the model: it is part of the cache key, so it names the server or the file's hash.
            request: The JSON payload; with `model` and the current rollout it identifies the call.
            send: Sends the payload once; raises Retryable, ModelError or ConfigError.
            timed: False for a model in this process, whose work goes on even if nobody waits for it.
            check: Raises ModelError (or Retryable) where a reply's data are not of the form that the model gives; such
                a reply is no answer, comes it from the server or from the cache, and is not kept.
        Raises:
            BudgetExceeded: Before sending, if a limit is reached.
            TransportError, AnswerTimeout: When the last retry failed.
            UnparseableAnswer: What came back is no answer.
        """
        checked = None if check is None else functools.partial(_checked, check)
        key = hashlib.sha256(to_json([model, request, *_turn()])).hexdigest()
        if not self._shares:
            return await self._asked(key, model, request, send, timed, checked)
        under_way = self._under_way.setdefault(asyncio.get_running_loop(), {})
        while True:
            started = time.time()
            if (reply := self._kept(key, checked)) is not None:
                self._note(Call(model=model, request=request, reply=reply.data, started=started, cached=True))
                return reply
            if (first := under_way.get(key)) is None:
                break
            # The same was asked a moment ago. Whoever waits neither ends that call nor fails with it, but asks anew.
            await asyncio.wait({first})
            if not first.cancelled() and first.exception() is None:
                reply = first.result()
                self._note(Call(model=model, request=request, reply=reply.data, started=started, cached=True))
                return reply
        under_way[key] = mine = asyncio.get_running_loop().create_future()
        try:
            reply = await self._asked(key, model, request, send, timed, checked)
            mine.set_result(reply)
            return reply
        finally:
            del under_way[key]
            mine.cancel()  # where there is no result; who waits then asks

    async def _asked(
        self,
        key: str,
        model: str,
        request: dict[str, Any],
        send: Callable[[], Awaitable[Reply]],
        timed: bool,
        checked: Callable[[Any], None] | None,
    ) -> Reply:
        """The answer of the model, under budget, time limit and retries; kept as soon as it is there."""
        started, clock = time.time(), time.perf_counter()
        for attempt in range(1, self.retries + 2):
            while (held := self._held_until - time.monotonic()) > 0:
                await asyncio.sleep(held)
            self.budget.take()
            wait = 0.0
            try:
                async with asyncio.timeout(self.timeout if timed else None):
                    reply = await send()
                if checked is not None:
                    checked(reply.data)
            except TimeoutError:
                error: ModelError = AnswerTimeout(
                    f"no answer within {self.timeout:g} s in {attempt} attempt(s); raise engine.timeout or lower "
                    "engine.concurrency"
                )
            except Retryable as fault:
                error, wait = TransportError(f"{fault} ({attempt} attempt(s))"), fault.after or 0.0
            except ModelError as fault:
                self._note(self._failed(model, request, fault, started, clock, attempt))
                raise
            else:
                self._note(
                    Call(
                        model=model,
                        request=request,
                        reply=reply.data,
                        input_tokens=reply.input_tokens,
                        output_tokens=reply.output_tokens,
                        usd=reply.usd,
                        started=started,
                        seconds=time.perf_counter() - clock,
                        attempts=attempt,
                    )
                )
                self.budget.spend(reply.usd)
                self._keep(key, reply)
                return reply
            if wait > self.max_wait:
                error = TransportError(f"{error}; the server asks to wait {wait:.0f} s, so rerun later")
            if attempt > self.retries or wait > self.max_wait:
                self._note(self._failed(model, request, error, started, clock, attempt))
                raise error
            self._held_until = max(self._held_until, time.monotonic() + wait)
            delay = min(self.backoff * 2 ** (attempt - 1), self.max_backoff)
            await asyncio.sleep(max(delay * (1 - 0.25 * random.random()), wait))
        raise AssertionError("the loop returns or raises")

    def _kept(self, key: str, checked: Callable[[Any], None] | None) -> Reply | None:
        """The reply in the cache, None where it has none or cannot be read."""
        try:
            return None if self.cache is None else self.cache.get(key, checked)
        except StorageError as error:
            self._without_cache(error)
            return None

    def _keep(self, key: str, reply: Reply) -> None:
        """Put a reply into the cache. The journal holds what was paid for; the cache may fail."""
        try:
            if self.cache is not None:
                self.cache.put(key, reply)
        except StorageError as error:
            self._without_cache(error)

    def _without_cache(self, error: StorageError) -> None:
        """Go on without a cache that failed, and say so once."""
        if self.cache is not None:
            self.cache = None
            print(
                f"{error} The run goes on without it. Nothing that was answered is lost, as the journal keeps it, but "
                "a later run will ask again.",
                file=sys.stderr,
                flush=True,
            )

    @staticmethod
    def _failed(
        model: str, request: dict[str, Any], fault: ModelError, started: float, clock: float, attempts: int
    ) -> Call:
        return Call(
            model=model,
            request=request,
            reply=fault.raw,
            error=f"{fault.kind}: {fault}",
            # An error status is not billed; what an attempt without an answer cost, only the provider knows.
            usd=0.0 if isinstance(fault, TransportError) else None,
            started=started,
            seconds=time.perf_counter() - clock,
            attempts=attempts,
        )

    @staticmethod
    def _note(call: Call) -> None:
        calls = _calls.get()
        if calls is not None:
            calls.append(call)


def _turn() -> list[int]:
    """By which calls with the same request are told apart: the repeat, and the attempt from the third on. A first retry
    quotes the answer that it follows, so its request is its own; earlier versions kept it without a number."""
    repeat, again = _rollout.get(), _attempt.get()
    return [repeat, again] if again > 1 else [repeat]


def _checked(check: Callable[[Any], None], data: Any) -> None:
    with reading(data):
        check(data)
