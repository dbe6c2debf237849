"""A verdict table in the form of another tool: reading it again gives the same verdicts and
labels."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from undogmatic.cli import main
from undogmatic.datasets import export
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import Evidence

FORMS = {"csv": ".csv", "jsonl": ".jsonl", "inspect": ".json", "promptfoo": ".json"}
NUMBERS = {
    "item": ["a", "a", "b", "b", "c", "d"],
    "judge": ["j"] * 6,
    "verdict": [4, 4, 2, 3, 5, None],
    "repeat": [0, 0, 0, 1, 0, 0],
    "confidence": [0.9, 0.9, 0.5, 0.6, None, None],
    "label": [5, 3, 2, 2, None, 1],
    "rater": ["ana", "rui", "ana", "ana", None, "ana"],
    "text": ["=first", "=first", "second", "second", "third", "fourth"],
    "system": ["s1", "s1", "s1", "s1", "s2", "s2"],
    "region": ["x", "x", "y", "y", "x", "y"],
    "judge_model": ["m-1"] * 6,
}
WORDS = {
    "item": list("abcd"),
    "judge": ["j", "j", "k", "k"],
    "text": [f"text {n}" for n in range(4)],
}
SIDES = {
    "item": list("aabb"),
    "judge": ["j"] * 4,
    "order": ["as_given", "swapped"] * 2,
    "label": ["A", "A", "B", "B"],
}
TABLES: dict[str, dict[str, list[Any]]] = {
    "numeric": NUMBERS,
    "pass_fail": (
        WORDS
        | {
            "verdict": ["pass", "fail", "pass", "pass"],
            "label": ["pass", "pass", "fail", "fail"],
        }
    ),
    "ordered": (
        WORDS
        | {
            "verdict": ["low", "high", "medium", "low"],
            "label": ["low", "low", "high", "high"],
        }
    ),
    "unordered": (
        WORDS
        | {
            "verdict": ["cat", "dog", "owl", "cat"],
            "label": ["cat", "dog", "dog", "owl"],
        }
    ),
    "pairwise": (
        SIDES
        | {
            "verdict": ["A", "B", "B", "B"],
            "text_1": list("ppqq"),
            "text_2": list("rrss"),
        }
    ),
}


def said(table: Evidence) -> list[Any]:
    """What judges and people said of what, without the places."""
    verdicts = table.verdicts[table.verdicts["verdict"].notna()].drop(
        columns=["place", "reason"]
    )
    kept = [
        sorted(map(str, frame.itertuples(index=False)))
        for frame in (verdicts, table.labels)
    ]
    texts = [
        name
        for name in ("text", "text_1", "text_2", "system", "slice.region")
        if name in table.items
    ]
    return [table.kind, *kept, table.items[texts].sort_index().astype(object).to_dict()]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TABLES)
def test_what_is_exported_is_read_as_it_was(
    form: str, kind: str, tmp_path: Path, capsys: Any
) -> None:
    source, out = tmp_path / "verdicts.jsonl", tmp_path / f"out{FORMS[form]}"
    source.write_text(pd.DataFrame(TABLES[kind]).to_json(orient="records", lines=True))
    words = ["export", str(source), "--to", form, "--out", str(out), "--kind", kind]
    if form == "promptfoo" and kind not in ("numeric", "pass_fail"):
        with pytest.raises(SystemExit):
            main(words)
        assert f"the verdicts are {kind}" in capsys.readouterr().err
        assert not out.exists()
        return
    main(words)
    before = read_table(source, TableOptions(kind=kind))
    assert str(len(before.verdicts)) in capsys.readouterr().out
    assert said(read_table(out, TableOptions(kind=kind))) == said(before)


BACK = ["argilla", "label-studio", "langfuse", "langsmith", "phoenix"]
ONCE = {
    "item": list("abcd"),
    "judge": ["j"] * 4,
    "text": [f"text {n}" for n in range(4)],
    "rater": ["ana"] * 4,
    "criterion": ["clarity"] * 4,
}


@pytest.mark.parametrize("form", BACK)
@pytest.mark.parametrize("kind", ["numeric", "ordered", "unordered"])
def test_labels_go_back_to_the_tools_that_have_a_place_for_them(
    form: str, kind: str, tmp_path: Path
) -> None:
    verdicts: list[Any] = (
        [4, 2, 5, None] if kind == "numeric" else ["low", "high", "medium", None]
    )
    labels: list[Any] = (
        [5, 2, 4, 1] if kind == "numeric" else ["low", "low", "high", "medium"]
    )
    source, out = tmp_path / "verdicts.jsonl", tmp_path / "out.json"
    frame = pd.DataFrame(ONCE | {"verdict": verdicts, "label": labels})
    source.write_text(frame.to_json(orient="records", lines=True))
    main(["export", str(source), "--to", form, "--out", str(out), "--kind", kind])
    before = read_table(source, TableOptions(kind=kind))
    after = read_table(out, TableOptions(kind=kind))
    assert values(after) == values(before)
    assert after.judges == ["j"]


def values(table: Evidence) -> list[Any]:
    """What the judge and people said, in their own words."""
    rows = export.rows(table)
    rows = rows[rows["verdict"].notna() | rows["label"].notna()]
    return sorted(
        map(str, rows[["item", "verdict", "label", "rater"]].itertuples(index=False))
    )


def test_labels_of_people_go_to_prodigy_and_repeats_are_refused(
    tmp_path: Path, capsys: Any
) -> None:
    source, out = tmp_path / "verdicts.jsonl", tmp_path / "out.jsonl"
    labels = {
        "verdict": ["low", "high", "low", "low"],
        "label": ["low", "low", "high", "high"],
    }
    source.write_text(pd.DataFrame(ONCE | labels).to_json(orient="records", lines=True))
    main(
        [
            "export",
            str(source),
            "--to",
            "prodigy",
            "--out",
            str(out),
            "--kind",
            "ordered",
        ]
    )
    tasks = [json.loads(line) for line in out.read_text().splitlines()]
    assert [task["accept"] for task in tasks] == [["low"], ["low"], ["high"], ["high"]]
    source.write_text(pd.DataFrame(NUMBERS).to_json(orient="records", lines=True))
    with pytest.raises(SystemExit):
        main(
            [
                "export",
                str(source),
                "--to",
                "phoenix",
                "--out",
                str(tmp_path / "p.json"),
            ]
        )
    assert "no place for repeats" in capsys.readouterr().err


def test_settings_of_the_judge_go_with_it(tmp_path: Path) -> None:
    table = read_table(pd.DataFrame(NUMBERS))
    assert table.settings["j"] == {"judge_model": "m-1"}
    path = tmp_path / "a.csv"
    export.rows(table).to_csv(path, index=False)
    assert [list(each.values()) for each in read_table(path).settings.values()] == [
        ["m-1"]
    ]
    log = export.inspect_log(table)
    assert log["eval"]["scorers"][0]["options"] == {"judge_model": "m-1"}


def test_a_name_of_another_suffix_is_refused(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,judge,verdict\na,j,3\nb,j,4\n")
    with pytest.raises(SystemExit):
        main(["export", str(path), "--to", "jsonl", "--out", str(tmp_path / "b.csv")])
    assert "ends in .jsonl" in capsys.readouterr().err


def test_the_score_of_promptfoo_passes_from_the_middle_of_the_scale() -> None:
    results = export.promptfoo_results(read_table(pd.DataFrame(NUMBERS)))["results"][
        "results"
    ]
    passes = [
        (r["vars"]["item"], [p["pass"] for p in r["gradingResult"]["componentResults"]])
        for r in results
    ]
    assert passes == [
        ("a", [True]),
        ("b", [False]),
        ("b", [True]),
        ("c", [True]),
        ("d", [False]),
    ]
    with pytest.raises(ConfigError, match="unordered"):
        export.promptfoo_results(read_table(pd.DataFrame(TABLES["unordered"])))
    assert json.dumps(results)
