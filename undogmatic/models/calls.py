"""One door for every call to a model: cache, budget, time limit, retries and the record of what was
said."""

import asyncio
import contextlib
import functools
import hashlib
import math
import random
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from undogmatic.errors import (
    AnswerTimeout,
    BudgetExceeded,
    ConfigError,
    ModelError,
    TransportError,
    UndogmaticError,
    UnparseableAnswer,
)
from undogmatic.models.pace import Pace
from undogmatic.records.limits import USUAL, Limits, PacedLimits
from undogmatic.records.records import Call
from undogmatic.safety.command import say
from undogmatic.safety.files import make_database
from undogmatic.safety.outside import DEEPEST, Unreadable, json_value, without_halves
from undogmatic.safety.secrets import scrub

T = TypeVar("T")
_calls: ContextVar[list[Call] | None] = ContextVar("undogmatic_calls", default=None)
_rollout: ContextVar[int] = ContextVar("undogmatic_rollout", default=0)
_attempt: ContextVar[int] = ContextVar("undogmatic_attempt", default=0)

RAW_LIMIT = 4000  # characters of an answer that could not be read which are kept
CACHE_FILE = "replies.sqlite"
# seconds in which a server may refuse all calls as too many: many count them by the minute
PATIENCE = 90.0
# that a call waits for another process that writes the cache; nothing else goes on meanwhile
BUSY_SECONDS = 3.0


class within(AbstractContextManager[T]):
    """Inside, the variable has this value, which is handed on."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: T) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> T:
        self._token = self._variable.set(self._value)
        return self._value

    def __exit__(self, *raised: object) -> None:
        # What an interrupt leaves half done is closed later from another context, whose value is
        # its own.
        with contextlib.suppress(ValueError):
            self._variable.reset(self._token)


def recording() -> AbstractContextManager[list[Call]]:
    """Collect every `Call` made inside the block (and in tasks started from it)."""
    return within(_calls, [])


rollout = functools.partial(within, _rollout)
"""Calls inside belong to the repeat of this number: the cache keeps repeats apart, so that a repeat
is a real call."""
current_rollout = _rollout.get
"""The repeat that the calls being made belong to (0 = the first)."""
attempt = functools.partial(within, _attempt)
"""Calls inside are asked for the n-th time again (0 = the first), a real call each, also for one
request."""


class Retryable(UndogmaticError):
    """Raised by a model's sender for a fault worth another try (408, 429, 5xx, a reset connection).
    `after` is how many seconds the server asked us to wait (`Retry-After`), or None; `full` is
    whether it has too much to do, and `limited` whether it says that we ask too much of it."""

    def __init__(
        self,
        message: str,
        after: float | None = None,
        full: bool = False,
        limited: bool = False,
    ) -> None:
        super().__init__(message)
        self.after = after
        self.full = full or after is not None or limited
        self.limited = limited


@contextlib.contextmanager
def reading(raw: Any) -> Iterator[None]:
    """Inside, an answer is read: whatever goes wrong over it is UnparseableAnswer with `raw`, what
    was read."""
    try:
        yield
    # These say already what went wrong; what follows turns anything else into one kind
    # of failure.
    except (UndogmaticError, TimeoutError):
        raise
    # an answer may be anything, and so may what goes wrong over it
    except Exception as error:
        what = str(error).partition("\n")[0][:200]
        raise UnparseableAnswer(
            f"the answer has another form than agreed ({type(error).__name__}:"
            f" {without_halves(what)})",
            None if raw is None else shown(raw),
        ) from error


def shown(raw: Any) -> str:
    """What was read, as far as it can be shown."""
    try:
        return without_halves(raw if isinstance(raw, str) else to_json(raw).decode())[
            :RAW_LIMIT
        ]
    except (PydanticSerializationError, UnicodeError, ValueError):
        return f"a {type(raw).__name__} that cannot be written"


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Plain data with every text and every key changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): with_texts(part, change) for key, part in value.items()}
    return (
        [with_texts(part, change) for part in value]
        if isinstance(value, list)
        else value
    )


class Budget:
    """Counts what was spent and refuses what would exceed the limits.

    A call is counted when it is sent, so that concurrent calls cannot overshoot `max_calls`; money
    is known only after the answer, so `max_usd` can be overshot by the calls in flight at that
    moment. An answer that does not say what it took counts as the dearest one so far. `note` is
    told of every call before it is sent, and of every price, so that a run which is killed goes on
    with what it had left.
    """

    def __init__(self, limits: Limits = USUAL) -> None:
        self.max_calls, self.max_usd = limits.max_calls, limits.max_usd
        self.calls, self.usd = 0, 0.0
        self.note: Callable[[int, float], None] = lambda calls, usd: None
        self.dearest: float | None = None  # of the prices so far

    def take(self) -> None:
        """Reserve one call. Raises BudgetExceeded."""
        for key, most, used, told, example in (
            (
                "max_calls",
                self.max_calls,
                self.calls,
                f"{self.calls} calls were made",
                "N",
            ),
            (
                "max_usd",
                self.max_usd,
                self.usd,
                f"{self.usd:.4f} USD were spent in {self.calls} calls",
                "X",
            ),
        ):
            if most is not None and used >= most:
                raise BudgetExceeded(
                    f"`engine.{key}` is {most} and {told}. Raise it (engine.{key}={example}, or"
                    " null for no limit) and rerun: what was judged is kept."
                )
        # Counted before the call is sent: of a hundred calls in flight none may be the
        # one too many.
        self.calls += 1
        self.note(1, 0.0)

    def spend(self, usd: float | None) -> None:
        if usd is None and self.max_usd is not None:
            # A limit in money that cannot be kept is refused at the first answer, and
            # not after the budget is gone.
            if self.dearest is None:
                raise ConfigError(
                    f"`engine.max_usd` is {self.max_usd}, but the price of this model is unknown,"
                    " so it cannot be kept. Set model.price.input and model.price.output (USD per"
                    " million tokens), or engine.max_usd=null."
                )
            # On the safe side: an answer without a price is thought to have cost what
            # the dearest one did.
            usd = self.dearest
        if usd is not None:
            self.dearest = max(usd, self.dearest or 0.0)
            self.usd += usd
            if usd:
                self.note(0, usd)


Count = Annotated[int, Field(strict=True, ge=0)]


class Reply(NamedTuple):
    """What came back: plain JSON, and what it cost. `usd` is None where the price is unknown."""

    data: Any
    input_tokens: Count = 0
    output_tokens: Count = 0
    usd: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None = None


_KEPT = TypeAdapter(Reply)
Send = Callable[[], Awaitable[Reply]]
Check = Callable[[Any], object] | None


class ReplyCache:
    """Replies shared by runs and processes: JSON texts in SQLite, so that nothing in it can run
    code.

    A reply is written before its judgment is made, and survives the death of the process (the
    write-ahead log is the operating system's by then). Several processes may use one folder. A row
    that cannot be read is no row: it is said once, and replaced as soon as the call was made. A
    cache that fails in the middle of a run is said once and not used any more; the journal holds
    what was paid for. The folder is made; ConfigError where it cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / CACHE_FILE
        self._usable, self._told = True, False
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_database(self._file)
            self._database = sqlite3.connect(
                self._file, BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._database.text_factory = (
                bytes  # what is no UTF-8 is the row's fault, not the database's
            )
            # Readers and a writer of several processes do not wait for one another
            # then.
            self._database.execute("PRAGMA journal_mode = WAL")
            # a power cut may lose replies, never break the file
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
            )
        except (OSError, ValueError, sqlite3.Error) as error:
            raise ConfigError(self._failure(error)) from None

    def get(self, key: str, check: Check = None) -> Reply | None:
        """The reply kept under `key`; None where there is none, or none that can be read, or where
        `check` raises."""
        if (
            row := self._execute("SELECT reply FROM replies WHERE key = ?", key)
        ) is None:
            return None
        try:
            kept = (
                json_value(row[0], DEEPEST + 1, infinite=True)
                if isinstance(row[0], bytes)
                else None
            )
            if not isinstance(kept, dict):
                raise Unreadable("it is no reply")
            return checked(_KEPT.validate_python(kept), check)
        except (Unreadable, ValidationError, UndogmaticError) as fault:
            # Said once: a damaged disk would else print a line for each of a million
            # rows.
            if not self._told:
                why = " ".join(str(fault).split())
                what = f"a reply in the cache {self._file} is damaged ({why})"
                say(f"{what}; it is asked for again, and so are others like it")
            self._told = True
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; one that is no plain JSON is not kept."""
        with contextlib.suppress(
            PydanticSerializationError, UnicodeEncodeError, ValueError
        ):
            # Servers echo headers in errors, and a key must not lie in a cache.
            text = scrub(to_json(reply._asdict(), inf_nan_mode="constants").decode())
            self._execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", key, text)

    def close(self) -> None:
        self._database.close()

    def _execute(self, statement: str, *values: str) -> Any:
        """The first row of what the database answers; where it fails, that is said once and it is
        not asked again."""
        # A cache saves money and is no part of a result. It may fail without ending the
        # run.
        if not self._usable:
            return None
        try:
            return self._database.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._usable = False
            say(
                f"{self._failure(error)} The run goes on without it. Nothing that was answered is"
                " lost, as the journal keeps it, but a later run will ask again."
            )
            return None

    def _failure(self, error: Exception) -> str:
        return (
            f"the cache of replies in {self._folder} cannot be used ({error}). Choose another"
            " folder with engine.cache_dir=FOLDER, or engine.cache=false."
        )


class Gateway:
    """Every call of a run goes through one of these, and is noted as a `Call` of the judgment being
    made (`recording`).

    A server that is full is full for all: a `Retry-After` holds back every call to it, and all
    models of a server share one `Pace`. With a cache, a call that is under way is not made a second
    time: whoever asks the same waits for its answer.
    """

    def __init__(
        self,
        cache: ReplyCache | None = None,  # with None every call is made
        # a first retry comes after `backoff` seconds, less up to a quarter
        limits: PacedLimits = USUAL,
        budget: Budget | None = None,  # what was spent already; with None nothing was
        max_backoff: float = 30.0,
        # a server that asks to wait longer than so many seconds is given up at once
        max_wait: float = 300.0,
        answered: Collection[
            str
        ] = (),  # names of models that have answered in an earlier part of the run
        pace: Callable[[PacedLimits], Pace] = Pace,  # how fast a server may be asked
    ) -> None:
        self.answered = answered
        self.paces: dict[str, Pace] = {}
        self._new_pace = functools.partial(pace, limits)
        self.cache, self.limits = cache, limits
        self.budget = Budget(limits) if budget is None else budget
        self.max_backoff, self.max_wait = max_backoff, max_wait
        self._under_way = WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[str, asyncio.Future[Reply]]
        ]()

    async def call(
        self,
        # its full identity, part of the cache's key: it names the server or the file's hash
        model: str,
        # the JSON payload; with `model` and the current rollout it identifies the call
        request: dict[str, Any],
        send: Send,  # sends it once; raises Retryable, ModelError or ConfigError
        # False for a model in this process, whose work goes on even if nobody waits for it
        timed: bool = True,
        check: Check = None,  # raises for data that are no answer, fresh or kept
        server: str = "",  # where it runs, if it is `timed`
    ) -> Reply:
        """Answer `request` from the cache, or by `send` under budget, time limit and retries.
        Raises BudgetExceeded before a limit is passed; TransportError, AnswerTimeout or
        UnparseableAnswer where no try gave an answer.
        """
        # Before anything else: who asks the same gets the same key, whether the answer
        # is kept, under way or new.
        key = call_key(model, request)
        if self.cache is None:
            return await self._asked(model, request, send, timed, check, server)
        # Of each event loop by itself: a future of one loop cannot be waited for in
        # another.
        under_way = self._under_way.setdefault(asyncio.get_running_loop(), {})
        started = time.time()
        while (reply := self.cache.get(key, check)) is None and (
            first := under_way.get(key)
        ) is not None:
            # The same was asked a moment ago. Whoever waits neither ends that call nor fails with
            # it: it asks anew.
            await asyncio.wait({first})
            if not first.cancelled() and first.exception() is None:
                reply = first.result()
                break
        if reply is not None:
            note_call(model, request, started, reply=reply.data, cached=True)
            return reply
        under_way[key] = mine = asyncio.get_running_loop().create_future()
        try:
            reply = await self._asked(model, request, send, timed, check, server)
            # Kept before anybody gets it, as it has been paid for.
            self.cache.put(key, reply)
            mine.set_result(reply)
            return reply
        finally:
            del under_way[key]
            mine.cancel()  # where there is no result; who waits then asks

    def pace(self, server: str) -> Pace:
        """How fast this server is asked."""
        if (pace := self.paces.get(server)) is None:
            pace = self.paces[server] = self._new_pace()
        return pace

    async def _asked(
        self,
        model: str,
        request: dict[str, Any],
        send: Send,
        timed: bool,
        check: Check,
        server: str,
    ) -> Reply:
        """The answer of the model, asked once or several times, under budget."""
        started, clock, tried, failed = time.time(), time.perf_counter(), 0, 0
        # `refused` is the moment from which on no other call was answered
        retries, refused = self.limits.retries, math.inf
        pace = self.pace(server) if timed else None
        others = 0 if pace is None else pace.answers
        now = asyncio.get_running_loop().time

        def note(**outcome: Any) -> None:
            note_call(
                model,
                request,
                started,
                seconds=time.perf_counter() - clock,
                attempts=tried,
                **outcome,
            )

        while True:
            left = 0.0 if pace is None else await pace.turn(request)
            error: ModelError
            # tokens of an answer; seconds that the server asks to wait
            used, wait = None, 0.0
            try:
                self.budget.take()
                tried += 1
                async with asyncio.timeout(self.limits.timeout if timed else None):
                    reply = await send()
                used = reply.input_tokens + reply.output_tokens
                checked(reply, check)
            except TimeoutError:
                failed += 1
                if pace is not None:
                    pace.late(left)
                error = AnswerTimeout(
                    f"no answer within {self.limits.timeout:g} s in {tried} attempt(s); raise"
                    " engine.timeout or lower engine.concurrency"
                )
            except Retryable as fault:
                failed += 1
                if (
                    fault.full
                    and pace is not None
                    and (fault.after or 0.0) <= self.max_wait
                ):
                    pace.refused(left, fault.after)
                    # A server that has no room for this call and answers others has not failed, nor
                    # one whose limit is used up for this minute.
                    answers = pace.answers > others
                    refused = math.inf if answers else min(refused, now())
                    others = pace.answers
                    failed -= answers or (
                        fault.limited and retries > 0 and now() - refused < PATIENCE
                    )
                error, wait = self._refusal(fault, tried)
            except ModelError as fault:
                error, wait = fault, math.inf  # asking again would not help
            else:
                answer = reply._asdict()
                note(reply=answer.pop("data"), **answer)
                self.budget.spend(reply.usd)
                return reply
            finally:
                if pace is not None:
                    pace.over(used)
            # Being asked to wait is no failure, so that tries are counted by
            # themselves, and end, too.
            if failed > retries or tried > 10 * retries or wait > self.max_wait:
                # An error status is not billed; what an attempt without an answer cost, only the
                # provider knows.
                usd = 0.0 if isinstance(error, TransportError) else None
                note(reply=error.raw, error=f"{error.kind}: {error}", usd=usd)
                raise error
            await asyncio.sleep(self._delay(failed))

    def _refusal(self, fault: Retryable, tried: int) -> tuple[TransportError, float]:
        """The error of a call that a server refused, and the seconds that it asks to wait."""
        wait = fault.after or 0.0
        error = TransportError(f"{fault} ({tried} attempt(s))")
        if wait > self.max_wait:
            error = TransportError(
                f"{error}; the server asks to wait {wait:.0f} s, so rerun later"
            )
        return error, wait

    def _delay(self, failed: int) -> float:
        """Seconds before the next attempt: twice as many each time, and never quite the same, so
        that calls that were refused together do not come back together."""
        doubled = self.limits.backoff * 2 ** max(0, failed - 1)
        return min(doubled, self.max_backoff) * (1 - 0.25 * random.random())


def call_key(model: str, request: dict[str, Any]) -> str:
    """What tells a call from every other one. The repeat, and the attempt from the third on, tell
    calls with the same request apart: a first retry quotes the answer that it follows, so its
    request is its own."""
    turn = [_rollout.get()] if _attempt.get() <= 1 else [_rollout.get(), _attempt.get()]
    return hashlib.sha256(to_json([model, request, *turn])).hexdigest()


def checked(reply: Reply, check: Check) -> Reply:
    """The reply, if its data are of the form that the model gives. Raises ModelError."""
    if check is not None:
        with reading(reply.data):
            check(reply.data)
    return reply


def note_call(
    model: str, request: dict[str, Any], started: float, **outcome: Any
) -> None:
    """Note a call of the judgment being made."""
    if (calls := _calls.get()) is not None:
        calls.append(Call(model=model, request=request, started=started, **outcome))
