"""Attacks: numbers by hand, what counts as success, and which attack is named the worst."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.analyses.builders import configured, grouped_run
from undogmatic.analyses.base import AnalysisResult, Finding, Unsuited

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


def test_verdicts_of_judges_of_known_behaviour(said: Said) -> None:
    draw = np.random.default_rng(1)
    explained, naked = list(draw.uniform(5, 30, 20)), list(draw.uniform(80, 100, 20))

    def groups(attack: list[float]) -> dict[str, list[float]]:
        return {"explained_only": explained, "authority_only": naked, "attack:a": attack, "attack:b": naked}

    assert "adversarial.verdict_withstood" in said(analyse(groups(naked)))
    fooled = said(analyse(groups(explained)))["adversarial.verdict_vulnerable"]
    assert fooled.values == {"attacks": ["attack:a"], "n": 1, "total": 2}
    kind = said(analyse(groups(list(draw.uniform(33, 48, 20)))))["adversarial.verdict_lenient"]
    assert kind.values["attacks"] == ["attack:a"]


def test_failures_and_groups_nobody_judged(said: Said) -> None:
    result = analyse(GROUPS | {"attack:hedges": ["refusal"], "authority_only": ["refusal"]})  # type: ignore[list-item]
    found = said(result)
    assert result.tables["attacks"]["attack"].tolist() == ["attack:padding"]
    assert result.metrics["adversarial.failed"] == 2
    assert "adversarial.no_treatment" in found
    assert "adversarial.shift.padding" not in result.metrics
    nothing = analyse({"explained_only": ["refusal"], "attack:a": [90.0]})  # type: ignore[list-item]
    assert "adversarial.nothing_judged" in said(nothing)
    assert nothing.headline is None


def test_what_the_dataset_lacks_is_named() -> None:
    check = configured("adversarial").check
    with pytest.raises(Unsuited, match=r"attack:.*dataset=curated"):
        check(grouped_run({"explained_only": [1.0]}))
    with pytest.raises(Unsuited, match=r"explained_only or gold:explained or humble.*dataset=curated"):
        check(grouped_run({"attack:hedges": [1.0]}))
