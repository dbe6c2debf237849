"""What systems deserve: which estimator follows from which choice of labels, refusals, rankings,
both languages."""

import inspect
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.check_arena import compare
from tests.examinations.builders import evidence_of
from tests.examinations.conftest import placeholders, words_of
from undogmatic.examinations import alone, examination, kin, of_run, systems
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Told, Weight

ARENA = (
    Path(os.environ.get("SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "audit/arena_scores.csv"
)
ASKED = (
    systems.JUDGE_MEAN,
    systems.CORRECTED_MEAN,
    systems.RANKING,
    kin.OWN_FAMILY,
    alone.ITEM_INTERVAL,
    alone.DECIDES_ALONE,
)


def tell(
    table: Evidence, asked: Sequence[Examination] = ASKED, **options: Any
) -> tuple[Told, dict[str, Finding]]:
    """What examinations tell of the first judge, and its findings by key, each put into words in both
    languages."""
    told = Told()
    view = table.of(table.judges[0], table.criteria[0])
    examination.ask(asked, view, CheckOptions(**options), told)
    said = {noted.key: noted for noted in told.ordered()}
    said |= {finding.key: finding for finding in told.not_examined.values()}
    for words in map(words_of, ("en", "pt")):
        for key, finding in said.items():
            assert words.say(finding)
            assert placeholders(words.find(key) or "") == set(finding.values), key
        for name, shown in told.tables.items():
            section, _, short = name.partition(".")
            assert words.text(f"{section}.table_{short}")
            assert all(
                words.find(f"{section}.names.{c}") or words.find(f"columns.{c}")
                for c in shown.columns
            )
        assert all(words.metric(name) for name in told.numbers)
    return told, said


def table(
    rng: np.random.Generator, n: int = 300, share: float = 0.3, **fields: Any
) -> Evidence:
    """Verdicts half a step too high, some labels, and three systems of which "good" is a step
    better."""
    names = np.array(["good", "plain", "other"])[np.arange(n) % 3]
    truth = np.clip(np.round(rng.normal(2.6, 0.8, n)) + (names == "good"), 1, 5)
    verdicts = np.clip(truth + rng.integers(0, 2, n), 1, 5)
    labels = np.where(rng.random(n) < share, truth, np.nan)
    return evidence_of(
        "numeric", verdicts, labels, {"system": names}, scale=(1, 5), **fields
    )


def test_the_corrected_mean_is_told_beside_the_judges_own_and_names_its_estimator(
    rng: np.random.Generator,
) -> None:
    told, said = tell(table(rng, selection="random"))
    assert said["systems.mean_off"].values["estimator"] == "random"
    assert told.findings[0].weight == Weight.LIMITS
    assert told.numbers["systems.mean"].high < told.numbers["systems.judge_mean"].low
    assert told.tables["systems.means"].iloc[0]["system"] == "good"
    assert told.numbers["systems.difference.good_plain"].low > 0
    assert said["systems.ranking"].values["separable"] == 2


def test_without_labels_one_line_says_all_that_needs_them(
    rng: np.random.Generator,
) -> None:
    told, said = tell(table(rng, selection="random", share=0.0))
    assert told.not_examined.keys() == {"labels"} and "check.needs_labels" in said
    assert "systems.judge_mean" in told.numbers


def test_labels_of_items_that_the_judge_has_no_row_of_correct_nothing(
    rng: np.random.Generator,
) -> None:
    whole = table(rng, selection="random")
    labelled = whole.verdicts["item"].isin(whole.labels["item"])
    told, _ = tell(replace(whole, verdicts=whole.verdicts[~labelled]))
    assert told.not_examined[systems.MEAN].key == "systems.no_labels"


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"selection": "unknown"}, "systems.unknown"),
        ({"selection": "random", "share": 0.01}, "systems.bare"),
        ({"selection": "probabilities"}, "systems.no_probability"),
    ],
)
def test_a_mean_without_ground_is_refused(
    fields: dict[str, Any], key: str, rng: np.random.Generator
) -> None:
    told, said = tell(table(rng, **fields))
    assert told.not_examined[systems.MEAN].key == key
    assert key in said
    assert "systems.mean" not in told.numbers
    assert "systems.judge_mean" in told.numbers


def test_too_few_labels_and_verdicts_beyond_all_that_is_labelled_give_no_mean() -> None:
    verdicts = np.arange(300) % 3 + 1.0
    few, low = np.arange(300) < 4, verdicts < 3
    for chosen, key in (
        (few, "systems.refused_too_few"),
        (low, "systems.refused_outside"),
    ):
        labels = np.where(chosen, verdicts, np.nan)
        labels[0] = 2.0  # a judge who is equal to its labels is asked about first
        assert (
            key
            in tell(
                evidence_of(
                    "numeric", verdicts, labels, scale=(1, 3), selection="random"
                )
            )[1]
        )


def test_labels_of_all_items_are_seen_and_need_no_declaration(
    rng: np.random.Generator,
) -> None:
    told, said = tell(table(rng, share=1.1))
    assert said["systems.mean_off"].values["estimator"] == "all"
    assert told.numbers["systems.mean"].value == pytest.approx(
        np.average(
            told.tables["systems.means"]["mean"],
            weights=told.tables["systems.means"]["labels"],
        )
    )


def test_a_part_of_a_draw_counts_as_a_smaller_draw(rng: np.random.Generator) -> None:
    truth = rng.integers(1, 6, 240).astype(float)
    chance = np.where(np.arange(240) % 2, 0.6, 0.4)
    drawn = rng.permutation(240)[:120]
    labels = np.full(240, np.nan)
    labels[drawn[:40]] = truth[drawn[:40]]

    def mean(chance: Any) -> tuple[Any, dict[str, Finding]]:
        known = {"probability": chance}
        how: dict[str, Any] = {"scale": (1, 5), "selection": "probabilities"}
        verdicts = np.clip(truth + rng.integers(0, 2, 240), 1, 5)
        told, said = tell(evidence_of("numeric", verdicts, labels, known, **how))
        return told.numbers["systems.mean"], said

    rng, state = np.random.default_rng(3), 3
    part, said = mean(chance)
    assert said["systems.part_of_draw"].values == {"labels": 40, "drawn": 120}
    rng = np.random.default_rng(state)
    smaller, said = mean(chance / 3)
    assert "systems.part_of_draw" not in said
    assert (part.low, part.high) == pytest.approx((smaller.low, smaller.high))


def test_a_system_without_labels_stops_the_mean_of_all_but_not_of_the_others(
    rng: np.random.Generator,
) -> None:
    whole = table(rng, selection="random")
    bare = whole.items.index[whole.items["system"] == "other"]
    told, said = tell(
        evidence_of(
            "numeric",
            whole.verdicts["verdict"],
            whole.labels.set_index("item")["label"]
            .drop(bare, errors="ignore")
            .reindex(whole.items.index),
            {"system": whole.items["system"].to_numpy()},
            scale=(1, 5),
            selection="random",
        )
    )
    assert said["systems.bare"].values["systems"] == ["other"]
    assert said["systems.system_bare"].values["system"] == "other"
    assert {"systems.mean.good", "systems.mean.plain"} <= set(told.numbers)


def test_missing_verdicts_are_counted_and_bound_the_judges_mean(
    rng: np.random.Generator,
) -> None:
    verdicts = np.where(np.arange(200) < 20, np.nan, rng.integers(0, 2, 200))
    labels = np.where(np.arange(200) % 2 == 0, rng.integers(0, 2, 200), np.nan)
    told, said = tell(evidence_of("pass_fail", verdicts, labels, selection="random"))
    judge = told.numbers["systems.judge_mean"]
    assert said["systems.missing"].values["missing"] == 20
    assert judge.best_high - judge.worst_low == pytest.approx(
        0.9 * (judge.high - judge.low) + 0.1
    )


@pytest.mark.skipif(not ARENA.is_file(), reason="the shared table is not here")
def test_the_interval_holds_the_mean_of_all_labels_of_real_verdicts_and_the_judges_own_does_not() -> (
    None
):
    rows = pd.read_csv(ARENA).dropna(subset=["oracle_label"])
    scores, labels = (
        rows[name].to_numpy(np.float64) for name in ("judge_score", "oracle_label")
    )
    ours, people, judge = compare(scores, labels, n=60, seeds=200, cje=None)
    assert 0.93 <= ours["coverage"] <= 0.97
    assert ours["median_width"] < 0.9 * people["median_width"]
    assert judge["coverage"] == 0


def pairs(
    rng: np.random.Generator, n: int = 200, sets: int = 1, orders: bool = True
) -> Evidence:
    """Choices among three systems, the first the strongest, with a taste for the place shown first;
    in two `sets` that never meet if asked for."""
    one = rng.integers(3, size=n)
    other = (one + rng.integers(1, 3, size=n)) % 3
    of = np.arange(n) % sets
    names = np.array([["s0", "s1", "s2"], ["t0", "t1", "t2"]])
    merit = 0.8 * (other - one)
    said = [
        (rng.random(n) > 1 / (1 + np.exp(-(merit + taste)))).astype(float)
        for taste in (0.6, -0.6)
    ]
    said[0][:3] = 2
    items = {"system_1": names[of, one], "system_2": names[of, other]}
    return evidence_of("pairwise", np.stack(said) if orders else said[0], items=items)


def test_systems_are_ranked_by_choices_with_the_place_taken_out_and_ties_apart(
    rng: np.random.Generator,
) -> None:
    told, said = tell(pairs(rng))
    values = said["systems.choices_placed"].values
    assert (values["order"], values["ties"], values["separable"]) == (
        ["s0", "s1", "s2"],
        3,
        3,
    )
    assert told.tables["systems.strengths"]["best"].tolist() == [1, 2, 3]
    assert told.numbers["systems.strength.s0"].low > 0.5
    assert "systems.choices" in tell(pairs(rng, orders=False))[1]


@pytest.mark.parametrize(
    ("turned", "key"), [(False, "systems.people_same"), (True, "systems.people_differ")]
)
def test_peoples_own_ranking_stands_beside_the_judges(
    rng: np.random.Generator, turned: bool, key: str
) -> None:
    table = pairs(rng, 400)
    first = table.verdicts.drop_duplicates("item").set_index("item")["verdict"]
    labels = (1 - first if turned else first).where(first < 2, 2)
    people = pd.DataFrame(
        {
            "item": first.index,
            "criterion": "quality",
            "rater": "ana",
            "label": labels.to_numpy(),
        }
    )
    told, said = tell(replace(table, labels=people))
    values, shown = (
        said[key].values,
        told.tables["systems.strengths"].set_index("system"),
    )
    assert (values["n"], values["pairs"]) == (int((labels < 2).sum()), 3)
    assert values["order"] == (["s2", "s1", "s0"] if turned else ["s0", "s1", "s2"])
    assert shown["people_best"].to_dict() == (
        {"s0": 3, "s1": 2, "s2": 1} if turned else {"s0": 1, "s1": 2, "s2": 3}
    )
    assert told.numbers["systems.people.s0"].value == pytest.approx(
        shown.loc["s0", "people"]
    )
    weights = {noted.key: noted.weight for noted in told.findings}
    assert values.get("opposed", 0) == 3 * turned and weights[key] == (
        Weight.LIMITS if turned else Weight.QUALIFIES
    )


def test_people_who_compared_too_little_are_not_ranked(
    rng: np.random.Generator,
) -> None:
    people = pd.DataFrame(
        {"item": ["i5"], "criterion": "quality", "rater": "ana", "label": 0.0}
    )
    told, said = tell(replace(pairs(rng), labels=people))
    assert said["systems.people_unranked"].values == {"n": 1, "systems": 3}
    assert "people" not in told.tables["systems.strengths"]


def test_sets_that_never_meet_are_not_ranked_but_named(
    rng: np.random.Generator,
) -> None:
    told, said = tell(pairs(rng, sets=2))
    assert said["systems.disconnected"].values["sets"] == "s0, s1, s2 | t0, t1, t2"
    assert not told.numbers


def test_a_run_has_the_words_of_every_examination_that_a_check_asks() -> None:
    known = set(of_run.words("labelled"))
    for each in examination.OURS:
        module = Path(inspect.getfile(each.examine))
        own = module.with_name(f"{module.stem}.texts.yaml")
        assert not own.is_file() or own in known, own.name
