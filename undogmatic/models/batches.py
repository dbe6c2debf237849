"""Speaks the batch interfaces of OpenAI and Anthropic: many requests at once, answered within a day
for half the price.

A batch is known again by its mark, which every request's `custom_id` ends with: whoever was killed
between sending a batch and noting its id finds it in the provider's list instead of sending it
twice.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

from pydantic_core import to_json

from undogmatic.errors import (
    ConfigError,
    TransportError,
    UndogmaticError,
    UnparseableAnswer,
)
from undogmatic.models.calls import RAW_LIMIT, Retryable
from undogmatic.models.http import LONGEST_BODY, JsonClient, LongReply
from undogmatic.safety.outside import Unreadable, brief, json_value

SHARE = 0.5
"""What a call in a batch costs, as a share of its usual price, at both providers."""
LONGEST_RESULTS = 1_000_000_000  # bytes of a file of answers that are read, unpacked
# bytes of answers that are kept: in any case, and more for each question
ROOM = 100_000_000
ROOM_EACH = 20_000
# of a file of answers that answer nothing that was asked; where there are more, it is left
STRANGE_LINES = 100_000
MOST_PAGES = 1000  # of the provider's list of batches
CLOCKS = 600.0  # seconds by which the provider's clock may differ from ours


class BatchLost(TransportError):
    """The provider does not know the batch, or its answers, any more."""


class Unsettled(UndogmaticError):
    """A batch that may be the one that is looked for has not ended, and does not show before."""


class Unnamed(UndogmaticError):
    """The provider took a batch, and its reply does not say under which id."""


class State(NamedTuple):
    """How far a batch is: whether it has ended, how many requests are done, and the provider's word
    for it."""

    ended: bool
    done: int
    word: str


class Answer(NamedTuple):
    """What came of one request: a status and a body as if it had been sent alone, or why there is
    none.

    With a `status` and a `why` something came that cannot be read; the body is its beginning.
    """

    status: int = 0
    body: bytes = b""
    why: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it has a good status and a body that was read."""
        return 200 <= self.status < 300 and not self.why


TWICE = Answer(why="it has two answers to this question, and they differ")


class Answers(NamedTuple):
    """What came of the requests of a batch, by their ids; `rest` says why others may lack, where
    that is known."""

    found: dict[str, Answer]
    rest: str = ""


_CUSTOM_ID = re.compile(rb'"custom_id"\s*:\s*"([\w.-]{1,200})"')


class _Reader:
    """Keeps the answers to the questions of one batch, from the lines of the provider's files.

    A line may be anything: it is the matter of its own question, where it says of which. What was
    not asked is left out, and all that is kept has a bound.
    """

    def __init__(
        self, mark: str, count: int, read: Callable[[Mapping[str, Any]], Answer]
    ) -> None:
        self.found: dict[str, Answer] = {}
        self.mark, self.read = mark, read
        self.room, self.strange = ROOM + count * ROOM_EACH, STRANGE_LINES
        self.named = 0  # lines that say of which question they are

    def take(self, line: bytes, whole: bool) -> None:
        """Read one line; of one that is too long its beginning. Raises LongReply where there are
        too many."""
        key, answer = self._read(line, whole)
        self.named += key is not None
        if key is None or not key.endswith(f"-{self.mark}"):
            self.strange -= 1
            if self.strange < 0:
                raise LongReply(
                    f"more than {STRANGE_LINES:,} lines of the answers belong to no question"
                )
            return
        if key in self.found:
            self.found[key] = _better(self.found[key], answer)
            return
        self.room -= len(key) + len(answer.body)
        if self.room < 0:
            raise LongReply(
                "the answers together are too large to be kept; send fewer in a batch with"
                " engine.size="
            )
        self.found[key] = answer

    def _read(self, line: bytes, whole: bool) -> tuple[str | None, Answer]:
        why = f"its line has more than {LONGEST_BODY:,} bytes"
        if whole:
            try:
                said = json_value(line)
            except Unreadable as error:
                why = f"its line is {error}"
            else:
                if isinstance(said, dict) and isinstance(
                    key := said.get("custom_id"), str
                ):
                    return key, self.read(said)
                return None, Answer(why="it names no question")
        named = _CUSTOM_ID.search(line)
        return None if named is None else named[1].decode(), Answer(
            200, line[:RAW_LIMIT], why
        )


def _better(one: Answer, other: Answer) -> Answer:
    """Of two answers to one request the good one; of two good ones that differ neither."""
    if one is TWICE or not other.is_good:
        return one
    return TWICE if one.is_good and one.body != other.body else other


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
        return self._state(await self._json(f"{self.place}/{batch}"))

    async def answers(self, batch: str, mark: str, count: int) -> Answers:
        """What came of the requests of this mark, `count` at most, in a batch that has ended.
        Raises BatchLost; UnparseableAnswer where the provider sends something else than its
        answers."""
        raise NotImplementedError

    async def find(self, mark: str, count: int, since: float) -> str | None:
        """The id of the batch of this mark and so many requests, sent at this moment or later; None
        if there is none. Raises Unsettled where that does not show yet, UnparseableAnswer where the
        list gives it no id that is one.
        """
        raise NotImplementedError

    def _state(self, said: Mapping[str, Any]) -> State:
        raise NotImplementedError

    async def _listed(self, cursor: str, since: float) -> AsyncIterator[dict[str, Any]]:
        """The provider's batches from the newest down to this moment."""
        after, seen = "", set[str]()
        for _ in range(MOST_PAGES):
            page = await self._json(f"{self.place}?limit=100{after}")
            rows = page.get("data")
            if not isinstance(rows, list):
                raise UnparseableAnswer(
                    f"{self.client.about} sent a list of batches without `data`"
                )
            for row in rows:
                if not isinstance(row, dict):
                    continue
                if _moment(row.get("created_at")) < since - CLOCKS:
                    return
                yield row
            last = (
                _usable(rows[-1].get("id"))
                if rows and isinstance(rows[-1], dict)
                else None
            )
            # else the same page, again and again
            if not page.get("has_more") or last is None or last in seen:
                return
            seen.add(last)
            after = f"&{cursor}={last}"

    async def _made(self, path: str, **sent: Any) -> str:
        """Have the provider make something; its id. Raises Unnamed where it did, and the id cannot
        be used."""
        try:
            status, headers, body = await self.client.request(
                "POST", self.base + path, **sent
            )
        except (
            UnparseableAnswer
        ) as error:  # a good status, and a body that cannot be unpacked, or has no end
            raise Unnamed(str(error)) from error
        if not 200 <= status < 300:
            self.client.understood(status, headers, body)
        try:
            return _id(self.client.understood(status, headers, body))
        except UnparseableAnswer as error:
            raise Unnamed(str(error)) from error

    async def _json(self, path: str) -> dict[str, Any]:
        """What the provider says of a batch, or of a list of them."""
        status, headers, body = await self.client.request("GET", self.base + path)
        # Of one batch it says that the provider has forgotten it; of a list, that the
        # address is wrong.
        if status == 404 and "?" not in path:
            raise BatchLost(
                f"{self.client.about} does not know {path.rpartition('/')[2]} any more"
            )
        return self.client.understood(status, headers, body)

    async def _read(self, path: str, reader: _Reader) -> str:
        """Have the lines of a file of answers read; why not all of them were, else "". Raises
        BatchLost; UnparseableAnswer for a page in place of the file."""
        before = reader.named
        opening = b""

        def take(line: bytes, whole: bool) -> None:
            nonlocal opening
            opening = opening or line.lstrip()[:1]
            reader.take(line, whole)

        try:
            status, headers, body = await self.client.each_line(
                self.base + path, take, LONGEST_RESULTS
            )
        except LongReply as error:
            return f"what follows in its answers was not read: {error}"
        # A proxy in between may answer with a page of its own and a good status; taken
        # for the file, it would settle every question as unanswered.
        if opening == b"<" and reader.named == before:
            raise UnparseableAnswer(
                f"{self.client.about} sent a page in place of the answers ({path})"
            )
        if status == 404:
            raise BatchLost(
                f"{self.client.about} does not have the answers ({path}) any more"
            )
        if not 200 <= status < 300:
            self.client.understood(status, headers, body)
        return ""


class OpenAIBatches(Batches):
    """OpenAI's Batch API: a file of requests is uploaded, and a batch made of it."""

    place = "/batches"

    async def submit(self, requests: Mapping[str, Any], mark: str) -> str:
        import aiohttp
        from yarl import URL

        endpoint = URL(self.base).path.rstrip("/") + self.path
        whole = b"".join(
            to_json(
                {"custom_id": key, "method": "POST", "url": endpoint, "body": request}
            )
            + b"\n"
            for key, request in requests.items()
        )
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field(
            "file", whole, filename=f"{mark}.jsonl", content_type="application/jsonl"
        )
        form_body = form()
        kind = {"Content-Type": form_body.content_type}
        try:
            file = await self._made("/files", data=form_body, headers=kind)
        except Unnamed as error:  # a file alone asks nothing and costs nothing
            raise Retryable(f"the file of questions was not taken: {error}") from error
        made = {"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"}
        return await self._made(
            self.place, data=to_json(made | {"metadata": {"undogmatic": mark}})
        )

    async def find(self, mark: str, count: int, since: float) -> str | None:
        odd = None
        async for row in self._listed("after", since):
            about = row.get("metadata")
            if isinstance(about, dict) and about.get("undogmatic") == mark:
                if (known := _usable(row.get("id"))) is not None:
                    return known
                odd = row
        return None if odd is None else _id(odd)

    async def answers(self, batch: str, mark: str, count: int) -> Answers:
        said = await self._json(f"{self.place}/{batch}")
        reader, rest = _Reader(mark, count, _of_openai), ""
        files = [
            _usable(said.get(name)) for name in ("error_file_id", "output_file_id")
        ]
        if files == [None, None] and _count(said.get("request_counts"), "completed"):
            raise UnparseableAnswer(
                f"the batch {batch} has answers, and no file of them is named"
            )
        for file in filter(None, files):
            rest = await self._read(f"/files/{file}/content", reader) or rest
        if not reader.found and said.get("status") == "failed":
            raise ConfigError(
                f"{self.client.about} refused the batch {batch}{_why(said)}. Check model.name."
            )
        return Answers(reader.found, rest)

    def _state(self, said: Mapping[str, Any]) -> State:
        word = str(said.get("status"))
        done = _count(said.get("request_counts"), "completed", "failed")
        return State(
            word in ("completed", "failed", "expired", "cancelled"), done, word
        )


def _count(counts: Any, *names: str) -> int:
    """How many requests a provider counts under these names; under all but "processing" where none
    is given."""
    if not isinstance(counts, dict):
        return 0
    chosen = names or [name for name in counts if name != "processing"]
    known = (counts.get(name) for name in chosen)
    return sum(n for n in known if isinstance(n, int) and not isinstance(n, bool))


def _why(said: Mapping[str, Any]) -> str:
    """What a batch that failed says of why, in brackets; nothing where it does not."""
    errors = said.get("errors")
    rows = errors.get("data") if isinstance(errors, dict) else None
    told = (
        [str(row.get("message")) for row in rows if isinstance(row, dict)]
        if isinstance(rows, list)
        else []
    )
    told = told or ([str(errors)] if errors else [])
    return f" ({'; '.join(told)[:300]})" if told else ""


def _of_openai(line: Mapping[str, Any]) -> Answer:
    response, error = line.get("response"), line.get("error")
    status = _status(response.get("status_code")) if isinstance(response, dict) else 0
    if isinstance(response, dict) and status:
        return Answer(status, to_json(response.get("body")))
    code = (
        (error.get("code") or error.get("message"))
        if isinstance(error, dict)
        else error
    )
    return Answer(why=str(code or "there is no answer")[:300])


def _status(said: Any) -> int:
    """What a line gives as the status of its answer; 0 for what is none."""
    return (
        said
        if isinstance(said, int) and not isinstance(said, bool) and 100 <= said <= 999
        else 0
    )


class AnthropicBatches(Batches):
    """Anthropic's Message Batches."""

    place = "/v1/messages/batches"

    async def submit(self, requests: Mapping[str, Any], mark: str) -> str:
        rows = [
            {"custom_id": key, "params": request} for key, request in requests.items()
        ]
        return await self._made(self.place, data=to_json({"requests": rows}))

    async def find(self, mark: str, count: int, since: float) -> str | None:
        # The list shows no marks; the answers do.
        async for row in self._listed("after_id", since):
            counts, known = row.get("request_counts"), _usable(row.get("id"))
            if known is None or _count(counts) + _count(counts, "processing") != count:
                continue
            if not self._state(row).ended:
                raise Unsettled(known)
            try:
                if (await self.answers(known, mark, count)).found:
                    return known
            except BatchLost:  # another one's, as what was just sent has its answers
                continue
        return None

    async def answers(self, batch: str, mark: str, count: int) -> Answers:
        reader = _Reader(mark, count, _of_anthropic)
        rest = await self._read(f"{self.place}/{batch}/results", reader)
        return Answers(reader.found, rest)

    def _state(self, said: Mapping[str, Any]) -> State:
        word = str(said.get("processing_status"))
        return State(word == "ended", _count(said.get("request_counts")), word)


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


_ID = re.compile(r"[A-Za-z0-9][\w.:=~-]{0,199}", re.ASCII)


def _usable(said: Any) -> str | None:
    """An id that can stand in an address; None for anything else."""
    return said if isinstance(said, str) and _ID.fullmatch(said) else None


def _id(said: Mapping[str, Any]) -> str:
    if (known := _usable(given := said.get("id"))) is None:
        what = (
            "no id"
            if given is None
            else f"the id {brief(given, 60)}, which cannot be used"
        )
        raise UnparseableAnswer(f"the provider's reply names {what}")
    return known


def _moment(said: Any) -> float:
    """Unix seconds of what a provider says: a number, or a date as text."""
    if isinstance(said, int | float):
        return float(said)
    try:
        return datetime.datetime.fromisoformat(str(said)).timestamp()
    except ValueError:
        return float("inf")
