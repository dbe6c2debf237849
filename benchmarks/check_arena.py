"""Does the corrected mean's interval hold the mean of all labels, and is it no wider than another
tool's?

    python -m benchmarks.check_arena --table arena_scores.csv --seeds 500 --cje PYTHON --write

The labelled rows of the table (columns `judge_score`, `oracle_label`) are the population. Each seed
draws labels of some rows at random; the interval is asked for the mean label of all. Beside it
stand the labels alone, the judge's own mean, and `cje-eval` (its `calibrated_mean_ci`, by its own
defaults) where `--cje` names a Python that has it. Results are in results/check_arena.csv.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.stats import corrected, means

RESULTS = Path(__file__).parent / "results" / "check_arena.csv"
CJE = """
import importlib.metadata, json, logging, sys, warnings
import numpy as np
from cje import calibrated_mean_ci
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
given = json.load(sys.stdin)
scores, labels = np.array(given["scores"]), np.array(given["labels"])
found = []
for drawn in given["draws"]:
    own = np.full(scores.size, np.nan)
    own[drawn] = labels[drawn]
    result = calibrated_mean_ci(scores, own)
    found.append([float(result.estimate), *map(float, result.ci)])
print(json.dumps({"version": importlib.metadata.version("cje-eval"), "found": found}))
"""


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--labels", type=int, nargs="+", default=[60])
    parser.add_argument("--cje", help="a Python that has cje-eval")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = pd.read_csv(options.table).dropna(subset=["oracle_label", "judge_score"])
    scores, labels = (
        rows[name].to_numpy(np.float64) for name in ("judge_score", "oracle_label")
    )
    table = pd.DataFrame(
        [
            row
            for n in options.labels
            for row in compare(scores, labels, n, options.seeds, options.cje)
        ]
    )
    print(table.to_string(index=False))
    if options.write:
        table.to_csv(RESULTS, index=False)


def compare(
    scores: np.ndarray[Any, Any],
    labels: np.ndarray[Any, Any],
    n: int,
    seeds: int,
    cje: str | None,
) -> list[dict[str, Any]]:
    """One row per estimator: coverage of the mean of all labels, median width, spread of the
    estimates."""
    draws = [
        np.random.default_rng(seed).choice(scores.size, n, replace=False)
        for seed in range(seeds)
    ]
    found: dict[str, list[tuple[float, float, float]]] = {
        "corrected": [],
        "labels_only": [],
    }
    for drawn in draws:
        own = np.full(scores.size, np.nan)
        own[drawn] = labels[drawn]
        judged = corrected.Judged(
            scores,
            own,
            np.full(scores.size, np.nan),
            np.arange(scores.size),
            scores.size,
        )
        ours = corrected.mean(judged, "random", (0, 1), these_items=True).estimate
        assert ours is not None
        alone = means.interval(labels[drawn], bounds=(0, 1))
        found["corrected"].append((ours.value, *ours.interval))
        found["labels_only"].append((alone.value, *alone.interval))
    judge = means.interval(scores, bounds=(0, 1))
    found["judge_mean"] = [(judge.value, *judge.interval)] * seeds
    if cje:
        given = {
            "scores": scores.tolist(),
            "labels": labels.tolist(),
            "draws": [drawn.tolist() for drawn in draws],
        }
        told = subprocess.run(
            [cje, "-c", CJE],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(told.stdout.splitlines()[-1])
        found[f"cje-eval {answer['version']}"] = [tuple(one) for one in answer["found"]]
    truth, table = labels.mean(), []
    for name, intervals in found.items():
        value, low, high = np.array(intervals).T
        row = {
            "estimator": name,
            "items": scores.size,
            "labels": n,
            "seeds": seeds,
            "mean_of_all_labels": truth,
        }
        row |= {
            "coverage": float(np.mean((low <= truth) & (truth <= high))),
            "median_width": np.median(high - low),
        }
        table.append(row | {"mean_estimate": value.mean(), "spread": value.std()})
    return [
        {key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()}
        for row in table
    ]


if __name__ == "__main__":
    main()
