"""Places of systems: what they must be where it is plain, and how they mirror."""

from __future__ import annotations

import numpy as np
import pytest

from undogmatic.stats.ranks import ranks


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_one_that_is_ahead_in_every_case_is_first_in_every_resample() -> None:
    values = np.column_stack([np.linspace(0.1, 0.5, 8), np.linspace(0.3, 0.7, 8), np.linspace(0.2, 0.6, 8)])
    found = ranks(values, rng())
    assert found.place.tolist() == found.low.tolist() == found.high.tolist() == [3, 1, 2]
    assert found.first.tolist() == [0, 1, 0]


def test_equal_systems_share_the_place_and_the_first() -> None:
    values = np.repeat(np.linspace(0, 1, 6)[:, None], 2, axis=1)
    found = ranks(values, rng())
    assert found.place.tolist() == [1.5, 1.5]
    assert found.first.tolist() == [0.5, 0.5]


def test_turning_the_values_around_mirrors_the_places() -> None:
    values = np.random.default_rng(0).normal(size=(12, 4))
    up, down = ranks(values, rng()), ranks(-values, rng())
    assert (up.place == 5 - down.place).all()
    assert abs(up.first.sum() - 1) < 1e-12
    assert (up.low <= up.place).all() and (up.place <= up.high).all()


def test_cases_of_one_group_are_drawn_together() -> None:
    values = np.array([[1.0, 0.0]] * 4 + [[0.0, 0.5]])
    assert ranks(values, rng(), groups=list("aaaab")).n_units == 2
    alone, together = ranks(values, rng()), ranks(values, rng(), groups=list("aaaab"))
    assert together.first[0] < alone.first[0]


@pytest.mark.parametrize("values", [np.zeros((3, 1)), np.zeros(3), np.array([[1.0, np.nan]])])
def test_what_is_no_ranking_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError):
        ranks(values, rng())
