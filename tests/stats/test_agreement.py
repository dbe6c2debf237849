"""Agreement against published examples, identities between coefficients, and typed results where
none exists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.stats.conftest import Rng, held, peak_memory, refuses, sure
from undogmatic.stats import agreement
from undogmatic.stats.estimate import Estimate

# Hollander and Wolfe (1973), p. 187: Hunter L values and panel scores of nine lots of canned tuna.
TUNA_L = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
TUNA_PANEL = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]

# Bland and Altman (1986), table 1: peak flow, first reading of the Wright and of the mini meter,
# l/min.
WRIGHT = [
    494.0,
    395,
    516,
    434,
    476,
    557,
    413,
    442,
    650,
    433,
    417,
    656,
    267,
    478,
    178,
    423,
    427,
]
MINI = [
    512.0,
    430,
    520,
    428,
    500,
    600,
    364,
    380,
    658,
    445,
    432,
    626,
    260,
    477,
    259,
    350,
    451,
]

# Krippendorff (2011), Computing Krippendorff's alpha-reliability, section D: four observers, twelve
# units.
NA = float("nan")
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
    [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
]

# The `anxiety` ratings of the R package irr, raters 1 and 2; its manual gives the squared-weights
# kappa as 0.297.
ANXIETY_1 = [3.0, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3]
ANXIETY_2 = [3.0, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4]

KINDS: tuple[agreement.Kind, ...] = ("pearson", "spearman", "kendall")
SCORES = hnp.arrays(np.float64, (2, 12), elements=st.integers(0, 20).map(float))
VARIED = SCORES.filter(lambda ab: bool(np.ptp(ab[0]) > 0 and np.ptp(ab[1]) > 0))


class TestCorrelations:
    def test_tuna(self) -> None:
        pearson, spearman, kendall = (
            agreement.correlation(kind, TUNA_L, TUNA_PANEL) for kind in KINDS
        )
        assert (pearson.estimate, pearson.p_value) == pytest.approx(
            (0.5711816, 0.1081731), abs=1e-6
        )
        assert (kendall.estimate, kendall.p_value) == pytest.approx(
            (0.4444444, 0.1194389), abs=1e-6
        )
        assert spearman.estimate == pytest.approx(0.6)

    @given(VARIED)
    def test_order_of_arguments_and_direction(self, ab: np.ndarray) -> None:
        a, b = ab
        for kind in KINDS:
            here = sure(agreement.correlation(kind, a, b).estimate)
            assert agreement.correlation(kind, b, a).estimate == pytest.approx(here)
            assert agreement.correlation(kind, a, -b).estimate == pytest.approx(-here)
            assert abs(here) <= 1 + 1e-12

    @given(VARIED)
    def test_ranks_ignore_a_monotone_change_and_pearson_a_linear_one(
        self, ab: np.ndarray
    ) -> None:
        a, b = ab
        for kind, changed in zip(
            KINDS, (3 * a - 7, np.exp(a / 5), np.exp(a / 5)), strict=True
        ):
            expected = agreement.correlation(kind, a, b).estimate
            assert agreement.correlation(kind, changed, b).estimate == pytest.approx(
                expected
            )

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_constant_judge_gives_a_typed_absence(self, kind: agreement.Kind) -> None:
        result = agreement.correlation(kind, [0.1] * 4, [1.0, 2, 3, 4])
        assert (result.estimate, result.p_value, result.n) == (None, None, 4)


class TestKappa:
    def test_irr_anxiety_and_cohen_1960_unweighted(self) -> None:
        result = agreement.weighted_kappa(ANXIETY_1, ANXIETY_2, [1, 2, 3, 4, 5, 6])
        assert (result.estimate, result.n) == (pytest.approx(0.297, abs=5e-4), 20)

        # Cohen (1960), doi:10.1177/001316446002000104, table 1: 200 patients in three categories,
        # kappa 0.492.
        counts = np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
        a, b = (
            np.repeat(index.ravel(), counts.ravel())
            for index in np.indices(counts.shape)
        )
        assert agreement.weighted_kappa(
            a, b, [0, 1, 2], "none"
        ).estimate == pytest.approx(0.492, abs=5e-4)

    @given(VARIED)
    def test_it_is_lins_concordance_on_equal_steps(self, ab: np.ndarray) -> None:
        # Fleiss and Cohen (1973), doi:10.1177/001316447303300309.
        a, b = ab
        concordance = (
            2
            * np.cov(a, b, ddof=0)[0, 1]
            / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
        )
        assert agreement.weighted_kappa(a, b, np.arange(21)).estimate == pytest.approx(
            concordance, abs=1e-9
        )

    def test_steps_count_not_values_and_unused_levels_matter(self) -> None:
        a, b = [0.0, 25, 100, 0], [0.0, 25, 100, 100]
        found = agreement.weighted_kappa(a, b, [0, 25, 100])
        assert found == agreement.weighted_kappa([0, 1, 2, 0], [0, 1, 2, 2], [0, 1, 2])
        assert (
            found.estimate
            != agreement.weighted_kappa(a, b, [0, 25, 50, 75, 100]).estimate
        )

    def test_one_category_is_a_typed_absence_and_two_different_ones_are_no_agreement(
        self,
    ) -> None:
        same = agreement.weighted_kappa([50.0, 50], [50.0, 50], [0, 50, 100])
        assert same.estimate is None
        assert (
            agreement.weighted_kappa([0.0, 0], [100.0, 100], [0, 50, 100]).estimate == 0
        )

    def test_nearest_level_with_ties_going_down(self) -> None:
        assert agreement.nearest_level(
            [12.4, 12.5, 12.6, -3, 140], [0, 25, 50]
        ).tolist() == [
            0,
            0,
            25,
            0,
            50,
        ]


class TestKrippendorff:
    def test_four_observers(self) -> None:
        result = agreement.krippendorff_alpha(OBSERVERS)
        # unit 12 has a single rating
        assert (result.estimate, result.n) == (
            pytest.approx(0.849, abs=5e-4),
            11,
        )

    @given(VARIED, st.permutations(range(12)))
    def test_raters_and_units_have_no_order(self, ab, order) -> None:  # type: ignore[no-untyped-def]
        here = agreement.krippendorff_alpha(ab).estimate
        assert agreement.krippendorff_alpha(
            ab[::-1][:, order]
        ).estimate == pytest.approx(here)
        assert agreement.krippendorff_alpha(10 * ab + 3).estimate == pytest.approx(here)

    def test_it_is_what_the_package_computes_from_matrices(self, rng: Rng) -> None:
        import krippendorff

        for n in (4, 11, 40):
            for ratings in (
                rng.integers(0, 5, (4, n)).astype(float),
                1000 + 20 * rng.normal(size=(3, n)),
            ):
                ratings[rng.random(ratings.shape) < 0.3] = NA
                ratings[:2, :2] = [[1.0, 2.0], [2.0, 1.0]]  # something to compare
                pairable = ratings[:, np.sum(~np.isnan(ratings), axis=0) >= 2]
                theirs = krippendorff.alpha(pairable, level_of_measurement="interval")
                assert agreement.krippendorff_alpha(ratings).estimate == pytest.approx(
                    theirs, abs=1e-12
                )

    def test_ten_thousand_distinct_scores_take_no_matrix_of_them(
        self, rng: Rng
    ) -> None:
        ratings = rng.normal(size=(2, 10_000))
        _, peak = peak_memory(lambda: agreement.krippendorff_alpha(ratings))
        assert peak < 20e6  # values by values would be 3.2 GB

    def test_perfect_and_absent(self) -> None:
        assert agreement.krippendorff_alpha(
            [[1.0, 2, 3], [1.0, 2, 3]]
        ).estimate == pytest.approx(1)
        constant = agreement.krippendorff_alpha([[5.0, 5], [5.0, NA]])
        assert constant.estimate is None


class TestBlandAltman:
    def test_peak_flow(self) -> None:
        result = agreement.bland_altman(WRIGHT, MINI)
        assert (result.bias.value, result.sd) == pytest.approx((-2.1, 38.8), abs=0.05)
        assert result.bias.interval == pytest.approx((-22.0, 17.8), abs=0.1)
        # The paper rounds 1.96 to 2 for its limits of -79.7 and 75.5, and 1.71 sd/sqrt(n) to
        # sqrt(3) for their errors.
        assert (result.lower.value, result.upper.value) == pytest.approx(
            (-79.7, 75.5), abs=1.7
        )
        assert result.lower.interval == pytest.approx((-114.3, -45.1), abs=2.0)

    @given(SCORES)
    def test_swapping_mirrors_everything(self, ab: np.ndarray) -> None:
        here, there = agreement.bland_altman(*ab), agreement.bland_altman(*ab[::-1])
        for one, other in (
            (here.bias, there.bias),
            (here.lower, there.upper),
            (here.upper, there.lower),
        ):
            assert (one.value, *one.interval) == pytest.approx(
                (-other.value, -other.high, -other.low)
            )
        if here.drift is not None and there.drift is not None:
            assert here.drift == pytest.approx(-there.drift)

    def test_a_pure_shift_is_bias_and_a_pure_stretch_is_drift(self) -> None:
        b = np.linspace(0, 100, 11)
        shift = agreement.bland_altman(b + 4, b)
        assert (shift.bias.value, shift.sd, shift.drift) == pytest.approx(
            (4, 0, 0), abs=1e-9
        )
        # difference 0.5 (b - 50) on mean 50 + 1.25 (b - 50)
        stretch = agreement.bland_altman(50 + 1.5 * (b - 50), b)
        assert (stretch.bias.value, stretch.drift) == pytest.approx((0, 0.4))

    def test_constant_means_have_no_drift(self) -> None:
        assert agreement.bland_altman([1.0, 2, 3], [3.0, 2, 1]).drift is None
        assert agreement.bland_altman([0.0] * 3, [0.0] * 3).drift is None

    def test_limits_hold_their_share_and_their_interval_the_limit(
        self, rng: Rng
    ) -> None:
        def draw() -> Estimate:
            a = rng.normal(50, 20, size=40)
            return agreement.bland_altman(a + rng.normal(3, 5, size=40), a).upper

        assert held(3 + 1.959964 * 5, 400, draw) == pytest.approx(0.95, abs=0.03)


def test_means_that_are_equal_but_for_rounding_are_tied(rng: Rng) -> None:
    """(2/5 + 4/5) / 2 is 0.6000000000000001 in floating point and no more than 3/5."""
    halves = np.array(
        [(2 / 5 + 4 / 5) / 2, 3 / 5, (1 / 5 + 5 / 5) / 2, 2 / 5, 4 / 5, 1 / 5]
    )
    exact = np.array([3.0, 3.0, 3.0, 2.0, 4.0, 1.0])
    other = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 1.0])
    assert np.unique(halves).size > np.unique(exact).size, (
        "the example must differ before it is tied"
    )
    for kind in KINDS[1:]:
        assert agreement.correlation(kind, halves, other) == agreement.correlation(
            kind, exact, other
        )
        one, two = (
            sure(agreement.correlation_interval(kind, own, other, rng))
            for own in (halves, exact)
        )
        assert one.value == pytest.approx(two.value, abs=1e-15)


class TestBackToBack:
    def test_hand_computed(self) -> None:
        result = agreement.back_to_back(
            [10.0, 20, 30, 40], [10.0, 22, 30, 36], tolerance=2
        )
        assert (result.n, result.mean_difference, result.mean_abs_difference) == (
            4,
            -0.5,
            1.5,
        )
        assert (result.max_abs_difference, result.exact_match.value) == (4, 0.75)
        assert (result.sd_within, result.spearman.estimate) == (
            pytest.approx(np.sqrt(20 / 8)),
            1,
        )
        # Wilson's lower limit for n of n is n / (n + z^2): a perfect rate is no certainty.
        same = agreement.back_to_back(np.arange(10), np.arange(10)).exact_match
        assert (same.value, same.high) == (1, 1)
        assert same.low == pytest.approx(10 / (10 + 1.959964**2))
        refuses(
            "`tolerance` is -1",
            agreement.back_to_back,
            [1.0, 2, 3],
            [1.0, 2, 3],
            tolerance=-1,
        )

    def test_within_subject_sd_of_bland_and_altman(self, rng: Rng) -> None:
        # Two readings with error sd 3 around each item's own value: the error is recovered,
        # whatever the items' spread.
        first, second = rng.normal(50, 20, 4000) + rng.normal(0, 3, (2, 4000))
        result = agreement.back_to_back(first, second)
        assert result.sd_within == pytest.approx(3, abs=0.1)
        assert np.mean(
            np.abs(first - second) < 2.77 * result.sd_within
        ) == pytest.approx(0.95, abs=0.01)

    @given(hnp.arrays(np.float64, (2, 10), elements=st.integers(0, 100).map(float)))
    def test_swapping_the_runs_only_turns_the_mean_difference(
        self, runs: np.ndarray
    ) -> None:
        here, there = agreement.back_to_back(*runs), agreement.back_to_back(*runs[::-1])
        assert (there.mean_difference, there[4:]) == (
            pytest.approx(-here.mean_difference),
            here[4:],
        )
        assert (
            abs(here.mean_difference) - 1e-9
            <= here.mean_abs_difference
            <= here.max_abs_difference
        )

    def test_identical_constant_runs_match_exactly_and_have_no_correlation(
        self,
    ) -> None:
        result = agreement.back_to_back([50.0] * 5, [50.0] * 5)
        assert (result.exact_match.value, result.sd_within) == (1, 0)
        assert result.pearson.estimate is None


def test_steps_count_values_by_how_often_they_are_there() -> None:
    assert agreement.steps([1, 2, 3, 4] * 5) == pytest.approx(4)
    assert agreement.steps([5] * 98 + [1, 2]) < 1.05
    assert agreement.steps(["a"]) == 1


def test_the_fewest_items_on_which_equality_is_no_luck() -> None:
    for rate in (0.5, 0.8, 0.95, 0.99):
        n = agreement.fewest_equal(rate)
        assert rate**n <= 0.05 < rate ** (n - 1)
    refuses("rate", agreement.fewest_equal, 1.0)
