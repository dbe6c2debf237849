"""A finished benchmark grows: what was judged stays, only new combinations are asked, and what may
not change is named."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put, rows_in
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.runs import growth
from undogmatic.safety.paths import data_folder

CHOICES = {
    "model": "local",
    "prompt": "anchored_pt",
    "judge": "x",
    "dataset": "cases",
    "analysis": "none",
}
HARSH = "{judge: bucket_rules, sure: 0}"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """A table of two short cases of one's own."""
    rows = []
    for case in ("us-ferry", "us-toolbox"):
        folder = data_folder() / "faith" / case
        reference = (folder / "reference.txt").read_text(encoding="utf-8").split(". ")[
            0
        ] + "."
        (tmp_path / f"{case}.md").write_text(
            " ".join([reference] * 8), encoding="utf-8"
        )
        rows.append({"case": case, "document": f"{case}.md", "reference": reference})
    put(tmp_path / "cases.jsonl", rows)
    return tmp_path / "cases.jsonl"


def run(cases: Path, summarizer: str, judges: str, *more: str, limit: int = 1) -> None:
    given: Sequence[str] = (
        "experiment=faithfulness",
        f"dataset.path={cases}",
        "dataset.document=document",
        f"summarizer={summarizer}",
        f"judges={judges}",
        f"run.limit={limit}",
        "analysis=none",
        "tracking=none",
        "seed=3",
    )
    run_experiment(compose_config([*given, *more]), CHOICES, cases.parent / "out")


def keys(folder: Path) -> list[tuple[Any, ...]]:
    return [
        (row["item_id"], row["judge"], row["criterion"])
        for row in rows_in(folder / "out" / "judgments.jsonl")
    ]


def test_a_summariser_a_judge_and_a_case_more_ask_only_for_what_is_new(
    cases: Path,
) -> None:
    folder = cases.parent
    run(cases, "[lead]", "[bucket_rules]")
    first = (folder / "out" / "judgments.jsonl").read_bytes()
    assert keys(folder) == [
        ("us-ferry/lead", "bucket_rules", "factual_accuracy"),
        ("us-ferry/lead", "bucket_rules", "completeness"),
    ]
    run(cases, "[lead,centroid]", "[bucket_rules]")
    run(cases, "[centroid,lead]", f"[bucket_rules,{HARSH}]", limit=2)
    whole = keys(folder)
    assert (folder / "out" / "judgments.jsonl").read_bytes().startswith(first)
    # cases, systems, judges, criteria
    assert len(whole) == len(set(whole)) == 2 * 2 * 2 * 2
    made = [
        row["item_id"] for row in rows_in(folder / "out" / "steps" / "summarise.jsonl")
    ]
    assert sorted(made) == sorted(
        f"{case}/{system}"
        for case in ("us-ferry", "us-toolbox")
        for system in ("lead", "centroid")
    )
    facts = json.loads((folder / "out" / "run.json").read_text())
    assert facts["status"] == "finished" and list(facts["made_of"]["judges"]) == [
        "bucket_rules",
        "bucket_rules-2",
    ]
    run(cases, "[centroid,lead]", f"[bucket_rules,{HARSH}]", limit=2)
    assert keys(folder) == whole


REFUSED = {
    "a judge changed": (
        {"judges": f"[{HARSH}]"},
        "the judge bucket_rules has other settings",
    ),
    "a judge gone": (
        {"judges": "[coverage]"},
        "the judge bucket_rules is no longer named",
    ),
    "a model gone": (
        {"summarizer": "[centroid]"},
        "lead is no longer among the models of the step",
    ),
    "another step": (
        {"more": "steps=[extract,{step: summarise, words: 50}]"},
        "the settings of the step summarise differ",
    ),
    "another seed": ({"more": "seed=4"}, "the seed differs"),
    "another rubric": (
        {"more": "rubric.direction=higher_is_worse"},
        "the rubric differs",
    ),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_what_may_not_change_is_named_and_nothing_is_asked(
    cases: Path, changes: dict[str, str], said: str
) -> None:
    run(cases, "[lead]", "[bucket_rules]")
    before = (cases.parent / "out" / "judgments.jsonl").read_bytes()
    given = {"summarizer": "[lead]", "judges": "[bucket_rules]"} | changes
    more = [given.pop("more")] if "more" in given else []
    with pytest.raises(ConfigError, match="A run grows by judges, by models") as caught:
        run(cases, given["summarizer"], given["judges"], *more, limit=2)
    assert said in str(caught.value)
    assert (cases.parent / "out" / "judgments.jsonl").read_bytes() == before


def test_cases_that_were_judged_must_be_there_unchanged_and_an_unfinished_run_ends_first(
    cases: Path,
) -> None:
    run(cases, "[lead]", "[bucket_rules]", limit=2)
    with pytest.raises(
        ConfigError, match="the item 'us-toolbox' is no longer among the items"
    ):
        run(cases, "[lead]", "[bucket_rules]")
    rows = rows_in(cases)
    rows[0]["reference"] = "Another reference."
    put(cases, [*rows, rows[1] | {"case": "third"}])
    with pytest.raises(
        ConfigError, match="texts, labels or other fields of items that were"
    ):
        run(cases, "[lead]", "[bucket_rules]", limit=3)
    manifest = cases.parent / "out" / "run.json"
    manifest.write_text(manifest.read_text().replace('"finished"', '"running"'))
    with pytest.raises(ConfigError, match="that run has not ended"):
        run(cases, "[lead]", "[bucket_rules]", limit=3)


def test_of_a_run_of_an_earlier_version_it_is_not_known_what_it_is_made_of(
    cases: Path,
) -> None:
    run(cases, "[lead]", "[bucket_rules]")
    manifest = cases.parent / "out" / "run.json"
    facts = json.loads(manifest.read_text())
    del facts["made_of"]
    manifest.write_text(json.dumps(facts))
    run(cases, "[lead]", "[bucket_rules]")
    facts = json.loads(manifest.read_text())
    assert "made_of" in facts
    del facts["made_of"]
    manifest.write_text(json.dumps(facts))
    with pytest.raises(
        ConfigError, match="the rubric, model, prompt, judge or seed differ"
    ):
        run(cases, "[lead]", "[bucket_rules,coverage]")


def test_only_the_list_of_systems_of_a_grown_step_is_made_anew() -> None:
    step = {"name": "s", "settings": "1", "models": ["a"], "stages": ["list", "s"]}
    before = {
        "rubric": "r",
        "seed": 1,
        "judges": {},
        "steps": [step | {"unasked": ["list"]}],
    }
    now = before | {"steps": [before["steps"][0] | {"models": ["a", "b"]}]}  # type: ignore[index]
    assert (
        growth.outgrown(before, now) == ["list"]
        and growth.differences(before, now) == []
    )
    assert growth.outgrown(before, before) == []
