"""Draws texts of an instrument test for people to label: more often those of which the judge's
scores differ most between copies and ways of asking, all with a known probability.

The texts, the judge's verdicts and the probabilities become a table in the run's folder, which
`undogmatic check` holds against the labels.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.instrument import FILE, InstrumentDataset, is_copy
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import STATED
from undogmatic.records.labels import PROBABILITY
from undogmatic.records.records import TYPED_GROUP, Item, items_digest
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.runs.folder import RunFolder
from undogmatic.safety import files
from undogmatic.stats import drawing
from undogmatic.stats.checks import Array


class Draw(NamedTuple):
    """The run, the table that was written, its texts by the item's id, the items that are drawn, in
    the order in which they are labelled, and what the run's scores mean."""

    run: str
    table: Path
    texts: Mapping[str, Mapping[str, str]]
    drawn: list[str]
    rubric: Rubric


class Plan(NamedTuple):
    """Which of the texts of an instrument test are drawn: the run, its texts with their scores,
    the places of those that are drawn, each text's probability (None: all are), and what the draw
    is called."""

    folder: RunFolder
    texts: Sequence[Item]
    scores: pd.Series
    places: Sequence[int]
    chances: Array | None
    name: str

    @property
    def table(self) -> Path:
        """Where the texts stand, and beside it the labels."""
        return self.folder.path / f"{self.name}.jsonl"

    @property
    def drawn(self) -> list[Item]:
        """The texts that are drawn, in the order in which they are labelled."""
        return [self.texts[place] for place in self.places]


def planned(run: str, n: int | None, seed: int) -> Plan:
    """Say which `n` of the texts that an instrument test judged are drawn; None takes all of them,
    without any probability. The same run, number and seed are the same draw; of any other it has
    another name, so that labels of two draws never meet.

    Raises:
        ConfigError, DataError: It is no finished instrument test, keeps no texts, or has changed.
    """
    folder = RunFolder.open(run, "FILE")
    folder.check_finished()
    _check_of_texts(folder)
    scores = folder.scores()["score"]
    items = _judged(folder, scores.index)
    texts = [item for item in items if not is_copy(item)]
    if n is not None and n > len(texts):
        raise ConfigError(
            f"--random is {n}; {run} has {len(texts)} texts to draw from."
        )
    rng = np.random.default_rng(seed)
    if n is None:
        places = rng.permutation(len(texts)).tolist()
        return Plan(folder, texts, scores, places, None, "label_all")
    chances = drawing.chances(spreads(items, scores), n)
    places = drawing.systematic(chances, rng).tolist()
    return Plan(folder, texts, scores, places, chances, f"label_{n}_seed_{seed}")


def draw(run: str, n: int | None, seed: int) -> Draw:
    """Draw `n` of the texts that an instrument test judged (`planned`), and write all of them into
    its folder, each with its probability. Raises ConfigError, DataError as `planned`."""
    plan = planned(run, n, seed)
    rows = _rows(plan.folder, plan.texts, plan.scores)
    if plan.chances is not None:
        for row, chance in zip(rows, plan.chances.tolist(), strict=True):
            row[PROBABILITY] = chance
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    files.write(plan.table, lines)
    by_id = {item.id: item.inputs for item in plan.texts}
    ids = [item.id for item in plan.drawn]
    return Draw(run, plan.table, by_id, ids, plan.folder.rubric)


def spreads(items: Sequence[Item], scores: pd.Series) -> Array:
    """Measure how far the judge's scores of each text differ where they ought to be the same: the
    standard deviation over the text, its copies with cues and the other ways of asking.

    A text with fewer than two scores, of which this is not known, has the mean of the others.

    Args:
        scores: By item id, NaN where the judge failed.
    Returns:
        In score units, a number per item that is no copy, in their order.
    """
    before = {item.id: item.metadata.get("original") for item in items}
    said: dict[str, list[float]] = {}
    for item in items:
        expected = item.metadata.get("expected")
        if expected is None:
            said.setdefault(item.id, []).append(float(scores[item.id]))
        elif expected == "same":
            # a cue may be compared with another cue, which is a copy itself
            text = item.id
            while (earlier := before.get(text)) is not None:
                text = str(earlier)
            said.setdefault(text, []).append(float(scores[item.id]))
    found = np.full(
        sum(item.metadata.get("expected") is None for item in items), np.nan
    )
    texts = [item.id for item in items if item.metadata.get("expected") is None]
    for place, text in enumerate(texts):
        known = [score for score in said[text] if not np.isnan(score)]
        if len(known) > 1:
            found[place] = np.std(known, ddof=1)
    usual = 0.0 if np.isnan(found).all() else float(np.nanmean(found))
    return np.where(np.isnan(found), usual, found)


def _check_of_texts(folder: RunFolder) -> None:
    """Raise ConfigError where a run judged pairs: of these people say which output is better, in a
    table."""
    if folder.rubric.of_pairs and (folder.path / FILE).is_file():
        raise ConfigError(
            f"{folder.named}, the folder of a run that chose between two outputs. People say in a"
            f" table which one is better: undogmatic review export {folder.path} --all --blind"
        )


def _judged(folder: RunFolder, judged: pd.Index) -> list[Item]:
    """The items of an instrument test, as they were judged."""
    path = folder.path / FILE
    if not path.is_file():
        way = f"undogmatic review export {folder.path}"
        what = "the folder of a run, whose items people label with"
        why = f"It holds no {FILE}, as an instrument test does that keeps its texts."
        raise ConfigError(f"{folder.named}, {what}: {way}. {why}")
    made = InstrumentDataset(folder.rubric.name, items=str(path)).load()
    items = [item for item in made if item.id in judged]
    if items_digest(items) != folder.facts.get("dataset_digest"):
        again = f"undogmatic instrument RUBRIC --items {path}"
        raise DataError(
            f"{path} has changed since it was judged, so its texts may not be what the judge saw."
            f" Judge it again: {again}"
        )
    return items


def _rows(
    folder: RunFolder, texts: Sequence[Item], scores: pd.Series
) -> list[dict[str, Any]]:
    """The table, in the form in which `undogmatic export` writes verdicts."""
    rubric = folder.rubric
    ((judge, criterion), first), *_ = folder.voices().items()
    stated = {f"{STATED}{name}": value for name, value in _stated(rubric).items()}
    rows = list[dict[str, Any]]()
    for item in texts:
        score = float(scores[item.id])
        said: float | str | None = None if np.isnan(score) else score
        if said is not None and not isinstance(rubric.scale, NumericScale):
            said = rubric.scale.write(score)
        row: dict[str, Any] = {
            "item": item.id,
            "judge": judge,
            "criterion": criterion,
            "repeat": 0,
        }
        row |= {"verdict": said, "text": item.text}
        row |= {"group": item.metadata.get(TYPED_GROUP) or item.id}
        rows.append(row | {"settings.model": first.provenance.model} | stated)
    return rows


def _stated(rubric: Rubric) -> dict[str, Any]:
    """How the verdicts are to be read."""
    scale = rubric.scale
    if isinstance(scale, NumericScale):
        told = {"kind": "numeric", "scale": f"{scale.minimum!r}:{scale.maximum!r}"}
    else:
        told = {"kind": "ordered", "scale": "<".join(scale.categories)}
    margin = {} if rubric.margin is None else {"margin": rubric.margin}
    return {**told, **margin, "group": "typed"}
