"""Review guided by uncertainty: the oracle and the diagonal are reached, the random band is exact."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike

from tests.stats.conftest import held
from undogmatic.stats import jackknife, review
from undogmatic.stats.estimate import Estimate


def of(statistic: jackknife.Prepared, uncertainty: ArrayLike, error: ArrayLike) -> float:
    return statistic.of(np.column_stack([uncertainty, error]))


UNCERTAINTY = hnp.arrays(np.float64, 12, elements=st.integers(0, 4).map(float))
ERROR = hnp.arrays(np.float64, 12, elements=st.integers(0, 5).map(float))


def _harmonic(n: int) -> float:
    return float(np.sum(1 / np.arange(1, n + 1)))


class TestArea:
    @pytest.mark.parametrize(("n", "wrong"), [(10, 3), (500, 40), (7, 7), (5, 0)])
    def test_perfect_uncertainty_has_the_closed_form(self, n: int, wrong: int) -> None:
        error = np.r_[np.ones(wrong), np.zeros(n - wrong)]
        # Once the n - wrong right items are kept, the k-th item kept leaves (k - (n - wrong)) / k wrong.
        closed = (wrong - (n - wrong) * (_harmonic(n) - _harmonic(n - wrong))) / n
        assert of(review.AURC, error, error) == pytest.approx(closed, abs=1e-12)
        assert of(review.EXCESS_AURC, error, error) == pytest.approx(0, abs=1e-12)

    def test_geifmans_limit_for_many_items(self) -> None:
        rate, n = 0.2, 200_000
        error = np.arange(n) < rate * n
        assert of(review.AURC, error, error) == pytest.approx(rate + (1 - rate) * np.log(1 - rate), abs=1e-4)

    def test_uniform_error_known_perfectly_has_a_quarter(self) -> None:
        # Kept share c of sorted uniform errors has mean c / 2, whose average over c is 1/4.
        error = (np.arange(10_000) + 0.5) / 10_000
        assert of(review.AURC, error, error) == pytest.approx(0.25, abs=1e-4)

    @given(ERROR)
    def test_a_constant_uncertainty_has_the_mean_error(self, error: np.ndarray) -> None:
        assert of(review.AURC, np.ones(12), error) == pytest.approx(error.mean())

    def test_ties_are_the_expectation_over_their_orders(self) -> None:
        error = np.array([3.0, 0, 1, 5])
        by_order = [of(review.AURC, np.arange(4), error[list(order)]) for order in permutations(range(4))]
        assert of(review.AURC, np.zeros(4), error) == pytest.approx(np.mean(by_order))
        tied_front = [of(review.AURC, np.arange(4), error[[*order, 3]]) for order in permutations(range(3))]
        assert of(review.AURC, [0, 0, 0, 1], error) == pytest.approx(np.mean(tied_front))

    @given(UNCERTAINTY, ERROR)
    def test_no_uncertainty_beats_the_oracle_and_only_the_order_matters(self, u: np.ndarray, e: np.ndarray) -> None:
        assert of(review.EXCESS_AURC, u, e) >= -1e-12
        assert of(review.AURC, np.exp(u), e) == pytest.approx(of(review.AURC, u, e))


class TestIntervals:
    def test_the_curve_lies_within_its_band_and_ends_at_the_mean_error(self) -> None:
        rng = np.random.default_rng(31)
        u = rng.random(150)
        e = np.abs(rng.normal(0, 1 + 10 * u))
        curve = review.curve("risk", u, e, rng, n_resamples=300)
        assert curve.guided[-1] == pytest.approx(e.mean())
        assert curve.share.tolist() == pytest.approx((np.arange(150) + 1) / 150)
        assert np.all(curve.oracle <= curve.guided + 1e-12)
        assert np.all(curve.band.low <= curve.band.high)
        late = slice(30, None)
        assert np.all((curve.band.low[late] <= curve.guided[late]) & (curve.guided[late] <= curve.band.high[late]))

    def test_the_area_is_covered_as_often_as_promised(self) -> None:
        # Error is normal with spread u, u uniform: keeping share c leaves mean sqrt(2/pi) c/2, on average sqrt(2/pi)/4.
        rng = np.random.default_rng(32)

        def draw() -> Estimate:
            u = rng.random(80)
            return review.aurc_summary(u, np.abs(rng.normal(0, u)), rng, 0.9).aurc

        assert 0.82 <= held(np.sqrt(2 / np.pi) / 4, 100, draw) <= 0.97

    def test_groups_widen_the_interval_of_repeated_items(self) -> None:
        rng = np.random.default_rng(33)
        u, e = np.tile(rng.random(40), 5), np.tile(rng.random(40), 5)
        alone = review.aurc_summary(u, e, rng).aurc
        together = review.aurc_summary(u, e, rng, groups=np.tile(np.arange(40), 5).tolist()).aurc
        assert together.n_groups == 40
        assert together.high - together.low > 1.5 * (alone.high - alone.low)


VARIED_ERROR = hnp.arrays(np.float64, 12, elements=st.integers(0, 5).map(float)).filter(lambda e: np.ptp(e) > 0)


class TestCurve:
    def test_by_hand(self) -> None:
        curve = review.curve("caught", [1, 2, 3, 4], [0, 3, 1, 4], np.random.default_rng(0), n_resamples=50)
        assert curve.guided.tolist() == [0, 0.5, 0.625, 1, 1]
        assert curve.oracle.tolist() == [0, 0.5, 0.875, 1, 1]
        assert curve.share.tolist() == [0, 0.25, 0.5, 0.75, 1]

    @given(VARIED_ERROR)
    def test_perfect_uncertainty_reaches_the_oracle_and_a_constant_one_the_diagonal(self, error: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        best = review.curve("caught", error**2, error, rng, n_resamples=5)
        assert best.guided == pytest.approx(best.oracle)
        assert of(review.GAIN, error**2, error) == pytest.approx(1)
        none = review.curve("caught", np.full(12, 7.0), error, rng, n_resamples=5)
        assert none.guided == pytest.approx(none.share)
        assert of(review.GAIN, np.full(12, 7.0), error) == pytest.approx(0, abs=1e-12)

    @given(UNCERTAINTY, VARIED_ERROR)
    def test_turning_the_uncertainty_round_turns_the_gain_round(self, u: np.ndarray, error: np.ndarray) -> None:
        gain = of(review.GAIN, u, error)
        assert -1 - 1e-9 <= gain <= 1 + 1e-9
        assert of(review.GAIN, -u, error) == pytest.approx(-gain, abs=1e-9)

    @pytest.mark.parametrize("binary", [True, False])
    def test_the_random_band_holds_random_reviews_as_often_as_promised(self, binary: bool) -> None:
        rng = np.random.default_rng(41)
        error = (rng.random(200) < 0.3).astype(float) if binary else rng.exponential(1, 200)
        curve = review.curve("caught", rng.random(200), error, rng, 0.9, n_resamples=10)
        band = review.random_review(error, curve.n, 0.9)
        caught = np.array([np.cumsum(rng.permutation(error)) for _ in range(2000)]) / error.sum()
        for budget in (20, 60, 100, 160):
            inside = (band.low[budget] <= caught[:, budget - 1] + 1e-9) & (
                caught[:, budget - 1] <= band.high[budget] + 1e-9
            )
            # Counts are discrete, so the hypergeometric band holds at least its level.
            assert 0.88 < inside.mean() < (0.97 if binary else 0.92)
        assert curve.share[60] == pytest.approx(caught[:, 59].mean(), abs=0.005)
        assert (band.low[-1], band.high[-1]) == (1, 1)

    def test_the_guided_curve_lies_within_its_band(self) -> None:
        rng = np.random.default_rng(42)
        u = rng.random(200)
        error = np.abs(rng.normal(0, u))
        curve = review.curve("caught", u, error, rng, n_resamples=300)
        assert np.all((curve.band.low <= curve.guided + 1e-9) & (curve.guided <= curve.band.high + 1e-9))
        assert curve.guided[60] > review.random_review(error, curve.n).high[60]


class TestGainInterval:
    def test_a_random_uncertainty_has_no_gain_and_a_good_one_has(self) -> None:
        rng = np.random.default_rng(43)
        u = rng.random(300)
        error = np.abs(rng.normal(0, u))
        good = review.review_gain_interval(u, error, rng)
        blind = review.review_gain_interval(rng.random(300), error, rng)
        assert good.low > 0.2
        assert blind.low < 0 < blind.high
        assert good.value == pytest.approx(of(review.GAIN, u, error))

    def test_a_perfect_order_of_few_is_not_certainty(self) -> None:
        error = np.arange(20.0)
        result = review.review_gain_interval(error, error, np.random.default_rng(44))
        assert (result.value, result.high) == pytest.approx((1, 1))
        assert 0.5 < result.low <= 0.025 ** (1 / 20)

    def test_one_error_limits_nothing(self) -> None:
        result = review.review_gain_interval(np.arange(30), np.arange(30) == 3, np.random.default_rng(45))
        assert result.interval == (-1, 1)
