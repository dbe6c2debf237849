"""How far the probe's score moves when text that has no part in a text is put into it.

    python -m benchmarks.injected             150 test texts with every family that no probe was fitted on
    python -m benchmarks.injected --seen      the families that the shipped probe was fitted on, for comparison
    python -m benchmarks.injected --shipped   without the other probe, whose fit reads all development texts

The columns are the shipped probe, and the same probe fitted on the development texts alone, without copies that have
other text in them, and reading every word with the same weight. Movement is the mean of the absolute differences, with
an interval of level 95 % over what belongs together among the texts; `shift` is the mean difference.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import numpy as np

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import (
    CuratedDataset,
    DevelopmentDataset,
    families,
)
from undogmatic.datasets.belonging import groups_of
from undogmatic.fit.probe import VIEWS, fit_probe, origin, read_all
from undogmatic.readouts.probe import (
    Probe,
    as_read,
    fitting_probe,
    shipped_probe,
    text_features,
    text_pieces,
)
from undogmatic.records.records import digest
from undogmatic.stats import means

TEXTS = 150


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seen", action="store_true", help="the families of the development texts"
    )
    parser.add_argument(
        "--texts",
        type=int,
        default=TEXTS,
        help=f"how many test texts (default: {TEXTS})",
    )
    parser.add_argument(
        "--shipped", action="store_true", help="the shipped probe alone"
    )
    given = parser.parse_args()
    chosen = settings(compose_config(["model=local"]))
    rubric, engine = build(chosen.rubric, "rubric"), build(chosen.engine, "engine")
    model: Any = build(chosen.model, "model")
    shipped = fitting_probe(shipped_probe(rubric), model, rubric)

    async def whole_text(text: str) -> np.ndarray:
        # By the pieces that the shipped probe reads, so that a text goes through the model once for
        # both.
        read = await text_pieces(
            model, as_read(text, shipped.about.folding, once=False), VIEWS
        )
        return np.average(read.states.astype(np.float64), axis=0, weights=read.tokens)

    names = ["shipped"] if given.shipped else ["fitted on texts alone", "shipped"]
    plain: Probe | None = None
    if not given.shipped:
        known = DevelopmentDataset().load()
        features = asyncio.run(
            read_all(model, [item.text for item in known], engine, whole_text)
        )
        plain = fit_probe(np.stack(features), known, rubric, origin(model, VIEWS))

    def scores(texts: list[str]) -> list[np.ndarray]:
        read = asyncio.run(
            read_all(
                model, texts, engine, lambda text: text_features(shipped, model, text)
            )
        )
        by_shipped = _scores(shipped, np.stack(read))
        if plain is None:
            return [by_shipped]
        by_plain = np.stack(asyncio.run(read_all(model, texts, engine, whole_text)))
        return [_scores(plain, by_plain), by_shipped]

    parts: Any = ["labelled", "adversarial", "controls", "theses", "pairs"]
    items = sorted(
        CuratedDataset(parts=parts, split="test").load(),
        key=lambda item: digest(item.id),
    )[: given.texts]
    groups = list(map(groups_of(items).__getitem__, (item.id for item in items)))
    about = shipped.about
    print(
        f"{len(items)} test texts; the shipped probe was fitted on {about.n} texts and"
        f" {about.injected} copies\n"
    )
    print(
        f"| text put in | {' | '.join(f'{name} | shift' for name in names)}"
        f" |\n|---|{'---|---|' * len(names)}"
    )
    before = scores([item.text for item in items])
    kinds = families("development" if given.seen else "test")
    whole = np.zeros((len(kinds), len(names)))
    for n, family in enumerate(kinds):
        cells = []
        for k, after in enumerate(
            scores([family.into(item.text, item.id) for item in items])
        ):
            moved = after - before[k]
            mean = means.interval(np.abs(moved), groups=groups, bounds=(0, 100))
            whole[n, k] = mean.value
            cells += [
                f"{mean.value:.1f} [{mean.low:.1f}, {mean.high:.1f}]",
                f"{moved.mean():+.1f}",
            ]
        print(f"| {family.name} | {' | '.join(cells)} |", flush=True)
    for what, found in (
        (f"mean of the {len(kinds)}", whole.mean(axis=0)),
        ("the worst", whole.max(axis=0)),
    ):
        print(f"| **{what}** | {' | '.join(f'{value:.1f} | ' for value in found)} |")


def _scores(probe: Probe, features: np.ndarray) -> np.ndarray:
    return np.array([probe.estimate(row, 0.0, 100.0).score for row in features])


if __name__ == "__main__":
    main()
