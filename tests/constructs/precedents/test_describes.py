"""Whether a text describes what a precedent decided: by words, by a judge, and how often that is
right."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.precedents import answers, said
from tests.conftest import Capture, Patch, put, rows_in
from tests.examinations.builders import analysed, labelled_run, refuses
from tests.examinations.conftest import words_of
from undogmatic.cli import main
from undogmatic.constructs.precedents import asking
from undogmatic.constructs.precedents.describes import MEASURED, SAYINGS, passages
from undogmatic.constructs.precedents.table import Precedents
from undogmatic.errors import ConfigError
from undogmatic.records.records import Verdict

WORDS = Precedents(describes="words")
HOLDINGS = {
    e.shown: e.cells["holding"] for entries in WORDS.entries.values() for e in entries
}
RIGHT = "Diz a Súmula 7 do STJ que não cabe reexaminar prova no recurso especial."
OTHER = "Segundo a Súmula 130 do STJ, inquérito em andamento não eleva a pena-base."
BARE = "Aplica-se a Súmula 54 do STJ."


def test_the_passages_are_many_of_two_files_and_tell_what_the_table_has() -> None:
    files = [
        rows_in(MEASURED.with_name(f"described_{name}.jsonl"))
        for name in ("development", "test")
    ]
    development, test = ({row["passage"] for row in rows} for rows in files)
    assert len(development) + len(test) >= 120 and not development & test
    assert not {row["precedent"] for row in files[0]} & {
        row["precedent"] for row in files[1]
    }
    for row in (row for rows in files for row in rows):
        assert row["decided"] == HOLDINGS[row["precedent"]] and row["label"] in SAYINGS
        (one,) = WORDS.look_up(row["passage"])
        assert one.shown == row["precedent"]


def test_words_are_right_as_often_as_is_said_of_them() -> None:
    rows, known = said("test"), WORDS.reliability
    assert known is not None and known.useful
    right = [
        answer == row.label
        for answer, row in zip(answers(WORDS, rows), rows, strict=True)
    ]
    assert (known.right.hits, known.right.n) == (sum(right), len(right))
    assert 0.5 < known.right.value < 0.9 and known.missed <= known.turned == 6


@pytest.mark.parametrize(
    ("text", "saying", "like"),
    [
        (RIGHT, "describes", None),
        (OTHER, "otherwise", "Súmula 444 (STJ)"),
        (BARE, "silent", None),
        (f"{OTHER} {BARE}", "otherwise", "Súmula 444 (STJ)"),
        (f"{OTHER} É o que diz a Súmula 444 do STJ.", "silent", None),
        (
            f"{BARE} Outra frase. Os juros por ato ilícito extracontratual correm desde o evento.",
            "describes",
            None,
        ),
        ("Tema 9999 do STF: nada.", None, None),
        ("Tema 1118 do STJ: ente público e falta de fiscalização.", None, None),
        ("Tema 793: entes federados solidários na saúde.", "describes", None),
    ],
)
def test_what_words_say_of_the_first_citation(
    text: str, saying: str | None, like: str | None
) -> None:
    described = WORDS.look_up(text)[0].described
    assert (described and (described.saying, described.like)) == (
        saying and (saying, like)
    )


def test_a_passage_ends_where_another_precedent_is_cited() -> None:
    text = "Um fato. A regra é clara. Tema 69 do STF. Outra coisa. Veja o Tema 6 do STF. Fim de tudo."
    around = passages(text, WORDS.grammar.citations(text))
    assert [each.strip(" .") for each in around] == [
        text[:54].strip(" ."),
        text[41:].strip(" ."),
    ]


def test_a_table_of_ones_own_in_another_language_is_compared_by_its_own_holdings(
    tmp_path: Path,
) -> None:
    own = "court,kind,number,holding\nSTF,tema,1,A seller must warn of hidden defects\nSTF,tema,2,\n"
    lookup = Precedents(path=str(put(tmp_path / "own.csv", own)), describes="words")
    found = lookup.look_up(
        "Under Tema 1 of the STF sellers warn buyers of hidden defects. Tema 2 of the STF says so."
    )
    assert [one.described and one.described.saying for one in found] == [
        "describes",
        None,
    ]


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_command_says_it_with_the_error(
    capsys: Capture, tmp_path: Path, language: str
) -> None:
    file = str(put(tmp_path / "own.txt", f"{RIGHT} {OTHER}"))
    main(["precedents", file, "precedents.describes=words", "--language", language])
    shown = capsys.readouterr().out
    assert WORDS.reliability is not None
    assert (
        "Súmula 444 (STJ)" in shown and f"{WORDS.reliability.right.value:.0%}" in shown
    )
    assert words_of(language).text("precedents.not_examined") not in shown
    main(["precedents", file, "precedents.describes=words", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [one["described"]["saying"] for one in found["texts"][0]["precedents"]] == [
        "describes",
        "otherwise",
    ]
    assert found["describes"]["right"] == WORDS.reliability.right.value


def judged_by(label: Any) -> Any:
    """Judgments of a judge who says of each item what `label` makes of it."""

    def judged(items: Any, config: Any) -> list[Any]:
        assert config.model["_target_"].endswith("FakeModel")
        known = {row["id"]: row["label"] for row in rows_in(MEASURED)}
        said = [label(item, known.get(item.id)) for item in items]
        outcomes = [Verdict(category=each) if each else None for each in said]
        return [
            SimpleNamespace(item_id=i.id, outcome=outcome)
            for i, outcome in zip(items, outcomes, strict=True)
        ]

    return judged


def test_a_judge_is_asked_once_per_citation_and_measured_on_the_passages(
    monkeypatch: Patch,
) -> None:
    asked = []

    def says(item: Any, label: str | None) -> str | None:
        if label is None:
            asked.append(item.inputs)
        return label or (None if "Súmula 54" in item.inputs["passage"] else "otherwise")

    monkeypatch.setattr(asking, "judged", judged_by(says))
    found = {
        "a": Precedents(describes="judge").look_up(f"{RIGHT} {BARE} Tema 9999 do STF.")
    }
    said_of, known = asking.ask(found, ["model=fake"])
    assert [one.described and one.described.saying for one in said_of["a"]] == [
        "otherwise",
        None,
        None,
    ]
    assert [inputs["decided"] for inputs in asked] == [
        HOLDINGS["Súmula 7 (STJ)"],
        HOLDINGS["Súmula 54 (STJ)"],
    ]
    assert known.right.value == 1 and known.told.key == "precedents.examined_judge"


def test_what_a_judge_says_who_always_says_the_same_is_not_told(
    monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    monkeypatch.setattr(asking, "judged", judged_by(lambda item, label: "describes"))
    main(
        [
            "precedents",
            str(put(tmp_path / "own.txt", RIGHT)),
            "precedents.describes=judge",
            "model=fake",
        ]
    )
    shown = capsys.readouterr().out
    assert (
        shown.startswith("Súmula 7 (STJ): found.\n")
        and "was not examined, because this judge is not shown" in shown
    )


def test_a_run_tells_it_with_the_error_asks_no_judge_and_names_nothing_where_texts_are_redacted() -> (
    None
):
    judged = labelled_run(
        [(None, 50.0, {"text": text}) for text in (RIGHT, OTHER, BARE)]
    )
    told = analysed("precedents", judged, lookup=WORDS)
    assert (
        told.of("describes otherwise silent") == [1, 1, 1]
        and 0 < told["share_right"] < 1
    )
    (row,) = told.tables["doubtful"].to_dict("records")
    assert (row["cited"], row["said"], row["like"]) == (
        "Súmula 130 (STJ)",
        "otherwise",
        "Súmula 444 (STJ)",
    )
    hidden = analysed("precedents", judged, lookup=WORDS, redact=True)
    assert hidden.tables == {} and "Súmula" not in repr(hidden.result.findings)
    assert hidden.of("citations describes") == told.of("citations describes")
    refuses(
        ConfigError,
        "an analysis asks no judge",
        "precedents",
        judged,
        lookup=Precedents(describes="judge"),
    )
    with pytest.raises(ConfigError, match="it may be: words, judge"):
        Precedents(describes="states")  # type: ignore[arg-type]
