"""Metrics of single judgments: ends, symmetry and known values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from undogmatic.stats import quality


def test_pairs() -> None:
    assert [quality.order(*pair) for pair in ((2, 1), (1, 1), (1, 2))] == [1, 0.5, 0]
    assert quality.margin(100, 0, 100) == 1
    assert quality.margin(30, 30, 100) == 0.5
    assert quality.margin(20, 50, 100) + quality.margin(50, 20, 100) == pytest.approx(1)


def test_the_area_under_the_curve_is_the_concordance_of_two_labels() -> None:
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(2, size=60), np.round(rng.normal(size=60), 1)
    assert quality.concordance(scores, labels) == pytest.approx(roc_auc_score(labels, scores))
    assert quality.concordance(-scores, labels) == pytest.approx(1 - roc_auc_score(labels, scores))
    assert np.isnan(quality.concordance(scores, np.ones(60)))


def test_crps_of_one_certain_value_is_its_closeness_and_spread_is_punished() -> None:
    assert quality.crps([0, 50, 100], [0, 1, 0], 80, 100) == pytest.approx(quality.closeness(50, 80, 100))
    honest, vague = ([0.1, 0.8, 0.1], [1 / 3, 1 / 3, 1 / 3])
    assert quality.crps([0, 50, 100], honest, 50, 100) > quality.crps([0, 50, 100], vague, 50, 100)


@pytest.mark.parametrize("measure", ["log", "crps"])
def test_scores_of_distributions_are_proper(measure: str) -> None:
    """On average nobody earns more than by saying the true distribution."""
    values, rng = [0.0, 50.0, 100.0], np.random.default_rng(2)

    def earned(said: np.ndarray, true: np.ndarray) -> float:
        each = [
            quality.log_score(values, said.tolist(), v) if measure == "log" else quality.crps(values, said, v, 100)
            for v in values
        ]
        return float(true @ each)

    for _ in range(50):
        true, other = rng.dirichlet([2, 2, 2], size=2)
        assert earned(true, true) >= earned(other, true) - 1e-12


def test_what_is_thought_impossible_costs_no_more_than_a_floor() -> None:
    assert quality.log_score([0, 100], [1, 0], 100) == 0
    assert quality.log_score([0, 100], [1, 0], 10) == 1


def test_what_an_exchange_adds_is_what_exchanging_gives() -> None:
    draw = np.random.default_rng(5)
    for labels in (draw.normal(size=12), np.arange(12) % 2, draw.integers(3, size=12)):
        one, other = draw.integers(6, size=12).astype(float), draw.integers(6, size=12).astype(float)  # with ties
        start, added = quality.exchange(one, other, labels)
        for _ in range(20):
            turned = draw.integers(2, size=12).astype(bool)
            mixed = np.where(turned, other, one), np.where(turned, one, other)
            expected = np.subtract(*(quality.concordance(each, labels) for each in mixed[::-1]))
            assert start + added[turned].sum() == pytest.approx(expected)
    assert np.isnan(quality.exchange(one, other, np.ones(12))[0])
