"""Reads results of Ragas as pandas writes them (CSV, JSON): one verdict per row and metric.

Ragas does not write down which model judged, so the judge is `ragas` and a metric is a criterion. A
column of labels is on the metric that it names (`human_correct`), else on the only one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import Given, Head, Reader, Row, cell, text_of
from undogmatic.records.records import as_number

JUDGE = "ragas"
_INPUTS = (
    "user_input response retrieved_contexts reference reference_contexts retrieved_context_ids"
    " reference_context_ids multi_responses reference_topics reference_tool_calls rubric rubrics"
    " persona_name query_style query_length synthesizer_name id name"
).split()
_NAMES = (
    {"user_input", "retrieved_contexts"},
    {"user_input", "response"},
    {"user_input", "reference"},
)


def _claims(head: Head) -> bool:
    first = log.first_of(head.value)
    names = set(head.columns or (first if isinstance(first, Mapping) else ()))
    return any(several <= names for several in _NAMES) and not names & {"judge", "verdict", "score"}


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    names = [
        name
        for name in dict.fromkeys(name for _, row in given for name in row)
        if name not in _INPUTS
    ]
    numbers = [name for name in names if _is_metric(row.get(name) for _, row in given)]
    metrics = [name for name in numbers if name not in log.people_among(numbers, numbers)]
    groups: dict[str, str] = {}
    for count, (place, row) in enumerate(given, 1):
        asked = text_of(row.get("user_input")) or ""
        about: Row = {name: cell(row.get(name)) for name in names if name not in metrics}
        about |= {
            "item": str(row.get("id") or f"row {count}"),
            "group": groups.setdefault(asked, f"row {count}"),
        }
        about |= {
            "text": text_of(row.get("response")),
            "input": asked,
            "context": text_of(row.get("reference")),
        }
        about |= {"place": place}
        for metric in metrics:
            value = cell(as_number(row.get(metric)))
            said = {"reason": "the metric has no value"} if value is None else {"verdict": value}
            yield about | {"judge": JUDGE, "criterion": metric} | said


def _is_metric(cells: Iterator[Any]) -> bool:
    values = [value for raw in cells if (value := cell(as_number(raw))) is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


READER = Reader("results of Ragas", _claims, log.records, _rows)
