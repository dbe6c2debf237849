"""The theses against the list of precedents, and the list against facts that were checked one by
one.

What was checked is no part of the repository; the figures here are carried from it, so that the
theses are held to them everywhere, and a copy of the material holds the figures to it.
"""

import csv
import hashlib
from collections.abc import Iterable

from tests.conftest import reference_rows, rows_in
from undogmatic.safety.paths import data_folder

FACTS = "temas_facts.jsonl"
CHECKED = "f26c438ccc3956a35e942c0cb1eed49874749d04b4a2dc5adc41b1c83fb85cfd"
"""SHA-256 of precedent, court, number and leading case of all 159, sorted."""
NOT_IN_FORCE = set(
    "STF-TEMA-810 STF-TEMA-825 STJ-TEMA-106 STJ-TEMA-905 STJ-TEMA-982 STJ-TEMA-999 STJ-SUMULA-543"
    " TST-SUMULA-90 TST-SUMULA-277 TST-SUMULA-331 TST-SUMULA-437 TST-SUMULA-450".split()
)
"""Cancelled or superseded, some in part, when they were checked."""


def listed() -> dict[str, dict[str, str]]:
    with (data_folder() / "curated" / "precedents.csv").open(encoding="utf-8") as file:
        return {row["precedent"]: row for row in csv.DictReader(file)}


def theses() -> list[dict[str, str]]:
    return rows_in(data_folder() / "curated" / "theses.jsonl")


def mark(rows: Iterable[tuple[str, str, object, object]]) -> str:
    lines = sorted(
        "|".join("" if cell is None else str(cell) for cell in row) for row in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def test_theses_are_of_precedents_in_force_of_the_right_court_and_a_number_that_one_cites_is_its_own() -> (
    None
):
    """Every thesis whose form is the number, spelled with digits, holds its precedent's number in
    the bare text."""
    known = listed()
    assert theses()
    for thesis in theses():
        assert thesis["court"] == known[thesis["precedent"]]["court"], thesis["id"]
        assert thesis["precedent"] not in NOT_IN_FORCE, thesis["id"]
    citing = [
        thesis
        for thesis in theses()
        if thesis["authority_form"] in ("number", "sumula")
    ]
    assert citing
    for thesis in citing:
        digits = "".join(c for c in thesis["authority_only"] if c.isdigit())
        assert known[thesis["precedent"]]["number"] in digits, thesis["id"]


def test_the_list_of_precedents_is_the_one_that_was_checked() -> None:
    rows = listed().values()
    assert (
        mark((r["precedent"], r["court"], r["number"], r["leading_case"]) for r in rows)
        == CHECKED
    )


def test_the_figures_carried_here_are_those_of_the_checked_facts() -> None:
    facts = reference_rows(FACTS)
    assert (
        mark((f["id"], f["court"], f["number"], f["leading_case"]) for f in facts)
        == CHECKED
    )
    assert {
        f["id"] for f in facts if f["status"] not in ("vigente", "modulado")
    } == NOT_IN_FORCE
