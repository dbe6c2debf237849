"""Defines what runs in Ray's processes: workers, which judge, and the desk, which keeps one rate
and one budget.

Each worker builds the recipe anew from the config. Before it sends a call it asks the desk, which
knows how fast every server may be asked and what is left of the budget, and the desk lets the call
go when the run's own process has noted it in the ledger. Nothing here imports Ray: whoever starts
these makes actors of them.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
from collections import Counter, deque
from collections.abc import Awaitable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic import errors
from undogmatic.engine.local import found
from undogmatic.engine.recipe import Recipe
from undogmatic.engine.step import Processes
from undogmatic.errors import RunStopped, UndogmaticError
from undogmatic.models.calls import Budget, Check, Gateway, Reply, ReplyCache, Send
from undogmatic.models.pace import Pace
from undogmatic.records.limits import PacedLimits
from undogmatic.records.records import Item, Judgment, Made
from undogmatic.records.results import Finding
from undogmatic.safety.command import WORKERS, guard_worker
from undogmatic.safety.paths import cache_folder
from undogmatic.safety.secrets import know_environment
from undogmatic.safety.variables import bring_settings

# prices of an item that the desk was told of
_owed: ContextVar[list[Any]] = ContextVar("undogmatic_owed")


class Fault(NamedTuple):
    """An error of ours on its way from one process to another."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: UndogmaticError) -> Fault:
        return cls(type(error).__name__, str(error))

    @property
    def error(self) -> UndogmaticError:
        """The error that it was."""
        return getattr(errors, self.kind, RunStopped)(self.message)  # type: ignore[no-any-return]


class News(NamedTuple):
    """What the desk has to tell: calls and money since it told the last time, up to a `number`; and
    how many calls may be in flight, by the narrowest server (None before the first call)."""

    number: int
    calls: int
    usd: float
    window: int | None


class Desk:
    """Keeps the rate of every server and the budget, for all workers of a run.

    Args:
        limits: What all workers together may take at most.
        spent: Calls and USD so far.
    """

    def __init__(self, limits: PacedLimits, spent: tuple[int, float]) -> None:
        self._budget = Budget(limits)
        self._budget.calls, self._budget.usd = spent
        self._budget.note = self._note
        self._new_pace, self._paces = lambda: Pace(limits), dict[str, Pace]()
        self._out = Counter[tuple[int, str]]()  # calls in flight by worker and server
        self._gone: set[int] = set()
        self._number, self._calls, self._usd = 0, 0, 0.0
        self._kept = 0.0  # notes that the ledger has, as far as it is known here
        self._news = asyncio.Event()
        # until the ledger has the note of a number
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._fault: Fault | None = None

    def _note(self, calls: int, usd: float) -> None:
        self._number += 1
        self._calls += calls
        self._usd += usd
        self._news.set()

    async def _noted(self) -> None:
        """Wait until the ledger has all that was noted up to now. Raises what the run was halted
        for."""
        # a price that is not known adds no note to wait for
        if self._fault is None and self._number > self._kept:
            # A call that left before the ledger has it would be paid and forgotten if the run's
            # own process ended now.
            noted = asyncio.get_running_loop().create_future()
            self._waiting.append((self._number, noted))
            await noted
        if self._fault is not None:
            raise self._fault.error

    async def leave(
        self, worker: int, server: str | None, request: Any = None
    ) -> tuple[float, int] | Fault:
        """Wait until a call may leave: the moment at which it does, and how many answers there
        were. One to a `server` is then in flight until `over`; without one it costs a call of the
        budget only."""
        pace = None
        if server is not None:
            pace = self._paces[server] = self._paces.get(server) or self._new_pace()
        # First the turn, then the budget: a call that waits has cost nothing yet, and another one
        # may be the last that is left.
        left = 0.0 if pace is None else await pace.turn(request)
        try:
            # It may have ended while its call waited here.
            if worker in self._gone:
                raise RunStopped("the worker has ended")
            self._budget.take()
            await self._noted()
        except UndogmaticError as error:
            # It took a turn that nobody uses.
            if pace is not None:
                pace.over(None)
            return Fault.of(error)
        if pace is None:
            return left, 0
        self._out[worker, server or ""] += 1
        return left, pace.answers

    async def refused(self, server: str, left: float, after: float | None) -> None:
        """See `Pace.refused`."""
        self._paces[server].refused(left, after)

    async def late(self, server: str, left: float) -> None:
        """See `Pace.late`."""
        self._paces[server].late(left)

    async def over(self, worker: int, server: str, tokens: int | None) -> None:
        """A call is over; see `Pace.over`."""
        if self._out[worker, server]:
            self._out[worker, server] -= 1
            self._paces[server].over(tokens)

    async def spend(self, usd: float | None) -> Fault | None:
        """Count what a call took; returns when the ledger has it."""
        try:
            self._budget.spend(usd)
            await self._noted()
        except UndogmaticError as error:
            return Fault.of(error)
        return None

    async def gone(self, worker: int) -> None:
        """A worker has ended, and so have its calls."""
        self._gone.add(worker)
        for (number, server), count in self._out.items():
            # Nobody will tell the paces that these are over, and they would wait for them for
            # ever.
            for _ in range(count if number == worker else 0):
                self._paces[server].over(None)
        self._out = Counter(
            {key: count for key, count in self._out.items() if key[0] != worker}
        )

    async def news(self, kept: int) -> News:
        """What was noted since, as soon as there is something; the ledger has `kept` notes by
        now."""
        self._let_go(kept)
        # One question that waits in place of one a moment: Ray takes milliseconds for each.
        await self._news.wait()
        self._news.clear()
        told = News(self._number, self._calls, self._usd, self._window())
        self._calls, self._usd = 0, 0.0
        return told

    async def halt(self, fault: Fault) -> None:
        """Let no further call leave, for this reason."""
        self._fault = fault
        self._let_go(math.inf)

    async def findings(self) -> list[Finding]:
        """What was found out about the servers that refused calls."""
        return [
            found(server, pace) for server, pace in self._paces.items() if pace.limit
        ]

    def _window(self) -> int | None:
        return min((int(pace.window) for pace in self._paces.values()), default=None)

    def _let_go(self, kept: float) -> None:
        self._kept = kept
        while self._waiting and self._waiting[0][0] <= kept:
            noted = self._waiting.popleft()[1]
            # Its worker may have ended, and its waiting with it.
            if not noted.done():
                noted.set_result(None)


class Order(NamedTuple):
    """What a worker is to do, and with what."""

    config: Mapping[str, Any]
    limits: PacedLimits
    cache: bool
    cache_dir: str | None
    # names of models that have answered in an earlier part of the run
    answered: frozenset[str]
    # environment variables that models are built from, keys included
    settings: Mapping[str, str]
    allowed: str  # packages that a config may name besides ours
    folder: str  # where paths in the config begin


class Worker:
    """Judges items in a process of its own.

    Args:
        number: By which the desk knows it.
        share: How many workers there are on its machine.
        order: What is to be done.
        desk: The handle of the desk.
    """

    def __init__(self, number: int, share: int, order: Order, desk: Any) -> None:
        os.environ[WORKERS] = str(share)
        if order.allowed:
            os.environ["UNDOGMATIC_ALLOW"] = order.allowed
        bring_settings(order.settings)
        know_environment()
        guard_worker()
        # Paths in the config are relative to where the run was started; another machine may have
        # no such folder.
        if os.path.isdir(order.folder):
            os.chdir(order.folder)
        self._number, self._order, self._desk = number, order, desk

    async def begin(self) -> str | Fault:
        """Build the recipe and connect the model; the recipe's identity."""
        order = self._order
        try:
            parts = self._parts = Recipe(order.config).build()
            folder = (
                cache_folder() / "replies"
                if order.cache_dir is None
                else Path(order.cache_dir)
            )
            cache = ReplyCache(folder) if order.cache else None
            parts.model.connect(_Door(self._number, order, self._desk, cache))
        except UndogmaticError as error:
            return Fault.of(error)
        self._steps: list[Processes] = [*parts.steps, *parts.judges]
        self._room = asyncio.Semaphore(parts.model.max_concurrency or 1_000_000)
        with parts.asking():
            self._asking = copy_context()
        # What was built stays to the end. A collection that walks it would stop all calls of this
        # worker.
        gc.freeze()
        return parts.identity

    async def process(
        self, place: int, item: Item, repeat: int
    ) -> Sequence[Judgment | Made] | Fault:
        """The records of the step at this place; what they took is in the ledger."""
        owed: list[Any] = []
        context = self._asking.copy()
        context.run(_owed.set, owed)
        try:
            async with self._room:
                work: Any = self._steps[place].process(item, repeat)
                records: Sequence[Judgment | Made] = await asyncio.create_task(
                    work, context=context
                )
            for told in owed:
                if (fault := await _answer(told)) is not None:
                    return fault  # type: ignore[no-any-return]
        except UndogmaticError as error:
            return Fault.of(error)
        return records


async def _answer(told: Awaitable[Any]) -> Any:
    """What the desk answers. Raises RunStopped where there is none."""
    try:
        return await told
    except Exception as error:  # of Ray's, of which none is known here
        what = f"engine=ray lost the process that keeps rate and budget ({type(error).__name__})"
        raise RunStopped(f"{what}. What was judged is kept; rerun.") from None


class _Door(Gateway):
    """The door for the calls of a worker: rate and budget are the desk's."""

    def __init__(
        self, number: int, order: Order, desk: Any, cache: ReplyCache | None
    ) -> None:
        limits = order.limits
        super().__init__(cache, limits, _Purse(limits, desk), answered=order.answered)
        self.number, self.desk = number, desk
        # only then must the desk see requests, to count their tokens
        self.by_tokens = limits.tokens_per_minute is not None
        self._new_pace = lambda: _Turns(self, "")  # type: ignore[assignment,return-value]

    def pace(self, server: str) -> Pace:
        """How fast this server is asked."""
        if server not in self.paces:
            self.paces[server] = _Turns(self, server)  # type: ignore[assignment]
        return self.paces[server]

    async def leave(self, server: str | None, request: Any) -> tuple[float, int]:
        """Wait until a call may leave; see `Desk.leave`."""
        told = await _answer(
            self.desk.leave.remote(
                self.number, server, request if self.by_tokens else None
            )
        )
        if isinstance(told, Fault):
            raise told.error
        return told  # type: ignore[no-any-return]

    async def _asked(
        self,
        model: str,
        request: dict[str, Any],
        send: Send,
        timed: bool,
        check: Check,
        server: str,
    ) -> Reply:
        # An embedded model has no server, and counts for the budget all the same.
        if not timed:  # nothing paces it
            await self.leave(None, None)
        return await super()._asked(model, request, send, timed, check, server)


class _Turns:
    """A server's pace as a worker sees it; see `Pace`."""

    def __init__(self, door: _Door, server: str) -> None:
        self._door, self._server, self.answers, self.limit = door, server, 0, None

    async def turn(self, request: Any) -> float:
        left, self.answers = await self._door.leave(self._server, request)
        return left

    def over(self, tokens: int | None) -> None:
        self._door.desk.over.remote(self._door.number, self._server, tokens)

    def refused(self, left: float, after: float | None) -> None:
        self._door.desk.refused.remote(self._server, left, after)

    def late(self, left: float) -> None:
        self._door.desk.late.remote(self._server, left)


class _Purse(Budget):
    """The budget as a worker sees it: a call was counted when it left, and the desk is told of its
    price."""

    def __init__(self, limits: PacedLimits, desk: Any) -> None:
        super().__init__(limits)
        self._desk, self._free = desk, False

    def take(self) -> None:
        """Nothing is left to be done."""

    def spend(self, usd: float | None) -> None:
        # A message for each call that costs nothing would double the traffic.
        if usd == 0 and self._free:  # the desk knows that calls may cost nothing
            return
        self._free = self._free or usd == 0
        _owed.get().append(self._desk.spend.remote(usd))
