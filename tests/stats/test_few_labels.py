"""Means from many judged items and few labels: closed forms, seeded coverage, unequal drawing,
budgets."""

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tests.stats.conftest import Rng, held, refuses, sure, width
from undogmatic.stats import few_labels, means
from undogmatic.stats.estimate import Estimate

MEAN = 50.0


def _items(
    rng: np.random.Generator, n: int, noise: float = 10
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Scores biased upward by 5 and squeezed, labels with mean 50, and how unsure the judge rightly
    is."""
    label = rng.uniform(20, 80, n)
    unsure = rng.uniform(0.2, 2, n)
    return 0.8 * label + 15 + rng.normal(0, noise * unsure), label, unsure


def _drawn(
    rng: Rng, unsure: NDArray[Any], n_labels: int, even: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Probabilities, a share of them even and the rest in proportion to doubt, and positions drawn
    with them."""
    p = n_labels * (even / unsure.size + (1 - even) * unsure / unsure.sum())
    assert p.max() < 1
    order = rng.permutation(p.size)
    # systematic sampling: exactly these probabilities
    steps = np.floor(np.cumsum(p[order]) + rng.random())
    return p, np.sort(order[np.diff(steps, prepend=0.0) > 0])


class TestClosedForms:
    def test_full_trust_and_equal_probabilities_is_the_judges_mean_less_its_mean_error(
        self, rng: Rng
    ) -> None:
        scores, label, _unsure = _items(rng, 300)
        chosen = rng.choice(300, 40, replace=False)
        result = few_labels.estimate_mean(scores, chosen, label[chosen], judge_weight=1)
        bias = np.mean(scores[chosen] - label[chosen])
        assert result.estimate.value == pytest.approx(scores.mean() - bias)
        # sigma_r^2 / m + (sigma_f^2 + 2 cov(f, r)) / N, from the sample, to the order of 1 / m.
        residual = label[chosen] - scores[chosen]
        moments = np.cov(scores[chosen], residual)
        expected = moments[1, 1] / 40 + (scores.var() + 2 * moments[0, 1]) / 300
        assert result.estimate.se == pytest.approx(np.sqrt(expected), rel=0.03)

    def test_no_trust_is_the_interval_of_the_mean_of_the_labels(self, rng: Rng) -> None:
        scores, label, _unsure = _items(rng, 200)
        chosen = rng.choice(200, 25, replace=False)
        result = few_labels.estimate_mean(scores, chosen, label[chosen], judge_weight=0)
        expected = means.interval(label[chosen])
        assert result.estimate.interval == pytest.approx(expected.interval)
        assert (result.labels_only.low, result.labels_only.high) == pytest.approx(
            expected.interval
        )

    def test_a_judge_always_right_is_as_good_as_labelling_all_and_a_constant_one_as_the_labels(
        self,
    ) -> None:
        rng = np.random.default_rng(63)
        label = rng.uniform(0, 100, 500)
        chosen = rng.choice(500, 20, replace=False)
        result = few_labels.estimate_mean(label, chosen, label[chosen])
        assert result.judge_weight == pytest.approx(1)
        assert result.estimate.value == pytest.approx(label.mean())
        assert result.estimate.se == pytest.approx(label.std() / np.sqrt(500), rel=0.05)
        blind = few_labels.estimate_mean(np.full(100, 50.0), np.arange(30), label[:30])
        assert (blind.judge_weight, blind.estimate.value) == (
            0,
            pytest.approx(label[:30].mean()),
        )

    @given(st.floats(-50, 50), st.floats(0.1, 10))
    def test_shifting_and_stretching_the_scale_shifts_and_stretches_the_result(
        self, shift: float, by: float
    ) -> None:
        rng = np.random.default_rng(65)
        scores, label, unsure = _items(rng, 80)
        p, chosen = _drawn(rng, unsure, 20, 0.3)
        one, other = (
            few_labels.estimate_mean(
                a * scores + b, chosen, a * label[chosen] + b, inclusion=p[chosen]
            ).estimate
            for a, b in ((1, 0), (by, shift))
        )
        moved = {key: by * end + shift for key, end in one.metrics("").items()}
        assert other.metrics("") == pytest.approx(moved, rel=1e-6, abs=1e-6)

    def test_a_difference_is_the_mean_of_differences(self, rng: Rng) -> None:
        (a, y_a, _), (b, y_b, _) = _items(rng, 120), _items(rng, 120)
        chosen = np.arange(30)
        pairs = few_labels.estimate_mean(a - b, chosen, (y_a - y_b)[chosen])
        turned = few_labels.estimate_mean(b - a, chosen, (y_b - y_a)[chosen])
        assert pairs.estimate.metrics("") == pytest.approx(
            (-turned.estimate).metrics("")
        )
        assert pairs.labels_only.value == pytest.approx(
            np.mean(y_a[chosen] - y_b[chosen])
        )


class TestCoverage:
    @pytest.mark.parametrize(("n_labels", "uniform_share"), [(25, 1.0), (50, 0.3)])
    def test_intervals_hold_the_mean_as_often_as_promised(
        self, n_labels: int, uniform_share: float, rng: Rng
    ) -> None:
        made = []
        for _ in range(600):
            scores, label, unsure = _items(rng, 500)
            p, chosen = _drawn(rng, unsure, n_labels, uniform_share)
            made.append(
                few_labels.estimate_mean(
                    scores, chosen, label[chosen], inclusion=p[chosen], level=0.9
                )
            )
        found, alone = (
            [each.estimate for each in made],
            [each.labels_only for each in made],
        )
        assert (
            0.87 <= np.mean([each.low <= MEAN <= each.high for each in found]) <= 0.94
        )
        assert abs(np.mean([each.value for each in found]) - MEAN) < 0.25
        assert sum(map(width, found)) < 0.8 * sum(map(width, alone))

    def test_a_useless_judge_costs_next_to_nothing(self, rng: Rng) -> None:
        ratio = []
        for _ in range(50):
            label = rng.uniform(0, 100, 400)
            chosen = rng.choice(400, 50, replace=False)
            result = few_labels.estimate_mean(
                rng.uniform(0, 100, 400), chosen, label[chosen]
            )
            ratio.append(width(result.estimate) / width(result.labels_only))
        assert np.mean(ratio) < 1.02

    def test_ignoring_how_labels_were_drawn_is_biased_and_weighting_is_not(
        self, rng: Rng
    ) -> None:
        plain, weighted = [], []
        for _ in range(300):
            scores, label, _unsure = _items(rng, 400, noise=30)
            # the unsure items are the high ones
            p, chosen = _drawn(rng, label - 20, 60, 0.3)
            for values, inclusion in ((plain, None), (weighted, p[chosen])):
                found = few_labels.estimate_mean(
                    scores, chosen, label[chosen], inclusion=inclusion
                )
                values.append(found.labels_only.value)
        assert np.mean(plain) - MEAN > 5
        assert abs(np.mean(weighted) - MEAN) < 0.6


class TestDegreesOfFreedom:
    """A mistake of one degree widens or narrows an interval of 10 labels by 2 %: by value, and by
    coverage."""

    def _reach(self, found: few_labels.FewLabelsEstimate) -> float:
        return width(found.estimate) / 2 / found.estimate.se

    def _mirrored(
        self, seed: int, n: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores and labels of 2 n items, of which every second mirrors the one before about 50:
        nothing is skewed, so that the interval is Student's."""
        scores, label, _unsure = _items(np.random.default_rng(seed), n)
        return (
            np.column_stack([scores, 100 - scores]).ravel(),
            np.column_stack([label, 100 - label]).ravel(),
        )

    def test_labels_less_the_mean_and_the_fitted_weight(self) -> None:
        scores, label = self._mirrored(80, 50)
        chosen = np.arange(10)
        fitted, given, alone = (
            few_labels.estimate_mean(scores, chosen, label[chosen], judge_weight=weight)
            for weight in (None, 0.5, 0)
        )
        assert (fitted.estimate.df, given.estimate.df) == (8, 9)
        # t table: 97.5 % with 8 and with 9 degrees.
        assert (self._reach(fitted), self._reach(given)) == pytest.approx(
            (2.306004, 2.262157)
        )
        assert width(alone.labels_only) == pytest.approx(width(alone.estimate))

    def test_clustered_labels_have_those_of_their_groups(self) -> None:
        scores, label = self._mirrored(81, 60)
        order = np.arange(120).reshape(-1, 2).T.ravel()  # all, then all mirrored
        chosen = np.r_[np.arange(12), 60 + np.arange(12)]
        found = few_labels.estimate_mean(
            scores[order], chosen, label[order][chosen], groups=np.arange(120) // 3
        )
        assert (found.effective_labels, found.estimate.df) == (8, 6)
        # t table: 97.5 % with 6 degrees
        assert self._reach(found) == pytest.approx(2.446912)

    def test_unequal_probabilities_count_for_less(self) -> None:
        # Weights 1 and 1/3, five each: (5 + 5/3)^2 / (5 + 5/9) = 8.
        scores, label, _unsure = _items(np.random.default_rng(82), 60)
        p = np.repeat([0.3, 0.9], 5)
        found = few_labels.estimate_mean(scores, np.arange(10), label[:10], inclusion=p)
        assert found.effective_labels == pytest.approx(8)
        assert few_labels.effective_labels(p, range(10)) == pytest.approx(8)
        # The labels that stand for three times as many texts carry most of the variance.
        equal = few_labels.estimate_mean(scores, np.arange(10), label[:10])
        assert found.estimate.df < found.effective_labels - 2 < equal.estimate.df

    def test_copies_are_no_further_labels(self) -> None:
        scores, label, _unsure = _items(np.random.default_rng(83), 60)
        once = few_labels.estimate_mean(scores, np.arange(12), label[:12])
        pairs = np.repeat(np.arange(60), 2)
        twice = few_labels.estimate_mean(
            scores[pairs], np.arange(24), label[pairs][:24], groups=pairs
        )
        assert twice.estimate.metrics("") == pytest.approx(once.estimate.metrics(""))

    @pytest.mark.parametrize("n_labels", [10, 20, 40])
    @pytest.mark.parametrize("together", [1, 2])
    def test_coverage(self, n_labels: int, together: int, rng: Rng) -> None:
        def draw() -> Estimate:
            groups = np.arange(300) // together
            label = 50 + rng.normal(0, 12, 300)[groups] + rng.normal(0, 6, 300)
            scores = 0.7 * label + 30 + rng.normal(0, 6, 300)
            chosen = np.flatnonzero(
                np.isin(groups, rng.choice(300 // together, n_labels, replace=False))
            )
            return few_labels.estimate_mean(
                scores, chosen, label[chosen], groups=groups
            ).estimate

        assert 0.92 <= held(MEAN, 400, draw) <= 0.985


class TestMaps:
    def test_a_line_is_mapped_away(self, rng: Rng) -> None:
        label = rng.uniform(0, 100, 200)
        made = functools.partial(
            few_labels.estimate_mean, 20 + label / 2, np.arange(0, 200, 5), label[::5]
        )
        for calibration, off in (("linear", 0.01), ("isotonic", 1.5)):
            found = made(calibration=calibration, judge_weight=1)
            assert found.estimate.value == pytest.approx(label.mean(), abs=off)
            assert (found.judge_mean, found.calibration) == (
                pytest.approx(20 + label.mean() / 2),
                calibration,
            )

    @pytest.mark.parametrize("calibration", ["linear", "isotonic"])
    def test_a_map_keeps_the_mean_of_the_labels_it_fits(
        self, calibration: few_labels.Calibration, rng: Rng
    ) -> None:
        x, w = rng.uniform(0, 100, 30), rng.uniform(1, 5, 30)
        y = x**2 / 100 + rng.normal(0, 10, 30)
        mapped = few_labels._map(x, x, y, w, calibration)
        assert np.average(mapped, weights=w) == pytest.approx(np.average(y, weights=w))

    def test_labels_do_not_reach_the_map_of_their_own_group(self, rng: Rng) -> None:
        # Were they to, a judge that knows nothing would seem to follow them, as an increasing map
        # fits any noise.
        weights = []
        for _ in range(100):
            label = np.repeat(rng.uniform(0, 100, 60), 2)
            scores, groups = np.repeat(rng.uniform(0, 100, 60), 2), np.arange(120) // 2
            found = few_labels.estimate_mean(
                scores, np.arange(40), label[:40], calibration="isotonic", groups=groups
            )
            weights.append(found.judge_weight)
        assert np.mean(weights) < 0.3

    @pytest.mark.parametrize("n_labels", [20, 40])
    def test_a_curved_judge_gains_by_the_isotonic_map_and_keeps_its_coverage(
        self, n_labels: int, rng: Rng
    ) -> None:
        hits, ratio = 0, []
        for _ in range(120):
            label = rng.uniform(0, 100, 200)
            scores = 100 * (label / 100) ** 4 + rng.normal(0, 3, 200)
            chosen = rng.choice(200, n_labels, replace=False)
            plain, mapped = (
                few_labels.estimate_mean(
                    scores, chosen, label[chosen], calibration=calibration
                ).estimate
                for calibration in ("none", "isotonic")
            )
            hits += mapped.low <= MEAN <= mapped.high
            ratio.append(width(mapped) / width(plain))
        assert hits / 120 >= 0.89 and np.mean(ratio) < 0.95

    def test_a_constant_judge_has_no_map(self) -> None:
        label = np.random.default_rng(89).uniform(0, 100, 30)
        found = few_labels.estimate_mean(
            np.full(100, 50.0), np.arange(30), label, calibration="isotonic"
        )
        assert found.estimate.value == pytest.approx(label.mean(), abs=1)


class TestBudget:
    def test_the_budget_gives_the_width(self, rng: Rng) -> None:
        scores, label, _unsure = _items(rng, 3000)
        pilot = rng.choice(3000, 200, replace=False)
        budget = sure(
            few_labels.label_budget(scores, pilot, label[pilot], target_width=4)
        )
        n = sure(budget.with_judge)
        assert n < 0.6 * sure(budget.labels_only)
        draws = (rng.choice(3000, n, replace=False) for _ in range(40))
        widths = [
            width(few_labels.estimate_mean(scores, chosen, label[chosen]).estimate)
            for chosen in draws
        ]
        assert np.mean(widths) == pytest.approx(4, rel=0.08)

    def test_labels_that_come_in_groups_count_as_groups(self) -> None:
        """Four texts of one source have nearly one error: the width takes as many groups as single
        texts."""
        rng = np.random.default_rng(74)
        group = np.repeat(np.arange(1000), 4)
        scores = rng.uniform(0, 100, 1000)[group]
        label = scores + rng.normal(0, 15, 1000)[group] + rng.normal(0, 1, 4000)
        pilot = np.flatnonzero(group < 60)
        together = sure(
            sure(
                few_labels.label_budget(scores, pilot, label[pilot], 6, groups=group)
            ).with_judge
        )
        alone = sure(
            sure(
                few_labels.label_budget(scores[::4], pilot[:60], label[::4][:60], 6)
            ).with_judge
        )
        assert together == pytest.approx(4 * alone, rel=0.25)
        widths = []
        for _ in range(30):
            chosen = np.flatnonzero(
                np.isin(group, rng.choice(1000, together // 4, replace=False))
            )
            widths.append(
                width(
                    few_labels.estimate_mean(
                        scores, chosen, label[chosen], groups=group
                    ).estimate
                )
            )
        assert np.mean(widths) == pytest.approx(6, rel=0.2)
        of_one = np.repeat(list("abcd"), 1000)
        refuses(
            "1 labelled groups",
            few_labels.label_budget,
            scores,
            np.arange(5),
            label[:5],
            6,
            groups=of_one,
        )

    def test_what_all_labels_could_not_reach_is_none(self, rng: Rng) -> None:
        scores, label, _unsure = _items(rng, 60)
        budget = sure(
            few_labels.label_budget(scores, np.arange(30), label[:30], target_width=1)
        )
        assert (budget.with_judge, budget.labels_only) == (None, None)
        student = 2 * stats.t.ppf(0.975, 59) * label[:30].std(ddof=1) / np.sqrt(60)
        assert student <= budget.width_if_all == pytest.approx(student, rel=0.03)

    @given(st.floats(2, 30), st.floats(5, 30))
    def test_a_narrower_interval_never_takes_fewer_labels(
        self, one: float, other: float
    ) -> None:
        scores, label, _unsure = _items(np.random.default_rng(72), 500)
        narrow, wide = (
            sure(
                few_labels.label_budget(scores, np.arange(50), label[:50], width)
            ).with_judge
            for width in sorted((one, other))
        )
        assert narrow is None or narrow >= sure(wide)  # labelling all 500 gives about 3

    def test_a_pilot_without_spread_gives_none(self) -> None:
        """Ten labels of 0 would else promise that five more suffice for any width."""
        scores, label, _unsure = _items(np.random.default_rng(75), 200)
        same = np.where(np.arange(200) < 10, 0, label)
        assert (
            few_labels.label_budget(
                scores, np.arange(10), same[:10], 6, bounds=(0, 100)
            )
            is None
        )
        assert (
            few_labels.label_budget(
                label, np.arange(10), label[:10], 6, bounds=(0, 100)
            )
            is None
        )


class TestScarce:
    """Labels that are nearly all the same, or equal to the scores, show too little of how far the
    next may lie."""

    def test_ten_labels_of_zero_do_not_show_a_mean_of_zero(self) -> None:
        scores, _label, _unsure = _items(np.random.default_rng(90), 200)
        found = few_labels.estimate_mean(
            scores, np.arange(10), np.zeros(10), bounds=(0, 100)
        )
        # As Clopper and Pearson's of 0 of 10: 1 - 0.025^(1 / 10).
        assert (found.estimate.low, found.estimate.value, found.estimate.high) == (
            0,
            0,
            pytest.approx(30.85, abs=0.2),
        )
        unbounded = few_labels.estimate_mean(scores, np.arange(10), np.zeros(10))
        assert unbounded.estimate.interval == (-np.inf, np.inf)

    def test_a_judge_that_was_right_ten_times_is_not_right_always(self) -> None:
        label = np.random.default_rng(91).uniform(0, 100, 500)
        wrong = label.copy()
        wrong[10:60] = 100 - wrong[10:60]
        found = few_labels.estimate_mean(
            wrong, np.arange(10), label[:10], bounds=(0, 100)
        )
        assert 0.5 < width(found.estimate) / width(found.labels_only) < 1.3
        assert found.estimate.low <= label.mean() <= found.estimate.high

    def test_many_labels_suffice(self) -> None:
        label = np.random.default_rng(92).uniform(0, 100, 2000)
        found = few_labels.estimate_mean(
            label, np.arange(500), label[:500], bounds=(0, 100)
        )
        assert width(found.estimate) < 0.7 * width(found.labels_only)


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
            ({"groups": list("aaabbbbbbb")}, "worth 1.9"),
            ({"calibration": "cubic"}, "calibration"),
        ],
    )
    def test_what_does_not_fit_is_named(
        self, change: dict[str, Any], named: str
    ) -> None:
        arguments: dict[str, Any] = {
            "scores": np.arange(10.0),
            "labelled": range(5),
            "labels": [1, 2, 3, 4, 6.0],
        }
        refuses(named, few_labels.estimate_mean, **(arguments | change))
