"""Runs a recipe in this process: bounded concurrency, budgets, journals, and a clean stop.

Judgments that were made elsewhere have an engine of their own, which notes them in the journal as
if they had just been made: all that follows (table, analyses, report, tracking, resuming) is that
of any run.
"""

import asyncio
import gc
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, cast

from undogmatic.engine.journal import Journals
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep, Processes
from undogmatic.errors import ConfigError, DataError, RunStopped, UndogmaticError
from undogmatic.judges.base import Judge
from undogmatic.models.base import Model, Nobody
from undogmatic.models.calls import Budget, Gateway, ReplyCache
from undogmatic.models.pace import MOST, START, Pace
from undogmatic.readouts.base import Readout
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.limits import USUAL, Limits, PacedLimits
from undogmatic.records.records import Item, Items, Judgment, Made
from undogmatic.records.results import Finding, Weight
from undogmatic.records.rubric import Rubric
from undogmatic.runs.index import unanswered
from undogmatic.safety.paths import cache_folder
from undogmatic.safety.secrets import shown_address

_Task = asyncio.Task[Sequence[Judgment | Made]]


class Engine:
    """Base of the engines: its `stream` yields the records that are made now, each when it is in
    its journal."""

    stream: Any
    limits: Limits = USUAL
    # what it has found out about the servers that were asked
    findings: tuple[Finding, ...] = ()

    def check(self, model: Model, searching: bool = False) -> None:
        """Raise ConfigError where it cannot ask this model (`searching`: one question after the
        other)."""

    async def arun(
        self,
        recipe: Recipe,
        items: Sequence[Item],
        journals: Journals,
        repeats: int = 1,
        on_record: Callable[[Judgment | Made], None] | None = None,
    ) -> tuple[Sequence[Item], Sequence[Judgment]]:
        """`stream` to its end, every record handed to `each`; what was judged, and judgments
        (`Journals.results`)."""
        await self.adrain(recipe, items, journals, repeats, on_record)
        return journals.results(items, recipe.build().judges, repeats)

    async def adrain(
        self,
        recipe: Recipe,
        items: Sequence[Item],
        journals: Journals,
        repeats: int = 1,
        on_record: Callable[[Judgment | Made], None] | None = None,
    ) -> None:
        """`stream` to its end, every record handed to `on_record`; what came of it is in the
        journals."""
        async with aclosing(self.stream(recipe, items, journals, repeats)) as records:
            async for record in records:
                if on_record is not None:
                    on_record(record)


class Place:
    """Processes items in this process. `fixed` is how many may be in flight, or None where that is
    to be found."""

    def __init__(self, gateway: Gateway, fixed: int | None) -> None:
        self.gateway, self.fixed = gateway, fixed

    def process(
        self, step: Processes, item: Item, repeat: int
    ) -> Coroutine[Any, Any, Sequence[Judgment | Made]]:
        """The records that a step makes of an item."""
        return step.process(item, repeat)

    def room(self, running: int) -> bool:
        """Whether another item may be begun beside those that are running."""
        if self.fixed is not None:
            return running < self.fixed
        paces = self.gateway.paces.values()
        return running < (MOST if paces else START) and (
            not running or all(pace.room() for pace in paces)
        )


def usual_cache() -> Path:
    """The folder where answers are kept, where nobody named another one."""
    return cache_folder() / "replies"


def check_cache() -> None:
    """Raise ConfigError or RuntimeError where nothing can be kept in the usual folder."""
    ReplyCache(usual_cache()).close()


class LocalEngine(Engine):
    """Runs the steps and judges of a recipe over items with a bounded number in flight.

    Args:
        limits: What it may take at most.
        cache: Whether finished calls are kept and reused across runs.
        cache_dir: Where, or None for the user's cache folder.
    """

    limits: PacedLimits

    def __init__(
        self,
        limits: PacedLimits = USUAL,
        cache: bool = True,
        cache_dir: str | None = None,
    ) -> None:
        self.limits, self.budget = limits, Budget(limits)
        self.cache = cache
        self.cache_dir = usual_cache() if cache_dir is None else Path(cache_dir)

    def gateway(
        self,
        cache: ReplyCache | None,
        budget: Budget | None = None,
        answered: Collection[str] = (),
    ) -> Gateway:
        """The door for calls with the engine's limits; `budget` is the engine's own where none is
        given."""
        return Gateway(cache, self.limits, budget or self.budget, answered=answered)

    def replies(self) -> ReplyCache | None:
        """The answers that are kept from earlier calls; None where none are kept."""
        return ReplyCache(self.cache_dir) if self.cache else None

    def connect(self, model: Model) -> ReplyCache | None:
        """Let a model be asked outside a run, within the limits and through the kept answers, which
        are returned to be closed."""
        cache = self.replies()
        model.connect(self.gateway(cache))
        return cache

    def _door(
        self, model: Model, cache: ReplyCache | None, answered: Collection[str]
    ) -> Gateway:
        """The door for the calls of this run."""
        return self.gateway(cache, answered=answered)

    async def stream(
        self,
        recipe: Recipe,
        items: Iterable[Item],
        journals: Journals,
        repeats: int = 1,
    ) -> AsyncGenerator[Judgment | Made]:
        """Take every item through the recipe, its judgments `repeats` times, skipping what the
        journals have settled.

        Items are taken from the iterable as there is room for them. A record is in its journal
        before it is yielded. To be closed (`aclosing`) where it is left early.

        Raises:
            RunStopped: A budget is full or the server is gone; the journals hold what was made.
            ConfigError: The model cannot be used at all (wrong key, unknown model).
            DataError: A step made an item whose id another item bears.
        """
        parts = recipe.build()
        agenda = _Agenda(parts, items, journals, repeats)
        if not agenda.pending():
            return
        # A resumed run goes on with the budget that it had left.
        # Counted from the ledger, and not from the journal: calls of items that were
        # under way when the run was killed were paid for as well.
        self.budget.calls += journals.ledger.calls
        self.budget.usd += journals.ledger.usd
        self.budget.note = journals.ledger.note
        running: set[_Task] = set()
        ended: asyncio.Queue[_Task] = asyncio.Queue()
        stop: UndogmaticError | None = None
        lost = 0
        # Set for the tasks alone: a generator's own context is that of whoever reads from it.
        with parts.asking():
            # DSPy keeps the model that is asked in a context variable. Each task gets a
            # copy, so that no task can change what another asks.
            asking = copy_context()
        with journals:
            async with self._place(recipe, running, journals) as place:
                fixed = place.fixed
                # later two for each that ended: the calls of those just begun are not seen yet
                spare = fixed or START
                while True:
                    while (
                        stop is None
                        and spare
                        and place.room(len(running))
                        and agenda.pending()
                    ):
                        spare -= 1
                        task = asyncio.create_task(
                            place.process(*agenda.due.popleft()), context=asking.copy()
                        )
                        task.add_done_callback(ended.put_nowait)
                        running.add(task)
                    # Neither running nor due: everything was judged, or the run is
                    # stopping.
                    if not running:
                        break
                    task = await ended.get()
                    spare = fixed or 2
                    running.discard(task)
                    try:
                        # In the journal before anybody hears of it. What is yielded may
                        # be lost with the process; what is in the journal is not.
                        records = [journals.append(record) for record in task.result()]
                        for record in records:
                            agenda.note(record)
                    except UndogmaticError as error:
                        # The first error is told; what is under way is still taken in,
                        # because it has been paid for.
                        stop = stop or error
                        continue
                    # In a row, because single failures are a matter of single items,
                    # and many in a row of the server.
                    lost = lost + 1 if unanswered(records[0]) else 0
                    if lost >= self.limits.stop_after:
                        stop = stop or _gone(records[0].outcome, lost, parts.model)
                    for record in records:
                        yield record
        if stop is not None:
            raise stop

    @asynccontextmanager
    async def _place(
        self, recipe: Recipe, running: set[_Task], journals: Journals
    ) -> AsyncIterator[Place]:
        """Where items are processed, here in this process, the model connected; whatever is still
        running when it ends is given up."""
        model = recipe.build().model
        cache = self.replies()
        gateway = self._door(model, cache, journals.answered())
        model.connect(gateway)
        # The libraries' hundred thousand objects outlive the run; walking them at every full
        # collection costs a fast server judgments per second (benchmarks/hosted.py).
        gc.freeze()
        in_flight = (self.limits.concurrency, model.max_concurrency)
        try:
            # The smaller of both: what the user allows, and what the model can bear.
            yield Place(gateway, min((n for n in in_flight if n), default=None))
        finally:
            self.findings = tuple(
                found(server, pace)
                for server, pace in gateway.paces.items()
                if pace.limit
            )
            gc.unfreeze()
            # Before the model is closed: a task that still asks would find it gone, and
            # note a failure that is none.
            await given_up(running)
            await model.close()
            if cache is not None:
                cache.close()


async def given_up(running: Collection[_Task]) -> None:
    """Cancel the tasks, and wait until they have ended."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def found(server: str, pace: Pace) -> Finding:
    """What was found out about a server that has refused calls."""
    # What was found out is told, so that the next run can be started with it.
    limit = pace.allowed or 0.0
    values = {
        "server": shown_address(server),
        "refusals": pace.refusals,
    }
    if limit < 1:
        return Finding("local.minute", values | {"rate": round(60 * limit, 1)})
    return Finding(
        "local.second", values | {"rate": round(limit, 1 if limit < 10 else None)}
    )


def answering(served: Mapping[str, Sequence[str]]) -> list[Finding]:
    """What is to be told of the names that servers gave the models that answered: other ones, or
    several for one, as when an alias came to mean another model in the middle of a run, or while
    replies were kept in the cache.
    """
    told = []
    for asked, names in served.items():
        if len(names) > 1:
            values = {"model": asked, "names": names, "first": names[0]}
            told.append(Finding("local.versions", values, weight=Weight.LIMITS))
        elif not _last(names[0]).startswith(_last(asked)):
            told.append(Finding("local.other_name", {"model": asked, "name": names[0]}))
    return told


def _last(name: str) -> str:
    """A model's name without what stands before it: its maker's, or a folder."""
    return name.lower().rpartition("/")[2]


def _gone(outcome: Any, lost: int, model: Model) -> RunStopped:
    what, then = f"got no answer from {model.name}", "rerun when the server answers"
    if outcome.reason == "fault":
        what = "could not be judged because something broke down over them"
        then = "correct it (in a judge, readout or step of your own) and rerun"
    return RunStopped(
        f"{lost} items in a row {what}; the last: {outcome.message}. What was judged is kept;"
        f" {then}."
    )


class _Agenda:
    """What is to be done next: first what steps have just made, then further items, then further
    repeats. Only what is in flight is held, and the items themselves where they are judged more
    than once."""

    def __init__(
        self, parts: Parts, items: Iterable[Item], journals: Journals, repeats: int
    ) -> None:
        self.steps, self.judges = parts.steps, parts.judges
        self.journals, self.repeats = journals, repeats
        # Items that can be read again are not held for their further repeats.
        # A second repeat comes after all first ones: a run that a budget ends has then
        # judged every item once, rather than some items twice.
        again = isinstance(items, Sequence) and not parts.steps
        self.source = (
            (item, n) for n in range(repeats if again else 1) for item in items
        )
        self.held = repeats > 1 and not again
        # to be begun: an item for a step, or a judge's repeat
        self.due: deque[tuple[Processes, Item, int]] = deque()
        self.later: deque[tuple[Item, int]] = deque()
        self.under_way: dict[
            str, tuple[Item, int]
        ] = {}  # items in a step, and the stage at which they are, by id
        self.made: set[tuple[int, str]] = set()

    def pending(self) -> bool:
        """Whether there is something in `due`, where it can be found."""
        while not self.due:
            found = next(self.source, None)
            if found is not None:
                item, repeat = found
                self._arrive(item, 0) if self.steps else self._judge(item, repeat)
            elif (
                self.later and not self.under_way
            ):  # what a step is still making has its first repeat to come
                self._judge(*self.later.popleft())
            else:
                return False
        return True

    def note(self, record: Judgment | Made) -> None:
        """What a step made goes on to the next one. Raises DataError where two items of the run
        bear one id."""
        if isinstance(record, Made):
            item, stage = self.under_way.pop(record.item_id)
            self._go_on(item, stage, record)

    def _arrive(self, item: Item, stage: int) -> None:
        if stage == len(self.steps):
            self._judge(item, 0)
            return
        step = self.steps[stage]
        made = self.journals.made[step.name]
        # What a step made before is not made again, and what it made goes on, as a
        # resumed run must judge the same items.
        if made.settled(step, item.id):
            self._go_on(item, stage, made.done[item.id, step.name, step.criteria[0], 0])
        else:
            self.under_way[item.id] = (item, stage)
            self.due.append((step, item, 0))

    def _go_on(self, item: Item, stage: int, record: Made) -> None:
        for made in record.outcome.items if isinstance(record.outcome, Items) else ():
            # Judgments are known by the id of their item. Two items with one id would
            # be one judgment in the journal.
            if (stage, made.id) in self.made:
                what = (
                    f"step {record.step!r} made an item {made.id!r} of {item.id!r}, an id that"
                    " another item bears"
                )
                way = (
                    "Ids must differ: let the step begin them with the id of the item they come"
                    " from"
                )
                raise DataError(f"{what}. {way}.")
            self.made.add((stage, made.id))
            self._arrive(made, stage + 1)

    def _judge(self, item: Item, repeat: int) -> None:
        settled = self.journals.judgments.settled
        self.due.extend(
            (judge, item, repeat)
            for judge in self.judges
            if not settled(judge, item.id, repeat)
        )
        if self.held and repeat + 1 < self.repeats:
            self.later.append((item, repeat + 1))


def parts_of(judgments: Sequence[Judgment], rubric: Rubric) -> Parts:
    """The judges of judgments that were made elsewhere, by name and with what they judged: none can
    be asked."""
    judges = []
    for name, provenance in {
        judgment.judge: judgment.provenance for judgment in judgments
    }.items():
        judge = Judge()
        judge.name, judge.rubric = name, rubric
        judge.criteria = tuple(
            dict.fromkeys(each.criterion for each in judgments if each.judge == name)
        )
        judges.append(JudgeStep(judge, provenance))
    prompt = Prompt(id="none", language=next(iter(rubric.wordings)))
    return Parts(
        rubric,
        prompt,
        Nobody("elsewhere"),
        cast(Readout, None),
        tuple(judges),
        asks=False,
    )


class NotingEngine(Engine):
    """Notes judgments that were made elsewhere, of one or more judges; nobody is asked. Of the
    limits only the share of judgments that may fail means anything here."""

    def __init__(self, judgments: Sequence[Judgment], limits: Limits = USUAL) -> None:
        self.judgments, self.limits = tuple(judgments), limits

    def repeats(self, asked: int) -> int:
        """How often items were judged at most. Raises ConfigError where `run.repeats` asks for
        something else."""
        there = 1 + max((judgment.repeat for judgment in self.judgments), default=0)
        if asked not in (1, there):
            why = (
                f"the judgments were made elsewhere, {there} for an item at most; nobody is asked"
                " again"
            )
            raise ConfigError(
                f"`run.repeats` is {asked}, and {why}. Leave run.repeats out."
            )
        return there

    async def stream(
        self,
        recipe: Recipe,
        items: Iterable[Item],
        journals: Journals,
        repeats: int = 1,
    ) -> AsyncGenerator[Judgment | Made]:
        """Note in the journal what it does not hold yet."""
        kept = {item.id for item in items}
        with journals:
            for judgment in self.judgments:
                if (
                    judgment.item_id in kept
                    and judgment.key not in journals.judgments.done
                ):
                    yield journals.append(judgment)
