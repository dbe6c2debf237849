"""Measures how long `undogmatic check` takes from the start of the command, beside importing pandas
alone.

    python -m benchmarks.check_seconds [--times 3]

Prints seconds on the clock and of the processor (medians), and the share of the limit that the
clock takes: 3 s for the demo and for 1,000 verdicts, 30 s for 100,000. Where others use the
machine, look at the processor's seconds.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS = (
    "river stone lamp winter paper bridge copper garden signal velvet harbour morning thunder"
    " market".split()
)


def table(path: Path, n: int) -> Path:
    """A file with texts, labels of one person and verdicts of one judge who agrees in nine of
    ten."""
    rng = np.random.default_rng(n)
    lines = ["id,text,human,judge"]
    for k in range(n):
        label = rng.random() < 0.5
        verdict = label != (rng.random() < 0.1)
        text = " ".join(rng.choice(WORDS, size=20))
        lines.append(
            f"i{k},{text} {k},{'pass' if label else 'fail'},{'pass' if verdict else 'fail'}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def seconds(words: list[str], times: int) -> tuple[float, float]:
    """Median seconds on the clock and of the processor of a command."""
    clock, processor = [], []
    for _ in range(times):
        before, start = (
            resource.getrusage(resource.RUSAGE_CHILDREN),
            time.perf_counter(),
        )
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock.append(time.perf_counter() - start)
        processor.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return statistics.median(clock), statistics.median(processor)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=3)
    times = parser.parse_args().times
    command = [sys.executable, "-m", "undogmatic.cli"]
    with tempfile.TemporaryDirectory() as folder:
        small, large = (table(Path(folder) / f"{n}.csv", n) for n in (1000, 100_000))
        rows = {
            "import pandas": ([sys.executable, "-c", "import pandas"], None),
            "undogmatic demo": ([*command, "demo"], 3),
            "undogmatic check, 1,000 verdicts": ([*command, "check", str(small)], 3),
            "undogmatic check, 100,000 verdicts": ([*command, "check", str(large)], 30),
        }
        print(
            f"{'':36}{'clock s':>9}{'processor s':>13}{'limit s':>9}{'of the limit':>14}"
        )
        for name, (words, limit) in rows.items():
            clock, processor = seconds(words, times)
            share = "" if limit is None else f"{clock / limit:.2f}"
            print(
                f"{name:36}{clock:9.2f}{processor:13.2f}{limit or '':>9}{share:>14}",
                flush=True,
            )


if __name__ == "__main__":
    main()
