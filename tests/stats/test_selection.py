"""Places of systems: what they must be where it is plain, and how they mirror."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from undogmatic.stats.compare import letter_display, ranks

NAMES = list("ABCDEFG")
PAIRS = list(combinations(NAMES, 2))


@given(st.sets(st.sampled_from(PAIRS)))
def test_two_names_share_a_letter_exactly_if_they_do_not_differ(different: set[tuple[str, str]]) -> None:
    found = letter_display(NAMES, different)
    for one, other in PAIRS:
        assert bool(set(found[one]) & set(found[other])) == ((one, other) not in different)


def test_the_best_gets_the_first_letter_and_no_letter_is_superfluous() -> None:
    assert letter_display(["x", "y", "z"], [("z", "x")]) == {"x": "a", "y": "ab", "z": "b"}
    assert letter_display(["x", "y"], []) == {"x": "a", "y": "a"}
    assert letter_display(["x", "y", "z"], list(combinations("xyz", 2))) == {"x": "a", "y": "b", "z": "c"}


def test_every_group_has_a_letter_of_its_own_or_nobody_has_any() -> None:
    names = [str(n) for n in range(52)]
    apart = list(combinations(names, 2))
    assert len(set(letter_display(names, apart).values())) == 52
    assert letter_display([*names, "x"], [*apart, *((name, "x") for name in names)]) == {}


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_one_that_is_ahead_in_every_case_is_first_in_every_resample() -> None:
    values = np.column_stack([np.linspace(0.1, 0.5, 8), np.linspace(0.3, 0.7, 8), np.linspace(0.2, 0.6, 8)])
    found = ranks(values, rng())
    assert found.place.tolist() == found.ends.low.tolist() == found.ends.high.tolist() == [3, 1, 2]
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
    assert (up.ends.low <= up.place).all() and (up.place <= up.ends.high).all()


def test_cases_of_one_group_are_drawn_together() -> None:
    values = np.array([[1.0, 0.0]] * 4 + [[0.0, 0.5]])
    assert ranks(values, rng(), groups=list("aaaab")).n_units == 2
    alone, together = ranks(values, rng()), ranks(values, rng(), groups=list("aaaab"))
    assert together.first[0] < alone.first[0]
