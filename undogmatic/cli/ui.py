"""`undogmatic ui`: MLflow's pages on the runs of this folder."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    """Add the command."""
    ui = commands.add_parser("ui", help="start the MLflow UI on the runs of this folder")
    ui.add_argument("--uri", help="tracking store (default: sqlite:///mlruns/mlflow.db)")
    ui.add_argument("--port", type=int, default=5000)
    ui.add_argument("--host", default="127.0.0.1")
    ui.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Serve until interrupted."""
    from undogmatic.ui import serve

    serve(uri=given.uri, port=given.port, host=given.host)
