"""Labels of rows without ids find their rows: by number and text, wherever these stand by then."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import Capture
from undogmatic.cli import main
from undogmatic.datasets.by_row import mark_of, places, row_ids
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import Evidence
from undogmatic.review.page import Sheet, read_entries, scale_of

CASES = (Path(__file__).parents[n] / "shared" / "cases" for n in (3, 4))
CASE = (
    next((each for each in CASES if each.is_dir()), Path("nowhere"))
    / "f_label_without_ids"
)
ROWS = [
    (f"Text number {n} says something of its own.", ("pass", "fail")[n % 2])
    for n in range(8)
]


def write(rows: list[tuple[str, str]], name: str = "t.csv") -> None:
    pd.DataFrame(rows, columns=["text", "verdict"]).to_csv(name, index=False)


def label(
    answers: dict[int, str], rater: str = "ana", name: str = "t.csv", **more: Any
) -> Sheet:
    """Label entries by their place, as the page does."""
    table = read_entries(name, None, more.get("text", ()), ())
    out = Path(name).with_suffix(".labels.csv")
    about = {"every": table.entries, "numbered": table.numbered}
    sheet = Sheet(table.entries, scale_of("pass,fail"), out, rater, **about)
    for place, answer in answers.items():
        sheet.label(table.entries[place].id, answer)
    return sheet


def check(*names: str, **options: Any) -> Evidence:
    return read_table(list(names) or ["t.csv", "t.labels.csv"], TableOptions(**options))


def labelled(table: Evidence) -> dict[str, str]:
    """The label of each text."""
    texts = table.items["text"]
    rows = table.labels.dropna(subset=["label"])
    return {
        texts[item]: table.categories[int(value)]
        for item, value in zip(rows["item"], rows["label"], strict=True)
    }


def keys(table: Evidence) -> set[str]:
    told = [*table.read, *table.problems]
    return {each.key.removeprefix("table.") for each in told if "labels_" in each.key}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(ROWS)


ANSWERS = {1: "pass", 3: "fail", 6: "pass"}
WANTED = {ROWS[n][0]: answer for n, answer in ANSWERS.items()}


def test_labels_are_on_the_rows_that_were_labelled() -> None:
    label(ANSWERS)
    table = check()
    assert labelled(table) == WANTED and len(table.verdicts) == len(ROWS)
    assert keys(table) == set()
    assert not [
        name for name in table.items if "text_" in name or "labelled_at" in name
    ]


@pytest.mark.parametrize(
    "now",
    [
        ROWS[::-1],
        ROWS[3:] + ROWS[:3],
        [("A new text is first.", "pass"), *ROWS],
        [row for n, row in enumerate(ROWS) if n != 0],
    ],
)
def test_rows_may_be_moved_added_and_taken_out(now: list[tuple[str, str]]) -> None:
    label(ANSWERS)
    write(now)
    table = check()
    assert labelled(table) == WANTED and "labels_moved" in keys(table)
    # The page goes on where it was, and a text that was labelled is not asked again.
    again = label({})
    texts = {entry.id: entry.texts["text"] for entry in again.entries}
    assert {texts[item] for item in again.done} == set(WANTED)


def test_an_answer_after_rows_were_moved_takes_the_place_of_the_earlier_one() -> None:
    label(ANSWERS)
    write(ROWS[::-1])
    label({len(ROWS) - 1 - 1: "fail"})  # the same text as place 1 before
    assert len(pd.read_csv("t.labels.csv")) == len(ANSWERS)
    assert labelled(check()) == WANTED | {ROWS[1][0]: "fail"}


def test_a_text_that_was_edited_has_no_label_and_it_is_said() -> None:
    label(ANSWERS)
    write(
        [(text.replace("number 3", "number three"), verdict) for text, verdict in ROWS]
    )
    table = check()
    assert labelled(table) == {
        text: own for text, own in WANTED.items() if "3" not in text
    }
    assert keys(table) == {"labels_lost"}
    assert label({}).lost == 1
    write([(" ".join(text.split()[::-1]), verdict) for text, verdict in ROWS])
    with pytest.raises(
        DataError, match=r"none of its 3 labels has its text in t.csv .*row 2"
    ):
        check()


def test_white_space_and_the_coding_of_accents_are_no_edit() -> None:
    write([("É preciso\n  provar.", "pass"), *ROWS])
    label({0: "fail", 2: "pass"})
    write([("E\u0301 preciso provar. ", "pass"), *ROWS])
    assert (
        sorted(labelled(check()).values()) == ["fail", "pass"]
        and keys(check()) == set()
    )


def test_each_of_two_equal_texts_keeps_its_own_label() -> None:
    twice = [("The same.", "pass"), ("Another.", "fail"), ("The same.", "fail"), *ROWS]
    write(twice)
    label({0: "pass", 2: "fail", 1: "pass"})
    own = check().labels.dropna(subset=["label"])
    assert dict(zip(own["item"], own["label"], strict=True)) == {
        "row 1": 1,
        "row 2": 1,
        "row 3": 0,
    }
    write([ROWS[0], *twice[:3], *ROWS[1:]])  # all moved by one
    own = check().labels.dropna(subset=["label"])
    assert dict(zip(own["item"], own["label"], strict=True)) == {
        "row 2": 1,
        "row 3": 1,
        "row 4": 0,
    }


def test_two_people_and_labels_that_were_taken_back() -> None:
    label(ANSWERS)
    label({1: "fail", 2: "pass"}, "ben")
    label({6: None})  # type: ignore[dict-item]
    own = check().labels.dropna(subset=["label"])
    told = sorted(zip(own["item"], own["rater"], own["label"], strict=True))
    assert told == [
        ("row 2", "ana", 1),
        ("row 2", "ben", 0),
        ("row 3", "ben", 1),
        ("row 4", "ana", 0),
    ]


def test_rows_without_a_text_are_not_counted_as_others() -> None:
    write([ROWS[0], ("", "pass"), *ROWS[1:]])
    label(ANSWERS)  # of the entries, which are the rows with a text
    assert labelled(check()) == WANTED
    # An earlier version numbered the rows with a text, and noted no digest.
    old = pd.read_csv("t.labels.csv").drop(columns=["text_digest", "text_columns"])
    old["item"] = [f"row {n + 1}" for n in ANSWERS]
    begun = pd.DataFrame({"item": ["row 1"], "rater": ["ana"]})
    pd.concat([old, begun]).to_csv("t.labels.csv", index=False)
    table = check()
    assert labelled(table) == WANTED and keys(table) == {"labels_by_number"}
    # Rows 2, 3, 4 without a row 1 are those of a spreadsheet, whose row 1 is the header.
    old.assign(item=[f"row {n + 2}" for n in range(3)]).to_csv(
        "t.labels.csv", index=False
    )
    first = dict(zip([text for text, _ in ROWS[:3]], ANSWERS.values(), strict=True))
    assert labelled(check()) == first and keys(check()) == {"labels_by_line"}
    pd.concat([old, begun]).to_csv("t.labels.csv", index=False)
    again = label({})
    texts = {entry.id: entry.texts["text"] for entry in again.entries}
    assert {texts[item] for item in again.done} == set(WANTED)


def test_a_table_with_a_row_for_each_verdict_has_one_label_for_each_text() -> None:
    rows = [
        (text, judge, ("pass", "fail")[n % 2])
        for n, (text, _) in enumerate(ROWS)
        for judge in "xy"
    ]
    pd.DataFrame(rows, columns=["text", "judge", "verdict"]).to_csv(
        "t.csv", index=False
    )
    assert len(label(ANSWERS).entries) == len(ROWS)
    table = check()
    assert labelled(table) == WANTED and table.judges == ["x", "y"]
    assert len(table.items) == len(ROWS)


def test_ids_still_join_and_a_text_that_was_edited_below_an_id_is_said() -> None:
    frame = pd.DataFrame(ROWS, columns=["text", "verdict"]).assign(
        id=[f"i{n}" for n in range(8)]
    )
    frame.to_csv("t.csv", index=False)
    label(ANSWERS)
    assert labelled(check()) == WANTED and keys(check()) == set()
    frame.sample(frac=1, random_state=1).to_csv("t.csv", index=False)
    assert labelled(check()) == WANTED and keys(check()) == set()
    frame.replace({"text": {ROWS[3][0]: "Edited."}}).to_csv("t.csv", index=False)
    assert labelled(check())["Edited."] == "fail" and keys(check()) == {
        "labels_changed"
    }
    frame.drop(columns="text").assign(text="x").rename(columns={"text": "note"}).to_csv(
        "t.csv", index=False
    )
    # no texts to compare
    assert len(check(judge=("verdict",)).labels.dropna(subset=["label"])) == 3


def test_the_columns_that_were_shown_are_those_that_are_compared() -> None:
    rows = [
        {"question": f"Question {n}?", "response": f"Answer {n}.", "verdict": v}
        for n, (_, v) in enumerate(ROWS)
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv("t.csv", index=False)
    label(ANSWERS)
    frame.assign(judge2="pass", topic="x")[::-1].to_csv("t.csv", index=False)
    table = check(judge=("verdict",))
    texts = {item: text for item, text in table.items["text"].items()}
    got = {texts[item] for item in table.labels.dropna(subset=["label"])["item"]}
    assert got == {f"Answer {n}." for n in ANSWERS}
    frame.rename(columns={"question": "asked"}).to_csv("t.csv", index=False)
    with pytest.raises(
        DataError,
        match=(
            r"in the column 'question', and t.csv has none of that name: asked, response, verdict."
            r" Give"
        ),
    ):
        check()


def test_labels_of_rows_of_several_files_are_refused() -> None:
    label(ANSWERS)
    write(ROWS, "u.csv")
    with pytest.raises(ConfigError, match=r"several without ids: t.csv, u.csv"):
        check("t.csv", "u.csv", "t.labels.csv")


def test_a_damaged_list_of_columns_is_said() -> None:
    label(ANSWERS)
    own = pd.read_csv("t.labels.csv")
    for cell, said in (("[1]", "no list of columns"), ("{", "cannot be read")):
        own.assign(text_columns=cell).to_csv("t.labels.csv", index=False)
        with pytest.raises(DataError, match=said):
            check()


@pytest.mark.skipif(not CASE.is_dir(), reason="needs the shared cases")
def test_labels_of_an_earlier_version_join_by_row(capsys: Capture) -> None:
    main(["check", str(CASE / "noid.csv"), str(CASE / "noid.labels.csv"), "--all"])
    said = capsys.readouterr().out
    assert "60 labels of" in said and "by the number of the row alone" in said
    table = check(str(CASE / "noid.csv"), str(CASE / "noid.labels.csv"))
    whole, own = pd.read_csv(CASE / "noid.csv"), pd.read_csv(CASE / "noid.labels.csv")
    numbers = own["item"].str.removeprefix("row ").astype(int)
    # They begin at row 2, without a gap: row 1 is the header. So read, judge and labels agree in 82
    # %.
    wanted = dict(zip(whole["text"][numbers - 2], own["label"], strict=True))
    assert labelled(table) == wanted and len(table.verdicts) == len(whole)


def test_places_are_found_by_number_then_by_text_in_order() -> None:
    a, b = mark_of(["a"]), mark_of(["b"])
    ids = ["row 1", "row 2", "row 3"]
    found = places(
        [("row 1", a), ("row 2", a), ("row 9", b), ("row 8", "gone")], ids, [a, b, a]
    )
    assert [place.item for place in found.values()] == ["row 1", "row 3", "row 2", None]
    assert [place.moved for place in found.values()] == [False, True, True, False]
    assert (
        places([("row 0", None), ("row 4", None)], ids, [a, b, a], ids)[
            "row 0", None
        ].item
        is None
    )
    assert mark_of(["a", None]) != mark_of([None, "a"]) and mark_of(["a b"]) == mark_of(
        [" a\n b"]
    )


def test_only_rows_that_are_verdicts_share_an_id() -> None:
    cells = pd.DataFrame({"text": ["x", "x", "y"], "verdict": ["pass"] * 3})
    marks = ["m", "m", "n"]
    assert row_ids(cells, marks) == ["row 1", "row 2", "row 3"]
    assert row_ids(cells.assign(judge="j"), marks) == ["row 1", "row 1", "row 3"]
