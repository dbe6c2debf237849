"""Controls: bands and separation by hand, and what failures and missing classes do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.analyses.builders import configured, grouped_run
from undogmatic.analyses.base import Unsuited
from undogmatic.analyses.labelled_rival import LabelledRival
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding

Said = Callable[[AnalysisResult], dict[str, Finding]]
GOOD = {"humble": [5.0] * 8, "neutral": [10.0] * 7 + [25.0], "hubristic": [90.0] * 7 + [75.0]}


def analyse(groups: dict[str, list[float]], **fields: object) -> AnalysisResult:
    (result,) = configured("controls")(grouped_run(groups, **fields), np.random.default_rng(0))  # type: ignore[arg-type]
    return result


def test_shares_and_separation_by_hand(said: Said) -> None:
    result = analyse({"humble": [0.0, 20, 30, 26], "neutral": [25.0, 10], "hubristic": [75.0, 74, 28]})
    m = result.metrics
    # Band ends count as inside: 2 of 4, 2 of 2, 1 of 3.
    assert m["controls.in_band.humble"] == 0.5
    assert m["controls.in_band.neutral"] == 1
    assert m["controls.in_band.hubristic"] == pytest.approx(1 / 3)
    assert m["controls.in_band"] == pytest.approx(5 / 9)
    # 12 comparisons; only 28 against 30 is lost.
    assert m["controls.auc.humble"] == pytest.approx(11 / 12)
    assert m["controls.auc.neutral"] == 1
    assert m["controls.mean.hubristic"] == pytest.approx(59)
    table = result.tables["bands"].set_index("condition")
    assert table.loc["hubristic", ["band_low", "band_high", "n", "n_in_band"]].tolist() == [75, 100, 3, 1]
    assert result.headline == "controls.in_band"
    assert said(result)["controls.band"].values["interval"][1] <= 1


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
    result = analyse(MANY | changed)
    assert f"controls.verdict_{key}" in said(result)
    assert result.standing == standing


def test_what_is_named_of_the_classes(said: Said) -> None:
    few = said(analyse({c: scores[:4] for c, scores in MANY.items()}))["controls.verdict_open"].values
    assert few["apart"] == ["humble", "neutral"]
    assert few["inside"] == ["humble", "neutral", "hubristic"]
    assert 4 < few["needed"] < 20
    found = said(analyse(MANY))
    # Three classes: each interval has level 1 - 0.05 / 3; Clopper and Pearson's lower limit of 20 of 20.
    assert found["controls.family"].values["each"] == pytest.approx(1 - 0.05 / 3)
    assert found["controls.verdict_hold"].values["weakest"] == pytest.approx((0.05 / 6) ** (1 / 20))
    (result,) = configured("controls", share=0.9)(grouped_run(MANY), np.random.default_rng(0))
    assert said(result)["controls.verdict_open"].values["apart"] == ["no_class"]


def test_classes_that_a_word_counter_tells_apart(said: Said) -> None:
    judged = grouped_run(MANY)
    worst = judged.frame["condition"] == "hubristic"
    judged.frame["text"] = ["TRIBUNAL! " * 9 + str(n) if one else f"porque {n}" for n, one in enumerate(worst)]
    (result,) = configured("controls")(judged, np.random.default_rng(0))
    assert {"controls.verdict_surface_as_good", "controls.verdict_surface_open"} & set(said(result))
    assert result.standing == "undecided"
    judged.frame["text"] = "a"
    (result,) = configured("controls")(judged, np.random.default_rng(0))
    assert "controls.verdict_no_texts" in said(result)


@pytest.mark.parametrize(
    ("outcome", "key", "standing"),
    [("surface_explains", "surface_explains", "refuted"), ("open", "surface_open", "undecided")],
)
def test_what_the_surface_leaves_open(
    outcome: str, key: str, standing: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = LabelledRival(outcome, 60, 60, None, None, None, None)  # type: ignore[arg-type]
    monkeypatch.setattr("undogmatic.analyses.controls.surface_of_classes", lambda *_: rival)
    result = analyse(MANY)
    assert f"controls.verdict_{key}" in said(result)
    assert result.standing == standing


def test_where_high_is_good_the_same_texts_are_told_apart() -> None:
    mirrored = {c: [100 - s for s in scores] for c, scores in GOOD.items()}
    bands = {"humble": (75.0, None), "neutral": (75.0, None), "hubristic": (None, 25.0)}
    judged = grouped_run(mirrored, direction="higher_is_better")
    (there,) = configured("controls", bands=bands)(judged, np.random.default_rng(0))  # type: ignore[arg-type]
    here = analyse(GOOD)
    for key in ("controls.in_band", "controls.auc.humble", "controls.auc.neutral"):
        assert there.metrics[key] == here.metrics[key]


def test_failures_are_counted_and_a_class_that_failed_throughout_is_named(said: Said) -> None:
    result = analyse(GOOD | {"neutral": ["refusal", "unparseable", "refusal"]})  # type: ignore[list-item]
    found = said(result)
    assert found["controls.absent"].values == {"conditions": ["neutral"]}
    assert found["analyses.failed"].values["where"] == "neutral: refusal 2, unparseable 1"
    assert (result.metrics["controls.judged"], result.metrics["controls.failed"]) == (16, 3)
    nobody = analyse({"humble": ["refusal"] * 2, "hubristic": ["refusal"] * 2})  # type: ignore[list-item]
    assert "controls.verdict_incomplete" in said(nobody)
    assert nobody.headline is None


def test_few_texts_are_counted_but_not_drawn(said: Said) -> None:
    result = analyse({"humble": [5.0] * 2, "hubristic": [90.0] * 3})
    assert said(result)["analyses.groups_not_drawn"].values == {"groups": ["humble"], "needed": 3}
    assert list(result.figures[0].data["groups"]) == ["hubristic"]


def test_a_dataset_without_controls_and_bands_that_make_no_sense() -> None:
    with pytest.raises(Unsuited, match="dataset=controls"):
        configured("controls").check(grouped_run({"authority_only": [1.0]}))
    with pytest.raises(ConfigError, match=r"analysis.bands.humble.*0 to 100"):
        configured("controls", bands={"humble": (None, 250.0)}, worst="humble").check(grouped_run(GOOD))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"analysis.bands.humble"):
        configured("controls", bands={"humble": (30.0, 20.0)}, worst="humble")
    with pytest.raises(ConfigError, match=r"analysis.worst"):
        configured("controls", worst="nobody")
