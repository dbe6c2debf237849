"""Review guided by uncertainty: the oracle and the diagonal are reached, the random band is
exact."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tests.stats.conftest import Rng, held, refuses, sure, width
from undogmatic.stats import jackknife, review
from undogmatic.stats.compare import exchange_p
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.review import FEWEST, Beyond, beyond_score, error_by_score


def of(
    statistic: jackknife.Prepared, uncertainty: ArrayLike, error: ArrayLike
) -> float:
    return statistic.of(np.column_stack([uncertainty, error]))


Array = NDArray[np.float64]
UNCERTAINTY = hnp.arrays(np.float64, 12, elements=st.integers(0, 4).map(float))
ERROR = hnp.arrays(np.float64, 12, elements=st.integers(0, 5).map(float))
VARIED_ERROR = ERROR.filter(lambda e: bool(np.ptp(e) > 0))


class TestArea:
    @pytest.mark.parametrize(("n", "wrong"), [(10, 3), (500, 40), (7, 7), (5, 0)])
    def test_perfect_uncertainty_has_the_closed_form(self, n: int, wrong: int) -> None:
        error = np.r_[np.ones(wrong), np.zeros(n - wrong)]
        # Once the n - wrong right items are kept, the k-th item kept leaves (k - (n - wrong)) / k
        # wrong.
        closed = (wrong - (n - wrong) * np.sum(1 / np.arange(n - wrong + 1, n + 1))) / n
        assert of(review.aurc, error, error) == pytest.approx(closed, abs=1e-12)
        assert of(review.excess_aurc, error, error) == pytest.approx(0, abs=1e-12)

    def test_error_known_perfectly_has_geifmans_limit_for_many_items_and_a_quarter_where_it_is_uniform(
        self,
    ) -> None:
        error = np.arange(200_000) < 0.2 * 200_000
        assert of(review.aurc, error, error) == pytest.approx(
            0.2 + 0.8 * np.log(0.8), abs=1e-4
        )
        # Kept share c of sorted uniform errors has mean c / 2, whose average over c is 1/4.
        uniform = (np.arange(10_000) + 0.5) / 10_000
        assert of(review.aurc, uniform, uniform) == pytest.approx(0.25, abs=1e-4)

    def test_ties_are_the_expectation_over_their_orders(self) -> None:
        error = np.array([3.0, 0, 1, 5])
        by_order = [
            of(review.aurc, np.arange(4), error[list(order)])
            for order in permutations(range(4))
        ]
        assert of(review.aurc, np.zeros(4), error) == pytest.approx(np.mean(by_order))
        tied_front = [
            of(review.aurc, np.arange(4), error[[*order, 3]])
            for order in permutations(range(3))
        ]
        assert of(review.aurc, [0, 0, 0, 1], error) == pytest.approx(
            np.mean(tied_front)
        )

    @given(UNCERTAINTY, ERROR)
    def test_the_oracle_is_best_order_matters_alone_and_none_has_the_mean_error(
        self, u: Array, e: Array
    ) -> None:
        assert of(review.excess_aurc, u, e) >= -1e-12
        assert of(review.aurc, np.exp(u), e) == pytest.approx(of(review.aurc, u, e))
        assert of(review.aurc, np.ones(12), e) == pytest.approx(e.mean())


class TestIntervals:
    def test_the_curve_lies_within_its_band_and_ends_at_the_mean_error(
        self, rng: Rng
    ) -> None:
        u = rng.random(150)
        e = np.abs(rng.normal(0, 1 + 10 * u))
        curve = review.curve("risk", u, e, rng, n_resamples=300)
        assert curve.guided[-1] == pytest.approx(e.mean())
        assert curve.share.tolist() == pytest.approx((np.arange(150) + 1) / 150)
        assert np.all(curve.oracle <= curve.guided + 1e-12)
        assert np.all(curve.band.low <= curve.band.high)
        late = slice(30, None)
        assert np.all(
            (curve.band.low[late] <= curve.guided[late])
            & (curve.guided[late] <= curve.band.high[late])
        )

    def test_the_area_is_covered_as_often_as_promised(self, rng: Rng) -> None:
        # Error is normal with spread u, u uniform: keeping share c leaves mean sqrt(2/pi) c/2, on
        # average sqrt(2/pi)/4.

        def draw() -> Estimate:
            u = rng.random(80)
            columns = np.column_stack([u, np.abs(rng.normal(0, u))])
            return jackknife.LeftOut(columns, review.aurc, rng).nearly_mean(0.9)

        assert 0.82 <= held(np.sqrt(2 / np.pi) / 4, 100, draw) <= 0.97

    def test_groups_widen_the_interval_of_repeated_items(self, rng: Rng) -> None:
        columns = np.column_stack(
            [np.tile(rng.random(40), 5), np.tile(rng.random(40), 5)]
        )
        alone, together = (
            jackknife.LeftOut(columns, review.aurc, rng, groups).nearly_mean()
            for groups in (None, np.tile(np.arange(40), 5))
        )
        assert together.n_groups == 40
        assert width(together) > 1.5 * width(alone)


class TestCurve:
    def test_by_hand(self) -> None:
        curve = review.curve(
            "caught",
            [1, 2, 3, 4],
            [0, 3, 1, 4],
            np.random.default_rng(0),
            n_resamples=50,
        )
        assert curve.guided.tolist() == [0, 0.5, 0.625, 1, 1]
        assert curve.oracle.tolist() == [0, 0.5, 0.875, 1, 1]
        assert curve.share.tolist() == [0, 0.25, 0.5, 0.75, 1]

    @given(VARIED_ERROR)
    def test_perfect_uncertainty_reaches_the_oracle_and_a_constant_one_the_diagonal(
        self, error: np.ndarray
    ) -> None:
        rng = np.random.default_rng(0)
        best = review.curve("caught", error**2, error, rng, n_resamples=5)
        assert best.guided == pytest.approx(best.oracle)
        assert of(review.gain, error**2, error) == pytest.approx(1)
        none = review.curve("caught", np.full(12, 7.0), error, rng, n_resamples=5)
        assert none.guided == pytest.approx(none.share)
        assert of(review.gain, np.full(12, 7.0), error) == pytest.approx(0, abs=1e-12)

    @given(UNCERTAINTY, VARIED_ERROR)
    def test_turning_the_uncertainty_round_turns_the_gain_round(
        self, u: np.ndarray, error: np.ndarray
    ) -> None:
        gain = of(review.gain, u, error)
        assert -1 - 1e-9 <= gain <= 1 + 1e-9
        assert of(review.gain, -u, error) == pytest.approx(-gain, abs=1e-9)

    @pytest.mark.parametrize("binary", [True, False])
    def test_the_random_band_holds_random_reviews_as_often_as_promised(
        self, binary: bool, rng: Rng
    ) -> None:
        error = (
            (rng.random(200) < 0.3).astype(float) if binary else rng.exponential(1, 200)
        )
        curve = review.curve("caught", rng.random(200), error, rng, 0.9, n_resamples=10)
        band = review.random_review(error, curve.n, 0.9)
        caught = (
            np.array([np.cumsum(rng.permutation(error)) for _ in range(2000)])
            / error.sum()
        )
        for budget in (20, 60, 100, 160):
            found = caught[:, budget - 1]
            inside = (band.low[budget] <= found + 1e-9) & (
                found <= band.high[budget] + 1e-9
            )
            # Counts are discrete, so the hypergeometric band holds at least its level.
            assert 0.88 < inside.mean() < (0.97 if binary else 0.92)
        assert curve.share[60] == pytest.approx(caught[:, 59].mean(), abs=0.005)
        assert (band.low[-1], band.high[-1]) == (1, 1)

    def test_the_guided_curve_lies_within_its_band(self, rng: Rng) -> None:
        u = rng.random(200)
        error = np.abs(rng.normal(0, u))
        curve = review.curve("caught", u, error, rng, n_resamples=300)
        assert np.all(
            (curve.band.low <= curve.guided + 1e-9)
            & (curve.guided <= curve.band.high + 1e-9)
        )
        assert curve.guided[60] > review.random_review(error, curve.n).high[60]


class TestGainInterval:
    def test_a_random_uncertainty_has_no_gain_and_a_good_one_has(
        self, rng: Rng
    ) -> None:
        u = rng.random(300)
        error = np.abs(rng.normal(0, u))
        good = review.review_gain_interval(u, error, rng)
        blind = review.review_gain_interval(rng.random(300), error, rng)
        assert good.low > 0.2
        assert blind.low < 0 < blind.high
        assert good.value == pytest.approx(of(review.gain, u, error))

    def test_a_perfect_order_of_few_is_not_certainty_and_one_error_limits_nothing(
        self, rng: Rng
    ) -> None:
        result = review.review_gain_interval(np.arange(20), np.arange(20), rng)
        assert (result.value, result.high) == pytest.approx((1, 1))
        assert 0.5 < result.low <= 0.025 ** (1 / 20)
        assert review.review_gain_interval(
            np.arange(30), np.arange(30) == 3, rng
        ).interval == (
            -1,
            1,
        )


def random_judge(n: int, seed: int) -> tuple[Array, Array]:
    """Scores, and errors of scores that have nothing to do with the labels."""
    score, label = np.random.default_rng([n, seed]).uniform(0, 100, (2, n))
    return score, np.abs(score - label)


def honest(n: int, seed: int) -> tuple[Array, Array, Array]:
    """A doubt that knows the spread of the noise in its score, the errors and the scores."""
    draw = np.random.default_rng([n, seed, 1])
    label, spread = draw.uniform(0, 100, n), 8 * np.exp(draw.normal(0, 0.6, n))
    score = np.clip(label + spread * draw.normal(size=n), 0, 100)
    return spread, np.abs(score - label), score


def worth(doubt: ArrayLike, error: Array, score: Array, **how: Any) -> Estimate:
    return beyond_score(doubt, error, score, 50, **how).estimate


class TestBeyondScore:
    def test_a_random_judge_whose_doubt_is_its_distance_from_the_middle_orders_errors_and_knows_nothing(
        self,
    ) -> None:
        orders = beyond = 0
        for seed in range(40):
            score, error = random_judge(46, seed)
            doubt = np.abs(score - 50)
            orders += (
                review.review_gain_interval(
                    doubt, error, np.random.default_rng(seed)
                ).low
                > 0
            )
            beyond += worth(doubt, error, score).low > 0
        assert orders > 20 and beyond <= 1

    @pytest.mark.parametrize(
        "shape",
        [
            lambda s: s,
            lambda s: -s,
            lambda s: np.minimum(s, 20.0),
            lambda s: np.abs(s - 37),
            lambda s: -((s - 60) ** 2),
            lambda s: (s > 30).astype(float),
            lambda s: np.digitize(np.abs(s - 50), [15, 30]).astype(float),
            lambda s: ((s > 30) & (s < 45)).astype(float),
        ],
    )
    def test_functions_of_the_score_are_named_and_never_worth_anything(
        self, shape: Callable[[Array], Array]
    ) -> None:
        found = [
            beyond_score(shape(s), e, s, 50)
            for s, e in (random_judge(150, seed) for seed in range(12))
        ]
        assert not any(one.estimate.low > 0 for one in found)
        assert sum(one.function for one in found) >= 10

    def test_whatever_function_of_a_score_with_few_values_is_taken_out_whole(
        self,
    ) -> None:
        score, error = random_judge(46, 0)
        levels = np.round(score / 25) * 25
        values = dict(zip(np.unique(levels), (3.0, 1.0, 5.0, 2.0, 4.0), strict=True))
        found = beyond_score([values[level] for level in levels], error, levels, 50)
        assert found.function and found.share_of_score == pytest.approx(1)
        assert np.isnan(found.estimate.value) and found.p_value == 1

    def test_random_doubts_are_believed_as_rarely_as_stated(self) -> None:
        believed = 0
        for seed in range(200):
            score, error = random_judge(30, seed)
            believed += (
                worth(np.random.default_rng(seed).uniform(size=30), error, score).low
                > 0
            )
        assert believed <= 9  # 2.5 % are 5; more than 9 have a probability of 3 %

    def test_doubts_that_know_are_found(self) -> None:
        assert sum(worth(*honest(150, seed)).low > 0 for seed in range(20)) >= 18

    def test_a_reversed_doubt_mirrors_the_interval_and_only_order_counts(self) -> None:
        doubt, error, score = honest(60, 3)
        one, other = worth(doubt, error, score), worth(-doubt, error, score)
        assert other.interval == pytest.approx((-one.high, -one.low), abs=1e-6)
        assert worth(np.exp(doubt / 10), error, score).value == pytest.approx(one.value)

    def test_copies_of_a_text_are_one_unit(self) -> None:
        made = honest(60, 4)
        one, thrice = (
            worth(*made),
            worth(*(np.repeat(v, 3) for v in made), groups=np.repeat(np.arange(60), 3)),
        )
        assert thrice.n_groups == one.n_groups
        assert width(thrice) == pytest.approx(width(one), rel=0.2)

    def test_with_no_noise_the_correlation_is_the_partial_one(self, rng: Rng) -> None:
        """Few score values: the regression is that on one constant per value."""
        score = np.repeat([0.0, 50.0, 100.0], 40)
        error = np.abs(rng.normal(0, 10, 120)) + score / 10
        doubt = stats.norm.ppf(stats.rankdata(error + rng.normal(0, 8, 120)) / 121)
        centred = [
            v - np.repeat(v.reshape(3, 40).mean(axis=1), 40)
            for v in (stats.rankdata(doubt), error)
        ]
        assert worth(doubt, error, score).value == pytest.approx(
            np.corrcoef(*centred)[0, 1]
        )

    def test_the_score_foretells_the_error_of_texts_left_out_where_it_can(
        self, rng: Rng
    ) -> None:
        score, error = random_judge(300, 1)
        errors = np.abs(score - 37), rng.exponential(size=300), error
        of_distance, of_noise, of_judge = (
            of(review.gain, error_by_score(e, score, 50), e) for e in errors
        )
        assert of_distance > 0.99 and abs(of_noise) < 0.25 and of_judge > 0.2

    def test_what_cannot_be_said_is_refused(self, rng: Rng) -> None:
        score, error = random_judge(FEWEST, 0)
        refuses(f"at least {FEWEST}", worth, score[1:], error[1:], score[1:])
        refuses("constant", worth, np.ones(FEWEST), error, score)
        everything = beyond_score(
            rng.uniform(size=FEWEST), np.abs(score - 50), score, 50
        )
        assert isinstance(everything, Beyond) and not everything.estimate.low > 0


def exchanged(*jobs: Array, codes: Array) -> float:
    return sure(
        exchange_p(
            review.gain,
            *jobs,
            codes,
            review.gain.of(jobs[0]) - review.gain.of(jobs[1]),
            499,
            np.random.default_rng(0),
        )
    )


class TestExchange:
    """The doubt of the first of two jobs on the same texts follows its error by `merit`."""

    @staticmethod
    def jobs(rng: Rng, n: int, merit: float) -> list[Array]:
        error = np.abs(rng.normal(size=n)) * 10
        return [
            np.column_stack([m * error + rng.normal(size=n) * 10, error])
            for m in (merit, 0)
        ]

    def test_copies_of_one_unit_are_exchanged_together(self) -> None:
        jobs = self.jobs(np.random.default_rng(3), 12, 0.5)
        copies = [np.repeat(job, 6, axis=0) for job in jobs]
        alone, copied = (
            exchanged(*jobs, codes=np.arange(12)),
            exchanged(*copies, codes=np.repeat(np.arange(12), 6)),
        )
        assert abs(copied - alone) < 0.1
        assert exchanged(*copies, codes=np.arange(72)) < 0.2 * copied

    def test_jobs_without_merit_are_told_apart_no_more_often_than_stated(
        self, rng: Rng
    ) -> None:
        codes = np.repeat(np.arange(20), 3)
        found = [
            exchanged(*(job[codes] for job in self.jobs(rng, 20, 0.0)), codes=codes)
            for _ in range(250)
        ]
        assert np.mean(np.array(found) < 0.05) <= 0.085
        assert exchanged(*self.jobs(rng, 240, 2.0), codes=np.arange(240)) < 0.01
