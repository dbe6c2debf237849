"""Findings and numbers in words."""

import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.conftest import SHIPPED
from tests.report.conftest import TRIAL
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.errors import ConfigError
from undogmatic.records.results import Finding
from undogmatic.records.wordings import REPORT_TEXTS, languages, read, texts_beside
from undogmatic.records.words import NOTHING, MissingWording, Words, _Formatter
from undogmatic.report import check
from undogmatic.report.tables import column_cells, frame_blocks
from undogmatic.safety.outside import visible
from undogmatic.stats.estimate import Unit


def entries(
    node: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from entries(value, (*path, key))
        else:
            yield (*path, key), value


def fields(wording: str) -> set[str]:
    parts = [part for _, *part, _ in string.Formatter().parse(wording)]
    inner = {name for _, spec in parts if spec for name in fields(spec)}
    return {name for name, _ in parts if name is not None} | inner


def by_language(source: Path) -> dict[str, dict[tuple[str, ...], str]]:
    """Its wordings per language: of a file beside a module, or of the report's own folder."""
    if source.is_dir():
        return {
            code: dict(entries(read(source / f"{code}.yaml"))) for code in languages()
        }
    return {code: dict(entries(sections)) for code, sections in read(source).items()}


@pytest.mark.parametrize("source", [REPORT_TEXTS, *SHIPPED], ids=lambda path: path.name)
def test_all_languages_have_the_same_wordings_with_the_same_values(
    source: Path,
) -> None:
    found = by_language(source)
    english = found["en"]
    assert english and sorted(found) == languages() == ["en", "pt"]
    for other in found.values():
        assert other.keys() == english.keys()
        for key, wording in english.items():
            assert isinstance(wording, str) and isinstance(other[key], str), key
            assert fields(wording) == fields(other[key]), key


def test_a_language_that_lacks_a_wording_says_it_in_english(tmp_path: Path) -> None:
    (tmp_path / "mine.texts.yaml").write_text(
        "en: {mine: {a: 'Mean {x:.1f}.', b: B}}\nfr: {mine: {b: Bé}}\n"
    )
    words = Words("fr", [tmp_path / "mine.texts.yaml"], strict=True)
    assert words.say(Finding("mine.a", {"x": 2})) == "Mean 2.0."
    assert words.text("mine.b") == "Bé"


def test_the_unit_is_the_rubrics_or_a_general_word() -> None:
    assert (
        Words("pt", [], "estrelas").text("figures.axes.difference")
        == "Diferença (estrelas)"
    )
    assert Words("pt").text("figures.axes.difference") == "Diferença (unidades)"
    assert (
        Words("en", [], "{0.x}").text("figures.axes.difference") == "Difference (0.x)"
    )


@pytest.mark.parametrize("text", ["en: [", "en: words", "- en"])
def test_a_damaged_file_of_words_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.texts.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"mine\.texts\.yaml"):
        read(tmp_path / "mine.texts.yaml")


@pytest.mark.parametrize(
    ("value", "spec", "english", "portuguese"),
    [
        (1234.5, ".1f", "1234.5", "1234,5"),
        (1234567, "d", "1,234,567", "1.234.567"),
        (-0.5, ".2f", "−0.50", "−0,50"),
        (-0.04, ".1f", "0.0", "0,0"),
        (0.934, ".0%", "93%", "93%"),
        (0.00049, "p", "p < 0.001", "p < 0,001"),
        (0.0321, "p", "p = 0.032", "p = 0,032"),
        ((0.1, 0.25), ".2f", "[0.10, 0.25]", "[0,10; 0,25]"),
        (np.float64(2.5), ".1f", "2.5", "2,5"),
        (0.0, ".1f", "0.0", "0,0"),
        (True, "", "yes", "sim"),
        (float("inf"), ".1f", "∞", "∞"),
        (50.0, "g", "50", "50"),
    ],
)
def test_numbers_in_both_languages(
    value: Any, spec: str, english: str, portuguese: str
) -> None:
    assert Words("en").number(value, spec) == english
    assert Words("pt").number(value, spec) == portuguese


@pytest.mark.parametrize(
    ("name", "english", "portuguese", "quoted"),
    [
        ("judge", "this judge", "este juiz", "“judge”"),
        ("juiz (style)", "this judge (style)", "este juiz (style)", "“juiz” (style)"),
        *(
            (name, f"“{name}”", f"“{name}”", f"“{name}”")
            for name in ("score", "nota final", "Veredito")
        ),
        *(
            (name, name, name, name)
            for name in ("judge_careful", "gpt-4o", "model_1 (style)", "{x}")
        ),
    ],
)
def test_a_sentence_reads_well_whatever_a_judge_is_called(
    name: str, english: str, portuguese: str, quoted: str
) -> None:
    finding = Finding("check.verdict_no_labels", {"judge": name})
    for words, shown in (
        (check.words_of("en"), english),
        (check.words_of("pt"), portuguese),
    ):
        assert f" {shown}" in words.say(finding)
        assert words.judge(name, "quoted") == quoted


@pytest.mark.parametrize(
    ("groups", "said"), [(150, "150 items, all"), (40, "150 items, 40 groups, all")]
)
def test_groups_are_told_of_where_not_each_item_stands_alone(
    groups: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.texts.yaml").write_text(
        "en: {mine: {a: '{n:d} items{groups:unless n|, # groups}, all'}}"
    )
    words = Words("en", [tmp_path / "mine.texts.yaml"], strict=True)
    assert words.say(Finding("mine.a", {"n": 150, "groups": groups})) == said


@pytest.mark.parametrize(
    ("unit", "values", "written"),
    [
        ("score", [0.8125, 0.5, 1.0], "0.812 0.500 1.000"),
        ("score", [3.25, 4.0], "3.25 4.00"),
        ("score", [61.25, 4.0], "61.2 4.0"),
        ("score", [4.0, 3.0], "4.0 3.0"),
        ("", [4.0, 3.0], "4 3"),
        ("share", [0.8125, 0.5, 1.0], "81% 50% 100%"),
        ("p", [0.0004, 0.032], "< 0.001 0.032"),
        ("usd", [0.01234, 2.0], "0.0123 2.0000"),
        ("count", [4.0, 12345.0], "4 12,345"),
        ("seconds", [0.034, 0.5], "0.034 0.500"),
        ("seconds", [4.0, 3.0], "4.0 3.0"),
    ],
)
def test_a_column_is_written_as_its_unit_says_whatever_it_is_called(
    unit: Unit, values: list[float], written: str
) -> None:
    assert (
        " ".join(column_cells("share_of_usd", values, Words("en"), "mine", unit))
        == written
    )


def test_points_of_a_known_scale_are_written_as_that_scale_asks_for() -> None:
    known, unknown = Words("en", decimals=1), Words("en")
    assert [
        known.number(3.456, known.spec(unit, 3.456)) for unit in ("amount", "score")
    ] == [
        "3.5",
        "3.5",
    ]
    assert [
        unknown.number(0.4567, unknown.spec(unit, 0.4567))
        for unit in ("amount", "score")
    ] == [
        "0.46",
        "0.457",
    ]


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, (None, float("nan"))])
def test_no_value_is_a_dash_never_a_number(value: Any) -> None:
    assert Words("pt").number(value, ".1f") == NOTHING
    said = Words("pt", [TRIAL]).say(Finding("trial.plain", {"difference": value}))
    assert said == f"Diferença média de {NOTHING} pontos."


def test_a_finding_is_worded_with_its_values_and_shown_by_them_without_a_wording() -> (
    None
):
    values = {"n": 8, "share": 0.9375, "interval": (0.8, 0.99), "p": 0.0004}
    assert (
        Words("pt", [TRIAL]).say(Finding("trial.verdict", values))
        == "Acredite na ordem, não nos números: 8 pares, 94%, [0,80; 0,99], p < 0,001."
    )
    assert (
        Words("en").say(Finding("trial.nothing", {"n": 3})) == "[trial.nothing] n = 3"
    )


def test_strict_words_name_the_missing_wording_or_value_and_look_into_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = Words("en", [TRIAL], strict=True)
    with pytest.raises(MissingWording, match=r"trial\.nothing"):
        words.say(Finding("trial.nothing"))
    with pytest.raises(MissingWording, match="difference"):
        words.say(Finding("trial.plain", {"other": 1}))
    monkeypatch.setattr(words, "find", lambda key: "{x.__class__}")
    with pytest.raises(MissingWording):
        words.say(Finding("trial.plain", {"x": 1}))


def test_names_are_translated_and_unknown_ones_stay() -> None:
    words = Words("pt", [TRIAL, *texts_beside(CuratedDataset)])
    values = {
        "attack:hedge_spam": "ataque: atenuantes sem conteúdo",
        "attack:brand_new": "ataque: brand_new",
    }
    values["gpt-5.5"] = "gpt-5.5"
    assert {name: words.value(name) for name in values} == values
    assert words.heading("sort", "trial") == "Tipo"
    metrics = {
        "share": "Pares na ordem",
        "share.authority_only": "Pares na ordem, só autoridade",
        "unheard_of": None,
    }
    assert {name: words.metric(f"trial.{name}") for name in metrics} == metrics


@pytest.mark.parametrize(
    ("n", "said"), [(1, "1 tarefa,"), (0, "0 tarefas,"), (7, "7 tarefas,")]
)
def test_one_and_many(n: int, said: str) -> None:
    assert Words("pt").text("terminal.sweep_jobs", jobs=n, failed=0).startswith(said)


@pytest.mark.parametrize(
    ("unit", "shown"), [("share", "97% [90%; 100%]"), ("", "0,97 [0,90; 1,00]")]
)
def test_a_value_is_written_in_a_sentence_as_its_unit_says(
    unit: Unit, shown: str
) -> None:
    values = {"unit": unit, "value": 0.97, "interval": (0.9, 1.0)}
    assert Words("pt", [TRIAL], strict=True).say(Finding("trial.best", values)) == shown


def test_what_disguises_itself_becomes_visible() -> None:
    assert visible("a\x1b[31mb\u202ec\u200bd\n\te") == "a\ufffd[31mb\ufffdc\ufffdd\n\te"


def test_long_tables_of_two_judges_are_two_files(tmp_path: Path) -> None:
    for judge in ("first.", "second."):
        frame_blocks(
            pd.DataFrame({"item": [judge] * 30}),
            Words("en"),
            "ab",
            "pairs",
            tmp_path,
            judge,
        )
    written = {
        path.name: pd.read_csv(path)["item"].iloc[0]
        for path in (tmp_path / "tables").iterdir()
    }
    assert written == {"first.ab_pairs.csv": "first.", "second.ab_pairs.csv": "second."}


@pytest.mark.parametrize(
    ("language", "wording", "one", "two"),
    [
        (
            "en",
            "{n:d} independent groups are left.",
            "1 independent group is left.",
            "2 independent groups are left.",
        ),
        (
            "en",
            "{n:d} items, {n:d} of the labels",
            "1 item, 1 of the labels",
            "2 items, 2 of the labels",
        ),
        ("en", "{n:.1f} groups", "1.0 groups", "2.0 groups"),
        (
            "pt",
            "{n:d} grupos independentes.",
            "1 grupo independente.",
            "2 grupos independentes.",
        ),
    ],
)
def test_what_follows_a_count_of_one_stands_in_the_singular(
    language: str, wording: str, one: str, two: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.texts.yaml").write_text(
        f"{language}: {{mine: {{a: '{wording}'}}}}\n"
    )
    words = Words(language, [tmp_path / "mine.texts.yaml"], strict=True)
    assert words.say(Finding("mine.a", {"n": 1})) == one
    assert words.say(Finding("mine.a", {"n": 2})) == two


NO_PLURALS = {
    "en": set(
        "class differs lies yes is was has of less this its as across hypothesis".split()
    ),
    "pt": set(
        "das deles delas destes destas dos estes estas mas mais as os mês".split()
    ),
}
"""Words that end like a plural, and are none, or belong to others than the one that is counted."""
COUNTED = re.compile(r"\{(\w+):d\} ((?:[^\W\d_]+ ?){1,2})")


def counted(code: str) -> Iterator[tuple[str, str, str, str]]:
    """Key, section, field and words of every plain count in a shipped wording."""
    for source in [REPORT_TEXTS, *SHIPPED]:
        for key, wording in by_language(source)[code].items():
            for found in COUNTED.finditer(wording):
                yield ".".join(key), key[0], found[1], found[0]


@pytest.mark.parametrize("code", ["en", "pt"])
def test_no_shipped_wording_says_one_groups(code: str) -> None:
    """Of one group each says "1 group", of none and of two what it says of many."""
    words, plurals, n = Words(code), list[str](), 0
    for key, section, name, part in counted(code):
        said = {
            count: _Formatter(words, section, {name: count}).vformat(
                part, (), {name: count}
            )
            for count in (0, 1, 2)
        }
        n += 1
        assert said[0][1:] == said[2][1:], key
        (following, *_) = said[1].split()[1:]
        if following.endswith("s") and following not in NO_PLURALS[code]:
            plurals.append(f"{key}: {said[1]}")
    assert n > 300 and plurals == []
