"""Failed judgments: McNemar's exact test, and the doubly robust mean where that of complete pairs is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from undogmatic.stats import missing

NAN = np.nan


def sides(both: int, only_a: int, only_b: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    """So many pairs of which the judge failed on both sides, on one, or on neither."""
    a = np.array([NAN] * (both + only_a) + [1.0] * (only_b + neither))
    b = np.array([NAN] * both + [1.0] * only_a + [NAN] * only_b + [1.0] * neither)
    return a, b


class TestFailureTest:
    @pytest.mark.parametrize("counts", [(2, 9, 1, 30), (0, 3, 3, 10), (5, 1, 12, 4)])
    def test_of_single_pairs_it_is_mcnemars_exact_test(self, counts: tuple[int, int, int, int]) -> None:
        found = missing.failure_test(*sides(*counts))
        both, only_a, only_b, neither = counts
        expected = mcnemar([[neither, only_a], [only_b, both]], exact=True).pvalue
        assert found.p_value == pytest.approx(expected)
        assert (found.n_a, found.n_b, found.n_more_a, found.n_more_b) == (both + only_a, both + only_b, only_a, only_b)

    def test_copies_of_pairs_are_no_further_evidence(self) -> None:
        a, b = sides(0, 4, 0, 6)
        once = missing.failure_test(a, b)
        copied = missing.failure_test(np.tile(a, 8), np.tile(b, 8), list(range(10)) * 8)
        assert copied.p_value == once.p_value == pytest.approx(2 / 16)
        assert copied.n_a == 32

    def test_where_no_pair_has_a_failure_on_one_side_alone_nothing_is_tested(self) -> None:
        assert missing.failure_test(*sides(3, 0, 0, 5)).p_value is None
        assert missing.failure_test([1.0], [2.0]).p_value is None

    def test_sides_of_unequal_length_are_refused(self) -> None:
        with pytest.raises(ValueError, match="matched one to one"):
            missing.failure_test([1.0, 2.0], [1.0])


class TestRobustDifference:
    @staticmethod
    def draw(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """True difference 20; longer texts score higher, and long texts of side a are refused more often."""
        rng = np.random.default_rng(seed)
        length, pair = rng.normal(0, 1, (n, 2)), rng.normal(0, 8, n)
        a = 60 + 10 * length[:, 0] + pair + rng.normal(0, 6, n)
        b = 40 + 5 * length[:, 1] + pair + rng.normal(0, 6, n)
        refused = rng.random(n) < 1 / (1 + np.exp(0.8 - 1.5 * length[:, 0]))
        return np.where(refused, NAN, a), np.where(rng.random(n) < 0.1, NAN, b), length[:, :1], length[:, 1:]

    def test_it_covers_where_the_mean_of_complete_pairs_is_biased(self) -> None:
        covered, estimates, plain = [], [], []
        for seed in range(16):
            a, b, of_a, of_b = self.draw(seed)
            found = missing.robust_difference(a, b, (of_a, of_b), np.random.default_rng(seed))
            assert found is not None
            covered.append(found.low <= 20 <= found.high)
            estimates.append(found.value)
            plain.append(np.nanmean(a - b))
        assert np.mean(covered) >= 0.78  # 95 % less three standard errors of 16 trials
        assert abs(np.mean(estimates) - 20) < 2 < 20 - np.mean(plain)

    def test_copies_do_not_narrow_it(self) -> None:
        a, b, of_a, of_b = self.draw(1)
        once = missing.robust_difference(a, b, (of_a, of_b), np.random.default_rng(0))
        groups = list(range(len(a))) * 4
        tiled = (np.tile(of_a, (4, 1)), np.tile(of_b, (4, 1)))
        copied = missing.robust_difference(np.tile(a, 4), np.tile(b, 4), tiled, np.random.default_rng(0), groups=groups)
        assert once is not None
        assert copied is not None
        assert copied.n_groups == once.n_groups == len(a)
        assert copied.high - copied.low > 0.8 * (once.high - once.low)

    def test_too_little_to_fit_with_gives_none(self) -> None:
        a, b, of_a, of_b = self.draw(2)
        rng = np.random.default_rng(0)
        whole = np.where(np.isnan(a), 50.0, a), np.where(np.isnan(b), 50.0, b)
        assert missing.robust_difference(*whole, (of_a, of_b), rng) is None
        assert missing.robust_difference(a, b, (of_a, of_b), rng, groups=["one"] * 40 + ["two"] * 40) is None
        assert missing.robust_difference(np.full(80, NAN), b, (of_a, of_b), rng) is None
