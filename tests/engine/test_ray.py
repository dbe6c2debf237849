"""Judging by workers of Ray: the same records as in one process, one budget for all, and nothing lost with a worker."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import ITEMS, right
from tests.stub_server import KEY, StubServer
from undogmatic.config.door import compose_config
from undogmatic.engine.journal import Journals, Ledger
from undogmatic.engine.local import Engine, LocalEngine
from undogmatic.engine.ray import RayEngine
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import BudgetExceeded
from undogmatic.records.records import Item, Judgment

ray = pytest.importorskip("ray")
HALVED = [Item(id=f"h{n}", text=f"words {n} of a text with number {n}") for n in range(6)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two machines on this one, with one processor each."""
    from ray.cluster_utils import Cluster

    folder = str(Path("/tmp") / tmp_path_factory.mktemp("ray").name)
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_TMPDIR", folder)
        made = Cluster(initialize_head=True, head_node_args=node)
        try:
            made.add_node(num_cpus=1, object_store_memory=80 << 20)
            made.folder = Path(folder)
            yield made
        finally:
            made.shutdown()
            shutil.rmtree(folder)


def hosted(stub: StubServer, *words: str) -> Recipe:
    return Recipe(compose_config(["model=gpt", f"model.api_base={stub.url}/v1", *words]))


def judged(engine: Engine, recipe: Recipe, folder: Path, items: list[Item] = ITEMS) -> list[Judgment]:
    journals = Journals(folder, recipe.build().steps)
    return list(asyncio.run(engine.arun(recipe, items, journals))[1])


def spent(folder: Path) -> tuple[int, float]:
    ledger = Ledger(folder / "spent.jsonl", ())
    return ledger.calls, ledger.usd


def workers() -> list[int]:
    """The processes of workers that judge."""
    found = subprocess.run(["pgrep", "-f", "^ray::Worker"], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def by_ray(cluster: Any, folder: Path, **options: Any) -> RayEngine:
    return RayEngine(cluster.address, cache_dir=str(folder / "cache"), **options)


def test_two_machines_judge_as_one_process_does(
    cluster: Any, stub: StubServer, keyed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By steps of the user's own, too; and the key that servers are asked with is in no log."""
    config = hosted(stub).config | {"steps": [{"_target_": "tests.engine.parts.Halve"}]}
    stub.latency = 0.05
    here = judged(LocalEngine(cache=False), Recipe(config), tmp_path / "here", HALVED)
    asked = len(stub.requests)
    there = judged(by_ray(cluster, tmp_path), Recipe(config), tmp_path / "there", HALVED)
    assert [(j.key, j.outcome, j.provenance) for j in there] == [(j.key, j.outcome, j.provenance) for j in here]
    assert len(there) == 2 * len(HALVED) == asked == len(stub.requests) - asked
    assert spent(tmp_path / "there") == pytest.approx(spent(tmp_path / "here"))
    logs = [path for path in cluster.folder.rglob("*") if path.is_file()]
    assert len(logs) > 10
    assert not [path for path in logs if KEY.encode() in path.read_bytes()]


def test_a_worker_that_is_killed_costs_no_answer(cluster: Any, stub: StubServer, keyed: None, tmp_path: Path) -> None:
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
    assert killed and len(stub.requests) <= len(ITEMS) + 1  # what was in flight at that moment is asked again


def test_all_workers_share_one_budget(cluster: Any, stub: StubServer, keyed: None, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded, match="max_calls"):
        judged(by_ray(cluster, tmp_path, max_calls=5, workers=2), hosted(stub), tmp_path)
    assert len(stub.requests) == spent(tmp_path)[0] == 5
    right(judged(by_ray(cluster, tmp_path, workers=2), hosted(stub), tmp_path))
    assert stub.texts() == dict.fromkeys((item.text for item in ITEMS), 1)
