"""The tables of `cells.yaml`: names of one gate, lineages and populations, as the metrics read them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from undogmatic.records.records import Record
from undogmatic.safety.outside import read_yaml


class Lineage(Record):
    """A lineage: the name of its gate, the markers that bring it into a panel, and the names it goes by."""

    gate: str
    markers: tuple[str, ...]
    names: tuple[str, ...]


class Population(Record):
    """Words that name a population, and markers of which one must be in the panel."""

    words: tuple[str, ...]
    markers: tuple[str, ...]


class Cells(Record):
    """What is known of gates and cells; all names are normalised."""

    synonyms: tuple[tuple[str, ...], ...]
    technical: tuple[str, ...]
    always_critical: tuple[str, ...]
    lineages: tuple[Lineage, ...]
    populations: tuple[Population, ...]

    def same(self, name: str) -> frozenset[str]:
        """The names of the gate that is called `name`, itself among them."""
        return frozenset({name}).union(*(line for line in self.synonyms if name in line))


@functools.cache
def cells() -> Cells:
    """The shipped tables."""
    read: Any = read_yaml(Path(__file__).with_suffix(".yaml"))
    return Cells.model_validate(read)
