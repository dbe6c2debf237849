"""Against human labels: hand-worked errors, groups, intervals, calibration, and judges of known
behaviour."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.analyses.builders import Reading, Score, analysed, labelled_run, made_up, refuses, rubric
from undogmatic.analyses.base import LongTable, Unsuited
from undogmatic.errors import DataError


def labelled(gold: Sequence[float], scores: Sequence[Score], **columns: Sequence[Any]) -> LongTable:
    """One text per label; `condition`, `pair`, `metadata` and the verdict's own fields may be given
    per text."""
    fields = [{key: values[n] for key, values in columns.items()} for n in range(len(gold))]
    return labelled_run(zip(gold, scores, fields, strict=True), margin=10.0)


def analyse(judged: LongTable, **settings: Any) -> Reading:
    return analysed("labelled", judged, **settings)


def told(gold: Sequence[float], scores: Any, **columns: Sequence[Any]) -> Reading:
    return analyse(labelled(gold, list(scores), **columns))


def test_numbers_by_hand() -> None:
    result = told([0, 50, 100, 95], [10.0, 30, 90, 100])
    errors = [(10 + 20 + 10 + 5) / 4, (10 - 20 - 10 + 5) / 4, np.sqrt((100 + 400 + 100 + 25) / 4)]
    assert result.of("mae bias rmse") == pytest.approx(errors)
    # Ranks 1 2 4 3 against 1 2 3 4: 1 - 6 * 2 / (4 * 15). The medians of the other three labels:
    # 95, 95, 50 and 50.
    assert result.of("spearman mae_of_constant") == pytest.approx([0.8, (95 + 45 + 50 + 45) / 4])
    assert "mae_low" not in result.numbers
    assert result.says["verdict_too_few"] == {"n": 4, "groups": 4, "needed": 10}
    table = result.tables["by_label"]
    assert table[["label_from", "label_to", "n"]].to_numpy().tolist() == [
        [0, 10, 1],
        [50, 60, 1],
        [90, 100, 2],
    ]
    assert table[["mean_label", "bias"]].to_numpy().tolist() == [[0, 10], [50, -20], [97.5, -2.5]]


def test_groups_come_with_the_largest_error_first() -> None:
    classes = ["gold:explained", "gold:explained", "gold:naked", "gold:naked"]
    registers = [{"register": register} for register in ("email", "vote") * 2]
    tables = told(
        [0, 10, 90, 100], [10.0, 10, 50, 100], condition=classes, metadata=registers
    ).tables
    assert tables["by_class"][["class", "mae"]].to_numpy().tolist() == [
        ["gold:naked", 20],
        ["gold:explained", 5],
    ]
    assert tables["by_register"][["register", "n", "bias"]].to_numpy().tolist() == [
        ["email", 2, -15],
        ["vote", 2, 0],
    ]


def test_in_a_mixed_dataset_only_gold_texts_are_compared() -> None:
    judged = labelled(
        [0, 100, 100], [10.0, 90, 0], condition=["gold:explained", "gold:naked", "attack:hedges"]
    )
    result = analyse(judged)
    assert (result["mae"], result.says["only"]) == (10, {"prefix": "gold:", "n": 1})
    own = labelled([0, 100, 100], [10.0, 90, 0], condition=["a", "b", "c"])
    assert analyse(judged, prefix=None)["mae"] == analyse(own)["mae"] == 40


DRAW = np.random.default_rng(3)
GOLD = DRAW.uniform(0, 100, 60)
CLOSE = np.clip(GOLD + DRAW.normal(0, 5, 60), 0, 100)
NOISE = DRAW.uniform(0, 100, 60)


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
        (np.where(GOLD.max() == GOLD, 60, 50), "open_endless", "undecided"),
    ],
)
def test_verdicts_of_judges_of_known_behaviour(scores: Any, key: str, standing: str) -> None:
    assert told(GOLD, scores).ruled == (key, standing)


@pytest.mark.parametrize(
    ("size", "scores", "settings"),
    [
        ("size_larger", 90 + CLOSE / 20, {}),
        ("size_not_smaller", 63 + CLOSE / 20, {}),
        ("size_bias", np.clip(CLOSE + 15, 0, 100), {}),
        ("size_bias_open", np.clip(CLOSE + 10, 0, 100), {"margin": 9.0}),
    ],
)
def test_why_the_size_is_not_shown(size: str, scores: Any, settings: dict[str, Any]) -> None:
    assert analyse(labelled(GOLD, list(scores)), **settings).says["verdict_order"]["size"] == size
    says = analyse(LongTable(labelled(GOLD, list(CLOSE)).frame, rubric())).says  # without a margin
    assert (says["verdict_order"]["size"], says["bias"]["said"]) == (
        "size_no_margin",
        "bias_no_margin",
    )


def test_a_word_counter_is_not_believed_where_length_goes_with_the_label() -> None:
    letters = np.round(GOLD).astype(int)
    texts = [made_up(1 + n, str(k)) for k, n in enumerate(letters.tolist())]
    result = analyse(worded(list(np.clip(letters + DRAW.normal(0, 3, 60), 0, 100)), texts))
    assert result.standing != "supported" and result.ruled[0] not in ("order", "order_and_size")
    # one text throughout for the surface
    alike = worded(list(CLOSE), [made_up(1, str(k)) for k in range(60)])
    assert analyse(alike).standing == "supported"
    assert analyse(worded(list(CLOSE), ["a"] * 60)).ruled[0] == "no_texts"


def test_failed_judgments_are_thought_against_the_verdict() -> None:
    result = told(GOLD, ["refusal", *CLOSE[1:]])
    assert (result.standing, result.says["bounds"]["failed"]) == ("supported", 1)
    # It refuses what it would get wrong: what is left follows the labels.
    hard = np.argsort(np.abs(GOLD - NOISE))[-40:]
    chosen: list[Score] = ["refusal" if n in hard else float(NOISE[n]) for n in range(60)]
    for scores, alone in ((chosen, "alone_follows"), (["refusal", *[50.0] * 59], "alone_same")):
        result = told(GOLD, scores)
        assert (result.says["verdict_missing"]["otherwise"], result.standing) == (
            alone,
            "undecided",
        )


def test_too_few_or_too_alike_to_say_anything() -> None:
    assert told(GOLD[:9], CLOSE[:9]).ruled[0] == "too_few"
    few = told(GOLD[:20], [50.0] * 20).says["verdict_scores_equal_few"]
    # 1 - (1 - .25) ** (1/3) = .0914 of other scores are ruled out by 39 texts: .9086 ** 39 < .025.
    assert (few["n"], few["needed"]) == (20, 39)
    assert told([50.0] * 20, NOISE[:20]).ruled[0] == "labels_equal"
    gold = np.linspace(0, 100, 16)
    # Texts of one pair are one unit.
    assert told(gold, gold, pair=[f"p{n // 2}" for n in range(16)]).ruled[0] == "too_few"
    assert told(gold, gold).ruled[0] != "too_few"


def test_how_many_texts_would_decide() -> None:
    half = 0.5 * GOLD + 0.5 * NOISE
    there = float(spearmanr(GOLD, half).statistic)
    assert analyse(labelled(list(GOLD), list(half)), order=there).ruled[0] == "open_endless"
    for scores, error in ((half, "error_smaller"), (90 + half / 20, "error_larger")):
        result = analyse(labelled(list(GOLD), list(scores)), order=there - 0.1)
        assert result.standing == "undecided" and result.says["verdict_open"]["needed"] > 60
        assert result.says["verdict_open"]["error"] == error


def test_coverage_of_the_judges_own_intervals() -> None:
    result = told([0, 50, 100], [10.0, 50, 90], interval=[(5.0, 15.0), (40.0, 60.0), (80.0, 100.0)])
    # Gold 0 lies outside 5-15; the end 100 counts as inside.
    assert result.of("coverage interval_width") == pytest.approx([2 / 3, 50 / 3])
    assert result.says["coverage_promised"].items() >= {"n": 3, "nominal": 0.9}.items()


def test_a_promise_that_is_broken_is_in_the_verdict() -> None:
    """Intervals that hold the label in half of the texts, where nine in ten are promised."""
    gold = list(np.linspace(0, 100, 60))
    scores = [min(100.0, max(0.0, label + (-1) ** n * 6)) for n, label in enumerate(gold)]
    reaches = ([(score - half, score + half) for score in scores] for half in (5.0, 8.0))
    broken, kept = (told(gold, scores, interval=reach) for reach in reaches)
    assert (broken.ruled[0], kept.ruled[0] == "promise") == ("promise", False)
    sentence = broken.sentences()[0]
    assert "do not keep their promise" in sentence and "90%" in sentence


def test_calibration_is_shown_before_and_after() -> None:
    gold = [0.0, 50, 100]
    result = told(gold, gold, raw_score=[40.0, 50, 60])
    assert (result["raw_mae"], result["mae"]) == (pytest.approx(80 / 3), 0)
    assert result.tables["calibration"]["score"].tolist() == ["raw", "calibrated"]
    assert result.says["calibrated"]["before"] == pytest.approx(80 / 3)
    drawn = {f.name: f for f in result.drawings}["calibration"]
    assert (drawn.data["raw"], drawn.data["label"]) == ([40, 50, 60], gold)
    assert "calibration" not in told(gold, gold, raw_score=gold).tables


def test_failures_are_left_out_and_counted_and_two_texts_are_too_few_for_a_figure() -> None:
    result = told([0, 50, 100, 20], [10.0, 50, "refusal", 30])
    assert result.of("judged failed mae") == pytest.approx([3, 1, 20 / 3])
    assert result.says["analyses.failed"]["n"] == 1
    assert told([0, 50], ["refusal", "timeout"]).says["verdict_too_few"]["n"] == 0
    two = told([0, 100], [10.0, 90])
    assert (
        two.says["analyses.too_few"] == {"figure": "scatter", "present": 2, "needed": 3}
        and not two.drawings
    )


def test_labels_that_are_missing_or_off_the_scale() -> None:
    refuses(
        DataError, r"'i1': `label` is 7000.*0 to 100", "labelled", labelled([0, 7000], [1.0, 2])
    )
    refuses(Unsuited, "label", "labelled", labelled_run([(None, 1.0, {})]))


def test_a_mean_bias_that_averages_out_over_the_scale_is_told() -> None:
    labels = np.repeat([5.0, 50, 95], 12)
    toward = labels + np.repeat([25.0, 0, -25], 12) + np.tile([-3.0, 0, 3], 12)
    noise = np.tile([-3.0, 0, 3], 12)
    bent, steady = (
        analyse(labelled(labels, list(scores))).says for scores in (toward, labels + noise)
    )
    assert bent["bias"]["said"] in ("bias_none", "bias_no_margin") and "bias_averages" not in steady
    assert (
        bent["bias_averages"]["low"],
        bent["bias_averages"]["high"],
        bent["bias_averages"]["above"],
    ) == (25, 25, 1)


def test_a_score_that_is_the_average_of_noisy_labels_is_not_called_too_high_where_labels_are_low() -> (
    None
):
    """Where labels are lowest, some are so by chance; the score lies above those, and is right on
    average."""
    scores = np.tile([35.0, 45, 55, 65], 40)
    labels = np.clip(scores + np.random.default_rng(4).normal(0, 20, 160), 0, 100)
    honest = analyse(labelled(labels, list(scores)))
    assert "bias_averages" not in honest.says
    lowest = honest.tables["by_label"].iloc[0]
    assert lowest["bias"] > 20  # what was said before
    wide = analyse(labelled(labels, list(50 + 3 * (scores - 50)))).says["bias_averages"]
    assert wide["above"] == 0 and 20 < wide["low"] < 40
