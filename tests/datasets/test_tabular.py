from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError


def lines(path: Path, *rows: object) -> str:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n" for r in rows))
    return str(path)


def test_the_three_formats_give_the_same_items(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "Tema 69.", "condition": "x", "pair": "p", "label": 90.0, "court": "STF"},
        {
            "id": "b",
            "text": "não; porque\nhá «aspas», vírgulas",
            "condition": "y",
            "pair": "p",
            "label": 3.5,
            "court": "STJ",
        },
    ]
    jsonl = lines(tmp_path / "t.jsonl", *rows)
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    loaded = [TextsDataset(p).load() for p in (jsonl, str(tmp_path / "t.csv"), str(tmp_path / "t.parquet"))]
    plain = [[item.model_dump() for item in items] for items in loaded]
    assert plain[0] == plain[1] == plain[2]
    assert [item.place for item in loaded[0]] == [f"{jsonl}:1", f"{jsonl}:2"]
    assert loaded[0][1].label == 3.5
    assert loaded[0][0].metadata == {"court": "STF"}


def test_missing_ids_become_line_numbers_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", {"text": "um"}, "", {"text": "dois"})
    assert [i.id for i in TextsDataset(path).load()] == ["1", "3"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{not json", "t.jsonl:2: not JSON (Expecting property name enclosed in double quotes, column 2)."),
        ('{"text": "x" "id": 1}', "column 14). Every line must be one JSON object."),
        ('{"text": "cut"', "column 15)"),  # one past its end, not column 1 of a next line
        ('["a"]', "t.jsonl:2: a JSON list"),
        ({"id": "b"}, "t.jsonl:2: the field `text` is missing"),
        ({"id": "b", "text": "   "}, "t.jsonl:2: `text` is empty"),
        ({"id": "a", "text": "again"}, "t.jsonl:2: the id 'a' was already used at"),
        ({"id": "b", "text": "x", "label": [1]}, "t.jsonl:2: `label` is [1]"),
        ({"id": "b", "text": 5}, "t.jsonl:2: `text` is 5"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: object, said: str) -> None:
    path = lines(tmp_path / "t.jsonl", {"id": "a", "text": "fine"}, row)
    with pytest.raises(DataError) as caught:
        TextsDataset(path).load()
    assert said in str(caught.value)


def test_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b'{"text": "ok"}\n{"text": "a\xe7\xe3o"}\n')
    with pytest.raises(DataError, match=r"t\.jsonl:2: not UTF-8"):
        TextsDataset(str(tmp_path / "t.jsonl")).load()


def test_a_csv_with_too_many_cells_or_no_text_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("id,text\n1,a\n2,b,c\n")
    with pytest.raises(DataError, match=r"wide\.csv:3: more cells"):
        TextsDataset(str(tmp_path / "wide.csv")).load()
    (tmp_path / "none.csv").write_text("id,texto\n1,a\n")
    with pytest.raises(DataError, match="no column `text`; columns: id, texto"):
        TextsDataset(str(tmp_path / "none.csv")).load()


@pytest.mark.parametrize(
    ("header", "mark", "said"),
    [
        ("id;text", ";", "separated by semicolons ('id;text')"),
        ('"id";"text"', ";", "separated by semicolons"),
        ("\ufeffid\ttext", "\t", "separated by tabs ('id\\ttext')"),
    ],
)
def test_a_csv_with_another_separator_is_told_apart(tmp_path: Path, header: str, mark: str, said: str) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\n1{mark}um, dois\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        TextsDataset(str(tmp_path / "x.csv")).load()
    assert said in str(caught.value)
    assert "x.csv:1: no column `text`" in str(caught.value)
    assert "separated by commas" in str(caught.value)


def test_semicolons_inside_a_cell_are_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text\n um; dois\n")
    assert TextsDataset(str(tmp_path / "x.csv")).load()[0].text == " um; dois"


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("\n\n")
    (tmp_path / "none.csv").write_text("")
    (tmp_path / "header.csv").write_text("id,text\n")
    pd.DataFrame({"text": pd.Series([], dtype=str)}).to_parquet(tmp_path / "none.parquet")
    (tmp_path / "null.parquet").write_bytes(b"")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(DataError) as caught:
            TextsDataset(str(path)).load()
        assert str(caught.value).startswith(str(path))


def test_a_missing_file_lists_its_neighbours(tmp_path: Path) -> None:
    lines(tmp_path / "mine.jsonl", {"text": "x"})
    with pytest.raises(ConfigError) as caught:
        TextsDataset(str(tmp_path / "mime.jsonl"))
    assert "`dataset.path`" in str(caught.value)
    assert "Did you mean mine.jsonl?" in str(caught.value)


def test_rubbish_parquet_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="not a Parquet file"):
        TextsDataset(str(tmp_path / "t.parquet")).load()
