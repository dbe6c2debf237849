"""Back-to-back reliability of one judge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undogmatic.stats import repeat

RUNS = hnp.arrays(np.float64, (2, 10), elements=st.integers(0, 100).map(float))


def test_hand_computed() -> None:
    result = repeat.back_to_back([10.0, 20, 30, 40], [10.0, 22, 30, 36], tolerance=2)
    assert (result.n, result.mean_difference, result.mean_abs_difference) == (4, -0.5, 1.5)
    assert (result.max_abs_difference, result.exact_match.value) == (4, 0.75)
    assert result.sd_within == pytest.approx(np.sqrt(20 / 8))
    assert result.spearman.estimate == 1


def test_within_subject_sd_of_bland_and_altman() -> None:
    # Two readings with error sd 3 around each item's own value: the error is recovered, whatever the items' spread.
    rng = np.random.default_rng(51)
    items = rng.normal(50, 20, 4000)
    first, second = items + rng.normal(0, 3, 4000), items + rng.normal(0, 3, 4000)
    result = repeat.back_to_back(first, second)
    assert result.sd_within == pytest.approx(3, abs=0.1)
    assert np.mean(np.abs(first - second) < 2.77 * result.sd_within) == pytest.approx(0.95, abs=0.01)


@given(RUNS)
def test_swapping_the_runs_only_turns_the_mean_difference(runs: np.ndarray) -> None:
    here, there = repeat.back_to_back(runs[0], runs[1]), repeat.back_to_back(runs[1], runs[0])
    assert there.mean_difference == pytest.approx(-here.mean_difference)
    assert there[4:] == here[4:]
    assert abs(here.mean_difference) <= here.mean_abs_difference + 1e-9
    assert here.mean_abs_difference <= here.max_abs_difference


def test_identical_constant_runs_match_exactly_and_have_no_correlation() -> None:
    result = repeat.back_to_back([50.0] * 5, [50.0] * 5)
    assert (result.exact_match.value, result.sd_within) == (1, 0)
    assert result.pearson.estimate is None
    assert "constant" in result.pearson.note
