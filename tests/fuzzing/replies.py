"""The door of answers: what a server sends, in each wire format and for each way of asking, down to
the journal's line.

Good replies with any node replaced by anything, and bodies that are no JSON, go through the reading
of bodies, the checks, the readout or judge style and the journal; and a second time through the
cache.
"""

import asyncio
import functools
import hashlib
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hypothesis import strategies as st

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.fuzzing import watched
from tests.fuzzing._values import ODD_TEXTS, folder, odd, spoiled, written
from tests.stub_server import StubServer, judged_text
from undogmatic.config.door import compose_config
from undogmatic.engine import journal
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.records.limits import PacedLimits
from undogmatic.records.records import Failure, Item, Judgment

COUNT = 80
WAYS = {
    "structured": ["model=gpt"],
    "claude": ["model=claude"],
    "openrouter": ["model=openrouter", "model.name=a/b"],
    "logprobs": ["model=gpt", "readout=logprobs"],
    "decision": ["model=decision"],
    "samples": ["model=gpt", "readout=samples", "readout.n=2"],
    **{
        style: ["model=gpt", f"judge={style}"]
        for style in ("debate", "distributional", "red_blue", "single_pass")
    },
    "devils_advocate": ["model=gpt", "judge=devils_advocate"],
    "levels": ["model=gpt", "readout=logprobs", "judge=debate"],
}
"""How to ask, as overrides."""
REFUSAL = {"error": {"message": "m", "code": 1}, "detail": [{"loc": [1], "msg": ""}]}


class Answer(NamedTuple):
    """What the server sends to one of the calls for an item; the others are answered well.

    Attributes:
        way: Of asking.
        body, status, headers: What comes back.
        call: To which call, from 0.
        answered: Whether the server has answered well before.
    """

    way: str
    body: bytes
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012
    call: int = 0
    answered: bool = True


@functools.cache
def parts(way: str) -> Parts:
    return Recipe(
        compose_config([*WAYS[way], "model.key_env=null", "tracking=none"])
    ).build()


@functools.cache
def cache() -> ReplyCache:
    return ReplyCache(folder())


@functools.cache
def good(way: str) -> list[dict[str, Any]]:
    """The replies to the calls for one item."""
    replies: list[dict[str, Any]] = []

    def answer(reply: bytes) -> dict[str, Any]:
        replies.append(json.loads(reply))
        return replies[-1]

    judgments = judged(
        way, "a text", answer, gateway=Gateway(limits=PacedLimits(retries=0))
    )
    assert all(j.score is not None for j in judgments), judgments[0].outcome
    return replies


def judged(
    way: str, text: str, answer: Callable[[bytes], Any], gateway: Gateway
) -> list[Judgment]:
    """Judge a text; `answer` is given each good body and says what is read instead."""
    built, stub = parts(way), StubServer()
    model: Any = built.model

    async def post(payload: dict[str, Any]) -> Any:
        path = urlsplit(model.client.url).path
        return answer(
            json.dumps(stub._answer(path, payload, judged_text(payload), None)).encode()
        )

    async def ask() -> list[Judgment]:
        with built.asking():
            return await built.judges[0].process(Item(id="a", inputs={"text": text}))

    model.connect(gateway)
    model.client.post = post
    return asyncio.run(ask())


def strategy() -> st.SearchStrategy[Answer]:
    for way in WAYS:
        good(way)  # made here, and not while a case is drawn
    return _answers()


@st.composite
def _answers(draw: st.DrawFn) -> Answer:
    way = draw(st.sampled_from(sorted(WAYS)))
    call = draw(st.integers(0, len(good(way)) - 1))
    reply = good(way)[call]
    kind = draw(
        st.sampled_from(
            ["reply", "reply", "reply", "content", "content", "text", "bytes", "status"]
        )
    )
    status, headers = 200, {}
    if kind == "reply":
        body = written(draw(spoiled(reply)))
    elif kind == "content":
        body = _with_content(
            reply, json.dumps(draw(spoiled(json.loads(_content(reply) or '{"a": 0}'))))
        )
    elif kind == "text":
        body = _with_content(
            reply, draw(st.text(max_size=40) | st.sampled_from(ODD_TEXTS))
        )
    elif kind == "bytes":
        body = draw(st.binary(max_size=60) | odd().map(written))
    else:
        status = draw(
            st.integers(100, 999)
            | st.sampled_from([400, 401, 404, 413, 422, 429, 500, 503])
        )
        odd_waits = ["1e999", "nan", "-1", "1e30", "Mon, 01 Jan 0001 00:00:00 +9999"]
        value = st.text(max_size=30) | st.sampled_from(odd_waits)
        headers = {
            name: draw(value)
            for name in draw(
                st.sets(st.sampled_from(["Retry-After", "retry-after-ms"]))
            )
        }
        body = written(draw(odd() | spoiled(REFUSAL)))
    return Answer(way, body, status, headers, call, draw(st.booleans()))


def enter(case: Answer) -> None:
    """Records that can be written and read back, and the same once more from the cache."""
    good(case.way)
    model: Any = parts(case.way).model
    client, calls = model.client, 0

    def answer(well: bytes) -> Any:
        nonlocal calls
        calls += 1
        if calls != case.call + 1:
            return client.understood(200, {}, well)
        return client.understood(case.status, case.headers, case.body)

    client.answered = case.answered
    text = hashlib.sha256(repr(case).encode("utf-8", "replace")).hexdigest()
    with watched():
        first = judged(
            case.way, text, answer, Gateway(cache(), limits=PacedLimits(retries=0))
        )
        _check(first)
        calls = 1000  # no answer is spoiled any more
        again = judged(
            case.way, text, answer, Gateway(cache(), limits=PacedLimits(retries=0))
        )
        _check(again)
        if calls == 1000:
            assert [j.outcome for j in again] == [j.outcome for j in first], (
                "the cache gives another judgment"
            )


def _check(judgments: list[Judgment]) -> None:
    for judgment in judgments:
        outcome = judgment.outcome
        if isinstance(outcome, Failure):
            assert outcome.reason != "fault" and outcome.message.strip(), (
                outcome.message
            )
        else:
            assert outcome.score is not None and 0 <= outcome.score <= 100, (
                outcome.score
            )
            assert outcome.interval is None or all(map(math.isfinite, outcome.interval))
        assert judgment.cost.usd is None or 0 <= judgment.cost.usd < 1e6
        record, line = journal.written(judgment)
        assert record is judgment, "it could not be written as it is"
        back = Judgment.model_validate_json(line.encode())
        assert back.outcome == judgment.outcome and back.cost == judgment.cost
        assert back.model_dump_json() == line


def _content(reply: dict[str, Any]) -> str:
    """The model's own JSON in a reply; "" where there is none."""
    if "choices" in reply:
        found = reply["choices"][0]["message"]["content"]
    else:
        found = reply["content"][0]["text"] if "content" in reply else ""
    return found if found.startswith("{") else ""


def _with_content(reply: dict[str, Any], content: str) -> bytes:
    if "choices" in reply:
        first = reply["choices"][0]
        return written(
            reply
            | {
                "choices": [
                    first | {"message": first["message"] | {"content": content}}
                ]
            }
        )
    return written(
        reply | {"content": [{"type": "text", "text": content}]}
        if "content" in reply
        else content
    )


EXAMPLES = [
    Answer("structured", b"[" * 100_000),
    Answer(
        "structured",
        written({"choices": [{"message": {"content": "{}", "refusal": 7}}]}),
    ),
    Answer("structured", b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
    Answer(
        "structured",
        _with_content(
            {"choices": [{"message": {}}]}, '{"shame_score": ' + "9" * 5000 + "}"
        ),
    ),
    Answer(
        "structured",
        _with_content({"choices": [{"message": {}}]}, "```" + " " * 90_000 + "x"),
    ),
    Answer(
        "openrouter",
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"cost": NaN}}',
    ),
    Answer(
        "claude", written({"content": [{"type": "text", "text": 7}], "stop_reason": []})
    ),
    Answer(
        "structured", b"{}", 429, {"Retry-After": "Mon, 01 Jan 0001 00:00:00 +9999"}
    ),
]
