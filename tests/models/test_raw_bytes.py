"""A server that does not even speak HTTP, or never stops: one typed failure, in bounded time and memory."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.fuzzing import watched
from tests.models.conftest import run_once
from undogmatic.errors import ModelError
from undogmatic.models.calls import Gateway
from undogmatic.models.hosted import ChatModel

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Said = tuple[bytes, bytes]
"""What is sent once, and what is sent without end after it."""

SAID: dict[str, Said] = {
    "nothing": (b"", b""),
    "no HTTP": (b"220 smtp.example.org ESMTP\r\n", b""),
    "random bytes": (bytes(range(256)) * 4, b""),
    "a length below 0": (OK + b"Content-Length: -5\r\n\r\n{}", b""),
    "a length without end": (OK + b"Content-Length: 9" + b"9" * 400 + b"\r\n\r\n{}", b""),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b""),
    "a chunk of no size": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", b""),
    "half of a body": (OK + b"Content-Length: 100\r\n\r\n{", b""),
    "a header without a colon": (OK + b"hello\r\n\r\n{}", b""),
    "a header of odd bytes": (OK + b"X-\xff: \xfe\x00\r\nContent-Length: 2\r\n\r\n{}", b""),
    "a status of letters": (b"HTTP/1.1 OK 200\r\n\r\n{}", b""),
    "a status of many digits": (b"HTTP/1.1 20000000000 OK\r\n\r\n{}", b""),
    "headers without end": (OK, b"X-More: " + b"y" * 200 + b"\r\n"),
    "a header line without end": (OK + b"X-Long: ", b"y" * 4096),
    "a body without end": (OK + b"\r\n", b"x" * 65536),
    "chunks without end": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "promises without end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an empty packing without end": (OK + b"Content-Encoding: deflate\r\n\r\n", b"\x00\x00\x00\xff\xff" * 1000),
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
def test_whatever_comes_through_the_wire_is_a_typed_failure(name: str, serve: Callable[[Said], str]) -> None:
    from dspy.lm15 import Message, Request, TextPart

    model = ChatModel("m", serve(SAID[name]))
    request = Request(model="m", messages=(Message(role="user", parts=(TextPart("t"),)),))
    gateway = Gateway(timeout=0.5, retries=0)
    with watched(), pytest.raises(ModelError) as caught:
        run_once(model, lambda: model.complete(request), gateway)
    assert caught.value.kind in ("transport", "timeout", "unparseable")
