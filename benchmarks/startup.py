"""What a command takes to start, beside Python alone and `import hydra`, in turn in one run.

    python -m benchmarks.startup [--rounds 7] [--write]

Seconds of a processor and of the clock, of each the least of the rounds: other work on the machine
makes them longer and none shorter. Each command runs once before, so that what it imports is
compiled, as an installation has it. `--write` keeps the figures in benchmarks/results/startup.csv.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import stored
from benchmarks.growth import table

COMMANDS = {
    "python alone": ("-c", "pass"),
    "import hydra": ("-c", "import hydra"),
    "undogmatic --version": ("-m", "undogmatic.cli", "--version"),
    "undogmatic --help": ("-m", "undogmatic.cli", "--help"),
    "undogmatic run --help": ("-m", "undogmatic.run", "--help"),
    "undogmatic check, 1,000 rows": ("-m", "undogmatic.cli", "check", "rows.csv"),
}
GOALS = {"undogmatic --version": 0.15, "undogmatic check, 1,000 rows": 1.2}
"""Seconds of a processor that are wanted."""


def seconds(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """Seconds of a processor and of the clock that one Python process takes."""
    clock = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=quiet, stderr=quiet
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{' '.join(words)} ended with {process.returncode}"
    return used.ru_utime + used.ru_stime, time.perf_counter() - clock


def main() -> None:
    """Run the commands in turn, and print the least of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(folder / "compiled"))
        table(folder / "rows.csv", 1000)
        for words in COMMANDS.values():
            seconds(words, folder)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
        for _ in range(given.rounds):
            for name, words in COMMANDS.items():
                found[name].append(seconds(words, folder))
    for name, times in found.items():
        processor, clock = (min(column) for column in zip(*times, strict=True))
        goal = GOALS.get(name, "")
        print(f"{name:30} processor {processor:.3f} s, clock {clock:.3f} s {goal}")
        if given.write:
            row = {
                "command": name,
                "processor": f"{processor:.3f}",
                "clock": f"{clock:.3f}",
            }
            stored.keep(
                "startup", ("command",), [row | {"goal": goal, "rounds": given.rounds}]
            )


if __name__ == "__main__":
    main()
