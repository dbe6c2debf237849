"""Reads what DeepEval saves: a test run, or the dump of what its `evaluate` returns; one verdict
per case and metric.

The judge is the metric's model where DeepEval names it. The verdict is the score.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    facts,
    load,
    snake,
    text_of,
    whole,
)

_LISTS = ("testCases", "conversationalTestCases", "test_results")


_METRICS = ("metrics_data", "metrics_metadata")
"""Where a case has its metrics, now and in files of 2024."""
_LATEST = "testRunData"
"""Under which the file of the latest run holds it."""


def _claims(head: Head) -> bool:
    ways = ((*outer, name) for outer in ((), (_LATEST,)) for name in _LISTS)
    first = next((found for way in ways if (found := head.first(*way))), None)
    return isinstance(first, Mapping) and any(snake(key) in _METRICS for key in first)


def _cases(path: Path, problems: list[str]) -> Given:
    found: Given = []
    value, half = load(path)
    value = value.get(_LATEST, value)
    last = next((name for name in reversed(value) if name in _LISTS), None)
    for name in _LISTS:
        cases = whole(value.get(name), half and name == last, path, problems)
        kind = "conversation" if name.startswith("conv") else "test case"
        found += [
            (f"{path}#{kind} {number}", case) for number, case in enumerate(cases, 1)
        ]
    return found


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    for place, case in given:
        yield from _of_case({snake(key): inner for key, inner in case.items()}, place)


def _of_case(case: Mapping[str, Any], place: str) -> Iterator[Row]:
    turns = text_of(case.get("turns"))
    row = facts(case.get("metadata"), case.get("additional_metadata")) | {
        "item": str(case.get("name") or place.rpartition("#")[2]),
        "text": text_of(case.get("actual_output")) or turns,
        "input": text_of(case.get("input")),
        "context": text_of(case.get("expected_output")),
        "place": place,
    }
    for given in case.get("metrics_data") or case.get("metrics_metadata") or ():
        metric = {snake(key): inner for key, inner in given.items()}
        score = cell(metric.get("score"))
        why = metric.get("error") or (
            "skipped" if metric.get("skipped") else "the metric has no score"
        )
        model = metric.get("evaluation_model")
        name = metric["name"] if "name" in metric else metric["metric"]
        said = {
            "judge": model or "deepeval",
            "criterion": name,
            "settings.model": model,
        }
        yield (
            row
            | said
            | (
                {"reason": str(why)}
                if score is None or metric.get("error")
                else {"verdict": score}
            )
        )


READER = Reader(
    "a test run of DeepEval",
    _claims,
    _cases,
    _rows,
    About(
        tool="DeepEval",
        file="a saved test run (also of 2024), or the dump of what `evaluate` returns",
        verdict="the score of each metric",
        label="-",
        fixture="by the tool (4.3.1); 2024 from its format",
    ),
)
