"""Runs a recipe on Ray: workers on one machine or many, one rate and one budget for all, the run's journal as ever.

Each worker is an actor that builds the recipe anew and is handed one item at a time; a record is in the journal of this
process as soon as it comes back. When a worker is killed, another takes over what it had not yet handed back.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from undogmatic.engine.journal import Journals
from undogmatic.engine.local import MAX_FAILURES, LocalEngine, Place, _Task, given_up
from undogmatic.engine.recipe import Recipe
from undogmatic.engine.step import FREE, JudgeStep, Processes
from undogmatic.engine.workers import Desk, Fault, Order, Worker
from undogmatic.errors import ConfigError, JudgeFault, RunStopped, UndogmaticError
from undogmatic.models.base import Model
from undogmatic.models.calls import Budget, Gateway, ReplyCache
from undogmatic.models.hosted import HostedModel
from undogmatic.models.http import noting_settings
from undogmatic.models.pace import START
from undogmatic.records.records import Failure, Item, Judgment, Made
from undogmatic.safety import files
from undogmatic.safety.command import say
from undogmatic.safety.extras import needs

TRIES = 3  # workers that may end over one item; then it is the item that could not be judged
STARTING = 300.0  # seconds in which all workers must have begun
_MOST_CALLS = 20_000  # that may wait for the desk at once
_FOLDER = "undogmatic-ray-"
_LONGEST = 107 - len(
    "/session_2026-11-26_14-58-47_156569_1234567/sockets/plasma_store"
)  # so long may a socket's name be
_TOKEN = secrets.token_hex(32)  # Ray reads it once in a process
_WAY = "Give engine.address=HOST:PORT of its head (ray start --head prints it), or null to start Ray here."
_JOINING = "RAY_gcs_server_port_wait_time_s"  # how often Ray tries to join, a line on stderr and a second each
_STORE = 80 << 20  # bytes of Ray's store of objects, through which nothing large goes


class RayEngine(LocalEngine):
    """Judges as `LocalEngine` does, by workers of Ray.

    Args:
        address: HOST:PORT of a cluster, or "auto" for the one of this machine; None starts Ray here and stops it again.
        workers: How many there are in all; None: one for each machine where servers are asked, else one for each
            processor, or as many of these as the embedded model has threads.
        concurrency, calls_per_minute, tokens_per_minute: As of `LocalEngine`, of all workers together.
        max_calls, max_usd, timeout, retries, backoff, cache, stop_after, max_failures: As of `LocalEngine`.
        cache_dir: Where finished calls are kept, on each machine.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: Annotated[int, Field(ge=1, le=10_000)] | None = None,
        concurrency: Annotated[int, Field(ge=1, le=10_000)] | None = None,
        timeout: Annotated[float, Field(gt=0, le=86_400)] = 60.0,
        retries: Annotated[int, Field(ge=0, le=100)] = 4,
        backoff: Annotated[float, Field(ge=0, le=3600)] = 0.5,
        max_calls: Annotated[int, Field(ge=0)] | None = None,
        max_usd: Annotated[float, Field(ge=0)] | None = None,
        cache: bool = True,
        cache_dir: str | None = None,
        stop_after: Annotated[int, Field(ge=1, le=1_000_000)] = 5,
        max_failures: Annotated[float, Field(ge=0, le=1)] = MAX_FAILURES,
        calls_per_minute: Annotated[float, Field(gt=0)] | None = None,
        tokens_per_minute: Annotated[float, Field(gt=0)] | None = None,
    ) -> None:
        limits = (timeout, retries, backoff, max_calls, max_usd, cache, cache_dir, stop_after, max_failures)
        super().__init__(concurrency, *limits, calls_per_minute, tokens_per_minute)
        needs("ray")
        self.address, self.workers = _address(address), workers
        self.folder_of_cache = cache_dir
        self.rates = (concurrency, calls_per_minute, tokens_per_minute)

    def gateway(
        self, cache: ReplyCache | None, budget: Budget | None = None, answered: Collection[str] = ()
    ) -> Gateway:
        """Raises ConfigError: a search or a probe asks in this process."""
        raise ConfigError("engine=ray judges items alone; a search or a probe needs engine=local.")

    def check(self, model: Model, searching: bool = False) -> None:
        """Raise ConfigError for a search, which asks in this process."""
        if searching:
            raise ConfigError("engine=ray judges items alone, and an optimisation asks in this process: engine=local.")

    @asynccontextmanager
    async def _place(self, recipe: Recipe, running: set[_Task], journals: Journals) -> AsyncIterator[Place]:
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
        self._places = {id(step): n for n, step in enumerate([*parts.steps, *parts.judges])}
        self._alive: dict[int, _One] = {}
        self._started = self._window = 0
        self._fault: UndogmaticError | None = None
        self._changed = asyncio.Event()  # a worker has begun, or none will
        self._alone = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        budget = engine.budget
        here = _on(ray.get_runtime_context().get_node_id())
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": _MOST_CALLS, "scheduling_strategy": here}
        limits, spent = (budget.max_calls, budget.max_usd), (budget.calls, budget.usd)
        self._desk: Any = ray.remote(Desk).options(**options).remote(limits, spent, engine.rates)
        with noting_settings() as settings:
            Recipe(recipe.config).build()
        self._order = Order(
            recipe.config,
            (engine.timeout, engine.retries, engine.backoff),
            budget.max_usd,
            engine.rates[2] is not None,
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

        nodes = {node["NodeID"]: node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]}
        models = self._parts.model.all()
        threads = max(getattr(model, "threads", 1) for model in models)
        asks = all(isinstance(model, HostedModel) for model in models)
        counts = _shares(nodes, self._engine.workers, None if asks else threads)
        self._share = {node: (count, min(float(threads), nodes[node] / count)) for node, count in counts.items()}
        await asyncio.gather(*(_same(node) for node in counts))
        await asyncio.gather(*(self._start(node) for node, count in counts.items() for _ in range(count)))
        each = self._parts.model.max_concurrency
        # One more waits at a worker that judges one at a time, so that it need not wait for the next.
        own = [each * n + n for n in [len(self._alive)] if each]
        self.fixed = min((n for n in (self._engine.concurrency, *own) if n), default=None)
        self._keep(self._listen())
        on = "1 machine" if len(counts) == 1 else f"{len(counts)} machines"
        say(f"  engine=ray: {len(self._alive)} worker{'s' * (len(self._alive) > 1)} on {on}")

    async def _start(self, node: str) -> None:
        """Start a worker on a node. Raises ConfigError."""
        import ray

        count, processors = self._share[node]
        self._started += 1
        number = self._started
        options = {"num_cpus": processors, "max_concurrency": _MOST_CALLS, "scheduling_strategy": _on(node)}
        actor: Any = ray.remote(Worker).options(**options).remote(number, count, self._order, self._desk)
        one = _One(number, node, actor)
        try:
            identity = await asyncio.wait_for(asyncio.wrap_future(actor.begin.remote().future()), STARTING)
        except TimeoutError:
            what = f"engine=ray: a worker has not begun on the machine {_named(node)} within {STARTING:g} s"
            way = "The processors of the cluster may be taken by others: wait for them, or use fewer (engine.workers=)"
            raise ConfigError(f"{what}. {way}.") from None
        except ray.exceptions.RayError as error:
            raise ConfigError(
                f"engine=ray: a worker could not begin on the machine {_named(node)} ({_last(error)})."
            ) from None
        if isinstance(identity, Fault):
            fault = identity.error
            raise type(fault)(f"on the machine {_named(node)}: {fault}")
        if identity != self._parts.identity:
            what = f"engine=ray: the machine {_named(node)} builds other judges from the same config"
            raise ConfigError(f"{what}: a file that the config names (model.path, prompt.path) differs there.")
        self._alive[number] = one
        self._changed.set()

    async def _listen(self) -> None:
        """Note in the ledger what the desk tells, so that calls may leave."""
        kept, budget = 0, self._engine.budget
        while True:
            told = await self._desk.news.remote(kept)
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
        """A worker that was to take another's place may be the fault of the whole run; the desk tells its own."""
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), UndogmaticError):
            self._fault = self._fault or error
            self._changed.set()

    def room(self, running: int) -> bool:
        if self.fixed is not None:
            return running < self.fixed
        return running < (self._window or START * max(1, len(self._alive)))

    async def process(self, step: Processes, item: Item, repeat: int) -> Sequence[Judgment | Made]:  # type: ignore[override]
        """The records that a worker makes of the item. Where it ends over it, another one's."""
        import ray

        said = ""
        for tried in range(TRIES):
            # At last one at a time, or an item that ends its worker would take those beside it along.
            async with self._alone if tried == TRIES - 1 else contextlib.nullcontext():
                one = await self._free()
                one.busy += 1
                try:
                    records = await one.actor.process.remote(self._places[id(step)], item, repeat)
                except ray.exceptions.RayActorError as error:
                    said = _last(error)
                    self._lost(one)
                    continue
                except ray.exceptions.RayError as error:  # what was made cannot be sent
                    said = _last(error)
                    break
                finally:
                    one.busy -= 1
            if isinstance(records, Fault):
                raise records.error
            return records  # type: ignore[no-any-return]
        failure = Failure(reason=JudgeFault.kind, message=f"the worker that judged it ended or broke down: {said}")  # type: ignore[arg-type]
        if isinstance(step, JudgeStep):
            return step.judgments(item, repeat, failure)
        return [Made(item_id=item.id, repeat=repeat, step=step.name, outcome=failure, cost=FREE)]

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
        with contextlib.suppress(Exception):  # it may be that only the way to it has broken
            ray.kill(one.actor)
        self._desk.gone.remote(one.number)
        nodes = {node["NodeID"] for node in ray.nodes() if node["Alive"]} & self._share.keys()
        if not nodes:
            self._fault = RunStopped("engine=ray: all machines have left the cluster. What was judged is kept; rerun.")
            self._changed.set()
            return
        there = [each.node for each in self._alive.values()]
        node = one.node if one.node in nodes else min(nodes, key=there.count)
        say(f"  engine=ray: a worker on {_named(one.node)} ended; another takes its place")
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


def _address(typed: str | None) -> str | None:
    """The address of a cluster, as it was typed. Raises ConfigError for what can be none."""
    if typed is None or typed == "auto":
        return typed
    host, _, port = typed.rpartition(":")
    if typed.startswith("ray://"):
        why = "that is Ray's client, from outside a cluster. A run is part of the cluster, on one of its machines"
        raise ConfigError(
            f"`engine.address` is {typed!r}; {why}: there give engine.address=auto, or HOST:6379 of the head (its port "
            "without ray start --port=)."
        )
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"`engine.address` is {typed!r}; it must be HOST:PORT, auto or null. {_WAY}")
    return typed


def _shares(nodes: Mapping[str, float], workers: int | None, threads: int | None) -> dict[str, int]:
    """How many workers begin on each machine, given its processors: one for each that has any where servers are asked
    (`threads` is None), else as many as fit; or so many in all, on the machines with the most room."""
    if workers is None:
        return {node: max(1, int(cpus // threads)) if threads else 1 for node, cpus in nodes.items() if cpus}
    counts = dict.fromkeys(nodes, 0)
    for _ in range(workers):
        counts[max(counts, key=lambda node: nodes[node] / (counts[node] + 1))] += 1
    return {node: count for node, count in counts.items() if count}


def _on(node: str) -> Any:
    """On this machine and no other."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def _named(node: str) -> str:
    """The address of a machine in the cluster, for messages."""
    import ray

    return next((str(each["NodeManagerAddress"]) for each in ray.nodes() if each["NodeID"] == node), node[:8])


def _last(error: BaseException) -> str:
    """The last line of an error of Ray's, where its cause stands."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


async def _same(node: str) -> None:
    """Raises ConfigError where the program on a machine is not the one that runs here."""
    import ray

    def program() -> str:  # sent as it is, because what another version has in this place is not known
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

    said = ray.remote(program).options(num_cpus=0, scheduling_strategy=_on(node)).remote()
    try:
        there = await asyncio.wait_for(asyncio.wrap_future(said.future()), STARTING)
    except (TimeoutError, ray.exceptions.RayError) as error:
        there = f"no answer ({_last(error)})"
    if there != program():
        what = f"engine=ray: on the machine {_named(node)} there is {there}, and here is {program()}"
        raise ConfigError(f"{what}. Install the same on all machines.")


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Ray, started here without an address, and stopped again; nothing of it is left. One that this process is already
    connected to is used and left as it is. Raises ConfigError where there is no cluster at the address."""
    import ray

    if ray.is_initialized():
        yield
        return
    handled = signal.getsignal(signal.SIGTERM)
    try:
        with _started() if address is None else _environment({_JOINING: os.environ.get(_JOINING, "3")}):
            _join(address)
            _give_back(handled)
            try:
                yield
            finally:
                ray.shutdown()
    finally:
        _give_back(handled)


def _give_back(handled: Any) -> None:
    """Ray takes SIGTERM for itself."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handled)


def _join(address: str | None) -> None:
    import ray

    options: dict[str, Any] = {"logging_level": "ERROR", "include_dashboard": False}
    if address is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        options |= {
            "_temp_dir": os.environ["RAY_TMPDIR"],
            "object_store_memory": _STORE,
            "num_cpus": cores,
        }
        options |= {"_plasma_directory": os.environ["RAY_TMPDIR"]}
    else:
        del options["include_dashboard"]
        if address != "auto":
            try:
                _greet(address)
            except OSError as error:
                why = error.strerror or error
                raise ConfigError(f"`engine.address` is {address!r}, and no cluster is there ({why}). {_WAY}") from None
    try:
        ray.init(address or "local", **options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        if address is None:
            raise ConfigError(f"Ray could not be started here ({_last(error)}).") from None
        what = f"`engine.address` is {address!r}, and Ray"
        if address == "auto" and isinstance(error, ConnectionError):
            raise ConfigError(f"{what} runs nowhere on this machine. {_WAY}") from None
        way = "Give the port that ray start --head prints; and if the cluster asks for a token, as one does that was "
        way += "started where ~/.ray/auth_token is: RAY_AUTH_MODE=token, and that token in RAY_AUTH_TOKEN"
        raise ConfigError(f"{what} cannot join that cluster ({_last(error)}). {way}.") from None


def _greet(address: str) -> None:
    """Raises OSError where no server of HTTP/2 answers, as a cluster's does: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as there:
        if os.environ.get("RAY_USE_TLS", "0") != "1":
            there.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
            if there.recv(9)[3:4] != b"\x04":  # the kind of the settings with which it must begin
                raise OSError("what answers there is not Ray")


@contextlib.contextmanager
def _started() -> Iterator[None]:
    """The environment for a Ray of our own: it tells nobody that it is used, and all its files, the token without
    which nobody may ask it anything included, are in a folder that is removed in the end."""
    above = tempfile.gettempdir()
    name = f"{_FOLDER}{os.getpid()}-"
    above = above if len(above) + len(name) + 9 <= _LONGEST else "/tmp"
    _sweep(Path(above))
    folder = Path(tempfile.mkdtemp(prefix=name, dir=above))
    own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
    own |= {"RAY_TMPDIR": str(folder), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    try:
        with _environment(own), _holding(folder):
            files.write(folder / "token", _TOKEN)
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _environment(own: Mapping[str, str]) -> Iterator[None]:
    """Inside, these variables are set; then all is as before, what Ray sets included."""
    before = {name: os.environ.get(name) for name in (*own, "RAY_AUTH_MODE")}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _sweep(above: Path) -> None:
    """Remove the folders of processes that were killed: nobody holds them any more."""
    for folder in above.glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError), _holding(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _holding(folder: Path) -> Iterator[None]:
    """Hold a folder against `_sweep`. Raises OSError where another process does, or it is another user's."""
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(place)
