"""The gateway alone: cache, budget, retries, waiting, and the record of what was said."""

import asyncio
import contextlib
import itertools
import math
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from undogmatic.errors import (
    AnswerTimeout,
    BudgetExceeded,
    ConfigError,
    TransportError,
    UnparseableAnswer,
)
from undogmatic.models.calls import (
    CACHE_FILE,
    Gateway,
    Reply,
    ReplyCache,
    Retryable,
    attempt,
    recording,
    rollout,
)
from undogmatic.records.limits import PacedLimits

Send = Callable[[], Awaitable[Reply]]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    with contextlib.closing(ReplyCache(tmp_path / "c")) as opened:
        yield opened


def sender(*outcomes: Any) -> tuple[Send, list[float]]:
    """Sends one outcome after the other (an exception is raised); also the times at which it was
    called."""
    todo, times = list(outcomes), []

    async def send() -> Reply:
        times.append(time.monotonic())
        outcome = todo.pop(0) if len(todo) > 1 else todo[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return send, times


def call(gateway: Gateway, send: Send, request: dict[str, Any] | None = None) -> Reply:
    return asyncio.run(
        gateway.call("m", request if request is not None else {"q": 1}, send)
    )


BUSY, OK = Retryable("busy"), Reply("ok", 3, 2, 0.5)


@pytest.mark.parametrize(
    ("outcomes", "raised", "reply", "error"),
    [
        ((BUSY, BUSY, OK), None, "ok", None),
        (
            (BUSY, BUSY, BUSY),
            (TransportError, r"busy \(3 attempt"),
            None,
            "transport: busy",
        ),
        (
            (UnparseableAnswer("rubbish", "<raw>"),),
            (UnparseableAnswer, "rubbish"),
            "<raw>",
            "unparseable: rubbish",
        ),
        (
            (Retryable("429", after=3600),),
            (TransportError, "asks to wait 3600 s, so rerun"),
            None,
            "transport: 429",
        ),
    ],
)
def test_a_fault_is_retried_where_that_helps_and_noted_as_one_call(
    outcomes: Any,
    raised: tuple[type[Exception], str] | None,
    reply: str | None,
    error: str | None,
) -> None:
    send, times = sender(*outcomes)
    with (
        recording() as calls,
        pytest.raises(raised[0], match=raised[1])
        if raised
        else contextlib.nullcontext(),
    ):
        call(Gateway(limits=PacedLimits(backoff=0.0, retries=2)), send)
    assert (len(times), len(calls)) == (len(outcomes), 1)
    assert (
        calls[0].attempts,
        calls[0].reply,
        (calls[0].error or "")[: len(error or "")] or None,
    ) == (
        len(outcomes),
        reply,
        error,
    )
    assert raised or calls[0].usd == 0.5


def test_no_answer_in_time_is_a_timeout_and_a_retry_waits_as_told_with_the_others_or_by_its_backoff() -> (
    None
):
    tried = []

    async def send() -> Reply:
        tried.append(1)
        await asyncio.sleep(5)
        return Reply("late")

    with pytest.raises(
        AnswerTimeout, match=r"0\.01 s in 2 attempt\(s\); raise engine.timeout"
    ):
        call(Gateway(limits=PacedLimits(timeout=0.01, retries=1, backoff=0.0)), send)
    assert len(tried) == 2
    gateway = Gateway(limits=PacedLimits(backoff=0.0))
    busy, busy_times = sender(Retryable("429", after=0.2), Reply("a"))
    other, other_times = sender(Reply("b"))

    async def both() -> None:
        async def later() -> None:
            await asyncio.sleep(0.05)
            await gateway.call("m", {"q": 2}, other)

        await asyncio.gather(gateway.call("m", {"q": 1}, busy), later())

    asyncio.run(both())
    assert busy_times[1] - busy_times[0] >= 0.2
    assert other_times[0] - busy_times[0] >= 0.2
    send, times = sender(Retryable("503"))
    with pytest.raises(TransportError):
        call(
            Gateway(limits=PacedLimits(backoff=0.04, retries=3), max_backoff=0.08), send
        )
    gaps = [b - a for a, b in itertools.pairwise(times)]
    # a quarter less at most
    assert gaps[0] >= 0.03 and gaps[1] >= 0.06 and gaps[2] >= 0.06


def test_the_cache_answers_and_keeps_models_requests_and_repeats_apart(
    cache: ReplyCache,
) -> None:
    gateway = Gateway(cache)
    send, times = sender(Reply({"n": 1}, 1, 1, 0.1))
    first = call(gateway, send)
    with recording() as calls:
        assert call(gateway, send) == first
    assert calls[0].cached and calls[0].reply == {"n": 1} and calls[0].usd is None
    assert len(times) == 1
    call(gateway, send, {"q": 2})
    with rollout(1):
        call(gateway, send)
    asyncio.run(gateway.call("other model", {"q": 1}, send))
    assert len(times) == 4
    assert gateway.budget.calls == 4 and gateway.budget.usd == pytest.approx(0.4)


def test_failures_are_not_cached_and_from_the_second_retry_on_each_attempt_is_its_own_call(
    cache: ReplyCache,
) -> None:
    send, times = sender(UnparseableAnswer("rubbish"), Reply("fine"))
    with pytest.raises(UnparseableAnswer):
        call(Gateway(cache), send)
    assert call(Gateway(cache), send).data == "fine"
    assert len(times) == 2
    gateway = Gateway(cache)
    send, times = sender(Reply("ok"))
    for number in (0, 1, 2, 3, 2, 3):  # a first retry has another request
        with attempt(number):
            call(gateway, send, {"q": 2})
    assert len(times) == 3


def test_caches_on_one_folder_share_replies_and_a_bad_one_names_the_key(
    cache: ReplyCache, tmp_path: Path
) -> None:
    reply = Reply({"logprob": -math.inf, "text": "não"}, 1, 2, 0.5)
    cache.put("k", reply)
    with contextlib.closing(ReplyCache(tmp_path / "c")) as other:
        assert other.get("k") == reply and other.get("other") is None
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        ConfigError, match=r"engine\.cache_dir=FOLDER, or engine\.cache=false"
    ):
        ReplyCache(tmp_path / "file" / "c")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "replies.sqlite").write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(ConfigError, match="not a database"):
        ReplyCache(tmp_path / "d")


def test_the_budget_counts_retries_stops_before_the_next_call_and_takes_a_hidden_price_for_the_dearest() -> (
    None
):
    send, times = sender(Retryable("busy"))
    with pytest.raises(BudgetExceeded, match=r"`engine.max_calls` is 2"):
        call(Gateway(limits=PacedLimits(max_calls=2, backoff=0.0)), send)
    assert len(times) == 2
    gateway = Gateway(limits=PacedLimits(max_usd=0.25))
    send, times = sender(Reply("ok", usd=0.1))
    for n in range(3):
        call(gateway, send, {"q": n})
    with pytest.raises(
        BudgetExceeded,
        match=r"`engine.max_usd` is 0\.25 and 0\.3000 USD were spent in 3 calls",
    ):
        call(gateway, send, {"q": 9})
    assert len(times) == 3
    unpriced, _ = sender(Reply("ok"))
    with pytest.raises(ConfigError, match=r"model\.price\.input"):
        call(Gateway(limits=PacedLimits(max_usd=1.0)), unpriced)
    gateway = Gateway(limits=PacedLimits(max_usd=0.5))
    send, times = sender(
        Reply("ok", usd=0.1), Reply("ok", usd=0.2), Reply("ok"), Reply("ok")
    )
    for n in range(3):
        call(gateway, send, {"q": n})
    with pytest.raises(BudgetExceeded):
        call(gateway, send, {"q": 9})
    assert len(times) == 3 and gateway.budget.usd == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("repeat", "again", "key"),
    [
        (0, 0, "3de88ac46a82df439d57973fb636d14b97f3bcc4acd9d61767970d9b6e3b7523"),
        (0, 1, "3de88ac46a82df439d57973fb636d14b97f3bcc4acd9d61767970d9b6e3b7523"),
        (2, 0, "c6c9ec46400cc357ce80110dce04c45556bf12396bcc6f953ea948d5c392f6fd"),
        (0, 3, "bf8a9a5d9d6cfa5805ad79a6d68adf8aa9d13cb8a3afabcf9ede1340a90835a8"),
    ],
)
def test_keys_stay_the_same_and_kept_answers_are_found(
    cache: ReplyCache, repeat: int, again: int, key: str
) -> None:
    cache.put(key, Reply("kept"))
    send, _ = sender(Reply("new"))
    request = {"messages": [{"role": "user", "content": "não"}], "temperature": 0.0}
    with rollout(repeat), attempt(again):
        assert (
            asyncio.run(Gateway(cache).call("m@http://x/v1", request, send)).data
            == "kept"
        )


def test_what_the_model_does_not_give_is_no_answer_and_not_kept(
    cache: ReplyCache,
) -> None:

    def check(data: Any) -> None:
        data["choices"][0]

    send, times = sender(Reply({"choices": []}), Reply({"choices": [1]}))

    async def ask() -> Reply:
        return await Gateway(cache).call("m", {}, send, check=check)

    with (
        recording() as calls,
        pytest.raises(UnparseableAnswer, match="another form than agreed"),
    ):
        asyncio.run(ask())
    assert calls[0].error is not None and calls[0].reply == '{"choices":[]}'
    assert asyncio.run(ask()).data == asyncio.run(ask()).data == {"choices": [1]}
    assert len(times) == 2


@pytest.mark.parametrize("cached", [True, False])
def test_a_call_that_is_under_way_is_waited_for_and_paid_once_with_a_cache(
    cache: ReplyCache, cached: bool
) -> None:
    sent: list[int] = []
    gateway = Gateway(cache if cached else None, PacedLimits(max_calls=100))

    async def send() -> Reply:
        sent.append(1)
        await asyncio.sleep(0.01)
        return Reply(f"answer {len(sent)}", usd=0.1)

    async def all_at_once() -> list[Reply]:
        return await asyncio.gather(
            *(gateway.call("m", {"q": n % 2}, send) for n in range(10))
        )

    with recording() as calls:
        replies = asyncio.run(all_at_once())
    made = 2 if cached else 10
    assert (
        [call.cached for call in calls].count(False)
        == len(sent)
        == gateway.budget.calls
        == made
    )
    assert len(calls) == 10 and gateway.budget.usd == pytest.approx(0.1 * made)
    if cached:
        assert (
            len({reply.data for reply in replies[::2]})
            == len({reply.data for reply in replies[1::2]})
            == 1
        )


def test_who_waits_for_a_call_that_fails_or_is_given_up_asks_anew(
    cache: ReplyCache,
) -> None:
    gateway = Gateway(cache)
    outcomes: list[Exception | None] = [UnparseableAnswer("rubbish"), None, None]

    async def both(given_up: bool) -> list[Any]:
        go = asyncio.Event()

        async def send() -> Reply:
            outcome = outcomes.pop(0)
            await go.wait()
            if outcome is not None:
                raise outcome
            return Reply("fine")

        first, second = (
            asyncio.create_task(gateway.call("m", {"q": given_up}, send))
            for _ in range(2)
        )
        for _ in range(5):  # until the first has sent, and the second waits for it
            await asyncio.sleep(0)
        if given_up:
            first.cancel()
        go.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    failed, fine = asyncio.run(both(given_up=False))
    assert isinstance(failed, UnparseableAnswer) and fine.data == "fine"
    outcomes[:] = [None, None]
    cancelled, fine = asyncio.run(both(given_up=True))
    assert isinstance(cancelled, asyncio.CancelledError) and fine.data == "fine"


def test_a_locked_or_full_cache_loses_no_answer_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("undogmatic.models.calls.BUSY_SECONDS", 0.05)
    cache = ReplyCache(tmp_path / "c")
    gateway = Gateway(cache)
    send, times = sender(*[Reply(f"answer {n}") for n in range(4)])
    other = sqlite3.connect(tmp_path / "c" / "replies.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    replies = [call(gateway, send, {"q": n}) for n in range(4)]
    other.execute("ROLLBACK")
    other.close()
    assert [reply.data for reply in replies] == [
        f"answer {n}" for n in range(4)
    ] and len(times) == 4
    said = capsys.readouterr().err
    assert (
        said.count("The run goes on without it") == 1 and "database is locked" in said
    )
    cache.close()


def test_a_cache_that_is_opened_twice_keeps_the_locks_of_its_process(
    tmp_path: Path,
) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", Reply("answer"))
    ReplyCache(tmp_path).close()
    # another process that opens and closes the database takes itself for the last one to use it,
    # and removes the log of what is not written yet, unless this process still holds its locks
    other = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('SELECT * FROM replies').fetchall(); d.close()"
    file = tmp_path / CACHE_FILE
    subprocess.run([sys.executable, "-c", other, str(file)], check=True)
    assert Path(f"{file}-wal").is_file()
    cache.close()
    assert file.stat().st_mode & 0o777 == 0o600
