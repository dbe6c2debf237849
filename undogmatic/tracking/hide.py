"""What does not leave with a run: secrets, whoever calls MLflow with them; judged texts, if the user says so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from undogmatic.records import Call, Failure, Judgment, Verdict
from undogmatic.secrets import scrub

# What a request or reply says about itself, as opposed to what it says.
_STRUCTURE = {"role", "type", "model", "finish_reason", "stop_reason", "object"}

_THEIRS = ("mlflow", "opentelemetry")


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


def without_secrets(client: Any) -> Any:
    """The client of MLflow, whose every call is made with arguments that hold no secret."""
    return _Scrubbing(client)


class _Scrubbing:
    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            return found(*(_scrubbed(each) for each in given), **{k: _scrubbed(v) for k, v in named.items()})

        return call


def _scrubbed(value: Any) -> Any:
    """Plain data, tables and MLflow's own entities without secrets; an entity is changed where it is."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(k) if isinstance(k, str) else k: _scrubbed(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(map(_scrubbed, value)) if type(value) in (list, tuple, set) else value
    kind = type(value).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(value, "isetitem"):
        clean = value.copy(deep=False)
        for n in range(value.shape[1]):
            cells = value.iloc[:, n]
            changed = {row: _scrubbed(cell) for row, cell in enumerate(cells) if isinstance(cell, str | list | Mapping)}
            if any(cells.iloc[row] != cell for row, cell in changed.items()):
                kept = [changed.get(row, cell) for row, cell in enumerate(cells)]
                clean.isetitem(n, type(cells)(kept, index=value.index, dtype=cells.dtype))
        return clean
    if kind in _THEIRS and hasattr(value, "__dict__"):
        for name, held in vars(value).items():
            if isinstance(held, str | list | tuple | Mapping) or type(held).__module__.partition(".")[0] in _THEIRS:
                changed_one = _scrubbed(held)
                if changed_one is not held and changed_one != held:
                    object.__setattr__(value, name, changed_one)
    return value
