"""Whether `undogmatic plan` keeps what it announces: how often a check answers yes with as many
labels as it names for a chance of 50, 80 and 90 %.

    python -m benchmarks.planned [--seeds 100] [--write]

The judge and a person are each a copy of what the items deserve with errors, such that they agree
on the announced share of either label; texts are drawn without regard to either. Each row is a
check of a whole file: of labels drawn at random, and of labels drawn evenly from the verdicts on
600 items.
"""

from __future__ import annotations

import argparse
import csv
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import undogmatic
from undogmatic.examinations import kinds, surface_rival
from undogmatic.records.checked import CheckOptions
from undogmatic.review.drawn import evenly
from undogmatic.stats import planning
from undogmatic.stats.planning import TwoKinds

RESULTS = Path(__file__).with_name("results") / "planned.csv"
CELLS = ((0.5, 0.8), (0.5, 0.9), (0.3, 0.85), (0.1, 0.9), (0.1, 0.95))
CHANCES = (0.5, 0.8, 0.9)
ALL = 600
COLUMNS = ("rarer", "right", "drawn", "announced", "labels", "seeds", "yes")


def table(expected: TwoKinds, n: int, seed: int) -> tuple[pd.DataFrame, dict[str, str]]:
    """A file of verdicts and labels, and how it is to be read."""
    rng = np.random.default_rng([seed, n])
    items = ALL if expected.by_verdict else n
    label = rng.random(items) < expected.rarer
    verdict = label ^ (rng.random(items) >= expected.right)
    syllables = [one + two for one in "bcdfglmnprst" for two in "aeiou"]
    words = np.array(["".join(rng.choice(syllables, 3)) for _ in range(800)])
    rows = pd.DataFrame(
        {
            "item": [f"i{k}" for k in rng.permutation(items)],
            "text": [
                " ".join(rng.choice(words, rng.integers(15, 40))) for _ in range(items)
            ],
            "judge": np.where(verdict, "fail", "pass"),
            "human": np.where(label, "fail", "pass").astype(object),
        }
    )
    if not expected.by_verdict:
        return rows, {}
    drawn = evenly(list(rows["judge"]), n, rng)
    rows["human"] = rows["human"].where(rows.index.isin(drawn), None)
    return rows, {"labels": "by-verdict"}


def main() -> None:
    """Print, and keep, how often the answer was yes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    chosen = parser.parse_args()
    options, kept = CheckOptions(), []
    least = options.least_of("pass_fail")
    print(
        f"{'rarer':>6}{'right':>7}  {'drawn':12}{'announced':>10}{'labels':>8}{'yes':>6}"
    )
    for (rarer, right), by_verdict in product(CELLS, (False, True)):
        fewest = kinds.FEWEST_RARER if rarer < kinds.MINOR else 0
        expected = TwoKinds(rarer, right, by_verdict, fewest)
        needed = planning.labels_needed(
            expected,
            least,
            surface_rival.least_left,
            CHANCES,
            level=options.level,
            fewest=kinds.FEWEST,
        )
        for chance, n in zip(CHANCES, needed, strict=True):
            if n is None:
                continue
            yes = 0
            for seed in range(chosen.seeds):
                rows, how = table(expected, n, seed)
                answer = undogmatic.check(rows, **how).judges[0].verdict
                yes += answer is not None and answer.answer == "yes"
            drawn = "by verdict" if by_verdict else "at random"
            share = yes / chosen.seeds
            print(
                f"{rarer:>6.0%}{right:>7.0%}  {drawn:12}{chance:>10.0%}{n:>8}{share:>6.0%}",
                flush=True,
            )
            kept.append((rarer, right, drawn, chance, n, chosen.seeds, share))
    if chosen.write:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            rows_of = csv.writer(file, lineterminator="\n")
            rows_of.writerows([COLUMNS, *kept])


if __name__ == "__main__":
    main()
