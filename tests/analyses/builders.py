"""Small runs made by hand: what was judged, with which score, and which judgments failed."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np
import yaml

from tests.analyses.conftest import in_words
from undogmatic.analyses.base import LongTable, tabulate
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.records.records import Cost, Failure, FailureKind, Item, Judgment, Provenance, Verdict
from undogmatic.records.results import AnalysisResult, Finding
from undogmatic.records.rubric import Rubric, Wording

ORIGIN = Provenance(model="m", readout="r", prompt="p", prompt_hash="h", program_hash="h", config_hash="h")
WORDING = Wording(definition="d", question="q", anchors=("a", "b", "c", "d", "e"))

Score = float | FailureKind
"""A score, or the reason why there is none."""


Said = Callable[[AnalysisResult], dict[str, Finding]]
"""The fixture `said`: findings and verdict of a result by key."""


class Told:
    """What an analysis told, every sentence put into words; names and keys are without the analysis' own in front.

    `told["mae"]` is a number and `told.says["bounds"]` the values of a sentence; `told.ruled` is the key of the
    verdict, and how it leaves the claim.
    """

    def __init__(self, result: AnalysisResult) -> None:
        self.result, self.tables, self.figures, self.headline = result, result.tables, result.figures, result.headline
        self.numbers = {key.removeprefix(f"{result.name}."): value for key, value in result.metrics.items()}
        found = in_words(result).items()
        self.says = {key.removeprefix(f"{result.name}."): finding.values for key, finding in found}
        key = result.verdict.key if result.verdict else ""
        self.ruled, self.standing = (key.rpartition(".verdict_")[2], result.standing), result.standing

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]

    def of(self, names: str) -> list[float]:
        """Several numbers."""
        return [self.numbers[name] for name in names.split()]


def analysed(name: str, judged: LongTable, **changes: Any) -> Told:
    """The one result of an analysis as `conf/analysis/` sets it up, with these keys changed."""
    (result,) = configured(name, **changes)(judged, np.random.default_rng(0))
    return Told(result)


def configured(name: str, **changes: Any) -> Any:
    """An analysis as `conf/analysis/` sets it up, with these keys changed."""
    return build(_node(name) | changes, "analysis")


@functools.cache
def _node(name: str) -> dict[str, Any]:
    return compose_config([f"analysis={name}"])["analysis"]  # type: ignore[no-any-return]


def rubric(
    direction: Literal["higher_is_worse", "higher_is_better"] = "higher_is_worse", margin: float | None = None
) -> Rubric:
    """A 0-100 rubric of five levels."""
    scale = {"minimum": 0, "maximum": 100, "levels": (0, 25, 50, 75, 100)}
    return Rubric(name="shame", direction=direction, margin=margin, wordings={"en": WORDING}, **scale)


def composed(folder: Path) -> None:
    """The composed config of a run by this rubric, where a run's folder has it."""
    (folder / ".hydra").mkdir()
    node = {"rubric": {"_target_": "undogmatic.records.rubric.Rubric", **rubric().model_dump(mode="json")}}
    (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(node), encoding="utf-8")


def verdict(item: str, score: Score, repeat: int = 0, cost: Cost | None = None, **fields: Any) -> Judgment:
    """A judgment of one item: a Verdict with this score, or a Failure with this reason."""
    outcome = Failure(reason=score, message="no") if isinstance(score, str) else Verdict(score=score, **fields)
    made = cost or Cost(calls=1)
    return Judgment(item_id=item, repeat=repeat, judge="score", outcome=outcome, cost=made, provenance=ORIGIN)


def run(items: Sequence[Item], scores: Sequence[Score], **fields: Any) -> LongTable:
    """A run of one repeat: one score per item."""
    judgments = [verdict(item.id, score) for item, score in zip(items, scores, strict=True)]
    scale = rubric(fields.pop("direction", "higher_is_worse"), fields.pop("margin", None))
    return LongTable(tabulate(items, judgments, 1), scale, **fields)


def run_folder(folder: Path, judgments: Iterable[Judgment], **facts: Any) -> str:
    """The path of a run's folder with its journal, its config and, where there are facts, its manifest."""
    folder.mkdir(exist_ok=True)
    journal = "".join(f"{judgment.model_dump_json()}\n" for judgment in judgments)
    (folder / "judgments.jsonl").write_text(journal, encoding="utf-8")
    if facts:
        (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    composed(folder)
    return str(folder)


def labelled_run(rows: Iterable[tuple[float | None, Score, Mapping[str, Any]]], **item: Any) -> LongTable:
    """Texts i0, i1, ..., each with its label, its score and the other fields of its verdict; `item` is that of all."""
    items, judgments = [], []
    for n, (label, score, fields) in enumerate(rows):
        items.append(Item(id=f"i{n}", text=made_up(9, str(n)), label=label, **item))
        judgments.append(verdict(f"i{n}", score, **fields))
    return LongTable(tabulate(items, judgments, 1), rubric())


def repeated_run(
    repeats: Sequence[Sequence[Score]], costs: Sequence[Cost | None] = (), margin: float | None = None, **fields: Any
) -> LongTable:
    """Texts t0, t1, ..., with a column of scores per repeat, and what a judgment of that repeat took."""
    items = [Item(id=f"t{n}", text=made_up(9, str(n))) for n in range(len(repeats[0]))]
    judgments = [
        verdict(f"t{n}", score, repeat=repeat, cost=costs[repeat] if repeat < len(costs) else None)
        for repeat, scores in enumerate(repeats)
        for n, score in enumerate(scores)
    ]
    return LongTable(tabulate(items, judgments, len(repeats)), rubric(margin=margin), **fields)


def made_up(words: int, seed: str) -> str:
    """A text of so many words of one letter and a space each, another for every seed."""
    draw = random.Random(seed)
    return "".join(f"{draw.choice(ascii_lowercase)} " for _ in range(words))


def paired_run(
    sides: Mapping[str, Sequence[Score | None]],
    lengths: Mapping[str, Sequence[int]] | None = None,
    metadata: Mapping[str, Sequence[Any]] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    **fields: Any,
) -> LongTable:
    """Pairs p0, p1, ... with one score per side; None leaves the text out of the dataset.

    `lengths` gives words per text (two characters each); without it, lengths vary alike on all sides. `texts` are the
    texts themselves.
    """
    items, scores = [], []
    for condition, side in sides.items():
        for n, score in enumerate(side):
            if score is None:
                continue
            words = lengths[condition][n] if lengths is not None else 5 + (3 * n + len(condition)) % 7
            extra = {key: values[n] for key, values in (metadata or {}).items()}
            text = made_up(words, f"{condition} {n}") if texts is None else texts[condition][n]
            items.append(Item(id=f"p{n}:{condition}", text=text, pair=f"p{n}", condition=condition, metadata=extra))
            scores.append(score)
    return run(items, scores, **fields)


def grouped_run(groups: Mapping[str, Sequence[Score]], **fields: Any) -> LongTable:
    """Unpaired texts: condition -> scores."""
    items, scores = [], []
    for condition, values in groups.items():
        for n, score in enumerate(values):
            items.append(Item(id=f"{condition}-{n}", text=made_up(9, f"{condition} {n}"), condition=condition))
            scores.append(score)
    return run(items, scores, **fields)
