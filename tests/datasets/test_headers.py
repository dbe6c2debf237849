"""The names of columns are found below comments and titles, in two lines, and above units; a row is
never taken for one of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.datasets.test_reading import grade, near, people, text
from tests.datasets.test_table import told
from undogmatic.datasets.table import read_table
from undogmatic.errors import DataError
from undogmatic.records.evidence import Evidence

N = 30
FRAME = pd.DataFrame(
    {
        "id": [f"i{i}" for i in range(N)],
        "text": [text(i) for i in range(N)],
        "judge": [near(i) for i in range(N)],
        "human": [grade(i) for i in range(N)],
    }
)
PLAIN = FRAME.to_csv(index=False)
HEAD, _, ROWS = PLAIN.partition("\n")


def read(tmp_path: Path, content: str, name: str = "t.csv") -> Evidence:
    (tmp_path / name).write_text(content)
    return read_table(str(tmp_path / name))


def is_whole(found: Evidence) -> bool:
    return (len(found.items), list(found.judges), people(found)) == (
        N,
        ["judge"],
        ["human"],
    )


@pytest.mark.parametrize(
    "content",
    [
        f"Results of 2024,,,\n{PLAIN}",
        f"Results of 2024\n{PLAIN}",
        f"Results of 2024\n\n{PLAIN}",
        f"Results of 2024\nby two people\n{PLAIN}",
        f'"Results, all of 2024"\n{PLAIN}',
        f"# made by eval.py, v2\n# model: gpt-4\n{PLAIN}",
        f"# made by eval.py\nResults of 2024\n{PLAIN}",
        f"# {PLAIN}",
        f"# made by eval.py\n#{PLAIN}",
        f"{HEAD}\n,,1-5,1-5\n{ROWS}",
        f"{HEAD}\n(string),(string),(1-5),(1-5)\n{ROWS}",
        f'{HEAD}\nWhich id,Which text,How good,How good\n"{{""ImportId"":""a""}}",,,\n{ROWS}',
    ],
)
def test_what_stands_around_the_names_is_no_row(tmp_path: Path, content: str) -> None:
    found = read(tmp_path, content)
    assert is_whole(found)
    assert (
        found.verdicts["place"]
        .iloc[0]
        .endswith(f":{content[: content.index('i0,')].count(chr(10)) + 1}")
    )


def test_semicolons_commas_and_a_total_are_read(tmp_path: Path) -> None:
    halves = FRAME.assign(judge=FRAME["judge"] - 0.5)
    total = (
        f"Média;;{halves['judge'].mean():.2f};{FRAME['human'].mean():.2f}\n".replace(
            ".", ","
        )
    )
    content = halves.to_csv(index=False, sep=";", decimal=",") + total
    found = read(tmp_path, content)
    assert is_whole(found)
    assert found.verdicts["verdict"].iloc[0] == near(0) - 0.5


def test_columns_of_two_levels_are_those_of_pandas_and_of_merged_cells(
    tmp_path: Path,
) -> None:
    levels = pd.DataFrame(
        {
            ("meta", "text"): FRAME["text"],
            ("judge", "style"): FRAME["judge"],
            ("judge", "facts"): FRAME["human"],
            ("human", "style"): FRAME["human"],
            ("human", "facts"): FRAME["judge"],
        }
    ).set_axis(FRAME["id"])
    named = levels.rename_axis(columns=["who", "what"])
    merged = "id,text,judge,,human,\n,,style,facts,style,facts\n" + levels.to_csv(
        header=False
    )
    for content in (
        levels.to_csv(),
        levels.to_csv(index=False),
        named.to_csv(),
        merged,
    ):
        found = read(tmp_path, content)
        assert (sorted(found.criteria), list(found.judges)) == (
            ["facts", "style"],
            ["judge"],
        )
        assert (len(found.verdicts), found.items["text"].nunique()) == (2 * N, N)
    long = FRAME.melt(id_vars="id", value_vars=["judge", "human"])
    wide = long.pivot(index="id", columns="variable", values=["value"])
    assert is_whole(read(tmp_path, wide.to_csv()))


@pytest.mark.parametrize(
    "content",
    [
        "id,judge,judge\nx1,yes,no\nx2,no,no\nx3,yes,yes\n",
        "id,judge,judge\nx1,1,2\nx2,2,2\n",
    ],
)
def test_two_columns_of_one_name_stay_a_mistake(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match="two columns are called 'judge'"):
        read(tmp_path, content)


def test_no_row_is_taken_for_a_title_or_a_unit(tmp_path: Path) -> None:
    words = "judge,human\n" + "".join(
        f"{'ok' if i % 2 else 'bad'},ok\n" for i in range(N)
    )
    assert len(read(tmp_path, words).items) == N
    # The first row of a column of words may say "text", and one with a single value is no title.
    kinds = "id,judge,human\n" + "".join(
        f"{i},{'text' if i % 3 == 0 else 'code'},text\n" for i in range(N)
    )
    assert len(read(tmp_path, kinds).items) == N
    sparse = HEAD + "\ni99,,,\n" + ROWS
    assert len(read(tmp_path, sparse).items) == N + 1
    hashed = "#,text,judge,human\n" + "".join(
        f"{i},{text(i)},{near(i)},{grade(i)}\n" for i in range(N)
    )
    assert len(read(tmp_path, hashed).items) == N
    tags = "text,judge,human\n" + "".join(
        f"#tag{i} and more,{near(i)},{grade(i)}\n" for i in range(N)
    )
    assert len(read(tmp_path, tags).items) == N


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    found = read(tmp_path, f"# one\nResults\n{HEAD}\n,,1-5,1-5\n{ROWS}")
    said = told(found)
    assert (said["comments"]["n"], said["sheet_title"]["title"]) == (1, "Results")
    assert said["units"]["place"].endswith(":4")
