"""Interval quality: by hand, and the honest interval wins the interval score."""

import numpy as np
import pytest
from scipy import stats

from undogmatic.stats import intervals


def test_by_hand() -> None:
    result = intervals.interval_quality([0, 10, 20, 30], [10, 20, 30, 50], [5, 23, 16, 50], 0.8)
    assert result.mean_width.value == 12.5
    assert result.interval_score.value == pytest.approx(12.5 + 10 * (3 + 4) / 4)


def test_the_honest_interval_has_the_best_score_and_the_normals_closed_form() -> None:
    truth = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    z = stats.norm.ppf(0.95)
    scores = {
        reach: intervals.interval_quality(np.full(1000, -reach), np.full(1000, reach), truth, 0.9).interval_score.value
        for reach in (0.8 * z, z, 1.25 * z)
    }
    assert min(scores, key=scores.__getitem__) == z
    # 2 z + (2 / 0.1) x 2 x (phi(z) - 0.05 z): the width cancels.
    assert scores[z] == pytest.approx(2 * stats.norm.pdf(z) / 0.05, rel=0.01)


def test_intervals_that_leave_the_scale_are_measured_as_they_are() -> None:
    truth = np.linspace(0, 100, 20)
    found = intervals.interval_quality(truth - 60, truth + 60, truth, span=100)
    assert (found.mean_width.value, found.mean_width.high) == pytest.approx((120, 120))
    few = intervals.interval_quality(truth - 1, truth + np.where(truth > 99, 199, 1), truth, span=100)
    assert few.mean_width.value == pytest.approx(2 + 198 / 20)


def test_an_inverted_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="above"):
        intervals.interval_quality([2, 0], [1, 1], [1, 1])
