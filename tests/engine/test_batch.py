"""Judging by the batches of providers: half the price, nothing sent twice, and what a batch did not
answer."""

import asyncio
import gzip
import json
import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import hostile
from tests.engine.conftest import ITEMS, built, right
from tests.stub_server import KEY, Fault, StubServer
from undogmatic.config.build import build
from undogmatic.engine.batch import BATCHES, QUIET
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
    """The whole path by batches, over one stub server; each call is a process of its own, as it
    were."""

    def __init__(
        self,
        stub: StubServer,
        prompt: Any,
        rubric: Any,
        provenance: Provenance,
        folder: Path,
    ) -> None:
        self.stub, self.prompt, self.rubric, self.provenance, self.folder = (
            stub,
            prompt,
            rubric,
            provenance,
            folder,
        )

    def __call__(
        self, model: Model | None = None, items: Any = ITEMS, **engine: Any
    ) -> list[Judgment]:
        return asyncio.run(self.engine(model, items, **engine))

    async def engine(
        self, model: Model | None = None, items: Any = ITEMS, **engine: Any
    ) -> list[Judgment]:
        model = model or self.openai()
        readout = StructuredReadout()
        readout.bind(model, self.prompt, self.rubric)
        step = JudgeStep(ScoreJudge(readout), self.provenance)
        parts = Parts(self.rubric, self.prompt, model, readout, (step,))
        options = {"poll": 0.02, "cache": False, "backoff": 0.01} | engine
        found = await built("batch", **options).arun(
            Recipe({}, parts), items, Journals(self.folder)
        )
        return list(found[1])

    def openai(self) -> ChatModel:
        return ChatModel("stub", self.stub.url + "/v1", price=PRICE, batch=True)

    def anthropic(self) -> AnthropicModel:
        return AnthropicModel(
            "claude-stub", self.stub.url, key_env="STUB_KEY", price=PRICE
        )

    def noted(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for line in (self.folder / BATCHES).read_text().splitlines()
        ]


@pytest.fixture
def batched(
    stub: StubServer,
    prompt: Any,
    rubric: Any,
    provenance: Provenance,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Batched:
    monkeypatch.setenv("STUB_KEY", KEY)
    # Twelve questions are all asked within some milliseconds, and each test sends two batches.
    monkeypatch.setattr("undogmatic.engine.batch.QUIET", QUIET / 4)
    return Batched(stub, prompt, rubric, provenance, tmp_path)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_one_batch_gives_the_scores_of_single_calls_for_half_the_price(
    batched: Batched, provider: str
) -> None:
    batched.stub.batch_seconds = 0.1
    judgments = batched(batched.anthropic() if provider == "anthropic" else None)
    right(judgments)
    # 100 tokens at 1,000 USD a million
    assert [judgment.cost.usd for judgment in judgments] == [0.05] * len(ITEMS)
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))
    batched(batched.anthropic() if provider == "anthropic" else None)
    assert len(batched.stub.batches) == 1


def test_an_answer_that_cannot_be_read_is_asked_for_again_in_the_next_batch(
    batched: Batched,
) -> None:
    batched.stub.faults = {ITEMS[1].text: Fault("prose"), ITEMS[3].text: Fault("prose")}
    right(batched())
    assert [len(batch.requests) for batch in batched.stub.batches.values()] == [
        len(ITEMS),
        2,
    ]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_run_that_was_killed_asks_for_the_batch_that_it_has(
    batched: Batched, provider: str, kept: int
) -> None:
    """After the first line nothing was known of whether the batch was sent; after the second, its
    id; then its end."""
    model = batched.anthropic if provider == "anthropic" else lambda: None
    batched(model())
    notes = batched.folder / BATCHES
    notes.write_text("".join(notes.read_text().splitlines(keepends=True)[:kept]))
    (batched.folder / "judgments.jsonl").unlink()
    right(batched(model()))
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))


def test_a_batch_that_was_noted_and_never_sent_is_sent_once_and_counted_once(
    batched: Batched,
) -> None:
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
    batched: Batched,
    provider: str,
    fault: str,
    answered: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = batched.anthropic if provider == "anthropic" else lambda: None
    batched.stub.batch_fault = fault
    judgments = batched(model())
    assert sum(judgment.score is not None for judgment in judgments) == answered
    failed = [judgment.outcome for judgment in judgments if judgment.score is None]
    assert all(
        outcome.reason == "transport" and said in outcome.message for outcome in failed
    )  # type: ignore
    assert (
        f"{len(failed)} of {len(ITEMS)} questions got no answer"
        in capsys.readouterr().err
    )
    batched.stub.batch_fault = ""
    if fault == "lost":
        batched.stub.batches.clear()
    right(batched(model()))
    assert len(batched.stub.requests) == len(ITEMS) + len(failed)


def test_a_batch_without_an_end_stops_the_run_and_is_asked_for_again(
    batched: Batched,
) -> None:
    batched.stub.batch_fault = "never"
    with pytest.raises(
        RunStopped,
        match=r"batch batch_0 has not ended 0\.1 s after .*\(engine\.wait\).*run\.resume=",
    ):
        batched(wait=0.1)
    batched.stub.batch_fault = ""
    right(batched())
    assert len(batched.stub.batches) == 1


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("models.batches.OpenAIBatches._state", "transport"),
        ("engine.batch._Desk._ended", "fault"),
    ],
)
def test_a_fault_of_the_program_is_not_called_one_of_the_provider(
    batched: Batched, broken: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is left waiting, and in both cases the batch is asked for again."""
    with monkeypatch.context() as patched:
        patched.setattr(f"undogmatic.{broken}", lambda *given: 1 / 0)
        failures = [judgment.outcome for judgment in batched()]
    assert {failure.reason for failure in failures if isinstance(failure, Failure)} == {
        reason
    }
    right(batched())
    assert len(batched.stub.batches) == 1


def test_a_full_budget_sends_what_is_left_of_it(batched: Batched) -> None:
    with pytest.raises(RunStopped, match=r"engine\.max_calls"):
        batched(max_calls=5)
    assert len(batched.stub.requests) == 5
    right(batched(max_calls=len(ITEMS)))
    assert len(batched.stub.requests) == len(ITEMS)


def test_batches_never_take_more_money_than_there_is(
    batched: Batched, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a question costs is known after the first answer; before, as many are sent as the budget
    pays for surely."""
    # 0.005 USD for the 100 tokens that the stub counts, at most 0.1 by its length
    cheap = Price(input=100, output=0)
    model = ChatModel("stub", batched.stub.url + "/v1", price=cheap, batch=True)
    with pytest.raises(
        RunStopped, match=r"`engine.max_usd` is 0.052, 0.0500 USD were spent"
    ):
        batched(model, max_usd=0.052)
    sizes = [len(batch.requests) for batch in batched.stub.batches.values()]
    assert sum(sizes) == 10 and len(sizes) == 2
    assert (
        f"sure to pay for {sizes[0]} of {len(ITEMS)} questions"
        in capsys.readouterr().err
    )


def test_a_question_that_may_cost_more_than_is_left_is_not_sent(
    batched: Batched,
) -> None:
    with pytest.raises(
        RunStopped,
        match=r"`engine.max_usd` is 0.03, 0.0000 USD were spent, and one more .* may cost 0",
    ):
        batched(max_usd=0.03)
    assert not batched.stub.batches


def test_items_that_ask_the_same_share_one_answer_and_its_price(
    batched: Batched,
) -> None:
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
        failed = [
            judgment.outcome
            for judgment in batched(model())
            if isinstance(judgment.outcome, Failure)
        ]
    assert [failure.reason for failure in failed] == [
        "transport"
    ] and "two answers" in failed[0].message
    batched.stub.batches.clear()
    right(batched(model()))


def test_a_key_that_was_not_accepted_in_a_batch_may_be_corrected(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = StubServer._results
    with monkeypatch.context() as patched:

        def refused(*given: Any) -> bytes:
            return results(*given).replace(b'"status_code": 200', b'"status_code": 401')

        patched.setattr(StubServer, "_results", refused)
        with pytest.raises(ConfigError, match="answered 401"):
            batched()
    right(batched())


def test_who_has_no_batches_is_named_before_anything_is_sent(batched: Batched) -> None:
    with pytest.raises(
        ConfigError, match=r"stub@.* has no batch interface .* engine=local"
    ):
        batched(ChatModel("stub", batched.stub.url + "/v1"))
    assert not batched.stub.requests
    batched.stub.batch_fault = "failed"
    with pytest.raises(
        ConfigError, match=r"refused the batch batch_0 \(no such model\)"
    ):
        batched()


@pytest.mark.parametrize(
    ("key", "value"), [("poll", 0), ("wait", 0), ("size", 0), ("size", 50_001)]
)
def test_senseless_settings_are_named(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"engine.{key}"):
        build({"_target_": "undogmatic.engine.batch.BatchEngine", key: value}, "engine")


PROVIDERS = pytest.mark.parametrize("provider", ["openai", "anthropic"])


def model_of(batched: Batched, provider: str) -> Model | None:
    return batched.anthropic() if provider == "anthropic" else None


def reasons(judgments: list[Judgment]) -> dict[str, str]:
    """Why each item without a score has none."""
    outcomes = {judgment.item_id: judgment.outcome for judgment in judgments}
    return {
        item: outcome.reason
        for item, outcome in outcomes.items()
        if isinstance(outcome, Failure)
    }


UNUSABLE = [
    b"{}",
    b'{"id": null}',
    b'{"id": 7}',
    b'{"id": ""}',
    b'{"id": ["batch_0"]}',
    b'{"id": true}',
    b'{"id": "../batches/batch_0"}',
    b'{"id": "batch 0?x=1#"}',
    '{"id": "batch_\u0660"}'.encode(),
    b'{"id": "%s"}' % (b"b" * 5000),
    b'{"id": "batch_0"',
    b"null",
    b"",
    b"<html><body>Please log in</body></html>",
    b'{"error": {"message": "upstream died", "code": 502}}',
    b" " * 4_000_001,
]


@PROVIDERS
@pytest.mark.parametrize("reply", UNUSABLE, ids=lambda reply: repr(reply[:40]))
def test_a_batch_whose_id_cannot_be_used_is_found_by_its_mark_and_never_sent_again(
    batched: Batched, provider: str, reply: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was answered, so each question in it is paid for."""
    batched.stub.batch_reply = reply
    right(batched(model_of(batched, provider)))
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))
    assert "looked for by its mark" in capsys.readouterr().err


@PROVIDERS
def test_a_batch_that_was_taken_and_is_not_listed_stops_the_run_and_is_not_sent_again(
    batched: Batched, provider: str
) -> None:
    batched.stub.batch_reply, batched.stub.batch_listed = b"{}", False
    for _ in range(2):  # neither now nor when the run goes on
        with pytest.raises(
            RunStopped, match=r"not sent again.*run\.resume=.*delete the lines with"
        ):
            batched(model_of(batched, provider), poll=0.001)
    assert len(batched.stub.requests) == len(ITEMS)
    batched.stub.batch_listed = True
    right(batched(model_of(batched, provider)))
    assert len(batched.stub.requests) == len(ITEMS)


def test_whoever_deletes_the_note_of_a_batch_has_it_sent_anew(batched: Batched) -> None:
    batched.stub.batch_reply, batched.stub.batch_listed = b"{}", False
    with pytest.raises(RunStopped):
        batched(poll=0.001)
    (batched.folder / BATCHES).unlink()
    batched.stub.batch_reply, batched.stub.batch_listed = None, True
    batched.stub.batches.clear()
    right(batched())


def test_a_file_of_questions_whose_id_cannot_be_used_costs_nothing_and_is_sent_again(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, told = StubServer._upload, iter([b"{}", b"<html>", b'{"id": 5}'])

    async def odd(stub: StubServer, request: Any) -> Any:
        kept = await upload(stub, request)
        return (
            hostile.response(hostile.Odd(body))
            if (body := next(told, None)) is not None
            else kept
        )

    monkeypatch.setattr(StubServer, "_upload", odd)
    right(batched())
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))


def test_a_batch_that_is_refused_stops_the_run_and_blames_no_text(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answered well before, so that a refusal of one call would be that call's own
    failure."""

    async def refuse(*given: Any) -> Any:
        return hostile.response(
            hostile.Odd(b'{"error": {"message": "no room for more"}}', 400)
        )

    batched(items=ITEMS[:2])
    with monkeypatch.context() as patched:
        patched.setattr(StubServer, "_make_batch", refuse)
        with pytest.raises(
            RunStopped, match=r"refused: .*no room for more[\s\S]*run\.resume="
        ):
            batched()
    right(batched())
    assert len(batched.stub.requests) == len(ITEMS)


ODD_LOOKS = [
    b"<html>",
    b"[]",
    b"",
    b"null",
    b'{"id": [], "request_counts": [1], "data": {}}',
]


@PROVIDERS
@pytest.mark.parametrize("odd", ODD_LOOKS)
def test_an_odd_reply_to_a_look_costs_nothing(
    batched: Batched, provider: str, odd: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither while the batch is looked for or waited for, nor when its answers are fetched: all of
    it is paid."""
    batched.stub.batch_reply = b"{}"
    for name, reply in (
        ("_show_batch", odd),
        ("_list_batches", odd),
        ("_content", b"<html>"),
    ):
        shown, left = getattr(StubServer, name), [2]

        async def first(
            stub: StubServer,
            request: Any,
            shown: Any = shown,
            left: Any = left,
            reply: Any = reply,
        ) -> Any:
            left[0] -= 1
            return (
                hostile.response(hostile.Odd(reply))
                if left[0] >= 0
                else await shown(stub, request)
            )

        monkeypatch.setattr(StubServer, name, first)
    right(batched(model_of(batched, provider)))
    assert len(batched.stub.requests) == len(ITEMS)


@PROVIDERS
def test_a_provider_that_stays_odd_stops_the_run_and_its_batch_is_kept(
    batched: Batched, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def page(*given: Any) -> Any:
        return hostile.response(hostile.Odd(b"<html>"))

    with monkeypatch.context() as patched:
        patched.setattr(StubServer, "_content", page)
        with pytest.raises(
            RunStopped,
            match=r"could not be looked at: .*a page in place of the answers",
        ):
            batched(model_of(batched, provider), poll=0.001)
    right(batched(model_of(batched, provider)))
    assert len(batched.stub.requests) == len(ITEMS)


def test_a_list_without_an_end_is_left(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same page again and again, and each says that there are more."""

    async def again(stub: StubServer, request: Any) -> Any:
        row = {"id": "batch_x", "created_at": 4_000_000_000, "metadata": ["no mapping"]}
        return hostile.response(
            hostile.Odd(json.dumps({"data": [None, row], "has_more": True}).encode())
        )

    batched.stub.batch_reply = b"{}"
    monkeypatch.setattr(StubServer, "_list_batches", again)
    with pytest.raises(RunStopped, match="does not list it"):
        batched(poll=0.001)


def spoilt(spoil: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], hostile.Odd]:
    """A file of answers in which the first line is another one: what `spoil` makes of it, as JSON
    or as bytes."""

    def sent(content: bytes) -> hostile.Odd:
        first, *others = content.splitlines()
        odd = spoil(json.loads(first))
        lines = [odd if isinstance(odd, bytes) else json.dumps(odd).encode(), *others]
        return hostile.Odd(b"\n".join(lines))

    return sent


def body(row: dict[str, Any], value: Any) -> dict[str, Any]:
    """The line with another body of its answer."""
    if "result" in row:
        return row | {"result": row["result"] | {"message": value}}
    return row | {"response": row["response"] | {"body": value}}


ODD_LINES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no JSON": (lambda row: b"<?xml>no JSON", "transport"),
    "no JSON after its id": (
        lambda row: json.dumps({"custom_id": row["custom_id"]}).encode()[:-1],
        "unparseable",
    ),
    "half a line": (lambda row: json.dumps(row).encode()[:-9], "unparseable"),
    "bytes that are no text": (
        lambda row: json.dumps(row).encode().replace(b"Stub", b"\xff\xfe"),
        "unparseable",
    ),
    "a list": (lambda row: [row], "transport"),
    "an unknown id": (lambda row: row | {"custom_id": "somebody-elses"}, "transport"),
    "an unknown id of this batch": (
        lambda row: row | {"custom_id": "x" + row["custom_id"]},
        "transport",
    ),
    "an id that is no text": (lambda row: row | {"custom_id": {"a": 1}}, "transport"),
    "no id": (
        lambda row: {key: value for key, value in row.items() if key != "custom_id"},
        "transport",
    ),
    "a huge line": (lambda row: row | {"x": "y" * 5_000_000}, "unparseable"),
    "a deep line": (
        lambda row: (
            json.dumps(row).encode()[:-1]
            + b', "x": '
            + b"[" * 9000
            + b"]" * 9000
            + b"}"
        ),
        "unparseable",
    ),
    "a body that is null": (lambda row: body(row, None), "unparseable"),
    "a body that is a list": (lambda row: body(row, []), "unparseable"),
    "a body that is empty": (lambda row: body(row, {}), "unparseable"),
    "an error in the body": (
        lambda row: body(row, {"error": {"message": "busy", "code": 503}}),
        "transport",
    ),
    "an error of the key in the body": (
        lambda row: body(row, {"error": {"message": "no", "code": 401}}),
        "transport",
    ),
    "an error that is odd": (lambda row: body(row, {"error": [1, None]}), "transport"),
    "no outcome": (lambda row: {"custom_id": row["custom_id"]}, "transport"),
    "an outcome that is null": (
        lambda row: row | {"response": None, "result": None, "error": None},
        "transport",
    ),
    "an error that is a text": (
        lambda row: {"custom_id": row["custom_id"], "error": "gone"},
        "transport",
    ),
    "an error that is a list": (
        lambda row: {
            "custom_id": row["custom_id"],
            "error": [1],
            "result": {"type": "errored", "error": [1]},
        },
        "transport",
    ),
}


@PROVIDERS
@pytest.mark.parametrize("name", ODD_LINES)
def test_one_odd_answer_is_the_failure_of_its_item_alone(
    batched: Batched, provider: str, name: str
) -> None:
    """With its kind: of what could not be read the judge asks again, as it does of a single
    call."""
    spoil, reason = ODD_LINES[name]
    batched.stub.batch_sends = spoilt(spoil)
    judgments = batched(model_of(batched, provider))
    odd = reasons(judgments)
    assert set(odd.values()) == {reason} and len(odd) == 1
    # The next batches hold that one question alone, whose answer is the odd line again.
    assert [len(batch.requests) for batch in batched.stub.batches.values()][1:] in (
        [],
        [1],
        [1, 1],
    )
    batched.stub.batch_sends = None
    if reason == "transport":
        right(batched(model_of(batched, provider)))


@pytest.mark.parametrize(
    "status",
    [0, -1, True, None, "200", 99, 10**9, 302, 401, 404, 429, 500, 999],
    ids=lambda status: f"status {status}",
)
def test_an_answer_with_an_odd_status_is_the_failure_of_its_item_alone(
    batched: Batched, status: Any
) -> None:
    batched.stub.batch_sends = spoilt(
        lambda row: row | {"response": row["response"] | {"status_code": status}}
    )
    odd = reasons(batched())
    assert list(odd.values()) == ["transport"]


def test_the_good_one_of_two_answers_counts_wherever_the_other_stands(
    batched: Batched,
) -> None:
    def twice(content: bytes) -> hostile.Odd:
        first, second, *others = content.splitlines()
        odd = [first[:-5], json.dumps(json.loads(second) | {"response": None}).encode()]
        return hostile.Odd(b"\n".join([odd[0], first, second, odd[1], *others]))

    batched.stub.batch_sends = twice
    right(batched())
    assert len(batched.stub.batches) == 1


def packed(content: bytes, form: str) -> hostile.Odd:
    pack = zlib.compressobj(
        9, zlib.DEFLATED, {"gzip": 31, "deflate": 15, "raw": -15}[form]
    )
    name = "gzip" if form == "gzip" else "deflate"
    return hostile.Odd(
        pack.compress(content) + pack.flush(), headers={"Content-Encoding": name}
    )


@PROVIDERS
@pytest.mark.parametrize("form", ["gzip", "deflate", "raw"])
def test_answers_that_are_packed_are_read(
    batched: Batched, provider: str, form: str
) -> None:
    batched.stub.batch_sends = lambda content: packed(content, form)
    right(batched(model_of(batched, provider)))


def test_answers_that_are_packed_one_after_the_other_are_read(batched: Batched) -> None:
    def members(content: bytes) -> hostile.Odd:
        parts = [gzip.compress(line + b"\n") for line in content.splitlines()]
        return hostile.Odd(
            b"".join(parts) + bytes(512), headers={"Content-Encoding": "gzip"}
        )

    batched.stub.batch_sends = members
    right(batched())


def test_packed_answers_that_break_off_are_fetched_again(batched: Batched) -> None:
    """What is missing at their end was answered, and paid for."""
    left = [2]

    def cut(content: bytes) -> hostile.Odd:
        whole = packed(content, "gzip")
        left[0] -= 1
        return whole._replace(body=whole.body[:-40]) if left[0] >= 0 else whole

    batched.stub.batch_sends = cut
    right(batched())
    assert len(batched.stub.requests) == len(ITEMS)


@PROVIDERS
@pytest.mark.parametrize(
    "filling", [b"x", b"\n", b"\r\n", b'{"custom_id": "x"}\n', b" "], ids=repr
)
def test_answers_that_fill_the_memory_when_unpacked_are_bounded(
    batched: Batched, provider: str, filling: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is lowered here; what was read before it counts, and what follows is said to be
    missing."""
    monkeypatch.setattr("undogmatic.models.batches.LONGEST_RESULTS", 60_000_000)
    monkeypatch.setattr("undogmatic.models.batches.STRANGE_LINES", 100)

    def bomb(content: bytes) -> hostile.Odd:
        pack = zlib.compressobj(9, zlib.DEFLATED, 31)
        lines = content.splitlines(keepends=True)
        parts = [pack.compress(b"".join(lines[:4]) + b"\n")]
        parts += [
            pack.compress(filling * (1_000_000 // len(filling))) for _ in range(100)
        ]
        parts += [pack.compress(b"\n" + b"".join(lines[4:])), pack.flush()]
        return hostile.Odd(b"".join(parts), headers={"Content-Encoding": "gzip"})

    batched.stub.batch_sends = bomb
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    odd = reasons(batched(model_of(batched, provider)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert list(odd.values()) == ["transport"] * 8
    assert grown < 60_000, "in kB: less than what it would take unpacked"
    batched.stub.batch_sends = None
    right(batched(model_of(batched, provider)))


def test_answers_that_are_too_large_together_are_bounded(
    batched: Batched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("undogmatic.models.batches.ROOM", 2000)
    monkeypatch.setattr("undogmatic.models.batches.ROOM_EACH", 0)
    judgments = batched()
    odd = [
        judgment.outcome
        for judgment in judgments
        if isinstance(judgment.outcome, Failure)
    ]
    assert 0 < len(odd) < len(ITEMS)
    assert all(
        outcome.reason == "transport" and "engine.size=" in outcome.message
        for outcome in odd
    )


@PROVIDERS
def test_a_batch_that_does_not_show_its_mark_yet_is_waited_for(
    batched: Batched, provider: str
) -> None:
    """Anthropic's list shows no marks, so that only the answers of a batch that has ended tell
    whose it is."""
    batched.stub.batch_seconds, batched.stub.batch_reply = 0.3, b"{}"
    right(batched(model_of(batched, provider)))
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))


STAGES = {
    "before it is made": "_make_batch",
    "before its id is known": "_make_batch",
    "while it is waited for": "_show_batch",
    "while its answers are fetched": "_content",
}


@PROVIDERS
@pytest.mark.parametrize("stage", STAGES)
def test_nothing_of_a_batch_is_paid_twice_wherever_the_run_ends(
    batched: Batched, provider: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, reached = STAGES[stage], asyncio.Event()
    handle = getattr(StubServer, name)

    async def never(stub: StubServer, request: Any) -> Any:
        if stage == "before its id is known":
            await handle(stub, request)
        run.call_soon_threadsafe(reached.set)
        await asyncio.sleep(3600)

    async def cut() -> None:
        nonlocal run
        run = asyncio.get_running_loop()
        model = model_of(batched, provider) or batched.openai()
        judging = run.create_task(batched.engine(model))
        await asyncio.wait_for(reached.wait(), 30)
        assert not judging.done()
        under_way = [
            task for task in asyncio.all_tasks() if task is not asyncio.current_task()
        ]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await model.close()

    run: Any = None
    with monkeypatch.context() as patched:
        patched.setattr(StubServer, name, never)
        asyncio.run(cut())
    right(batched(model_of(batched, provider)))
    assert (len(batched.stub.batches), len(batched.stub.requests)) == (1, len(ITEMS))
