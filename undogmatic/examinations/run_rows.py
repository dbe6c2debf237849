"""Makes the rows of a run: one for each item, judge, criterion and repeat, in input order.

Rows of many items lie on disk (`records/stored.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets.belonging import groups_of
from undogmatic.examinations import steps
from undogmatic.records.records import (
    NAMED,
    NO_VERDICT,
    OVERALL,
    Cost,
    Failure,
    Item,
    Judgment,
    Key,
    Verdict,
)
from undogmatic.records.stored import StoredTable, storable
from undogmatic.safety.spool import many

METADATA, DETAILS = "metadata.", "details."
REASON_NAMES = "reason_names"
"""How the columns begin that hold an item's metadata, and what a judge noted beside its score."""
COLUMNS = (
    *"item_id judge criterion place pair_id group text condition label repeat".split(),
    *NO_VERDICT,
    *Cost.model_fields,
    *"error characters words".split(),
)
DIGITS = 12
"""To so many decimals scores and means of them are kept, so that those which differ by rounding
alone are tied."""


def tabulate(
    items: Sequence[Item],
    judgments: Sequence[Judgment],
    repeats: int,
    expected: Sequence[tuple[str | None, str]] | None = None,
    gaps: bool = True,
) -> Any:
    """Make the rows of a run of items and judgments. What is not judged yet has error "not_judged".

    Of many items, which are read when they are asked for, the frame is a `StoredTable`.

    Args:
        items, judgments, repeats: What was to be judged, and what was.
        expected: Judge and criterion of every judgment that an item shall have; without it, those
            that occur.
        gaps: Whether a judgment that is not there has a row. One that nobody will make has none.
    """
    asked = (
        expected
        or list(dict.fromkeys((j.judge, j.criterion) for j in judgments))
        or [(None, OVERALL)]
    )
    rows = list[dict[str, Any]]()
    stored = StoredTable(items) if many(items) and storable() else None
    found = _in_order(judgments) if many(judgments) else _by_key(judgments)
    groups = groups_of(items)
    every = (
        (repeat, place, item)
        for repeat in range(repeats)
        for place, item in enumerate(items)
    )
    for repeat, place, item in every:  # `product` would hold them all
        for judge, criterion in asked:
            judgment = found((item.id, str(judge), criterion, repeat))
            if judgment is not None or gaps:
                rows.append(
                    _row(item, place, judgment, judge, criterion, repeat, groups)
                )
        if stored is not None and len(rows) >= _AT_ONCE:
            _store(stored, rows)
    if stored is not None:
        _store(stored, rows)
        return stored.close()
    frame = _frame(rows)
    frame["text"] = [items[place].text for place in frame["text"]]
    return frame


_AT_ONCE = 2_000
"""Rows that are made at a time where they are kept on disk."""


def _store(stored: StoredTable, rows: list[dict[str, Any]]) -> None:
    more = [
        {name: row.pop(name) for name in [*row] if name not in COLUMNS} for row in rows
    ]
    stored.add(_frame(rows), more)
    rows.clear()


def _by_key(judgments: Sequence[Judgment]) -> Callable[[Key], Judgment | None]:
    return {judgment.key: judgment for judgment in judgments}.get


def _in_order(judgments: Sequence[Judgment]) -> Callable[[Key], Judgment | None]:
    """The judgment of a key, of those in the order of the table: only the next one is held."""
    coming = iter(judgments)
    following = next(coming, None)

    def found(key: Key) -> Judgment | None:
        nonlocal following
        if following is None or following.key != key:
            return None
        judgment, following = following, next(coming, None)
        return judgment

    return found


def _row(
    item: Item,
    place: int,
    judgment: Judgment | None,
    judge: str | None,
    criterion: str,
    repeat: int,
    groups: Mapping[str, str],
) -> dict[str, Any]:
    outcome = None if judgment is None else judgment.outcome
    verdict = outcome if isinstance(outcome, Verdict) else None
    error = "not_judged" if outcome is None else None
    if isinstance(outcome, Failure):
        error = outcome.reason
    cost = Cost() if judgment is None else judgment.cost
    label, text = item.labelled(criterion), item.text
    details = {} if verdict is None else {**verdict.details, **_named(item, verdict)}
    if verdict is not None and steps.AT in item.metadata:
        step = steps.named_step((verdict.rationale, *verdict.issues))
        details |= {} if step is None else {steps.NAMED: step}
    return {
        "item_id": item.id,
        "judge": judge,
        "criterion": criterion,
        "place": item.place,
        "pair_id": item.pair,
        "group": groups[item.id],
        "text": place,
        "condition": item.condition,
        "label": np.nan if label is None else label,
        "repeat": repeat,
        **(NO_VERDICT if verdict is None else verdict.row()),
        **cost.model_dump(),
        "error": error,
        "characters": len(text),
        "words": len(text.split()),
        **{METADATA + name: value for name, value in item.metadata.items()},
        **{DETAILS + name: value for name, value in details.items()},
    }


def _named(item: Item, verdict: Verdict) -> dict[str, str]:
    """Which of the things that the item's metadata lists (`records.NAMED`) the judge's reason
    names, by their names with blanks between; nothing where it gave no reason."""
    listed = item.metadata.get(NAMED)
    if not isinstance(listed, Mapping) or not verdict.rationale:
        return {}
    said = verdict.rationale.casefold()
    found = [
        str(name)
        for name, beginnings in listed.items()
        if any(re.search(rf"\b{re.escape(str(each))}", said) for each in beginnings)
    ]
    return {REASON_NAMES: " ".join(found)}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a frame; `text` is the place of the item."""
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(COLUMNS))
    rounded = ["label", "score", "revised_score"]
    numbers = [
        *rounded,
        "raw_score",
        "low",
        "high",
        "confidence",
        "entropy",
        "doubt",
        "usd",
    ]
    # Rounded, a mean of criteria ties with what it equals.
    frame[numbers] = frame[numbers].astype(float).round(dict.fromkeys(rounded, DIGITS))
    for column in ("pair_id", "condition", "uncertainty", "is_uncertain", "error"):
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


def texts_of(rows: pd.DataFrame) -> list[str]:
    """The texts of rows. An item of which only the id is known has none: what it
    is called tells nothing of it, and a word counter that is fitted to names is beaten by anybody.
    """
    ids = rows["item_id"] if "item_id" in rows else [None] * len(rows)
    return [
        "" if text == item else str(text)
        for text, item in zip(rows["text"], ids, strict=True)
    ]
