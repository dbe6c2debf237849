"""Reads ratings of translations by MQM (Multidimensional Quality Metrics) as they are published: a
row for each error that a rater marked, labels of people.

The label of a segment is minus the sum of its errors' weights, so that a higher one is better; a
segment without an error has 0.

References:
    Freitag et al. (2021), Experts, Errors, and Context: A Large-Scale Study of Human Evaluation for
    Machine Translation. doi:10.1162/tacl_a_00437
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from undogmatic.datasets.cells import fold
from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import About, Given, Head, Reader, Row

_KEYS = {"system", "rater", "category", "severity"}
_SEGMENT = ("seg_id", "segment_id", "segment", "globalSegId")
_WEIGHTS = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no error": 0.0}
_PUNCTUATION, _NOTHING_RIGHT = 0.1, 25.0
"""The weights of a minor error of punctuation, and of what is no translation at all."""
_MARKS = re.compile(r"</?v>")
"""What stands around the words that are wrong."""


def _claims(head: Head) -> bool:
    separator = "\t" if "\t" in head.line else ","
    names = set(head.record() or log.cells_of(head.line, separator))
    return names >= _KEYS and bool(names & {*_SEGMENT})


def _weight(error: dict[str, Any]) -> float | None:
    """The weight of an error; None for a severity that is not known."""
    category, severity = (
        fold(str(error.get(name) or "")).replace("-", " ")
        for name in ("category", "severity")
    )
    if category.startswith("non translation"):
        return _NOTHING_RIGHT
    if severity == "minor" and category.startswith("fluency/punctuation"):
        return _PUNCTUATION
    return 0.0 if category.startswith("no error") else _WEIGHTS.get(severity)


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    rated: dict[tuple[str, ...], Row] = {}
    unknown = Counter[str]()
    for place, error in given:
        segment = next(
            str(error[name]) for name in _SEGMENT if error.get(name) is not None
        )
        key = (
            str(error["system"]),
            str(error.get("doc")),
            segment,
            str(error["rater"]),
        )
        row = rated.setdefault(
            key,
            {
                "item": segment,
                "system": key[0],
                "rater": key[3],
                "label": 0.0,
                "group": segment,
                "text": _MARKS.sub("", str(error.get("target") or "")) or None,
                "source": _MARKS.sub("", str(error.get("source") or "")) or None,
                "place": place,
            },
        )
        weight = _weight(error)
        if weight is None:
            unknown[str(error.get("severity"))] += 1
        elif row["label"] is not None:
            row["label"] -= weight
        if weight is None:
            row["label"] = None  # nobody knows what the segment is worth
    for severity, n in unknown.items():
        problems.append(
            f"{source}: {n} errors have the severity {severity!r}, whose weight is not known; the"
            " segments with them have no label. Known are Major, Minor and Neutral."
        )
    yield from rated.values()


READER = Reader(
    "ratings by MQM",
    _claims,
    log.records,
    _rows,
    About(
        tool="MQM",
        file="a row per error (TSV, CSV), as Google's raters wrote them",
        verdict="- (a table beside it, joined by segment and system)",
        label="minus the sum of the errors' weights (major 5, minor 1), by rater",
        fixture="from its published description, not seen with a file of its own",
    ),
)
