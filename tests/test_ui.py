"""`undogmatic ui`: refuses what cannot work, and comes up without a network."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import environment, put
from undogmatic.cli.doors import serve, server_command
from undogmatic.errors import ConfigError

PATIENCE = 120.0  # seconds; it takes some ten on an idle machine


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def store() -> None:
    """An empty file, in which the server makes the tables."""
    put(Path("mlruns/mlflow.db"), "")


def test_without_a_store_it_says_where_it_looked_and_a_server_needs_no_serving() -> None:
    with pytest.raises(ConfigError, match=r"There is no store at .*mlruns/mlflow\.db yet"):
        serve(None, free_port(), "127.0.0.1")
    with pytest.raises(ConfigError, match="a server already"):
        server_command("http://127.0.0.1:5000", 5001, "127.0.0.1")


@pytest.mark.usefixtures("store")
def test_a_taken_port_is_named_and_the_server_is_kept_offline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--port is {port}"):
            server_command(None, port, "127.0.0.1")
    _, kept = server_command(None, free_port(), "127.0.0.1")
    names = ("LITELLM_LOCAL_MODEL_COST_MAP", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "MLFLOW_DISABLE_TELEMETRY")
    assert [kept[name] for name in names] == ["True", "false", "true"]


@pytest.mark.usefixtures("store")
def test_it_comes_up_and_ends_with_its_group() -> None:
    # A proxy that nobody answers: whatever wanted the network would fail or hang.
    nobody = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    offline, port, quiet = environment(**nobody, NO_PROXY="127.0.0.1"), free_port(), subprocess.DEVNULL
    command = [sys.executable, "-m", "undogmatic.cli", "ui", "--port", str(port)]
    server = subprocess.Popen(command, env=offline, start_new_session=True, stdout=quiet, stderr=quiet)
    try:
        assert answers(f"http://127.0.0.1:{port}/health", server) == b"OK"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def answers(url: str, server: subprocess.Popen[bytes]) -> bytes:
    """What the server says, as soon as it says something."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the server ended with {server.returncode}"
        try:
            with opener.open(url, timeout=5) as reply:
                return bytes(reply.read())
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"no answer within {PATIENCE:g} s")
