"""Promises on simulated judges: intervals hold on other texts, and so does what is decided alone; few are refused."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.analyses.builders import analysed, configured, labelled_run, made_up, rubric, verdict
from tests.judges.conftest import FixedJudge
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.analyses.conformal import ConformalAnalysis
from undogmatic.analyses.measures import Measure, measured
from undogmatic.analyses.truth import drawn
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError, DataError
from undogmatic.experiment import run_experiment
from undogmatic.judges.selective import Rules, SelectiveJudge, doubt_of
from undogmatic.records.records import Item, ScoreDistribution, Verdict

analyse = partial(analysed, "conformal")


def simulated(n: int, spread: dict[str, float], half_width: float | None = None, paired: bool = False) -> LongTable:
    """n texts per condition; the error is normal with the condition's standard deviation, clipped to the scale."""
    draw = np.random.default_rng(5)
    items, judgments = [], []
    for condition, sd in spread.items():
        for k in range(n):
            label = float(draw.uniform(30, 70))
            score = float(np.clip(label + draw.normal(0, sd), 0, 100))
            place = {"condition": condition, "pair": f"{condition}-{k // 2}" if paired else None}
            text = made_up(9, f"{condition} {k}")
            items.append(Item(id=f"{condition}{k}", text=text, label=label, **place))
            interval = None if half_width is None else (score - half_width, score + half_width)
            judgments.append(verdict(items[-1].id, score, interval=interval))
    return LongTable(tabulate(items, judgments, 1), rubric())


def test_coverage_of_all_methods_is_near_nominal_on_texts_not_fitted_on() -> None:
    result = analyse(simulated(2000, {"easy": 2.0, "hard": 12.0}, half_width=1.0))
    assert result.of("coverage.split coverage.ranges coverage.mondrian") == pytest.approx([0.9] * 3, abs=0.02)
    table = result.tables["coverage"].set_index(["method", "group"])
    # One reach for all is too wide for the easy texts and too narrow for the hard; groups of their own mend it.
    assert table.loc[("split", "easy"), "coverage"] > 0.98
    assert table.loc[("split", "hard"), "coverage"] < 0.85
    for group, sd in (("easy", 2.0), ("hard", 12.0)):
        assert table.loc[("mondrian", group), "coverage"] == pytest.approx(0.9, abs=0.04)
        assert table.loc[("mondrian", group), "reach"] == pytest.approx(1.645 * sd, rel=0.1)
    assert "parts" in result.says and result.ruled[0] == "holds"


def test_too_few_fitted_texts_are_refused_with_the_number_needed() -> None:
    result = analyse(simulated(12, {"a": 5.0}), by=None)
    assert result.says["refused"]["needed"] == 9 and not result.tables
    assert result.says["verdict_refused"] == {"n": 12, "needed": 9}


def test_a_small_group_is_refused_and_the_others_are_not() -> None:
    large, small = simulated(200, {"large": 5.0}), simulated(6, {"small": 5.0})
    result = analyse(LongTable(pd.concat([large.frame, small.frame], ignore_index=True), rubric()))
    assert result.says["groups_refused"]["groups"] == ["small"]
    table = result.tables["coverage"]
    assert "small" not in set(table.loc[table["method"] == "mondrian", "group"])


def test_labels_that_are_levels_give_intervals_that_end_on_levels() -> None:
    draw = np.random.default_rng(1)
    labels = draw.choice([0, 25, 50, 75, 100], 400).astype(float)
    scores = np.clip(labels + draw.normal(0, 4, 400), 0, 100)
    judged = labelled_run([(label, score, {}) for label, score in zip(labels, scores.tolist(), strict=True)])
    result = analyse(judged, by=None, ordinal=True)
    # An error is hardly ever half a step, so the right level stands alone, and nothing is lost by it.
    assert result["coverage.split"] > 0.97 and result["width.split"] < 5


def test_the_split_keeps_pairs_together_and_does_not_depend_on_the_order() -> None:
    names = [f"pair {k // 2}" for k in range(2000)]
    first = drawn(names, 0.3, 0)
    assert (first[::2] == first[1::2]).all()
    assert first.mean() == pytest.approx(0.3, abs=0.03)
    assert (drawn(names[::-1], 0.3, 0) == first[::-1]).all()
    assert (drawn(names, 0.3, 1) != first).any()


def test_pairs_are_never_in_both_parts() -> None:
    result = analyse(simulated(100, {"a": 5.0}, paired=True), by=None)
    # `coverage` refuses ids that were fitted on, so a result is the proof; the parts are whole pairs.
    assert result.says["parts"]["fit"] % 2 == 0


def test_what_a_user_can_get_wrong() -> None:
    judged = simulated(20, {"a": 5.0})
    with pytest.raises(ConfigError, match=r"`analysis\.by` is 'court'; there are: condition"):
        ConformalAnalysis(by="court").check(judged)
    with pytest.raises(DataError, match="which is no level"):
        ConformalAnalysis(ordinal=True).check(judged)
    with pytest.raises(ConfigError, match="nominal"):
        configured("conformal", nominal=1.5)
    unlabelled = LongTable(judged.frame.assign(label=np.nan), rubric())
    with pytest.raises(Unsuited, match="condition_labels"):
        ConformalAnalysis().check(unlabelled)
    with pytest.raises(ConfigError, match="give one of them"):
        ConformalAnalysis(reference="x", condition_labels={"a": 5.0}).check(judged)


def test_a_small_part_to_verify_leaves_the_promise_open() -> None:
    small, large = (analyse(simulated(n, {"a": 5.0}), by=None) for n in (100, 2000))
    assert small.says["verdict_open"]["needed"] > 200
    assert (small.standing, large.ruled) == ("undecided", ("holds", "supported"))


def test_texts_that_belong_together_widen_the_band_of_a_valid_fit() -> None:
    of_all = (
        analyse(simulated(400, {"a": 5.0}, paired=paired), by=None).tables["coverage"] for paired in (False, True)
    )
    single, double = (table["band_high"][0] - table["band_low"][0] for table in of_all)
    assert double > 1.25 * single


alone = partial(analysed, "escalation")


def doubting(n: int, knows: bool, seed: int = 1, **item: Any) -> LongTable:
    """Errors up to 40 points; the confidence is what is left of 100 after twice the error, or nothing but chance."""
    draw, rows = np.random.default_rng(seed), []
    for _ in range(n):
        label, error = float(draw.uniform(40, 60)), float(draw.uniform(-40, 40))
        confidence = 100 - 2 * abs(error) if knows else float(draw.uniform(0, 100))
        rows.append((label, label + error, {"confidence": confidence}))
    return labelled_run(rows, condition="c", **item)


def test_a_judge_that_knows_its_errors_may_decide_some_texts_alone() -> None:
    result = alone(doubting(300, knows=True))
    found, items = result.says["verdict_promised"], result.result.items
    assert result.standing == "supported" and found["low"] >= 0.9
    # Errors within 10 points are a quarter of all; beyond them every score disagrees.
    assert 0.15 < found["share"] < 0.28
    assert items is not None and items.query("decided == 1")["right"].mean() >= 0.9


@pytest.mark.parametrize(("n", "word"), [(300, "refused"), (20, "too_few")])
def test_a_judge_that_does_not_is_refused_with_the_number_of_labels(n: int, word: str) -> None:
    result = alone(doubting(n, knows=False))
    assert result.ruled == (word, "undecided") and "threshold" not in result.numbers
    assert result["needed"] == 29
    found = result.says[f"verdict_{word}"]
    assert word == "too_few" or found["more"] > found["surest"]


def test_texts_of_one_precedent_are_one_unit() -> None:
    result = alone(doubting(300, knows=True, metadata={"precedent": "STF-TEMA-69"}))
    assert result.says["verdict_too_few"]["units"] == 1


def test_without_doubt_or_truth_it_says_so() -> None:
    judged = doubting(60, knows=True)
    none = LongTable(judged.frame.assign(confidence=np.nan), judged.rubric)
    assert alone(none).ruled[0] == "no_doubt"
    with pytest.raises(Unsuited, match="right score"):
        alone(LongTable(judged.frame.assign(label=np.nan), judged.rubric))
    with pytest.raises(ConfigError, match=r"analysis\.rate"):
        configured("escalation", rate=1.5)


def test_selective_takes_a_promise_from_a_run_that_made_one_only(tmp_path: Path) -> None:
    lines = [{"id": f"t{n}", "text": made_up(30, str(n)), "label": 50.0} for n in range(40)]
    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["model=patterns", "dataset=texts", f"dataset.path={data}", "tracking=none", "engine.cache=false"]

    def run(name: str, *more: str) -> Path:
        config = compose_config([*words, *more])
        choices = {"model": "patterns", "prompt": "anchored_pt", "judge": "score", "dataset": "texts", "analysis": "x"}
        folder = tmp_path / name
        (folder / ".hydra").mkdir(parents=True)
        (folder / ".hydra" / "config.yaml").write_text(json.dumps(config))
        run_experiment(config, choices, folder)
        return folder

    selective = ["judge=selective", "judge.expensive=score"]
    with pytest.raises(ConfigError, match="without analysis=escalation"):
        run("a", *selective, f"judge.rules.guaranteed={{run: {run('plain', 'analysis=none')}}}")
    with pytest.raises(ConfigError, match="could promise no threshold"):
        run("b", *selective, f"judge.rules.guaranteed={{run: {run('doubtless', 'analysis=escalation')}}}")


def test_selective_keeps_the_promise(tmp_path: Path) -> None:
    scale, doubts = rubric(), (10.0, 60.0, None)
    cheap = [FixedJudge(Verdict(score=20.0, confidence=None if d is None else 100 - d), "cheap") for d in doubts]
    judges = [SelectiveJudge(one, FixedJudge(Verdict(score=90.0), "dear"), scale, Rules()) for one in cheap]
    found = []
    for judge in judges:
        judge.promise = ("confidence", 40.0)
        verdict = asyncio.run(judge.judge(Item(id="a", text="t")))
        found.append((verdict.score, verdict.details["rules_fired"]))
    # Without a doubt there is no promise, so the expensive judge decides.
    assert found == [(20.0, ""), (90.0, "guaranteed"), (90.0, "guaranteed")]


@pytest.mark.parametrize("measure", get_args(Measure))
def test_the_judge_and_the_analysis_read_doubt_alike(measure: Measure) -> None:
    spread = ScoreDistribution(values=(0.0, 100.0), probabilities=(0.3, 0.7))
    fields: dict[str, Any] = {"interval": (10.0, 35.0), "confidence": 81.0, "doubt": 0.4, "uncertainty": "medium"}
    table = tabulate([Item(id="a", text="t")], [verdict("a", 20.0, distribution=spread, **fields)], 1)
    assert measured(table)[measure].tolist() == [doubt_of(Verdict(score=20.0, distribution=spread, **fields), measure)]
