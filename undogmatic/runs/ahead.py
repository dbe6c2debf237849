"""Loads what a run needs after judging while it waits for a server's answers, in a thread of its
own.

Python runs one thread at a time, so what is loaded while answers come in faster than they are dealt
with only delays them. The thread therefore watches how late it is woken, which says how much of the
time another one runs.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module

Step = Callable[[], object]

LOOKS, BETWEEN, LATE = 20, 0.005, 0.0003
"""How often it is looked whether the process is waiting, the seconds between two looks, and how
many seconds late, on average, the thread is woken at most in a process that is."""


def modules(*names: str) -> list[Step]:
    """Steps that import these modules, one each."""
    return [partial(import_module, name) for name in names]


@contextlib.contextmanager
def meanwhile(steps: Sequence[Step]) -> Iterator[None]:
    """Take the steps, one after the other, whenever what stands inside `with` waits; when that
    ends, no other begins.

    What a step raises is of no consequence here: it is raised again by what needs the step.
    """
    over = threading.Event()

    def take() -> None:
        for step in steps:
            while not _waiting(over):
                if over.is_set():
                    return
            with contextlib.suppress(Exception):
                step()

    thread = threading.Thread(target=take, name="ahead", daemon=True)
    if steps:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if steps:
            # two threads that import parts of one package at once may see half of it
            thread.join()


def _waiting(over: threading.Event) -> bool:
    """Whether the other threads of this process leave it idle; False as soon as it is over."""
    late = 0.0
    for _ in range(LOOKS):
        begin = time.perf_counter()
        if over.wait(BETWEEN):
            return False
        late += time.perf_counter() - begin - BETWEEN
    return late / LOOKS <= LATE
