"""Joins a cluster of Ray, or starts Ray on this machine and stops it again; what is wrong with an
address is told.

A Ray that is started here answers nobody without a token that only this process knows, and leaves
nothing behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError
from undogmatic.safety import files

_FOLDER = "undogmatic-ray-"
# A socket's name may have 107 characters.
_LONGEST = 107 - len("/session_2026-11-26_14-58-47_156569_1234567/sockets/plasma_store")
_TOKEN = secrets.token_hex(32)  # Ray reads it once in a process
_WAY = (
    "Give engine.address=HOST:PORT of its head (ray start --head prints it), or null to start Ray"
    " here."
)
# How often Ray tries to join, a line on stderr and a second each.
_JOINING = "RAY_gcs_server_port_wait_time_s"
_STORE = 80 << 20  # bytes of Ray's store of objects, through which nothing large goes


def checked(typed: str | None) -> str | None:
    """The address of a cluster, as it was typed. Raises ConfigError for what can be none."""
    if typed is None or typed == "auto":
        return typed
    host, _, port = typed.rpartition(":")
    if typed.startswith("ray://"):
        why = (
            "that is Ray's client, from outside a cluster. A run is part of the cluster, on one of"
            " its machines"
        )
        raise ConfigError(
            f"`engine.address` is {typed!r}; {why}: there give engine.address=auto, or HOST:6379 of"
            " the head (its port without ray start --port=)."
        )
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(
            f"`engine.address` is {typed!r}; it must be HOST:PORT, auto or null. {_WAY}"
        )
    return typed


def last_line(error: BaseException) -> str:
    """The last line of an error of Ray's, where its cause stands."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Ray, started here without an address, and stopped again; nothing of it is left. One that this
    process is already connected to is used and left as it is. Raises ConfigError where there is no
    cluster at the address.
    """
    import ray

    # A notebook may have joined a cluster of its own, which must not be closed under it.
    if ray.is_initialized():
        yield
        return
    handled = signal.getsignal(signal.SIGTERM)
    try:
        with (
            _started()
            if address is None
            else _environment({_JOINING: os.environ.get(_JOINING, "3")})
        ):
            _join(address)
            _give_back(handled)
            try:
                yield
            finally:
                ray.shutdown()
    finally:
        _give_back(handled)


def _give_back(handled: Any) -> None:
    """Ray takes SIGTERM for itself."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handled)


def _join(address: str | None) -> None:
    import ray

    options: dict[str, Any] = {"logging_level": "ERROR", "include_dashboard": False}
    if address is None:
        cores = (
            # In a container these are fewer than the machine has.
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        options |= {
            "_temp_dir": os.environ["RAY_TMPDIR"],
            # Ray takes 30 % of the memory otherwise, and /dev/shm is small in containers.
            "object_store_memory": _STORE,
            "num_cpus": cores,
        }
        # In the folder that is removed, as all files of this Ray.
        options |= {"_plasma_directory": os.environ["RAY_TMPDIR"]}
    else:
        # An option of a cluster that is started, not of one that is joined.
        del options["include_dashboard"]
        if address != "auto":
            try:
                _greet(address)
            except OSError as error:
                why = error.strerror or error
                raise ConfigError(
                    f"`engine.address` is {address!r}, and no cluster is there ({why}). {_WAY}"
                ) from None
    try:
        ray.init(address or "local", **options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        if address is None:
            raise ConfigError(
                f"Ray could not be started here ({last_line(error)})."
            ) from None
        what = f"`engine.address` is {address!r}, and Ray"
        if address == "auto" and isinstance(error, ConnectionError):
            raise ConfigError(f"{what} runs nowhere on this machine. {_WAY}") from None
        way = (
            "Give the port that ray start --head prints; and if the cluster asks for a token, as"
            " one does that was started where ~/.ray/auth_token is: RAY_AUTH_MODE=token, and that"
            " token in RAY_AUTH_TOKEN"
        )
        raise ConfigError(
            f"{what} cannot join that cluster ({last_line(error)}). {way}."
        ) from None


def _greet(address: str) -> None:
    """Raises OSError where no server of HTTP/2 answers, as a cluster's does: Ray would try for
    minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as there:
        if os.environ.get("RAY_USE_TLS", "0") != "1":
            there.sendall(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
            )
            # the kind of the settings with which it must begin
            # A frame's head has nine bytes, of which the fourth is its kind; a server of HTTP/2
            # speaks first with its settings.
            if there.recv(9)[3:4] != b"\x04":
                raise OSError("what answers there is not Ray")


@contextlib.contextmanager
def _started() -> Iterator[None]:
    """The environment for a Ray of our own: it tells nobody that it is used, and all its files, the
    token without which nobody may ask it anything included, are in a folder that is removed in the
    end."""
    above = tempfile.gettempdir()
    name = f"{_FOLDER}{os.getpid()}-"
    # macOS and some clusters have long names for temporary folders.
    above = above if len(above) + len(name) + 9 <= _LONGEST else "/tmp"
    _sweep(Path(above))
    folder = Path(tempfile.mkdtemp(prefix=name, dir=above))
    own = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
    own |= {"RAY_TMPDIR": str(folder), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    try:
        with _environment(own), _holding(folder):
            files.write(folder / "token", _TOKEN)
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _environment(own: Mapping[str, str]) -> Iterator[None]:
    """Inside, these variables are set; then all is as before, what Ray sets included."""
    before = {name: os.environ.get(name) for name in (*own, "RAY_AUTH_MODE")}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _sweep(above: Path) -> None:
    """Remove the folders of processes that were killed: nobody holds them any more."""
    for folder in above.glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError), _holding(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _holding(folder: Path) -> Iterator[None]:
    """Hold a folder against `_sweep`. Raises OSError where another process does, or it is another
    user's."""
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(place)
