"""Paired statistics against published values, symmetries and simulated coverage."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.multitest import multipletests

from undogmatic.stats import paired, walsh

# Whole differences: distinct from rounding noise, and free to tie.
DIFFERENCES = hnp.arrays(np.float64, st.integers(4, 40), elements=st.integers(-50, 50).map(float))

# Darwin's maize, eighths of an inch (The effects of cross- and self-fertilisation, 1876).
MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
# Hamilton depression scale, first minus second visit: Hollander and Wolfe (1973), table 3.1, p. 29.
DEPRESSION = np.subtract(
    [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
)
# The worked example of Wikipedia, "Wilcoxon signed-rank test": one zero among ten, W = 9, S = 45, r = 0.20.
WITH_A_ZERO = [15.0, -7, 5, 20, 0, -9, 17, -12, 5, -10]


class TestWilcoxon:
    def test_darwins_maize(self) -> None:
        result = paired.wilcoxon(MAIZE)
        assert result.statistic == 24
        assert result.p_value == pytest.approx(0.041259765625)
        assert (result.n_pairs, result.n_zero, result.method) == (15, 0, "exact")

    def test_hollander_and_wolfe_depression(self) -> None:
        result = paired.wilcoxon(DEPRESSION, alternative="greater")
        assert (result.statistic, result.method) == (40, "exact")
        assert result.p_value == pytest.approx(0.01953, abs=5e-6)

    def test_zeros_are_counted_and_their_treatment_is_stated(self) -> None:
        dropped = paired.wilcoxon(WITH_A_ZERO, zero_method="wilcox")
        ranked = paired.wilcoxon(WITH_A_ZERO, zero_method="pratt")
        assert (dropped.n_pairs, dropped.n_zero, dropped.zero_method) == (10, 1, "wilcox")
        assert min(dropped.statistic, 45 - dropped.statistic) == 18
        # Pratt gives the zero the first rank, so each of the four negative ranks is one higher.
        assert ranked.statistic == dropped.statistic + 4
        assert ranked.p_value != dropped.p_value

    @pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
    def test_no_difference_at_all_is_no_evidence(self, zero_method: paired.ZeroMethod) -> None:
        assert paired.wilcoxon(np.zeros(20), zero_method).p_value == 1.0

    def test_it_is_exact_up_to_fifty_pairs_and_says_so(self) -> None:
        rng = np.random.default_rng(1)
        assert paired.wilcoxon(rng.normal(size=50)).method == "exact"
        assert paired.wilcoxon(rng.normal(size=51)).method == "approx"
        with_zeros = np.concatenate([np.zeros(5), rng.integers(1, 9, 50)])
        assert paired.wilcoxon(with_zeros, "wilcox").method == "exact"
        assert paired.wilcoxon(with_zeros, "pratt").method == "approx"

    @pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
    @pytest.mark.parametrize("n", [1, 5, 12])
    def test_ties_and_zeros_give_what_all_sign_patterns_give(self, zero_method: paired.ZeroMethod, n: int) -> None:
        rng = np.random.default_rng(n)
        for _ in range(4):
            d = rng.integers(-2, 4, n).astype(float)
            d[0] = 3.0
            ranked = d[d != 0] if zero_method == "wilcox" else d
            ranks = stats.rankdata(np.abs(ranked))[ranked != 0]
            signs = np.array(list(itertools.product([0, 1], repeat=ranks.size)))
            of_all, seen = signs @ ranks, float(ranks @ (ranked[ranked != 0] > 0))
            above, below = np.mean(of_all >= seen), np.mean(of_all <= seen)
            for alternative, expected in (
                ("greater", above),
                ("less", below),
                ("two-sided", min(1, 2 * min(above, below))),
            ):
                assert paired.wilcoxon(d, zero_method, alternative).p_value == pytest.approx(expected)

    @pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
    @pytest.mark.parametrize("n", [6, 25, 50])
    def test_without_ties_it_is_scipys_exact_test(self, alternative: paired.Alternative, n: int) -> None:
        d = np.random.default_rng(n).normal(0.2, 1, n)
        here, there = paired.wilcoxon(d, alternative=alternative), stats.wilcoxon(d, alternative=alternative)
        assert here[:2] == pytest.approx((there.statistic, there.pvalue))

    @pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
    def test_its_statistic_with_zeros_is_scipys(self, zero_method: paired.ZeroMethod) -> None:
        there = stats.wilcoxon(WITH_A_ZERO, zero_method=zero_method, method="asymptotic")
        assert paired.wilcoxon(WITH_A_ZERO, zero_method).statistic == there.statistic

    def test_rounding_breaks_no_ties(self) -> None:
        margin = np.array([1.3, 0.7, 2.3, 3.4]) - 1
        assert paired.wilcoxon(margin) == paired.wilcoxon([3.0, -3, 13, 24])

    def test_exact_with_ties_counts_all_sign_patterns(self) -> None:
        # Ranks 1.5, 1.5, 3 all positive: only this pattern reaches R+ = 6, one of eight.
        assert paired.wilcoxon([2.0, 2, 5], alternative="greater").p_value == pytest.approx(1 / 8)

    @settings(max_examples=12)
    @given(DIFFERENCES)
    def test_swapping_the_conditions_swaps_the_one_sided_tests(self, d: np.ndarray) -> None:
        here, there = paired.wilcoxon(d, alternative="greater"), paired.wilcoxon(-d, alternative="less")
        assert here.p_value == pytest.approx(there.p_value)
        assert paired.wilcoxon(d).p_value == pytest.approx(paired.wilcoxon(-d).p_value)

    def test_size_of_the_test_under_no_effect(self) -> None:
        rng = np.random.default_rng(2)
        # Rounded, so zeros and ties occur, as with integer scores.
        rejected = [paired.wilcoxon(np.round(rng.normal(scale=3, size=30))).p_value <= 0.05 for _ in range(800)]
        assert 0.03 < np.mean(rejected) < 0.07


class TestRankBiserial:
    def test_published_values(self) -> None:
        assert paired.rank_biserial(WITH_A_ZERO) == pytest.approx(9 / 45)
        assert paired.rank_biserial(DEPRESSION) == pytest.approx((40 - 5) / 45)

    @given(DIFFERENCES.filter(lambda d: bool(np.any(d != 0))))
    def test_bounds_antisymmetry_zeros_and_scale(self, d: np.ndarray) -> None:
        r = paired.rank_biserial(d)
        assert -1 <= r <= 1
        assert paired.rank_biserial(-d) == pytest.approx(-r)
        assert paired.rank_biserial(np.append(d, [0.0, 0.0])) == pytest.approx(r)
        assert paired.rank_biserial(4 * d) == pytest.approx(r)

    def test_one_direction_is_one_and_all_zero_is_undefined(self) -> None:
        assert paired.rank_biserial([0.0, 3, 1]) == 1.0
        with pytest.raises(ValueError, match="`differences` are all zero"):
            paired.rank_biserial([0.0, 0.0])


class TestShareInDirection:
    def test_wilson_of_newcombe_1998(self) -> None:
        # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I: 15 of 148.
        d = np.r_[np.ones(15), -np.ones(133)]
        wilson = paired.share_in_direction(d)
        assert (wilson.low, wilson.high) == pytest.approx((0.0624, 0.1605), abs=5e-5)

    def test_pairs_that_belong_together_count_once(self) -> None:
        d = np.array([1.0, 2, 3, 4, -5])
        copied = paired.share_in_direction(np.repeat(d, 6), groups=np.repeat(range(5), 6))
        assert (copied.share, copied.n_pairs, copied.n_units) == (0.8, 30, 5)
        assert copied.low < paired.share_in_direction(d).low < paired.share_in_direction(np.repeat(d, 6)).low

    def test_ties_are_not_in_the_direction(self) -> None:
        result = paired.share_in_direction([1.0, 2, 0, 0, -1])
        assert (result.share, result.n_in_direction, result.n_ties, result.n_pairs) == (0.4, 2, 2, 5)

    @given(DIFFERENCES.filter(lambda d: bool(np.all(d != 0))))
    def test_without_ties_the_directions_mirror(self, d: np.ndarray) -> None:
        up, down = paired.share_in_direction(d), paired.share_in_direction(d, "negative")
        assert (up.share, up.low, up.high) == pytest.approx((1 - down.share, 1 - down.high, 1 - down.low))


class TestBootstrap:
    @given(DIFFERENCES.filter(lambda d: np.ptp(d) > 0), st.integers(0, 1000))
    def test_swapping_the_conditions_mirrors_the_interval(self, d: np.ndarray, seed: int) -> None:
        here = paired.bootstrap_interval(d, np.mean, np.random.default_rng(seed), n_resamples=99)
        there = paired.bootstrap_interval(-d, np.mean, np.random.default_rng(seed), n_resamples=99)
        assert (here.low, here.high) == pytest.approx((-there.high, -there.low))
        assert here.method == there.method

    def test_the_same_seed_gives_the_same_interval(self) -> None:
        runs = [paired.bootstrap_interval(MAIZE, np.mean, np.random.default_rng(5)) for _ in range(2)]
        assert runs[0] == runs[1]
        assert runs[0] != paired.bootstrap_interval(MAIZE, np.mean, np.random.default_rng(6))

    def test_bca_moves_towards_the_long_tail(self) -> None:
        values = np.random.default_rng(3).exponential(size=30)
        result = paired.bootstrap_interval(values, np.mean, np.random.default_rng(4))
        assert result.method == "bca"
        assert result.high - result.estimate > result.estimate - result.low

    def test_degenerate_data_fall_back_to_the_percentile_interval(self) -> None:
        constant = paired.bootstrap_interval(np.full(10, 7.0), np.mean, np.random.default_rng(0))
        assert (constant.low, constant.estimate, constant.high, constant.method) == (7, 7, 7, "percentile")
        # Leaving out any one value never changes this median, though resamples do.
        stuck = paired.bootstrap_interval([1.0, 1, 1, 1, 9, 9], np.median, np.random.default_rng(0))
        assert stuck.method == "percentile"
        assert (stuck.low, stuck.estimate, stuck.high) == (1, 1, 9)

    def test_rare_undefined_resamples_are_left_out_and_counted(self) -> None:
        def fragile(x: np.ndarray) -> float:
            return float(x.mean()) if np.ptp(x) > 0 else float("nan")

        few = paired.bootstrap_interval([1.0, 2, 3, 4], fragile, np.random.default_rng(0))
        assert 0 < few.n_undefined < 0.05 * few.n_resamples
        assert few.method == "percentile"
        assert 1 < few.low < few.high < 4
        with pytest.raises(ValueError, match="`statistic` is undefined on"):
            paired.bootstrap_interval([1.0, 2], fragile, np.random.default_rng(0))

    def test_rows_stay_whole(self) -> None:
        x = np.arange(20.0)
        rows = np.column_stack([x, 2 * x])
        result = paired.bootstrap_interval(rows, lambda r: float(np.abs(r[:, 1] - 2 * r[:, 0]).max()), _rng())
        assert (result.low, result.high) == (0, 0)

    def test_groups_are_drawn_whole(self) -> None:
        # Three groups of equal scores: any resample's mean is a multiple of 10, whatever the order of rows.
        values, groups = [0.0, 30, 60, 0, 30, 60], ["a", "b", "c", "a", "b", "c"]
        result = paired.bootstrap_interval(values, np.mean, _rng(), groups=groups)
        assert result.n_units == 3
        assert result.low % 10 == pytest.approx(0)
        assert result.high % 10 == pytest.approx(0)

    def test_one_unit_is_too_few(self) -> None:
        with pytest.raises(ValueError, match="`groups` gives 1 units"):
            paired.bootstrap_interval(MAIZE, np.mean, _rng(), groups=["x"] * 15)
        with pytest.raises(ValueError, match="`values` gives 0 units"):
            paired.bootstrap_interval([], np.mean, _rng())

    def test_coverage_of_the_mean(self) -> None:
        rng = np.random.default_rng(11)
        hits = 0
        for _ in range(400):
            result = paired.bootstrap_interval(rng.normal(10, 4, size=30), np.mean, rng, n_resamples=399)
            hits += result.low <= 10 <= result.high
        # 0.95 less the bootstrap's known shortfall at n = 30, about 0.015; the Monte Carlo error is 0.011.
        assert 0.90 <= hits / 400 <= 0.97

    def test_coverage_needs_the_groups_when_items_come_in_groups(self) -> None:
        rng = np.random.default_rng(12)
        groups = np.repeat(np.arange(20), 5)
        hits = {"grouped": 0, "ignored": 0}
        for _ in range(200):
            values = rng.normal(size=20)[groups] + 0.3 * rng.normal(size=100)
            for name, labels in (("grouped", groups), ("ignored", None)):
                result = paired.bootstrap_interval(values, np.mean, rng, n_resamples=199, groups=labels)
                hits[name] += result.low <= 0 <= result.high
        assert hits["grouped"] / 200 > 0.87
        assert hits["ignored"] / 200 < 0.70


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
        assert walsh.median(d) == np.median((d[first] + d[second]) / 2)

    @pytest.mark.parametrize("n", [200, 201, 700])
    def test_many_differences_give_what_all_averages_give(self, n: int) -> None:
        rng = np.random.default_rng(n)
        for d in (rng.normal(size=n), np.round(rng.normal(size=n), 1), rng.integers(-4, 5, n).astype(float)):
            first, second = np.triu_indices(n)
            assert paired.hodges_lehmann(d) == np.median((d[first] + d[second]) / 2)

    @pytest.mark.parametrize("n", [7, 60, 203])
    def test_many_draws_at_a_time_are_each_their_own(self, n: int) -> None:
        rng = np.random.default_rng(n)
        d, drawn = np.round(rng.normal(size=n), 1), rng.integers(n, size=(50, n))
        of_draws = paired.HODGES_LEHMANN.on(d)
        assert of_draws(drawn).tolist() == [paired.hodges_lehmann(d[rows]) for rows in drawn]

    def test_fifty_thousand_differences_take_no_gigabytes(self) -> None:
        d = np.random.default_rng(0).normal(3, 1, size=50_000)
        tracemalloc.start()
        try:
            found = paired.hodges_lehmann(d)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found == pytest.approx(3, abs=0.03)
        assert peak < 60e6  # all averages would take 10 GB


class TestSummary:
    def test_hand_computed(self) -> None:
        result = paired.summary([4.0, 1, 3, 2, 10])
        assert (result.n, result.mean, result.median, result.q1, result.q3) == (5, 4, 3, 2, 4)
        assert (result.iqr, result.minimum, result.maximum) == (2, 1, 10)
        assert result.sd == pytest.approx(np.sqrt(50 / 4))

    def test_one_value_has_no_spread_to_estimate(self) -> None:
        assert paired.summary([3.0]).sd is None


class TestHolm:
    def test_hand_computed_in_the_order_given(self) -> None:
        # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, then made non-decreasing.
        assert paired.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])

    @settings(max_examples=6)  # statsmodels collects garbage at each call
    @given(hnp.arrays(np.float64, st.integers(1, 10), elements=st.floats(0, 1)))
    def test_between_the_raw_value_and_bonferroni(self, p: np.ndarray) -> None:
        adjusted = paired.holm(p)
        assert adjusted == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
        assert np.all(adjusted >= p)
        assert np.all(adjusted <= np.minimum(1, p * p.size) + 1e-12)

    def test_p_values_are_probabilities(self) -> None:
        with pytest.raises(ValueError, match="`p_values` must lie in"):
            paired.holm([0.5, 1.2])


def _rng() -> np.random.Generator:
    return np.random.default_rng(20240)
