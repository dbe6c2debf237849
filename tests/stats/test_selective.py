"""Risk-coverage curves and their area: closed forms, expectation over ties, honest intervals."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undogmatic.stats import calibration_error, selective

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
        assert selective.aurc(error, error) == pytest.approx(closed, abs=1e-12)
        assert selective.excess_aurc(error, error) == pytest.approx(0, abs=1e-12)

    def test_geifmans_limit_for_many_items(self) -> None:
        rate, n = 0.2, 200_000
        error = np.arange(n) < rate * n
        assert selective.aurc(error, error) == pytest.approx(rate + (1 - rate) * np.log(1 - rate), abs=1e-4)

    def test_uniform_error_known_perfectly_has_a_quarter(self) -> None:
        # Kept share c of sorted uniform errors has mean c / 2, whose average over c is 1/4.
        error = (np.arange(10_000) + 0.5) / 10_000
        assert selective.aurc(error, error) == pytest.approx(0.25, abs=1e-4)

    @given(ERROR)
    def test_a_constant_uncertainty_has_the_mean_error(self, error: np.ndarray) -> None:
        assert selective.aurc(np.ones(12), error) == pytest.approx(error.mean())

    def test_ties_are_the_expectation_over_their_orders(self) -> None:
        error = np.array([3.0, 0, 1, 5])
        by_order = [selective.aurc(np.arange(4), error[list(order)]) for order in permutations(range(4))]
        assert selective.aurc(np.zeros(4), error) == pytest.approx(np.mean(by_order))
        tied_front = [selective.aurc(np.arange(4), error[[*order, 3]]) for order in permutations(range(3))]
        assert selective.aurc([0, 0, 0, 1], error) == pytest.approx(np.mean(tied_front))

    @given(UNCERTAINTY, ERROR)
    def test_no_uncertainty_beats_the_oracle_and_only_the_order_matters(self, u: np.ndarray, e: np.ndarray) -> None:
        assert selective.excess_aurc(u, e) >= -1e-12
        assert selective.aurc(np.exp(u), e) == pytest.approx(selective.aurc(u, e))

    def test_a_negative_error_is_refused(self) -> None:
        with pytest.raises(ValueError, match="error"):
            selective.aurc([1, 2], [-1, 1])


class TestIntervals:
    def test_the_curve_lies_within_its_band_and_ends_at_the_mean_error(self) -> None:
        rng = np.random.default_rng(31)
        u = rng.random(150)
        e = np.abs(rng.normal(0, 1 + 10 * u))
        curve = selective.risk_coverage(u, e, rng, n_resamples=300)
        assert curve.risk[-1] == pytest.approx(e.mean())
        assert curve.coverage.tolist() == pytest.approx((np.arange(150) + 1) / 150)
        assert np.all(curve.oracle <= curve.risk + 1e-12)
        assert np.all(curve.low <= curve.high)
        late = slice(30, None)
        assert np.all((curve.low[late] <= curve.risk[late]) & (curve.risk[late] <= curve.high[late]))

    def test_the_area_is_covered_as_often_as_promised(self) -> None:
        # Error is normal with spread u, u uniform: keeping share c leaves mean sqrt(2/pi) c/2, on average sqrt(2/pi)/4.
        true = np.sqrt(2 / np.pi) / 4
        rng = np.random.default_rng(32)
        hits = 0
        for _ in range(100):
            u = rng.random(80)
            summary = selective.aurc_summary(u, np.abs(rng.normal(0, u)), rng, 0.9)
            hits += summary.aurc.low <= true <= summary.aurc.high
        assert 0.82 <= hits / 100 <= 0.97

    def test_groups_widen_the_interval_of_repeated_items(self) -> None:
        rng = np.random.default_rng(33)
        u, e = np.tile(rng.random(40), 5), np.tile(rng.random(40), 5)
        alone = selective.aurc_summary(u, e, rng).aurc
        together = selective.aurc_summary(u, e, rng, groups=np.tile(np.arange(40), 5).tolist()).aurc
        assert together.n_groups == 40
        assert together.high - together.low > 1.5 * (alone.high - alone.low)


@pytest.mark.parametrize("planted", [0.0, 0.1, 0.25])
def test_a_planted_calibration_error_is_recovered(planted: float) -> None:
    rng = np.random.default_rng(37)
    # Each bin is overconfident by the same amount, so the ECE is that amount.
    confidence = rng.uniform(0.5, 1, 100_000)
    correct = rng.random(100_000) < confidence - planted
    assert calibration_error.expected_calibration_error(confidence, correct) == pytest.approx(planted, abs=0.01)
