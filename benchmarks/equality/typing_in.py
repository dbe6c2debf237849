"""Types commands as a user does, each session in a folder and a process of its own.

A process is forked from one that has loaded the libraries (`tests/forked.py`), so that a command
costs what it computes and not what Python takes to import.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

ROOT = Path(__file__).resolve().parents[2]
WIDTH = "120"
"""Characters of the terminal in which the commands run."""
PATIENCE = 900
"""Seconds after which a command has hung."""
SETTINGS = ("UNDOGMATIC", "HYDRA", "LLM_", "MLFLOW")
"""How variables begin that change what the commands do; nothing of them is inherited."""
MODULES = {"undogmatic": "undogmatic.cli"}
OWN_PACKAGES = "tests"
"""Whose judges a config may name (`UNDOGMATIC_ALLOW`): the scripted one, which can be optimised."""


class Printed(NamedTuple):
    """What one command left: its exit status, and what it printed."""

    line: str
    status: int
    stdout: str
    stderr: str


class Typist:
    """Types commands, one after another. A context manager; several may type side by side.

    Args:
        kept: A folder for what does not belong to a single session, such as a cache of fonts.
    """

    def __init__(self, kept: Path) -> None:
        self.kept = kept

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=60)

    def _start(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-P", str(ROOT / "tests" / "forked.py")],
            env=self._environment(self.kept),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # what hangs is ended with all that it has started
        )

    def _environment(self, folder: Path) -> dict[str, str]:
        """Inherit no setting that changes an answer, and use one thread, whose sums do not vary."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(SETTINGS) and not name.endswith("_API_KEY")
        }
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return {
            **inherited,
            **dict.fromkeys(threads, "1"),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": WIDTH,
            "UNDOGMATIC_ALLOW": OWN_PACKAGES,
            "UNDOGMATIC_CACHE": str(folder / "cache"),
            "MPLCONFIGDIR": str(self.kept / "fonts"),
            "USER": "somebody",
            "LOGNAME": "somebody",
        }

    def type(self, line: str, folder: Path, cache: Path) -> Printed:
        """Type one command in a folder and wait for its end.

        Raises:
            TimeoutError: It hung.
        """
        program, *words = shlex.split(line)
        assert self._server.stdin is not None and self._server.stdout is not None
        with tempfile.TemporaryDirectory() as made:
            printed = [Path(made, name) for name in ("stdout", "stderr")]
            order = [
                [MODULES[program], *words],
                str(folder),
                self._environment(cache),
                list(map(str, printed)),
            ]
            self._server.stdin.write(f"{json.dumps(order)}\n")
            self._server.stdin.flush()
            if not select.select([self._server.stdout], [], [], PATIENCE)[0]:
                os.killpg(self._server.pid, signal.SIGKILL)
                self._start()
                raise TimeoutError(f"{line} did not end within {PATIENCE} s")
            status = int(self._server.stdout.readline())
            out, error = (path.read_text("utf-8", errors="replace") for path in printed)
        return Printed(line, status, out, error)


Files = Mapping[str, str | bytes]


def type_session(
    typist: Typist, lines: Sequence[str], folder: Path, files: Files
) -> list[Printed]:
    """Lay out the files that the commands may name, and type the commands one after another.

    The shipped data lies there as `data`, and the data that is not published as `shared`.
    """
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "data").symlink_to(ROOT / "data")
    if (place := shared()) is not None:
        (folder / "shared").symlink_to(place)
    return [typist.type(line, folder, folder.parent) for line in lines]


def shared() -> Path | None:
    """The folder of data that is not published; None where it is not here."""
    beside = [parent / "shared" for parent in ROOT.parents[:2]]
    return next((place for place in beside if (place / "data").is_dir()), None)
