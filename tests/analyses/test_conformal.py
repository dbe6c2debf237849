"""Conformal intervals on simulated judges: the promise holds on other texts, and too few are refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from tests.analyses.builders import Said, analysed, configured, labelled_run, made_up, rubric, verdict
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.analyses.conformal import ConformalAnalysis
from undogmatic.analyses.truth import drawn
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item

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


def test_coverage_of_all_methods_is_near_nominal_on_texts_not_fitted_on(said: Said) -> None:
    judged = simulated(2000, {"easy": 2.0, "hard": 12.0}, half_width=1.0)
    result = analyse(judged)
    for method in ("split", "ranges", "mondrian"):
        assert result.metrics[f"conformal.coverage.{method}"] == pytest.approx(0.9, abs=0.02)
    table = result.tables["coverage"].set_index(["method", "group"])
    # One reach for all is too wide for the easy texts and too narrow for the hard; groups of their own mend it.
    assert table.loc[("split", "easy"), "coverage"] > 0.98
    assert table.loc[("split", "hard"), "coverage"] < 0.85
    for group, sd in (("easy", 2.0), ("hard", 12.0)):
        assert table.loc[("mondrian", group), "coverage"] == pytest.approx(0.9, abs=0.04)
        assert table.loc[("mondrian", group), "reach"] == pytest.approx(1.645 * sd, rel=0.1)
    assert said(result).keys() >= {"conformal.parts", "conformal.verdict_holds"}


def test_too_few_fitted_texts_are_refused_with_the_number_needed(said: Said) -> None:
    result = analyse(simulated(12, {"a": 5.0}), by=None)
    found = said(result)
    assert found["conformal.refused"].values["needed"] == 9
    assert found["conformal.verdict_refused"].values == {"n": 12, "needed": 9}
    assert not result.tables


def test_a_small_group_is_refused_and_the_others_are_not(said: Said) -> None:
    large, small = simulated(200, {"large": 5.0}), simulated(6, {"small": 5.0})
    judged = LongTable(pd.concat([large.frame, small.frame], ignore_index=True), rubric())
    result = analyse(judged)
    assert said(result)["conformal.groups_refused"].values["groups"] == ["small"]
    table = result.tables["coverage"]
    assert "small" not in set(table.loc[table["method"] == "mondrian", "group"])


def test_labels_that_are_levels_give_intervals_that_end_on_levels() -> None:
    draw = np.random.default_rng(1)
    labels = draw.choice([0, 25, 50, 75, 100], 400).astype(float)
    scores = np.clip(labels + draw.normal(0, 4, 400), 0, 100)
    judged = labelled_run([(label, score, {}) for label, score in zip(labels, scores.tolist(), strict=True)])
    result = analyse(judged, by=None, ordinal=True)
    # An error is hardly ever half a step, so the right level stands alone, and nothing is lost by it.
    assert result.metrics["conformal.coverage.split"] > 0.97
    assert result.metrics["conformal.width.split"] < 5


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
    assert result.findings[0].values["fit"] % 2 == 0


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


def test_a_small_part_to_verify_leaves_the_promise_open(said: Said) -> None:
    small = analyse(simulated(100, {"a": 5.0}), by=None)
    assert said(small)["conformal.verdict_open"].values["needed"] > 200 and small.standing == "undecided"
    large = analyse(simulated(2000, {"a": 5.0}), by=None)
    assert "conformal.verdict_holds" in said(large) and large.standing == "supported"


def test_texts_that_belong_together_widen_the_band_of_a_valid_fit() -> None:
    single = analyse(simulated(400, {"a": 5.0}), by=None)
    double = analyse(simulated(400, {"a": 5.0}, paired=True), by=None)
    bands = [result.tables["coverage"].iloc[0] for result in (single, double)]
    widths = [band["band_high"] - band["band_low"] for band in bands]
    assert widths[1] > 1.25 * widths[0]
