"""Estimates from few labels on simulated judges whose bias is known."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.analyses.builders import Said, analysed, configured, made_up, rubric, verdict
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item

analyse = partial(analysed, "few_labels")

CONDITIONS = {"authority_only": 70.0, "explained_only": 30.0}


def biased(pairs: int, labelled: int, inclusion: float | None = None) -> LongTable:
    """Labels around 70 and 30; the judge says 10 more on the treated side, 2 more on the other; some pairs labelled."""
    draw = np.random.default_rng(2)
    items, judgments = [], []
    for n in range(pairs):
        for condition, centre in CONDITIONS.items():
            truth = float(np.clip(centre + draw.normal(0, 10), 0, 100))
            score = float(np.clip(truth + (10 if centre == 70 else 2) + draw.normal(0, 2), 0, 100))
            own: dict[str, Any] = {"label": truth} if n < labelled else {}
            if own and inclusion is not None:
                own["metadata"] = {"inclusion_probability": inclusion}
            text = made_up(9, f"{n} {condition}")
            items.append(Item(id=f"{n}-{condition}", text=text, pair=str(n), condition=condition, **own))
            judgments.append(verdict(items[-1].id, score))
    return LongTable(tabulate(items, judgments, 1), rubric())


def test_few_labels_take_the_judges_bias_out(said: Said) -> None:
    result = analyse(biased(400, 40))
    m = result.metrics
    assert m["few_labels.judge_mean"] == pytest.approx(56, abs=1.5)
    assert m["few_labels.mean_low"] <= 50 <= m["few_labels.mean_high"]
    assert m["few_labels.difference_low"] <= 40 <= m["few_labels.difference_high"]
    table = result.tables["estimates"].set_index("of")
    assert table["calibration"].tolist() == ["none", "linear", "isotonic"] * 2
    # 40 pairs are 40 units, whatever the number of their texts: less the mean and the judge's weight.
    assert table["degrees"].tolist() == [38] * 6
    # The judge follows the labels closely, so that it makes the interval much narrower than labels alone.
    widths = table["high"] - table["low"], table["labels_only_high"] - table["labels_only_low"]
    assert (widths[0] < 0.6 * widths[1]).all()
    found = said(result)
    assert {f"few_labels.{key}" for key in ("even", "difference", "verdict_estimate", "maps")} <= found.keys()
    assert found["few_labels.difference"].values["treatment"] == "authority_only"
    assert result.standing is None
    assert found["few_labels.budget"].values["with_judge"] < found["few_labels.budget"].values["only"]
    whenever = found["few_labels.whenever"].values
    assert (whenever["n"], whenever["total"]) == (80, 800)
    assert whenever["interval"][0] < m["few_labels.mean_low"] < m["few_labels.mean_high"] < whenever["interval"][1]


def test_the_map_of_the_verdict_is_the_one_asked_for(said: Said) -> None:
    judged = biased(200, 30)
    for calibration in ("none", "linear", "isotonic"):
        result = analyse(judged, calibration=calibration)
        table = result.tables["estimates"].set_index(["of", "calibration"])
        assert result.metrics["few_labels.mean"] == table.loc[("all", calibration), "estimate"]
        assert said(result)["few_labels.maps"].values["used"] == calibration
    with pytest.raises(ConfigError, match=r"`analysis.calibration` is 'auto': input should be 'none', 'linear' or"):
        configured("few_labels", calibration="auto")


def test_labels_of_few_groups_are_few_labels(said: Said) -> None:
    judged = biased(40, 20)
    frame = judged.frame.assign(group=np.where(judged.frame["label"].notna(), "one", judged.frame["group"]))
    result = analyse(LongTable(frame, judged.rubric))
    assert said(result)["few_labels.verdict_too_few_groups"].values == {"n": 40, "effective": 1, "needed": 5}


def test_drawn_labels_are_weighted_and_no_budget_is_guessed(said: Said) -> None:
    result = analyse(biased(400, 40, inclusion=0.1))
    assert "few_labels.weighted" in said(result)
    assert "few_labels.needed" not in result.metrics
    assert result.metrics["few_labels.mean_low"] <= 50 <= result.metrics["few_labels.mean_high"]


def test_what_cannot_be_estimated() -> None:
    with pytest.raises(Unsuited, match="at least 10 labelled texts; the dataset has 4"):
        configured("few_labels").check(biased(10, 2))
    with pytest.raises(Unsuited, match="`label`"):
        configured("few_labels").check(biased(10, 0))
    with pytest.raises(DataError, match="`inclusion_probability` is 0"):
        configured("few_labels").check(biased(20, 10, inclusion=0.0))
