"""The numbers of a judge's agreement by kind of verdict, its preference for a position, and their
words."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import reference
from tests.examinations.builders import evidence_of
from tests.examinations.conftest import placeholders, words_of
from undogmatic.examinations import examination, kinds, position
from undogmatic.examinations.kinds import Agreement
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import LABEL_COLUMNS, Evidence
from undogmatic.records.results import Finding, Told, Weight
from undogmatic.stats import rated
from undogmatic.stats.estimate import Estimate

ASKED = (
    kinds.AGREEMENT,
    kinds.LEFT_OUT,
    kinds.CONFIDENCE,
    kinds.SLICES,
    kinds.GRADES,
    position.POSITION,
    kinds.REPEATS,
)


def told(
    table: Evidence, judge: str = "judge", **options: object
) -> tuple[Agreement, Told]:
    """What is told of a judge, every sentence put into words of both languages with exactly the
    values it uses."""
    own, chosen = (
        table.of(judge, table.criteria[0]),
        CheckOptions.model_validate(options),
    )
    found, all_told = kinds.agreement(own, chosen), Told()
    examination.ask(ASKED, own, chosen, all_told)
    notes = [
        part
        for note in all_told.findings
        for part in (note, note.settle)
        if part is not None
    ]
    for words in map(words_of, ("en", "pt")):
        for finding in [*notes, *all_told.not_examined.values()]:
            assert placeholders(words.find(finding.key) or "") <= set(finding.values), (
                finding.key
            )
            assert "[" + finding.key not in words.say(finding)
        for name, frame in all_told.tables.items():
            section, _, own_name = name.partition(".")
            assert words.text(f"{section}.table_{own_name}")
            for column in frame.columns:
                known = any(
                    words.find(f"{place}.{column}")
                    for place in (f"{section}.names", "columns", "common.names")
                )
                assert known or column in frame.attrs.get("names", ()), column
        for figure in all_told.numbers:
            assert words.metric(figure), figure
    return found, all_told


def keys(all_told: Told) -> set[str]:
    return {note.key.partition(".")[2] for note in all_told.findings}


def right_in(share: float, labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """Verdicts of pass or fail that are the label with this probability."""
    return np.where(
        np.random.default_rng(seed).random(labels.size) < share, labels, 1 - labels
    ).astype(float)


LABELS = np.random.default_rng(5).integers(0, 2, 100).astype(float)
GRADES = np.random.default_rng(6).integers(1, 6, 100).astype(float)
NOISY = GRADES + np.random.default_rng(7).normal(0, 0.4, 100)


def test_the_choices_of_real_judges_give_the_expected_figures() -> None:
    expected = json.loads(
        reference("audit/llmbar_natural_expected.json").read_text(encoding="utf-8")
    )
    rows = pd.read_csv(reference("audit/llmbar_natural.csv"))
    rows["name"] = rows["set"] + "|" + rows["judge"]
    items = rows.drop_duplicates("item_id").set_index("item_id")
    labels = pd.DataFrame(
        {
            "item": items.index,
            "criterion": "c",
            "rater": "gold",
            "label": items["label"] - 1.0,
        }
    )
    verdicts = pd.DataFrame(
        {"item": rows["item_id"], "judge": rows["name"], "criterion": "c", "repeat": 0}
    )
    verdicts = verdicts.assign(
        order=rows["order"], verdict=rows["choice"] - 1.0, confidence=np.nan
    )
    groups = pd.DataFrame({"group": items.index}, index=items.index)
    table = Evidence(
        "pairwise", verdicts, labels[list(LABEL_COLUMNS)], groups, categories=("1", "2")
    )
    assert len(expected) == 54
    names = {
        "accuracy": "agreement.raw",
        "agreement_between_orders": "position.agreement",
    }
    names |= {
        "correct_in_both_orders": "position.correct_both",
        "kappa_between_orders": "position.kappa",
    }
    assert len(table.judges) - len(expected) == 11, (
        "of whom not all verdicts can be read"
    )
    for judge, figures in expected.items():
        own_table, options, all_told = table.of(judge, "c"), CheckOptions(), Told()
        examination.ask([position.POSITION], own_table, options, all_told)
        all_told.number(kinds.agreement(own_table, options).raw, "agreement.raw")
        own = {name: all_told.numbers[figure].value for name, figure in names.items()}
        own["n"] = all_told.numbers["position.agreement"].n
        assert (
            own == pytest.approx(figures, abs=1e-9)
            and "position.first" in all_told.numbers
        ), judge


def test_rates_of_pass_and_fail_by_hand() -> None:
    # 40 of 50 passes and 45 of 50 fails are found
    labels = np.repeat([1.0, 1, 0, 0], [40, 10, 5, 45])
    verdicts = np.repeat([1.0, 0, 1, 0], [40, 10, 5, 45])
    _, all_told = told(evidence_of("pass_fail", verdicts, labels), prevalence=0.1)
    values = {name: found.value for name, found in all_told.numbers.items()}
    expected = {
        "raw": 0.85,
        "kappa": 0.7,
        "sensitivity": 0.8,
        "specificity": 0.9,
        "ppv": 40 / 45,
        "npv": 45 / 55,
    }
    expected |= {"ppv_stated": 0.08 / (0.08 + 0.09), "npv_stated": 0.81 / (0.81 + 0.02)}
    for name, value in expected.items():
        assert values[f"agreement.{name}"] == pytest.approx(value), name
    assert {"rates", "rates_stated", "headline_kappa"} <= keys(all_told)
    assert "rates_here" in keys(told(evidence_of("pass_fail", verdicts, labels))[1])
    confusion = all_told.tables["kinds.confusion"].set_index("label")
    assert confusion.loc["fail", "pass"] == 5 and confusion.loc["pass", "fail"] == 10


def test_a_judge_that_abstains_is_told_as_risk_and_coverage() -> None:
    """What it answers, how often it is right there, and what the others could make of it."""
    verdicts = right_in(0.9, LABELS)
    silent = np.arange(100) % 5 == 0
    table = evidence_of("pass_fail", np.where(silent, np.nan, verdicts), LABELS)
    assert "answered" not in keys(told(table)[1]), "nothing says that it abstained"
    rows = table.verdicts.assign(reason=np.where(silent, "abstained", None))
    _, all_told = told(replace(table, verdicts=rows))
    share, right, worst, best = (
        all_told.numbers[f"agreement.{name}"]
        for name in ("answered", "raw", "if_wrong", "if_right")
    )
    assert share.value == 0.8 and share.low < 0.8 < share.high
    assert worst.value == pytest.approx(0.8 * right.value)
    assert best.value == pytest.approx(0.8 * right.value + 0.2)
    assert worst.low < worst.value < right.value < best.value <= best.high
    assert "answered" in keys(all_told)
    grades = evidence_of("numeric", np.where(silent, np.nan, NOISY), GRADES)
    rows = grades.verdicts.assign(reason=np.where(silent, "abstained", None))
    _, of_numbers = told(replace(grades, verdicts=rows))
    assert "answered_numbers" in keys(of_numbers)
    assert "agreement.if_wrong" not in of_numbers.numbers


def test_raters_are_kept_apart() -> None:
    verdicts = right_in(0.9, LABELS)
    one, _ = told(evidence_of("pass_fail", verdicts, LABELS))
    same, _ = told(evidence_of("pass_fail", verdicts, {"a": LABELS, "b": LABELS}))
    opposed, _ = told(
        evidence_of("pass_fail", verdicts, {"a": LABELS, "b": 1 - LABELS})
    )
    assert one.estimate and same.estimate and opposed.raw
    assert same.estimate.interval == pytest.approx(one.estimate.interval, abs=1e-6)
    assert opposed.raw.value == pytest.approx(0.5)


def test_what_a_judge_without_merit_is() -> None:
    constant, _ = told(evidence_of("pass_fail", np.ones(100), LABELS))
    assert constant.constant and constant.estimate and constant.estimate.high < 0.2
    one_class, lacking = told(evidence_of("pass_fail", LABELS, np.ones(100)))
    assert (
        one_class.one_class
        and one_class.estimate is None
        and "agreement" in lacking.not_examined
    )
    copied, _ = told(evidence_of("pass_fail", np.tile(LABELS, 3), np.tile(LABELS, 3)))
    assert (
        copied.copied == "identical"
        and told(evidence_of("pass_fail", LABELS, LABELS))[0].copied is None
    )
    assert told(evidence_of("pass_fail", 1 - right_in(0.9, LABELS), LABELS))[0].reversed
    still, _ = told(evidence_of("numeric", np.full(100, 3.0), GRADES))
    assert still.constant and still.why == "kinds.why_constant"
    few, _ = told(evidence_of("pass_fail", LABELS, LABELS, {"group": ["a", "b"] * 50}))
    assert few.why == "kinds.why_few" and few.groups == 2
    assert told(evidence_of("pass_fail", LABELS))[0].why == "kinds.why_no_pairs"


@pytest.mark.parametrize(
    ("kind", "labels"), [("pass_fail", LABELS), ("numeric", GRADES)]
)
def test_missing_verdicts_widen_what_is_known(kind: Any, labels: np.ndarray) -> None:
    verdicts = right_in(0.92, labels) if kind == "pass_fail" else NOISY
    found, all_told = told(
        evidence_of(kind, np.where(np.arange(100) < 25, np.nan, verdicts), labels)
    )
    assert found.missing == 25 and found.n == 75 and found.estimate
    assert (
        found.estimate.worst_low < found.estimate.low
        and found.estimate.best_high >= found.estimate.high
    )
    assert "missing_turns" in keys(all_told)
    _, nearly_all = told(
        evidence_of(kind, np.where(np.arange(100) < 2, np.nan, verdicts), labels)
    )
    assert "missing" in keys(nearly_all) and "missing_turns" not in keys(nearly_all)


def test_an_interval_that_stays_as_it_is_written_is_not_told_to_widen() -> None:
    estimate = Estimate(0.78, 0.751, 0.819, 0.95, 500)
    told = [
        kinds._widened(estimate.replace(worst=low), "kappa").key
        for low in (0.749, 0.744)
    ]
    assert told == ["kinds.widened_little", "kinds.widened"]
    turned = kinds._widened(estimate.replace(worst=0.749), "kappa", turns=True)
    assert turned.key == "kinds.widened"


def test_a_position_is_preferred_or_not_or_unknown() -> None:
    # the first output as given, the second when swapped
    first = np.stack([np.zeros(100), np.ones(100)])
    found, all_told = told(evidence_of("pairwise", first, LABELS))
    assert found.first and found.first.value == 1 and "prefers_first" in keys(all_told)
    assert (
        found.estimate
        and found.estimate.value == pytest.approx(0)
        and not found.one_class
    )
    assert "prefers_last" in keys(told(evidence_of("pairwise", 1 - first, LABELS))[1])
    steady = right_in(0.9, LABELS)
    for options, key in (
        ({}, "prefers_no_margin"),
        ({"margin": 0.1}, "prefers_none"),
        ({"margin": 0.001}, "prefers_open"),
    ):
        _, both = told(
            evidence_of("pairwise", np.stack([steady, steady]), LABELS), **options
        )
        assert key in keys(both)
    assert both.numbers["position.agreement"].value == 1
    assert (
        both.numbers["position.correct_both"].value
        == both.numbers["agreement.raw"].value
    )
    _, unknown = told(evidence_of("pairwise", steady, LABELS))
    assert unknown.not_examined["position"].key == "position.order_unknown"
    always_better_first, _ = told(
        evidence_of("pairwise", np.stack([steady * 0, steady * 0]), np.zeros(100))
    )
    assert not always_better_first.one_class and always_better_first.estimate


def test_ties_never_count_half() -> None:
    verdicts = np.where(np.arange(100) < 10, 2.0, LABELS)
    found, all_told = told(
        evidence_of("pairwise", np.stack([verdicts, verdicts]), LABELS)
    )
    assert (
        found.raw and found.raw.value == pytest.approx(0.9) and "ties" in keys(all_told)
    )
    assert all_told.numbers["agreement.ties"].value == pytest.approx(0.1)
    assert all_told.numbers["agreement.decided"].value == 1


def test_an_order_may_be_right_where_grades_are_not() -> None:
    _, high = told(evidence_of("numeric", NOISY + 1, GRADES, scale=(1, 5)))
    note = next(note for note in high.ordered() if note.key == "kinds.grades_grades")
    assert note.weight is Weight.LIMITS and note.values["off"].values[
        "off"
    ] == pytest.approx(1, abs=0.1)
    assert (
        high.numbers["agreement.concordance"].value
        < high.numbers["agreement.pearson"].value - 0.1
    )
    assert "grades_bias_none" in keys(
        told(evidence_of("numeric", NOISY, GRADES), margin=0.5)[1]
    )
    assert "grades_bias_no_margin" in keys(
        told(evidence_of("numeric", NOISY, GRADES))[1]
    )
    fifths = high.tables["kinds.fifths"]
    assert (
        len(fifths) == 5
        and fifths["mean_label"].is_monotonic_increasing
        and fifths["n"].sum() == 100
    )


def judged_by_average(
    rng: np.random.Generator, noise: float, n: int = 160
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Grades of a judge that says what people say on average of items of which it knows as much,
    and two people, who see more than it does and err besides."""
    known = rng.uniform(1, 5, n)
    item = known + rng.normal(0, noise, n)
    return known, {rater: item + rng.normal(0, noise, n) for rater in ("ana", "ben")}


def shares(
    rng: np.random.Generator, n: int = 160
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Verdicts that are the true probability of "yes", and the answers of two people."""
    share = rng.beta(1.2, 1.2, n)
    return share, {
        rater: (rng.random(n) < share).astype(float) for rater in ("ana", "ben")
    }


def of_grades(
    verdicts: np.ndarray, labels: Any, scale: Any, groups: Any = None, **options: Any
) -> Finding:
    """What is told of grades whose order is shown to be right."""
    items = None if groups is None else {"group": groups}
    own, all_told = (
        evidence_of("numeric", verdicts, labels, items, scale=scale).of(
            "judge", "quality"
        ),
        Told(),
    )
    shown = Estimate(0.8, 0.7, 0.9, n_groups=len(verdicts))
    order = Agreement(
        "spearman",
        shown,
        None,
        False,
        False,
        None,
        False,
        None,
        len(verdicts),
        len(verdicts),
        0,
    )
    kinds._tell_grades(own, all_told, CheckOptions(**options), order)
    (note,) = all_told.findings
    assert all(
        "[kinds" not in words_of(language).say(note) for language in ("en", "pt")
    )
    return note


@pytest.mark.parametrize("noise", [0.3, 0.8, 1.4, "probabilities"])
@pytest.mark.parametrize("margin", [None, 0.15])
def test_a_judge_that_says_what_people_say_on_average_is_not_accused(
    noise: Any, margin: float | None
) -> None:
    """Whatever how far labels of single people spread: 20 files, and at most one accused by
    chance."""
    accused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        verdicts, labels = (
            shares(rng) if noise == "probabilities" else judged_by_average(rng, noise)
        )
        found = of_grades(
            verdicts,
            labels,
            (0, 1) if noise == "probabilities" else (1, 5),
            margin=margin,
        )
        accused += found.key == "kinds.grades_grades"
        assert (
            found.key == "kinds.grades_grades"
            or found.values["along"].key == "kinds.along_nowhere"
            or margin
        )
        # what once accused it: the difference falls where both are averaged
        if noise == 1.4 and seed == 0:
            label = labels["ana"]
            assert (
                rated.drift_values(verdicts - label, (verdicts + label) / 2, 4.0).mean()
                < -2
            )
    assert accused <= 1


@pytest.mark.parametrize(
    ("wrong", "where", "too"),
    [
        (lambda v: 3 + (v - 3) * 0.4, (0, -1), ("too_high", "too_low")),
        (lambda v: 3 + (v - 3) * 2.0, (0, -1), ("too_low", "too_high")),
        (lambda v: np.maximum(v, 3.0), (0,), ("too_high",)),
        (lambda v: v + 1.5, (0,), ("too_high",)),
    ],
)
def test_where_grades_are_off_is_found_and_a_formula_helps(
    wrong: Any, where: Any, too: Any
) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        verdicts, labels = judged_by_average(rng, 0.4, n=200)
        found = of_grades(wrong(verdicts), labels, (-1, 7), margin=0.4)
        assert found.key == "kinds.grades_grades"
        said = found.values["along"].values["bands"]
        assert [said[place].key for place in where] == [f"kinds.{one}" for one in too]
        conversion, formula = found.values["conversion"], found.values["convert"].values
        assert formula["after"] < formula["before"] - 0.02
        mean = np.mean(list(labels.values()), axis=0)
        before, after = wrong(verdicts) - mean, conversion.of(wrong(verdicts)) - mean
        assert np.mean(after**2) < np.mean(before**2) - 0.02


def test_grades_that_are_off_in_a_few_groups_are_not_shown_to_be_off() -> None:
    """Ten texts of each of twelve groups, all of which are judged alike: twelve verdicts, not
    120."""
    rng = np.random.default_rng(2)
    verdicts, labels = judged_by_average(rng, 0.8, n=12)
    off = {
        rater: np.repeat(own + np.where(verdicts < 3, -0.9, 0.9), 10)
        for rater, own in labels.items()
    }
    many, groups = np.repeat(verdicts, 10), np.repeat([f"g{n}" for n in range(12)], 10)
    scale = (-1, 7)
    assert of_grades(many, off, scale).key == "kinds.grades_grades"
    assert of_grades(many, off, scale, groups).key != "kinds.grades_grades"


def test_a_judge_that_errs_as_one_of_the_people_does_is_not_told_to_be_off_at_the_ends() -> (
    None
):
    """Its lowest grades lie below what people say on average, as those of each of them do beside
    the others'."""
    accused = {"with others": 0, "alone": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(0.5, 5.5, 300)
        rater = [
            np.clip(np.round(truth + rng.normal(0, 1.2, 300)), 1, 5) for _ in range(4)
        ]
        three = dict(zip("abc", rater[1:], strict=True))
        accused["with others"] += (
            of_grades(rater[0], three, (1, 5)).key == "kinds.grades_grades"
        )
        accused["alone"] += (
            of_grades(rater[0], {"a": rater[1]}, (1, 5)).key == "kinds.grades_grades"
        )
    assert accused["with others"] <= 1 and accused["alone"] > 6


def off_by_turns(off: float, noise: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Grades of 1 to 5, and labels that lie below them, above, on, below and above."""
    verdicts = np.tile([1.0, 2, 3, 4, 5], n)
    labels = verdicts + np.tile([-off, off, 0, -off, off], n)
    return verdicts, labels + np.random.default_rng(5).normal(0, noise, 5 * n)


@pytest.mark.parametrize("language", ["en", "pt"])
def test_a_curve_converts_grades_where_no_line_does(language: str) -> None:
    """People's grades lie above the judge's and below them by turns: no line comes closer, and a
    rising curve does."""
    found = of_grades(*off_by_turns(0.7, 0.4, 40), (0, 6), margin=0.4)
    assert (
        found.key == "kinds.grades_grades"
        and found.values["convert"].key == "kinds.convert_curve"
    )
    assert [own.key for own in found.values["along"].values["bands"]] == [
        "kinds.too_high",
        "kinds.too_low",
        "kinds.too_high",
        "kinds.too_low",
    ]
    convert = found.values["convert"].values
    assert (
        convert["after"] < convert["simpler"] - 0.2
        and convert["simpler"] <= convert["before"]
    )
    assert found.values["conversion"].people == pytest.approx(
        [0.3, 2.7, 3, 3.3, 5.7], abs=0.2
    )
    said = words_of(language).say(found)
    first = found.values["conversion"].people[0]
    point = {
        "en": f"1 becomes {first:.2f}",
        "pt": f"1 passa a {first:.2f}".replace(".", ","),
    }
    assert f"{point[language]}; 2 " in said


def test_grades_that_are_off_without_a_formula_that_helps_get_none() -> None:
    """Too few labels, too far apart, to show that anything comes closer."""
    found = of_grades(*off_by_turns(0.35, 0.6, 20), (0, 6), margin=0.1)
    assert found.key == "kinds.grades_grades" and found.values["conversion"] is None
    assert found.values["convert"].key == "kinds.convert_none"


def test_ordered_categories() -> None:
    labels = GRADES - 1
    verdicts = np.clip(labels + np.random.default_rng(1).integers(-1, 2, 100), 0, 4)
    _, all_told = told(evidence_of("ordered", verdicts, labels))
    values = {name: found.value for name, found in all_told.numbers.items()}
    assert values["agreement.adjacent"] == 1 > values["agreement.raw"]
    assert values["agreement.weighted_kappa"] > values["agreement.linear_kappa"] > 0.3
    assert values["agreement.alpha"] == pytest.approx(
        values["agreement.weighted_kappa"], abs=0.1
    )


def test_confidence_is_held_against_how_often_the_judge_is_right() -> None:
    verdicts = right_in(0.7, LABELS)
    boasting = told(
        evidence_of("pass_fail", verdicts, LABELS, confidence=np.full(100, 0.99))
    )[1]
    honest = told(
        evidence_of("pass_fail", verdicts, LABELS, confidence=np.full(100, 70.0))
    )[1]
    assert "confidence_off" in keys(boasting) and "confidence_open" in keys(honest)
    odd = told(
        evidence_of("pass_fail", verdicts, LABELS, confidence=np.full(100, -1.0))
    )[1]
    assert "confidence" in odd.not_examined and "confidence.error" not in odd.numbers


@pytest.mark.parametrize("kind", ["pass_fail", "numeric"])
def test_a_bad_slice_is_found_and_a_small_one_named(kind: Any) -> None:
    place = np.array(["north"] * 70 + ["south"] * 25 + ["sea"] * 5)
    labels = LABELS if kind == "pass_fail" else GRADES
    verdicts = np.where(
        place == "south",
        labels[::-1],
        labels + (0 if kind == "pass_fail" else NOISY - GRADES),
    )
    table = evidence_of(
        kind, verdicts, labels, {"slice.place": place, "slice.id": np.arange(100)}
    )
    _, all_told = told(table)
    limiting = [
        note for note in all_told.findings if note.key.startswith("kinds.slice_")
    ]
    assert [finding.values["slice"] for finding in limiting] == [
        "place=south"
    ] and "slices_small" in keys(all_told)
    assert "kinds.slices" not in told(table, ignore=("place",))[1].tables


def test_repeats() -> None:
    again = np.where(np.arange(100) < 20, 1 - LABELS, LABELS)
    _, all_told = told(evidence_of("pass_fail", np.stack([LABELS, again]), LABELS))
    assert all_told.numbers["repeats.same"].value == pytest.approx(0.8)
    _, numbers = told(evidence_of("numeric", np.stack([NOISY, NOISY + 0.5]), GRADES))
    assert numbers.numbers["repeats.change"].value == pytest.approx(0.5)
    assert 0.8 < numbers.numbers["repeats.icc"].value < 1
    assert "repeats" in told(evidence_of("pass_fail", LABELS, LABELS))[1].not_examined


def test_what_is_open_says_how_many_labels_would_settle_it() -> None:
    verdicts = right_in(0.75, LABELS, seed=3)
    found, all_told = told(
        evidence_of(
            "pass_fail", verdicts[:32], LABELS[:32], sources={"verdicts.csv": "0"}
        )
    )
    settle = next(
        note.settle for note in all_told.findings if note.key == "kinds.headline_kappa"
    )
    assert (
        found.estimate
        and found.estimate.low < 0.4 < found.estimate.value
        and settle is not None
    )
    assert (
        settle.key == "kinds.settle_labels"
        and settle.values["more"] > 0
        and settle.values["label"].endswith("label verdicts.csv")
    )
