"""What judges of the surface reach on the pairs: may an order of these pairs count as a merit at
all?

    python -m benchmarks.surface            # the shipped test pairs
    python -m benchmarks.surface --split development
    python -m benchmarks.surface --part theses

A judge of the surface reads counts (length, capitals, digits, punctuation, keywords) or character
n-grams. Each is fitted twice: on the development texts, without the pairs of the split shown, and
on these very pairs, ten groups of them left out at a time. The last columns say in how many pairs
the imitation (or the naked text) has the larger count.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.constructs.shame.curated import CuratedDataset, DevelopmentDataset, Part
from undogmatic.constructs.shame.patterns import count, share, tfidf_ridge
from undogmatic.records.records import Item

Array = NDArray[np.float64]
Fit = Callable[[Sequence[str], Sequence[float]], Callable[[Sequence[str]], Array]]

SIDES = {
    "pairs": ("imitation", "explanation"),
    "theses": ("authority_only", "explained_only"),
}
FOLDS = 10
COUNTS = (
    "characters",
    "words",
    "sentences",
    "word length",
    "sentence length",
    "capitals",
    "digits",
    "commas",
    "full stops",
    "other punctuation",
    "citations",
    "boosters",
    "hedges",
    "explanation markers",
    "share of different words",
)


def counts(text: str) -> list[float]:
    """The numbers of COUNTS of one text."""
    words = re.findall(r"\w+", text)
    sentences = [part for part in re.split(r"[.!?]+\s", text) if part.strip()]
    found = count(text)
    n, several = max(1, len(words)), max(1, len(sentences))
    return [
        len(text),
        len(words),
        len(sentences),
        len(text) / n,
        len(words) / several,
        sum(letter.isupper() for letter in text),
        sum(letter.isdigit() for letter in text),
        text.count(","),
        text.count("."),
        sum(text.count(mark) for mark in '(":;'),
        found.citations,
        found.boosters,
        found.hedges,
        found.explanations,
        len({word.lower() for word in words}) / n,
    ]


def forest(
    texts: Sequence[str], labels: Sequence[float]
) -> Callable[[Sequence[str]], Array]:
    """A random forest on the counts."""
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(300, random_state=0, min_samples_leaf=2).fit(
        [counts(t) for t in texts], labels
    )
    return lambda new: np.asarray(model.predict([counts(text) for text in new]))


def tfidf(
    texts: Sequence[str], labels: Sequence[float]
) -> Callable[[Sequence[str]], Array]:
    """Ridge on character n-grams, as `model=tfidf`."""
    model = tfidf_ridge(1.0).fit(list(texts), list(labels))
    return lambda new: np.asarray(model.predict(list(new)))


FITS: dict[str, Fit] = {"forest on 15 counts": forest, "character n-grams": tfidf}


def sides(part: Part, split: str) -> tuple[list[Item], list[Item]]:
    """The texts expected to score higher and those expected to score lower, pair by pair."""
    items = CuratedDataset(parts=[part], split=split).load()  # type: ignore[arg-type]
    by_pair = {(item.pair, item.condition): item for item in items}
    names = [pair for pair, condition in by_pair if condition == SIDES[part][0]]
    first, second = ([by_pair[pair, side] for pair in names] for side in SIDES[part])
    return first, second


def in_direction(high: Array, low: Array) -> float:
    """Share of pairs in the expected direction; ties count half."""
    return float(np.mean(high > low) + np.mean(high == low) / 2)


def fitted_elsewhere(high: Sequence[Item], low: Sequence[Item]) -> dict[str, float]:
    """Share of pairs that each judge fitted on development texts orders, without texts of the pairs
    shown."""
    own = {item.id for item in [*high, *low]}
    known = [item for item in DevelopmentDataset().load() if item.id not in own]
    labels = [float(item.label) for item in known if item.label is not None]
    found = {}
    for name, fit in FITS.items():
        predict = fit([item.text for item in known], labels)
        found[name] = in_direction(
            *(predict([item.text for item in side]) for side in (high, low))
        )
    found["patterns"] = in_direction(
        *(np.array([share(count(i.text)) for i in side]) for side in (high, low))
    )
    return found


def cross_fitted(
    high: Sequence[Item], low: Sequence[Item], seed: int = 0
) -> dict[str, float]:
    """Share of pairs that each judge orders when fitted on the other pairs."""
    fold = np.random.default_rng(seed).permutation(len(high)) % FOLDS
    found = {}
    for name, fit in FITS.items():
        scores = [np.empty(len(high)), np.empty(len(high))]
        for k in range(FOLDS):
            texts = [
                side[n].text for side in (high, low) for n in np.flatnonzero(fold != k)
            ]
            predict = fit(texts, [1.0] * (len(texts) // 2) + [0.0] * (len(texts) // 2))
            for own, side in zip(scores, (high, low), strict=True):
                own[fold == k] = predict(
                    [side[n].text for n in np.flatnonzero(fold == k)]
                )
        found[name] = in_direction(*scores)
    return found


def single_counts(high: Sequence[Item], low: Sequence[Item]) -> pd.DataFrame:
    """Per count, the share of pairs in which the first text has more of it, and in which it has
    less."""
    first, second = (
        np.array([counts(item.text) for item in side]) for side in (high, low)
    )
    return pd.DataFrame(
        {"more": (first > second).mean(axis=0), "less": (first < second).mean(axis=0)},
        index=COUNTS,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", default="test", choices=("test", "development"))
    parser.add_argument("--part", default="pairs", choices=tuple(SIDES))
    given: Any = parser.parse_args()
    high, low = sides(given.part, given.split)
    lengths = [
        abs(len(a.text) - len(b.text)) / max(len(a.text), len(b.text))
        for a, b in zip(high, low, strict=True)
    ]
    print(
        f"{len(high)} pairs of {given.part}, {given.split} split; lengths differ by up to"
        f" {max(lengths):.0%}"
    )
    print("share of pairs in the expected direction (one half: nothing learned)")
    for name, value in fitted_elsewhere(high, low).items():
        print(f"  {name + ', fitted on development texts':50s} {value:.0%}")
    for name, value in cross_fitted(high, low).items():
        print(f"  {name + ', fitted on the other pairs':50s} {value:.0%}")
    print(single_counts(high, low).map("{:.0%}".format).to_string())


if __name__ == "__main__":
    main()
