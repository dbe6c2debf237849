"""How often what a check says of the order of systems holds: the interval, and the smallest difference.

    python -m benchmarks.systems --samples 400 --write       # writes benchmarks/results/systems.csv

Systems are drawn with true means by judge and people that correlate by `correlation`; every item is answered by all
systems, and is harder or easier for all of them. `held` is the share of samples whose interval (95 %) holds Kendall's
coefficient of all systems, `below` that in which it lies below it. `trusted` is the share of samples in which every two
systems whose true means by the judge differ by more than the smallest difference are in people's order.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from undogmatic.stats import corrected, systems
from undogmatic.stats.corrected import Corrected, Judged

RESULTS = Path(__file__).parent / "results" / "systems.csv"
SPREAD, ITEM, NOISE = 0.5, 0.5, 0.6
"""Standard deviations of systems, of items, and of a verdict or label beside both."""


def _means(
    values: np.ndarray, bounds: tuple[float, float] | None, level: float = 0.95
) -> list[Corrected]:
    nobody, codes = np.full(len(values), np.nan), np.arange(len(values))
    return [
        corrected.mean(
            Judged(column, column, nobody, codes, len(values)), "all", bounds, level
        )
        for column in values.T
    ]


def sample(
    rng: np.random.Generator, n_systems: int, items: int, correlation: float, kind: str
) -> tuple[bool, bool, float, bool]:
    """Draw systems and items once: is the truth held, is it above, the width, and is what is trusted right?"""
    true = SPREAD * rng.multivariate_normal(
        [0, 0], [[1, correlation], [correlation, 1]], n_systems
    )
    item = rng.normal(0, ITEM, (items, 1))
    verdicts, labels = (
        true[:, k] + item + rng.normal(0, NOISE, (items, n_systems)) for k in (0, 1)
    )
    bounds = None
    if kind == "pass_fail":
        verdicts, labels = (verdicts > 0).astype(float), (labels > 0).astype(float)
        bounds = (0.0, 1.0)
        true = norm.cdf(true / np.hypot(ITEM, NOISE))
    found = systems.rank_correlation(
        _means(verdicts, bounds), _means(labels, bounds), rng
    )
    assert found is not None
    first, second = np.triu_indices(n_systems, 1)
    strict = 1 - 0.05 / first.size
    around = None if bounds is None else (-1.0, 1.0)
    smallest = systems.smallest_difference(_means(verdicts - labels, around, strict))
    judge, people = (true[first, k] - true[second, k] for k in (0, 1))
    right = not np.any((np.abs(judge) > smallest) & (judge * people <= 0))
    truth = 2 / np.pi * np.arcsin(correlation)
    return (
        found.low <= truth <= found.high,
        found.high < truth,
        found.high - found.low,
        right,
    )


def main() -> None:
    """Measure all settings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    options = parser.parse_args()
    rows = []
    for n_systems in (5, 9, 20):
        for items in (30, 200):
            for correlation in (0.0, 0.7, 0.95):
                for kind in ("numeric", "pass_fail"):
                    rng = np.random.default_rng(
                        [n_systems, items, int(100 * correlation)]
                    )
                    of = [
                        sample(rng, n_systems, items, correlation, kind)
                        for _ in range(options.samples)
                    ]
                    held, below, width, right = np.mean(
                        np.array(of, dtype=float), axis=0
                    )
                    row = {
                        "systems": n_systems,
                        "items": items,
                        "correlation": correlation,
                        "kind": kind,
                    }
                    rows.append(
                        row
                        | {
                            "samples": options.samples,
                            "held": held,
                            "below": below,
                            "width": width,
                            "trusted": right,
                        }
                    )
                    print(
                        *(
                            f"{value:.3g}" if isinstance(value, float) else value
                            for value in rows[-1].values()
                        ),
                        flush=True,
                    )
    if options.write:
        pd.DataFrame(rows).round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
