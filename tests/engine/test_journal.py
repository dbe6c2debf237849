"""What a run has spent is known also of calls whose item never got a record: nothing is spent beyond the budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.conftest import ITEMS, Run
from tests.stub_server import Fault, StubServer
from undogmatic.engine.journal import LEDGER, Journals, Ledger
from undogmatic.errors import BudgetExceeded, DataError
from undogmatic.records.records import Cost


def test_the_sums_go_on_where_they_were_left(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    with Ledger(path, [Cost(calls=3, usd=0.5), Cost(calls=1, usd=None)]) as first:  # a run of an earlier version
        first.note(1, 0.0)
        first.note(0, 0.25)
    again = Ledger(path, [Cost(calls=100)])
    assert (again.calls, again.usd) == (5, 0.75)
    with path.open("a") as file:
        file.write('{"calls": 1')  # torn by a power cut
    assert Ledger(path, ()).calls == 5


@pytest.mark.parametrize("line", ["[]", "{", '{"calls": -1}', '{"calls": 1.5}', '{"usd": 1e999}', '{"usd": -1}', "\0"])
def test_a_damaged_ledger_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / LEDGER
    path.write_text(f'{{"calls": 1}}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=rf"{LEDGER}:2: not what a run has spent .* Delete the line"):
        Ledger(path, ())


def test_a_resumed_run_counts_the_calls_of_items_that_were_under_way(run: Run, stub: StubServer) -> None:
    with pytest.raises(BudgetExceeded):
        run(samples=4, max_calls=10, concurrency=2, cache=False)
    assert len(stub.requests) == 10
    with pytest.raises(BudgetExceeded, match="is 11 and 11 calls"):
        run(samples=4, max_calls=11, concurrency=2, cache=False)
    assert len(stub.requests) == 11
    assert Journals(run.folder).ledger.calls == 11


def test_attempts_and_retries_count_too(run: Run, stub: StubServer) -> None:
    stub.faults = {"number 2.": Fault("prose", times=None), "number 3.": Fault("429", times=2)}
    run()
    assert Journals(run.folder).ledger.calls == len(stub.requests) == len(ITEMS) + 2 + 2


def test_killed_at_any_moment_a_run_stays_within_its_budget(run: Run, stub: StubServer) -> None:
    stub.latency = 0.05
    for killed_after in (4, 13, 22):
        run.killed(killed_after, concurrency=3, max_calls=30, samples=5, cache=False)
        noted = [json.loads(line).get("calls", 0) for line in (run.folder / LEDGER).read_text().splitlines()]
        assert len(stub.requests) <= sum(noted) <= 30  # noted before it is sent
    stub.latency = 0.0
    with pytest.raises(BudgetExceeded):
        run(concurrency=3, max_calls=30, samples=5, cache=False)
    assert len(stub.requests) <= 30
    assert Journals(run.folder).ledger.calls == 30
