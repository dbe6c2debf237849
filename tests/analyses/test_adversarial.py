"""Attacks: numbers by hand, what counts as success, and which attack is named the worst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analyses.builders import configured, grouped_run
from undogmatic.analyses.base import Unsuited
from undogmatic.analyses.labelled_rival import LabelledRival
from undogmatic.records.results import AnalysisResult, Finding

Said = Callable[[AnalysisResult], dict[str, Finding]]
EXPLAINED = [10.0, 20, 30, 40]
GROUPS = {
    "explained_only": EXPLAINED[:2],
    "humble": EXPLAINED[2:],
    "authority_only": [90.0, 80],
    "attack:hedges": [35.0, 25, 60],
    "attack:padding": [95.0, 85],
}


def analyse(groups: dict[str, list[float]], direction: str = "higher_is_worse", **settings: object) -> AnalysisResult:
    judged = grouped_run(groups, direction=direction)  # type: ignore[arg-type]
    (result,) = configured("adversarial", **settings)(judged, np.random.default_rng(0))  # type: ignore[arg-type]
    return result


def test_numbers_by_hand(said: Said) -> None:
    result = analyse(GROUPS)
    m = result.metrics
    # Hedges against the four explanations: 35 beats three, 25 two, 60 all four: 9 of 12.
    assert m["adversarial.auc.hedges"] == pytest.approx(9 / 12)
    assert m["adversarial.shift.hedges"] == pytest.approx(40 - 85)
    assert m["adversarial.success.hedges"] == pytest.approx(2 / 3)
    assert (m["adversarial.auc.padding"], m["adversarial.success.padding"]) == (1, 0)
    assert m["adversarial.auc_worst"] == m["adversarial.auc.hedges"]
    assert m["adversarial.auc_mean"] == pytest.approx((0.75 + 1) / 2)
    table = result.tables["attacks"]
    assert table["attack"].tolist() == ["attack:hedges", "attack:padding"]
    found = said(result)
    assert found["adversarial.worst"].values["attack"] == "attack:hedges"
    assert found["adversarial.success_midpoint"].values == {"threshold": 50}
    assert found["adversarial.shift"].values == {"n": 2, "treatment": ["authority_only"]}
    assert result.headline == "adversarial.auc_worst"


def test_success_may_mean_passing_for_an_explanation(said: Said) -> None:
    result = analyse(GROUPS, success="baseline_95")
    # The 95th percentile of 10, 20, 30, 40 is 38.5.
    assert said(result)["adversarial.success_baseline_95"].values["threshold"] == pytest.approx(38.5)
    assert result.metrics["adversarial.success.hedges"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("success", ["midpoint", "baseline_95"])
def test_where_high_is_good_everything_is_mirrored(success: str) -> None:
    here = analyse(GROUPS, success=success)
    mirrored = {c: [100 - s for s in scores] for c, scores in GROUPS.items()}
    there = analyse(mirrored, "higher_is_better", success=success)
    for key in ("auc.hedges", "auc.hedges_low", "success.hedges", "auc_worst", "success_mean"):
        assert there.metrics[f"adversarial.{key}"] == pytest.approx(here.metrics[f"adversarial.{key}"])
    assert there.metrics["adversarial.shift.hedges"] == pytest.approx(-here.metrics["adversarial.shift.hedges"])
    low, high = (t.tables["attacks"].set_index("attack").loc["attack:hedges"] for t in (here, there))
    assert high["mean_shift_low"] == pytest.approx(-low["mean_shift_high"])
    threshold = {t: next(f for f in r.findings if "success" in f.key) for t, r in (("a", here), ("b", there))}
    assert threshold["b"].values["threshold"] == pytest.approx(100 - threshold["a"].values["threshold"])


DRAW = np.random.default_rng(1)
HONEST, NAKED, KIND = (list(DRAW.uniform(low, high, 20)) for low, high in ((5, 30), (80, 100), (33, 48)))


def groups(attack: list[Any]) -> dict[str, list[Any]]:
    return {"explained_only": HONEST, "authority_only": NAKED, "attack:a": attack, "attack:b": NAKED}


@pytest.mark.parametrize(
    ("attack", "key", "standing"),
    [
        (NAKED, "withstood", "supported"),
        (HONEST, "succeeds", "refuted"),
        (KIND, "succeeds", "refuted"),  # told apart, but all on the good side
        (NAKED[:11] + KIND[:9], "open", "undecided"),
        (NAKED[:10] + KIND[:10], "open_endless", "undecided"),
        (NAKED[:15] + ["refusal"] * 5, "missing", "undecided"),
        ([*NAKED[:19], "refusal"], "withstood", "supported"),
    ],
)
def test_verdicts_of_judges_of_known_behaviour(attack: list[Any], key: str, standing: str, said: Said) -> None:
    result = analyse(groups(attack))
    found = said(result)[f"adversarial.verdict_{key}"]
    assert result.standing == standing
    if standing != "supported":
        assert found.values["attacks"] == ["attack:a"]


def test_each_of_many_attacks_has_a_wider_interval(said: Said) -> None:
    one = analyse({"explained_only": HONEST, "attack:a": NAKED})
    many = analyse({"explained_only": HONEST, **{f"attack:{n}": NAKED for n in "abcde"}})
    assert said(many)["adversarial.family"].values == {"attacks": 5, "level": 0.95, "each": pytest.approx(0.99)}
    # Clopper and Pearson's upper limit of 0 of 20: 1 - (alpha / 2) ** (1 / 20).
    for result, alpha in ((one, 0.05), (many, 0.01)):
        assert result.tables["attacks"]["success_high"][0] == pytest.approx(1 - (alpha / 2) ** (1 / 20))


def test_four_texts_of_an_attack_decide_nothing(said: Said) -> None:
    result = analyse({"explained_only": HONEST, "attack:a": NAKED[:4]})
    found = said(result)["adversarial.verdict_open"].values
    assert (found["attacks"], result.standing) == (["attack:a"], "undecided")
    assert 4 < found["needed"] < 20


def test_what_withstands_by_the_surface_is_not_believed(said: Said) -> None:
    judged = grouped_run(groups(NAKED))
    frame = judged.frame
    attack = frame["condition"].str.startswith("attack:")
    frame["text"] = ["TRIBUNAL! " * 9 + str(n) if one else f"porque {n}" for n, one in enumerate(attack)]
    (result,) = configured("adversarial")(judged, np.random.default_rng(0))
    assert {"adversarial.verdict_surface_as_good", "adversarial.surface"} <= set(said(result))
    assert result.standing == "undecided"
    frame["text"] = "a"
    (result,) = configured("adversarial")(judged, np.random.default_rng(0))
    assert "adversarial.verdict_no_texts" in said(result)


@pytest.mark.parametrize(
    ("outcome", "key", "standing"),
    [("surface_explains", "surface_explains", "refuted"), ("open", "surface_open", "undecided")],
)
def test_what_the_surface_leaves_open(
    outcome: str, key: str, standing: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = LabelledRival(outcome, 60, 60, None, None, None, None)  # type: ignore[arg-type]
    monkeypatch.setattr("undogmatic.analyses.controls.surface_of_classes", lambda *_: rival)
    result = analyse(groups(NAKED))
    assert f"adversarial.verdict_{key}" in said(result)
    assert result.standing == standing


def test_failures_and_groups_nobody_judged(said: Said) -> None:
    result = analyse(GROUPS | {"attack:hedges": ["refusal"], "authority_only": ["refusal"]})  # type: ignore[list-item]
    found = said(result)
    assert result.tables["attacks"]["attack"].tolist() == ["attack:padding"]
    assert result.metrics["adversarial.failed"] == 2
    assert "adversarial.no_treatment" in found
    assert "adversarial.shift.padding" not in result.metrics
    nothing = analyse({"explained_only": ["refusal"], "attack:a": [90.0]})  # type: ignore[list-item]
    assert "adversarial.verdict_nothing_judged" in said(nothing)
    assert nothing.headline is None


def test_what_the_dataset_lacks_is_named() -> None:
    check = configured("adversarial").check
    with pytest.raises(Unsuited, match=r"attack:.*dataset=curated"):
        check(grouped_run({"explained_only": [1.0]}))
    with pytest.raises(Unsuited, match=r"explained_only or gold:explained or humble.*dataset=curated"):
        check(grouped_run({"attack:hedges": [1.0]}))


def test_a_score_that_moves_with_text_that_is_put_in_is_told(said: Said) -> None:
    labelled = {"explained_only": [10.0, 20], "authority_only": [90.0, 80]}
    copied = {"attack:json": [70.0, 85], "injected:json": [12.0, 30], "attack:rain": [90.0, 80]}
    judged = grouped_run(labelled | copied)
    ids = judged.frame.groupby("condition")["item_id"].apply(list).to_dict()
    origin = dict(zip(ids["attack:json"], ids["authority_only"], strict=True))
    origin |= dict(zip(ids["injected:json"], ids["explained_only"], strict=True))
    origin |= dict(zip(ids["attack:rain"], ids["authority_only"], strict=True))
    frame = judged.frame.assign(**{"metadata.original": judged.frame["item_id"].map(origin)})
    (result,) = configured("adversarial")(replace(judged, frame=frame), np.random.default_rng(0))
    moved = result.tables["movement"]
    assert moved["family"].tolist() == ["json", "rain"]
    assert moved["n"].tolist() == [4, 2]
    assert moved["movement"].tolist() == pytest.approx([(20 + 5 + 2 + 10) / 4, 0])
    assert moved["shift"].tolist() == pytest.approx([(-20 + 5 + 2 + 10) / 4, 0])
    assert said(result)["adversarial.movement"].values["family"] == "json"
    assert result.metrics["adversarial.movement_worst"] == pytest.approx(37 / 4)
    assert "movement" not in analyse(labelled | copied).tables
    # A sample may hold copies and none of what they were made from.
    alone = frame[frame["condition"].isin(["attack:rain", "explained_only"])].reset_index(drop=True)
    (result,) = configured("adversarial")(replace(judged, frame=alone), np.random.default_rng(0))
    assert "movement" not in result.tables
