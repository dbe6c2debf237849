"""Paired statistics against published values, symmetries and simulated coverage."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from tests.stats.conftest import Rng, held, peak_memory, refuses, sure, width
from undogmatic.stats import paired
from undogmatic.stats.estimate import Estimate

# Whole differences: distinct from rounding noise, and free to tie.
DIFFERENCES = hnp.arrays(
    np.float64, st.integers(4, 40), elements=st.integers(-50, 50).map(float)
)

# Darwin's maize, eighths of an inch (The effects of cross- and self-fertilisation, 1876).
MAIZE = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
# Hamilton depression scale, first minus second visit: Hollander and Wolfe (1973), table 3.1, p. 29.
DEPRESSION = np.subtract(
    [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
)
# The worked example of Wikipedia, "Wilcoxon signed-rank test": one zero among ten, W = 9, S = 45, r
# = 0.20.
WITH_A_ZERO = [15.0, -7, 5, 20, 0, -9, 17, -12, 5, -10]


ZERO_METHODS = pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])


class TestWilcoxon:
    def test_darwins_maize_and_hollander_and_wolfes_depression(self) -> None:
        maize, depression = (
            paired.wilcoxon(MAIZE),
            paired.wilcoxon(DEPRESSION, alternative="greater"),
        )
        assert (maize.statistic, maize.p_value) == (24, pytest.approx(0.041259765625))
        assert (maize.n_pairs, maize.n_zero, maize.method, depression.method) == (
            15,
            0,
            "exact",
            "exact",
        )
        assert (depression.statistic, depression.p_value) == (
            40,
            pytest.approx(0.01953, abs=5e-6),
        )

    def test_zeros_are_counted_and_their_treatment_is_stated(self) -> None:
        dropped, ranked = (
            paired.wilcoxon(WITH_A_ZERO, "wilcox"),
            paired.wilcoxon(WITH_A_ZERO, "pratt"),
        )
        assert (dropped.n_pairs, dropped.n_zero, dropped.zero_method) == (
            10,
            1,
            "wilcox",
        )
        assert min(dropped.statistic, 45 - dropped.statistic) == 18
        # Pratt gives the zero the first rank, so each of the four negative ranks is one higher.
        assert (
            ranked.statistic == dropped.statistic + 4
            and ranked.p_value != dropped.p_value
        )

    def test_it_is_exact_up_to_fifty_pairs_and_says_so(self, rng: Rng) -> None:
        assert paired.wilcoxon(rng.normal(size=50)).method == "exact"
        assert paired.wilcoxon(rng.normal(size=51)).method == "approx"
        with_zeros = np.concatenate([np.zeros(5), rng.integers(1, 9, 50)])
        assert paired.wilcoxon(with_zeros, "wilcox").method == "exact"
        assert paired.wilcoxon(with_zeros, "pratt").method == "approx"

    @ZERO_METHODS
    @pytest.mark.parametrize("n", [1, 5, 12])
    def test_ties_and_zeros_give_what_all_sign_patterns_give(
        self, zero_method: paired.ZeroMethod, n: int
    ) -> None:
        rng = np.random.default_rng(n)
        for _ in range(4):
            d = rng.integers(-2, 4, n).astype(float)
            d[0] = 3.0
            ranked = d[d != 0] if zero_method == "wilcox" else d
            ranks = stats.rankdata(np.abs(ranked))[ranked != 0]
            signs = np.array(list(itertools.product([0, 1], repeat=ranks.size)))
            of_all, seen = signs @ ranks, float(ranks @ (ranked[ranked != 0] > 0))
            above, below = np.mean(of_all >= seen), np.mean(of_all <= seen)
            both = min(1, 2 * min(above, below))
            for alternative, expected in (
                ("greater", above),
                ("less", below),
                ("two-sided", both),
            ):
                assert paired.wilcoxon(
                    d, zero_method, alternative
                ).p_value == pytest.approx(expected)

    @pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
    @pytest.mark.parametrize("n", [6, 25, 50])
    def test_without_ties_it_is_scipys_exact_test(
        self, alternative: paired.Alternative, n: int
    ) -> None:
        d = np.random.default_rng(n).normal(0.2, 1, n)
        here, there = (
            paired.wilcoxon(d, alternative=alternative),
            stats.wilcoxon(d, alternative=alternative),
        )
        assert here[:2] == pytest.approx((there.statistic, there.pvalue))

    @ZERO_METHODS
    def test_with_zeros_it_is_scipys_and_zeros_alone_are_no_evidence(
        self, zero_method: paired.ZeroMethod
    ) -> None:
        assert paired.wilcoxon(np.zeros(20), zero_method).p_value == 1.0
        there = stats.wilcoxon(
            WITH_A_ZERO, zero_method=zero_method, method="asymptotic"
        )
        assert paired.wilcoxon(WITH_A_ZERO, zero_method).statistic == there.statistic

    def test_rounding_breaks_no_ties_and_exact_counts_all_sign_patterns(self) -> None:
        # Ranks 1.5, 1.5, 3 all positive: only this pattern reaches R+ = 6, one of eight.
        assert paired.wilcoxon(
            [2.0, 2, 5], alternative="greater"
        ).p_value == pytest.approx(1 / 8)
        margin = np.array([1.3, 0.7, 2.3, 3.4]) - 1
        assert paired.wilcoxon(margin) == paired.wilcoxon([3.0, -3, 13, 24])

    @settings(max_examples=12)
    @given(DIFFERENCES)
    def test_swapping_the_conditions_swaps_the_one_sided_tests(
        self, d: np.ndarray
    ) -> None:
        assert paired.wilcoxon(d, "pratt", "greater").p_value == pytest.approx(
            paired.wilcoxon(-d, "pratt", "less").p_value
        )
        assert paired.wilcoxon(d).p_value == pytest.approx(paired.wilcoxon(-d).p_value)

    def test_size_of_the_test_under_no_effect(self, rng: Rng) -> None:
        # Rounded, so zeros and ties occur, as with integer scores.
        rejected = [
            paired.wilcoxon(np.round(rng.normal(scale=3, size=30))).p_value <= 0.05
            for _ in range(800)
        ]
        assert 0.03 < np.mean(rejected) < 0.07


class TestRankBiserial:
    def test_published_values_one_direction_and_none_at_all(self) -> None:
        published = paired.rank_biserial(WITH_A_ZERO), paired.rank_biserial(DEPRESSION)
        assert published == pytest.approx((9 / 45, (40 - 5) / 45))
        assert paired.rank_biserial([0.0, 3, 1]) == 1.0
        refuses("`differences` are all zero", paired.rank_biserial, [0.0, 0.0])

    @given(DIFFERENCES.filter(lambda d: bool(np.any(d != 0))))
    def test_bounds_antisymmetry_zeros_and_scale(self, d: np.ndarray) -> None:
        r = paired.rank_biserial(d)
        assert -1 <= r <= 1
        assert paired.rank_biserial(-d) == pytest.approx(-r)
        assert paired.rank_biserial(np.append(d, [0.0, 0.0])) == pytest.approx(r)
        assert paired.rank_biserial(4 * d) == pytest.approx(r)


class TestShareInDirection:
    def test_it_has_wilsons_interval_and_ties_are_not_in_the_direction(self) -> None:
        # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E,
        # table I: 15 of 148.
        wilson = paired.share_in_direction(np.r_[np.ones(15), -np.ones(133)])
        assert wilson.estimate.interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
        result = paired.share_in_direction([1.0, 2, 0, 0, -1])
        assert (
            result.estimate.value,
            result.estimate.hits,
            result.n_ties,
            result.estimate.n,
        ) == (
            0.4,
            2,
            2,
            5,
        )

    def test_pairs_that_belong_together_count_once(self) -> None:
        d = np.array([1.0, 2, 3, 4, -5])
        copied = paired.share_in_direction(
            np.repeat(d, 6), groups=np.repeat(range(5), 6)
        ).estimate
        assert (copied.value, copied.n, copied.n_groups) == (0.8, 30, 5)
        plain, loose = (
            paired.share_in_direction(own).estimate for own in (d, np.repeat(d, 6))
        )
        assert copied.low < plain.low < loose.low

    @given(DIFFERENCES.filter(lambda d: bool(np.all(d != 0))))
    def test_without_ties_the_directions_mirror(self, d: np.ndarray) -> None:
        up, down = (paired.share_in_direction(own).estimate for own in (d, -d))
        assert (up.value, *up.interval) == pytest.approx(
            (1 - down.value, 1 - down.high, 1 - down.low)
        )


def test_a_summary_by_hand_and_of_one_value_which_has_no_spread() -> None:
    result = paired.summary([4.0, 1, 3, 2, 10])
    assert (result.n, result.mean, result.median, result.q1, result.q3) == (
        5,
        4,
        3,
        2,
        4,
    )
    assert (result.iqr, result.minimum, result.maximum) == (2, 1, 10)
    assert result.sd == pytest.approx(np.sqrt(50 / 4))
    assert paired.summary([3.0]).sd is None


class TestHolm:
    def test_hand_computed_in_the_order_given(self) -> None:
        # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, then made non-decreasing.
        assert paired.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx(
            [0.06, 0.04, 0.06, 0.06]
        )

    @settings(max_examples=6)  # statsmodels collects garbage at each call
    @given(hnp.arrays(np.float64, st.integers(1, 10), elements=st.floats(0, 1)))
    def test_between_the_raw_value_and_bonferroni(self, p: np.ndarray) -> None:
        adjusted = paired.holm(p)
        assert adjusted == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
        assert np.all(adjusted >= p) and np.all(
            adjusted <= np.minimum(1, p * p.size) + 1e-12
        )
        refuses("`p_values` must lie in", paired.holm, [*p, 1.2])


NAN = np.nan


def sides(
    both: int, only_a: int, only_b: int, neither: int
) -> tuple[np.ndarray, np.ndarray]:
    """So many pairs of which the judge failed on both sides, on one, or on neither."""
    a = np.array([NAN] * (both + only_a) + [1.0] * (only_b + neither))
    b = np.array([NAN] * both + [1.0] * only_a + [NAN] * only_b + [1.0] * neither)
    return a, b


class TestFailureTest:
    @pytest.mark.parametrize("counts", [(2, 9, 1, 30), (0, 3, 3, 10), (5, 1, 12, 4)])
    def test_of_single_pairs_it_is_mcnemars_exact_test(
        self, counts: tuple[int, int, int, int]
    ) -> None:
        found = paired.failure_test(*sides(*counts))
        both, only_a, only_b, neither = counts
        expected = mcnemar([[neither, only_a], [only_b, both]], exact=True).pvalue
        assert found.p_value == pytest.approx(expected)
        assert (found.n_a, found.n_b) == (both + only_a, both + only_b)

    def test_copies_of_pairs_are_no_further_evidence(self) -> None:
        a, b = sides(0, 4, 0, 6)
        once = paired.failure_test(a, b)
        copied = paired.failure_test(np.tile(a, 8), np.tile(b, 8), list(range(10)) * 8)
        assert copied.p_value == once.p_value == pytest.approx(2 / 16)
        assert copied.n_a == 32

    def test_where_no_pair_has_a_failure_on_one_side_alone_nothing_is_tested(
        self,
    ) -> None:
        assert (
            paired.failure_test(*sides(3, 0, 0, 5)).p_value
            is paired.failure_test([1.0], [2.0]).p_value
            is None
        )


class TestRobustDifference:
    @staticmethod
    def draw(
        seed: int, n: int = 80
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """True difference 20; longer texts score higher, and long texts of side a are refused more
        often."""
        rng = np.random.default_rng(seed)
        length, pair = rng.normal(0, 1, (n, 2)), rng.normal(0, 8, n)
        a = 60 + 10 * length[:, 0] + pair + rng.normal(0, 6, n)
        b = 40 + 5 * length[:, 1] + pair + rng.normal(0, 6, n)
        refused = rng.random(n) < 1 / (1 + np.exp(0.8 - 1.5 * length[:, 0]))
        return (
            np.where(refused, NAN, a),
            np.where(rng.random(n) < 0.1, NAN, b),
            length[:, :1],
            length[:, 1:],
        )

    def test_it_covers_where_the_mean_of_complete_pairs_is_biased(self) -> None:
        covered, estimates, plain = [], [], []
        for seed in range(16):
            a, b, of_a, of_b = self.draw(seed)
            found = sure(
                paired.robust_difference(
                    a, b, (of_a, of_b), np.random.default_rng(seed)
                )
            )
            covered.append(found.low <= 20 <= found.high)
            estimates.append(found.value)
            plain.append(np.nanmean(a - b))
        assert np.mean(covered) >= 0.78  # 95 % less three standard errors of 16 trials
        assert abs(np.mean(estimates) - 20) < 2 < 20 - np.mean(plain)

    def test_copies_do_not_narrow_it(self, rng: Rng) -> None:
        a, b, *of = self.draw(1)
        once = sure(paired.robust_difference(a, b, (of[0], of[1]), rng))
        tiled, groups = (
            (np.tile(of[0], (4, 1)), np.tile(of[1], (4, 1))),
            list(range(len(a))) * 4,
        )
        copied = sure(
            paired.robust_difference(
                np.tile(a, 4), np.tile(b, 4), tiled, rng, groups=groups
            )
        )
        assert copied.n_groups == once.n_groups == len(a)
        assert width(copied) > 0.8 * width(once)

    def test_too_little_to_fit_with_gives_none(self, rng: Rng) -> None:
        a, b, of_a, of_b = self.draw(2)
        whole = np.where(np.isnan(a), 50.0, a), np.where(np.isnan(b), 50.0, b)
        assert paired.robust_difference(*whole, (of_a, of_b), rng) is None
        assert (
            paired.robust_difference(
                a, b, (of_a, of_b), rng, groups=["one"] * 40 + ["two"] * 40
            )
            is None
        )
        assert paired.robust_difference(np.full(80, NAN), b, (of_a, of_b), rng) is None


def averages(d: np.ndarray) -> np.ndarray:
    """Of all pairs of values, each with itself too."""
    first, second = np.triu_indices(d.size)
    return np.asarray((d[first] + d[second]) / 2)


class TestHodgesLehmann:
    @given(DIFFERENCES, st.integers(-20, 20))
    def test_it_moves_with_the_data(self, d: np.ndarray, shift: int) -> None:
        here = paired.hodges_lehmann(d)
        assert (
            paired.hodges_lehmann(d + shift),
            paired.hodges_lehmann(-d),
        ) == pytest.approx((here + shift, -here))

    @given(
        hnp.arrays(
            np.float64,
            st.integers(1, 60),
            elements=st.floats(-1e9, 1e9) | st.integers(-3, 3).map(float),
        )
    )
    def test_selecting_finds_the_median_of_all_averages(self, d: np.ndarray) -> None:
        assert paired.hodges_lehmann(d) == np.median(averages(d))

    @pytest.mark.parametrize("n", [200, 201, 700])
    def test_many_differences_give_what_all_averages_give(
        self, n: int, rng: Rng
    ) -> None:
        for d in (
            rng.normal(size=n),
            np.round(rng.normal(size=n), 1),
            rng.integers(-4, 5, n).astype(float),
        ):
            assert paired.hodges_lehmann(d) == np.median(averages(d))

    def test_fifty_thousand_differences_take_no_gigabytes(self, rng: Rng) -> None:
        d = rng.normal(3, 1, size=50_000)
        found, peak = peak_memory(lambda: paired.hodges_lehmann(d))
        assert found == pytest.approx(3, abs=0.03)
        assert peak < 60e6  # all averages would take 10 GB

    def test_the_interval_is_near_the_signed_ranks_for_symmetric_differences(
        self, rng: Rng
    ) -> None:
        """Inverting Wilcoxon's test by its normal approximation: averages of rank n(n + 1)/4 -+
        1.96 sd."""
        d = rng.normal(5, 10, 60)
        out = int(60 * 61 / 4 - 1.96 * np.sqrt(60 * 61 * 121 / 24))
        ends = np.sort(averages(d))[[out, -1 - out]]
        assert paired.hodges_lehmann_interval(d).interval == pytest.approx(
            tuple(ends), abs=0.5
        )

    @given(DIFFERENCES)
    def test_the_interval_mirrors_and_holds_the_estimate(self, d: np.ndarray) -> None:
        here, there = (
            paired.hodges_lehmann_interval(own, bounds=(-100, 100)) for own in (d, -d)
        )
        assert here.low <= here.value <= here.high
        assert here.interval == pytest.approx((-there.high, -there.low), abs=1e-4)

    @pytest.mark.parametrize("grouped", [False, True])
    def test_it_holds_the_middle_of_skewed_differences(
        self, grouped: bool, rng: Rng
    ) -> None:
        truth = float(np.median(rng.exponential(size=(2, 200_000)).mean(axis=0)))

        def draw() -> Estimate:
            groups = (
                np.repeat(np.arange(20), rng.integers(1, 4, 20))
                if grouped
                else np.arange(20)
            )
            return paired.hodges_lehmann_interval(
                rng.exponential(size=20)[groups], groups=groups
            )

        assert held(truth, 200, draw) >= 0.91


class TestMedian:
    def test_ends_are_the_ordered_values_of_the_sign_test(self) -> None:
        # Conover (1999), table A3: of 10 values at most one may be left out at each end (P = .0107
        # < .025).
        found = paired.median(np.arange(10.0))
        assert (found.value, found.low, found.high) == (4.5, 1, 8)
        out = int(stats.binom.ppf(0.025, 50, 0.5)) - 1
        assert paired.median(np.arange(50.0)).interval == (out, 49 - out)

    def test_five_values_limit_nothing_and_copies_in_groups_are_no_evidence(
        self, rng: Rng
    ) -> None:
        assert paired.median([1.0, 2, 3, 4, 5]).interval == (-np.inf, np.inf)
        assert paired.median([1.0, 2, 3, 4, 5], bounds=(-9, 9)).interval == (-9, 9)

        values = rng.normal(size=12)
        alone, copied = (
            paired.median(values),
            paired.median(np.tile(values, 7), groups=np.tile(np.arange(12), 7)),
        )
        assert (copied.low, copied.high, copied.n_groups) == (alone.low, alone.high, 12)
