"""Files of more tools, of their earlier versions, and of runs that failed: what judges said, what
people said, and what is missing and why."""

from __future__ import annotations

import copy
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.datasets.test_readers import fixture, read, said
from undogmatic.datasets import readers
from undogmatic.datasets.frames import read_frame
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import DataError

THREE = [("correct", "Paris."), ("incorrect", "I think Lyon."), (None, "It is Rome.")]


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_an_experiment_of_langsmith() -> None:
    frame = read(fixture("langsmith/experiment.csv"))
    assert said(frame, "text", "criterion", "verdict", "label", "rater") == [
        ("Paris.", "correctness", 1, 1, "human_correctness"),
        ("I think Lyon.", "correctness", 0, 1, "human_correctness"),
        ("It is Rome.", "correctness", 1, 1, "human_correctness"),
        (None, "correctness", None, 0, "human_correctness"),
    ]
    assert frame["reason"].tolist()[3] == "KeyError('Spain')"
    feedback = read(fixture("langsmith/feedback.json"))
    assert said(feedback, "judge", "verdict", "label", "rater") == [
        ("langsmith model", verdict, 1.0, "ana") for verdict in (1.0, 0.0, 1.0, None)
    ]


@pytest.mark.parametrize("name", ["evaluated.csv", "evaluated.json", "experiment.json"])
def test_phoenix(name: str) -> None:
    frame = read(fixture(f"phoenix/{name}"))
    assert (
        said(frame, "verdict", "text", judge="phoenix llm", criterion="correct")
        == THREE
    )
    assert "the grader is away" in frame["reason"].tolist()[2]


def test_annotations_of_people_in_phoenix_are_labels() -> None:
    frame = read(fixture("phoenix/annotations.json"))
    assert said(frame, "item", "verdict", "label", "rater") == [
        ("span0", "correct", "correct", "ana"),
        ("span1", "incorrect", "correct", "ana"),
        ("span2", None, "incorrect", "ana"),
        ("span3", "correct", "correct", "ana"),
    ]


@pytest.mark.parametrize("name", ["results.jsonl", "events.json"])
def test_braintrust(name: str) -> None:
    frame = read(fixture(f"braintrust/{name}"))
    assert said(frame, "text", "verdict", "label", "reason", criterion="correct") == [
        ("Paris.", 1.0, 1, None),
        ("I think Lyon.", 0.0, 1, None),
        ("It is Rome.", None, 1, "ValueError: the grader is away"),
        (None, None, 1, "KeyError('Spain')"),
    ]
    assert said(frame, "verdict", criterion="clarity") == [
        (0.5,),
        (None,),
        (0.5,),
        (None,),
    ]


def test_samples_of_lm_evaluation_harness() -> None:
    frame = read(fixture("lm_eval/samples_capitals.jsonl"))
    columns = ("item", "text", "verdict", "label", "reason")
    assert said(frame, *columns, judge="judge_score", criterion="judge_score") == [
        ("0", "Paris", 1.0, 1, None),
        ("1", "Lyon", 0.0, 0, None),
        ("2", "Rome", 1.0, 1, None),
        ("3", "Madrid", None, 1, "the metric has no value"),
    ]
    assert said(frame[:1], "input", "context") == [("The capital of France?", "Paris")]


def test_alpaca_eval(tmp_path: Path) -> None:
    source = fixture("alpaca_eval/annotations.json")
    frame = read(source)
    columns = ("verdict", "system_1", "system_2", "text_1")
    assert said(frame, *columns, judge="stub_judge")[:2] == [
        ("first", "model-a", "model-b", "the right city"),
        ("second", "model-a", "model-b", "a wrong city"),
    ]
    assert frame["verdict"].tolist()[2:] == [None, "tie"]
    rows = json.loads(source.read_text())
    for row, preference in zip(rows, (1.1, 1.8, None, 1.5), strict=True):
        row["preference"] = preference
    weighted = read(write(tmp_path / "weighted.json", rows))
    assert said(weighted, "verdict", "confidence") == [
        ("first", pytest.approx(0.9)),
        ("second", pytest.approx(0.8)),
        (None, None),
        ("tie", None),
    ]
    for row in rows:
        row |= {"annotator": 7, "preference": 2}
    people = write(tmp_path / "people.json", rows)
    table = read_table([source, people])
    assert table.kind == "pairwise"
    assert table.raters("overall") == ["annotator 7"]
    assert len(table.labels) == 4


def test_label_studio(tmp_path: Path) -> None:
    frame = read(fixture("label_studio_sdk/export.json"))
    assert said(frame, "item", "verdict", "label", "rater", judge="judge-v1") == [
        ("1", "Good", "Good", "ann@example.org"),
        ("1", "Good", "Good", "ben@example.org"),
        ("2", "Bad", "Bad", "ann@example.org"),
        ("2", "Bad", "Good", "ben@example.org"),
        ("3", "Good", "Good", "ann@example.org"),
        ("4", None, "Good", "ann@example.org"),
    ]
    assert "1 skipped annotations" in frame.attrs["problems"][0]
    people = [
        ("1", "Good"),
        ("1", "Good"),
        ("2", "Bad"),
        ("2", "Good"),
        ("3", "Good"),
        ("4", "Good"),
    ]
    for name in ("min.json", "table.csv"):
        short = read(fixture(f"label_studio_sdk/{name}"))
        assert said(short, "item", "label") == people
    tasks = json.loads(fixture("label_studio_sdk/export.json").read_text())
    for task in tasks:
        task["predictions"] = []
        task["data"]["judge"] = "Bad"
    beside = read(write(tmp_path / "a.json", tasks))
    assert set(said(beside, "judge", "verdict")) == {("judge", "Bad")}


def test_labels_of_a_tool_are_joined_to_a_table_of_verdicts(tmp_path: Path) -> None:
    judge = tmp_path / "judge.csv"
    pd.DataFrame(
        {"id": [1, 2, 3, 4], "judge_verdict": ["Good", "Bad", "Good", "Bad"]}
    ).to_csv(judge, index=False)
    for name in ("label_studio_sdk/table.csv", "label_studio_sdk/min.json"):
        table = read_table([judge, fixture(name)])
        assert len(table.verdicts) == 4
        assert table.raters("overall") == ["ann@example.org", "ben@example.org"]


@pytest.mark.parametrize("name", ["records.json", "flat.json"])
def test_argilla(name: str) -> None:
    frame = read(fixture(f"argilla/{name}"))
    user = "00000000-0000-0000-0000-000000000001"
    assert said(frame, "item", "verdict", "label", rater=user, judge="judge-v1") == [
        ("r0", 1, 2),
        ("r1", 3, 3),
        ("r2", None, 4),
    ]
    # the nested form does not say which responses were discarded
    if name == "flat.json":
        assert frame["rater"].unique().tolist() == [user]
        assert "3 responses with the status discarded" in frame.attrs["problems"][0]


def test_argilla_before_and_on_a_hub(tmp_path: Path) -> None:
    before = [
        {
            "id": f"a{n}",
            "text": "a text",
            "prediction": [
                {"label": "good", "score": 0.9},
                {"label": "bad", "score": 0.1},
            ],
            "prediction_agent": "judge-v0",
            "annotation": "bad" if n else "good",
            "annotation_agent": "ana",
            "status": "Validated",
        }
        for n in range(2)
    ]
    frame = read(write(tmp_path / "before.json", before))
    assert said(frame, "judge", "verdict", "label", "rater", "confidence") == [
        ("judge-v0", "good", "good", "ana", 0.9),
        ("judge-v0", "good", "bad", "ana", 0.9),
    ]
    hub = [
        {
            "id": "a",
            "response": "a text",
            "quality": [{"user_id": "u", "value": 3, "status": "submitted"}],
            "quality-suggestion": 4,
            "quality-suggestion-metadata": {
                "agent": "judge-v1",
                "score": None,
                "type": "model",
            },
        }
    ]
    frame = read(write(tmp_path / "hub.json", hub))
    assert said(frame, "judge", "verdict", "label", "rater") == [
        ("judge-v1", 4, 3, "u")
    ]


def test_prodigy_and_doccano_hold_labels_of_people() -> None:
    frame = read(fixture("prodigy/choices.jsonl"))
    assert said(frame, "item", "label", "rater")[2:] == [
        ("a2", "BAD", "quality-ana"),
        ("a2", "GOOD", "quality-ben"),
        ("a3", "GOOD", "quality-ana"),
    ]
    assert "1 ignored tasks" in frame.attrs["problems"][0]
    asked = read(fixture("prodigy/asked.jsonl"))
    assert said(asked, "label", item="a2") == [("reject",), ("accept",)]
    one = read(fixture("doccano/ana.jsonl"))
    assert said(one, "item", "label", "rater") == [
        ("1", "good", "ana"),
        ("2", "good", "ana"),
    ]
    assert "1 texts have no label" in one.attrs["problems"][0]
    before = read(fixture("doccano/before.jsonl"))
    assert said(before, "label", "rater", item="1") == [(2, "user 1"), (1, "user 2")]


@pytest.mark.parametrize(
    ("name", "judge"),
    [
        ("opik/traces.json", "opik online"),
        ("langwatch/batch.json", "langevals/llm_boolean"),
    ],
)
def test_opik_and_langwatch(name: str, judge: str) -> None:
    frame = read(fixture(name))
    assert [row[0] for row in said(frame, "verdict", judge=judge)] == [1.0, 0.0, None]
    assert "the grader is away" in frame["reason"].tolist()[2]
    assert frame["text"].tolist() == ["Paris.", "I think Lyon.", "It is Rome."]
    assert frame["label"].notna().all()


def test_a_folder_of_a_tool_is_read_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("per_instance_stats.json", "scenario_state.json"):
        (run / name).write_bytes(fixture(f"helm/{name}").read_bytes())
    frame = read(run)
    assert said(
        frame, "item", "text", "verdict", criterion="helpfulness", judge="grader"
    ) == [
        ("id1", "Paris.", 4.0),
        ("id2", "I think Lyon.", None),
        ("id3", "It is Rome.", 2.0),
    ]
    assert said(frame, "verdict", criterion="exact_match") == [(1.0,), (0.0,), (None,)]
    assert "num_output_tokens" in frame.attrs["problems"][0]
    traces = tmp_path / "traces"
    traces.mkdir()
    for n in range(3):
        one = json.loads(fixture("opik/trace_t1.json").read_text())
        one["trace"]["id"] = f"t{n}"
        write(traces / f"trace_t{n}.json", one)
    assert sorted(row[0] for row in said(read(traces), "item")) == ["t0", "t1", "t2"]


# Earlier versions


def test_a_log_of_inspect_of_the_first_version(tmp_path: Path) -> None:
    samples = [
        {
            "id": n,
            "epoch": 1,
            "input": "q",
            "target": "t",
            "output": {"completion": f"a{n}"},
        }
        | (
            {"score": {"value": "C" if n else "I"}}
            if n < 2
            else {"error": {"message": "away"}}
        )
        for n in range(3)
    ]
    log = {"version": 1, "status": "success", "eval": {"task": "t", "model": "m"}}
    log |= {"results": {"scorer": {"name": "grader"}}, "samples": samples}
    frame = read(write(tmp_path / "a.json", log))
    assert said(frame, "judge", "verdict", "reason") == [
        ("grader", "incorrect", None),
        ("grader", "correct", None),
        ("grader", None, "away"),
    ]


def test_a_scorer_of_several_criteria_that_fails_lacks_each_of_them(
    tmp_path: Path,
) -> None:
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    values: list[Any] = [{"tone": 1, "facts": 2}, float("nan"), {"tone": 3}]
    log["samples"] = [
        {"id": n, "epoch": 1, "output": {}, "scores": {"grade": {"value": value}}}
        for n, value in enumerate(values)
    ]
    frame = read(write(tmp_path / "a.json", log))
    assert said(frame, "item", "criterion", "verdict") == [
        ("0", "tone", 1),
        ("0", "facts", 2),
        ("1", "tone", None),
        ("1", "facts", None),
        ("2", "tone", 3),
        ("2", "facts", None),
    ]


def promptfoo_result(number: int) -> dict[str, Any]:
    parts = [
        {
            "pass": number != 1,
            "score": float(number != 1),
            "reason": "r",
            "assertion": {"type": "llm-rubric", "value": "is polite"},
        }
    ]
    return {
        "provider": {"id": "x:y"},
        "prompt": {"raw": "say it", "label": "say it"},
        "vars": {"n": number},
        "response": {"output": f"text {number}"},
        "success": True,
        "score": 1,
        "gradingResult": {
            "pass": True,
            "score": 1,
            "reason": "",
            "componentResults": parts,
        },
    }


@pytest.mark.parametrize("form", ["2024", "node", "file"])
def test_results_of_promptfoo_from_node_and_of_2024(form: str, tmp_path: Path) -> None:
    inside = {
        "version": 2,
        "timestamp": "2024",
        "results": [promptfoo_result(n) for n in range(3)],
    }
    outer = {
        "2024": {"results": inside, "config": {}},
        "node": inside,
        "file": {"evalId": None, "results": inside},
    }[form]
    frame = read(write(tmp_path / "results.json", outer))
    assert said(frame, "verdict", "text") == [
        ("pass", "text 0"),
        ("fail", "text 1"),
        ("pass", "text 2"),
    ]


def test_the_csv_of_promptfoo(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    of_prompt = "Status,Score,Named Scores,Grader Reason,Comment"
    path.write_text(
        f"topic,[x:y] say it,{of_prompt},[x:z] say it,{of_prompt}\n"
        "rain,[PASS] text 0,PASS,1,{},fine,,text 1,FAIL,0.2,{},no,\n"
        "snow,text 2,PASS,0.8,{},fine,,,ERROR,0,{},the server is away,\n"
    )
    frame = read(path)
    assert said(frame, "topic", "system", "text", "verdict", "reason") == [
        ("rain", "x:y", "text 0", 1, None),
        ("rain", "x:z", "text 1", 0.2, None),
        ("snow", "x:y", "text 2", 0.8, None),
        ("snow", "x:z", None, None, "the server is away"),
    ]


def test_a_test_run_of_deepeval_of_2024_and_one_with_a_long_first_case(
    tmp_path: Path,
) -> None:
    metric = {
        "metric": "Answer Relevancy",
        "score": 0.5,
        "evaluationModel": "m",
        "success": True,
    }
    cases = [
        {
            "name": f"case {n}",
            "input": "q",
            "retrievalContext": ["x" * 100_000],
            "actualOutput": "a",
            "metricsMetadata": [metric],
        }
        for n in range(2)
    ]
    path = write(tmp_path / "run.json", {"testFile": "t.py", "testCases": cases})
    assert said(read(path), "item", "judge", "criterion", "verdict") == [
        (f"case {n}", "m", "Answer Relevancy", 0.5) for n in range(2)
    ]


def test_ragas_before_and_a_metric_that_failed_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    rows = {
        "question": ["q1", "q2"],
        "answer": ["a1", "a2"],
        "contexts": ["['c']", "['c']"],
        "ground_truth": ["g", "g"],
        "faithfulness": [0.5, 0.25],
        "answer_relevancy": [None, None],
        "human_faithfulness": [1, 0],
    }
    pd.DataFrame(rows).to_csv(path, index=False)
    frame = read(path)
    assert said(frame, "text", "verdict", "label", criterion="faithfulness") == [
        ("a1", 0.5, 1),
        ("a2", 0.25, 0),
    ]
    assert (
        said(frame, "verdict", "reason", criterion="answer_relevancy")
        == [(None, "the metric has no value")] * 2
    )


def test_scores_of_langfuse_before_they_had_types_and_inside_of_traces(
    tmp_path: Path,
) -> None:
    about = {"id": "s", "name": "correct", "observationId": None}
    scores = [
        about | {"traceId": "t", "value": 0.5, "source": "EVAL"},
        about | {"traceId": "t", "value": 1, "source": "REVIEW", "authorUserId": "ana"},
    ]
    frame = read(write(tmp_path / "scores.json", scores))
    assert said(frame, "item", "verdict", "label", "rater") == [("t", 0.5, 1, "ana")]
    inside = [{key: v for key, v in one.items() if key != "traceId"} for one in scores]
    traces = [{"id": "t", "input": "q", "output": "a text", "scores": inside}]
    frame = read(write(tmp_path / "traces.json", traces))
    assert said(frame, "item", "text", "verdict", "label") == [("t", "a text", 0.5, 1)]


# What goes wrong


def test_a_label_that_names_no_criterion_is_held_against_each_and_said(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    rows = {
        "user_input": ["q"] * 3,
        "response": ["r"] * 3,
        "x": [1, 2, 3],
        "y": [3, 2, 1],
    }
    pd.DataFrame(rows | {"human_label": [1, 2, 3]}).to_csv(path, index=False)
    frame = read(path)
    assert said(frame, "criterion", "verdict", "label")[:2] == [
        ("x", 1, 1),
        ("y", 3, 1),
    ]
    assert "held against it" in frame.attrs["problems"][0]


def test_two_versions_of_one_log_are_one_and_what_contradicts_counts_for_neither(
    tmp_path: Path,
) -> None:
    log = json.loads(fixture("inspect_ai/capitals.json").read_text())
    again = copy.deepcopy(log)
    first = write(tmp_path / "a.json", log)
    same = read_table(
        [first, write(tmp_path / "b.json", again)], TableOptions(judge=("style",))
    )
    once = read_table([first], TableOptions(judge=("style",)))
    assert len(same.verdicts) == len(once.verdicts)
    assert "table.same_twice" in {note.key for note in same.read}
    for sample in again["samples"]:
        if "style" in (sample.get("scores") or {}):
            sample["scores"]["style"]["value"] = {"clarity": 5, "length": 5}
    apart = read_table(
        [first, write(tmp_path / "b.json", again)], TableOptions(judge=("style",))
    )
    assert "table.contradicting_verdicts" in {problem.key for problem in apart.problems}


def test_a_large_log_of_inspect_is_read_sample_by_sample(tmp_path: Path) -> None:
    path = tmp_path / "large.eval"
    size, n = 1_000_000, 40
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {"version": 2, "eval": {"task": "t", "model": "m"}, "plan": {}}
        archive.writestr("_journal/start.json", json.dumps(start))
        for number in range(n):
            sample = {
                "id": number,
                "epoch": 1,
                "scores": {"grade": {"value": number % 5}},
            }
            sample |= {
                "messages": [{"role": "user", "content": "x" * size}],
                "output": {},
            }
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps({**start, "status": "success"}))
    tracemalloc.start()
    frame = read_frame(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(frame.cells) == n
    # A few samples at once, not all of them.
    assert peak < 15 * size < n * size


def test_which_columns_people_labelled_is_asked_where_it_is_not_clear(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    rows = {
        "annotation_id": range(6),
        "annotator": [1] * 6,
        "id": range(6),
        "lead_time": [1.0] * 6,
        "mood": list("ababab"),
        "place": list("ccddcc"),
    }
    pd.DataFrame(rows).to_csv(path, index=False)
    reader = readers.find(path)
    assert reader is not None
    with pytest.raises(DataError, match="mood, place"):
        reader.read(path)


def test_the_table_of_the_documentation_is_made_from_the_readers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "readers.md").read_text(
        encoding="utf-8"
    )
    assert readers.page() in page
    ours = [reader for reader in readers._ours() if reader.about is None]
    # The table of `export` is undogmatic's own, and stands with its runs.
    assert [reader.name for reader in ours] == ["a verdict table of undogmatic"]


def test_errors_by_mqm_are_labels_of_segments(tmp_path: Path) -> None:
    errors = [
        ("A", "1", "ana", "Accuracy/Mistranslation", "Major"),
        ("A", "1", "ana", "Fluency/Punctuation", "Minor"),
        ("A", "1", "ben", "No-error", "No-error"),
        ("B", "1", "ana", "Non-translation!", "Major"),
        ("A", "2", "ana", "Style/Awkward", "Minor"),
        ("B", "2", "ana", "Style/Awkward", "Unheard of"),
    ]
    lines = [
        f"{s}\td1\t{n}\t{r}\tder <v>Text</v> {n}\t{c}\t{v}" for s, n, r, c, v in errors
    ]
    head = "system\tdoc\tseg_id\trater\ttarget\tcategory\tseverity"
    (tmp_path / "mqm.tsv").write_text("\n".join([head, *lines]), encoding="utf-8")
    judged = [
        "system,seg_id,judge_score",
        *(f"{s},{n},-{n}" for s in "AB" for n in (1, 2)),
    ]
    (tmp_path / "judge.csv").write_text("\n".join(judged), encoding="utf-8")
    files = [tmp_path / "mqm.tsv", tmp_path / "judge.csv"]
    found = read_table(files, TableOptions(scale="-25:0"))
    given = {(row.item, row.rater): row.label for row in found.labels.itertuples()}
    assert given == {
        ("1/A", "ana"): pytest.approx(-5.1),
        ("1/A", "ben"): 0,
        ("1/B", "ana"): -25,
        ("2/A", "ana"): -1,
    }
    assert len(found.verdicts) == 4 and found.items["text"]["1/A"] == "der Text 1"
    assert any(
        "'Unheard of'" in str(each.values.get("text")) for each in found.problems
    )
