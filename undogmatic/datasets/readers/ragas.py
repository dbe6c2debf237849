"""Reads results of Ragas as pandas writes them (CSV, JSON): one verdict per row and metric.

Ragas does not write down which model judged, so the judge is `ragas` and a metric is a criterion. A
column of labels is on the metric that it names (`human_correct`), else on the only one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    text_of,
)
from undogmatic.records.records import as_number

JUDGE = "ragas"
_INPUTS = (
    "user_input response retrieved_contexts reference reference_contexts retrieved_context_ids"
    " reference_context_ids multi_responses reference_topics reference_tool_calls rubric rubrics"
    " persona_name query_style query_length synthesizer_name id name"
    " question answer contexts ground_truth ground_truths episode_done evolution_type"
).split()
_KNOWN = set(
    "faithfulness answer_relevancy answer_relevance context_precision context_recall"
    " context_relevancy context_utilization context_entity_recall answer_similarity"
    " semantic_similarity answer_correctness factual_correctness noise_sensitivity"
    " noise_sensitivity_relevant harmfulness maliciousness coherence correctness conciseness"
    " aspect_critic rubrics_score topic_adherence summary_score".split()
)
"""Metrics of Ragas: a column of this name that is empty everywhere is a judge that failed, and in
files of version 0.1 it tells that they are its."""
_NAMES = (
    {"user_input", "retrieved_contexts"},
    {"user_input", "response"},
    {"user_input", "reference"},
)


def _claims(head: Head) -> bool:
    names = head.names()
    before = {"question", "answer"} <= names and (
        "contexts" in names or bool(names & _KNOWN)
    )
    now = any(several <= names for several in _NAMES)
    return (now or (before and bool(names & _KNOWN))) and not names & {
        "judge",
        "verdict",
        "score",
    }


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    names = [
        name
        for name in dict.fromkeys(name for _, row in given for name in row)
        if name not in _INPUTS
    ]
    numbers = [
        name
        for name in names
        if _is_metric([cell(as_number(row.get(name))) for _, row in given], name)
    ]
    metrics = [
        name for name in numbers if name not in log.people_among(numbers, numbers)
    ]
    groups: dict[str, str] = {}
    for count, (place, row) in enumerate(given, 1):
        asked = text_of(row.get("user_input") or row.get("question")) or ""
        about: Row = {
            name: cell(row.get(name)) for name in names if name not in metrics
        }
        about |= {
            "item": str(row.get("id") or f"row {count}"),
            "group": groups.setdefault(asked, f"row {count}"),
        }
        about |= {
            "text": text_of(row.get("response") or row.get("answer")),
            "input": asked,
            "context": text_of(
                row.get("reference")
                or row.get("ground_truth")
                or row.get("ground_truths")
            ),
        }
        about |= {"place": place}
        for metric in metrics:
            value = cell(as_number(row.get(metric)))
            said = (
                {"reason": "the metric has no value"}
                if value is None
                else {"verdict": value}
            )
            yield about | {"judge": JUDGE, "criterion": metric} | said


def _is_metric(cells: Sequence[Any], name: str) -> bool:
    """Whether a column holds numbers alone; one that holds nothing is a metric by its name."""
    values = [value for value in cells if value is not None]
    if not values:
        return name in _KNOWN
    return all(isinstance(value, int | float) for value in values)


READER = Reader(
    "results of Ragas",
    _claims,
    log.records,
    _rows,
    About(
        tool="Ragas",
        file=(
            "the table of `to_pandas()` as CSV or JSON records, with the names of today or of"
            " version 0.1"
        ),
        verdict="the value of each metric; one that is empty everywhere is a judge that failed",
        label="a column such as `human_label` or `human_CRITERION`",
        fixture="by the tool (0.4.3); 0.1 from its format",
    ),
)
