"""Numbers in words, in digits and in dates, as the rules read them."""

from __future__ import annotations

from typing import Any

import pytest

from undogmatic.constructs.faithfulness.facts.reading import values


@pytest.mark.parametrize(
    ("words", "language", "number"),
    [
        ("quarenta e oito cozinheiros", "pt", 48),
        ("quarenta e\noito cozinheiros", "pt", 48),
        ("quatrocentas e oito folhas", "pt", 408),
        ("cento e vinte e três mil e quatrocentas folhas", "pt", 123_400),
        ("mil e duzentas folhas", "pt", 1200),
        ("novecentas e noventa e nove mil pessoas", "pt", 999_000),
        ("one hundred and twenty-three cooks", "en", 123),
        ("two thousand five hundred cooks", "en", 2500),
        ("forty -\neight cooks", "en", 48),
    ],
)
def test_a_number_in_words_is_read_whole(words: str, language: Any, number: float) -> None:
    assert [value.parts for value in values(f"Eram {words} ali.", language)] == [(float(number),)]


def test_the_end_of_a_number_that_is_not_known_is_no_number() -> None:
    """ "cinqüenta e oito" in a spelling that nobody listed must not be read as eight."""
    assert values("Eram cinkuenta e oito cozinheiros.", "pt") == ()
    assert values("There were some twelvty eight cooks.", "en") == ()


@pytest.mark.parametrize(
    ("text", "language"),
    [("o IPTU de 2018 a 2020", "pt"), ("the 1966–1967 handbook", "en"), ("o décimo quinto lugar", "pt")],
)
def test_a_range_of_years_and_a_half_read_ordinal_are_no_value(text: str, language: Any) -> None:
    assert values(text, language) == ()
