"""Every finding that an analysis can make has words in both languages, and no wording is left over."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import undogmatic.analyses
from tests.analyses.conftest import placeholders
from undogmatic.report.words import Words

SECTIONS = (
    "analyses",
    "ab",
    "controls",
    "adversarial",
    "reliability",
    "labelled",
    "suite",
    "none",
    "calibration",
    "conformal",
    "costs",
    "few_labels",
)
NOT_FINDINGS = ("question", "title", "names", "metrics")


def keys_in_code() -> tuple[set[str], set[str]]:
    """First arguments of `Finding(...)`: whole keys, and beginnings of keys that end in a value."""
    whole, beginnings = set(), set()
    for path in Path(undogmatic.analyses.__path__[0]).glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
    sections = tuple(f"{s}." for s in SECTIONS)
    return {k for k in whole if k.startswith(sections)}, {b for b in beginnings if b.startswith(sections) and "_" in b}


def wordings(language: str) -> dict[str, str]:
    """The findings' wordings of the analyses' sections by key."""
    texts = Words(language).texts
    return {
        f"{section}.{key}": text
        for section in SECTIONS
        for key, text in texts[section].items()
        if key not in NOT_FINDINGS and not key.startswith(("caption_", "table_"))
    }


def finding_keys() -> set[str]:
    """Keys that are the first argument of a `Finding(...)` in the code, as far as they are written out."""
    found = set()
    for path in Path(undogmatic.analyses.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                first = node.args[0]
                branches = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
                found |= {str(b.value) for b in branches if isinstance(b, ast.Constant)}
    return found


@pytest.mark.parametrize("language", ["en", "pt"])
def test_every_finding_in_the_code_has_words(language: str) -> None:
    assert len(finding_keys()) > 40
    assert finding_keys() <= set(wordings(language))


def test_no_wording_is_left_over() -> None:
    whole, beginnings = keys_in_code()
    unused = {k for k in wordings("en") if k not in whole and not k.startswith(tuple(beginnings))}
    assert not unused


def test_both_languages_say_the_same() -> None:
    english, portuguese = wordings("en"), wordings("pt")
    assert english.keys() == portuguese.keys()
    for key, text in english.items():
        assert placeholders(text) == placeholders(portuguese[key]), key
