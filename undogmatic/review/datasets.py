"""A run's labels as dataset files: `dataset=texts dataset.path=RUN/with_labels.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from undogmatic.records.labels import Label
from undogmatic.records.records import OVERALL, Item
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.safety import files

ALL = "with_labels.jsonl"
LABELLED = "labelled.jsonl"


def write(folder: Path, items: Sequence[Item], labels: Sequence[Label], rubric: Rubric) -> bool:
    """Write ALL (every item, `label` where there is one) and LABELLED (only those) into a run's folder.

    `label` is the mean over labellers, or, where that is no value of the scale (it has steps or categories), `labels`
    holds what each of them said; `label_count` and `label_spread` (largest minus smallest) say how many there are
    and how far apart. A label that the item had before stays as `dataset_label`.

    Returns:
        Whether every labelled row has its `inclusion_probability`; where the labels of an item come from several
        queues, and from none with certainty, there is no single one, and the field is left out.
    """
    by_item: dict[str, list[Label]] = {}
    for label in labels:
        by_item.setdefault(label.item_id, []).append(label)
    several_queues = len({label.queue for label in labels}) > 1
    rows = [_row(item, by_item.get(item.id, []), rubric, several_queues) for item in items]
    labelled = [row for row in rows if row["id"] in by_item]
    for name, kept in ((ALL, rows), (LABELLED, labelled)):
        files.write(folder / name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    return all("inclusion_probability" in row for row in labelled)


def _row(item: Item, labels: Sequence[Label], rubric: Rubric, several_queues: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id, **item.inputs, "condition": item.condition, "pair": item.pair}
    row |= {"parent": item.parent, "maker": item.maker}
    row |= {k: v for k, v in item.metadata.items() if k not in {*row, "label", "labels"}}
    if item.label is not None:
        row["dataset_label"] = item.label
    if labels:
        write: Callable[[float], float | str] = float if isinstance(rubric.scale, NumericScale) else rubric.scale.write
        values = [label.label for label in labels]
        if rubric.scale.contains(fmean(values)):
            row["label"] = write(fmean(values))
        else:
            row["labels"] = {OVERALL: {label.labeller: write(label.label) for label in labels}}
        row |= {"label_count": len(values), "label_spread": max(values) - min(values)}
        probabilities = {label.inclusion_probability for label in labels}
        if 1.0 in probabilities:
            row["inclusion_probability"] = 1.0
        elif len(probabilities) == 1 and None not in probabilities and not several_queues:
            row["inclusion_probability"] = probabilities.pop()
    return {k: v for k, v in row.items() if v is not None}
