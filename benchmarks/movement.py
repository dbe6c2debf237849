"""How far a score moves when the same words are typed otherwise, when a text cites the rubric that
it is judged by, or when it is given three sentences without content.

    python -m benchmarks.movement [--texts 60] [--judges probe patterns tfidf] [--write]

So many texts of each split, drawn by a hash of their ids, are judged as they are and typed in each
of the ways below. The movement is the mean of the absolute differences in points, with an interval
of level 95 % over what belongs together among the texts; the shift, in brackets, is the mean
difference; "0 of 60" says that no text's score moved at all. No judge is fitted to the test texts,
nor the probe to the citations and the empty sentences (benchmarks/movement.yaml). The goal is a
movement of at most 4 points each, and of 10 by sentences without content. `--write` keeps the table in benchmarks/results/movement.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset, Passages
from undogmatic.constructs.shame.patterns import count, fitted, share
from undogmatic.datasets.belonging import groups_of
from undogmatic.fit.probe import read_all
from undogmatic.readouts.probe import fitting_probe, shipped_probe, text_features
from undogmatic.records.records import Item, digest
from undogmatic.safety.outside import read_yaml
from undogmatic.stats import means

TEXTS = 60
RESULTS = Path(__file__).parent / "results" / "movement.csv"
CITATION = "fake rubric citation"
EMPTINESS = "three sentences without content"
PLACES = ("start", "middle", "end")
SPLITS = ("development", "test")
_CYRILLIC = str.maketrans("aceijopsxyABCEHIJKMOPSTXY", "асеіјорѕхуАВСЕНІЈКМОРЅТХУ")
_GREEK = str.maketrans("aoipvABEHIKMNOPTXYZ", "αοιρνΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_BOLD = str.maketrans(
    {chr(97 + n): chr(0x1D41A + n) for n in range(26)}
    | {chr(65 + n): chr(0x1D400 + n) for n in range(26)}
)


def without_accents(text: str) -> str:
    """The text as it is typed on a keyboard without accents."""
    return "".join(
        char
        for char in unicodedata.normalize("NFD", text)
        if not unicodedata.combining(char)
    )


def respaced(text: str) -> str:
    """The text with other spaces: doubled, without a break, or as breaks of the line."""
    gaps = ("  ", "\u00a0", "\n", " \t", "\n\n", "\u2009")
    words = text.split()
    return "".join(word + gaps[n % len(gaps)] for n, word in enumerate(words))


TYPED: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "title case": str.title,
    "Cyrillic letters": lambda text: text.translate(_CYRILLIC),
    "Greek letters": lambda text: text.translate(_GREEK),
    "bold letters of mathematics": lambda text: text.translate(_BOLD),
    "zero-width spaces": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "full-width letters": lambda text: text.translate(_WIDE),
    "missing accents": without_accents,
    "accents as characters of their own (NFD)": lambda text: unicodedata.normalize(
        "NFD", text
    ),
    "other spaces": respaced,
}
"""Ways of typing the same words."""


def citing() -> Passages:
    """The citations of the rubric that no probe was fitted on, as a family of passages."""
    return Passages(CITATION, "test", (1,), PLACES, _passages("citations"))


def saying_nothing() -> Passages:
    """The empty sentences that no probe was fitted on, three at a time, as a family."""
    several = _passages("emptiness")
    return Passages(EMPTINESS, "test", (3,), PLACES, several, mixed=True)


def _passages(kind: str) -> list[str]:
    read: Any = read_yaml(Path(__file__).with_suffix(".yaml"))
    return list(read[kind])


def texts_of(split: str, most: int) -> list[Item]:
    """So many texts of a split, the same ones every time."""
    parts: Any = ["labelled", "adversarial", "controls", "theses", "pairs"]
    chosen: Any = split
    return sorted(
        CuratedDataset(parts=parts, split=chosen).load(),
        key=lambda item: digest(item.id),
    )[:most]


def judges(names: Sequence[str]) -> dict[str, Callable[[list[str]], np.ndarray]]:
    """By name, what gives the scores of texts, 0 to 100."""

    def patterns(texts: list[str]) -> np.ndarray:
        return np.array([100 * share(count(text)) for text in texts])

    def tfidf(texts: list[str]) -> np.ndarray:
        return np.asarray(np.clip(100 * fitted(1.0).predict(texts), 0, 100))

    known: dict[str, Callable[[list[str]], np.ndarray]] = {
        "patterns": patterns,
        "tfidf": tfidf,
    }
    if "probe" in names:
        chosen = settings(compose_config(["model=local", "model.threads=1"]))
        rubric, engine = build(chosen.rubric, "rubric"), build(chosen.engine, "engine")
        model: Any = build(chosen.model, "model")
        shipped = fitting_probe(shipped_probe(rubric), model, rubric)

        def probe(texts: list[str]) -> np.ndarray:
            read = asyncio.run(
                read_all(
                    model,
                    texts,
                    engine,
                    lambda text: text_features(shipped, model, text),
                )
            )
            return np.array(
                [
                    shipped.estimate(row, rubric.minimum, rubric.maximum).score
                    for row in read
                ]
            )

        known["probe"] = probe
    return {name: known[name] for name in names}


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--texts",
        type=int,
        default=TEXTS,
        help=f"how many of each split (default: {TEXTS})",
    )
    parser.add_argument("--judges", nargs="+", default=["probe", "patterns", "tfidf"])
    parser.add_argument(
        "--write", action="store_true", help=f"keep the table in {RESULTS.name}"
    )
    given = parser.parse_args()
    rows = []
    added = (citing(), saying_nothing())
    for name, score in judges(given.judges).items():
        for split in SPLITS:
            items = texts_of(split, given.texts)
            known = groups_of(items)
            groups = [known[item.id] for item in items]
            before = score([item.text for item in items])
            typed = {
                way: [change(item.text) for item in items]
                for way, change in TYPED.items()
            }
            for family in added:
                typed[family.name] = [family.into(item.text, item.id) for item in items]
            for way, texts in typed.items():
                moved = score(texts) - before
                mean = means.interval(np.abs(moved), groups=groups, bounds=(0, 100))
                row = {
                    "judge": name,
                    "split": split,
                    "typed": way,
                    "n": len(items),
                    "moved": int((moved != 0).sum()),
                }
                row |= {
                    "movement": mean.value,
                    "low": mean.low,
                    "high": mean.high,
                    "shift": float(moved.mean()),
                }
                rows.append(row)
    table = pd.DataFrame(rows)
    columns = list(dict.fromkeys((row["judge"], row["split"]) for row in rows))
    print(
        f"| movement (shift) | {' | '.join(f'{judge}, {split}' for judge, split in columns)} |"
    )
    print(f"|---|{'---|' * len(columns)}")
    for way, own in table.groupby("typed", sort=False):
        cells = [
            (
                f"{row.movement:.1f} [{row.low:.1f}, {row.high:.1f}] ({row.shift:+.1f})"
                if row.moved
                else f"0 of {row.n}"
            )
            for row in own.itertuples()
        ]
        print(f"| {way} | {' | '.join(cells)} |")
    if given.write:
        table.round(3).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
