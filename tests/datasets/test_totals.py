"""Rows at the end of a file that sum up those above are no items, and an item that looks like one
is."""

from pathlib import Path

import pytest

from undogmatic.datasets.table import read_table
from undogmatic.records.evidence import Evidence

N = 40
GRADES = [(1 + n * 7 % 5, 1 + n * 3 % 5) for n in range(N)]
JUDGE, HUMAN = (sum(own) for own in zip(*GRADES, strict=True))
HEAD = "id,text,judge,human\n"


def table(tmp_path: Path, head: str, rows: list[str], end: str) -> Evidence:
    path = tmp_path / "a.csv"
    path.write_text(head + "".join(f"{row}\n" for row in rows) + end)
    return read_table([str(path)])


def whole() -> list[str]:
    """An id, a text, a verdict and a label."""
    return [
        f"i{n},The {n}th cat sat on the mat.,{one},{other}"
        for n, (one, other) in enumerate(GRADES)
    ]


def said(found: Evidence) -> list[int]:
    return [note.values["n"] for note in found.read if note.key == "table.totals"]


ENDS = {
    "mean and total": (f"Mean,,{JUDGE / N},{HUMAN / N}\nTotal,,{JUDGE},{HUMAN}\n", 2),
    "a blank line between": (
        f"Mean,,{JUDGE / N},{HUMAN / N}\n\nTotal,,{JUDGE},{HUMAN}\n",
        2,
    ),
    "rounded": (f"Average:,,{JUDGE / N:.1f},{HUMAN / N:.1f}\n", 1),
    "in Portuguese": (
        f'M\u00e9dia,,"{JUDGE / N}",{HUMAN / N}\nSoma,,{JUDGE},{HUMAN}\n',
        2,
    ),
    "of the judge alone": (f"Total,,{JUDGE},\n", 1),
    "a count and a spread": (f"Count,,{N},{N}\nSD,,1.4142,1.4142\n", 2),
    "without a name": (f",,{JUDGE},{HUMAN}\n", 1),
    "of another selection": ("Mean (without drafts),,3.1416,2.7183\n", 1),
    "in the column of texts": (f",Total,{JUDGE},{HUMAN}\n", 1),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_row_that_sums_up_the_file_is_left_out_and_said(
    name: str, tmp_path: Path
) -> None:
    end, rows = ENDS[name]
    found = table(tmp_path, HEAD, whole(), end)
    assert (len(found.items), found.scale, said(found)) == (N, (1.0, 5.0), [rows])
    assert (found.unread, found.unaccounted) == (0, 0), "nothing is lost"


def test_a_file_without_ids_or_without_texts(tmp_path: Path) -> None:
    texts = [row.partition(",")[2] for row in whole()]
    found = table(tmp_path, "text,judge,human\n", texts, f"Total,{JUDGE},{HUMAN}\n")
    assert (len(found.items), said(found)) == (N, [1])
    ids = [f"i{n},{one},{other}" for n, (one, other) in enumerate(GRADES)]
    found = table(tmp_path, "id,judge,human\n", ids, f"Total,{JUDGE},{HUMAN}\n")
    assert (len(found.items), said(found)) == (N, [1])


def test_counts_of_words_below_words(tmp_path: Path) -> None:
    rows = [
        f"i{n},The {n}th cat.,{'pass' if n % 3 else 'fail'},{'pass' if n % 2 else 'fail'}"
        for n in range(N)
    ]
    found = table(tmp_path, HEAD, rows, "Total,,26,20\n")
    assert (len(found.items), found.kind, said(found)) == (N, "pass_fail", [1])


ITEMS = {
    "an item that nobody labelled": "i99,A text.,5,\n",
    "an item whose text is missing": "i99,,5,4\n",
    "a text of one word": "i99,Total,3,3\n",
    "an aspect that is called so": "Total,The cat sat.,4,4\n",
    "a grade off the scale": "i99,A text.,9,4\n",
}


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_at_the_end_stays(name: str, tmp_path: Path) -> None:
    found = table(tmp_path, HEAD, whole(), ITEMS[name])
    assert (len(found.items), said(found)) == (N + 1, [])


def test_a_row_without_id_and_text_whose_numbers_are_grades_is_a_row_that_cannot_be_read(
    tmp_path: Path,
) -> None:
    found = table(tmp_path, HEAD, whole(), ",,5,4\n")
    assert (len(found.items), said(found), found.unread) == (N, [], 1)


def test_the_last_of_five_aspects_stays(tmp_path: Path) -> None:
    """Ids that are names, without texts: "Total" has a grade as the others have."""
    aspects = ["Price", "Taste", "Service", "Room", "Total"]
    rows = [
        f"{name},{one},{other}"
        for name, (one, other) in zip(aspects, GRADES, strict=False)
    ]
    found = table(tmp_path, "item,judge,human\n", rows, "")
    assert (len(found.items), said(found)) == (5, [])


def test_a_mean_in_the_middle_is_an_item_as_far_as_anybody_knows(
    tmp_path: Path,
) -> None:
    rows = whole()
    found = table(
        tmp_path, HEAD, [*rows[:20], f"Mean,,{JUDGE / N},{HUMAN / N}", *rows[20:]], ""
    )
    assert (len(found.items), said(found)) == (N + 1, [])
