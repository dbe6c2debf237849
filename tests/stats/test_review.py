"""Review guided by uncertainty: the oracle and the diagonal are reached, the random band is exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undogmatic.stats import review

UNCERTAINTY = hnp.arrays(np.float64, 12, elements=st.integers(0, 4).map(float))
ERROR = hnp.arrays(np.float64, 12, elements=st.integers(0, 5).map(float)).filter(lambda e: np.ptp(e) > 0)


class TestCurve:
    def test_by_hand(self) -> None:
        curve = review.review_curve([1, 2, 3, 4], [0, 3, 1, 4], np.random.default_rng(0), n_resamples=50)
        assert curve.guided.tolist() == [0, 0.5, 0.625, 1, 1]
        assert curve.oracle.tolist() == [0, 0.5, 0.875, 1, 1]
        assert curve.random.tolist() == [0, 0.25, 0.5, 0.75, 1]

    @given(ERROR)
    def test_perfect_uncertainty_reaches_the_oracle_and_a_constant_one_the_diagonal(self, error: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        best = review.review_curve(error**2, error, rng, n_resamples=5)
        assert best.guided == pytest.approx(best.oracle)
        assert review.review_gain(error**2, error) == pytest.approx(1)
        none = review.review_curve(np.full(12, 7.0), error, rng, n_resamples=5)
        assert none.guided == pytest.approx(none.random)
        assert review.review_gain(np.full(12, 7.0), error) == pytest.approx(0, abs=1e-12)

    @given(UNCERTAINTY, ERROR)
    def test_turning_the_uncertainty_round_turns_the_gain_round(self, u: np.ndarray, error: np.ndarray) -> None:
        gain = review.review_gain(u, error)
        assert -1 - 1e-9 <= gain <= 1 + 1e-9
        assert review.review_gain(-u, error) == pytest.approx(-gain, abs=1e-9)

    @pytest.mark.parametrize("binary", [True, False])
    def test_the_random_band_holds_random_reviews_as_often_as_promised(self, binary: bool) -> None:
        rng = np.random.default_rng(41)
        error = (rng.random(200) < 0.3).astype(float) if binary else rng.exponential(1, 200)
        curve = review.review_curve(rng.random(200), error, rng, 0.9, n_resamples=10)
        assert curve.random_band == ("hypergeometric" if binary else "normal")
        caught = np.array([np.cumsum(rng.permutation(error)) for _ in range(2000)]) / error.sum()
        for budget in (20, 60, 100, 160):
            inside = (curve.random_low[budget] <= caught[:, budget - 1] + 1e-9) & (
                caught[:, budget - 1] <= curve.random_high[budget] + 1e-9
            )
            # Counts are discrete, so the hypergeometric band holds at least its level.
            assert 0.88 < inside.mean() < (0.97 if binary else 0.92)
        assert curve.random[60] == pytest.approx(caught[:, 59].mean(), abs=0.005)
        assert (curve.random_low[-1], curve.random_high[-1]) == (1, 1)

    def test_the_guided_curve_lies_within_its_band(self) -> None:
        rng = np.random.default_rng(42)
        u = rng.random(200)
        error = np.abs(rng.normal(0, u))
        curve = review.review_curve(u, error, rng, n_resamples=300)
        assert np.all((curve.guided_low <= curve.guided + 1e-9) & (curve.guided <= curve.guided_high + 1e-9))
        assert curve.guided[60] > curve.random_high[60]

    def test_nothing_to_catch_is_said(self) -> None:
        with pytest.raises(ValueError, match="nothing"):
            review.review_curve([1, 2], [0, 0], np.random.default_rng(0))
        with pytest.raises(ValueError, match="constant"):
            review.review_gain([1, 2], [1, 1])


class TestGainInterval:
    def test_a_random_uncertainty_has_no_gain_and_a_good_one_has(self) -> None:
        rng = np.random.default_rng(43)
        u = rng.random(300)
        error = np.abs(rng.normal(0, u))
        good = review.review_gain_interval(u, error, rng)
        blind = review.review_gain_interval(rng.random(300), error, rng)
        assert good.low > 0.2
        assert blind.low < 0 < blind.high
        assert good.value == pytest.approx(review.review_gain(u, error))

    def test_a_perfect_order_of_few_is_not_certainty(self) -> None:
        error = np.arange(20.0)
        result = review.review_gain_interval(error, error, np.random.default_rng(44))
        assert (result.value, result.high) == pytest.approx((1, 1))
        assert 0.5 < result.low <= 0.025 ** (1 / 20)

    def test_one_error_limits_nothing(self) -> None:
        result = review.review_gain_interval(np.arange(30), np.arange(30) == 3, np.random.default_rng(45))
        assert (result.low, result.high) == (-1, 1)
