"""What an optimiser is given for answers at the ends of the scale, for none, and for a cheaper program."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.rubrics import HUNDRED
from undogmatic.optimize.metrics import METRICS, Terms
from undogmatic.optimize.optimizers import Known, Measure, example
from undogmatic.records.records import Item, Verdict

TERMS = Terms(HUNDRED, "overall", ("bad",), ("good",))
BLOCK = [Item(id=f"{n}", text=f"text {n}").with_label(label) for n, label in enumerate((0, 30, 60, 90))]
PAIR = [Item(id=name, text=name, pair="p", condition=name) for name in ("bad", "good")]


@pytest.mark.parametrize("name", ["auc", "rank_correlation"])
def test_a_score_of_nought_is_a_score_and_no_answer_is_none(name: str) -> None:
    value = METRICS[name].value
    assert value(BLOCK, [Verdict(score=score) for score in (0.0, 30.0, 60.0, 90.0)], TERMS) == 1
    assert value(BLOCK, [Verdict(score=score) for score in (90.0, 60.0, 30.0, 0.0)], TERMS) == 0
    assert value(BLOCK, [Verdict(score=0.0)] * 4, TERMS) == 0.5
    assert value(BLOCK, [Verdict(score=0.0), None, Verdict(score=60.0), None], TERMS) == 0.5


def test_pairs_and_texts_at_the_ends_of_the_scale() -> None:
    ends = [Verdict(score=0.0), Verdict(score=100.0)]  # the rubric's high is the better
    assert METRICS["pair_order"].value(PAIR, ends, TERMS) == 1
    assert METRICS["pair_margin"].value(PAIR, ends, TERMS) == 1
    assert METRICS["pair_order"].value(PAIR, ends[::-1], TERMS) == 0
    assert METRICS["pair_order"].value(PAIR, [Verdict(score=0.0)] * 2, TERMS) == 0.5
    assert METRICS["error"].value(BLOCK[:1], [Verdict(score=0.0)], TERMS) == 1
    assert METRICS["error"].value(BLOCK[:1], [Verdict(score=100.0)], TERMS) == 0
    for name, items in (("pair_order", PAIR), ("pair_margin", PAIR), ("error", BLOCK[:1])):
        assert METRICS[name].value(items, [None] * len(items), TERMS) == 0


def test_what_is_sent_costs_what_was_said_and_nothing_falls_below_nought() -> None:
    one = example(BLOCK[:1], METRICS["error"], TERMS)
    said = SimpleNamespace(verdicts=[Verdict(score=0.0)], sent=2.0)
    assert Measure(TERMS, "en", Known())(one, said) == 1
    assert Measure(TERMS, "en", Known(), cost_weight=0.1)(one, said) == pytest.approx(0.8)
    assert Measure(TERMS, "en", Known(), cost_weight=1)(one, said) == 0
