"""Who had won after each instance, as far as a text tells it."""

import pytest

from benchmarks.planted import FRESH, fresh
from undogmatic.constructs.faithfulness.facts.course import course
from undogmatic.constructs.faithfulness.facts.parties import parties
from undogmatic.constructs.faithfulness.facts.words import sentences

REFERENCE = {
    "en": (
        "Ines Moor sued Falk Tools over a broken ladder. The jury found for Moor. The Court of"
        " Appeals reversed. The Supreme Court reinstated the verdict."
    ),
    "pt": (
        "A costureira Ines Moura ajuizou ação contra a Tecelagem Falcão. O juiz julgou procedente o"
        " pedido. O Tribunal de Justiça reformou a sentença. O STJ restabeleceu a sentença."
    ),
}


def won(language: str, text: str) -> dict[str, int]:
    who = parties(sentences(REFERENCE[language]), language)  # type: ignore[arg-type]
    told = course(sentences(text), who)
    return {level: each.winner for level, each in told.won.items()}


@pytest.mark.parametrize("language", ["en", "pt"])
def test_a_decision_on_a_decision_keeps_turns_or_restores_who_won(
    language: str,
) -> None:
    first = {"en": "jury", "pt": "trial"}[language]
    assert won(language, REFERENCE[language]) == {first: 0, "appeal": 1, "top": 0}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Moor lost before the jury.", {"jury": 1}),
        ("en", "The trial court sided with Falk Tools.", {"trial": 1}),
        (
            "en",
            "The jury decided against Falk. On appeal the verdict was upheld.",
            {"jury": 0, "appeal": 0},
        ),
        (
            "en",
            "The jury found for Moor. The verdict did not survive the appeal.",
            {"jury": 0, "appeal": 1},
        ),
        ("en", "The Court of Appeals reversed.", {}),  # who had won is not said
        ("en", "Whether the jury found for Moor is in question.", {}),
        ("pt", "A costureira perdeu em primeiro grau.", {"trial": 1}),
        (
            "pt",
            "O juiz deu razão à tecelagem. O Tribunal de Justiça negou provimento à apelação da costureira.",
            {"trial": 1, "appeal": 1},
        ),
        ("pt", "O STJ negou provimento ao recurso da tecelagem.", {"top": 0}),
        ("pt", "O STJ manteve o acórdão.", {}),
    ],
)
def test_who_won_is_read_from_what_is_said(
    language: str, text: str, expected: dict[str, int]
) -> None:
    assert won(language, text) == expected


def test_no_parties_are_read_where_nobody_asks_for_anything() -> None:
    nobody = parties(["The weather was good.", "The court closed at noon."], "en")
    assert not nobody.claimant and not nobody.other


def test_phrases_of_the_fresh_summaries_stand_in_them_and_kinds_are_as_many() -> None:
    for part in FRESH:
        kinds = [each.kind for each in fresh(part)]
        assert len(set(map(kinds.count, {"perfect", "outcome", "party"}))) == 1
