"""No pattern that is looked for in judged texts, cells or answers takes steps that grow with the
square of a length.

A word of a million letters, or a line of a million dots, is read like any other.
"""

import importlib
import re

import pytest

from tests.steps import Steps

MODULES = [
    *(
        f"datasets.{name}"
        for name in (
            "cells",
            "columns",
            "faults",
            "sheets",
            "readers.log",
            "readers.openai_batch",
        )
    ),
    *(
        "examinations.unread",
        "examinations.surface",
        "stats.words",
        "stats.surface",
        "safety.outside",
        "safety.files",
    ),
    *(
        "records.records",
        "records.rubric",
        "readouts.integers",
        "readouts.base",
        "constructs.traits.judges",
    ),
]
ANCHORED = {
    *(
        "examinations.unread._NAME",
        "examinations.unread._AFTER",
        "datasets.cells._ERRORS",
        "datasets.cells._OUT_OF",
    ),
    *(
        "safety.outside._FLOAT",
        "safety.files._NUMBER",
        "safety.files._FORMULA",
        "safety.files._QUOTED_FORMULA",
    ),
    *(
        "datasets.sheets._RANGE",
        "datasets.readers.log._PEOPLE",
        "datasets.cells._NUMBER",
        "datasets.cells._GROUPED",
    ),
    *("datasets.cells._DATE", "datasets.cells._REFUSES", "datasets.cells._FORMULA"),
}
"""What is held against a cell or the beginning of a text, and is not looked for all over it."""
PIECES = [
    "a",
    "1",
    ".",
    " ",
    "-",
    "(",
    '"',
    "_",
    ",",
    "!",
    "[",
    "a ",
    "1.",
    "1,",
    "a1",
    "a.",
    "1 ",
    "[[",
    "```",
    "\\",
]
SHORT = 80


def patterns() -> dict[str, re.Pattern[str]]:
    found = {}
    for name in MODULES:
        for key, value in vars(importlib.import_module(f"undogmatic.{name}")).items():
            if isinstance(value, re.Pattern):
                found[f"{name}.{key}"] = value
    return found


def growth(pattern: re.Pattern[str], whole: bool = False) -> float:
    """How many times more steps a text takes that is twice as long, at worst."""

    def steps(piece: str, end: str, n: int) -> int:
        return Steps(pattern, (piece * n)[:n] + end, whole).count

    return max(
        steps(p, end, 2 * SHORT) / steps(p, end, SHORT)
        for p in PIECES
        for end in ("", "\x01")
    )


def test_steps_tell_a_square_from_a_line() -> None:
    assert growth(re.compile(r"[.!?]+(?:\s|$)")) > 3.5
    assert growth(re.compile(r"(?:([^\W\d]+)[^\w\n]{0,3})?\d+")) > 3.5
    assert growth(re.compile(r"(?<![.!?])[.!?]++(?:\s|$)")) < 2.2
    assert growth(re.compile(r"\d+\.?\d*"), whole=True) > 3.5
    assert growth(re.compile(r"\d+(\.\d*)?"), whole=True) < 2.2


@pytest.mark.parametrize("name", patterns())
def test_a_pattern_grows_with_a_text_and_not_with_its_square(name: str) -> None:
    assert growth(patterns()[name], whole=name in ANCHORED) < 3
