"""A threshold with a promise: how often it is broken, when it is refused, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from undogmatic.stats.conformal import find_threshold, lower_limit, units_needed


def test_the_fewest_units_are_those_of_the_exact_limit() -> None:
    """ln 0.05 / ln 0.9 = 28.4; with one or two disagreements as in tables of acceptance sampling (46 and 61)."""
    assert [units_needed(0.9, 0.95, wrong) for wrong in (0, 1, 2)] == [29, 46, 61]
    for wrong in (0, 3, 9):
        n = units_needed(0.8, 0.9, wrong)
        assert lower_limit(n - wrong, n, 0.9) >= 0.8 > lower_limit(n - 1 - wrong, n - 1, 0.9)


def test_the_lower_limit_is_that_of_the_exact_test() -> None:
    for n_true, n in ((0, 5), (3, 10), (46, 46), (80, 100)):
        limit = stats.binomtest(n_true, n, alternative="greater").proportion_ci(0.95, method="exact").low
        assert lower_limit(n_true, n, 0.95) == pytest.approx(float(limit), abs=1e-12)


def _trial(seed: int, n: int, knows: float) -> tuple[float, float]:
    """Share decided alone, and the true rate of agreement there: P(right) falls from 1 to 0.4 with the true doubt."""
    draw = np.random.default_rng(seed)
    true = draw.uniform(size=n)
    right = draw.uniform(size=n) < 1 - 0.6 * true
    doubt = knows * true + (1 - knows) * draw.uniform(size=n)
    found = find_threshold(doubt, right, 0.85, 0.95)
    if found.threshold is None:
        return 0.0, 1.0
    big = np.random.default_rng(10_000 + seed)
    true = big.uniform(size=20_000)
    kept = knows * true + (1 - knows) * big.uniform(size=20_000) <= found.threshold
    return found.share, float((1 - 0.6 * true[kept]).mean())


@pytest.mark.parametrize(("n", "knows"), [(60, 1.0), (300, 1.0), (300, 0.5), (300, 0.0)])
def test_the_promise_is_kept_as_often_as_it_says(n: int, knows: float) -> None:
    """At most 5 % of thresholds may promise too much; 400 trials of a true 5 % exceed 7.5 % once in 100."""
    broken = [rate < 0.85 for _, rate in (_trial(seed, n, knows) for seed in range(400))]
    assert np.mean(broken) <= 0.075


def test_an_honest_doubt_buys_a_share_and_a_random_one_none() -> None:
    assert np.mean([_trial(seed, 400, 1.0)[0] for seed in range(60)]) > 0.15
    assert np.mean([_trial(seed, 400, 0.0)[0] > 0 for seed in range(200)]) <= 0.05


def test_too_few_units_and_copies_are_refused_with_what_is_needed() -> None:
    few = find_threshold(np.arange(28.0), np.ones(28))
    assert (few.threshold, few.steps, few.needed) == (None, (), 29)
    copied = find_threshold(np.repeat(np.arange(10.0), 10), np.ones(100), groups=np.repeat(np.arange(10), 10))
    assert (copied.threshold, copied.n_units) == (None, 10)


def test_one_wrong_copy_makes_its_group_wrong() -> None:
    right = np.ones(200)
    right[:40:2] = 0
    found = find_threshold(np.ones(200), right, 0.8, groups=np.repeat(np.arange(100), 2))
    assert found.steps[0].n_right == 80
    assert found.threshold is None


def test_without_doubt_that_varies_all_or_nothing_is_decided() -> None:
    assert find_threshold(np.zeros(60), np.ones(60)).share == 1.0
    half = find_threshold(np.zeros(60), np.arange(60) % 2)
    assert (half.threshold, len(half.steps)) == (None, 1)
