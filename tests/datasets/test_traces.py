"""Runs of agents as items: whole runs, turns and steps, within a budget, and what is left out."""

from pathlib import Path
from typing import Any

import pytest

from tests.datasets.test_inject import ASKED, run_of
from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.datasets.inject import injected
from undogmatic.datasets.trace_text import PER_TOKEN, shown
from undogmatic.datasets.traces import TracesDataset, counts, drawn
from undogmatic.errors import ConfigError, DataError
from undogmatic.models.trace_rules import RUBRICS, count
from undogmatic.records.records import TYPED_GROUP, Item
from undogmatic.records.trace import Assessment, Trace, as_jsonl

RUN = run_of(
    ("user", ASKED),
    ("call", "book_room", {"room": "Alder", "at": "10:30"}, "booked ZK-410"),
    ("assistant", "Alder is booked for 10:30 as ZK-410."),
    ("user", "And tea for six?"),
    ("call", "order", {"what": "tea", "for": 6}, "kitchen closed", True),
    ("assistant", "The kitchen is closed, so there is no tea."),
)


def load(
    folder: Path, *runs: Trace, **options: Any
) -> tuple[list[Item], TracesDataset]:
    path = folder / "runs.jsonl"
    path.write_text("".join(as_jsonl(runs)), encoding="utf-8")
    dataset = TracesDataset(str(path), **options)
    return list(dataset.load()), dataset


def test_a_whole_run_is_a_text_of_numbered_steps(tmp_path: Path) -> None:
    (item,), _ = load(tmp_path, RUN)
    assert item.inputs["run"].splitlines() == [
        f"[0] user: {ASKED}",
        '[1] call book_room: {"room": "Alder", "at": "10:30"}',
        "[2] result of book_room: booked ZK-410",
        "[3] agent: Alder is booked for 10:30 as ZK-410.",
        "[4] user: And tea for six?",
        '[5] call order: {"what": "tea", "for": 6}',
        "[6] order failed: kitchen closed",
        "[7] agent: The kitchen is closed, so there is no tea.",
    ]
    assert item.metadata["calls"] == 2 and item.metadata["errors"] == 1
    assert item.metadata[TYPED_GROUP] == "r1"


def test_turns_and_steps_come_with_what_was_before(tmp_path: Path) -> None:
    turns, _ = load(tmp_path, RUN, unit="turn")
    assert [item.id for item in turns] == ["r1#1", "r1#5"]
    assert turns[0].inputs["before"] == f"[0] user: {ASKED}"
    assert turns[1].inputs["before"].count("\n") == 4
    assert turns[1].inputs["run"].startswith("[5] call order")
    steps, _ = load(tmp_path, RUN, unit="step")
    assert [item.id for item in steps] == ["r1#1", "r1#3", "r1#5", "r1#7"]
    assert steps[2].inputs["run"].endswith("[6] order failed: kitchen closed")
    assert {item.metadata[TYPED_GROUP] for item in steps} == {"r1"}


def test_a_long_run_is_shortened_and_says_where(tmp_path: Path) -> None:
    long = RUN.with_steps([RUN.steps[0], RUN.steps[1], *RUN.steps[2:]])
    steps = list(long.steps)
    steps[2] = steps[2].replace(text="row " * 5_000)
    text = shown(steps, 500)
    assert len(text.text) <= 500 * PER_TOKEN and text.left_out == 0
    assert f"[... {text.cut:,} characters left out ...]" in text.text
    many = run_of(
        ("user", ASKED), *[("call", "look", {"n": n}, f"{n} " * 9) for n in range(200)]
    )
    short = shown(many.steps, 300)
    lines = short.text.splitlines()
    assert (
        len(short.text) <= 300 * PER_TOKEN
        and f"[... {short.left_out} steps left out ...]" in lines
    )
    assert lines[0].startswith("[0] user") and lines[-1].startswith("[400] result")
    assert len(lines) - 1 + short.left_out == len(many.steps)
    _, dataset = load(tmp_path, many, tokens=300)
    told = {finding.key: finding.values for finding in dataset.read}
    assert told["traces.shortened"]["steps"] == short.left_out


def test_shipped_runs_are_injected_and_labelled_by_what_was_planted() -> None:
    dataset = TracesDataset(rubric="safety", direction="higher_is_better", n=9)
    items = dataset.load()
    kinds = {str(item.metadata["injected"]) for item in items}
    # Safety asks about two of the nine
    wanted = {
        "clean",
        "equivalent",
        "defect:leaked_secret",
        "defect:removed_without_leave",
    }
    assert kinds == wanted
    for item in items:
        faulty = str(item.metadata["injected"]).startswith("defect")
        assert item.labels == {"overall": {"success": "fail" if faulty else "pass"}}
        assert "defect" not in item.inputs["run"] and item.parent in (None, item.pair)
    tasks = {item.pair: item.metadata["task"] for item in items}
    assert sorted(tasks.values()) == sorted(3 * ["documents", "records", "files"])
    keys = {finding.key for finding in dataset.read}
    assert {"traces.injected", "traces.other_defects", "traces.unmade"} <= keys
    worse = TracesDataset(rubric="mine", direction="higher_is_worse", n=1).load()[0]
    assert worse.label_scale is not None and worse.label_scale.words == ("pass", "fail")


def test_of_copies_only_what_is_new_is_judged_by_step() -> None:
    items = TracesDataset(unit="step", n=6).load()
    for item in items:
        at = item.metadata["defect_step"]
        if at is not None:
            first = int(item.id.rpartition("#")[2])
            assert first <= at <= first + 1
    texts = [
        item.inputs["run"] for item in items if item.metadata["injected"] != "clean"
    ]
    assert len(texts) > 60


def test_people_are_labels_and_a_known_end_only_where_nobody_is(tmp_path: Path) -> None:
    said = Assessment(by="ana", person=True, value=4)
    step = Assessment(by="ana", person=True, value=1, step=3)
    judge = Assessment(by="gpt", value=5)
    runs = [
        RUN.replace(assessments=(said, step, judge), success=True),
        run_of(("assistant", "Hello"), run="r2").replace(success=False),
        run_of(("assistant", "Hello again"), run="r3").replace(success="so-so"),
    ]
    options = {"direction": "higher_is_better"}
    items, _ = load(tmp_path, *runs, **options)
    labels = [item.labels for item in items]
    assert labels == [{"overall": {"ana": 4}}, {"overall": {"success": "fail"}}, {}]
    steps, _ = load(tmp_path, *runs, unit="step", **options)
    by_id = {item.id: item.labels for item in steps}
    assert by_id["r1#3"] == {"overall": {"ana": 1}} and by_id["r1#1"] == {}


def test_two_runs_are_compared_in_an_order_that_the_label_follows() -> None:
    inputs = ("input", "output_1", "output_2")
    items = TracesDataset(inputs=inputs, n=8).load()
    chosen = [item.labels["overall"]["planted"] for item in items]
    assert {"first", "second", "tie"} == {*chosen} and 20 < chosen.count("first") < 60
    (family, *_) = injected(drawn_runs())
    clean = shown(family.runs[0].steps, 1_500).text
    for item in items:
        faulty = str(item.metadata["injected"]).startswith("defect")
        assert (item.labels["overall"]["planted"] == "tie") != faulty
        if item.pair == family.runs[0].run and faulty:
            better = (
                "output_1"
                if item.labels["overall"]["planted"] == "first"
                else "output_2"
            )
            assert item.inputs[better] == clean


def drawn_runs() -> list[Trace]:
    from undogmatic.datasets.readers.traces import read_traces
    from undogmatic.datasets.traces import SHIPPED

    return drawn(list(read_traces(SHIPPED)), 8, 0)


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"rubric=shame shows text, and dataset=traces has `run`"
    ):
        TracesDataset(rubric="shame", inputs=("text",))
    with pytest.raises(ConfigError, match="whole runs alone are compared"):
        TracesDataset(inputs=("input", "output_1", "output_2"), unit="step")
    with pytest.raises(ConfigError, match="which does not exist"):
        TracesDataset(str(tmp_path / "none.jsonl"))
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(DataError, match="not recognised as a file of traces"):
        TracesDataset(str(tmp_path / "other.jsonl")).load()


@pytest.mark.parametrize("rubric", RUBRICS)
def test_each_shipped_rubric_takes_these_runs_in_both_languages(rubric: str) -> None:
    line = ["experiment=traces", f"rubric={rubric}", "dataset.n=3"]
    config = settings(compose_config(line))
    items = build(config.dataset, "dataset").load()
    built = build(config.rubric, "rubric")
    assert {"en", "pt"} == {*built.wordings}
    assert all(set(item.inputs) <= set(built.inputs) for item in items)
    for language in ("en", "pt"):
        asked = settings(compose_config([*line, f"prompt=traces_{language}"]))
        build(asked.prompt, "prompt").check(built)


def test_rules_count_and_do_not_read() -> None:
    text = shown(RUN.steps, 1_000).text
    found = count(text)
    assert found.calls == 2 and found.same_call == 1 and found.errors == 1
    assert found.removals == 0 and found.success_at_end == 0
    again = shown([*RUN.steps[:3], *RUN.steps[1:3]], 1_000).text
    assert count(again).same_call == 2
    assert counts([*RUN.steps[:3], *RUN.steps[1:3]])["same_call"] == 2
