"""How often is a judge without merit believed, and a good one not?

    python -m benchmarks.fakes                       # all, hours; writes benchmarks/results/fakes.csv
    python -m benchmarks.fakes --seeds 20 --pairs 46 --worlds apart

Every judge of tests/fakes gives its scores to `analysis=ab` as it ships, on made-up pairs: with surfaces "alike",
"between" or "apart" (the treatment longer by 0.5 or 1.5 standard deviations, with more capitals and commas). Each seed
draws new texts and new scores. Rows that are in the results are not made again (`--again` makes all).
new scores. Rows that are in the results are not made again (`--again` makes all).
"""

from __future__ import annotations

import argparse
import functools
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from tests.fakes.judges import FAKES, GOOD
from tests.fakes.worlds import judged, made_up
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame import patterns
from undogmatic.examinations.ab import AbAnalysis
from undogmatic.examinations.pairs import Pairs
from undogmatic.records.records import FailureKind, Item
from undogmatic.records.results import Standing
from undogmatic.stats import surface

RESULTS = Path(__file__).parent / "results" / "fakes.csv"
PAIRS = (6, 12, 30, 46, 200, 1000)
WORLDS = {"alike": 0.0, "between": 0.5, "apart": 1.5}
STANDINGS = ("supported", "refuted", "undecided")


@contextmanager
def remembered() -> Iterator[None]:
    """Kernels of the same texts, their eigenvectors and the patterns of a text are found once for
    all judges of a world: they do not depend on the scores."""
    known: dict[object, Any] = {}

    def once(
        function: Callable[..., Any], key: Callable[..., object]
    ) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            name = (function, key(*given))
            if name not in known:
                known[name] = function(*given)
            return known[name]

        return call

    eigh = once(np.linalg.eigh, lambda kernel: (kernel.shape, hash(kernel.tobytes())))
    kernels = once(surface.kernels, lambda texts, extra=None: tuple(texts))
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(np.linalg, "eigh", eigh))
        stack.enter_context(mock.patch.object(surface, "kernels", kernels))
        stack.enter_context(
            mock.patch.object(patterns, "count", functools.cache(patterns.count))
        )
        yield


def one_world(
    judges: Sequence[str], world: str, n: int, seed: int
) -> list[Standing | None]:
    """The standing of each judge on one draw of texts and scores."""
    return on_items(judges, made_up(n, seed, WORLDS[world]), seed)


def on_items(
    judges: Sequence[str], items: Sequence[Item], seed: int
) -> list[Standing | None]:
    """The standing of each judge on these texts."""
    analysis, table = shipped_analysis(), judged(items, [0.0] * len(items))
    pairs = analysis.matched(table)
    found = []
    with remembered():
        for name in judges:
            said = (FAKES | GOOD)[name](
                items, np.random.default_rng((seed, len(items)))
            )
            by_id = {item.id: score for item, score in zip(items, said, strict=True)}
            given = Pairs(
                {
                    c: side.assign(score=_scores(side["item_id"], by_id))
                    for c, side in pairs.sides.items()
                }
            )
            found.append(
                analysis.ruling(table, given, np.random.default_rng(0)).standing
            )
    return found


@functools.cache
def shipped_analysis() -> AbAnalysis:
    """`analysis=ab` as it ships."""
    made: AbAnalysis = build(compose_config(["analysis=ab"])["analysis"], "analysis")
    return made


def _scores(ids: Iterable[str], said: dict[str, float | FailureKind]) -> list[float]:
    """NaN where the judge failed."""
    return [
        float("nan") if isinstance(said[id_], str) else float(said[id_]) for id_ in ids
    ]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--pairs", type=int, nargs="+", default=list(PAIRS))
    parser.add_argument(
        "--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS)
    )
    parser.add_argument(
        "--judges", nargs="+", choices=[*FAKES, *GOOD], default=[*FAKES, *GOOD]
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    old = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    rows = {(row["world"], row["pairs"], row["judge"]): row for row in old}
    given.out.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(
        given.processes, initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        for n in given.pairs:
            for world in given.worlds:
                enough = defaultdict(
                    int, {key: row["seeds"] for key, row in rows.items()}
                )
                wanted = [
                    name
                    for name in given.judges
                    if given.again or enough[world, n, name] < given.seeds
                ]
                if not wanted:
                    continue
                counts: dict[str, Counter[str | None]] = defaultdict(Counter)
                for found in pool.map(
                    partial(one_world, wanted, world, n),
                    range(given.seeds),
                    chunksize=2,
                ):
                    for name, standing in zip(wanted, found, strict=True):
                        counts[name][standing] += 1
                for name in wanted:
                    row = {
                        "world": world,
                        "pairs": n,
                        "judge": name,
                        "seeds": given.seeds,
                    }
                    rows[world, n, name] = row | {
                        standing: counts[name][standing] for standing in STANDINGS
                    }
                    if name in GOOD or counts[name]["supported"]:
                        print(
                            "  ".join(
                                str(value) for value in rows[world, n, name].values()
                            ),
                            flush=True,
                        )
                print(f"{world}, {n} pairs: {len(wanted)} judges done", flush=True)
                pd.DataFrame(rows.values()).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
