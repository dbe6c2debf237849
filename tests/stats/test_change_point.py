"""One change of a mean over time: how often it is told where there is none, and when it is dated."""

import numpy as np
import pytest

from undogmatic.stats import change_point
from undogmatic.stats.change_point import find
from undogmatic.stats.checks import Array, Index, Rng


def made(
    rng: Rng, n: int, periods: int, before: float, after: float
) -> tuple[Array, Index, Index]:
    """Right or wrong, the period and the group of n items; after two thirds of the time another
    share is right."""
    at = np.sort(rng.integers(0, periods, n))
    shares = np.where(at < periods * 2 // 3, before, after)
    return (rng.random(n) < shares).astype(float), at, np.arange(n)


@pytest.mark.parametrize(("periods", "dealt"), [(6, "groups"), (30, "periods")])
def test_false_alarms_are_as_rare_as_is_asked_for(periods: int, dealt: str) -> None:
    """Of 200 files without a change at most 8 % are told to have one at 5 % (with probability
    .98)."""
    alarms = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = find(*made(rng, 60, periods, 0.7, 0.7), rng)
        assert found is not None and found.dealt == dealt
        alarms.append(found.p <= 0.05)
    assert 0.01 < np.mean(alarms) <= 0.08


def test_groups_that_say_the_same_are_one(rng: Rng) -> None:
    """Twelve groups of ten copies each: taken alone, their items would raise an alarm far more
    often."""
    alarms = {"groups": 0, "items": 0}
    for _ in range(100):
        lies = np.sort(rng.permutation(12) % 4)
        values = np.repeat(rng.integers(0, 2, 12).astype(float), 10)
        periods, groups = np.repeat(lies, 10), np.repeat(np.arange(12), 10)
        for name, codes in (("groups", groups), ("items", np.arange(120))):
            found = find(values, periods, codes, rng, draws=199)
            alarms[name] += found is not None and found.p <= 0.05
    assert alarms["groups"] <= 10 and alarms["items"] > 50


def test_a_group_in_several_periods_is_dealt_among_these(rng: Rng) -> None:
    """Prompts that differ from each other say nothing of a change, whatever their differences."""
    prompts, periods = np.repeat(np.arange(10), 6), np.tile(np.arange(6), 10)
    order = np.argsort(periods, kind="stable")
    values = (prompts * 10.0)[order]
    found = find(values, periods[order], prompts[order], rng)
    assert found is not None and found.p == 1.0 and found.dealt == "groups"
    later = find(values + (periods[order] >= 4), periods[order], prompts[order], rng)
    assert later is not None and later.at == 4 and later.p <= 0.01


@pytest.mark.parametrize("periods", [6, 30])
def test_a_change_is_dated_and_its_size_told(periods: int, rng: Rng) -> None:
    found = find(*made(rng, 600, periods, 0.95, 0.55), rng)
    assert found is not None and found.p == pytest.approx(0.001)
    assert found.first <= periods * 2 // 3 <= found.last
    assert found.last - found.first <= 2
    (change,) = found.difference
    assert change.low < -0.4 < change.high < 0
    assert change.value == pytest.approx((found.after - found.before).item())


def test_turning_time_round_turns_the_change_round(rng: Rng) -> None:
    values, periods, groups = made(rng, 300, 20, 0.9, 0.6)
    there = find(values, periods, groups, np.random.default_rng(1))
    back = find(values[::-1], 19 - periods[::-1], groups, np.random.default_rng(1))
    assert there is not None and back is not None
    assert back.at == 20 - there.at and back.before == pytest.approx(there.after)
    assert back.difference[0].value == pytest.approx(-there.difference[0].value)


def test_shares_of_categories_change_together(rng: Rng) -> None:
    said = np.r_[
        rng.choice(3, 200, p=(0.6, 0.2, 0.2)), rng.choice(3, 200, p=(0.2, 0.2, 0.6))
    ]
    found = find(np.eye(3)[said], np.arange(400) // 20, np.arange(400), rng)
    assert found is not None and found.p <= 0.01 and len(found.difference) == 3
    first, second, third = (each.value for each in found.difference)
    assert (
        first < -0.2 < second < 0.2 < third
        and first + second + third == pytest.approx(0)
    )


def test_many_items_are_put_together_before_they_are_dealt(rng: Rng) -> None:
    values, periods, groups = made(rng, 30_000, 5, 0.8, 0.77)
    found = find(values, periods, groups, rng, draws=99)
    assert found is not None and found.at == 3 and found.p == pytest.approx(0.01)
    assert found.difference[0].n_groups <= change_point.MOST_UNITS
    assert found.before == pytest.approx(values[periods < 3].mean())


def test_too_little_can_show_no_change(rng: Rng) -> None:
    values = np.ones(20)
    assert find(values, np.zeros(20, dtype=np.intp), np.arange(20), rng) is None
    few = np.repeat(np.arange(4), 5)
    assert find(values, few, few, rng) is None
    late = (np.arange(20) >= change_point.PER_SIDE - 1).astype(np.intp)
    assert find(values, late, np.arange(20), rng) is None
    assert change_point.fewest_units(0.95) == 8
    with pytest.raises(ValueError, match="must be numbers"):
        find(np.full(20, np.nan), few, few, rng)
