"""Judging in this process: bounded concurrency, budgets, a journal, and a clean stop."""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import dspy

from undogmatic.engine.journal import Journal
from undogmatic.errors import BudgetExceeded, ConfigError, DataError, RunStopped
from undogmatic.judges.base import Judge, judge_item
from undogmatic.models.base import Model
from undogmatic.models.calls import Budget, Gateway, ReplyCache
from undogmatic.paths import cache_folder
from undogmatic.readouts.chat import LanguageModel
from undogmatic.records import RETRIED_ON_RESUME, Failure, Item, Judgment, Provenance


class LocalEngine:
    """Runs a judge over items with a bounded number in flight.

    Args:
        concurrency: Items in flight at most; a model that can use fewer (an embedded one) lowers it.
        timeout: Seconds for one attempt of one call.
        retries: Further attempts after 408, 429, 5xx, a reset connection or a timeout.
        backoff: Seconds before the first retry; it doubles. A longer `Retry-After` wins.
        max_calls: Budget of calls, or None.
        max_usd: Budget of money, or None; needs a known price.
        cache: Whether finished calls are kept and reused across runs.
        cache_dir: Where, or None for the user's cache folder.
        stop_after: So many items in a row that fail for want of a server end the run.
    """

    def __init__(
        self,
        concurrency: int = 16,
        timeout: float = 60.0,
        retries: int = 4,
        backoff: float = 0.5,
        max_calls: int | None = None,
        max_usd: float | None = None,
        cache: bool = True,
        cache_dir: str | None = None,
        stop_after: int = 5,
    ) -> None:
        for name, value, least in (
            ("concurrency", concurrency, 1),
            ("retries", retries, 0),
            ("stop_after", stop_after, 1),
            ("max_calls", max_calls if max_calls is not None else 1, 0),
            ("max_usd", max_usd if max_usd is not None else 1, 0),
            ("backoff", backoff, 0),
        ):
            if value < least:
                raise ConfigError(f"`engine.{name}` is {value}; it must be at least {least}.")
        if timeout <= 0:
            raise ConfigError(f"`engine.timeout` is {timeout:g}; it must be above 0 seconds.")
        self.concurrency, self.timeout, self.retries, self.backoff = concurrency, timeout, retries, backoff
        self.budget = Budget(max_calls, max_usd)
        self.cache, self.stop_after = cache, stop_after
        self.cache_dir = Path(cache_dir) if cache_dir is not None else cache_folder() / "replies"

    def run(
        self,
        judge: Judge,
        model: Model,
        items: Sequence[Item],
        provenance: Provenance,
        journal: Journal,
        repeats: int = 1,
        progress: Callable[[Judgment], None] | None = None,
    ) -> list[Judgment]:
        """Judge every item `repeats` times, skipping what the journal has settled.

        Returns:
            Judgments in the order of `items`, repeat by repeat.
        Raises:
            RunStopped: A budget is full or the server is gone; the journal holds what was judged.
            ConfigError: The model cannot be used at all (wrong key, unknown model).
        """
        return asyncio.run(self.arun(judge, model, items, provenance, journal, repeats, progress))

    async def arun(
        self,
        judge: Judge,
        model: Model,
        items: Sequence[Item],
        provenance: Provenance,
        journal: Journal,
        repeats: int = 1,
        progress: Callable[[Judgment], None] | None = None,
    ) -> list[Judgment]:
        """`run` inside an event loop."""
        todo = deque((i, r) for r in range(repeats) for i in items if journal.settled(i.id, r) is None)
        if todo:
            # A resumed run goes on with the budget that it had left.
            for judgment in journal.done.values():
                self.budget.calls += judgment.cost.calls
                self.budget.usd += judgment.cost.usd or 0.0
            with journal:
                await self._run(judge, model, todo, provenance, journal, progress)
        return [journal.done[i.id, r] for r in range(repeats) for i in items]

    async def _run(
        self,
        judge: Judge,
        model: Model,
        todo: deque[tuple[Item, int]],
        provenance: Provenance,
        journal: Journal,
        progress: Callable[[Judgment], None] | None,
    ) -> None:
        cache = ReplyCache(self.cache_dir) if self.cache else None
        model.connect(Gateway(cache, self.budget, self.timeout, self.retries, self.backoff))
        stop: list[Exception] = []
        lost = 0

        async def work() -> None:
            nonlocal lost
            while todo and not stop:
                item, repeat = todo.popleft()
                try:
                    judgment = await judge_item(judge, item, provenance, repeat)
                except (BudgetExceeded, ConfigError, DataError) as error:
                    stop.append(error)
                    return
                journal.append(judgment)
                if progress is not None:
                    progress(judgment)
                outcome = judgment.outcome
                lost = lost + 1 if isinstance(outcome, Failure) and outcome.reason in RETRIED_ON_RESUME else 0
                if lost >= self.stop_after and isinstance(outcome, Failure):
                    stop.append(
                        RunStopped(
                            f"{lost} items in a row got no answer from {model.name}; the last: {outcome.message}. "
                            "What was judged is kept; rerun when the server answers."
                        )
                    )

        limit = self.concurrency if model.max_concurrency is None else min(self.concurrency, model.max_concurrency)
        # The libraries' hundred thousand objects outlive the run; walking them at every full collection costs a fast
        # server judgments per second (benchmarks/hosted.py).
        gc.freeze()
        try:
            with dspy.context(lm=LanguageModel(model.asked())):
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(limit, len(todo))):
                        group.create_task(work())
        finally:
            gc.unfreeze()
            await model.close()
            if cache is not None:
                cache.close()
        if stop:
            raise stop[0]
