"""Length confound: what controlling for length recovers, and where it must admit that it cannot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undogmatic.stats import confound


def _pairs(rng: np.random.Generator, effect: float, per_log: float, n: int = 40) -> tuple[np.ndarray, ...]:
    """Pairs whose score is `effect` for condition a plus `per_log` per unit of log length plus uneven noise."""
    length_b = rng.lognormal(5, 0.4, n)
    length_a = length_b * rng.lognormal(-0.5, 0.5, n)
    noise = rng.normal(0, 3 + 3 * np.abs(np.log(length_a / length_b)))
    base = rng.normal(50, 10, n)
    return base + effect + per_log * np.log(length_a) + noise, base + per_log * np.log(length_b), length_a, length_b


class TestControlledDifference:
    def test_without_noise_it_recovers_both_parts(self) -> None:
        length_a, length_b = np.array([10.0, 20, 40, 80, 90]), np.array([100.0, 30, 20, 95, 70])
        score_b = np.full(5, 20.0)
        result = confound.controlled_difference(
            score_b + 30 - 8 * np.log(length_a / length_b), score_b, length_a, length_b
        )
        assert (result.intercept, result.slope) == pytest.approx((30, -8))
        assert result.raw_difference > 30
        assert (result.extrapolated, result.n_pairs) == (False, 5)

    def test_a_difference_that_is_only_length_vanishes(self) -> None:
        rng = np.random.default_rng(31)
        results = [confound.controlled_difference(*_pairs(rng, 0, -20)) for _ in range(300)]
        assert np.mean([r.raw_difference for r in results]) == pytest.approx(10, abs=0.5)
        assert np.mean([r.low <= 0 <= r.high for r in results]) == pytest.approx(0.95, abs=0.03)

    def test_a_real_difference_survives_with_the_stated_coverage(self) -> None:
        rng = np.random.default_rng(32)
        results = [confound.controlled_difference(*_pairs(rng, 25, -10)) for _ in range(300)]
        assert np.mean([r.low <= 25 <= r.high for r in results]) == pytest.approx(0.95, abs=0.03)
        assert np.mean([r.slope_low <= -10 <= r.slope_high for r in results]) == pytest.approx(0.95, abs=0.03)

    @given(st.integers(0, 500), st.floats(0.1, 50), st.floats(-20, 20))
    def test_the_unit_of_length_does_not_matter_and_a_shift_of_scores_does(
        self, seed: int, unit: float, shift: float
    ) -> None:
        a, b, length_a, length_b = _pairs(np.random.default_rng(seed), 10, -5, n=12)
        here = confound.controlled_difference(a, b, length_a, length_b)
        there = confound.controlled_difference(a + shift, b, unit * length_a, unit * length_b)
        expected = (here.intercept + shift, here.low + shift, here.high + shift, here.slope)
        assert (there.intercept, there.low, there.high, there.slope) == pytest.approx(expected, abs=1e-6)

    @given(st.integers(0, 500))
    def test_swapping_the_conditions_mirrors_the_interval(self, seed: int) -> None:
        a, b, length_a, length_b = _pairs(np.random.default_rng(seed), 10, -5, n=12)
        here = confound.controlled_difference(a, b, length_a, length_b)
        there = confound.controlled_difference(b, a, length_b, length_a)
        assert (there.low, there.high) == pytest.approx((-here.high, -here.low))
        assert (there.slope, there.extrapolated) == (pytest.approx(here.slope), here.extrapolated)

    def test_it_says_when_no_pair_is_near_equal_length(self) -> None:
        a, b, _, length_b = _pairs(np.random.default_rng(33), 10, -5)
        always_shorter = length_b * np.random.default_rng(34).uniform(0.1, 0.6, length_b.size)
        result = confound.controlled_difference(a, b, always_shorter, length_b)
        assert result.extrapolated

    def test_where_length_and_condition_are_one_it_refuses(self) -> None:
        scores, lengths = [1.0, 2, 3, 5], np.array([10.0, 20, 30, 40])
        with pytest.raises(ValueError, match="the same in every pair"):
            confound.controlled_difference(scores, scores[::-1], 2 * lengths, lengths)
        with pytest.raises(ValueError, match="one pair alone fixes the slope"):
            confound.controlled_difference(scores, scores[::-1], [10.0, 20, 30, 80], lengths)
        with pytest.raises(ValueError, match="`lengths_b` holds a length of 0"):
            confound.controlled_difference(scores, scores[::-1], lengths, [0.0, 1, 2, 3])


def test_length_alone_as_a_judge() -> None:
    result = confound.length_auc([10.0, 20, 30], [25.0, 100, 200])
    assert result.auc == pytest.approx(1 / 9)
    assert confound.length_auc([5.0, 6], [5.0, 6]).auc == 0.5
