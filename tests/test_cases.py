"""Small tables and logs on which the program was wrong, read by the command that people would type.

The cases lie outside the repository (`shared/cases`, with the right answer of each); without them
these tests are skipped. Each is of a kind, and `tests/datasets` has inputs of the same kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from undogmatic.cli.checked import checked
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations import gate
from undogmatic.records.checked import CheckResult
from undogmatic.records.evidence import Evidence
from undogmatic.report import card
from undogmatic.report.check import words_of

CASES = Path(__file__).parents[2] / "shared" / "cases"
REAL = "../data/real"


def paths(*names: str) -> list[str]:
    found = [CASES / name for name in names]
    if missing := [path for path in found if not path.is_file()]:
        pytest.skip(f"no reference data: {missing[0].name} of the cases")
    return [str(path) for path in found]


def read(*names: str, **options: Any) -> Evidence:
    return read_table(paths(*names), TableOptions(**options))


def asked(*names: str, **options: Any) -> str:
    with pytest.raises((ConfigError, DataError)) as error:
        read(*names, **options)
    return str(error.value)


def examined(*names: str, **options: Any) -> CheckResult:
    return checked(paths(*names), None, options, {})[0]


def agreement(*names: str, **options: Any) -> CheckResult:
    return examined(*names, only="agreement", **options)


def standing(result: CheckResult) -> str | None:
    (judge,) = result.judges
    return judge.standing


def number(result: CheckResult, name: str) -> float:
    (judge,) = result.judges
    return judge.numbers[name].value


def told(table: Evidence) -> dict[str, Any]:
    findings = (*table.read, *table.problems)
    return {found.key.removeprefix("table."): found.values for found in findings}


def shape(table: Evidence) -> tuple[str, Sequence[str], list[str], int, int]:
    """The kind, the judges, the people, and how many verdicts and labels there are."""
    people = list(table.labels["rater"].unique())
    given = int(table.verdicts["verdict"].notna().sum())
    return table.kind, list(table.judges), people, given, len(table.labels)


@pytest.mark.parametrize(
    ("file", "categories", "n"),
    [
        ("none_severity", ("none", "minor", "major"), 90),
        ("na_category", ("contradicted", "n/a", "supported"), 90),
        ("question_mark", ("?", "no", "yes"), 90),
        ("refusal_category", ("complied", "refused"), 90),
    ],
)
def test_a_word_that_both_sides_use_is_a_category(
    file: str, categories: tuple[str, ...], n: int
) -> None:
    table = read(f"{file}/verdicts.csv")
    assert table.categories == categories
    assert shape(table)[3:] == (n, n)


def test_a_declared_scale_names_its_categories() -> None:
    table = read("none_severity/verdicts.csv", scale="none<minor<major")
    assert (table.kind, shape(table)[3:]) == ("ordered", (90, 90))


def test_a_word_of_people_alone_that_makes_a_large_share_is_a_category() -> None:
    table = read("v_none_category/false_yes.csv")
    assert table.categories == ("full", "none", "partial")
    assert shape(table)[3:] == (180, 180)


def test_what_a_judge_abstains_from_is_missing_and_counted() -> None:
    table = read("m_abstentions/abst.csv")
    assert shape(table) == ("pass_fail", ["judge"], ["human"], 171, 200)
    assert told(table)["abstained"]["n"] == 29


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (
            "gpt4_confidence/verdicts.csv",
            ("numeric", ["gpt4_score"], ["human_score"], 80, 80),
        ),
        (
            "v_gpt_confidence/t.csv",
            ("pass_fail", ["gpt_label"], ["gold_label"], 120, 120),
        ),
    ],
)
def test_a_confidence_is_that_of_the_verdict_beside_it(file: str, shown: Any) -> None:
    table = read(file)
    assert shape(table) == shown
    assert table.verdicts["confidence"].notna().all()


def test_numbers_of_annotators_are_no_labels() -> None:
    table = read("rater_ids3/verdicts.csv")
    assert shape(table) == ("numeric", ["judge_verdict"], ["1", "2"], 60, 120)
    table = read("label_studio/judge.csv", "label_studio/mini.csv")
    assert shape(table) == ("pass_fail", ["judge_verdict"], ["1"], 60, 60)


def test_a_judge_may_be_called_anything() -> None:
    kind, judges, people, *_ = shape(read("new_models/verdicts.csv"))
    assert (kind, len(judges), people) == ("pass_fail", 7, ["human"])


def test_measurements_are_neither_verdicts_nor_labels() -> None:
    assert shape(read("lm_eval/samples_task_2026.jsonl"))[1:3] == (["judge_score"], [])
    judges, people = shape(read("langsmith/export.csv"))[1:3]
    # A log of LangSmith names no judge, and a feedback by its key.
    assert (judges, people) == (["feedback.correctness"], ["human_correctness"])


def test_what_repeats_the_verdict_is_no_rival() -> None:
    table = read("raw_answer/verdicts.csv")
    assert list(table.judges) == ["judge"]
    assert not [name for name in table.items if "raw_output" in str(name)]


def test_rows_that_sum_up_are_no_items() -> None:
    table = read("total_row/verdicts.csv")
    assert (len(table.items), table.scale) == (60, (1, 5))


@pytest.mark.parametrize("file", ["words", "out_of_four"])
def test_grades_in_words_and_out_of_a_most_are_numbers(file: str) -> None:
    table = read(f"{file}/verdicts.csv")
    assert (table.kind, shape(table)[3:]) == ("numeric", (80, 80))


def test_signs_of_yes_and_no_are_read() -> None:
    assert shape(read("emoji/verdicts.csv")) == (
        "pass_fail",
        ["judge"],
        ["human"],
        60,
        60,
    )


def test_a_zero_off_peoples_scale_is_asked_about() -> None:
    said = asked("zero_failed/verdicts.csv")
    assert "type --scale 1-5, if it is a grade: --scale 0-5" in said
    table = read("zero_failed/verdicts.csv", scale="1-5")
    assert told(table)["off_scale"]["n"] == 8


def test_both_orders_in_two_columns_are_one_judge() -> None:
    table = read("both_orders_wide/pairs.csv")
    assert shape(table) == ("pairwise", ["judge"], ["human"], 120, 60)
    by_order = table.verdicts.pivot(index="item", columns="order", values="verdict")
    turned = (by_order["as_given"] != by_order["swapped"]).mean()
    assert 0.2 < turned < 0.5


def test_zero_among_choices_is_a_tie() -> None:
    table = read("v_pairs_012/testset.json", "v_pairs_012/gpt.json")
    people = ["annotator1", "annotator2", "annotator3"]
    assert shape(table) == ("pairwise", ["gpt_result"], people, 150, 450)
    assert table.categories == ("1", "2", "tie")


def test_files_of_trec_are_read() -> None:
    table = read("v_qrels/judge.txt", "v_qrels/nist.txt")
    assert (table.kind, len(table.items), table.items["group"].nunique()) == (
        "numeric",
        120,
        20,
    )
    assert (len(table.judges), len(table.labels)) == (1, 120)
    for file in ("judge", "nist"):
        assert len(read(f"v_qrels/{file}.txt").items) == 120


def test_ids_that_come_again_ask_for_the_other_id() -> None:
    said = asked("v_id_repeats/t.csv")
    assert said.endswith("If both together are the id: --item id,passage_id.")
    table = read("v_id_repeats/t.csv", item="id,passage_id")
    assert shape(table) == ("numeric", ["O_score"], ["nist_judgment"], 120, 120)


def test_what_all_texts_share_ties_nothing_together() -> None:
    groups = [
        read(f"shared_preamble/{file}.csv").items["group"].nunique()
        for file in ("verdicts", "without_preamble")
    ]
    assert abs(groups[0] - groups[1]) <= 5
    assert groups[0] > 20
    assert read("v_shared_prefix/t.csv").items["group"].nunique() == 60
    people = ("ann_maria", "ann_joe", "ann_li")
    with_prompt, without = (
        read(f"f_system_prompt/{file}.csv", human=people).items["group"].nunique()
        for file in ("real_sys", "real")
    )
    assert with_prompt == without


def test_a_typed_group_is_final() -> None:
    table = read("shared_preamble/verdicts.csv", group="question")
    assert table.items["group"].nunique() == 120
    none = read("shared_preamble/verdicts.csv", group="none")
    assert none.items["group"].nunique() == 120
    assert "group_none" in told(none)


def test_columns_of_annotators_are_people_without_being_named() -> None:
    table = read("f_system_prompt/real.csv")
    assert shape(table)[2:] == (["ann_maria", "ann_joe", "ann_li"], 150, 450)
    assert shape(read("f_system_prompt/real.csv", human=("ann_maria,ann_joe",)))[
        3:
    ] == (150, 300)


def test_the_label_is_never_offered_as_the_judge() -> None:
    """Rows that lie within rows, in either order, are read; what people said is no judge."""
    table = read("v_nested_pairs/result.json")
    assert list(table.judges) == ["winner"] and "label" in set(table.labels["rater"])


def test_labels_without_ids_are_joined_by_row() -> None:
    table = read("f_label_without_ids/noid.csv", "f_label_without_ids/noid.labels.csv")
    assert shape(table) == ("pass_fail", ["verdict"], ["ana"], 150, 60)


def test_an_object_of_objects_is_a_table_of_its_keys() -> None:
    table = read("keyed_by_id/verdicts.json")
    assert shape(table) == ("pass_fail", ["judge"], ["human"], 60, 60)


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("none_severity/verdicts.csv", "weighted_kappa", 0.76),
        ("refusal_category/verdicts.csv", "kappa", 0.89),
        ("v_none_category/false_yes.csv", "kappa", 0.425),
        ("m_abstentions/abst.csv", "kappa", 0.81),
    ],
)
def test_the_agreement_is_that_of_all_categories(
    file: str, name: str, value: float
) -> None:
    result = agreement(file)
    found = {
        key: estimate.value
        for key, estimate in result.judges[0].numbers.items()
        if key.rpartition(".")[2].endswith(name)
    }
    assert any(abs(each - value) < 0.006 for each in found.values()), found


@pytest.mark.parametrize(
    ("file", "kind", "judges", "people", "groups"),
    [
        ("cebab_stars.csv", "numeric", 6, 10, None),
        ("cebab_aspects.csv", "unordered", 6, 10, None),
        ("wax.csv", "unordered", 6, 8, 246),
        ("lesion.csv", "numeric", 4, 6, 100),
        ("umass_v1.csv", "pass_fail", 11, 1, 400),
        ("babe_test.csv", "pass_fail", 7, 1, None),
    ],
)
def test_public_tables_are_read_at_the_first_command(
    file: str, kind: str, judges: int, people: int, groups: int | None
) -> None:
    table = read(f"{REAL}/{file}")
    assert (table.kind, len(table.judges)) == (kind, judges)
    assert table.labels["rater"].nunique() == people
    if groups is not None:
        assert table.items["group"].nunique() == groups


def test_two_files_of_choices_are_joined() -> None:
    files = (
        f"{REAL}/pandalm/{name}-testset-v1.json"
        for name in ("gpt-3.5-turbo", "pandalm-7b")
    )
    for file in files:
        table = read(f"{REAL}/pandalm/testset-v1.json", file)
        assert (table.kind, len(table.judges), len(table.labels)) == (
            "pairwise",
            1,
            3 * 999,
        )


IN_SAMPLE = {
    "judge": ("judge_llm",),
    "human": ("human",),
    "text": ("text",),
    "item": "item_id",
    "kind": "ordered",
    "scale": "0-3",
    "group": "topic",
}


@pytest.mark.parametrize(
    ("file", "advantage"), [("t0", 0.711), ("t2", 0.739), ("t5", 0.650)]
)
def test_ties_count_as_the_authors_of_the_annotator_test_count_them(
    file: str, advantage: float
) -> None:
    result = examined(f"v_alt_ties/{file}.csv", only="alternative_annotator")
    assert number(result, "people.advantage") == pytest.approx(advantage, abs=5e-4)


def test_a_good_judge_is_believed_where_the_words_say_nothing() -> None:
    result = examined("v_in_sample_list/t.csv", **IN_SAMPLE)
    assert standing(result) == "supported"
    assert number(result, "surface.at_equal") == pytest.approx(0.6, abs=0.05)


def test_a_judge_that_says_the_mean_of_people_is_not_told_to_be_converted() -> None:
    """Its grades lie nearer to the middle than single people's, as a mean does."""
    result = examined("m_calibrated/calibrated_5.csv", human=("ana,ben",))
    assert standing(result) == "supported"
    (judge,) = result.judges
    said = {found.key for found in judge.findings}
    assert "kinds.grades_bias_no_margin" in said
    assert not said & {"kinds.grades_grades", "kinds.grades_bias"}
    assert abs(number(result, "agreement.bias")) < 0.05


def test_a_judge_that_says_the_share_of_raters_is_as_good_as_people_can_be() -> None:
    result = examined("m_ceiling/dist.csv")
    assert standing(result) == "supported"
    assert number(result, "people.difference") > 0
    (judge,) = result.judges
    assert "people.ceiling_better" in {found.key for found in judge.findings}


@pytest.mark.parametrize(
    ("file", "lost", "n"),
    [("half_broken.jsonl", 100, 200), ("half_ragged.csv", 80, 160)],
)
def test_rows_that_cannot_be_read_are_missing_verdicts(
    file: str, lost: int, n: int
) -> None:
    result = examined(f"h_unreadable_rows/{file}")
    (judge,) = result.judges
    kappa = judge.numbers["agreement.kappa"]
    assert standing(result) != "supported"
    assert (result.table.unread, kappa.n) == (lost, n)
    # With half of the verdicts lost, the agreement may be below the limit whatever the others say.
    assert kappa.worst is not None and kappa.worst < 0.4 < kappa.low
    (made,) = card.cards_of(result, words_of("en"), {}, days=180).values()
    demanded = gate.GateConfig(
        figures={"agreement.kappa": gate.Threshold(at_least=0.4)}
    )
    assert gate.hold(gate.of_card(made), demanded).outcome == "undecided"


def test_the_same_rows_repaired_are_a_coin() -> None:
    result = examined("h_unreadable_rows/half_whole.jsonl")
    assert standing(result) == "refuted"
    assert abs(number(result, "agreement.kappa")) < 0.1


def test_odd_workbooks_and_documents_are_read_or_named() -> None:
    whole = ("pass_fail", ["judge"], ["human_ana", "human_ben"], 40, 80)
    for file in ("cell32767.xlsx", "far_cell.xlsx", "pandas_default.json"):
        assert shape(read(f"h_odd_files/{file}")) == whole
    assert told(read("h_odd_files/far_cell.xlsx"))["strays"]["cells"] == ["XFD1048576"]
    for file in ("flip4.xlsx", "z_trunc_sheet.xlsx"):
        assert f"{file}: not a workbook that can be read" in asked(
            f"h_odd_files/{file}"
        )


def test_a_key_that_stands_twice_in_an_object_is_a_fault_of_that_row() -> None:
    table = read("h_odd_files/j_dupkeys_arr.json")
    assert (shape(table)[3:], table.unread) == ((20, 40), 20)
    said = [words_of("en").say(found) for found in table.problems]
    assert any("the key 'judge' stands a second time" in each for each in said)


def test_long_words_are_examined() -> None:
    result = examined("h_long_words/t.csv")
    assert (standing(result), len(result.table.items)) == ("undecided", 40)


def test_both_orders_of_a_pair_are_one_item_though_a_column_names_them() -> None:
    table = read("f_pairs_both_orders/pref.csv")
    assert shape(table) == ("pairwise", ["winner"], ["human"], 720, 360)
    assert len(table.items) == 360
    result = agreement("f_pairs_both_orders/pref.csv", item="question_id")
    assert 0.2 < number(result, "agreement.pairwise_kappa") < 0.45


@pytest.mark.parametrize(
    ("files", "kind", "judges", "given", "labels"),
    [
        (
            ("batch_brackets/out.jsonl", "batch_brackets/labels.csv"),
            "numeric",
            ["m"],
            80,
            80,
        ),
        (("batch_na/out.jsonl", "batch_na/labels.csv"), "pass_fail", ["m"], 60, 80),
        (("fenced_json/verdicts.csv",), "numeric", ["judge"], 80, 80),
        (("score_colon/verdicts.csv",), "numeric", ["judge"], 80, 80),
        (("deepeval_metadata/run.json",), "numeric", ["gpt-4o"], 30, 0),
        (("inspect_v1_score/log.json",), "pass_fail", ["score"], 30, 0),
        (("inspect_nan_dict/log.json",), "pass_fail", ["grade"], 70, 40),
        (("pf_old_v2/results.json",), "pass_fail", ["promptfoo's grader"], 60, 0),
        (("ragas_01/results.csv",), "numeric", ["ragas"], 113, 120),
    ],
)
def test_answers_and_logs_are_read_at_the_first_command(
    files: tuple[str, ...], kind: str, judges: list[str], given: int, labels: int
) -> None:
    table = read(*files)
    assert (table.kind, list(table.judges)) == (kind, judges)
    assert shape(table)[3:] == (given, labels)


def test_answers_that_all_mean_the_same_are_the_same_number() -> None:
    verdicts = read("batch_odd/out.jsonl").verdicts["verdict"]
    # One says 4,5, one nothing and one N/A.
    assert verdicts.dropna().value_counts().to_dict() == {4.0: 18, 4.5: 1}
    assert int(verdicts.isna().sum()) == 2


def test_members_of_a_set_of_assertions_are_judged_once() -> None:
    table = read("pf_assert_set/labelled.json", criterion="polite")
    assert shape(table)[3:] == (60, 60)


def test_every_case_is_here() -> None:
    paths("README.md")
    here = Path(__file__).read_text(encoding="utf-8")
    assert [
        case.name for case in CASES.iterdir() if case.is_dir() and case.name not in here
    ] == []


def test_labels_and_verdicts_keyed_by_sentences_are_joined() -> None:
    """Rater -> item -> label, as published, where the items are called by their texts."""
    files = (
        f"{REAL}/wax_as_published/{name}_annotations.json" for name in ("human", "llm")
    )
    table = read(*files)
    assert (table.kind, len(table.judges), table.labels["rater"].nunique()) == (
        "unordered",
        6,
        8,
    )
    assert (len(table.items), table.items["group"].nunique()) == (246, 246)
    of_table = read(f"{REAL}/wax.csv")
    assert len(table.labels) == len(of_table.labels)
