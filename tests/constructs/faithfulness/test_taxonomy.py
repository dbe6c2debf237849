"""Quoted errors: read from judgments, put into classes by the first rule that is found."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import put, rows_in
from undogmatic.constructs.faithfulness.taxonomy import (
    OTHER,
    QuoteClasses,
    QuotesDataset,
    quotes,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.safety.secrets import redacted

RULES = QuoteClasses()
OTHERS = (
    Path(os.environ.get("SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "faith"
)
"""Quotes that real judges made, with the classes that others gave them; they are no part of the
project."""


QUOTES = yaml.safe_load(
    Path(__file__).with_name("quotes.yaml").read_text(encoding="utf-8")
)
TEXTS = [
    (kind, name, text)
    for kind, classes in QUOTES.items()
    for name, texts in classes.items()
    for text in texts
]


@pytest.mark.parametrize(("kind", "name", "text"), TEXTS)
def test_a_quote_has_the_class_of_the_first_rule_that_is_found(
    kind: str, name: str, text: str
) -> None:
    assert RULES.classify(kind, text) == name


def rules(text: str) -> QuoteClasses:
    Path("rules.yaml").write_text(text)
    return QuoteClasses("rules.yaml")


def test_the_order_of_the_rules_decides() -> None:
    ordered = rules(
        "errors: [{class: one, any: [a]}, {class: two, any: [b]}]\nomissions: []\n"
    )
    assert [ordered.classify("errors", text) for text in ("ab", "B", "c")] == [
        "one",
        "two",
        OTHER,
    ]


@pytest.mark.parametrize(
    "text",
    ["errors: []\n", "errors: [{class: a, any: ['(']}]\nomissions: []\n", "- 1\n"],
)
def test_broken_rules_are_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"rules\.yaml: no rules"):
        rules(text)


def test_quotes_are_texts_or_objects_and_a_class_is_no_word_of_theirs() -> None:
    entry = {
        "error_quote": "won",
        "issue": "lost",
        "severity": "Major",
        "primary_category": "dissent",
    }
    details = {
        "errors": json.dumps([entry]),
        "omissions": json.dumps(["the vote", " "]),
    }
    error, omission = quotes(details, ["primary_category"])
    assert (error.text, error.severity, error.given) == (
        "won | lost",
        "Major",
        "dissent",
    )
    assert (omission.kind, omission.text, omission.given) == (
        "omissions",
        "the vote",
        None,
    )
    assert quotes({"errors": 3.0}) == []


def quoted(*rows: dict[str, Any]) -> list[Item]:
    """The quotes of a journal of these rows."""
    put(Path("judgments.jsonl"), rows)
    return QuotesDataset(".").load()


def judgment(criterion: str, repeat: int = 0, **details: str) -> dict[str, Any]:
    outcome = {"details": details} if details else {"reason": "refusal"}
    return {
        "item_id": "case/sys",
        "judge": "j",
        "criterion": criterion,
        "repeat": repeat,
        "outcome": outcome,
    }


def test_every_quote_of_a_journal_is_an_item_once_and_beside_different_criteria_has_an_id_of_its_own() -> (
    None
):
    errors = json.dumps(["The date is wrong.", "Not in the reference."])
    both = (("completeness", 0), ("factual_accuracy", 0), ("factual_accuracy", 1))
    items = quoted(*(judgment(*each, errors=errors) for each in both), judgment("x"))
    assert [item.id for item in items] == ["case/sys/j/1", "case/sys/j/2"]
    assert [item.labels["overall"]["rules"] for item in items] == [
        "wrong_date_or_vote",
        "invented_detail",
    ]
    assert items[0].pair == "case"
    assert items[0].metadata == {
        "kind": "errors",
        "judge": "j",
        "system": "sys",
        "quoted": "case/sys",
    }
    accuracy = judgment("factual_accuracy", errors='["The date is wrong."]')
    items = quoted(accuracy, judgment("completeness", omissions='["The dissent"]'))
    found = [(item.id, item.metadata["kind"]) for item in items]
    assert found == [("case/sys/j/1", "errors"), ("case/sys/j/2", "omissions")]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (judgment("x"), "no judgment in it quotes errors"),
        ({"a": 1}, r"jsonl:1: not a judgment"),
        (
            judgment("x", errors=redacted("The date is wrong.")),
            r"judgments\.jsonl:1: .*`tracking\.redact` true",
        ),
    ],
    ids=["no quotes", "another file", "hashes of quotes"],
)
def test_a_journal_without_quotes_and_another_file_are_named(
    row: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        quoted(row)


@pytest.mark.skipif(
    not OTHERS.is_dir(), reason="the quotes of others are not part of the project"
)
def test_classes_of_quotes_that_real_judges_made() -> None:
    """Of 49 that others call a fabricated precedent nearly all merely stand nowhere in the
    reference (names, dates, facts); five name a citation or a statute."""
    found: Counter[tuple[str, str]] = Counter()
    for row in rows_in(OTHERS / "taxonomy_errors.jsonl"):
        text = " | ".join(
            row[field]
            for field in ("error_quote", "issue", "correct_info")
            if row[field]
        )
        found[row["primary_category"], RULES.classify("errors", text)] += 1
    unsupported = ("fabricated_citation", "invented_detail")
    assert sum(found["fabricated_precedent", name] for name in unsupported) == 49
    assert found["fabricated_precedent", "fabricated_citation"] == 5
    assert found["wrong_holding", "wrong_holding"] == 3
    assert sum(n for (_, ours), n in found.items() if ours == "wrong_holding") == 3
    assert (
        sum(n for (_, ours), n in found.items() if ours == "fabricated_citation") <= 7
    )
