"""Serves one page to the browser of whoever started the command, and to nobody else.

The server listens on 127.0.0.1 alone and answers only to a token that it makes itself, and only
to its own page.
"""

import contextlib
import hmac
import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from undogmatic.errors import UndogmaticError
from undogmatic.safety import files
from undogmatic.safety.outside import Unreadable, json_value, read_text

LONGEST_BODY = 100_000


class LocalServer(ThreadingHTTPServer):
    """A server on 127.0.0.1; `url` is the address that opens the page, and `door` a file in
    `folder` that leads a browser there, which is removed once the page is open."""

    daemon_threads = True
    name = "page"  # how the file of the door begins

    def __init__(self, folder: Path, port: int, handler: "type[PageHandler]") -> None:
        self.folder, self.token = folder, secrets.token_urlsafe(32)
        self.door: Path | None = None
        super().__init__(("127.0.0.1", port), handler)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.url = f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that goes away before its answer: it closes what it does not
        need any more."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def open_door(self) -> Path:
        """Write the file that leads a browser to the page. A process's command line is read by
        everybody on the machine, so the address with the token stands in a file that is its
        owner's alone, and the browser is started with the name of that file."""
        self.door = self.folder / f"{self.name}-{secrets.token_hex(8)}.html"
        page = (
            f'<!doctype html><meta http-equiv="refresh" content="0; url={self.url}">\n'
        )
        files.write(self.door, page, files.OWN)
        return self.door

    def close_door(self) -> None:
        """Remove that file."""
        if self.door is not None:
            with contextlib.suppress(OSError):
                self.door.unlink(missing_ok=True)
            self.door = None


@contextlib.contextmanager
def in_browser(server: LocalServer, opened: bool) -> Iterator[None]:
    """Have the browser open the page, if it shall."""
    if opened:
        import webbrowser

        webbrowser.open_new_tab(server.open_door().resolve().as_uri())
    try:
        yield
    finally:
        server.close_door()


class PageHandler(BaseHTTPRequestHandler):
    """Answers the page's requests. What a page asks for is said by `get`, what it sends is taken by
    `post`; both raise ValueError for what they cannot answer."""

    server: LocalServer
    timeout = 30
    server_version, sys_version = "undogmatic", ""
    page: Path
    refused = "It was not kept: {}"  # how the page is told of what could not be taken

    def get(self, path: str, asked: Mapping[str, str]) -> Mapping[str, Any] | None:
        """What the page is told at an address; None where there is nothing."""
        raise NotImplementedError

    def post(self, path: str, sent: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What the page is told of what it sent; None where nothing is taken at this address."""
        raise NotImplementedError

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: addresses hold the token."""

    def _allowed(self, token: str) -> bool:
        """Whether the request comes from the page itself: it names this server as its host and
        origin, and has the token. Answers it otherwise."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        own = host in self.server.hosts and (
            origin is None or origin == f"http://{host}"
        )
        if own and hmac.compare_digest(token.encode(), self.server.token.encode()):
            return True
        self._answer(
            403,
            {
                "error": (
                    "Open the address that the command printed; it has a token that this one lacks."
                )
            },
        )
        return False

    def _answer(
        self, status: int, body: Mapping[str, Any] | str, nonce: str = ""
    ) -> None:
        page = isinstance(body, str)
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header(
            "Content-Type",
            f"{'text/html' if page else 'application/json'}; charset=utf-8",
        )
        self.send_header("Content-Length", str(len(raw)))
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}';"
            " connect-src 'self'"
        )
        closed = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        self.send_header(
            "Content-Security-Policy",
            f"{policy}; {closed}" if page else f"default-src 'none'; {closed}",
        )
        for name, value in {
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        """Answer with the page, or with what it asks for."""
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path == "/":
            if self._allowed(asked.get("token", "")):
                nonce = secrets.token_urlsafe(16)
                self._answer(200, read_text(self.page).replace("NONCE", nonce), nonce)
                self.server.close_door()
            return
        if not self._allowed(self.headers.get("X-Token", "")):
            return
        told = self.get(address.path, asked)
        if told is None:
            self._answer(404, {"error": "There is nothing at this address."})
        else:
            self._answer(200, told)

    def do_POST(self) -> None:
        """Take what the page sends. It must name itself as the origin."""
        if not self._allowed(
            self.headers.get("X-Token", "") if self.headers.get("Origin") else ""
        ):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > LONGEST_BODY:
            self._answer(400, {"error": self.refused.format("it is too long.")})
            return
        try:
            sent = json_value(self.rfile.read(int(length)).decode())
            if not isinstance(sent, dict):
                raise ValueError("is not what this page sends")
            told = self.post(self.path, sent)
        except (Unreadable, UnicodeDecodeError, ValueError) as error:
            self._answer(400, {"error": self.refused.format(f"it {error}.")})
        # a full disk, a lost folder: the page says it
        except (UndogmaticError, OSError) as error:
            self._answer(500, {"error": self.refused.format(error)})
        else:
            if told is None:
                self._answer(400, {"error": "Nothing is taken at this address."})
            else:
                self._answer(200, told)
