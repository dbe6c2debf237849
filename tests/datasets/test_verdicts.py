"""Tables of scores made elsewhere: long, wide, joined; what is no score is a failure, and what is wrong is named."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import put
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.datasets.verdicts import VerdictsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Failure, Judgment, Verdict
from undogmatic.records.rubric import Rubric

WIDE = """case,system,judge,factual_accuracy,completeness,nli,coverage,word_count,parse_error
a,x,j1,5,4,0.9,0.8,100,false
a,x,j2,3,3,0.9,0.8,100,true
a,y,j1,2,,0.5,1,50,false
a,y,j2,9,n/a,0.5,1,50,
"""


def dataset(path: Path | list[str], **changes: Any) -> VerdictsDataset:
    node = compose_config(["dataset=verdicts", "dataset.path=x"])["dataset"]
    given = path if isinstance(path, list) else str(path)
    return build(node | changes | {"path": given}, "dataset")  # type: ignore[no-any-return]


def rubric() -> Rubric:
    return build(compose_config(["rubric=faithfulness"])["rubric"], "rubric")  # type: ignore[no-any-return]


def outcomes(found: VerdictsDataset) -> dict[tuple[str, str, str, int], float | str]:
    def of(judgment: Judgment) -> float | str:
        outcome = judgment.outcome
        if isinstance(outcome, Failure):
            return outcome.reason
        assert isinstance(outcome, Verdict) and outcome.score is not None
        return outcome.score

    return {judgment.key: of(judgment) for judgment in found.judgments(rubric())}


def table(*rows: dict[str, Any], **changes: Any) -> VerdictsDataset:
    """A dataset of these rows, in a file of the folder of the test."""
    return dataset(put(Path("t.jsonl"), rows), **changes)


def test_a_wide_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WIDE)
    found = dataset(tmp_path / "t.csv")
    items = found.load()
    assert [(item.id, item.pair) for item in items] == [("a/x", "a"), ("a/y", "a")]
    assert items[0].metadata == {"case": "a", "system": "x", "word_count": 100.0}
    assert outcomes(found) == {
        ("a/x", "j1", "factual_accuracy", 0): 1.0,
        ("a/x", "j1", "completeness", 0): 0.8,
        ("a/x", "nli", "nli", 0): 0.9,
        ("a/x", "coverage", "coverage", 0): 0.8,
        ("a/x", "j2", "factual_accuracy", 0): "unparseable",
        ("a/x", "j2", "completeness", 0): "unparseable",
        ("a/y", "j1", "factual_accuracy", 0): 0.4,
        ("a/y", "j1", "completeness", 0): "unparseable",
        ("a/y", "nli", "nli", 0): 0.5,
        ("a/y", "coverage", "coverage", 0): 1.0,
        ("a/y", "j2", "factual_accuracy", 0): "off_scale",
        ("a/y", "j2", "completeness", 0): "unparseable",
    }


def test_the_bucket_is_kept_beside_the_score() -> None:
    row = {"case": "a", "model": "x", "judge": "j", "factual_accuracy": 4, "factual_errors": [{"issue": "no"}]}
    (judgment,) = table(row).judgments(rubric())
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.details == {"bucket": 4.0, "errors": '[{"issue": "no"}]'}
    assert (judgment.outcome.raw_score, judgment.provenance.model) == (4.0, "j")


def test_a_long_table_with_repeats_counted_from_one_and_parquet() -> None:
    rows = [
        {"item": "t", "judge": "j", "criterion": "nli", "score": 0.25 * n, "repeat": n, "system": "s"} for n in (1, 2)
    ]
    found = table(*rows, judges={})
    assert outcomes(found) == {("t", "j", "nli", 0): 0.25, ("t", "j", "nli", 1): 0.5}
    assert found.load()[0].inputs == {"item": "t"}
    pd.DataFrame({"case": ["a"], "system": ["x"], "nli": [0.5]}).to_parquet("t.parquet")
    assert outcomes(dataset(Path("t.parquet"))) == {("a/x", "nli", "nli", 0): 0.5}


def test_several_files_are_joined_by_item_and_by_case(tmp_path: Path) -> None:
    judge = {"case": "a", "model": "x", "judge": "j", "factual_accuracy": 5, "completeness": 5}
    put(tmp_path / "1.jsonl", [judge])
    put(tmp_path / "2.jsonl", [{"case": "a", "model": "x", "text": "Two words", "rouge1_f": 0.3}])
    put(tmp_path / "3.jsonl", [{"case": "a", "reference_summary": "What was held."}])
    again = {"retest": {"factual_accuracy": 1, "completeness": 1}, "retest_parse_error": False}
    put(tmp_path / "4.jsonl", [{"case": "a", "model": "x", "judge": "j"} | again])
    quotes = [{"case": "a", "model": "x", "judge": "j", "omission": each} for each in ("dissent", "vote")]
    put(tmp_path / "taxonomy_omissions.jsonl", quotes)
    for given in (tmp_path, [str(path) for path in sorted(tmp_path.iterdir())]):
        found = dataset(given)
        (item,) = found.load()
        assert item.inputs == {"summary": "Two words", "reference": "What was held."}
        assert item.metadata == {"case": "a", "system": "x", "rouge1_f": 0.3, "word_count": 2}
        assert {key[2:]: score for key, score in outcomes(found).items()} == {
            ("factual_accuracy", 0): 1.0,
            ("completeness", 0): 1.0,
            ("factual_accuracy", 1): 0.2,
            ("completeness", 1): 0.2,
        }
        first = found.judgments(rubric())[0].outcome
        assert isinstance(first, Verdict)
        assert json.loads(str(first.details["omissions"])) == [{"omission": "dissent"}, {"omission": "vote"}]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"judge": "j", "nli": 1}], r"t\.jsonl:1: no `item`, `item_id`, `case`.*dataset\.columns\.item=COLUMN"),
        ([{"case": "a", "words": 3}], r"no scores.*nli_score.*dataset\.scores="),
        # a score of the text that differs between judges' rows
        ([{"case": "a", "judge": judge, "nli": score} for judge, score in (("j", 0.1), ("k", 0.2))], "second time"),
        ([{"case": "a", "judge": "j", "completeness": 1}] * 2, "jsonl:2: completeness of 'a' by 'j' .* second time"),
        ([{"case": "a", "nli": 1, "failed": "perhaps"}], r"t\.jsonl:1: `failed` is 'perhaps'.*true or false"),
        ([{"case": "a", "judge": "j", "score": 1, "repeat": 1.5}], r"the repeat is 1\.5; it must be a whole number"),
        (
            [{"case": "a", "judge": j, "nli": 1, "word_count": n} for n, j in enumerate("jk")],
            r"t\.jsonl:2: `word_count` is 1, and 0 elsewhere",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        table(*rows).load()


def test_paths_and_scales_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a folder without a table"):
        dataset(tmp_path)
    with pytest.raises(ConfigError, match=r"does not exist"):
        dataset(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(WIDE)
    with pytest.raises(ConfigError, match=r"dataset\.scales\.nli\.ends.*lower end first"):
        dataset(tmp_path / "t.csv", scales={"nli": {"ends": [1, 0]}})


@pytest.mark.parametrize(
    ("values", "other"), [((1, 2, 3, 4, 5), r"\[1,5\]"), ((0, 1), r"\[0,1\]"), ((1, 4, 7), r"\[1,7\]")]
)
def test_scores_that_seem_to_be_on_another_scale_are_asked_about(values: tuple[int, ...], other: str) -> None:
    """Taken for points of 0 to 100, five stars would be five points."""
    rows = [{"item": f"i{n}", "judge": "j", "score": values[n % len(values)]} for n in range(20)]
    shame = build(compose_config(["rubric=shame"])["rubric"], "rubric")
    said = rf"t\.jsonl: all 20 scores lie between .*scales\.overall=\{{ends: {other}\}}"
    with pytest.raises(DataError, match=said) as caught:
        table(*rows).judgments(shame)
    assert "{ends: [0,100]}" in str(caught.value)
    for ends, last in (([min(values), max(values)], 100.0), ([0, 100], float(values[19 % len(values)]))):
        scales = compose_config(["dataset=verdicts", "dataset.path=x"])["dataset"]["scales"]
        judged = table(*rows, scales=scales | {"overall": {"ends": ends}}).judgments(shame)
        scores = [each.outcome.score for each in judged if isinstance(each.outcome, Verdict)]
        assert len(scores) == 20 and (max(scores) == 100.0 if last == 100.0 else scores[19] == last)


def test_good_scores_are_taken_as_they_are() -> None:
    shame = build(compose_config(["rubric=shame"])["rubric"], "rubric")
    for values in ((0, 0), (0, 100), (3, 11), (1, 60)):
        rows = [{"item": f"i{n}", "judge": "j", "score": values[n % 2]} for n in range(20)]
        assert len(table(*rows).judgments(shame)) == 20


def test_labels_of_people_become_those_of_the_items() -> None:
    rows = [{"item": "a", "judge": "j", "criterion": "completeness", "score": 4, "label": 3, "rater": r} for r in "xy"]
    found = table(rows[0], {**rows[1], "judge": "k", "label": 5}, {"item": "b", "judge": "j", "score": 2, "label": 1})
    labels = {item.id: item.labels for item in found.load()}
    assert labels == {"a": {"completeness": {"x": 3, "y": 5}}, "b": {"overall": {"unnamed": 1}}}
    with pytest.raises(DataError, match=r"t\.jsonl:2: the label is 5, and 3 elsewhere"):
        table(rows[0], {**rows[0], "judge": "k", "label": 5}).load()


def test_columns_with_other_names_and_decimal_commas_are_read_and_said() -> None:
    Path("t.csv").write_bytes("exemplo;juíza;critério;nota\na;j;tom;0,5\nb;j;tom;1\n".encode("cp1252"))
    found = dataset(Path("t.csv"))
    assert outcomes(found) == {("a", "j", "tom", 0): 0.5, ("b", "j", "tom", 0): 1.0}
    assert [finding.key for finding in found.read] == ["table.encoding", "items.columns"]
    assert found.read[1].values["roles"] == ["judge = `juíza`", "item = `exemplo`", "criterion = `critério`"]


def test_columns_are_recognised_where_none_are_named() -> None:
    rows = [{"texto": f"texto {n}", "nota": n % 5 + 1, "juiz": (n + 1) % 5 + 1 if n else None} for n in range(10)]
    found = table(*rows, columns=None)
    items = found.load()
    assert [item.inputs["text"] for item in items] == [row["texto"] for row in rows]
    assert [item.labels["overall"]["nota"] for item in items] == [row["nota"] for row in rows]
    said = outcomes(found)
    assert said[items[0].id, "juiz", "overall", 0] == "unparseable"
    assert said[items[1].id, "juiz", "overall", 0] == pytest.approx(0.5)  # 3 of 1 to 5, on a rubric from 0 to 1
    with pytest.raises(DataError, match="unordered"):
        table(*({"id": n, "judge": "xyz"[n % 3] * 3, "label": "xxx"} for n in range(9)), columns=None).load()
