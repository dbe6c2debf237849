"""What remains at equal controls: what is recovered, with which coverage, and where it must admit
that it cannot."""

import functools

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.stats.conftest import Rng, held, refuses, sure
from undogmatic.stats import confound, means
from undogmatic.stats.claims import Claim
from undogmatic.stats.estimate import Estimate


def _pairs(rng: Rng, effect: float, shape, n: int = 40) -> tuple[np.ndarray, ...]:  # type: ignore[no-untyped-def]
    """Pairs whose score is `effect` for condition a plus `shape` of the length plus uneven
    noise."""
    length_b = rng.lognormal(5.8, 0.4, n)
    length_a = length_b * rng.lognormal(-0.3, 0.5, n)
    noise = rng.normal(0, 3 + 3 * np.abs(np.log(length_a / length_b)))
    base = rng.normal(50, 10, n)
    return (
        base + effect + shape(length_a) + noise,
        base + shape(length_b),
        length_a,
        length_b,
    )


def _vee(length: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(length - 340) / 2)


class TestAtEqual:
    def test_it_is_ordinary_least_squares_with_hc3(self, rng: Rng) -> None:
        """Every residual is there with both signs, so that nothing is skewed; the controls say
        nearly all, so that nothing of their slopes is taken off."""
        z, off = rng.normal(0.3, 1, (15, 2)), rng.normal(0, 4, 15)
        z, off = np.concatenate([z, z]), np.concatenate([off, -off])
        d = 12 + z @ [3e4, -5e4] + off
        found = confound.at_equal(d, z, 10)
        fit = sm.OLS(d, sm.add_constant(z)).fit(cov_type="HC3", use_t=True)
        assert found.difference.estimate.value == pytest.approx(fit.params[0], rel=1e-4)
        assert found.difference.estimate.interval == pytest.approx(
            tuple(fit.conf_int()[0]), rel=1e-4
        )
        assert found.difference.inner == pytest.approx(
            tuple(fit.conf_int(0.1)[0]), rel=1e-4
        )
        assert found.moved.estimate.value == pytest.approx(d.mean() - fit.params[0])
        assert found.foreseen == pytest.approx(fit.rsquared)

    @pytest.mark.parametrize("apart", [0.0, 0.2, 1.0])
    @pytest.mark.parametrize("slope", [0.0, 0.5, 1.5, 4.0])
    def test_what_controls_take_off_is_kept_as_far_as_it_is_shown(
        self, slope: float, apart: float, rng: Rng
    ) -> None:
        """1 - 1.5 / F, where F is that of the slope or of the control's mean, whichever is
        larger."""
        z, noise = rng.normal(apart, 1, 60), rng.normal(0, 4, 60)
        d = 12 + slope * z + noise
        fit = sm.OLS(d, sm.add_constant(z)).fit()
        largest = max(fit.fvalue, stats.ttest_1samp(z, 0).statistic ** 2)
        found = confound.at_equal(d, z, 10)
        assert found.moved.estimate.value == pytest.approx(
            max(0.0, 1 - 1.5 / largest) * (d.mean() - fit.params[0])
        )

    def test_a_control_that_says_nothing_costs_nothing(self, rng: Rng) -> None:
        noise = rng.normal(0, 4, 60)
        z = rng.normal(0, 1, 60)
        z -= z.mean() + (noise @ z) / (noise @ noise) * (noise - noise.mean())
        found, plain = (
            confound.at_equal(12 + noise, control, 10) for control in (z, 0 * z)
        )
        assert found.moved.estimate.value == pytest.approx(0, abs=1e-9)
        assert found.difference.estimate.low == pytest.approx(
            plain.difference.estimate.low, rel=0.01
        )

    @pytest.mark.parametrize(("slope", "apart"), [(2.0, 0.3), (4.0, 0.3), (2.0, 1.0)])
    def test_shrinking_costs_no_coverage(
        self, slope: float, apart: float, rng: Rng
    ) -> None:
        """Controls that are half shown are the worst: `benchmarks/coverage` has more shapes and
        1,000 samples."""

        def draw() -> Estimate:
            z = rng.normal(apart, 1, 30)
            return confound.at_equal(
                20 + slope * z + rng.normal(0, 8, 30), z, 10
            ).difference.estimate

        assert held(20, 400, draw) >= 0.93

    def test_with_groups_the_error_is_that_of_leaving_one_out(self, rng: Rng) -> None:
        groups = np.repeat(np.arange(12), [1, 2, 3] * 4)
        z = rng.normal(0.2, 1, groups.size)
        off = rng.normal(0, 5, 12)[groups] + rng.normal(0, 2, groups.size)
        groups, z = np.concatenate([groups, groups + 12]), np.concatenate([z, z])
        d = 8 + 2e4 * z + np.concatenate([off, -off])
        found = confound.at_equal(d, z, 10, groups=groups)
        full = sm.OLS(d, sm.add_constant(z)).fit().params[0]
        without = [
            sm.OLS(d[groups != g], sm.add_constant(z[groups != g])).fit().params[0]
            for g in range(24)
        ]
        error = np.sqrt(np.sum((np.array(without) - full) ** 2))
        # One degree of freedom fewer than a mean over these groups has, for the slope.
        freedom = means.degrees_of_freedom(np.bincount(groups) / groups.size) - 1
        assert freedom < 22
        assert found.difference.estimate.high - full == pytest.approx(
            stats.t.isf(0.025, freedom) * error, rel=1e-3
        )
        assert found.difference.estimate.n_groups == 24

    def test_swapping_the_conditions_mirrors_everything(self, rng: Rng) -> None:
        d, z = rng.normal(15, 5, 20), rng.normal(0.5, 1, (20, 2))
        here, there = (
            confound.at_equal(d, z, 10),
            confound.at_equal(-d, -z, 10, sign=-1),
        )
        assert there.difference.estimate.interval == pytest.approx(
            (-here.difference.estimate).interval
        )
        assert (here.difference.outcome, here.extrapolated) == (
            there.difference.outcome,
            there.extrapolated,
        )

    def test_what_leaving_a_group_out_makes_of_its_prediction_explains_nothing(
        self, rng: Rng
    ) -> None:
        """The mean of the others foretells each difference perfectly, with a slope of -(n - 1):
        that is arithmetic."""
        d = rng.normal(20, 14, 30)
        of_others = (d.sum() - d) / (d.size - 1)
        plain = confound.at_equal(d, 0 * d, 10)
        assert confound.at_equal(d, of_others, 10).foreseen == pytest.approx(1)
        found = confound.at_equal(d, of_others, 10, predictions=[True])
        assert found.foreseen == pytest.approx(0)
        assert found.difference.estimate.interval == plain.difference.estimate.interval

    def test_a_prediction_that_agrees_is_kept_and_one_that_contradicts_tells_the_sides_apart(
        self, rng: Rng
    ) -> None:
        z = rng.normal(1, 0.2, 30)
        agrees = 20 * z + rng.normal(0, 1, 30)
        kept, as_control = (
            confound.at_equal(agrees, z, 10, predictions=told) for told in ([True], [])
        )
        assert kept == as_control and kept.difference.estimate.value < 10 < kept.raw
        contradicts = confound.at_equal(40 - agrees, z, 10, predictions=[True])
        assert (
            contradicts.difference.estimate.value == pytest.approx(contradicts.raw)
            and contradicts.extrapolated
        )

    def test_a_control_twice_or_of_zeros_changes_nothing(self, rng: Rng) -> None:
        d, z = rng.normal(15, 5, 20), rng.normal(0.5, 1, 20)
        once = confound.at_equal(d, z, 10)
        again = confound.at_equal(d, np.column_stack([z, 2 * z, 0 * z]), 10)
        assert again.difference.estimate.low == pytest.approx(
            once.difference.estimate.low
        )
        plain = confound.at_equal(d, 0 * z, 10)
        assert plain.difference.estimate.value == pytest.approx(d.mean())
        assert (plain.moved.estimate.value, plain.foreseen) == pytest.approx((0, 0))
        assert not plain.extrapolated

    def test_where_the_conditions_hardly_meet_it_says_so(self, rng: Rng) -> None:
        d = rng.normal(15, 5, 40)
        apart = rng.uniform(0.5, 2, 40)
        one_meets, three_meet = np.r_[-1, apart[1:]], np.r_[-1, -0.5, -1.5, apart[3:]]
        turn = 5 * rng.normal(0, 1, 40)
        # apart only in a direction between the controls
        rotated = np.column_stack([turn + apart, turn - apart])
        found = [
            confound.at_equal(d, z, 10).extrapolated
            for z in (apart, one_meets, three_meet, rotated)
        ]
        assert found == [True, True, False, True]

    def test_coverage_with_uneven_noise(self) -> None:
        def draw(n: int) -> Estimate:
            z = rng.normal(0.4, 1, n)
            d = 12 + 6 * z + rng.normal(0, 1, n) * (3 + 3 * np.abs(z))
            return confound.at_equal(d, z, 10).difference.estimate

        for n, off in ((10, 0.045), (40, 0.035)):
            rng = np.random.default_rng(6)
            assert held(12, 400, functools.partial(draw, n)) == pytest.approx(
                0.95, abs=off
            )

    @pytest.mark.parametrize("rare", [0.05, 0.1])
    @pytest.mark.parametrize("bounds", [(-100.0, 100.0), None])
    def test_a_rare_difference_is_not_missed(
        self, rare: float, bounds: tuple[float, float] | None, rng: Rng
    ) -> None:
        """Nine in ten pairs differ by 26, the tenth by -34: ten pairs at equal controls often look
        all alike."""

        def draw() -> Estimate:
            z = rng.normal(0, 1, 10)
            d = np.where(rng.random(10) < rare, -40.0, 20) + 5 * z
            return confound.at_equal(d, z, 10, bounds=bounds).difference.estimate

        assert held(20 - 60 * rare, 200, draw) >= 0.93

    def test_coverage_with_skewed_noise(self, rng: Rng) -> None:
        def draw() -> Estimate:
            z = rng.normal(0.4, 1, 30)
            return confound.at_equal(
                12 + 6 * z - 10 * rng.exponential(1, 30) + 10, z, 10
            ).difference.estimate

        assert held(12, 400, draw) >= 0.925


class TestClaims:
    @pytest.mark.parametrize(
        ("estimate", "error", "outcome"),
        [
            (20, 1, "beyond"),
            (-20, 1, "against"),
            (0, 2, "within"),
            (9, 1, "open"),
            (20, 8, "open"),
        ],
    )
    def test_outcomes(self, estimate: float, error: float, outcome: str) -> None:
        assert _against(estimate, error, 31).outcome == outcome

    def test_what_is_open_names_the_units_that_would_settle_it(self) -> None:
        found = _against(15, 4, 40)
        n = sure(found.n_needed)
        assert (
            found.outcome == "open"
            and _against(15, 4 * np.sqrt(40 / n), n).estimate.low > 10
        )
        assert _against(10, 4, 40).n_needed is None


def _against(estimate: float, error: float, n: int) -> Claim:
    def limits(level: float) -> tuple[float, float]:
        return means.studentised_limits(estimate, error, n - 1, 0.0, level)

    return confound.against(estimate, limits, error, 10, n, sign=1, alpha=0.05)


class TestLength:
    def test_a_judge_of_length_in_whatever_shape_keeps_nothing(self, rng: Rng) -> None:
        for shape in (
            _vee,
            lambda length: -25 * np.log(length),
            lambda length: 40.0 * (length < 250),
        ):
            results = [
                confound.at_equal_length(*_pairs(rng, 0, shape), 10, rng)
                for _ in range(12)
            ]
            assert np.mean([abs(r.raw) for r in results]) > 5
            assert not any(r.difference.estimate.low > 10 for r in results)

    def test_a_judge_that_does_not_look_at_length_keeps_its_difference(
        self, rng: Rng
    ) -> None:
        found = [
            confound.at_equal_length(
                *_pairs(rng, 25, np.zeros_like), 10, rng
            ).difference
            for _ in range(25)
        ]
        assert (
            np.mean([one.estimate.low <= 25 <= one.estimate.high for one in found])
            >= 0.9
        )
        assert np.mean([one.outcome == "beyond" for one in found]) >= 0.95

    def test_with_many_pairs_the_parts_of_the_curve_are_the_controls(
        self, rng: Rng
    ) -> None:
        found = confound.at_equal_length(*_pairs(rng, 0, _vee, n=5000), 10, rng)
        assert abs(found.raw) > 10 and found.difference.outcome == "within"
        kept = confound.at_equal_length(
            *_pairs(rng, 25, np.zeros_like, n=5000), 10, rng
        )
        assert (kept.difference.outcome, kept.moved.outcome) == ("beyond", "within")

    def test_with_twelve_pairs_it_is_not_shown_to_be_below_the_margin(
        self, rng: Rng
    ) -> None:
        """That 12 pairs do not reach significance at equal length once made 30 % of such judges
        confounded."""
        results = [
            confound.at_equal_length(*_pairs(rng, 25, np.zeros_like, n=12), 10, rng)
            for _ in range(80)
        ]
        assert np.mean([r.difference.estimate.high < 10 for r in results]) <= 0.025

    @given(st.integers(0, 500), st.floats(0.1, 50), st.floats(-20, 20))
    @settings(max_examples=20)
    def test_a_unit_of_length_does_not_matter_nor_a_shift_of_scores(
        self, seed: int, unit: float, shift: float
    ) -> None:
        a, b, *lengths = _pairs(np.random.default_rng(seed), 10, _vee, n=14)
        here = confound.at_equal_length(a, b, *lengths, 10, np.random.default_rng(0))
        longer = (unit * length for length in lengths)
        there = confound.at_equal_length(
            a + shift, b + shift, *longer, 10, np.random.default_rng(0)
        )
        assert there.difference.estimate.value == pytest.approx(
            here.difference.estimate.value, abs=1e-3
        )

    def test_where_length_and_condition_are_one_it_refuses(self) -> None:
        scores, lengths, rng = (
            [1.0, 2, 3, 5],
            np.array([10.0, 20, 30, 40]),
            np.random.default_rng(0),
        )
        refuses(
            "the same in every pair",
            confound.at_equal_length,
            scores,
            scores[::-1],
            2 * lengths,
            lengths,
            10,
            rng,
        )
        refuses(
            "`lengths_b` holds a length of 0",
            confound.at_equal_length,
            scores,
            scores,
            lengths,
            0 * lengths,
            10,
            rng,
        )

    def test_length_alone_as_a_judge(self) -> None:
        assert confound.length_auc(
            [10.0, 20, 30], [25.0, 100, 200]
        ).value == pytest.approx(1 / 9)
        assert confound.length_auc([5.0, 6], [5.0, 6]).value == 0.5
