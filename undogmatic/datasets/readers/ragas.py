"""Reads results of Ragas as pandas writes them (CSV, JSON): one verdict per row and metric.

Ragas does not write down which model judged, so the judge is `ragas` and a metric is a criterion. A column that begins
with `human` or `label` holds labels: of the metric that it names (`human_correct`), else of the only one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import Given, Head, Reader, Row, cell, first_of, joined, number, records, text_of

JUDGE = "ragas"
_INPUTS = (
    "user_input response retrieved_contexts reference reference_contexts retrieved_context_ids reference_context_ids "
    "multi_responses reference_topics reference_tool_calls rubric rubrics persona_name query_style query_length "
    "synthesizer_name id name"
).split()
_NAMES = {"user_input", "retrieved_contexts"}, {"user_input", "response"}, {"user_input", "reference"}


def _claims(head: Head) -> bool:
    first = first_of(head.value)
    names = set(head.columns or (first if isinstance(first, Mapping) else ()))
    return any(several <= names for several in _NAMES) and not names & {"judge", "verdict", "score"}


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    names = dict.fromkeys(name for _, row in given for name in row if name not in _INPUTS)
    people = [name for name in names if name.lower().startswith(("human", "label"))]
    metrics = [name for name in names if name not in people and _is_metric(row.get(name) for _, row in given)]
    groups: dict[str, str] = {}
    verdicts, labels = list[Row](), list[Row]()
    for count, (place, row) in enumerate(given, 1):
        asked = text_of(row.get("user_input")) or ""
        about: Row = {name: cell(row.get(name)) for name in names if name not in people and name not in metrics}
        about |= {"item": str(row.get("id") or f"row {count}"), "group": groups.setdefault(asked, f"row {count}")}
        about |= {"text": text_of(row.get("response")), "input": asked, "context": text_of(row.get("reference"))}
        about |= {"place": place}
        for metric in metrics:
            value = cell(number(row.get(metric)))
            said = {"reason": "the metric has no value"} if value is None else {"verdict": value}
            verdicts.append(about | {"judge": JUDGE, "criterion": metric} | said)
        for name in people:
            meant = [metric for metric in metrics if name.lower().endswith(metric.lower())] or metrics
            value = cell(number(row.get(name)))
            if value is not None and len(meant) == 1:
                labels.append(about | {"criterion": meant[0], "label": value, "rater": name})
    yield from joined(verdicts, labels, source, problems)


def _is_metric(cells: Iterator[Any]) -> bool:
    values = [value for raw in cells if (value := cell(number(raw))) is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


READER = Reader("results of Ragas", _claims, records, _rows)
