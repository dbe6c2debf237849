"""A local server that speaks the wire formats of hosted models and misbehaves on demand, for tests
and benchmarks.

The judged text decides what happens: every marker in `FAULTS` that occurs in a request's last user
message makes the server misbehave in that way, `times` times per text (then it answers). Answers
are a function of the text alone.

    with StubServer() as stub:
        stub.url            # http://127.0.0.1:PORT
        stub.requests       # what was received, in order
        stub.faults = {"busy": Fault("429", times=2)}
"""

import argparse
import asyncio
import hashlib
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Self

from aiohttp import web

from tests import hostile

KEY = "sk-stub-0123456789abcdef"


@dataclass
class Fault:
    """One misbehaviour.

    Attributes:
        kind: See `StubServer._misbehave` and `_spoiled`.
        times: How often per text, or None for always.
        after: Seconds for `Retry-After`, hanging and slow bodies.
        status: The status of kind "status".
        body: The body of kind "status" and "body"; which odd answer (tests/hostile.py), of kind
            "hostile": else each in turn.
    """

    kind: str
    times: int | None = 1
    after: float = 0.02
    status: int = 500
    body: str = ""


@dataclass
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    text: str
    answered: float = math.inf  # when its answer left, by the clock of `time.monotonic`


@dataclass
class Batch:
    """A batch of requests by their ids, as the provider keeps it."""

    id: str
    requests: dict[str, Any]
    path: str
    made: datetime
    anthropic: bool
    metadata: dict[str, str] | None
    fault: str
    results: bytes | None = None


def score_of(text: str) -> int:
    """The stub's score of a text: 0-100 in steps of 5, from its hash."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 21 * 5


@dataclass
class StubServer:
    """Runs in a thread of its own between `__enter__` and `__exit__`.

    Attributes:
        latency: Seconds before every answer.
        faults: Marker in the text -> how to misbehave.
        key: The key it accepts, or None for any.
        resolved: The name it gives as the model that answered; "" for the one that was asked for.
        limit: Calls a second that it takes; to more it says 429 at once.
        batch_seconds: How long a batch takes.
        batch_fault: What becomes of every batch: "expired", "cancelled" (half of it is answered),
            "half" (a line is missing for every second request), "lost", "never" or "failed".
        batch_reply: What it answers to whoever makes a batch, once it is made; None: as it should.
        batch_listed: Whether its list shows batches.
        batch_sends: The reply in place of a file of answers, from the file's content; None: the
            file.
    """

    latency: float = 0.0
    faults: dict[str, Fault] = field(default_factory=dict)
    key: str | None = None
    resolved: str = ""
    limit: float | None = None
    batch_seconds: float = 0.0
    batch_fault: str = ""
    batch_reply: bytes | None = None
    batch_listed: bool = True
    batch_sends: Callable[[bytes], hostile.Odd] | None = None
    requests: list[Received] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()
        self._drawn = self._port = self.refused = 0
        self._free, self._counted = self.limit or 0.0, 0.0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}

    @property
    def url(self) -> str:
        """The origin."""
        return f"http://127.0.0.1:{self._port}"

    def texts(self) -> Counter[str]:
        """How often each text was asked about."""
        return Counter(r.text for r in self.requests)

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10), "the stub server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self, ready: threading.Event) -> None:
        with asyncio.Runner() as runner:
            self._loop, served = runner.get_loop(), runner.run(self.start())
            ready.set()
            self._loop.run_forever()
            runner.run(served.cleanup())

    async def start(self) -> web.AppRunner:
        """Listen on a free port."""
        app = web.Application(client_max_size=2**26)

        # so that a test may put another one in its place
        def by_name(name: str) -> Any:
            async def handle(request: web.Request) -> Any:
                return await getattr(self, name)(request)

            return handle

        app.router.add_post("/v1/files", by_name("_upload"))
        app.router.add_get("/v1/files/{id}/content", by_name("_content"))
        for place in ("/v1/batches", "/v1/messages/batches"):
            app.router.add_post(place, by_name("_make_batch"))
            app.router.add_get(place, by_name("_list_batches"))
            app.router.add_get(place + "/{id}", by_name("_show_batch"))
        app.router.add_get("/v1/messages/batches/{id}/results", by_name("_content"))
        app.router.add_post("/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        self._port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        return runner

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        text = judged_text(body)
        received = Received(request.path_qs, dict(request.headers), body, text)
        self.requests.append(received)
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        sent = request.headers.get("x-api-key", request.headers.get("api-key", sent))
        if self.key is not None and sent != self.key:
            return _error(401, f"Incorrect API key provided: {sent}.")
        if self._full():
            self.refused += 1
            return _error(429, "Rate limit reached")
        fault = self._due(text)
        if (
            fault is not None
            and (response := await self._misbehave(fault, request)) is not None
        ):
            return response
        await asyncio.sleep(self.latency)
        received.answered = time.monotonic()
        return web.json_response(self._answer(request.path, body, text, fault))

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read()  # type: ignore[union-attr]
        return web.json_response({"id": name, "object": "file"})

    async def _content(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        content = (
            self._results(self.batches[name])
            if name in self.batches
            else self.files.get(name)
        )
        if content is None or self.batch_fault == "lost":
            return _error(404, "No such file")
        if self.batch_sends is not None:
            return hostile.response(self.batch_sends(content))
        return web.Response(body=content, content_type="application/jsonl")

    async def _make_batch(self, request: web.Request) -> web.Response:
        sent, path = await request.json(), "/v1/messages"
        if anthropic := "requests" in sent:
            rows = [(row["custom_id"], row["params"]) for row in sent["requests"]]
        else:
            lines = map(json.loads, self.files[sent["input_file_id"]].splitlines())
            rows, path = (
                [(line["custom_id"], line["body"]) for line in lines],
                sent["endpoint"],
            )
        for _, body in rows:
            self.requests.append(
                Received(path, dict(request.headers), body, judged_text(body))
            )
        name = f"batch_{len(self.batches)}"
        self.batches[name] = Batch(
            name,
            dict(rows),
            path,
            datetime.now(UTC),
            anthropic,
            sent.get("metadata"),
            self.batch_fault,
        )
        if self.batch_reply is not None:
            return web.Response(body=self.batch_reply, content_type="application/json")
        return web.json_response(self._shown(self.batches[name]))

    async def _list_batches(self, request: web.Request) -> web.Response:
        rows = [
            self._shown(each)
            for each in reversed(self.batches.values())
            if self.batch_listed
        ]
        return web.json_response({"data": rows, "has_more": False})

    async def _show_batch(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        return (
            _error(404, "No such batch")
            if batch is None or self.batch_fault == "lost"
            else web.json_response(self._shown(batch))
        )

    def _shown(self, batch: "Batch") -> dict[str, Any]:
        """A batch as its provider shows it; once it has ended, its files are there."""
        total = len(batch.requests)
        ended = (
            datetime.now(UTC) - batch.made
        ).total_seconds() >= self.batch_seconds and self.batch_fault != "never"
        if batch.anthropic:
            counts = {
                "processing": 0 if ended else total,
                "succeeded": total if ended else 0,
                "errored": 0,
            }
            about = {
                "id": batch.id,
                "created_at": batch.made.isoformat(),
                "request_counts": counts,
            }
            return about | {"processing_status": "ended" if ended else "in_progress"}
        word = (
            batch.fault
            if batch.fault in ("expired", "cancelled", "failed")
            else "completed"
        )
        about = {
            "id": batch.id,
            "created_at": int(batch.made.timestamp()),
            "metadata": batch.metadata,
        }
        about |= {
            "status": word if ended else "in_progress",
            "request_counts": {"total": total, "completed": 0},
        }
        if word == "failed":
            about["errors"] = {
                "data": [{"code": "model_not_found", "message": "no such model"}]
            }
        elif ended:
            self.files[batch.id] = self._results(batch)
            about["output_file_id"] = batch.id
        return about

    def _results(self, batch: "Batch") -> bytes:
        if batch.results is not None:
            return batch.results
        lines = []
        for number, (key, body) in enumerate(batch.requests.items()):
            text = judged_text(body)
            answer = self._answer(batch.path, body, text, self._due(text))
            said: dict[str, Any] = {
                "response": {"status_code": 200, "body": answer},
                "error": None,
            }
            if batch.anthropic:
                said = {"result": {"type": "succeeded", "message": answer}}
            if number % 2 and batch.fault == "half":
                continue
            if number % 2 and batch.fault in ("expired", "cancelled"):
                said = {"response": None, "error": {"code": f"batch_{batch.fault}"}}
                if batch.anthropic:
                    said = {"result": {"type": batch.fault}}
            lines.append(json.dumps({"custom_id": key} | said))
        batch.results = "\n".join(reversed(lines)).encode()
        return batch.results

    def _full(self) -> bool:
        """Whether the calls of this second are used up; one that is left is used."""
        if self.limit is None:
            return False
        now = asyncio.get_running_loop().time()
        self._free = min(self.limit, self._free + (now - self._counted) * self.limit)
        self._counted = now
        if self._free < 1:
            return True
        self._free -= 1
        return False

    def _due(self, text: str) -> Fault | None:
        for marker, fault in self.faults.items():
            if marker in text:
                self._seen[marker, text] += 1
                if fault.times is None or self._seen[marker, text] <= fault.times:
                    return fault
        return None

    async def _misbehave(
        self, fault: Fault, request: web.Request
    ) -> web.StreamResponse | None:
        """The faulty response, or None for a fault inside an otherwise good answer."""
        moment = datetime.now(UTC) + timedelta(seconds=fault.after)
        waits = {
            "429": {"Retry-After": f"{fault.after:g}"},
            "429-ms": {"retry-after-ms": f"{fault.after * 1000:g}"},
            "429-date": {"Retry-After": format_datetime(moment, usegmt=True)},
        }
        if fault.kind in waits:
            return _error(429, "Rate limit reached", waits[fault.kind])
        match fault.kind:
            case "status":
                return web.Response(
                    status=fault.status,
                    text=fault.body,
                    content_type="application/json",
                )
            case "html":
                return web.Response(
                    status=502,
                    text="<html><h1>Bad gateway</h1></html>",
                    content_type="text/html",
                )
            case "body":
                return web.Response(text=fault.body, content_type="application/json")
            case "hang":
                await asyncio.sleep(fault.after)
            case "hostile":
                known = hostile.odd_answers(self.key or "")
                name = fault.body or list(known)[self._drawn % len(known)]
                self._drawn += 1
                return hostile.response(known[name])
            case "reset":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case "slow-body":
                response = web.StreamResponse(
                    headers={
                        "Content-Type": "application/json",
                        "Content-Length": "1000",
                    }
                )
                await response.prepare(request)
                await response.write(b'{"choices": [')
                await asyncio.sleep(fault.after)
                return response
        return None

    def _answer(
        self, path: str, body: dict[str, Any], text: str, fault: Fault | None
    ) -> dict[str, Any]:
        if path.endswith("/messages"):
            return self._anthropic(body, text, fault)
        if "questions" in body:
            return self._decision(body, text, fault)
        return self._chat(body, text, fault)

    def _chat(
        self, body: dict[str, Any], text: str, fault: Fault | None
    ) -> dict[str, Any]:
        content, reason, refusal = _spoiled(fault, _json_answer(body, text))
        message = {"role": "assistant", "content": content, "refusal": refusal}
        choice: dict[str, Any] = {
            "index": 0,
            "message": message,
            "finish_reason": reason,
        }
        if body.get("logprobs"):
            message["content"], choice["finish_reason"] = str(level_of(text)), "length"
            choice["logprobs"] = {
                "content": [_level_logprobs(text, body.get("top_logprobs", 0))]
            }
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        about = {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "model": self.resolved or body.get("model", "stub-1.0"),
        }
        return about | {"choices": [choice], "usage": usage}

    def _anthropic(
        self, body: dict[str, Any], text: str, fault: Fault | None
    ) -> dict[str, Any]:
        content, reason, refusal = _spoiled(fault, _json_answer(body, text))
        stop = {
            "stop": "end_turn",
            "length": "max_tokens",
            "content_filter": "refusal",
        }[reason]
        if refusal is not None:
            content, stop = refusal, "refusal"
        about = {
            "id": "msg_stub",
            "type": "message",
            "role": "assistant",
            "model": self.resolved or body.get("model", "stub-1.0"),
            "stop_reason": stop,
        }
        usage = {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 20}
        return about | {
            "content": [{"type": "text", "text": content}] if content else [],
            "usage": usage,
        }

    def _decision(
        self, body: dict[str, Any], text: str, fault: Fault | None
    ) -> dict[str, Any]:
        answers: dict[str, Any] = {
            name: self._decided(question, text)
            for name, question in body["questions"].items()
        }
        kind = fault.kind if fault is not None else None
        name = next(iter(answers))
        match kind:
            case "missing-id":
                del answers[name]
            case "wrong-type":
                answers[name] = {"type": "noul", "noul": 0.5}
            case "unknown-type":
                answers["extra"] = {"type": "box", "boxes": [[0, 0, 1, 1]]}
            case "nan":
                answers[name]["probabilities"]["0"] = math.nan
            case "probabilities-off":
                assert fault is not None
                answers[name]["probabilities"]["0"] += fault.after
            case "inconsistent":
                answers[name]["score"] = len(answers[name]["probabilities"]) + 1
        reply: dict[str, Any] = {
            "model": self.resolved or body.get("model", "stub-1.0"),
            "answers": answers,
        }
        if kind != "no-usage":
            reply["usage"] = {"input_tokens": 120, "output_tokens": 12}
        return (
            {"result": reply, "success": True, "errors": [], "messages": []}
            if kind == "envelope"
            else reply
        )

    def _decided(self, question: dict[str, Any], text: str) -> dict[str, Any]:
        if question["type"] == "noul":
            return {"type": "noul", "noul": score_of(text) / 100}
        labels = list(question["criteria"])
        target = score_of(text) / 100 * (len(labels) - 1)
        weights = [math.exp(-2 * abs(k - target)) for k in range(len(labels))]
        shares = [w / math.fsum(weights) for w in weights]
        if question["type"] == "choice":
            best = max(range(len(labels)), key=shares.__getitem__)
            chances = dict(zip(labels, shares, strict=True))
            return {
                "type": "choice",
                "choice": labels[best],
                "confidence": shares[best],
                "probabilities": chances,
            }
        chances, legend = (
            {str(k): each for k, each in enumerate(values)}
            for values in (shares, labels)
        )
        score = math.fsum(k * p for k, p in enumerate(shares))
        return {
            "type": "score",
            "score": score,
            "confidence": max(shares),
            "legend": legend,
            "probabilities": chances,
        }


def level_of(text: str) -> int:
    """The stub's level 0-4 of a text, for log-probability answers."""
    return round(score_of(text) / 25)


def _level_logprobs(text: str, top: int) -> dict[str, Any]:
    likely = level_of(text)
    chances = {str(k): 0.6 if k == likely else 0.1 for k in range(5)}
    ranked = sorted(chances.items(), key=lambda pair: -pair[1])[:top]
    others = [
        {"token": token, "logprob": math.log(p), "bytes": None} for token, p in ranked
    ]
    return {
        "token": str(likely),
        "logprob": math.log(0.6),
        "bytes": [48 + likely],
        "top_logprobs": others,
    }


def _spoiled(fault: Fault | None, content: str) -> tuple[str | None, str, str | None]:
    """(content, finish reason, refusal) with the fault inside."""
    answer, half = json.loads(content), content[: len(content) // 2]
    spoiled: dict[str, tuple[str | None, str, str | None]] = {
        "truncated": (half, "length", None),
        "fenced": (f"```json\n{content}\n```", "stop", None),
        "thought": (f"<think>Perhaps {half}? No.</think>\n\n{content}", "stop", None),
        "half-thought": (f"Perhaps 20 of 100.\n</think>\n\n{content}", "stop", None),
        "chatty": (
            f"Here you are:\n```json\n{content}\n```\nAsk for more!",
            "stop",
            None,
        ),
        "listed": (json.dumps([answer]), "stop", None),
        "wrapped": (json.dumps({"result": answer}), "stop", None),
        "as-texts": (json.dumps({k: str(v) for k, v in answer.items()}), "stop", None),
        "trailing": (content[:-1] + ",}", "stop", None),
        "marked": ("\ufeff" + content, "stop", None),
        "among-words": (f"My judgment is {content}. That is all.", "stop", None),
        "two-answers": (
            content + json.dumps(answer | {next(iter(answer)): 1}),
            "stop",
            None,
        ),
        "cut-json": (half, "stop", None),
        "wrong-fields": (json.dumps({"nota": 5}), "stop", None),
        "off-scale": (json.dumps(answer | {next(iter(answer)): 140}), "stop", None),
        "prose": ("I would say about 70 of 100.", "stop", None),
        "refusal": (None, "stop", "I cannot judge this text."),
        "content-filter": ("", "content_filter", None),
        "empty": ("", "stop", None),
    }
    return spoiled.get(fault.kind if fault is not None else "", (content, "stop", None))


def _json_answer(body: dict[str, Any], text: str) -> str:
    form = body.get("response_format", {}).get(
        "json_schema", body.get("output_config", {}).get("format", {})
    )
    schema = form.get("schema", {})
    if form.get("name", "judgment") != "judgment":  # a step of a judge style
        return json.dumps(
            {
                name: _filled(name, field, text)
                for name, field in schema["properties"].items()
            }
        )
    fields = {
        k: v
        for k, v in schema.get("properties", {}).items()
        if k not in ("confidence", "rationale")
    }
    name, field = next(
        iter(fields.items()),
        ("shame_score", {"type": "number", "minimum": 0, "maximum": 100}),
    )
    return json.dumps(
        {name: _filled(name, field, text), "confidence": 80, "rationale": "Stub."}
    )


def _filled(name: str, field: dict[str, Any], text: str) -> Any:
    """A plausible value for a field of a judge style's step: the text's score, a little lower or
    higher at the ends of a range, and some words."""
    if name.startswith("level_"):
        return 60 if name == f"level_{level_of(text)}" else 10
    if "enum" in field:
        return field["enum"][
            min(len(field["enum"]) - 1, int(score_of(text) / 100 * len(field["enum"])))
        ]
    if field.get("type") in ("number", "integer"):
        shift = {"range_low": -10, "range_high": 10}.get(name, 0)
        share = min(100, max(0, score_of(text) + shift)) / 100
        # some providers' schemas have no bounds
        low, high = (
            field.get("minimum", 0),
            field.get("maximum", 100),
        )
        value = low + share * (high - low)
        return round(value) if field["type"] == "integer" else value
    texts = {
        "biological_issues": [{"severity": "major", "text": "Stub."}],
        "summary": f"{' '.join(text.split()[:12])}.",
        "compelling": "critic",
    }
    if name == "issues" and field.get("items", {}).get("type") != "string":
        texts["issues"] = [{"kind": "missing", "severity": "major", "text": "Stub."}]
    if name in texts:
        return texts[name]
    return (
        ["Stub."] * field.get("minItems", 1)
        if field.get("type") == "array"
        else "Stub."
    )


def judged_text(body: dict[str, Any]) -> str:
    """What is judged: the first user message after the system prompt that the fences enclose, or
    the decision state."""
    if "state" in body:
        state = body["state"]
        # DSPy nests its inputs
        inputs = (
            state.get("inputs", state) if isinstance(state, dict) else {"text": state}
        )
        return str(inputs.get("text", inputs))
    fenced = [m["content"] for m in body.get("messages", []) if m["role"] == "user"]
    fenced = (
        [c for c in fenced if c.startswith("<<")]
        or [c for c in fenced if "\n<<" in c]
        or fenced
    )
    last = str(fenced[-1]) if fenced else ""
    if not last.startswith("<<"):
        return last
    opening, _, rest = last.partition("\n")
    return rest.partition("\n" + opening.replace("<<", "<</", 1))[0]


def _error(
    status: int, message: str, headers: dict[str, str] | None = None
) -> web.Response:
    body = {"error": {"message": message, "type": "stub_error", "code": None}}
    return web.json_response(body, status=status, headers=headers)


async def _serve(latency: float, limit: float | None) -> None:
    server = StubServer(latency=latency, limit=limit)
    await server.start()
    print(server.url.rpartition(":")[2], flush=True)
    while True:
        await asyncio.sleep(1)
        server.requests.clear()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Serve until killed; the port is printed on the first line."
    )
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--limit", type=float, default=None)
    asyncio.run(_serve(**vars(parser.parse_args())))
