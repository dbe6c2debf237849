"""Median and Hodges-Lehmann: published values, all averages at once, mirrored data, ties, groups, and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from tests.stats.conftest import held, peak_memory
from undogmatic.stats import paired
from undogmatic.stats.estimate import Estimate

DEPRESSION = np.subtract(
    [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
)
# The worked example of Wikipedia, "Wilcoxon signed-rank test": one zero among ten, W = 9, S = 45, r = 0.20.
DIFFERENCES = hnp.arrays(np.float64, st.integers(4, 40), elements=st.integers(-50, 50).map(float))


class TestHodgesLehmann:
    def test_hollander_and_wolfe_depression(self) -> None:
        assert paired.hodges_lehmann(DEPRESSION) == pytest.approx(0.46, abs=0.005)

    @given(DIFFERENCES, st.integers(-20, 20))
    def test_it_moves_with_the_data(self, d: np.ndarray, shift: int) -> None:
        assert paired.hodges_lehmann(d + shift) == pytest.approx(paired.hodges_lehmann(d) + shift)
        assert paired.hodges_lehmann(-d) == pytest.approx(-paired.hodges_lehmann(d))

    @given(
        hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e9, 1e9) | st.integers(-3, 3).map(float)),
    )
    def test_selecting_finds_the_median_of_all_averages(self, d: np.ndarray) -> None:
        first, second = np.triu_indices(d.size)
        assert paired.hodges_lehmann(d) == np.median((d[first] + d[second]) / 2)

    @pytest.mark.parametrize("n", [200, 201, 700])
    def test_many_differences_give_what_all_averages_give(self, n: int) -> None:
        rng = np.random.default_rng(n)
        for d in (rng.normal(size=n), np.round(rng.normal(size=n), 1), rng.integers(-4, 5, n).astype(float)):
            first, second = np.triu_indices(n)
            assert paired.hodges_lehmann(d) == np.median((d[first] + d[second]) / 2)

    def test_fifty_thousand_differences_take_no_gigabytes(self) -> None:
        d = np.random.default_rng(0).normal(3, 1, size=50_000)
        found, peak = peak_memory(lambda: paired.hodges_lehmann(d))
        assert found == pytest.approx(3, abs=0.03)
        assert peak < 60e6  # all averages would take 10 GB

    def test_the_interval_is_near_the_signed_ranks_for_symmetric_differences(self) -> None:
        """Inverting Wilcoxon's test by its normal approximation: averages of rank n(n + 1)/4 -+ 1.96 sd."""
        d = np.random.default_rng(0).normal(5, 10, 60)
        first, second = np.triu_indices(60)
        averages = np.sort((d[first] + d[second]) / 2)
        out = int(60 * 61 / 4 - 1.96 * np.sqrt(60 * 61 * 121 / 24))
        found = paired.hodges_lehmann_interval(d)
        assert found.interval == pytest.approx((averages[out], averages[-1 - out]), abs=0.5)

    @given(DIFFERENCES)
    def test_the_interval_mirrors_and_holds_the_estimate(self, d: np.ndarray) -> None:
        here = paired.hodges_lehmann_interval(d, bounds=(-100, 100))
        there = paired.hodges_lehmann_interval(-d, bounds=(-100, 100))
        assert here.low <= here.value <= here.high
        assert here.interval == pytest.approx((-there.high, -there.low), abs=1e-4)

    @pytest.mark.parametrize("grouped", [False, True])
    def test_it_holds_the_middle_of_skewed_differences(self, grouped: bool) -> None:
        rng = np.random.default_rng(1)
        drawn = rng.exponential(size=(2, 200_000))

        def draw() -> Estimate:
            groups = np.repeat(np.arange(20), rng.integers(1, 4, 20)) if grouped else np.arange(20)
            return paired.hodges_lehmann_interval(rng.exponential(size=20)[groups], groups=groups)

        assert held(float(np.median(drawn.mean(axis=0))), 200, draw) >= 0.91


class TestMedian:
    def test_ends_are_the_ordered_values_of_the_sign_test(self) -> None:
        # Conover (1999), table A3: of 10 values at most one may be left out at each end (P = .0107 < .025).
        found = paired.median(np.arange(10.0))
        assert (found.value, found.low, found.high) == (4.5, 1, 8)
        found = paired.median(np.arange(50.0))
        out = int(stats.binom.ppf(0.025, 50, 0.5)) - 1
        assert found.interval == (out, 49 - out)

    def test_five_values_limit_nothing(self) -> None:
        assert paired.median([1.0, 2, 3, 4, 5]).interval == (-np.inf, np.inf)
        assert paired.median([1.0, 2, 3, 4, 5], bounds=(-9, 9)).interval == (-9, 9)

    def test_copies_in_groups_are_no_evidence(self) -> None:
        values = np.random.default_rng(2).normal(size=12)
        alone, copied = paired.median(values), paired.median(np.tile(values, 7), groups=np.tile(np.arange(12), 7))
        assert (copied.low, copied.high, copied.n_groups) == (alone.low, alone.high, 12)
