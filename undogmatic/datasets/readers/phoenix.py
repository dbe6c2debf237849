"""Reads what Phoenix writes: the table of `evaluate_dataframe`, annotations of spans, and the runs
of an experiment.

An annotation of the kind HUMAN is a label of the user who gave it, one of LLM or CODE a verdict.
Where each annotation of a name has a label in words and scores are only 0 and 1, the words are the
verdict; else the score is.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
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
    joined,
    text_of,
)
from undogmatic.records.records import as_number
from undogmatic.safety.outside import Unreadable, json_value

_DETAILS, _SCORE = "_execution_details", "_score"
_INPUTS = ("input", "query", "question", "prompt")
_OUTPUTS = ("output", "response", "answer")


def _claims(head: Head) -> bool:
    names = head.names("data")
    table = any(
        n.endswith(_DETAILS) and n.removesuffix(_DETAILS) + _SCORE in names
        for n in names
    )
    spans = "annotator_kind" in names and bool(names & {"name", "annotation_name"})
    runs = names >= {"example_id", "repetition_number", "annotations"}
    return (
        table or runs or (spans and bool(names & {"span_id", "trace_id", "session_id"}))
    )


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    if any("repetition_number" in record for _, record in given):
        found = list(_of_runs(given))
    elif any("annotator_kind" in record for _, record in given):
        found = list(_of_spans(given))
    else:
        found = list(_of_table(given))
    words = _in_words(one for _, one in found)
    verdicts, labels = list[Row](), list[Row]()
    for about, one in found:
        name, kind = str(one["name"]), str(one.get("kind") or "LLM").upper()
        value = cell(one.get("label") if name in words else one.get("score"))
        value = cell(one.get("label")) if value is None else value
        row = about | {"criterion": name}
        if kind == "HUMAN":
            labels.append(
                row | {"label": value, "rater": str(one.get("who") or "annotator")}
            )
            continue
        lack = str(one.get("error") or "the annotation has neither score nor label")
        judge = str(one.get("judge") or f"phoenix {kind.lower()}")
        said = {"reason": lack} if value is None else {"verdict": value}
        verdicts.append(row | {"judge": judge} | said)
    yield from joined(verdicts, labels, source, problems)


def _in_words(said: Iterable[Mapping[str, Any]]) -> set[str]:
    """The names whose labels say all that the scores say."""
    plain: dict[str, bool] = {}
    for one in said:
        score, label = as_number(one.get("score")), one.get("label")
        if score in (None, "") and label in (None, ""):
            continue
        fits = isinstance(label, str) and label != "" and score in (0, 1, None, "")
        plain[str(one["name"])] = plain.get(str(one["name"]), True) and fits
    return {name for name, fits in plain.items() if fits}


Found = Iterator[tuple[Row, dict[str, Any]]]
"""What is known of what was judged, and what was said of it."""


def _of_table(given: Given) -> Found:
    columns = dict.fromkeys(name for _, record in given for name in record)
    names = [name.removesuffix(_DETAILS) for name in columns if name.endswith(_DETAILS)]
    own = {name + end for name in names for end in (_DETAILS, _SCORE)}
    for count, (place, record) in enumerate(given, 1):
        asked = next((record[name] for name in _INPUTS if record.get(name)), None)
        made = next((record[name] for name in _OUTPUTS if record.get(name)), None)
        plain = {name: value for name, value in record.items() if name not in own}
        shown = {*_INPUTS, *_OUTPUTS, "id", "context.span_id", ""}
        about = facts(
            {name: value for name, value in plain.items() if name not in shown}
        )
        about |= {
            "item": str(
                record.get("id") or record.get("context.span_id") or f"row {count}"
            ),
            "text": text_of(made),
            "input": text_of(asked),
            "place": place,
        }
        for name in names:
            score = _value(record.get(name + _SCORE))
            details = _value(record.get(name + _DETAILS))
            errors = details.get("exceptions") or ()
            told = {key: score.get(key) for key in ("score", "label", "kind")}
            yield about, {"name": name, "error": next(iter(errors), None)} | told


def _value(held: Any) -> Mapping[str, Any]:
    """The object in a cell, which pandas writes to CSV as Python shows it."""
    if isinstance(held, str) and held:
        try:
            held = json_value(held)
        except Unreadable:
            try:
                # It reads values and runs nothing: a cell of somebody else's file is no
                # program.
                held = ast.literal_eval(held)
            except (MemoryError, RecursionError, SyntaxError, ValueError):
                return {}
    return held if isinstance(held, Mapping) else {}


def _of_spans(given: Given) -> Found:
    for place, one in given:
        result = one.get("result") or {}
        told = {
            key: result.get(key, one.get(f"result.{key}")) for key in ("score", "label")
        }
        item = next(
            (one[k] for k in ("span_id", "trace_id", "session_id") if one.get(k)), None
        )
        told |= {
            "name": one.get("name") or one.get("annotation_name"),
            "kind": one.get("annotator_kind"),
            "who": one.get("user_id") or one.get("identifier"),
            "score": cell(as_number(told["score"])),
            # of `undogmatic export`
            "judge": (_value(one.get("metadata"))).get("judge"),
            "error": result.get("explanation"),
        }
        yield {"item": str(item), "place": place}, told


def _of_runs(given: Given) -> Found:
    names: dict[tuple[str, str], None] = {}
    for _, run in given:
        for one in run.get("annotations") or ():
            names[str(one.get("name")), str(one.get("annotator_kind"))] = None
    for place, run in given:
        example, number = str(run.get("example_id")), run.get("repetition_number") or 1
        about: Row = {
            "item": example if number == 1 else f"{example} ({number})",
            "group": example,
            "text": text_of(run.get("output")),
            "input": text_of(run.get("input")),
            "context": text_of(run.get("reference_output")),
            "place": place,
        }
        said = run.get("annotations") or ()
        for one in said:
            yield about, dict(one) | {"kind": one.get("annotator_kind")}
        if not said and run.get("error"):
            for name, kind in names:
                yield about, {"name": name, "kind": kind, "error": run["error"]}


READER = Reader(
    "annotations of Phoenix",
    _claims,
    lambda path, problems: log.records(path, problems, "data"),
    _rows,
    About(
        tool="Phoenix",
        file="the table of `evaluate_dataframe`, annotations of spans, runs of an experiment",
        verdict="the label or score of an annotation of the kind LLM or CODE",
        label="an annotation of the kind HUMAN",
        fixture=(
            "the table by the tool (3.9.4); annotations and experiments by the types of its "
            "client (3.5.0)"
        ),
    ),
)
