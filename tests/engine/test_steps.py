"""Steps that make items from items: from a config to scores, with failures, resumption, one budget
and laziness."""

import asyncio
import functools
import itertools
import json
import pickle
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put, rows_in
from tests.engine.parts import CHOICES, HALVE, OUT, Halve, metrics, table
from tests.engine.parts import TEXTS as OVER_TEXTS
from undogmatic.api import judge_items
from undogmatic.config.door import compose_config
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import BudgetExceeded, ConfigError, DataError, RunStopped
from undogmatic.experiment import run_experiment
from undogmatic.records.limits import PacedLimits
from undogmatic.records.records import Item, Judgment
from undogmatic.runs.folder import JOURNAL

SUMMARISE = {"_target_": "tests.engine.parts.Summarise"}
TEXTS = {
    "a": "Tema 69 do STF, ponto final.",
    "b": "Não deve, porque pagou.",
    "c": "illegible",
}
SCORES, MADE = OUT / "scores.csv", OUT / "steps" / "halve.jsonl"


def config(
    *steps: Any, overrides: Sequence[str] = (), texts: str = "abc"
) -> dict[str, Any]:
    """A composed config over these TEXTS with these steps, given as a user's YAML would."""
    put(Path("texts.jsonl"), [{"id": name, "text": TEXTS[name]} for name in texts])
    return compose_config(
        [*OVER_TEXTS, "analysis=none", "engine.concurrency=2", *overrides]
    ) | {"steps": list(steps)}


def ran(*steps: Any, **changed: Any) -> list[dict[str, str]]:
    """The scores of such a run."""
    run_experiment(config(*steps, **changed), CHOICES, OUT)
    return table(SCORES)


def test_items_that_a_step_makes_are_judged_and_a_failed_one_is_counted() -> None:
    judged = [(name, "") for name in ("a.0", "a.1", "b.0", "b.1")]
    assert [(row["item_id"], row["error"]) for row in ran(HALVE)] == [
        *judged,
        ("c", "unparseable"),
    ]
    made = {line["item_id"]: line["outcome"] for line in rows_in(MADE)}
    assert "%%%" in json.dumps(made)
    assert (made["a"]["items"][1]["parent"], made["a"]["items"][1]["maker"]) == (
        "a",
        "halve",
    )
    assert made["c"]["reason"] == "unparseable"
    assert len(rows_in(OUT / JOURNAL)) == 4
    assert (metrics(OUT)["judged"], metrics(OUT)["failed"]) == (4, 1)
    assert "no words in it" in (OUT / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("steps_kept", "judgments_kept"), [(3, 1), (1, 2), (0, 0)])
def test_resuming_repeats_nothing_that_was_finished(
    steps_kept: int, judgments_kept: int
) -> None:
    whole = [(row["item_id"], row["score"]) for row in ran(HALVE)]
    kept = {}
    for path, count in ((MADE, steps_kept), (OUT / JOURNAL, judgments_kept)):
        kept[path] = path.read_text(encoding="utf-8").splitlines(keepends=True)[:count]
        path.write_text("".join(kept[path]) + '{"item_id": "torn', encoding="utf-8")
    Halve.asked.clear()
    assert [(row["item_id"], row["score"]) for row in ran(HALVE)] == whole
    assert sum(Halve.asked.values()) == 3 - steps_kept
    for path, before in kept.items():
        after = path.read_text(encoding="utf-8").splitlines(keepends=True)
        assert after[: len(before)] == before
        assert len(after) == (3 if path.name == "halve.jsonl" else 4)


def test_a_step_without_a_server_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Halve, "down", True)
    with pytest.raises(
        RunStopped, match=r"2 items in a row got no answer.*nobody there"
    ):
        ran(HALVE, overrides=["engine.stop_after=2"])
    assert {row["error"] for row in table(SCORES)} <= {"transport", "not_judged"}
    monkeypatch.setattr(Halve, "down", False)
    assert [row["error"] for row in ran(HALVE)] == ["", "", "", "", "unparseable"]


def test_a_step_is_found_by_name_asks_a_model_and_shares_the_budget() -> None:
    Path("undogmatic.toml").write_text('conf = "conf"\n')
    Path("conf/step").mkdir(parents=True)
    Path("conf/step/short.yaml").write_text(
        "_target_: tests.engine.parts.Summarise\nlength: 2\n"
    )
    twice = functools.partial(ran, "short", {"step": "short", "length": 1}, texts="ab")
    with pytest.raises(BudgetExceeded, match="3 calls were made"):
        twice(overrides=["engine.max_calls=3"])
    assert [row["item_id"] for row in twice(overrides=["engine.max_calls=4"])] == [
        "a",
        "b",
    ]
    first, second = (
        [
            line["outcome"]["items"][0]
            for line in rows_in(OUT / "steps" / f"{name}.jsonl")
        ]
        for name in ("summarise", "summarise-2")
    )
    assert {made["inputs"]["text"] for made in first} == {"Tema 69", "Não deve,"}
    assert {made["inputs"]["text"] for made in second} == {"Tema", "Não"}
    assert {made["maker"] for made in second} == {"summarise-2 by patterns-2"}
    assert [metrics(OUT)[name] for name in ("calls", "input_tokens", "usd")] == [
        4,
        28,
        2.0,
    ]
    with pytest.raises(
        ConfigError, match=r"which is not in conf/step/\. Did you mean short"
    ):
        Recipe(config("shorter")).build()


def test_other_steps_are_another_run() -> None:
    ran(SUMMARISE)
    with pytest.raises(ConfigError, match="the settings of the step summarise differ"):
        ran(SUMMARISE | {"length": 4})


def test_items_are_made_once_however_often_they_are_judged() -> None:
    ran(HALVE, overrides=["run.repeats=3"])
    assert set(Halve.asked.values()) == {1}
    judged = [(line["repeat"], line["item_id"]) for line in rows_in(OUT / JOURNAL)]
    assert sorted(judged) == [
        (n, name) for n in range(3) for name in ("a.0", "a.1", "b.0", "b.1")
    ]
    # a run that is stopped has its first repeat
    assert [n for n, _ in judged] == sorted(n for n, _ in judged)


def test_items_of_one_id_and_what_is_no_step_are_refused_by_name() -> None:
    with pytest.raises(DataError, match="step 'clash' made an item 'same' of"):
        ran({"_target_": "tests.engine.parts.Clash"})
    with pytest.raises(
        ConfigError,
        match=r"`steps\[0\]._target_` is .* it is no undogmatic.engine.step.Step",
    ):
        Recipe(
            config({"_target_": "undogmatic.constructs.shame.patterns.PatternsModel"})
        ).build()


def test_items_are_taken_as_there_is_room_for_them() -> None:
    taken = []

    def endless() -> Iterator[Item]:
        for n in itertools.count():
            taken.append(n)
            yield Item(id=str(n), text=f"Tema {n} do STF.")

    async def first(count: int) -> list[Any]:
        recipe = Recipe(config(HALVE))
        journals, found = Journals(None, recipe.build().steps), []
        async with aclosing(
            LocalEngine(PacedLimits(concurrency=3), cache=False).stream(
                recipe, endless(), journals
            )
        ) as records:
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
    built, there = recipe.build(), pickle.loads(pickle.dumps(recipe)).build()
    assert recipe.build() is built is not there
    assert there.identity == built.identity


def test_the_python_door_takes_steps_too() -> None:
    given = ["model=patterns", "steps=[{_target_: tests.engine.parts.Halve}]"]
    judgments = judge_items([Item(id="x", text="Tema 69 do STF, porque sim.")], given)
    assert [j.item_id for j in judgments] == ["x.0", "x.1"]
