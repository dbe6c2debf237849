"""Several judges and several criteria in one run: journal, long table, names of results, files, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.parts import CHOICES, TEXTS, TRAITS, TraitsJudge, lines, metrics, table, write_texts
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.runs.folder import JOURNAL

ROWS = [
    {"id": "a", "text": "Calma!", "labels": {"calm": {"ana": 90, "rui": 80}}},
    {"id": "b", "text": "RAGE!!", "labels": {"calm": {"ana": 5}, "length": {"ana": 6}}},
    {"id": "c", "text": "silence"},
]


def run(folder: Path, judges: list[Any] | None, *overrides: str, **changed: Any) -> float | None:
    write_texts(ROWS)
    config = compose_config([*TEXTS, "analysis=none", "engine.max_failures=1", *overrides])
    return run_experiment(config | {"judges": judges} | changed, CHOICES, folder)


def test_one_judge_of_the_list_is_the_short_form(tmp_path: Path) -> None:
    run(tmp_path / "short", None)
    run(tmp_path / "list", ["score"])
    short, listed = (json.loads((tmp_path / name / "run.json").read_text()) for name in ("short", "list"))
    assert short["identity"] == listed["identity"]
    assert list(table(tmp_path / "list" / "scores.csv")[0]) == list(table(tmp_path / "short" / "scores.csv")[0])


def test_judges_of_one_name_are_told_apart_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run(folder, ["score", {"judge": "score"}], "run.repeats=2")
    rows = table(folder / "scores.csv")
    assert list(rows[0])[:3] == ["item_id", "judge", "criterion"]
    assert [(r["item_id"], r["judge"]) for r in rows] == [(i, j) for i in "abc" for j in ("score", "score-2")]
    assert all(one["score"] == two["score"] for one, two in zip(rows[::2], rows[1::2], strict=True))
    assert len(lines(folder / JOURNAL)) == 12
    numbers = metrics(folder)
    assert numbers["score.none.mean"] == numbers["score-2.none.mean"]
    assert numbers["judged"] == 12
    headings = [line for line in (folder / "report.md").read_text(encoding="utf-8").splitlines() if line[:2] == "##"]
    assert len([line for line in headings if line.endswith((": score", ": score-2"))]) == 2
    assert len(list((folder / "figures").iterdir())) == 2


def test_a_judge_of_several_criteria_notes_its_cost_once_and_each_failure_where_it_belongs(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run(folder, ["score", TRAITS])
    rows = {(r["item_id"], r["judge"], r["criterion"]): r for r in table(folder / "scores.csv")}
    assert len(rows) == 9
    assert float(rows["a", "traits", "length"]["score"]) == 6
    assert float(rows["a", "traits", "calm"]["score"]) == 99
    assert [rows["b", "traits", c]["error"] for c in ("length", "calm")] == ["", "unparseable"]
    assert [rows["c", "traits", c]["error"] for c in ("length", "calm")] == ["refusal", "refusal"]
    kept = [line for line in lines(folder / JOURNAL) if line["judge"] == "traits"]
    assert all((line["cost"]["seconds"] > 0) == (line["criterion"] == "length") for line in kept)
    labels = {(r["item_id"], r["judge"], r["criterion"]): r["label"] for r in table(folder / "labels.csv")}
    assert labels["a", "traits", "calm"] == "85.0"
    assert labels["b", "traits", "length"] == "6.0"
    assert labels["a", "score", "overall"] == ""
    numbers = metrics(folder)
    assert (numbers["judged"], numbers["failed"], numbers["usd"]) == (6, 3, 0.0)
    assert numbers["traits.calm.none.mean"] == 99
    assert "score.none.mean" in numbers
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "no calm in it" in report


def test_an_item_is_settled_when_all_its_criteria_are(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run(folder, [TRAITS])
    before = table(folder / "scores.csv")
    path = folder / JOURNAL
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[:3]  # of b only its length
    path.write_text("".join(kept), encoding="utf-8")
    cut = json.loads(kept[2])["item_id"]
    TraitsJudge.asked.clear()
    run(folder, [TRAITS])
    assert dict(TraitsJudge.asked) == {each: 1 for each in "abc" if each != json.loads(kept[0])["item_id"]}
    assert cut in TraitsJudge.asked
    scored = [(r["item_id"], r["criterion"], r["score"]) for r in table(folder / "scores.csv")]
    assert scored == [(r["item_id"], r["criterion"], r["score"]) for r in before]


def test_an_analysis_may_read_all_at_once(tmp_path: Path) -> None:
    whole = {"_target_": "tests.engine.parts.Whole"}
    assert run(tmp_path / "out", ["score", TRAITS], analysis=whole) == 3.0


def test_an_empty_list_of_judges_is_refused_and_a_judge_is_checked_at_its_place() -> None:
    with pytest.raises(ConfigError, match=r"`judges` is \[\]; name at least one"):
        Recipe(compose_config(["model=patterns", "judges=[]"])).build()
    with pytest.raises(ConfigError, match=r"`judges\[1\].judge` is 'scroe', which is not in conf/judge/"):
        Recipe(compose_config(["model=patterns", "judges=[score,scroe]"])).build()


def test_each_judge_says_where_its_judgments_come_from() -> None:
    given = "judges=[score,{judge: score, model: tfidf}]"
    one, two = Recipe(compose_config(["model=patterns", given])).build().judges
    assert (one.provenance.model, two.provenance.model) == ("patterns-1", two.judge.readouts()[0].model.name)
    alone = Recipe(compose_config(["model=patterns"])).build()
    assert one.provenance == alone.provenance
    assert two.provenance.config_hash != one.provenance.config_hash
