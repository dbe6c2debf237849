"""Journal, resume, cache, budgets and the clean stop, with a fake model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.conftest import FakeChat, good_answer
from undogmatic.config.build import build
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import BudgetExceeded, ConfigError, DataError
from undogmatic.judges.score import ScoreJudge
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.records import Item, Judgment, Provenance
from undogmatic.records.rubric import Rubric
from undogmatic.runs.claim import LOCK
from undogmatic.runs.folder import JOURNAL, read_records

ITEMS = [Item(id=f"i{n}", text=f"text number {n}") for n in range(12)]


def score_of(text: str) -> float:
    return float(next(w for w in text.split() if w.isdigit()))


class Bench:
    """A judge over a fake model, and what it takes to run it."""

    def __init__(self, prompt: Prompt, rubric: Rubric, provenance: Provenance) -> None:
        self.model = FakeChat(lambda text: (good_answer(score_of(text)), None))
        readout = StructuredReadout()
        readout.bind(self.model, prompt, rubric)
        self.parts = Parts(rubric, prompt, self.model, readout, (JudgeStep(ScoreJudge(readout), provenance),))

    def run(self, folder: Path | None, repeats: int = 1, **engine: object) -> list[Judgment]:
        options = {"cache": False, "backoff": 0.0} | engine
        engine: Any = LocalEngine(**options)  # type: ignore[arg-type]
        items, judgments = asyncio.run(engine.arun(Recipe({}, self.parts), ITEMS, Journals(folder), repeats))
        assert items == ITEMS
        return judgments


@pytest.fixture
def bench(prompt: Prompt, rubric: Rubric, provenance: Provenance) -> Bench:
    return Bench(prompt, rubric, provenance)


@pytest.mark.parametrize("concurrency", [1, 5, 100])
def test_judgments_come_back_in_input_order(bench: Bench, tmp_path: Path, concurrency: int) -> None:
    judgments = bench.run(tmp_path, concurrency=concurrency)
    assert [j.item_id for j in judgments] == [i.id for i in ITEMS]
    assert [j.score for j in judgments] == list(range(12))
    assert len(bench.model.requests) == 12


def test_a_torn_last_line_is_cut_off_and_its_item_judged_again(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    whole = [j.score for j in bench.run(tmp_path)]
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    assert [j.score for j in bench.run(tmp_path)] == whole
    assert len(bench.model.requests) == 13
    assert len(list(read_records(path, Judgment))) == 12


def test_a_damaged_line_in_the_middle_is_named(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    bench.run(tmp_path)
    lines = path.read_text().splitlines()
    lines[3] = lines[3].replace('"item_id"', '"item_it"')
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"judgments\.jsonl:4: not a judgment"):
        Journals(tmp_path)


def test_repeats_are_real_calls_and_a_rerun_makes_none(bench: Bench, tmp_path: Path) -> None:
    first = bench.run(tmp_path / "a", repeats=2, cache=True, cache_dir=str(tmp_path / "c"))
    assert len(bench.model.requests) == 24
    again = bench.run(tmp_path / "b", repeats=2, cache=True, cache_dir=str(tmp_path / "c"))
    assert len(bench.model.requests) == 24
    assert [(j.item_id, j.repeat, j.score) for j in again] == [(j.item_id, j.repeat, j.score) for j in first]
    assert sum(j.cost.calls for j in again) == 0
    assert sum(j.cost.cached for j in again) == 24


def test_the_cache_holds_json_texts_alone(bench: Bench, tmp_path: Path) -> None:
    import sqlite3

    bench.run(None, cache=True, cache_dir=str(tmp_path / "c"))
    database = sqlite3.connect(tmp_path / "c" / "replies.sqlite")
    rows = database.execute("select typeof(reply), reply from replies").fetchall()
    database.close()
    assert len(rows) == 12
    assert all(kind == "text" and "data" in json.loads(reply) for kind, reply in rows)


@pytest.mark.parametrize(
    ("key", "value"), [("concurrency", 0), ("retries", -1), ("timeout", 0.0), ("max_calls", -1), ("stop_after", 0)]
)
def test_senseless_settings_are_named(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"engine.{key}"):
        build({"_target_": "undogmatic.engine.local.LocalEngine", key: value}, "engine")


def test_a_resumed_run_goes_on_with_the_budget_it_had_left(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded):
        bench.run(tmp_path, max_calls=5)
    with pytest.raises(BudgetExceeded, match="8 calls were made"):
        bench.run(tmp_path, max_calls=8)
    assert len(bench.model.requests) == 8


def test_two_processes_cannot_write_one_journal(bench: Bench, tmp_path: Path) -> None:
    with FileLock(tmp_path / LOCK), pytest.raises(ConfigError, match="another process is at work in"):
        bench.run(tmp_path)
