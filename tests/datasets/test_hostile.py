"""Files that are odd, damaged or made to be endless are read rightly, or refused with one sentence
that names them."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from tests.conftest import Capture
from tests.datasets.test_unread import SOUND, csv_of, made, put
from undogmatic import cli
from undogmatic.datasets import sheets
from undogmatic.datasets.frames import Frame, read_frame
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import DataError
from undogmatic.examinations.check import check
from undogmatic.records.checked import CheckOptions

ROWS = made(40, lambda n: False)
FRAME = pd.DataFrame(ROWS)


def read(name: str, content: str | bytes) -> Frame:
    return read_frame(str(put(name, content)))


@pytest.mark.parametrize(
    "orient", ["columns", "index", "split", "records", "table", "tight", "list"]
)
@pytest.mark.parametrize("ids", ["counted", "named", "filtered"])
def test_json_is_read_in_every_shape_that_pandas_writes(orient: str, ids: str) -> None:
    frame = (
        FRAME.set_index("item")
        if ids == "named"
        else FRAME[FRAME.index % 3 > 0]
        if ids == "filtered"
        else FRAME
    )
    if orient in ("records", "list") and ids == "named":
        frame = frame.reset_index()  # neither keeps the ids
    own: Any = orient
    text = (
        json.dumps(frame.to_dict(own))
        if orient in ("tight", "list")
        else frame.to_json(orient=own)
    )
    table = read_table(str(put("a.json", text)))
    assert (len(table.verdicts), table.judges) == (len(frame), ["judge"])
    assert set(table.labels["rater"]) == {"human_ana", "human_ben"}
    if ids == "named":
        assert list(table.items.index) == list(FRAME["item"])


def test_rows_without_names_and_doubled_columns_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"40 rows are lists of cells without names.*orient='records'"
    ):
        read("a.json", FRAME.to_json(orient="values"))
    for text in (
        FRAME.to_json()[:-1] + ',"judge":{"0":"pass"}}',
        FRAME.to_json().replace('{"0"', '{"0":"x","0"'),
    ):
        with pytest.raises(DataError, match="a second time"):
            read("a.json", text)


def test_an_object_of_rows_by_their_ids_is_a_table() -> None:
    table = read_table(
        str(
            put(
                "a.json",
                json.dumps({row["item"]: {**row, "item": None} for row in ROWS}),
            )
        )
    )
    assert len(table.verdicts) == 40


# Workbooks


def book(rows: list[list[Any]], **far: Any) -> bytes:
    made_book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        made_book.active.append(row)
    for place, value in far.items():
        made_book.active[place] = value
    made_book.save(out)
    return out.getvalue()


GRID = [list(FRAME.columns), *FRAME.to_numpy().tolist()]


@pytest.mark.parametrize(
    "far",
    [{"XFD1048576": "x"}, {"Z3": "x"}, {"A99": "x", "AB1": 1}, {"C50": "mean 0.5"}],
)
def test_a_stray_cell_does_not_matter_and_is_named(far: dict[str, Any]) -> None:
    found = read("a.xlsx", book(GRID, **far))
    assert (len(found.cells), list(found.cells.columns)) == (40, list(FRAME.columns))
    assert found.places[-1] == "a.xlsx:41"
    (note,) = [note for note in found.notes if note.key == "table.strays"]
    assert sorted(note.values["cells"]) == sorted(far)


def test_a_second_table_still_asks_for_a_range() -> None:
    with pytest.raises(
        DataError, match=r"line 60, below an empty line.*--sheet A1:E41"
    ):
        read("a.xlsx", book(GRID, A60="item", B60="text", A61="i900", B61="other"))


def test_the_longest_cell_of_a_workbook_is_read() -> None:
    found = read(
        "a.xlsx",
        book([GRID[0], ["i", "w" * 32_767, "pass", "pass", "pass"], *GRID[1:]]),
    )
    assert len(found.cells["text"][0]) == 32_767


def with_part(raw: bytes, name: str, change: Any) -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(raw)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.namelist():
            new.writestr(
                part, change(old.read(part)) if part == name else old.read(part)
            )
    return out.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


def test_damaged_workbooks_are_named() -> None:
    whole, rng = book(GRID), random.Random(3)
    damaged = [
        with_part(whole, SHEET, lambda raw: raw[: len(raw) // 2]),
        with_part(whole, SHEET, lambda raw: b""),
    ]
    damaged += [
        with_part(
            whole, SHEET, lambda raw: raw.replace(b'r="40"', b'r="9999999999"', 1)
        )
    ]
    for _ in range(60):
        raw = bytearray(whole)
        for _ in range(4):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        damaged.append(bytes(raw))
    refused = 0
    for raw in damaged:
        try:
            read("a.xlsx", raw)
        except DataError as error:
            refused += 1
            assert str(error).startswith("a.xlsx"), error
    assert refused > 20


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sheets, "UNPACKED", 1_000_000)
    bomb = with_part(
        book(GRID[:2]), "xl/styles.xml", lambda raw: raw + b" " * 1_000_000
    )
    assert len(bomb) < 20_000
    with pytest.raises(DataError, match="unpacks to more than 1,000,000 bytes"):
        read("a.xlsx", bomb)


URN = "urn:oasis:names:tc:opendocument:xmlns"


def ods(rows: str) -> bytes:
    spaces = f'xmlns:office="{URN}:office:1.0" xmlns:table="{URN}:table:1.0" xmlns:text="{URN}:text:1.0"'
    grid = f'<table:table table:name="S">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{grid}</office:spreadsheet></office:body>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr(
            "content.xml",
            f"<office:document-content {spaces}>{body}</office:document-content>",
        )
    return out.getvalue()


def ods_row(cells: list[Any], more: str = "", repeated: int = 1) -> str:
    inside = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
        for cell in cells
    )
    return f'<table:table-row table:number-rows-repeated="{repeated}">{inside}{more}</table:table-row>'


ODS_ROWS = "".join(map(ods_row, GRID))
EMPTY = '<table:table-cell table:number-columns-repeated="16000"/>'


def test_repeated_rows_and_columns_of_opendocument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # as a spreadsheet program ends every sheet
    found = read("a.ods", ods(ODS_ROWS + ods_row([], EMPTY, 1_048_000)))
    assert (len(found.cells), list(found.cells.columns)) == (40, list(FRAME.columns))
    far = ods(
        ODS_ROWS
        + ods_row([], EMPTY, 1_000_000)
        + ods_row([], EMPTY + "<table:table-cell/>")
        + ods_row(["x"])
    )
    assert len(read("a.ods", far).cells) == 40
    monkeypatch.setattr(sheets, "MOST_CELLS", 50_000)
    with pytest.raises(DataError, match="the sheet holds more than 50,000 cells"):
        read("a.ods", ods(ods_row(GRID[0]) + ods_row(GRID[1] * 2, repeated=1_000_000)))
    wide = (
        '<table:table-cell office:value-type="string"'
        ' table:number-columns-repeated="99999999"><text:p>x</text:p>'
    )
    with pytest.raises(DataError, match="a cell beyond column 16,384"):
        read("a.ods", ods(ods_row(GRID[0]) + ods_row([], f"{wide}</table:table-cell>")))
    with pytest.raises(DataError, match=r"a.ods: not a workbook that can be read"):
        read("a.ods", ods(ODS_ROWS[:-40]))


# Bounds


def test_columns_judges_and_people_are_bounded() -> None:
    wide = [row | {f"x{n}": n for n in range(2_100)} for row in ROWS[:3]]
    for name, text in (("a.csv", csv_of(wide)), ("a.json", json.dumps(wide))):
        with pytest.raises(
            DataError,
            match=r"a\.\w+(:1)?: 2,\d{3} columns, and at most 2,000 are read. Leave out",
        ):
            read(name, text)
    sparse = [{"item": n, "judge": "pass", f"x{n}": 1} for n in range(2_500)]
    with pytest.raises(DataError, match="2,001 columns"):
        read("a.json", json.dumps(sparse))
    long = [
        row | {"judge": f"gpt-{n}", "verdict": "pass"}
        for n in range(250)
        for row in ROWS[:2]
    ]
    with pytest.raises(
        DataError,
        match=r"250 judges .*at most 200 are examined at once. Name some of them: --judge",
    ):
        read_table(str(put("a.csv", csv_of(long))))


def test_a_crowd_of_people_is_no_reason_to_refuse() -> None:
    crowd = [
        {
            "item": row["item"],
            "text": row["text"],
            "judge": row["judge"],
            "rater": f"w{n}-{k}",
            "label": row["human_ana"],
        }
        for n, row in enumerate(SOUND)
        for k in range(3)
    ]
    table = read_table(str(put("a.csv", csv_of(crowd))))
    assert table.labels["rater"].nunique() == 1200


def test_bytes_in_parquet_are_read_as_text() -> None:
    columns = {
        name: pyarrow.array([str(v).encode() for v in FRAME[name]], pyarrow.binary())
        for name in FRAME
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), "a.parquet")
    table = read_table("a.parquet")
    assert (table.categories, len(table.labels)) == (("fail", "pass"), 80)
    pyarrow.parquet.write_table(
        pyarrow.table({"item": [b"\xff\xfe"], "judge": ["pass"]}), "b.parquet"
    )
    with pytest.raises(DataError, match=r"b.parquet.*no UTF-8 text"):
        read_table("b.parquet")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", '{"item": 1}\n' + '{"a":' * 5000 + "1" + "}" * 5000 + "\n", None),
        ("a.json", "[" * 100_000, "not JSON"),
        ("a.csv", "item,judge,label\n1,2,\x003\n", "NUL"),
        ("a.csv", csv_of(ROWS).encode("utf-16"), None),
        ("a.csv", b"\x1f\x8b\x08\x00" + bytes(99), "packed"),
        ("a.csv", 'item,text\n1,"' + "x\n" * 120_000, "a row of more than"),
    ],
    ids=["deep", "endless", "nul", "utf-16", "gzip", "quote"],
)
def test_hostile_text_ends_in_one_message_or_a_right_reading(
    name: str, content: Any, told: str | None
) -> None:
    if told is None:
        found = read(name, content)
        assert len(found.cells) in (1, 40)
        assert found.unread == (name == "a.jsonl")
    else:
        with pytest.raises(DataError, match=told):
            read(name, content)


@pytest.mark.parametrize("piece", ["w", "1", "(!"])
def test_a_long_cell_is_checked_like_any_other(piece: str) -> None:
    rows = [
        row | ({"text": piece * 100_000} if n == 3 else {})
        for n, row in enumerate(ROWS)
    ]
    rows[5] |= {"human_ana": piece * 30_000}
    result = check(
        read_table(str(put("a.csv", csv_of(rows))), TableOptions(judge=("judge",))),
        CheckOptions(),
    )
    assert result.judges[0].n == 40


def test_no_warning_of_a_library_reaches_the_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = book(GRID)
    note = b'<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"><x/></ext></extLst></worksheet>'
    put(
        "a.xlsx",
        with_part(raw, SHEET, lambda part: part.replace(b"</worksheet>", note)),
    )
    monkeypatch.setattr("sys.warnoptions", [])
    cli.main(["check", "a.xlsx"])
    said = capsys.readouterr()
    assert "Warning" not in said.out + said.err
    assert Path("a.xlsx").is_file()
