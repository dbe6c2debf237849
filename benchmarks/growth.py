"""What each door of the command takes as rows become more: its processor's time and its memory at n
and at 4 n rows.

    python -m benchmarks.growth [--doors check run label ...] [--small] [--limit 7]
    python -m benchmarks.growth --doors check --sizes 1000 10000 100000 1000000 [--write]

Every measurement is a process of its own, and its figures are those that the system keeps of it:
seconds of a processor (which other work on the machine lengthens far less than those of a clock)
and the largest memory it has held. What a start takes, and what a door does once however many rows
there are, is measured at FEW rows and taken off. "times" is then how often a further row at 4 n is
as dear as one at n, times four: 4 of a door that grows in step with its rows, 16 of one that
compares all with all. More than 5 is marked as a fault. A measurement that is above the limit is
made twice again, and the least of its times counts, as a busy machine makes times longer and none
shorter.

`--small` takes few rows, for continuous integration (about a minute); with `--limit` the exit
status is 1 where a door is above it. With `--sizes` doors are only measured, at these sizes;
`--write` keeps that in benchmarks/results. A first, unmeasured process compiles what is imported,
as an installation has it compiled. The texts have 20 words, none of them twice, of some
3,000.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

RESULTS = Path(__file__).with_name("results") / "growth.csv"
LENGTH = 20
N, SMALL = 20_000, 5_000
FEW = 1_600
"""Rows of the measurement that is taken off: more than the word counter is ever fitted to, and a
student here."""
SEEN, OF_START = 0.25, 0.05
"""Seconds for the rows of n, and share of the start, below which nothing can be said of growth: a
start takes as much more or less."""
BLOCK = 10_000
"""Rows that are made at a time."""
FAULT = 5.0
"""From how many times on growth is a fault; 4 is in step with the rows."""
COLUMNS = ("door", "rows", "processor_seconds", "megabytes")


class Used(NamedTuple):
    """What a process took: seconds of a processor, megabytes at most."""

    seconds: float
    megabytes: float


class Door(NamedTuple):
    """A command: its words in a folder with a table of so many rows, and what has to be there
    before."""

    words: Callable[[Path], list[str]]
    before: str = ""  # the door that makes what this one reads
    made: str = ""  # the file that it leaves there
    statuses: Sequence[int] = (0,)
    serves: bool = False  # it waits for a browser until it is interrupted


def _cli(*words: str) -> list[str]:
    return [sys.executable, "-m", "undogmatic.cli", *words]


def _run(folder: Path) -> list[str]:
    plain = [
        "model=patterns",
        "tracking=none",
        "dataset=texts",
        f"dataset.path={folder / 'rows.csv'}",
    ]
    return _cli(
        "run",
        *plain,
        "dataset.label_scale=[fail,pass]",
        f"hydra.run.dir={folder / 'run'}",
    )


DOORS = {
    "check": Door(
        lambda folder: _cli(
            "check", str(folder / "rows.csv"), "--card", str(folder / "card.json")
        ),
        made="card.json",
    ),
    "gate": Door(
        lambda folder: _cli(
            *["gate", str(folder / "card.json"), "--data", str(folder / "rows.csv")],
            *["--config", str(folder / "gate.yaml")],
        ),
        before="check",
        statuses=(0, 1, 2),  # pass, fail, undecided; 3 says that it could not look
    ),
    "run": Door(_run, made="run"),
    "report": Door(lambda folder: _cli("report", str(folder / "run")), before="run"),
    "distill": Door(
        lambda folder: _cli(
            *[
                "distill",
                str(folder / "run"),
                "--out",
                str(folder / "student.safetensors"),
            ],
            *["--most", "300", "embeddings=letters", "tracking=none"],
        ),
        before="run",
    ),
    "precedents": Door(
        lambda folder: _cli("precedents", str(folder / "rows.csv"), "--text", "text")
    ),
    "label": Door(
        lambda folder: _cli("label", str(folder / "rows.csv"), "--no-browser"),
        serves=True,
    ),
}


def table(path: Path, n: int) -> Path:
    """A table of texts with the labels of a person, and the verdicts of a judge who agrees in nine
    of ten."""
    rng = np.random.default_rng(n)
    syllables = [first + last for first in "bcdfglmnprstvz" for last in "aeiou"]
    words = [
        "".join(parts)
        for parts in islice(
            product(syllables, ("ra", "men", "to"), syllables), 0, None, 5
        )
    ][:3000]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "human", "judge"])
        for begin in range(0, n, BLOCK):
            size = min(BLOCK, n - begin)
            drawn = rng.integers(len(words), size=(size, 2 * LENGTH)).tolist()
            label = rng.random(size) < 0.5
            verdict = label != (rng.random(size) < 0.1)
            for k, own, human, judge in zip(
                count(begin), drawn, label, verdict, strict=False
            ):
                text = " ".join(
                    words[word] for word in list(dict.fromkeys(own))[:LENGTH]
                )
                cited = f" Tema {k % 900 + 1}" if k % 10 == 0 else ""
                rows.writerow(
                    [
                        f"i{k}",
                        f"{text}{cited}.",
                        *("pass" if says else "fail" for says in (human, judge)),
                    ]
                )
    return path


def used_by(
    words: Sequence[str], serves: bool = False, statuses: Sequence[int] = (0,)
) -> Used:
    """What a command takes. One that serves a page is asked for it once, and interrupted. Exits
    where it fails."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE if serves else subprocess.DEVNULL, stderr=said
        )
        if serves:
            assert process.stdout is not None
            address = next(
                (
                    line.strip()
                    for line in process.stdout
                    if line.strip().startswith(b"http")
                ),
                b"",
            )
            if address:
                urllib.request.urlopen(address.decode()).read()
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode not in statuses:
            sys.exit(
                f"{' '.join(words)} ended with {process.returncode}: {said.read().decode()[-2000:]}"
            )
    peak = used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return Used(used.ru_utime + used.ru_stime, peak)


def measured(door: str, n: int, place: Path) -> Used:
    """What a door takes with so many rows. What it reads stands in a folder of `place`, or is made
    before."""
    folder = place / str(n)
    if not folder.exists():
        folder.mkdir()
        table(folder / "rows.csv", n)
        (folder / "gate.yaml").write_text(
            "figures: {agreement.kappa: {at_least: 0.6}}\n"
        )
    before = DOORS[door].before
    if before and not (folder / DOORS[before].made).exists():
        used_by(DOORS[before].words(folder))
    if door == "run":
        # or it would find all of it judged
        shutil.rmtree(folder / "run", ignore_errors=True)
    return used_by(DOORS[door].words(folder), DOORS[door].serves, DOORS[door].statuses)


def times(few: float, at_n: float, at_4n: float, n: int) -> float:
    """How often a further row is as dear at 4 n rows as at n, times four."""
    least = max(SEEN, OF_START * few)
    each = max(at_n - few, least) / (n - FEW)
    later = max(at_4n - few, 0.0) / (4 * n - FEW)
    return 4 * later / each


def growth(
    doors: Sequence[str], n: int, limit: float, place: Path
) -> Iterator[tuple[str, dict[int, Used], float]]:
    """What each door takes at FEW, n and 4 n rows, and how it grows; above the limit the least of
    three measurements. Two processes run at a time, of one door."""
    sizes = (FEW, n, 4 * n)
    with ThreadPoolExecutor(2) as pool:
        for door in doors:
            least: dict[int, Used] = {}
            for _ in range(3):
                for size, used in zip(
                    sizes,
                    pool.map(lambda size, d=door: measured(d, size, place), sizes),
                    strict=True,
                ):
                    before = least.get(size, used)
                    least[size] = Used(
                        min(before.seconds, used.seconds),
                        min(before.megabytes, used.megabytes),
                    )
                found = times(*(least[size].seconds for size in sizes), n)
                if found <= limit:
                    break
            yield door, least, found


def main() -> None:
    """Print what was measured; exit with 1 where a door is above the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--doors", nargs="+", choices=list(DOORS), default=list(DOORS))
    parser.add_argument(
        "--small", action="store_true", help="few rows, for continuous integration"
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="TIMES",
        help="from how many times on the exit status is 1",
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, help="measure doors at these sizes"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="keep what --sizes measured in benchmarks/results",
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(place) / "compiled"))
        if chosen.sizes:
            measure(chosen.doors, chosen.sizes, chosen.write, Path(place))
        else:
            compare(
                chosen.doors, SMALL if chosen.small else N, chosen.limit, Path(place)
            )


def measure(
    doors: Sequence[str], sizes: Sequence[int], keep: bool, place: Path
) -> None:
    """Print what doors take at these sizes, and keep it."""
    kept = {(row["door"], row["rows"]): row for row in results()}
    print(f"{'door':12}{'rows':>10}{'processor s':>13}{'MB':>7}")
    for door in doors:
        measured(door, FEW, place)
    for door, size in product(doors, sizes):
        used = measured(door, size, place)
        figures = f"{used.seconds:.1f}", f"{used.megabytes:.0f}"
        print(f"{door:12}{size:>10,}{figures[0]:>13}{figures[1]:>7}", flush=True)
        kept[door, str(size)] = dict(
            zip(COLUMNS, (door, str(size), *figures), strict=True)
        )
        if keep:
            write(list(kept.values()))


def compare(doors: Sequence[str], n: int, limit: float | None, place: Path) -> None:
    """Print how doors grow; exit with 1 where one grows faster than the limit."""
    above = []
    print(
        f"{'door':12}{'n':>8}{'start s':>9}{'at n':>8}{'at 4 n':>8}{'times':>7}{'MB at n':>9}{'MB at 4 n':>11}"
    )
    for door, least, found in growth(doors, n, limit or FAULT, place):
        few, at_n, at_4n = (least[size] for size in sorted(least))
        seconds = (
            f"{few.seconds:>9.1f}{at_n.seconds:>8.1f}{at_4n.seconds:>8.1f}{found:>7.1f}"
        )
        peaks = f"{at_n.megabytes:>9.0f}{at_4n.megabytes:>11.0f}"
        print(
            f"{door:12}{n:>8,}{seconds}{peaks}{'  a fault' if found > FAULT else ''}",
            flush=True,
        )
        above += [door] if limit is not None and found > limit else []
    if above:
        sys.exit(
            f"{', '.join(above)}: the processor's time grows more than {limit:g} times from n to 4"
            " n rows."
        )


def results() -> list[dict[str, str]]:
    """The stored rows."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, str]]) -> None:
    """Store rows, in the order of doors and sizes."""
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        stored = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        stored.writeheader()
        stored.writerows(
            sorted(
                rows, key=lambda row: ([*DOORS].index(row["door"]), int(row["rows"]))
            )
        )


if __name__ == "__main__":
    main()
