"""Runs a recipe on Ray: workers on one machine or many, one rate and one budget for all, the run's
journal as ever.

Each worker is an actor that builds the recipe anew and is handed one item at a time; a record is in
the journal of this process as soon as it comes back. When a worker is killed, another takes over
what it had not yet handed back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from pydantic import Field

from undogmatic.engine.cluster import checked, connected, last_line
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine, Place, _Task, given_up
from undogmatic.engine.recipe import Recipe
from undogmatic.engine.step import FREE, JudgeStep, Processes
from undogmatic.engine.workers import Desk, Fault, Order, Worker
from undogmatic.errors import ConfigError, JudgeFault, RunStopped, UndogmaticError
from undogmatic.models.base import Model
from undogmatic.models.calls import Budget, Gateway, ReplyCache
from undogmatic.models.hosted import HostedModel
from undogmatic.models.pace import START
from undogmatic.records.limits import USUAL, PacedLimits
from undogmatic.records.records import Failure, Item, Judgment, Made
from undogmatic.safety.command import say
from undogmatic.safety.extras import needs
from undogmatic.safety.variables import noting_settings

# workers that may end over one item; then it is the item that could not be judged
TRIES = 3
STARTING = 300.0  # seconds in which all workers must have begun
_MOST_CALLS = 20_000  # that may wait for the desk at once


class RayEngine(LocalEngine):
    """Judges as `LocalEngine` does, by workers of Ray.

    Args:
        address: HOST:PORT of a cluster, or "auto" for the one of this machine; None starts Ray here
            and stops it again.
        workers: How many there are in all; None: one for each machine where servers are asked, else
            one for each processor, or as many of these as the embedded model has threads.
        limits: What all workers together may take at most.
        cache: As of `LocalEngine`.
        cache_dir: Where finished calls are kept, on each machine.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: Annotated[int, Field(ge=1, le=10_000)] | None = None,
        limits: PacedLimits = USUAL,
        cache: bool = True,
        cache_dir: str | None = None,
    ) -> None:
        super().__init__(limits, cache, cache_dir)
        needs("ray")
        self.address, self.workers = checked(address), workers
        self.folder_of_cache = cache_dir

    def gateway(
        self,
        cache: ReplyCache | None,
        budget: Budget | None = None,
        answered: Collection[str] = (),
    ) -> Gateway:
        """Raises ConfigError: a search or a probe asks in this process."""
        raise ConfigError(
            "engine=ray judges items alone; a search or a probe needs engine=local."
        )

    def check(self, model: Model, searching: bool = False) -> None:
        """Raise ConfigError for a search, which asks in this process."""
        if searching:
            raise ConfigError(
                "engine=ray judges items alone, and an optimisation asks in this process:"
                " engine=local."
            )

    @asynccontextmanager
    async def _place(
        self, recipe: Recipe, running: set[_Task], journals: Journals
    ) -> AsyncIterator[Place]:
        with connected(self.address):
            workers = _Workers(self, recipe, journals)
            try:
                await workers.begin()
                yield workers
            finally:
                await given_up(running)
                await workers.close()


class _One:
    """A worker, as this process knows it."""

    def __init__(self, number: int, node: str, actor: Any) -> None:
        self.number, self.node, self.actor, self.busy = number, node, actor, 0


class _Workers(Place):
    """Hands items to the workers, and notes in the ledger what the desk tells."""

    def __init__(self, engine: RayEngine, recipe: Recipe, journals: Journals) -> None:
        import ray

        self._engine, self._journals, self._recipe = engine, journals, recipe
        self._parts = parts = recipe.build()
        self._places = {
            id(step): n for n, step in enumerate([*parts.steps, *parts.judges])
        }
        self._alive: dict[int, _One] = {}
        self._started = self._window = 0
        self._fault: UndogmaticError | None = None
        self._changed = asyncio.Event()  # a worker has begun, or none will
        self._alone = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        budget = engine.budget
        here = _on(ray.get_runtime_context().get_node_id())
        options: dict[str, Any] = {
            # The desk waits most of the time; a processor of its own would be one worker fewer.
            "num_cpus": 0,
            "max_concurrency": _MOST_CALLS,
            "scheduling_strategy": here,
        }
        spent = (budget.calls, budget.usd)
        self._desk: Any = (
            ray.remote(Desk).options(**options).remote(engine.limits, spent)
        )
        with noting_settings() as settings:
            Recipe(recipe.config).build()
        self._order = Order(
            recipe.config,
            engine.limits,
            engine.cache,
            engine.folder_of_cache,
            frozenset(journals.answered()),
            settings,
            os.environ.get("UNDOGMATIC_ALLOW", ""),
            os.getcwd(),
        )

    async def begin(self) -> None:
        """Start the workers. Raises ConfigError where they cannot work as this process does."""
        import ray

        nodes = {
            node["NodeID"]: node["Resources"].get("CPU", 0.0)
            for node in ray.nodes()
            if node["Alive"]
        }
        models = self._parts.model.all()
        threads = max(getattr(model, "threads", 1) for model in models)
        asks = all(isinstance(model, HostedModel) for model in models)
        counts = _shares(nodes, self._engine.workers, None if asks else threads)
        self._share = {
            node: (count, min(float(threads), nodes[node] / count))
            for node, count in counts.items()
        }
        # Before any worker begins: another version would judge otherwise, and nobody would see
        # it.
        await asyncio.gather(*(_same(node) for node in counts))
        await asyncio.gather(
            *(self._start(node) for node, count in counts.items() for _ in range(count))
        )
        each = self._parts.model.max_concurrency
        # One more waits at a worker that judges one at a time, so that it need not wait for the
        # next.
        own = [each * n + n for n in [len(self._alive)] if each]
        self.fixed = min(
            (n for n in (self._engine.limits.concurrency, *own) if n), default=None
        )
        self._keep(self._listen())
        on = "1 machine" if len(counts) == 1 else f"{len(counts)} machines"
        say(
            f"  engine=ray: {len(self._alive)} worker{'s' * (len(self._alive) > 1)} on {on}"
        )

    async def _start(self, node: str) -> None:
        """Start a worker on a node. Raises ConfigError."""
        import ray

        count, processors = self._share[node]
        self._started += 1
        number = self._started
        options = {
            "num_cpus": processors,
            "max_concurrency": _MOST_CALLS,
            "scheduling_strategy": _on(node),
        }
        actor: Any = (
            ray.remote(Worker)
            .options(**options)
            .remote(number, count, self._order, self._desk)
        )
        one = _One(number, node, actor)
        try:
            identity = await asyncio.wait_for(
                asyncio.wrap_future(actor.begin.remote().future()), STARTING
            )
        except TimeoutError:
            what = (
                f"engine=ray: a worker has not begun on the machine {_named(node)} within"
                f" {STARTING:g} s"
            )
            way = (
                "The processors of the cluster may be taken by others: wait for them, or use fewer"
                " (engine.workers=)"
            )
            raise ConfigError(f"{what}. {way}.") from None
        except ray.exceptions.RayError as error:
            raise ConfigError(
                f"engine=ray: a worker could not begin on the machine {_named(node)}"
                f" ({last_line(error)})."
            ) from None
        if isinstance(identity, Fault):
            fault = identity.error
            raise type(fault)(f"on the machine {_named(node)}: {fault}")
        # A file that the config names by its path may differ there, e.g. a prompt.
        if identity != self._parts.identity:
            what = (
                f"engine=ray: the machine {_named(node)} builds other judges from the "
                "same config"
            )
            raise ConfigError(
                f"{what}: a file that the config names (model.path, prompt.path) differs there."
            )
        self._alive[number] = one
        self._changed.set()

    async def _listen(self) -> None:
        """Note in the ledger what the desk tells, so that calls may leave."""
        kept, budget = 0, self._engine.budget
        while True:
            told = await self._desk.news.remote(kept)
            # The run's own budget and ledger are the ones that a resumed run reads.
            budget.calls, budget.usd = budget.calls + told.calls, budget.usd + told.usd
            try:
                budget.note(told.calls, told.usd)
            except UndogmaticError as error:
                await self._desk.halt.remote(Fault.of(error))
                return
            kept, self._window = told.number, told.window or 0

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A worker that was to take another's place may be the fault of the whole run; the desk
        tells its own."""
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(
            error := task.exception(), UndogmaticError
        ):
            self._fault = self._fault or error
            self._changed.set()

    def room(self, running: int) -> bool:
        if self.fixed is not None:
            return running < self.fixed
        return running < (self._window or START * max(1, len(self._alive)))

    async def process(
        self, step: Processes, item: Item, repeat: int
    ) -> Sequence[Judgment | Made]:  # type: ignore[override]
        """The records that a worker makes of the item. Where it ends over it, another one's."""
        import ray

        said = ""
        for tried in range(TRIES):
            # At last one at a time, or an item that ends its worker would take those beside it
            # along.
            async with self._alone if tried == TRIES - 1 else contextlib.nullcontext():
                one = await self._free()
                one.busy += 1
                try:
                    records = await one.actor.process.remote(
                        self._places[id(step)], item, repeat
                    )
                except ray.exceptions.RayActorError as error:
                    said = last_line(error)
                    self._lost(one)
                    continue
                except ray.exceptions.RayError as error:  # what was made cannot be sent
                    said = last_line(error)
                    break
                finally:
                    one.busy -= 1
            if isinstance(records, Fault):
                raise records.error
            return records  # type: ignore[no-any-return]
        failure = Failure(
            reason=JudgeFault.kind,  # type: ignore[arg-type]
            message=f"the worker that judged it ended or broke down: {said}",
        )
        if isinstance(step, JudgeStep):
            return step.judgments(item, repeat, failure)
        return [
            Made(
                item_id=item.id,
                repeat=repeat,
                step=step.name,
                outcome=failure,
                cost=FREE,
            )
        ]

    async def _free(self) -> _One:
        """The worker with the least to do; where there is none, the next that begins."""
        while not self._alive:
            if self._fault is not None:
                raise self._fault
            self._changed.clear()
            await self._changed.wait()
        return min(self._alive.values(), key=lambda one: one.busy)

    def _lost(self, one: _One) -> None:
        """A worker has ended: its calls are over, and another takes its place."""
        import ray

        if self._alive.pop(one.number, None) is None:
            return
        # it may be that only the way to it has broken
        with contextlib.suppress(Exception):
            ray.kill(one.actor)
        self._desk.gone.remote(one.number)
        nodes = {
            node["NodeID"] for node in ray.nodes() if node["Alive"]
        } & self._share.keys()
        if not nodes:
            self._fault = RunStopped(
                "engine=ray: all machines have left the cluster. What was judged is kept; rerun."
            )
            self._changed.set()
            return
        there = [each.node for each in self._alive.values()]
        node = one.node if one.node in nodes else min(nodes, key=there.count)
        say(
            f"  engine=ray: a worker on {_named(one.node)} ended; another takes its place"
        )
        self._keep(self._start(node))

    async def close(self) -> None:
        """End the workers; what was found out about the servers is the engine's."""
        import ray

        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(ray.exceptions.RayError, TimeoutError):
            told = asyncio.wrap_future(self._desk.findings.remote().future())
            self._engine.findings = tuple(await asyncio.wait_for(told, 10))
        for actor in [*(one.actor for one in self._alive.values()), self._desk]:
            ray.kill(actor)


def _shares(
    nodes: Mapping[str, float], workers: int | None, threads: int | None
) -> dict[str, int]:
    """How many workers begin on each machine, given its processors: one for each that has any where
    servers are asked (`threads` is None), else as many as fit; or so many in all, on the machines
    with the most room.
    """
    if workers is None:
        return {
            node: max(1, int(cpus // threads)) if threads else 1
            for node, cpus in nodes.items()
            if cpus
        }
    counts = dict.fromkeys(nodes, 0)
    for _ in range(workers):
        # One by one to where most processors are left for each, as seats are given to parties
        # (D'Hondt).
        counts[max(counts, key=lambda node: nodes[node] / (counts[node] + 1))] += 1
    return {node: count for node, count in counts.items() if count}


def _on(node: str) -> Any:
    """On this machine and no other."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def _named(node: str) -> str:
    """The address of a machine in the cluster, for messages."""
    import ray

    return next(
        (
            str(each["NodeManagerAddress"])
            for each in ray.nodes()
            if each["NodeID"] == node
        ),
        node[:8],
    )


async def _same(node: str) -> None:
    """Raises ConfigError where the program on a machine is not the one that runs here."""
    import ray

    # sent as it is, because what another version has in this place is not known
    def program() -> str:
        import hashlib
        import importlib.util
        import pathlib
        import platform

        found = importlib.util.find_spec("undogmatic")
        if found is None or found.origin is None:
            return "no undogmatic"
        package, mark = pathlib.Path(found.origin).parent, hashlib.sha256()
        for path in sorted(package.rglob("*.py")):
            mark.update(path.read_bytes())
        said = package.joinpath("__init__.py").read_text(encoding="utf-8")
        version = said.partition('__version__ = "')[2].partition('"')[0]
        python = platform.python_version().rpartition(".")[0]
        return f"undogmatic {version} (code {mark.hexdigest()[:8]}) on Python {python}"

    said = (
        ray.remote(program).options(num_cpus=0, scheduling_strategy=_on(node)).remote()
    )
    try:
        there = await asyncio.wait_for(asyncio.wrap_future(said.future()), STARTING)
    except (TimeoutError, ray.exceptions.RayError) as error:
        there = f"no answer ({last_line(error)})"
    if there != program():
        what = (
            f"engine=ray: on the machine {_named(node)} there is {there}, and here is "
            f"{program()}"
        )
        raise ConfigError(f"{what}. Install the same on all machines.")
