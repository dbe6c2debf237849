"""The worth of uncertainty on simulated judges whose uncertainty is perfect, random, constant or
missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import (
    Reading,
    analysed,
    labelled_run,
    rated,
    refuses,
    rubric,
    run_folder,
    verdict,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.calibration import ITEMS, choose, uncertainties
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import people_apart
from undogmatic.records.records import ScoreDistribution

Give = Callable[[float, float, float], dict[str, Any]]
"""Score, |error| and a uniform random number -> the fields of a verdict."""

GIVES: dict[str, Give] = {
    "perfect": lambda score, error, draw: {
        "interval": (score - 1.1 * error, score + 1.1 * error)
    },
    "random": lambda score, error, draw: {
        "interval": (score - 20 * draw, score + 20 * draw)
    },
    # 90 % of normal errors with standard deviation 8
    "constant": lambda score, error, draw: {
        "interval": (score - 13.159, score + 13.159)
    },
    "inverse": lambda score, error, draw: {
        "interval": (score - 50 + error, score + 50 - error)
    },
    "none": lambda score, error, draw: {},
    "noisy": lambda score, error, draw: {"doubt": error + 8 * draw},
}


def simulated(
    give: Give | str, n: int = 300, seed: int = 3, failed: int = 0
) -> RunEvidence:
    """Labels 30 to 70, normal errors of standard deviation 8; and so many texts whose judgments
    failed."""
    draw, fields = (
        np.random.default_rng(seed),
        GIVES[give] if isinstance(give, str) else give,
    )

    def row() -> tuple[float, Any, dict[str, Any]]:
        label, error = float(draw.uniform(30, 70)), float(draw.normal(0, 8))
        return (
            label,
            label + error,
            fields(label + error, abs(error), float(draw.uniform())),
        )

    return labelled_run(
        [*(row() for _ in range(n)), *[(50.0, "refusal", {})] * failed], condition="c"
    )


def analyse(judged: RunEvidence, **settings: Any) -> Reading:
    return analysed("calibration", judged, **{"resamples": 100} | settings)


def test_perfect_uncertainty_reaches_the_oracle() -> None:
    result = analyse(simulated("perfect"))
    assert result.of(
        "review_gain spearman_error coverage excess_aurc"
    ) == pytest.approx([1, 1, 1, 0], abs=1e-9)
    assert (
        result.says["verdict_worth"]["measure"] == "width"
        and result["beyond_score_low"] > 0.5
    )
    lines = next(f.data["lines"] for f in result.drawings if f.name == "review")
    assert lines["guided"]["y"] == pytest.approx(lines["perfect"]["y"])
    assert (result.headline, result.standing) == (
        "calibration.review_gain",
        "supported",
    )


def test_random_uncertainty_stays_on_the_diagonal_and_one_that_points_away_from_errors_misleads() -> (
    None
):
    result = analyse(simulated("random", n=1000))
    assert result["review_gain"] == pytest.approx(0, abs=0.1)
    assert result["aurc"] == pytest.approx(result["mae"], rel=0.06)
    assert result.ruled == ("unclear", "undecided")
    table = result.tables["review"]
    assert table["guided_share"].to_numpy() == pytest.approx(
        table["budget_share"].to_numpy(), abs=0.05
    )
    inverse = analyse(simulated("inverse"))
    assert (
        inverse["review_gain"] < -0.5
        and {"verdict_misleads", "coverage_wide"} <= inverse.says.keys()
    )


def test_constant_uncertainty_is_told_and_covers_as_planted() -> None:
    result = analyse(simulated("constant", n=2000))
    assert (result["coverage"], result["width"]) == (
        pytest.approx(0.9, abs=0.02),
        pytest.approx(26.318),
    )
    assert {"constant", "verdict_constant", "coverage_nominal"} <= result.says.keys()
    assert result.headline is None and "review_gain" not in result.numbers
    items = result.result.items  # kept for sweeps
    assert items is not None and list(items.columns) == ITEMS
    assert result.of("coverage mae") == pytest.approx(
        items[["inside", "error"]].mean().tolist()
    )


def test_a_judge_without_uncertainty_one_without_enough_texts_and_one_whose_intervals_leave_the_scale() -> (
    None
):
    assert {"no_intervals", "no_confidence", "verdict_none"} <= analyse(
        simulated("none")
    ).says.keys()
    assert analyse(simulated("perfect", n=9)).says["verdict_too_few"] == {
        "n": 9,
        "needed": 10,
    }
    stated = analyse(simulated(lambda s, e, d: {"confidence": 100 * d}, n=20))
    assert stated.says["too_few"] == {"what": "ece", "present": 20, "needed": 30}
    beyond = analyse(simulated(lambda s, e, d: {"interval": (s - 90, s + 90)}, n=40))
    assert beyond.of("width width_high") == pytest.approx([180, 180])
    assert {"coverage_wide", "coverage_open"} & beyond.says.keys()
    some = analyse(
        simulated(
            lambda s, e, d: {"interval": (s - 1, s + (199 if d > 0.9 else 1))}, n=40
        )
    )
    assert (
        some["width"] == pytest.approx(some.result.items["width"].mean())
        and some["width_high"] <= 200
    )  # type: ignore[index]


def test_ece_and_brier_find_planted_overconfidence() -> None:
    """Right with probability p - 0.15 where p is stated: ECE 0.15."""
    draw, rows = np.random.default_rng(8), []
    for _ in range(6000):
        stated = 0.2 + 0.75 * float(draw.uniform())
        wrong = float(draw.uniform()) >= stated - 0.15
        rows.append((50.0, 80.0 if wrong else 52.0, {"confidence": 100 * stated}))
    result = analyse(labelled_run(rows))
    assert result["ece"] == pytest.approx(0.15, abs=0.01)
    assert result["mean_confidence"] - result["share_right"] == pytest.approx(
        0.15, abs=0.02
    )
    assert "ece_off" in result.says and any(
        f.kind == "reliability" for f in result.drawings
    )


@pytest.mark.parametrize(
    ("tolerance", "right"), [(None, 0.88), (1.0, 0.10)]
)  # |N(0, 8)| <= 12.5, and <= 1
def test_the_tolerance_is_half_a_step_unless_given(
    tolerance: float | None, right: float
) -> None:
    assert analyse(simulated("perfect"), tolerance=tolerance)[
        "share_right"
    ] == pytest.approx(right, abs=0.05)


def test_all_measures_are_compared_and_the_finest_is_used() -> None:
    def several(score: float, error: float, draw: float) -> dict[str, Any]:
        top, level = (
            min(0.99, 0.5 + error / 100),
            ("high" if error > 10 else "medium" if error > 5 else "low"),
        )
        distribution = ScoreDistribution(values=(0, 100), probabilities=(top, 1 - top))
        stated = {
            "confidence": 100 - error,
            "uncertainty": level,
            "doubt": min(1.0, error / 30),
        }
        return stated | {"distribution": distribution}

    table = analyse(simulated(several)).tables["measures"].set_index("measure")
    assert list(table.index) == ["procedure", "entropy", "confidence", "level"]
    assert table["used"].tolist() == [True, False, False, False]
    gain = table["review_gain"]
    assert (gain["confidence"], gain["entropy"]) == (
        pytest.approx(1),
        pytest.approx(-1, abs=0.4),
    )
    assert 0.5 < gain["level"] < 1
    assert analyse(simulated(several), uncertainty="level")[
        "review_gain"
    ] == pytest.approx(gain["level"])


def test_the_procedures_own_doubt_comes_first_and_where_one_judgment_lacks_it_the_next_measure() -> (
    None
):
    def chosen(*doubts: float | None) -> str | None:
        rows = [
            (50.0, 50.0, {"doubt": doubt, "interval": (k, 50)})
            for k, doubt in enumerate(doubts)
        ]
        found = uncertainties(labelled_run(rows).frame)
        with pytest.raises(
            ConfigError, match=r"`analysis\.uncertainty` is 'entropy'.*width"
        ):
            choose(found, "entropy")
        return choose(found, "auto")

    assert chosen(0.5, 0.1, 0.5) == "procedure"
    assert chosen(0.5, None, 0.5) == "width"
    assert chosen(0.5, 0.5, 0.5) == "width"  # tells no item from another


def test_human_disagreement_is_that_of_all_raters() -> None:
    """Of three raters the outermost two count, whoever of them is the first; a single rater tells
    nothing."""
    judged = simulated("perfect")
    frame, apart = judged.frame, (judged.frame["score"] - judged.frame["label"]).abs()
    middle = frame["label"].tolist()
    raters = {
        item: {criterion: {"a": label, "b": label - gap / 2, "c": label + gap / 2}}
        for item, criterion, label, gap in zip(
            frame["item_id"], frame["criterion"], middle, apart, strict=True
        )
    }
    spread = frame.assign(**{"metadata.label_spread": apart, "metadata.label_count": 2})
    second = frame.assign(**{"metadata.second_label": frame["label"] + apart})
    for found in (
        RunEvidence(frame, rubric(), known=rated(raters)),
        RunEvidence(spread, rubric()),
        RunEvidence(second, rubric()),
    ):
        assert people_apart(found, found.frame).tolist() == pytest.approx(
            apart.tolist()
        )
        result = analyse(found)
        assert (
            result["spearman_disagreement"] == pytest.approx(1)
            and "disagreement" in result.says
        )
    alone = RunEvidence(spread.assign(**{"metadata.label_count": 1}), rubric())
    assert people_apart(alone, alone.frame).isna().all()


@pytest.mark.parametrize(
    ("estimate", "word"), [(88.0, "holds"), (99.0, "too_high"), (50.0, "too_low")]
)
def test_an_estimated_accuracy_is_held_against_the_truth(
    estimate: float, word: str
) -> None:
    details = {"details": {"estimated_accuracy": estimate}}
    result = analyse(simulated(lambda s, e, d: details), coverage_margin=0.1)
    assert f"estimate_{word}" in result.says
    assert result["estimated_accuracy_gap"] == pytest.approx(
        estimate / 100 - result["share_right"]
    )


def test_truth_from_a_reference_run_or_from_conditions(tmp_path: Path) -> None:
    judged = simulated("perfect")
    frame = judged.frame.assign(label=np.nan)
    unlabelled = RunEvidence(frame, rubric())
    there = [
        verdict(i, y)
        for i, y in zip(frame["item_id"], judged.frame["label"], strict=True)
    ]
    result = analyse(unlabelled, reference=run_folder(tmp_path, there))
    assert (
        result["review_gain"] == pytest.approx(1) and "truth_reference" in result.says
    )
    by_condition = analyse(unlabelled, condition_labels={"c": 50.0})
    assert by_condition["mae"] == pytest.approx((frame["score"] - 50).abs().mean())
    assert "truth_condition" in by_condition.says
    refuses(Unsuited, "RUN_FOLDER", "calibration", unlabelled)
    refuses(
        ConfigError,
        "outside the scale",
        "calibration",
        unlabelled,
        condition_labels={"c": 500.0},
    )
    refuses(
        DataError,
        "outside the scale",
        "calibration",
        RunEvidence(frame.assign(label=101.0), rubric()),
    )


def test_a_doubt_that_follows_from_the_score_is_named_so() -> None:
    """A judge of random scores, surest in the middle: its doubt orders the errors of any random
    judge."""
    scores, labels = np.random.default_rng(0).uniform(0, 100, (100, 2)).T.tolist()
    rows = [
        (label, score, {"doubt": abs(score - 50)})
        for label, score in zip(labels, scores, strict=True)
    ]
    result = analyse(labelled_run(rows))
    assert result["review_gain_low"] > 0 and result["gain_of_score"] > 0.1
    assert result.ruled == ("function", "refuted") and "beyond_function" in result.says
    items = result.result.items
    assert items is not None and items["expected_error"].notna().all()


def test_every_measure_gets_its_worth_beyond_the_score_corrected_for_their_number() -> (
    None
):
    def several(score: float, error: float, draw: float) -> dict[str, Any]:
        return {
            "doubt": error + 8 * draw,
            "confidence": 100 * draw,
            "interval": (score - draw, score + draw),
        }

    alone = analyse(simulated("noisy", n=80)).tables["measures"].iloc[0]
    table = analyse(simulated(several, n=80)).tables["measures"].set_index("measure")
    assert (table["gain_of_score"] == table["gain_of_score"].iloc[0]).all()
    # Width and confidence order the texts in opposite ways, so there are three questions.
    width = table.loc["procedure", "beyond_high"] - table.loc["procedure", "beyond_low"]
    assert width > 1.1 * (alone["beyond_high"] - alone["beyond_low"])
    assert table.loc["procedure", "beyond_low"] > 0 > table.loc["width", "beyond_low"]


def test_failed_judgments_are_counted_and_not_reviewed_for_free() -> None:
    assert analyse(simulated("noisy", n=60)).standing == "supported"
    result = analyse(simulated("noisy", n=60, failed=12))
    assert result["worst_gain"] < 0 < result["review_gain_low"]
    assert result.ruled == ("failed", "undecided") and "if_failed" in result.says
    assert (
        result.of("judged failed") == [60, 12]
        and result.says["analyses.failed"]["n"] == 12
    )


def test_small_numbers_leave_coverage_and_confidence_open_and_do_not_tell_a_doubt_from_the_score() -> (
    None
):
    result = analyse(
        simulated(
            lambda s, e, d: {"interval": (s - 13, s + 13), "confidence": 88.0},
            n=40,
            seed=4,
        )
    )
    assert result.says["coverage_open"]["needed"] == pytest.approx(309, abs=2)
    assert "ece_open" in result.says and result["ece_if_perfect"] > 0
    few = analyse(simulated("perfect", n=20))
    assert few["review_gain_low"] > 0 and few.ruled == ("few", "undecided")
