"""Looking citations up: every outcome, tables of the user's, the analysis of a run, and the
command."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Capture, Patch, put, reference
from tests.examinations.builders import (
    Reading,
    analysed,
    configured,
    labelled_run,
    refuses,
)
from tests.examinations.conftest import words_of
from undogmatic.cli import main
from undogmatic.constructs.precedents.table import OUTCOMES, Precedents
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.run_evidence import RunEvidence

HEAD = "court,kind,number,leading_case,status,date\n"
OWN = (
    HEAD + "STF,tema,1.046,ARE"
    " 1.121.633,vigente,2026-01\nTST,Súmula,90,,cancelada,2025-05\n,sv,7,,,2024\n"
)


def one(lookup: Precedents, text: str) -> Any:
    (found,) = lookup.look_up(text)
    return found


@pytest.mark.parametrize(
    ("text", "outcome", "entries", "key"),
    [
        ("Tema 793 do STF", "found", ["Tema 793 (STF)"], "found"),
        ("Tema 1118", "found", ["Tema 1118 (STF)"], "found_unnamed"),
        ("Tema 793", "found", ["Tema 793 (STF)", "Tema 793 (STJ)"], "found_unnamed"),
        (
            "Tema 982",
            "found",
            ["Tema 982 (STF)", "Tema 982 (STJ)"],
            "found_unnamed_some",
        ),
        ("O STJ aplicou o Tema 1118", "found", ["Tema 1118 (STF)"], "found_unnamed"),
        ("RE 841.526", "found", ["Tema 592 (STF)"], "found_case"),
        ("RE 664.335", "found", ["Tema 555 (STF)"], "found_case"),
        ("Tema 1118 do STJ", "other_court", ["Tema 1118 (STF)"], "other_court"),
        (
            "Súmula Vinculante 13 do STJ",
            "other_court",
            ["Súmula Vinculante 13 (STF)"],
            "other_court",
        ),
        ("Tema 69/STF", "changed", ["Tema 69 (STF)"], "changed"),
        ("Súmula 277 do TST", "changed", ["Súmula 277 (TST)"], "changed"),
        ("Súmula 90", "changed", ["Súmula 90 (TST)"], "changed"),
        ("REsp 1.648.305", "changed", ["Tema 982 (STJ)"], "changed_case"),
        ("Tema 1499 do STJ", "not_listed", [], "not_listed"),
        ("RE 999.999", "not_listed", [], "not_listed"),
        ("ADI 4.277", "not_listed", [], "not_listed_kind"),
    ],
)
def test_every_outcome_in_words(
    text: str, outcome: str, entries: list[str], key: str
) -> None:
    found = one(Precedents(), text)
    assert (found.outcome, [entry.shown for entry in found.entries]) == (
        outcome,
        entries,
    )
    assert found.told.key == f"precedents.{key}"
    for language in ("en", "pt"):
        sentence = words_of(language).say(found.told)
        assert sentence.startswith(f"{found.shown}: ")
        assert "not exist" not in sentence and "não existe" not in sentence
    if outcome == "not_listed":
        assert "159" in words_of("en").say(found.told)


def test_a_citation_counts_once_in_a_text_and_one_that_only_the_table_places_gets_its_court() -> (
    None
):
    found = Precedents().look_up(
        "Tema 1118. De novo: Tema 1.118. E a Súmula 7/STJ, Súmula n. 7 do STJ."
    )
    assert [(each.citation.court, each.citation.stated) for each in found] == [
        ("STF", "table"),
        ("STJ", "beside"),
    ]


def test_a_table_of_ones_own_with_its_own_names(tmp_path: Path) -> None:
    own = Precedents(
        path=str(put(tmp_path / "own.csv", OWN.replace("sv", "sumula_vinculante")))
    )
    assert own.about == {"n": 3, "date": "2026-01"}
    assert one(own, "ARE 1121633").outcome == "found"
    assert one(own, "Súmula 90 do TST").outcome == "changed"
    assert one(own, "SV 7").outcome == "found"
    rows = [{"nr": 5, "art": "tema", "tribunal": "STJ"}]
    named = {"number": "nr", "kind": "art", "court": "tribunal"}
    other = Precedents(path=str(put(tmp_path / "own.jsonl", rows)), columns=named)
    assert other.about == {"n": 1, "date": None}
    assert one(other, "Tema 5 do STJ").outcome == "found"
    assert one(other, "Tema 6 do STJ").told.key == "precedents.not_listed_undated"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "STF,tema,1,,,\nSTF,Tema,001,,,\n",
            "own.csv:3: Tema 1 (STF) stands in this table already, at line 2.",
        ),
        (
            "STF,theme of old,1,,,\n",
            "own.csv:2: `kind` is 'theme of old'; it may be: tema, sumula,",
        ),
        (
            "STF,tema,first,,,\n",
            "own.csv:2: `number` is 'first'; it must be a number of the kind tema.",
        ),
        ("STF,tema,,,,\n", "own.csv:2: `number` is empty"),
        (",tema,1,,,\n", "own.csv:2: `court` is empty; it may be: STF, STJ, TST"),
        ("XYZ,tema,1,,,\n", "own.csv:2: `court` is 'XYZ'; it may be:"),
        ("STF,tema,1,,lost,\n", "own.csv:2: `status` is 'lost'; it may be: in_force"),
        ("", "holds no precedents"),
    ],
)
def test_a_wrong_table_is_named_with_its_line(
    tmp_path: Path, rows: str, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        Precedents(path=str(put(tmp_path / "own.csv", HEAD + rows))).look_up("Tema 1")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"grammar": "own.yaml"}, "name its table too: precedents.path=FILE"),
        ({"path": "none.csv"}, "`precedents.path` is 'none.csv', which does not exist"),
        (
            {"grammar": "none.yaml", "path": "own.csv"},
            "`precedents.grammar` is 'none.yaml', which does not exist",
        ),
        (
            {"columns": {"nr": "number"}},
            "`precedents.columns` names 'nr'; there are: precedent, court,",
        ),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Precedents(**given)
    assert said in str(caught.value)


def test_a_file_that_does_not_exist_is_no_key(tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["precedents", str(tmp_path / "none.txt")])
    said_of_it = capsys.readouterr().err
    assert (
        "which does not exist" in said_of_it
        and "Name one that exists (.txt" in said_of_it
        and "FILE=" not in said_of_it
    )


def test_a_table_without_a_needed_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"own\.csv:1: no column `kind`; columns: court, number\."
    ):
        _ = Precedents(
            path=str(put(tmp_path / "own.csv", "court,number\nSTF,1\n"))
        ).entries


def test_the_facts_that_were_checked_can_be_read_as_a_table() -> None:
    facts = Precedents(
        path=str(reference("temas_facts.jsonl")), columns={"precedent": "id"}
    )
    shipped = Precedents()
    assert facts.entries.keys() == shipped.entries.keys()
    for key, entries in facts.entries.items():
        mine = {entry.court: entry.cells for entry in shipped.entries[key]}
        for entry in entries:
            assert mine[entry.court]["status"] == entry.cells["status"], entry.shown


TEXTS = ["Tema 793 do STF e Tema 69 do STF.", "Tema 1118 do STJ.", "Nada aqui."]


def judged(texts: list[str]) -> RunEvidence:
    return labelled_run([(None, 50.0, {"text": text}) for text in texts])


def test_the_analysis_counts_and_says_which_text_cites_what() -> None:
    told = analysed("precedents", judged(TEXTS))
    assert told.of("texts citing citations found other_court changed not_listed") == [
        3,
        2,
        3,
        1,
        1,
        1,
        0,
    ]
    assert told.tables["cites"].to_dict("records") == [
        {"item_id": "i0", "cites": "Tema 793 (STF); Tema 69 (STF)"},
        {"item_id": "i1", "cites": "Tema 1118 (STJ)"},
    ]
    assert list(told.tables["doubtful"]["outcome"]) == ["changed", "other_court"]
    assert list(told.result.items["citations"]) == [2, 1, 0]
    assert (
        told.headline is None
        and told.result.verdict.key == "precedents.summary"
        and told.result.standing is None
    )


def test_the_suite_tells_of_precedents_last_where_there_are_any_and_no_number_changes() -> (
    None
):
    with_them, without = (
        configured("suite")(judged(texts), None) for texts in (TEXTS, ["Nada."] * 3)
    )
    assert [result.name for result in with_them] == [
        "suite",
        "none",
        "costs",
        "precedents",
    ]
    assert [result.name for result in without] == ["suite", "none", "costs"]
    assert [dict(a.metrics) for a in with_them[:3]] == [
        dict(b.metrics) for b in without
    ]
    refuses(
        Unsuited,
        "none here cites a precedent",
        "precedents",
        judged(["Nada."]),
        required=False,
    )
    assert (
        Reading(configured("precedents")(judged(["Nada."]), None)[0])["citations"] == 0
    )


def said(capsys: Capture, *words: str) -> str:
    main(["precedents", *words])
    return capsys.readouterr().out


def test_the_command_reads_a_text_standard_input_and_tables(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    text = put(tmp_path / "own.txt", "Tema 793 do STF.")
    shown = said(capsys, str(text))
    assert (
        shown.startswith("Tema 793 (STF): found.\n")
        and "1 of 1 text cites precedents, 1 in all" in shown
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SV 13 do STJ")))
    assert "só tem o número com outro tribunal" in said(capsys, "-", "--language", "pt")
    table = put(tmp_path / "texts.csv", 'id,resposta\na,"Tema 793\ndo STF"\nb,nada\n')
    assert (
        said(capsys, str(table))
        .partition("`--text resposta`.\n\n")[2]
        .startswith("a  Tema 793 (STF): found.\n")
    )
    assert "No precedent is cited." in said(capsys, str(table), "--text", "id")
    own = put(tmp_path / "own.csv", "court,kind,nr\nSTF,tema,793\n")
    found = json.loads(
        said(
            capsys,
            str(table),
            "--json",
            f"precedents.path={own}",
            "precedents.columns.number=nr",
        )
    )
    sizes = {"Tema (STF)": 1}
    assert found["table"] == {"path": str(own), "n": 1, "date": None, "kinds": sizes}
    assert found["counts"] == {"citations": 1, **dict.fromkeys(OUTCOMES, 0), "found": 1}
    (cited,) = found["texts"][0]["precedents"]
    assert (cited["court"], cited["number"], cited["words"]) == (
        "STF",
        "793",
        "Tema 793\ndo STF",
    )
    assert [each["item"] for each in found["texts"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["none.txt"], "does not exist"),
        (
            ["own.csv", "path=x.csv"],
            "'path=x.csv' is no setting. There are: precedents.path",
        ),
        (["own.csv", "precedents.model=x"], "is no setting"),
        (
            ["own.csv"],
            (
                "own.csv: no column `text`, and none that seems to be it. Columns: `a`, `b`. Name"
                " it: --text COLUMN"
            ),
        ),
        (
            ["own.csv", "--text", "c"],
            "own.csv: --text is 'c', which is no column. Columns: a, b.",
        ),
        (["own.txt", "--text", "a"], "--text and --item name columns of a table"),
    ],
)
def test_what_the_command_cannot_read_is_one_sentence(
    tmp_path: Path, capsys: Capture, words: list[str], problem: str
) -> None:
    put(tmp_path / "own.csv", "a,b\n1,2\n")
    put(tmp_path / "own.txt", "x")
    with pytest.raises(SystemExit) as ended:
        main(["precedents", *words])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert problem in message and "Traceback" not in message
