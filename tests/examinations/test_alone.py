"""Intervals per item and what a judge may decide alone: by what, how much, what is promised, and
what is too little."""

from typing import Any

import numpy as np
import pytest

from benchmarks.check_alone import JUDGES, best, trial
from tests.examinations.builders import evidence_of
from tests.examinations.test_systems import tell
from undogmatic.examinations import alone, examination
from undogmatic.records.checked import CheckOptions
from undogmatic.records.results import Finding, Told
from undogmatic.stats.conformal import lower_limit

ASKED = (alone.ITEM_INTERVAL, alone.DECIDES_ALONE)
Rng = np.random.Generator


def split(rng: Rng, n: int = 200, wrong: float = 0.0) -> tuple[Any, Any, Any]:
    """Verdicts right in the first half, and in the second one in two; labels; confidence."""
    labels = rng.integers(0, 2, n).astype(float)
    sure = np.arange(n) < n // 2
    right = np.where(sure, rng.random(n) >= wrong, np.arange(n) % 2 == 0)
    return np.where(right, labels, 1 - labels), labels, np.where(sure, 0.9, 0.2)


def test_the_sure_half_is_decided_alone_and_the_other_goes_to_people(rng: Rng) -> None:
    verdicts, labels, confidence = split(rng)
    told, said = tell(
        evidence_of(
            "pass_fail", verdicts, labels, confidence=confidence, selection="all"
        ),
        ASKED,
    )
    values = said["alone.share"].values
    assert (values["share"], values["people"]) == (0.5, 100)
    assert values["limit"] == Finding("alone.limit_confidence", {"threshold": 0.9})
    assert (
        values["least"]
        == told.numbers["alone.agreement"].low
        == pytest.approx(lower_limit(100, 100, 0.95))
    )
    assert "alone.like_labelled" not in said


def test_what_is_promised_of_chosen_labels_holds_for_items_like_them_only(
    rng: Rng,
) -> None:
    verdicts, labels, confidence = split(rng, 400)
    labels[300:] = np.nan
    for selection, limited in (("unknown", True), ("random", False)):
        table = evidence_of(
            "pass_fail", verdicts, labels, confidence=confidence, selection=selection
        )
        assert ("alone.like_labelled" in tell(table, ASKED)[1]) == limited
    table = evidence_of(
        "pass_fail", verdicts, labels, confidence=confidence, selection="by_verdict"
    )
    assert tell(table, ASKED)[0].not_examined["decides_alone"].key == "alone.unevenly"


def test_doubt_is_taken_from_repeats_orders_or_the_distance_from_the_middle(
    rng: Rng,
) -> None:
    verdicts, labels, _ = split(rng)
    again = np.where(np.arange(200) < 100, verdicts, 1 - verdicts)
    steps = np.where(np.arange(200) < 100, 5 * labels, 2 + labels)
    for kind, said_of, people, source in (
        ("pass_fail", np.stack([verdicts, again]), labels, "repeats"),
        ("pairwise", np.stack([verdicts, again]), labels, "orders"),
        (
            "numeric",
            steps,
            np.where(np.arange(200) < 100, steps, 5 - steps),
            "distance",
        ),
    ):
        fields = {"scale": (0, 5)} if kind == "numeric" else {}
        told, said = tell(
            evidence_of(kind, said_of, people, selection="all", **fields), ASKED
        )  # type: ignore[arg-type]
        assert said["alone.share"].values["limit"].key == f"alone.limit_{source}"
        assert told.numbers["alone.share"].value == 0.5


def test_without_a_measure_of_doubt_it_is_all_or_nothing(rng: Rng) -> None:
    labels = rng.integers(0, 3, 100).astype(float)
    told, said = tell(evidence_of("unordered", labels, labels), ASKED)
    assert "alone.whole_all" in said and told.numbers["alone.share"].value == 1
    wrong = np.where(np.arange(100) % 5 == 0, (labels + 1) % 3, labels)
    told, said = tell(evidence_of("unordered", wrong, labels), ASKED)
    assert said["alone.none_whole"].values["wrong"] == 20
    assert told.numbers["alone.share"].value == 0


def test_where_people_have_no_majority_no_verdict_agrees(rng: Rng) -> None:
    labels = rng.integers(0, 2, 100).astype(float)
    other = np.where(np.arange(100) < 40, 1 - labels, labels)
    # Once it says what nobody says; else it might be a copy of somebody's labels.
    judge = np.where(np.arange(100) == 99, 1 - labels, labels)
    said = tell(evidence_of("pass_fail", judge, {"a": labels, "b": other}), ASKED)[1]
    assert said["alone.none_whole"].values["wrong"] == 41
    # the judge errs nowhere else: who is right is not settled
    more = said["alone.none_whole"].values["more"]
    assert more.key == "alone.more_split_settles" and (
        more.values["split"],
        more.values["against"],
    ) == (40, 1)
    wrong = np.where(np.arange(100) >= 70, 1 - labels, labels)
    said = tell(evidence_of("pass_fail", wrong, {"a": labels, "b": other}), ASKED)[1]
    more = said["alone.none_whole"].values["more"]
    assert more.key == "alone.more_split_vain" and (
        more.values["against"],
        more.values["rest"],
    ) == (30, 60)


def test_a_new_label_lies_within_the_reach_of_its_verdict_as_often_as_promised() -> (
    None
):
    inside = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(10, 90, 400)
        verdicts = np.clip(truth + rng.normal(0, 5, 400), 0, 100)
        labels = np.where(np.arange(400) < 60, truth, np.nan)
        table, told = (
            evidence_of(
                "numeric", verdicts, labels, scale=(0, 100), selection="random"
            ),
            Told(),
        )
        examination.ask(ASKED, table.of("judge", "quality"), CheckOptions(), told)
        reach = next(n.values["reach"] for n in told.findings if n.key == "alone.reach")
        inside.append(np.mean(np.abs(truth[60:] - verdicts[60:]) <= reach))
    assert 0.89 <= np.mean(inside) <= 0.93


def test_too_few_labels_say_how_many_are_needed(rng: Rng) -> None:
    verdicts = rng.uniform(0, 1, 50)
    labels = np.where(np.arange(50) < 8, verdicts, np.nan)
    told, said = tell(evidence_of("numeric", verdicts, labels, scale=(0, 1)), ASKED)
    assert said["alone.reach_too_few"].values["needed"] == 9
    assert said["alone.too_few"].values["needed"] == 29
    assert set(told.not_examined) == {"item_interval", alone.DECIDES_ALONE.name}


@pytest.mark.parametrize("name", ["steep", "at the promise"])
def test_a_promise_is_broken_in_at_most_its_share_of_judges(name: str) -> None:
    found = [trial(JUDGES[name], 150, seed, items=1) for seed in range(40)]
    assert np.mean([one.broken for one in found]) <= 0.05
    assert name != "steep" or 0.1 < np.mean([one.share for one in found]) < best(
        JUDGES[name]
    )
