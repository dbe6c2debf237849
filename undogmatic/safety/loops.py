"""Runs asynchronous work to its end, wherever that is asked for."""

import asyncio
import contextlib
import contextvars
from collections.abc import Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where a loop is already running
    (notebooks). An interrupt of whoever waits cancels the work in that thread too, and waits until
    it has ended."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: Future[Any] = Future()

    async def watched() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        begun.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work

    with ThreadPoolExecutor(1) as pool:  # its end waits for the thread
        answer = pool.submit(contextvars.copy_context().run, asyncio.run, watched())
        try:
            return answer.result()
        except BaseException:
            wait((begun, answer), return_when=FIRST_COMPLETED)
            if not answer.done():
                with contextlib.suppress(RuntimeError):  # its loop has ended already
                    begun.result()()
            raise
