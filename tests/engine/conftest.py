"""A run over the stub server, and what tests of steps and judges of their own leave behind."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.engine.parts import Halve, TraitsJudge
from tests.stub_server import score_of
from undogmatic.config.build import build
from undogmatic.engine.journal import Journals
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.judges.base import Judge
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.hosted import ChatModel, Price
from undogmatic.readouts.base import Readout
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.structured import SamplesReadout, StructuredReadout
from undogmatic.records.records import Item, Judgment, Provenance
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import JOURNAL
from undogmatic.runs.index import read_records

ITEMS = [Item(id=f"i{n}", text=f"text number {n}.") for n in range(12)]
KILLED = """
from types import SimpleNamespace
from tests.engine.conftest import Path, Prompt, Provenance, Rubric, Run, json, sys
url, folder, options, *texts = sys.argv[1:]
rubric, prompt, provenance = (c.model_validate_json(t) for c, t in zip((Rubric, Prompt, Provenance), texts))
Run(SimpleNamespace(url=url), prompt, rubric, provenance, Path(folder))(timeout=10, **json.loads(options))
"""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "tests")
    monkeypatch.setattr(Halve, "down", False)
    Halve.asked.clear()
    TraitsJudge.asked.clear()


def built(engine: str, **options: Any) -> Any:
    """The engine of this name, as a config makes it of its keys."""
    target = f"undogmatic.engine.{engine}.{engine.capitalize()}Engine"
    return build({"_target_": target, **options}, "engine")


def right(judgments: list[Judgment]) -> None:
    assert [j.item_id for j in judgments] == [i.id for i in ITEMS]
    assert [j.score for j in judgments] == [score_of(i.text) for i in ITEMS]


class Run:
    """The whole path over one stub server."""

    def __init__(
        self,
        stub: Any,
        prompt: Prompt,
        rubric: Rubric,
        provenance: Provenance,
        folder: Path,
    ) -> None:
        self.stub, self.prompt, self.rubric, self.provenance = (
            stub,
            prompt,
            rubric,
            provenance,
        )
        self.folder, self.path = folder, folder / JOURNAL

    def __call__(
        self,
        key_env: str | None = None,
        folder: Path | None = None,
        samples: int = 0,
        items: list[Item] = ITEMS,
        judge: type[Judge] = ScoreJudge,
        repeats: int = 1,
        **engine: Any,
    ) -> list[Judgment]:
        model = ChatModel(
            "stub",
            self.stub.url + "/v1",
            key_env=key_env,
            price=Price(input=1000, output=0),
        )
        readout: Readout = SamplesReadout(n=samples) if samples else StructuredReadout()
        readout.bind(model, self.prompt, self.rubric)
        options: dict[str, Any] = {
            "concurrency": 4,
            "backoff": 0.001,
            "retries": 2,
            "timeout": 0.5,
        }
        options |= {"cache_dir": str(self.folder / "cache")} | engine
        parts = Parts(
            self.rubric,
            self.prompt,
            model,
            readout,
            (JudgeStep(judge(readout), self.provenance),),
        )
        journals = Journals(folder if folder is not None else self.folder)
        judged, judgments = asyncio.run(
            built("local", **options).arun(Recipe({}, parts), items, journals, repeats)
        )
        assert judged == items
        return judgments

    def kept(self) -> list[Judgment]:
        return list(read_records(self.path, Judgment))

    def killed(self, after: int, **options: Any) -> None:
        """The same in a process of its own, which is killed when the server has had so many
        requests."""
        records = [
            record.model_dump_json()
            for record in (self.rubric, self.prompt, self.provenance)
        ]
        command = [
            sys.executable,
            "-c",
            KILLED,
            self.stub.url,
            str(self.folder),
            json.dumps(options),
            *records,
        ]
        process = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], env={**os.environ}
        )
        deadline = time.monotonic() + 60
        while (
            len(self.stub.requests) < after
            and time.monotonic() < deadline
            and process.poll() is None
        ):
            time.sleep(0.002)
        process.kill()
        process.wait()


@pytest.fixture
def run(
    stub: Any, prompt: Prompt, rubric: Rubric, provenance: Provenance, tmp_path: Path
) -> Run:
    return Run(stub, prompt, rubric, provenance, tmp_path)
