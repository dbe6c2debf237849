"""How many of the citations in the forms of tests/fixtures/precedents the grammar finds, and how fast.

    python -m benchmarks.precedents

Both files were written by hand for this project, in the styles of two authors. The grammar was made with sight of
`development`; of `test` only the counts were looked at.
"""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from undogmatic.constructs.precedents.grammar import Citation, Grammar
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
    return ":".join(filter(None, (cited.court or "?", cited.kind, cited.number, cited.series)))


def score(grammar: Grammar, name: str) -> Score:
    """Court, kind, number and series must all be right."""
    right = there = found = 0
    for text, cited in forms(name):
        expected, got = Counter(cited), Counter(map(written, grammar.citations(text)))
        right, there = right + (expected & got).total(), there + expected.total()
        found += got.total()
    return Score(right, there, found)


def main() -> None:
    """Print recall and precision of both files, and the time for a text of a megabyte."""
    grammar = brazil()
    for name in ("development", "test"):
        of, texts = score(grammar, name), [text for text, _ in forms(name)]
        shares = {"recall": (of.right, of.there), "precision": (of.right, of.found)}
        for what, (right, n) in shares.items():
            share = proportion([1.0] * right + [0.0] * (n - right))
            ends = f"[{share.low:.3f}, {share.high:.3f}]"
            print(f"{name}, {len(texts)} texts: {what} {share.value:.3f} {ends} ({right} of {n})")
    text = " ".join(text for text, _ in forms("development"))
    text *= 1_000_000 // len(text)
    start = time.process_time()
    n = len(grammar.citations(text))
    print(f"{len(text):,} characters with {n:,} citations: {time.process_time() - start:.1f} s of the processor")


if __name__ == "__main__":
    main()
