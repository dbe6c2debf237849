"""A run's judgments as evidence: its tables, whatever its scale, and what a check reads of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import (
    labelled_run,
    rated,
    repeated_run,
    rubric,
    verdict,
)
from undogmatic.examinations.check import check
from undogmatic.examinations.of_run import evidence_of
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import VERDICT_COLUMNS, Evidence
from undogmatic.records.records import Item, Judgment
from undogmatic.records.rubric import Rubric, Wording

KINDS = {"kind": "unordered", "categories": ["claim", "reason", "other"]}
GRADES = {"kind": "ordered", "categories": ["bad", "fair", "good"]}
YES_NO = {"kind": "ordered", "categories": ["no", "yes"]}


def of_categories(scale: Mapping[str, Any], direction: str | None) -> Rubric:
    wordings = {"en": Wording(definition="d", question="q")}
    made = {
        "name": "kinds",
        "scale": scale,
        "direction": direction,
        "wordings": wordings,
    }
    return Rubric.model_validate(made)


def run(
    said: Mapping[str, str | None], scale: Rubric, labels: Mapping[str, Any]
) -> RunEvidence:
    """Categories by item, None for a failure, and what people said of the items."""
    items = [
        Item(id=name, text=f"text {name}", labels=labels.get(name, {})) for name in said
    ]
    judgments: list[Judgment] = []
    for name, category in said.items():
        if category is None:
            judgments.append(verdict(name, "refusal"))
        else:
            place = float(scale.scale.read(category))
            score = place / 2 if scale.scale.ordered else None
            judgments.append(verdict(name, score, category=category))  # type: ignore[arg-type]
    known = {item.id: item for item in items}
    return RunEvidence(tabulate(items, judgments, 1), scale, known=known)


def test_numbers_are_verdicts_and_a_failure_says_why_there_is_none() -> None:
    judged = labelled_run([(40.0, 30.0, {}), (None, "refusal", {}), (90.0, 80.0, {})])
    assert isinstance(judged, Evidence) and tuple(judged.verdicts) == VERDICT_COLUMNS
    assert (judged.kind, judged.scale, judged.categories) == ("numeric", (0, 100), ())
    assert judged.verdicts["verdict"].tolist() == pytest.approx(
        [30, np.nan, 80], nan_ok=True
    )
    assert judged.verdicts["reason"].tolist() == [None, "refusal", None]
    assert (judged.judges, judged.criteria) == (["score"], ["overall"])
    assert judged.labels["item"].tolist() == ["i0", "i2"]
    assert judged.labels["label"].tolist() == [40, 90]


def test_of_categories_the_one_that_was_named_is_the_verdict_and_not_the_score() -> (
    None
):
    """A score may lie between two categories; here it is half of the place."""
    said = {"a": "good", "b": "bad", "c": None}
    judged = run(said, of_categories(GRADES, "higher_is_better"), {})
    assert judged.frame["score"].tolist() == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert judged.verdicts["verdict"].tolist() == pytest.approx(
        [2, 0, np.nan], nan_ok=True
    )
    assert judged.kind == "ordered" and judged.categories == ("bad", "fair", "good")
    without_order = run({"a": "other", "b": "claim"}, of_categories(KINDS, None), {})
    assert without_order.kind == "unordered"
    assert without_order.verdicts["verdict"].tolist() == [2, 0]


def test_each_person_has_a_row_and_where_only_a_mean_is_known_it_is_the_label() -> None:
    people = {"i0": {"overall": {"ana": 10.0, "rui": 30.0}, "tone": {"ana": 99.0}}}
    rows = labelled_run([(20.0, 30.0, {}), (50.0, 60.0, {})])
    judged = RunEvidence(rows.frame, rows.rubric, known=rated(people))
    assert judged.labels.to_numpy().tolist() == [
        ["i0", "overall", "ana", 10.0],
        ["i0", "overall", "rui", 30.0],
        ["i1", "overall", "unnamed", 50.0],
    ]
    assert judged.raters("overall") == ["ana", "rui", "unnamed"]


def test_tables_follow_the_rows() -> None:
    judged = repeated_run(
        [[10.0, 20, 30], [11.0, 21, 31]], said=[{"ana": 9.0}, {}, {"ana": 7.0}]
    )
    assert list(judged.repeats) == [1] and len(judged.verdicts) == 6
    later = judged.with_rows(judged.frame[judged.frame["item_id"] != "t0"])
    assert later.items.index.tolist() == ["t1", "t2"] and len(later.verdicts) == 4
    assert later.labels["label"].tolist() == [7.0]
    assert list(later.with_rows(later.first()).repeats) == []
    nothing = judged.with_rows(judged.frame[:0])
    assert list(nothing.repeats) == [] and nothing.labels.empty and nothing.items.empty


def test_it_is_asked_as_any_evidence_is() -> None:
    """What is chosen, ordered or changed of it is evidence like that of a file."""
    judged = labelled_run([(float(n), float(n % 7), {}) for n in range(20)])
    plain = Evidence(
        "numeric", judged.verdicts, judged.labels, judged.items, scale=(0, 100)
    )
    for made, same in (
        (judged.in_order(), plain.in_order()),
        (judged.without_texts(), plain.without_texts()),
        (judged.of("score", "overall").table, plain.of("score", "overall").table),
    ):
        assert type(made) is Evidence
        for table in ("verdicts", "labels", "items"):
            pd.testing.assert_frame_equal(getattr(made, table), getattr(same, table))
    view = judged.of("score", "overall")
    assert len(view.pairs()) == 20 and view.again().empty
    first, second = (check(each, CheckOptions()).judges[0] for each in (judged, plain))
    assert first.verdict == second.verdict and first.numbers == second.numbers


@pytest.mark.parametrize(
    ("direction", "categories", "passes"),
    [
        ("higher_is_better", ("no", "yes"), [1, 0, 1]),
        ("higher_is_worse", ("yes", "no"), [0, 1, 0]),
    ],
)
def test_of_two_categories_a_check_is_asked_which_passes(
    direction: str, categories: tuple[str, str], passes: list[float]
) -> None:
    labels = {"a": {"overall": {"ana": "yes"}}, "b": {"overall": {"ana": 0.0}}}
    judged = run(
        {"a": "yes", "b": "no", "c": "yes"}, of_categories(YES_NO, direction), labels
    )
    asked = evidence_of(judged)
    assert (asked.kind, asked.categories) == ("pass_fail", categories)
    assert asked.verdicts["verdict"].tolist() == passes
    # Words that nobody put on the scale are no label, as no row has a mean of them.
    assert asked.labels["item"].tolist() == ["b"] and asked.labels[
        "label"
    ].tolist() == [passes[1]]
    assert judged.verdicts["verdict"].tolist() == [1, 0, 1] and judged.kind == "ordered"


@pytest.mark.parametrize("direction", ["higher_is_better", "higher_is_worse"])
def test_of_numbers_pass_and_fail_are_asked_only_where_both_ends_alone_occur(
    direction: Any,
) -> None:
    ends = [(100.0, 0.0, {}), (0.0, 0.0, {}), (100.0, 100.0, {}), (None, "refusal", {})]
    judged = labelled_run(ends, direction=direction)
    asked = evidence_of(judged)
    best = 100.0 if direction == "higher_is_better" else 0.0
    assert asked.kind == "pass_fail" and asked.categories == ("fail", "pass")
    expected = [float(value == best) for value in (0, 0, 100)]
    assert asked.verdicts["verdict"].dropna().tolist() == expected
    assert asked.labels["label"].tolist() == [best == 100, best == 0, best == 100]
    assert (asked.scale, asked.margin) == (None, None)
    between = evidence_of(labelled_run([*ends, (50.0, 0.0, {})], margin=10.0))
    assert (between.kind, between.scale, between.margin) == ("numeric", (0, 100), 10)


def test_the_folder_is_the_source() -> None:
    rows = labelled_run([(1.0, 2.0, {})])
    judged = RunEvidence(rows.frame, rubric(), folder="outputs/r", digest="abc")
    assert evidence_of(judged).sources == {"outputs/r": "abc"} and rows.sources == {}
