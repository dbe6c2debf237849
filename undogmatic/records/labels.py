"""Defines a person's label of an item, and the row, of a sheet or of an MLflow trace, in which it
was filled in."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import Field

from undogmatic.records.records import Name, Record

HUMAN, QUEUE, PROBABILITY = "human_label", "queue", "inclusion_probability"
# of an item some label of which was given with the judge's score in view
IN_VIEW = "label_in_view"
"""The name of a label in MLflow, and what of a row of a review queue comes back with it."""


def chosen(probabilities: Iterable[float | None]) -> bool:
    """Whether items that came into a queue with these probabilities (None or NaN: not known) are no
    even random sample: some were chosen for certain, such as those that the judge flagged, or not
    all had the same chance.
    """
    known = {float(p) for p in probabilities if p is not None and not math.isnan(p)}
    return 1.0 in known or len(known) > 1


class Filled(NamedTuple):
    """One row as filled in."""

    place: str  # where it is, for messages: "queue.csv:7"
    # by column: item_id, label, and what there is of labeller, comment, QUEUE, PROBABILITY
    cells: Mapping[str, Any]
    origin: Mapping[str, Any]  # where it is, as fields of a Label
    # whether a quote may stand before an item's id, as written to CSV
    quoted: bool = False


class Label(Record):
    """One human's label of one item, and where it comes from.

    `label` is a number of the rubric's scale; `given` is what was filled in, a number on `scale`
    (None: the rubric's own) or a category's name.
    `inclusion_probability` is that of the item's row in the queue; None if nothing said it.
    `in_view`: whether the judge's score stood beside it.
    `file`, `line` and `file_hash` (SHA-256) are set for a label from a file; `store`, `trace` and
    `assessment` for one from MLflow, where `assessment` is the first one's id if others took its
    place there. `imported` is Unix seconds.
    """

    item_id: str
    label: float
    labeller: Name
    comment: str | None = None
    given: float | str
    scale: tuple[float, float] | None = None
    inclusion_probability: float | None = Field(default=None, gt=0, le=1)
    queue: Name | None = None
    in_view: bool = False
    file: str | None = None
    line: int | None = None
    file_hash: str | None = None
    store: str | None = None
    trace: str | None = None
    assessment: str | None = None
    imported: float

    @property
    def place(self) -> str:
        return (
            f"{self.file}:{self.line}"
            if self.trace is None
            else on_trace(self.trace, self.item_id)
        )

    @property
    def as_given(self) -> str:
        return self.given if isinstance(self.given, str) else f"{self.given:g}"


def on_trace(trace: str, item: str) -> str:
    """The place of an item's label in MLflow, for messages."""
    return f"trace {trace} (item {item})"
