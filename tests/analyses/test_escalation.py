"""What a judge may decide alone: the verdicts, and the promise that `judge=selective` keeps."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.analyses.builders import Said, analysed, configured, labelled_run, made_up, rubric, verdict
from tests.judges.conftest import FixedJudge
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.analyses.measures import Measure, measured
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.judges.selective import Promise, Rules, SelectiveJudge, doubt_of
from undogmatic.records.records import Item, ScoreDistribution, Verdict

analyse = partial(analysed, "escalation")


def simulated(n: int, knows: bool, seed: int = 1, **item: Any) -> LongTable:
    """Errors up to 40 points; the confidence is what is left of 100 after twice the error, or nothing but chance."""
    draw, rows = np.random.default_rng(seed), []
    for _ in range(n):
        label, error = float(draw.uniform(40, 60)), float(draw.uniform(-40, 40))
        confidence = 100 - 2 * abs(error) if knows else float(draw.uniform(0, 100))
        rows.append((label, label + error, {"confidence": confidence}))
    return labelled_run(rows, condition="c", **item)


def test_a_judge_that_knows_its_errors_may_decide_some_texts_alone(said: Said) -> None:
    result = analyse(simulated(300, knows=True))
    found = said(result)["escalation.verdict_promised"].values
    assert result.standing == "supported"
    assert found["low"] >= 0.9
    # Errors within 10 points are a quarter of all; beyond them every score disagrees.
    assert 0.15 < found["share"] < 0.28
    assert result.items is not None
    assert result.items.query("decided == 1")["right"].mean() >= 0.9


@pytest.mark.parametrize(("n", "word"), [(300, "refused"), (20, "too_few")])
def test_a_judge_that_does_not_is_refused_with_the_number_of_labels(n: int, word: str, said: Said) -> None:
    result = analyse(simulated(n, knows=False))
    found = said(result)[f"escalation.verdict_{word}"].values
    assert result.standing == "undecided"
    assert "escalation.threshold" not in result.metrics
    assert result.metrics["escalation.needed"] == 29
    if word == "refused":
        assert found["more"] > found["surest"]


def test_texts_of_one_precedent_are_one_unit(said: Said) -> None:
    result = analyse(simulated(300, knows=True, metadata={"precedent": "STF-TEMA-69"}))
    assert said(result)["escalation.verdict_too_few"].values["units"] == 1


def test_without_doubt_or_truth_it_says_so(said: Said) -> None:
    judged = simulated(60, knows=True)
    none = LongTable(judged.frame.assign(confidence=np.nan), judged.rubric)
    assert "escalation.verdict_no_doubt" in said(analyse(none))
    with pytest.raises(Unsuited, match="right score"):
        analyse(LongTable(judged.frame.assign(label=np.nan), judged.rubric))
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
        judge.promise = Promise("confidence", 40.0)
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
