"""Several analyses of one run: the suite, lists, `none`; and what a file can hold too much of to be
compared."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import put, typed
from tests.examinations.builders import (
    Reading,
    analysed,
    configured,
    grouped_run,
    labelled_run,
    paired_run,
    refuses,
)
from tests.examinations.conftest import words_of
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.config.messages import combined
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import MOST_GROUPS, Unsuited
from undogmatic.examinations.calibration import CalibrationAnalysis
from undogmatic.examinations.labelled import LabelledAnalysis
from undogmatic.examinations.plan import so_far
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.variance import VarianceAnalysis
from undogmatic.records.rubric import Rubric, Wording

SUITE = configured("suite")
PAIRS = {
    "authority_only": [80.0, 70, 90, 85, 75, 60],
    "explained_only": [20.0, 30, 10, 40, 25, 5],
}


def suite(judged: RunEvidence) -> list[Reading]:
    return [Reading(result) for result in SUITE(judged, np.random.default_rng(0))]


def left_out(told: Reading) -> list[Mapping[str, Any]]:
    return [
        finding.values
        for finding in told.result.findings
        if finding.key == "suite.left_out"
    ]


def test_the_suite_runs_what_suits_with_the_numbers_it_has_alone_and_names_the_rest() -> (
    None
):
    own, *results = suite(paired_run(PAIRS))
    assert [told.result.name for told in results] == ["ab", "costs"]
    assert own.numbers == {"run": 1, "left_out": 3}
    assert [values["analysis"] for values in left_out(own)] == [
        "controls",
        "adversarial",
        "labelled",
    ]
    reasons = [words_of("pt").say(values["reason"]) for values in left_out(own)]
    assert (
        all(reason.startswith("precisa de textos com") for reason in reasons)
        and "“humilde”, “neutro”" in reasons[0]
    )
    assert results[0].numbers == analysed("ab", paired_run(PAIRS)).numbers
    groups = {
        "humble": [5.0, 10, 15],
        "hubristic": [90.0, 95, 85],
        "attack:a": [20.0, 30],
    }
    assert [told.result.name for told in suite(grouped_run(groups))] == [
        "suite",
        "controls",
        "adversarial",
        "costs",
    ]


def test_a_dataset_that_suits_nothing_is_described_and_told_why_and_a_mistake_is_none() -> (
    None
):
    judged = grouped_run({"my own": [1.0, 2.0]})
    SUITE.check(judged)
    own, description, _ = suite(judged)
    assert (own.of("run left_out"), description.result.name) == ([0, 4], "none")
    assert [
        values["analysis"] for values in left_out(own)
    ] == "ab controls adversarial labelled".split()
    assert description["mean"] == 1.5
    with pytest.raises(DataError, match="pair 'p0'"):
        suite(
            paired_run({"authority_only": [None, 80.0], "explained_only": [20.0, 30.0]})
        )


def test_none_describes_all_texts_and_each_condition() -> None:
    told = analysed(
        "none", grouped_run({"a": [0.0, 10, 20, 30, 40], "b": [100.0, "refusal"]})
    )
    table = told.tables["scores"].set_index("condition")
    assert table.loc["total", ["n", "failed", "minimum", "maximum"]].tolist() == [
        6,
        1,
        0,
        100,
    ]
    assert table.loc["a", ["p5", "q1", "median", "q3", "p95"]].tolist() == [
        2,
        10,
        20,
        30,
        38,
    ]
    assert table.loc["b", "failed"] == 1
    assert (told.result.verdict, told.headline, told["mean"]) == (
        None,
        None,
        pytest.approx(200 / 6),
    )
    assert told.says["analyses.groups_not_drawn"]["groups"] == ["b"]
    assert told.says["analyses.failed"] == {"n": 1, "total": 7, "where": "b: refusal 1"}


def test_none_takes_texts_without_condition_and_has_nothing_to_say_where_nothing_was_judged() -> (
    None
):
    told = analysed(
        "none", labelled_run([(None, score, {}) for score in (0.0, 10, 20)])
    )
    assert (told.tables["scores"]["condition"].tolist(), told.says["summary"]["n"]) == (
        ["total"],
        3,
    )
    nothing = analysed("none", grouped_run({"a": ["refusal", "refusal"]}))
    assert (nothing.tables, list(nothing.drawings)) == ({}, [])
    assert nothing.says["analyses.too_few"] == {
        "figure": "histogram",
        "present": 0,
        "needed": 3,
    }


def test_categories_without_an_order_are_counted_and_nothing_else_is_done_with_them() -> (
    None
):
    scale = {"kind": "unordered", "categories": ["claim", "reason", "other"]}
    kinds = Rubric(
        name="kinds",
        scale=scale,
        wordings={"en": Wording(definition="d", question="q")},
    )  # type: ignore[arg-type]
    made: list[dict[str, Any]] = [
        {"category": category} for category in ("claim", "reason", "claim")
    ]
    rows = [*((None, None, fields) for fields in made), (None, "refusal", {})]
    judged = RunEvidence(labelled_run(rows, condition="humble").frame, kinds)  # type: ignore[arg-type]
    own, told, _ = suite(judged)
    assert own["run"] == 0
    counted = (
        told.tables["categories"]
        .set_index("condition")
        .loc["humble", ["category", "n"]]
        .to_numpy()
        .tolist()
    )
    assert counted == [["claim", 2], ["reason", 1], ["other", 0]]
    assert told.of("share.claim judged failed") == pytest.approx([2 / 3, 3, 1])
    assert told.says["most"]["category"] == "claim"
    named = r"rubric=kinds are categories .*\(claim / reason / other\).*analysis=none"
    for name in (
        "ab",
        "adversarial",
        "calibration",
        "conformal",
        "controls",
        "few_labels",
        "reliability",
    ):
        refuses(Unsuited, named, name, judged)


def test_a_stopped_run_says_the_mean_of_all() -> None:
    scores = np.random.default_rng(1).uniform(0, 100, 60).tolist()
    found = analysed("none", grouped_run({"a": [*scores, *["budget"] * 20]})).says[
        "so_far"
    ]
    assert (found["n"], found["total"], found["mean"]) == (
        60,
        80,
        pytest.approx(np.mean(scores)),
    )
    low, high = found["interval"]
    assert low < np.mean(scores) < high < low + 25


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        # What a continued run would not mend is no text to come.
        (grouped_run({"a": [10.0, 20, "refusal", 30, "timeout"]}), (3, 4, 20)),
        (grouped_run({"a": [10.0, 20, "refusal"]}), None),
        # The second condition is wholly among the texts to come: what was judged says nothing of
        # it.
        (grouped_run({"a": [10.0, 20, 30], "b": ["budget"] * 3}), None),
        # A pair counts when both its texts are judged.
        (
            paired_run(
                {"a": [10.0, 20, 30, "budget"], "b": [20.0, 40, "budget", "budget"]}
            ),
            (4, 8, 22.5),
        ),
    ],
)
def test_what_is_said_of_texts_to_come(
    judged: RunEvidence, expected: tuple[float, ...] | None
) -> None:
    found = so_far(judged.frame, judged.rubric)
    of = (
        None
        if found is None
        else (found.estimate.n, found.n_total, found.estimate.value)
    )
    assert of == (expected and pytest.approx(expected))


GROUPS = {"humble": [5.0, 10, 20], "hubristic": [80.0, 90, 95]}


def test_each_gives_the_numbers_it_gives_alone_and_the_first_headline_counts() -> None:
    judged = grouped_run(GROUPS)
    judged.frame["label"] = judged.frame["score"] + np.arange(6)
    node = compose_config(["analysis=[labelled,controls]"])["analysis"]
    both = build(node, "analysis")(judged, np.random.default_rng(0))
    assert [result.name for result in both] == ["labelled", "controls"]
    assert [Reading(result).numbers for result in both] == [
        analysed(each.name, judged).numbers for each in both
    ]


def test_the_keys_of_each_are_set_by_its_name() -> None:
    node = compose_config(
        ["analysis=[labelled, calibration]", "analysis.labelled.level=0.9"]
    )["analysis"]
    assert (node["labelled"]["level"], node["calibration"]["level"]) == (0.9, 0.95)
    with pytest.raises(
        ConfigError,
        match=r"`analysis.labelled.levl` .* Did you mean analysis.labelled.level=0.9\?",
    ):
        compose_config(
            ["analysis=[labelled,calibration]", "analysis.labelled.levl=0.9"]
        )
    with pytest.raises(
        ConfigError,
        match=r"typed analysis=\[labelled,contrls\]\). Did you mean .*,controls\]\?",
    ):
        compose_config(["analysis=[labelled,contrls]"])
    for old in ("explained", "naked"):
        with pytest.raises(ConfigError, match=rf"`analysis.{old}` is not a known key"):
            compose_config(["analysis=adversarial", f"analysis.{old}=[a]"])
    with pytest.raises(ConfigError, match="suite, which includes labelled"):
        build(compose_config(["analysis=[suite,labelled]"])["analysis"], "analysis")


def test_other_words_stay_as_they_were_typed() -> None:
    words = [
        "-m",
        "analysis=[labelled,controls],ab",
        "analysis.against=[a,b]",
        "model=patterns,tfidf",
    ]
    assert combined(words) == ["-m", "analysis=labelled+controls,ab", *words[2:]]


def test_a_sweep_over_lists_and_the_command_that_a_report_names(tmp_path: Path) -> None:
    texts = [
        {
            "id": f"{name}{n}",
            "text": f"Porque sim, Tema {n}.",
            "condition": name,
            "label": score,
        }
        for name, scores in GROUPS.items()
        for n, score in enumerate(scores)
    ]
    put(tmp_path / "texts.jsonl", texts)
    words = [
        "model=patterns",
        "tracking=none",
        "dataset=texts",
        "dataset.path=texts.jsonl",
        "hydra.sweep.dir=swept",
    ]
    ended = typed(
        "undogmatic.run",
        "-m",
        *words,
        "analysis=[labelled,controls],none",
        folder=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    report = (tmp_path / "swept" / "0" / "report.md").read_text(encoding="utf-8")
    for name in ("labelled", "controls"):
        assert f"\n## {words_of('en').text(f'{name}.title')}\n" in report
    assert "analysis=labelled+controls" in report
    assert combined(["analysis=labelled+controls"]) == ["analysis=labelled+controls"]
    assert (tmp_path / "swept" / "1" / "metrics.json").is_file()


def with_conditions(names: list[str]) -> RunEvidence:
    """Two labelled texts per condition."""
    conditions = [name for name in names for _ in range(2)]
    return labelled_run(
        [
            (50.0, float(n % 100), {"condition": name})
            for n, name in enumerate(conditions)
        ]
    )


def attacks(n: int) -> RunEvidence:
    return with_conditions(["explained_only", *(f"attack:{k}" for k in range(n))])


MANY = with_conditions([f"c{n}" for n in range(MOST_GROUPS + 1)])


def test_more_groups_than_can_be_compared_are_refused_before_judging() -> None:
    for name in ("adversarial", "suite"):
        refuses(
            DataError,
            "takes the texts apart by `condition`, which has 2000 different values",
            name,
            attacks(2000),
        )
    by_condition = (
        r"51 different values .*'c0', 'c1', 'c2', \.\.\.\).* set analysis.by=null"
    )
    refuses(DataError, by_condition, "conformal", MANY)
    bands = {f"c{n}": [0.0, 50.0] for n in range(MOST_GROUPS + 1)}
    refuses(
        DataError,
        "analysis=controls takes the texts apart",
        "controls",
        MANY,
        bands=bands,
        worst="c0",
    )


def test_as_many_as_can_be_compared_are_taken_and_any_number_without_groups() -> None:
    for name in ("adversarial", "suite"):
        configured(name).check(attacks(MOST_GROUPS))
    configured("conformal", by=None).check(MANY)
    configured("conformal").check(
        with_conditions([f"c{n}" for n in range(MOST_GROUPS)])
    )
    outputs = [f"outputs/{n}" for n in range(MOST_GROUPS)]
    refuses(
        ConfigError,
        r"`analysis\.against` .* at most 49 items",
        "reliability",
        against=outputs,
    )


def test_two_texts_of_a_pair_in_one_condition_are_no_pair_of_every_two() -> None:
    """Joined, 10,000 texts of one pair id would make 25 million rows."""
    conditions = ["authority_only", "explained_only"] * 20
    judged = labelled_run(
        [(1.0, 1.0, {"pair": "p", "condition": condition}) for condition in conditions]
    )
    refuses(
        DataError, "pair 'p' has authority_only more than once", "few_labels", judged
    )


def test_many_conditions_are_described_and_drawn_as_one() -> None:
    found, few = (
        analysed("none", judged)
        for judged in (MANY, with_conditions(["a"] * 2 + ["b"] * 2))
    )
    assert len(found.tables["scores"]) == 1 + MOST_GROUPS + 1
    assert [list(told.drawings[0].data["groups"]) for told in (found, few)] == [
        ["all"],
        ["a", "b"],
    ]


@pytest.mark.parametrize(
    ("analysis", "settings", "key"),
    [
        (LabelledAnalysis, {"level": 95}, "level"),
        (LabelledAnalysis, {"least": 1.0}, "least"),
        (LabelledAnalysis, {"margin": -1}, "margin"),
        (CalibrationAnalysis, {"resamples": 5}, "resamples"),
        (VarianceAnalysis, {"target": 0}, "target"),
    ],
)
def test_settings_off_their_limits_are_refused_in_python_too(
    analysis: Any, settings: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError, match=f"`analysis.{key}` is .*input should be"):
        analysis(**settings)
