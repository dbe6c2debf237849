"""`undogmatic ui`: MLflow's pages on the runs of this folder, offline."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from undogmatic.errors import ConfigError


def add(commands: Any) -> None:
    """Add the command."""
    ui = commands.add_parser("ui", help="start the MLflow UI on the runs of this folder")
    ui.add_argument("--uri", help="tracking store (default: sqlite:///mlruns/mlflow.db)")
    ui.add_argument("--port", type=int, default=5000)
    ui.add_argument("--host", default="127.0.0.1")
    ui.set_defaults(run=lambda given: serve(given.uri, given.port, given.host))


def serve(uri: str | None, port: int, host: str) -> None:
    """Become MLflow's server on a tracking store (None: `mlruns/mlflow.db` in the current folder); Ctrl-C ends it. A
    host that is not this machine's own lets others read every logged text. Raises ConfigError where there is no such
    store, where it is a server already, or where the port is taken."""
    command = server_command(uri, port, host)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    print(f"Starting MLflow, which takes some ten seconds. Then open http://{shown}:{port}  (Ctrl-C ends it)")
    print("Runs side by side, with charts: switch to `Model training` at the top left.", flush=True)
    os.execve(command[0], command, environment())


def server_command(uri: str | None, port: int, host: str) -> list[str]:
    """The command that serves the store. Raises ConfigError as `serve`."""
    from undogmatic.tracking.store import check_uri, database, default_uri

    store = uri if uri is not None else default_uri()
    check_uri(store)
    if store.startswith(("http:", "https:", "databricks")):
        raise ConfigError(f"--uri is {store!r}, which is a server already: open it in a browser.")
    file = database(store)
    if file is not None and not file.is_file():
        raise ConfigError(
            f"There is no store at {file} yet. Run an experiment first (python -m undogmatic.run), go to the folder in "
            "which you did, or name the store: undogmatic ui --uri sqlite:///FILE.db"
        )
    _check_port(port, host)
    artifacts = [] if file is None else ["--default-artifact-root", (file.parent / "artifacts").as_uri()]
    options = ["--backend-store-uri", store, *artifacts, "--host", host, "--port", str(port), "--workers", "1"]
    return [sys.executable, "-m", "mlflow", "server", *options]


def environment() -> dict[str, str]:
    """Return this process's environment with what keeps the server offline and small: without the first setting litellm
    waits for the network and the server never comes up; without the second it keeps worker processes for jobs that
    nothing here starts."""
    from undogmatic.tracking.store import prepare_environment

    prepare_environment()
    return {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", **os.environ}


def _check_port(port: int, host: str) -> None:
    other = 5001 if port == 5000 else 5000
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"--port is {port}, and {host}:{port} cannot be used: {error}. Choose another, e.g. --port {other}."
            ) from None
