"""Which conditions are held against each other where a dataset has several."""

from __future__ import annotations

import pandas as pd
import pytest

from undogmatic.analyses.pairs import contrast

OLD, NEW = ("authority_only", "explained_only"), ("imitation", "explanation")
TREATMENTS, BASELINES = ["imitation", "authority_only"], ["explanation", "explained_only"]


def rows(*pairs: tuple[str, ...]) -> pd.DataFrame:
    """One pair per tuple of conditions."""
    texts = [(f"p{n}", condition) for n, pair in enumerate(pairs) for condition in pair]
    return pd.DataFrame(texts, columns=["pair_id", "condition"])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (rows(OLD, OLD), OLD),
        (rows(NEW), NEW),
        (rows(OLD, NEW), NEW),
        (rows((*OLD, "imitation")), OLD),  # its own other side is missing, and that of another design is none
        (rows(("imitation",), ("explanation",), OLD), OLD),
        (rows(("imitation",), ("explanation",)), NEW),
        (rows(("other",)), NEW),
    ],
)
def test_sides_of_two_designs_are_never_mixed(data: pd.DataFrame, expected: tuple[str, str]) -> None:
    assert contrast(TREATMENTS, BASELINES, data) == expected


def test_one_name_finds_the_one_that_it_stands_with() -> None:
    assert contrast("authority_only", BASELINES, rows(NEW, OLD)) == OLD
    assert contrast(TREATMENTS, "explained_only", rows(NEW, OLD)) == OLD
    assert contrast("a", "b", rows(OLD)) == ("a", "b")


def test_a_text_without_pair_stands_with_nobody() -> None:
    alone = pd.DataFrame({"pair_id": [None, None, "p", "p"], "condition": [*NEW, *OLD]})
    assert contrast(TREATMENTS, BASELINES, alone) == OLD
