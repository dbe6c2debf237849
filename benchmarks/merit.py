"""How often is a judge believed that is as good as people, as labels become more, and how often one
beside it that looks for words?

    python -m benchmarks.merit --seeds 100 --write

Made-up texts of pass and fail. In "insults" nine of ten texts that deserve "fail" hold an insult, and
one of ten others; in "no words" the texts say nothing of what they deserve; in "rare" neither, and
one in ten deserves "fail". A judge that reads and each of the people mistake one text in twenty, so
that two of them agree in nine of ten; the judge that looks for words says "fail" where there is an
insult. `yes` is the share of files in which the judge is believed, `by_words` that in which words or
a column are said to explain its verdicts. Results are in results/merit.csv.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import stored
from benchmarks.check import World, table, turned, world
from undogmatic.examinations.check import check
from undogmatic.records.checked import CheckOptions
from undogmatic.records.results import Told

Array = np.ndarray
MISTAKEN = 0.05
INSULTS = (
    "fool liar clown rat coward crook pig moron scum idiot thug fraud snake parasite brute cretin"
).split()
CASES: tuple[tuple[str, str, int, int], ...] = (
    *(("insults", "reads", n, 2) for n in (100, 200, 300, 1000)),
    *(("insults", "looks for words", n, 2) for n in (100, 300, 1000)),
    *(("no words", "reads", n, raters) for n in (40, 100) for raters in (1, 2)),
    *(("rare", "reads", n, 1) for n in (200, 400)),
)
"""World, judge, items and people."""


def written(fails: Array, insulting: bool, rng: np.random.Generator) -> list[str]:
    """Invented texts that say nothing of what they deserve but by an insult, if `insulting`."""
    texts = []
    for fail, text in zip(fails, world(len(fails), rng).texts, strict=True):
        words = text.split()
        if insulting and rng.random() < (0.9 if fail else 0.1):
            words.insert(int(rng.integers(1, len(words))), str(rng.choice(INSULTS)))
        texts.append(" ".join(words))
    return texts


def answer(seed: int, made: str, judge: str, n: int, raters: int) -> Told:
    """What the check says of the judge of one file."""
    rng = np.random.default_rng([seed, n, raters])
    fails = (rng.random(n) < (0.1 if made == "rare" else 0.5)).astype(int)
    texts = written(fails, made == "insults", rng)
    says = turned(1 - fails, MISTAKEN, rng)
    if judge == "looks for words":
        insulted = [bool(set(INSULTS) & {*text.split()}) for text in texts]
        says = 1 - np.array(insulted, dtype=int)
    people = [turned(1 - fails, MISTAKEN, rng) for _ in range(raters)]
    whole = World("made", texts, 1 - fails, np.zeros(n, dtype=int))
    with threadpool_limits(1):
        return check(table([whole], {None: says}, people), CheckOptions()).judges[0]


def one(seed: int, made: str, judge: str, n: int, raters: int) -> tuple[bool, bool]:
    """Whether the judge of one file is believed, and whether words or a column are said to explain
    it."""
    told = answer(seed, made, judge, n, raters)
    reason = told.verdict.key.removeprefix("check.verdict_")
    return told.standing == "supported", reason in ("follows", "column")


def row(
    case: tuple[str, str, int, int], found: Sequence[tuple[bool, bool]]
) -> dict[str, object]:
    """The shares of one case."""
    yes, by_words = np.array(found).mean(axis=0)
    made, judge, n, raters = case
    shares = {"yes": round(float(yes), 3), "by_words": round(float(by_words), 3)}
    about = {"world": made, "judge": judge, "items": n, "people": raters}
    return {**about, "seeds": len(found), **shares}


def main() -> None:
    """Print the table, or keep it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="keep the rows")
    given = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        for case in CASES:
            made, judge, n, raters = case
            ask = partial(one, made=made, judge=judge, n=n, raters=raters)
            rows.append(row(case, list(workers.map(ask, range(given.seeds)))))
            print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if given.write:
        stored.keep("merit", ["world", "judge", "items", "people"], rows)


if __name__ == "__main__":
    main()
