"""Against human labels: hand-worked errors, groups, intervals, calibration, and judges of known behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.analyses.builders import Said, Score, analysed, configured, made_up, rubric, verdict
from tests.analyses.conftest import SHIPPED
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.errors import DataError
from undogmatic.records.records import Item
from undogmatic.report.words import Words

analyse = partial(analysed, "labelled")


def labelled(gold: Sequence[float], scores: Sequence[Score], **columns: Sequence[Any]) -> LongTable:
    """One text per label; `condition`, `pair`, `register` and the verdict's own fields may be given per text."""
    items, judgments = [], []
    for n, (label, score) in enumerate(zip(gold, scores, strict=True)):
        mine = {key: values[n] for key, values in columns.items()}
        place = {key: mine.pop(key) for key in ("condition", "pair") if key in mine}
        metadata = {key: mine.pop(key) for key in ("register",) if key in mine}
        items.append(Item(id=f"t{n}", text=made_up(9, str(n)), label=label, metadata=metadata, **place))
        judgments.append(verdict(f"t{n}", score, **mine))
    return LongTable(tabulate(items, judgments, 1), rubric().model_copy(update={"margin": 10.0}))


def test_numbers_by_hand(said: Said) -> None:
    result = analyse(labelled([0, 50, 100, 95], [10.0, 30, 90, 100]))
    m = result.metrics
    assert m["labelled.mae"] == pytest.approx((10 + 20 + 10 + 5) / 4)
    assert m["labelled.bias"] == pytest.approx((10 - 20 - 10 + 5) / 4)
    assert m["labelled.rmse"] == pytest.approx(np.sqrt((100 + 400 + 100 + 25) / 4))
    # Ranks 1 2 4 3 against 1 2 3 4: 1 - 6 * 2 / (4 * 15).
    assert m["labelled.spearman"] == pytest.approx(0.8)
    # The medians of the other three labels are 95, 95, 50 and 50.
    assert m["labelled.mae_of_constant"] == pytest.approx((95 + 45 + 50 + 45) / 4)
    assert "labelled.mae_low" not in m
    assert said(result)["labelled.verdict_too_few"].values == {"n": 4, "groups": 4, "needed": 10}
    table = result.tables["by_label"]
    assert table[["label_from", "label_to", "n"]].to_numpy().tolist() == [[0, 10, 1], [50, 60, 1], [90, 100, 2]]
    assert table["mean_label"].tolist() == [0, 50, 97.5]
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


DRAW = np.random.default_rng(3)
GOLD = DRAW.uniform(0, 100, 60)
CLOSE = np.clip(GOLD + DRAW.normal(0, 5, 60), 0, 100)
NOISE = DRAW.uniform(0, 100, 60)
FAR = np.round(GOLD / 100) * 100


def worded(scores: Sequence[Score], texts: Sequence[str]) -> LongTable:
    """As `labelled`, with these texts."""
    judged = labelled(GOLD, scores)
    judged.frame["text"] = texts
    return judged


@pytest.mark.parametrize(
    ("scores", "key", "standing"),
    [
        (CLOSE, "order_and_size", "supported"),
        (90 + CLOSE / 20, "order", "supported"),  # squeezed into the top of the scale
        (NOISE, "too_weak", "refuted"),
        (100 - CLOSE, "reversed", "refuted"),
        (100 - GOLD, "reversed", "refuted"),  # to the last text
        (GOLD * 0 + 50, "scores_equal", "refuted"),
        (np.where(GOLD.max() == GOLD, 60, 50), "open", "undecided"),
    ],
)
def test_verdicts_of_judges_of_known_behaviour(scores: Any, key: str, standing: str, said: Said) -> None:
    result = analyse(labelled(GOLD, list(scores)))
    assert f"labelled.verdict_{key}" in said(result)
    assert result.standing == standing


def test_why_the_size_is_not_shown(said: Said) -> None:
    def size(scores: Any, **settings: Any) -> Any:
        return said(analyse(labelled(GOLD, list(scores)), **settings))["labelled.verdict_order"].values["size"]

    assert size(90 + CLOSE / 20) == "size_larger"
    assert size(63 + CLOSE / 20) == "size_not_smaller"
    assert size(np.clip(CLOSE + 15, 0, 100)) == "size_bias"
    assert size(np.clip(CLOSE + 10, 0, 100), margin=9.0) == "size_bias_open"
    judged = labelled(GOLD, list(CLOSE))
    nobody = LongTable(judged.frame, rubric())
    found = said(analyse(nobody))
    assert found["labelled.verdict_order"].values["size"] == "size_no_margin"
    assert found["labelled.bias"].values["said"] == "bias_no_margin"


def test_a_word_counter_is_not_believed_where_length_goes_with_the_label(said: Said) -> None:
    letters = np.round(GOLD).astype(int)
    texts = [made_up(1 + n, str(k)) for k, n in enumerate(letters.tolist())]
    result = analyse(worded(list(np.clip(letters + DRAW.normal(0, 3, 60), 0, 100)), texts))
    assert result.standing != "supported"
    assert not {"labelled.verdict_order", "labelled.verdict_order_and_size"} & set(said(result))
    alike = worded(list(CLOSE), [made_up(1, str(k)) for k in range(60)])  # one text throughout for the surface
    assert analyse(alike).standing == "supported"
    assert "labelled.verdict_no_texts" in said(analyse(worded(list(CLOSE), ["a"] * 60)))


def test_failed_judgments_are_thought_against_the_verdict(said: Said) -> None:
    one: list[Score] = ["refusal", *CLOSE[1:]]
    result = analyse(labelled(GOLD, one))
    assert result.standing == "supported"
    assert said(result)["labelled.bounds"].values["failed"] == 1
    # It refuses what it would get wrong: what is left follows the labels.
    hard = np.argsort(np.abs(GOLD - NOISE))[-40:]
    chosen: list[Score] = ["refusal" if n in hard else float(NOISE[n]) for n in range(60)]
    result = analyse(labelled(GOLD, chosen))
    assert said(result)["labelled.verdict_missing"].values["otherwise"] == "alone_follows"
    assert result.standing == "undecided"
    constant: list[Score] = ["refusal", *[50.0] * 59]
    assert said(analyse(labelled(GOLD, constant)))["labelled.verdict_missing"].values["otherwise"] == "alone_same"


def test_too_few_or_too_alike_to_say_anything(said: Said) -> None:
    assert "labelled.verdict_too_few" in said(analyse(labelled(list(GOLD[:9]), list(CLOSE[:9]))))
    few = said(analyse(labelled(list(GOLD[:20]), [50.0] * 20)))["labelled.verdict_scores_equal_few"].values
    # 1 - (1 - .25) ** (1/3) = .0914 of other scores are ruled out by 39 texts: .9086 ** 39 < .025.
    assert (few["n"], few["needed"]) == (20, 39)
    assert "labelled.verdict_labels_equal" in said(analyse(labelled([50.0] * 20, list(NOISE[:20]))))
    half = 0.5 * GOLD + 0.5 * NOISE
    there = float(spearmanr(GOLD, half).statistic)
    assert "labelled.verdict_open_endless" in said(analyse(labelled(list(GOLD), list(half)), order=there))
    result = analyse(labelled(list(GOLD), list(half)), order=there - 0.05)
    assert said(result)["labelled.verdict_open"].values["needed"] > 60
    assert said(result)["labelled.verdict_open"].values["error"] == "error_smaller"
    high = analyse(labelled(list(GOLD), list(90 + half / 20)), order=there - 0.05)
    assert said(high)["labelled.verdict_open"].values["error"] == "error_larger"
    assert result.standing == "undecided"


def test_texts_of_one_pair_are_one_unit(said: Said) -> None:
    gold = np.linspace(0, 100, 16)
    pairs = [f"p{n // 2}" for n in range(16)]
    few = analyse(labelled(gold, list(gold), pair=pairs))
    assert "labelled.verdict_too_few" in said(few)
    assert "labelled.verdict_too_few" not in said(analyse(labelled(gold, list(gold))))


def test_coverage_of_the_judges_own_intervals(said: Said) -> None:
    result = analyse(labelled([0, 50, 100], [10.0, 50, 90], interval=[(5.0, 15.0), (40.0, 60.0), (80.0, 100.0)]))
    # Gold 0 lies outside 5-15; the end 100 counts as inside.
    assert result.metrics["labelled.coverage"] == pytest.approx(2 / 3)
    assert result.metrics["labelled.interval_width"] == pytest.approx(50 / 3)
    assert said(result)["labelled.coverage_promised"].values.items() >= {"n": 3, "nominal": 0.9}.items()


def test_a_promise_that_is_broken_is_in_the_verdict(said: Said) -> None:
    """Intervals that hold the label in half of the texts, where nine in ten are promised."""
    gold = list(np.linspace(0, 100, 60))
    scores = [min(100.0, max(0.0, label + (-1) ** n * 6)) for n, label in enumerate(gold)]
    for half, broken in ((5.0, True), (8.0, False)):
        ends = [(score - half, score + half) for score in scores]
        result = analyse(labelled(gold, scores, interval=ends))
        assert result.verdict is not None
        assert (result.verdict.key == "labelled.verdict_promise") is broken
        if broken:
            sentence = Words("en", SHIPPED, strict=True).say(result.verdict)
            assert "do not keep their promise" in sentence and "90%" in sentence


def test_calibration_is_shown_before_and_after(said: Said) -> None:
    gold = [0.0, 50, 100]
    result = analyse(labelled(gold, [0.0, 50, 100], raw_score=[40.0, 50, 60]))
    assert result.metrics["labelled.raw_mae"] == pytest.approx(80 / 3)
    assert result.metrics["labelled.mae"] == 0
    assert result.tables["calibration"]["score"].tolist() == ["raw", "calibrated"]
    assert said(result)["labelled.calibrated"].values["before"] == pytest.approx(80 / 3)
    drawn = {f.name: f for f in result.figures}["calibration"]
    assert (drawn.data["raw"], drawn.data["label"]) == ([40, 50, 60], gold)
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
