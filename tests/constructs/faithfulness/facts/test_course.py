"""Who had won after each instance, as far as a text tells it."""

import time

import pytest

from benchmarks.planted import FRESH, fresh
from undogmatic.constructs.faithfulness.facts.course import course, differences
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


CASES = {
    "en": (
        "Landlord Hugo Penn sued his tenant Mira Castell for eviction. The district court ruled for Penn."
        " The Court of Appeals reversed. Penn must bear the costs."
    ),
    "pt": (
        "A empresa Sinal Livre processou o Município de Rio Claro. O juiz julgou procedente o pedido. O"
        " Tribunal de Justiça deu provimento à apelação do município. O STJ não conheceu do recurso"
        " especial. A empresa pagará as custas."
    ),
    "crime": (
        "Owen Pratt was charged with theft. A jury convicted him. The Court of Appeals reversed the"
        " conviction. The Supreme Court affirmed the Court of Appeals."
    ),
    "law": (
        "Verda Imports sued the State of Marlow over a tax. The district court ruled for the state. The"
        " Supreme Court held the tax unconstitutional."
    ),
}


def told_otherwise(case: str, text: str) -> list[tuple[str, str]]:
    reference = sentences(CASES[case])
    who = parties(reference, "pt" if case == "pt" else "en")
    known = course(reference, who)
    read = course(sentences(text), who, known)
    return [(right.said, other.said) for right, other in differences(known, read)]


@pytest.mark.parametrize(
    ("case", "right", "wrong"),
    [
        ("en", "The landlord's appeal failed.", ""),  # he had no reason to appeal
        (
            "en",
            "The tenant's appeal was successful.",
            "The tenant's appeal was unsuccessful.",
        ),
        (
            "en",
            "On appeal the tenant prevailed.",
            "On appeal the landlord prevailed.",
        ),
        ("en", "Penn pays the costs.", "Castell pays the costs."),
        ("pt", "As custas cabem à empresa.", "As custas cabem ao município."),
        (
            "pt",
            "O recurso especial da empresa não prosperou.",
            "O recurso especial da empresa prosperou.",
        ),
        (
            "pt",
            "O STJ nem chegou a examinar o recurso especial.",
            "O STJ acolheu, por unanimidade, o recurso especial.",
        ),
        (
            "pt",
            "Perdeu na apelação a Sinal Livre, e o STJ manteve o acórdão.",
            "O STJ reformou o acórdão.",
        ),
        (
            "crime",
            "The conviction of Owen Pratt does not stand.",
            "The conviction of Owen Pratt stands.",
        ),
        (
            "crime",
            "The Supreme Court sided with the defense.",
            "The Supreme Court sided with the prosecution.",
        ),
        (
            "law",
            "The tax was struck down by the Supreme Court.",
            "The tax was upheld by the Supreme Court.",
        ),
    ],
)
def test_a_turned_course_is_told_otherwise_and_the_right_one_is_not(
    case: str, right: str, wrong: str
) -> None:
    assert told_otherwise(case, right) == []
    assert not wrong or told_otherwise(case, wrong)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        # what somebody wants, what held in part, reasons, another claim, and whoever is not named
        ("en", "Penn went to the Court of Appeals to have the judgment affirmed."),
        ("en", "The Court of Appeals affirmed in part."),
        ("en", "The Court of Appeals held that Penn had failed the test of the lease."),
        ("en", "The neighbor's appeal failed."),
        ("en", "Judge Osei agreed with him."),
        ("pt", "O STJ deu parcial provimento ao recurso especial."),
        ("pt", "A empresa pedia que o STJ reformasse o acórdão."),
        ("law", "The Supreme Court upheld the tax except for its penalty clause."),
    ],
)
def test_what_tells_nothing_of_the_outcome_is_not_held_against_it(
    case: str, text: str
) -> None:
    assert told_otherwise(case, text) == []


def test_parties_are_called_by_name_role_and_a_noun_of_their_kind() -> None:
    who = parties(sentences(CASES["pt"]), "pt")
    assert [n for _, n in who.found("A firma, o município, a autora e a ré.")] == [
        0,
        1,
        0,
        1,
    ]
    accused = parties(sentences(CASES["crime"]), "en")
    assert accused.criminal
    assert [n for _, n in accused.found("Pratt, the defense and the state")] == [
        1,
        1,
        0,
    ]
    # of two of one kind "the company" may be either
    both = parties(["Falk Tools sued Moor Builders.", "Falk Tools won."], "en")
    assert both.found("The company won.") == []


@pytest.mark.parametrize("text", ["recurso da empresa ", "the tenant's appeal ", "x"])
def test_a_text_that_is_no_sentence_does_not_take_long(text: str) -> None:
    begun = time.process_time()
    long = [text * (20_000 // len(text))]
    who = parties(sentences(CASES["pt"]), "pt")
    course(long, who), parties(long, "pt")
    assert time.process_time() - begun < 3
