"""How often is a judge believed that reads one property of the surface, on pairs whose sides differ in just that?

    python -m benchmarks.arranged          # about two minutes; writes benchmarks/results/arranged.csv

The two texts of a pair are made of the same random words, and differ in one arrangement: the first letter, the last
word, where a verb stands, alliteration, or the order of a question and a statement. The judge knows the side by that
alone (40 points, noise 8). No such judge deserves to be believed; the surface judge must find each of them out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.fakes import remembered, shipped_analysis
from tests.fakes.worlds import WORDS, judged
from undogmatic.examinations.pairs import Pairs
from undogmatic.records.records import Item

RESULTS = Path(__file__).parent / "results" / "arranged.csv"
KINDS = (
    "first letter",
    "last word",
    "place of a verb",
    "alliteration",
    "order of sentences",
)
_VERBS = ("falando", "comendo", "partindo", "seguindo", "olhando", "correndo")
_EARLY = "bcdlm"


def arranged(kind: str, high: bool, draw: np.random.Generator) -> str:
    """One text of random words whose arrangement tells its side."""
    words = [
        str(word) for word in draw.choice(WORDS, max(12, int(draw.normal(50, 12))))
    ]
    middle = len(words) // 2
    if kind == "first letter":
        words[0] = str(
            draw.choice([word for word in WORDS if (word[0] in _EARLY) == high])
        )
    elif kind == "last word":
        words[-1] = "assim" if high else "portanto"
    elif kind == "place of a verb":
        words.insert(2 if high else len(words) - 2, str(draw.choice(_VERBS)))
    elif kind == "alliteration" and high:
        for place in range(0, len(words) - 1, 4):
            words[place + 1] = str(
                draw.choice([word for word in WORDS if word[0] == words[place][0]])
            )
    elif kind == "order of sentences":
        marks = ("? ", ".") if high else (". ", "?")
        return " ".join(words[:middle]) + marks[0] + " ".join(words[middle:]) + marks[1]
    return " ".join(words) + "."


def verdict(kind: str, n: int, seed: int) -> str:
    """The verdict of `analysis=ab`, as it ships, on n pairs."""
    draw = np.random.default_rng(seed)
    items = [
        Item(
            id=f"p{k}:{side}",
            text=arranged(kind, side == "imitation", draw),
            pair=f"p{k}",
            condition=side,
        )
        for k in range(n)
        for side in ("imitation", "explanation")
    ]
    table, analysis = judged(items, [0.0] * len(items)), shipped_analysis()
    pairs = analysis.matched(table)
    scores = {
        item.id: 50 + (20 if item.condition == "imitation" else -20) + draw.normal(0, 8)
        for item in items
    }
    given = {
        side: rows.assign(score=[scores[name] for name in rows["item_id"]])
        for side, rows in pairs.sides.items()
    }
    with remembered():
        return analysis.ruling(table, Pairs(given), np.random.default_rng(0)).key


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--pairs", type=int, nargs="+", default=[30, 46])
    given = parser.parse_args()
    rows = []
    for n in given.pairs:
        for kind in KINDS:
            found = Counter(verdict(kind, n, seed) for seed in range(given.seeds))
            most = ", ".join(f"{key} {count}" for key, count in found.most_common(2))
            rows.append(
                {
                    "arranged": kind,
                    "pairs": n,
                    "seeds": given.seeds,
                    "believed": found["supported"],
                    "most": most,
                }
            )
            print("  ".join(map(str, rows[-1].values())), flush=True)
    pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
