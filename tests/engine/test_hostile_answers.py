"""Odd answers of a server: each is a record of its item, and the run goes on."""

from __future__ import annotations

import pytest

from tests.engine.conftest import Run
from tests.hostile import odd_answers
from tests.stub_server import KEY, Fault, StubServer, score_of
from undogmatic.records.records import Failure, Item, Verdict

READABLE = {
    "a finish reason that is a list",
    "an error that is a number",
    "a NUL in the rationale",
    "a cost below 0",
    "a cost that is huge",
    "a usage that is a list",
    "an id that is an object",
    "gzip that is good",
    "the key in the rationale",
    "the key, escaped",
    "the key in a header",
    "nesting that just passes",
    "tokens that are huge",
}


def test_odd_answers_cost_their_items_alone(
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("STUB_KEY", KEY)
    stub.key = KEY
    odd = [Item(id=name, text=f"a text that gets {name}.") for name in odd_answers(KEY)]
    items = [each for n, one in enumerate(odd) for each in (Item(id=f"good {n}", text=f"text {n}."), one)]
    stub.faults = {f"gets {name}.": Fault("hostile", times=None, body=name) for name in odd_answers(KEY)}
    by_id = {j.item_id: j for j in run(key_env="STUB_KEY", timeout=20, retries=1, concurrency=2, items=items)}
    good = {item.id: score_of(item.text) for item in items if item.id.startswith("good")}
    assert {name: by_id[name].score for name in good} == pytest.approx(good)
    assert {name for name in odd_answers(KEY) if isinstance(by_id[name].outcome, Verdict)} == READABLE
    for judgment in by_id.values():
        if isinstance(outcome := judgment.outcome, Failure):
            assert outcome.reason in ("unparseable", "off_scale", "refusal", "transport"), outcome
            assert len(outcome.message) < 2500 and len(outcome.raw or "") <= 100_000
        assert judgment.cost.calls >= 1
    stub.faults = {}
    again = {j.item_id: j for j in run(key_env="STUB_KEY", timeout=20, retries=0, items=items)}
    lost = {n for n, j in by_id.items() if isinstance(j.outcome, Failure) and j.outcome.reason == "transport"}
    assert {n for n, j in again.items() if j.outcome != by_id[n].outcome} == lost
    files = b"".join(p.read_bytes() for p in run.folder.rglob("*") if p.is_file())
    assert KEY.encode() not in files and KEY.encode("utf-16") not in files
    assert run.path.stat().st_size < 20_000_000
    assert "Traceback" not in capfd.readouterr().err
