"""How often an optimised program is called better or worse where nothing changed, and where
something did.

    python -m benchmarks.improvement --seeds 200 --write
    python -m benchmarks.improvement --looks 20 --seeds 1000 --write

Simulated judges on groups of test texts: both programs earn the same on average (announced power
0), or the optimised one earns as much more as the reports of programs without effect say would be
found with a power of 0.5 or 0.8. One row per metric, number of groups and power lies in
results/improvement.csv, with the shares of the verdicts.

With `--looks`, so many programs without effect are judged one after the other on the same test
groups; the share of trials in which any was called better by then lies in results/looks.csv, with
what the same level at every look would have come to.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from undogmatic.examinations.improvement import AFTER, BEFORE, Measured, improvement
from undogmatic.examinations.truth import Margin

RESULTS = Path(__file__).parent / "results"
SPAN = 100.0
Array = NDArray[np.float64]
SPREADS = {"pair_margin": 14.0, "error": 9.0}
TURNED = 0.4
"""Share of the pairs whose order the optimised program turns, to either side."""
COSTS = pd.DataFrame(columns=["cost", BEFORE, AFTER])


METRICS = ("pair_order", "pair_margin", "error", "rank_correlation", "auc")
FOLLOWS = 0.4
"""Correlation of the baseline's scores with the labels, where a metric ranks."""
ANNOUNCEMENTS = 400
"""Reports of programs without effect whose median is what is announced."""
AREA = 0.65
"""The baseline's area under the curve, where there are two labels."""


def ranked(metric: str, n: int, effect: float, draw: np.random.Generator) -> Measured:
    """Scores of two programs that follow the labels, the optimised one's with so much more
    concordance in truth.

    Half of the variance of what else moves a text's score is common to both programs.
    """
    label = (
        draw.normal(0, 1, n)
        if metric == "rank_correlation"
        else np.arange(n) % 2 * 2.0 - 1
    )
    common = draw.normal(0, 1, n)

    def scores(more: float) -> Array:
        # of a bivariate normal distribution (Kendall's tau by Greiner's relation)
        if metric == "rank_correlation":
            rho = np.sin(np.arcsin(FOLLOWS) + np.pi * more)
            of_label = rho / np.sqrt(1 - rho**2)
        else:
            of_label = special.ndtri(AREA + more) / np.sqrt(2)
        return of_label * label + np.sqrt(0.5) * (common + draw.normal(0, 1, n))

    values = pd.DataFrame(
        {
            "group": np.arange(n).astype(str),
            "label": label,
            BEFORE: scores(0.0),
            AFTER: scores(effect),
        }
    )
    return Measured(
        metric, values, True, False, (-10.0, 10.0), Margin(0.0, "default", SPAN), COSTS
    )


def earned(metric: str, n: int, effect: float, draw: np.random.Generator) -> Measured:
    """What two programs earn on so many groups: normal differences, of pairs put in order 0 or 1,
    or ranks."""
    if metric in ("rank_correlation", "auc"):
        return ranked(metric, n, effect, draw)
    if metric == "pair_order":
        turned = draw.random(n)
        up, down = (
            turned < TURNED / 2 + effect / 2,
            turned > 1 - TURNED / 2 + effect / 2,
        )
        before = np.where(up, 0.0, np.where(down, 1.0, draw.choice([0.0, 1.0], n)))
        after = np.where(up, 1.0, np.where(down, 0.0, before))
        ends = (0.0, 1.0)
    else:
        text = draw.normal(0, 20, n)
        noise = draw.normal(0, SPREADS[metric], n)
        middle, ends = (
            (-40.0, (-SPAN, 0.0)) if metric == "error" else (0.0, (-SPAN, SPAN))
        )
        before, after = middle + text / 2, middle + text / 2 + noise + effect
    values = pd.DataFrame(
        {"group": np.arange(n).astype(str), BEFORE: before, AFTER: after}
    )
    return Measured(
        metric,
        values,
        False,
        metric == "error",
        ends,
        Margin(0.0, "default", SPAN),
        COSTS,
    )


def announced(metric: str, n: int, power: float, seeds: int) -> float:
    """The gain that the reports of runs without effect say would be found with this power: their
    median."""
    said = []
    for seed in range(seeds):
        draw = np.random.default_rng([seed, n, 7])
        metrics = improvement(earned(metric, n, 0.0, draw), draw, target=power).metrics
        # none that is possible
        said.append(metrics.get("improvement.detectable", np.inf))
    return float(np.median(said))


def run(seeds: int) -> pd.DataFrame:
    """Shares of the verdicts."""
    rows = []
    for metric in METRICS:
        for n in (46, 68):
            for power in (0.0, 0.5, 0.8):
                effect = announced(metric, n, power, ANNOUNCEMENTS) if power else 0.0
                if not np.isfinite(effect):
                    continue  # that power is announced for no gain
                said = []
                for seed in range(seeds):
                    draw = np.random.default_rng([seed, n, int(100 * power)])
                    found = improvement(earned(metric, n, effect, draw), draw)
                    assert found.verdict is not None
                    said.append(found.verdict.key.removeprefix("improvement.verdict_"))
                shares = {key: said.count(key) / seeds for key in ("better", "worse")}
                none = 1 - shares["better"] - shares["worse"]
                row = {
                    "metric": metric,
                    "groups": n,
                    "announced": power,
                    "effect": round(effect, 4),
                    "seeds": seeds,
                }
                rows.append(row | shares | {"no_evidence": none})
                print(rows[-1], flush=True)
    return pd.DataFrame(rows).round(4)


def another(metric: str, before: Array, draw: np.random.Generator) -> Array:
    """What a further program without effect earns on the texts on which the baseline earned
    `before`."""
    if metric == "pair_order":
        return np.where(draw.random(len(before)) < TURNED, 1 - before, before)
    return before + draw.normal(0, SPREADS[metric], len(before))


def look(seeds: int, looks: int) -> pd.DataFrame:
    """How often any of several programs without effect has been called better on the same test
    groups."""
    rows = []
    for metric in ("pair_order", "pair_margin", "error"):
        for n in (46, 68):
            better = np.zeros((2, seeds, looks), dtype=bool)
            for seed in range(seeds):
                draw = np.random.default_rng([seed, n, 11])
                first = earned(metric, n, 0.0, draw)
                before = first.values[BEFORE].to_numpy()
                for k in range(looks):
                    tried = replace(
                        first,
                        values=first.values.assign(
                            **{AFTER: another(metric, before, draw)}
                        ),
                    )
                    for way, number in enumerate((k + 1, 1)):
                        found = improvement(tried, draw, looks=number).verdict
                        better[way, seed, k] = (
                            found is not None
                            and found.key == "improvement.verdict_better"
                        )
            by_then = np.maximum.accumulate(better, axis=2).mean(axis=1)
            for k in sorted({1, 2, 5, 10, looks} & set(range(1, looks + 1))):
                row = {"metric": metric, "groups": n, "looks": k, "seeds": seeds}
                rows.append(
                    row
                    | {
                        "any_better": by_then[0, k - 1],
                        "at_one_level": by_then[1, k - 1],
                    }
                )
                print(rows[-1], flush=True)
    return pd.DataFrame(rows).round(4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--looks", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    table = (
        look(arguments.seeds, arguments.looks)
        if arguments.looks
        else run(arguments.seeds)
    )
    if arguments.write:
        table.to_csv(
            RESULTS / ("looks.csv" if arguments.looks else "improvement.csv"),
            index=False,
        )
