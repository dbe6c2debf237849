"""AUC and its intervals, attacks, and rank correlation and error with intervals."""

import functools
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from tests.stats.conftest import Rng, held, width
from undogmatic.stats import quality, ranking
from undogmatic.stats.compare import letter_display, ranks
from undogmatic.stats.estimate import Estimate

GROUP = hnp.arrays(
    np.float64, st.integers(2, 15), elements=st.integers(0, 20).map(float)
)

# Hanley and McNeil (1982), doi:10.1148/radiology.143.1.7063747, table I: five ratings of 58 normal,
# 51 abnormal images.
NORMAL = np.repeat([1.0, 2, 3, 4, 5], [33, 6, 6, 11, 2])
ABNORMAL = np.repeat([1.0, 2, 3, 4, 5], [3, 2, 2, 11, 33])


class TestAuc:
    def test_hanley_and_mcneil(self) -> None:
        result = ranking.auc(ABNORMAL, NORMAL)
        assert result.value == pytest.approx(0.893, abs=5e-4)
        assert (result.method, result.n) == ("delong", 51 + 58)
        # The paper's standard error is 0.032; the interval is on the logit scale, so a little
        # longer below.
        assert width(result) / (2 * 1.96) == pytest.approx(0.032, abs=0.003)
        assert result.value - result.low > result.high - result.value

    def test_delongs_variance_by_hand(self) -> None:
        # Positives 2, 4 and negatives 1, 3: placements (1/2, 1) and (1, 1/2), AUC 3/4,
        # each variance 1/8, so the error is sqrt(1/16 + 1/16).
        result = ranking.auc([2.0, 4], [1.0, 3])
        reach = 1.959964 * np.sqrt(1 / 8) / (3 / 16)
        assert result.value == 0.75
        assert np.log(result.high / (1 - result.high)) == pytest.approx(
            np.log(3) + reach, abs=1e-5
        )

    @given(GROUP, GROUP)
    def test_it_is_the_area_scikit_learn_finds(
        self, p: np.ndarray, q: np.ndarray
    ) -> None:
        label = np.r_[np.ones(p.size), np.zeros(q.size)]
        assert ranking.auc(p, q).value == pytest.approx(
            roc_auc_score(label, np.r_[p, q])
        )

    @given(GROUP, GROUP)
    def test_swapping_the_groups_mirrors_the_interval(
        self, p: np.ndarray, q: np.ndarray
    ) -> None:
        here, there = ranking.auc(p, q), ranking.auc(q, p)
        assert (here.value, here.low, here.high) == pytest.approx(
            (1 - there.value, 1 - there.high, 1 - there.low)
        )
        assert here.method == there.method
        assert 0 <= here.low <= here.value <= here.high <= 1

    @given(GROUP, GROUP)
    def test_only_the_order_matters(self, p: np.ndarray, q: np.ndarray) -> None:
        assert ranking.auc(np.exp(p / 4), np.exp(q / 4)) == ranking.auc(p, q)

    def test_perfect_separation_is_not_certainty(self) -> None:
        few, many = (
            ranking.auc([8.0, 9], [1.0, 2]),
            ranking.auc(np.arange(50.0) + 100, np.arange(50.0)),
        )
        assert (few.value, few.high, few.method) == (1, 1, "newcombe")
        assert few.low < 0.6
        assert 0.90 < many.low < 0.97

    def test_one_text_or_no_variation_still_has_an_interval(self) -> None:
        single = ranking.auc([3.0], [1.0, 2, 4, 5])
        assert (single.method, single.value) == ("newcombe", 0.5)
        assert single.low < 0.2 and single.high > 0.8
        tied = ranking.auc([5.0, 5], [5.0, 5, 5])
        assert (tied.value, tied.method) == (0.5, "newcombe")
        assert tied.low < 0.5 < tied.high

    @pytest.mark.parametrize("shift", [0.0, 1.2])
    def test_coverage(self, shift: float, rng: Rng) -> None:
        truth = stats.norm.cdf(shift / np.sqrt(2))
        share = held(
            truth,
            600,
            lambda: ranking.auc(rng.normal(shift, 1, 20), rng.normal(0, 1, 25)),
        )
        assert share == pytest.approx(0.95, abs=0.025)

    def test_coverage_where_separation_is_often_perfect(self, rng: Rng) -> None:
        truth = stats.norm.cdf(3 / np.sqrt(2))
        results = [
            ranking.auc(rng.normal(3, 1, 10), rng.normal(0, 1, 10)) for _ in range(600)
        ]
        assert np.mean([r.method == "newcombe" for r in results]) > 0.2
        assert np.mean([r.low <= truth <= r.high for r in results]) >= 0.93

    def test_without_groups_obuchowskis_variance_is_delongs(self, rng: Rng) -> None:
        p, q = rng.normal(1, 1, 14).round(1), rng.normal(0, 1, 9).round(1)
        alone, grouped = (
            ranking.auc(p, q),
            ranking.auc(p, q, groups_a=range(14), groups_b=range(100, 109)),
        )
        reach = [
            special.logit(found.high) - special.logit(found.value)
            for found in (alone, grouped)
        ]
        # The same error; the quantile is that of t, with Satterthwaite's degrees of freedom of the
        # two sides.
        assert 1 < reach[1] / reach[0] < stats.t.ppf(0.975, 8) / 1.96

    def test_copies_of_texts_are_no_evidence(self, rng: Rng) -> None:
        p, q = rng.normal(1, 1, 8), rng.normal(0, 1, 8)
        alone = ranking.auc(p, q, groups_a=range(8), groups_b=range(8, 16))
        groups = np.repeat(range(16), 5)
        copied = ranking.auc(
            np.repeat(p, 5), np.repeat(q, 5), groups_a=groups[:40], groups_b=groups[40:]
        )
        assert (copied.value, *copied.interval) == pytest.approx(
            (alone.value, *alone.interval)
        )
        apart = ranking.auc(
            [8.0, 9] * 10, [1.0, 2] * 10, groups_a=[0, 1] * 10, groups_b=[2, 3] * 10
        )
        alone = ranking.auc([8.0, 9], [1.0, 2])
        assert (apart.value, apart.interval, apart.method) == (
            alone.value,
            alone.interval,
            alone.method,
        )

    @pytest.mark.parametrize("paired_texts", [True, False])
    def test_coverage_with_groups(self, paired_texts: bool, rng: Rng) -> None:
        """Groups of 2 to 4 texts: DeLong's interval holds the area in 82 % of samples where sides
        differ in groups."""

        def draw() -> Estimate:
            groups = np.repeat(np.arange(10), rng.integers(2, 5, 10))
            first = 0.8 * rng.normal(size=10)
            second = first if paired_texts else 0.8 * rng.normal(size=10)
            p = 1 + first[groups] + 0.6 * rng.normal(size=groups.size)
            q = second[groups] + 0.6 * rng.normal(size=groups.size)
            return ranking.auc(
                p, q, groups_a=groups, groups_b=groups if paired_texts else groups + 10
            )

        assert held(stats.norm.cdf(1 / np.sqrt(2)), 300, draw) >= 0.92


class TestMeanShift:
    def test_it_has_welchs_interval_without_texts_no_shift_and_of_one_text_no_interval(
        self, rng: Rng
    ) -> None:
        share = held(
            -20,
            300,
            lambda: ranking.mean_shift(rng.normal(60, 15, 12), rng.normal(80, 5, 20)),
        )
        assert share == pytest.approx(0.95, abs=0.03)
        assert np.isnan(ranking.mean_shift([20.0], []).value)
        single = ranking.mean_shift([20.0], [90.0, 95])
        assert single.value == -72.5 and np.isnan(single.interval).all()


class TestSpearmanInterval:
    def test_it_holds_scipys_estimate_and_mirrors(self, rng: Rng) -> None:
        x, noise = rng.normal(size=(2, 40))
        y = x + noise
        here, there = (
            ranking.spearman_interval(x, turned, np.random.default_rng(1))
            for turned in (y, -y)
        )
        assert here.value == pytest.approx(stats.spearmanr(x, y).statistic)
        assert -1 <= here.low < here.value < here.high <= 1
        assert there.interval == pytest.approx((-here.high, -here.low))

    def test_coverage(self) -> None:
        rng = np.random.default_rng(7)

        def draw() -> Estimate:
            return ranking.spearman_interval(
                *rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60).T, rng
            )

        # Spearman's rho of a bivariate normal with correlation r is (6/pi) arcsin(r/2).
        assert 0.90 <= held(6 / np.pi * np.arcsin(0.6 / 2), 150, draw) <= 0.98


class TestMeanAbsoluteError:
    def test_hand_computed_and_symmetric(self) -> None:
        truth, predicted = [10.0, 20, 30, 40], [12.0, 16, 30, 50]
        here = ranking.mean_absolute_error(truth, predicted)
        assert here.value == 4 and 0 <= here.low < 4 < here.high
        assert ranking.mean_absolute_error(predicted, truth) == here
        assert ranking.mean_absolute_error(truth, predicted, span=10).high == 10

    def test_no_error_at_all_is_not_certainty_and_groups_are_the_units(self) -> None:
        labels = np.arange(20.0)
        assert ranking.mean_absolute_error(labels, labels).high == np.inf
        assert 15 < ranking.mean_absolute_error(labels, labels, span=100).high < 20
        result = ranking.mean_absolute_error(
            np.zeros(6), [1.0, 1, 2, 2, 6, 6], groups=list("aabbcc")
        )
        assert (result.n_groups, result.value) == (3, 3)


NAMES = list("ABCDEFG")
PAIRS = list(combinations(NAMES, 2))


class TestLetters:
    @given(st.sets(st.sampled_from(PAIRS)))
    def test_two_names_share_a_letter_exactly_if_they_do_not_differ(
        self, different: set[tuple[str, str]]
    ) -> None:
        found = letter_display(NAMES, different)
        for one, other in PAIRS:
            assert bool(set(found[one]) & set(found[other])) == (
                (one, other) not in different
            )

    def test_the_best_gets_the_first_letter_and_no_letter_is_superfluous(self) -> None:
        assert letter_display(["x", "y", "z"], [("z", "x")]) == {
            "x": "a",
            "y": "ab",
            "z": "b",
        }
        assert letter_display(["x", "y"], []) == {"x": "a", "y": "a"}
        assert letter_display(["x", "y", "z"], list(combinations("xyz", 2))) == {
            "x": "a",
            "y": "b",
            "z": "c",
        }

    def test_every_group_has_a_letter_of_its_own_or_nobody_has_any(self) -> None:
        names = [str(n) for n in range(52)]
        apart = list(combinations(names, 2))
        assert len(set(letter_display(names, apart).values())) == 52
        assert (
            letter_display([*names, "x"], [*apart, *((name, "x") for name in names)])
            == {}
        )


class TestPlaces:
    def test_one_that_is_ahead_in_every_case_is_first_in_every_resample_and_equals_share_it(
        self, rng: Rng
    ) -> None:
        found = ranks(np.linspace([0.1, 0.3, 0.2], [0.5, 0.7, 0.6], 8), rng)
        assert (
            found.place.tolist()
            == found.ends.low.tolist()
            == found.ends.high.tolist()
            == [3, 1, 2]
        )
        assert found.first.tolist() == [0, 1, 0]
        equal = ranks(np.linspace([0, 0], [1, 1], 6), rng)
        assert (equal.place.tolist(), equal.first.tolist()) == ([1.5, 1.5], [0.5, 0.5])

    def test_turning_the_values_around_mirrors_the_places(self, rng: Rng) -> None:
        values = rng.normal(size=(12, 4))
        up, down = (ranks(own, np.random.default_rng(1)) for own in (values, -values))
        assert (up.place == 5 - down.place).all()
        assert abs(up.first.sum() - 1) < 1e-12
        assert (up.ends.low <= up.place).all() and (up.place <= up.ends.high).all()

    def test_cases_of_one_group_are_drawn_together(self, rng: Rng) -> None:
        values = np.array([[1.0, 0.0]] * 4 + [[0.0, 0.5]])
        alone, together = ranks(values, rng), ranks(values, rng, groups=list("aaaab"))
        assert together.n_units == 2 and together.first[0] < alone.first[0]


class TestOfSingleJudgments:
    def test_pairs(self) -> None:
        assert [quality.order(*pair) for pair in ((2, 1), (1, 1), (1, 2))] == [
            1,
            0.5,
            0,
        ]
        assert [quality.margin(*pair, 100) for pair in ((100, 0), (30, 30))] == [1, 0.5]
        assert quality.margin(20, 50, 100) + quality.margin(
            50, 20, 100
        ) == pytest.approx(1)

    def test_the_area_under_the_curve_is_the_concordance_of_two_labels(
        self, rng: Rng
    ) -> None:
        labels, scores = rng.integers(2, size=60), np.round(rng.normal(size=60), 1)
        assert quality.concordance(scores, labels) == pytest.approx(
            roc_auc_score(labels, scores)
        )
        assert quality.concordance(-scores, labels) == pytest.approx(
            1 - roc_auc_score(labels, scores)
        )
        assert np.isnan(quality.concordance(scores, np.ones(60)))

    def test_crps_of_one_certain_value_is_its_closeness_and_spread_is_punished(
        self,
    ) -> None:
        assert quality.crps([0, 50, 100], [0, 1, 0], 80, 100) == pytest.approx(
            quality.closeness(50, 80, 100)
        )
        honest, vague = ([0.1, 0.8, 0.1], [1 / 3, 1 / 3, 1 / 3])
        assert quality.crps([0, 50, 100], honest, 50, 100) > quality.crps(
            [0, 50, 100], vague, 50, 100
        )

    @pytest.mark.parametrize(
        "score", [quality.log_score, functools.partial(quality.crps, span=100)]
    )
    def test_scores_of_distributions_are_proper(
        self, score: Callable[..., float], rng: Rng
    ) -> None:
        """On average nobody earns more than by saying the true distribution."""
        values = [0.0, 50.0, 100.0]
        for _ in range(50):
            true, other = rng.dirichlet([2, 2, 2], size=2)
            honest, lie = (
                true @ [score(values, said.tolist(), v) for v in values]
                for said in (true, other)
            )
            assert honest >= lie - 1e-12

    def test_what_is_thought_impossible_costs_no_more_than_a_floor(self) -> None:
        assert [quality.log_score([0, 100], [1, 0], found) for found in (100, 10)] == [
            0,
            1,
        ]

    def test_what_an_exchange_adds_is_what_exchanging_gives(self, rng: Rng) -> None:
        for labels in (
            rng.normal(size=12),
            np.arange(12) % 2,
            rng.integers(3, size=12),
        ):
            one, other = rng.integers(6, size=(2, 12)).astype(float)  # with ties
            start, added = quality.exchange(one, other, labels)
            for _ in range(20):
                turned = rng.integers(2, size=12).astype(bool)
                mixed = np.where(turned, other, one), np.where(turned, one, other)
                expected = np.subtract(
                    *(quality.concordance(each, labels) for each in mixed[::-1])
                )
                assert start + added[turned].sum() == pytest.approx(expected)
        assert np.isnan(quality.exchange(one, other, np.ones(12))[0])


@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_without_a_fault_among_steps_is_nearly_certain(sign: int) -> None:
    """Forty scores that rise with five labels: their correlation is below 1, and no item that is
    left out changes it."""
    labels = np.repeat(np.arange(5.0), 8)
    found = ranking.spearman_interval(
        sign * np.arange(40.0), labels, np.random.default_rng(0)
    )
    nearer, farther = sorted((sign * found.low, sign * found.high))
    assert sign * found.value == pytest.approx(0.98, abs=0.001)
    assert 0.025 ** (1 / 40) >= nearer > 0.9 and 0.98 < farther < 1
