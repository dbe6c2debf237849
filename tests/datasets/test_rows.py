"""What a data file may be: one message with its place for what cannot be read, and good rows one
after another."""

import csv
import datetime
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import put
from undogmatic.datasets.rows import csv_rows
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item

FINE = b'{"id": "a", "text": "fine"}\n'


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.jsonl",
            FINE + b"{not json\n",
            "a.jsonl:2: not JSON (key must be a string, column 2).",
        ),
        (
            "a.jsonl",
            FINE + b'{"text": "x" "id": 1}\n',
            "column 14). Every line must be one JSON object.",
        ),
        # not in a next line
        (
            "a.jsonl",
            FINE + b'{"text": "cut"\n',
            "a.jsonl:2: not JSON (EOF while parsing an object, column 14)",
        ),
        ("a.jsonl", FINE + b'["a"]\n', "a.jsonl:2: a JSON list"),
        ("a.jsonl", FINE + b'{"id": "b"}', "a.jsonl:2: the field `text` is missing"),
        ("a.jsonl", FINE + b'{"id": "b", "text": "   "}', "a.jsonl:2: `text` is empty"),
        (
            "a.jsonl",
            FINE + b'{"id": "a", "text": "again"}',
            "a.jsonl:2: the id 'a' was already used at",
        ),
        (
            "a.jsonl",
            FINE + b'{"id": "b", "text": "x", "label": [1]}',
            "a.jsonl:2: `label` is [1]",
        ),
        ("a.jsonl", FINE + b'{"id": "b", "text": 5}', "a.jsonl:2: `text` is 5"),
        ("a.jsonl", b"\n\n", "a.jsonl holds no items"),
        (
            "a.jsonl",
            FINE + b'{"text": "a", "text": "b"}',
            ":2: not JSON that can be used (the key 'text'",
        ),
        (
            "a.jsonl",
            b'{"text": "\\ud800"}',
            ":1: not JSON (it holds half of a character",
        ),
        (
            "a.jsonl",
            b'{"text": "a", "n": 1e400}',
            ":1: not JSON (it holds an endless number",
        ),
        ("a.jsonl", b'{"text": "a", "n": NaN}', ":1: not JSON"),
        (
            "a.jsonl",
            b'{"text": "a", "n": ' + b"[" * 9999,
            ":1: not JSON (it is nested too deeply",
        ),
        (
            "a.jsonl",
            b'{"text": "a", "n": [' + b"{}," * 300_000 + b"0]}",
            ":1: not JSON that can be used (it holds more",
        ),
        ("a.jsonl", b'{"text": "a\\u0000"}', ":1: `text` is 'a\\x00': it holds a NUL"),
        (
            "a.jsonl",
            b'{"text": "a", "id": "b\\nc"}',
            ":1: `id` is 'b\\nc': a name is one line",
        ),
        (
            "a.jsonl",
            b'{"text": "a", "id": "' + b"x" * 9999 + b'"}',
            "too long; it may have 1,000 characters",
        ),
        (
            "a.jsonl",
            b'{"text": "a", "labels": [1], "label": 2}',
            ":1: `labels` is [1]; it holds criteria",
        ),
        ("a.jsonl", b'{"text": "a", "label": [7]}', ":1: `label"),
        (
            "a.csv",
            b'text\nok\n"' + b"a\n" * 200_000,
            ":3: a row of more than 10,000,000 bytes or 100,000 lines",
        ),
        (
            "a.csv",
            b'text\nok\n"a',
            ":3: not CSV (unexpected end of data). Is a quote in this row never closed?",
        ),
        ("a.csv", b"text\nok\n\x81", "neither UTF-8 nor Windows-1252"),
        ("a.csv", b"text\nok\na\0", ":3: not text (it holds a NUL byte)"),
        ("a.csv", b"text,x,text\na,b,c", ":1: two columns are called 'text'"),
        (
            "a.csv",
            b",".join(b"c%d" % n for n in range(10_000)),
            "10,000 columns, and at most 2,000 are read.",
        ),
        ("a.csv", b"id,text\n1,a\n2,b,c\n", "a.csv:3: more cells"),
        ("a.csv", b"id,texto\n1,a\n", "no column `text`; columns: id, texto"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"id,text\n", "a.csv holds no items"),
        ("a.parquet", b"", "a.parquet: not a Parquet file"),
        ("a.parquet", b"PAR1 and no more", "not a Parquet file that can be read"),
    ],
)
def test_a_bad_file_is_one_short_message(name: str, content: bytes, said: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        TextsDataset(name).load()
    assert f"{name}" in str(caught.value)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


def test_what_is_no_file_is_said_and_not_waited_for() -> None:
    os.mkfifo("pipe.jsonl")
    Path("folder.jsonl").mkdir()
    Path("link.jsonl").symlink_to("nowhere")
    for name, said in (
        ("pipe.jsonl", "a pipe or a device"),
        ("folder.jsonl", "a folder"),
        ("link.jsonl", "a link to what does not exist"),
        ("x" * 5000, "File name too long"),
        ("~nobody-of-this-name/a.jsonl", "cannot be read"),
        ("a\0.jsonl", "does not exist"),
    ):
        with pytest.raises(ConfigError, match=said):
            TextsDataset(name)


def test_long_cells_odd_line_ends_and_unnamed_columns_are_read() -> None:
    Path("a.csv").write_bytes(
        b'\xef\xbb\xbf,text,\r0,"a\r\nb",\n1,' + b"c" * 200_000 + b",\r\n\r\n2,d\r"
    )
    before = csv.field_size_limit()
    assert [item.text for item in TextsDataset("a.csv").load()] == [
        "a\r\nb",
        "c" * 200_000,
        "d",
    ]
    assert csv.field_size_limit() == before
    assert [(row.first, row.last) for row in csv_rows(Path("a.csv"))] == [
        (1, 1),
        (2, 3),
        (4, 4),
        (6, 6),
    ]


def test_what_parquet_knows_and_json_does_not_becomes_text_and_numbers() -> None:
    day = datetime.date(2020, 1, 2)
    table = {
        "text": ["a"],
        "label": [Decimal("7.5")],
        "day": [day],
        "when": [pd.Timestamp(day)],
        "n": [[1.5, None]],
    }
    pd.DataFrame(table).to_parquet("a.parquet")
    (item,) = TextsDataset("a.parquet").load()
    assert item.label == 7.5
    assert item.metadata == {
        "day": "2020-01-02",
        "when": "2020-01-02T00:00:00",
        "n": [1.5, None],
    }
    pd.DataFrame({"text": ["a"], "raw": [b"\xff"]}).to_parquet("b.parquet")
    with pytest.raises(
        DataError,
        match=r"b\.parquet:1: `metadata\.raw` is b'.xff' \(bytes\), which not every file",
    ):
        TextsDataset("b.parquet").load()


@pytest.mark.parametrize(
    "value",
    [{"a": float("inf")}, {"a": {"b": object()}}, {"a": "\ud800"}, {"a": 1 << 2000}],
)
def test_metadata_that_cannot_be_written_is_refused_where_it_enters(
    value: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match=r"metadata\.a"):
        Item(id="a", text="b", metadata=value)


def test_true_is_a_category_and_no_number() -> None:
    put(
        Path("a.jsonl"), ({"text": "a", "label": label} for label in (True, "7", "nan"))
    )
    found = [
        item.labels["overall"]["unnamed"] for item in TextsDataset("a.jsonl").load()
    ]
    assert found == ["true", 7.0, "nan"]
