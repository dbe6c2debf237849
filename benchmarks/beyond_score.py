"""How often a doubt is believed to know more than the score: functions of the score, noise, and
doubts that know.

    python -m benchmarks.beyond_score --texts 30 46 150 --seeds 400

The results lie in results/beyond_score.csv: one row per judge, doubt and number of texts, with the
share of the trials in which the interval lay above 0 (`believed`) and in which the doubt was named
a function of the score (`named`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.stats.review import beyond_score

Array = NDArray[np.float64]
MIDDLE = 50.0


def judges(n: int, draw: np.random.Generator) -> Iterator[tuple[str, Array, Array]]:
    """Name, scores and labels of judges whose error depends on the score in many ways."""
    uniform = draw.uniform(0, 100, (2, n))
    levels = draw.choice([0, 25, 50, 75, 100.0], n)
    yield "random", uniform[0], uniform[1]
    yield (
        "random, labels at the ends",
        uniform[0],
        draw.choice([10, 90], n) + draw.normal(0, 3, n),
    )
    yield (
        "near the middle, labels at the ends",
        _within(draw.normal(50, 5, n)),
        draw.choice([5.0, 95.0], n),
    )
    yield "good", _within(uniform[1] + draw.normal(0, 8, n)), uniform[1]
    right = _within(uniform[0] + draw.normal(0, 3, n))
    yield (
        "right below the middle only",
        uniform[0],
        np.where(uniform[0] < 50, right, uniform[1]),
    )
    yield (
        "drawn to the middle",
        _within(50 + 0.4 * (levels - 50) + draw.normal(0, 10, n)),
        levels,
    )
    yield (
        "five scores",
        np.round(_within(levels + draw.normal(0, 30, n)) / 25) * 25,
        levels,
    )
    yield (
        "eleven scores",
        np.round(_within(uniform[1] + draw.normal(0, 30, n)) / 10) * 10,
        uniform[1],
    )
    yield "at the ends", 100 * draw.beta(0.3, 0.3, n), uniform[1]
    yield "random, one label", uniform[0], np.full(n, 37.0)
    yield "random, labels nearly one", uniform[0], 37 + draw.normal(0, 4, n)
    band = (uniform[0] > 30) & (uniform[0] < 45)
    yield (
        "bad in a band",
        uniform[0],
        uniform[0] + np.where(band, 30, 3) * draw.normal(0, 1, n),
    )


def fakes(s: Array, draw: np.random.Generator) -> Iterator[tuple[str, Array]]:
    """Doubts that know nothing beyond the score."""
    fold = np.abs(s - MIDDLE)
    yield from {
        "near the middle": -fold,
        "far from it": fold,
        "score": s,
        "score reversed": -s,
    }.items()
    yield from {
        "far from 37": np.abs(s - 37),
        "near 37": -np.abs(s - 37),
        "step": s > 30,
    }.items()
    yield from {
        "band": (s > 30) & (s < 45),
        "steps": np.floor(fold / 10),
        "levels": np.digitize(fold, [15, 30]),
    }.items()
    yield from {
        "waves": np.sin(s / 5),
        "scrambled score": np.sin(s * 9173.1) % 1,
    }.items()
    yield from {
        "near the middle, with noise": -fold + draw.normal(0, 15, s.size)
    }.items()
    yield "random", draw.uniform(size=s.size)


def knowing(
    n: int, draw: np.random.Generator
) -> Iterator[tuple[str, Array, Array, Array]]:
    """Name, doubt, scores and errors of doubts that know: the spread of the noise, or the error
    itself in part."""
    label, spread = draw.uniform(0, 100, n), 8 * np.exp(draw.normal(0, 0.6, n))
    score = _within(label + spread * draw.normal(size=n))
    error = np.abs(score - label)
    yield "knows the spread", spread, score, error
    z = stats.norm.ppf(stats.rankdata(error) / (n + 1))
    for share in (0.3, 0.45, 0.6):
        yield (
            f"correlation {share:g} with the error",
            share * z + (1 - share**2) ** 0.5 * draw.normal(size=n),
            score,
            error,
        )


def run(texts: int, seeds: int, only: list[str]) -> pd.DataFrame:
    """Shares of trials by judge and doubt."""
    rows = []
    for seed in range(seeds):
        draw = np.random.default_rng([seed, texts])
        for judge, score, label in judges(texts, draw):
            for doubt, values in fakes(score, draw):
                if not only or doubt in only:
                    rows.append(
                        (judge, doubt, *_trial(values, np.abs(score - label), score))
                    )
        for doubt, values, score, error in knowing(texts, draw):
            rows.append(
                ("good, noise of many sizes", doubt, *_trial(values, error, score))
            )
    table = pd.DataFrame(rows, columns=["judge", "doubt", "believed", "named"])
    found = (
        table.groupby(["judge", "doubt"], sort=False)[["believed", "named"]]
        .mean()
        .reset_index()
    )
    return found.assign(texts=texts, seeds=seeds)


def _trial(doubt: Array, error: Array, score: Array) -> tuple[bool, bool]:
    if np.ptp(np.asarray(doubt, dtype=float)) == 0:
        return False, True
    found = beyond_score(doubt, error, score, MIDDLE)
    return found.estimate.low > 0, found.function


def _within(values: Array) -> Array:
    return np.clip(values, 0, 100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, nargs="+", default=[30, 46, 150, 1000])
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument(
        "--only", nargs="*", default=[], help="doubts; all if none is named"
    )
    arguments = parser.parse_args()
    tables = [run(texts, arguments.seeds, arguments.only) for texts in arguments.texts]
    pd.concat(tables).to_csv(
        Path(__file__).parent / "results" / "beyond_score.csv", index=False
    )
