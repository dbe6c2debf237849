"""Answers that no server should give, for the stub's fault `hostile`, tests and fuzzers."""

import functools
import gzip
import json
import zlib
from typing import Any, NamedTuple

from aiohttp import web

ENDLESS = "9" * 5000
MEGABYTES = 64


class Odd(NamedTuple):
    """A body with a status and headers."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012


def chat(
    content: Any = '{"shame_score": 50, "confidence": 80, "rationale": "Stub."}',
    **more: Any,
) -> dict[str, Any]:
    """A good answer of an OpenAI-compatible server, or one with other contents."""
    message = {"role": "assistant", "content": content, "refusal": None} | more.pop(
        "message", {}
    )
    choice = {"index": 0, "message": message, "finish_reason": "stop"} | more.pop(
        "choice", {}
    )
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"id": "x", "model": "stub", "choices": [choice], "usage": usage} | more


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


def _answer(**fields: str) -> bytes:
    """A good reply whose content is a JSON object with these fields, as they are written."""
    known = {"shame_score": "50", "confidence": "80", "rationale": '"Stub."'} | fields
    return _written(
        chat(
            "{" + ", ".join(f'"{name}": {value}' for name, value in known.items()) + "}"
        )
    )


def _in_body(spoiled: str) -> bytes:
    return _written(chat(extra="HERE")).replace(
        b'"HERE"', spoiled.encode("utf-8", "surrogatepass")
    )


def _packed(body: bytes, form: str = "gzip", status: int = 200) -> Odd:
    return Odd(
        (gzip if form == "gzip" else zlib).compress(body),
        status,
        {"Content-Encoding": form},
    )


@functools.cache
def odd_answers(key: str = "") -> dict[str, Odd]:
    """All of them by name; `key` is echoed by those that echo keys."""
    escaped = "".join(f"\\u{ord(c):04x}" for c in key)
    deep = "[" * 50_000 + "]" * 50_000
    found: dict[str, bytes | Odd] = {
        "a lone surrogate": _in_body('"\\ud800"'),
        "a lone surrogate in the content": _answer(rationale='"\\ud800"'),
        "bytes that are no text": b'{"choices": "\xff\xfe"}',
        "an endless integer": _in_body(ENDLESS),
        "an endless score": _answer(shame_score=ENDLESS),
        "a score of 1e999": _answer(shame_score="1e999"),
        "a score of NaN": _answer(shame_score="NaN"),
        "a score that is true": _answer(shame_score="true"),
        "a score that is a text": _answer(shame_score='"7"'),
        "a confidence of -1e308": _answer(confidence="-1e308"),
        "a NUL in the rationale": _answer(rationale='"a\\u0000b"'),
        "a rationale that is a list": _answer(rationale='["a", ["b"]]'),
        "a rationale of 10 MB": _answer(rationale='"' + "x" * 10_000_000 + '"'),
        "a rationale of 300 kB": _answer(rationale='"' + "x" * 300_000 + '"'),
        "a fence of spaces": _written(chat("```" + " " * 90_000 + "x")),
        "deep nesting": deep.encode(),
        "nesting that just passes": _in_body("[" * 95 + "]" * 95),
        "deep nesting in the content": _written(chat(deep[:40_000])),
        "a cost of NaN": _in_body("0").replace(
            b'"usage": {', b'"usage": {"cost": NaN, '
        ),
        "a cost below 0": _written(
            chat(usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": -1e300})
        ),
        "a cost that is huge": _written(
            chat(usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": 1e300})
        ),
        "tokens that are huge": _written(
            chat(usage={"prompt_tokens": 10**300, "completion_tokens": 1})
        ),
        "a usage that is a list": _written(chat(usage=[1, 2])),
        "a refusal that is a number": _written(chat(message={"refusal": 7})),
        "a refusal that is an object": _written(
            chat(message={"refusal": {"why": [1]}})
        ),
        "a content that is an object": _written(chat({"a": 1})),
        "a content of odd parts": _written(
            chat([{"text": 7}, 8, None, {"text": {"a": 1}}])
        ),
        "a finish reason that is a list": _written(
            chat(choice={"finish_reason": ["stop"]})
        ),
        "choices that are an object": _written({"choices": {"0": {}}}),
        "a message that is a text": _written(chat(choice={"message": "hello"})),
        "an error that is a number": _written(chat(error=7)),
        "an error that lies": _written(
            {"error": {"code": 401, "message": ["a", {"b": 1}]}}
        ),
        "an id that is an object": _written(chat(id={"a": 1}, model=["m"])),
        "no body": b"",
        "null": b"null",
        "a number": b"7",
        "HTML": b"<html><body>login</body></html>",
        "UTF-16": json.dumps(chat()).encode("utf-16"),
        "a huge body": b'{"a": "' + b"x" * 10_000_000 + b'"}',
        "a huge error": Odd(b"x" * 10_000_000, 500),
        "many small values": b'{"a": [' + b"[]," * 1_000_000 + b"0]}",
        "a bomb": _packed(b" " * (MEGABYTES << 20)),
        "a deflated bomb": _packed(b" " * (MEGABYTES << 20), "deflate"),
        "a bomb as an error": _packed(b"x" * (MEGABYTES << 20), status=503),
        "gzip that is none": Odd(
            b"\x1f\x8bhello", headers={"Content-Encoding": "gzip"}
        ),
        "gzip that is good": _packed(_answer()),
        "an unknown packing": Odd(_answer(), headers={"Content-Encoding": "br, x-own"}),
        "a redirect": Odd(b"", 302, {"Location": "http://127.0.0.1:1/"}),
        "status 404 once": Odd(b"{}", 404),
        "status 401 once": Odd(_written({"error": {"message": f"bad key {key}"}}), 401),
        "status 418": Odd(b"[[[", 418),
        "status 999": Odd(b"", 999),
        "an error that is deep": Odd(deep.encode(), 400),
        "an error with odd places": Odd(
            _written({"detail": [{"loc": [{"a": 1}, None], "msg": ["x"]}, 7]}), 422
        ),
        "to be tried again at 1e999": Odd(b"{}", 429, {"Retry-After": "1e999"}),
        "to be tried again at NaN": Odd(b"{}", 429, {"Retry-After": "nan"}),
        "to be tried again at -5": Odd(b"{}", 429, {"Retry-After": "-5"}),
        "to be tried again in the year 0": Odd(
            b"{}", 503, {"Retry-After": "Mon, 01 Jan 0001 00:00:00 +9999"}
        ),
        "to be tried again some time": Odd(
            b"{}", 503, {"Retry-After": "so\xf6n", "retry-after-ms": "x" * 4000}
        ),
        "a header that is long": Odd(_answer(), headers={"X-Long": "x" * 60_000}),
        "many headers": Odd(_answer(), headers={f"X-{n}": "y" for n in range(300)}),
        "the key in the rationale": _answer(rationale=json.dumps(f"my key is {key}")),
        "the key, escaped": _answer(rationale=f'"my key is {escaped}"'),
        "the key in an error": Odd(_written({"error": f"bad {key}"}), 500),
        "the key in a header": Odd(_answer(), headers={"X-Key": key or "none"}),
    }
    return {
        name: odd if isinstance(odd, Odd) else Odd(odd) for name, odd in found.items()
    }


def response(odd: Odd) -> web.Response:
    """As aiohttp sends it."""
    headers = {"Content-Type": "application/json", **odd.headers}
    return web.Response(body=odd.body, status=odd.status, headers=headers)
