"""Logs of other tools: the fixtures were written by the tools themselves (tests/fixtures/make_*),
the values here by hand from what the scripts let judges and people say."""

import contextlib
import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import put
from undogmatic.datasets import readers
from undogmatic.datasets.table import read_table
from undogmatic.errors import DataError
from undogmatic.records.records import text_mark

FIXTURES = Path(__file__).parents[1] / "fixtures"
MADE = sorted(path for path in FIXTURES.glob("*-*/*"))


def read(path: Path) -> pd.DataFrame:
    reader = readers.find(path)
    assert reader is not None, path
    return reader.read(path)


def said(frame: pd.DataFrame, *columns: str, **wanted: Any) -> list[tuple[Any, ...]]:
    """The rows with the wanted values, in these columns."""
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return [
        tuple(row) for row in frame[list(columns)].itertuples(index=False, name=None)
    ]


def fixture(name: str) -> Path:
    (path,) = (
        FIXTURES.glob(f"*-*/{name}")
        if "/" not in name
        else FIXTURES.glob(name.replace("/", "-*/"))
    )
    return path


@pytest.mark.parametrize(
    "path", MADE, ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_file_is_claimed_by_one_reader(path: Path) -> None:
    head = readers.head_of(path)
    assert head is not None
    assert len([reader.name for reader in readers.every() if reader.claims(head)]) == 1


@pytest.mark.parametrize("name", ["capitals.eval", "capitals.json"])
def test_inspect(name: str) -> None:
    frame = read(fixture(f"inspect_ai/{name}"))
    assert sorted(
        said(frame, "item", "repeat", "verdict", judge="model_graded_qa"),
        key=lambda row: row[:2],
    ) == [
        ("de", 0, "incorrect"),
        ("de", 1, None),
        ("es", 0, None),
        ("es", 1, None),
        ("fr", 0, "correct"),
        ("fr", 1, "correct"),
        ("it", 0, "correct"),
        ("it", 1, "incorrect"),
    ]
    assert said(frame, "reason", item="de", judge="model_graded_qa", repeat=1) == [
        ("Grade not found in model output: I cannot tell.",)
    ]
    assert set(said(frame, "reason", item="es")) == {
        ("ValueError('the tool broke off')",)
    }
    assert said(frame, "criterion", "verdict", item="it", judge="style", repeat=0) == [
        ("clarity", 0),
        ("length", 6),
    ]
    about = said(
        frame,
        "text",
        "input",
        "context",
        "system",
        "south",
        "settings.model",
        item="fr",
        repeat=0,
    )
    assert about[0] == (
        "Paris.",
        "The capital of France?",
        "Paris",
        "mockllm/model",
        "false",
        "mockllm/model",
    )
    prompt = (
        "{question} {answer} {criterion} {instructions}\nReply GRADE: C or GRADE: I"
    )
    assert set(said(frame, "settings.prompt", judge="model_graded_qa")) == {(prompt,)}
    assert frame.attrs["problems"] == []


def test_a_score_that_a_person_edited_is_verdict_and_label() -> None:
    frame = read(fixture("inspect_ai/edited.json"))
    labelled = frame[frame["label"].notna()]
    assert said(labelled, "item", "judge", "verdict", "label", "rater") == [
        ("de", "model_graded_qa", "incorrect", "correct", "ana")
    ]


@pytest.mark.parametrize("name", ["capitals.json", "capitals.jsonl"])
def test_promptfoo(name: str) -> None:
    frame = read(fixture(f"promptfoo/{name}"))
    grader = said(frame, "country", "verdict", "reason", criterion="correct")
    assert sorted(grader) == [
        ("France", 0.9, None),
        ("Germany", 0.2, None),
        ("Italy", None, "Could not extract JSON from llm-rubric response"),
        ("Spain", None, "the server is away"),
    ]
    assert set(said(frame, "judge", "settings.prompt", criterion="correct")) == {
        ("file://grader.js", "Grade {{output}} by {{rubric}}\nNames the capital")
    }
    assert said(
        frame,
        "judge",
        "verdict",
        "text",
        "system",
        "region",
        country="Italy",
        criterion="contains",
    ) == [("contains", 1, "It is Rome.", "system-a", "south")]


def test_a_rating_of_a_person_in_promptfoo_is_a_label() -> None:
    frame = read(fixture("promptfoo/rated.json"))
    labelled = frame[frame["label"].notna()]
    assert said(labelled, "country", "criterion", "verdict", "label", "rater") == [
        ("France", "correct", "pass", "pass", "human"),
        ("Germany", "correct", "fail", "pass", "human"),
    ]


@pytest.mark.parametrize("name", ["run.json", "result.json"])
def test_deepeval(name: str) -> None:
    frame = read(fixture(f"deepeval/{name}"))
    assert said(frame, "item", "judge", "criterion", "verdict", "text", "south") == [
        ("france", "grader-x", "correct [GEval]", 0.9, "Paris.", "false"),
        ("germany", "grader-x", "correct [GEval]", 0.2, "I think Lyon.", "false"),
        ("italy", "grader-x", "correct [GEval]", None, "It is Rome.", "true"),
    ]
    assert "invalid JSON" in frame["reason"][2]


@pytest.mark.parametrize("name", ["traces.json", "traces.jsonl", "table.json"])
def test_mlflow(name: str) -> None:
    frame = read(fixture(f"mlflow/{name}"))
    assert sorted(
        said(frame, "text", "verdict", "reason", "label", "rater", criterion="correct"),
        key=str,
    ) == [
        ("I think Lyon.", "false", None, "true", "ana"),
        ("It is Rome.", None, "no JSON at all", None, None),
        ("Paris.", "true", None, "true", "ana"),
        ("Paris.", "true", None, "true", "rui"),
    ]
    assert said(frame, "judge", "verdict", "region", criterion="clarity") == [
        ("grader-x", 4, "west")
    ]
    assert said(frame, "expected_response", text="It is Rome.") == [("Rome",)]
    assert set(said(frame, "settings.prompt")) == {("Names the capital",)}


@pytest.mark.parametrize(
    ("names", "criteria"),
    [
        (["correct", "human_label"], {"correct"}),
        (["correct", "mood"], {"correct"}),
        (["correct", "a", "b"], set()),
    ],
)
def test_a_label_of_another_name_is_of_the_only_criterion(
    names: list[str], criteria: set[str], tmp_path: Path
) -> None:
    def one(name: str, kind: str) -> dict[str, Any]:
        return {
            "assessment_name": name,
            "source": {"source_type": kind},
            "feedback": {"value": 1},
        }

    made = [one(names[0], "LLM_JUDGE"), *(one(name, "HUMAN") for name in names[1:])]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"info": {"trace_id": "t", "assessments": made}}]))
    frame = read(path)
    labelled = frame[frame["label"].notna()] if "label" in frame else frame[:0]
    assert {row[0] for row in said(labelled, "criterion")} == criteria
    assert bool(frame.attrs["problems"]) == (not criteria)


@pytest.mark.parametrize("name", ["scores.csv", "scores.json"])
def test_ragas(name: str) -> None:
    frame = read(fixture(f"ragas/{name}"))
    assert said(
        frame, "item", "text", "criterion", "verdict", "reason", judge="ragas"
    ) == [
        ("row 1", "Paris.", "correct", 1, None),
        ("row 1", "Paris.", "clarity", 5, None),
        ("row 2", "I think Lyon.", "correct", 0, None),
        ("row 2", "I think Lyon.", "clarity", 2, None),
        ("row 3", "It is Rome.", "correct", 1, None),
        ("row 3", "It is Rome.", "clarity", None, "the metric has no value"),
    ]


@pytest.mark.parametrize(
    ("columns", "labelled"),
    [
        (
            {"correct": 1, "clarity": 4, "human_correct": 0},
            [("correct", 1, 0, "human_correct")],
        ),
        ({"clarity": 4, "human_label": 3}, [("clarity", 4, 3, "human_label")]),
        (
            {"clarity": 4, "human_1": 3, "human_2": 5},
            [("clarity", 4, 3, "human_1"), ("clarity", 4, 5, "human_2")],
        ),
        # On which? It is held against each, and that is said.
        (
            {"correct": 1, "clarity": 4, "gold": 0},
            [("correct", 1, 0, "gold"), ("clarity", 4, 0, "gold")],
        ),
        ({"clarity": 4, "human_notes": "long"}, []),
    ],
)
def test_labels_among_the_facts_of_an_item(
    columns: dict[str, Any], labelled: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame([{"user_input": "q", "response": "r"} | columns]).to_csv(
        path, index=False
    )
    frame = read(path)
    found = (
        frame[frame["label"].notna()]
        if "label" in frame
        else frame[:0].reindex(columns=[*frame, "label", "rater"])
    )
    assert said(found, "criterion", "verdict", "label", "rater") == (labelled or [])
    assert bool(frame.attrs["problems"]) == ("gold" in columns)


def test_a_label_in_the_metadata_of_inspect_is_in_the_words_of_its_scores(
    tmp_path: Path,
) -> None:
    log = json.loads(fixture("inspect_ai/capitals.json").read_text())
    for sample in log["samples"]:
        sample["metadata"]["human_label"] = "I"
    path = tmp_path / "a.json"
    path.write_text(json.dumps(log))
    table = read_table(path)
    assert (table.judges, table.kind) == (["model_graded_qa"], "pass_fail")
    assert set(table.labels["label"]) == {0.0}


@pytest.mark.parametrize("name", ["scores.csv", "scores.json", "scores_v3.json"])
def test_langfuse(name: str) -> None:
    frame = read(fixture(f"langfuse/{name}"))
    assert said(frame, "item", "judge", "criterion", "verdict", "label", "rater") == [
        ("t-fr", "langfuse evaluator", "correct", 0.9, None, None),
        ("t-de", "langfuse evaluator", "correct", 0.2, 0.5, "ana"),
        ("t-de", "langfuse evaluator", "on topic", "true", None, None),
        ("t-fr", "langfuse api", "tone", "friendly", "neutral", "ana"),
    ]


def test_a_verdict_with_two_labels_stays_one(tmp_path: Path) -> None:
    base = {"name": "q", "dataType": "NUMERIC"}
    rows = []
    for n in range(6):
        about = base | {"traceId": f"t{n}"}
        rows.append(about | {"source": "EVAL", "value": n / 5})
        rows += [
            about | {"source": "ANNOTATION", "value": n / 6, "authorUserId": who}
            for who in ("ana", "rui")
        ]
    path = put(tmp_path / "a.jsonl", rows)
    table = read_table(path)
    assert len(table.verdicts) == 6
    assert table.raters("q") == ["ana", "rui"]
    assert {note.key for note in table.read} & {
        "table.same_twice",
        "table.rows_are_repeats",
    } == set()


def test_batches_of_openai() -> None:
    frame = read(fixture("openai/chat.jsonl"))
    verdicts = said(frame, "item", "verdict", "confidence")
    assert verdicts[:4] == [
        ("item-1", 4, None),
        ("item-2", 2, None),
        ("item-3", "5", None),
        ("item-4", "B", None),
    ]
    assert verdicts[6] == ("item-7", "B", pytest.approx(0.75))
    assert [row[0] for row in said(frame[frame["verdict"].isna()], "reason")] == [
        "refusal: I cannot judge this.",
        "the answer was cut",
        "the answer holds no verdict: 'It is hard to tell.'",
        "too many requests",
        "not done in time",
    ]
    assert set(said(frame, "judge")) == {("grader-x-2026-10-01",)}
    assert said(
        read(fixture("openai/criteria.jsonl")), "item", "criterion", "verdict"
    ) == [
        ("item-1", "clarity", 3),
        ("item-1", "correct", "yes"),
        ("item-2", "clarity", None),
        ("item-2", "correct", None),
    ]
    responses = read(fixture("openai/responses.jsonl"))
    assert said(responses, "verdict", "settings.temperature") == [
        (3, "0.0"),
        ("pass", "0.0"),
        ("fail", "0.0"),
    ]


def test_batches_of_anthropic_and_of_gemini(tmp_path: Path) -> None:
    def answered(text: str, reason: str = "end_turn") -> dict[str, Any]:
        content = [
            {"type": "thinking", "thinking": "Score: 1"},
            {"type": "text", "text": text},
        ]
        message = {"model": "claude-x", "content": content, "stop_reason": reason}
        return {"type": "succeeded", "message": message}

    failed = {
        "type": "errored",
        "error": {"type": "error", "error": {"message": "too long"}},
    }
    results = [answered("Good. Score: 4"), answered("It is", "max_tokens"), failed]
    results.append({"type": "expired"})
    lines = [{"custom_id": f"i{n}", "result": one} for n, one in enumerate(results)]
    frame = read(put(tmp_path / "anthropic.jsonl", "\n".join(map(json.dumps, lines))))
    assert said(frame, "item", "judge", "verdict", "reason") == [
        ("i0", "claude-x", "4", None),
        ("i1", "claude-x", None, "the answer was cut"),
        ("i2", "claude-x", None, "too long"),
        ("i3", "claude-x", None, "the request was expired"),
    ]

    def candidate(*parts: dict[str, Any]) -> dict[str, Any]:
        one = {"content": {"parts": list(parts)}, "finishReason": "STOP"}
        return {"candidates": [one], "modelVersion": "gemini-x"}

    thought = {"text": "Perhaps [[A]].", "thought": True}
    lines = [
        {"key": "i0", "response": candidate(thought, {"text": "[[B]]"})},
        {"key": "i1", "error": {"code": 429, "message": "too many requests"}},
        {"response": {"promptFeedback": {"blockReason": "SAFETY"}}, "status": ""},
    ]
    frame = read(put(tmp_path / "gemini.jsonl", "\n".join(map(json.dumps, lines))))
    assert said(frame, "item", "judge", "verdict", "reason") == [
        ("i0", "gemini-x", "B", None),
        ("i1", "gemini-x", None, "too many requests"),
        ("row 3", "gemini-x", None, "no answer (SAFETY)"),
    ]


def test_a_run_of_ours(tmp_path: Path) -> None:
    def judgment(item: str, **outcome: Any) -> str:
        origin = {"model": "m", "prompt_hash": "p", "readout": "r"}
        return (
            json.dumps(
                {
                    "item_id": item,
                    "judge": "score",
                    "outcome": outcome,
                    "provenance": origin,
                }
            )
            + "\n"
        )

    failed = judgment("a", kind="failure", reason="refusal", message="no")
    again = judgment("a", kind="verdict", score=70.0, confidence=80.0)
    other = judgment("b", kind="failure", reason="refusal", message="declined")
    put(tmp_path / "run/run.json", "{}")
    put(
        tmp_path / "run/judgments.jsonl",
        failed + again + other + '{"item_id": "c", "ju',
    )
    put(tmp_path / "run/scores.csv", "item_id,group,score\na,g1,70\nb,g1,\n")
    put(
        tmp_path / "run/labels.jsonl",
        '{"item_id": "a", "labeller": "ana", "label": 60.0, "given": 6}\n',
    )
    put(
        tmp_path / "run/with_labels.jsonl",
        '{"id": "a", "text": "A text.", "maker": "m1", "south": true}\n',
    )
    frame = read(tmp_path / "run")
    columns = (
        "item",
        "group",
        "verdict",
        "confidence",
        "reason",
        "label",
        "rater",
        "text",
        "system",
        "south",
    )
    assert said(frame, *columns) == [
        ("a", "g1", 70.0, 0.8, None, 60.0, "ana", "A text.", "m1", "true"),
        ("b", "g1", None, None, "declined", None, None, None, None, None),
    ]
    assert [
        str(tmp_path / "run" / "judgments.jsonl") in problem
        for problem in frame.attrs["problems"]
    ] == [True]


@pytest.mark.parametrize(
    ("categories", "label"), [(None, "1.0"), ("[first, second]", "0.0")]
)
def test_a_run_that_compared_two_outputs(
    categories: str | None, label: str, tmp_path: Path
) -> None:
    said_of = {"overall": "first", "as_given": "first", "swapped": "second"}
    judgments = [
        {
            "item_id": "a",
            "judge": "compare",
            "criterion": name,
            "outcome": {"kind": "verdict", "category": category},
        }
        for name, category in said_of.items()
    ]
    put(tmp_path / "run/run.json", "{}")
    put(
        tmp_path / "run/judgments.jsonl",
        "".join(json.dumps(own) + "\n" for own in judgments),
    )
    mark = text_mark("?\n\nOne.\n\nTwo.")
    if categories:
        put(
            tmp_path / "run/.hydra/config.yaml",
            f"rubric: {{scale: {{categories: {categories}}}}}",
        )
    put(
        tmp_path / "run/labels.csv",
        f"item_id,criterion,label,text_mark\na,overall,{label},{mark}\na,as_given,,{mark}\n",
    )
    item = {
        "id": "a",
        "inputs": {"input": "?", "output_1": "One.", "output_2": "Two."},
        "system_1": "m1",
    }
    put(tmp_path / "run/with_labels.jsonl", json.dumps(item) + "\n")
    columns = ("order", "verdict", "label", "text_1", "text_2", "system_1")
    rest = ("first", "One.", "Two.", "m1")
    assert said(read(tmp_path / "run"), *columns) == [
        ("as_given", "first", *rest),
        ("swapped", "second", *rest),
    ]


def test_texts_that_changed_since_a_run_are_not_taken_for_what_was_judged(
    tmp_path: Path,
) -> None:
    put(tmp_path / "run/run.json", "{}")
    outcome = {"kind": "verdict", "score": 1.0}
    put(
        tmp_path / "run/judgments.jsonl",
        json.dumps({"item_id": "a", "judge": "j", "outcome": outcome}) + "\n",
    )
    put(
        tmp_path / "run/labels.csv",
        f"item_id,label,text_mark\na,2,{text_mark('as it was')}\n",
    )
    for text, read_text in (("as it was", ["as it was"]), ("as it is now", [])):
        put(
            tmp_path / "run/with_labels.jsonl",
            json.dumps({"id": "a", "text": text}) + "\n",
        )
        frame = read(tmp_path / "run")
        assert list(frame.get("text", [])) == read_text
        assert len(frame.attrs["problems"]) == 1 - len(read_text)
        assert said(frame, "verdict", "label") == [(1.0, "2")]


@pytest.mark.parametrize(
    "path", MADE, ids=lambda path: f"{path.parent.name}/{path.name}"
)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_half_a_file_gives_what_is_whole_and_names_the_rest(
    path: Path, share: float, tmp_path: Path
) -> None:
    raw = path.read_bytes()
    half = tmp_path / path.name
    half.write_bytes(raw[: int(len(raw) * share)])
    reader, all_of = readers.find(half), read(path)
    if reader is None:
        assert share == 0.3, "what is there does not tell the tool"
        return
    try:
        frame = reader.read(half)
    except DataError as error:
        # The verdicts of a batch of LangWatch, and of a trace of Opik, stand behind all else.
        late = share == 0.6 and path.name in ("batch.json", "trace_t1.json")
        assert share == 0.3 or late, "the first half of the file holds something whole"
        assert str(half) in str(error)
        return
    assert frame.attrs["problems"], "nothing is said of what was lost"
    assert all(str(half) in problem for problem in frame.attrs["problems"])
    columns = [
        c
        for c in ("item", "judge", "criterion", "repeat", "verdict")
        if c in all_of and c in frame
    ]
    rows, before = said(frame, *columns), said(all_of, *columns)
    # what follows the samples is lost alone
    ends_late = share == 0.9 or (share == 0.6 and path.suffix == ".eval")
    assert len(rows) < len(before) or ends_late
    assert set(map(str, rows)) <= set(map(str, before))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.json",
            b'{"version": 2, "status": "success", "eval": {}, "samples": ['
            + b"1, " * 300
            + b"}",
            "not JSON",
        ),
        ("a.eval", b"PK\x03\x04" + b"_journal/start.json" * 3, "a.eval"),
        (
            "a.json",
            b'{"evalId": "e", "results": {"version": 3, "results": [3]}}',
            "a.json",
        ),
        ("a.json", b'{"testCases": [{"metricsData": 5}]}', "a.json"),
        ("a.json", b'{"testCases": [{"metricsData": []}]}', "without a single verdict"),
    ],
)
def test_a_damaged_file_is_named(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    reader = readers.find(path)
    assert reader is not None
    with pytest.raises(DataError, match=said):
        reader.read(path)


JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    "",
    "x",
    [],
    {},
    [[]],
    {"a": 1},
    [{"value": {}}],
)


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and its key."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from nodes(value[key])


@pytest.mark.parametrize(
    "path",
    [p for p in MADE if p.suffix == ".json"],
    ids=lambda p: f"{p.parent.name}/{p.name}",
)
def test_what_a_tool_would_not_write_is_read_or_named(
    path: Path, tmp_path: Path
) -> None:
    drawn, changed = random.Random(path.name), tmp_path / path.name
    for _ in range(12):
        value = json.loads(path.read_text())
        for _ in range(3):
            holder, key = drawn.choice(list(nodes(value)))
            holder[key] = copy.deepcopy(drawn.choice(JUNK))
        changed.write_text(json.dumps(value))
        reader = readers.find(changed)
        with contextlib.suppress(DataError):
            if reader is not None:
                reader.read(changed)


def test_a_record_that_is_built_otherwise_is_named_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    value = json.loads(fixture("promptfoo/capitals.json").read_text())
    value["results"]["results"][1]["gradingResult"] = {"componentResults": [3]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    frame = read(path)
    assert [problem.partition(": ")[0] for problem in frame.attrs["problems"]] == [
        f"{path}#result 2"
    ]
    assert len(frame["item"].unique()) == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"item,verdict\na,3\n"),
        ("a.jsonl", b'{"item": "a", "verdict": 3}\n'),
        ("a.json", b'[{"item": "a", "score": 3}]'),
        ("a.json", b"{not json"),
        ("a.xlsx", b"PK\x03\x04\x14\x00\x08\x00[Content_Types].xml"),
        ("a.csv", b""),
        ("a.csv", b"\xff\xfe\x00a"),
    ],
)
def test_other_files_are_no_reader_s(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert readers.find(path) is None
    assert readers.find(tmp_path / "none") is None
