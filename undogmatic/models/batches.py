"""Speaks the batch interfaces of OpenAI and Anthropic: many requests at once, answered within a day for half the price.

A batch is known again by its mark, which every request's `custom_id` ends with: whoever was killed between sending a
batch and noting its id finds it in the provider's list instead of sending it twice.
"""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import to_json

from undogmatic.errors import ConfigError, TransportError, UnparseableAnswer
from undogmatic.models.http import JsonClient
from undogmatic.safety.outside import Unreadable, json_value

SHARE = 0.5
"""What a call in a batch costs, as a share of its usual price, at both providers."""
LONGEST_RESULTS = 1_000_000_000  # bytes of a file of answers
CLOCKS = 600.0  # seconds by which the provider's clock may differ from ours


class BatchLost(TransportError):
    """The provider does not know the batch, or its answers, any more."""


class Unsettled(Exception):
    """A batch that may be the one that is looked for has not ended, and does not show before."""


class State(NamedTuple):
    """How far a batch is: whether it has ended, how many requests are done, and the provider's word for it."""

    ended: bool
    done: int
    word: str


class Answer(NamedTuple):
    """What came of one request: a status and a body as if it had been sent alone, or why there is none."""

    status: int = 0
    body: bytes = b""
    why: str = ""


TWICE = Answer(why="it has two answers to this question, and they differ")


def _add(found: dict[str, Answer], key: str, answer: Answer) -> None:
    """Note an answer; of two to one request the good one, and of two good ones that differ neither."""
    before = found.get(key, Answer())
    if before is TWICE or (200 <= before.status < 300 and not 200 <= answer.status < 300):
        return
    differ = 200 <= before.status < 300 and before.body != answer.body
    found[key] = TWICE if differ else answer


class Batches:
    """Batches of one model at its provider.

    Attributes:
        client: Of the model, with its key.
        base, path: The API's address, and the path of a single request below it.
    """

    place: str  # of the batches, below `base`

    def __init__(self, client: JsonClient, base: str, path: str) -> None:
        self.client, self.base, self.path = client, base, path

    async def submit(self, requests: Mapping[str, Any], mark: str) -> str:
        """Send the requests by their ids; the batch's id."""
        raise NotImplementedError

    async def state(self, batch: str) -> State:
        """How far it is. Raises BatchLost."""
        return self._state(await self._json("GET", f"{self.place}/{batch}"))

    async def answers(self, batch: str) -> dict[str, Answer]:
        """What came of the requests of a batch that has ended, by their ids. Raises BatchLost."""
        raise NotImplementedError

    async def find(self, mark: str, count: int, since: float) -> str | None:
        """The id of the batch of this mark and so many requests, sent at this moment or later; None if there is none.
        Raises Unsettled where that does not show yet."""
        raise NotImplementedError

    def _state(self, said: Mapping[str, Any]) -> State:
        raise NotImplementedError

    async def _listed(self, cursor: str, since: float) -> AsyncIterator[dict[str, Any]]:
        """The provider's batches from the newest down to this moment."""
        after = ""
        while True:
            page = await self._json("GET", f"{self.place}?limit=100{after}")
            rows = page.get("data")
            for row in rows if isinstance(rows, list) else []:
                if not isinstance(row, dict) or _moment(row.get("created_at")) < since - CLOCKS:
                    return
                yield row
            if not page.get("has_more") or not rows:
                return
            after = f"&{cursor}={rows[-1].get('id')}"

    async def _json(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        status, headers, body = await self.client.request(method, self.base + path, **sent)
        if status == 404 and method == "GET" and "?" not in path:
            raise BatchLost(f"{self.client.about} does not know {path.rpartition('/')[2]} any more")
        return self.client.understood(status, headers, body)

    async def _lines(self, path: str) -> list[dict[str, Any]]:
        """The objects of a JSON Lines file. Raises BatchLost; UnparseableAnswer for what is no such file."""
        status, headers, body = await self.client.request("GET", self.base + path, most=LONGEST_RESULTS)
        if status == 404:
            raise BatchLost(f"{self.client.about} does not have the answers ({path}) any more")
        if not 200 <= status < 300:
            self.client.understood(status, headers, body)
        lines = []
        for line in body.splitlines():
            try:
                value = json_value(line) if line.strip() else {}
            except Unreadable:  # one line, not all answers
                continue
            if isinstance(value, dict) and isinstance(value.get("custom_id"), str):
                lines.append(value)
        return lines


class OpenAIBatches(Batches):
    """OpenAI's Batch API: a file of requests is uploaded, and a batch made of it."""

    place = "/batches"

    async def submit(self, requests: Mapping[str, Any], mark: str) -> str:
        import aiohttp
        from yarl import URL

        endpoint = URL(self.base).path.rstrip("/") + self.path
        whole = b"".join(
            to_json({"custom_id": key, "method": "POST", "url": endpoint, "body": request}) + b"\n"
            for key, request in requests.items()
        )
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", whole, filename=f"{mark}.jsonl", content_type="application/jsonl")
        form_body = form()
        kind = {"Content-Type": form_body.content_type}
        sent = await self._json("POST", "/files", data=form_body, headers=kind)
        made = {"input_file_id": _id(sent), "endpoint": endpoint, "completion_window": "24h"}
        batch = await self._json("POST", self.place, data=to_json(made | {"metadata": {"undogmatic": mark}}))
        return _id(batch)

    async def find(self, mark: str, count: int, since: float) -> str | None:
        async for row in self._listed("after", since):
            if (row.get("metadata") or {}).get("undogmatic") == mark:
                return _id(row)
        return None

    async def answers(self, batch: str) -> dict[str, Answer]:
        said = await self._json("GET", f"{self.place}/{batch}")
        found: dict[str, Answer] = {}
        for name in ("error_file_id", "output_file_id"):
            if isinstance(file := said.get(name), str) and file:
                for line in await self._lines(f"/files/{file}/content"):
                    _add(found, line["custom_id"], _of_openai(line))
        if not found and said.get("status") == "failed":
            raise ConfigError(f"{self.client.about} refused the batch {batch}{_why(said)}. Check model.name.")
        return found

    def _state(self, said: Mapping[str, Any]) -> State:
        word, counts = str(said.get("status")), said.get("request_counts") or {}
        done = sum(n for key in ("completed", "failed") if isinstance(n := counts.get(key), int))
        return State(word in ("completed", "failed", "expired", "cancelled"), done, word)


def _why(said: Mapping[str, Any]) -> str:
    """What a batch that failed says of why, in brackets; nothing where it does not."""
    errors = said.get("errors")
    rows = errors.get("data") if isinstance(errors, dict) else None
    told = [str(row.get("message")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    told = told or ([str(errors)] if errors else [])
    return f" ({'; '.join(told)[:300]})" if told else ""


def _of_openai(line: Mapping[str, Any]) -> Answer:
    response, error = line.get("response"), line.get("error")
    if isinstance(response, dict) and isinstance(status := response.get("status_code"), int):
        return Answer(status, to_json(response.get("body")))
    code = error.get("code") if isinstance(error, dict) else None
    return Answer(why=str(code or "there is no answer"))


class AnthropicBatches(Batches):
    """Anthropic's Message Batches."""

    place = "/v1/messages/batches"

    async def submit(self, requests: Mapping[str, Any], mark: str) -> str:
        rows = [{"custom_id": key, "params": request} for key, request in requests.items()]
        return _id(await self._json("POST", self.place, data=to_json({"requests": rows})))

    async def find(self, mark: str, count: int, since: float) -> str | None:
        # The list shows no marks; the answers do.
        async for row in self._listed("after_id", since):
            counts = row.get("request_counts") or {}
            if sum(n for n in counts.values() if isinstance(n, int)) != count:
                continue
            if not self._state(row).ended:
                raise Unsettled(_id(row))
            if any(key.endswith(mark) for key in await self.answers(_id(row))):
                return _id(row)
        return None

    async def answers(self, batch: str) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for line in await self._lines(f"{self.place}/{batch}/results"):
            _add(found, line["custom_id"], _of_anthropic(line))
        return found

    def _state(self, said: Mapping[str, Any]) -> State:
        counts, word = said.get("request_counts") or {}, str(said.get("processing_status"))
        done = sum(n for key, n in counts.items() if key != "processing" and isinstance(n, int))
        return State(word == "ended", done, word)


def _of_anthropic(line: Mapping[str, Any]) -> Answer:
    result = line.get("result")
    result = result if isinstance(result, dict) else {}
    kind = result.get("type")
    if kind == "succeeded":
        return Answer(200, to_json(result.get("message")))
    if kind != "errored":
        return Answer(why=str(kind or "there is no answer"))
    error = result.get("error")
    inner = error.get("error", error) if isinstance(error, dict) else {}
    refused = isinstance(inner, dict) and inner.get("type") == "invalid_request_error"
    return Answer(400 if refused else 500, to_json(error))


def _id(said: Mapping[str, Any]) -> str:
    if not isinstance(name := said.get("id"), str) or not name or "/" in name:
        raise UnparseableAnswer("the provider's reply names no id")
    return name


def _moment(said: Any) -> float:
    """Unix seconds of what a provider says: a number, or a date as text."""
    if isinstance(said, int | float):
        return float(said)
    try:
        return datetime.datetime.fromisoformat(str(said)).timestamp()
    except ValueError:
        return float("inf")
