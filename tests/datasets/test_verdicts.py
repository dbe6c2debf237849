"""Tables of scores made elsewhere: long, wide, joined; what is no score is a failure, and what is
wrong is named."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import put
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.datasets.labels import TEXTS, read_labels
from undogmatic.datasets.verdicts import VerdictsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Failure, Judgment, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.records.words import Words

WIDE = """case,system,judge,factual_accuracy,completeness,nli,coverage,word_count,parse_error
a,x,j1,5,4,0.9,0.8,100,false
a,x,j2,3,3,0.9,0.8,100,true
a,y,j1,2,,0.5,1,50,false
a,y,j2,9,n/a,0.5,1,50,
"""


FAITH = "faithfulness_meta"


def dataset(
    path: Path | list[str], experiment: str | None = None, **changes: Any
) -> VerdictsDataset:
    chosen = (
        ["dataset=verdicts"] if experiment is None else [f"experiment={experiment}"]
    )
    node = compose_config([*chosen, "dataset.path=x"])["dataset"]
    given = path if isinstance(path, list) else str(path)
    return build(node | changes | {"path": given}, "dataset")  # type: ignore[no-any-return]


def rubric() -> Rubric:
    return build(compose_config(["rubric=faithfulness"])["rubric"], "rubric")  # type: ignore[no-any-return]


def shame() -> Rubric:
    return build(compose_config(["rubric=shame"])["rubric"], "rubric")  # type: ignore[no-any-return]


def scored(found: VerdictsDataset) -> list[float | None]:
    """The scores on a rubric from 0 to 100."""
    return [
        each.outcome.score
        for each in found.judgments(shame())
        if isinstance(each.outcome, Verdict)
    ]


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
    found = dataset(tmp_path / "t.csv", FAITH)
    items = found.load()
    assert [(item.id, item.pair) for item in items] == [("a/x", "a"), ("a/y", "a")]
    assert items[0].metadata == {"system": "x", "word_count": 100.0}
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


def test_details_and_what_was_given_are_kept_beside_the_score() -> None:
    row = {
        "case": "a",
        "model": "x",
        "judge": "j",
        "factual_accuracy": 4,
        "factual_errors": [{"issue": "no"}],
    }
    (judgment,) = table(row, experiment=FAITH).judgments(rubric())
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.details == {"errors": '[{"issue": "no"}]'}
    assert (judgment.outcome.raw_score, judgment.provenance.model) == (4.0, "j")


def test_a_long_table_with_repeats_counted_from_one_and_parquet() -> None:
    rows = [
        {
            "item": "t",
            "judge": "j",
            "criterion": "nli",
            "score": 0.25 * n,
            "repeat": n,
            "system": "s",
        }
        for n in (1, 2)
    ]
    found = table(*rows)
    assert outcomes(found) == {("t", "j", "nli", 0): 0.25, ("t", "j", "nli", 1): 0.5}
    assert found.load()[0].inputs == {"item": "t"}
    pd.DataFrame({"case": ["a"], "system": ["x"], "nli": [0.5]}).to_parquet("t.parquet")
    assert outcomes(dataset(Path("t.parquet"), FAITH)) == {("a", "nli", "nli", 0): 0.5}


def test_several_files_are_joined_by_item_and_by_case(tmp_path: Path) -> None:
    judge = {
        "case": "a",
        "model": "x",
        "judge": "j",
        "factual_accuracy": 5,
        "completeness": 5,
    }
    put(tmp_path / "1.jsonl", [judge])
    put(
        tmp_path / "2.jsonl",
        [{"case": "a", "model": "x", "text": "Two words", "rouge1_f": 0.3}],
    )
    put(tmp_path / "3.jsonl", [{"case": "a", "reference_summary": "What was held."}])
    again = {
        "retest": {"factual_accuracy": 1, "completeness": 1},
        "retest_parse_error": False,
    }
    put(tmp_path / "4.jsonl", [{"case": "a", "model": "x", "judge": "j"} | again])
    quotes = [
        {"case": "a", "model": "x", "judge": "j", "omission": each}
        for each in ("dissent", "vote")
    ]
    put(tmp_path / "taxonomy_omissions.jsonl", quotes)
    for given in (tmp_path, [str(path) for path in sorted(tmp_path.iterdir())]):
        found = dataset(given, FAITH)
        (item,) = found.load()
        assert item.inputs == {"summary": "Two words", "reference": "What was held."}
        assert item.metadata == {"system": "x", "rouge1_f": 0.3}
        assert {key[2:]: score for key, score in outcomes(found).items()} == {
            ("factual_accuracy", 0): 1.0,
            ("completeness", 0): 1.0,
            ("factual_accuracy", 1): 0.2,
            ("completeness", 1): 0.2,
        }
        first = found.judgments(rubric())[0].outcome
        assert isinstance(first, Verdict)
        assert json.loads(str(first.details["omissions"])) == [
            {"omission": "dissent"},
            {"omission": "vote"},
        ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"judge": "j", "nli": 1}],
            r"no column with the ids.*dataset\.columns\.id=COLUMN",
        ),
        (
            [{"case": "a", "words": 3}],
            r"which column holds the verdicts.*dataset\.columns\.judge=words",
        ),
        (
            [{"case": "a", "completeness": 1, "failed": "perhaps"}],
            r"t\.jsonl:1: `failed` is 'perhaps'.*true or false",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_the_setting(
    rows: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises((ConfigError, DataError), match=said):
        table(*rows, experiment=FAITH).load()


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        # a score of the text that differs between judges' rows
        (
            [
                {"case": "a", "judge": judge, "nli": score}
                for judge, score in (("j", 0.1), ("k", 0.2))
            ],
            "verdicts",
        ),
        ([{"case": "a", "judge": "j", "completeness": n} for n in (1, 2)], "verdicts"),
        (
            [
                {"case": "a", "judge": j, "nli": 1, "label": n}
                for n, j in enumerate("jk")
            ],
            "labels",
        ),
    ],
)
def test_what_contradicts_itself_does_not_count_and_is_said(
    rows: list[dict[str, Any]], key: str
) -> None:
    found = table(*rows, experiment=FAITH)
    said = {note.key: note.values for note in (found.load(), found.read)[1]}
    assert said[f"table.contradicting_{key}"]["places"] == [
        f"t.jsonl:{n}" for n in (1, 2)
    ]
    assert (
        set(outcomes(found).values()) == {"unparseable"}
        if key == "verdicts"
        else not found.load()[0].labels
    )


def test_paths_and_scales_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a folder without a table"):
        dataset(tmp_path)
    with pytest.raises(ConfigError, match=r"does not exist"):
        dataset(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(WIDE)
    with pytest.raises(
        ConfigError, match=r"dataset\.scales\.nli\.ends.*lower end first"
    ):
        dataset(tmp_path / "t.csv", scales={"nli": {"ends": [1, 0]}})


@pytest.mark.parametrize("values", [(1, 2, 4, 5), (1, 4, 7), (0, 1), (0, 1, 5, 10)])
def test_scores_that_reach_the_ends_of_another_scale_are_mapped(
    values: tuple[int, ...],
) -> None:
    """Taken for points of 0 to 100, five stars would be five points; labels of a dataset are read
    like this, too."""
    rows = [
        {"item": f"i{n}", "judge": "j", "score": values[n % len(values)]}
        for n in range(20)
    ]
    assert {0.0, 100.0} < set(scored(table(*rows))) | {50.0}
    meant = table(*rows, scales={"overall": {"ends": [0, 100]}})
    assert scored(meant) == [float(row["score"]) for row in rows]


@pytest.mark.parametrize("values", [(2, 3), (1, 2, 3, 6)])
def test_scores_that_seem_to_be_on_another_scale_are_asked_about(
    values: tuple[int, ...],
) -> None:
    rows = [
        {"item": f"i{n}", "judge": "j", "score": values[n % len(values)]}
        for n in range(20)
    ]
    said = (
        r"t\.jsonl: all 20 scores lie between .*scales\.overall=\{ends: \[1,(5|7)\]\}.*\{ends:"
        r" \[0,100\]\}"
    )
    with pytest.raises(DataError, match=said):
        table(*rows).judgments(shame())
    assert scored(table(*rows, scale="1-11"))[0] == 10.0 * (values[0] - 1)


def test_labels_are_on_the_scale_of_the_verdicts_and_may_be_turned() -> None:
    rows = [{"id": n, "score": n % 10 + 1, "target": 3 + n % 7} for n in range(40)]
    for scale, wanted in (
        (None, 200 / 9),
        ([1, 10], 200 / 9),
        ([10, 1], 700 / 9),
        ("1-10", 200 / 9),
    ):
        found = table(*rows, label_scale=scale)
        assert read_labels(found.load(shame()), shame()).items[
            0
        ].label == pytest.approx(wanted)
        assert scored(found)[:10] == pytest.approx([n * 100 / 9 for n in range(10)])


def test_a_score_off_the_scale_of_the_others_fails() -> None:
    rows = [
        {"item": f"i{n}", "judge": "j", "score": 250 if n == 3 else 5 * n}
        for n in range(20)
    ]
    assert [
        each.outcome.reason
        for each in table(*rows).judgments(shame())
        if isinstance(each.outcome, Failure)
    ] == ["off_scale"]


def test_good_scores_are_taken_as_they_are() -> None:
    for values in ((0, 0), (0, 100), (3, 11), (1, 60)):
        rows = [
            {"item": f"i{n}", "judge": "j", "score": values[n % 2]} for n in range(20)
        ]
        assert scored(table(*rows)) == [float(row["score"]) for row in rows]


def test_labels_of_people_become_those_of_the_items() -> None:
    rows = [
        {
            "item": "a",
            "judge": "j",
            "criterion": "completeness",
            "score": 4,
            "label": 3,
            "rater": r,
        }
        for r in "xy"
    ]
    found = table(
        rows[0],
        {**rows[1], "judge": "k", "label": 5},
        {"item": "b", "judge": "j", "score": 2, "label": 1},
    )
    labels = {item.id: item.labels for item in found.load()}
    assert labels == {
        "a": {"completeness": {"x": 3, "y": 5}},
        "b": {"overall": {"label": 1}},
    }


def test_columns_with_other_names_and_decimal_commas_are_read_and_said() -> None:
    Path("t.csv").write_bytes(
        "exemplo;juíza;critério;nota\na;j;tom;0,5\nb;j;tom;1\n".encode("cp1252")
    )
    found = dataset(Path("t.csv"))
    assert outcomes(found) == {("a", "j", "tom", 0): 0.5, ("b", "j", "tom", 0): 1.0}
    words = Words("en", [TEXTS])
    said = " ".join(map(words.say, found.read))
    assert (
        "t.csv is not UTF-8" in said
        and "read as judges (`dataset.columns.judge`)" in said
    )
    assert (
        "`dataset.columns.id=exemplo`" in said
        and "`dataset.columns.criterion=criterio`" in said
    )
    # as it says that they are typed
    columns = {
        "id": "exemplo",
        "criterion": "criterio",
        "judge": "juiza",
    }
    assert outcomes(dataset(Path("t.csv"), columns=columns)) == outcomes(found)


def test_columns_are_recognised_where_none_are_named() -> None:
    rows = [
        {
            "texto": f"texto {n}",
            "nota": n % 5 + 1,
            "juiz": (n + 1) % 5 + 1 if n else None,
        }
        for n in range(10)
    ]
    found = table(*rows)
    items = found.load()
    assert [item.inputs["text"] for item in items] == [row["texto"] for row in rows]
    assert [item.labels["overall"]["nota"] for item in items] == [
        row["nota"] for row in rows
    ]
    said = outcomes(found)
    assert said[items[0].id, "juiz", "overall", 0] == "unparseable"
    # 3 of 1 to 5, on a rubric from 0 to 1
    assert said[items[1].id, "juiz", "overall", 0] == pytest.approx(0.5)
    with pytest.raises(DataError, match="unordered"):
        table(
            *({"id": n, "judge": "xyz"[n % 3] * 3, "label": "xxx"} for n in range(9))
        ).load()


@pytest.mark.parametrize(
    ("judge", "verdict", "label", "said"),
    [
        (
            "nobody",
            None,
            None,
            "dataset.columns.judge is 'nobody', which is no column.",
        ),
        (
            ["score", "grade"],
            "score",
            None,
            "with dataset.columns.verdict, dataset.columns.judge names",
        ),
        (
            "score",
            None,
            None,
            "Type dataset.columns.label=gold_ana_said or dataset.columns.label=manual_check",
        ),
    ],
)
def test_a_doubt_of_a_run_names_settings(
    judge: Any, verdict: Any, label: Any, said: str
) -> None:
    rows = [
        {
            "id": n,
            "score": n % 5,
            "grade": n % 5,
            "gold ána said": n % 4,
            "manual_check": n % 3,
        }
        for n in range(20)
    ]
    named = {
        role: [given] if isinstance(given, str) else given
        for role, given in (("judge", judge), ("verdict", verdict), ("label", label))
        if given is not None
    }
    with pytest.raises(ConfigError) as error:
        table(*rows, columns=named).load()
    assert said in str(error.value) and "--" not in str(error.value)


def test_a_value_that_looks_like_an_option_stays_as_it_is_written() -> None:
    """Only what a door spells is an option: an id in a sentence of a run is none."""
    rows = [{"id": "--judge x", "judge": "j", "score": n} for n in (1, 2)]
    rows += [{"id": f"i{n}", "judge": "j", "score": n % 5} for n in range(9)]
    found = table(*rows)
    found.load()
    said = " ".join(map(Words("en", [TEXTS], strict=True).say, found.read))
    assert "(e.g. --judge x: t.jsonl:1, t.jsonl:2)" in said
    assert "(`dataset.columns.repeat`)" in said
