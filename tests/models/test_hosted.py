"""Hosted chat models: what reaches the wire, what comes back, what faults mean, odd servers, and
`model=env`."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response, request_from_openai_chat

from tests.conftest import PROMPT, RUBRIC, Capture, Patch, put
from tests.fuzzing import watched
from tests.models.conftest import KEYS, folder_of, run_once, shipped
from tests.stub_server import KEY, Fault, StubServer, level_of, score_of
from undogmatic import api
from undogmatic.api import score_text
from undogmatic.cli import main
from undogmatic.errors import (
    AnswerTimeout,
    ConfigError,
    ModelError,
    RefusedAnswer,
    StorageError,
    TransportError,
    UnparseableAnswer,
)
from undogmatic.models.base import Chats
from undogmatic.models.calls import Gateway, recording
from undogmatic.models.hosted import ChatModel
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.chat import ask
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.limits import PacedLimits
from undogmatic.records.records import Item, Verdict

SCHEMA = {
    "type": "object",
    "properties": {"shame_score": {"type": "number", "minimum": 0, "maximum": 100}},
    "required": ["shame_score"],
}
FORM = {
    "type": "json_schema",
    "json_schema": {"name": "judgment", "strict": True, "schema": SCHEMA},
}
TURNS = [
    {"role": role, "content": content}
    for role, content in (
        ("system", "Judge."),
        ("user", "first"),
        ("assistant", "answer"),
        ("user", "hello"),
    )
]


def request(**settings: Any) -> Request:
    return request_from_openai_chat({"model": "m", "messages": TURNS, **settings})


def complete(
    model: Any, wanted: Request | None = None, gateway: Gateway | None = None
) -> Response:
    wanted = wanted if wanted is not None else request()
    response: Response = run_once(model, lambda: model.complete(wanted), gateway)
    return response


def chat(stub: StubServer, **options: Any) -> ChatModel:
    return ChatModel(name="stub", api_base=stub.url + "/v1", **options)


# What reaches the wire


def test_settings_reach_the_wire_and_a_reasoning_model_gets_no_sampling_and_its_own_limit(
    stub: StubServer,
) -> None:
    settings = {
        "temperature": 0.0,
        "top_p": 0.9,
        "max_tokens": 77,
        "seed": 3,
        "stop": ["X"],
        "response_format": FORM,
    }
    complete(chat(stub), request(**settings))
    sent = stub.requests[0]
    assert sent.path == "/v1/chat/completions" and "Authorization" not in sent.headers
    assert sent.body == {"model": "stub", "messages": TURNS} | settings
    own = {
        "max_tokens_field": "max_completion_tokens",
        "reasoning_effort": "low",
        "extra": {"store": False},
    }
    model = chat(stub, sampling=False, **own)
    complete(model, request(temperature=0.0, top_p=1.0, max_tokens=9))
    body = stub.requests[1].body
    assert (
        "temperature" not in body and "top_p" not in body and "max_tokens" not in body
    )
    assert (body["max_completion_tokens"], body["reasoning_effort"], body["store"]) == (
        9,
        "low",
        False,
    )
    assert model.name != chat(stub).name


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("schema", FORM), ("object", {"type": "json_object"}), ("off", None)],
)
def test_json_mode(stub: StubServer, mode: Any, expected: Any) -> None:
    complete(chat(stub, json_mode=mode), request(response_format=FORM))
    assert stub.requests[0].body.get("response_format") == expected


def test_a_system_message_goes_into_the_user_s_turn_where_the_template_takes_none(
    stub: StubServer,
) -> None:
    complete(chat(stub, system="merge"))
    sent = [
        (turn["role"], turn["content"]) for turn in stub.requests[0].body["messages"]
    ]
    assert sent == [
        ("user", "Judge.\n\nfirst"),
        ("assistant", "answer"),
        ("user", "hello"),
    ]
    # Another question is another model, whose answers are not mixed with those of the first.
    assert (
        chat(stub, system="merge").name
        != chat(stub).name
        == chat(stub, system="keep").name
    )


CHATTY = "fenced thought half-thought chatty listed wrapped as-texts trailing marked among-words".split()


@pytest.mark.parametrize("kind", CHATTY)
def test_a_server_that_talks_around_its_answer_judges(
    kind: str, stub: StubServer
) -> None:
    verdict = judged(stub, kind)
    assert verdict.score == score_of(stub.requests[0].text)
    assert len(stub.requests) == 1


def test_a_server_that_answers_twice_and_differently_is_unreadable(
    stub: StubServer,
) -> None:
    with pytest.raises(UnparseableAnswer, match="2 different JSON objects"):
        judged(stub, "two-answers")


def judged(stub: StubServer, kind: str) -> Verdict:
    """The verdict of a model whose server answers in this way, without a second call."""
    stub.faults = {"": Fault(kind, times=None)}
    readout, model = StructuredReadout(retries=0), chat(stub)
    readout.bind(model, PROMPT, RUBRIC)

    async def read() -> Verdict:
        with dspy.context(lm=LanguageModel(model)):
            verdict: Verdict = (
                await readout.acall(item=Item(id="a", text="Um texto."))
            ).verdict
            return verdict

    return run_once(model, read)


class PromptAdapter(dspy.Adapter):
    """Sends these turns, else the text, and hands the raw answer back as the field `answer`."""

    def __init__(self, turns: list[dict[str, Any]] | None = None) -> None:
        super().__init__()
        self._turns = turns

    def format(
        self, signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        return self._turns or [{"role": "user", "content": inputs["text"]}]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        return {"answer": completion}


def test_log_probabilities_come_back_to_predict_and_no_connection_stays_open(
    stub: StubServer,
) -> None:
    model = chat(stub)
    predict = dspy.Predict("text -> answer")
    predict.lm = LanguageModel(
        model, temperature=0.0, max_tokens=1, logprobs=True, top_logprobs=5
    )
    prediction = run_once(model, lambda: ask(predict, PromptAdapter(), text="um texto"))
    body = stub.requests[0].body
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 5, 1)
    first = prediction.logprobs["content"][0]
    assert (
        first["top_logprobs"][0]["token"]
        == str(level_of("um texto"))
        == prediction.answer
    )
    assert len(first["top_logprobs"]) == 5
    model = chat(stub)
    model.connect(Gateway())
    predict = dspy.Predict("text -> answer")
    with dspy.context(
        lm=LanguageModel(model, temperature=0.0, max_tokens=50), adapter=PromptAdapter()
    ):
        answers = [
            json.loads(predict(text=t).answer)["shame_score"] for t in ("a", "b")
        ]
    assert answers == [score_of("a"), score_of("b")]


@pytest.mark.parametrize(
    "settings", [{"logprobs": True, "top_logprobs": 3}, {"response_format": FORM}]
)
def test_the_short_way_and_that_of_dspy_send_and_give_the_same(
    stub: StubServer, settings: dict[str, Any]
) -> None:
    model = chat(stub)
    predict = dspy.Predict("text -> answer")
    predict.lm = LanguageModel(
        model, temperature=0.0, top_p=1.0, max_tokens=50, **settings
    )
    adapter = PromptAdapter(TURNS)

    async def through_dspy() -> Any:
        with dspy.context(adapter=adapter):  # with history on
            return await predict.acall(text="x")

    traced = run_once(model, lambda: ask(predict, adapter, text="x"))
    # nothing of DSPy looks on: its predictor is not called at all
    with dspy.context(trace=None):
        short = run_once(model, lambda: ask(predict, adapter, text="x"))
    long = run_once(model, through_dspy)
    assert len(predict.lm.history) == 1
    assert stub.requests[0].body == stub.requests[1].body == stub.requests[2].body
    assert traced.toDict() == short.toDict()
    assert short.answer == long.answer
    if "logprobs" in settings:
        tops = [
            [
                (t["token"], t["logprob"])
                for t in p.logprobs["content"][0]["top_logprobs"]
            ]
            for p in (short, long)
        ]
        assert tops[0] == tops[1] and len(tops[0]) == 3


def test_azure_has_the_deployment_in_the_address_and_a_header_for_the_key(
    stub: StubServer, monkeypatch: Patch
) -> None:
    stub.key = KEY
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    model = shipped(
        "azure", name="my-deploy", api_base=stub.url, prices_like="gpt-4.1-mini"
    )
    complete(model)
    assert (
        stub.requests[0].path
        == "/openai/deployments/my-deploy/chat/completions?api-version=2024-10-21"
    )
    assert stub.requests[0].headers["api-key"] == KEY
    assert model.price.input and "2024-10-21" in model.name


def test_claude_speaks_the_messages_api(stub: StubServer, monkeypatch: Patch) -> None:
    stub.key = KEY
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    model = shipped("claude", api_base=stub.url)
    with recording() as calls:
        response = complete(
            model,
            request(temperature=0.0, top_p=1.0, max_tokens=50, response_format=FORM),
        )
    sent = stub.requests[0]
    assert sent.path == "/v1/messages"
    assert (
        sent.headers["x-api-key"] == KEY
        and sent.headers["anthropic-version"] == "2023-06-01"
    )
    assert sent.body["system"] == "Judge."
    assert [m["role"] for m in sent.body["messages"]] == ["user", "assistant", "user"]
    assert (
        sent.body["temperature"] == 0.0
        and "top_p" not in sent.body
        and sent.body["max_tokens"] == 50
    )
    assert sent.body["output_config"]["format"]["schema"]["properties"] == {
        "shame_score": {"type": "number"}
    }
    assert response.text is not None and json.loads(response.text)[
        "shame_score"
    ] == score_of("hello")
    assert (calls[0].input_tokens, calls[0].output_tokens) == (100, 20)
    assert calls[0].usd == pytest.approx((100 * 3 + 20 * 15) / 1e6)
    assert "logprobs" not in model.readouts


@pytest.mark.parametrize(
    ("choice", "changes"),
    [
        *(
            (choice, {})
            for choice in ("gpt", "claude", "gemini", "openrouter", "ollama")
        ),
        ("azure", {"name": "deployment", "api_base": "https://x.openai.azure.com"}),
        ("vllm", {"name": "org/model"}),
        ("openai_compatible", {"name": "m", "api_base": "http://host:1/v1/"}),
    ],
)
def test_each_shipped_choice_names_its_server(
    monkeypatch: Patch, choice: str, changes: dict[str, Any]
) -> None:
    for variable in KEYS:
        monkeypatch.setenv(variable, KEY)
    model = shipped(choice, **changes)
    assert "structured" in model.readouts
    assert model.name.startswith(f"{model.model_name}@http") and KEY not in model.name
    assert (model.price.input is not None) == (
        choice in ("gpt", "claude", "gemini", "ollama")
    )


# Keys and prices


def test_a_key_in_dotenv_does_not_touch_the_environment(
    stub: StubServer, tmp_path: Path, monkeypatch: Patch
) -> None:
    stub.key = KEY
    folder_of(tmp_path, OPENAI_API_KEY=KEY)
    complete(shipped("gpt", api_base=stub.url + "/v1"))
    assert "OPENAI_API_KEY" not in os.environ
    assert stub.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY was not accepted"):
        complete(shipped("gpt", api_base=stub.url + "/v1"))


def test_a_key_that_is_missing_or_has_a_line_break_is_refused_unshown(
    monkeypatch: Patch,
) -> None:
    said = r"needs OPENAI_API_KEY in the environment or \.env\. To run without a key: model=local"
    with pytest.raises(ConfigError, match=said):
        shipped("gpt")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\nX: y")
    with pytest.raises(
        ConfigError, match="OPENAI_API_KEY holds something that is not a key"
    ) as error:
        shipped("gpt")
    assert "sk-secret" not in str(error.value)


def test_the_key_shows_nowhere_even_if_the_server_echoes_it(
    stub: StubServer, monkeypatch: Patch
) -> None:
    secret = "sk-" + 9 * "wr0ng"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    stub.key = KEY
    model = shipped("gpt", api_base=stub.url + "/v1")
    with recording() as calls, pytest.raises(ConfigError) as error:
        complete(model)
    assert "Incorrect API key provided: <OPENAI_API_KEY>" in str(error.value)
    assert stub.requests[0].headers["Authorization"].endswith(secret)
    shown = f"{error.value!r} {error.getrepr()} {calls} {model.name} {vars(model)} {vars(model.client)}"
    assert secret not in shown


@pytest.mark.parametrize(
    "base",
    "https://user:hunter2@host/v1 https://host/v1?key=hunter2 host/v1 ftp://host http://[::1"
    " http://h:80x/v1 https://h:99999/v1 h:8000".split(),
)
def test_an_address_that_is_no_plain_address_is_refused(base: str) -> None:
    with pytest.raises(ConfigError, match=r"`model\.api_base`") as error:
        ChatModel(name="m", api_base=base)
    assert "hunter2" not in str(error.value)


def test_prices_are_looked_up_given_or_unknown_and_the_servers_own_wins(
    stub: StubServer, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert shipped("gpt", name="gpt-4o-mini").price.usd(
        1_000_000, 1_000_000
    ) == pytest.approx(0.75)
    assert shipped("gpt", name="no-such-model").price.input is None
    assert shipped("gpt", price={"input": 0, "output": 2}).price.usd(10**6, 10**6) == 2
    with pytest.raises(
        ConfigError, match=r"`model\.price\.output` is null while the other"
    ):
        shipped("gpt", price={"input": 1, "output": None})
    with pytest.raises(ConfigError, match=r"`model\.price\.input` is -1"):
        shipped("gpt", price={"input": -1, "output": 1})
    unknown = chat(stub)
    with recording() as calls:
        complete(unknown)
    assert calls[0].usd is None
    with pytest.raises(ConfigError, match="no price is known"):
        unknown.connect(Gateway(limits=PacedLimits(max_usd=1)))
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    body = {
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "cost": 0.125},
    }
    stub.faults = {"hello": Fault("body", body=json.dumps(body))}
    model = shipped("openrouter", api_base=stub.url, price={"input": 1, "output": 1})
    with recording() as calls:
        complete(model, gateway=Gateway(limits=PacedLimits(max_usd=1)))
    assert calls[0].usd == 0.125


# Faults


def error_body(message: str, code: Any = None) -> str:
    return json.dumps({"error": {"message": message, "code": code}})


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_these_statuses_are_retried_and_end_as_transport_errors(
    stub: StubServer, status: int, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("undogmatic.models.calls.PATIENCE", 0.0)
    stub.faults = {
        "hello": Fault("status", times=None, status=status, body=error_body("busy"))
    }
    with pytest.raises(TransportError, match=rf"answered {status}: busy \(3 attempt"):
        complete(chat(stub))
    assert len(stub.requests) == 3


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, error_body("no key"), "wants a key"),
        (402, error_body("pay"), "no credit left"),
        (
            404,
            error_body("no such model"),
            "no such model\nCheck model.name and model.api_base",
        ),
        (
            400,
            error_body("Unsupported value: 'temperature' does not support 0"),
            r"model\.sampling=false",
        ),
        (
            400,
            error_body("logprobs is not supported with this model"),
            "readout=structured",
        ),
        (
            403,
            error_body("You are not allowed to request logprobs from this model"),
            "structured",
        ),
        (400, error_body("System role not supported"), r"model\.system=merge"),
        (
            400,
            error_body(
                "Conversation roles must alternate user/assistant/user/assistant/..."
            ),
            r"model\.system=merge",
        ),
        (
            400,
            error_body("Developer instruction is not enabled for models/gemma-3-4b-it"),
            r"model\.system=merge",
        ),
        (
            422,
            json.dumps({"detail": [{"loc": ["body", "top_p"], "msg": "too big"}]}),
            r"body\.top_p: too big",
        ),
        (
            429,
            error_body("You exceeded your quota", "insufficient_quota"),
            "no quota left",
        ),
        (301, "", "redirects; set model.api_base"),
    ],
)
def test_what_only_a_user_can_mend_ends_the_run(
    stub: StubServer, status: int, body: str, expected: str
) -> None:
    stub.faults = {"hello": Fault("status", times=None, status=status, body=body)}
    with pytest.raises(ConfigError, match=expected) as error:
        complete(chat(stub))
    assert len(stub.requests) == 1
    assert stub.url in str(error.value)


@pytest.mark.parametrize(
    ("fault", "expected", "message"),
    [
        (Fault("body", body="<html>hotel wifi</html>"), UnparseableAnswer, "not JSON"),
        (Fault("body", body="[1]"), UnparseableAnswer, "a JSON list"),
        (Fault("body", body='{"choices": []}'), UnparseableAnswer, "no `choices`"),
        (Fault("truncated"), UnparseableAnswer, "truncated at max_tokens"),
        (Fault("empty"), UnparseableAnswer, "empty"),
        (Fault("refusal"), RefusedAnswer, "I cannot judge this text"),
        (Fault("content-filter"), RefusedAnswer, "content filter"),
        (
            Fault("status", status=400, body=error_body("bad", "content_filter")),
            RefusedAnswer,
            "filter stopped",
        ),
        (
            Fault("status", status=413, body=error_body("long")),
            UnparseableAnswer,
            "too long",
        ),
        (
            Fault("status", status=400, body=error_body("long", "context_too_large")),
            UnparseableAnswer,
            "too long",
        ),
        (
            Fault("body", times=None, body=error_body("upstream died", 502)),
            TransportError,
            "502: upstream died",
        ),
        (
            Fault("slow-body", times=None, after=3),
            AnswerTimeout,
            "no answer within 0.1 s",
        ),
        (Fault("hang", times=None, after=3), AnswerTimeout, "no answer within 0.1 s"),
    ],
)
def test_a_bad_answer_is_one_failure(
    stub: StubServer, fault: Fault, expected: type[ModelError], message: str
) -> None:
    stub.faults = {"hello": fault}
    timeout = 0.1 if expected is AnswerTimeout else 30.0
    with recording() as calls, pytest.raises(expected, match=message) as error:
        complete(
            chat(stub),
            gateway=Gateway(
                limits=PacedLimits(timeout=timeout, retries=1, backoff=0.001)
            ),
        )
    assert len(calls) == 1
    assert message != "not JSON" or error.value.raw == "<html>hotel wifi</html>"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("refusal", RefusedAnswer),
        ("truncated", UnparseableAnswer),
        ("empty", UnparseableAnswer),
    ],
)
def test_claudes_bad_answers(
    stub: StubServer, kind: str, expected: type[ModelError]
) -> None:
    stub.faults = {"hello": Fault(kind)}
    with pytest.raises(expected):
        complete(
            shipped("claude", api_base=stub.url, key_env=None),
            request(response_format=FORM),
        )


def test_nobody_listening_is_named_with_the_next_step_and_images_are_refused(
    stub: StubServer,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = shipped(
        "openai_compatible", name="m", api_base=f"http://127.0.0.1:{port}/v1"
    )
    said = rf"cannot connect to m at http://127\.0\.0\.1:{port}/v1 .*Start the server"
    with pytest.raises(TransportError, match=said):
        complete(model)
    part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    wanted = request_from_openai_chat(
        {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    )
    with pytest.raises(ConfigError, match="part of type 'image'"):
        complete(chat(stub), wanted)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Said = tuple[bytes, bytes]
"""What is sent once, and what is sent without end after it."""

SAID: dict[str, Said] = {
    "nothing": (b"", b""),
    "no HTTP": (b"220 smtp.example.org ESMTP\r\n", b""),
    "random bytes": (bytes(range(256)) * 4, b""),
    "a length below 0": (OK + b"Content-Length: -5\r\n\r\n{}", b""),
    "a length without end": (
        OK + b"Content-Length: 9" + b"9" * 400 + b"\r\n\r\n{}",
        b"",
    ),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b""),
    "a chunk of no size": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", b""),
    "half of a body": (OK + b"Content-Length: 100\r\n\r\n{", b""),
    "a header without a colon": (OK + b"hello\r\n\r\n{}", b""),
    "a header of odd bytes": (
        OK + b"X-\xff: \xfe\x00\r\nContent-Length: 2\r\n\r\n{}",
        b"",
    ),
    "a status of letters": (b"HTTP/1.1 OK 200\r\n\r\n{}", b""),
    "a status of many digits": (b"HTTP/1.1 20000000000 OK\r\n\r\n{}", b""),
    "headers without end": (OK, b"X-More: " + b"y" * 200 + b"\r\n"),
    "a header line without end": (OK + b"X-Long: ", b"y" * 4096),
    "a body without end": (OK + b"\r\n", b"x" * 65536),
    "chunks without end": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        b"1000\r\n" + b" " * 4096 + b"\r\n",
    ),
    "promises without end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an empty packing without end": (
        OK + b"Content-Encoding: deflate\r\n\r\n",
        b"\x00\x00\x00\xff\xff" * 1000,
    ),
}


@pytest.fixture
def serve() -> Iterator[Callable[[Said], str]]:
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()
    threads: list[threading.Thread] = []

    def answer(said: Said) -> None:
        while not stopped.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                connection.settimeout(5)
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(said[0])
                    while said[1] and not stopped.is_set():
                        connection.sendall(said[1])

    def start(said: Said) -> str:
        listener.settimeout(0.05)
        threads.append(threading.Thread(target=answer, args=(said,)))
        threads[-1].start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

    yield start
    stopped.set()
    listener.close()
    for thread in threads:
        thread.join(10)


@pytest.mark.parametrize("name", SAID)
def test_whatever_comes_through_the_wire_is_a_typed_failure(
    name: str, serve: Callable[[Said], str]
) -> None:
    from dspy.lm15 import Message, Request, TextPart

    model = ChatModel("m", serve(SAID[name]))
    request = Request(
        model="m", messages=(Message(role="user", parts=(TextPart("t"),)),)
    )
    gateway = Gateway(limits=PacedLimits(timeout=0.5, retries=0))
    with watched(), pytest.raises(ModelError) as caught:
        run_once(model, lambda: model.complete(request), gateway)
    assert caught.value.kind in ("transport", "timeout", "unparseable")


@pytest.fixture
def served(stub: StubServer, tmp_path: Path) -> StubServer:
    """A provider that `.env` names."""
    stub.key = KEY
    folder_of(
        tmp_path,
        LLM_PROVIDER="openai",
        LLM_MODEL="my-model",
        LLM_API_KEY=KEY,
        LLM_BASE_URL=stub.url + "/v1",
    )
    return stub


def test_four_variables_make_a_model_of_the_one_they_name(
    served: StubServer, tmp_path: Path, monkeypatch: Patch
) -> None:
    model = shipped("env")
    assert isinstance(model, Chats)
    run_once(model, lambda: model.complete(request()))
    assert served.requests[0].body["model"] == "my-model"
    assert str(shipped("env").name).startswith(f"my-model@{served.url}/v1")
    folder_of(tmp_path, LLM_PROVIDER="anthropic", LLM_API_KEY=KEY)
    assert shipped("env").readouts == ("structured", "samples")
    said = {
        "max_concurrency": 3,
        "context": 1234,
        "fitted_on": frozenset({"a mark"}),
        "rubric": "other",
    }
    for name, value in said.items():
        monkeypatch.setattr(ChatModel, name, value)
    monkeypatch.setattr(
        "undogmatic.models.hosted.listed", lambda *_: [{"max_input_tokens": 1234}]
    )
    monkeypatch.setattr(ChatModel, "count_tokens", lambda self, text: 77)
    folder_of(tmp_path, LLM_PROVIDER="openai", LLM_API_KEY=KEY)
    model = shipped("env")
    assert {name: getattr(model, name) for name in said} == said
    assert model.count_tokens("some words") == 77


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "LLM_PROVIDER is not set.*openai, anthropic"),
        (
            {"LLM_PROVIDER": "skynet"},
            r"LLM_PROVIDER is 'skynet'.*openai, anthropic.*model=NAME",
        ),
        ({"LLM_PROVIDER": "vllm"}, "needs LLM_MODEL"),
        ({"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m"}, "needs LLM_BASE_URL"),
        ({"LLM_PROVIDER": "openai"}, "needs OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, env: dict[str, str], message: str
) -> None:
    folder_of(tmp_path, **env)
    with pytest.raises(ConfigError, match=message):
        shipped("env")


def logged(tmp_path: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for line in (tmp_path / "cache" / "score.log").read_text("utf-8").splitlines()
    ]


def test_scoring_asks_the_named_model_and_writes_a_log(
    served: StubServer, tmp_path: Path, capsys: Capture
) -> None:
    text = "Aplica-se o Tema 69."
    found = score_text(text)
    assert (found.score, found.model.split("@")[0]) == (score_of(text), "my-model")
    main(["score", text, "engine.cache=false"])
    out, err = capsys.readouterr()
    assert f"{score_of(text):.1f}" in out and "my-model@" in err
    assert [request.body["model"] for request in served.requests] == [
        "my-model",
        "my-model",
    ]
    log = tmp_path / "cache" / "score.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert [(line["score"], line["model"]) for line in logged(tmp_path)] == [
        (found.score, found.model)
    ] * 2
    for line in logged(tmp_path):
        (call,) = line["calls"]
        assert text in json.dumps(call["prompt"]["messages"], ensure_ascii=False)
        assert (
            json.loads(call["answer"]["choices"][0]["message"]["content"])[
                "shame_score"
            ]
            == found.score
        )
        assert (line["result"]["rationale"], line["inputs"], call["cached"]) == (
            "Stub.",
            {"text": text},
            False,
        )
    assert KEY not in out + err + found.model_dump_json() + log.read_text("utf-8")
    assert str(log) not in out + err, "where it lies is said by --help and the pages"


def test_the_log_of_scores_says_which_answers_came_from_the_cache(
    served: StubServer, tmp_path: Path
) -> None:
    for _ in range(2):
        score_text("Tema 1")
    first, second = logged(tmp_path)
    assert (first["cached"], second["cached"], len(served.requests)) == (False, True, 1)
    assert first["calls"][0]["answer"] == second["calls"][0]["answer"]
    assert [call["cached"] for call in second["calls"]] == [True]


def test_a_redacted_log_holds_no_text_and_one_that_is_off_is_not_there(
    served: StubServer, tmp_path: Path, capsys: Capture
) -> None:
    text, log = "Aplica-se o Tema 69 a Ana Souza.", tmp_path / "cache" / "score.log"
    score_text(text, log=False)
    main(["score", text, "--no-log"])
    assert not log.exists()
    main(["score", text, "tracking.redact=true"])
    served.faults = {"Ana Souza": Fault("refusal", times=None)}
    score_text(text, ["engine.cache=false", "tracking.redact=true"])
    kept = log.read_text("utf-8")
    assert not any(
        word in kept for word in ("Tema", "Souza", "Stub.", "I cannot judge")
    )
    good, refused = logged(tmp_path)
    assert (
        good["score"] == pytest.approx(score_of(text))
        and good["calls"][0]["prompt"]["messages"][0]["role"] == "system"
    )
    assert refused["error"] == "refusal" and refused["result"]["message"].startswith(
        "sha256:"
    )


def test_a_log_that_others_could_read_is_closed_to_them(
    served: StubServer, tmp_path: Path
) -> None:
    log = put(tmp_path / "cache" / "score.log", "{}\n")
    log.chmod(0o644)
    score_text("Tema 1")
    assert log.stat().st_mode & 0o777 == 0o600 and len(logged(tmp_path)) == 2


def test_several_write_to_the_log_of_scores_at_once(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    """No line is torn, and none is lost when the log is set aside once."""
    monkeypatch.setenv("UNDOGMATIC_CACHE", str(tmp_path))
    monkeypatch.setattr(api, "LOG_BYTES", 30_000)

    def write(who: int) -> None:
        for n in range(25):
            api._log([{"who": who, "n": n, "long": "x" * 400}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    lines = [
        line
        for name in ("score.log.1", "score.log")
        for line in (tmp_path / name).read_text().splitlines()
    ]
    found = [json.loads(line) for line in lines]
    assert sorted((each["who"], each["n"]) for each in found) == [
        (who, n) for who in range(4) for n in range(25)
    ]


def test_a_home_that_cannot_be_written_to_costs_no_score(
    served: StubServer, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(api, "_unlogged", [])
    monkeypatch.setenv("UNDOGMATIC_CACHE", str(put(tmp_path / "a file", "") / "below"))
    assert [score_text(text).score for text in ("Tema 1", "Tema 2")] == [
        score_of("Tema 1"),
        score_of("Tema 2"),
    ]
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "cannot be used" in line
    # a folder that was named is counted on
    with pytest.raises(ConfigError, match="cannot be used"):
        score_text("Tema 3", [f"engine.cache_dir='{tmp_path}/a file/below'"])


def test_a_full_disk_costs_no_score(
    served: StubServer, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    add = api.files.Log.add

    def full(log: Any, line: str) -> Any:
        if log.path is None:
            return add(log, line)
        raise StorageError(f"{log.path} cannot be written (No space left on device).")

    monkeypatch.setattr(api, "_unlogged", [])
    monkeypatch.setattr(api.files.Log, "add", full)
    assert [score_text(text).score for text in ("Tema 1", "Tema 2")] == [
        score_of("Tema 1"),
        score_of("Tema 2"),
    ]
    assert capsys.readouterr().err.count("No space left") == 1


@pytest.mark.parametrize(
    "words", [["model=patterns"], ["experiment=fakes", "model=patterns"]]
)
def test_a_model_that_is_chosen_wins(served: StubServer, words: list[str]) -> None:
    assert score_text("Aplica-se o Tema 69.", words).model.startswith("patterns")
    assert served.requests == []


def test_an_unknown_provider_is_an_error_with_the_options(
    tmp_path: Path, capsys: Capture
) -> None:
    folder_of(tmp_path, LLM_PROVIDER="skynet", LLM_API_KEY=KEY)
    with pytest.raises(SystemExit) as end:
        main(["score", "um texto"])
    assert end.value.code == 2
    assert "openai, anthropic" in capsys.readouterr().err


def test_a_broken_log_costs_no_score(
    served: StubServer, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(api, "_unlogged", [])
    (tmp_path / "cache").mkdir()
    os.mkfifo(tmp_path / "cache" / "score.log")
    texts = ["Tema 1", "Tema 2"]
    assert [score_text(text).score for text in texts] == [
        score_of(text) for text in texts
    ]
    assert capsys.readouterr().err.count("score.log cannot be written") == 1


def test_what_ended_the_scoring_is_in_the_log(
    served: StubServer, tmp_path: Path
) -> None:
    served.key = "another"
    with pytest.raises(ConfigError):
        score_text("Tema 1")
    assert logged(tmp_path)[-1]["error"] == "ConfigError"
    assert KEY not in (tmp_path / "cache" / "score.log").read_text("utf-8")
    served.key = KEY
    served.faults = {"Tema 69": Fault("refusal", times=None)}
    found = score_text("Aplica-se o Tema 69.", ["engine.cache=false"])
    assert found.score is None and "I cannot judge" in str(found.error)
    last = logged(tmp_path)[-1]
    assert last["error"] == "refusal" and "I cannot judge" in last["result"]["message"]
    assert (
        last["calls"][0]["answer"]["choices"][0]["message"]["refusal"]
        == "I cannot judge this text."
    )
