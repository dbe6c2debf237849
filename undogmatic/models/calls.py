"""One door for every call to a model: cache, budget, time limit, retries and the record of what was said.

A model turns a request into a JSON payload and knows how to send it; the `Gateway` decides whether it needs sending at
all. Everything that passes is noted as a `Call` for the judgment being made (see `recording`), so that the journal
and the traces hold the exact exchange.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from undogmatic.errors import AnswerTimeout, BudgetExceeded, ConfigError, ModelError, TransportError
from undogmatic.files import OWN
from undogmatic.records import Call
from undogmatic.secrets import scrub

_calls: ContextVar[list[Call] | None] = ContextVar("undogmatic_calls", default=None)
_rollout: ContextVar[int] = ContextVar("undogmatic_rollout", default=0)


@contextlib.contextmanager
def recording() -> Iterator[list[Call]]:
    """Collect every `Call` made inside the block (and in tasks started from it)."""
    calls: list[Call] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


@contextlib.contextmanager
def rollout(number: int) -> Iterator[None]:
    """Calls inside belong to repeat `number`: the cache keeps repeats apart, so that a repeat is a real call."""
    token = _rollout.set(number)
    try:
        yield
    finally:
        _rollout.reset(token)


def current_rollout() -> int:
    """The repeat that the calls being made belong to (0 = the first)."""
    return _rollout.get()


class Reply(NamedTuple):
    """What came back: plain JSON, and what it cost. `usd` is None where the price is unknown."""

    data: Any
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


class Retryable(Exception):
    """Raised by a model's sender for a fault worth another try (408, 429, 5xx, a reset connection).

    Args:
        message: What happened, without secrets.
        after: Seconds the server asked us to wait (`Retry-After`), or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class ReplyCache:
    """Finished calls on disk, shared by runs and processes: JSON texts in SQLite, so that nothing in it can run code.

    A reply is written before its judgment is made, and survives the death of the process (the write-ahead log is the
    operating system's by then). Several processes may use one folder.

    Args:
        folder: Where; it is created.
    Raises:
        ConfigError: The folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The files that SQLite puts beside it have its mode.
            os.close(os.open(folder / "replies.sqlite", os.O_CREAT | os.O_RDWR, OWN))
            with contextlib.suppress(PermissionError):  # another one's file
                (folder / "replies.sqlite").chmod(OWN)
            self._database = sqlite3.connect(
                folder / "replies.sqlite", timeout=60, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose replies, never break the file
            self._database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """The reply kept under `key`, or None. Raises ConfigError where the file cannot be read."""
        try:
            row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        return None if row is None else from_json(row[0])

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Keep a JSON-able reply. Raises ConfigError where the disk takes no more."""
        text = scrub(to_json(value, inf_nan_mode="constants").decode())
        try:
            self._database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text))
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def _unusable(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"the cache of replies in {self._folder} cannot be used ({error}). Choose another folder with "
            "engine.cache_dir=FOLDER, or engine.cache=false."
        )


class Budget:
    """Counts what was spent and refuses what would exceed the limits.

    A call is counted when it is sent, so that concurrent calls cannot overshoot `max_calls`; money is known only after
    the answer, so `max_usd` can be overshot by the calls in flight at that moment.
    """

    def __init__(self, max_calls: int | None = None, max_usd: float | None = None) -> None:
        self.max_calls, self.max_usd = max_calls, max_usd
        self.calls, self.usd = 0, 0.0

    def take(self) -> None:
        """Reserve one call. Raises BudgetExceeded."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetExceeded(
                f"`engine.max_calls` is {self.max_calls} and {self.calls} calls were made. "
                "Raise it (engine.max_calls=N, or null for no limit) and rerun: what was judged is kept."
            )
        if self.max_usd is not None and self.usd >= self.max_usd:
            raise BudgetExceeded(
                f"`engine.max_usd` is {self.max_usd} and {self.usd:.4f} USD were spent in {self.calls} calls. "
                "Raise it (engine.max_usd=X, or null for no limit) and rerun: what was judged is kept."
            )
        self.calls += 1

    def spend(self, usd: float | None) -> None:
        """Note the price of an answer."""
        if usd is None and self.max_usd is not None:
            raise ConfigError(
                f"`engine.max_usd` is {self.max_usd}, but the price of this model is unknown, so it cannot be kept. "
                "Set model.price.input and model.price.output (USD per million tokens), or engine.max_usd=null."
            )
        self.usd += usd or 0.0


class Gateway:
    """Every call of a run goes through one of these.

    A `Retry-After` holds back every call, not only the one that was told: a server that is full is full for all.

    Args:
        cache: Where finished calls are kept, or None for no cache.
        budget: Limits on calls and money.
        timeout: Seconds for one attempt.
        retries: Further attempts after a retryable fault.
        backoff: Seconds before the first retry; doubles each time, at most `max_backoff`, less up to a quarter at
            random. A longer `Retry-After` wins.
        max_backoff: See `backoff`.
        max_wait: A server that asks to wait longer than so many seconds is given up at once.
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
    ) -> None:
        self.cache, self.budget = cache, budget or Budget()
        self.timeout, self.retries = timeout, retries
        self.backoff, self.max_backoff, self.max_wait = backoff, max_backoff, max_wait
        self._held_until = 0.0  # on time.monotonic's clock

    async def call(
        self, model: str, request: dict[str, Any], send: Callable[[], Awaitable[Reply]], timed: bool = True
    ) -> Reply:
        """Answer `request` from the cache, or by `send` under budget, time limit and retries.

        Args:
            model: Full identity of the model: it is part of the cache key, so it names the server or the file's hash.
            request: The JSON payload; with `model` and the current rollout it identifies the call.
            send: Sends the payload once; raises Retryable, ModelError or ConfigError.
            timed: False for a model in this process, whose work goes on even if nobody waits for it.
        Raises:
            BudgetExceeded: Before sending, if a limit is reached.
            TransportError, AnswerTimeout: When the last retry failed.
        """
        key = hashlib.sha256(to_json([model, request, current_rollout()])).hexdigest()
        started = time.time()
        if self.cache is not None and (kept := self.cache.get(key)) is not None:
            reply = Reply(**kept)
            self._note(Call(model=model, request=request, reply=reply.data, started=started, cached=True))
            return reply
        clock = time.perf_counter()
        for attempt in range(1, self.retries + 2):
            while (held := self._held_until - time.monotonic()) > 0:
                await asyncio.sleep(held)
            self.budget.take()
            wait = 0.0
            try:
                async with asyncio.timeout(self.timeout if timed else None):
                    reply = await send()
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
                if self.cache is not None:
                    self.cache.put(key, reply._asdict())
                self.budget.spend(reply.usd)
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
