"""A small server that every peer asks: it answers after a while with a score in the form that was
asked for, and misbehaves on some texts.

    python -m benchmarks.peers.server [--latency 0.1] [--faulty] [--limit N]

Texts begin with `peer-NUMBER:`. With `--faulty` the first answer to number 7 of each 50 is a sentence
without the form that was asked for, and to number 13 of each 100 it is a status 500; a further question about the
same text is answered well. With `--limit` it takes so many calls a second and answers 429 beyond,
with `Retry-After: 1`. The port is printed on the first line; GET /counts says what was asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from typing import Any

from aiohttp import web

NUMBER = re.compile(rb"peer-(\d+):")
FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]")
UNREADABLE = "I would rather not put a number on this text."


def score_of(number: int) -> float:
    """What the text of this number gets, between 0.05 and 0.95."""
    return 0.05 + number % 19 * 0.05


class Server:
    """Answers chats, and counts."""

    def __init__(self, latency: float, faulty: bool, limit: float | None) -> None:
        self.latency, self.faulty, self.limit = latency, faulty, limit
        self.counts: Counter[str] = Counter()
        self.asked: Counter[int] = Counter()
        self._free, self._counted = limit or 0.0, time.monotonic()

    async def chat(self, request: web.Request) -> web.Response:
        """One call."""
        raw = await request.read()
        found = NUMBER.findall(raw)
        number = int(found[-1]) if found else -1
        self.counts["asked"] += 1
        if self._full():
            self.counts["429"] += 1
            told = {
                "error": {
                    "message": "Rate limit reached",
                    "type": "requests",
                    "code": None,
                }
            }
            return web.json_response(told, status=429, headers={"Retry-After": "1"})
        self.asked[number] += 1
        await asyncio.sleep(self.latency)
        first = self.faulty and self.asked[number] == 1
        if first and number % 100 == 13:
            self.counts["500"] += 1
            told = {
                "error": {
                    "message": "Server error",
                    "type": "server_error",
                    "code": None,
                }
            }
            return web.json_response(told, status=500)
        content = self._content(raw, number)
        if first and number % 50 == 7:
            self.counts["unreadable"] += 1
            content = UNREADABLE
        else:
            self.counts["well"] += 1
        message = {"role": "assistant", "content": content, "refusal": None}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "stop",
            "logprobs": None,
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        about: dict[str, Any] = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
        }
        about |= {"created": 1_800_000_000, "model": "gpt-4.1-mini", "usage": usage}
        return web.json_response(about | {"choices": [choice]})

    def _content(self, raw: bytes, number: int) -> str:
        """The score in the form that was asked for."""
        body = json.loads(raw)
        score = round(score_of(number), 2)
        form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        names = form.get("properties", {})
        if "shame_score" in names:  # ours, on a scale from 0 to 100
            return json.dumps(
                {
                    "shame_score": round(100 * score),
                    "confidence": 80,
                    "rationale": "Stub.",
                }
            )
        values: dict[str, Any] = {
            "score": score,
            "reason": "Stub.",
            "pass": True,
            "reasoning": "Stub.",
        }
        if names:
            return json.dumps({name: values.get(name, "Stub.") for name in names})
        if b"[[ ## score ## ]]" in raw:  # DSPy's own form
            return f"[[ ## reason ## ]]\nStub.\n\n[[ ## score ## ]]\n{score}\n\n[[ ## completed ## ]]"
        return json.dumps({name: values[name] for name in ("score", "reason", "pass")})

    def _full(self) -> bool:
        if self.limit is None:
            return False
        now = time.monotonic()
        self._free = min(self.limit, self._free + (now - self._counted) * self.limit)
        self._counted = now
        if self._free < 1:
            return True
        self._free -= 1
        return False

    async def told(self, _: web.Request) -> web.Response:
        """What was asked since this was last asked for."""
        counts, self.counts = self.counts, Counter()
        self.asked.clear()
        return web.json_response(counts)


async def serve(latency: float, faulty: bool, limit: float | None) -> None:
    """Serve until killed."""
    server, app = Server(latency, faulty, limit), web.Application(client_max_size=2**26)
    app.router.add_get("/counts", server.told)
    app.router.add_post("/{tail:.*}", server.chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=512)
    await site.start()
    assert site._server is not None
    print(site._server.sockets[0].getsockname()[1], flush=True)  # type: ignore[attr-defined]
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--faulty", action="store_true")
    parser.add_argument("--limit", type=float, default=None)
    asyncio.run(serve(**vars(parser.parse_args())))
