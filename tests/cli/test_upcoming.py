"""Which items people should label next."""

from pathlib import Path
from typing import Any

import pandas as pd

from undogmatic.cli.upcoming import upcoming
from undogmatic.review.page import Sheet, read_entries, scale_of


def write(path: Path, texts: list[str]) -> None:
    pd.DataFrame({"text": texts}).to_csv(path, index=False)


def texts_of(path: Path, n: int) -> list[str]:
    _, found = upcoming(str(path), n, None, "en", 1_000)
    return [item["texts"]["text"] for item in found["items"]]


def test_a_text_that_was_labelled_does_not_come_again_where_rows_have_moved(
    tmp_path: Path,
) -> None:
    """Without ids the items are called by the numbers of their rows."""
    path, texts = (
        tmp_path / "plain.csv",
        [f"The text of the answer number {n}." for n in range(30)],
    )
    write(path, texts)
    table = read_entries(str(path), None, (), ())
    about: dict[str, Any] = {"every": table.entries, "numbered": table.numbered}
    kept = tmp_path / "plain.labels.csv"
    sheet = Sheet(table.entries, scale_of("pass,fail"), kept, "ana", **about)
    _, found = upcoming(str(path), 5, None, "en", 1_000)
    for item in found["items"]:
        sheet.label(item["item"], "pass")
    labelled = {item["texts"]["text"] for item in found["items"]}
    assert len(labelled) == 5
    assert sorted(texts_of(path, 100)) == sorted(set(texts) - labelled)
    write(path, ["A text that is new.", *texts])
    assert set(texts_of(path, 100)) == {"A text that is new.", *texts} - labelled


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    write(tmp_path / "long.csv", ["word " * 100, "short and good"])
    _, found = upcoming(str(tmp_path / "long.csv"), 2, None, "pt", 20)
    assert sorted(item["texts"]["text"] for item in found["items"]) == [
        "short and good",
        "word word word word  ...",
    ]
