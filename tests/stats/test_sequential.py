"""Confidence sequences: by hand, by symmetry, and how often they are ever wrong."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undogmatic.stats import sequential
from undogmatic.stats.sequential import mean_so_far, mean_so_far_of_groups


class TestByHand:
    def test_two_values(self) -> None:
        # Against a low mean m the first bet is sqrt(2 log(40) / (0.25 log 2)) = 6.525; after a first 1 the running mean
        # is 0.75 and the spread (0.25 + 0.25^2) / 2, so that the second is sqrt(2 log(40) / (0.15625 * 2 log 3)) =
        # 4.636. Neither is cut at m < 0.5 / 6.525. The money (1 + 6.525 (1 - m)) (1 + 4.636 (1 - m)) reaches 40 at
        # m = 0.0341, so that 0.034 is the last mean of the grid that is refused.
        found = mean_so_far([1.0, 1.0], 10**9, 0, 1)
        assert found.estimate.interval == (pytest.approx(0.034, abs=1e-6), pytest.approx(1))
        # One value alone gives at most 7.5-fold.
        assert mean_so_far([1.0], 10**9, 0, 1).estimate.low == pytest.approx(0, abs=1e-6)

    def test_what_is_known_of_all_bounds_the_mean(self) -> None:
        found = mean_so_far([100.0, 100, 0], 4, 0, 100)
        assert (found.estimate.value, found.estimate.low, found.estimate.high) == (pytest.approx(200 / 3), 50, 75)

    def test_all_known_is_the_mean_itself(self) -> None:
        values = np.random.default_rng(1).uniform(1, 5, 50)
        found = mean_so_far(values, 50, 1, 5)
        assert (found.estimate.low, found.estimate.value, found.estimate.high) == pytest.approx([values.mean()] * 3)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 10), min_size=1, max_size=30), st.integers(0, 200))
def test_turning_the_scale_turns_the_interval(values: list[int], further: int) -> None:
    there = mean_so_far(values, len(values) + further, 0, 10)
    back = mean_so_far([10 - v for v in values], len(values) + further, 0, 10)
    assert there.estimate.interval == pytest.approx((10 - back.estimate.high, 10 - back.estimate.low))
    assert there.estimate.low <= there.estimate.value <= there.estimate.high


def test_more_values_never_widen_it() -> None:
    values = np.random.default_rng(2).beta(2, 5, 300)
    found = [mean_so_far(values[:n], 400, 0, 1) for n in (5, 20, 80, 300)]
    assert all(
        a.estimate.low <= b.estimate.low + 1e-12 and b.estimate.high <= a.estimate.high + 1e-12
        for a, b in itertools.pairwise(found)
    )
    assert found[-1].estimate.high - found[-1].estimate.low < 0.06


DRAWS: dict[str, Any] = {
    "rarely one": lambda rng, n: (rng.random(n) < 0.1).astype(float),
    "even": lambda rng, n: rng.random(n),
    "steep": lambda rng, n: rng.beta(0.3, 2, n),
    "high steps": lambda rng, n: rng.choice([0.75, 1.0], n),
}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("n_total", [1000, 4000])
def test_it_is_ever_wrong_within_a_thousand_looks_in_at_most_one_of_twenty(kind: str, n_total: int) -> None:
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(300):
        values = DRAWS[kind](rng, n_total)
        # Whether the true mean survives all looks: what mean_so_far decides for each mean of its grid.
        survives = sequential._survives(values[:1000], n_total, np.array([values.mean()]), 0.95)
        wrong += not survives[0]
    assert wrong / 300 <= 0.05


def test_a_fixed_interval_is_wrong_far_more_often() -> None:
    """Why one is needed at all: the usual 95 % interval, looked at after every value from the tenth."""
    rng = np.random.default_rng(4)
    n = np.arange(1, 1001)
    values = rng.random((200, 1000))
    mean = np.cumsum(values, axis=1) / n
    error = np.sqrt(1 / 12 / n)
    assert np.mean((np.abs(mean - 0.5) > 1.96 * error)[:, 9:].any(axis=1)) > 0.25


class TestGroups:
    def test_groups_of_one_are_values(self) -> None:
        values = np.random.default_rng(5).uniform(0, 100, 20)
        alone = mean_so_far_of_groups(values, range(20), range(50), 0, 100)
        plain = mean_so_far(values, 50, 0, 100)
        assert alone is not None
        assert (alone.estimate.low, alone.estimate.value, alone.estimate.high) == pytest.approx(
            (plain.estimate.low, plain.estimate.value, plain.estimate.high)
        )
        assert (alone.estimate.n, alone.n_total) == (20, 50)

    def test_copies_are_no_news(self) -> None:
        values = np.random.default_rng(6).uniform(0, 100, 20)
        twice = mean_so_far_of_groups(np.repeat(values, 2), np.repeat(range(20), 2), np.repeat(range(50), 2), 0, 100)
        plain = mean_so_far(values, 50, 0, 100)
        assert twice is not None
        assert twice.estimate.interval == pytest.approx((plain.estimate.low, plain.estimate.high))

    def test_a_larger_group_counts_for_more_and_an_unfinished_one_not_yet(self) -> None:
        found = mean_so_far_of_groups([40.0, 10, 10, 90], "abbc", "abbcc", 0, 100)
        assert found is not None
        assert (found.estimate.n, found.n_total) == (3, 5)
        # Known whole: 40 + 20 of 5 values; the two of c may still be anything.
        assert found.estimate.interval == (pytest.approx(12), pytest.approx(52))
        assert mean_so_far_of_groups([40.0], "c", "cc", 0, 100) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"values": []}, "values"),
        ({"values": [1.0, float("nan")]}, "NaN"),
        ({"values": [11.0]}, "between 0 and 10"),
        ({"n_total": 1}, "n_total"),
        ({"maximum": 0}, "wider"),
        ({"level": 1.0}, "level"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], named: str) -> None:
    arguments: dict[str, Any] = {"values": [1.0, 2.0], "n_total": 5, "minimum": 0, "maximum": 10}
    with pytest.raises(ValueError, match=named):
        mean_so_far(**(arguments | change))
