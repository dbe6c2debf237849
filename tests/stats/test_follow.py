"""Whether a second measure is shown not to follow a first one that rises."""

import numpy as np
import pytest

from undogmatic.stats.follow import FEWEST, Sample, following
from undogmatic.stats.means import interval


def drawn(
    rng: np.random.Generator, rise: float, followed: float, n: int = 64
) -> Sample:
    """Both measures of n texts when the first has risen so far, and the second by this share of
    it."""
    first = rng.beta(2, 3, n) * 0.4 + rise
    return Sample(
        first, 0.3 + followed * rise + 0.4 * (first - rise) + rng.normal(0, 0.05, n)
    )


def test_estimates_are_differences_of_means_and_limits_come_from_both() -> None:
    rng = np.random.default_rng(1)
    start, now = drawn(rng, 0.0, 0.5), drawn(rng, 0.4, 0.5)
    found = following(start, now, 0.25, 0.05, looks=10)
    assert found.first.value == pytest.approx(np.mean(now.first) - np.mean(start.first))
    assert found.lag.value == pytest.approx(
        found.second.value - 0.25 * found.first.value
    )
    one, other = (interval(each.first, 1 - 2 * 0.005) for each in (now, start))
    # Zou and Donner (2008)
    low = found.first.value - np.hypot(one.value - one.low, other.high - other.value)
    assert (found.first.low, found.first.level) == (
        pytest.approx(low),
        pytest.approx(0.99),
    )


@pytest.mark.parametrize(
    ("rise", "followed", "alarm"),
    [(0.4, 0.0, True), (0.4, -0.5, True), (0.4, 1.0, False), (0.0, 0.0, False)],
)
def test_it_sounds_only_where_the_first_rises_alone(
    rise: float, followed: float, alarm: bool
) -> None:
    rng = np.random.default_rng(2)
    start, now = drawn(rng, 0.0, followed), drawn(rng, rise, followed)
    assert following(start, now, 0.25, 0.05, (-1, 2), 20).alarm is alarm
    # a first measure that falls
    assert not following(now, start, 0.25, 0.05, (-1, 2), 20).alarm


def test_false_alarms_of_all_looks_together_keep_to_the_level() -> None:
    """At the edge of what is allowed, where they are most frequent; in the open they are
    certain."""
    trials, looks, false, found = 150, 6, 0, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        start = drawn(rng, 0.0, 0.25, 40)
        false += any(
            following(start, drawn(rng, 0.4, 0.25, 40), 0.25, 0.05, None, looks).alarm
            for _ in range(looks)
        )
        found += following(
            start, drawn(rng, 0.4, 0.0, 40), 0.25, 0.05, None, looks
        ).alarm
    assert false / trials < 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)
    assert found / trials > 0.9


def test_whole_groups_count_once() -> None:
    rng = np.random.default_rng(3)
    start, now = drawn(rng, 0.0, 0.0, FEWEST), drawn(rng, 0.15, 0.0, FEWEST)
    alone = following(start, now, 0.25, 0.05)
    copied = [
        Sample(
            np.repeat(s.first, 9), np.repeat(s.second, 9), np.repeat(range(FEWEST), 9)
        )
        for s in (start, now)
    ]
    assert following(*copied, 0.25, 0.05).first.interval == pytest.approx(
        alone.first.interval
    )
    fewer = Sample(*(np.asarray(values)[1:] for values in now[:2]))
    assert np.isnan(following(start, fewer, 0.25, 0.05).lag.value)
    assert not following(start, fewer, 0.0, 0.05).alarm


def test_a_writer_that_has_settled_on_one_text_is_seen_where_bounds_are_known() -> None:
    start = drawn(np.random.default_rng(4), 0.0, 0.0)
    settled = Sample(np.full(64, 0.95), np.full(64, 0.1))
    assert following(start, settled, 0.25, 0.05, (0, 1), 20).alarm
    assert not following(
        start, settled, 0.25, 0.05, None, 20
    ).alarm  # all agree, and nothing limits the others


@pytest.mark.parametrize(
    "wrong", [{"share": 1.1}, {"share": -0.1}, {"looks": 0}, {"alpha": 0}]
)
def test_what_is_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    sample = drawn(np.random.default_rng(5), 0, 0)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        following(sample, sample, **({"share": 0.5, "alpha": 0.05} | wrong))  # type: ignore[arg-type]
