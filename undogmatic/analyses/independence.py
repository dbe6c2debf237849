"""Which texts belong together: what was sampled is the group, and every test and interval takes groups as its units."""

from __future__ import annotations

from collections.abc import Sequence

from undogmatic.records import Item

TOGETHER = ("group", "precedent", "source")
"""Metadata that says that texts belong together: those with the same value are one unit."""


def groups_of(items: Sequence[Item]) -> dict[str, str]:
    """Item id -> name of its group. Texts of one pair are together, of one parent, of one value of a key of TOGETHER,
    and texts that are the same."""
    heads: dict[str, str] = {}

    def head(name: str) -> str:
        while heads.setdefault(name, name) != name:
            heads[name] = heads[heads[name]]
            name = heads[name]
        return name

    for item in items:
        own = f"item {item.id}"
        marks = [f"text {item.text}"]
        marks += [f"pair {item.pair}"] if item.pair is not None else []
        marks += [f"item {item.parent}"] if item.parent is not None else []
        marks += [f"{key} {value}" for key in TOGETHER for value in _listed(item.metadata.get(key))]
        for mark in marks:
            heads[head(mark)] = head(own)
    first: dict[str, str] = {}
    return {item.id: first.setdefault(head(f"item {item.id}"), _name(item)) for item in items}


def _listed(given: object) -> list[object]:
    """A value, or each of several: a text may be about two precedents."""
    return [value for value in (given if isinstance(given, list) else [given]) if value is not None]


def _name(item: Item) -> str:
    return f"pair {item.pair}" if item.pair is not None else f"item {item.id}"
