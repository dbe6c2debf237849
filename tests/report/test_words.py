"""Findings and numbers in words."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import undogmatic.analyses
from undogmatic.analyses.base import Finding
from undogmatic.report.words import NOTHING, TEXTS, MissingWording, Words, visible

LANGUAGES = ("en", "pt")


def entries(node: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield from entries(value, (*path, key))
        else:
            yield (*path, key), value


def texts(language: str) -> dict[tuple[str, ...], str]:
    return dict(entries(yaml.safe_load((TEXTS / f"{language}.yaml").read_text(encoding="utf-8"))))


def fields(wording: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(wording) if name is not None}


def test_both_languages_have_the_same_wordings_with_the_same_values() -> None:
    english, portuguese = texts("en"), texts("pt")
    assert english.keys() == portuguese.keys()
    for key, wording in english.items():
        assert isinstance(wording, str) and isinstance(portuguese[key], str), key
        assert fields(wording) == fields(portuguese[key]), key


def finding_keys() -> Iterator[tuple[str, bool]]:
    """Keys of every `Finding(...)` in the analyses, and whether only the beginning is known (an f-string)."""
    for path in Path(undogmatic.analyses.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding"):
                continue
            for found in ast.walk(node.args[0]):
                if isinstance(found, ast.JoinedStr) and isinstance(found.values[0], ast.Constant):
                    yield str(found.values[0].value), True
                    break
                if isinstance(found, ast.Constant):
                    yield str(found.value), False


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finding_of_the_analyses_has_a_wording(language: str) -> None:
    words, known = Words(language), {".".join(key) for key in texts(language)}
    keys = set(finding_keys())
    assert len(keys) > 20
    for key, beginning_only in keys:
        if beginning_only:
            assert any(k.startswith(key) for k in known), key
        elif "." in key:
            assert words.find(key) is not None, key


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
def test_numbers_in_both_languages(value: Any, spec: str, english: str, portuguese: str) -> None:
    assert Words("en").number(value, spec) == english
    assert Words("pt").number(value, spec) == portuguese


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, (None, float("nan"))])
def test_no_value_is_a_dash_never_a_number(value: Any) -> None:
    assert Words("pt").number(value, ".1f") == NOTHING
    assert Words("pt").say(Finding("trial.plain", {"difference": value})) == f"Diferença média de {NOTHING} pontos."


def test_a_finding_is_worded_with_its_values() -> None:
    values = {"n": 8, "share": 0.9375, "interval": (0.8, 0.99), "p": 0.0004}
    assert Words("pt").say(Finding("trial.verdict", values)) == (
        "Acredite na ordem, não nos números: 8 pares, 94%, [0,80; 0,99], p < 0,001."
    )


def test_strict_words_name_the_missing_wording_or_value() -> None:
    words = Words("en", strict=True)
    with pytest.raises(MissingWording, match=r"trial\.nothing"):
        words.say(Finding("trial.nothing"))
    with pytest.raises(MissingWording, match="difference"):
        words.say(Finding("trial.plain", {"other": 1}))


def test_a_report_shows_an_unworded_finding_by_its_values() -> None:
    assert Words("en").say(Finding("trial.nothing", {"n": 3})) == "[trial.nothing] n = 3"


def test_wordings_cannot_look_into_values(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words("en", strict=True)
    monkeypatch.setattr(words, "find", lambda key: "{x.__class__}")
    with pytest.raises(MissingWording):
        words.say(Finding("trial.plain", {"x": 1}))


def test_names_are_translated_and_unknown_ones_stay() -> None:
    words = Words("pt")
    assert words.value("attack:hedge_spam") == "ataque: atenuantes sem conteúdo"
    assert words.value("attack:brand_new") == "ataque: brand_new"
    assert words.value("gpt-5.5") == "gpt-5.5"
    assert words.heading("sort", "trial") == "Tipo"
    assert words.metric("trial.share") == "Pares na ordem"
    assert words.metric("trial.share.authority_only") == "Pares na ordem, só autoridade"
    assert words.metric("trial.unheard_of") is None


@pytest.mark.parametrize(("n", "said"), [(1, "1 tarefa,"), (0, "0 tarefas,"), (7, "7 tarefas,")])
def test_one_and_many(n: int, said: str) -> None:
    assert Words("pt").text("terminal.sweep_jobs", jobs=n, failed=0).startswith(said)


def test_a_value_is_written_as_its_metric_is() -> None:
    say = Words("pt", strict=True).say
    assert say(Finding("trial.best", _valued("ab.share_expected"))) == "97% [90%; 100%]"
    assert say(Finding("trial.best", _valued("ab.auc"))) == "0,970 [0,900; 1,000]"


def _valued(metric: str) -> dict[str, Any]:
    return {"metric": metric, "value": 0.97, "interval": (0.9, 1.0)}


def test_shares_and_p_values_are_known_by_their_names() -> None:
    words = Words("en")
    assert words.cell("ab.share_expected", 0.5) == "50%"
    assert words.cell("p_holm", 0.00001) == "< 0.001"
    assert words.cell("n", 12345.0) == "12,345"
    assert words.cell("score", 7.0) == "7.0"


def test_what_disguises_itself_becomes_visible() -> None:
    assert visible("a\x1b[31mb\u202ec\u200bd\n\te") == "a\ufffd[31mb\ufffdc\ufffdd\n\te"
