"""Reads the files of TREC: qrels (topic, 0, document, relevance) and runs (topic, Q0, document,
rank, score, tag), which have no header and blanks between their cells."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from undogmatic.errors import DataError
from undogmatic.safety.outside import Unreadable, decoded, read_lines

_QREL = re.compile(r"(\S+)\s+(?:0|Q0|q0)\s+(\S+)\s+(-?\d+)")
_RUN = re.compile(r"(\S+)\s+Q0\s+(\S+)\s+\d+\s+(-?\d+(?:\.\d+)?(?:[eE]-?\d+)?)\s+(\S+)")
FEWEST_ROWS = 4
"""A shorter file is not taken for one of TREC."""
LONGEST_LINE = 10_000


def cells_in(path: Path) -> tuple[pd.DataFrame, list[int]] | None:
    """The judgments in a file of TREC, a row each, and their lines; None if it is none.

    An item is a topic with a document, and what is about one topic belongs together. A file with
    a line of another form is none, so that no line is left out in silence.
    """
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    form: re.Pattern[str] | None = None
    if path.suffix.lower() in (".json", ".jsonl", ".parquet", ".xlsx", ".ods"):
        return None
    try:
        for number, raw in read_lines(path, LONGEST_LINE):
            line = decoded(raw).strip()
            if not line:
                continue
            form = form or next(
                (each for each in (_QREL, _RUN) if each.fullmatch(line)), None
            )
            found = None if form is None else form.fullmatch(line)
            if found is None:
                return None
            rows.append(found.groups())
            lines.append(number)
    # a line that is too long for such a file, or no text
    except (DataError, Unreadable):
        return None
    if form is None or len(rows) < FEWEST_ROWS:
        return None
    made = {
        "item_id": [f"{topic}/{document}" for topic, document, *_ in rows],
        "group": [row[0] for row in rows],
        "relevance_score": [row[2] for row in rows],
    }
    if form is _RUN:
        made["run"] = [row[3] for row in rows]
    return pd.DataFrame(made, dtype=object), lines
