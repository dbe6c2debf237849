"""The grammar of Brazilian citations: what it finds in forms written by hand, in disguise, and in
hostile text."""

import csv
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.precedents import brazil, forms, score, written
from tests.conftest import put
from undogmatic.constructs.precedents.grammar import Grammar, _first, _named
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.paths import data_folder

BRAZIL = brazil()
NAMES = {"tema": "Tema", "sumula": "Súmula", "sumula_vinculante": "Súmula Vinculante"}


def found(text: str) -> list[str]:
    return [written(one) for one in BRAZIL.citations(text)]


@pytest.mark.parametrize("name", ["development", "test"])
def test_recall_and_precision_on_the_forms(name: str) -> None:
    of = score(BRAZIL, name)
    assert of.there > 150
    assert of.right >= 0.98 * max(of.there, of.found)


def test_the_forms_are_many_and_none_is_in_both_files() -> None:
    development, test = (
        {text for text, _ in forms(name)} for name in ("development", "test")
    )
    assert len(development) + len(test) >= 300
    assert not development & test


def test_every_precedent_of_the_table_is_found_with_its_court_number_and_case() -> None:
    with (data_folder() / "curated" / "precedents.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 159
    for row in rows:
        court, kind, number = row["court"], row["kind"], row["number"]
        dotted, name = f"{int(number):,}".replace(",", "."), NAMES[kind]
        ways = [
            f"{name} {number} do {court}",
            f"{name} nº {dotted}/{court}",
            f"({court}, {name} {dotted})",
        ]
        for way in (*ways, ways[0].upper(), ways[1].replace(" ", "\n")):
            assert found(f"Conforme {way}, procede.") == [f"{court}:{kind}:{number}"], (
                way
            )
        if row["leading_case"]:
            acronym, case = row["leading_case"].split()
            assert found(f"Veja {acronym} {case}/SP.") == [
                f"{court}:{acronym.lower()}:{case.replace('.', '')}"
            ]


DISGUISES: dict[str, Callable[[str], str]] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "lines": lambda text: " \r\n ".join(text.split()),
    "NUL": "\0".join,
    "zero width": "\u200b".join,
    "capitals": str.upper,
    "full width": lambda text: text.translate(
        {ord(str(n)): 0xFF10 + n for n in range(10)}
    ),
    "dashes": lambda text: text.replace("-", "–"),
    "inside": lambda text: f"Vistos e examinados. {text} Publique-se.",
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES.keys())
def test_how_a_text_is_encoded_changes_nothing(disguise: Callable[[str], str]) -> None:
    for text, _ in forms("development"):
        assert found(disguise(text)) == found(text), text


def test_places_and_words_are_those_of_the_text_and_a_word_divided_at_the_end_of_a_line_is_one() -> (
    None
):
    text = unicodedata.normalize(
        "NFD", "É certo: a Sú-\n mula nº 7 do STJ e o\u200b Tema¹ 69."
    )
    first, second = BRAZIL.citations(text)
    assert [written(first), written(second)] == ["STJ:sumula:7", "STJ:tema:69"]
    assert (first.stated, second.stated) == ("beside", "nearby")
    for one in (first, second):
        assert text[one.start : one.end] == one.words
    assert first.words.endswith("7 do STJ")


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Tema 69 do STF", "beside"),
        ("O STJ já decidiu, no Tema 69", "nearby"),
        ("SV 31", "kind"),
        ("Tema 69", "nowhere"),
        ("O STJ manteve a Súmula 7 desta Corte", "here"),
        ("O STF decidiu. O Tema 69 foi aplicado", "nowhere"),
    ],
)
def test_where_a_court_is_from_is_told(text: str, stated: str) -> None:
    (one,) = BRAZIL.citations(text)
    assert one.stated == stated


@pytest.mark.parametrize(
    "text",
    [
        "Tema 99999/STF",
        "Súmula 12.345 do STJ",
        "Súmula Vinculante 1234",
        "OJ 1394 da SDI-1",
    ],
)
def test_a_number_that_nobody_has_reached_is_a_citation_all_the_same(text: str) -> None:
    """Numbers that were made up are what is looked for."""
    assert len(BRAZIL.citations(text)) == 1


HOSTILE = [
    "a",
    "tema ",
    "Tema 1.",
    "1.",
    "Temas 1, ",
    "1 a 99, ",
    "(",
    "Súmula 7 do ",
    "STF ",
    " e",
    "nº ",
    "-\n",
    "do ",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_the_time_and_the_memory_grow_with_the_text_alone(part: str) -> None:
    """A search that goes back would take hours here, and ranges without an end the whole memory."""
    for text in (
        f"Temas 1{part * (40_000 // len(part))}",
        f"{part * (20_000 // len(part))}Tema 1 do STF",
    ):
        assert len(BRAZIL.citations(text)) <= len(text)


def test_a_grammar_of_another_country_is_a_file(tmp_path: Path) -> None:
    """Case numbers without a head before them, several in a row, and a court by its name."""
    lines = """
language: en
courts: {CJEU: [Court of Justice, CJEU], GC: [General Court]}
kinds:
  case: {name: Case, court: CJEU, heads: [joined cases, case, '(?=C-\\d)'], number: 'C-\\d+/\\d\\d'}
"""
    own = Grammar(put(tmp_path / "own.yaml", lines))
    text = "See Joined Cases C-203/15, C-698/15; and c\u2011131/12 (General Court)."
    cited = ["CJEU:case:C-203/15", "CJEU:case:C-698/15", "GC:case:C-131/12"]
    assert [written(one) for one in own.citations(text)] == cited


@pytest.mark.parametrize(
    ("lines", "error", "said"),
    [
        ("language: en", ConfigError, "no grammar of citations: `courts` is required"),
        (
            "language: en\ncourts: {A: [a]}\nkinds: {k: {heads: [k], colour: red}}",
            ConfigError,
            "kinds.k.colour",
        ),
        (
            "language: en\ncourts: {A: [a]}\nkinds: {k: {heads: ['(']}}",
            ConfigError,
            "is no regular expression",
        ),
        ("language: [", DataError, "not YAML"),
    ],
)
def test_a_file_that_is_no_grammar_is_named(
    tmp_path: Path, lines: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        Grammar(put(tmp_path / "own.yaml", lines))
    assert said in str(caught.value) and "own.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "letter"),
    [
        ("Temas?", "t"),
        ("a(?:b(?:c|d)|e)f", "a"),
        (r"(?-i:ADI)(?:ns?|'?s)?(?:[- ]\(?MC\)?)?", "a"),
        ("a[|]b", "a"),
        ("ab?", "a"),
        ("a?b", ""),
        ("a{0,2}b", ""),
        ("a|b", ""),
        (r"a\(b|c\)", ""),
        ("a[]|]", ""),
        ("(?-i:AI|RE)", ""),
        ("(?-i:AI)?x", ""),
        (r"(?<!\d )(?-i:T)", ""),
        ("[ab]c", ""),
    ],
)
def test_the_first_letter_of_a_head_is_known_where_it_has_no_other(
    pattern: str, letter: str
) -> None:
    assert _first(pattern) == letter


def test_heads_are_tried_in_their_order_whether_their_first_letter_is_known_or_not() -> (
    None
):
    heads = ["Tema", "[TS]ema", "Sema", "(?:Te|Se)", "T", "S"]
    texts = ["Tema", "Sema", "Te", "Se", "T", "S", "X Sema"]
    plain, quick = (
        re.compile(_named(heads)),
        re.compile(_named(heads, [*map(_first, heads)]), re.IGNORECASE),
    )
    assert [quick.search(text).lastgroup for text in texts] == [
        plain.search(text).lastgroup for text in texts
    ]  # type: ignore[union-attr]
