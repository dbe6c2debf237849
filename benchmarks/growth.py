"""What each door of the command takes as rows become more: its processor's time and its memory at n and at 4 n rows.

    python -m benchmarks.growth [--doors check run label ...] [--small] [--limit 7]
    python -m benchmarks.growth --doors check --sizes 1000 10000 100000 1000000 [--write]

Every measurement is a process of its own, and its figures are those that the system keeps of it: seconds of a processor
(which other work on the machine lengthens far less than those of a clock) and the largest memory it has held. What a
start takes, and what a door does once however many rows there are, is measured at FEW rows and taken off. "times" is
then how often a further row at 4 n is as dear as one at n, times four: 4 of a door that grows in step with its rows, 16
of one that compares all with all. More than 5 is marked as a fault. A measurement that is above the limit is made twice
again, and the least of its times counts, as a busy machine makes times longer and none shorter.

`--small` takes few rows, for continuous integration (about a minute); with `--limit` the exit status is 1 where a door
is above it. With `--sizes` doors are only measured, at these sizes; `--write` keeps that in benchmarks/results. The
texts have 20 words, none of them twice, of 3,000.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

RESULTS = Path(__file__).with_name("results") / "growth.csv"
LENGTH = 20
FEW = 1_600
"""Rows of the measurement that is taken off: more than the word counter is ever fitted to, and a student here."""
SEEN = 0.25
"""Seconds for the rows of n below which nothing can be said of growth: a start takes as much more or less."""
FAULT = 5.0
"""From how many times on growth is a fault; 4 is in step with the rows."""
COLUMNS = ("door", "rows", "processor_seconds", "megabytes")


class Used(NamedTuple):
    """What a process took: seconds of a processor, megabytes at most."""

    seconds: float
    megabytes: float


class Door(NamedTuple):
    """A command: its words in a folder with a table of so many rows, what has to be there before, and n."""

    words: Callable[[Path], list[str]]
    before: str = ""  # the door that makes what this one reads
    n: int = 20_000
    small: int = 6_000
    serves: bool = False  # it waits for a browser until it is interrupted


def _cli(*words: str) -> list[str]:
    return [sys.executable, "-m", "undogmatic.cli", *words]


def _run(folder: Path) -> list[str]:
    plain = ["model=patterns", "tracking=none", "dataset=texts", f"dataset.path={folder / 'rows.csv'}"]
    return _cli("run", *plain, f"hydra.run.dir={folder / 'run'}")


DOORS = {
    "check": Door(lambda folder: _cli("check", str(folder / "rows.csv"), "--card", str(folder / "card.json"))),
    "gate": Door(
        lambda folder: _cli("gate", str(folder / "card.json"), "--data", str(folder / "rows.csv")), before="check"
    ),
    "run": Door(_run),
    "report": Door(lambda folder: _cli("report", str(folder / "run")), before="run"),
    "distill": Door(
        lambda folder: _cli(
            *["distill", str(folder / "run"), "--out", str(folder / "student.safetensors")],
            *["--most", "300", "embeddings=letters", "tracking=none"],
        ),
        before="run",
    ),
    "precedents": Door(lambda folder: _cli("precedents", str(folder / "rows.csv"), "--text", "text")),
    "label": Door(lambda folder: _cli("label", str(folder / "rows.csv"), "--no-browser"), serves=True),
}


def table(path: Path, n: int) -> Path:
    """A table of texts with the labels of a person, and the verdicts of a judge who agrees in nine of ten."""
    rng = np.random.default_rng(n)
    syllables = [first + last for first in "bcdfglmnprstvz" for last in "aeiou"]
    words = ["".join(parts) for parts in islice(product(syllables, syllables, ("ra", "men", "to", "dis")), 3000)]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "human", "judge"])
        for k in range(n):
            chosen = rng.choice(3000, size=2 * LENGTH)
            text = " ".join(words[word] for word in list(dict.fromkeys(chosen.tolist()))[:LENGTH])
            label = rng.random() < 0.5
            verdict = label != (rng.random() < 0.1)
            cited = f" Tema {k % 900 + 1}" if k % 10 == 0 else ""
            rows.writerow([f"i{k}", f"{text}{cited}.", *("pass" if says else "fail" for says in (label, verdict))])
    return path


def used_by(words: Sequence[str], serves: bool = False) -> Used:
    """What a command takes. One that serves a page is asked for it once, and interrupted. Exits where it fails."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=subprocess.PIPE if serves else subprocess.DEVNULL, stderr=said)
        if serves:
            assert process.stdout is not None
            address = next((line.strip() for line in process.stdout if line.strip().startswith(b"http")), b"")
            if address:
                urllib.request.urlopen(address.decode()).read()
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode and "gate" not in words:  # the gate's status says what it decided
            sys.exit(f"{' '.join(words)} ended with {process.returncode}: {said.read().decode()[-2000:]}")
    peak = used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return Used(used.ru_utime + used.ru_stime, peak)
