"""Reads the output file of a batch in OpenAI's form, whose answers are verdicts: a number or word,
JSON, or a text that ends in one (`[[B]]`, `Score: 4`).

An answer in JSON with several numbers or words gives a criterion each. What holds no verdict, a
refusal, a cut answer or a failed request is a missing verdict, and the reason is kept.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    at,
    cell,
    first_of,
    records,
    text_of,
)
from undogmatic.records.answers import verdicts_of
from undogmatic.safety.outside import brief

JUDGE = "batch"


def _claims(head: Head) -> bool:
    if not head.has("custom_id", "response"):
        return False
    response = head.value["response"]
    return response is None or (
        isinstance(response, Mapping)
        and ("body" in response or "status_code" in response)
    )


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    found = [(place, line, *_said(line)) for place, line in given]
    names = [name for *_, values, _ in found for name in values if name is not None]
    criteria: dict[str | None, None] = {name: None for name in names} or {None: None}
    models = dict.fromkeys(
        model
        for _, line, *_ in found
        if (model := at(line, "response", "body", "model"))
    )
    # a request that failed names none
    judge = str(next(iter(models))) if len(models) == 1 else JUDGE
    for place, line, values, why in found:
        body = (line.get("response") or {}).get("body") or {}
        row: Row = {
            "item": str(line.get("custom_id")),
            "judge": str(body.get("model") or judge),
            "place": place,
        }
        told = {
            "settings.model": body.get("model"),
            "settings.temperature": body.get("temperature"),
        }
        row |= {key: str(value) for key, value in told.items() if value is not None}
        named_all = None not in values
        for name in criteria if named_all else values:
            row |= {
                "criterion": name,
                "confidence": _confidence(body, values.get(name)),
            }
            lack = why or "the answer does not name this criterion"
            yield row | (
                {"verdict": cell(values[name])} if name in values else {"reason": lack}
            )


def _said(line: Mapping[str, Any]) -> tuple[dict[str | None, Any], str | None]:
    """The verdicts of an answer by criterion, or why there is none."""
    response = line.get("response") or {}
    body, error = response.get("body") or {}, line.get("error")
    failed = error or body.get("error")
    if failed or response.get("status_code", 200) != 200:
        return {}, str(
            text_of((failed or {}).get("message"))
            or f"the request failed ({response.get('status_code')})"
        )
    choice = first_of(body.get("choices")) or {}
    message = choice.get("message") or {}
    if message.get("refusal"):
        return {}, f"refusal: {message['refusal']}"
    text = text_of(message.get("content")) or text_of(
        [one for one in body.get("output") or () if one.get("content")]
    )
    values = verdicts_of(text or "")
    cut = choice.get("finish_reason") == "length" or body.get("status") == "incomplete"
    if values and not (cut and None in values):
        return values, None
    return {}, (
        "the answer was cut"
        if cut
        else f"the answer holds no verdict: {brief(text or '', 80)}"
    )


def _confidence(body: Mapping[str, Any], verdict: Any) -> float | None:
    """The probability of the token that is the verdict, where the answer has log-probabilities."""
    choice = first_of(body.get("choices")) or {}
    tokens = (choice.get("logprobs") or {}).get("content") or ()
    same = [
        token for token in tokens if str(token.get("token")).strip() == str(verdict)
    ]
    return math.exp(min(0.0, float(same[-1]["logprob"]))) if same else None


READER = Reader(
    "the output of a batch",
    _claims,
    records,
    _rows,
    About(
        tool="OpenAI batch",
        file="the output file of a batch",
        verdict=(
            "the number or word of the answer, the fields of its JSON, or what it ends in: "
            "`[[B]]`, `Score: 4`"
        ),
        label="-",
        fixture="by the types of its client (3.57.0); no server was asked",
    ),
)
