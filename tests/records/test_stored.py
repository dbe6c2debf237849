import errno
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Patch
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.errors import StorageError
from undogmatic.examinations.base import analyse
from undogmatic.examinations.labelled import LabelledAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.examinations.suite import NoAnalysis
from undogmatic.records.kept import gathered, joined
from undogmatic.records.records import (
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    Verdict,
)
from undogmatic.records.stored import StoredTable, foremost, in_parts, voices, whole

SOURCE = Provenance(
    model="m", readout="r", prompt="p", prompt_hash="", program_hash="", config_hash=""
)


def judged(item: Item, n: int, repeat: int) -> Judgment:
    outcome: Verdict | Failure = Failure(reason="refusal", message="no")
    if n % 5:
        details: dict[str, float | str] = (
            {"steps": float(n)} if n % 2 else {"why": "x\r'y", "steps": 2.0}
        )
        outcome = Verdict(
            score=n / 3,
            confidence=n,
            uncertainty="high",
            doubt=n % 7,
            details=details,
            review=n % 3 == 0,
        )
    cost = Cost(calls=1, usd=None if n % 4 else 0.5, seconds=n / 7)
    return Judgment(
        item_id=item.id,
        judge="j",
        outcome=outcome,
        repeat=repeat,
        cost=cost,
        provenance=SOURCE,
    )


@pytest.fixture
def tables(monkeypatch: Patch) -> tuple[pd.DataFrame, StoredTable]:
    """Sixty judgments, held and on disk, ten rows at a time."""
    words = np.random.default_rng(0).integers(9999, size=(30, 20)).astype(str)
    known = {
        "condition": ["a", None],
        "metadata": [{"group": "g1", "page": 3}, {"page": 4}, {"tags": ["x", "y"]}],
    }
    items = [
        Item(
            id=f"t{n}",
            text=" ".join(words[n]),
            labels={"overall": {"": n}},
            condition=known["condition"][n % 2],
            metadata=known["metadata"][n % 3],
        )
        for n in range(30)
    ]
    given = [
        judged(item, n, repeat) for repeat in (0, 1) for n, item in enumerate(items)
    ]
    held = tabulate(items, given, 2)
    monkeypatch.setattr("undogmatic.safety.spool.HELD", 7)
    monkeypatch.setattr("undogmatic.examinations.run_rows._AT_ONCE", 10)
    return held, tabulate(gathered(iter(items)), given, 2)


def test_a_table_on_disk_is_the_one_in_memory(
    tables: tuple[pd.DataFrame, StoredTable],
) -> None:
    held, stored = tables
    assert (
        isinstance(stored, StoredTable)
        and list(held) == stored.columns
        and len(held) == len(stored)
    )
    held = held.assign(place=None)
    for name in held:
        pd.testing.assert_series_equal(
            pd.Series(list(stored[name])),
            pd.Series(list(held[name])),
            check_names=False,
        )
    mask = stored["error"].isna() & (stored["repeat"] == 1)
    some, names = stored[mask], ["item_id", "metadata.page", "details.steps", "error"]
    expected = held[mask].reset_index(drop=True)
    pd.testing.assert_frame_equal(some[names], expected[names])
    pd.testing.assert_frame_equal(
        pd.concat([*in_parts(some, names)], ignore_index=True), expected[names]
    )
    chosen = np.array([20, 3, 3, 11])
    pd.testing.assert_frame_equal(
        some.iloc[chosen][names], expected.iloc[chosen].reset_index(drop=True)[names]
    )
    assert some.head(2)["text"].tolist() == expected["text"].tolist()[:2]
    assert len(whole(stored[stored["score"] > 999])) == 0


@pytest.mark.parametrize("room", [0, 3, 8])
def test_a_disk_that_fills_under_the_table_is_told(
    monkeypatch: Patch, room: int
) -> None:
    class Full(io.RawIOBase):
        left = room

        def writable(self) -> bool:
            return True

        def write(self, content: object) -> int:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return len(content)  # type: ignore[arg-type]

    monkeypatch.setattr(
        "undogmatic.records.stored.nameless", lambda: (Full(), Path("/tmp/it"))
    )
    monkeypatch.setattr("undogmatic.safety.spool.HELD", 2)
    with pytest.raises(
        StorageError, match=r"/tmp/it cannot be written \(No space left on device\)"
    ):
        tabulate(gathered(Item(id=f"t{n}", text="x") for n in range(5)), [], 1)


def test_the_foremost_rows_are_those_of_the_table_in_memory(
    tables: tuple[pd.DataFrame, StoredTable],
) -> None:
    held, stored = tables

    def told(rows: pd.DataFrame) -> dict[str, np.ndarray]:
        return {"score": rows["score"].to_numpy() // 5}  # many are equal

    known = [*np.flatnonzero(held["score"].notna())]
    expected = sorted(known, key=lambda place: -(held["score"][place] // 5))[:25]
    assert [
        foremost(table, ["score"], told, 25)["score"].tolist() for table in tables
    ] == [expected] * 2
    assert voices(stored) == voices(held) == [("j", "overall")]


def test_of_several_datasets_an_id_counts_once() -> None:
    one, other = (
        [Item(id="x", text="1"), Item(id="y", text="2")],
        [Item(id="x", text="3")],
    )
    assert [(item.id, item.text) for item in joined([one, other])] == [
        ("y", "2"),
        ("x", "3"),
    ]


def test_a_sample_has_whole_groups(tables: tuple[pd.DataFrame, StoredTable]) -> None:
    held, stored = tables
    sample = stored.sample(30)
    sizes = held["group"].value_counts()
    assert 10 <= len(sample) <= 30
    assert (sample["group"].value_counts() == sizes[sample["group"].unique()]).all()
    assert len(stored.sample(60)) == 60 and len(stored.sample(1)) > 0


def test_an_analysis_that_reads_a_sample_says_so(
    tables: tuple[pd.DataFrame, StoredTable], monkeypatch: Patch
) -> None:
    config = compose_config(["analysis=none", "model=patterns"])
    table = RunEvidence(tables[1], build(config["rubric"], "rubric"))
    monkeypatch.setattr("undogmatic.examinations.run_evidence.MOST_READ", 40)
    (result,) = analyse(LabelledAnalysis(), table, np.random.default_rng(0))
    n = len(tables[1].sample(40))
    assert result.findings[0].key == "analyses.sampled"
    assert result.findings[0].values == {"n": n, "total": 60}
    monkeypatch.setattr("undogmatic.examinations.base.MOST_READ", 10)
    (everything,) = analyse(NoAnalysis(), table, np.random.default_rng(0))
    assert everything.metrics["none.judged"] == 24
    assert sum(everything.drawings[0].data["counts"]["a"]) == 12
