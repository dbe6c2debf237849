"""A client of MLflow through which no secret leaves, whoever calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from undogmatic.safety.secrets import scrub

_THEIRS = ("mlflow", "opentelemetry")


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
