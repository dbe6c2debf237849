"""Secrets: what is one, and how it is kept out of whatever the program writes or prints.

Two rules. By value: a secret that the program has read (`keep`) is replaced in every text, in whichever encoding it
comes back. By name: a text under a key such as `api_key`, and the user part of an address, are replaced whatever they
hold. Every sink applies both: `files` for the disk, the tracker for MLflow, `guarded` for the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
SHORTEST = 8
"""Shorter values, "EMPTY" or "none" as a stand-in, are no secrets and must not be cut out of ordinary text."""

_SECRET_KEY = re.compile("key|token|secret|password", re.IGNORECASE)
_CREDENTIALS = re.compile(r"://[^/@\s\"'\\<>]+@")  # within one value, where the text is JSON
_kept: dict[str, tuple[str, re.Pattern[str]]] = {}


def keep(value: str, name: str) -> None:
    """From now on `value` is written nowhere; `<name>` stands in its place."""
    if len(value) >= SHORTEST and value not in _kept:
        _kept[value] = (f"<{name}>", _in_any_encoding(value))


def scrub(text: str) -> str:
    """The text without secrets that were kept, and without credentials in addresses."""
    for value, (shown, anyhow) in _kept.items():
        if value in text:
            text = text.replace(value, shown)
        if any(mark in text for mark in ("\\", "%", "&")):
            text = anyhow.sub(shown, text)
    return _CREDENTIALS.sub(f"://{HIDDEN}@", text) if "://" in text else text


def scrub_data(value: Any, key: str = "") -> Any:
    """Plain data without secrets: as `scrub`, and a text under a key like `api_key` becomes `***`.

    Only texts are hidden, so that `max_tokens: 400` stays readable.
    """
    if isinstance(value, Mapping):
        return {k: scrub_data(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_data(v, key) for v in value]
    if isinstance(value, str) and value:
        return HIDDEN if _SECRET_KEY.search(key) else scrub(value)
    return value


def _in_any_encoding(value: str) -> re.Pattern[str]:
    """The value with each character as it is, escaped for JSON or HTML, or percent-encoded."""
    return re.compile(
        "".join(
            rf"(?:\\*{re.escape(c)}|\\+u00{ord(c):02x}|%(?:25)*{ord(c):02x}|&#(?:x0*{ord(c):x}|0*{ord(c)});)"
            for c in value
        ),
        re.IGNORECASE,
    )
