"""Reads experiments of Braintrust: the results of its `Eval`, and the rows of an experiment as its
page and its API export them.

A score is a verdict on the criterion of its name. Braintrust does not write down which model
judged, so the judge is `braintrust`. What a person scored is known by its name
(`human_correct`), in the scores or in the metadata.
"""

from collections.abc import Iterator, Mapping
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
    facts,
    text_of,
)
from undogmatic.safety.outside import Unreadable, json_value

JUDGE = "braintrust"
_ONES = {"span_id", "exc_info", "experiment_id", "is_root", "root_span_id"}


def _claims(head: Head) -> bool:
    names = head.names("events")
    return names >= {"scores", "input", "expected"} and bool(names & _ONES)


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    roots = [(place, one) for place, one in given if one.get("is_root") is not False]
    if len(roots) < len(given):
        n = len(given) - len(roots)
        problems.append(
            f"{source}: {n} rows of inner spans are no results and were left out."
        )
    scores = [_held(one.get("scores")) for _, one in roots]
    names = dict.fromkeys(name for one in scores for name in one)
    for _, one in roots:
        names |= dict.fromkeys(_held(one.get("metadata")).get("scorer_errors") or {})
    people = [name for name in names if log.is_person(name)]
    criteria = [name for name in names if name not in people]
    for count, ((place, one), given_scores) in enumerate(
        zip(roots, scores, strict=True), 1
    ):
        metadata = _held(one.get("metadata"))
        errors = metadata.get("scorer_errors") or {}
        about = facts({k: v for k, v in metadata.items() if k != "scorer_errors"}) | {
            "item": str(one.get("id") or f"row {count}"),
            "text": text_of(one.get("output")),
            "input": text_of(one.get("input")),
            "context": text_of(one.get("expected")),
            "place": place,
        }
        about |= {name: cell(given_scores.get(name)) for name in people}
        for name in criteria:
            value = cell(given_scores.get(name))
            why = errors.get(name) or one.get("error") or "the scorer gave no score"
            said = {"reason": str(why)} if value is None else {"verdict": value}
            yield about | {"judge": JUDGE, "criterion": name} | said


def _held(value: Any) -> Mapping[str, Any]:
    """An object, which in CSV is its JSON."""
    if isinstance(value, str) and value:
        try:
            value = json_value(value, infinite=True)
        except Unreadable:
            return {}
    return value if isinstance(value, Mapping) else {}


READER = Reader(
    "an experiment of Braintrust",
    _claims,
    lambda path, problems: log.records(path, problems, "events"),
    _rows,
    About(
        tool="Braintrust",
        file=(
            "the results of `Eval` as JSON Lines, an experiment as the page or the API exports it"
        ),
        verdict="the score of each scorer",
        label="a score or metadata called `human_NAME`",
        fixture="results by the tool (0.48.1); the export from its documentation",
    ),
)
