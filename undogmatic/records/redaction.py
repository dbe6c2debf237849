"""Hides texts of items and models where nothing that was judged may be kept, and leaves what is
known of them: scores, kinds of failure, costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from undogmatic.records.records import Item, Judgment, Verdict
from undogmatic.safety.secrets import redacted

# What a request or reply says about itself, as opposed to what it says.
_STRUCTURE = {"role", "type", "model", "finish_reason", "stop_reason", "object"}
# Details whose words are the program's own: names of rules, judges, sides and sources.
_OWN_WORDS = {
    "rules_fired",
    "rules_not_evaluated",
    "members",
    "compelling",
    "stronger_team",
    "sources",
}


def redact(value: Any, key: str = "") -> Any:
    """Plain data with every text in it `redacted`, but for the words of the format itself (roles,
    model names)."""
    if isinstance(value, Mapping):
        return {k: redact(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [redact(v, key) for v in value]
    return (
        redacted(value) if isinstance(value, str) and key not in _STRUCTURE else value
    )


def redact_item(item: Item) -> Item:
    """The item with its text `redacted`; what is known of it stays."""
    return item.model_copy(update={"inputs": {"text": redacted(item.text)}})


def redact_judgment(judgment: Judgment) -> Judgment:
    """The judgment with every text from the item or the model `redacted`; scores, kinds and costs
    stay."""
    outcome = judgment.outcome
    if isinstance(outcome, Verdict):
        details = {
            k: v if k in _OWN_WORDS else redact(v) for k, v in outcome.details.items()
        }
        hidden = {
            "rationale": redact(outcome.rationale),
            "issues": (*redact(outcome.issues),),
            "details": details,
        }
    else:
        hidden = {"message": redact(outcome.message), "raw": redact(outcome.raw)}
    calls = []
    for call in judgment.calls:
        # "transport: what the server said"
        kind, _, text = (call.error or "").partition(": ")
        error = None if call.error is None else f"{kind}: {redacted(text)}"
        sent = {
            "request": redact(call.request),
            "reply": redact(call.reply),
            "error": error,
        }
        calls.append(call.model_copy(update=sent))
    return judgment.model_copy(
        update={"outcome": outcome.model_copy(update=hidden), "calls": tuple(calls)}
    )
