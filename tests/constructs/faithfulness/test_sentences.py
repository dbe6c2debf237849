"""Sentences at the hard places of legal text, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from undogmatic.constructs.faithfulness.facts.words import sentences

HARD: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("hard.yaml").read_text(encoding="utf-8"))
CASES = [case for cases in HARD.values() for case in cases]


def _plain(text: str) -> str:
    return " ".join(re.sub(r"(?m)\*\*|^- ", "", text).split())


def test_the_table_is_long_and_in_both_languages_and_short_sentences_are_left_out_where_asked() -> None:
    assert len(CASES) >= 40
    assert min(map(len, HARD.values())) >= 20
    text = "Yes. The ruling was upheld. No more."
    assert sentences(text, least=10) == ["The ruling was upheld."]
    assert sentences("***\n\n---\n 1.") == ["1."]
    assert sentences(" \n ") == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[:30])
def test_a_hard_place_is_divided_as_a_reader_would(case: str) -> None:
    assert sentences(re.sub(r"\| ?", "", case)) == [_plain(part) for part in case.split("|")]


@given(st.text(max_size=200))
def test_no_word_is_lost_or_made_up(text: str) -> None:
    kept = "".join(sentences(text))
    assert re.findall(r"[^\W_]", kept) == re.findall(r"[^\W_]", text)
