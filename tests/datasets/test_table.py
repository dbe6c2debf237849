"""Reading verdict tables: columns, kinds and scales are recognised, faults are named, and doubt asks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError
from undogmatic.records.verdict_table import VerdictTable


def written(tmp_path: Path, text: str, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def told(table: VerdictTable) -> set[str]:
    return {finding.key.removeprefix("table.") for finding in (*table.read, *table.problems)}


def test_text_label_and_grade_in_portuguese(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "texto;nota;juiz\numa;4,5;3\noutra;2;1,5\n"))
    assert (table.kind, table.scale, table.judges, table.raters("overall")) == ("numeric", (1, 5), ["juiz"], ["nota"])
    assert table.verdicts["verdict"].tolist() == [3, 1.5]
    assert table.labels["label"].tolist() == [4.5, 2]
    assert table.items["text"].tolist() == ["uma", "outra"]
    assert {"read_verdict", "read_label", "one_rater"} <= told(table)


def test_verdicts_in_long_form(tmp_path: Path) -> None:
    rows = "judge,item,score,label\n" + "".join(f"{j},{i},{i % 5 + 1},{i % 5 + 1}\n" for j in "xy" for i in range(9))
    table = read_table(written(tmp_path, rows))
    assert table.judges == ["x", "y"]
    assert (len(table.verdicts), len(table.labels)) == (18, 9)


def test_choices_with_order_keep_the_given_numbering(tmp_path: Path) -> None:
    rows = "item_id,judge,order,choice,label\na,j,as_given,2,1\na,j,swapped,1,1\nb,j,as_given,,2\nb,j,swapped,2,2\n"
    table = read_table(written(tmp_path, rows))
    assert (table.kind, table.categories) == ("pairwise", ("1", "2"))
    np.testing.assert_array_equal(table.verdicts["verdict"], [1, 0, np.nan, 1])
    assert table.verdicts["reason"].tolist() == [None, None, "empty", None]
    shown = read_table(written(tmp_path, rows), TableOptions(choices="shown"))
    np.testing.assert_array_equal(shown.verdicts["verdict"], [1, 1, np.nan, 0])


def test_two_columns_of_labels_with_unlike_names_ask(tmp_path: Path) -> None:
    path = written(tmp_path, "id,label,expected,judge\n1,3,4,3\n2,1,2,2\n")
    with pytest.raises(ConfigError, match=r"`label` \(e\.g\. 3, 1\); `expected`.*--human label or --human expected"):
        read_table(path)
    assert read_table(path, TableOptions(human=("expected",))).labels["label"].tolist() == [4, 2]
