"""The quotes that were written for the classes of errors, and what is measured on them."""

import pandas as pd
import pytest

from benchmarks.taxonomy import RESULTS, Labelled, table, written
from undogmatic.constructs.faithfulness.taxonomy import KINDS, QuoteClasses, cites

PARTS = ("first", "second", "test")


def test_no_quote_is_told_twice_and_each_class_is_in_both_languages() -> None:
    every = [each for part in PARTS for each in written(part)]
    assert (
        len({each.text for each in every}) >= len(every) - 4
    )  # "lorem ipsum" in both languages
    for part in PARTS:
        told = {(each.label, each.language) for each in written(part)}
        assert len(told) == 20 and {each.kind for each in written(part)} == set(KINDS)


def test_what_is_stored_is_what_the_rules_say_of_the_written_quotes() -> None:
    stored = pd.read_csv(RESULTS)
    own = stored[stored["source"] == "written, test"].reset_index(drop=True)
    pd.testing.assert_frame_equal(table(list(written("test"))), own, atol=5e-4)


def test_precision_and_recall_count_what_is_said_and_what_is() -> None:
    texts = ("Justice Low's dissent", "A title", "Judge Roe's dissent")
    labels = ("omitted_dissent", "other", "other")
    quotes = [
        Labelled("s", "en", "omissions", *pair)
        for pair in zip(texts, labels, strict=True)
    ]
    found = table(quotes).set_index("class")
    assert found.loc["omitted_dissent", ["precision", "recall"]].tolist() == [0.5, 1.0]
    assert found.loc["other", ["precision", "recall"]].tolist() == [1.0, 0.5]
    assert found.loc["all", "right"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "412 U.S. 310",
        "88 F.4th 1021",
        "No. 19-1437",
        "Marsh v. Dunmore",
        "29 U.S.C. § 218(c)",
        "Tema 815 da repercussão geral",
        "OJ 500 da SDI-1",
        "REsp 1.234.567/SP",
    ],
)
def test_a_fabricated_citation_wants_a_citation(text: str) -> None:
    classes = QuoteClasses()
    missing = " | It is not in the reference."
    assert cites(text)
    assert classes.classify("errors", text + missing) == "fabricated_citation"
    assert not cites("The truck was blue")
    assert (
        classes.classify("errors", f"The truck was blue{missing}") == "invented_detail"
    )
