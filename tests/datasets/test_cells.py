"""Cells of a table: numbers in either way of writing, words without case and accents, and why a
cell says nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from undogmatic.datasets.cells import number_of, read_cell, read_cells


@pytest.mark.parametrize(
    ("written", "number"),
    [
        *(
            ("4", 4),
            (" 4.5 ", 4.5),
            ("4,5", 4.5),
            ("-0,25", -0.25),
            ("1e-3", 0.001),
            (3, 3),
            (0.5, 0.5),
        ),
        *(
            ("1.234,5", 1234.5),
            ("1,234.5", 1234.5),
            ("85%", 85),
            ("4/5", 4),
            ("8 out of 10", 8),
        ),
        *(("[[4]]", 4), ('"3"', 3), ("\N{MINUS SIGN}2", -2)),
    ],
)
def test_numbers(written: object, number: float) -> None:
    assert read_cell(written).number == pytest.approx(number)
    assert read_cell(written).reason is None


@pytest.mark.parametrize(
    ("written", "word"),
    [
        *(
            ("NÃO", "nao"),
            ("**Yes**.", "yes"),
            ("model_a", "model a"),
            ("[[A]]", "a"),
            ("tie (bothbad)", "tie (bothbad)"),
        ),
        *(
            (True, "true"),
            ("partially-correct", "partially correct"),
            ("1_000", "1 000"),
            ("infinity", "infinity"),
        ),
    ],
)
def test_words(written: object, word: str) -> None:
    cell = read_cell(written)
    assert (cell.word, cell.reason) == (word, None)
    assert math.isnan(cell.number)


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        *(
            ("empty", each)
            for each in ("", "  ", None, float("nan"), "\N{ZERO WIDTH SPACE}")
        ),
        *(("nothing", each) for each in ("NaN", "none", "-", "—", "null", "?")),
        *(
            ("abstained", each)
            for each in ("CANNOT_ASSESS", "Inconclusive.", "não sei")
        ),
        *(("not_applicable", each) for each in ("n/a", "N/A", "não se aplica")),
        *(("formula", each) for each in ("=A1+B2", "=SUM(A1:A3)", "=-B2")),
        *(
            ("date", each)
            for each in (
                "2024-05-01",
                "2024-05-01 00:00:00",
                "05/jan",
                "1-Mai",
                "03/04/2024",
            )
        ),
        *(
            ("refusal", each)
            for each in (
                "I'm sorry, but I cannot judge this.",
                "Não posso avaliar este texto",
            )
        ),
        *(("error", each) for each in ("#REF!", "Error: timeout", "parse error")),
    ],
)
def test_why_a_cell_says_nothing(reason: str, written: object) -> None:
    cell = read_cell(written)
    assert (cell.reason, cell.word) == (reason, None)
    assert math.isnan(cell.number)


def test_a_column_is_read_by_its_distinct_cells() -> None:
    cells = read_cells(["4", "n/a", "4,0", "good", None, "4"])
    values, reasons = cells.values()
    np.testing.assert_array_equal(values, [4, np.nan, 4, np.nan, np.nan, 4])
    assert list(reasons) == [None, "not_applicable", None, "unreadable", "empty", None]
    assert (cells.said, cells.numeric) == (4, 0.75)
    assert cells.distinct_words() == {"4": 3, "good": 1}
    by_word, why = cells.values({"good": 1.0})
    np.testing.assert_array_equal(by_word, [np.nan, np.nan, np.nan, 1, np.nan, np.nan])
    assert why[0] == "unreadable"
    assert cells.examples(2) == ["4", "4,0"]


def test_stars_are_the_number_of_those_that_are_filled() -> None:
    assert [number_of(stars) for stars in ("★", "★★★", "★★☆☆☆", "⭐⭐")] == [1, 3, 2, 2]
    assert number_of("☆☆") is None and number_of("★ best") is None
