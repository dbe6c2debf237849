"""The suite runs what the dataset allows and says what not; `none` describes, and says what is known of all texts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analyses.builders import Said, analysed, configured, grouped_run, made_up, paired_run, verdict
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.analyses.plan import so_far
from undogmatic.errors import DataError
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric, Wording

SUITE = configured("suite")
PAIRS = {"authority_only": [80.0, 70, 90, 85, 75, 60], "explained_only": [20.0, 30, 10, 40, 25, 5]}


def test_the_suite_runs_what_suits_and_names_the_rest(said: Said) -> None:
    results = SUITE(paired_run(PAIRS), np.random.default_rng(0))
    assert [r.name for r in results] == ["suite", "ab", "costs"]
    assert results[0].metrics == {"suite.run": 1, "suite.left_out": 3}
    left_out = [f for f in results[0].findings if f.key == "suite.left_out"]
    assert [f.values["analysis"] for f in left_out] == ["controls", "adversarial", "labelled"]
    assert all(str(f.values["reason"]).startswith(f"analysis={f.values['analysis']}") for f in left_out)
    said(results[0])


def test_an_analysis_gives_the_same_numbers_alone_and_in_the_suite() -> None:
    groups = {"humble": [5.0, 10, 15], "hubristic": [90.0, 95, 85], "attack:a": [20.0, 30]}
    results = SUITE(grouped_run(groups), np.random.default_rng(3))
    assert [r.name for r in results] == ["suite", "controls", "adversarial", "costs"]
    together = SUITE(paired_run(PAIRS), np.random.default_rng(3))[1]
    (alone,) = SUITE.ab(paired_run(PAIRS), np.random.default_rng(3))
    assert together.metrics == alone.metrics


def test_a_mistake_in_the_data_is_not_taken_for_an_unsuited_dataset() -> None:
    with pytest.raises(DataError, match="pair 'p0'"):
        SUITE(paired_run({"authority_only": [None, 80.0], "explained_only": [20.0, 30.0]}), np.random.default_rng(0))


def test_a_dataset_that_suits_nothing_is_described_and_told_why() -> None:
    judged = grouped_run({"my own": [1.0, 2.0]})
    SUITE.check(judged)
    own, description, _ = SUITE(judged, np.random.default_rng(0))
    assert (own.metrics["suite.run"], own.metrics["suite.left_out"], description.name) == (0, 4, "none")
    assert [f.values["analysis"] for f in own.findings if f.key == "suite.left_out"] == [
        "ab",
        "controls",
        "adversarial",
        "labelled",
    ]
    assert description.metrics["none.mean"] == 1.5


def test_none_describes_all_texts_and_each_condition(said: Said) -> None:
    judged = grouped_run({"a": [0.0, 10, 20, 30, 40], "b": [100.0, "refusal"]})
    told = analysed("none", judged)
    table = told.tables["scores"].set_index("condition")
    assert table.loc["total", ["n", "failed", "minimum", "maximum"]].tolist() == [6, 1, 0, 100]
    assert table.loc["a", ["p5", "q1", "median", "q3", "p95"]].tolist() == [2, 10, 20, 30, 38]
    assert table.loc["b", "failed"] == 1
    assert (told.verdict, told.headline) == (None, None)
    assert told.metrics["none.mean"] == pytest.approx(200 / 6)
    found = said(told)
    assert found["analyses.groups_not_drawn"].values["groups"] == ["b"]
    assert found["analyses.failed"].values == {"n": 1, "total": 7, "where": "b: refusal 1"}


def test_none_takes_texts_without_condition(said: Said) -> None:
    judged = grouped_run({"a": [0.0, 10, 20]})
    judged.frame["condition"] = None
    told = analysed("none", judged)
    assert told.tables["scores"]["condition"].tolist() == ["total"]
    assert said(told)["none.summary"].values["n"] == 3


def test_none_has_nothing_to_say_where_nothing_was_judged(said: Said) -> None:
    told = analysed("none", grouped_run({"a": ["refusal", "refusal"]}))
    assert (told.tables, list(told.figures)) == ({}, [])
    assert said(told)["analyses.too_few"].values == {"figure": "histogram", "present": 0, "needed": 3}


def test_categories_without_an_order_are_counted_and_nothing_else_is_done_with_them(said: Said) -> None:
    scale = {"kind": "unordered", "categories": ["claim", "reason", "other"]}
    kinds = Rubric(name="kinds", scale=scale, wordings={"en": Wording(definition="d", question="q")})  # type: ignore[arg-type]
    given = ["claim", "reason", "claim", "refusal"]
    items = [Item(id=str(n), text=made_up(9, str(n)), condition="humble", label=0.0) for n in range(len(given))]
    judgments = [
        verdict(i.id, "refusal") if c == "refusal" else verdict(i.id, None, category=c)  # type: ignore[arg-type]
        for i, c in zip(items, given, strict=True)
    ]
    judged = LongTable(tabulate(items, judgments, 1), kinds)
    suite, description, _ = SUITE(judged, np.random.default_rng(0))
    assert suite.metrics["suite.run"] == 0
    table = description.tables["categories"]
    assert table[table["condition"] == "humble"][["category", "n"]].to_numpy().tolist() == [
        ["claim", 2],
        ["reason", 1],
        ["other", 0],
    ]
    assert description.metrics["none.share.claim"] == pytest.approx(2 / 3)
    assert (description.metrics["none.judged"], description.metrics["none.failed"]) == (3, 1)
    assert said(description)["none.most"].values["category"] == "claim"
    for name in ("ab", "adversarial", "calibration", "conformal", "controls", "few_labels", "labelled", "reliability"):
        with pytest.raises(Unsuited, match=r"rubric=kinds are categories .*\(claim / reason / other\).*analysis=none"):
            configured(name).check(judged)


def test_a_stopped_run_says_the_mean_of_all(said: Said) -> None:
    scores = np.random.default_rng(1).uniform(0, 100, 60).tolist()
    judged = grouped_run({"a": [*scores, *["budget"] * 20]})
    told = analysed("none", judged)
    found = said(told)["none.so_far"].values
    assert (found["n"], found["total"], found["mean"]) == (60, 80, pytest.approx(np.mean(scores)))
    low, high = found["interval"]
    assert low < np.mean(scores) < high
    assert high - low < 25


def test_what_a_continued_run_would_not_mend_is_no_text_to_come() -> None:
    judged = grouped_run({"a": [10.0, 20, "refusal", 30, "timeout"]})
    found = so_far(judged.frame, judged.rubric)
    assert found is not None and (found.estimate.n, found.n_total) == (3, 4)


def test_nothing_is_said_where_all_is_judged_or_the_order_follows_the_scores() -> None:
    whole = grouped_run({"a": [10.0, 20, "refusal"]})
    assert so_far(whole.frame, whole.rubric) is None
    # The second condition is wholly among the texts to come: what was judged says nothing of it.
    first = grouped_run({"a": [10.0, 20, 30], "b": ["budget"] * 3})
    assert so_far(first.frame, first.rubric) is None


def test_a_pair_counts_when_both_its_texts_are_judged() -> None:
    judged = paired_run({"a": [10.0, 20, 30, "budget"], "b": [20.0, 40, "budget", "budget"]})
    found = so_far(judged.frame, judged.rubric)
    assert found is not None
    assert (found.estimate.n, found.n_total, found.estimate.value) == (4, 8, pytest.approx(22.5))
