"""Runs that an earlier version began (tests/golden/old_runs, half of their items judged) go on, or are told apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.stub_server import StubServer
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.records.records import Judgment
from undogmatic.review.commands import export
from undogmatic.runs.folder import JOURNAL, read_records

GOLDEN = Path(__file__).parents[1] / "golden" / "old_runs"
TEXTS = ["dataset=texts", "dataset.path=texts.jsonl", "tracking=none"]
CHOICES = {"prompt": "anchored_pt", "judge": "score", "dataset": "texts", "analysis": "suite"}


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


@pytest.fixture
def old_run(tmp_path: Path, stub: StubServer) -> Callable[[str], Path]:
    """A copy of a golden run beside its texts, moved to the address of the stub server."""

    def copy(name: str) -> Path:
        shutil.copy(GOLDEN / "texts.jsonl", tmp_path)
        folder = tmp_path / name
        shutil.copytree(GOLDEN / name, folder)
        for file in (f for f in folder.rglob("*") if f.is_file()):
            file.write_text(file.read_text(encoding="utf-8").replace("http://127.0.0.1:8000", stub.url), "utf-8")
        return folder

    return copy


def overrides(name: str, stub: StubServer) -> list[str]:
    if name == "patterns":
        return ["model=patterns", *TEXTS]
    return ["model=openai_compatible", f"model.api_base={stub.url}/v1", "model.name=stub", *TEXTS]


def resume(folder: Path, given: list[str]) -> None:
    run_experiment(compose_config(given), CHOICES | {"model": folder.name}, folder)


@pytest.mark.parametrize("name", ["patterns", "hosted"])
def test_an_old_run_goes_on_reports_and_is_reviewed(
    name: str, old_run: Callable[[str], Path], stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = old_run(name)
    assert "flagged" in export(str(folder)).lower()
    before = (folder / JOURNAL).read_text(encoding="utf-8")
    resume(folder, overrides(name, stub))
    assert "is a run of an earlier version: 3 of its items" in capsys.readouterr().err
    after = (folder / JOURNAL).read_text(encoding="utf-8")
    assert after.startswith(before)
    assert sorted(j.item_id for j in read_records(folder / JOURNAL, Judgment)) == list("abcdef")
    assert len(stub.requests) == (0 if name == "patterns" else 3)  # the first three are answered by the journal
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert (facts["format"], facts["status"]) == (2, "finished")
    assert json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["judged"] == 6
    assert "Súmula 7" in (folder / "report.md").read_text(encoding="utf-8")
    export(str(folder))
    # From now on it is a run like any other.
    resume(folder, overrides(name, stub))
    assert "earlier version" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["prompt=minimal_pt"], "item 'a' is judged otherwise here .*would be asked what it was not asked there"),
        (["run.limit=5"], "the items differ"),
        (["judges=[score,debate]"], "one judge and no steps"),
    ],
)
def test_another_run_is_told_apart(
    changed: list[str], said: str, old_run: Callable[[str], Path], stub: StubServer
) -> None:
    folder = old_run("hosted")
    before = (folder / "run.json").read_bytes()
    with pytest.raises(ConfigError, match=f"holds another run .*{said}"):
        resume(folder, [*overrides("hosted", stub), *changed])
    assert (folder / "run.json").read_bytes() == before
    assert stub.requests == []


def test_another_score_is_told_with_its_item(old_run: Callable[[str], Path], stub: StubServer) -> None:
    folder = old_run("patterns")
    journal = folder / JOURNAL
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    lines[1]["outcome"]["score"] += 1
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"item 'b' is judged otherwise here \(score 17\.6+. there, 16\.6+. here\)"):
        resume(folder, overrides("patterns", stub))
