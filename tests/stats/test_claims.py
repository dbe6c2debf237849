"""A mean held against a margin: what is said, how often it is said falsely, and how many units
would settle it."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.stats.conftest import Rng, refuses, sure
from undogmatic.stats import agreement, claims, limits
from undogmatic.stats.estimate import Estimate

PAIRS = st.integers(10, 200)
DZ = st.floats(0.2, 1.5)


class TestPower:
    def test_thousands_of_pairs_have_a_power_for_every_effect(self) -> None:
        # At 10,000 pairs statsmodels' noncentral t is NaN for effects near 0.4, which ended the
        # search for the least.
        for n in (3000, 10_000, 50_000):
            found = [claims.power_at(dz, n) for dz in np.linspace(0, 1, 77)]
            assert np.all(np.diff(found) >= -1e-9) and found[-1] == pytest.approx(1)
        assert claims.minimum_detectable_effect(10_000, 20.0) == pytest.approx(
            0.573, abs=0.005
        )

    @given(PAIRS, DZ)
    def test_power_rises_with_pairs_and_effect(self, n: int, dz: float) -> None:
        here = claims.power_at(dz, n)
        assert 0.05 - 1e-9 <= here <= 1
        assert (
            min(claims.power_at(dz, n + 5), claims.power_at(dz + 0.1, n)) >= here - 1e-9
        )

    @given(PAIRS, st.floats(0.3, 0.95), st.floats(0.5, 30))
    def test_detectable_effect_inverts_power_and_scales_with_the_spread(
        self, n: int, wanted: float, sd: float
    ) -> None:
        result = claims.minimum_detectable_effect(n, sd, power=wanted)
        assert result == pytest.approx(
            claims.minimum_detectable_effect(n, power=wanted) * sd
        )
        assert claims.power_at(result / sd, n) == pytest.approx(wanted, abs=1e-6)

    def test_simulated_wilcoxon_power_at_the_detectable_effect(self, rng: Rng) -> None:
        dz = claims.minimum_detectable_effect(30)
        p_values = stats.wilcoxon(rng.normal(dz, 1, size=(3000, 30)), axis=1).pvalue
        # Monte Carlo error 0.007; the 3/pi rule is asymptotic.
        assert np.mean(p_values <= 0.05) == pytest.approx(0.80, abs=0.02)

    def test_power_ignores_the_sign_is_alpha_without_an_effect_and_none_with_five_pairs(
        self,
    ) -> None:
        assert claims.power_at(-0.5, 30) == claims.power_at(0.5, 30)
        assert claims.power_at(0.0, 30, alpha=0.01) == pytest.approx(0.01)
        # the smallest two-sided p-value of five pairs is 2/32
        assert claims.power_at(10.0, 5) == 0.0
        refuses("`n_pairs` is 5: too few", claims.minimum_detectable_effect, 5)

    def test_fewest_pairs_is_where_the_exact_test_can_first_be_significant(
        self,
    ) -> None:
        for alpha in (0.05, 0.01):
            n = claims.fewest_pairs(alpha)
            assert (
                stats.wilcoxon(np.arange(1.0, n + 1)).pvalue
                <= alpha
                < stats.wilcoxon(np.arange(1.0, n)).pvalue
            )
        assert claims.fewest_pairs(0.05) == 6


SPREAD = np.array([-14.0, -11, -7, -5, -2, -1, 1, 2, 5, 7, 11, 14])


class TestOutcome:
    @pytest.mark.parametrize(
        ("shift", "sign", "outcome"),
        [
            (25, 1, "beyond"),
            (25, -1, "against"),
            (-25, 1, "against"),
            (-25, -1, "beyond"),
            (1, 1, "within"),
        ],
    )
    def test_it_follows_the_interval_and_the_sign(
        self, shift: float, sign: int, outcome: str
    ) -> None:
        found = claims.claim(SPREAD + shift, 10, sign=sign)
        assert found.outcome == outcome and not found.few

    def test_an_interval_across_the_margin_leaves_it_open(self) -> None:
        found = claims.claim(SPREAD + 12, 10)
        assert (found.outcome, found.few) == ("open", False)
        assert (
            found.estimate.low < 10 < found.estimate.high and sure(found.n_needed) > 12
        )

    def test_fewer_units_than_could_ever_decide(self) -> None:
        found = claims.claim([50.0, 51, 52, 53, 54], 10)
        assert (found.outcome, found.few, found.fewest, found.n_needed) == (
            "open",
            True,
            6,
            6,
        )
        copied = claims.claim(
            np.repeat([50.0, 51, 52, 53, 54], 9), 10, groups=np.repeat(range(5), 9)
        )
        assert copied.outcome == "open" and copied.estimate.n_groups == 5

    def test_equal_values_say_nothing_without_bounds_and_little_with_them(self) -> None:
        nothing = claims.claim(np.full(40, 50.0), 10)
        assert (nothing.outcome, nothing.estimate.method, nothing.n_needed) == (
            "open",
            "unlimited",
            None,
        )
        assert (
            claims.claim(np.full(40, 50.0), 10, bounds=(-100, 100)).outcome == "beyond"
        )
        few = claims.claim(np.zeros(10), 10, bounds=(-100, 100))
        assert (few.outcome, few.estimate.level) == ("open", pytest.approx(0.98))
        assert claims.claim(np.zeros(20), 10, bounds=(-100, 100)).estimate.level == 0.95
        assert (
            claims.claim(
                np.zeros(sure(few.n_needed) + 6), 10, bounds=(-100, 100)
            ).outcome
            == "within"
        )

    def test_of_what_is_settled_fewer_units_would_have_done(self, rng: Rng) -> None:
        found = claims.claim(rng.normal(3, 5, 2000), 10)
        assert found.outcome == "within" and sure(found.n_needed) < 20

    @pytest.mark.parametrize("shift", [16, 3])
    def test_so_many_units_settle_it_as_often_as_asked(
        self, shift: float, rng: Rng
    ) -> None:
        made = rng.normal(size=30)
        n = sure(
            claims.claim(
                (made - made.mean()) / made.std(ddof=1) * 15 + shift, 10, power=0.8
            ).n_needed
        )
        settled = [
            claims.claim(rng.normal(shift, 15, n), 10).outcome != "open"
            for _ in range(500)
        ]
        assert np.mean(settled) == pytest.approx(0.8, abs=0.06)

    def test_at_the_margin_or_with_a_margin_of_zero_no_number_helps(self) -> None:
        assert claims.claim(SPREAD + 10, 10).n_needed is None
        nothing_within = claims.claim(SPREAD, 0)
        assert (nothing_within.outcome, nothing_within.n_needed) == ("open", None)

    @pytest.mark.parametrize("n", [6, 12, 46])
    @pytest.mark.parametrize(
        "noise",
        [
            lambda rng, n: rng.normal(0, 15, n),
            lambda rng, n: 10 * rng.standard_t(3, n),
            lambda rng, n: rng.uniform(-30, 30, n),
            lambda rng, n: 90 * (rng.random(n) < 0.9) - 81,
            lambda rng, n: 10 * (rng.exponential(1, n) - 1),
            lambda rng, n: 10 * (1 - rng.exponential(1, n)),
        ],
    )
    def test_a_mean_at_the_margin_is_seldom_called_beyond_it(
        self, noise, n, rng: Rng
    ) -> None:  # type: ignore[no-untyped-def]
        """400 samples: a true 2.5 % shows 4.5 % or less in all but 1 of 100 cases; the seed is
        fixed."""
        said = [
            claims.claim(10 + noise(rng, n), 10, bounds=(-1000, 1000)).outcome
            for _ in range(400)
        ]
        assert said.count("beyond") <= 0.04 * 400 and said.count("within") <= 0.06 * 400


class TestLimits:
    def test_a_share_has_clopper_and_pearsons_limits_over_groups(self) -> None:
        flags = [1.0] * 9 + [0.0]
        ends, worst, best = (
            stats.binomtest(*n).proportion_ci(method="exact")
            for n in ((9, 10), (9, 11), (10, 11))
        )
        assert limits.share(flags, range(10)).interval == pytest.approx(
            (ends.low, ends.high)
        )
        twice = limits.share([*flags, *flags], [*range(10), *range(10)])
        assert (twice.low, twice.high, twice.n_groups) == pytest.approx(
            (ends.low, ends.high, 10)
        )
        failed = limits.share([*flags, np.nan], range(11))
        assert (failed.value, failed.worst_low, failed.best_high) == pytest.approx(
            (0.9, worst.low, best.high)
        )

    def test_a_perfect_order_of_six_texts_does_not_show_that_classes_are_told_apart(
        self,
    ) -> None:
        # One of 20 orders of three and three texts is perfect; of four and four one of 70.
        area = functools.partial(limits.area, scale=(0, 10))
        assert area([7.0, 8, 9], [1.0, 2, 3], "abc", "def").low <= 0.5
        assert area([7.0, 8, 9, 6], [1.0, 2, 3, 4], "abcd", "efgh").low > 0.5
        assert area([7.0, 8, 9, 6], [1.0, 2, 3, 4], "aaaa", "efgh").low <= 0.5
        failed = area([7.0, 8, 9, np.nan], [1.0, 2, 3, 4], "abcd", "efgh")
        assert failed.worst_low < failed.low

    def test_bounds_are_held_with_the_whole_interval_and_against_failures(self) -> None:
        found = Estimate(0.7, 0.6, 0.8, 0.95, 50, worst=0.55, best=0.9)
        outcomes = {
            0.5: "above",
            0.58: "missing",
            0.95: "below",
            0.85: "missing",
            0.7: "open",
        }
        assert {bound: limits.hold(found, bound) for bound in outcomes} == {
            b: (o, None) for b, o in outcomes.items()
        }
        # The reach of 0.1 times (1 + 0.8416 / 1.96) must shrink to 0.05.
        assert limits.hold(found, 0.65).n_needed == np.ceil(
            50 * (0.1 * (1 + 0.841621 / 1.959964) / 0.05) ** 2
        )

    def test_failures_against_and_for_an_order_bound_every_other_way(
        self, rng: Rng
    ) -> None:
        labels = rng.uniform(0, 100, 12)
        scores = labels + rng.normal(0, 20, 12)
        scores[[2, 5, 9]] = np.nan
        ends = (
            limits.imputed(scores, labels, against=against) for against in (True, False)
        )
        low, high = (stats.spearmanr(own, labels).statistic for own in ends)
        for _ in range(300):
            filled = np.where(np.isnan(scores), rng.uniform(-50, 150, 12), scores)
            assert (
                low - 1e-9 <= stats.spearmanr(filled, labels).statistic <= high + 0.05
            )

    def test_one_score_for_all_texts(self) -> None:
        assert (
            limits.most_order(limits.fewest_same(0.5))
            < 0.5
            < limits.most_order(limits.fewest_same(0.5) - 1)
        )

    def test_alpha_is_that_of_the_definition_and_few_texts_do_not_make_it_sure(
        self, rng: Rng
    ) -> None:
        ratings = rng.uniform(0, 100, 30) + rng.normal(0, [[0], [10], [10]], (3, 30))
        ratings[0, 3] = np.nan
        found = sure(limits.alpha(ratings, (0, 100), groups=range(30)))
        assert found.value == pytest.approx(
            agreement.krippendorff_alpha(ratings).estimate
        )
        assert found.worst_low < found.low < found.value < found.high
        same = np.tile(np.linspace(0, 100, 10), (2, 1))
        few, many = (
            sure(limits.alpha(np.tile(same, n), (0, 100), groups=range(10 * n))).low
            for n in (1, 5)
        )
        assert few < 0.8 < many
        assert limits.alpha(np.full((2, 10), 5.0), (0, 100), groups=range(10)) is None
