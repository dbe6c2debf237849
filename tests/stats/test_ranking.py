"""AUC and its intervals, attacks, and rank correlation and error with intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from tests.stats.conftest import held
from undogmatic.stats import ranking
from undogmatic.stats.estimate import Estimate

GROUP = hnp.arrays(np.float64, st.integers(2, 15), elements=st.integers(0, 20).map(float))

# Hanley and McNeil (1982), doi:10.1148/radiology.143.1.7063747, table I: five ratings of 58 normal, 51 abnormal images.
NORMAL = np.repeat([1.0, 2, 3, 4, 5], [33, 6, 6, 11, 2])
ABNORMAL = np.repeat([1.0, 2, 3, 4, 5], [3, 2, 2, 11, 33])


class TestAuc:
    def test_hanley_and_mcneil(self) -> None:
        result = ranking.auc(ABNORMAL, NORMAL)
        assert result.value == pytest.approx(0.893, abs=5e-4)
        assert (result.method, result.n) == ("delong", 51 + 58)
        # The paper's standard error is 0.032; the interval is on the logit scale, so a little longer below.
        assert (result.high - result.low) / (2 * 1.96) == pytest.approx(0.032, abs=0.003)
        assert result.value - result.low > result.high - result.value

    def test_delongs_variance_by_hand(self) -> None:
        # Positives 2, 4 and negatives 1, 3: placements (1/2, 1) and (1, 1/2), AUC 3/4,
        # each variance 1/8, so the error is sqrt(1/16 + 1/16).
        result = ranking.auc([2.0, 4], [1.0, 3])
        reach = 1.959964 * np.sqrt(1 / 8) / (3 / 16)
        assert result.value == 0.75
        assert np.log(result.high / (1 - result.high)) == pytest.approx(np.log(3) + reach, abs=1e-5)

    @given(GROUP, GROUP)
    def test_it_is_the_area_scikit_learn_finds(self, p: np.ndarray, q: np.ndarray) -> None:
        label = np.r_[np.ones(p.size), np.zeros(q.size)]
        assert ranking.auc(p, q).value == pytest.approx(roc_auc_score(label, np.r_[p, q]))

    @given(GROUP, GROUP)
    def test_swapping_the_groups_mirrors_the_interval(self, p: np.ndarray, q: np.ndarray) -> None:
        here, there = ranking.auc(p, q), ranking.auc(q, p)
        assert (here.value, here.low, here.high) == pytest.approx((1 - there.value, 1 - there.high, 1 - there.low))
        assert here.method == there.method
        assert 0 <= here.low <= here.value <= here.high <= 1

    @given(GROUP, GROUP)
    def test_only_the_order_matters(self, p: np.ndarray, q: np.ndarray) -> None:
        assert ranking.auc(np.exp(p / 4), np.exp(q / 4)) == ranking.auc(p, q)

    def test_perfect_separation_is_not_certainty(self) -> None:
        few, many = ranking.auc([8.0, 9], [1.0, 2]), ranking.auc(np.arange(50.0) + 100, np.arange(50.0))
        assert (few.value, few.high, few.method) == (1, 1, "newcombe")
        assert few.low < 0.6
        assert 0.90 < many.low < 0.97

    def test_one_text_or_no_variation_still_has_an_interval(self) -> None:
        single = ranking.auc([3.0], [1.0, 2, 4, 5])
        assert (single.method, single.value) == ("newcombe", 0.5)
        assert single.low < 0.2
        assert single.high > 0.8
        tied = ranking.auc([5.0, 5], [5.0, 5, 5])
        assert (tied.value, tied.method) == (0.5, "newcombe")
        assert tied.low < 0.5 < tied.high

    @pytest.mark.parametrize("shift", [0.0, 1.2])
    def test_coverage(self, shift: float) -> None:
        rng = np.random.default_rng(21)
        truth = stats.norm.cdf(shift / np.sqrt(2))
        share = held(truth, 600, lambda: ranking.auc(rng.normal(shift, 1, 20), rng.normal(0, 1, 25)))
        assert share == pytest.approx(0.95, abs=0.025)

    def test_coverage_where_separation_is_often_perfect(self) -> None:
        rng = np.random.default_rng(22)
        truth = stats.norm.cdf(3 / np.sqrt(2))
        results = [ranking.auc(rng.normal(3, 1, 10), rng.normal(0, 1, 10)) for _ in range(600)]
        assert np.mean([r.method == "newcombe" for r in results]) > 0.2
        assert np.mean([r.low <= truth <= r.high for r in results]) >= 0.93

    def test_without_groups_obuchowskis_variance_is_delongs(self) -> None:
        rng = np.random.default_rng(30)
        p, q = rng.normal(1, 1, 14).round(1), rng.normal(0, 1, 9).round(1)
        alone, grouped = ranking.auc(p, q), ranking.auc(p, q, groups_a=range(14), groups_b=range(100, 109))
        reach = [special.logit(found.high) - special.logit(found.value) for found in (alone, grouped)]
        # The same error; the quantile is that of t, with Satterthwaite's degrees of freedom of the two sides.
        assert 1 < reach[1] / reach[0] < stats.t.ppf(0.975, 8) / 1.96

    def test_copies_of_texts_are_no_evidence(self) -> None:
        rng = np.random.default_rng(31)
        p, q = rng.normal(1, 1, 8), rng.normal(0, 1, 8)
        alone = ranking.auc(p, q, groups_a=range(8), groups_b=range(8, 16))
        groups = np.repeat(range(16), 5)
        copied = ranking.auc(np.repeat(p, 5), np.repeat(q, 5), groups_a=groups[:40], groups_b=groups[40:])
        assert (copied.value, *copied.interval) == pytest.approx((alone.value, *alone.interval))
        apart = ranking.auc([8.0, 9] * 10, [1.0, 2] * 10, groups_a=[0, 1] * 10, groups_b=[2, 3] * 10)
        alone = ranking.auc([8.0, 9], [1.0, 2])
        assert (apart.value, apart.interval, apart.method) == (alone.value, alone.interval, alone.method)

    @pytest.mark.parametrize("paired_texts", [True, False])
    def test_coverage_with_groups(self, paired_texts: bool) -> None:
        """Groups of 2 to 4 texts: DeLong's interval holds the area in 82 % of samples where sides differ in groups."""
        rng = np.random.default_rng(32)

        def draw() -> Estimate:
            groups = np.repeat(np.arange(10), rng.integers(2, 5, 10))
            first = 0.8 * rng.normal(size=10)
            second = first if paired_texts else 0.8 * rng.normal(size=10)
            p = 1 + first[groups] + 0.6 * rng.normal(size=groups.size)
            q = second[groups] + 0.6 * rng.normal(size=groups.size)
            return ranking.auc(p, q, groups_a=groups, groups_b=groups if paired_texts else groups + 10)

        assert held(stats.norm.cdf(1 / np.sqrt(2)), 300, draw) >= 0.92


class TestMeanShift:
    def test_welchs_interval(self) -> None:
        rng = np.random.default_rng(5)
        share = held(-20, 300, lambda: ranking.mean_shift(rng.normal(60, 15, 12), rng.normal(80, 5, 20)))
        assert share == pytest.approx(0.95, abs=0.03)

    def test_without_texts_there_is_no_shift_and_one_text_has_no_interval(self) -> None:
        assert np.isnan(ranking.mean_shift([20.0], []).value)
        single = ranking.mean_shift([20.0], [90.0, 95])
        assert single.value == -72.5
        assert np.isnan(single.interval).all()


class TestSpearmanInterval:
    def test_it_holds_scipys_estimate_and_mirrors(self) -> None:
        rng = np.random.default_rng(6)
        x = rng.normal(size=40)
        y = x + rng.normal(size=40)
        here = ranking.spearman_interval(x, y, np.random.default_rng(1))
        there = ranking.spearman_interval(x, -y, np.random.default_rng(1))
        assert here.value == pytest.approx(stats.spearmanr(x, y).statistic)
        assert -1 <= here.low < here.value < here.high <= 1
        assert there.interval == pytest.approx((-here.high, -here.low))

    def test_coverage(self) -> None:
        rng = np.random.default_rng(7)

        def draw() -> Estimate:
            return ranking.spearman_interval(*rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=60).T, rng)

        # Spearman's rho of a bivariate normal with correlation r is (6/pi) arcsin(r/2).
        assert 0.90 <= held(6 / np.pi * np.arcsin(0.6 / 2), 150, draw) <= 0.98
