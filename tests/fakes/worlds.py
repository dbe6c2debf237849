"""Texts to try judges on: the shipped pairs, and made-up pairs with surfaces alike, or not."""

import string
from collections.abc import Sequence

import numpy as np

from tests.examinations.builders import ORIGIN, rubric
from tests.fakes.judges import Scores
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset, Part
from undogmatic.examinations.base import analyse
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Cost, Failure, Item, Judgment, Verdict
from undogmatic.records.results import Told

WORDS = [
    f"{a}{b}{c}"
    for a in "bcdlmnprst"
    for b in "aeiou"
    for c in ("", "m", "ra", "to", "dade", "r")
]


def shipped(part: Part, n: int | None = None) -> list[Item]:
    """The test texts of a part, or its first `n` pairs."""
    items = CuratedDataset(parts=[part], split="test").load()
    kept = list(dict.fromkeys(item.pair for item in items))[:n]
    return [
        item
        for item in items
        if item.pair in kept and item.condition != "explained_cited"
    ]


def made_up(n: int, seed: int, apart: float = 0.0) -> list[Item]:
    """Pairs of texts of random words; with `apart` above 0 the treatment is longer by so many
    standard deviations, with more capitals and commas."""
    draw = np.random.default_rng(seed)
    vocabulary, letters = np.array(WORDS), np.array(list(string.ascii_lowercase))
    items = []
    for k in range(n):
        for condition, more in (("imitation", apart), ("explanation", 0.0)):
            length = max(12, int(draw.normal(50 + 12 * more, 12)))
            words = draw.choice(vocabulary, length).tolist()
            often = 0.08 + 0.05 * more
            for place in np.flatnonzero(draw.uniform(size=length) < often):
                words[place] = words[place].capitalize()
            for place in np.flatnonzero(draw.uniform(size=length) < often):
                words[place] += ","
            text = " ".join(words) + ". " + "".join(draw.choice(letters, 6))
            items.append(
                Item(
                    id=f"p{k}:{condition}", text=text, pair=f"p{k}", condition=condition
                )
            )
    return items


def judged(items: Sequence[Item], said: Scores) -> RunEvidence:
    """The table of these scores, with a margin of 10 points."""
    refused = {
        score: Failure(reason=score, message="no")
        for score in said
        if isinstance(score, str)
    }
    outcomes = [
        refused[score] if isinstance(score, str) else Verdict(score=score)
        for score in said
    ]
    judgments = [
        Judgment(
            item_id=item.id,
            judge="score",
            outcome=outcome,
            cost=Cost(calls=1),
            provenance=ORIGIN,
        )
        for item, outcome in zip(items, outcomes, strict=True)
    ]
    return RunEvidence(
        tabulate(items, judgments, 1), rubric().model_copy(update={"margin": 10.0})
    )


def verdict_of(items: Sequence[Item], said: Scores) -> Told:
    """What analysis=ab, as it ships, says of these scores."""
    analysis = build(compose_config(["analysis=ab"])["analysis"], "analysis")
    (result,) = analyse(analysis, judged(items, said), np.random.default_rng(0))
    return result
