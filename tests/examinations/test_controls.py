"""Controls and attacks: bands, separation and success by hand, which attack is the worst, and what
failures do."""

from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import (
    Reading,
    analysed,
    grouped_run,
    mirrored,
    refuses,
)
from undogmatic.errors import ConfigError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.rivals import LabelledRival

Groups = dict[str, list[Any]]
GOOD = {
    "humble": [5.0] * 8,
    "neutral": [10.0] * 7 + [25.0],
    "hubristic": [90.0] * 7 + [75.0],
}
MANY = {"humble": [5.0] * 20, "neutral": [10.0] * 20, "hubristic": [90.0] * 20}
DRAW = np.random.default_rng(1)
HONEST, NAKED, KIND = (
    DRAW.uniform(low, high, 20).tolist() for low, high in ((5, 30), (80, 100), (33, 48))
)


def controls(groups: Groups, **changes: Any) -> Reading:
    return analysed("controls", grouped_run(groups), **changes)


def test_shares_and_separation_by_hand() -> None:
    told = controls(
        {
            "humble": [0.0, 20, 30, 26],
            "neutral": [25.0, 10],
            "hubristic": [75.0, 74, 28],
        }
    )
    # Band ends count as inside: 2 of 4, 2 of 2, 1 of 3.
    inside = told.of("in_band.humble in_band.neutral in_band.hubristic in_band")
    assert inside == pytest.approx([0.5, 1, 1 / 3, 5 / 9])
    # 12 comparisons; only 28 against 30 is lost.
    assert told.of("auc.humble auc.neutral mean.hubristic") == pytest.approx(
        [11 / 12, 1, 59]
    )
    table = told.tables["bands"].set_index("condition")
    assert table.loc[
        "hubristic", ["band_low", "band_high", "n", "n_in_band"]
    ].tolist() == [
        75,
        100,
        3,
        1,
    ]
    assert told.headline == "controls.in_band" and told.says["band"]["interval"][1] <= 1


@pytest.mark.parametrize(
    ("changed", "key", "standing"),
    [
        ({}, "hold", "supported"),
        (
            {"humble": [30.0] * 20, "neutral": [32.0] * 20, "hubristic": [60.0] * 20},
            "outside",
            "refuted",
        ),
        ({"humble": [95.0] * 20}, "reversed", "refuted"),
        (
            {"humble": [10.0, 90] * 10, "hubristic": [90.0, 10] * 10},
            "open_endless",
            "undecided",
        ),
        ({"neutral": [10.0] * 13 + [30.0] * 7}, "open", "undecided"),
        ({"neutral": [10.0] * 14 + ["refusal"] * 6}, "missing", "undecided"),
        ({"neutral": [10.0] * 19 + ["refusal"]}, "hold", "supported"),
    ],
)
def test_verdicts_on_controls(changed: Groups, key: str, standing: str) -> None:
    assert controls(MANY | changed).ruled == (key, standing)


def test_what_is_named_of_the_classes() -> None:
    few = controls({c: scores[:4] for c, scores in MANY.items()}).says["verdict_open"]
    assert (few["apart"], few["inside"]) == (
        ["humble", "neutral"],
        ["humble", "neutral", "hubristic"],
    )
    assert 4 < few["needed"] < 20
    says = controls(MANY).says
    # Three classes: each interval has level 1 - 0.05 / 3; Clopper and Pearson's lower limit of 20
    # of 20.
    assert says["family"]["each"] == pytest.approx(1 - 0.05 / 3)
    assert says["verdict_hold"]["weakest"] == pytest.approx((0.05 / 6) ** (1 / 20))
    assert controls(MANY, share=0.9).says["verdict_open"]["apart"] == ["no_class"]


ATTACKED = {
    "explained_only": HONEST,
    "authority_only": NAKED,
    "attack:a": NAKED,
    "attack:b": NAKED,
}
CLASSES = [("controls", MANY, "hubristic"), ("adversarial", ATTACKED, "attack:")]
"""Analyses of classes, what supports their claim, and with what the names of the worse classes
begin."""


@pytest.mark.parametrize(("name", "groups", "worse"), CLASSES)
def test_classes_that_a_word_counter_tells_apart(
    name: str, groups: Groups, worse: str
) -> None:
    judged = grouped_run(groups)
    apart = judged.frame["condition"].str.startswith(worse)
    judged.frame["text"] = [
        "TRIBUNAL! " * 9 + str(n) if one else f"porque {n}"
        for n, one in enumerate(apart)
    ]
    key, standing = analysed(name, judged).ruled
    assert standing == "undecided" and key in ("surface_as_good", "surface_open")
    judged.frame["text"] = "a"
    assert analysed(name, judged).ruled[0] == "no_texts"


@pytest.mark.parametrize(("name", "groups", "worse"), CLASSES)
def test_what_the_surface_leaves_open(
    name: str, groups: Groups, worse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: dict[Any, tuple[str, str]] = {
        "surface_explains": ("surface_explains", "refuted")
    }
    for outcome, ruled in (outcomes | {"open": ("surface_open", "undecided")}).items():
        rival = LabelledRival(outcome, 60)
        monkeypatch.setattr(
            "undogmatic.examinations.controls.surface_of_classes",
            lambda *_, rival=rival: rival,
        )
        assert analysed(name, grouped_run(groups)).ruled == ruled


def test_where_high_is_good_the_same_texts_are_told_apart() -> None:
    bands = {"humble": (75.0, None), "neutral": (75.0, None), "hubristic": (None, 25.0)}
    there = analysed(
        "controls",
        grouped_run(mirrored(GOOD), direction="higher_is_better"),
        bands=bands,
    )
    names = "in_band auc.humble auc.neutral"
    assert there.of(names) == controls(GOOD).of(names)


def test_failures_are_counted_a_class_that_failed_throughout_is_named_and_few_texts_are_not_drawn() -> (
    None
):
    told = controls(GOOD | {"neutral": ["refusal", "unparseable", "refusal"]})
    assert told.says["absent"] == {"conditions": ["neutral"]}
    assert told.says["analyses.failed"]["where"] == "neutral: refusal 2, unparseable 1"
    assert told.of("judged failed") == [16, 3]
    nobody = controls({"humble": ["refusal"] * 2, "hubristic": ["refusal"] * 2})
    assert (nobody.ruled[0], nobody.headline) == ("incomplete", None)
    few = controls({"humble": [5.0] * 2, "hubristic": [90.0] * 3})
    assert few.says["analyses.groups_not_drawn"] == {"groups": ["humble"], "needed": 3}
    assert list(few.drawings[0].data["groups"]) == ["hubristic"]


def test_what_the_dataset_lacks_and_bands_that_make_no_sense() -> None:
    refuses(
        Unsuited, "dataset=controls", "controls", grouped_run({"authority_only": [1.0]})
    )
    bands: dict[str, Any] = {"bands": {"humble": (None, 250.0)}, "worst": "humble"}
    refuses(
        ConfigError,
        r"analysis.bands.humble.*0 to 100",
        "controls",
        grouped_run(GOOD),
        **bands,
    )
    refuses(
        ConfigError,
        r"analysis.bands.humble",
        "controls",
        bands={"humble": (30.0, 20.0)},
        worst="humble",
    )
    refuses(ConfigError, r"analysis.worst", "controls", worst="nobody")
    refuses(
        Unsuited,
        r"attack:.*dataset=curated",
        "adversarial",
        grouped_run({"explained_only": [1.0]}),
    )
    no_baseline = r"explained_only or gold:explained or humble.*dataset=curated"
    refuses(Unsuited, no_baseline, "adversarial", grouped_run({"attack:hedges": [1.0]}))


EXPLAINED = [10.0, 20, 30, 40]
GROUPS = {
    "explained_only": EXPLAINED[:2],
    "humble": EXPLAINED[2:],
    "authority_only": [90.0, 80],
}
GROUPS |= {"attack:hedges": [35.0, 25, 60], "attack:padding": [95.0, 85]}


def attacks(
    groups: Groups, direction: str = "higher_is_worse", **settings: Any
) -> Reading:
    return analysed("adversarial", grouped_run(groups, direction=direction), **settings)


def test_attacks_by_hand() -> None:
    told = attacks(GROUPS)
    # Hedges against the four explanations: 35 beats three, 25 two, 60 all four: 9 of 12.
    assert told.of("auc.hedges shift.hedges success.hedges") == pytest.approx(
        [9 / 12, 40 - 85, 2 / 3]
    )
    assert told.of("auc.padding success.padding auc_mean auc_worst") == [
        1,
        0,
        (0.75 + 1) / 2,
        told["auc.hedges"],
    ]
    assert told.tables["attacks"]["attack"].tolist() == [
        "attack:hedges",
        "attack:padding",
    ]
    assert told.says["worst"]["attack"] == "attack:hedges"
    assert told.says["success_midpoint"] == {"threshold": 50}
    assert told.says["shift"] == {"n": 2, "treatment": ["authority_only"]}
    assert told.headline == "adversarial.auc_worst"
    # Success may mean passing for an explanation, too: the 95th percentile of 10, 20, 30, 40 is
    # 38.5.
    passing = attacks(GROUPS, success="baseline_95")
    assert passing.says["success_baseline_95"]["threshold"] == pytest.approx(38.5)
    assert passing["success.hedges"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("success", ["midpoint", "baseline_95"])
def test_where_high_is_good_everything_is_mirrored(success: str) -> None:
    here = attacks(GROUPS, success=success)
    there = attacks(mirrored(GROUPS), "higher_is_better", success=success)
    names = "auc.hedges auc.hedges_low success.hedges auc_worst success_mean"
    assert there.of(names) == pytest.approx(here.of(names))
    assert there["shift.hedges"] == pytest.approx(-here["shift.hedges"])
    low, high = (
        t.tables["attacks"].set_index("attack").loc["attack:hedges"]
        for t in (here, there)
    )
    assert high["mean_shift_low"] == pytest.approx(-low["mean_shift_high"])
    one, other = (
        told.says[f"success_{success}"]["threshold"] for told in (here, there)
    )
    assert other == pytest.approx(100 - one)


@pytest.mark.parametrize(
    ("attack", "key", "standing"),
    [
        (NAKED, "withstood", "supported"),
        (HONEST, "succeeds", "refuted"),
        (KIND, "succeeds", "refuted"),  # told apart, but all on the good side
        (NAKED[:13] + KIND[:7], "open", "undecided"),
        (NAKED[:10] + KIND[:10], "open_endless", "undecided"),
        (NAKED[:15] + ["refusal"] * 5, "missing", "undecided"),
        ([*NAKED[:19], "refusal"], "withstood", "supported"),
    ],
)
def test_verdicts_on_attacks(attack: list[Any], key: str, standing: str) -> None:
    told = attacks(
        {
            "explained_only": HONEST,
            "authority_only": NAKED,
            "attack:a": attack,
            "attack:b": NAKED,
        }
    )
    assert told.ruled == (key, standing)
    assert standing == "supported" or told.says[f"verdict_{key}"]["attacks"] == [
        "attack:a"
    ]


def test_each_of_many_attacks_has_a_wider_interval_and_four_texts_of_one_decide_nothing() -> (
    None
):
    one = attacks({"explained_only": HONEST, "attack:a": NAKED})
    many = attacks(
        {"explained_only": HONEST, **{f"attack:{n}": NAKED for n in "abcde"}}
    )
    assert many.says["family"] == {
        "attacks": 5,
        "level": 0.95,
        "each": pytest.approx(0.99),
    }
    # Clopper and Pearson's upper limit of 0 of 20: 1 - (alpha / 2) ** (1 / 20).
    for told, alpha in ((one, 0.05), (many, 0.01)):
        assert told.tables["attacks"]["success_high"][0] == pytest.approx(
            1 - (alpha / 2) ** (1 / 20)
        )
    few = attacks({"explained_only": HONEST, "attack:a": NAKED[:4]})
    found = few.says["verdict_open"]
    assert (found["attacks"], few.standing) == (
        ["attack:a"],
        "undecided",
    ) and 4 < found["needed"] < 20


def test_failures_and_groups_nobody_judged() -> None:
    told = attacks(
        GROUPS | {"attack:hedges": ["refusal"], "authority_only": ["refusal"]}
    )
    assert told.tables["attacks"]["attack"].tolist() == ["attack:padding"]
    assert (
        told["failed"] == 2
        and "no_treatment" in told.says
        and "shift.padding" not in told.numbers
    )
    nothing = attacks({"explained_only": ["refusal"], "attack:a": [90.0]})
    assert (nothing.ruled[0], nothing.headline) == ("nothing_judged", None)


def test_a_score_that_moves_with_text_that_is_put_in_is_told() -> None:
    labelled = {"explained_only": [10.0, 20], "authority_only": [90.0, 80]}
    copied = {
        "attack:json": [70.0, 85],
        "injected:json": [12.0, 30],
        "attack:rain": [90.0, 80],
    }
    judged = grouped_run(labelled | copied)
    sources = {
        "attack:json": "authority_only",
        "injected:json": "explained_only",
        "attack:rain": "authority_only",
    }
    origin = (
        judged.frame["condition"].map(sources) + "-" + judged.frame["item_id"].str[-1]
    )
    frame = judged.frame.assign(**{"metadata.original": origin})
    told = analysed("adversarial", judged.with_rows(frame))
    moved = told.tables["movement"]
    assert moved["family"].tolist() == ["json", "rain"]
    assert moved["n"].tolist() == [4, 2]
    assert moved["movement"].tolist() == pytest.approx([(20 + 5 + 2 + 10) / 4, 0])
    assert moved["shift"].tolist() == pytest.approx([(-20 + 5 + 2 + 10) / 4, 0])
    assert told.says["movement"]["family"] == "json"
    assert told["movement_worst"] == pytest.approx(37 / 4)
    assert "movement" not in attacks(labelled | copied).tables
    # A sample may hold copies and none of what they were made from.
    alone = frame[
        frame["condition"].isin(["attack:rain", "explained_only"])
    ].reset_index(drop=True)
    assert "movement" not in analysed("adversarial", judged.with_rows(alone)).tables
