"""Reads records of Argilla: as its clients write them (nested or flat), as they lie on a hub of
data sets, and as versions before 1.8 exported them.

A suggestion (before: a prediction) is the verdict of its agent, a submitted response (before: an
annotation) the label of its user. Responses that were discarded or are drafts are left out, and
counted in a line.
"""

from collections import Counter
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

_PENDING = {"discarded", "draft", "pending"}
_TEXTS = ("text", "response", "answer", "output", "completion", "generation")
_OLD = {"prediction", "prediction_agent", "annotation", "annotation_agent"}


def _claims(head: Head) -> bool:
    names = head.names()
    nested = names >= {"fields", "suggestions", "responses"}
    flat = any(
        f"{name}.users" in names for name in names if name.endswith(".responses")
    )
    hub = any(name.endswith("-suggestion-metadata") for name in names)
    return nested or flat or hub or names >= _OLD


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    left = Counter[str]()
    verdicts, labels = list[Row](), list[Row]()
    read = [(place, *_record(one)) for place, one in given]
    asked: dict[tuple[str, str], None] = {}
    for _, _, suggestions, _ in read:
        for name, one in suggestions.items():
            if cell(_said(one.get("value"))) is not None:
                asked[name, str(one.get("agent") or "suggestion")] = None
    judges = dict(dict.fromkeys(asked))
    for count, (place, about, suggestions, responses) in enumerate(read, 1):
        row = about | {"item": str(about.get("item") or f"row {count}"), "place": place}
        for name, judge in judges:
            one = suggestions.get(name) or {}
            if one.get("agent") not in (None, judge):
                continue
            value = cell(_said(one.get("value")))
            score = one.get("score")
            sure = score if isinstance(score, int | float) and 0 <= score <= 1 else None
            # An agent that suggested something for other records is taken to have been
            # asked about this one: its verdict is missing, and the record must not go
            # without a row.
            told = {"reason": "no suggestion"} if value is None else {"verdict": value}
            verdicts.append(
                row | {"judge": judge, "criterion": name, "confidence": sure} | told
            )
        for name, several in responses.items():
            for one in several:
                if one.get("status") in _PENDING:
                    left[str(one["status"])] += 1
                    continue
                value = _said(one.get("value"))
                who = str(one.get("user_id") or "annotator")
                labels.append(
                    row | {"criterion": name, "label": cell(value), "rater": who}
                )
    for status, n in left.items():
        problems.append(
            f"{source}: {n} responses with the status {status} were left out."
        )
    yield from joined(verdicts, labels, source, problems)


Parts = tuple[Row, dict[str, Mapping[str, Any]], dict[str, list[Mapping[str, Any]]]]
"""Of a record: what is known of it, its suggestions, and its responses by question."""


def _record(one: Mapping[str, Any]) -> Parts:
    if "fields" in one and "responses" in one:
        return _nested(one)
    if "prediction_agent" in one:
        return _before(one)
    return _flat(one)


def _nested(one: Mapping[str, Any]) -> Parts:
    about = _about(one.get("fields") or {}, one.get("metadata"))
    about["item"] = one.get("id") or one.get("external_id")
    given, answered = one.get("suggestions") or {}, one.get("responses") or {}
    if isinstance(given, list):
        given = {str(each.get("question_name")): each for each in given}
    suggestions = {
        str(name): each for name, each in given.items() if isinstance(each, Mapping)
    }
    responses: dict[str, list[Mapping[str, Any]]] = {}
    # one for each user, with the values of all questions
    if isinstance(answered, list):
        for each in answered:
            for name, value in (each.get("values") or {}).items():
                held = value.get("value") if isinstance(value, Mapping) else value
                responses.setdefault(str(name), []).append(dict(each) | {"value": held})
    else:
        responses = {
            str(name): list(several or ()) for name, several in answered.items()
        }
    return about, suggestions, responses


def _flat(one: Mapping[str, Any]) -> Parts:
    suggestions: dict[str, Mapping[str, Any]] = {}
    responses: dict[str, list[Mapping[str, Any]]] = {}
    own = set[str]()
    for name in one:
        if name.endswith(".suggestion"):
            question = name.removesuffix(".suggestion")
            told = {"value": one[name], "agent": one.get(f"{name}.agent")}
            suggestions[question] = told | {"score": one.get(f"{name}.score")}
            own |= {name, f"{name}.agent", f"{name}.score"}
        elif name.endswith(".responses"):
            question = name.removesuffix(".responses")
            values = one[name] or ()
            users = one.get(f"{name}.users") or [None] * len(values)
            status = one.get(f"{name}.status") or [None] * len(values)
            responses[question] = [
                {"value": v, "user_id": u, "status": s}
                for v, u, s in zip(values, users, status, strict=False)
            ]
            own |= {name, f"{name}.users", f"{name}.status"}
        elif name.endswith("-suggestion-metadata"):
            question = name.removesuffix("-suggestion-metadata")
            held = one[name] or {}
            suggestions[question] = dict(held) | {
                "value": one.get(f"{question}-suggestion")
            }
            responses[question] = list(one.get(question) or ())
            own |= {name, f"{question}-suggestion", question}
    rest = {name: value for name, value in one.items() if name not in own}
    about = _about(rest, rest.get("metadata"))
    about["item"] = one.get("id") or one.get("external_id")
    return about, suggestions, responses


def _before(one: Mapping[str, Any]) -> Parts:
    """A record of versions before 1.8, of which one label was predicted and one annotated."""
    predicted = log.first_of(one.get("prediction"))
    label, score = None, None
    if isinstance(predicted, Mapping):
        label, score = predicted.get("label"), predicted.get("score")
    elif isinstance(one.get("prediction"), list) and one["prediction"]:
        best = max(one["prediction"], key=lambda pair: pair[1])
        label, score = best
    inputs = one.get("inputs") if isinstance(one.get("inputs"), Mapping) else {}
    about = _about({"text": one.get("text"), **(inputs or {})}, one.get("metadata"))
    about["item"] = one.get("id")
    agent = one.get("prediction_agent") or "prediction"
    annotated = one.get("annotation")
    status = "discarded" if str(one.get("status")).lower() == "discarded" else None
    person = {
        "value": annotated,
        "user_id": one.get("annotation_agent"),
        "status": status,
    }
    return (
        about,
        {"label": {"value": label, "score": score, "agent": agent}},
        {"label": [person] if annotated is not None else []},
    )


def _about(fields: Mapping[str, Any], metadata: Any) -> Row:
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    named = next((name for name in _TEXTS if name in texts), None)
    shown = named or max(texts, key=lambda name: len(texts[name]), default=None)
    own = {"id", "status", "external_id", "metadata"}
    rest = {k: v for k, v in fields.items() if k not in own and k != shown}
    return facts(rest, metadata) | {
        "text": text_of(fields.get(shown)) if shown else None
    }


def _said(value: Any) -> Any:
    """One value as it is, several labels with bars between them; a ranking is no verdict."""
    if isinstance(value, list):
        plain = all(isinstance(one, str | int | float) for one in value)
        return "|".join(map(str, value)) if plain and value else None
    return None if isinstance(value, Mapping) else value


READER = Reader(
    "records of Argilla",
    _claims,
    log.records,
    _rows,
    About(
        tool="Argilla",
        file=(
            "records as the client writes them, as they lie on a hub, and those of versions "
            "before 1.8"
        ),
        verdict="a suggestion (before: a prediction) by its agent",
        label="a submitted response (before: an annotation)",
        fixture="by the tool (2.8.0); the others from their format",
    ),
)
