"""Finds how fast a server may be asked: how many calls at once, and how many a second where it
refuses more.

Calls in flight double as long as that brings clearly more answers a second. A server that says that
it is full (429, 503, 529, or `Retry-After`) is asked as often as it has just been seen to accept, a
little less at first; after a quiet time the rate grows again until the next refusal. Refusals at
the same rate make the quiet times longer, because each costs a wait. Nothing here belongs to an
event loop: an optimiser's calls have one loop each, and share the limit.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from pydantic_core import to_json

from undogmatic.records.limits import USUAL, PacedLimits

START, MOST = 16, 256
"""Calls in flight at first, and at most."""
FEW = 20  # calls over which a rate is measured at least
# twice the calls in flight must bring so many times the answers a second, or they are not kept
_GAIN = 1.25
_FIRST_QUIET, _LAST_QUIET = 10.0, 60.0  # seconds without a refusal before more is tried
# of the calls of the last second are refused at least, and two of them, where a server is full
_SHARE = 0.03
# calls a second after a first refusal at least; so few calls say little, and a second one halves it
_LOWEST = 20.0
# seconds after a refusal without `Retry-After`; they double until a call is answered
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0
_SAME = 0.15  # two limits that differ by this share at most are one


class Slots:
    """Moments at which so much may happen, at an even rate: each is taken by one call, and all can
    be put off."""

    def __init__(self, rate: float) -> None:
        self.rate, self._next = rate, 0.0

    def take(self, now: float, amount: float = 1.0) -> float:
        """The moment at which this amount may begin."""
        moment = max(now, self._next)
        self._next = moment + amount / self.rate
        return moment

    def owe(self, amount: float) -> None:
        """Count an amount that was used beyond what was taken (below 0: that was not used)."""
        self._next += amount / self.rate

    def put_off(self, seconds: float) -> None:
        """Let all that has not begun begin so much later."""
        self._next += seconds


class Pace:
    """How fast one server is asked; all models of the server share it.

    Attributes:
        window: Calls that may be in flight, as far as it is known by now.
        limit: Calls a second that the server was seen to allow, or None where it never refused one.
        rate: Calls a second that it is asked at, or None.
        answers, refusals: How often it answered, and how often it said that it is full.
    """

    def __init__(
        self,
        limits: PacedLimits = USUAL,  # its concurrency fixes the calls in flight
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        calls_per_minute = limits.calls_per_minute
        tokens_per_minute = limits.tokens_per_minute
        self._clock, self._fixed = clock, limits.concurrency is not None
        self.window = float(limits.concurrency or START)
        self.limit: float | None = None
        self.answers = self.refusals = self.in_flight = self.waiting = 0
        self._most = None if calls_per_minute is None else calls_per_minute / 60
        self._calls = None if self._most is None else Slots(self._most)
        self._tokens = (
            None if tokens_per_minute is None else Slots(tokens_per_minute / 60)
        )
        self._expected = 0.0  # tokens of a call
        # whether it ever refused all calls for seconds
        self._made, self._dry = clock(), False
        # waits since the last answer after which the server still refused
        self._in_vain = 0
        # seconds by which all moments were put off; when the last wait ends
        self._put_off = 0.0
        self._free = 0.0
        # when the last calls that were not refused left
        self._sent: deque[float] = deque(maxlen=2 * MOST)
        # when the last calls were refused
        self._told: deque[float] = deque(maxlen=MOST)
        self._cut, self._quiet, self._grown, self._step = -1e9, _FIRST_QUIET, 0.0, 0.01
        self._lowered = -1e9
        self._restart(clock(), None)

    @property
    def allowed(self) -> float | None:
        """Calls a second that the server took, or None where it never refused one: `limit`, unless
        it refused all calls for seconds, as one does that counts them by the minute."""
        # A server that counts by the minute lets a burst through and then nothing. What
        # it allows is then the mean over the run.
        if not self._dry or self.limit is None:
            return self.limit
        return min(self.limit, self.answers / max(1.0, self._clock() - self._made))

    @property
    def rate(self) -> float | None:
        return None if self._calls is None else self._calls.rate

    def room(self) -> bool:
        """Whether another item may be begun: with a rate, a few calls wait for their moment, and no
        more are needed."""
        if self.in_flight + self.waiting >= int(self.window):
            return False
        return self.waiting == 0 or (
            self.rate is not None and self.waiting < max(2.0, self.rate / 4)
        )

    async def turn(self, request: Any) -> float:
        """Wait until this call may leave; the moment at which it does, for `refused` and `late`.
        Then it is in flight until `over`."""
        self.waiting += 1
        try:
            now = self._clock()
            put_off, due = self._put_off, max(now, self._free)
            if self._calls is not None:
                due = self._calls.take(due)
            if self._tokens is not None:
                self._expected = self._expected or len(to_json(request)) / 4
                due = max(due, self._tokens.take(now, self._expected))
            while (left := due + self._put_off - put_off - self._clock()) > 0:
                await asyncio.sleep(left)
        finally:
            self.waiting -= 1
        self.in_flight += 1
        now = self._clock()
        self._sent.append(now)
        return now

    def over(self, tokens: int | None) -> None:
        """A call is over: with an answer of so many tokens, or without one (None)."""
        self.in_flight -= 1
        if tokens is None:
            return
        self.answers, self._in_vain = self.answers + 1, 0
        if self._tokens is not None and tokens:
            self._tokens.owe(tokens - self._expected)
            # Answers differ in length; a slowly moving mean foretells the next one well
            # enough.
            self._expected += 0.1 * (tokens - self._expected)
        now = self._clock()
        if self.limit is not None:
            self._grow(now)
        elif not self._fixed:
            self._widen(now)

    def refused(self, left: float, after: float | None) -> None:
        """The server was full when it got the call that left at this moment, and asks to wait so
        many seconds."""
        self.refusals += 1
        now = self._clock()
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**self._in_vain)
        until = now + (
            wait if after is None else max(after, wait) if self._in_vain else after
        )
        self._in_vain += left >= self._free
        self._dry = self._dry or wait >= _LONGEST_WAIT / 2
        if until > (free := max(now, self._free)):
            self._put_off += until - free
            self._free = until
            if self._calls is not None:
                self._calls.put_off(until - free)
        accepted = [moment for moment in self._sent if moment != left]
        self._sent = deque(accepted, maxlen=self._sent.maxlen)
        self._told.append(now)
        if (
            left <= self._cut
            or now - self._cut < 1.0
            or max(accepted, default=0.0) <= self._cut < left
        ):
            # the same event: since the last cut no call was accepted, so how many would be is not
            # known anew
            return
        first = min(
            now - 1,
            accepted[-FEW]
            if len(accepted) >= FEW
            else accepted[0]
            if accepted
            else now,
        )
        seen, refused = (
            sum(moment > first for moment in moments)
            for moments in (accepted, self._told)
        )
        # Servers refuse single calls for other reasons, too; but where one says how long to wait,
        # all calls wait, so that no second one is refused.
        if after is None and refused < max(2.0, _SHARE * seen):
            return
        # What was accepted just now is the best guess of what is allowed, as few
        # servers say it.
        measured = seen / (now - first)
        old = self.limit
        if old is None:
            self.limit = max(measured, _LOWEST)
        else:
            assert self.rate is not None
            self.limit = min(self.rate, max(measured, 0.5 * self.rate))
        # Refused at the same rate again: that rate is the limit, and trying beyond it
        # costs a wait each time.
        same = old is not None and abs(self.limit - old) <= _SAME * old
        self._quiet = min(_LAST_QUIET, 2 * self._quiet) if same else _FIRST_QUIET
        self._cut = self._grown = now
        self._step = 0.01
        if self._calls is None:
            self._calls = Slots(1.0)
        self._calls.rate = min(0.95 * self.limit, self._most or 1e9)

    def late(self, left: float) -> None:
        """The call that left at this moment got no answer in time."""
        if not self._fixed and left > self._lowered:
            self._lowered = now = self._clock()
            self.window = max(1.0, self.window / 2)
            self._restart(now + _FIRST_QUIET, None)

    def _grow(self, now: float) -> None:
        """Let the rate rise: soon back to what the server allowed, and beyond it after a quiet
        time, ever faster."""
        assert self._calls is not None and self.limit is not None
        if not self._fixed and self.in_flight + 1 >= int(self.window) < MOST:
            # the rate is what holds calls back, and the window need not
            self.window += 1
            return
        if not self.waiting or now - self._grown < 0.2:
            return
        passed, self._grown = min(1.0, now - self._grown), now
        rate = self._calls.rate
        if now - self._cut > self._quiet:
            rate += self._step * passed * rate
            self._step = min(0.25, self._step * (1 + passed))
        elif now - self._cut > 1:
            rate = min(0.99 * self.limit, rate + 0.01 * passed * self.limit)
        self._calls.rate = min(max(rate, self._calls.rate), self._most or 1e9)

    def _restart(self, now: float, before: float | None) -> None:
        """Measure answers a second anew, at the window as it is now."""
        self._before, self._from, self._began, self._answers = before, now, now, 0

    def _widen(self, now: float) -> None:
        """Double the calls in flight as long as that brings clearly more answers a second."""
        if now < self._from:
            return
        self._answers += 1
        # until here the calls were those of the narrower window
        if self._answers == int(self.window):
            self._began = now
        elif self._answers >= 2 * int(self.window) + FEW:
            speed = (self._answers - int(self.window)) / max(now - self._began, 1e-9)
            if self._before is not None and speed < _GAIN * self._before:
                self.window = max(1.0, self.window / 2)
                self._restart(now + _LAST_QUIET, None)
            elif self.window < MOST:
                self.window = min(float(MOST), 2 * self.window)
                self._restart(now, speed)
            else:
                self._restart(now + _LAST_QUIET, None)
