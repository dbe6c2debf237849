"""Reads our own files of runs (`records.trace`): a JSON object for each, on a line of its own."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from undogmatic.datasets.readers.log import About, Head, first_of
from undogmatic.datasets.readers.traces.script import Faults, TraceReader, pieces
from undogmatic.records.trace import KINDS, Trace


def _claims(head: Head) -> bool:
    first = first_of(head.value)
    steps = first.get("steps") if isinstance(first, dict) and "run" in first else None
    return isinstance(steps, list) and all(
        isinstance(step, dict) and step.get("kind") in KINDS for step in steps[:1]
    )


def _traces(path: Path, faults: Faults) -> Iterator[Trace]:
    for piece in pieces(path, faults):
        try:
            yield Trace.model_validate(piece.value)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            faults.add("unfit", f"{path}, byte {piece.place:,}, {where}", loses=True)


READER = TraceReader(
    "runs in our own form",
    _claims,
    _traces,
    About(
        tool="undogmatic",
        file="a JSON object for each run (`run`, `steps`), as `undogmatic inject` writes it",
        verdict="an entry of `assessments`; with a `step` it is on that step",
        label="an entry of `assessments` with `person`; `success` is a label of the run",
        fixture="by itself",
    ),
)
