"""That what lies in a file is gone through as it is asked for one by one."""

from collections.abc import Sequence

import pytest

from undogmatic.safety import spool
from undogmatic.safety.spool import Spool, mapped


@pytest.mark.parametrize(
    "sizes", [[], [0], [3] * 50, [1, 900, 2, 5000, 0, 40, 41], [7000]]
)
def test_going_through_many_records_gives_each_of_them_once_and_in_order(
    sizes: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_BUFFER", 100)
    kept = Spool[tuple[int, str]](list, tuple)
    records = [(n, "é" * size) for n, size in enumerate(sizes)]
    for record in records:
        kept.append(record)
    assert list(kept) == [kept[n] for n in range(len(kept))] == records
    assert list(mapped(lambda record: record[0], kept)) == list(range(len(sizes)))
    going = iter(kept)
    for n, _ in zip(range(2), going, strict=False):
        kept.append((100 + n, "more"))  # while they are gone through
    assert [*going] == records[2:]


@pytest.mark.parametrize("near", [0, 50, 10_000])
def test_some_of_many_records_are_read_in_the_order_asked_for(
    near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_BUFFER", 300)
    monkeypatch.setattr(spool, "_NEAR", near)
    kept = Spool[str](str, str)
    for n in range(200):
        kept.append(f"{n}" + "x" * (n % 37))
    places = [0, 1, 2, 5, 90, 91, 92, 199, 198, 3, 3, 4, 5, 150, 160, 170]
    chosen = spool.chosen(kept, places)
    assert (
        list(chosen)
        == [kept[n] for n in places]
        == [chosen[n] for n in range(len(places))]
    )
    assert list(kept[10:190:7]) == [kept[n] for n in range(10, 190, 7)]
