"""Runs of format 2 (tests/golden/old_runs, killed when half of their items were judged) go on, or are told apart."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.engine.parts import metrics
from tests.stub_server import StubServer
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.records.records import Judgment
from undogmatic.review.commands import export
from undogmatic.runs.folder import JOURNAL, read_records
from undogmatic.runs.manifest import Manifest

GOLDEN = Path(__file__).parents[1] / "golden" / "old_runs"
ADDRESS = "http://127.0.0.1:1"
CHOICES = {"prompt": "anchored_pt", "judge": "score", "dataset": "texts", "analysis": "suite"}
MODELS = {
    "patterns": ["model=patterns"],
    "hosted": ["model=openai_compatible", f"model.api_base={ADDRESS}/v1", "model.name=stub"],
}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """The stub server at ADDRESS, which is part of the identity of the golden run."""
    request = aiohttp.ClientSession._request
    with StubServer() as server:

        async def moved(self: aiohttp.ClientSession, method: str, url: Any, **more: Any) -> Any:
            return await request(self, method, str(url).replace(ADDRESS, server.url), **more)

        monkeypatch.setattr(aiohttp.ClientSession, "_request", moved)
        yield server


def old_run(name: str) -> Path:
    """A copy of a golden run beside its texts."""
    shutil.copy(GOLDEN / "texts.jsonl", ".")
    return Path(shutil.copytree(GOLDEN / name, name))


def resume(folder: Path, *changed: str) -> None:
    words = [*MODELS[folder.name], "dataset=texts", "dataset.path=texts.jsonl", "tracking=none", *changed]
    run_experiment(compose_config(words), CHOICES | {"model": folder.name}, folder)


@pytest.mark.parametrize("name", ["patterns", "hosted"])
def test_an_old_run_goes_on_reports_and_is_reviewed(name: str, stub: StubServer) -> None:
    folder = old_run(name)
    assert "flagged" in export(str(folder)).lower()
    before = (folder / JOURNAL).read_text(encoding="utf-8")
    resume(folder)
    assert (folder / JOURNAL).read_text(encoding="utf-8").startswith(before)
    assert sorted(j.item_id for j in read_records(folder / JOURNAL, Judgment)) == list("abcdef")
    assert len(stub.requests) == (0 if name == "patterns" else 3)
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert (facts["format"], facts["status"]) == (3, "finished")
    assert metrics(folder)["judged"] == 6
    assert "Súmula 7" in (folder / "report.md").read_text(encoding="utf-8")
    export(str(folder))
    resume(folder)  # from now on it is a run like any other


@pytest.mark.parametrize("word", "prompt=minimal_pt judge=debate seed=1 judges=[score,debate] run.limit=5".split())
def test_another_run_is_told_apart(word: str, stub: StubServer) -> None:
    folder = old_run("hosted")
    before = (folder / "run.json").read_bytes()
    said = "the items differ" if word == "run.limit=5" else "the model, prompt, judge or seed differ"
    with pytest.raises(ConfigError, match=f"holds another run .*{said}"):
        resume(folder, word)
    assert (folder / "run.json").read_bytes() == before
    assert stub.requests == []


def test_what_nothing_reads_tells_no_old_run_apart() -> None:
    folder = old_run("patterns")
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    config = compose_config([*MODELS["patterns"], "dataset=texts", "dataset.path=texts.jsonl", "embeddings=letters"])
    opened = (folder, "hash", facts["dataset_digest"], "name", config)
    with pytest.raises(ConfigError, match="the model, prompt, judge or seed differ"):
        Manifest.open(*opened)
    with Manifest.open(*opened, unread=("embeddings",)) as manifest:
        assert manifest.folder == folder
