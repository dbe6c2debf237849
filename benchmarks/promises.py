"""How often is "it may decide these alone" (`analysis=escalation`, `check`) said of texts on which
it does not hold?

    python -m benchmarks.promises --seeds 1000 --write

Made-up judges just below the promised rate, whose doubt knows nothing, has heavy ties, or is the
same for whole groups of copies, and groups whose size has to do with whether the judge is right. A
promise of 90 % with confidence 95 % is broken where the true rate of agreement among the texts that
it lets the judge decide is below 90 %: at most 5 % of the samples may have one. Results are in
results/promises.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.stats.conformal import find_threshold

RESULTS = Path(__file__).parent / "results" / "promises.csv"
RATE, CONFIDENCE = 0.9, 0.95
Array = NDArray[np.float64]
Rng = np.random.Generator


class Sample(NamedTuple):
    """Per text its doubt, whether the judge is right, and its group."""

    doubt: Array
    right: Array
    group: Array


def alone(
    doubt: Callable[[Rng, int], Array], rate: Callable[[Array], Array]
) -> Callable[[Rng, int], Sample]:
    """Texts that each stand alone, with this doubt, right at a rate that depends on it."""

    def draw(rng: Rng, n: int) -> Sample:
        u = doubt(rng, n)
        return Sample(
            u, (rng.random(n) < rate(u)).astype(float), np.arange(n, dtype=np.float64)
        )

    return draw


def copied(
    sizes: Callable[[Rng, Array], Array], rate: float, spread: float = 1.0
) -> Callable[[Rng, int], Sample]:
    """Groups of texts that are right or wrong together, of sizes that may depend on that; `spread`
    is how far the doubts within a group lie apart."""

    def draw(rng: Rng, n: int) -> Sample:
        right = (rng.random(n) < rate).astype(float)
        group = np.repeat(np.arange(n), sizes(rng, right).astype(int))
        doubt = rng.random(n)[group] + spread * rng.random(group.size)
        return Sample(doubt, right[group], group.astype(np.float64))

    return draw


def _ties(rng: Rng, n: int) -> Array:
    return rng.choice([0.0, 1.0, 2.0], n, p=[0.6, 0.3, 0.1]).astype(np.float64)


WORLDS: dict[str, Callable[[Rng, int], Sample]] = {
    "doubt knows nothing, just below": alone(
        lambda rng, n: rng.random(n), lambda u: np.full_like(u, 0.895)
    ),
    "surest are worst": alone(lambda rng, n: rng.random(n), lambda u: 0.88 + 0.1 * u),
    "three doubts, all just below": alone(_ties, lambda u: np.full_like(u, 0.895)),
    "three doubts, the first good": alone(
        _ties, lambda u: np.where(u == 0, 0.91, 0.85)
    ),
    "one doubt": alone(lambda rng, n: np.zeros(n), lambda u: np.full_like(u, 0.895)),
    "copies, five each": copied(lambda rng, right: np.full_like(right, 5), 0.895),
    "copies, any number": copied(
        lambda rng, right: rng.geometric(0.3, right.size), 0.895
    ),
    "twice as many copies of the wrong": copied(
        lambda rng, right: np.where(right == 1, 1, 2), 0.94
    ),
    "ten copies of the wrong": copied(
        lambda rng, right: np.where(right == 1, 1, 10), 0.96
    ),
    "ten copies of the wrong, of one doubt": copied(
        lambda rng, right: np.where(right == 1, 1, 10), 0.96, 0.0
    ),
}


def broken(world: str, n: int, seed: int, large: int = 100_000) -> tuple[bool, bool]:
    """Whether a sample of `n` groups leads to a promise, and whether that is false in a very large
    one."""
    rng = np.random.default_rng([seed, n])
    own = WORLDS[world](rng, n)
    found = find_threshold(
        own.doubt, own.right, RATE, CONFIDENCE, groups=own.group.astype(int).tolist()
    )
    if found.threshold is None:
        return False, False
    whole = WORLDS[world](np.random.default_rng(0), large)
    return True, bool(whole.right[whole.doubt <= found.threshold].mean() < RATE)


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--groups", type=int, nargs="+", default=[60, 300])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for world in WORLDS:
        for n in options.groups:
            tried = np.array([broken(world, n, seed) for seed in range(options.seeds)])
            shares = tried.mean(axis=0).round(4).tolist()
            rows.append(
                {
                    "world": world,
                    "groups": n,
                    "seeds": options.seeds,
                    "promised": shares[0],
                    "broken": shares[1],
                }
            )
            print(rows[-1], flush=True)
    if options.write:
        pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
