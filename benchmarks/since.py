"""How often `undogmatic check --over` finds a change where there is none, and where there is one.

    python -m benchmarks.since [--seeds 500] [--write]     # writes benchmarks/results/since.csv

A judge meets people's labels with a probability that falls, or does not, at two thirds of the time.
Items stand alone, come in groups that lie in one period, or belong to prompts that are asked in
every period; days may differ by chance. `alarms` is the share of files in which a change is told,
`range_holds` the share of these in which the true time lies in the range that is told,
`interval_holds` the share of all files in which the interval holds the true change at the time that
is found, and `seen` the mean change that is told where one is.
"""

from __future__ import annotations

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from undogmatic.stats import change_point

RESULTS = Path(__file__).with_name("results") / "since.csv"
LEVEL = 0.95
FOR_ALARMS = 4
"""Of files without a change, so many times as many: false alarms are rare, and soon found."""


class Setting(NamedTuple):
    """How one kind of file is made."""

    what: str
    items: int
    periods: int
    before: float
    after: float


SETTINGS = (
    Setting("alone", 60, 6, 0.9, 0.9),
    Setting("alone", 60, 40, 0.9, 0.9),
    Setting("alone", 300, 6, 0.8, 0.8),
    Setting("alone", 300, 90, 0.8, 0.8),
    Setting("groups of 5", 300, 6, 0.8, 0.8),
    Setting("20 prompts", 300, 6, 0.8, 0.8),
    Setting("20 prompts", 300, 60, 0.8, 0.8),
    Setting("days differ", 300, 60, 0.8, 0.8),
    Setting("alone", 60, 6, 0.9, 0.6),
    Setting("alone", 150, 60, 0.9, 0.75),
    Setting("alone", 300, 60, 0.9, 0.75),
    Setting("alone", 300, 6, 0.9, 0.75),
    Setting("groups of 5", 300, 6, 0.9, 0.7),
    Setting("20 prompts", 300, 6, 0.9, 0.75),
    Setting("alone", 1000, 90, 0.9, 0.8),
)
COLUMNS = (
    *Setting._fields,
    "seeds",
    "alarms",
    "range_holds",
    "interval_holds",
    "seen",
)


class Outcome(NamedTuple):
    """What came of one file; `in_range` where a change is told."""

    alarm: bool
    in_range: bool
    holds: bool
    change: float


def made(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Whether each item's label is met, its probability, period and group."""
    n, at = setting.items, setting.periods * 2 // 3
    periods = np.sort(rng.integers(0, setting.periods, n))
    groups, spread = np.arange(n), np.zeros(n)
    if setting.what == "groups of 5":
        # Every group lies in one period, and four of its items in ten say what all of them say.
        lies = np.sort(rng.integers(0, setting.periods, n // 5))
        groups = np.arange(n) // 5
        periods = lies[groups]
    elif setting.what == "20 prompts":
        groups = rng.integers(0, 20, n)
        spread = rng.uniform(-0.15, 0.1, 20)[groups]
    elif setting.what == "days differ":
        spread = rng.uniform(-0.2, 0.2, setting.periods)[periods]
    mean = np.where(periods < at, setting.before, setting.after)
    met = rng.random(n) < mean + spread
    if setting.what == "groups of 5":
        shared = (rng.random(n) < mean)[groups * 5]
        met = np.where(rng.random(n) < 0.4, shared, met)
    return met.astype(np.float64), mean, periods, groups.astype(np.intp)


def outcome(job: tuple[Setting, int]) -> Outcome | None:
    """What is found in one file; None where too few items allow a search."""
    setting, seed = job
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    values, mean, periods, groups = made(setting, rng)
    present, codes = np.unique(periods, return_inverse=True)
    with threadpool_limits(1):
        found = change_point.find(values, codes.astype(np.intp), groups, rng, LEVEL)
    if found is None:
        return None
    true = int(np.searchsorted(present, setting.periods * 2 // 3))
    after = codes >= found.at
    apart = mean[after].mean() - mean[~after].mean()
    (change,) = found.difference
    return Outcome(
        found.p <= 1 - LEVEL,
        found.first <= true <= found.last,
        change.low <= apart <= change.high,
        change.value,
    )


def main() -> None:
    """Print, and keep, how often a change is told."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    chosen = parser.parse_args()
    kept = []
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for setting in SETTINGS:
            changes = setting.before != setting.after
            seeds = chosen.seeds if changes else FOR_ALARMS * chosen.seeds
            jobs = [(setting, seed) for seed in range(seeds)]
            each = [
                found for found in workers.map(outcome, jobs, chunksize=20) if found
            ]
            told = [found for found in each if found.alarm]
            alarms, holds = (
                len(told) / len(each),
                np.mean([found.holds for found in each]),
            )
            in_range = (
                np.mean([found.in_range for found in told]) if changes and told else ""
            )
            seen = np.mean([found.change for found in told]) if changes and told else ""
            figures = [
                f"{figure:.3f}" if figure != "" else ""
                for figure in (in_range, holds, seen)
            ]
            row = (*setting, len(each), f"{alarms:.3f}", *figures)
            print("  ".join(map(str, row)), flush=True)
            kept.append(row)
    if chosen.write:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *kept])


if __name__ == "__main__":
    main()
