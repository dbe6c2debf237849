"""Files without ids in common are joined by the texts that both hold, or by row where that is
typed; else it is asked."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import Evidence

N = 20
TEXTS = [f"Answer number {n} says something of its own." for n in range(N)]
LABELS = ["pass" if n % 3 else "fail" for n in range(N)]
VERDICTS = ["pass" if n % 4 else "fail" for n in range(N)]
WANTED = dict(zip(TEXTS, zip(VERDICTS, LABELS, strict=True), strict=True))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, **columns: list[Any]) -> None:
    pd.DataFrame(columns).to_csv(name, index=False)


def check(*names: str, **options: Any) -> Evidence:
    return read_table(
        list(names) or ["judge.csv", "people.csv"], TableOptions(**options)
    )


def both(table: Evidence) -> dict[str, tuple[str, str]]:
    """Verdict and label of each text that has both."""
    words = table.categories
    sides = [
        rows.drop_duplicates("item").set_index("item")[column]
        for rows, column in ((table.verdicts, "verdict"), (table.labels, "label"))
    ]
    shared = [
        item for item in table.items.index if all(item in side.index for side in sides)
    ]
    return {
        table.items["text"][item]: (
            words[int(sides[0][item])],
            words[int(sides[1][item])],
        )
        for item in shared
    }


def keys(table: Evidence) -> set[str]:
    return {each.key for each in table.read if "joined" in each.key}


def test_texts_that_agree_row_by_row_join_the_files() -> None:
    write("judge.csv", text=TEXTS, verdict=VERDICTS)
    write("people.csv", text=TEXTS, label=LABELS)
    table = check()
    assert (both(table), keys(table)) == (WANTED, {"table.joined_by_row"})
    # The same text may stand in several rows, each with its own verdict.
    write("judge.csv", text=["One text is in all of them."] * N, verdict=VERDICTS)
    write("people.csv", text=["One text is in all of them."] * N, label=LABELS)
    assert len(check().items) == N


@pytest.mark.parametrize("ids", [None, [f"q{n}" for n in range(N)]])
def test_texts_in_another_order_or_of_some_rows_join_the_files(
    ids: list[str] | None,
) -> None:
    order = sorted(range(N), key=lambda n: n * 7 % N)[:14]
    write(
        "judge.csv",
        **({} if ids is None else {"id": ids}),
        text=TEXTS,
        verdict=VERDICTS,
    )
    write(
        "people.csv", text=[TEXTS[n] for n in order], label=[LABELS[n] for n in order]
    )
    for files in (("judge.csv", "people.csv"), ("people.csv", "judge.csv")):
        table = check(*files)
        assert both(table) == {TEXTS[n]: WANTED[TEXTS[n]] for n in order}
        assert keys(table) == {"table.joined_by_text"}
        if ids is not None:
            assert set(table.verdicts["item"]) == set(ids)


def test_several_people_who_each_have_a_row_are_joined_by_the_text() -> None:
    write("judge.csv", text=TEXTS, verdict=VERDICTS)
    write(
        "people.csv", text=TEXTS * 2, rater=["ana"] * N + ["ben"] * N, label=LABELS * 2
    )
    table = check()
    assert sorted(table.labels["rater"].unique()) == ["ana", "ben"]
    assert both(table).keys() == WANTED.keys() and len(table.labels) == 2 * N


def test_rows_without_a_text_in_common_are_joined_where_that_is_typed() -> None:
    write("judge.csv", text=TEXTS, verdict=VERDICTS)
    write("people.csv", label=LABELS)
    with pytest.raises(
        ConfigError, match=r"Each has 20 rows.*same order, type --item none\.$"
    ):
        check()
    assert both(check(item="none")) == WANTED


def test_rows_that_cannot_be_counted_are_not_joined_by_row() -> None:
    write("judge.csv", text=TEXTS, verdict=VERDICTS)
    write("people.csv", label=LABELS[:-1])
    with pytest.raises(ConfigError, match=r"no column with the ids.*--item COLUMN\.$"):
        check()
    with pytest.raises(
        DataError, match=r"judge\.csv has 20 rows, people\.csv has 19 rows"
    ):
        check(item="none")
    lines = [f'{{"label": "{label}"}}' for label in LABELS]
    Path("people.jsonl").write_text(
        "\n".join([*lines, '{"label": "pa']), encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"1 rows of people\.jsonl cannot be read"):
        check("judge.csv", "people.jsonl", item="none")
    write("people.csv", rater=["ana", "ben"] * (N // 2), label=LABELS)
    with pytest.raises(
        DataError, match=r"`rater` shows that people\.csv has several rows"
    ):
        check(item="none")


def test_texts_that_differ_are_shown_and_nothing_is_joined() -> None:
    write("judge.csv", text=TEXTS, verdict=VERDICTS)
    others = [TEXTS[0], *(f"Quite another answer is number {n}." for n in range(N - 1))]
    write("people.csv", text=others, label=LABELS)
    with pytest.raises(
        ConfigError, match=r"`text`, which differs from row 2 on.*number 1 says"
    ):
        check()
