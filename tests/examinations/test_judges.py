"""What a check tells of several judges of one file."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import evidence_of
from undogmatic.examinations import judges
from undogmatic.records.checked import CheckOptions
from undogmatic.records.results import Told, Weight
from undogmatic.records.words import Words

LANGUAGES = [
    Words(code, [Path(judges.__file__).with_suffix(".texts.yaml")], strict=True)
    for code in ("en", "pt")
]
N = 300


def tell(
    kind: Any, verdicts: Any, labels: Any, items: Any = None, **options: Any
) -> Told:
    """What is told, every sentence of which has words in both languages."""
    told = Told()
    judges.tell(
        evidence_of(kind, verdicts, labels, items),
        "quality",
        told,
        CheckOptions(**options),
    )
    findings = [*told.findings] + [
        noted.settle for noted in told.findings if noted.settle
    ]
    for words in LANGUAGES:
        assert all(
            words.say(finding) for finding in [*findings, *told.not_examined.values()]
        )
    return told


def keys(told: Told) -> list[str]:
    return [noted.key.removeprefix("judges.") for noted in told.findings]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def noisy(rng: np.random.Generator, label: Any, right: float) -> Any:
    return np.where(rng.random(label.size) < right, label, 1 - label)


@pytest.mark.parametrize(
    ("rights", "margin", "key"),
    [
        ((0.9, 0.7), None, "pair_better"),
        ((0.9, 0.9), None, "pair_no_margin"),
        ((0.9, 0.9), 0.2, "pair_equivalent"),
        ((0.9, 0.9), 0.01, "pair_undecided"),
    ],
)
def test_two_judges_are_better_equivalent_or_undecided(
    rng, rights, margin, key
) -> None:
    label = rng.integers(0, 2, N).astype(float)
    verdicts = {
        name: noisy(rng, label, right)
        for name, right in zip(("b", "a"), rights, strict=True)
    }
    told = tell("pass_fail", verdicts, label, margin=margin)
    assert key in keys(told)
    assert "judges.difference" in told.numbers and told.tables["judges.pairs"][
        "shown"
    ].tolist() == [key[5:]]
    if key == "pair_better":
        assert told.findings[0].values["left"] == "b"


def test_a_judge_under_two_names_is_named_and_counts_once(rng) -> None:
    label = rng.integers(0, 2, N).astype(float)
    good, bad = noisy(rng, label, 0.9), noisy(rng, label, 0.6)
    told = tell("pass_fail", {"x": good, "y": bad, "z": good}, label)
    (twins,) = (noted for noted in told.findings if noted.key == "judges.twins")
    assert twins.weight == Weight.LIMITS and twins.values["judges"] == ["x", "z"]
    assert told.tables["judges.judges"]["judge"].tolist() == ["x", "y"]
    assert keys(tell("pass_fail", {"x": good, "z": good}, ())) == ["twins"]


def test_the_best_of_many_is_told_with_how_much_the_choice_flatters_it(rng) -> None:
    """Ten judges of one quality and one that is a coin."""
    label = rng.integers(0, 2, N).astype(float)
    verdicts = {f"j{k}": noisy(rng, label, 0.8) for k in range(10)} | {
        "coin": noisy(rng, label, 0.5)
    }
    told = tell("pass_fail", verdicts, label)
    (best,) = (noted for noted in told.findings if noted.key == "judges.best_chosen")
    shown = {part.key: part.values["n"] for part in best.values["shown"]}
    assert (
        shown == {"judges.than_worse": 1, "judges.than_open": 9}
        and 0.01 < best.values["flattery"] < 0.06
    )
    letters = told.tables["judges.judges"].set_index("judge")["letters"]
    assert not set(letters["coin"]) & set(letters[best.values["best"]])
    # 55 sentences would say nothing
    assert not any(key.startswith("pair_") for key in keys(told))


def test_of_very_many_judges_the_table_keeps_the_best_and_the_neighbours(rng) -> None:
    label = rng.integers(0, 2, 60).astype(float)
    told = tell(
        "pass_fail",
        {f"j{k}": noisy(rng, label, 0.5 + k / 60) for k in range(25)},
        label,
    )
    pairs, order = (
        told.tables["judges.pairs"],
        told.tables["judges.judges"]["judge"].tolist(),
    )
    assert len(pairs) == 24 + 23
    assert set(itertools.pairwise(order)) <= set(
        zip(pairs["left"], pairs["right"], strict=True)
    )
    few = tell(
        "pass_fail", {f"j{k}": noisy(rng, label, 0.5 + k / 60) for k in range(3)}, label
    )
    assert (pairs["p_holm"] >= pairs["p"]).all() and len(
        few.tables["judges.pairs"]
    ) == 3


def test_shared_errors_are_told_beside_those_of_independent_judges(rng) -> None:
    label = rng.integers(0, 2, N).astype(float)
    hard = rng.random(N) < 0.2
    shared = {name: np.where(hard, 1 - label, noisy(rng, label, 0.95)) for name in "ab"}
    told = tell("pass_fail", shared, label)
    (finding,) = (
        noted for noted in told.findings if noted.key == "judges.errors_shared"
    )
    assert (
        finding.values["both"] > 0.18
        and finding.values["chance"] < 0.08
        and finding.values["effective"] < 1.3
    )
    assert "errors_open" in keys(
        tell("pass_fail", {name: noisy(rng, label, 0.8) for name in "ab"}, label)
    )


@pytest.mark.parametrize("kind", ["numeric", "ordered"])
def test_scores_and_ordered_categories_are_compared_by_their_distance(
    rng, kind
) -> None:
    label = rng.integers(0, 5, N).astype(float)
    near, far = (
        np.clip(label + rng.choice([-1, 0, 1], N) * size, 0, 4) for size in (1, 3)
    )
    told = tell(kind, {"far": far, "near": near}, label)
    (pair,) = (
        noted.values for noted in told.findings if noted.key == "judges.pair_better"
    )
    unit = 4 if kind == "ordered" else 1
    assert pair["left"] == "near"
    assert pair["difference"] == pytest.approx(
        np.mean(np.abs(far - label) - np.abs(near - label)) / unit
    )
    assert told.numbers["judges.shared_errors"].n == N


def test_both_orders_of_a_choice_count_half_and_groups_are_the_units(rng) -> None:
    label = rng.integers(0, 2, N).astype(float)
    a, b = (
        [noisy(rng, label, right), noisy(rng, label, right)] for right in (0.9, 0.7)
    )
    pairs = tell("pairwise", {"a": a, "b": b}, label).tables["judges.pairs"]
    right = [np.mean([verdicts == label for verdicts in own]) for own in (a, b)]
    assert pairs["difference"].item() == pytest.approx(right[0] - right[1])
    few = tell("pairwise", {"a": a, "b": b}, label, {"group": np.arange(N) % 3})
    assert few.not_examined["judges"].key == "judges.few"


def test_without_labels_or_with_one_judge_there_is_nothing_to_compare(rng) -> None:
    label = rng.integers(0, 2, N).astype(float)
    verdicts = {name: noisy(rng, label, 0.8) for name in "ab"}
    assert (
        tell("pass_fail", verdicts, ()).not_examined["judges"].key == "judges.no_labels"
    )
    elsewhere = verdicts | {"b": np.where(np.arange(N) < 9, verdicts["b"], np.nan)}
    few_labels = np.where(np.arange(N) < 9, np.nan, label)
    assert (
        tell("pass_fail", elsewhere, few_labels).not_examined["judges"].key
        == "judges.no_labels"
    )
    alone = tell("pass_fail", label, label)
    assert not alone.findings and not alone.not_examined
