"""The shapes in which programs write a table as JSON: each is read as the table that it is, what is
not read is told, and where it is not clear the message says what lies where."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from undogmatic.datasets.frames import Frame, read_frame
from undogmatic.datasets.table import read_table
from undogmatic.errors import DataError

ROWS = [
    {
        "id": f"i{n}",
        "text": f"text {n}",
        "judge": "pass" if n % 3 else "fail",
        "human": "pass",
    }
    for n in range(12)
]


def written(tmp_path: Path, value: Any, name: str = "a.json") -> Frame:
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return read_frame(path)


def said(frame: Frame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.cells.to_dict("records")
    return rows


def keys(frame: Frame) -> set[str]:
    return {note.key for note in frame.notes}


def test_an_object_of_objects_is_a_table_whose_keys_are_ids(tmp_path: Path) -> None:
    value = {row["id"]: {k: v for k, v in row.items() if k != "id"} for row in ROWS}
    assert said(written(tmp_path, value)) == ROWS


@pytest.mark.parametrize("raters", [["ana", "ben"], ["0", "1"], ["10", "17"]])
@pytest.mark.parametrize("inside", ["rater", "item"])
def test_labels_by_rater_and_item(
    raters: list[str], inside: str, tmp_path: Path
) -> None:
    items = [f"word {n}" for n in range(9)]
    label = {
        (r, i): ["Good", "Bad"][(n + m) % 2]
        for n, r in enumerate(raters)
        for m, i in enumerate(items)
    }
    value = (
        {r: {i: label[r, i] for i in items} for r in raters}
        if inside == "item"
        else {i: {r: label[r, i] for r in raters} for i in items}
    )
    frame = written(tmp_path, value, "human_labels.json")
    named = [f"human_{r}" for r in raters]
    assert list(frame.cells) == ["id", *named]
    assert frame.cells["id"].tolist() == items
    assert frame.cells[named[0]].tolist() == [label[raters[0], i] for i in items]


@pytest.mark.parametrize(
    "outer",
    [
        {"meta": {"run": 1}, "data": {"results": ROWS}},
        {"run": {"of": {"results": ROWS}}, "version": 2},
        {
            "config": {"judges": ["a"]},
            "output": {"rows": ROWS, "errors": [{"at": 1}, {"at": 2}]},
        },
    ],
)
def test_rows_that_lie_deeper_are_found_and_told(outer: Any, tmp_path: Path) -> None:
    frame = written(tmp_path, outer)
    assert said(frame) == ROWS
    (note,) = (note for note in frame.notes if note.key == "table.rows_at")
    assert note.values["n"] == len(ROWS)


def test_where_several_lists_could_be_the_rows_the_message_says_what_lies_where(
    tmp_path: Path,
) -> None:
    outer = {"a": {"one": ROWS, "two": ROWS[:3]}, "b": 1}
    with pytest.raises(DataError) as caught:
        written(tmp_path, outer)
    message = str(caught.value)
    assert "`a.one` (12 entries), `a.two` (3 entries)" in message
    # The line that it offers makes the file readable.
    line = message[message.index('python -c "') + 11 : message.rindex('"')]
    made = tmp_path / "rows.json"
    typed = line.replace("'rows.json'", repr(str(made)))
    subprocess.run([sys.executable, "-c", typed], check=True)
    assert said(read_frame(made)) == ROWS


def test_a_list_of_one_is_its_entry(tmp_path: Path) -> None:
    rows = [{"id": row["id"], "decisions": [{"winner": row["judge"]}]} for row in ROWS]
    frame = written(tmp_path, rows)
    assert frame.cells["decisions.winner"].tolist() == [row["judge"] for row in ROWS]


@pytest.mark.parametrize("form", ["keys", "list", "field"])
def test_both_orders_inside_of_a_row_are_a_row_each(form: str, tmp_path: Path) -> None:
    def inside(n: int) -> Any:
        first, second = str(1 + n % 2), str(2 - n % 2)
        if form == "field":
            return [{"order": "BA", "winner": second}, {"order": "AB", "winner": first}]
        both = {"swap = False": {"winner": first}, "swap = True": {"winner": second}}
        return [both] if form == "list" else both

    rows = [
        {"input": f"task {n}", "output_1": f"a{n}", "output_2": f"b{n}", "label": 2}
        | {"results": inside(n)}
        for n in range(12)
    ]
    frame = written(tmp_path, rows)
    assert "table.orders_inside" in keys(frame)
    first = frame.cells[frame.cells["order"] == "as_given"]
    assert first["winner"].tolist() == [str(1 + n % 2) for n in range(12)]
    assert len(frame.cells) == 24


def test_a_choice_of_which_one_order_is_missing_keeps_the_other(tmp_path: Path) -> None:
    both = [{"order": "BA", "winner": "1"}, {"order": "AB", "winner": "2"}]
    rows = [
        {"input": f"task {n}", "label": 2, "results": both[: 1 if n == 3 else 2]}
        for n in range(6)
    ]
    cells = written(tmp_path, rows).cells
    assert len(cells) == 11
    alone = cells[cells["input"] == "task 3"]
    assert alone[["order", "winner"]].to_numpy().tolist() == [["swapped", "1"]]


def test_entries_that_say_whose_they_are_are_a_row_each(tmp_path: Path) -> None:
    rows = [
        {"id": f"i{n}", "text": f"text {n}", "human": 1 + n % 3}
        | {
            "scores": [
                {"judge": name, "score": 1 + (n + k) % 3}
                for k, name in enumerate("pqr")
            ]
        }
        for n in range(12)
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    table = read_table(path)
    assert table.judges == ["p", "q", "r"]
    assert len(table.verdicts) == 36
    assert len(table.labels) == 12


def test_entries_without_a_name_are_columns_by_their_number(tmp_path: Path) -> None:
    rows = [
        {"id": f"i{n}", "tries": [{"score": n % 5}, {"score": 1}]} for n in range(12)
    ]
    frame = written(tmp_path, rows)
    assert {"tries.1.score", "tries.2.score"} <= set(frame.cells)
    assert "table.places_inside" in keys(frame)


def test_a_name_that_holds_a_list_in_some_rows_alone_is_read(tmp_path: Path) -> None:
    entries = [{"judge": "ana", "verdict": 1}, {"judge": "ben", "verdict": 2}]
    rows: list[dict[str, Any]] = [{"id": f"i{n}", "votes": entries} for n in range(4)]
    rows[2]["votes"] = True  # nobody's list: a program that failed wrote this

    assert len(written(tmp_path, rows).cells) == 3 * 2 + 1


def test_what_lies_in_lists_and_is_no_verdict_stays_as_it_is(tmp_path: Path) -> None:
    rows = [dict(row, sources=[{"url": "x"}, {"url": "y"}]) for row in ROWS]
    frame = written(tmp_path, rows)
    assert len(frame.cells) == len(ROWS)
    assert frame.cells["sources"][0] == '[{"url": "x"}, {"url": "y"}]'


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(json.dumps(row, indent=1) for row in ROWS),
        "".join(json.dumps(row) for row in ROWS),
        json.dumps(ROWS[:5]) + "\n" + json.dumps(ROWS[5:]),
    ],
)
def test_files_that_were_put_together_are_one_table(text: str, tmp_path: Path) -> None:
    frame = written(tmp_path, text)
    assert said(frame) == ROWS
    assert "table.concatenated" in keys(frame)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz", "a.csv.gz", "a.gz"])
def test_a_table_that_is_packed_is_unpacked(name: str, tmp_path: Path) -> None:
    text = "\n".join(json.dumps(row) for row in ROWS)
    if ".csv" in name:
        text = "\n".join([",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)])
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()))
    frame = read_frame(path)
    assert said(frame) == ROWS
    assert "table.unpacked" in keys(frame)
    assert frame.places[0].startswith(str(path))
    path.write_bytes(gzip.compress(text.encode())[:-20])
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_frame(path)
