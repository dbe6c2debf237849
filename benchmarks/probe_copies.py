"""What copies with sentences without content do for the probe, on authors that it has not seen.

    python -m benchmarks.probe_copies [--write]

Every development text is scored by fits without a quarter of the authors, its own among them (`dev7`
is one author): fitted with copies that hold foreign text alone, as probes were until then, and with
the copies as they ship. Beside the order and the error of the texts stands how far MEASURED of them
move when they get three sentences without content that nothing was fitted on (`held out` of
benchmarks/movement.yaml, and the cue `length` of the instrument test), a citation of the rubric
(benchmarks/movement.yaml), or the text of a development family. The test texts play no part.
`--write` keeps the table in benchmarks/results/probe_copies.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.movement import citing, saying_nothing
from benchmarks.probe import SEED, Units, opened
from undogmatic.constructs.shame.curated import DevelopmentDataset, families
from undogmatic.datasets.edits import edits_of, shipped
from undogmatic.fit.probe import (
    VIEWS,
    author_of,
    calibrate,
    fit_regression,
    put_in,
    read_all,
    sift,
)
from undogmatic.readouts.probe import as_read, text_pieces
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item, digest
from undogmatic.stats import means
from undogmatic.stats.ranking import mean_absolute_error, spearman_interval

RESULTS = Path(__file__).with_name("results") / "probe_copies.csv"
MEASURED, QUARTERS = 150, 4


def foreign_copies(items: Sequence[Item]) -> list[str]:
    """A copy of each text with text that has no part in it, as before there were sentences without
    content."""
    own = [family for family in families("development") if not family.mixed]
    return [
        random.Random(digest([item.id, "copy"]))
        .sample(own, 1)[0]
        .into(item.text, item.id)
        for item in items
    ]


def moved(items: Sequence[Item]) -> dict[str, list[str]]:
    """By name, what is made of the texts whose movement is measured."""
    cue, empty, cited = (
        edits_of(shipped("shame")).cues["length"],
        saying_nothing(),
        citing(),
    )
    return {
        "held out": [empty.into(item.text, item.id) for item in items],
        "length": [str(cue.into(item.text, item.id, 1, "pt")) for item in items],
        "citation": [cited.into(item.text, item.id) for item in items],
    }


def quarters(items: Sequence[Item]) -> np.ndarray:
    """Which quarter of the authors each text belongs to, shape (n_items,)."""
    authors = [str(author_of(item)).split("-")[0] for item in items]
    ordered = sorted(set(authors), key=digest)
    return np.array([ordered.index(author) % QUARTERS for author in authors])


def table() -> pd.DataFrame:
    """A row per set of copies."""
    items = list(DevelopmentDataset().load())
    labels = np.array([item.label for item in items], dtype=np.float64)
    parts, own = quarters(items), np.array([_own(item) for item in items])
    some = sorted(range(len(items)), key=lambda k: digest([items[k].id, "measure"]))
    some = [k for k in some if len(items[k].text.split()) >= 25][:MEASURED]
    _, model, engine = opened()
    folding = Folding.learnt([item.text for item in items])

    def read(texts: Sequence[str]) -> tuple[list[str], list[Any]]:
        once = [as_read(text, folding, once=True) for text in texts]
        readings = read_all(
            model, once, engine, lambda text: text_pieces(model, text, VIEWS)
        )
        return once, asyncio.run(readings)

    texts, of_texts = read([item.text for item in items])
    edited = {
        name: read(made)[1] for name, made in moved([items[k] for k in some]).items()
    }
    foreign = foreign_copies(items)
    edited["foreign text"] = read([foreign[k] for k in some])[1]
    arms = {
        "foreign text alone": foreign,
        "shipped": DevelopmentDataset().copies(items),
    }
    (groups,) = Units(items).of(own)
    rows = []
    for arm, copies in arms.items():
        once, of_copies = read(copies)
        shares = list(map(put_in, texts, once))
        scores, after = (
            np.empty(len(items)),
            {name: np.empty(len(some)) for name in edited},
        )
        for part in range(QUARTERS):
            seen = np.flatnonzero(parts != part)
            sieve, rows_of_texts, rows_of_copies = sift(
                [of_texts[k] for k in seen],
                [of_copies[k] for k in seen],
                [shares[k] for k in seen],
                np.arange(seen.size),
            )
            fitted = fit_regression(rows_of_texts, labels[seen], rows_of_copies)

            def score(readings: Sequence[Any], sieve: Any = sieve, by: Any = fitted):
                return by.raw(np.stack([sieve.features(each) for each in readings]))

            unseen = np.flatnonzero(parts == part)
            raw = score([of_texts[k] for k in unseen])
            # The map to the scale is monotone, and takes the quantiles of what is scored.
            known = calibrate(raw, labels[unseen])
            scores[unseen] = np.interp(raw, known.raw_knots, known.score_knots)
            inside = [n for n, k in enumerate(some) if parts[k] == part]
            for name, readings in edited.items():
                again = score([readings[n] for n in inside])
                after[name][inside] = np.interp(
                    again, known.raw_knots, known.score_knots
                )
        rank = spearman_interval(
            scores[own], labels[own], np.random.default_rng(SEED), groups=groups
        )
        error = mean_absolute_error(labels[own], scores[own], groups=groups, span=100)
        row: dict[str, Any] = {"copies": arm, "texts": int(own.sum())}
        row |= {"spearman": rank.value, "spearman_low": rank.low}
        row |= {"spearman_high": rank.high, "error": error.value}
        row |= {"error_low": error.low, "error_high": error.high}
        row["hard_pairs"] = _in_order(items, scores)
        for name, values in after.items():
            by = values - scores[some]
            mean = means.interval(np.abs(by), bounds=(0, 100))
            row |= {f"{name}: movement": mean.value, f"{name}: low": mean.low}
            row |= {f"{name}: high": mean.high, f"{name}: shift": float(by.mean())}
        rows.append(row)
    return pd.DataFrame(rows)


def _own(item: Item) -> bool:
    return item.metadata["part"] not in ("pairs", "theses")


def _in_order(items: Sequence[Item], scores: np.ndarray) -> float:
    """The share of pairs whose imitation has the higher score."""
    pairs: dict[Any, dict[str, float]] = {}
    for item, score in zip(items, scores, strict=True):
        if item.condition in ("imitation", "explanation"):
            pairs.setdefault(item.pair, {})[item.condition] = score
    return float(
        np.mean([pair["imitation"] > pair["explanation"] for pair in pairs.values()])
    )


def main() -> None:
    """Print the table, and keep it where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help=f"keep it in {RESULTS.name}"
    )
    given = parser.parse_args()
    found = table().round(3)
    print(found.T.to_string())
    if given.write:
        found.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
