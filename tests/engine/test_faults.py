"""A whole run against a server or a judge that misbehaves: nothing judged is lost, nothing is paid
for twice."""

import json
import logging
import math
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults import storm
from tests.engine.conftest import ITEMS, Run, right
from tests.hostile import odd_answers
from tests.stub_server import KEY, Fault, StubServer, score_of
from undogmatic.errors import BudgetExceeded, ConfigError, RunStopped
from undogmatic.judges.score import ScoreJudge
from undogmatic.records.records import Failure, Item, Verdict


@pytest.mark.parametrize("kind", ["429", "429-ms", "429-date", "html", "reset"])
def test_faults_that_pass_leave_no_trace_in_the_scores(
    run: Run, stub: StubServer, kind: str
) -> None:
    stub.faults = {"number 3.": Fault(kind), "number 7.": Fault(kind)}
    judgments = run()
    right(judgments)
    assert judgments[3].cost.calls == 2 and judgments[4].cost.calls == 1
    assert len(stub.requests) == 14


UNREADABLE = ("wrong-fields", "prose", "cut-json", "truncated", "empty")


@pytest.mark.parametrize(
    ("fault", "reason", "asked"),
    [
        (Fault("refusal", times=None), "refusal", 1),
        (Fault("content-filter", times=None), "refusal", 1),
        (Fault("off-scale", times=None), "off_scale", 3),
        *((Fault(kind, times=None), "unparseable", 3) for kind in UNREADABLE),
        (Fault("body", times=None, body="<html>hotel wifi</html>"), "unparseable", 3),
        (Fault("status", times=None, status=500, body="{}"), "transport", 3),
        (Fault("hang", times=None, after=2), "timeout", 3),
        (Fault("slow-body", times=None, after=2), "timeout", 3),
    ],
)
def test_a_lasting_fault_is_a_typed_failure(
    run: Run, stub: StubServer, fault: Fault, reason: str, asked: int
) -> None:
    stub.faults = {"number 5.": fault}
    judgments = run(timeout=0.15)
    outcome = judgments[5].outcome
    assert isinstance(outcome, Failure) and outcome.reason == reason
    assert judgments[5].score is None
    # The same wrong answer twice makes the third request the second again; it is a call of its own
    # all the same.
    assert stub.texts()["text number 5."] == asked
    assert judgments[5].calls and judgments[5].cost.calls == asked
    assert [j.score for j in judgments if j is not judgments[5]] == [
        score_of(i.text) for i in ITEMS if i.id != "i5"
    ]


@pytest.mark.parametrize("kind", ["off-scale", *UNREADABLE])
def test_an_unreadable_answer_is_asked_for_again_with_the_reason(
    run: Run, stub: StubServer, kind: str
) -> None:
    stub.faults = {"number 5.": Fault(kind)}
    judgments = run()
    right(judgments)
    assert judgments[5].cost.calls == 2
    retried = [r for r in stub.requests if r.text == "text number 5."][1].body[
        "messages"
    ]
    assert [m["role"] for m in retried] == ["system", "user", "assistant", "user"]


def test_raw_answers_are_in_the_journal(run: Run, stub: StubServer) -> None:
    stub.faults = {"number 5.": Fault("prose", times=None)}
    run()
    failed = next(j for j in run.kept() if j.item_id == "i5")
    assert (
        isinstance(failed.outcome, Failure)
        and failed.outcome.raw == "I would say about 70 of 100."
    )
    assert (
        failed.calls[0].reply["choices"][0]["message"]["content"]
        == "I would say about 70 of 100."
    )
    assert failed.calls[0].request["model"] == "stub"
    assert "text number 5." in failed.calls[0].request["messages"][-1]["content"]


def test_settled_failures_stay_and_lost_items_are_asked_again_on_resume(
    run: Run, stub: StubServer
) -> None:
    stub.faults = {
        "number 2.": Fault("refusal", times=None),
        "number 8.": Fault("status", times=None, body="{}"),
    }
    first = run()
    assert [j.outcome.reason for j in first if isinstance(j.outcome, Failure)] == [
        "refusal",
        "transport",
    ]
    stub.faults, before = {}, len(stub.requests)
    again = run()
    assert [r.text for r in stub.requests[before:]] == ["text number 8."]
    assert isinstance(again[2].outcome, Failure) and isinstance(
        again[8].outcome, Verdict
    )


@pytest.mark.parametrize("status", [302, 401, 403, 404, 418])
def test_a_resume_whose_open_texts_are_all_refused_ends_as_the_run_did(
    run: Run, stub: StubServer, status: int
) -> None:
    stub.faults = {"number 8.": Fault("status", times=None, body="{}")}
    run()
    stub.faults = {"number 8.": Fault("status", times=None, status=status, body="{}")}
    again = run()
    assert sum(isinstance(judgment.outcome, Verdict) for judgment in again) == 11
    assert (
        isinstance(again[8].outcome, Failure)
        and str(status) in again[8].outcome.message
    )


def test_the_cache_answers_a_rerun_without_a_single_call(
    run: Run, stub: StubServer, tmp_path: Path
) -> None:
    first = run()
    again = run(folder=tmp_path / "other")
    assert len(stub.requests) == 12
    assert [j.score for j in again] == [j.score for j in first]
    assert all(
        j.cost.calls == 0 and j.cost.cached == 1 and j.cost.usd == 0 for j in again
    )
    assert [j.calls[0].reply for j in again] == [j.calls[0].reply for j in first]


@pytest.mark.parametrize(
    ("budget", "said", "made"),
    [
        ({"max_calls": 5}, r"`engine\.max_calls` is 5 and 5 calls", 5),
        (
            {"max_usd": 0.3, "concurrency": 1},
            r"`engine\.max_usd` is 0\.3 .* 0\.3000 USD",
            3,
        ),
    ],
)
def test_a_budget_stops_exactly_there(
    run: Run, stub: StubServer, budget: dict[str, Any], said: str, made: int
) -> None:
    with pytest.raises(BudgetExceeded, match=said):
        run(**budget)
    assert len(stub.requests) == len(run.kept()) == made
    # 0.1 USD a call
    assert sum(j.cost.usd or 0 for j in run.kept()) == pytest.approx(made / 10)
    right(run())
    assert len(stub.requests) == 12


def test_a_budget_that_ends_between_the_samples_of_an_item_leaves_nothing_running(
    run: Run, stub: StubServer
) -> None:
    with pytest.raises(BudgetExceeded):
        run(samples=4, max_calls=10, concurrency=2)
    assert len(stub.requests) == 10 and len(run.kept()) == 2
    judgments = run(samples=4)
    right(judgments)
    # what was paid for the unfinished items came from the cache
    assert len(stub.requests) == 48


def test_a_server_that_went_away_ends_the_run_and_keeps_what_was_judged(
    run: Run, stub: StubServer
) -> None:
    stub.faults = {
        f"number {n}.": Fault("status", times=None, status=503, body="{}")
        for n in range(6, 12)
    }
    with pytest.raises(
        RunStopped, match=r"3 items in a row got no answer .* answered 503"
    ):
        run(stop_after=3, concurrency=1)
    kept = run.kept()
    assert [j.item_id for j in kept if j.score is not None] == [
        f"i{n}" for n in range(6)
    ]
    assert len(kept) == 9
    stub.faults = {}
    right(run())
    assert all(
        count == 1
        for text, count in stub.texts().items()
        if text in {i.text for i in ITEMS[:6]}
    )


def test_a_wrong_key_ends_the_run_with_one_message_and_shows_nowhere(
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    secret = "sk-" + 9 * "wr0ng"
    monkeypatch.setenv("STUB_KEY", secret)
    caplog.set_level(logging.DEBUG)
    stub.key = KEY
    with pytest.raises(
        ConfigError, match="The key in STUB_KEY was not accepted"
    ) as error:
        run(key_env="STUB_KEY")
    assert run.kept() == []
    monkeypatch.setenv("STUB_KEY", KEY)
    stub.faults = {
        "number 1.": Fault(
            "status", times=None, status=500, body=json.dumps({"error": f"bad {KEY}"})
        )
    }
    judgments = run(key_env="STUB_KEY")
    outcome = judgments[1].outcome
    assert isinstance(outcome, Failure) and re.search(r"bad <\w+>", outcome.message)
    files = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    shown = f"{error.value!r}{error.getrepr()}{caplog.text}{judgments}".encode() + files
    assert b"text number 1." in files  # the search looks at the right files
    for key in (secret, KEY):
        assert key.encode() not in shown


def test_killed_in_the_middle_nothing_answered_is_asked_twice(
    run: Run, stub: StubServer
) -> None:
    stub.latency = 0.1
    run.killed(6, concurrency=2)
    judged = {
        line["item_id"]
        for line in map(
            json.loads, run.path.read_text().splitlines(keepends=False)[:-1]
        )
    }
    assert len(judged) >= 2 and len(stub.requests) < 12
    stub.latency = 0.0
    right(run())
    twice = {text for text, count in stub.texts().items() if count > 1}
    # only what was in flight, unanswered, at the moment of the kill
    assert len(twice) <= 2
    assert not twice & {i.text for i in ITEMS if i.id in judged}


READABLE = (
    "a finish reason that is a list; an error that is a number; a NUL in the rationale; a cost"
    " below 0; a cost that is huge; a usage that is a list; an id that is an object; gzip that is"
    " good; the key in the rationale; the key, escaped; the key in a header; nesting that just"
    " passes; tokens that are huge; a score that is a text"
).split("; ")


def test_odd_answers_cost_their_items_alone(
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("STUB_KEY", KEY)
    stub.key = KEY
    odd = [Item(id=name, text=f"a text that gets {name}.") for name in odd_answers(KEY)]
    items = [
        each
        for n, one in enumerate(odd)
        for each in (Item(id=f"good {n}", text=f"text {n}."), one)
    ]
    stub.faults = {
        f"gets {name}.": Fault("hostile", times=None, body=name)
        for name in odd_answers(KEY)
    }
    by_id = {
        j.item_id: j
        for j in run(
            key_env="STUB_KEY", timeout=20, retries=1, concurrency=2, items=items
        )
    }
    good = {
        item.id: score_of(item.text) for item in items if item.id.startswith("good")
    }
    assert {name: by_id[name].score for name in good} == pytest.approx(good)
    assert {
        name for name in odd_answers(KEY) if isinstance(by_id[name].outcome, Verdict)
    } == set(READABLE)
    for judgment in by_id.values():
        if isinstance(outcome := judgment.outcome, Failure):
            assert outcome.reason in (
                "unparseable",
                "off_scale",
                "refusal",
                "transport",
            ), outcome
            assert len(outcome.message) < 2500 and len(outcome.raw or "") <= 100_000
        assert judgment.cost.calls >= 1
    stub.faults = {}
    again = {
        j.item_id: j
        for j in run(key_env="STUB_KEY", timeout=20, retries=0, items=items)
    }
    lost = {
        n
        for n, j in by_id.items()
        if isinstance(j.outcome, Failure) and j.outcome.reason == "transport"
    }
    assert {n for n, j in again.items() if j.outcome != by_id[n].outcome} == lost
    files = b"".join(p.read_bytes() for p in run.folder.rglob("*") if p.is_file())
    assert KEY.encode() not in files and KEY.encode("utf-16") not in files
    assert run.path.stat().st_size < 20_000_000
    assert "Traceback" not in capfd.readouterr().err


def breaking(how: Callable[[], Any], over: Collection[str]) -> type[ScoreJudge]:
    """A judge that breaks down over some items."""

    class Breaks(ScoreJudge):
        async def judge(self, item: Item) -> Verdict:
            verdict = await super().judge(item)
            return how() if item.id in over else verdict

    return Breaks


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda: {}["nothing"], ["KeyError: 'nothing'", Path(__file__).name]),
        (lambda: Verdict(score=math.nan), ["score"]),
        (lambda: None, []),
    ],
)
def test_a_judge_that_breaks_down_costs_its_items_alone_and_they_are_tried_again(
    run: Run, stub: StubServer, how: Callable[[], Any], said: list[str]
) -> None:
    judgments = run(judge=breaking(how, ("i3", "i4")))
    failed = {j.item_id: j.outcome for j in judgments if isinstance(j.outcome, Failure)}
    assert list(failed) == ["i3", "i4"]
    assert all(
        f.reason == "fault" and all(word in f.message for word in (*said, ".py:"))
        for f in failed.values()
    )
    assert all(j.cost.calls == 1 and j.calls for j in judgments)
    assert all(isinstance(j.outcome, Verdict) for j in run())
    assert len(stub.requests) == len(ITEMS)  # the answers were paid for once


def test_many_in_a_row_end_the_run_with_the_place(run: Run) -> None:
    place = r"(?s)5 items in a row .* broke down .* KeyError: 'nothing' in .*\.py:\d+"
    with pytest.raises(RunStopped, match=place) as error:
        run(
            judge=breaking(lambda: {}["nothing"], [item.id for item in ITEMS]),
            concurrency=1,
        )
    assert error.value.exit_status == 3 and len(run.kept()) == 5


def test_a_storm_of_faults_loses_nothing_and_pays_nothing_twice(
    tmp_path: Path, short_waits: None
) -> None:
    found = storm(150, in_flight=16, resumes=3, seed=3, folder=tmp_path, timeout=2)
    assert (found.lost, found.paid_twice, found.uncounted, found.untyped) == (
        0,
        0,
        0,
        0,
    ), found
    assert sum(found.faulty.values()) - found.faulty["none"] > 20
