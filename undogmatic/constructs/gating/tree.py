"""Gating hierarchies as trees: gates with names, their order and depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

Defect = Literal["empty", "truncated", "cyclic", "too_deep", "too_wide", "not_a_hierarchy"]
DEFECTS: tuple[Defect, ...] = get_args(Defect)

MOST_LEVELS = 40
"""Steps from the root to a leaf; published hierarchies have about ten."""
MOST_GATES = 1_000
LONGEST_GATE = 200
"""Characters of a gate's name; what is longer is prose."""


class Malformed(ValueError):
    """A prediction that is no hierarchy.

    Attributes:
        defect: What is wrong with it; reports count by it.
    """

    def __init__(self, defect: Defect, message: str) -> None:
        super().__init__(f"{defect}: {message}")
        self.defect = defect


class Gate(NamedTuple):
    """A gate with those below it. `critical` is whether an expert cannot do without it; None: nobody has said."""

    name: str
    children: tuple[Gate, ...] = ()
    critical: bool | None = None


class Place(NamedTuple):
    """A gate in its hierarchy: the name of the gate above it (None: the root) and its level, the root's being 0."""

    gate: Gate
    parent: str | None
    level: int


def places(root: Gate) -> Iterator[Place]:
    """Every gate from the root down, each before those below it, in their order."""
    waiting = [Place(root, None, 0)]
    while waiting:
        place = waiting.pop()
        yield place
        below = (Place(child, place.gate.name, place.level + 1) for child in reversed(place.gate.children))
        waiting.extend(below)


def names(root: Gate) -> list[str]:
    """The names of all gates from the root down, repetitions included."""
    return [place.gate.name for place in places(root)]


def depth(root: Gate) -> int:
    """Steps from the root to the deepest leaf; 0 for a root alone."""
    return max(place.level for place in places(root))


def outline(root: Gate) -> str:
    """The hierarchy as text: a gate per line, two spaces further in than the one above it."""
    return "\n".join(f"{'  ' * place.level}{place.gate.name}" for place in places(root))
