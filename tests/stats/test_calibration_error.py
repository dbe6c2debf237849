"""Are stated probabilities kept: by hand, by definition, and intervals that hold what they promise."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undogmatic.stats import calibration_error, jackknife

CONFIDENCE = hnp.arrays(np.float64, 30, elements=st.integers(0, 20).map(lambda i: i / 20))
CORRECT = hnp.arrays(np.float64, 30, elements=st.sampled_from([0.0, 1.0]))


class TestHonesty:
    def test_expected_calibration_error_by_hand(self) -> None:
        # Bin [0.5, 0.75): 0.6, 0.7 with one right, gap 0.15; bin [0.75, 1]: 0.8, 1.0 both right, gap 0.1.
        confidence, correct = [0.6, 0.7, 0.8, 1.0], [0, 1, 1, 1]
        table = calibration_error.reliability_table(confidence, correct, n_bins=4)
        assert [(row.low, row.high, row.accuracy.n) for row in table] == [(0.5, 0.75, 2), (0.75, 1.0, 2)]
        assert [row.gap for row in table] == pytest.approx([-0.15, 0.1])
        assert calibration_error.expected_calibration_error(confidence, correct, n_bins=4) == pytest.approx(0.125)

    @given(CONFIDENCE, CORRECT)
    def test_every_item_is_in_one_bin_and_ties_stay_together(self, confidence: np.ndarray, correct: np.ndarray) -> None:
        table = calibration_error.reliability_table(confidence, correct, 7)
        assert sum(row.accuracy.n for row in table) == 30
        assert sum(row.accuracy.hits for row in table) == pytest.approx(correct.sum())
        assert sum(row.accuracy.n * row.mean_confidence for row in table) == pytest.approx(confidence.sum())
        assert all(a.high <= b.low for a, b in pairwise(table))
        assert all(row.low - 1e-9 <= row.mean_confidence <= row.high + 1e-9 for row in table)
        assert all(row.accuracy.low <= row.accuracy.value <= row.accuracy.high for row in table)
        assert 0 <= calibration_error.expected_calibration_error(confidence, correct, 7) <= 1

    @given(CONFIDENCE, CORRECT)
    def test_one_bin_is_the_overall_gap_and_bounds_every_other(self, c: np.ndarray, right: np.ndarray) -> None:
        overall = abs(c.mean() - right.mean())
        assert calibration_error.expected_calibration_error(c, right, 1) == pytest.approx(overall)
        assert calibration_error.expected_calibration_error(c, right, 10) >= overall - 1e-9

    def test_an_honest_judge_has_a_small_error_and_a_boastful_one_a_large(self) -> None:
        rng = np.random.default_rng(43)
        confidence = rng.uniform(0.5, 1, 5000)
        honest = rng.random(5000) < confidence
        boastful = rng.random(5000) < confidence - 0.3
        assert calibration_error.expected_calibration_error(confidence, honest, 10) < 0.03
        assert calibration_error.expected_calibration_error(confidence, boastful, 10) == pytest.approx(0.3, abs=0.03)

    def test_percentages_and_other_outcomes_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"`confidence` must lie in .* divide a percentage"):
            calibration_error.expected_calibration_error([80.0], [1])
        with pytest.raises(ValueError, match="`correct` must hold only 0 and 1"):
            calibration_error.expected_calibration_error([0.5], [0.5])
        with pytest.raises(ValueError, match="`n_bins` is 0"):
            calibration_error.reliability_table([0.5], [1], n_bins=0)


def test_a_perfectly_calibrated_judge_has_a_calibration_error_too() -> None:
    draw = np.random.default_rng(4)
    assert calibration_error.error_if_perfect([0.5], draw) == pytest.approx(0.5)  # right or wrong, half away
    means = [
        calibration_error.error_if_perfect(draw.uniform(size=n), draw, n_draws=300).mean() for n in (30, 300, 3000)
    ]
    assert means[0] > 0.1 > means[1] > 0.02 > means[2]
    stated = draw.uniform(size=60)
    together = calibration_error.error_if_perfect(stated, draw, groups=np.repeat(np.arange(6), 10))
    assert together.mean() > calibration_error.error_if_perfect(stated, draw).mean()


def of_a_judge(rng: np.random.Generator, n: int, off: float) -> tuple[np.ndarray, np.ndarray]:
    """Stated probabilities from 0.5 to 1, and items that are right so much less often."""
    stated = rng.uniform(0.5, 1, n)
    return stated, rng.random(n) < stated - off


class TestInterval:
    def test_a_judge_that_keeps_its_word_may_have_no_calibration_error(self) -> None:
        rng = np.random.default_rng(5)
        found = [calibration_error.error_interval(*of_a_judge(rng, 30, 0.0), rng) for _ in range(100)]
        assert min(own.estimate.value for own in found) > 0.02  # so that an interval round it would leave 0 out
        assert sum(own.estimate.low > 0 for own in found) <= 5

    def test_one_that_boasts_is_found_out_and_its_error_held(self) -> None:
        rng = np.random.default_rng(6)
        found = [calibration_error.error_interval(*of_a_judge(rng, 200, 0.3), rng) for _ in range(40)]
        assert all(0 < own.estimate.low <= 0.3 <= own.estimate.high for own in found[:1])
        assert sum(0 < own.estimate.low <= 0.3 <= own.estimate.high for own in found) >= 36

    def test_ten_right_answers_do_not_show_that_the_next_is(self) -> None:
        found = calibration_error.error_interval(np.full(10, 0.95), np.ones(10), np.random.default_rng(0))
        assert found.estimate.value == pytest.approx(0.05)
        assert found.estimate.high > 0.25

    def test_copies_add_nothing(self) -> None:
        stated, right = of_a_judge(np.random.default_rng(7), 12, 0.2)
        copies = [np.repeat(column, 8) for column in (stated, right)]
        groups = np.repeat(np.arange(12), 8)
        alone = calibration_error.error_interval(stated, right, np.random.default_rng(0))
        grouped = calibration_error.error_interval(*copies, np.random.default_rng(0), groups=groups)
        assert grouped.estimate.value == pytest.approx(alone.estimate.value)
        assert grouped.estimate.high - grouped.estimate.low > 0.9 * (alone.estimate.high - alone.estimate.low)
        bins = calibration_error.reliability_table(*copies, groups=groups)
        loose = calibration_error.reliability_table(*copies)
        widths = [[row.accuracy.high - row.accuracy.low for row in table] for table in (bins, loose)]
        assert np.all(np.greater(*widths))

    def test_one_unit_is_refused(self) -> None:
        with pytest.raises(ValueError, match="1 units"):
            calibration_error.error_interval([0.5, 0.6], [1, 0], np.random.default_rng(0), groups=["a", "a"])


class TestDifference:
    """Of two judges' calibration errors on the same items."""

    def between(self, rng: np.random.Generator, n: int, off: tuple[float, float]) -> tuple[float, float]:
        judges = [np.column_stack(of_a_judge(rng, n, own)).astype(float) for own in off]
        found = [jackknife.LeftOut(own, calibration_error.calibration_error(10), rng, None) for own in judges]
        noises = [calibration_error.Noise(own, rng, 10, 300) for own in found]
        return calibration_error.error_difference(found[0], found[1], (noises[0], noises[1]), 0.95)

    def test_it_is_held_where_one_keeps_its_word_and_the_other_does_not(self) -> None:
        """Noise adds more to the error of the first: a paired bootstrap held their difference in 75 %."""
        rng = np.random.default_rng(8)
        ends = [self.between(rng, 30, (0.0, 0.2)) for _ in range(150)]
        assert sum(low <= -0.2 <= high for low, high in ends) >= 136

    def test_one_that_boasts_is_told_from_one_that_does_not(self) -> None:
        low, high = self.between(np.random.default_rng(9), 400, (0.0, 0.35))
        assert -1 <= low < -0.35 < high < 0

    def test_equal_judges_are_not_told_apart(self) -> None:
        rng = np.random.default_rng(10)
        assert sum(low <= 0 <= high for low, high in (self.between(rng, 40, (0.1, 0.1)) for _ in range(40))) >= 39
