"""Logs of other tools: the fixtures were written by the tools themselves (tests/fixtures/make_*), the values here by
hand from what the scripts let judges and people say."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from undogmatic.datasets import readers
from undogmatic.errors import DataError

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
    return [tuple(row) for row in frame[list(columns)].itertuples(index=False, name=None)]


def fixture(name: str) -> Path:
    (path,) = FIXTURES.glob(f"*-*/{name}") if "/" not in name else FIXTURES.glob(name.replace("/", "-*/"))
    return path


@pytest.mark.parametrize("path", MADE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_file_is_claimed_by_one_reader(path: Path) -> None:
    head = readers.head_of(path)
    assert head is not None
    assert len([reader.name for reader in readers.every() if reader.claims(head)]) == 1


@pytest.mark.parametrize("name", ["capitals.eval", "capitals.json"])
def test_inspect(name: str) -> None:
    frame = read(fixture(f"inspect_ai/{name}"))
    assert sorted(said(frame, "item", "repeat", "verdict", judge="model_graded_qa"), key=lambda row: row[:2]) == [
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
    assert set(said(frame, "reason", item="es")) == {("ValueError('the tool broke off')",)}
    assert said(frame, "criterion", "verdict", item="it", judge="style", repeat=0) == [("clarity", 0), ("length", 6)]
    about = said(frame, "text", "input", "target", "system", "south", "settings.model", item="fr", repeat=0)
    assert about[0] == ("Paris.", "The capital of France?", "Paris", "mockllm/model", "false", "mockllm/model")
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
        ("file://grader.js", "Names the capital")
    }
    assert said(frame, "judge", "verdict", "text", "system", "region", country="Italy", criterion="contains") == [
        ("contains", 1, "It is Rome.", "system-a", "south")
    ]


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


@pytest.mark.parametrize("path", MADE, ids=lambda path: f"{path.parent.name}/{path.name}")
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_half_a_file_gives_what_is_whole_and_names_the_rest(path: Path, share: float, tmp_path: Path) -> None:
    raw = path.read_bytes()
    half = tmp_path / path.name
    half.write_bytes(raw[: int(len(raw) * share)])
    reader, all_of = readers.find(half), read(path)
    assert reader is not None
    try:
        frame = reader.read(half)
    except DataError as error:
        assert share == 0.3, "the first half of the file holds something whole"
        assert str(half) in str(error)
        return
    assert frame.attrs["problems"], "nothing is said of what was lost"
    assert all(str(half) in problem for problem in frame.attrs["problems"])
    columns = [c for c in ("item", "judge", "criterion", "repeat", "verdict", "label") if c in all_of and c in frame]
    rows, before = said(frame, *columns), said(all_of, *columns)
    assert len(rows) < len(before) or share == 0.9
    assert set(map(str, rows)) <= set(map(str, before))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b'{"version": 2, "status": "success", "eval": {}, "samples": [' + b"1, " * 300 + b"}", "not JSON"),
        ("a.eval", b"PK\x03\x04" + b"_journal/start.json" * 3, "a.eval"),
        ("a.json", b'{"evalId": "e", "results": {"version": 3, "results": [3]}}', "a.json"),
        ("a.json", b'{"testCases": [{"metricsData": 5}]}', "a.json"),
        ("a.json", b'{"testCases": [{"metricsData": []}]}', "without a single verdict"),
    ],
)
def test_a_damaged_file_is_named(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    reader = readers.find(path)
    assert reader is not None
    with pytest.raises(DataError, match=said):
        reader.read(path)


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
