"""How fast a server is asked: limits that are set, and those that are found."""

import asyncio
import functools
import itertools
from collections.abc import Callable

import pytest

from undogmatic.errors import TransportError
from undogmatic.models.calls import Gateway, Reply, Retryable
from undogmatic.models.pace import MOST, START, Pace
from undogmatic.records.limits import PacedLimits


class Server:
    """Time that passes only where somebody waits, and a server that takes so many calls a second in
    it."""

    def __init__(self, limit: float, latency: float = 0.1, tokens: int = 0) -> None:
        self.after: float | None = None
        self.limit, self.latency, self.tokens = limit, latency, tokens
        self.free, self.counted, self.refused = limit, 0.0, 0
        self.sent: list[float] = []

    async def send(self) -> Reply:
        now = asyncio.get_running_loop().time()
        self.free, self.counted = (
            min(self.limit, self.free + (now - self.counted) * self.limit),
            now,
        )
        if self.free < 1:
            self.refused += 1
            raise Retryable("429", self.after, limited=True)
        self.free -= 1
        self.sent.append(now)
        await asyncio.sleep(self.latency)
        return Reply("x", self.tokens)


class _Quick(asyncio.SelectorEventLoop):
    """Jumps to the next moment at which something is due."""

    passed = 0.0

    def time(self) -> float:
        return self.passed

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.passed = max(self.passed, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def asked(server: Server, count: int, **options: float) -> tuple[Pace, float]:
    """Ask so many times, as the engine does, in quick time; the pace in the end, and the seconds
    that it took."""
    loop = _Quick()

    async def all_of_them() -> Pace:
        limits = PacedLimits(**options)  # type: ignore[arg-type]
        gateway = Gateway(limits=limits, pace=functools.partial(Pace, clock=loop.time))
        pace, left, spare, running = (
            gateway.pace("s"),
            count,
            START,
            set[asyncio.Task[Reply]](),
        )
        while left or running:
            while (
                left and spare and len(running) < MOST and (not running or pace.room())
            ):
                left, spare = left - 1, spare - 1
                running.add(
                    asyncio.create_task(
                        gateway.call("m", {"n": left}, server.send, server="s")
                    )
                )
            done, running = await asyncio.wait(
                running, return_when=asyncio.FIRST_COMPLETED
            )
            spare = 2 * len(done)
            assert all(task.exception() is None for task in done)
        return pace

    try:
        return loop.run_until_complete(all_of_them()), loop.time()
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("limit", "latency", "count", "share"),
    # a slow server is got to know slowly
    [
        (50, 0.1, 1500, 0.95),
        (50, 1.0, 1500, 0.7),
        (4, 0.2, 300, 0.9),
    ],
)
def test_the_limit_of_a_server_is_found_and_used_up(
    limit: float, latency: float, count: int, share: float
) -> None:
    server = Server(limit, latency)
    pace, took = asked(server, count)
    assert count / took > share * limit
    assert pace.limit == pytest.approx(limit, rel=0.25)
    assert server.refused < 0.15 * count and pace.refusals == server.refused


@pytest.mark.parametrize(("after", "share"), [(1.0, 0.8), (0.2, 0.8)])
def test_a_limit_is_found_where_the_server_says_how_long_to_wait(
    after: float, share: float
) -> None:
    """All calls wait then, so that hardly two are refused at once."""
    server = Server(40)
    server.after = after
    pace, took = asked(server, 1500)
    assert 1500 / took > share * 40
    assert pace.allowed == pytest.approx(40, rel=0.35)


@pytest.mark.parametrize("after", [None, 1.0])
def test_a_server_that_counts_by_the_minute_is_waited_for(after: float | None) -> None:
    """It refuses all calls until the minute is over, which is no fault of it; and the rate does not
    fall meanwhile."""

    class Minutes(Server):
        async def send(self) -> Reply:
            if (minute := asyncio.get_running_loop().time() // 60) > self.counted:
                self.free, self.counted = self.limit, minute
            if self.free < 1:
                self.refused += 1
                raise Retryable("429", self.after, limited=True)
            self.free -= 1
            await asyncio.sleep(self.latency)
            return Reply("x")

    server = Minutes(100)
    server.after = after
    pace, took = asked(server, 250)
    assert took < 125 and pace.allowed == pytest.approx(2, rel=0.1)
    assert server.refused < 250


def test_without_a_limit_calls_in_flight_grow_as_long_as_that_brings_answers() -> None:
    pace, took = asked(Server(1e9), 5000)
    assert pace.window == MOST and pace.limit is None
    assert 5000 / took > 1000  # 16 in flight bring 160


def test_calls_in_flight_that_bring_no_more_answers_are_given_up() -> None:
    class Queue(Server):
        """Works on four calls at once."""

        async def send(self) -> Reply:
            async with places:
                return await super().send()

    places = asyncio.Semaphore(4)
    pace, _ = asked(Queue(1e9), 1000)
    assert pace.window == START


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({"calls_per_minute": 600}, 0.1),
        ({"tokens_per_minute": 6000}, 1.0),
        ({"calls_per_minute": 30}, 2.0),
    ],
)
def test_limits_that_are_set_hold_from_the_first_call_on(
    options: dict[str, float], seconds: float
) -> None:
    server = Server(1e9, tokens=100)
    asked(server, 40, **options)
    gaps = [b - a for a, b in itertools.pairwise(server.sent[20:])]
    assert min(gaps) > 0.8 * seconds and server.sent[-1] > 0.9 * 19 * seconds
    if "calls_per_minute" in options:
        assert server.sent[-1] == pytest.approx(39 * seconds)


def test_no_answer_in_time_halves_the_calls_in_flight_once_for_all_that_were_on_their_way() -> (
    None
):
    now = [0.0]
    pace = Pace(clock=lambda: now[0])

    async def three() -> list[float]:
        return [await pace.turn({}) for _ in range(3)]

    left = asyncio.run(three())
    now[0] = 60.0
    for moment in left:
        pace.late(moment)
        pace.over(None)
    assert (pace.window, pace.in_flight) == (START / 2, 0)


def test_a_call_that_is_refused_while_others_are_answered_has_not_failed() -> None:
    refused: Callable[[], Retryable] = lambda: Retryable("429", after=0.0)  # noqa: E731
    gateway, tries = Gateway(limits=PacedLimits(retries=1, backoff=0.0)), 0

    async def busy() -> Reply:
        nonlocal tries
        tries += 1
        if tries > 5:
            return Reply("x")
        gateway.pace("s").answers += 1  # another call was answered meanwhile
        raise refused()

    assert asyncio.run(gateway.call("m", {}, busy, server="s")).data == "x"

    async def always() -> Reply:
        raise refused()

    with pytest.raises(TransportError, match=r"2 attempt\(s\)"):
        asyncio.run(gateway.call("m", {}, always, server="s"))
