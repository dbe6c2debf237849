"""Against gold labels: hand-worked errors, groups, intervals, calibration, and judges of known behaviour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.analyses.builders import Score, configured, made_up, rubric, verdict
from undogmatic.analyses.base import AnalysisResult, Finding, Judged, Unsuited, tabulate
from undogmatic.errors import DataError
from undogmatic.records import Item

Said = Callable[[AnalysisResult], dict[str, Finding]]


def labelled(gold: Sequence[float], scores: Sequence[Score], **columns: Sequence[Any]) -> Judged:
    """One text per label; `condition`, `pair`, `register` and the verdict's own fields may be given per text."""
    items, judgments = [], []
    for n, (label, score) in enumerate(zip(gold, scores, strict=True)):
        mine = {key: values[n] for key, values in columns.items()}
        place = {key: mine.pop(key) for key in ("condition", "pair") if key in mine}
        metadata = {key: mine.pop(key) for key in ("register",) if key in mine}
        items.append(Item(id=f"t{n}", text=made_up(9, str(n)), label=label, metadata=metadata, **place))
        judgments.append(verdict(f"t{n}", score, **mine))
    return Judged(tabulate(items, judgments, 1), rubric())


def analyse(judged: Judged, **settings: Any) -> AnalysisResult:
    (result,) = configured("labelled", resamples=200, **settings)(judged, np.random.default_rng(0))
    return result


def test_numbers_by_hand(said: Said) -> None:
    result = analyse(labelled([0, 50, 100, 95], [10.0, 30, 90, 100]))
    m = result.metrics
    assert m["labelled.mae"] == pytest.approx((10 + 20 + 10 + 5) / 4)
    assert m["labelled.bias"] == pytest.approx((10 - 20 - 10 + 5) / 4)
    assert m["labelled.rmse"] == pytest.approx(np.sqrt((100 + 400 + 100 + 25) / 4))
    # Ranks 1 2 4 3 against 1 2 3 4: 1 - 6 * 2 / (4 * 15).
    assert m["labelled.spearman"] == pytest.approx(0.8)
    # The median of gold is 72.5.
    assert m["labelled.mae_of_constant"] == pytest.approx((72.5 + 22.5 + 27.5 + 22.5) / 4)
    assert "labelled.mae_low" not in m
    assert said(result)["labelled.verdict_too_few"].values == {"n": 4, "needed": 10}
    table = result.tables["by_gold"]
    assert table[["gold_from", "gold_to", "n"]].to_numpy().tolist() == [[0, 10, 1], [50, 60, 1], [90, 100, 2]]
    assert table["mean_gold"].tolist() == [0, 50, 97.5]
    assert table["bias"].tolist() == [10, -20, -2.5]


def test_groups_come_with_the_largest_error_first() -> None:
    judged = labelled(
        [0, 10, 90, 100],
        [10.0, 10, 50, 100],
        condition=["gold:explained", "gold:explained", "gold:naked", "gold:naked"],
        register=["email", "vote", "email", "vote"],
    )
    tables = analyse(judged).tables
    assert tables["by_class"][["class", "mae"]].to_numpy().tolist() == [["gold:naked", 20], ["gold:explained", 5]]
    assert tables["by_register"][["register", "n", "bias"]].to_numpy().tolist() == [["email", 2, -15], ["vote", 2, 0]]


def test_in_a_mixed_dataset_only_gold_texts_are_compared(said: Said) -> None:
    judged = labelled([0, 100, 100], [10.0, 90, 0], condition=["gold:explained", "gold:naked", "attack:hedges"])
    result = analyse(judged)
    assert result.metrics["labelled.mae"] == 10
    assert said(result)["labelled.only"].values == {"prefix": "gold:", "n": 1}
    assert analyse(judged, prefix=None).metrics["labelled.mae"] == 40
    own = labelled([0, 100, 100], [10.0, 90, 0], condition=["a", "b", "c"])
    assert analyse(own).metrics["labelled.mae"] == 40


def test_verdicts_of_judges_of_known_behaviour(said: Said) -> None:
    draw = np.random.default_rng(3)
    gold = draw.uniform(0, 100, 60)
    close = np.clip(gold + draw.normal(0, 5, 60), 0, 100)
    found = said(analyse(labelled(gold, list(close))))
    assert "labelled.verdict_tracks_scale" in found
    low, high = found["labelled.order"].values["interval"]
    assert 0.9 < low < found["labelled.order"].values["spearman"] < high
    # In order, but squeezed into the top of the scale.
    assert "labelled.verdict_tracks_order" in said(analyse(labelled(gold, list(90 + close / 20))))
    assert "labelled.verdict_does_not_track" in said(analyse(labelled(gold, list(draw.uniform(0, 100, 60)))))
    reversed_ = said(analyse(labelled(gold, list(100 - close))))["labelled.verdict_reversed"].values
    assert reversed_["interval"][0] < reversed_["spearman"] < reversed_["interval"][1] < -0.9
    assert "labelled.verdict_reversed" in said(analyse(labelled(gold, list(100 - gold))))  # to the last text
    too_few = analyse(labelled(list(gold[:9]), list(100 - gold[:9])))
    assert "labelled.verdict_too_few" in said(too_few)


def test_a_judge_that_always_says_the_same(said: Said) -> None:
    gold = np.linspace(0, 100, 20)
    result = analyse(labelled(gold, [50.0] * 20))
    assert said(result)["labelled.verdict_does_not_track"].values["spearman"] is None
    assert result.headline is None
    # One score that differs is in too few resamples for an interval of the rank correlation.
    nearly = analyse(labelled(gold, [50.0] * 19 + [60.0]))
    assert said(nearly)["labelled.order"].values["interval"] == (None, None)


def test_texts_of_one_pair_are_one_unit(said: Said) -> None:
    gold = np.linspace(0, 100, 16)
    pairs = [f"p{n // 2}" for n in range(16)]
    few = analyse(labelled(gold, list(gold), pair=pairs))
    assert "labelled.verdict_too_few" in said(few)
    assert "labelled.verdict_tracks_scale" in said(analyse(labelled(gold, list(gold))))


def test_coverage_of_the_judges_own_intervals(said: Said) -> None:
    result = analyse(labelled([0, 50, 100], [10.0, 50, 90], interval=[(5.0, 15.0), (40.0, 60.0), (80.0, 100.0)]))
    # Gold 0 lies outside 5-15; the end 100 counts as inside.
    assert result.metrics["labelled.coverage"] == pytest.approx(2 / 3)
    assert result.metrics["labelled.interval_width"] == pytest.approx(50 / 3)
    assert said(result)["labelled.coverage"].values["n"] == 3


def test_calibration_is_shown_before_and_after(said: Said) -> None:
    gold = [0.0, 50, 100]
    result = analyse(labelled(gold, [0.0, 50, 100], raw_score=[40.0, 50, 60]))
    assert result.metrics["labelled.raw_mae"] == pytest.approx(80 / 3)
    assert result.metrics["labelled.mae"] == 0
    assert result.tables["calibration"]["score"].tolist() == ["raw", "calibrated"]
    assert said(result)["labelled.calibrated"].values["before"] == pytest.approx(80 / 3)
    drawn = {f.name: f for f in result.figures}["calibration"]
    assert (drawn.data["raw"], drawn.data["gold"]) == ([40, 50, 60], gold)
    untouched = analyse(labelled(gold, [0.0, 50, 100], raw_score=[0.0, 50, 100]))
    assert "calibration" not in untouched.tables


def test_failures_are_left_out_and_counted(said: Said) -> None:
    result = analyse(labelled([0, 50, 100, 20], [10.0, 50, "refusal", 30]))
    assert (result.metrics["labelled.judged"], result.metrics["labelled.failed"]) == (3, 1)
    assert result.metrics["labelled.mae"] == pytest.approx(20 / 3)
    assert said(result)["analyses.failed"].values["n"] == 1
    nobody = analyse(labelled([0, 50], ["refusal", "timeout"]))
    assert said(nobody)["labelled.verdict_too_few"].values["n"] == 0


def test_two_texts_are_too_few_for_a_figure(said: Said) -> None:
    result = analyse(labelled([0, 100], [10.0, 90]))
    assert said(result)["analyses.too_few"].values == {"figure": "scatter", "present": 2, "needed": 3}
    assert not result.figures


def test_labels_that_are_missing_or_off_the_scale() -> None:
    with pytest.raises(DataError, match=r"'t1': `label` is 7000.*0 to 100"):
        configured("labelled").check(labelled([0, 7000], [1.0, 2]))
    judged = labelled([0], [1.0])
    judged.frame["label"] = np.nan
    with pytest.raises(Unsuited, match="label"):
        configured("labelled").check(judged)
