"""Journal, ledger, resume, cache and budgets: what a run has spent is known also of calls whose
item got no record."""

import functools
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.conftest import Capture, Patch
from tests.engine.conftest import ITEMS, Run, right
from tests.stub_server import Fault, StubServer
from undogmatic.config.build import build
from undogmatic.engine.journal import (
    LEDGER,
    Journal,
    Journals,
    Ledger,
    cut_torn_line,
    written,
)
from undogmatic.errors import BudgetExceeded, ConfigError, DataError, StorageError
from undogmatic.models.calls import Reply, ReplyCache
from undogmatic.records.records import (
    Call,
    Cost,
    Failure,
    Judgment,
    Provenance,
    Verdict,
)
from undogmatic.runs.claim import LOCK
from undogmatic.runs.index import beside, read_records


@pytest.mark.parametrize("concurrency", [1, 5, 100])
def test_judgments_come_back_in_input_order(
    run: Run, stub: StubServer, concurrency: int
) -> None:
    right(run(concurrency=concurrency))
    assert len(stub.requests) == 12


def test_a_torn_last_line_is_cut_off_and_its_item_judged_again(
    run: Run, stub: StubServer
) -> None:
    run(cache=False)
    run.path.write_bytes(run.path.read_bytes()[:-40])
    right(run(cache=False))
    assert len(stub.requests) == 13
    assert len(run.kept()) == 12


def test_a_damaged_line_in_the_middle_is_named_and_a_binary_journal_is_one_message(
    run: Run, stub: StubServer
) -> None:
    run()
    lines = run.path.read_text().splitlines()
    lines[3] = lines[3].replace('"item_id"', '"item_it"')
    run.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"judgments\.jsonl:4: not a judgment"):
        Journals(run.folder)
    run.path.write_bytes(b"\x7fELF\x00\xff" * 100)
    with pytest.raises(DataError, match=r"judgments\.jsonl:1: not a judgment"):
        run()
    assert len(stub.requests) == len(ITEMS)


def test_repeats_are_real_calls_and_a_rerun_makes_none(
    run: Run, stub: StubServer, tmp_path: Path
) -> None:
    first, again = (run(folder=tmp_path / name, repeats=2) for name in "ab")
    assert len(stub.requests) == 24
    assert [(j.item_id, j.repeat, j.score) for j in again] == [
        (j.item_id, j.repeat, j.score) for j in first
    ]
    assert (sum(j.cost.calls for j in again), sum(j.cost.cached for j in again)) == (
        0,
        24,
    )


def test_the_cache_holds_json_texts_alone(run: Run) -> None:
    run()
    database = sqlite3.connect(run.folder / "cache" / "replies.sqlite")
    rows = database.execute("select typeof(reply), reply from replies").fetchall()
    database.close()
    assert len(rows) == 12
    assert all(kind == "text" and "data" in json.loads(reply) for kind, reply in rows)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("concurrency", 0),
            ("retries", -1),
            ("timeout", 0.0),
            ("max_calls", -1),
            ("stop_after", 0),
        ),
        *(("calls_per_minute", 0), ("tokens_per_minute", -1)),
    ],
)
def test_senseless_settings_are_named(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"engine.{key}"):
        build({"_target_": "undogmatic.engine.local.LocalEngine", key: value}, "engine")


def test_two_processes_cannot_write_one_journal(run: Run) -> None:
    with (
        FileLock(run.folder / LOCK),
        pytest.raises(ConfigError, match="another process is at work in"),
    ):
        run()


def test_the_sums_go_on_where_they_were_left(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    with Ledger(
        path, [Cost(calls=3, usd=0.5), Cost(calls=1, usd=None)]
    ) as first:  # a run of an earlier version
        first.note(1, 0.0)
        first.note(0, 0.25)
    again = Ledger(path, [Cost(calls=100)])
    assert (again.calls, again.usd) == (5, 0.75)
    with path.open("a") as file:
        file.write('{"calls": 1')  # torn by a power cut
    assert Ledger(path, ()).calls == 5


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{",
        '{"calls": -1}',
        '{"calls": 1.5}',
        '{"usd": 1e999}',
        '{"usd": -1}',
        "\0",
    ],
)
def test_a_damaged_ledger_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / LEDGER
    path.write_text(f'{{"calls": 1}}\n{line}\n', encoding="utf-8")
    with pytest.raises(
        DataError, match=rf"{LEDGER}:2: not what a run has spent .* Delete the line"
    ):
        Ledger(path, ())


def test_a_resumed_run_counts_the_calls_of_items_that_were_under_way(
    run: Run, stub: StubServer
) -> None:
    with pytest.raises(BudgetExceeded):
        run(samples=4, max_calls=10, concurrency=2, cache=False)
    assert len(stub.requests) == 10
    with pytest.raises(BudgetExceeded, match="is 11 and 11 calls were made"):
        run(samples=4, max_calls=11, concurrency=2, cache=False)
    assert len(stub.requests) == 11
    assert Journals(run.folder).ledger.calls == 11


def test_attempts_and_retries_count_too(run: Run, stub: StubServer) -> None:
    stub.faults = {
        "number 2.": Fault("prose", times=None),
        "number 3.": Fault("429", times=2),
    }
    run()
    assert Journals(run.folder).ledger.calls == len(stub.requests) == len(ITEMS) + 2 + 2


def test_killed_at_any_moment_a_run_stays_within_its_budget(
    run: Run, stub: StubServer
) -> None:
    stub.latency = 0.05
    for killed_after in (4, 13, 22):
        run.killed(killed_after, concurrency=3, max_calls=30, samples=5, cache=False)
        noted = [
            json.loads(line).get("calls", 0)
            for line in (run.folder / LEDGER).read_text().splitlines()
        ]
        assert len(stub.requests) <= sum(noted) <= 30  # noted before it is sent
    stub.latency = 0.0
    with pytest.raises(BudgetExceeded):
        run(concurrency=3, max_calls=30, samples=5, cache=False)
    assert len(stub.requests) <= 30
    assert Journals(run.folder).ledger.calls == 30


def record(provenance: Provenance, item_id: str = "a", **call: Any) -> Judgment:
    fields: dict[str, Any] = {"calls": (Call(model="m", **call),)} if call else {}
    made = fields | {
        "judge": "score",
        "outcome": Verdict(score=1),
        "cost": Cost(calls=1),
        "provenance": provenance,
    }
    return Judgment(item_id=item_id, **made)


def test_a_record_that_no_file_takes_is_a_failure_that_says_so(
    provenance: Provenance, tmp_path: Path
) -> None:
    deep: Any = functools.reduce(lambda inner, _: [inner], range(2000), 0)
    with Journal(tmp_path / "judgments.jsonl", Judgment) as journal:
        for n, call in enumerate(
            ({"request": {"a": "\ud800"}, "reply": object()}, {"request": {"a": deep}})
        ):
            kept = journal.append(record(provenance, str(n), **call))
            assert isinstance(kept.outcome, Failure) and kept.outcome.reason == "fault"
            assert "cannot be written" in kept.outcome.message
            assert journal.done[kept.key] is kept
        whole = journal.append(record(provenance))
    assert [r.outcome for r in read_records(journal.path or tmp_path, Judgment)][
        -1
    ] == whole.outcome


def test_an_exchange_too_long_for_a_line_is_left_out(
    provenance: Provenance, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("undogmatic.engine.journal.LONGEST_LINE", 2000)
    long = record(provenance, request={"a": "x" * 3000}, reply="y" * 3000, attempts=2)
    kept, line = written(long)
    assert (
        kept.outcome == long.outcome
        and kept.calls[0].attempts == 2
        and "too long" in kept.calls[0].reply
    )
    assert Judgment.model_validate_json(line) == kept


def test_a_long_exchange_is_in_the_journal_and_not_in_memory(
    provenance: Provenance, tmp_path: Path
) -> None:
    path = tmp_path / "judgments.jsonl"
    for name, size in (("short", 1000), ("long", 1_500_000)):
        with Journal(path, Judgment) as journal:
            journal.append(
                record(
                    provenance,
                    name,
                    request={"a": "b"},
                    reply=["y"] * (size // 4),
                    usd=0.5,
                )
            )
        for held in (journal, Journal(path, Judgment)):
            kept = next(each for key, each in held.done.items() if key[0] == name)
            assert kept.calls[0].usd == 0.5
            assert ("the journal has it" in kept.calls[0].reply) == (name == "long")
    assert [len(each.calls[0].reply) for each in read_records(path, Judgment)] == [
        250,
        375_000,
    ]


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
def test_only_what_a_kill_left_of_a_line_of_ours_is_taken_back(
    tmp_path: Path, tail: bytes, left: bytes
) -> None:
    for before in (b"", b'{"b": 2}\n'):
        path = tmp_path / "file"
        path.write_bytes(before + tail)
        cut_torn_line(path)
        assert path.read_bytes() == before + left


def test_a_damaged_row_is_a_miss_that_is_said_once_and_replaced(
    run: Run, stub: StubServer, capsys: Capture
) -> None:
    first = run()
    cache = ReplyCache(run.folder / "cache")
    cache._database.execute(
        "UPDATE replies SET reply = replace(reply, 'choices', 'voices')"
    )
    cache.close()
    again = run(folder=run.folder / "again")
    assert [j.score for j in again] == [j.score for j in first] and len(
        stub.requests
    ) == 2 * len(ITEMS)
    assert capsys.readouterr().err.count("is damaged") == 1
    assert all(j.cost.cached == 1 for j in run(folder=run.folder / "more"))


def test_the_cache_is_its_owners_alone(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", Reply({"a": 1}))
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    cache.close()
    assert modes and set(modes.values()) == {0o600}, modes


@pytest.fixture(params=[("HELD", 3), ("HELD_BYTES", 30_000)])
def few(monkeypatch: Patch, request: pytest.FixtureRequest) -> None:
    """More records than three, or than take 30,000 bytes, are too many for memory."""
    monkeypatch.setattr(f"undogmatic.safety.spool.{request.param[0]}", request.param[1])


@pytest.mark.usefixtures("few")
def test_many_records_are_found_by_an_index_and_none_is_paid_twice(
    run: Run, stub: StubServer, monkeypatch: Patch
) -> None:
    stub.resolved = "stub-1"
    with pytest.raises(BudgetExceeded):
        run(max_calls=7, cache=False)
    stub.resolved = "stub-2"
    right(run(cache=False))
    index = beside(run.path)
    assert len(stub.requests) == 12
    with monkeypatch.context() as patch:
        patch.setattr("undogmatic.runs.index.placed_records", None)
        assert Journals(run.folder).judgments.done.many  # the journal was not read
    for spoilt in (
        lambda: None,
        lambda: index.write_bytes(b"SQLite format 3\0" + b"x" * 5000),
        index.unlink,
    ):
        spoilt()
        right(run(cache=False))
        assert len(Journals(run.folder).answered()) == 1
        assert Journals(run.folder).served() == {"stub": ["stub-1", "stub-2"]}
    assert len(stub.requests) == 12


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("lost", [1, 2, 9])
def test_an_index_that_is_not_of_this_journal_is_not_used(
    run: Run, stub: StubServer, lost: int
) -> None:
    run(cache=False)
    stale, lines = (
        beside(run.path).read_bytes(),
        run.path.read_bytes().splitlines(keepends=True),
    )
    # the journal of another time, or lines that a user took out
    run.path.write_bytes(b"".join(lines[lost:]))
    assert len(Journals(run.folder).judgments.done) == 12 - lost
    beside(run.path).write_bytes(stale)
    right(run(cache=False))
    assert len(stub.requests) == 12 + lost
    run.path.write_bytes(run.path.read_bytes()[:-40])  # torn: the index is ahead of it
    right(run(cache=False))
    assert len(stub.requests) == 13 + lost
    lines = run.path.read_bytes().splitlines(keepends=True)
    run.path.write_bytes(b"".join([*lines, lines[0]]))  # the index lags behind it
    assert len(Journals(run.folder).judgments.done) == 12
    right(run(cache=False))


@pytest.mark.usefixtures("few")
def test_repeats_of_many_are_read_in_order_and_a_later_record_counts(
    run: Run, stub: StubServer
) -> None:
    stub.faults = {"number 2.": Fault("reset", times=None)}
    first = run(repeats=2, cache=False, stop_after=1000)
    assert [j.repeat for j in first] == [0] * 12 + [1] * 12
    assert sum(isinstance(j.outcome, Failure) for j in first) == 2
    stub.faults = {}
    again = run(repeats=2, cache=False)
    assert [j.item_id for j in again] == [j.item_id for j in first]
    assert (
        not any(isinstance(j.outcome, Failure) for j in again)
        and again[-1] == first[-1]
        and again[3:5] == first[3:5]
    )
    assert sum(1 for _ in Journals(run.folder).costs()) == 24


@pytest.mark.usefixtures("few")
def test_a_disk_that_fills_under_the_index_stops_the_run_and_keeps_what_was_judged(
    run: Run, monkeypatch: Patch
) -> None:
    # nothing fits in
    monkeypatch.setattr(
        "undogmatic.runs.index._TABLE", "CREATE TABLE places (key BLOB)"
    )
    with pytest.raises(StorageError, match="cannot be written"):
        run(cache=False)
    assert len(run.kept()) >= 4
    monkeypatch.undo()
    right(run(cache=False))
