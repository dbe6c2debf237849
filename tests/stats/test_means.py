"""The interval of a mean: what it is by hand, what it is on the edge, and how often it holds the
mean."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from tests.stats.conftest import Rng, held, sure
from undogmatic.stats import means
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.means import mean_so_far

ONES = np.r_[np.ones(3), np.zeros(17)]


def test_how_far_members_of_a_group_go_together(rng: Rng) -> None:
    codes = np.repeat(np.arange(12), 5)
    values = 0.8 * rng.normal(size=12)[codes] + rng.normal(size=60)
    f = float(stats.f_oneway(*values.reshape(12, 5)).statistic)
    assert means.intraclass(values, codes) == pytest.approx((f - 1) / (f + 4))
    assert means.intraclass(rng.normal(size=12)[codes], codes) == pytest.approx(1)
    assert means.intraclass(np.tile([-2.0, -1, 0, 1, 2], 12), codes) == 0
    assert (
        means.intraclass(values, np.arange(60))
        == means.intraclass(np.ones(60), codes)
        == 0
    )
    shared, apart = rng.normal(size=12)[codes], rng.normal(size=(2, 60))
    assert means.intraclass(shared + apart[0], codes, shared + apart[1]) > 0.8
    sizes = np.repeat(np.arange(300), rng.integers(1, 9, 300))
    drawn = 0.5**0.5 * (rng.normal(size=300)[sizes] + rng.normal(size=sizes.size))
    assert means.intraclass(drawn, sizes) == pytest.approx(0.5, abs=0.06)


def _at_the_floor(rng: Rng, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.8, 0.0, rng.uniform(0, 100, n))


class TestStudentised:
    def test_without_skewness_it_is_students(self) -> None:
        values = np.array([-9.0, -4, -1, 0.5, 1, 4, 8.5])
        values = np.r_[values, -values]
        found = means.interval(values)
        expected = stats.ttest_1samp(values, 0).confidence_interval()
        assert found.interval == pytest.approx((expected.low, expected.high), rel=2e-2)
        assert found.low <= expected.low and found.high >= expected.high
        assert found.method == "studentised" and found.df == pytest.approx(13)

    def test_a_fixed_skewness_gives_halls_limits(self) -> None:
        """By hand: T + A T^2 / 3 + A^2 T^3 / 27 + A / 6 = t, solved for T, with A = 0.4 and ten
        values."""
        low, high = means.studentised_limits(0.0, 1.0, 9.0, 0.4, 0.95)
        t = stats.t.ppf(0.975, 9)
        assert (
            -high + 0.4 * high** 2 / 3 - 0.16 * high** 3 / 27 + 0.4 / 6
            == pytest.approx(-t)
        )
        assert low == pytest.approx(-t)

    def test_the_skewness_of_few_values_is_taken_for_larger_than_it_looks(self) -> None:
        """By hand: of the mean it is sum(e^3) / sum(e^2)^1.5, here doubled, as there are ten
        values."""
        values = np.array([1.0, 1.5, 2, 2.5, 3, 3.5, 4, 6, 9, 15])
        e = values - values.mean()
        skewness = 2 * np.sum(e**3) / np.sum(e**2) ** 1.5
        expected = means.studentised_limits(
            values.mean(), values.std(ddof=1) / 10**0.5, 9, skewness, 0.95
        )
        assert means.interval(values).interval == pytest.approx(expected)

    def test_it_is_mirrored_with_the_values_and_moves_and_grows_with_the_unit(
        self, rng: Rng
    ) -> None:
        values = rng.exponential(size=12)
        here, mirrored, there = (
            means.interval(v) for v in (values, -values, 100 + 7 * values)
        )
        assert here.interval == pytest.approx((-mirrored.high, -mirrored.low))
        assert here.high - here.value > here.value - here.low
        assert there.interval == pytest.approx(
            (100 + 7 * here.low, 100 + 7 * here.high)
        )


class TestGroups:
    def test_groups_of_one_are_values_and_copies_change_nothing(self, rng: Rng) -> None:
        values = rng.exponential(size=9)
        alone = means.interval(values)
        assert means.interval(values, groups=range(9)) == pytest.approx(alone)  # type: ignore[comparison-overlap]
        copied = means.interval(np.repeat(values, 8), groups=np.repeat(np.arange(9), 8))
        assert copied.interval == pytest.approx(alone.interval)

    def test_degrees_of_freedom_are_groups_less_one_and_fewer_where_sizes_differ(
        self,
    ) -> None:
        assert means.degrees_of_freedom(np.full(6, 1 / 6)) == pytest.approx(5)
        share = np.array([1.0, 2, 3, 4, 5, 20]) / 35
        centring = np.eye(6) - np.outer(share, np.ones(6))
        both = centring.T @ np.diag(1 / (1 - share)) @ centring @ np.diag(share**2)
        assert means.degrees_of_freedom(share) == pytest.approx(
            np.trace(both) ** 2 / np.trace(both @ both)
        )
        assert means.degrees_of_freedom(share) < 3


class TestBounded:
    @pytest.mark.parametrize("hits", [0, 1, 3, 9, 20])
    def test_of_two_values_it_is_clopper_and_pearsons(self, hits: int) -> None:
        values = np.r_[np.ones(hits), np.zeros(20 - hits)]
        low, high = means.bounded_limits(means.Sums(values, np.ones(20)), (0, 1), 0.95)
        expected = stats.binomtest(hits, 20).proportion_ci(method="exact")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-3)

    def test_it_is_the_quantile_of_randomly_weighted_means(self, rng: Rng) -> None:
        values = _at_the_floor(rng, 10)
        weights = rng.exponential(size=(100_000, 11))
        drawn = weights @ np.r_[values, 100] / weights.sum(axis=1)
        _low, high = means.bounded_limits(
            means.Sums(values, np.ones(10)), (0, 100), 0.95
        )
        assert high == pytest.approx(np.quantile(drawn, 0.975), rel=0.01)

    def test_values_that_mostly_agree_are_not_believed(self) -> None:
        found = means.interval(ONES, bounds=(0, 1))
        assert found.method == "bounded" and found.high > 0.37
        same = means.interval(np.zeros(20), bounds=(-100, 100))
        assert same.method == "bounded" and same.high == pytest.approx(
            100 * (1 - 0.025 ** (1 / 20)), rel=0.01
        )
        assert same.low == pytest.approx(-same.high)
        nearly = means.interval(np.linspace(0, 0.5, 20), bounds=(-100, 100))
        assert nearly.method == "bounded" and nearly.high > 10

    def test_without_bounds_an_end_is_infinite(self) -> None:
        assert means.interval(np.zeros(20)).interval == (-np.inf, np.inf)
        above = means.interval(ONES)
        assert (
            above.method == "unlimited"
            and above.high == np.inf
            and np.isfinite(above.low)
        )
        below = means.interval(-ONES)
        assert below.low == -np.inf and np.isfinite(below.high)
        assert means.interval(np.r_[np.ones(4), np.zeros(16)]).method == "studentised"
        assert means.interval(ONES, bounds=(0, np.inf)).high == np.inf

    def test_no_end_lies_outside_the_bounds(self) -> None:
        values = np.array([0.0, 1, 2, 90, 95, 100])
        assert means.interval(values).high > 100
        found = means.interval(values, bounds=(0, 100))
        assert found.low >= 0 and found.high <= 100
        assert means.interval(np.full(8, 100.0), bounds=(0, 100)).high == 100


class TestCoverage:
    @pytest.mark.parametrize(
        ("draw", "truth", "n", "bounds"),
        [
            (lambda rng, n: rng.normal(50, 15, n), 50, 10, None),
            (lambda rng, n: rng.exponential(10, n), 10, 10, None),
            (lambda rng, n: -rng.exponential(10, n), -10, 30, None),
            (_at_the_floor, 10, 10, (0, 100)),
            (_at_the_floor, 10, 10, None),
            (_at_the_floor, 10, 46, (0, 100)),
            (lambda rng, n: 100.0 * (rng.random(n) < 0.8), 80, 10, (0, 100)),
        ],
    )
    def test_it_holds_the_mean_as_often_as_it_says(
        self, draw, truth, n, bounds, rng: Rng
    ) -> None:  # type: ignore[no-untyped-def]
        """1,000 samples: a true 95 % shows 92.9 % or more in all but 1 of 1,000 cases; the seed is
        fixed."""
        assert (
            held(truth, 1000, lambda: means.interval(draw(rng, n), bounds=bounds))
            >= 0.93
        )

    def test_it_holds_the_mean_of_few_groups_as_often_as_it_says(
        self, rng: Rng
    ) -> None:
        """Six groups of 1 to 8 members that go together: with the quantile of the normal one it is
        below 90 %."""
        groups = np.repeat(np.arange(6), [1, 2, 3, 4, 6, 8])

        def draw() -> Estimate:
            return means.interval(
                rng.normal(0, 1, 6)[groups] + rng.normal(0, 0.3, groups.size),
                groups=groups,
            )

        assert 0.935 <= held(0, 1000, draw) <= 0.985

    def test_values_that_rounding_puts_beyond_the_bound_are_at_it(self) -> None:
        own = np.r_[np.full(29, 0.3), 0.3 - 1e-4]
        above = np.where(own == 0.3, 0.3 + 1e-16, own)
        at, beyond, nudged = (
            means.bounded_limits(means.Sums(values, np.ones(30)), (0.0, bound), 0.95)
            for values, bound in ((own, 0.3), (above, 0.3), (own, 0.3 - 5e-17))
        )
        assert beyond == pytest.approx(at) and nudged == pytest.approx(at)


def so_far(values: ArrayLike, n_total: int, minimum: float, maximum: float) -> Estimate:
    """Of values that are their own groups."""
    n = len(np.asarray(values))
    return sure(
        mean_so_far(values, range(n), range(n_total), minimum, maximum)
    ).estimate


class TestByHand:
    def test_two_values(self) -> None:
        # Against a low mean m the first bet is sqrt(2 log(40) / (0.25 log 2)) = 6.525; after a
        # first 1 the running mean is 0.75 and the spread (0.25 + 0.25^2) / 2, so that the second is
        # sqrt(2 log(40) / (0.15625 * 2 log 3)) = 4.636. Neither is cut at m < 0.5 / 6.525. The
        # money (1 + 6.525 (1 - m)) (1 + 4.636 (1 - m)) reaches 40 at m = 0.0341, so that 0.034 is
        # the last mean of the grid that is refused.
        found = so_far([1.0, 1.0], 10**6, 0, 1)
        assert found.interval == (pytest.approx(0.034, abs=1e-6), pytest.approx(1))
        # One value alone gives at most 7.5-fold.
        assert so_far([1.0], 10**6, 0, 1).low == pytest.approx(0, abs=2e-6)

    def test_what_is_known_of_all_bounds_the_mean_and_all_known_is_the_mean_itself(
        self, rng: Rng
    ) -> None:
        found = so_far([100.0, 100, 0], 4, 0, 100)
        assert (found.value, found.low, found.high) == (pytest.approx(200 / 3), 50, 75)
        values = rng.uniform(1, 5, 50)
        whole = so_far(values, 50, 1, 5)
        assert (whole.low, whole.value, whole.high) == pytest.approx(
            [values.mean()] * 3
        )

    @settings(max_examples=30)
    @given(st.lists(st.integers(0, 10), min_size=1, max_size=30), st.integers(0, 200))
    def test_turning_the_scale_turns_the_interval(
        self, values: list[int], further: int
    ) -> None:
        there, back = (
            so_far(own, len(own) + further, 0, 10)
            for own in (values, [10 - v for v in values])
        )
        assert there.interval == pytest.approx((10 - back.high, 10 - back.low))
        assert there.low <= there.value <= there.high

    def test_more_values_never_widen_it(self, rng: Rng) -> None:
        values = rng.beta(2, 5, 300)
        ends = np.array(
            [so_far(values[:n], 400, 0, 1).interval for n in (5, 20, 80, 300)]
        )
        assert np.all(np.diff(ends, axis=0) * [1, -1] >= -1e-12)
        assert np.diff(ends[-1]) < 0.06


DRAWS: dict[str, Any] = {
    "rarely one": lambda rng, n: (rng.random(n) < 0.1).astype(float),
    "even": lambda rng, n: rng.random(n),
    "steep": lambda rng, n: rng.beta(0.3, 2, n),
    "high steps": lambda rng, n: rng.choice([0.75, 1.0], n),
}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("n_total", [1000, 4000])
def test_it_is_ever_wrong_within_a_thousand_looks_in_at_most_one_of_twenty(
    kind: str, n_total: int, rng: Rng
) -> None:
    drawn = (DRAWS[kind](rng, n_total) for _ in range(300))
    # Whether the true mean survives all looks: what mean_so_far decides for each mean of its grid.
    survives = [
        means._survives(own[:1000], n_total, np.array([own.mean()]), 0.95)[0]
        for own in drawn
    ]
    assert np.mean(survives) >= 0.95


def test_a_fixed_interval_is_wrong_far_more_often(rng: Rng) -> None:
    """Why one is needed at all: the usual 95 % interval, looked at after every value from the
    tenth."""
    n = np.arange(1, 1001)
    off = np.abs(np.cumsum(rng.random((200, 1000)), axis=1) / n - 0.5) > 1.96 * np.sqrt(
        1 / 12 / n
    )
    assert np.mean(off[:, 9:].any(axis=1)) > 0.25


class TestGroupsThatComeIn:
    def test_groups_of_one_are_values_and_copies_are_no_news(self, rng: Rng) -> None:
        values = rng.uniform(0, 100, 20)
        plain = so_far(values, 50, 0, 100)
        alone, twice = (
            sure(
                mean_so_far(
                    *(np.repeat(own, n) for own in (values, range(20), range(50))),
                    0,
                    100,
                )
            )
            for n in (1, 2)
        )
        assert alone.estimate.metrics("") == pytest.approx(plain.metrics(""))
        assert (alone.estimate.n, alone.n_total) == (20, 50)
        assert twice.estimate.interval == pytest.approx(plain.interval)

    def test_a_larger_group_counts_for_more_and_an_unfinished_one_not_yet(self) -> None:
        found = sure(mean_so_far([40.0, 10, 10, 90], "abbc", "abbcc", 0, 100))
        assert (found.estimate.n, found.n_total) == (3, 5)
        # Known whole: 40 + 20 of 5 values; the two of c may still be anything.
        assert found.estimate.interval == (pytest.approx(12), pytest.approx(52))
        assert mean_so_far([40.0], "c", "cc", 0, 100) is None
