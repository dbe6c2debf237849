"""Whether the embedded model's states tell a contradiction, beside the rules and beside counting words.

    python -m benchmarks.entailment                # cross-validation over development authors
    python -m benchmarks.entailment --test --write # also the test authors and data/faith/outcomes.jsonl

data/faith/entailment.jsonl has 1,504 pairs of a premise and a hypothesis. The classifiers are
logistic regressions, fitted on the development pairs: `states` reads the mean states of the
hypothesis after the premise, and how they differ from its states alone; `hypothesis alone` sees no
premise, so it says how much the hypotheses give away by themselves; `overlap` counts words. `rules`
are those of nli=rules. Precision and recall are of "contradicted"; a classifier's threshold is the
lowest at which cross-validation over development authors had a precision of LEAST. `--write` keeps
benchmarks/results/entailment.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.probe import opened
from undogmatic.constructs.faithfulness.facts.accusations import (
    CONTRADICTED,
    contradictions,
    is_sure,
)
from undogmatic.fit.probe import read_all
from undogmatic.models.base import View
from undogmatic.models.embeddings import MiniLMEmbeddings
from undogmatic.safety.outside import json_lines
from undogmatic.safety.paths import data_folder

RESULTS = Path(__file__).with_name("results") / "entailment.csv"
BLOCKS = (7, 9)
LEAST, ALIGNED, SURE = 0.9, 0.45, 0.9
NEGATIONS = set(
    "not no never nobody neither não nunca nenhum nenhuma ninguém nem".split()
)


class Pair(NamedTuple):
    """A premise and a hypothesis, and whether it is contradicted."""

    premise: str
    hypothesis: str
    contradicted: bool
    author: str
    part: str
    language: str


def pairs() -> list[Pair]:
    """All pairs: `development` and `test` of entailment.jsonl, and `outcomes` (outcomes.jsonl)."""
    folder = data_folder() / "faith"
    parts = {"dev": "development", "test": "test"}
    own = [
        Pair(
            row["premise"],
            row["hypothesis"],
            row["label"] == "contradicted",
            row["author"],
            parts[row["split"]],
            row["language"],
        )
        for _, row in json_lines(folder / "entailment.jsonl")
    ]
    others = [
        Pair(
            row["reference"],
            row["summary"],
            row["wrong"],
            "-",
            "outcomes",
            row["language"],
        )
        for _, row in json_lines(folder / "outcomes.jsonl")
    ]
    return own + others


def states(some: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """Mean states of each hypothesis after its premise, and alone; shape (n_pairs, n_features)."""
    _, model, engine = opened()
    asked = [(f"{pair.premise}\n", pair.hypothesis) for pair in some]
    asked += [("", pair.hypothesis) for pair in some]

    async def read(place: str) -> np.ndarray:
        before, text = asked[int(place)]
        found: np.ndarray = await model.pooled(text, View(blocks=BLOCKS, before=before))
        return found

    found = np.stack(
        asyncio.run(read_all(model, list(map(str, range(len(asked)))), engine, read))
    )
    return found[: len(some)], found[len(some) :]


def overlap(some: Sequence[Pair]) -> np.ndarray:
    """What a count of words says of each pair, shape (n_pairs, 6)."""
    rows = []
    for pair in some:
        first, second = (set(re.findall(r"\w+", text.lower())) for text in pair[:2])
        digits, known = (
            set(re.findall(r"\d+", text)) for text in (pair.hypothesis, pair.premise)
        )
        both = len(first & second)
        rows.append(
            [
                both / len(second),
                both / len(first | second),
                len(second) / len(first),
                float(not digits <= known),
                float(bool(first & NEGATIONS)),
                float(bool(second & NEGATIONS)),
            ]
        )
    return np.array(rows)


def ruled(some: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """Whether the rules name a contradiction in each pair, and whether one that costs."""
    embeddings = MiniLMEmbeddings()
    texts = sorted({text for pair in some for text in pair[:2]})
    vectors = dict(zip(texts, embeddings.vectors(texts), strict=True))
    named, costs = [], []
    for pair in some:
        cosine = np.array(
            [[vectors[pair.premise] @ vectors[pair.hypothesis]]], dtype=np.float64
        )
        found = contradictions([pair.premise], [pair.hypothesis], cosine, ALIGNED)
        kinds = [one.kind for one in found if one is not None]
        named.append(bool(kinds))
        costs.append(any(is_sure(CONTRADICTED, kind, SURE) for kind in kinds))
    return np.array(named), np.array(costs)


def fitted(
    rows: np.ndarray, truth: np.ndarray, parts: np.ndarray, authors: np.ndarray
) -> np.ndarray:
    """The probability of a contradiction: of development pairs by fits without their author, of
    others by a fit on all development pairs. Shape (n_pairs,)."""

    def fit(inside: np.ndarray) -> Sequence[object]:
        steps = [StandardScaler(), LogisticRegression(C=1.0, max_iter=500)]
        if rows.shape[1] > 200:
            steps = [
                StandardScaler(),
                PCA(200, random_state=0),
                StandardScaler(),
                LogisticRegression(C=0.003, max_iter=500),
            ]
        return make_pipeline(*steps).fit(rows[inside], truth[inside])

    known = parts == "development"
    found = np.empty(len(truth))
    if not known.all():
        found[~known] = fit(known).predict_proba(rows[~known])[:, 1]
    for author in np.unique(authors[known]):
        inside = known & (authors == author)
        found[inside] = fit(known & ~inside).predict_proba(rows[inside])[:, 1]
    return found


def threshold(chances: np.ndarray, truth: np.ndarray) -> float:
    """The lowest chance at which all pairs with at least as much have a precision of LEAST."""
    order = np.argsort(-chances, kind="stable")
    right = np.cumsum(truth[order]) / np.arange(1, len(order) + 1)
    reached = np.flatnonzero(right >= LEAST)
    return float(chances[order[reached[-1]]]) if reached.size else float("inf")


def table(parts_wanted: Sequence[str]) -> pd.DataFrame:
    """A row per means, part and language."""
    some = pairs()
    truth = np.array([pair.contradicted for pair in some])
    parts, authors, languages = (
        np.array([getattr(pair, name) for pair in some])
        for name in ("part", "author", "language")
    )
    joint, alone = states(some)
    chances: Mapping[str, np.ndarray] = {
        name: fitted(rows, truth, parts, authors)
        for name, rows in {
            "states": np.hstack([joint, joint - alone]),
            "hypothesis alone": alone,
            "overlap": overlap(some),
        }.items()
    }
    known = parts == "development"
    accused = {
        name: odds >= threshold(odds[known], truth[known])
        for name, odds in chances.items()
    }
    accused["rules, named"], accused["rules"] = ruled(some)
    accused["rules or states"] = accused["rules"] | accused["states"]
    rows = []
    for part in parts_wanted:
        for language in ("en", "pt"):
            inside = (parts == part) & (languages == language)
            for name, found in accused.items():
                right, named = (
                    int((found & truth & inside).sum()),
                    int((found & inside).sum()),
                )
                wrong = int((truth & inside).sum())
                area = (
                    round(roc_auc_score(truth[inside], chances[name][inside]), 3)
                    if name in chances
                    else float("nan")
                )
                rows.append(
                    {
                        "part": part,
                        "language": language,
                        "means": name,
                        "pairs": int(inside.sum()),
                        "contradicted": wrong,
                        "found": right,
                        "false_alarms": named - right,
                        "recall": round(right / wrong, 3),
                        "precision": round(right / named, 3) if named else float("nan"),
                        "auc": area,
                    }
                )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table, and keep it where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--test", action="store_true", help="also the test authors and outcomes"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"keep it in {RESULTS.name}"
    )
    given = parser.parse_args()
    wanted = ["development", *(["test", "outcomes"] if given.test else [])]
    found = table(wanted)
    print(found.to_string(index=False))
    if given.write:
        found.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
