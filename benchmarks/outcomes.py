"""What the offline rules see of outcomes, sides and votes that are turned round, and what they take for turned round.

    python -m benchmarks.outcomes                        # the table of the development half
    python -m benchmarks.outcomes --split dev --rows     # every pair that is judged wrongly, with what was said
    python -m benchmarks.outcomes --split dev test --write   # both halves; keeps results/outcomes.csv

data/faith/outcomes.jsonl has pairs of a reference and a summary: wrong ones, whose outcome, side or vote
is turned round or changed, and faithful ones that look so. `named` counts pairs of which anything is said,
`cost` those of which it costs something (the kind of accusation is sure). Precision is the share of accused
pairs that are wrong.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from undogmatic.constructs.faithfulness.facts.accusations import (
    CONTRADICTED,
    Accusation,
    contradictions,
    is_sure,
)
from undogmatic.constructs.faithfulness.facts.words import sentences
from undogmatic.models.embeddings import MiniLMEmbeddings
from undogmatic.records.records import Record
from undogmatic.safety.outside import read_lines
from undogmatic.safety.paths import data_folder

RESULTS = Path(__file__).with_name("results") / "outcomes.csv"
ALIGNED, SURE, LEAST = 0.45, 0.9, 10
"""Of conf/nli/rules.yaml and conf/judge/nli.yaml."""


class Pair(Record):
    """A reference and a summary of it; `kind` says what is turned round, or why it looks so."""

    id: str
    language: Literal["en", "pt"]
    split: Literal["dev", "test"]
    kind: str
    wrong: bool
    reference: str
    summary: str


class Told(NamedTuple):
    """What the rules say of a pair."""

    pair: Pair
    accusations: list[Accusation]

    @property
    def costs(self) -> bool:
        """Whether any accusation is of a kind that is sure."""
        return any(is_sure(CONTRADICTED, one.kind, SURE) for one in self.accusations)


def pairs(split: str) -> list[Pair]:
    """The pairs of a split, in the order of the file."""
    lines = read_lines(data_folder() / "faith" / "outcomes.jsonl")
    every = [Pair.model_validate_json(line) for _, line in lines]
    return [pair for pair in every if pair.split == split]


def told(some: Sequence[Pair]) -> list[Told]:
    """What the rules say of each pair, with the embeddings that ship."""
    embeddings = MiniLMEmbeddings()
    divided = [
        (sentences(pair.reference, LEAST), sentences(pair.summary, LEAST))
        for pair in some
    ]
    embeddings.vectors(
        [sentence for both in divided for side in both for sentence in side]
    )
    found = []
    for pair, (reference, summary) in zip(some, divided, strict=True):
        similarity = embeddings.vectors(reference) @ embeddings.vectors(summary).T
        accused = contradictions(reference, summary, similarity, ALIGNED)
        found.append(Told(pair, [one for one in accused if one is not None]))
    return found


def counts(found: Sequence[Told]) -> dict[str, list[int]]:
    """Of each kind of accusation how many are right and how many there are, each kind once a
    pair."""
    every, right = Counter[str](), Counter[str]()
    for each in found:
        for kind in {one.kind for one in each.accusations}:
            every[kind] += 1
            right[kind] += each.pair.wrong
    return {kind: [right[kind], every[kind]] for kind in sorted(every)}


def table(found: Sequence[Told]) -> pd.DataFrame:
    """A row per split, language, kind and whether it is wrong."""
    rows = [
        {
            **each.pair.model_dump(include={"split", "language", "wrong", "kind"}),
            "named": bool(each.accusations),
            "cost": each.costs,
        }
        for each in found
    ]
    grouped = pd.DataFrame(rows).groupby(["split", "language", "wrong", "kind"])
    return grouped.agg(
        n=("named", "size"), named=("named", "sum"), cost=("cost", "sum")
    ).reset_index()


def totals(frame: pd.DataFrame) -> pd.DataFrame:
    """Recall, false alarms and precision by split and language, of what is named and of what costs
    something."""
    rows = []
    for (split, language), own in frame.groupby(["split", "language"]):
        wrong, faithful = own[own.wrong], own[~own.wrong]
        for column in ("named", "cost"):
            right, alarms = int(wrong[column].sum()), int(faithful[column].sum())
            rows.append(
                {
                    "split": split,
                    "language": language,
                    "accusations": column,
                    "found": f"{right} of {wrong.n.sum()}",
                    "false_alarms": f"{alarms} of {faithful.n.sum()}",
                    "precision": (
                        round(right / (right + alarms), 3)
                        if right + alarms
                        else float("nan")
                    ),
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the tables, and keep the first where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", nargs="+", choices=["dev", "test"], default=["dev"])
    parser.add_argument(
        "--rows", action="store_true", help="every pair that is judged wrongly"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"keep the table in {RESULTS.name}"
    )
    given = parser.parse_args()
    found = [each for split in given.split for each in told(pairs(split))]
    for each in found if given.rows else ():
        if bool(each.accusations) != each.pair.wrong:
            said = [(one.kind, one.expected, one.said) for one in each.accusations]
            print(each.pair.id, each.pair.reference, each.pair.summary, said, sep=" | ")
    frame = table(found)
    print(
        frame.to_string(index=False), totals(frame).to_string(index=False), sep="\n\n"
    )
    if given.write:
        frame.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
