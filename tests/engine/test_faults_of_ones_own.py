"""A judge of one's own that breaks down over an item, and records that no file takes: failures of their items."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults import storm
from tests.engine.conftest import ITEMS, Run
from tests.stub_server import StubServer
from undogmatic.engine.journal import Journal, cut_torn_line, written
from undogmatic.errors import DataError, RunStopped
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.calls import Reply, ReplyCache
from undogmatic.records.records import Call, Cost, Failure, Item, Judgment, Provenance, Verdict
from undogmatic.runs.folder import read_records


class Breaks(ScoreJudge):
    """Breaks down over some items."""

    over = ("i3", "i4")
    how: Any = staticmethod(lambda: {}["nothing"])

    async def judge(self, item: Item) -> Verdict:
        verdict = await super().judge(item)
        return self.how() if item.id in self.over else verdict


class BreaksAlways(Breaks):
    over = tuple(item.id for item in ITEMS)


class GivesNaN(Breaks):
    how = staticmethod(lambda: Verdict(score=math.nan))


class GivesNothing(Breaks):
    how = staticmethod(lambda: None)


@pytest.mark.parametrize(("judge", "said"), [(Breaks, "KeyError: 'nothing'"), (GivesNaN, "score"), (GivesNothing, "")])
def test_it_costs_its_items_alone_and_they_are_tried_again(
    run: Run,
    stub: StubServer,
    judge: type[Breaks],
    said: str,
) -> None:
    judgments = run(judge=judge)
    failed = {j.item_id: j.outcome for j in judgments if isinstance(j.outcome, Failure)}
    assert list(failed) == ["i3", "i4"]
    assert all(f.reason == "fault" and said in f.message and ".py:" in f.message for f in failed.values())
    assert judge is not Breaks or Path(__file__).name in failed["i3"].message
    assert all(j.cost.calls == 1 and j.calls for j in judgments)
    again = run()
    assert all(isinstance(j.outcome, Verdict) for j in again)
    assert len(stub.requests) == len(ITEMS)  # the answers were paid for once


def test_many_in_a_row_end_the_run_with_the_place(run: Run, stub: StubServer) -> None:
    with pytest.raises(
        RunStopped, match=r"(?s)5 items in a row .* broke down .* KeyError: 'nothing' in .*\.py:\d+"
    ) as e:
        run(judge=BreaksAlways, concurrency=1)
    assert e.value.exit_status == 3
    assert len(run.kept()) == 5


def record(provenance: Provenance, **fields: Any) -> Judgment:
    known: dict[str, Any] = {"item_id": "a", "judge": "score", "outcome": Verdict(score=1), "cost": Cost(calls=1)}
    return Judgment(**known | {"provenance": provenance} | fields)


def test_a_record_that_no_file_takes_is_a_failure_that_says_so(provenance: Provenance, tmp_path: Path) -> None:
    half = record(provenance, calls=(Call(model="m", request={"a": "\ud800"}, reply=object()),))
    deep: Any = 0
    for _ in range(2000):
        deep = [deep]
    with Journal(tmp_path / "judgments.jsonl", Judgment) as journal:
        for n, one in enumerate((half, record(provenance, calls=(Call(model="m", request={"a": deep}),)))):
            kept = journal.append(one.model_copy(update={"item_id": str(n)}))
            assert isinstance(kept.outcome, Failure) and kept.outcome.reason == "fault"
            assert "cannot be written" in kept.outcome.message
            assert journal.done[kept.key] is kept
        whole = journal.append(record(provenance))
    assert [r.outcome for r in read_records(journal.path or tmp_path, Judgment)][-1] == whole.outcome


def test_an_exchange_too_long_for_a_line_is_left_out(provenance: Provenance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undogmatic.engine.journal.LONGEST_LINE", 2000)
    long = record(provenance, calls=(Call(model="m", request={"a": "x" * 3000}, reply="y" * 3000, attempts=2),))
    kept, line = written(long)
    assert kept.outcome == long.outcome and kept.calls[0].attempts == 2 and "too long" in kept.calls[0].reply
    assert Judgment.model_validate_json(line) == kept


def test_a_long_exchange_is_in_the_journal_and_not_in_memory(provenance: Provenance, tmp_path: Path) -> None:
    path = tmp_path / "judgments.jsonl"
    for name, size in (("short", 1000), ("long", 1_500_000)):
        calls = (Call(model="m", request={"a": "b"}, reply=["y"] * (size // 4), usd=0.5),)
        with Journal(path, Judgment) as journal:
            journal.append(record(provenance, calls=calls).model_copy(update={"item_id": name}))
        for held in (journal, Journal(path, Judgment)):
            kept = next(each for key, each in held.done.items() if key[0] == name)
            assert kept.calls[0].usd == 0.5
            assert ("the journal has it" in kept.calls[0].reply) == (name == "long")
    assert [len(each.calls[0].reply) for each in read_records(path, Judgment)] == [250, 375_000]


@pytest.mark.parametrize(
    ("tail", "left"),
    [
        (b'{"a": 1', b""),
        (b'{"a": 1}', b'{"a": 1}\n'),
        (b"", b""),
        (b"\x00\x01", b"\x00\x01"),
        (b'{"' + b"x" * 200_000, b""),
    ],
)
def test_only_what_a_kill_left_of_a_line_of_ours_is_taken_back(tmp_path: Path, tail: bytes, left: bytes) -> None:
    for before in (b"", b'{"b": 2}\n'):
        path = tmp_path / "file"
        path.write_bytes(before + tail)
        cut_torn_line(path)
        assert path.read_bytes() == before + left


def test_a_damaged_row_is_a_miss_that_is_said_once_and_replaced(
    run: Run,
    stub: StubServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = run()
    cache = ReplyCache(tmp_path / "cache")
    cache._database.execute("UPDATE replies SET reply = replace(reply, 'choices', 'voices')")
    cache.close()
    again = run(folder=tmp_path / "again")
    assert [j.score for j in again] == [j.score for j in first] and len(stub.requests) == 2 * len(ITEMS)
    assert capsys.readouterr().err.count("is damaged") == 1
    assert all(j.cost.cached == 1 for j in run(folder=tmp_path / "more"))


def test_a_binary_journal_is_one_message(run: Run, stub: StubServer) -> None:
    run.path.write_bytes(b"\x7fELF\x00\xff" * 100)
    with pytest.raises(DataError, match=r"judgments\.jsonl:1: not a judgment"):
        run()
    assert not stub.requests


def test_a_storm_of_faults_loses_nothing_and_pays_nothing_twice(tmp_path: Path) -> None:
    found = storm(150, in_flight=16, resumes=3, seed=3, folder=tmp_path)
    assert (found.lost, found.paid_twice, found.uncounted, found.untyped) == (0, 0, 0, 0), found
    assert sum(found.faulty.values()) - found.faulty["none"] > 20


def test_the_cache_is_its_owners_alone(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", Reply({"a": 1}))
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    cache.close()
    assert modes and set(modes.values()) == {0o600}, modes
