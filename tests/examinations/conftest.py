"""Random state, and reading a result with every wording checked on the way."""

import functools
import string
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import undogmatic
from undogmatic.records.results import Finding, Told
from undogmatic.records.words import Words
from undogmatic.report.figures import caption

PACKAGE = Path(undogmatic.__file__).parent
COMMANDS = frozenset(
    "again other doubt alone handed fresh margined without_judges label labelled folder more".split()
)
"""What `next_` wordings name besides the values of their verdict (`report/answers.py:commands`)."""
SHIPPED = sorted(PACKAGE.rglob("*.texts.yaml"))
"""All words that lie beside their modules."""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def said() -> Callable[[Told], dict[str, Finding]]:
    return in_words


@functools.cache
def words_of(language: str) -> Words:
    """All words of a language."""
    return Words(language, SHIPPED, strict=True)


def in_words(result: Told) -> dict[str, Finding]:
    """The findings and the verdict of a result by key, each of them put into words in both
    languages on the way.

    A wording, with what follows it, must use exactly the values that the finding brings: one more
    is an error, one less says too little.
    Captions, columns and metrics must have words too.
    """
    everything = [
        *result.findings,
        *([result.verdict] if result.verdict is not None else []),
    ]
    for words in map(words_of, ("en", "pt")):
        for finding in everything:
            wording = words.find(finding.key)
            assert words.say(finding) and wording is not None
            below = (
                placeholders(
                    words.find(finding.key.replace(".verdict_", ".next_")) or ""
                )
                - COMMANDS
            )
            used = placeholders(wording) | below
            where = f"{finding.key} in {words.language}.yaml"
            assert used <= set(finding.values), where
            if finding.key.startswith(f"{result.name}."):  # those of a check have more
                assert used == set(finding.values), where
        _names(result, words)
    return {finding.key: finding for finding in everything}


def _names(result: Told, words: Words) -> None:
    """Captions can be written, and columns and metrics are named in this language."""
    for figure in result.drawings:
        assert caption(figure, words, result.name)
    for name, table in result.tables.items():
        section, _, own = name.rpartition(".")
        section = section or result.name
        assert words.text(f"{section}.table_{own}")
        for column in table.columns:
            # of systems or judges, a column each
            if column in table.attrs.get("names", ()):
                continue
            places = (f"{section}.names", "columns", "names", "common.names")
            known = [words.find(f"{place}.{column}") for place in places]
            assert any(known), (
                f"column {column} of {result.name}.{name} in {words.language}.yaml"
            )
    for metric in result.metrics:
        assert words.metric(metric.removesuffix("_low").removesuffix("_high")), (
            f"{metric} in {words.language}.yaml"
        )


def placeholders(wording: str) -> set[str]:
    """The names of the values that a wording uses."""
    parts = [part for _, *part, _ in string.Formatter().parse(wording)]
    return {name for name, _ in parts if name is not None} | {
        name for _, spec in parts if spec for name in placeholders(spec)
    }
