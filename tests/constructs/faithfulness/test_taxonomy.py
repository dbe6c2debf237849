"""Quoted errors: read from judgments, put into classes by the first rule that is found."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from undogmatic.constructs.faithfulness.taxonomy import OTHER, QuoteClasses, QuotesDataset, quotes
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.secrets import redacted

RULES = QuoteClasses()
OTHERS = Path(os.environ.get("SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")) / "faith"
"""Quotes that real judges made, with the classes that others gave them; they are no part of the project."""


@pytest.mark.parametrize(
    ("kind", "text", "name"),
    [
        ("errors", "The outcome is reversed: the summary says that the claimant won.", "reversed_outcome"),
        (
            "errors",
            "Says that it was affirmed, whereas the reference says it was vacated.",
            "reversed_outcome",
        ),
        ("errors", "Negou provimento ao recurso, quando a referência diz que foi provido.", "reversed_outcome"),
        ("errors", "Reports a 7-2 vote; it was 5-4.", "wrong_date_or_vote"),
        ("errors", "The date is wrong: 2011 instead of 2012.", "wrong_date_or_vote"),
        ("errors", "O placar está errado.", "wrong_date_or_vote"),
        ("errors", "Fabricated citation of a case that was never decided.", "fabricated_citation"),
        ("errors", "Cita a Súmula 900, que não existe.", "fabricated_citation"),
        ("errors", "Misstates the holding of the majority.", "wrong_holding"),
        ("errors", "The summary overstates the rule: the justices confined it to public employers.", OTHER),
        ("errors", "This is too broad. The Court did not hold that all such clauses are void.", "wrong_holding"),
        (
            "errors",
            "Turns a remark of the concurrence into the law, rather than the holding of the court.",
            "wrong_holding",
        ),
        ("errors", "What it calls the rule is the opposite of what the court held.", "wrong_holding"),
        ("errors", "The legal test is described inaccurately; intent is no part of it.", "wrong_holding"),
        ("errors", "Conflates the test for standing with the holding on the merits.", "wrong_holding"),
        ("errors", "A tese está invertida: o tribunal exigiu a notificação.", "wrong_holding"),
        ("errors", "Distorce o entendimento da maioria sobre o prazo.", "wrong_holding"),
        ("errors", "O tribunal não decidiu que a multa é sempre devida.", "wrong_holding"),
        ("errors", "Relies on Doe v. Roe, which is not in the reference.", "fabricated_citation"),
        ("errors", "The reference does not cite 12 F.3d 345.", "fabricated_citation"),
        ("errors", "§ 12 of the act is never mentioned; it appears to be invented.", "fabricated_citation"),
        ("errors", "The statute quoted here does not exist.", "fabricated_citation"),
        ("errors", "O art. 940 citado não consta da referência.", "fabricated_citation"),
        ("errors", "A referência não menciona a Súmula 12.", "fabricated_citation"),
        ("errors", "The driver was cited for speeding, which the reference does not mention.", "invented_detail"),
        ("errors", "The state court refused to rule, which is not mentioned in the reference.", "invented_detail"),
        ("errors", "The size of the farm is not mentioned in the reference.", "invented_detail"),
        ("errors", "Omits the dissent of Judge Alder.", "omitted_dissent"),
        ("errors", "It was 8 to 5. | vote: the reference says '7 to 6', the summary '8 to 5'", "wrong_date_or_vote"),
        ("errors", "It lost. | outcome: the reference says 'affirmed', the summary 'set aside'", "reversed_outcome"),
        ("errors", "É válido. | outcome: the reference says 'invalido', the summary 'valido'", "wrong_holding"),
        ("omissions", "A mechanic found the brakes worn. | much", "omitted_reasoning_or_facts"),
        ("errors", "The style is poor.", OTHER),
        ("omissions", "Justice Holm's concurrence", "omitted_concurrence"),
        ("omissions", "O voto vencido da relatora", "omitted_dissent"),
        ("omissions", "The reasoning on standing", "omitted_reasoning_or_facts"),
        ("omissions", "A sense of humour", OTHER),
    ],
)
def test_a_quote_has_the_class_of_the_first_rule_that_is_found(kind: str, text: str, name: str) -> None:
    assert RULES.classify(kind, text) == name


def test_the_order_of_the_rules_decides(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("errors: [{class: one, any: [a]}, {class: two, any: [b]}]\nomissions: []\n")
    rules = QuoteClasses(str(path))
    assert [rules.classify("errors", text) for text in ("ab", "B", "c")] == ["one", "two", OTHER]


@pytest.mark.parametrize("text", ["errors: []\n", "errors: [{class: a, any: ['(']}]\nomissions: []\n", "- 1\n"])
def test_broken_rules_are_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"rules\.yaml: no rules"):
        QuoteClasses(str(path))


def test_quotes_are_texts_or_objects_and_a_class_is_no_word_of_theirs() -> None:
    entry = {"error_quote": "won", "issue": "lost", "severity": "Major", "primary_category": "dissent"}
    details = {"errors": json.dumps([entry]), "omissions": json.dumps(["the vote", " "])}
    error, omission = quotes(details, ["primary_category"])
    assert (error.text, error.severity, error.given) == ("won | lost", "Major", "dissent")
    assert (omission.kind, omission.text, omission.given) == ("omissions", "the vote", None)
    assert quotes({"errors": 3.0}) == []


def test_quotes_that_a_redacted_run_did_not_keep_are_not_classed_by_their_hashes(tmp_path: Path) -> None:
    row = {"item_id": "a", "judge": "j", "outcome": {"details": {"errors": redacted("The date is wrong.")}}}
    (tmp_path / "judgments.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"judgments\.jsonl:1: .*`tracking\.redact` true"):
        QuotesDataset(str(tmp_path)).load()


def test_every_quote_of_a_journal_is_an_item_once(tmp_path: Path) -> None:
    details = {"errors": json.dumps(["The date is wrong.", "Not in the reference."])}
    rows = [
        {"item_id": "case/sys", "judge": "j", "criterion": c, "repeat": r, "outcome": {"details": details}}
        for c, r in (("completeness", 0), ("factual_accuracy", 0), ("factual_accuracy", 1))
    ]
    rows.append({"item_id": "case/sys", "judge": "j", "criterion": "x", "outcome": {"reason": "refusal"}})
    (tmp_path / "judgments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = QuotesDataset(str(tmp_path)).load()
    assert [item.id for item in items] == ["case/sys/j/1", "case/sys/j/2"]
    assert [item.labels["overall"]["rules"] for item in items] == ["wrong_date_or_vote", "invented_detail"]
    assert items[0].pair == "case"
    assert items[0].metadata == {"kind": "errors", "judge": "j", "system": "sys", "quoted": "case/sys"}


def test_quotes_beside_different_criteria_of_one_judge_have_ids_of_their_own(tmp_path: Path) -> None:
    found = {"factual_accuracy": {"errors": '["The date is wrong."]'}, "completeness": {"omissions": '["The dissent"]'}}
    rows = [
        {"item_id": "case/sys", "judge": "bucket", "criterion": criterion, "outcome": {"details": details}}
        for criterion, details in found.items()
    ]
    (tmp_path / "judgments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = QuotesDataset(str(tmp_path)).load()
    assert [(item.id, item.metadata["kind"]) for item in items] == [
        ("case/sys/bucket/1", "errors"),
        ("case/sys/bucket/2", "omissions"),
    ]


def test_a_journal_without_quotes_and_another_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "judgments.jsonl"
    path.write_text('{"item_id": "a", "judge": "j", "outcome": {}}\n')
    with pytest.raises(DataError, match="no judgment in it quotes errors"):
        QuotesDataset(str(path)).load()
    path.write_text('{"a": 1}\n')
    with pytest.raises(DataError, match=r"jsonl:1: not a judgment"):
        QuotesDataset(str(path)).load()


@pytest.mark.skipif(not OTHERS.is_dir(), reason="the quotes of others are not part of the project")
def test_classes_of_quotes_that_real_judges_made() -> None:
    """Of 49 that others call a fabricated precedent nearly all merely stand nowhere in the reference (names, dates,
    facts); five name a citation or a statute."""
    found: Counter[tuple[str, str]] = Counter()
    for line in (OTHERS / "taxonomy_errors.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = " | ".join(row[field] for field in ("error_quote", "issue", "correct_info") if row[field])
        found[row["primary_category"], RULES.classify("errors", text)] += 1
    unsupported = ("fabricated_citation", "invented_detail")
    assert sum(found["fabricated_precedent", name] for name in unsupported) == 49
    assert found["fabricated_precedent", "fabricated_citation"] == 5
    assert found["wrong_holding", "wrong_holding"] == 3
    assert sum(n for (_, ours), n in found.items() if ours == "wrong_holding") == 3
    assert sum(n for (_, ours), n in found.items() if ours == "fabricated_citation") <= 7
