"""Reading verdict tables: columns, kinds and scales are recognised, faults are named, and doubt
asks."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import reference
from undogmatic.datasets import table as module
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import Evidence
from undogmatic.records.wordings import languages
from undogmatic.records.words import Words

TEXTS = Path(module.__file__).with_name("table.texts.yaml")


def read(
    *texts: str | bytes, names: tuple[str, ...] = ("a.csv", "b.csv"), **options: Any
) -> Evidence:
    """The table of files with these contents, in the folder of the test; every sentence about it
    can be said."""
    for name, text in zip(names, texts, strict=False):
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_table(names[: len(texts)], TableOptions(**options))
    for language in languages():
        words = Words(language, [TEXTS], strict=True)
        assert all(words.say(finding) for finding in (*found.read, *found.problems))
    return found


def rows(header: str, row: Callable[[int], str], n: int = 30) -> str:
    return "\n".join([header, *map(row, range(n))]) + "\n"


def told(table: Evidence) -> dict[str, dict[str, Any]]:
    return {
        each.key.removeprefix("table."): dict(each.values)
        for each in (*table.read, *table.problems)
    }


def problems(table: Evidence) -> list[str]:
    return [each.key.removeprefix("table.") for each in table.problems]


GRADE, LABEL = (lambda i: i * 7 % 5 + 1), (lambda i: i % 5 + 1)


@pytest.mark.parametrize(
    ("header", "row", "judges", "raters"),
    [
        ("texto,nota,juiz", "texto {i},{label},{grade}", ["juiz"], ["nota"]),
        (
            "text,label,judge_a,judge_b",
            "text {i},{label},{grade},{label}",
            ["judge_a", "judge_b"],
            ["label"],
        ),
        ("id,human,verdict", "{i},{label},{grade}", ["verdict"], ["human"]),
        ("ID;Nota Humana;Nota IA", "{i};{label};{grade}", ["Nota IA"], ["Nota Humana"]),
        (
            "id\tground_truth\tgpt-4o\tclaude_3",
            "{i}\t{label}\t{grade}\t{grade}",
            ["gpt-4o", "claude_3"],
            ["ground_truth"],
        ),
        (
            "id,human_1,human_2,llm",
            "{i},{label},{grade},{grade}",
            ["llm"],
            ["human_1", "human_2"],
        ),
        (
            "id,anotador_ana,anotador_bia,juízo_ia",
            "{i},{label},{grade},{grade}",
            ["juízo_ia"],
            ["anotador_ana", "anotador_bia"],
        ),
        ("id,score,rótulo", "{i},{grade},{label}", ["score"], ["rótulo"]),
        ("y_pred,y_true", "{grade},{label}", ["y_pred"], ["y_true"]),
    ],
)
def test_a_column_per_judge_and_rater(
    header: str, row: str, judges: list[str], raters: list[str]
) -> None:
    table = read(
        rows(header, lambda i: row.format(i=i, label=LABEL(i), grade=GRADE(i)))
    )
    assert (table.kind, table.scale, table.judges, table.raters("overall")) == (
        "numeric",
        (1, 5),
        judges,
        raters,
    )
    first = table.verdicts[table.verdicts["judge"] == judges[0]]["verdict"]
    assert first.tolist() == [GRADE(i) for i in range(30)]
    assert table.labels[table.labels["rater"] == raters[0]]["label"].tolist() == [
        LABEL(i) for i in range(30)
    ]
    assert ("text" in table.items) == ("text" in header)
    assert told(table)["read_verdict"]["columns"] == [f"`{name}`" for name in judges]
    assert table.verdicts["place"].iloc[0] == "a.csv:2"
    assert table.sources == {
        "a.csv": hashlib.sha256(Path("a.csv").read_bytes()).hexdigest()
    }


def test_judges_and_raters_by_name_settings_and_slices() -> None:
    text = rows(
        "judge,item,rater,score,label,judge_model,temperature,topic,grupo",
        lambda i: (
            f"{'xy'[i % 2]},{i // 6},{'abc'[i % 3]},{(i % 2 + i // 6) % 3 + 1},{i % 3 + 1},"
            f"m{i % 2},0,t{i // 12},g{i // 18}"
        ),
        36,
    )
    table = read(text)
    assert (table.judges, table.raters("overall")) == (["x", "y"], ["a", "b", "c"])
    assert (len(table.verdicts), len(table.labels), told(table)["same_twice"]["n"]) == (
        12,
        18,
        24,
    )
    assert table.settings == {
        j: {"judge_model": f"m{n}", "temperature": "0"} for n, j in enumerate("xy")
    }
    assert table.items["slice.topic"].tolist() == ["t0", "t0", "t1", "t1", "t2", "t2"]
    assert table.items["group"].tolist() == ["g0", "g0", "g0", "g1", "g1", "g1"]
    assert read(text, judge=("y",)).judges == ["y"]


def test_people_among_the_judges_and_models_among_the_raters() -> None:
    for column, names in (("judge", ["human", "gpt-4"]), ("rater", ["ana", "gpt-4"])):
        table = read(
            rows(
                f"item,{column},score",
                lambda i, names=names: f"{i // 2},{names[i % 2]},{LABEL(i)}",
            )
        )
        assert (table.judges, table.raters("overall")) == (["gpt-4"], [names[0]])
        assert table.read[0].key == "table.read_people"


def test_repeats_with_and_without_a_column() -> None:
    numbered = read(
        rows(
            "id,run,judge,gold",
            lambda i: f"{i // 3},{i % 3 + 1},{GRADE(i)},{LABEL(i // 3)}",
        )
    )
    plain = read(
        rows("id,judge,gold", lambda i: f"{i // 3},{GRADE(i)},{LABEL(i // 3)}")
    )
    for table in (numbered, plain):
        assert sorted(table.verdicts["repeat"].unique()) == [0, 1, 2]
        assert (len(table.labels), problems(table)) == (10, [])
    assert told(plain)["rows_are_repeats"] == {"k": 3, "repeat_option": "--repeat"}


def test_choices_keep_the_given_numbering_unless_they_are_as_shown() -> None:
    text = "item_id,judge,order,choice,label\na,j,as_given,2,1\na,j,swapped,1,1\nb,j,as_given,,2\nb,j,swapped,2,2\n"
    table = read(text)
    assert (table.kind, table.categories) == ("pairwise", ("1", "2"))
    np.testing.assert_array_equal(table.verdicts["verdict"], [1, 0, np.nan, 1])
    assert table.verdicts["reason"].tolist() == [None, None, "empty", None]
    assert table.read[0].key == "table.choices_given"
    np.testing.assert_array_equal(
        read(text, choices="shown").verdicts["verdict"], [1, 1, np.nan, 0]
    )


@pytest.mark.parametrize("position", [False, True])
def test_choices_that_cannot_be_in_the_given_numbering_ask(position: bool) -> None:
    """A good judge's choices as shown ask; those of a judge that prefers the first position do
    not."""
    rng = random.Random(1)

    def row(i: int) -> str:
        label, swapped = i // 2 % 2 + 1, i % 2
        given = (
            (2 if swapped else 1)
            if position
            else label
            if rng.random() < 0.9
            else 3 - label
        )
        shown = given if position or not swapped else 3 - given
        return f"{i // 2},{'ba' if swapped else 'ab'},{shown},{label}"

    text = rows("id,order,choice,label", row, 160)
    if position:
        assert read(text).kind == "pairwise"
        return
    with pytest.raises(ConfigError, match="--choices shown"):
        read(text)
    assert (
        read(text, choices="shown").verdicts["verdict"] == np.arange(160) // 2 % 2
    ).mean() > 0.8


def test_an_arena_of_systems() -> None:
    sides = ["model_a,model_b", "gpt,llama", "llama,gpt"]
    by_side = read(
        rows(
            f"id,{sides[0]},winner,human_winner",
            lambda i: f"{i},gpt,llama,model_a,tie (bothbad)",
        )
    )
    by_name = read(
        rows(
            f"id,{sides[0]},winner,human_winner",
            lambda i: f"{i},{sides[1 + i % 2]},gpt,llama",
        )
    )
    assert by_side.categories == ("1", "2", "tie")
    assert set(by_side.verdicts["verdict"]) == {0}
    assert by_name.verdicts["verdict"].tolist() == [0, 1] * 15
    assert by_name.items[["system_1", "system_2"]].iloc[1].tolist() == ["llama", "gpt"]
    assert problems(by_name) == ["no_order"]


def test_two_systems_in_both_orders_are_one_item() -> None:
    orders = ["gpt,llama,model_a,model_a", "llama,gpt,model_b,model_b"]
    table = read(
        rows(
            "id,model_a,model_b,winner,human_winner",
            lambda i: f"{i // 2},{orders[i % 2]}",
        )
    )
    assert len(table.items) == 15
    assert set(table.verdicts["verdict"]) == {0}
    assert (table.verdicts["order"].tolist(), problems(table)) == (
        ["as_given", "swapped"] * 15,
        ["one_class"],
    )


def test_an_item_of_several_systems_is_one_of_each() -> None:
    table = read(
        rows(
            "system,id,judge,label",
            lambda i: f"{'xy'[i % 2]},{i // 2},{GRADE(i)},{LABEL(i)}",
        )
    )
    assert table.items.loc["0/y"].to_dict() == {"system": "y", "group": "0"}
    assert (len(table.items), table.items["group"].nunique()) == (30, 15)


def test_a_column_of_models_asks_whether_they_judge_or_are_judged() -> None:
    text = rows(
        "model,id,score,label",
        lambda i: f"{'xy'[i % 2]},{i // 2},{GRADE(i)},{LABEL(i // 2)}",
    )
    with pytest.raises(
        ConfigError, match="Of judges: type --judge model, of makers: --system model"
    ):
        read(text)
    assert read(text, judge=("model",)).judges == ["x", "y"]
    assert read(text, system=("model",)).items["system"].tolist()[:2] == ["x", "y"]


def test_a_text_and_its_copies_are_one_group() -> None:
    table = read(
        rows(
            "texto,juiz,nota",
            lambda i: (
                f"Texto  {i // 2}" + (" ." if i < 2 else "") + f",{GRADE(i)},{LABEL(i)}"
            ),
        )
    )
    assert (len(table.items), told(table)["group_text"]["groups"]) == (30, 15)
    assert read("prompt,judge,label\n,1,2\n").items["group"].tolist() == ["row 1"]
    long = [
        " ".join(str((n + 2) ** power % 99991) for power in range(3, 30))
        for n in range(15)
    ]
    near = read(
        rows(
            "texto,juiz,nota",
            lambda i: f"{long[i // 2]}{'Again.' * (i % 2)},{GRADE(i)},{LABEL(i)}",
        )
    )
    assert near.items["group"].nunique() == 15, (
        "a near-copy says little that its original does not"
    )


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        (
            "id,label,expected,judge",
            "{i},{label},{grade},{grade}",
            r"`label` \(e\.g\. 1, 2\); `expected`.*--human label or --human expected",
        ),
        (
            "id,score,rating",
            "{i},{grade},{label}",
            "--judge score --human rating, if it is the other way",
        ),
        ("a,b", "x{i},y{i}", "no column seems to hold the verdicts"),
        ("judge,score,label", "{name},{grade},{label}", "--item COLUMN"),
    ],
)
def test_doubt_asks_with_the_options_to_type(header: str, row: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(
            rows(
                header,
                lambda i: row.format(
                    i=i, label=LABEL(i), grade=GRADE(i), name="xy"[i % 2]
                ),
            )
        )


def test_options_say_what_is_not_to_be_recognised() -> None:
    text = rows(
        "k,label,expected,opinion,p,reply",
        lambda i: f"{i},{LABEL(i)},{GRADE(i)},{GRADE(i)},0.5,Reply {i}",
    )
    options = {
        "judge": ("Opinion",),
        "human": ("label", "expected"),
        "item": "k",
        "text": ("reply",),
    }
    table = read(text, labels="probabilities:p", **options)
    assert (table.judges, table.raters("overall"), table.selection) == (
        ["opinion"],
        ["label", "expected"],
        "probabilities",
    )
    assert (table.items["probability"].tolist(), table.items["text"].iloc[0]) == (
        [0.5] * 30,
        "Reply 0",
    )
    assert {"read_verdict", "read_label", "read_roles"}.isdisjoint(told(table))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"judge": ("juge",)},
            "--judge is 'juge', which is no column. Did you mean judge?",
        ),
        ({"labels": "some"}, "--labels is 'some'"),
        ({"labels": "probabilities:q"}, "no such column"),
        ({"order": "label"}, "as_given and swapped"),
        ({"text": ("id", "label", "judge")}, "--text names 3 columns"),
        ({"judge": ("judge", "id"), "verdict": "label"}, "the one column"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(rows("id,judge,label", lambda i: f"{i},{GRADE(i)},{LABEL(i)}"), **options)


def test_labels_and_verdicts_in_two_files_are_joined_by_id() -> None:
    judge = rows(
        "item_id,judge,verdict", lambda i: f"{i // 2 + 5},{'xy'[i % 2]},{GRADE(i)}", 40
    )
    human = rows(
        "ID,annotator,label", lambda i: f"{i // 2},{'ab'[i % 2]},{LABEL(i)}", 40
    )
    table = read(judge, human)
    assert (len(table.verdicts), len(table.labels), table.judges) == (
        40,
        40,
        ["x", "y"],
    )
    assert told(table)["labels_without_verdict"] == {
        "n": 5,
        "examples": ["0", "1", "2"],
        "total": 20,
    }
    assert told(table)["verdicts_without_label"]["n"] == 5
    assert len(table.sources) == 2
    with pytest.raises(ConfigError, match="could be joined"):
        read("text,judge\na,1\n", "texto,label\na,1\n")


def test_the_names_of_files_tell_whose_scores_they_hold() -> None:
    scores = [
        rows("id,score", lambda i, of=of: f"{i},{of(i)}") for of in (GRADE, LABEL)
    ]
    table = read(*scores, names=("judge.csv", "humans.csv"))
    assert (table.judges, table.raters("overall")) == (
        ["judge.score"],
        ["humans.score"],
    )
    both = [
        rows("id,score,label", lambda i, of=of: f"{i},{of(i)},{LABEL(i)}")
        for of in (GRADE, LABEL)
    ]
    assert read(*both, names=("x.csv", "y.csv")).judges == ["x", "y"]
    assert (
        len(
            read(
                both[0],
                both[1].replace("\n", "\nb").rstrip("b"),
                names=("p.csv", "q.csv"),
            ).items
        )
        == 60
    )


def test_formats_hold_the_same() -> None:
    frame = pd.DataFrame(
        {
            "id": range(30),
            "judge": map(GRADE, range(30)),
            "label": map(LABEL, range(30)),
        }
    )
    frame.loc[3, "label"] = None
    frame.to_parquet("a.parquet")
    frame.to_excel("a.xlsx", index=False)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    Path("a.jsonl").write_text("\n".join(map(json.dumps, records)))
    Path("list.json").write_text(json.dumps(records))
    Path("held.json").write_text(json.dumps({"about": "x", "results": records}))
    Path("columns.json").write_text(
        json.dumps({name: [row[name] for row in records] for name in frame})
    )
    Path("nested.jsonl").write_text(
        "\n".join(
            json.dumps({"id": r["id"], "x": {"judge": r["judge"], "label": r["label"]}})
            for r in records
        )
    )
    frame.to_csv(
        "a.csv",
        index=False,
        sep=";",
        encoding="utf-8-sig",
        decimal=",",
        lineterminator="\r\n",
    )
    for name in (
        "a.parquet",
        "a.xlsx",
        "a.jsonl",
        "list.json",
        "held.json",
        "columns.json",
        "nested.jsonl",
        "a.csv",
        frame,
    ):
        table = read_table(name)
        assert table.verdicts["verdict"].tolist() == [GRADE(i) for i in range(30)], name
        assert (len(table.labels), table.items.index.tolist()) == (
            29,
            [str(i) for i in range(30)],
        )


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16")],
)
def test_other_encodings_are_read_and_said(encoding: str, name: str) -> None:
    table = read(
        rows(
            "id;juiz;rótulo",
            lambda i: f"{i};{'não' if i % 3 else 'sim'};{'sim' if i % 2 else 'não'}",
        ).encode(encoding)
    )
    assert (table.categories, told(table)["encoding"]["encoding"]) == (
        ("não", "sim"),
        name,
    )


def test_half_a_log_is_read_as_far_as_it_goes() -> None:
    records = [
        json.dumps(
            {"id": i, "judge": GRADE(i), "label": LABEL(i), "cost": float("nan")}
        )
        for i in range(9)
    ]
    lines = read(
        "\n".join([*records[:3], "{broken}", *records[3:], '{"id": 9, "ju']),
        names=("a.jsonl",),
    )
    assert (len(lines.verdicts), problems(lines)[:2]) == (9, ["bad_line", "half_line"])
    assert told(lines)["half_line"]["place"] == "a.jsonl:11"
    whole = read(f'[{",".join(records)},{{"id": 9, "ju', names=("a.json",))
    assert (len(whole.verdicts), problems(whole)[:1]) == (9, ["half_file"])


def test_rows_that_cannot_be_are_left_out_and_the_rest_keeps_its_lines() -> None:
    table = read('id,judge,label\n1,2,"3"\n\n2,3,4,5\n3,4,"4\n"\n"5",4,\n6,1,"2\n')
    assert told(table)["long_row"] == {
        "place": "a.csv:4",
        "cells": 4,
        "columns": 3,
        "rows": 1,
    }
    assert told(table)["open_quote"]["place"] == "a.csv:8"
    assert table.verdicts["place"].tolist() == ["a.csv:2", "a.csv:5", "a.csv:7"]
    quoted = read('id,text,judge,label\n1,"a\n\nb",2,3\n2,c,3,4\n')
    assert quoted.verdicts["place"].tolist() == ["a.csv:2", "a.csv:5"]


def test_cells_that_are_no_verdicts_are_missing_and_named() -> None:
    odd = {
        3: "=A1+B2",
        4: "I cannot judge this",
        5: "2024-05-01",
        6: "n/a",
        7: "#REF!",
        8: "wow",
        9: "9",
    }
    table = read(
        rows("id,judge,label", lambda i: f"{i},{odd.get(i, GRADE(i))},{LABEL(i)}", 60)
    )
    reasons = dict(zip(table.verdicts["item"], table.verdicts["reason"], strict=True))
    expected = [
        "formula",
        "refusal",
        "date",
        "not_applicable",
        "error",
        "unreadable",
        "off_scale",
    ]
    assert [reasons[str(i)] for i in range(2, 11)] == [None, *expected, None]
    assert table.verdicts["verdict"].isna().sum() == 7
    assert told(table)["formula"] == {
        "n": 1,
        "what": "verdicts",
        "examples": ["'=A1+B2'"],
        "place": "a.csv:5",
    }


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("{i},{label},{label}", "identical"),
        ("{i},{half},{label}", "affine"),
        ("{i},{row},{label}", "counts_rows"),
        ("{i},{grade},2", "one_class"),
        ("{i},{grade},", "no_labels"),
        ("{twice},{grade},{label}", "contradicting_verdicts"),
        (",{grade},{label}", "no_id"),
    ],
)
def test_faults_between_rows_are_named(row: str, fault: str) -> None:
    def line(i: int) -> str:
        text = row if fault != "no_id" or i == 7 else "{i}" + row
        return text.format(
            i=i,
            label=LABEL(i),
            grade=GRADE(i),
            half=LABEL(i) / 2 + 2,
            row=1 + i / 10,
            twice=min(i, 28) if i else 28,
        )

    assert fault in problems(read(rows("id,judge,label", line)))


def test_contradicting_verdicts_count_for_neither() -> None:
    table = read("id,judge,label\n1,2,3\n2,3,3\n2,4,3\n3,5,4\n")
    assert told(table)["contradicting_verdicts"] == {
        "n": 1,
        "item": "2",
        "places": ["a.csv:3", "a.csv:4"],
        "repeat_option": "--repeat",
    }
    assert table.verdicts.loc[table.verdicts["item"] == "2", "reason"].tolist() == [
        "contradiction"
    ]
    assert len(table.labels) == 3


def test_judges_of_another_kind_than_the_labels_are_left_out_and_named() -> None:
    text = rows(
        "id,judge_a,judge_b,label", lambda i: f"{i},{i / 30:.2f},{GRADE(i)},{LABEL(i)}"
    )
    table = read(text)
    assert (table.judges, told(table)["other_kind"]["names"]) == (
        ["judge_b"],
        ["judge_a"],
    )


BESIDE = rows(
    "id,judge_a,judge_b,ana,gold_ben,score_x,topic",
    lambda i: f"{i},{GRADE(i)},{LABEL(i)},{LABEL(i)},3,2,t",
)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"judge": ("judge_a",), "human": ("ana",)}, ["`judge_b`", "`gold_ben`"]),
        ({"judge": ("judge_a", "judge_b"), "human": ("ana", "gold_ben")}, None),
        ({"judge": ("judge_b",), "human": ("ana", "gold_ben")}, ["`judge_a`"]),
    ],
)
def test_judges_and_people_that_were_not_asked_for_are_no_slices(
    options: dict[str, Any], left: Any
) -> None:
    table = read(BESIDE, **options)
    assert told(table).get("left_others", {"columns": None})["columns"] == left
    assert not {"slice.judge_b", "slice.judge_a", "slice.gold_ben"} & set(table.items)
    assert {"slice.topic", "slice.score_x"} <= set(table.items)


def test_judges_of_many_categories_that_were_not_asked_for_are_no_slices() -> None:
    """Of two judges of seventeen relations one is asked for: the other reads as well, so that what it
    says explains nothing away."""

    def row(i: int) -> str:
        said = [f"relation-{(i + shift) % 17}" for shift in (0, i % 2, 0)]
        return ",".join([str(i), *said, "topic"])

    table = read(
        rows("id,gpt-4o,gemini_pro,human_1,topic", row, 170),
        judge=("gpt-4o",),
        human=("human_1",),
        kind="unordered",
    )
    assert told(table)["left_others"]["columns"] == ["`gemini_pro`"]
    assert "slice.gemini_pro" not in table.items


def test_one_criterion_of_several_kinds_can_be_asked_for_by_name() -> None:
    def row(i: int) -> str:
        judge, label = (
            (("pass", "fail")[i % 3 > 0], "pass") if i % 2 else (GRADE(i), LABEL(i))
        )
        return f"{i // 2},{('tone', 'safe')[i % 2]},{judge},{label}"

    text = rows("id,criterion,judge,human", row, 80)
    assert read(text, criterion="tone").kind in ("numeric", "ordered")
    table = read(text, criterion="safe")
    assert (table.kind, table.criteria, len(table.verdicts)) == (
        "pass_fail",
        ["safe"],
        40,
    )
    assert read(text, criterion="criterion").criteria == read(text).criteria
    assert "--criterion" in str(told(read(text))["other_kind"]["option"])
    with pytest.raises(
        ConfigError,
        match=r"--criterion is 'style'.*Criteria in `criterion`: tone, safe",
    ):
        read(text, criterion="style")


def test_scales_that_do_not_fit_are_named_with_file_and_columns() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^a\.csv, columns `judge`, `human`: the verdicts are numbers",
    ):
        read(
            rows(
                "id,judge,human", lambda i: f"{i},{i % 9 + 1},{('bad', 'good')[i % 2]}"
            )
        )


def test_an_id_can_be_made_of_several_columns() -> None:
    text = rows(
        "case,part,judge,human", lambda i: f"c{i // 3},{i % 3},{GRADE(i)},{LABEL(i)}"
    )
    table = read(text, item="case,part")
    assert (
        list(table.items.index[:4]) == ["c0/0", "c0/1", "c0/2", "c1/0"]
        and table.items["group"].nunique() == 10
    )
    with pytest.raises(
        ConfigError,
        match=r"--item case,pert names 'pert', which is no column\. Columns: case, part",
    ):
        read(text, item="case,pert")


def test_criteria_have_scales_of_their_own() -> None:
    text = rows(
        "item,criterion,judge,label",
        lambda i: (
            f"{i // 2},{'ab'[i % 2]},{GRADE(i) * 9 ** (i % 2)},{LABEL(i) * 9 ** (i % 2)}"
        ),
        60,
    )
    table = read(text)
    assert table.criterion_scales == {"a": (1, 5), "b": (0, 100)}
    assert table.of("judge", "a").table.scale == (1, 5)
    assert table.verdicts["verdict"].notna().all()


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "a.csv", "is empty"),
        ("id,judge\n", "a.csv", "holds no rows"),
        ("id,judge,judge\n1,2,3\n", "a.csv", "two columns are called 'judge'"),
        ("id,judge,label\n1,,\n", "a.csv", "no column seems to hold"),
        ("x", "a.pdf", "Known formats"),
        (
            "text",
            "a.jsonl",
            r"a\.jsonl is no \.jsonl file.* begins with 'text'.* one JSON object",
        ),
        (
            "id,judge;label\n1,2;3\n",
            "a.csv",
            "commas give 'id', 'judge;label'.*sep=, or sep=;",
        ),
        (b"PK\3\4 not a workbook", "a.xlsx", "not a workbook"),
        ("[1, 2", "a.json", "holds no rows"),
        (b"id,judge\0\n", "a.csv", "NUL"),
        (
            "text,label,judge\na,=B1+1,1\n",
            "a.csv",
            "`label` holds formulas.*--human COLUMN",
        ),
        (
            "text,nota,judge\na,=B1+1,1\n",
            "a.csv",
            "`nota` holds formulas.*--human COLUMN",
        ),
        (
            "text,nota,juiz\na,1,=B1+1\n",
            "a.csv",
            "`juiz` holds formulas.*--judge COLUMN",
        ),
        (
            "text,nota,juiz\na,1,\nb,2,\n",
            "a.csv",
            "a.csv: `juiz` is empty in every row.*--judge nota",
        ),
        (
            "text,nota,juiz\na,1,2\nb|2|3\n",
            "a.csv",
            "a.csv:3: this row is separated by bars",
        ),
        (
            "one text,1,1\nanother text,2,3\n",
            "a.csv",
            "the first line seems to be a row",
        ),
        (
            "case,nota,juiz\na,1,2\n,2,2\n,3,2\n",
            "a.csv",
            "a.csv:3: `case`.*2 of 3 rows.*merged.*--item COLUMN",
        ),
    ],
)
def test_files_that_cannot_be_read_say_why(
    content: str | bytes, name: str, words: str
) -> None:
    with pytest.raises((ConfigError, DataError), match=words):
        read(content, names=(name,))


def test_what_was_guessed_and_may_be_otherwise_is_said_with_its_option() -> None:
    words = ("good", "bad", "fair")
    table = read(
        rows("id,juiz,nota", lambda i: f"{i},{words[i % 3]},{words[i * 2 % 3]}")
    )
    # not three judges with these names
    assert (table.judges, table.raters("overall")) == (
        ["juiz"],
        ["nota"],
    )
    both = rows(
        "response,summary,nota,juiz",
        lambda i: f"one answer of {i},one summary of {i},{3 + i // 2 % 2},{3 + i % 2}",
    )
    table = read(both)
    assert told(table)["read_text"]["option"] == "--text summary"
    assert (
        told(table)["numeric_guess"]["option"] == "--scale 1-5"
        and table.read[0].key != "table.read_verdict"
    )
    assert told(read(both.replace("response,summary", "peça,voto")))["no_text"][
        "columns"
    ] == [
        "`peça`",
        "`voto`",
    ]


def test_a_path_that_is_no_file_is_named() -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read_table("missing.csv")


def test_a_log_of_another_tool_joins_a_file_of_labels() -> None:
    log = Path(__file__).parents[1] / "fixtures" / "deepeval-4.3.1" / "run.json"
    Path("labels.csv").write_text("id,human\nfrance,1\ngermany,0\nitaly,1\n")
    table = read_table([log, "labels.csv"], TableOptions(human_scale="0-1"))
    assert (table.kind, table.judges, len(table.labels)) == ("numeric", ["grader-x"], 3)
    assert told(table)["log"]["tool"] == "a test run of DeepEval"
    assert "slice.context" in table.items


def test_choices_of_real_judges() -> None:
    table = read_table(reference("audit/llmbar_natural.csv"))
    assert (table.kind, len(table.judges), len(table.verdicts), len(table.labels)) == (
        "pairwise",
        65,
        13000,
        100,
    )
    expected = json.loads(reference("audit/llmbar_natural_expected.json").read_text())
    for key, figures in expected.items():
        pairs = table.of(key.partition("|")[2], "overall").pairs()
        assert (pairs["verdict"] == pairs["label"]).mean() == pytest.approx(
            figures["accuracy"], abs=1e-9
        )


def test_scores_of_two_policies() -> None:
    table = read_table(reference("audit/arena_scores.csv"))
    assert (table.kind, table.scale, len(table.items), len(table.labels)) == (
        "numeric",
        (0, 1),
        2000,
        480,
    )
    assert (table.items["group"].nunique(), set(table.items["system"])) == (
        1000,
        {"base", "clone"},
    )
    assert table.items["slice.response_chars"].dtype == float


def test_several_columns_may_be_typed_with_commas_between_them() -> None:
    text = rows("id,a,b,human", lambda n: f"{n},{n % 5},{n % 4},{n % 5}")
    assert read(text, judge=("a,b",), human=("human",)).judges == ["a", "b"]
    with pytest.raises(ConfigError, match=r"--judge is 'c', which is no column"):
        read(text, judge=("a, c",))
    assert read(
        text.replace(",a,", ',"a,b",', 1), judge=("a,b",), human=("human",)
    ).judges == ["a,b"]
