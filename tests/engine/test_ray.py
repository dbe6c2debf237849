"""Judging by workers of Ray: the same records as in one process, one budget for all, and nothing
lost with a worker."""

import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from tests.clusters import Machines, two_machines, workers
from tests.engine.conftest import ITEMS, built, right
from tests.stub_server import KEY, StubServer
from undogmatic.config.door import compose_config
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.engine.journal import Journals, Ledger
from undogmatic.engine.local import Engine, LocalEngine
from undogmatic.engine.ray import RayEngine, _shares, _Workers
from undogmatic.engine.recipe import Recipe
from undogmatic.engine.workers import Desk, Fault, News
from undogmatic.errors import BudgetExceeded, ConfigError, StorageError
from undogmatic.models.base import Nobody
from undogmatic.records.limits import USUAL, PacedLimits
from undogmatic.records.records import Item, Judgment
from undogmatic.runs.index import read_records

pytestmark = pytest.mark.slow

ray = pytest.importorskip("ray")
# a cluster takes twenty seconds to start, so one worker alone has one
machines = pytest.mark.xdist_group("ray")
HALVED = [
    Item(id=f"h{n}", text=f"words {n} of a text with number {n}") for n in range(6)
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Machines]:
    with two_machines() as made:
        yield made


def hosted(stub: StubServer, *words: str) -> Recipe:
    return Recipe(
        compose_config(["model=gpt", f"model.api_base={stub.url}/v1", *words])
    )


def judged(
    engine: Engine, recipe: Recipe, folder: Path, items: Sequence[Item] = ITEMS
) -> list[Judgment]:
    journals = Journals(folder, recipe.build().steps)
    return list(asyncio.run(engine.arun(recipe, items, journals))[1])


def spent(folder: Path) -> tuple[int, float]:
    ledger = Ledger(folder / "spent.jsonl", ())
    return ledger.calls, ledger.usd


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def by_ray(cluster: Machines, folder: Path, **options: Any) -> RayEngine:
    return built(
        "ray", address=cluster.address, cache_dir=str(folder / "cache"), **options
    )


@machines
def test_two_machines_judge_as_one_process_does(
    cluster: Machines,
    stub: StubServer,
    keyed: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By steps of the user's own, too; and the key that servers are asked with is in no log."""
    config = hosted(stub).config | {"steps": [{"_target_": "tests.engine.parts.Halve"}]}
    stub.latency = 0.05
    here = judged(LocalEngine(cache=False), Recipe(config), tmp_path / "here", HALVED)
    asked = len(stub.requests)
    there = judged(
        by_ray(cluster, tmp_path), Recipe(config), tmp_path / "there", HALVED
    )
    assert [(j.key, j.outcome, j.provenance) for j in there] == [
        (j.key, j.outcome, j.provenance) for j in here
    ]
    assert len(there) == 2 * len(HALVED) == asked == len(stub.requests) - asked
    assert spent(tmp_path / "there") == pytest.approx(spent(tmp_path / "here"))
    logs = [path for path in cluster.folder.rglob("*") if path.is_file()]
    assert len(logs) > 10
    assert not [path for path in logs if KEY.encode() in path.read_bytes()]


@machines
def test_a_worker_that_is_killed_costs_no_answer(
    cluster: Machines, stub: StubServer, keyed: None, tmp_path: Path
) -> None:
    stub.latency = 0.2
    recipe, engine = hosted(stub), by_ray(cluster, tmp_path, concurrency=2, workers=2)
    killed: list[int] = []

    def kill(_: Any) -> None:
        if not killed:
            killed.append(min(workers()))
            os.kill(killed[0], signal.SIGKILL)

    journals = Journals(tmp_path)
    asyncio.run(engine.adrain(recipe, ITEMS, journals, on_record=kill))
    right(list(journals.results(ITEMS, recipe.build().judges, 1)[1]))
    # what was in flight at that moment is asked again
    assert killed and len(stub.requests) <= len(ITEMS) + 1


@machines
def test_all_workers_share_one_budget(
    cluster: Machines, stub: StubServer, keyed: None, tmp_path: Path
) -> None:
    with pytest.raises(BudgetExceeded, match="max_calls"):
        judged(
            by_ray(cluster, tmp_path, max_calls=5, workers=2), hosted(stub), tmp_path
        )
    assert len(stub.requests) == spent(tmp_path)[0] == 5
    # goes on with what the workers did
    right(judged(LocalEngine(cache=False), hosted(stub), tmp_path))
    assert stub.texts() == dict.fromkeys((item.text for item in ITEMS), 1)


def test_a_ledger_that_cannot_be_written_halts_the_desk() -> None:
    """Nobody waits for ever, and no further call leaves."""
    engine, full = RayEngine(), StorageError("no space left")
    engine.budget.note = Mock(side_effect=[None, full])
    news, halt = (
        AsyncMock(side_effect=[News(3, 2, 0.5, 16), News(4, 1, 0.0, 16)]),
        AsyncMock(),
    )
    workers = Mock(
        _engine=engine, _desk=Mock(**{"news.remote": news, "halt.remote": halt})
    )
    asyncio.run(_Workers._listen(workers))
    halt.assert_awaited_once_with(Fault("StorageError", "no space left"))
    assert (engine.budget.calls, engine.budget.usd, workers._window) == (3, 0.5, 16)
    # the desk hears what the ledger has
    assert [call.args for call in news.await_args_list] == [
        (0,),
        (3,),
    ]


@machines
def test_other_code_on_a_machine_is_refused(
    cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked, with both versions; here the two differ in the moment at which they
    are looked at."""
    monkeypatch.setattr(platform, "python_version", lambda: "3.9.1")
    there, here = (
        r"there is undogmatic .* on Python 3\.1\d",
        r"here is undogmatic .* on Python 3\.9",
    )
    with pytest.raises(ConfigError, match=f"{there}, and {here}.*Install the same"):
        judged(
            by_ray(cluster, tmp_path),
            Recipe(compose_config(["model=patterns"])),
            tmp_path,
        )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no cluster is there.*ray start --head"),
        ("nowhere", "must be HOST:PORT.*ray start --head"),
        ("a:70000", "must be HOST:PORT"),
        ("ray://a:10001", "Ray's client.*engine.address=auto, or HOST:6379"),
    ],
)
def test_an_address_without_a_cluster_is_named(
    address: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"`engine.address` is '{address}'.*{said}"):
        judged(RayEngine(address), Recipe(compose_config(["model=patterns"])), tmp_path)


def test_a_server_that_is_no_cluster_is_told_at_once(
    stub: StubServer, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"is there .what answers there is not Ray"):
        judged(
            RayEngine(stub.url.removeprefix("http://")),
            Recipe(compose_config(["model=patterns"])),
            tmp_path,
        )


def test_a_search_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(ConfigError, match="needs engine=local"):
        RayEngine().gateway(None)
    RayEngine().check(Nobody("a"))
    with pytest.raises(
        ConfigError, match="an optimisation asks in this process: engine=local"
    ):
        RayEngine().check(Nobody("a"), searching=True)


@pytest.mark.parametrize(
    ("machines", "workers", "threads", "expected"),
    [
        # servers are asked
        ({"a": 8.0, "b": 2.0, "c": 0.0}, None, None, {"a": 1, "b": 1}),
        # a model with two threads
        ({"a": 8.0, "b": 1.0, "c": 0.0}, None, 2, {"a": 4, "b": 1}),
        ({"a": 8.0, "b": 2.0}, 5, 2, {"a": 4, "b": 1}),
        ({"a": 1.0, "b": 1.0}, 1, None, {"a": 1}),
    ],
)
def test_workers_are_shared_out_by_processors(
    machines: dict[str, float],
    workers: int | None,
    threads: int | None,
    expected: dict[str, int],
) -> None:
    assert _shares(machines, workers, threads) == expected


def test_the_desk_lets_a_call_go_when_it_is_noted_and_forgets_those_of_a_worker_that_ended() -> (
    None
):
    async def told() -> None:
        desk = Desk(PacedLimits(max_calls=3), (0, 0.0))
        first = asyncio.ensure_future(desk.leave(1, "server"))
        news = await desk.news(0)
        assert (news.calls, news.window) == (1, 16) and not first.done()
        second = asyncio.ensure_future(desk.leave(2, "server"))
        await desk.news(news.number)
        assert isinstance(await first, tuple) and not second.done()
        await desk.gone(1)
        await desk.over(1, "server", 10)  # too late to count
        pace = desk._paces["server"]
        assert (pace.in_flight, pace.answers) == (1, 0)
        assert await desk.leave(1, "server") == Fault(
            "RunStopped", "the worker has ended"
        )
        await desk.halt(Fault("StorageError", "full"))
        assert (
            await second == await desk.leave(2, None) == Fault("StorageError", "full")
        )
        assert isinstance((await desk.leave(2, None)), Fault) and pace.in_flight == 0  # type: ignore[comparison-overlap]

    asyncio.run(told())


def test_an_answer_without_a_price_waits_for_no_further_call() -> None:
    async def told() -> None:
        desk = Desk(USUAL, (0, 0.0))
        call = asyncio.ensure_future(desk.leave(1, "server"))
        noted = (await desk.news(0)).number
        further = asyncio.ensure_future(desk.news(noted))
        await call
        async with asyncio.timeout(5):
            assert await desk.spend(None) is None and await desk.spend(0.0) is None
        assert not further.done()
        further.cancel()

    asyncio.run(told())


@machines
def test_ray_is_started_here_and_leaves_nothing(tmp_path: Path) -> None:
    """The whole command, without a cluster: the scores of engine=local, no process, no folder of a
    session."""
    lines = (
        json.dumps({"id": f"t{n}", "text": f"O Tema {n} não se aplica ao caso."})
        for n in range(30)
    )
    (tmp_path / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = ["model=patterns", "dataset=texts", f"dataset.path={tmp_path}/texts.jsonl"]
    items = TextsDataset(f"{tmp_path}/texts.jsonl").load()
    here = judged(
        LocalEngine(), Recipe(compose_config(words)), tmp_path / "here", items
    )
    command = [
        sys.executable,
        "-m",
        "undogmatic.run",
        *words,
        "analysis=none",
        "tracking=none",
        "engine=ray",
    ]
    command.append("engine.workers=1")
    environment = {
        **os.environ,
        "TMPDIR": "/tmp",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command.append(f"hydra.run.dir={tmp_path}/there")
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    said = process.communicate()[1]
    assert process.returncode == 0 and "on 1 machine" in said, said
    there = {
        judgment.item_id: judgment
        for judgment in read_records(tmp_path / "there" / "judgments.jsonl", Judgment)
    }
    assert [there[own.item_id].outcome for own in here] == [own.outcome for own in here]
    assert len(here) == len(there) == 30
    assert not list(Path("/tmp").glob(f"undogmatic-ray-{process.pid}-*"))
