"""Calibrations as plain data, honesty measures, and the guard against fitting on what is evaluated."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import calibration

RAW = [40.0, 42, 44, 46, 48, 50, 52, 54]
SCALE = (0.0, 100.0)
GOLD = [0.0, 10, 25, 20, 50, 75, 90, 100]


def _fits() -> dict[str, calibration.Calibration]:
    return {
        "platt": calibration.fit_platt(RAW, np.divide(GOLD, 100), SCALE),
        "isotonic": calibration.fit_isotonic(RAW, GOLD, SCALE),
        "linear": calibration.fit_linear(RAW, GOLD, SCALE),
    }


class TestFitAndApply:
    @pytest.mark.parametrize("kind", ["platt", "isotonic", "linear"])
    def test_a_calibration_survives_json(self, kind: str) -> None:
        fitted = _fits()[kind]
        assert (fitted["kind"], fitted["n"]) == (kind, 8)
        again = json.loads(json.dumps(fitted, allow_nan=False))
        points = np.linspace(30, 60, 31)
        assert calibration.apply(again, points).tolist() == calibration.apply(fitted, points).tolist()

    @pytest.mark.parametrize("kind", ["platt", "isotonic", "linear"])
    def test_order_is_kept_and_the_scale_never_left(self, kind: str) -> None:
        scores = calibration.apply(_fits()[kind], np.linspace(-1000, 1000, 501))
        assert np.all(np.diff(scores) >= 0)
        assert 0 <= scores.min() < 5
        assert 95 < scores.max() <= 100

    @pytest.mark.parametrize("kind", ["platt", "isotonic", "linear"])
    def test_a_squeezed_judge_is_spread_over_the_scale(self, kind: str) -> None:
        rng = np.random.default_rng(41)
        gold = rng.uniform(0, 100, 400)
        raw = 45 + 0.1 * gold + rng.normal(0, 0.7, 400)
        fit = {
            "platt": lambda x, y: calibration.fit_platt(x, y / 100, SCALE),
            "isotonic": lambda x, y: calibration.fit_isotonic(x, y, SCALE),
            "linear": lambda x, y: calibration.fit_linear(x, y, SCALE),
        }[kind]
        fitted = fit(raw[:200], gold[:200])
        error = np.abs(calibration.apply(fitted, raw[200:]) - gold[200:]).mean()
        assert error < 8
        assert error < 0.5 * np.abs(raw[200:] - gold[200:]).mean()

    def test_isotonic_is_the_pooled_means_by_hand(self) -> None:
        # 25 and 20 are out of order and pool to 22.5.
        fitted = calibration.fit_isotonic(RAW, GOLD, SCALE)
        assert calibration.apply(fitted, [44.0, 45, 46, 30, 99]) == pytest.approx([22.5, 22.5, 22.5, 0, 100])

    def test_linear_recovers_a_line_and_is_clipped(self) -> None:
        fitted = calibration.fit_linear([1.0, 2, 3], [10.0, 30, 50], scale=(0, 50))
        assert (fitted["slope"], fitted["intercept"]) == pytest.approx((20, -10))
        assert calibration.apply(fitted, [0.0, 2.5, 9]) == pytest.approx([0, 40, 50])

    def test_platt_recovers_the_curve_that_made_the_labels(self) -> None:
        rng = np.random.default_rng(42)
        raw = rng.normal(0, 2, 20000)
        label = rng.random(20000) < stats.logistic.cdf(1.5 * raw - 0.5)
        fitted = calibration.fit_platt(raw, label, SCALE)
        assert (fitted["slope"], fitted["intercept"]) == pytest.approx((1.5, -0.5), abs=0.08)

    def test_platt_targets_keep_perfect_separation_finite(self) -> None:
        # Platt's targets are 1/5 and 4/5; at the optimum the misses balance, alone and weighted by the raw score.
        raw = [1.0, 2, 3, 11, 12, 13]
        fitted = calibration.fit_platt(raw, [0, 0, 0, 1, 1, 1], scale=(0, 1))
        shares = calibration.apply(fitted, raw)
        missed = shares - [0.2, 0.2, 0.2, 0.8, 0.8, 0.8]
        assert missed.sum() == pytest.approx(0, abs=1e-8)
        assert missed @ raw == pytest.approx(0, abs=1e-7)

    @given(st.floats(0.01, 100), st.floats(-50, 50))
    def test_the_unit_of_the_raw_score_does_not_matter(self, factor: float, shift: float) -> None:
        moved = factor * np.array(RAW) + shift
        here = calibration.apply(_fits()["platt"], RAW)
        there = calibration.apply(calibration.fit_platt(moved, np.divide(GOLD, 100), SCALE), moved)
        assert there == pytest.approx(here, abs=1e-4)

    @pytest.mark.parametrize(
        ("broken", "message"),
        [
            ({"kind": "spline"}, "has kind 'spline'; known are platt, isotonic, linear, content_free"),
            ({}, "has kind None"),
            ({"kind": "linear", "slope": 1.0}, "of kind 'linear' lacks the key 'intercept'"),
        ],
    )
    def test_a_broken_calibration_says_what_is_wrong(self, broken: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            calibration.apply(broken, [1.0])

    def test_what_cannot_be_fitted_is_refused(self) -> None:
        with pytest.raises(ValueError, match="`raw` is constant"):
            calibration.fit_linear([5.0, 5], [0.0, 100], SCALE)
        with pytest.raises(ValueError, match="`label01` is constant"):
            calibration.fit_platt([1.0, 2], [1.0, 1], SCALE)
        with pytest.raises(ValueError, match="`label01` must lie in"):
            calibration.fit_platt([1.0, 2], [0.0, 100], SCALE)
        with pytest.raises(ValueError, match="`scale` is"):
            calibration.fit_linear([1.0, 2], [0.0, 100], scale=(100, 0))


def _divided(levels_probs: ArrayLike, content_free_probs: ArrayLike) -> np.ndarray:
    return calibration.apply(calibration.fit_content_free(content_free_probs), levels_probs)


class TestContentFree:
    def test_what_the_prompt_favours_is_divided_out(self) -> None:
        # 0.6/0.75 to 0.4/0.25 is 1 to 2: the level the prompt favours loses.
        assert _divided([0.6, 0.4], [0.75, 0.25]) == pytest.approx([1 / 3, 2 / 3])

    @given(hnp.arrays(np.float64, (3, 4), elements=st.floats(0.05, 1)))
    def test_content_free_text_becomes_uniform_and_no_bias_changes_nothing(self, weights: np.ndarray) -> None:
        p = weights / weights.sum(axis=1, keepdims=True)
        baseline = p.mean(axis=0)
        assert _divided(baseline, p) == pytest.approx(np.full(4, 0.25))
        assert _divided(p, np.full(4, 0.25)) == pytest.approx(p)

    def test_fitted_once_and_applied_from_json(self) -> None:
        fitted = json.loads(json.dumps(calibration.fit_content_free([[0.8, 0.2], [0.7, 0.3]])))
        assert fitted["n"] == 2
        assert calibration.apply(fitted, [[0.6, 0.4]]) == pytest.approx(np.array([[1 / 3, 2 / 3]]))

    def test_a_level_never_named_does_not_divide_by_zero(self) -> None:
        result = _divided([0.5, 0.5], [1.0, 0.0])
        assert result[1] > 0.999
        assert result.sum() == pytest.approx(1)

    def test_levels_must_match_and_carry_mass(self) -> None:
        with pytest.raises(ValueError, match="`levels_probs` has 3 levels; the calibration was fitted on 2"):
            _divided([0.2, 0.3, 0.5], [0.5, 0.5])
        with pytest.raises(ValueError, match="`content_free_probs` must be non-negative"):
            calibration.fit_content_free([0.0, 0.0])


class TestSplitCheck:
    def test_overlap_is_named(self) -> None:
        with pytest.raises(ValueError, match="share 2 ids: t2, t3"):
            calibration.split_check(["t1", "t2", "t3"], ["t3", "t4", "t2"])
        with pytest.raises(ValueError, match=r"share 12 ids: .* and 2 more"):
            calibration.split_check(range(12), range(12))

    def test_disjoint_parts_pass_and_a_number_equals_its_text(self) -> None:
        calibration.split_check(["a", "b"], ["c"])
        calibration.split_check([], ["c"])
        with pytest.raises(ValueError, match="share 1 ids: 7"):
            calibration.split_check([7], ["7"])
