"""Means from many judged items and few labels: closed forms, seeded coverage, unequal drawing, budgets."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from undogmatic.stats import few_labels

MEAN = 50.0


def _items(rng: np.random.Generator, n: int, noise: float = 10) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Scores biased upward by 5 and squeezed, labels with mean 50, and how unsure the judge rightly is."""
    label = rng.uniform(20, 80, n)
    unsure = rng.uniform(0.2, 2, n)
    return 0.8 * label + 15 + rng.normal(0, noise * unsure), label, unsure


def _drawn(
    rng: np.random.Generator, unsure: NDArray[Any], n_labels: int, even: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Probabilities, a share of them even and the rest in proportion to doubt, and positions drawn with them."""
    p = n_labels * (even / unsure.size + (1 - even) * unsure / unsure.sum())
    assert p.max() < 1
    order = rng.permutation(p.size)
    steps = np.floor(np.cumsum(p[order]) + rng.random())  # systematic sampling: exactly these probabilities
    return p, np.sort(order[np.diff(steps, prepend=0.0) > 0])


class TestClosedForms:
    def test_full_trust_and_equal_probabilities_is_the_judges_mean_less_its_mean_error(self) -> None:
        rng = np.random.default_rng(61)
        scores, label, _unsure = _items(rng, 300)
        chosen = rng.choice(300, 40, replace=False)
        result = few_labels.estimate_mean(scores, chosen, label[chosen], judge_weight=1)
        bias = np.mean(scores[chosen] - label[chosen])
        assert result.judge_bias == pytest.approx(bias)
        assert result.estimate == pytest.approx(scores.mean() - bias)
        # sigma_r^2 / m + (sigma_f^2 + 2 cov(f, r)) / N, from the sample, to the order of 1 / m.
        residual = label[chosen] - scores[chosen]
        moments = np.cov(scores[chosen], residual)
        expected = moments[1, 1] / 40 + (scores.var() + 2 * moments[0, 1]) / 300
        assert result.standard_error == pytest.approx(np.sqrt(expected), rel=0.03)

    def test_no_trust_is_the_t_interval_of_the_labels(self) -> None:
        rng = np.random.default_rng(62)
        scores, label, _unsure = _items(rng, 200)
        chosen = rng.choice(200, 25, replace=False)
        result = few_labels.estimate_mean(scores, chosen, label[chosen], judge_weight=0)
        expected = stats.ttest_1samp(label[chosen], 0).confidence_interval()
        assert (result.low, result.high) == pytest.approx((expected.low, expected.high))
        assert (result.labels_only_low, result.labels_only_high) == pytest.approx((expected.low, expected.high))

    def test_a_judge_who_is_always_right_is_as_good_as_labelling_everything(self) -> None:
        rng = np.random.default_rng(63)
        label = rng.uniform(0, 100, 500)
        chosen = rng.choice(500, 20, replace=False)
        result = few_labels.estimate_mean(label, chosen, label[chosen])
        assert (result.judge_weight, result.judge_bias) == (pytest.approx(1), pytest.approx(0))
        assert result.estimate == pytest.approx(label.mean())
        assert result.standard_error == pytest.approx(label.std() / np.sqrt(500), rel=0.05)

    def test_a_constant_judge_gives_what_the_labels_give(self) -> None:
        rng = np.random.default_rng(64)
        label = rng.uniform(0, 100, 30)
        result = few_labels.estimate_mean(np.full(100, 50.0), np.arange(30), label)
        assert (result.judge_weight, result.estimate) == (0, pytest.approx(label.mean()))

    @given(st.floats(-50, 50), st.floats(0.1, 10))
    def test_shifting_and_stretching_the_scale_shifts_and_stretches_the_result(self, shift: float, by: float) -> None:
        rng = np.random.default_rng(65)
        scores, label, unsure = _items(rng, 80)
        p, chosen = _drawn(rng, unsure, 20, 0.3)
        one, other = (
            few_labels.estimate_mean(
                scale * scores + offset, chosen, scale * label[chosen] + offset, inclusion=p[chosen]
            )
            for scale, offset in ((1, 0), (by, shift))
        )
        assert [other.low, other.estimate, other.high] == pytest.approx(
            [by * end + shift for end in (one.low, one.estimate, one.high)], rel=1e-6, abs=1e-6
        )

    def test_a_difference_is_the_mean_of_differences(self) -> None:
        rng = np.random.default_rng(66)
        (a, y_a, _), (b, y_b, _) = _items(rng, 120), _items(rng, 120)
        chosen = np.arange(30)
        pairs = few_labels.estimate_difference(a, b, chosen, y_a[chosen], y_b[chosen])
        turned = few_labels.estimate_difference(b, a, chosen, y_b[chosen], y_a[chosen])
        assert (pairs.low, pairs.estimate, pairs.high) == pytest.approx((-turned.high, -turned.estimate, -turned.low))
        assert pairs.labels_only == pytest.approx(np.mean(y_a[chosen] - y_b[chosen]))


class TestCoverage:
    @pytest.mark.parametrize(("n_labels", "uniform_share"), [(25, 1.0), (50, 0.3)])
    def test_intervals_hold_the_population_mean_as_often_as_promised(self, n_labels: int, uniform_share: float) -> None:
        rng = np.random.default_rng(67)
        hits, estimates, widths, alone = 0, [], [], []
        for _ in range(600):
            scores, label, unsure = _items(rng, 500)
            p, chosen = _drawn(rng, unsure, n_labels, uniform_share)
            result = few_labels.estimate_mean(scores, chosen, label[chosen], inclusion=p[chosen], level=0.9)
            hits += result.low <= MEAN <= result.high
            estimates.append(result.estimate)
            widths.append(result.high - result.low)
            alone.append(result.labels_only_high - result.labels_only_low)
        assert 0.87 <= hits / 600 <= 0.94
        assert abs(np.mean(estimates) - MEAN) < 0.25
        assert np.mean(widths) < 0.8 * np.mean(alone)

    def test_a_useless_judge_costs_next_to_nothing(self) -> None:
        rng = np.random.default_rng(68)
        ratio = []
        for _ in range(50):
            label = rng.uniform(0, 100, 400)
            chosen = rng.choice(400, 50, replace=False)
            result = few_labels.estimate_mean(rng.uniform(0, 100, 400), chosen, label[chosen])
            ratio.append((result.high - result.low) / (result.labels_only_high - result.labels_only_low))
        assert np.mean(ratio) < 1.02

    def test_ignoring_how_labels_were_drawn_is_biased_and_weighting_is_not(self) -> None:
        rng = np.random.default_rng(69)
        plain, weighted = [], []
        for _ in range(300):
            scores, label, _unsure = _items(rng, 400, noise=30)
            p, chosen = _drawn(rng, label - 20, 60, 0.3)  # the unsure items are the high ones
            plain.append(few_labels.estimate_mean(scores, chosen, label[chosen]).labels_only)
            weighted.append(few_labels.estimate_mean(scores, chosen, label[chosen], inclusion=p[chosen]).labels_only)
        assert np.mean(plain) - MEAN > 5
        assert abs(np.mean(weighted) - MEAN) < 0.6


class TestBudget:
    def test_the_budget_gives_the_width(self) -> None:
        rng = np.random.default_rng(70)
        scores, label, _unsure = _items(rng, 3000)
        pilot = rng.choice(3000, 200, replace=False)
        budget = few_labels.label_budget(scores, pilot, label[pilot], target_width=4)
        assert budget.with_judge is not None and budget.labels_only is not None
        assert budget.with_judge < 0.6 * budget.labels_only
        widths = []
        for _ in range(40):
            chosen = rng.choice(3000, budget.with_judge, replace=False)
            result = few_labels.estimate_mean(scores, chosen, label[chosen])
            widths.append(result.high - result.low)
        assert np.mean(widths) == pytest.approx(4, rel=0.08)

    def test_what_all_labels_could_not_reach_is_none(self) -> None:
        rng = np.random.default_rng(71)
        scores, label, _unsure = _items(rng, 60)
        budget = few_labels.label_budget(scores, np.arange(30), label[:30], target_width=1)
        assert (budget.with_judge, budget.labels_only) == (None, None)
        assert budget.width_if_all == pytest.approx(2 * stats.t.ppf(0.975, 59) * label[:30].std(ddof=1) / np.sqrt(60))

    @given(st.floats(2, 30), st.floats(5, 30))
    def test_a_narrower_interval_never_takes_fewer_labels(self, one: float, other: float) -> None:
        scores, label, _unsure = _items(np.random.default_rng(72), 500)
        narrow, wide = (
            few_labels.label_budget(scores, np.arange(50), label[:50], width).with_judge
            for width in sorted((one, other))
        )
        assert wide is not None  # labelling all 500 gives about 3
        assert narrow is None or narrow >= wide


class TestGuards:
    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"labelled": [0, 1, 2, 3, 3]}, "twice"),
            ({"labelled": [0, 1, 2, 3, 40]}, "positions"),
            ({"labelled": [0, 1, 2, 3, 0.5]}, "positions"),
            ({"labels": [1, 2, 3, 4]}, "at least 5"),
            ({"labels": [1, 2, 3, 4, float("nan")]}, "NaN"),
            ({"inclusion": [0.5, 0.5, 0.5, 0.5, 0]}, "inclusion"),
            ({"inclusion": [0.5, 0.5]}, "inclusion"),
            ({"inclusion": [1, 1, 1, 1, 0.01]}, "worth"),
            ({"judge_weight": 2}, "judge_weight"),
        ],
    )
    def test_what_does_not_fit_is_named(self, change: dict[str, Any], named: str) -> None:
        arguments: dict[str, Any] = {"scores": np.arange(10.0), "labelled": range(5), "labels": [1, 2, 3, 4, 6.0]}
        with pytest.raises(ValueError, match=named):
            few_labels.estimate_mean(**(arguments | change))

    def test_budgets_are_checked(self) -> None:
        with pytest.raises(ValueError, match="target_width"):
            few_labels.label_budget(np.arange(10.0), np.arange(5), np.arange(5.0), 0)
