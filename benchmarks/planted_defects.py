"""How often the intervals of `undogmatic check --injected` hold a judge's true recall and false
alarms, and how often its words are wrong.

    python -m benchmarks.planted_defects [--files 200] [--write]   # writes benchmarks/results/planted_defects.csv

A judge of pass and fail sees four kinds of planted defects in 95, 80, 50 and 30 % of the runs, and
fails 5 % of the clean ones and of the edits that must not matter. Each run has its clean item and a
copy of each kind; with `together` a verdict is in so many cases that of the other copies of its run
(by the same lot). `holds` is the share of files in which the interval holds the truth, `least` that
of the number that is held least often. `missed` is the share in which anything is called missed of
which the judge sees half or more, `found` that in which the kind of 30 % is, and `moved` that in
which an edit that must not matter is said to move the judge.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.examinations.injected import INJECTED
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import CLEAN, DEFECT, EQUIVALENT, Evidence
from undogmatic.records.results import Told

RESULTS = Path(__file__).with_name("results") / "planted_defects.csv"
RATES = {
    CLEAN: 0.05,
    EQUIVALENT: 0.05,
    f"{DEFECT}nearly": 0.95,
    f"{DEFECT}mostly": 0.8,
    f"{DEFECT}half": 0.5,
    f"{DEFECT}little": 0.3,
}
RUNS = (10, 40)
TOGETHER = (0.0, 0.9)


def truths() -> dict[str, float]:
    """The true value of each number."""
    defects = {
        kind.removeprefix(DEFECT): rate
        for kind, rate in RATES.items()
        if DEFECT in kind
    }
    mean = float(np.mean(list(defects.values())))
    known = {"recall": mean, "clean": RATES[CLEAN], "equivalent": RATES[EQUIVALENT]}
    known |= {"difference": mean - RATES[CLEAN], "difference_equivalent": 0.0}
    for name, rate in defects.items():
        known |= {f"recall.{name}": rate, f"difference.{name}": rate - RATES[CLEAN]}
    return known


def told_of(rng: np.random.Generator, runs: int, together: float) -> Told:
    """What is told of one file."""
    kinds = list(RATES)
    lots = np.where(
        rng.random((runs, len(kinds))) < together,
        rng.random((runs, 1)),
        rng.random((runs, len(kinds))),
    )
    passes = (lots >= np.array(list(RATES.values()))).astype(float)
    ids = [f"run {run} {kind}" for run in range(runs) for kind in kinds]
    items = pd.DataFrame(
        {
            "injected": kinds * runs,
            "parent": [
                None if kind == CLEAN else f"run {run} {CLEAN}"
                for run in range(runs)
                for kind in kinds
            ],
            "group": [f"run {run}" for run in range(runs) for _ in kinds],
        },
        index=ids,
    )
    said: dict[str, Any] = {
        "item": ids,
        "judge": "judge",
        "criterion": "overall",
        "repeat": 0,
    }
    said |= {
        "order": None,
        "verdict": passes.ravel(),
        "confidence": np.nan,
        "reason": None,
    }
    labels = pd.DataFrame({"item": [], "criterion": [], "rater": [], "label": []})
    table = Evidence(
        "pass_fail",
        pd.DataFrame(said | {"place": ""}),
        labels,
        items,
        categories=("fail", "pass"),
    )
    told = Told()
    INJECTED.examine(table.of("judge", "overall"), told, CheckOptions())
    return told


def row(runs: int, together: float, files: int) -> dict[str, Any]:
    """One line of the results."""
    rng = np.random.default_rng(round(1000 * together) + runs)
    known = truths()
    held = dict.fromkeys(known, 0)
    wrong, found, moved = 0, 0, 0
    for _ in range(files):
        told = told_of(rng, runs, together)
        for name, truth in known.items():
            each = told.estimates[f"injected.{name}"]
            held[name] += (
                min(each.low, each.worst_low) <= truth <= max(each.high, each.best_high)
            )
        keys = {each.key: each for each in told.findings}
        missed = (
            keys["injected.missed"].values["kinds"] if "injected.missed" in keys else []
        )
        wrong += bool({*missed} - {"little"})
        found += "little" in missed
        moved += "injected.moved" in keys
    shares = {name: n / files for name, n in held.items()}
    least = min(shares, key=lambda name: shares[name])
    facts = {"runs": runs, "together": together, "files": files}
    facts |= {"holds": f"{np.mean(list(shares.values())):.3f}"}
    facts |= {"least": f"{shares[least]:.3f}", "of": least}
    return facts | {
        name: f"{n / files:.3f}"
        for name, n in (("missed", wrong), ("found", found), ("moved", moved))
    }


def main() -> None:
    """Print the lines, and write them where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--files", type=int, default=200, help="files of each kind (default: 200)"
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    given = parser.parse_args()
    rows = []
    for runs in RUNS:
        for together in TOGETHER:
            rows.append(row(runs, together, given.files))
            print(rows[-1], flush=True)
    if given.write:
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
