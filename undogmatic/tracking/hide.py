"""What does not leave with a run if the user says so: judged texts. (Secrets never do: `undogmatic.secrets`.)"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from undogmatic.records import Call, Failure, Judgment, Verdict

# What a request or reply says about itself, as opposed to what it says.
_STRUCTURE = {"role", "type", "model", "finish_reason", "stop_reason", "object"}


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
