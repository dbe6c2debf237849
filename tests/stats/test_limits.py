"""Limits that decide: exact shares by hand, areas of few texts, orders and alphas with failures, and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from undogmatic.stats import agreement, limits
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.limits import Held


def test_a_share_has_clopper_and_pearsons_limits_over_groups() -> None:
    flags = [1.0] * 9 + [0.0]
    found = limits.share(flags, range(10))
    ends = stats.binomtest(9, 10).proportion_ci(method="exact")
    assert found.interval == pytest.approx((ends.low, ends.high))
    twice = limits.share([*flags, *flags], [*range(10), *range(10)])
    assert (twice.low, twice.high, twice.n_groups) == pytest.approx((ends.low, ends.high, 10))
    failed = limits.share([*flags, np.nan], range(11))
    assert failed.value == 0.9
    assert failed.worst_low == pytest.approx(stats.binomtest(9, 11).proportion_ci(method="exact").low)
    assert failed.best_high == pytest.approx(stats.binomtest(10, 11).proportion_ci(method="exact").high)


def test_a_perfect_order_of_six_texts_does_not_show_that_classes_are_told_apart() -> None:
    # One of 20 orders of three and three texts is perfect; of four and four one of 70.
    assert limits.area([7.0, 8, 9], [1.0, 2, 3], "abc", "def", (0, 10)).low <= 0.5
    assert limits.area([7.0, 8, 9, 6], [1.0, 2, 3, 4], "abcd", "efgh", (0, 10)).low > 0.5
    assert limits.area([7.0, 8, 9, 6], [1.0, 2, 3, 4], "aaaa", "efgh", (0, 10)).low <= 0.5
    failed = limits.area([7.0, 8, 9, np.nan], [1.0, 2, 3, 4], "abcd", "efgh", (0, 10))
    assert failed.worst_low < failed.low


def test_bounds_are_held_with_the_whole_interval_and_against_failures() -> None:
    found = Estimate(0.7, 0.6, 0.8, 0.95, 50, worst=0.55, best=0.9)
    assert limits.hold(found, 0.5) == Held("above", None)
    assert limits.hold(found, 0.58) == Held("missing", None)
    assert limits.hold(found, 0.95) == Held("below", None)
    assert limits.hold(found, 0.85) == Held("missing", None)
    # The reach of 0.1 times (1 + 0.8416 / 1.96) must shrink to 0.05.
    assert limits.hold(found, 0.65).n_needed == np.ceil(50 * (0.1 * (1 + 0.841621 / 1.959964) / 0.05) ** 2)
    assert limits.hold(found, 0.7) == Held("open", None)


def test_failures_against_and_for_an_order_bound_every_other_way() -> None:
    draw = np.random.default_rng(0)
    labels = draw.uniform(0, 100, 12)
    scores = labels + draw.normal(0, 20, 12)
    scores[[2, 5, 9]] = np.nan
    low, high = (
        stats.spearmanr(limits.imputed(scores, labels, against=against), labels).statistic for against in (True, False)
    )
    for _ in range(300):
        filled = scores.copy()
        filled[np.isnan(scores)] = draw.uniform(-50, 150, 3)
        assert low - 1e-9 <= stats.spearmanr(filled, labels).statistic <= high + 0.05


def test_one_score_for_all_texts() -> None:
    assert limits.most_order(limits.fewest_same(0.5)) < 0.5 < limits.most_order(limits.fewest_same(0.5) - 1)


def test_alpha_is_that_of_the_definition_and_few_texts_do_not_make_it_sure() -> None:
    draw = np.random.default_rng(0)
    ratings = draw.uniform(0, 100, (3, 30))
    ratings[1:] = ratings[0] + draw.normal(0, 10, (2, 30))
    ratings[0, 3] = np.nan
    found = limits.alpha(ratings, (0, 100), groups=range(30))
    assert found is not None
    assert found.value == pytest.approx(agreement.krippendorff_alpha(ratings).estimate)
    assert found.worst_low < found.low < found.value < found.high
    same = np.tile(np.linspace(0, 100, 10), (2, 1))
    few = limits.alpha(same, (0, 100), groups=range(10))
    many = limits.alpha(np.tile(same, 5), (0, 100), groups=range(50))
    assert few is not None and many is not None
    assert few.low < 0.8 < many.low
    assert limits.alpha(np.full((2, 10), 5.0), (0, 100), groups=range(10)) is None
