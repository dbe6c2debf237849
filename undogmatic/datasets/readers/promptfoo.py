"""Reads results of promptfoo (JSON, JSON Lines): one verdict per output and assertion.

The judge of an assertion that asks a model is the grader where the file names it; of any other it
is the kind of the assertion. A rating that a person gave in the viewer is a label of the whole
output: of its assertion if it has only one that asks a model, else of whether all passed.
"""

import json
import re
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
    joined,
    text_of,
)
from undogmatic.records.records import as_number

WHOLE, PERSON = "all assertions", "human"
ASKING = tuple(
    "llm-rubric g-eval factuality model-graded- answer-relevance context- conversation-relevance"
    " search-rubric select-best".split()
)
"""How the kinds of assertions begin that a grader answers."""
_LINE = ("promptIdx", "testIdx", "testCase")


_TABLE = {"Status", "Score", "Grader Reason"}
"""Columns that its CSV has for each prompt, behind the column of the outputs."""


def _claims(head: Head) -> bool:
    if set(head.columns) >= _TABLE:
        return True
    if head.has(*_LINE):
        return True
    return _way(head.value) is not None


def _way(value: Any) -> tuple[str, ...] | None:
    """Where the results lie: as the command line writes them (with or without an `evalId`), or as
    its function for Node returns them; None where they are none of promptfoo's."""
    for way in (("results", "results"), ("results",)):
        held = value
        for key in way[:-1]:
            held = held.get(key) if isinstance(held, Mapping) else None
        if not isinstance(held, Mapping) or not isinstance(held.get("results"), list):
            continue
        first = log.first_of(held["results"])
        keys = set(first) if isinstance(first, Mapping) else set()
        graded = keys & {"gradingResult", "testCase", "testIdx", "promptId"}
        before = {"prompt", "vars"} <= keys and keys & {"success", "response", "score"}
        if (
            graded
            or before
            or ("version" in held and isinstance(value, Mapping) and "evalId" in value)
        ):
            return way
    return None


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    results = [
        (place, result, list(_components(result.get("gradingResult"))))
        for place, result in given
    ]
    parts = [part for _, _, each in results for part in each]
    # Pass and fail where scores say no more, or where a person said pass or fail: the score stands
    # on another scale.
    as_words = all(
        part.get("score") in (0, 1, None) or _kind(part) == PERSON for part in parts
    )
    as_words |= any(_kind(part) == PERSON for part in parts)
    voices = dict.fromkeys(
        _voice(result, part, each)
        for _, result, each in results
        for part in _graded(each)
    )
    groups: dict[str, str] = {}
    verdicts, labels = list[Row](), list[Row]()
    for number, (place, result, each) in enumerate(results):
        own = log.kept((result.get("testCase") or {}).get("metadata"))
        row = (
            _about(number, result, groups)
            | {"place": place}
            | ({"system": None} if own.kind else {})
            | own.row
        )
        graded = _graded(each)
        person = next((part for part in each if _kind(part) == PERSON), None)
        asking = [part for part in graded if _kind(part).startswith(ASKING)] or graded
        for part in graded:
            judge, criterion = _voice(result, part, each)
            said = (
                {"judge": judge, "criterion": criterion}
                | _settings(result, part)
                | own.of(judge, criterion)
            )
            if (part.get("metadata") or {}).get("graderError"):
                said["reason"] = str(part.get("reason") or "the grader failed")
            else:
                passing = own.kind == "pass_fail" if own.kind else as_words
                said["verdict"] = _passes(part) if passing else cell(part.get("score"))
            verdicts.append(row | said)
        for judge, criterion in () if graded or own.kind else voices:
            why = str(result.get("error") or "not graded")
            verdicts.append(
                row | {"judge": judge, "criterion": criterion, "reason": why}
            )
        labels += [row | one for one in own.labels]
        if person is not None:
            criterion = (
                _voice(result, asking[0], each)[1] if len(asking) == 1 else WHOLE
            )
            labels.append(
                row
                | {"criterion": criterion, "label": _passes(person), "rater": PERSON}
            )
            if criterion == WHOLE:
                whole = (
                    "pass"
                    if graded and all(part.get("pass") for part in graded)
                    else "fail"
                )
                verdicts.append(
                    row | {"judge": "promptfoo", "criterion": WHOLE, "verdict": whole}
                )
    yield from joined(verdicts, labels, source, problems)


def _results(path: Path, problems: list[str]) -> Given:
    """The results with their places."""
    head = log.head_of(path)
    if head is not None and head.has(*_LINE):
        return [
            (f"{path}:{number}", result) for number, result in log.lines(path, problems)
        ]
    if head is not None and set(head.columns) >= _TABLE:
        return _cells(path, problems)
    deep = log.head_of(path, log.DEEP_BYTES)
    way = _way(None if deep is None else deep.value) or ("results", "results")
    found = log.entries(path, problems, *way)
    return [
        (f"{path}#result {number}", result) for number, result in enumerate(found, 1)
    ]


def _cells(path: Path, problems: list[str]) -> Given:
    """The rows of its CSV as results: each prompt has a column of outputs, and behind it how they
    were graded."""
    from undogmatic.datasets.rows import csv_rows

    rows = csv_rows(path, ",", [])
    header = next(rows).cells
    places = [n for n, name in enumerate(header) if name == "Status"]
    outputs = [place - 1 for place in places]
    ends = [*outputs[1:], len(header)]
    found: Given = []
    for number, row in enumerate(rows):
        if len(row.cells) != len(header):
            what = f"{len(row.cells)} cells under {len(header)} columns"
            problems.append(
                log.Unread(f"{path}:{row.first}: {what}; the row was left out.")
            )
            continue
        variables = dict(zip(header[: outputs[0]], row.cells, strict=False))
        variables.pop("Description", None)
        for prompt, (start, end) in enumerate(zip(outputs, ends, strict=True)):
            told = dict(
                zip(header[start + 1 : end], row.cells[start + 1 : end], strict=True)
            )
            found.append(
                (
                    f"{path}:{row.first}",
                    _of_cells(
                        number, prompt, header[start], row.cells[start], variables, told
                    ),
                )
            )
    return found


def _of_cells(
    test: int,
    prompt: int,
    column: str,
    output: str,
    variables: Mapping[str, str],
    told: Mapping[str, str],
) -> dict[str, Any]:
    """A result from the cells of a prompt in a row."""
    status, score = told.get("Status", "").upper(), as_number(told.get("Score") or None)
    named = re.match(r"\[([^\]]+)\]", column)
    part = {
        "pass": status == "PASS",
        "score": score,
        "reason": told.get("Grader Reason"),
        "assertion": {
            "type": "llm-rubric",
            "metric": WHOLE,
            "provider": "promptfoo's grader",
        },
    }
    failed = status not in ("PASS", "FAIL")
    return {
        "testIdx": test,
        "promptIdx": prompt,
        "vars": variables,
        "provider": named[1] if named else column,
        "response": {"output": re.sub(r"^\[(PASS|FAIL|ERROR)\]\s*", "", output)},
        "error": (told.get("Grader Reason") or "the request failed")
        if failed
        else None,
        "gradingResult": None if failed else {"componentResults": [part]},
    }


def _about(number: int, result: Mapping[str, Any], groups: dict[str, str]) -> Row:
    """What is known of an output. Outputs from the same variables are one group."""
    # earlier versions did not number them
    test = result.get("testIdx", number)
    prompt = result.get("promptIdx", 0)
    variables = json.dumps(result.get("vars"), sort_keys=True, default=str)
    provider = result.get("provider")
    named = (
        (provider.get("label") or provider.get("id"))
        if isinstance(provider, Mapping)
        else provider
    )
    return facts(result.get("vars"), (result.get("testCase") or {}).get("metadata")) | {
        "item": f"test {test + 1}, prompt {prompt + 1}",
        "group": groups.setdefault(variables, f"test {test + 1}"),
        "text": text_of((result.get("response") or {}).get("output")),
        "input": text_of((result.get("prompt") or {}).get("raw")),
        "system": named,
    }


def _components(grading: Any) -> Iterator[Mapping[str, Any]]:
    """The results of single assertions, those inside of sets too."""
    for part in (grading or {}).get("componentResults") or ():
        if part.get("componentResults"):
            yield from _components(part)
        elif isinstance(part.get("assertion"), Mapping):
            yield part


def _graded(parts: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [part for part in parts if _kind(part) != PERSON]


def _kind(part: Mapping[str, Any]) -> str:
    return str(part["assertion"].get("type")).removeprefix("not-")


def _passes(part: Mapping[str, Any]) -> str:
    return "pass" if part.get("pass") else "fail"


def _voice(
    result: Mapping[str, Any], part: Mapping[str, Any], parts: list[Mapping[str, Any]]
) -> tuple[str, str]:
    """Judge and criterion of an assertion; of several of a kind the criterion says what each asks
    for."""
    kind, assertion = str(part["assertion"].get("type")), part["assertion"]
    alike = sum(other["assertion"].get("type") == kind for other in parts) > 1
    criterion = assertion.get("metric") or (
        f"{kind}: {str(assertion.get('value'))[:60]}" if alike else kind
    )
    grader = _grader(result, part)
    return (grader or "promptfoo's grader") if _kind(part).startswith(
        ASKING
    ) else kind, str(criterion)


def _grader(result: Mapping[str, Any], part: Mapping[str, Any]) -> str | None:
    """The model that answers an assertion, where the file names it."""
    options = (result.get("testCase") or {}).get("options") or {}
    found = part["assertion"].get("provider") or options.get("provider")
    found = found.get("text", found) if isinstance(found, Mapping) else found
    found = found.get("id") if isinstance(found, Mapping) else found
    return None if found is None else str(found)


def _settings(result: Mapping[str, Any], part: Mapping[str, Any]) -> Row:
    if not _kind(part).startswith(ASKING):
        return {"settings.prompt": str(part["assertion"].get("value"))}
    options = (result.get("testCase") or {}).get("options") or {}
    asked = [options.get("rubricPrompt"), part["assertion"].get("value")]
    told = {
        "settings.model": _grader(result, part),
        "settings.prompt": "\n".join(str(a) for a in asked if a),
    }
    return {key: value for key, value in told.items() if value}


READER = Reader(
    "results of promptfoo",
    _claims,
    _results,
    _rows,
    About(
        tool="promptfoo",
        file=(
            "results as JSON, JSON Lines or CSV (`-o`, `export eval`), what its function for "
            "Node returns, files of 2024"
        ),
        verdict=(
            "the score of each assertion (in CSV of all together); pass or fail where scores "
            "are 0 and 1, or a person rated"
        ),
        label=(
            "the rating in the viewer: of the only assertion that asks a model, else of `all "
            "assertions` together"
        ),
        fixture="by the tool (0.121.20); CSV, Node and 2024 from their format",
    ),
)
