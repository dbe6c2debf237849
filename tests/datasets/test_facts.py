"""The theses against the checked facts, where that material lies beside the checkout."""

from __future__ import annotations

import csv
import json

import pytest

from undogmatic.paths import data_folder

FACTS = data_folder().parent.parent / "shared" / "data" / "temas_facts.jsonl"
pytestmark = pytest.mark.skipif(not FACTS.is_file(), reason="the checked facts are not beside this checkout")


def facts() -> dict[str, dict]:
    return {row["id"]: row for row in map(json.loads, FACTS.read_text(encoding="utf-8").splitlines())}


def test_theses_are_of_precedents_in_force_and_of_the_right_court() -> None:
    known = facts()
    theses = (data_folder() / "curated" / "theses.jsonl").read_text(encoding="utf-8").splitlines()
    for thesis in map(json.loads, theses):
        fact = known[thesis["precedent"]]
        assert thesis["court"] == fact["court"]
        assert fact["status"] in ("vigente", "modulado"), thesis["id"]


def test_the_split_lists_every_precedent_with_its_number_and_leading_case() -> None:
    with (data_folder() / "curated" / "precedents.csv").open(encoding="utf-8") as file:
        listed = {row["precedent"]: row for row in csv.DictReader(file)}
    known = facts()
    assert set(listed) == set(known)
    for name, row in listed.items():
        assert (row["number"], row["leading_case"]) == (str(known[name]["number"]), known[name]["leading_case"] or "")


def test_a_thesis_that_cites_a_number_cites_its_own() -> None:
    """Every thesis whose form is the number, spelled with digits, holds its precedent's number in the bare text."""
    known = facts()
    theses = (data_folder() / "curated" / "theses.jsonl").read_text(encoding="utf-8").splitlines()
    for thesis in map(json.loads, theses):
        if thesis["authority_form"] in ("number", "sumula"):
            digits = "".join(c for c in thesis["authority_only"] if c.isdigit())
            assert str(known[thesis["precedent"]]["number"]) in digits, thesis["id"]
