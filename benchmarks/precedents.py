"""How many of the citations in the forms of tests/fixtures/precedents the grammar finds, and how fast; and how often it
is right whether a text describes what a precedent decided.

    python -m benchmarks.precedents
    python -m benchmarks.precedents describes            # what a text shares with the table, beside trivial rivals
    python -m benchmarks.precedents describes states e5  # and beside embeddings, which take some minutes

All files were written by hand for this project, in the styles of two authors each. Grammar and thresholds were made
with sight of `development`; the test passages of `describes` were run once, after the thresholds were chosen.
"""

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from undogmatic.constructs.precedents.grammar import Citation, Grammar, fold
from undogmatic.constructs.precedents.table import Precedents
from undogmatic.models.embeddings import (
    E5Embeddings,
    Embeddings,
    LettersEmbeddings,
    StatesEmbeddings,
)
from undogmatic.safety.outside import json_lines
from undogmatic.safety.paths import data_folder
from undogmatic.stats.proportion import proportion

FOLDER = Path(__file__).parents[1] / "tests" / "fixtures" / "precedents"


class Score(NamedTuple):
    """Of the citations in the forms, how many were found; of those found, how many are right."""

    right: int
    there: int
    found: int


def brazil() -> Grammar:
    """The grammar that ships."""
    return Grammar(data_folder() / "precedents" / "brazil.yaml")


def forms(name: str) -> Iterator[tuple[str, list[str]]]:
    """The texts of a file with what they cite."""
    for line in (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            text, cited = line.split("\t")
            yield text.replace("\\n", "\n"), [] if cited == "-" else cited.split()


def written(cited: Citation) -> str:
    """A citation as the files write it."""
    return ":".join(
        filter(None, (cited.court or "?", cited.kind, cited.number, cited.series))
    )


def score(grammar: Grammar, name: str) -> Score:
    """Court, kind, number and series must all be right."""
    right = there = found = 0
    for text, cited in forms(name):
        expected, got = Counter(cited), Counter(map(written, grammar.citations(text)))
        right, there = right + (expected & got).total(), there + expected.total()
        found += got.total()
    return Score(right, there, found)


class Said(NamedTuple):
    """A passage that says something of a precedent: which, what (`describes`, `otherwise`,
    `silent`), and whether it tells the contrary of what was decided."""

    passage: str
    precedent: str
    label: str
    reversed: bool


def said(name: str) -> list[Said]:
    """The passages of data/precedents/described_NAME.jsonl."""
    rows = (
        row
        for _, row in json_lines(
            data_folder() / "precedents" / f"described_{name}.jsonl"
        )
    )
    return [
        Said(row["passage"], row["precedent"], row["label"], "reversed" in row)
        for row in rows
    ]


def answers(lookup: Precedents, rows: list[Said]) -> list[str]:
    """What comparing words says of each."""
    found = (
        [one.described.saying for one in lookup.look_up(row.passage) if one.described]
        for row in rows
    )
    return [each[0] if each else "" for each in found]


Closeness = Callable[[Precedents, list[Said]], np.ndarray]
"""How close each passage comes to what its precedent decided, in whatever unit. Shape
(n_passages,)."""


def shared_words(lookup: Precedents, rows: list[Said]) -> np.ndarray:
    """The number of words of four letters or more that passage and holding have in common."""
    holdings = _holdings(lookup)
    return np.array(
        [
            float(len(_words(row.passage) & _words(holdings[row.precedent])))
            for row in rows
        ]
    )


def embedded(embeddings: Embeddings) -> Closeness:
    """The cosine of passage and holding, each less the mean of all holdings."""

    def close(lookup: Precedents, rows: list[Said]) -> np.ndarray:
        holdings, grammar = _holdings(lookup), lookup.grammar
        known = embeddings.vectors(list(holdings.values()))
        centre, own = known.mean(axis=0), dict(zip(holdings, known, strict=True))
        texts = [_without_citations(grammar, row.passage) for row in rows]
        pairs = zip(
            embeddings.vectors(texts) - centre,
            (own[row.precedent] - centre for row in rows),
            strict=True,
        )
        return np.array(
            [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs]
        )

    return close


def _holdings(lookup: Precedents) -> dict[str, str]:
    return {
        e.shown: e.cells["holding"]
        for entries in lookup.entries.values()
        for e in entries
    }


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", fold(text)[0].lower()))


def _without_citations(grammar: Grammar, text: str) -> str:
    for one in reversed(grammar.citations(text)):
        text = text[: one.start] + text[one.end :]
    return text


def describes(others: list[str]) -> None:
    """Print how often words are right, which of three answers it is and whether a passage describes
    the holding; how often rivals are, each with the threshold that is best on the development
    passages; and what `describes` catches.
    """
    lookup, rows = (
        Precedents(describes="words"),
        {name: said(name) for name in ("development", "test")},
    )
    for name, each in rows.items():
        got, commonest = (
            answers(lookup, each),
            Counter(row.label for row in each).most_common(1)[0],
        )
        _print(
            f"{name}: words, three answers",
            [a == row.label for a, row in zip(got, each, strict=True)],
        )
        _print(
            f"{name}: always `{commonest[0]}`",
            [row.label == commonest[0] for row in each],
        )
        for answer in ("describes", "otherwise", "silent"):
            _print(
                f"{name}: where words say `{answer}`",
                [
                    r.label == answer
                    for a, r in zip(got, each, strict=True)
                    if a == answer
                ],
            )
        wrong = [a for a, row in zip(got, each, strict=True) if row.reversed]
        taken = f"{wrong.count('describes')} are taken to describe it"
        print(f"{name}: of {len(wrong)} passages that tell the contrary, {taken}")
        _print(
            f"{name}: words, yes or no",
            [
                (a == "describes") == (r.label == "describes")
                for a, r in zip(got, each, strict=True)
            ],
        )
    makers: dict[str, Callable[[], Embeddings]] = {
        "states": StatesEmbeddings,
        "e5": E5Embeddings,
        "letters": LettersEmbeddings,
    }
    rivals: dict[str, Closeness] = {"number of shared words": shared_words} | {
        k: embedded(makers[k]()) for k in others
    }
    for rival, close in rivals.items():
        tried = {name: close(lookup, each) for name, each in rows.items()}
        true = {
            name: np.array([row.label == "describes" for row in each])
            for name, each in rows.items()
        }
        seen = tried["development"]
        at = max(
            np.unique(seen),
            key=lambda limit: np.mean((seen >= limit) == true["development"]),
        )
        _print(f"test: {rival}, yes or no", list((tried["test"] >= at) == true["test"]))
    _print("test: always no", [row.label != "describes" for row in rows["test"]])


def _print(what: str, right: list[bool]) -> None:
    share = proportion(right)
    print(
        f"{what}: {share.value:.3f} [{share.low:.3f}, {share.high:.3f}] ({share.hits} of {share.n})"
    )


def main() -> None:
    """Print recall and precision of both files, and the time for a text of a megabyte."""
    grammar = brazil()
    for name in ("development", "test"):
        of, texts = score(grammar, name), [text for text, _ in forms(name)]
        shares = {"recall": (of.right, of.there), "precision": (of.right, of.found)}
        for what, (right, n) in shares.items():
            share = proportion([1.0] * right + [0.0] * (n - right))
            ends = f"[{share.low:.3f}, {share.high:.3f}]"
            print(
                f"{name}, {len(texts)} texts: {what} {share.value:.3f} {ends} ({right} of {n})"
            )
    text = " ".join(text for text, _ in forms("development"))
    text *= 1_000_000 // len(text)
    start = time.process_time()
    n = len(grammar.citations(text))
    print(
        f"{len(text):,} characters with {n:,} citations: {time.process_time() - start:.1f} s of the"
        " processor"
    )


if __name__ == "__main__":
    describes(sys.argv[2:]) if sys.argv[1:2] == ["describes"] else main()
