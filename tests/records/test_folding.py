"""What is read of a text does not depend on how its words were typed; other scripts stay what they
are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from benchmarks.movement import TYPED
from undogmatic.constructs.shame.patterns import count
from undogmatic.records.folding import LONGEST, Folding, plain

TEXT = (
    "“É o que decidiu o Supremo — Tema nº 72/STF”; não há dúvida: súmula 7ª… (R$ 1.000,00).\nA"
    " ação, porém, não alcança o 13º salário do João d'Ávila; exige-se prova às claras?"
)


@pytest.mark.parametrize("way", TYPED)
def test_the_same_words_are_read_however_they_were_typed(way: str) -> None:
    folding = Folding.learnt([TEXT] * 3)
    typed = TYPED[way](TEXT)
    assert typed != TEXT
    assert plain(typed) == plain(TEXT)
    assert folding.read(typed) == folding.read(TEXT)
    assert count(typed) == count(TEXT)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Não\u00a0 há\r\n\tdúvida \u2009!", "nao ha duvida !"),
        (
            "\ufeffre\u200bcur\u00adso\u2060 pro\u200dvi\ufe0fdo\U000e0041",
            "recurso provido",
        ),
        ("\u202eacórdão\u202c \u2066sim\u2069", "acordao sim"),
        ("re\u0336cu\u0321r\u0489so", "recurso"),  # struck through, or buried in marks
        (
            "ｒｅｃｕｒｓｏ 𝐫𝐞𝐜𝐮𝐫𝐬𝐨 𝔯𝔢𝔠𝔲𝔯𝔰𝔬 ⓡⓔⓒⓤⓡⓢⓞ ʀᴇᴄᴜʀꜱᴏ",
            "recurso recurso recurso recurso recurso",
        ),
        ("reсurso rесurѕо ɑção ıcone", "recurso recurso acao icone"),
        ("art. 5º, § 2º, da Lei nº 9.099", "art. 5º, § 2º, da lei nº 9.099"),
        ("‘a’ “b” «c» d–e — f", '\'a\' "b" "c" d-e - f'),
        ("a a\ufe0f😀\ufe0f", "a a😀"),
        ("", ""),
        ("\u200b\u3164", ""),
    ],
)
def test_what_does_not_change_the_words_is_taken_out(text: str, read: str) -> None:
    assert plain(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "верховный суд решил это дело, и сор вынесли из избы.",
        "ο νόμος ορίζει ότι η απόφαση είναι άκυρη.",
        "काम की बात है, और हिन्दी में।",
        "קָדוֹשׁ",
        "การพิจารณาคดี",
        "判決は正しい。がぎぐ",
        "대법원 판결",
    ],
)
def test_words_of_other_scripts_stay_words_of_these_scripts(text: str) -> None:
    """But for an accent on a Cyrillic or Greek letter, they are read as written, also beside Latin
    words."""
    assert plain(text) == unicodedata.normalize("NFC", text)
    assert plain(f"{text} stf") == f"{unicodedata.normalize('NFC', text)} stf"
    assert plain(unicodedata.normalize("NFD", text)) == plain(text)


def test_a_foreign_word_in_a_latin_text_is_latin_only_where_every_letter_could_be() -> (
    None
):
    assert (
        plain("O relator citou Московский e a разница.")
        == "o relator citou московский e a разница."
    )
    # whole words of twins in a Latin text
    assert plain("А causa е а соisа") == "a causa e a coisa"
    assert plain("сор и мир") == "сор и мир"  # the same letters in a Cyrillic one


letters = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=60)


@given(letters)
def test_reading_twice_or_in_another_normal_form_changes_nothing(text: str) -> None:
    once = plain(text)
    assert plain(unicodedata.normalize("NFD", text)) == plain(
        unicodedata.normalize("NFC", text)
    )
    assert "  " not in once and once == once.strip()
    latin = "".join(char for char in text if ord(char) < 0x250)
    assert plain(plain(latin)) == plain(latin)


TEXTS = [
    "Não há dúvida. O STF decidiu a ação, e o Supremo não volta atrás.",
    "A ação do STF não prospera. Ação assim é rara, diz o Supremo.",
    "Se não há ação, o STF nada diz. Não cabe ao Supremo.",
    "NÃO HA ACAO NEM STF",
]


def test_words_get_the_spelling_back_that_they_mostly_have_in_the_fitted_texts() -> (
    None
):
    folding = Folding.learnt(TEXTS)
    assert folding.spelling == {
        "acao": "ação",
        "ha": "há",
        "nao": "não",
        "stf": "STF",
        "supremo": "Supremo",
    }
    assert (
        folding.read("NAO HÁ AÇÃO NO STF. SUPREMO?  é raro")
        == "Não há ação no STF. Supremo? E raro"
    )
    assert Folding.learnt(TEXTS[:2]).spelling == {}  # of two texts no word is in three
    assert Folding.learnt(["x" * (LONGEST + 1) + "É"] * 3).spelling == {}
    assert Folding.learnt([]).read("Já É") == "Ja e"
    # there is something to read, if nothing to see
    assert folding.read("\u200b") == "\u200b"


def test_what_was_folded_by_other_rules_or_has_endless_words_is_refused() -> None:
    assert Folding.model_validate_json(
        Folding.learnt(TEXTS).model_dump_json()
    ) == Folding.learnt(TEXTS)
    for wrong in (
        {"rules": 2, "spelling": {}},
        {"spelling": {"a": "b" * (LONGEST + 1)}},
        {"spelling": {"": "b"}},
    ):
        with pytest.raises(ValidationError):
            Folding.model_validate(wrong)
