"""`dataset=gating`: files in the form of the reference data, and what is wrong with them by file
and line."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import put, reference, rows_in
from undogmatic.constructs.gating.dataset import GatingDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.paths import data_folder

TREE = {
    "name": "All Events",
    "children": [{"name": "Singlets", "children": [{"name": "T cells"}]}],
}
CASE = {
    "test_case_id": "c",
    "panel": [{"marker": "CD3", "fluorophore": "PE"}, "CD4"],
    "gating_hierarchy": TREE,
}
ROW = {"test_case_id": "c", "prediction": TREE}


def folder(tmp_path: Path, cases: list[Any], rows: list[Any]) -> str:
    for name, lines in (("ground_truth", cases), ("predictions", rows)):
        put(tmp_path / f"{name}.jsonl", lines)
    return str(tmp_path)


def test_what_judges_are_shown_and_what_they_are_not_and_without_a_panel_there_is_no_rate(
    tmp_path: Path,
) -> None:
    context = {"species": "mouse", "sample_type": "spleen", "tissue": None}
    given = folder(
        tmp_path,
        [CASE | {"context": context}],
        [ROW | {"id": "x", "model": "m", "condition": "k"}],
    )
    (item,) = GatingDataset(given).load()
    assert (item.id, item.pair, item.condition, item.metadata["system"]) == (
        "x",
        "c",
        "k",
        "m",
    )
    assert (
        item.inputs["sample"] == "mouse; spleen"
        and item.inputs["panel"] == "CD3 (PE), CD4"
    )
    assert (
        item.inputs["prediction"]
        == item.inputs["truth"]
        == "All Events\n  Singlets\n    T cells"
    )
    assert (
        item.metadata["automatic_f1"] == 1 and item.metadata["hallucination_rate"] == 0
    )
    assert not any("1.0" in text for text in item.inputs.values()), (
        "metrics are no inputs"
    )
    other = CASE | {"test_case_id": "d", "panel": []}
    given = folder(
        tmp_path,
        [CASE, other],
        [ROW | {"id": "a"}, ROW | {"id": "b", "test_case_id": "d"}],
    )
    whole, without = GatingDataset(given).load()
    assert (
        whole.metadata["hallucination_rate"] == 0
        and "hallucination_unknown" not in whole.metadata
    )
    assert (
        "hallucination_rate" not in without.metadata
        and without.metadata["automatic_f1"] == 1
    )
    assert without.inputs["panel"] == "not stated"
    assert "predictions.jsonl:2: the case d names no marker" in str(
        without.metadata["hallucination_unknown"]
    )


@pytest.mark.parametrize(
    ("cases", "rows", "message"),
    [
        (
            [CASE],
            [{"test_case_id": "d", "prediction": TREE}],
            r"predictions.jsonl:1: .*'d'.*it has: c",
        ),
        (
            [CASE],
            [{"prediction": TREE}],
            r"predictions.jsonl:1: `test_case_id` is None",
        ),
        (
            [CASE],
            [{"test_case_id": "c"}],
            r"predictions.jsonl:1: the field `prediction` is missing",
        ),
        (
            [CASE],
            [ROW | {"id": "x"}, ROW | {"id": "x"}],
            r"predictions.jsonl:2: the id 'x' was already used",
        ),
        ([CASE], [], r"holds no items"),
        (
            [CASE, CASE],
            [ROW],
            r"ground_truth.jsonl:2: the case 'c' stands here a second time",
        ),
        ([CASE | {"panel": "CD3"}], [ROW], r"ground_truth.jsonl:1: `panel`"),
        ([CASE | {"panel": [7]}], [ROW], r"ground_truth.jsonl:1: `panel` holds 7"),
        ([CASE | {"context": 7}], [ROW], r"ground_truth.jsonl:1: `context`"),
        (
            [CASE | {"gating_hierarchy": {"a": 1}}],
            [ROW],
            r"ground_truth.jsonl:1: `gating_hierarchy` is not a hierar",
        ),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(
    tmp_path: Path, cases: Any, rows: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        GatingDataset(folder(tmp_path, cases, rows)).load()


@pytest.mark.parametrize("path", ["nowhere", "\0", "a.csv", "~nobody/x"])
def test_a_path_that_is_none_is_an_error_of_the_config(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "a.csv").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"dataset\."):
        GatingDataset(path)


def test_another_file_of_truths(tmp_path: Path) -> None:
    given = folder(tmp_path, [CASE], [ROW])
    other = (tmp_path / "ground_truth.jsonl").rename(tmp_path / "other.jsonl")
    with pytest.raises(ConfigError, match=r"dataset\.truth"):
        GatingDataset(given)
    assert (
        len(GatingDataset(str(tmp_path / "predictions.jsonl"), str(other)).load()) == 1
    )


def test_the_shipped_files_are_what_their_source_makes() -> None:
    own = data_folder() / "gating"
    truths, predictions = runpy.run_path(str(own / "make.py"))["made"](
        yaml.safe_load((own / "cases.yaml").read_text(encoding="utf-8"))
    )
    for name, rows in (("ground_truth", truths), ("predictions", predictions)):
        assert rows_in(own / f"{name}.jsonl") == rows
    each = [
        sum(p["test_case_id"] == t["test_case_id"] for p in predictions) for t in truths
    ]
    assert len(each) >= 8 and 3 <= min(each) <= max(each) <= 4


def test_the_reference_files_are_read() -> None:
    items = GatingDataset(str(reference("flow/predictions.jsonl").parent)).load()
    assert len(items) == 36 and len({item.pair for item in items}) == 3
    assert not any("defect" in item.metadata for item in items)
    assert {item.metadata["system"] for item in items} == {
        "claude-sonnet-4-20250514",
        "claude-opus-4-20250514",
    }
