"""Threads that ask one model at once, each in an event loop of its own, as the threads of an
optimisation do."""

import asyncio
import gc
import logging
import sys
import threading
import time
from typing import Any

import pytest

from undogmatic.models.http import JsonClient
from undogmatic.safety.command import guarded

THREADS, CALLS = 6, 6


@pytest.fixture
def slow_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads get their turn where the client asks which of the loops have ended."""
    told = asyncio.BaseEventLoop.is_closed

    def is_closed(loop: Any) -> bool:
        if sys._getframe(1).f_globals.get("__name__") == JsonClient.__module__:
            time.sleep(0.002)
        return told(loop)

    monkeypatch.setattr(asyncio.BaseEventLoop, "is_closed", is_closed)


@pytest.mark.usefixtures("slow_look")
@pytest.mark.filterwarnings("ignore:Unclosed client session:ResourceWarning")
def test_sessions_of_many_threads_are_all_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a session that nobody closes gives away is a record of asyncio with `exc_info=False`.
    One was lost where another thread closed its own, and then an answer that had been paid for
    ended in an error, too.
    """
    client = JsonClient(
        "http://127.0.0.1:9/v1", {}, None, None, "Authorization", "a model"
    )
    errors: list[BaseException] = []

    async def ask(client: JsonClient) -> None:
        try:
            client._session()
            await asyncio.sleep(0.003)  # as long as an answer takes
        finally:
            await client.close()

    def work(client: JsonClient) -> None:
        for _ in range(CALLS):
            try:
                asyncio.run(ask(client))
            except RuntimeError as error:
                errors.append(error)

    with guarded():
        threads = [
            threading.Thread(target=work, args=(client,)) for _ in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = dict(client._sessions)
        del client, threads
        gc.collect()
    assert errors == [] and held == {}
    assert [record.getMessage() for record in caplog.records] == []


def test_a_session_that_nobody_closed_is_told_in_one_line_without_a_second_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """asyncio logs it with `exc_info=False`, and that line is what the user is to see."""

    gc.collect()
    caplog.clear()

    async def leave_open() -> None:
        JsonClient(
            "http://127.0.0.1:9/v1", {}, None, None, "Authorization", "a model"
        )._session()

    with guarded(), pytest.warns(ResourceWarning, match="Unclosed client session"):
        asyncio.run(leave_open())
        gc.collect()
    (record,) = (
        each
        for each in caplog.records
        if each.name == "asyncio" and each.levelno == logging.ERROR
    )
    assert record.exc_info is False and record.getMessage().startswith(
        "Unclosed client session"
    )
