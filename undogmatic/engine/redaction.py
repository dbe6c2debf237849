"""Takes judged texts, and what models said about them, out of judgments, where `tracking.redact` asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from undogmatic.records.records import Call, Failure, Item, Judgment, Verdict
from undogmatic.safety.secrets import redacted

# What a request or reply says about itself, as opposed to what it says.
_STRUCTURE = {"role", "type", "model", "finish_reason", "stop_reason", "object"}
# Details whose words are the program's own: names of rules, judges, sides and sources.
_OWN_WORDS = {"rules_fired", "rules_not_evaluated", "members", "compelling", "stronger_team", "sources"}


def redact(value: Any, key: str = "") -> Any:
    """Plain data with every text in it `redacted`, but for the words of the format itself (roles, model names)."""
    if isinstance(value, Mapping):
        return {k: redact(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [redact(v, key) for v in value]
    return redacted(value) if isinstance(value, str) and key not in _STRUCTURE else value


def redact_item(item: Item) -> Item:
    """The item with its text `redacted`; what is known of it stays."""
    return item.model_copy(update={"inputs": {"text": redacted(item.text)}})


def redact_judgment(judgment: Judgment) -> Judgment:
    """The judgment with every text from the item or the model `redacted`; scores, kinds and costs stay."""
    outcome = judgment.outcome
    hidden: Verdict | Failure
    if isinstance(outcome, Verdict):
        rationale = None if outcome.rationale is None else redacted(outcome.rationale)
        issues = tuple(map(redacted, outcome.issues))
        details = {k: v if k in _OWN_WORDS else redact(v) for k, v in outcome.details.items()}
        hidden = outcome.model_copy(update={"rationale": rationale, "issues": issues, "details": details})
    else:
        raw = None if outcome.raw is None else redacted(outcome.raw)
        hidden = outcome.model_copy(update={"message": redacted(outcome.message), "raw": raw})
    return judgment.model_copy(update={"outcome": hidden, "calls": tuple(map(_redact_call, judgment.calls))})


def _redact_call(call: Call) -> Call:
    error = call.error
    if error is not None:  # "transport: what the server said"
        kind, _, said = error.partition(": ")
        error = f"{kind}: {redacted(said)}"
    return call.model_copy(update={"request": redact(call.request), "reply": redact(call.reply), "error": error})
