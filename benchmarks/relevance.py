"""Whether the embedded model tells a response that deals with its question from one that does not.

    python -m benchmarks.relevance                  # development topics, a fourth held out at a time
    python -m benchmarks.relevance --test --write   # also the test topics, and responses by others
    python -m benchmarks.relevance --fit            # writes the probe that ships, from development alone

The pairs are those of data/coherence/relevance.yaml (`constructs.traits.relevance.pairs`). `probe`
is the logistic regression that ships, on how much the embedded model foresees of question and
response; `overlap`, `length`, `tfidf` and `e5` are the same regression on the words that both
share, on how long both are, on the cosine of their runs of letters, and on that of multilingual E5;
`response alone` sees no question. Each is believed where at most one in twenty of the development
responses that deal with their question would be capped. `others` are the responses of
data/coherence (test split).
`--write` keeps benchmarks/results/relevance.csv, and relevance_kinds.csv, the shares by kind of
pair.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.traits.relevance import (
    Pair,
    Readings,
    RelevanceProbe,
    features,
    pairs,
    read,
    shipped_file,
)
from undogmatic.constructs.traits.responses import LabelledResponsesDataset
from undogmatic.fit.probe import read_all
from undogmatic.models.embeddings import E5Embeddings
from undogmatic.stats import limits
from undogmatic.stats.ranking import auc

RESULTS = Path(__file__).with_name("results")
WRONGLY = 0.05
"""Share of the development responses that deal with their question which may be capped, and of
those that do not which may be taken to."""
PENALTY = 1.0
OVERLAP, LENGTH = (
    ("words_of_question", "words_of_response"),
    ("response_length", "question_length"),
)


class Part(NamedTuple):
    """Pairs of one source, and whether they are tried on."""

    name: str
    pairs: list[Pair]


def of_others() -> list[Pair]:
    """The responses of data/coherence, test split, which another hand wrote and labelled."""
    return [
        Pair(
            item.inputs["question"],
            item.inputs["response"],
            bool(item.metadata["engages"]),
            str(item.condition).removeprefix("gold:"),
            str(item.metadata["group"]),
            str(item.language),
            0,
        )
        for item in LabelledResponsesDataset("coherence", split="test").load()
    ]


def readings(some: Sequence[Pair]) -> tuple[Any, list[Readings]]:
    """The embedded model, on one thread, and what it foresees of each pair."""
    chosen = settings(compose_config(["model=local", "model.threads=1"]))
    model, engine = build(chosen.model, "model"), build(chosen.engine, "engine")

    async def one(place: str) -> Readings:
        pair = some[int(place)]
        return await read(model, pair.question, pair.response)

    places = list(map(str, range(len(some))))
    return model, asyncio.run(read_all(model, places, engine, one))


def rivals(some: Sequence[Pair], known: Sequence[Pair]) -> dict[str, np.ndarray]:
    """What each rival goes by, shape (n_pairs, n_features)."""
    letters = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True
    ).fit([text for pair in known for text in pair[:2]])
    asked, said = (letters.transform([pair[n] for pair in some]) for n in (0, 1))
    embeddings = E5Embeddings()
    vectors = [embeddings.vectors([pair[n] for pair in some]) for n in (0, 1)]
    return {
        "tfidf": np.asarray(asked.multiply(said).sum(axis=1)),
        "e5": (vectors[0] * vectors[1]).sum(axis=1, keepdims=True).astype(np.float64),
        "response alone": vectors[1].astype(np.float64),
    }


def regression() -> Any:
    """What is fitted, on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=2000))


def chances(
    rows: np.ndarray, wrong: np.ndarray, folds: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """How likely each response is off the topic, shape (n,): of development pairs by fits without
    the topics of their fold, of others by a fit on all development pairs."""
    found = np.empty(len(wrong))
    if not known.all():
        fit = regression().fit(rows[known], wrong[known])
        found[~known] = fit.predict_proba(rows[~known])[:, 1]
    for fold in np.unique(folds[known]):
        inside = known & (folds == fold)
        without = known & ~inside
        fit = regression().fit(rows[without], wrong[without])
        found[inside] = fit.predict_proba(rows[inside])[:, 1]
    return found


def band(odds: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """The most probability at which a response is taken to deal with the question, and the least
    at which it is capped: beyond either at most WRONGLY of the development pairs are misjudged."""
    capped = float(np.quantile(odds[~wrong], 1 - WRONGLY, method="higher"))
    taken = float(np.quantile(odds[wrong], WRONGLY, method="lower"))
    # `higher` gives a value that is there, and what is capped lies above it
    return min(taken, capped), float(np.nextafter(capped, 1))


def tried(
    parts: Sequence[Part],
) -> tuple[pd.DataFrame, pd.DataFrame, RelevanceProbe]:
    """A row per means and part; the shares by kind for the probe; and the probe."""
    some = [pair for part in parts for pair in part.pairs]
    sources = np.array([part.name for part in parts for _ in part.pairs])
    known = sources == "development"
    wrong = np.array([not pair.engages for pair in some])
    folds = np.array([pair.fold for pair in some])
    model, seen = readings(some)
    named = [
        features(each, pair.question, pair.response)
        for each, pair in zip(seen, some, strict=True)
    ]
    table = pd.DataFrame(named)
    means: dict[str, np.ndarray] = {
        "probe": table.to_numpy(),
        "overlap": table[[*OVERLAP]].to_numpy(),
        "length": table[[*LENGTH]].to_numpy(),
    } | rivals(some, parts[0].pairs)
    odds = {name: chances(rows, wrong, folds, known) for name, rows in means.items()}
    bands = {name: band(own[known], wrong[known]) for name, own in odds.items()}
    rows = [
        _row(name, part.name, some, odds[name], wrong, sources == part.name, ends)
        for part in parts
        for name, ends in bands.items()
    ]
    kinds = _kinds(some, sources, odds["probe"], bands["probe"])
    probe = fitted(model, table[known], wrong[known], bands["probe"], parts[0].pairs)
    figures = {
        key: float(value)
        for key, value in rows[0].items()
        if key in ("auc", "capped_wrongly", "capped_rightly", "cannot_tell")
    }
    return pd.DataFrame(rows), kinds, probe.model_copy(update={"figures": figures})


def _row(
    name: str,
    part: str,
    some: Sequence[Pair],
    odds: np.ndarray,
    wrong: np.ndarray,
    inside: np.ndarray,
    ends: tuple[float, float],
) -> dict[str, Any]:
    """What one means reaches on one part; topics are what is independent."""
    topics = np.array([pair.topic for pair in some])
    engages, capped = ends
    area = auc(
        odds[inside & wrong],
        odds[inside & ~wrong],
        groups_a=topics[inside & wrong],
        groups_b=topics[inside & ~wrong],
    )
    rightly, falsely = (
        limits.share(odds[which] >= capped, topics[which])
        for which in (inside & wrong, inside & ~wrong)
    )
    unsure = (odds > engages) & (odds < capped)
    found = {"part": part, "means": name, "pairs": int(inside.sum())}
    found |= {"off_topic": int((inside & wrong).sum())}
    for key, estimate in {
        "auc": area,
        "capped_rightly": rightly,
        "capped_wrongly": falsely,
    }.items():
        found |= {
            key: round(estimate.value, 3),
            f"{key}_low": round(estimate.low, 3),
            f"{key}_high": round(estimate.high, 3),
        }
    return found | {
        "cannot_tell": round(float(unsure[inside].mean()), 3),
        "taken_wrongly": round(float((odds <= engages)[inside & wrong].mean()), 3),
    }


def _kinds(
    some: Sequence[Pair],
    sources: np.ndarray,
    odds: np.ndarray,
    ends: tuple[float, float],
) -> pd.DataFrame:
    """Of each kind of pair, the shares that the probe caps, takes to deal, and cannot tell."""
    rows = pd.DataFrame(
        {
            "part": sources,
            "kind": [pair.kind for pair in some],
            "engages": [pair.engages for pair in some],
            "pairs": 1,
            "capped": odds >= ends[1],
            "taken": odds <= ends[0],
        }
    )
    grouped = rows.groupby(["part", "engages", "kind"], sort=False)
    found = grouped.agg({"pairs": "sum", "capped": "mean", "taken": "mean"})
    found["cannot_tell"] = 1 - found["capped"] - found["taken"]
    return found.round(3).reset_index()


def fitted(
    model: Any,
    rows: pd.DataFrame,
    wrong: np.ndarray,
    ends: tuple[float, float],
    some: Sequence[Pair],
) -> RelevanceProbe:
    """The probe that ships: fitted on all development pairs, believed as held-out topics allow."""
    scaler, fit = regression().fit(rows.to_numpy(), wrong).named_steps.values()
    weights = fit.coef_[0] / scaler.scale_
    offset = float(fit.intercept_[0] - (weights * scaler.mean_).sum())
    return RelevanceProbe(
        model=model.name,
        model_sha256=model.sha256,
        weights={
            name: round(float(weight), 6)
            for name, weight in zip(rows.columns, weights, strict=True)
        },
        offset=round(offset, 6),
        engages=round(ends[0], 4),
        off_topic=round(ends[1], 4),
        n=len(some),
        topics=len({pair.topic for pair in some}),
        figures={},
    )


def main() -> None:
    """Print the tables, and keep them or the probe where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--test", action="store_true", help="also the test topics and others' responses"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep the tables in benchmarks/results"
    )
    parser.add_argument("--fit", action="store_true", help="write the probe that ships")
    given = parser.parse_args()
    parts = [Part("development", pairs("dev"))]
    if given.test:
        parts += [Part("test", pairs("test")), Part("others", of_others())]
    found, kinds, probe = tried(parts)
    print(found.to_string(index=False), kinds.to_string(index=False), sep="\n\n")
    if given.write:
        found.to_csv(RESULTS / "relevance.csv", index=False)
        kinds.to_csv(RESULTS / "relevance_kinds.csv", index=False)
    if given.fit:
        shipped_file().write_text(
            probe.model_dump_json(indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
