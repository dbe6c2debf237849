"""What must not leave with a run: secrets never, judged texts if the user says so."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from undogmatic.records import Call, Failure, Judgment, Verdict

HIDDEN = "***"
_SECRET_KEY = re.compile("key|token|secret|password", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
# What a request or reply says about itself, as opposed to what it says.
_STRUCTURE = {"role", "type", "model", "finish_reason", "stop_reason", "object"}


def scrub(value: Any, key: str = "") -> Any:
    """Plain data without secrets: a text under a key like `api_key` becomes `***`, as do credentials in an address.

    Only texts are hidden, so that `max_tokens: 400` stays readable. No secret should be in a config in the first place.
    """
    if isinstance(value, Mapping):
        return {k: scrub(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(v, key) for v in value]
    if isinstance(value, str) and value:
        return HIDDEN if _SECRET_KEY.search(key) else _CREDENTIALS.sub(f"{HIDDEN}@", value)
    return value


def redacted(text: str) -> str:
    """A text's hash (first 16 hex digits of its SHA-256) and length: enough to recognise it, not to read it."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]} ({len(text)} characters)"


def redact(value: Any, key: str = "") -> Any:
    """Plain data with every text in it `redacted`, but for the words of the format itself (roles, model names)."""
    if isinstance(value, Mapping):
        return {k: redact(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [redact(v, key) for v in value]
    return redacted(value) if isinstance(value, str) and key not in _STRUCTURE else value


def redact_judgment(judgment: Judgment) -> Judgment:
    """The judgment with every text from the item or the model `redacted`; scores, kinds and costs stay."""
    outcome = judgment.outcome
    hidden: Verdict | Failure
    if isinstance(outcome, Verdict):
        rationale = None if outcome.rationale is None else redacted(outcome.rationale)
        issues, details = tuple(map(redacted, outcome.issues)), redact(outcome.details)
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
