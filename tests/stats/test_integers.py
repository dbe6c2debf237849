"""Expected whole numbers: the reference cases, numbers put together from digits, and what must not count."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import reference
from undogmatic.stats.uncertainty import completed, ends, expected_score, integer_masses, longest_digits


def test_every_reference_case_is_reproduced() -> None:
    rows = [json.loads(line) for line in reference("trait/logprob_aggregation.jsonl").read_text().splitlines()]
    assert len(rows) >= 8
    for row in rows:
        given_ = row["token_probabilities"]
        assert sum(integer_masses(given_, 0, 100).values()) == pytest.approx(row["integer_mass"], abs=1e-9)
        for least, key in ((0.25, "expected_trait"), (0.10, "expected_coherence")):
            found = expected_score(given_, 0, 100, least)
            assert found == (None if row[key] is None else pytest.approx(row[key], abs=1e-9))


@pytest.mark.parametrize("token", ["7.5", "-5", "N", "101", "5%", "", " ", "\u0664", "1e1", "5 6", "9" * 30])
def test_what_is_no_whole_number_of_the_range_is_off_it(token: str) -> None:
    assert expected_score({token: 1.0}, 0, 100, 0.0) is None


def test_spellings_are_added_and_the_least_mass_is_a_bound_from_below() -> None:
    assert integer_masses({"40": 0.1, " 40": 0.05, "\u258140": 0.1}, 0, 100) == {40: pytest.approx(0.25)}
    assert expected_score({"40": 0.25, "x": 0.75}, 0, 100, 0.25) == 40
    assert expected_score({"40": 0.2499, "x": 0.75}, 0, 100, 0.25) is None
    assert expected_score({}, 0, 100, 0.0) is None


@pytest.mark.parametrize("odds", [{"5": -0.1}, {"5": 1.5}, {"5": float("nan")}])
def test_what_is_no_probability_is_refused(odds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="is no probability"):
        expected_score(odds, 0, 100, 0.25)
    with pytest.raises(ValueError, match="range"):
        expected_score({}, 5, 4, 0.25)


def split(odds: dict[int, float]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Odds of whole numbers where a digit is a token: of the first one, and after each beginning."""
    first: dict[str, float] = {}
    joint: dict[str, dict[str, float]] = {}
    for number, mass in odds.items():
        digits = str(number)
        first[digits[0]] = first.get(digits[0], 0.0) + mass
        for n in range(1, len(digits) + 1):
            after = digits[n] if n < len(digits) else "\n"
            own = joint.setdefault(digits[:n], {})
            own[after] = own.get(after, 0.0) + mass
    return first, {
        digits: {token: mass / sum(own.values()) for token, mass in own.items()} for digits, own in joint.items()
    }


@given(st.dictionaries(st.integers(0, 100), st.floats(0.01, 1), min_size=1, max_size=12))
def test_digits_put_together_are_the_numbers(weights: dict[int, float]) -> None:
    total = sum(weights.values())
    odds = {number: weight / total for number, weight in weights.items()}
    found = completed(*split(odds), high=100, longest=1)
    assert not found.begun
    assert integer_masses(found.numbers, 0, 100) == pytest.approx(odds)
    assert expected_score(found.numbers, 0, 100, 0.25) == pytest.approx(sum(n * p for n, p in odds.items()))


def test_a_beginning_that_was_not_followed_is_no_number() -> None:
    first = {"8": 0.6, "1": 0.3, "0": 0.1}
    found = completed(first, {"8": {"7": 0.5, "\n": 0.25, ".": 0.25}}, high=100, longest=1)
    assert found.numbers == {"87": pytest.approx(0.3), "8": pytest.approx(0.15), "0": pytest.approx(0.1)}
    assert found.begun == {"1": pytest.approx(0.3)}


def test_with_longer_tokens_a_digit_is_a_number_by_itself() -> None:
    first = {"8": 0.5, "87": 0.5}
    assert completed(first, {}, high=100, longest=longest_digits(first)).numbers == {"8": 0.5, "87": 0.5}


@pytest.mark.parametrize(("token", "is_end"), [("\n", True), (" ", True), ("<eos>", True), ("<|im_end|>", True)])
def test_white_space_and_markers_end_a_number(token: str, is_end: bool) -> None:
    assert ends(token) is is_end


@pytest.mark.parametrize("token", [".", ",", "/", "%", "a", "-", "5"])
def test_what_may_be_the_middle_of_another_number_does_not_end_it(token: str) -> None:
    assert not ends(token)


def test_the_first_digit_alone_would_not_do() -> None:
    """Why beginnings are followed: of judges that mean to say 100, 10 and 1 the first digit says the same."""
    scores = [completed(*split({number: 1.0}), high=100, longest=1) for number in (100, 10, 1)]
    assert np.ptp([expected_score(found.numbers, 0, 100, 0.25) for found in scores]) == 99
