"""How often does a judge at the limit pass `undogmatic check` at least once, if people look again and again?

    python -m benchmarks.check_looks --seeds 150 --write     # writes benchmarks/results/check_looks.csv

The judge's true agreement is the limit itself (kappa 0.4 over pass and fail in equal parts), so it deserves no Yes. Its
texts say nothing about labels or verdicts. Each sample is looked at when so many of its items are labelled; the first
line is a chance of passing at one look, the last that of passing at any of them.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.check import table, turned, world
from undogmatic.examinations.check import check
from undogmatic.records.checked import CheckOptions

RESULTS = Path(__file__).parent / "results" / "check_looks.csv"
LOOKS = (40, 60, 80, 100, 150, 200, 300, 400)
"""How many items are labelled when somebody looks."""
MISTAKEN = 0.3
"""The share of wrong verdicts: with half of the labels pass, kappa is then 1 - 2 x 0.3 = 0.4, the
limit."""


def sample(seed: int) -> list[bool]:
    """Whether the judge of one seed is believed at each look."""
    rng = np.random.default_rng([seed, 4])
    whole = world(LOOKS[-1], rng)
    verdicts = turned(whole.meaning, MISTAKEN, rng)
    believed = []
    for n in LOOKS:
        part = whole._replace(
            texts=whole.texts[:n], meaning=whole.meaning[:n], system=whole.system[:n]
        )
        with threadpool_limits(1):
            (answer,) = check(
                table([part], {None: verdicts[:n]}, [part.meaning]), CheckOptions()
            ).judges
        believed.append(answer.standing == "supported")
    return believed


def main() -> None:
    """Print how often a judge at the limit is believed at each look, and at any look so far."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=150)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    given = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        found = np.array(list(workers.map(sample, range(given.seeds), chunksize=2)))
    by_then = np.logical_or.accumulate(found, axis=1)
    frame = pd.DataFrame(
        {
            "labels": LOOKS,
            "seeds": given.seeds,
            "believed": found.mean(axis=0).round(4),
            "believed_by_then": by_then.mean(axis=0).round(4),
        }
    )
    print(frame.to_string(index=False))
    if given.write:
        frame.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
