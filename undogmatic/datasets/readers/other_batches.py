"""Reads the result files of batches of Anthropic and of Gemini, whose answers are verdicts, as
those of OpenAI are read: each line is put into that form first."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import openai_batch
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    first_of,
    records,
    text_of,
)

_CUT = ("max_tokens", "MAX_TOKENS")


def _of_anthropic(head: Head) -> bool:
    result = head.value.get("result") if head.has("custom_id", "result") else None
    return isinstance(result, Mapping) and "type" in result


def _of_gemini(head: Head) -> bool:
    answered = head.first("response", "candidates") is not None
    return answered or (head.has("key", "error") and not head.has("custom_id"))


def _line(
    item: str, model: Any, text: str | None, cut: bool, error: Any = None
) -> dict[str, Any]:
    """A line in the form of OpenAI."""
    choice = {
        "message": {"content": text},
        "finish_reason": "length" if cut else "stop",
    }
    return {
        "custom_id": item,
        "response": {"status_code": 200, "body": {"model": model, "choices": [choice]}},
        "error": error,
    }


def _anthropic(line: Mapping[str, Any], number: int) -> dict[str, Any]:
    result = line.get("result") or {}
    message, item = result.get("message") or {}, str(line.get("custom_id"))
    if result.get("type") != "succeeded":
        # An error lies within an error; a request that expired or was cancelled has none.
        error = (result.get("error") or {}).get("error") or result.get("error") or {}
        why = error.get("message") or f"the request was {result.get('type')}"
        return _line(item, None, None, False, {"message": why})
    parts = [one for one in message.get("content") or () if one.get("type") == "text"]
    cut = message.get("stop_reason") in _CUT
    return _line(item, message.get("model"), text_of(parts), cut)


def _gemini(line: Mapping[str, Any], number: int) -> dict[str, Any]:
    response = line.get("response") or {}
    item, model = str(line.get("key") or f"row {number}"), response.get("modelVersion")
    candidate = first_of(response.get("candidates")) or {}
    # What the model thought before it answered is no answer.
    parts = (candidate.get("content") or {}).get("parts") or ()
    told = "".join(
        str(one.get("text") or "") for one in parts if not one.get("thought")
    )
    error = line.get("error")
    if error is None and not candidate:
        blocked = (response.get("promptFeedback") or {}).get("blockReason")
        error = {
            "message": f"no answer ({blocked or line.get('status') or 'no candidate'})"
        }
    return _line(
        item, model, told or None, candidate.get("finishReason") in _CUT, error
    )


def _claims(head: Head) -> bool:
    return _of_anthropic(head) or _of_gemini(head)


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    plain = [
        (place, (_anthropic if "result" in line else _gemini)(line, number))
        for number, (place, line) in enumerate(given, 1)
    ]
    return openai_batch.READER.rows(plain, source, problems)  # type: ignore[return-value]


READER = Reader(
    "the results of a batch",
    _claims,
    records,
    _rows,
    About(
        tool="Anthropic and Gemini batch",
        file="the result file of a batch (JSON Lines)",
        verdict="as of OpenAI's batches",
        label="-",
        fixture="from their documented format, not seen with a file of their own",
    ),
)
