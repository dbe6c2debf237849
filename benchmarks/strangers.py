"""How often is a careful person named as one who agrees with nobody, and how often one who answers
at random?

    python -m benchmarks.strangers --seeds 300 --write

Made-up labels of pass or fail: each of the people says what is right in a given share of the items
(the last of them less often in some worlds), or the last one's answers are shuffled. `careful` is
the share of files in which anybody is named although nobody answers at random, `random` that in
which the shuffled person, and nobody else, is named. Results are in results/strangers.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks import stored
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.examinations import people
from undogmatic.records.checked import CheckOptions

ITEMS = (40, 100, 300)
WORLDS: tuple[tuple[tuple[float, ...], int], ...] = (
    ((0.9,) * 3, 3),
    ((0.75,) * 3, 3),
    ((0.95, 0.95, 0.75), 3),
    ((0.9, 0.9, 0.65), 3),
    ((0.85,) * 5, 3),
    ((0.85,) * 10, 3),
)
"""How often each of the people is right, and how many label an item."""


def labelled(
    items: int,
    right: Sequence[float],
    labels: int,
    shuffled: bool,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """A file with a judge that is right in nine of ten, and the labels of people."""
    truth = rng.random(items) < 0.5

    def says(share: float) -> np.ndarray:
        return np.where(rng.random(items) < share, truth, ~truth).astype(float)

    columns = {"item": [f"i{n}" for n in range(items)], "judge": says(0.9)}
    for n, share in enumerate(right):
        own = says(share)
        if shuffled and n == len(right) - 1:
            own = rng.permutation(own)
        own[rng.random(items) > labels / len(right)] = np.nan
        columns[f"human_{n}"] = own
    return pd.DataFrame(columns)


def named(table: pd.DataFrame) -> list[str]:
    """Who is named as agreeing with nobody."""
    options = TableOptions(
        judge=["judge"],
        human=[str(name) for name in table if str(name).startswith("human_")],
        kind="pass_fail",
        item="item",
    )
    read = read_table([table], options)
    own = read.of("judge", read.criteria[0])
    return [str(one.rater) for one in people.strangers(own, CheckOptions())]


def row(
    items: int, right: Sequence[float], labels: int, seeds: int
) -> dict[str, object]:
    """How often somebody careful is named in files of one kind, and who answers at random."""
    careful = found = 0
    for seed in range(seeds):
        world = (items, right, labels)
        careful += bool(named(labelled(*world, False, np.random.default_rng(seed))))
        shuffled = labelled(*world, True, np.random.default_rng(seed))
        found += named(shuffled) == [f"human_{len(right) - 1}"]
    return {
        "items": items,
        "people": len(right),
        "right": " ".join(f"{share:g}" for share in sorted(set(right), reverse=True)),
        "labels": labels,
        "seeds": seeds,
        "careful": round(careful / seeds, 3),
        "random": round(found / seeds, 3),
    }


def main() -> None:
    """Print the table, or keep it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--write", action="store_true", help="keep the rows")
    given = parser.parse_args()
    rows = []
    for items in ITEMS:
        for right, labels in WORLDS:
            rows.append(row(items, right, labels, given.seeds))
            print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if given.write:
        stored.keep("strangers", ["items", "people", "right", "labels"], rows)


if __name__ == "__main__":
    main()
