"""Steps that make items from items: from a config to scores, with failures, resumption, one budget and laziness."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.engine.parts import CHOICES, HALVE, Halve, lines, metrics, table, write_texts
from tests.engine.parts import TEXTS as OVER_TEXTS
from undogmatic.api import judge_items
from undogmatic.config.door import compose_config
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import BudgetExceeded, ConfigError, DataError, RunStopped
from undogmatic.experiment import run_experiment
from undogmatic.records.records import Item, Judgment
from undogmatic.runs.folder import JOURNAL

SUMMARISE = {"_target_": "tests.engine.parts.Summarise"}
TEXTS = {"a": "Tema 69 do STF, ponto final.", "b": "Não deve, porque pagou.", "c": "illegible"}


def config(*steps: Any, overrides: tuple[str, ...] = (), texts: dict[str, str] | None = None) -> dict[str, Any]:
    """A composed config over TEXTS with these steps, given as a user's YAML would."""
    write_texts({"id": name, "text": text} for name, text in (TEXTS if texts is None else texts).items())
    return compose_config([*OVER_TEXTS, "analysis=none", "engine.concurrency=2", *overrides]) | {"steps": list(steps)}


def scores(folder: Path) -> list[dict[str, str]]:
    return table(folder / "scores.csv")


def test_items_that_a_step_makes_are_judged_and_a_failed_one_is_counted(tmp_path: Path) -> None:
    run_experiment(config(HALVE), CHOICES, tmp_path / "out")
    rows = scores(tmp_path / "out")
    assert [(row["item_id"], row["error"]) for row in rows] == [
        *((name, "") for name in ("a.0", "a.1", "b.0", "b.1")),
        ("c", "unparseable"),
    ]
    assert "%%%" in json.dumps(lines(tmp_path / "out" / "steps" / "halve.jsonl"))
    made = {line["item_id"]: line for line in lines(tmp_path / "out" / "steps" / "halve.jsonl")}
    assert made["a"]["outcome"]["items"][1]["parent"] == "a"
    assert made["a"]["outcome"]["items"][1]["maker"] == "halve"
    assert made["c"]["outcome"]["reason"] == "unparseable"
    assert len(lines(tmp_path / "out" / JOURNAL)) == 4
    assert (metrics(tmp_path / "out")["judged"], metrics(tmp_path / "out")["failed"]) == (4, 1)
    assert "no words in it" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("steps_kept", "judgments_kept"), [(3, 1), (1, 2), (0, 0)])
def test_resuming_repeats_nothing_that_was_finished(tmp_path: Path, steps_kept: int, judgments_kept: int) -> None:
    folder = tmp_path / "out"
    run_experiment(config(HALVE), CHOICES, folder)
    whole = [(row["item_id"], row["score"]) for row in scores(folder)]
    kept = {}
    for path, count in ((folder / "steps" / "halve.jsonl", steps_kept), (folder / JOURNAL, judgments_kept)):
        kept[path] = path.read_text(encoding="utf-8").splitlines(keepends=True)[:count]
        path.write_text("".join(kept[path]) + '{"item_id": "torn', encoding="utf-8")
    Halve.asked.clear()
    run_experiment(config(HALVE), CHOICES, folder)
    assert [(row["item_id"], row["score"]) for row in scores(folder)] == whole
    assert sum(Halve.asked.values()) == 3 - steps_kept
    for path, before in kept.items():
        after = path.read_text(encoding="utf-8").splitlines(keepends=True)
        assert after[: len(before)] == before
        assert len(after) == (3 if path.name == "halve.jsonl" else 4)


def test_a_step_without_a_server_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Halve, "down", True)
    with pytest.raises(RunStopped, match=r"2 items in a row got no answer.*nobody there"):
        run_experiment(config(HALVE, overrides=("engine.stop_after=2",)), CHOICES, tmp_path / "out")
    assert {row["error"] for row in scores(tmp_path / "out")} <= {"transport", "not_judged"}
    monkeypatch.setattr(Halve, "down", False)
    run_experiment(config(HALVE), CHOICES, tmp_path / "out")
    assert [row["error"] for row in scores(tmp_path / "out")] == ["", "", "", "", "unparseable"]


def test_a_step_is_found_by_name_asks_a_model_and_shares_the_budget(tmp_path: Path) -> None:
    (tmp_path / "undogmatic.toml").write_text('conf = "conf"\n')
    (tmp_path / "conf" / "step").mkdir(parents=True)
    (tmp_path / "conf" / "step" / "short.yaml").write_text("_target_: tests.engine.parts.Summarise\nlength: 2\n")
    texts = {"a": "Tema 69 do STF.", "b": "Não deve, porque pagou."}
    with pytest.raises(BudgetExceeded, match="3 calls were made"):
        twice = config("short", {"step": "short", "length": 1}, overrides=("engine.max_calls=3",), texts=texts)
        run_experiment(twice, CHOICES, tmp_path / "out")
    twice = config("short", {"step": "short", "length": 1}, overrides=("engine.max_calls=4",), texts=texts)
    run_experiment(twice, CHOICES, tmp_path / "out")
    assert [row["item_id"] for row in scores(tmp_path / "out")] == ["a", "b"]
    (first, second) = (lines(tmp_path / "out" / "steps" / f"{name}.jsonl") for name in ("summarise", "summarise-2"))
    assert {line["outcome"]["items"][0]["inputs"]["text"] for line in first} == {"Tema 69", "Não deve,"}
    assert {line["outcome"]["items"][0]["inputs"]["text"] for line in second} == {"Tema", "Não"}
    assert {line["outcome"]["items"][0]["maker"] for line in second} == {"summarise-2 by patterns-1"}
    assert [metrics(tmp_path / "out")[name] for name in ("calls", "input_tokens", "usd")] == [4, 28, 2.0]
    with pytest.raises(ConfigError, match=r"which is not in conf/step/\. Did you mean short"):
        Recipe(config("shorter")).build()


def test_other_steps_are_another_run(tmp_path: Path) -> None:
    run_experiment(config(SUMMARISE), CHOICES, tmp_path / "out")
    with pytest.raises(ConfigError, match="the model, prompt, judge or seed differ"):
        run_experiment(config(SUMMARISE | {"length": 4}), CHOICES, tmp_path / "out")


def test_items_are_made_once_however_often_they_are_judged(tmp_path: Path) -> None:
    run_experiment(config(HALVE, overrides=("run.repeats=3",)), CHOICES, tmp_path / "out")
    assert set(Halve.asked.values()) == {1}
    judged = [(line["repeat"], line["item_id"]) for line in lines(tmp_path / "out" / JOURNAL)]
    assert sorted(judged) == [(n, name) for n in range(3) for name in ("a.0", "a.1", "b.0", "b.1")]
    assert [n for n, _ in judged] == sorted(n for n, _ in judged)  # a run that is stopped has its first repeat


def test_items_of_one_id_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="step 'clash' made an item 'same' of"):
        run_experiment(config({"_target_": "tests.engine.parts.Clash"}), CHOICES, tmp_path / "out")


def test_what_is_no_step_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"`steps\[0\]._target_` is .* it is no undogmatic.engine.step.Step"):
        Recipe(config({"_target_": "undogmatic.constructs.shame.patterns.PatternsModel"})).build()


def test_items_are_taken_as_there_is_room_for_them() -> None:
    taken = []

    def endless() -> Iterator[Item]:
        n = 0
        while True:
            taken.append(n)
            yield Item(id=str(n), text=f"Tema {n} do STF.")
            n += 1

    async def first(count: int) -> list[Any]:
        recipe = Recipe(config(HALVE))
        journals, found = Journals(None, recipe.build().steps), []
        async with aclosing(LocalEngine(concurrency=3, cache=False).stream(recipe, endless(), journals)) as records:
            async for record in records:
                found.append(record)
                assert len(taken) <= len(found) + 4
                if len(found) == count:
                    break
        return found

    found = asyncio.run(first(30))
    assert sum(isinstance(record, Judgment) for record in found) >= 15


def test_a_recipe_travels_as_plain_data() -> None:
    recipe = Recipe(config(HALVE))
    built = recipe.build()
    assert recipe.build() is built
    there = pickle.loads(pickle.dumps(recipe)).build()
    assert there is not built
    assert there.identity == built.identity


def test_the_python_door_takes_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["model=patterns", "steps=[{_target_: tests.engine.parts.Halve}]"]
    judgments = judge_items([Item(id="x", text="Tema 69 do STF, porque sim.")], given)
    assert [j.item_id for j in judgments] == ["x.0", "x.1"]
