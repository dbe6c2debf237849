"""Promises on simulated judges: intervals hold on other texts, and so does what is decided alone;
few are refused."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import put
from tests.engine.parts import TEXTS, run_in
from tests.examinations.builders import analysed, labelled_run, made_up, refuses, rubric
from tests.judges.conftest import FixedJudge
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.calibration import Measure, measured
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import drawn
from undogmatic.judges.selective import Rules, SelectiveJudge, doubt_of
from undogmatic.records.records import Item, ScoreDistribution, Verdict

analyse = partial(analysed, "conformal")


def simulated(
    n: int,
    spread: dict[str, float],
    half_width: float | None = None,
    paired: bool = False,
) -> RunEvidence:
    """n texts per condition; the error is normal with the condition's standard deviation, clipped
    to the scale."""
    draw, rows = np.random.default_rng(5), []
    for condition, sd in spread.items():
        for k in range(n):
            label = float(draw.uniform(30, 70))
            score = float(np.clip(label + draw.normal(0, sd), 0, 100))
            interval = (
                None if half_width is None else (score - half_width, score + half_width)
            )
            pair = f"{condition}-{k // 2}" if paired else None
            place = {"id": f"{condition}{k}", "condition": condition, "pair": pair}
            rows.append((label, score, place | {"interval": interval}))
    return labelled_run(rows)


def test_coverage_of_all_methods_is_near_nominal_on_texts_not_fitted_on() -> None:
    result = analyse(simulated(2000, {"easy": 2.0, "hard": 12.0}, half_width=1.0))
    assert result.of(
        "coverage.split coverage.ranges coverage.mondrian"
    ) == pytest.approx([0.9] * 3, abs=0.02)
    table = result.tables["coverage"].set_index(["method", "group"])
    # One reach for all is too wide for the easy texts and too narrow for the hard; groups of their
    # own mend it.
    assert table.loc[("split", "easy"), "coverage"] > 0.98
    assert table.loc[("split", "hard"), "coverage"] < 0.85
    for group, sd in (("easy", 2.0), ("hard", 12.0)):
        assert table.loc[("mondrian", group), "coverage"] == pytest.approx(
            0.9, abs=0.04
        )
        assert table.loc[("mondrian", group), "reach"] == pytest.approx(
            1.645 * sd, rel=0.1
        )
    assert "parts" in result.says and result.ruled[0] == "holds"


def test_too_few_fitted_texts_and_a_small_group_are_refused_and_the_others_are_not() -> (
    None
):
    result = analyse(simulated(12, {"a": 5.0}), by=None)
    assert result.says["refused"]["needed"] == 9 and not result.tables
    assert result.says["verdict_refused"] == {"n": 12, "needed": 9}
    frame = simulated(200, {"large": 5.0, "small": 5.0}).frame
    result = analyse(RunEvidence(frame[:206], rubric()))
    assert result.says["groups_refused"]["groups"] == ["small"]
    table = result.tables["coverage"]
    assert "small" not in set(table.loc[table["method"] == "mondrian", "group"])


def test_labels_that_are_levels_give_intervals_that_end_on_levels() -> None:
    draw = np.random.default_rng(1)
    labels = draw.choice([0, 25, 50, 75, 100], 400).astype(float)
    scores = np.clip(labels + draw.normal(0, 4, 400), 0, 100)
    judged = labelled_run(
        [
            (label, score, {})
            for label, score in zip(labels, scores.tolist(), strict=True)
        ]
    )
    result = analyse(judged, by=None, ordinal=True)
    # An error is hardly ever half a step, so the right level stands alone, and nothing is lost by
    # it.
    assert result["coverage.split"] > 0.97 and result["width.split"] < 5


def test_the_split_keeps_pairs_together_and_does_not_depend_on_the_order() -> None:
    names = [f"pair {k // 2}" for k in range(2000)]
    first = drawn(names, 0.3, 0)
    assert (first[::2] == first[1::2]).all()
    assert first.mean() == pytest.approx(0.3, abs=0.03)
    assert (drawn(names[::-1], 0.3, 0) == first[::-1]).all()
    assert (drawn(names, 0.3, 1) != first).any()
    # `coverage` refuses ids that were fitted on, so a result is the proof; the parts are whole
    # pairs.
    assert (
        analyse(simulated(100, {"a": 5.0}, paired=True), by=None).says["parts"]["fit"]
        % 2
        == 0
    )


def test_what_a_user_can_get_wrong() -> None:
    judged = simulated(20, {"a": 5.0})
    refuses(
        ConfigError,
        r"`analysis\.by` is 'court'; there are: condition",
        "conformal",
        judged,
        by="court",
    )
    refuses(DataError, "which is no level", "conformal", judged, ordinal=True)
    refuses(ConfigError, "nominal", "conformal", nominal=1.5)
    refuses(
        Unsuited,
        "condition_labels",
        "conformal",
        RunEvidence(judged.frame.assign(label=np.nan), rubric()),
    )
    truths: dict[str, Any] = {"reference": "x", "condition_labels": {"a": 5.0}}
    refuses(ConfigError, "give one of them", "conformal", judged, **truths)
    refuses(ConfigError, r"analysis\.rate", "escalation", rate=1.5)


def test_a_small_part_to_verify_leaves_the_promise_open() -> None:
    small, large = (analyse(simulated(n, {"a": 5.0}), by=None) for n in (100, 2000))
    assert small.says["verdict_open"]["needed"] > 200
    assert (small.standing, large.ruled) == ("undecided", ("holds", "supported"))


def test_texts_that_belong_together_widen_the_band_of_a_valid_fit() -> None:
    alone, pairs = (
        simulated(400, {"a": 5.0}, paired=paired) for paired in (False, True)
    )
    of_all = (analyse(judged, by=None).tables["coverage"] for judged in (alone, pairs))
    single, double = (table["band_high"][0] - table["band_low"][0] for table in of_all)
    assert double > 1.25 * single


alone = partial(analysed, "escalation")


def doubting(
    n: int,
    knows: bool,
    seed: int = 1,
    labels: tuple[float, float] = (0, 100),
    **item: Any,
) -> RunEvidence:
    """Errors up to 40 points; the confidence is what is left of 100 after twice the error, or
    nothing but chance."""
    draw, rows = np.random.default_rng(seed), []
    for _ in range(n):
        label, error = float(draw.uniform(*labels)), float(draw.uniform(-40, 40))
        confidence = 100 - 2 * abs(error) if knows else float(draw.uniform(0, 100))
        score = label + error if 0 <= label + error <= 100 else label - error
        rows.append((label, score, {"confidence": confidence}))
    return labelled_run(rows, condition="c", **item)


def test_a_judge_that_knows_its_errors_may_decide_some_texts_alone() -> None:
    result = alone(doubting(300, knows=True))
    found, items = result.says["verdict_promised"], result.result.items
    assert result.standing == "supported" and found["low"] >= 0.9
    # Errors within 10 points are a quarter of all; beyond them every score disagrees.
    assert 0.15 < found["share"] < 0.28
    assert items is not None and items.query("decided == 1")["right"].mean() >= 0.9


def test_what_one_score_for_all_texts_would_be_promised_is_no_merit_of_the_judge() -> (
    None
):
    result = alone(doubting(300, knows=True, labels=(45, 55)))
    assert (
        result.ruled == ("constant", "undecided")
        and "threshold" not in result.numbers
        and result["share"] == 0
    )
    assert result.says["verdict_constant"]["always"] == 1
    items = result.result.items
    assert items is not None and not items["decided"].any()
    # Where most labels are alike, a judge that finds the others on which one score fails is worth
    # something.
    draw = np.random.default_rng(3)
    labels = np.where(draw.random(600) < 0.06, 90.0, 5.0).tolist()
    rows = [
        (label, label, {"confidence": float(draw.uniform(0, 100))}) for label in labels
    ]
    assert alone(labelled_run(rows)).ruled == ("promised", "supported")


def test_intervals_that_one_score_for_all_texts_would_have_are_no_merit_of_the_judge() -> (
    None
):
    draw = np.random.default_rng(5)
    rows = [
        (float(draw.uniform(0, 100)), float(draw.uniform(0, 100)), {})
        for _ in range(800)
    ]
    result = analyse(labelled_run(rows), by=None)
    assert result.ruled == ("constant", "undecided") and result["width.split"] > 85
    assert result.says["verdict_constant"]["its_width"] < 100


def test_copies_of_what_the_judge_gets_wrong_count_as_the_texts_that_they_are() -> None:
    draw, rows = np.random.default_rng(2), []
    for group in range(300):
        wrong = group % 30 == 7
        for _ in range(25 if wrong else 1):
            label = 100.0 - 10 * wrong if group % 2 else 10.0 * wrong
            more = {
                "confidence": float(draw.uniform(0, 100)),
                "metadata": {"group": str(group)},
            }
            rows.append((label, 100 - label if wrong else label, more))
    result = alone(labelled_run(rows))
    assert result.ruled == ("too_few_heavy", "undecided") and result["needed"] == 29
    assert result.says["verdict_too_few_heavy"]["needed"] > 300


@pytest.mark.parametrize(("n", "word"), [(300, "refused"), (20, "too_few")])
def test_a_judge_that_does_not_is_refused_with_the_number_of_labels(
    n: int, word: str
) -> None:
    result = alone(doubting(n, knows=False))
    assert result.ruled == (word, "undecided") and "threshold" not in result.numbers
    assert result["needed"] == 29
    found = result.says[f"verdict_{word}"]
    assert word == "too_few" or found["more"] > found["surest"]


def test_texts_of_one_precedent_are_one_unit_and_without_doubt_or_truth_it_says_so() -> (
    None
):
    result = alone(doubting(300, knows=True, metadata={"precedent": "STF-TEMA-69"}))
    assert result.says["verdict_too_few"]["units"] == 1
    judged = doubting(60, knows=True)
    none = RunEvidence(judged.frame.assign(confidence=np.nan), judged.rubric)
    assert alone(none).ruled[0] == "no_doubt"
    with pytest.raises(Unsuited, match="right score"):
        alone(RunEvidence(judged.frame.assign(label=np.nan), judged.rubric))


def test_selective_takes_a_promise_from_a_run_that_made_one_only() -> None:
    put(
        Path("texts.jsonl"),
        (
            {"id": f"t{n}", "text": made_up(30, str(n)), "label": 50.0}
            for n in range(40)
        ),
    )

    def run(name: str, *more: str) -> str:
        run_in(Path(name), compose_config([*TEXTS, "engine.cache=false", *more]))
        return name

    selective = ["judge=selective", "judge.expensive=score"]
    with pytest.raises(ConfigError, match="without analysis=escalation"):
        run(
            "a",
            *selective,
            f"judge.rules.guaranteed={{run: {run('plain', 'analysis=none')}}}",
        )
    with pytest.raises(ConfigError, match="could promise no threshold"):
        run(
            "b",
            *selective,
            f"judge.rules.guaranteed={{run: {run('doubtless', 'analysis=escalation')}}}",
        )


def test_selective_keeps_the_promise() -> None:
    found = []
    for doubt in (10.0, 60.0, None):
        cheap = FixedJudge(
            Verdict(score=20.0, confidence=None if doubt is None else 100 - doubt),
            "cheap",
        )
        judge = SelectiveJudge(
            cheap, FixedJudge(Verdict(score=90.0), "dear"), rubric(), Rules()
        )
        judge.promise = ("confidence", 40.0)
        decided = asyncio.run(judge.judge(Item(id="a", text="t")))
        found.append((decided.score, decided.details["rules_fired"]))
    # Without a doubt there is no promise, so the expensive judge decides.
    assert found == [(20.0, ""), (90.0, "guaranteed"), (90.0, "guaranteed")]


@pytest.mark.parametrize("measure", get_args(Measure))
def test_the_judge_and_the_analysis_read_doubt_alike(measure: Measure) -> None:
    fields: dict[str, Any] = {
        "interval": (10.0, 35.0),
        "confidence": 81.0,
        "doubt": 0.4,
        "uncertainty": "medium",
    }
    fields["distribution"] = ScoreDistribution(
        values=(0.0, 100.0), probabilities=(0.3, 0.7)
    )
    read = measured(labelled_run([(None, 20.0, fields)]).frame)[measure]
    assert read.tolist() == [doubt_of(Verdict(score=20.0, **fields), measure)]
