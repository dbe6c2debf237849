"""What a check tells of a judge over time: since when it agrees with people less, or says other
things, and what cannot be told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import evidence_of
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations import since
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import SLICE, Evidence
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.records.words import Words

LANGUAGES = [
    Words(code, [Path(since.__file__).with_suffix(".texts.yaml")], strict=True)
    for code in ("en", "pt")
]
N = 200
DAYS = [f"2026-{3 + k // 50:02}-{1 + k % 25:02}" for k in range(N)]
LATE = np.arange(N) >= 150  # from June on


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def tell(
    verdicts: Any,
    labels: Any = (),
    kind: Any = "pass_fail",
    dates: Any = DAYS,
    **options: Any,
) -> Told:
    """What is told of a judge; every sentence has words in both languages, short or long."""
    table = evidence_of(kind, verdicts, labels, {f"{SLICE}date": dates})
    table = replace(table, dates=since.dates_of(table, "date"))
    told = Told()
    since.SINCE.examine(table.of("judge", "quality"), told, CheckOptions(**options))
    for words in LANGUAGES:
        assert all(map(words.say, [*told.findings, *told.not_examined.values()]))
        for found in told.findings:
            short = found.key.replace("since.", "since.face.")
            if found.subject == Subject.AGREED and found.key != "since.untold":
                assert "[" not in words.text(short, **found.values).partition("(")[0]
    return told


def headline(told: Told) -> Finding:
    (found,) = (each for each in told.findings if each.subject == Subject.AGREED)
    return found


def wrong(
    rng: np.random.Generator, labels: Any, late: float, early: float = 0.05
) -> Any:
    """Verdicts that miss so many of the labels."""
    return np.where(rng.random(N) < np.where(LATE, late, early), 1 - labels, labels)


@pytest.mark.parametrize(
    ("early", "late", "key", "answer"),
    [
        (0.05, 0.5, "worse", "no"),
        (0.5, 0.05, "better", "yes"),
        (0.1, 0.1, "open", "undecided"),
    ],
)
def test_a_change_of_agreement_is_told_with_its_day(
    rng, early, late, key, answer
) -> None:
    labels = rng.integers(0, 2, N).astype(float)
    told = tell(wrong(rng, labels, late, early), labels)
    found = headline(told)
    assert (found.key, found.answer) == (f"since.{key}", answer)
    assert (found.weight == Weight.LIMITS) == (key == "worse")
    if key != "open":
        assert (
            abs(pd.Timestamp(found.values["at"]) - pd.Timestamp("2026-06-01")).days <= 4
        )
        low, high = found.values["interval"]
        assert low <= early - late <= high and (low > 0 or high < 0)
        assert (
            told.numbers["since.after"].low
            <= 1 - late
            <= told.numbers["since.after"].high
        )
    assert list(told.tables["since.months"]["month"]) == [
        f"2026-0{k}" for k in (3, 4, 5, 6)
    ]


def test_grades_are_told_by_their_distance_from_the_labels(rng) -> None:
    labels = rng.uniform(0, 10, N)
    told = tell(
        labels + np.where(LATE, 4.0, 0.5) * rng.choice((-1, 1), N), labels, "numeric"
    )
    found = headline(told)
    assert found.key == "since.worse" and found.values["distance"] == 1
    assert found.values["before"] < 1.5 and found.values["after"] > 3.5
    assert found.values["interval"][0] > 0


@pytest.mark.parametrize("kind", ["pass_fail", "numeric", "unordered", "ordered"])
def test_without_labels_the_verdicts_are_looked_at(rng, kind) -> None:
    """Whether another verdict is a worse one nobody knows."""
    verdicts = np.where(LATE, 1.0, rng.integers(0, 2, N).astype(float))
    moved = headline(tell(verdicts, kind=kind))
    assert (moved.key, moved.answer, moved.weight) == ("since.moved", "undecided", 2)
    still = headline(tell(np.arange(N) % 2.0, kind=kind))
    assert still.key == "since.still"


def test_few_labels_are_said_and_months_without_any(rng) -> None:
    labels = rng.integers(0, 2, N).astype(float)
    few = tell(np.arange(N) % 2.0, np.where(np.arange(N) < 12, labels, np.nan))
    assert few.not_examined["since.agreement"].values["n"] == 12
    assert headline(few).key == "since.still"
    gap = tell(
        wrong(rng, labels, 0.5), np.where((np.arange(N) // 50) == 1, np.nan, labels)
    )
    assert gap.not_examined["since.months"].values["months"] == ["2026-04"]
    assert headline(gap).key == "since.worse"


@pytest.mark.parametrize(
    ("kind", "dates", "n", "key"),
    [
        ("pass_fail", ["2026-03-01"] * N, N, "one_date"),
        ("pass_fail", DAYS, 15, "few"),
        ("pairwise", DAYS, N, "no_labels"),
        ("pass_fail", ["", *[None] * (N - 1)], N, "few"),
    ],
)
def test_what_cannot_be_told_is_said(kind: Any, dates: Any, n: int, key: str) -> None:
    verdicts = np.where(np.arange(N) < n, np.arange(N) % 2, np.nan)
    told = tell(verdicts, kind=kind, dates=dates)
    assert told.not_examined["since"].key == f"since.{key}"
    assert headline(told).values["why"] == told.not_examined["since"]
    assert headline(told).weight == Weight.DETAIL


def test_items_of_too_few_groups_show_no_change() -> None:
    table = evidence_of(
        "pass_fail",
        np.arange(40) % 2,
        items={f"{SLICE}date": DAYS[:40], "group": [f"g{k // 10}" for k in range(40)]},
    )
    dates = pd.Series(
        pd.to_datetime(["2026-03-01", "2026-03-02"] * 20), table.items.index
    )
    told = Told()
    view = replace(table, dates=dates).of("judge", "quality")
    since.SINCE.examine(view, told, CheckOptions(level=0.99))
    # What the four groups say on each of both days: eight, where ten are needed at this level.
    assert told.not_examined["since"].key == "since.few_units"


def test_items_without_a_date_are_left_out_and_counted(rng) -> None:
    labels = rng.integers(0, 2, N).astype(float)
    dates = [None if k % 4 == 0 else day for k, day in enumerate(DAYS)]
    told = tell(wrong(rng, labels, 0.6), labels, dates=dates)
    (undated,) = (found for found in told.findings if found.key == "since.undated")
    assert undated.values["n"] == 50 and headline(told).values["n"] == 150


def dated(*cells: Any) -> Evidence:
    return evidence_of(
        "pass_fail", np.arange(len(cells)) % 2, items={f"{SLICE}when": list(cells)}
    )


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (
            ["2026-05-14", "2026-05-14T23:10:00Z", None],
            ["2026-05-14", "2026-05-14", "NaT"],
        ),
        (["2026/5/4", "2026-06"], ["2026-05-04", "2026-06-01"]),
        (["14/05/2026", "03/04/2026 10:00"], ["2026-05-14", "2026-04-03"]),
        (["05/14/2026", "03/04/2026"], ["2026-05-14", "2026-03-04"]),
        (["03.04.2026"], ["2026-04-03"]),
    ],
)
def test_days_are_read_as_they_are_written(cells: list[Any], days: list[str]) -> None:
    assert [str(day)[:10] for day in since.dates_of(dated(*cells), "when")] == days


@pytest.mark.parametrize(
    ("cells", "error", "said"),
    [
        (
            ["2026-05-14", "soon"],
            DataError,
            "verdicts.csv:3: `when` is 'soon', which is no date",
        ),
        (["2026-13-01"], DataError, "verdicts.csv:2: `when` is '2026-13-01'"),
        (
            ["14/05/2026", "05/14/2026"],
            DataError,
            "verdicts.csv:3: `when` is '05/14/2026'",
        ),
        (["12"], DataError, "which is no date such as 2026-05-14"),
        (
            ["03/04/2026"],
            ConfigError,
            "no cell says whether the day or the month stands first",
        ),
    ],
)
def test_a_column_of_no_dates_is_refused(
    cells: list[str], error: Any, said: str
) -> None:
    with pytest.raises(error, match="when") as raised:
        since.dates_of(dated(*cells), "when")
    assert said in str(raised.value)


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean `when`\? There are: when"):
        since.dates_of(dated("2026-05-14"), "wen")


def test_many_days_are_taken_by_weeks(rng) -> None:
    labels = rng.integers(0, 2, N).astype(float)
    days = [str(day)[:10] for day in pd.date_range("2026-01-01", periods=N)]
    found = headline(tell(wrong(rng, labels, 0.6), labels, dates=days))
    assert found.key == "since.worse" and found.values["dealt"].key == "since.dealt_W"
    assert found.values["units"] == 29
