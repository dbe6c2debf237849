"""That what takes more than its rows account for is found, and that published times of `check` are
the stored ones."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import growth
from benchmarks.growth import FAULT, FEW, Used
from tests.conftest import Capture, Patch

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
START = 3.0


def takes(seconds: Callable[[int], float]) -> Callable[[str, int, Path], Used]:
    """Measurements of doors that all take so long."""
    return lambda door, n, place: Used(START + seconds(n), 200 + n / 1000)


@pytest.mark.parametrize(
    ("seconds", "least", "most"),
    [
        (lambda n: 2e-4 * n, 4, 4),
        (lambda n: 2e-8 * n**2, 10, 16),
        (lambda n: 1e-4 * n + 1e-8 * n**2, 7, 16),  # hardly to be seen at n
        (lambda n: 0.0, 0, 0),
        # starts differ by as much, and nothing grows
        (lambda n: -0.3 if n == FEW else 0.0, 0, 4),
        (lambda n: 1.5 + 1e-4 * n, 4, 4),  # what is done once does not count
    ],
)
def test_growth_beyond_the_rows_is_told_from_growth_with_them_whatever_a_start_takes(
    seconds: Callable[[int], float], least: float, most: float
) -> None:
    n = 10_000
    found = growth.times(*(START + seconds(size) for size in (FEW, n, 4 * n)), n)
    assert least - 1e-9 <= found <= most + 1e-9


def test_a_door_that_grows_too_fast_is_marked_and_ends_the_job_and_one_slow_minute_does_not(
    capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["growth", "--small", "--limit", "7", "--doors", "check", "label"]
    )
    monkeypatch.setattr(growth, "measured", takes(lambda n: 1e-7 * n**2))
    with pytest.raises(
        SystemExit, match=r"check, label: the processor's time grows more than 7 times"
    ):
        growth.main()
    assert capsys.readouterr().out.count("a fault") == 2
    slow = [True]

    def measured(door: str, n: int, place: Path) -> Used:
        busy = n == 4 * growth.SMALL and slow and slow.pop()
        return Used(START + 1e-4 * n * (10 if busy else 1), 200)

    monkeypatch.setattr(growth, "measured", measured)
    growth.main()
    shown = capsys.readouterr().out
    assert "a fault" not in shown and not slow


def test_the_texts_of_the_measurements_have_twenty_words_none_of_them_twice(
    tmp_path: Path,
) -> None:
    header, *rows = growth.table(tmp_path / "t.csv", 200).read_text().splitlines()
    assert header == "id,text,human,judge" and len(rows) == 200
    texts = [
        row.split(",")[1].partition(" Tema")[0].rstrip(".").split() for row in rows
    ]
    assert (
        {len(words) for words in texts} == {len(set(words)) for words in texts} == {20}
    )
    assert len({" ".join(words) for words in texts}) == 200


def test_the_published_times_of_a_check_are_the_stored_ones() -> None:
    stored = [
        (
            f"{int(row['rows']):,}",
            f"{float(row['processor_seconds']):.3g}",
            f"{float(row['megabytes']):,.0f}",
        )
        for row in growth.results()
        if row["door"] == "check"
    ]
    lines = (DOCS / "check.md").read_text(encoding="utf-8").splitlines()
    told = [
        re.fullmatch(r"\| ([\d,]+) \| ([\d.]+) s \| ([\d,]+) MB \|", line)
        for line in lines
    ]
    assert [one.groups() for one in told if one] == stored
    assert len(stored) == 4
    assert float(FAULT) == 5
