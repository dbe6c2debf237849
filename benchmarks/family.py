"""How often a sweep whose jobs do not differ shows a difference: the family-wise error over all
measures together.

python -m benchmarks.family [--seeds 400] [--jobs 3] [--worlds plain clustered skewed levels]
[--write]

Every job is a judge of the same quality: its scores, its doubt, its confidence and its intervals
are drawn anew around what the items share. `error` is the share of sweeps in which any corrected
p-value lies below 0.05, `shown` that in which any job is called better, worse, higher or lower than
another, `missed` that in which any interval leaves out 0. All three should be at most 0.05; 400
sweeps tell 0.05 from 0.08. `--write` keeps the table in results/family.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from undogmatic.examinations.compared import OF_NUMBERS
from undogmatic.stats.compare import Family
from undogmatic.sweep.family import ALPHA, Sweep
from undogmatic.sweep.jobs import Job

RESULTS = Path(__file__).with_name("results") / "family.csv"
RUBRIC = {
    "_target_": "undogmatic.records.rubric.Rubric",
    "name": "made",
    "scale": {"kind": "numeric", "minimum": 0, "maximum": 100},
    "guide": {"kind": "anchors", "at": [0, 25, 50, 75, 100]},
    "direction": "higher_is_worse",
    "margin": 10,
    "wordings": {"en": {"definition": "d", "question": "q", "meanings": list("abcde")}},
}
WORLDS = ("plain", "clustered", "skewed", "levels")
SIZES = (12, 46)
"""Pairs of texts."""


def null_sweep(world: str, n_pairs: int, n_jobs: int, seed: int) -> dict[str, Job]:
    """Jobs of equal judges on the same texts.

    Args:
        world: "plain": normal errors; "clustered": most of an error, a doubt and a width is that of
            the group, of four texts; "skewed": errors of a few texts are many times those of the
            others; "levels": scores are levels of the rubric, and many agree.
        n_pairs: Of two texts, one of label 100 and one of label 0.
        n_jobs: At least two.
        seed: Of all that is drawn.
    """
    rng = np.random.default_rng((seed, n_pairs, WORLDS.index(world)))
    n = 2 * n_pairs
    index = pd.Index([f"t{k}" for k in range(n)], name="item_id")
    pair, label = np.arange(n) // 2, np.where(np.arange(n) % 2, 100.0, 0.0)
    group = pair // 2 if world == "clustered" else pair
    hardness = rng.exponential(15, n)

    def noise() -> np.ndarray:
        own = rng.standard_normal(n)
        if world == "clustered":
            own = 0.4 * own + 0.9 * rng.standard_normal(group.max() + 1)[group]
        return np.sign(own) * np.abs(own) ** 3 if world == "skewed" else own

    jobs = {}
    for number in range(n_jobs):
        score = np.clip(
            label + np.where(label > 50, -1, 1) * (20 + hardness) + 12 * noise(), 0, 100
        )
        score = np.round(score / 25) * 25 if world == "levels" else score
        error, width = np.abs(score - label), 30 + 10 * np.abs(noise())
        items = pd.DataFrame(
            {
                "unit": [f"group {g}" for g in group],
                "score": score,
                "truth": label,
                "error": error,
            },
            index,
        )
        items["right"] = (error <= 30).astype(float)
        items["uncertainty"], items["width"] = np.abs(error + 20 * noise()), width
        items["confidence"] = 1 / (1 + np.exp(-noise()))
        items["inside"] = (error <= width).astype(float)
        items["interval_score"] = width + 20 * np.maximum(0, error - width)
        scores = items[["score"]].assign(
            pair_id=pair.astype(str),
            group=items["unit"],
            condition=np.where(label > 50, "naked", "explained"),
            label=label,
            seconds=np.exp(noise()),
        )
        config = {
            "rubric": RUBRIC,
            "analysis": {"treatment": "naked", "baseline": "explained"},
        }
        # so that correlations with labels are compared, too
        facts = {
            "dataset_digest": "same",
            "headline": OF_NUMBERS,
        }
        jobs[f"judge {number}"] = Job(
            number, {}, config, facts, {}, scores, "finished", items=items
        )
    return jobs


def family(jobs: dict[str, Job]) -> Family:
    """All that a sweep tests between these jobs."""
    return Sweep(jobs).family


def wrong(found: Family) -> tuple[bool, bool, bool]:
    """Whether a sweep of equal jobs has a p-value below ALPHA, shows a difference, or has an
    interval without 0."""
    table = found.table
    shown = table["shown"].isin(["better", "worse", "higher", "lower"])
    without = (table["low"] > 0) | (table["high"] < 0)
    return bool((table["p_holm"] < ALPHA).any()), bool(shown.any()), bool(without.any())


def results(
    seeds: int, n_jobs: int, worlds: Sequence[str]
) -> Iterator[dict[str, object]]:
    """A row per world and size."""
    for world in worlds:
        for n_pairs in SIZES:
            errors = np.array(
                [
                    wrong(family(null_sweep(world, n_pairs, n_jobs, seed)))
                    for seed in range(seeds)
                ]
            )
            shares = dict(
                zip(
                    ("error", "shown", "missed"),
                    errors.mean(axis=0).round(4).tolist(),
                    strict=True,
                )
            )
            yield {
                "world": world,
                "pairs": n_pairs,
                "jobs": n_jobs,
                "sweeps": seeds,
            } | shares


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    rows = []
    for row in results(chosen.seeds, chosen.jobs, chosen.worlds):
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if chosen.write:
        RESULTS.parent.mkdir(exist_ok=True)
        pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
