"""Letter displays: sharing a letter says exactly "not shown to differ"."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undogmatic.stats.letters import letter_display

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


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'w'"):
        letter_display(["x", "y"], [("x", "w")])
