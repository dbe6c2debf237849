"""What people said of a run's items in the MLflow UI, as rows to check like those of a file."""

from __future__ import annotations

from collections.abc import Sequence

from undogmatic.review.labels import Label, on_trace
from undogmatic.review.sheet import Filled
from undogmatic.tracking.assessments import HUMAN, HumanLabels


def rows(said: HumanLabels) -> list[Filled]:
    """A row per label, then one without a label per exported item that has none; "72,5" is a number here too."""
    given = [
        Filled(
            on_trace(label.trace, label.item_id),
            {"item_id": label.item_id, "label": label.value, "labeller": label.labeller, "comment": label.comment}
            | dict(label.about),
            {"store": said.address, "trace": label.trace, "assessment": label.assessment},
            comma=True,
        )
        for label in said.labels
    ]
    waiting = [Filled(item, {"item_id": item, "label": None, **about}, {}) for item, about in said.waiting.items()]
    return given + waiting


def remarks(said: HumanLabels, standing: Sequence[Label]) -> list[str]:
    """What the user should know of the store beyond the labels taken from it, one sentence each."""
    lines = []
    if not said.labels:
        lines.append(
            f"No person's `{HUMAN}` is on the {said.traces} traces of this run in {said.address}. In the MLflow UI: "
            f"open a trace, add an assessment named {HUMAN}, type a number."
        )
    if said.others:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(said.others.items()))
        lines.append(f"Other human assessments, not imported: {listed}. Only `{HUMAN}` is.")
    there = {label.assessment for label in said.labels}
    gone = [one for one in standing if one.store == said.address and one.assessment not in there]
    if gone:
        places = ", ".join(one.place for one in gone[:3]) + (", ..." if len(gone) > 3 else "")
        lines.append(
            f"{len(gone)} labels that came from MLflow are not there any more and still count: {places}. "
            "To drop one, delete its line in labels.jsonl."
        )
    return lines
