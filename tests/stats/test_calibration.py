"""Calibrations as plain data, honesty measures, and the guard against fitting on what is
evaluated."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike
from scipy import stats

from tests.stats.conftest import Rng, refuses, width
from undogmatic.stats import calibration, jackknife

RAW = [40.0, 42, 44, 46, 48, 50, 52, 54]
SCALE = (0.0, 100.0)
GOLD = [0.0, 10, 25, 20, 50, 75, 90, 100]


KINDS = pytest.mark.parametrize("kind", ["platt", "isotonic", "linear"])


def error(confidence: ArrayLike, correct: ArrayLike, n_bins: int = 10) -> float:
    return calibration.calibration_error(n_bins).of(
        np.column_stack([confidence, correct])
    )


class TestFitAndApply:
    @KINDS
    def test_a_calibration_survives_json(self, kind: str) -> None:
        fitted = calibration.fit(kind, RAW, GOLD, SCALE)
        assert (fitted["kind"], fitted["n"]) == (kind, 8)
        again = json.loads(json.dumps(fitted, allow_nan=False))
        points = np.linspace(30, 60, 31)
        assert (
            calibration.apply(again, points).tolist()
            == calibration.apply(fitted, points).tolist()
        )

    @KINDS
    def test_order_is_kept_and_the_scale_never_left(self, kind: str) -> None:
        scores = calibration.apply(
            calibration.fit(kind, RAW, GOLD, SCALE), np.linspace(-1000, 1000, 501)
        )
        assert np.all(np.diff(scores) >= 0)
        assert 0 <= scores.min() < 5 and 95 < scores.max() <= 100

    @KINDS
    def test_a_squeezed_judge_is_spread_over_the_scale(
        self, kind: str, rng: Rng
    ) -> None:
        gold = rng.uniform(0, 100, 400)
        raw = 45 + 0.1 * gold + rng.normal(0, 0.7, 400)
        fitted = calibration.fit(kind, raw[:200], gold[:200], SCALE)
        missed = np.abs(calibration.apply(fitted, raw[200:]) - gold[200:]).mean()
        assert missed < min(8, 0.5 * np.abs(raw[200:] - gold[200:]).mean())

    def test_isotonic_is_the_pooled_means_by_hand(self) -> None:
        # 25 and 20 are out of order and pool to 22.5.
        fitted = calibration.fit("isotonic", RAW, GOLD, SCALE)
        assert calibration.apply(fitted, [44.0, 45, 46, 30, 99]) == pytest.approx(
            [22.5, 22.5, 22.5, 0, 100]
        )

    def test_linear_recovers_a_line_and_is_clipped(self) -> None:
        fitted = calibration.fit("linear", [1.0, 2, 3], [10.0, 30, 50], scale=(0, 50))
        assert (fitted["slope"], fitted["intercept"]) == pytest.approx((20, -10))
        assert calibration.apply(fitted, [0.0, 2.5, 9]) == pytest.approx([0, 40, 50])

    def test_platt_recovers_the_curve_that_made_the_labels(self, rng: Rng) -> None:
        raw = rng.normal(0, 2, 20000)
        label = rng.random(20000) < stats.logistic.cdf(1.5 * raw - 0.5)
        fitted = calibration.fit("platt", raw, label, (0, 1))
        assert (fitted["slope"], fitted["intercept"]) == pytest.approx(
            (1.5, -0.5), abs=0.08
        )

    def test_platt_targets_keep_perfect_separation_finite(self) -> None:
        # Platt's targets are 1/5 and 4/5; at the optimum the misses balance, alone and weighted by
        # the raw score.
        raw, label = [1.0, 2, 3, 11, 12, 13], np.repeat([0, 1], 3)
        missed = calibration.apply(
            calibration.fit("platt", raw, label, scale=(0, 1)), raw
        ) - (0.2 + 0.6 * label)
        assert missed.sum() == pytest.approx(0, abs=1e-8)
        assert missed @ raw == pytest.approx(0, abs=1e-7)

    @given(st.floats(0.01, 100), st.floats(-50, 50))
    def test_the_unit_of_the_raw_score_does_not_matter(
        self, factor: float, shift: float
    ) -> None:
        moved = factor * np.array(RAW) + shift
        here, there = (
            calibration.apply(calibration.fit("platt", raw, GOLD, SCALE), raw)
            for raw in (RAW, moved)
        )
        assert there == pytest.approx(here, abs=1e-4)


def _divided(levels_probs: ArrayLike, content_free_probs: ArrayLike) -> np.ndarray:
    return calibration.apply(
        calibration.fit_content_free(content_free_probs), levels_probs
    )


class TestContentFree:
    def test_what_the_prompt_favours_is_divided_out_and_by_zero_nothing(self) -> None:
        # 0.6/0.75 to 0.4/0.25 is 1 to 2: the level the prompt favours loses.
        assert _divided([0.6, 0.4], [0.75, 0.25]) == pytest.approx([1 / 3, 2 / 3])
        never_named = _divided([0.5, 0.5], [1.0, 0.0])
        assert never_named[1] > 0.999 and never_named.sum() == pytest.approx(1)

    @given(hnp.arrays(np.float64, (3, 4), elements=st.floats(0.05, 1)))
    def test_content_free_text_becomes_uniform_and_no_bias_changes_nothing(
        self, weights: np.ndarray
    ) -> None:
        p = weights / weights.sum(axis=1, keepdims=True)
        baseline = p.mean(axis=0)
        assert _divided(baseline, p) == pytest.approx(np.full(4, 0.25))
        assert _divided(p, np.full(4, 0.25)) == pytest.approx(p)

    def test_fitted_once_and_applied_from_json(self) -> None:
        fitted = json.loads(
            json.dumps(calibration.fit_content_free([[0.8, 0.2], [0.7, 0.3]]))
        )
        assert fitted["n"] == 2
        assert calibration.apply(fitted, [[0.6, 0.4]]) == pytest.approx(
            np.array([[1 / 3, 2 / 3]])
        )


def test_disjoint_parts_pass_and_a_number_equals_its_text() -> None:
    calibration.split_check(["a", "b"], ["c"])
    calibration.split_check([], ["c"])
    refuses("share 1 ids: 7", calibration.split_check, [7], ["7"])


CONFIDENCE = hnp.arrays(
    np.float64, 30, elements=st.integers(0, 20).map(lambda i: i / 20)
)
CORRECT = hnp.arrays(np.float64, 30, elements=st.sampled_from([0.0, 1.0]))


class TestHonesty:
    def test_expected_calibration_error_by_hand(self) -> None:
        # Bin [0.5, 0.75): 0.6, 0.7 with one right, gap 0.15; bin [0.75, 1]: 0.8, 1.0 both right,
        # gap 0.1.
        confidence, correct = [0.6, 0.7, 0.8, 1.0], [0, 1, 1, 1]
        table = calibration.reliability_table(confidence, correct, n_bins=4)
        assert table[["low", "high", "n"]].to_numpy().tolist() == [
            [0.5, 0.75, 2],
            [0.75, 1.0, 2],
        ]
        assert table["gap"].tolist() == pytest.approx([-0.15, 0.1])
        assert error(confidence, correct, n_bins=4) == pytest.approx(0.125)

    @given(CONFIDENCE, CORRECT)
    def test_every_item_is_in_one_bin_and_ties_stay_together(
        self, confidence: np.ndarray, correct: np.ndarray
    ) -> None:
        table = calibration.reliability_table(confidence, correct, 7)
        assert table["n"].sum() == 30
        assert table["n"] @ table["accuracy"] == pytest.approx(correct.sum())
        assert table["n"] @ table["mean_confidence"] == pytest.approx(confidence.sum())
        assert (table["high"][:-1].to_numpy() <= table["low"][1:].to_numpy()).all()
        assert (
            table["mean_confidence"]
            .between(table["low"] - 1e-9, table["high"] + 1e-9)
            .all()
        )
        assert (
            table["accuracy"]
            .between(table["accuracy_low"], table["accuracy_high"])
            .all()
        )
        assert 0 <= error(confidence, correct, 7) <= 1

    @given(CONFIDENCE, CORRECT)
    def test_one_bin_is_the_overall_gap_and_bounds_every_other(
        self, c: np.ndarray, right: np.ndarray
    ) -> None:
        overall = abs(c.mean() - right.mean())
        assert error(c, right, 1) == pytest.approx(overall)
        assert error(c, right, 10) >= overall - 1e-9

    @pytest.mark.parametrize("planted", [0.0, 0.1, 0.25])
    def test_a_planted_error_is_recovered(self, planted: float, rng: Rng) -> None:
        # Each bin is overconfident by the same amount, so the ECE is that amount.
        confidence = rng.uniform(0.5, 1, 100_000)
        assert error(
            confidence, rng.random(100_000) < confidence - planted
        ) == pytest.approx(planted, abs=0.01)


def test_a_perfectly_calibrated_judge_has_a_calibration_error_too(rng: Rng) -> None:
    def if_perfect(stated: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
        columns = np.column_stack([stated, np.arange(stated.size) % 2])
        found = jackknife.LeftOut(
            columns, calibration.calibration_error(10), rng, groups
        )
        return calibration.NoisyError(found, rng, 10, 300).perfect

    # the first is right or wrong, half away
    assert if_perfect(np.array([0.5, 0.0])) == pytest.approx(0.25)
    means = [if_perfect(rng.uniform(size=n)).mean() for n in (30, 300, 3000)]
    assert means[0] > 0.1 > means[1] > 0.02 > means[2]
    stated = rng.uniform(size=60)
    assert (
        if_perfect(stated, np.repeat(np.arange(6), 10)).mean()
        > if_perfect(stated).mean()
    )


def of_a_judge(
    rng: np.random.Generator, n: int, off: float
) -> tuple[np.ndarray, np.ndarray]:
    """Stated probabilities from 0.5 to 1, and items that are right so much less often."""
    stated = rng.uniform(0.5, 1, n)
    return stated, rng.random(n) < stated - off


class TestInterval:
    def test_a_judge_that_keeps_its_word_may_have_no_calibration_error(
        self, rng: Rng
    ) -> None:
        found = [
            calibration.error_interval(*of_a_judge(rng, 30, 0.0), rng)
            for _ in range(100)
        ]
        # so that an interval round it would leave 0 out
        assert min(own.estimate.value for own in found) > 0.02
        assert sum(own.estimate.low > 0 for own in found) <= 5

    def test_one_that_boasts_is_found_out_and_its_error_held(self, rng: Rng) -> None:
        found = [
            calibration.error_interval(*of_a_judge(rng, 200, 0.3), rng)
            for _ in range(40)
        ]
        assert (
            sum(0 < own.estimate.low <= 0.3 <= own.estimate.high for own in found) >= 36
        )

    def test_ten_right_answers_do_not_show_that_the_next_is(self, rng: Rng) -> None:
        found = calibration.error_interval(np.full(10, 0.95), np.ones(10), rng).estimate
        assert found.value == pytest.approx(0.05) and found.high > 0.25

    def test_copies_add_nothing(self, rng: Rng) -> None:
        judge = of_a_judge(rng, 12, 0.2)
        copies, groups = (
            [np.repeat(column, 8) for column in judge],
            np.repeat(np.arange(12), 8),
        )
        alone = calibration.error_interval(*judge, rng).estimate
        grouped = calibration.error_interval(*copies, rng, groups=groups).estimate
        assert grouped.value == pytest.approx(alone.value) and width(
            grouped
        ) > 0.9 * width(alone)
        tables = (
            calibration.reliability_table(*copies, groups=own) for own in (groups, None)
        )
        assert np.all(
            np.greater(
                *(table["accuracy_high"] - table["accuracy_low"] for table in tables)
            )
        )


class TestDifference:
    """Of two judges' calibration errors on the same items."""

    def between(
        self, rng: np.random.Generator, n: int, off: tuple[float, float]
    ) -> tuple[float, float]:
        judges = [np.column_stack(of_a_judge(rng, n, own)).astype(float) for own in off]
        one, other = (
            jackknife.LeftOut(own, calibration.calibration_error(10), rng, None)
            for own in judges
        )
        noisy = [calibration.NoisyError(found, rng, 10, 300) for found in (one, other)]
        return calibration.error_difference(*noisy, 0.95)

    def test_it_is_held_where_one_keeps_its_word_and_the_other_does_not(
        self, rng: Rng
    ) -> None:
        """Noise adds more to the error of the first: a paired bootstrap held their difference in 75
        %."""
        ends = [self.between(rng, 30, (0.0, 0.2)) for _ in range(150)]
        assert sum(low <= -0.2 <= high for low, high in ends) >= 136

    def test_one_that_boasts_is_told_from_one_that_does_not_and_equals_are_not(
        self, rng: Rng
    ) -> None:
        low, high = self.between(rng, 400, (0.0, 0.35))
        assert -1 <= low < -0.35 < high < 0
        assert (
            sum(
                low <= 0 <= high
                for low, high in (self.between(rng, 40, (0.1, 0.1)) for _ in range(40))
            )
            >= 39
        )
