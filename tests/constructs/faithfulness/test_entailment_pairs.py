"""The pairs of premises and hypotheses, and the arithmetic of what is measured on them."""

from collections import defaultdict

import numpy as np
import pytest

from benchmarks.entailment import Pair, fitted, overlap, pairs, threshold
from undogmatic.safety.outside import json_lines
from undogmatic.safety.paths import data_folder

CONTRADICTED = {
    "outcome",
    "party",
    "negation",
    "number",
    "quantifier",
    "modality",
    "date",
}


def rows() -> list[dict[str, str]]:
    return [row for _, row in json_lines(data_folder() / "faith" / "entailment.jsonl")]


def test_every_pair_is_told_once_and_no_author_or_premise_is_in_both_splits() -> None:
    every = rows()
    assert len({row["id"] for row in every}) == len(every) >= 1500
    assert len({(row["premise"], row["hypothesis"]) for row in every}) == len(every)
    for name in ("author", "premise"):
        splits = defaultdict(set)
        for row in every:
            splits[row[name]].add(row["split"])
        assert all(len(found) == 1 for found in splits.values())


def test_a_kind_of_contradiction_is_a_contradiction_in_both_languages_and_splits() -> (
    None
):
    for row in rows():
        expected = "contradicted" if row["kind"] in CONTRADICTED else row["kind"]
        assert row["label"] == expected, row["id"]
    told = {(row["kind"], row["language"], row["split"]) for row in rows()}
    assert len(told) == (len(CONTRADICTED) + 2) * 4


def test_the_threshold_is_the_lowest_that_keeps_the_precision() -> None:
    chances, truth = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, True, False])
    assert threshold(chances, truth) == 0.7
    assert threshold(chances, ~truth) == float("inf")


def test_a_development_pair_is_judged_by_fits_without_its_author() -> None:
    rng = np.random.default_rng(0)
    authors = np.repeat(["a", "b", "c"], 30)
    parts, truth = np.repeat("development", 90), rng.random(90) < 0.5
    # the first feature is the answer in a's pairs alone, and its contrary in the others'
    told = np.where(authors == "a", truth, ~truth).astype(float)[:, None]
    assert (
        roughly_right(fitted(told, truth, parts, authors), truth, authors == "a") == 0
    )


def roughly_right(chances: np.ndarray, truth: np.ndarray, inside: np.ndarray) -> float:
    return float(((chances > 0.5) == truth)[inside].mean())


def test_overlap_sees_a_number_that_the_premise_does_not_have() -> None:
    same, other = (
        Pair(
            "The fine is 20 euros.", f"The fine is {n} euros.", False, "a", "test", "en"
        )
        for n in (20, 30)
    )
    first, second = overlap([same, other])
    assert (first[0], first[3], second[3]) == (pytest.approx(1), 0, 1)


def test_outcomes_stand_beside_the_pairs() -> None:
    assert {pair.part for pair in pairs()} == {"development", "test", "outcomes"}
