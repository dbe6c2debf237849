"""Controls: bands and separation by hand, and what failures and missing classes do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.analyses.builders import Said, analysed, configured, grouped_run
from undogmatic.analyses.base import Unsuited
from undogmatic.analyses.rivals import LabelledRival
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult

LOW, HIGH = [np.random.default_rng(1).uniform(*ends, 20).tolist() for ends in ((5, 30), (80, 100))]
GOOD = {"humble": [5.0] * 8, "neutral": [10.0] * 7 + [25.0], "hubristic": [90.0] * 7 + [75.0]}


def analyse(groups: dict[str, list[Any]], **changes: Any) -> AnalysisResult:
    return analysed("controls", grouped_run(groups), **changes)


def test_shares_and_separation_by_hand(said: Said) -> None:
    told = analyse({"humble": [0.0, 20, 30, 26], "neutral": [25.0, 10], "hubristic": [75.0, 74, 28]})
    m = told.metrics
    # Band ends count as inside: 2 of 4, 2 of 2, 1 of 3.
    assert m["controls.in_band.humble"] == 0.5
    assert m["controls.in_band.neutral"] == 1
    assert m["controls.in_band.hubristic"] == pytest.approx(1 / 3)
    assert m["controls.in_band"] == pytest.approx(5 / 9)
    # 12 comparisons; only 28 against 30 is lost.
    assert m["controls.auc.humble"] == pytest.approx(11 / 12)
    assert m["controls.auc.neutral"] == 1
    assert m["controls.mean.hubristic"] == pytest.approx(59)
    table = told.tables["bands"].set_index("condition")
    assert table.loc["hubristic", ["band_low", "band_high", "n", "n_in_band"]].tolist() == [75, 100, 3, 1]
    assert told.headline == "controls.in_band"
    assert said(told)["controls.band"].values["interval"][1] <= 1


MANY = {"humble": [5.0] * 20, "neutral": [10.0] * 20, "hubristic": [90.0] * 20}


@pytest.mark.parametrize(
    ("changed", "key", "standing"),
    [
        ({}, "hold", "supported"),
        ({"humble": [30.0] * 20, "neutral": [32.0] * 20, "hubristic": [60.0] * 20}, "outside", "refuted"),
        ({"humble": [95.0] * 20}, "reversed", "refuted"),
        ({"humble": [10.0, 90] * 10, "hubristic": [90.0, 10] * 10}, "open_endless", "undecided"),
        ({"neutral": [10.0] * 12 + [30.0] * 8}, "open", "undecided"),
        ({"neutral": [10.0] * 14 + ["refusal"] * 6}, "missing", "undecided"),
        ({"neutral": [10.0] * 19 + ["refusal"]}, "hold", "supported"),
    ],
)
def test_verdicts(changed: dict[str, list[Any]], key: str, standing: str, said: Said) -> None:
    told = analyse(MANY | changed)
    assert f"controls.verdict_{key}" in said(told)
    assert told.standing == standing


def test_what_is_named_of_the_classes(said: Said) -> None:
    few = said(analyse({c: scores[:4] for c, scores in MANY.items()}))["controls.verdict_open"].values
    assert few["apart"] == ["humble", "neutral"]
    assert few["inside"] == ["humble", "neutral", "hubristic"]
    assert 4 < few["needed"] < 20
    found = said(analyse(MANY))
    # Three classes: each interval has level 1 - 0.05 / 3; Clopper and Pearson's lower limit of 20 of 20.
    assert found["controls.family"].values["each"] == pytest.approx(1 - 0.05 / 3)
    assert found["controls.verdict_hold"].values["weakest"] == pytest.approx((0.05 / 6) ** (1 / 20))
    assert said(analyse(MANY, share=0.9))["controls.verdict_open"].values["apart"] == ["no_class"]


ATTACKED = {"explained_only": LOW, "authority_only": HIGH, "attack:a": HIGH, "attack:b": HIGH}
CLASSES = [("controls", MANY, "hubristic"), ("adversarial", ATTACKED, "attack:")]
"""Analyses of classes, what supports their claim, and with what the names of the worse classes begin."""


@pytest.mark.parametrize(("name", "groups", "worse"), CLASSES)
def test_classes_that_a_word_counter_tells_apart(
    name: str, groups: dict[str, list[Any]], worse: str, said: Said
) -> None:
    judged = grouped_run(groups)
    apart = judged.frame["condition"].str.startswith(worse)
    judged.frame["text"] = ["TRIBUNAL! " * 9 + str(n) if one else f"porque {n}" for n, one in enumerate(apart)]
    told = analysed(name, judged)
    assert told.standing == "undecided"
    assert {f"{name}.verdict_surface_as_good", f"{name}.verdict_surface_open"} & set(said(told))
    judged.frame["text"] = "a"
    assert f"{name}.verdict_no_texts" in said(analysed(name, judged))


@pytest.mark.parametrize(("name", "groups", "worse"), CLASSES)
@pytest.mark.parametrize(
    ("outcome", "key", "standing"),
    [("surface_explains", "surface_explains", "refuted"), ("open", "surface_open", "undecided")],
)
def test_what_the_surface_leaves_open(
    name: str,
    groups: dict[str, list[Any]],
    worse: str,
    outcome: Any,
    key: str,
    standing: str,
    said: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rival = LabelledRival(outcome, 60, 60, None, None, None, None)
    monkeypatch.setattr("undogmatic.analyses.controls.surface_of_classes", lambda *_: rival)
    told = analysed(name, grouped_run(groups))
    assert f"{name}.verdict_{key}" in said(told)
    assert told.standing == standing


def test_where_high_is_good_the_same_texts_are_told_apart() -> None:
    mirrored = {c: [100 - s for s in scores] for c, scores in GOOD.items()}
    bands = {"humble": (75.0, None), "neutral": (75.0, None), "hubristic": (None, 25.0)}
    there = analysed("controls", grouped_run(mirrored, direction="higher_is_better"), bands=bands)
    here = analyse(GOOD)
    for key in ("controls.in_band", "controls.auc.humble", "controls.auc.neutral"):
        assert there.metrics[key] == here.metrics[key]


def test_failures_are_counted_and_a_class_that_failed_throughout_is_named(said: Said) -> None:
    told = analyse(GOOD | {"neutral": ["refusal", "unparseable", "refusal"]})
    found = said(told)
    assert found["controls.absent"].values == {"conditions": ["neutral"]}
    assert found["analyses.failed"].values["where"] == "neutral: refusal 2, unparseable 1"
    assert (told.metrics["controls.judged"], told.metrics["controls.failed"]) == (16, 3)
    nobody = analyse({"humble": ["refusal"] * 2, "hubristic": ["refusal"] * 2})
    assert "controls.verdict_incomplete" in said(nobody)
    assert nobody.headline is None


def test_few_texts_are_counted_but_not_drawn(said: Said) -> None:
    told = analyse({"humble": [5.0] * 2, "hubristic": [90.0] * 3})
    assert said(told)["analyses.groups_not_drawn"].values == {"groups": ["humble"], "needed": 3}
    assert list(told.figures[0].data["groups"]) == ["hubristic"]


def test_a_dataset_without_controls_and_bands_that_make_no_sense() -> None:
    with pytest.raises(Unsuited, match="dataset=controls"):
        configured("controls").check(grouped_run({"authority_only": [1.0]}))
    with pytest.raises(ConfigError, match=r"analysis.bands.humble.*0 to 100"):
        configured("controls", bands={"humble": (None, 250.0)}, worst="humble").check(grouped_run(GOOD))
    with pytest.raises(ConfigError, match=r"analysis.bands.humble"):
        configured("controls", bands={"humble": (30.0, 20.0)}, worst="humble")
    with pytest.raises(ConfigError, match=r"analysis.worst"):
        configured("controls", worst="nobody")
