"""The worth of uncertainty on simulated judges whose uncertainty is perfect, random, constant or missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analyses.builders import Said, labelled_run, made_up, rubric, run_folder, verdict
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.analyses.calibration import ITEMS, CalibrationAnalysis
from undogmatic.analyses.measures import choose, uncertainties
from undogmatic.analyses.truth import people_apart
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item, ScoreDistribution
from undogmatic.records.results import AnalysisResult

Give = Callable[[float, float, float], dict[str, Any]]
"""Score, |error| and a uniform random number -> the fields of a verdict."""

QUICK = {"resamples": 100}


GIVES: dict[str, Give] = {
    "perfect": lambda score, error, draw: {"interval": (score - 1.1 * error, score + 1.1 * error)},
    "random": lambda score, error, draw: {"interval": (score - 20 * draw, score + 20 * draw)},
    # 90 % of normal errors with standard deviation 8
    "constant": lambda score, error, draw: {"interval": (score - 13.159, score + 13.159)},
    "inverse": lambda score, error, draw: {"interval": (score - 50 + error, score + 50 - error)},
    "none": lambda score, error, draw: {},
    "noisy": lambda score, error, draw: {"doubt": error + 8 * draw},
}


def simulated(give: Give | str, n: int = 300, seed: int = 3) -> LongTable:
    """Labels 30 to 70, normal errors of standard deviation 8."""
    draw, fields = np.random.default_rng(seed), GIVES[give] if isinstance(give, str) else give

    def row() -> tuple[float, float, dict[str, Any]]:
        label, error = float(draw.uniform(30, 70)), float(draw.normal(0, 8))
        return label, label + error, fields(label + error, abs(error), float(draw.uniform()))

    return labelled_run([row() for _ in range(n)], condition="c")


def with_failed(judged: LongTable, n: int) -> LongTable:
    """And n texts whose judgments failed."""
    items = [Item(id=f"x{k}", text=made_up(9, f"x{k}"), label=50.0, condition="c") for k in range(n)]
    failed = tabulate(items, [verdict(i.id, "refusal") for i in items], 1)
    return LongTable(pd.concat([judged.frame, failed], ignore_index=True), rubric())


def analysed(judged: LongTable, rng: np.random.Generator, **settings: Any) -> AnalysisResult:
    (result,) = CalibrationAnalysis(**QUICK | settings)(judged, rng)
    return result


def test_perfect_uncertainty_reaches_the_oracle(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated("perfect"), rng)
    m, found = result.metrics, said(result)
    assert m["calibration.review_gain"] == pytest.approx(1)
    assert m["calibration.excess_aurc"] == pytest.approx(0, abs=1e-9)
    assert m["calibration.spearman_error"] == pytest.approx(1)
    assert m["calibration.coverage"] == 1
    assert found["calibration.verdict_worth"].values["measure"] == "width"
    lines = next(f.data["lines"] for f in result.figures if f.name == "review")
    assert lines["guided"]["y"] == pytest.approx(lines["perfect"]["y"])
    assert result.headline == "calibration.review_gain" and result.standing == "supported"
    assert m["calibration.beyond_score_low"] > 0.5


def test_random_uncertainty_stays_on_the_diagonal(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated("random", n=1000), rng)
    m = result.metrics
    assert m["calibration.review_gain"] == pytest.approx(0, abs=0.1)
    assert m["calibration.aurc"] == pytest.approx(m["calibration.mae"], rel=0.06)
    assert "calibration.verdict_unclear" in said(result) and result.standing == "undecided"
    table = result.tables["review"]
    assert table["guided_share"].to_numpy() == pytest.approx(table["budget_share"].to_numpy(), abs=0.05)


def test_constant_uncertainty_is_told_and_covers_as_planted(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated("constant", n=2000), rng)
    assert result.metrics["calibration.coverage"] == pytest.approx(0.9, abs=0.02)
    assert result.metrics["calibration.width"] == pytest.approx(26.318)
    found = said(result)
    assert {"calibration.constant", "calibration.verdict_constant", "calibration.coverage_nominal"} <= found.keys()
    assert result.headline is None and "calibration.review_gain" not in result.metrics


def test_uncertainty_that_points_away_from_errors_misleads(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated("inverse"), rng)
    assert result.metrics["calibration.review_gain"] < -0.5
    assert {"calibration.verdict_misleads", "calibration.coverage_wide"} <= said(result).keys()


def test_a_judge_without_uncertainty_and_one_without_enough_texts(rng: np.random.Generator, said: Said) -> None:
    found = said(analysed(simulated("none"), rng))
    assert {"calibration.no_intervals", "calibration.no_confidence", "calibration.verdict_none"} <= found.keys()
    few = said(analysed(simulated("perfect", n=9), rng))
    assert few["calibration.verdict_too_few"].values == {"n": 9, "needed": 10}
    stated = said(analysed(simulated(lambda s, e, d: {"confidence": 100 * d}, n=20), rng))
    assert stated["calibration.too_few"].values == {"what": "ece", "present": 20, "needed": 30}


def test_intervals_that_leave_the_scale_are_no_fault(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated(lambda s, e, d: {"interval": (s - 90, s + 90)}, n=40), rng)
    assert result.metrics["calibration.width"] == pytest.approx(180)
    assert "calibration.coverage_wide" in said(result) or "calibration.coverage_open" in said(result)


def test_ece_and_brier_find_planted_overconfidence(rng: np.random.Generator, said: Said) -> None:
    """Right with probability p - 0.15 where p is stated: ECE 0.15."""

    draw, rows = np.random.default_rng(8), []
    for _ in range(6000):
        stated = 0.2 + 0.75 * float(draw.uniform())
        wrong = float(draw.uniform()) >= stated - 0.15
        rows.append((50.0, 80.0 if wrong else 52.0, {"confidence": 100 * stated}))
    result = analysed(labelled_run(rows), rng, resamples=100)
    assert result.metrics["calibration.ece"] == pytest.approx(0.15, abs=0.01)
    assert result.metrics["calibration.mean_confidence"] - result.metrics["calibration.share_right"] == pytest.approx(
        0.15, abs=0.02
    )
    assert "calibration.ece_off" in said(result) and any(f.kind == "reliability" for f in result.figures)


def test_the_tolerance_is_half_a_step_unless_given(rng: np.random.Generator) -> None:
    judged = simulated("perfect")
    wide, narrow = analysed(judged, rng), analysed(judged, rng, tolerance=1.0)
    assert wide.metrics["calibration.share_right"] == pytest.approx(0.88, abs=0.05)  # |N(0, 8)| <= 12.5
    assert narrow.metrics["calibration.share_right"] == pytest.approx(0.10, abs=0.05)  # |N(0, 8)| <= 1


def test_all_measures_are_compared_and_the_finest_is_used(rng: np.random.Generator, said: Said) -> None:
    def several(score: float, error: float, draw: float) -> dict[str, Any]:
        top = min(0.99, 0.5 + error / 100)
        return {
            "distribution": ScoreDistribution(values=(0, 100), probabilities=(top, 1 - top)),
            "confidence": 100 - error,
            "uncertainty": "high" if error > 10 else "medium" if error > 5 else "low",
            "doubt": min(1.0, error / 30),
        }

    result = analysed(simulated(several), rng)
    table = result.tables["measures"].set_index("measure")
    assert list(table.index) == ["procedure", "entropy", "confidence", "level"]
    assert table["used"].to_dict() == {"procedure": True, "entropy": False, "confidence": False, "level": False}
    assert table.loc["confidence", "review_gain"] == pytest.approx(1)
    assert table.loc["entropy", "review_gain"] == pytest.approx(-1, abs=0.4)
    assert 0.5 < table.loc["level", "review_gain"] < 1
    chosen = analysed(simulated(several), rng, uncertainty="level")
    assert chosen.metrics["calibration.review_gain"] == pytest.approx(table.loc["level", "review_gain"])
    said(result)


def test_the_procedures_own_doubt_comes_first_and_where_one_judgment_lacks_it_the_next_measure() -> None:
    def chosen(*doubts: float | None) -> str | None:
        rows = [(50.0, 50.0, {"doubt": doubt, "interval": (k, 50)}) for k, doubt in enumerate(doubts)]
        found = uncertainties(labelled_run(rows).frame)
        with pytest.raises(ConfigError, match=r"`analysis\.uncertainty` is 'entropy'.*width"):
            choose(found, "entropy")
        return choose(found, "auto")

    assert chosen(0.5, 0.1, 0.5) == "procedure"
    assert chosen(0.5, None, 0.5) == "width"
    assert chosen(0.5, 0.5, 0.5) == "width"  # tells no item from another


def test_human_disagreement_where_second_labels_exist(rng: np.random.Generator, said: Said) -> None:
    judged = simulated("perfect")
    apart = (judged.frame["score"] - judged.frame["label"]).abs()
    frame = judged.frame.assign(**{"metadata.second_label": judged.frame["label"] + apart})
    result = analysed(LongTable(frame, rubric()), rng)
    assert result.metrics["calibration.spearman_disagreement"] == pytest.approx(1)
    assert "calibration.disagreement" in said(result)


def test_human_disagreement_is_that_of_all_raters(rng: np.random.Generator) -> None:
    """Of three raters the outermost two count, whoever of them is the first; a single rater tells nothing."""
    judged = simulated("perfect")
    frame, apart = judged.frame, (judged.frame["score"] - judged.frame["label"]).abs()
    middle = frame["label"].tolist()
    raters = {
        item: {criterion: {"a": label, "b": label - gap / 2, "c": label + gap / 2}}
        for item, criterion, label, gap in zip(frame["item_id"], frame["criterion"], middle, apart, strict=True)
    }
    spread = frame.assign(**{"metadata.label_spread": apart, "metadata.label_count": 2})
    for found in (LongTable(frame, rubric(), said=raters), LongTable(spread, rubric())):
        assert people_apart(found, found.frame).tolist() == pytest.approx(apart.tolist())
        assert analysed(found, rng).metrics["calibration.spearman_disagreement"] == pytest.approx(1)
    alone = LongTable(spread.assign(**{"metadata.label_count": 1}), rubric())
    assert people_apart(alone, alone.frame).isna().all()


@pytest.mark.parametrize(("estimate", "word"), [(88.0, "holds"), (99.0, "too_high"), (50.0, "too_low")])
def test_an_estimated_accuracy_is_held_against_the_truth(
    estimate: float, word: str, rng: np.random.Generator, said: Said
) -> None:
    result = analysed(
        simulated(lambda s, e, d: {"details": {"estimated_accuracy": estimate}}), rng, coverage_margin=0.1
    )
    assert f"calibration.estimate_{word}" in said(result)
    right = result.metrics["calibration.share_right"]
    assert result.metrics["calibration.estimated_accuracy_gap"] == pytest.approx(estimate / 100 - right)


def test_truth_from_a_reference_run_or_from_conditions(tmp_path: Path, rng: np.random.Generator, said: Said) -> None:
    judged = simulated("perfect")
    frame = judged.frame.assign(label=np.nan)
    unlabelled = LongTable(frame, rubric())
    with pytest.raises(Unsuited, match="RUN_FOLDER"):
        CalibrationAnalysis().check(unlabelled)
    there = [verdict(i, y) for i, y in zip(frame["item_id"], judged.frame["label"], strict=True)]
    result = analysed(unlabelled, rng, reference=run_folder(tmp_path, there))
    assert result.metrics["calibration.review_gain"] == pytest.approx(1)
    assert "calibration.truth_reference" in said(result)
    by_condition = analysed(unlabelled, rng, condition_labels={"c": 50.0})
    assert by_condition.metrics["calibration.mae"] == pytest.approx((frame["score"] - 50).abs().mean())
    assert "calibration.truth_condition" in said(by_condition)
    with pytest.raises(ConfigError, match="outside the scale"):
        CalibrationAnalysis(condition_labels={"c": 500.0}).check(unlabelled)
    with pytest.raises(DataError, match="outside the scale"):
        CalibrationAnalysis().check(LongTable(frame.assign(label=101.0), rubric()))


def test_numbers_per_item_are_kept_for_sweeps(rng: np.random.Generator) -> None:
    result = analysed(simulated("constant", n=40), rng)
    assert result.items is not None and list(result.items.columns) == ITEMS
    assert result.items["inside"].mean() == pytest.approx(result.metrics["calibration.coverage"])
    assert result.items["error"].mean() == pytest.approx(result.metrics["calibration.mae"])


def test_failed_judgments_are_counted_and_left_out(rng: np.random.Generator, said: Said) -> None:
    result = analysed(with_failed(simulated("perfect", n=40), 5), rng)
    assert (result.metrics["calibration.judged"], result.metrics["calibration.failed"]) == (40, 5)
    assert said(result)["analyses.failed"].values["n"] == 5


def test_a_doubt_that_follows_from_the_score_is_named_so(rng: np.random.Generator, said: Said) -> None:
    """A judge of random scores, surest in the middle: its doubt orders the errors of any random judge."""
    scores, labels = np.random.default_rng(0).uniform(0, 100, (100, 2)).T.tolist()
    rows = [(label, score, {"doubt": abs(score - 50)}) for label, score in zip(labels, scores, strict=True)]
    result = analysed(labelled_run(rows), rng)
    assert result.metrics["calibration.review_gain_low"] > 0
    assert {"calibration.verdict_function", "calibration.beyond_function"} <= said(result).keys()
    assert result.standing == "refuted"
    assert result.metrics["calibration.gain_of_score"] > 0.1
    assert result.items is not None and result.items["expected_error"].notna().all()


def test_few_texts_do_not_tell_a_doubt_from_the_score(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated("perfect", n=20), rng)
    assert result.metrics["calibration.review_gain_low"] > 0
    assert "calibration.verdict_few" in said(result) and result.standing == "undecided"


def test_every_measure_gets_its_worth_beyond_the_score_corrected_for_their_number(rng: np.random.Generator) -> None:
    def several(score: float, error: float, draw: float) -> dict[str, Any]:
        return {"doubt": error + 8 * draw, "confidence": 100 * draw, "interval": (score - draw, score + draw)}

    alone = analysed(simulated("noisy", n=80), rng).tables["measures"].iloc[0]
    table = analysed(simulated(several, n=80), rng).tables["measures"].set_index("measure")
    assert (table["gain_of_score"] == table["gain_of_score"].iloc[0]).all()
    # Width and confidence order the texts in opposite ways, so there are three questions.
    width = table.loc["procedure", "beyond_high"] - table.loc["procedure", "beyond_low"]
    assert width > 1.1 * (alone["beyond_high"] - alone["beyond_low"])
    assert table.loc["procedure", "beyond_low"] > 0 > table.loc["width", "beyond_low"]


def test_failed_judgments_are_not_reviewed_for_free(rng: np.random.Generator, said: Said) -> None:
    judged = simulated("noisy", n=60)
    assert analysed(judged, rng).standing == "supported"
    result = analysed(with_failed(judged, 12), rng)
    assert result.metrics["calibration.worst_gain"] < 0 < result.metrics["calibration.review_gain_low"]
    assert {"calibration.verdict_failed", "calibration.if_failed"} <= said(result).keys()
    assert result.standing == "undecided"


def test_small_numbers_leave_coverage_and_confidence_open(rng: np.random.Generator, said: Said) -> None:
    result = analysed(simulated(lambda s, e, d: {"interval": (s - 13, s + 13), "confidence": 88.0}, n=40, seed=4), rng)
    found = said(result)
    assert found["calibration.coverage_open"].values["needed"] == pytest.approx(309, abs=2)
    assert "calibration.ece_open" in found
    assert result.metrics["calibration.ece_if_perfect"] > 0
