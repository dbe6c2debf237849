"""Judging by the batches of providers: half the price, nothing sent twice, and what a batch did not answer."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import ITEMS, right
from tests.stub_server import KEY, Fault, StubServer
from undogmatic.config.build import build
from undogmatic.engine.batch import BATCHES, BatchEngine
from undogmatic.engine.journal import Journals
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ConfigError, RunStopped
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.base import Model
from undogmatic.models.hosted import ChatModel, Price
from undogmatic.models.providers import AnthropicModel
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.records import Failure, Item, Judgment, Provenance

PRICE = Price(input=1000, output=0)


class Batched:
    """The whole path by batches, over one stub server; each call is a process of its own, as it were."""

    def __init__(self, stub: StubServer, prompt: Any, rubric: Any, provenance: Provenance, folder: Path) -> None:
        self.stub, self.prompt, self.rubric, self.provenance, self.folder = stub, prompt, rubric, provenance, folder

    def __call__(self, model: Model | None = None, items: Any = ITEMS, **engine: Any) -> list[Judgment]:
        model = model or ChatModel("stub", self.stub.url + "/v1", price=PRICE, batch=True)
        readout = StructuredReadout()
        readout.bind(model, self.prompt, self.rubric)
        step = JudgeStep(ScoreJudge(readout), self.provenance)
        parts = Parts(self.rubric, self.prompt, model, readout, (step,))
        options = {"poll": 0.02, "cache": False, "backoff": 0.01} | engine
        work = BatchEngine(**options).arun(Recipe({}, parts), items, Journals(self.folder))
        return asyncio.run(work)[1]

    def anthropic(self) -> AnthropicModel:
        return AnthropicModel("claude-stub", self.stub.url, key_env="STUB_KEY", price=PRICE)

    def noted(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / BATCHES).read_text().splitlines()]


@pytest.fixture
def batched(
    stub: StubServer, prompt: Any, rubric: Any, provenance: Provenance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Batched:
    monkeypatch.setenv("STUB_KEY", KEY)
    return Batched(stub, prompt, rubric, provenance, tmp_path)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_one_batch_gives_the_scores_of_single_calls_for_half_the_price(batched: Batched, provider: str) -> None:
    batched.stub.batch_seconds = 0.1
    judgments = batched(batched.anthropic() if provider == "anthropic" else None)
    right(judgments)
    assert [judgment.cost.usd for judgment in judgments] == [0.05] * len(ITEMS)  # 100 tokens at 1,000 USD a million
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))
    batched(batched.anthropic() if provider == "anthropic" else None)
    assert len(batched.stub.batches) == 1


def test_an_answer_that_cannot_be_read_is_asked_for_again_in_the_next_batch(batched: Batched) -> None:
    batched.stub.faults = {ITEMS[1].text: Fault("prose"), ITEMS[3].text: Fault("prose")}
    right(batched())
    assert [len(batch.requests) for batch in batched.stub.batches.values()] == [len(ITEMS), 2]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_run_that_was_killed_asks_for_the_batch_that_it_has(batched: Batched, provider: str, kept: int) -> None:
    """After the first line nothing was known of whether the batch was sent; after the second, its id; then its end."""
    model = batched.anthropic if provider == "anthropic" else lambda: None
    batched(model())
    notes = batched.folder / BATCHES
    notes.write_text("".join(notes.read_text().splitlines(keepends=True)[:kept]))
    (batched.folder / "judgments.jsonl").unlink()
    right(batched(model()))
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))


def test_a_batch_that_was_noted_and_never_sent_is_sent_once_and_counted_once(batched: Batched) -> None:
    batched()
    notes = batched.folder / BATCHES
    notes.write_text(notes.read_text().splitlines(keepends=True)[0])
    (batched.folder / "judgments.jsonl").unlink()
    batched.stub.batches.clear()
    right(batched(max_calls=len(ITEMS)))
    assert len(batched.stub.batches) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("fault", "answered", "said"),
    [
        ("expired", 6, "expired"),
        ("cancelled", 6, "cancelled"),
        ("half", 6, "without an answer"),
        ("lost", 0, "any more"),
    ],
)
def test_what_a_batch_did_not_answer_is_said_and_asked_for_when_the_run_goes_on(
    batched: Batched, provider: str, fault: str, answered: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = batched.anthropic if provider == "anthropic" else lambda: None
    batched.stub.batch_fault = fault
    judgments = batched(model())
    assert sum(judgment.score is not None for judgment in judgments) == answered
    failed = [judgment.outcome for judgment in judgments if judgment.score is None]
    assert all(outcome.reason == "transport" and said in outcome.message for outcome in failed)  # type: ignore
    assert f"{len(failed)} of {len(ITEMS)} questions got no answer" in capsys.readouterr().err
    batched.stub.batch_fault = ""
    if fault == "lost":
        batched.stub.batches.clear()
    right(batched(model()))
    assert len(batched.stub.requests) == len(ITEMS) + len(failed)


def test_a_batch_without_an_end_stops_the_run_and_is_asked_for_again(batched: Batched) -> None:
    batched.stub.batch_fault = "never"
    with pytest.raises(RunStopped, match=r"batch batch_0 has not ended 0\.1 s after .*\(engine\.wait\).*run\.resume="):
        batched(wait=0.1)
    batched.stub.batch_fault = ""
    right(batched())
    assert len(batched.stub.batches) == 1


@pytest.mark.parametrize(
    ("broken", "reason"), [("models.batches.OpenAIBatches._state", "transport"), ("engine.batch._Desk._ended", "fault")]
)
def test_a_fault_of_the_program_is_not_called_one_of_the_provider(
    batched: Batched, broken: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is left waiting, and in both cases the batch is asked for again."""
    with monkeypatch.context() as patched:
        patched.setattr(f"undogmatic.{broken}", lambda *given: 1 / 0)
        failures = [judgment.outcome for judgment in batched()]
    assert {failure.reason for failure in failures if isinstance(failure, Failure)} == {reason}
    right(batched())
    assert len(batched.stub.batches) == 1


def test_a_full_budget_sends_what_is_left_of_it(batched: Batched) -> None:
    with pytest.raises(RunStopped, match=r"engine\.max_calls"):
        batched(max_calls=5)
    assert len(batched.stub.requests) == 5
    right(batched(max_calls=len(ITEMS)))
    assert len(batched.stub.requests) == len(ITEMS)


def test_batches_never_take_more_money_than_there_is(batched: Batched, capsys: pytest.CaptureFixture[str]) -> None:
    """What a question costs is known after the first answer; before, as many are sent as the budget pays for surely."""
    cheap = Price(input=100, output=0)  # 0.005 USD for the 100 tokens that the stub counts, at most 0.1 by its length
    model = ChatModel("stub", batched.stub.url + "/v1", price=cheap, batch=True)
    with pytest.raises(RunStopped, match=r"`engine.max_usd` is 0.052, 0.0500 USD were spent"):
        batched(model, max_usd=0.052)
    sizes = [len(batch.requests) for batch in batched.stub.batches.values()]
    assert sum(sizes) == 10 and len(sizes) == 2
    assert f"sure to pay for {sizes[0]} of {len(ITEMS)} questions" in capsys.readouterr().err


def test_a_question_that_may_cost_more_than_is_left_is_not_sent(batched: Batched) -> None:
    with pytest.raises(
        RunStopped, match=r"`engine.max_usd` is 0.03, 0.0000 USD were spent, and one more .* may cost 0"
    ):
        batched(max_usd=0.03)
    assert not batched.stub.batches


def test_items_that_ask_the_same_share_one_answer_and_its_price(batched: Batched) -> None:
    same = [Item(id=id, text="the same text") for id in ("a", "b")]
    assert [judgment.cost.usd for judgment in batched(items=same)] == [0.05, 0.0]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_two_answers_to_one_question_that_differ_are_none(
    batched: Batched, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answer twice is one."""
    results = StubServer._results

    def twice(stub: StubServer, batch: Any) -> bytes:
        first, *others = results(stub, batch).splitlines()
        return b"\n".join([first, *others, first.replace(b"Stub.", b"Other."), *others])

    model = batched.anthropic if provider == "anthropic" else lambda: None
    with monkeypatch.context() as patched:
        patched.setattr(StubServer, "_results", twice)
        failed = [judgment.outcome for judgment in batched(model()) if isinstance(judgment.outcome, Failure)]
    assert [failure.reason for failure in failed] == ["transport"] and "two answers" in failed[0].message
    batched.stub.batches.clear()
    right(batched(model()))


def test_a_key_that_was_not_accepted_in_a_batch_may_be_corrected(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = StubServer._results
    with monkeypatch.context() as patched:
        refused = lambda *given: results(*given).replace(b'"status_code": 200', b'"status_code": 401')  # noqa: E731
        patched.setattr(StubServer, "_results", refused)
        with pytest.raises(ConfigError, match="answered 401"):
            batched()
    right(batched())


def test_who_has_no_batches_is_named_before_anything_is_sent(batched: Batched) -> None:
    with pytest.raises(ConfigError, match=r"stub@.* has no batch interface .* engine=local"):
        batched(ChatModel("stub", batched.stub.url + "/v1"))
    assert not batched.stub.requests
    batched.stub.batch_fault = "failed"
    with pytest.raises(ConfigError, match=r"refused the batch batch_0 \(no such model\)"):
        batched()


@pytest.mark.parametrize(("key", "value"), [("poll", 0), ("wait", 0), ("size", 0), ("size", 50_001)])
def test_senseless_settings_are_named(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"engine.{key}"):
        build({"_target_": "undogmatic.engine.batch.BatchEngine", key: value}, "engine")
