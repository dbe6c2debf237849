"""Estimates from few labels on simulated judges whose bias is known."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import analysed, labelled_run, refuses
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.run_evidence import RunEvidence

analyse = partial(analysed, "few_labels")

CONDITIONS = {"authority_only": 70.0, "explained_only": 30.0}


def biased(pairs: int, labelled: int, inclusion: float | None = None) -> RunEvidence:
    """Labels around 70 and 30; the judge says 10 more on the treated side, 2 more on the other;
    some pairs labelled."""
    draw, rows = np.random.default_rng(2), []
    for n in range(pairs):
        for condition, centre in CONDITIONS.items():
            truth = float(np.clip(centre + draw.normal(0, 10), 0, 100))
            score = float(
                np.clip(truth + (10 if centre == 70 else 2) + draw.normal(0, 2), 0, 100)
            )
            known = (
                {}
                if n >= labelled or inclusion is None
                else {"metadata": {"inclusion_probability": inclusion}}
            )
            place = {"pair": str(n), "condition": condition}
            rows.append((truth if n < labelled else None, score, place | known))
    return labelled_run(rows)


def test_few_labels_take_the_judges_bias_out() -> None:
    result = analyse(biased(400, 40))
    says = result.says
    assert result["judge_mean"] == pytest.approx(56, abs=1.5)
    assert result["mean_low"] <= 50 <= result["mean_high"]
    assert result["difference_low"] <= 40 <= result["difference_high"]
    table = pd.concat(
        [result.tables["estimates"], result.tables["differences"]]
    ).set_index("of")
    assert table["calibration"].tolist() == ["none", "linear", "isotonic"] * 2
    # 40 pairs are 40 units, whatever the number of their texts: less the mean and the judge's
    # weight.
    assert table["degrees"].tolist() == [38] * 6
    # The judge follows the labels closely, so that it makes the interval much narrower than labels
    # alone.
    widths = (
        table["high"] - table["low"],
        table["labels_only_high"] - table["labels_only_low"],
    )
    assert (widths[0] < 0.6 * widths[1]).all()
    assert {
        "even",
        "difference",
        "verdict_estimate",
        "maps",
    } <= says.keys() and result.standing is None
    assert says["difference"]["treatment"] == "authority_only"
    assert says["budget"]["with_judge"] < says["budget"]["only"]
    assert (says["whenever"]["n"], says["whenever"]["total"]) == (80, 800)
    low, high = says["whenever"]["interval"]
    assert low < result["mean_low"] < result["mean_high"] < high


@pytest.mark.parametrize("calibration", ["none", "linear", "isotonic"])
def test_the_map_of_the_verdict_is_the_one_asked_for(calibration: str) -> None:
    result = analyse(biased(200, 30), calibration=calibration)
    table = result.tables["estimates"].set_index(["of", "calibration"])
    assert result["mean"] == table.loc[("all", calibration), "estimate"]
    assert result.says["maps"]["used"] == calibration


def test_labels_of_few_groups_are_few_labels() -> None:
    judged = biased(40, 20)
    frame = judged.frame.assign(
        group=np.where(judged.frame["label"].notna(), "one", judged.frame["group"])
    )
    result = analyse(RunEvidence(frame, judged.rubric))
    assert result.says["verdict_too_few_groups"] == {
        "n": 40,
        "effective": 1,
        "needed": 5,
    }


def test_drawn_labels_are_weighted_and_no_budget_is_guessed() -> None:
    result = analyse(biased(400, 40, inclusion=0.1))
    assert "weighted" in result.says and "needed" not in result.numbers
    assert result["mean_low"] <= 50 <= result["mean_high"]


def test_what_cannot_be_estimated() -> None:
    auto = "`analysis.calibration` is 'auto': input should be 'none', 'linear' or"
    refuses(ConfigError, auto, "few_labels", calibration="auto")
    refuses(
        Unsuited,
        "at least 10 labelled texts; the dataset has 4",
        "few_labels",
        biased(10, 2),
    )
    refuses(Unsuited, "`label`", "few_labels", biased(10, 0))
    refuses(
        DataError,
        "`inclusion_probability` is 0",
        "few_labels",
        biased(20, 10, inclusion=0.0),
    )
