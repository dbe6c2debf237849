"""Reads exports of doccano for classification (JSON Lines): labels of people.

Where people worked apart, doccano writes a file for each, and the file's name is theirs;
`all.jsonl` holds what they agreed on. Marks on parts of a text are no labels of it, and are counted
in a line.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import About, Given, Head, Reader, Row, cell, facts

_SHARED = ("all", "unknown", "export", "admin")
_OWN = {
    "id",
    "text",
    "data",
    "label",
    "labels",
    "annotations",
    "Comments",
    "comments",
    "meta",
}


def _claims(head: Head) -> bool:
    first = head.record()
    if first.keys().isdisjoint({"text", "data"}):
        return False
    marked = isinstance(first.get("label", first.get("labels")), list)
    annotated = log.at(first, "annotations")
    before = isinstance(annotated, Mapping) and {"label", "user"} <= set(annotated)
    return (marked and "Comments" in first) or before


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    stem = Path(str(source)).stem
    rater = "doccano" if stem in _SHARED else stem
    spans = none = 0
    for place, one in given:
        about = facts(
            {k: v for k, v in one.items() if k not in _OWN}, one.get("meta")
        ) | {
            "item": str(one.get("id")),
            "text": one.get("text") or one.get("data"),
            "place": place,
        }
        told: list[tuple[str, Any]] = [
            (f"user {each.get('user')}", each.get("label"))
            for each in one.get("annotations") or ()
        ]
        labels = one.get("label", one.get("labels")) or ()
        if any(isinstance(each, list | Mapping) for each in labels):
            spans += 1
            continue
        told += [(rater, "|".join(map(str, labels)))] if labels else []
        none += not told
        for who, label in told:
            yield about | {"label": cell(label), "rater": who}
    if spans:
        problems.append(
            f"{source}: {spans} texts hold marks on parts, which are no labels of it."
        )
    if none:
        problems.append(f"{source}: {none} texts have no label and were left out.")


READER = Reader(
    "an export of doccano",
    _claims,
    log.records,
    _rows,
    About(
        tool="doccano",
        file="an export for classification (JSON Lines)",
        verdict="- (a table beside it, joined by the id)",
        label="the label; where people worked apart the file's name says whose",
        fixture="from what is known of its format, not seen with a file of its own",
    ),
)
