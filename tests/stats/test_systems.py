"""The order of systems by judge and people: the coefficient, its limits, and what can be trusted."""

import numpy as np
import pytest
import scipy.stats

from undogmatic.stats import corrected, systems
from undogmatic.stats.corrected import Corrected, Judged


def means_of(
    values: np.ndarray, level: float = 0.95, **more: object
) -> list[Corrected]:
    """The mean of each column, of rows that are items which all systems share."""
    nobody = np.full(len(values), np.nan)
    codes = np.arange(len(values))
    return [
        corrected.mean(
            Judged(column, column, nobody, codes, len(values)),
            "all",
            level=level,
            **more,
        )
        for column in values.T
    ]


def worlds(
    rng: np.random.Generator, n_systems: int, n: int, rho: float
) -> tuple[np.ndarray, ...]:
    """Verdicts and labels of items by systems, whose true means correlate by `rho`."""
    true = 0.5 * rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n_systems)
    item = rng.normal(0, 0.5, (n, 1))
    verdicts, labels = (
        true[:, k] + item + rng.normal(0, 0.6, (n, n_systems)) for k in (0, 1)
    )
    return verdicts, labels, true


def test_the_coefficient_is_kendalls_with_ties(rng: np.random.Generator) -> None:
    for _ in range(20):
        x, y = rng.integers(0, 4, (2, 9)).astype(float)
        if np.ptp(x) and np.ptp(y):
            expected = scipy.stats.kendalltau(x, y).statistic
            assert systems._tau_b(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n_systems", "rho"), [(5, 0.0), (9, 0.7), (20, 0.9)])
def test_the_interval_holds_the_coefficient_of_all_systems(
    rng: np.random.Generator, n_systems: int, rho: float
) -> None:
    truth = 2 / np.pi * np.arcsin(rho)
    held = []
    for _ in range(120):
        verdicts, labels, _ = worlds(rng, n_systems, 120, rho)
        found = systems.rank_correlation(means_of(verdicts), means_of(labels), rng)
        assert found is not None and found.low <= found.value <= found.high
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.88  # 95 % of 120 samples, less three standard errors


def test_of_few_items_more_is_open_than_of_many(rng: np.random.Generator) -> None:
    widths = []
    for n in (15, 600):
        verdicts, labels, _ = worlds(np.random.default_rng(3), 12, n, 0.9)
        found = systems.rank_correlation(means_of(verdicts), means_of(labels), rng)
        assert found is not None
        widths.append(np.arctanh(min(found.high, 0.99)) - np.arctanh(found.low))
    assert widths[0] > widths[1]


def test_a_perfect_order_is_not_certain_and_a_single_mean_has_no_order(
    rng: np.random.Generator,
) -> None:
    steps = np.arange(6.0) + rng.normal(0, 0.01, (40, 6))
    found = systems.rank_correlation(means_of(steps), means_of(steps), rng)
    assert found is not None and found.value == found.high == 1 and found.low < 0.9
    assert (
        systems.rank_correlation(means_of(np.ones((40, 6))), means_of(steps), rng)
        is None
    )
    assert (
        systems.rank_correlation(means_of(steps[:, :4]), means_of(steps[:, :4]), rng)
        is None
    )


def test_what_can_be_trusted_holds_for_all_pairs_of_systems(
    rng: np.random.Generator,
) -> None:
    """Two systems whose verdicts differ in truth by more are in people's order."""
    wrong = 0
    for _ in range(60):
        verdicts, labels, true = worlds(rng, 6, 60, 0.5)
        offsets = means_of(verdicts - labels, 1 - 0.05 / 15)
        smallest = systems.smallest_difference(offsets)
        first, second = np.triu_indices(6, 1)
        judge, people = ((true[:, k][first] - true[:, k][second]) for k in (0, 1))
        wrong += bool(np.any((np.abs(judge) > smallest) & (judge * people <= 0)))
    assert wrong <= 6


def test_equal_verdicts_and_labels_of_few_items_do_not_make_every_difference_trusted() -> (
    None
):
    alike = np.zeros((20, 3))
    assert systems.smallest_difference(means_of(alike, bounds=(-1, 1))) > 0.1


def test_directions_are_of_pairs_that_are_shown_to_differ(
    rng: np.random.Generator,
) -> None:
    values = np.array([0.0, 0.0, 2.0]) + rng.normal(0, 0.3, (60, 3))
    assert systems.directions(means_of(values)).tolist() == [0, -1, -1]
