"""Reads evaluations of LangWatch: a batch with its data set, as its SDK sends it and its API
answers it, or traces with their evaluations.

An evaluation is a verdict on the criterion of its name by its evaluator: its label, else its score,
else whether it passed. One with the status "error" or "skipped" is a missing verdict with its
reason. What a person labelled lies in the entry of the data set (`human_NAME`).
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
    snake,
    text_of,
)

_OUTPUTS = ("output", "response", "answer", "completion", "text")
_INPUTS = ("input", "question", "query", "prompt")
_CONTEXTS = ("expected_output", "expected_answer", "expected", "reference", "target")


def _claims(head: Head) -> bool:
    if head.has("dataset", "evaluations"):
        return True
    evaluation = head.first("evaluations")
    return (
        isinstance(evaluation, Mapping)
        and "status" in evaluation
        and not evaluation.keys().isdisjoint(
            {"evaluator", "evaluator_id", "evaluatorId"}
        )
    )


def _records(path: Path, problems: list[str]) -> Given:
    head = log.head_of(path)
    if head is None or not head.has("dataset", "evaluations"):
        return log.records(path, problems)
    value, half = log.load(path)
    entries = {
        one.get("index"): one for one in value.get("dataset") or () if "index" in one
    }
    found = log.whole(value.get("evaluations"), half, path, problems)
    by_index: dict[Any, list[Any]] = {index: [] for index in entries}
    for one in found:
        by_index.setdefault(one.get("index"), []).append(one)
    return [
        (
            f"{path}#entry {index}",
            dict(entries.get(index) or {}) | {"evaluations": several},
        )
        for index, several in by_index.items()
    ]


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    plain = [
        (place, one, [_plain(each) for each in one.get("evaluations") or ()])
        for place, one in given
    ]
    voices = dict.fromkeys(_voice(each) for *_, several in plain for each in several)
    words = _in_words(each for *_, several in plain for each in several)
    for count, (place, one, several) in enumerate(plain, 1):
        entry = one.get("entry") or {}
        made = one.get("predicted") or {}
        made = made if isinstance(made, Mapping) else {"output": made}
        shown = {**entry, **made}
        asked = next(
            (shown[name] for name in _INPUTS if shown.get(name)), one.get("input")
        )
        said = next((made[name] for name in _OUTPUTS if made.get(name)), None)
        said = said or next((entry[name] for name in _OUTPUTS if entry.get(name)), None)
        texts = {*_INPUTS, *_OUTPUTS, *_CONTEXTS}
        about = facts(
            {name: value for name, value in entry.items() if name not in texts}
        ) | {
            "item": str(
                entry.get("id")
                or one.get("trace_id")
                or one.get("index", f"row {count}")
            ),
            "text": text_of(said or one.get("output")),
            "input": text_of(asked),
            "context": text_of(
                next((entry[n] for n in _CONTEXTS if entry.get(n)), None)
            ),
            "place": place,
        }
        given_voices = set()
        for each in several:
            voice = _voice(each)
            given_voices.add(voice)
            yield (
                about
                | {"judge": voice[0], "criterion": voice[1]}
                | _verdict(each, words)
            )
        # What ended in an error was judged by none of the evaluators, and each of them
        # lacks a verdict on it.
        if one.get("error"):
            for judge, name in voices:
                if (judge, name) not in given_voices:
                    lack = {"reason": str(one["error"])}
                    yield about | {"judge": judge, "criterion": name} | lack


def _plain(each: Mapping[str, Any]) -> dict[str, Any]:
    return {snake(name): value for name, value in each.items()}


def _voice(each: Mapping[str, Any]) -> tuple[str, str]:
    """The evaluator, and the name under which it judged."""
    evaluator = each.get("evaluator") or each.get("evaluator_id") or "langwatch"
    return str(evaluator), str(each.get("name") or evaluator)


def _in_words(several: Iterator[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """The voices that gave a label wherever they gave anything."""
    plain: dict[tuple[str, str], bool] = {}
    for each in several:
        if each.get("status") == "processed":
            voice = _voice(each)
            plain[voice] = plain.get(voice, True) and each.get("label") not in (
                None,
                "",
            )
    return {voice for voice, fits in plain.items() if fits}


def _verdict(each: Mapping[str, Any], words: set[tuple[str, str]]) -> Row:
    status = each.get("status")
    if status != "processed":
        detail = each.get("details") or (each.get("error") or {})
        told = text_of(detail) if detail else None
        return {"reason": f"{status}: {told}" if told else str(status)}
    if _voice(each) in words:
        return {"verdict": cell(each.get("label"))}
    value = cell(each.get("score"))
    if value is None and isinstance(each.get("passed"), bool):
        value = "pass" if each["passed"] else "fail"
    return (
        {"reason": "the evaluator gave no score"}
        if value is None
        else {"verdict": value}
    )


READER = Reader(
    "evaluations of LangWatch",
    _claims,
    _records,
    _rows,
    About(
        tool="LangWatch",
        file="a batch evaluation with its data set, or traces with their evaluations",
        verdict='the label, score or pass of each evaluation; "error" and "skipped" are missing',
        label="an entry called `human_NAME`",
        fixture="from what is known of its format, not seen with a file of its own",
    ),
)
