"""One JSON request over aiohttp, the key it needs, and what every kind of bad reply means."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
import urllib.request
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic_core import to_json

from undogmatic.errors import (
    ConfigError,
    RefusedAnswer,
    TransportError,
    UnparseableAnswer,
)
from undogmatic.models.calls import RAW_LIMIT, Retryable, with_texts, within
from undogmatic.safety import secrets
from undogmatic.safety.outside import Unreadable, json_value
from undogmatic.safety.secrets import (
    has_secret,
    keep,
    learn,
    shown_address,
)
from undogmatic.safety.variables import setting

if TYPE_CHECKING:
    import aiohttp

# bytes of an answer, unpacked: some hundred times of what a judge's answer needs.
LONGEST_BODY = 4_000_000
LONGEST_WAIT = 1e9  # seconds; whoever asks for more means never
_RETRIED, _FULL = (408, 409, 425, 429), (429, 503, 529)
_REFUSAL_CODES = (
    "content_filter",
    "content_policy_violation",
    "ResponsibleAIPolicyViolation",
    "flagged",
)
_TOO_LONG = (
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "context_too_large",
)
_NO_SYSTEM = re.compile(
    r"system (role|prompt|message|instruction)s?[^.]{0,40}(not|n't) "
    r"(supported|allowed|enabled|permitted|accepted)"
    r"|(does ?n[o']t|not|n't) (support|allow|accept|take|enable)[^.]{0,30}system"
    r"|(conversation )?roles must alternate|only user,? (and )?assistant|unexpected role[^.]*system"
    r"|developer instruction is not enabled",
    re.IGNORECASE,
)
"""How the templates of models that know no system message refuse one (Gemma, early Mistral)."""
_SYSTEM_HINT = (
    "The template of this model takes no system message: set model.system=merge, and it is put"
    " into the user's turn."
)
_HINTS = {
    "temperature": "A reasoning model that fixes its own sampling: set model.sampling=false.",
    "top_p": "A model that fixes its own sampling: set model.sampling=false.",
    "logprobs": "This model gives no log-probabilities: use readout=structured.",
    "max_completion_tokens": "Set model.max_tokens_field=max_completion_tokens.",
    "max_tokens": "Set model.max_tokens_field (max_tokens or max_completion_tokens).",
    "response_format": "This server cannot enforce a schema: set model.json_mode=object or off.",
    "json_schema": "This server cannot enforce a schema: set model.json_mode=object or off.",
    "output_config": "This model cannot enforce a schema: set model.json_mode=off.",
}
_ADVICE = {
    402: "The account has no credit left; add some, or choose another model=.",
    404: "Check model.name and model.api_base: the server knows no such model or address.",
    **dict.fromkeys(
        range(300, 400),
        "The server redirects; set model.api_base to the final address.",
    ),
}
_keyed: ContextVar[bool] = ContextVar("undogmatic_keyed", default=True)
_PACKED = ("gzip", "deflate", "x-gzip", "identity")
# bytes that are unpacked at once: what is packed may be a thousand times as long unpacked
_PIECE = 1 << 18


class JsonClient:
    """Posts JSON to one URL, with one keep-alive session per event loop."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],  # sent with every request
        variable: str | None,  # that holds the key
        key: SecretStr | None,  # None for a server that needs none
        # the header that carries the key; "Authorization" takes it as a bearer token
        key_header: str,
        # how messages name the model, e.g. "gpt-4.1-mini at https://api.openai.com/v1"
        about: str,
    ) -> None:
        self.url = url
        self.about = about
        self._variable = variable
        self._key = key
        self._key_header = key_header
        kind = "application/json"
        self._headers = {
            "Content-Type": kind,
            "Accept": kind,
            "Accept-Encoding": ", ".join(_PACKED),
            **headers,
        }
        self.answered = False
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        # The proxy is looked up once, because aiohttp would do it for every request.
        direct = is_local(url) or urllib.request.proxy_bypass(urlsplit(url).netloc)
        self._proxy = (
            None if direct else urllib.request.getproxies().get(urlsplit(url).scheme)
        )

    async def post(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The JSON object that came back with a good status, without the key, which servers echo.

        Raises:
            Retryable: 408, 409, 425, 429, 5xx; no connection, or one that broke.
            ConfigError: The key, the name, the address or the request is wrong for this server.
            RefusedAnswer: The provider's filter stopped the request.
            TransportError: A status that would be a ConfigError, of a server that has already
                `answered` well.
            UnparseableAnswer: A good status with a body that is not a JSON object or has no end; a
                text too long for the model, or a request that the server does not take after it
                took others.
        """
        return self.understood(
            *await self.request("POST", self.url, data=to_json(payload))
        )

    async def request(
        self, method: str, url: str, **sent: Any
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of any request to this server; raises as `post` does of what is
        no answer at all. `sent` are aiohttp's own arguments."""
        async with self._reaching(method, url, **sent) as reply:
            return reply.status, reply.headers, await self._body(reply)

    async def each_line(
        self, url: str, take: Callable[[bytes, bool], None], most: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Hand over the lines of a long reply one by one while they come, so that only one is in
        memory.

        Args:
            url: What is asked for.
            take: Gets each line that is not blank, and whether it is whole: of one that is longer
                than an answer may be (`LONGEST_BODY`) it gets the beginning.
            most: Bytes that are read, unpacked; where there are more, LongReply is raised.
        Returns:
            Status, headers, and the body of a reply that is none of lines (a status other than
            2xx).
        """
        async with self._reaching("GET", url) as reply:
            if not _good(reply.status):
                return reply.status, reply.headers, await self._body(reply)
            line, total = bytearray(), 0

            def add(part: bytes) -> None:
                line.extend(part[: LONGEST_BODY + 1 - len(line)])

            def end() -> None:
                if line.strip():
                    whole = len(line) <= LONGEST_BODY
                    take(bytes(line if whole else line[:RAW_LIMIT]), whole)
                line.clear()

            async with aclosing(self._pieces(reply, whole=True)) as pieces:
                async for piece, sent in pieces:
                    total += len(piece)
                    if max(total, sent) > most:
                        raise LongReply(f"{self.about} sent more than {most:,} bytes")
                    # Line breaks alone, by the hundred million, would each take a step below.
                    piece = piece.replace(b"\r\n", b"\n")  # noqa: PLW2901
                    while b"\n\n" in piece:
                        piece = piece.replace(b"\n\n", b"\n")  # noqa: PLW2901
                    *ended, rest = piece.split(b"\n")
                    for part in ended:
                        add(part)
                        end()
                    add(rest)
            end()
            return reply.status, reply.headers, b""

    @asynccontextmanager
    async def _reaching(
        self, method: str, url: str, **sent: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A request that is under way; inside, what goes wrong with the connection is told in our
        words."""
        import aiohttp

        try:
            async with self._session().request(
                method, url, allow_redirects=False, proxy=self._proxy, **sent
            ) as reply:
                yield reply
        except aiohttp.ClientConnectorCertificateError as error:
            raise ConfigError(
                f"{self.about}: its certificate is not trusted ({error.certificate_error}). "
                "Set SSL_CERT_FILE to your certificate bundle, or correct model.api_base."
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise Retryable(
                f"cannot connect to {self.about} ({error.os_error.strerror or error.os_error}). "
                "Start the server, check the network, or correct model.api_base"
            ) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise Retryable(
                f"{self.about} broke the connection ({type(error).__name__})"
            ) from None

    def understood(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> dict[str, Any]:
        """What came back, as the object it is; raises as `post` does."""
        if not _good(status):
            self._fault(status, headers, _said(body))
        try:
            data = json_value(body)
            if not isinstance(data, dict):
                raise Unreadable(f"a JSON {type(data).__name__}, not an object")
        except Unreadable as error:
            raise UnparseableAnswer(
                f"{self.about} sent a body that is {error}", _said(body)[:RAW_LIMIT]
            ) from None
        return (
            with_texts(data, secrets.scrub)
            if secrets.holds(body.decode("utf-8", errors="replace"))
            else data
        )

    async def _body(self, reply: aiohttp.ClientResponse) -> bytes:
        """All of the body, unpacked. Raises UnparseableAnswer as soon as it is too long to be an
        answer. Of an error only the status counts: its body serves for a message, so what cannot be
        read of that is left out.
        """
        body = bytearray()
        try:
            async with aclosing(self._pieces(reply)) as pieces:
                async for piece, sent in pieces:
                    if max(len(body) + len(piece), sent) > LONGEST_BODY:
                        why = f"{self.about} sent a body of more than {LONGEST_BODY:,} bytes"
                        raise UnparseableAnswer(
                            why, _said(bytes(body[: 4 * RAW_LIMIT]))[:RAW_LIMIT]
                        )
                    body += piece
        except UnparseableAnswer:
            if _good(reply.status):
                raise
        return bytes(body)

    async def _pieces(
        self, reply: aiohttp.ClientResponse, whole: bool = False
    ) -> AsyncGenerator[tuple[bytes, int]]:
        """The body, unpacked in small pieces, each with the number of bytes that were sent so far:
        a few packed bytes may stand for a great many. Raises UnparseableAnswer for what cannot be
        unpacked; where it must be `whole`, Retryable for what has no end (some servers leave it
        out, and a single answer shows itself whether it is whole)."""
        packed = (
            reply.headers.get("Content-Encoding", "identity").strip().lower()
            or "identity"
        )
        if packed not in _PACKED:
            raise UnparseableAnswer(
                f"{self.about} sent a body packed as {packed[:40]!r}, which was not asked for"
            )
        unpack, sent, ended = None, 0, False
        async for chunk in reply.content.iter_any():
            sent += len(chunk)
            if packed == "identity":
                yield chunk, sent
                continue
            more = True
            while more:
                if unpack is None:
                    # A gzip may go on with another one; what else follows an end says nothing.
                    if ended and not (
                        "gzip" in packed and chunk.startswith(b"\x1f\x8b")
                    ):
                        yield b"", sent
                        break
                    # "deflate" comes with a header of zlib's or without.
                    unpack = zlib.decompressobj(
                        31 if "gzip" in packed else 15 if chunk[:1] == b"\x78" else -15
                    )
                try:
                    piece = unpack.decompress(chunk, _PIECE)
                except zlib.error as error:
                    raise UnparseableAnswer(
                        f"{self.about} sent a body that cannot be unpacked ({error})"
                    ) from None
                yield piece, sent
                chunk = unpack.unconsumed_tail  # noqa: PLW2901
                more = bool(chunk) or len(piece) == _PIECE
                if unpack.eof:
                    chunk, unpack, ended = unpack.unused_data, None, True  # noqa: PLW2901
                    more = bool(chunk)
        if whole and unpack is not None:
            raise Retryable(f"{self.about} broke off within what it sent")

    def embedded_fault(self, data: dict[str, Any]) -> None:
        """Raise what an error object inside a good reply stands for; routers send those."""
        if (error := data.get("error")) is not None:
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code <= 599 else 502
            self._fault(status, {}, json.dumps(data, ensure_ascii=False))

    async def close(self) -> None:
        """Close the session of the running loop; sessions of loops that ended are dropped.

        Threads of an optimisation, each with a loop of its own, do this at once, and open sessions
        meanwhile. So nothing here goes over the dictionary itself, which ends in an error where
        another thread adds to it, or puts another one in its place, in which a session is missing
        that was opened in between and is never closed then. Each step below is one step for all
        threads; a lock could not be copied with the model.
        """
        if (
            session := self._sessions.pop(asyncio.get_running_loop(), None)
        ) is not None:
            await session.close()
        for loop in list(self._sessions):
            if loop.is_closed():
                self._sessions.pop(loop, None)

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            import aiohttp

            bearer = "Bearer " if self._key_header == "Authorization" else ""
            key = (
                {}
                if self._key is None
                else {self._key_header: bearer + self._key.get_secret_value()}
            )
            session = self._sessions[loop] = aiohttp.ClientSession(
                # The engine bounds what is in flight; the time limit of an attempt is the
                # gateway's.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
                headers=self._headers | key,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # `_body` does, within bounds
            )
        return session

    def _fault(self, status: int, headers: Mapping[str, str], text: str) -> NoReturn:
        """Raise what a status stands for, as `post` says."""
        raw = text[:RAW_LIMIT]
        try:
            message = _message(json_value(text))[:300]
        except Unreadable:
            message = "" if text.lstrip().startswith("<") else text.strip()[:300]
        reply = f"{self.about} answered {status}" + (f": {message}" if message else "")
        without_quota = status == 429 and "insufficient_quota" in text
        if any(code in text for code in _REFUSAL_CODES) and status in (400, 403, 422):
            raise RefusedAnswer(
                f"the provider's filter stopped the request ({message})", raw
            )
        if (status in _RETRIED or status >= 500) and not without_quota:
            raise Retryable(
                reply, retry_after(headers), full=status in _FULL, limited=status == 429
            )
        if status == 413 or (
            status in (400, 422) and any(phrase in text for phrase in _TOO_LONG)
        ):
            raise UnparseableAnswer(
                f"the text is too long for the model ({message})", raw
            )
        hints = (hint for word, hint in _HINTS.items() if word in text)
        advice = _ADVICE.get(status) or next(
            hints, "Check model.name and the readout's options."
        )
        if 400 <= status < 500 and _NO_SYSTEM.search(message):
            advice = _SYSTEM_HINT
        if without_quota:
            advice = (
                "The account has no quota left; add credit, or choose another model=."
            )
        elif status == 403 and "logprobs" in message:
            # The key is good; it is the model, or the account, that gives none.
            advice = _HINTS["logprobs"]
        elif status in (401, 403) and self._key is None:
            advice = (
                "The server wants a key: name the environment variable that holds it with"
                " model.key_env=NAME."
            )
        elif status in (401, 403):
            advice = (
                f"The key in {self._variable} was not accepted; set a valid one in the environment"
                " or .env."
            )
        # Something is wrong with the key, the address or the request. Of a server that has answered
        # well that is an accident of this one call; where it stays so, the run ends for want of
        # answers.
        if not self.answered:
            raise ConfigError(f"{reply}\n{advice}")
        kind = (
            TransportError
            if status in (401, 402, 403, 404, 429) or not 400 <= status < 500
            else UnparseableAnswer
        )
        raise kind(f"{reply}\n{advice}", raw)


class LongReply(UnparseableAnswer):
    """There is more of a reply than is read of one."""


def _good(status: int) -> bool:
    return 200 <= status < 300


def _said(body: bytes) -> str:
    """A body as far as it is text, without secrets, for messages."""
    return secrets.scrub(body.decode("utf-8", errors="replace"))


def _message(body: Any, listed: bool = False) -> str:
    """The human part of an error body, in the order in which servers are known to spell it."""
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(
            filter(None, (_message(entry, listed=True) for entry in body[:3]))
        )
    if not isinstance(body, dict):
        return ""
    if listed and isinstance(body.get("loc"), list):
        return f"{'.'.join(map(str, body['loc']))}: {body.get('msg', '')}"
    return next(
        (
            _message(body[key])
            for key in ("error", "message", "detail", "msg", "errors")
            if body.get(key)
        ),
        "",
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: `retry-after-ms`, else `Retry-After` as seconds or as an
    HTTP date."""
    for name, scale in (("retry-after-ms", 1e-3), ("Retry-After", 1.0)):
        value, seconds = headers.get(name, "nan"), math.nan
        try:
            seconds = float(value) * scale
        except ValueError:
            # a date may be odd in many ways
            with suppress(ArithmeticError, LookupError, TypeError, ValueError):
                moment = parsedate_to_datetime(value[:100])
                seconds = (
                    moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
                    - time.time()
                )
        if not math.isnan(seconds):
            return min(LONGEST_WAIT, max(0.0, seconds))
    return None


def checked_base(api_base: str) -> str:
    """`model.api_base` without a trailing slash. Raises ConfigError for what is not a plain http(s)
    address, and for a password or a query, because the address is part of the model's name in every
    report."""
    learn(api_base, "model.api_base")
    shown = repr(shown_address(api_base))
    try:
        parts = urlsplit(api_base)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(
            f"`model.api_base` is {shown}, which is no address ({error}). Write it as in"
            " http://localhost:8000/v1 or http://[::1]:8000/v1."
        ) from None
    if parts.fragment or has_secret(api_base, also_users=True):
        raise ConfigError(
            f"`model.api_base` (host {host!r}) has a user, password or query; reports show it. "
            "Put the key in the environment and name it with model.key_env=NAME."
        )
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(
            f"`model.api_base` is {shown}; it must be an address such as http://localhost:8000/v1."
        )
    return api_base.rstrip("/")


def is_local(url: str) -> bool:
    """Whether `url` is on this machine."""
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1", "0.0.0.0")


def without_keys() -> AbstractContextManager[bool]:
    """Models are built without their keys inside, where nothing will be sent."""
    return within(_keyed, False)


def find_key(variable: str | None, model: str) -> SecretStr | None:
    """The key named by `model.key_env`, which nothing that the program writes holds from now on;
    None for a server that needs none. `model` names the model in messages. Raises ConfigError where
    the variable is unset, or holds no key.
    """
    if variable is None or not _keyed.get():
        return None
    value = setting(variable)
    if value is None:
        raise ConfigError(
            f"{model} needs {variable} in the environment or .env. To run without a key:"
            " model=local."
        )
    if not re.fullmatch("[!-~]+", value):
        raise ConfigError(
            f"{variable} holds something that is not a key (spaces, line breaks or non-ASCII"
            " characters)."
        )
    keep(value, variable)
    return SecretStr(value)
