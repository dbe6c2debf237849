"""What further development texts add to the probe, for authors that it has not seen.

    python -m benchmarks.probe_texts [--write]

Every text of the authors before `dev7` is scored by fits without its author: on the texts of the
other authors before `dev7` alone (a half, and all of them), and on these and the texts of `dev7` (a
half, and all). So the texts that were added last are in no figure, and nobody who wrote what is
scored wrote what is added. Features are the mean over all tokens, without copies and without
weights; the test texts play no part. `--write` keeps the table in
benchmarks/results/probe_texts.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.probe import SEED, Units, opened
from undogmatic.constructs.shame.curated import DevelopmentDataset
from undogmatic.fit.probe import VIEWS, author_of, fit_regression, held_out, read_all
from undogmatic.readouts.probe import as_read, text_pieces
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item
from undogmatic.stats.ranking import mean_absolute_error, spearman_interval

RESULTS = Path(__file__).with_name("results") / "probe_texts.csv"
ADDED = "dev7"


def features(items: list[Item]) -> np.ndarray:
    """The mean states of every text, shape (n_texts, n_features)."""
    import asyncio

    _, model, engine = opened()
    folding = Folding.learnt([item.text for item in items])
    once = [as_read(item.text, folding, once=True) for item in items]
    read = asyncio.run(
        read_all(model, once, engine, lambda text: text_pieces(model, text, VIEWS))
    )
    return np.stack(
        [np.average(one.states, axis=0, weights=one.tokens) for one in read]
    )


def raw_scores(
    states: np.ndarray,
    labels: np.ndarray,
    authors: np.ndarray,
    before: float,
    added: float,
) -> np.ndarray:
    """Raw scores of the texts of authors before ADDED, NaN elsewhere, by fits on these shares of
    the texts of other authors and of the added ones."""
    draw, raw = np.random.default_rng(SEED), np.full(len(labels), np.nan)
    shares = draw.random(len(labels))
    for author in sorted(set(authors) - {ADDED}):
        known = np.where(authors == ADDED, shares < added, shares < before)
        known &= authors != author
        fitted = fit_regression(states[known], labels[known])
        raw[authors == author] = fitted.raw(states[authors == author])
    return raw


def table() -> pd.DataFrame:
    """A row per set of texts that the fits saw."""
    items = list(DevelopmentDataset().load())
    labels = np.array([item.label for item in items], dtype=np.float64)
    authors = np.array([str(author_of(item)).split("-")[0] for item in items])
    states = features(items)
    scored = authors != ADDED
    some = [item for item, inside in zip(items, scored, strict=True) if inside]
    own = np.array([item.metadata["part"] not in ("pairs", "theses") for item in some])
    folds = np.unique(authors[scored], return_inverse=True)[1]
    (groups,) = Units(some).of(own)
    rows = []
    for before, added in ((0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (1.0, 1.0)):
        raw = raw_scores(states, labels, authors, before, added)[scored]
        scores, (low, high) = held_out(raw, labels[scored], folds, (0.0, 100.0))
        rank = spearman_interval(
            scores[own], labels[scored][own], np.random.default_rng(SEED), groups=groups
        )
        error = mean_absolute_error(
            labels[scored][own], scores[own], groups=groups, span=100
        )
        covered = ((low <= labels[scored]) & (labels[scored] <= high))[own]
        rows.append(
            {
                "share_of_earlier_texts": before,
                "share_of_added_texts": added,
                "texts": int(own.sum()),
                "spearman": round(rank.value, 4),
                "spearman_low": round(rank.low, 4),
                "spearman_high": round(rank.high, 4),
                "error": round(error.value, 2),
                "error_low": round(error.low, 2),
                "error_high": round(error.high, 2),
                "coverage": round(float(covered.mean()), 3),
                "width": round(float((high - low)[own].mean()), 1),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table, and keep it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help=f"keep it in {RESULTS.name}"
    )
    given = parser.parse_args()
    found = table()
    print(found.to_string(index=False))
    if given.write:
        found.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
