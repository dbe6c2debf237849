"""Compares a predicted hierarchy with the true one by metrics that need no judge: functions of trees and names.

Gate names are compared after `normalised`, as sets, the root included. docs/gating.md says what the definitions cannot
see.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.constructs.gating.hierarchy import Gate, depth, names, places
from undogmatic.records.records import Record
from undogmatic.safety.outside import read_yaml

_REPLACED = (
    ("positive", "+"),
    ("negative", "-"),
    (" cells", ""),
    (" cell", ""),
    ("lymphocytes", "lymphs"),
    ("monocytes", "monos"),
    ("neutrophils", "neuts"),
)
_PARENTHESES = re.compile(r"\([^()]*\)")
_SEVERAL = re.compile(r"[()\[\],;|]|\s/\s|\sor\s|\saka\s")
_GREEK = str.maketrans({"α": "a", "β": "b", "γ": "g", "δ": "d", "ε": "e", "κ": "k", "λ": "l", "ζ": "z"})
_MOST_PARTS = 3


class Overlap(NamedTuple):
    """Gates in common. All on 0-1; `matched` are the normalised names in both."""

    precision: float
    recall: float
    f1: float
    matched: tuple[str, ...]


class Recalled(NamedTuple):
    """Critical gates that were predicted, as a share, and the names of those that were not."""

    share: float
    missing: tuple[str, ...]


class Hallucinated(NamedTuple):
    """Predicted gates that the panel cannot show, as a share of the different names, and which they are; the rate is
    None where the panel names no marker."""

    rate: float | None
    gates: tuple[str, ...]


class Metrics(NamedTuple):
    """Everything about one prediction, on 0-1. `structure_accuracy` is None where no name is in both, and
    `hallucination_rate` where the panel names no marker."""

    f1: float
    precision: float
    recall: float
    structure_accuracy: float | None
    critical_recall: float
    hallucination_rate: float | None
    depth_accuracy: float
    missing_critical: tuple[str, ...]
    hallucinated: tuple[str, ...]


def normalised(name: str) -> str:
    """A gate's name as it is compared: lower case, without parentheses and what is in them, "positive" and "negative"
    as signs, without "cells", and with the usual short forms."""
    found = _PARENTHESES.sub("", name.lower())
    for long, short in _REPLACED:
        found = found.replace(long, short)
    return " ".join(found.split())


def overlap(predicted: Gate, truth: Gate) -> Overlap:
    """Precision, recall and F1 of gate names.

    Names that normalise alike match once, and precision divides by the different names as they were written: who names
    two gates "Singlets (FSC)" and "Singlets (SSC)" where the truth has one has one match and two names.
    """
    said, true = set(names(predicted)), set(names(truth))
    matched = {normalised(name) for name in said} & {normalised(name) for name in true}
    precision, recall = len(matched) / len(said), len(matched) / len(true)
    f1 = 0.0 if not matched else 2 * precision * recall / (precision + recall)
    return Overlap(precision, recall, f1, tuple(sorted(matched)))


def structure_accuracy(predicted: Gate, truth: Gate) -> float | None:
    """The share of the gates in both, under exactly the same name, that lie below the same gate (normalised).

    A root lies below nothing, so that two roots of one name agree. A name that stands in a hierarchy more than once is
    taken where it stands last. None where no name is in both.
    """
    said, true = _parents(predicted), _parents(truth)
    both = [name for name in said if name in true]
    if not both:
        return None
    return sum(said[name] == true[name] for name in both) / len(both)


def critical_recall(predicted: Gate, truth: Gate, panel: Sequence[str], known: Cells | None = None) -> Recalled:
    """The share of critical gates that were predicted, under their own name or a synonym.

    Critical are the gates that the truth flags; where it flags none: singlets, live and one gate per lineage with a
    marker in the panel.

    Args:
        predicted, truth: The hierarchies.
        panel: The markers.
        known: The tables; None: the shipped ones.
    """
    known = cells() if known is None else known
    said = {normalised(name) for name in names(predicted)}
    flagged = {place.gate.name for place in places(truth) if place.gate.critical}
    wanted = {name: known.same(normalised(name)) for name in flagged} or _usual(panel, known)
    missing = tuple(sorted(name for name, others in wanted.items() if not others & said))
    return Recalled(1 - len(missing) / len(wanted), missing)


def hallucination(predicted: Gate, panel: Sequence[str], known: Cells | None = None) -> Hallucinated:
    """The share of different gate names that this panel cannot show.

    A gate counts if no marker of the panel is part of its name and there is a + or - in it, or if it names a population
    none of whose markers is in the panel. Gates that clean (singlets, live, time, ...) never count. A hyphen is a -:
    names such as "Non-classical monocytes" count by this definition. A marker is known by each of its names ("CXCR5
    (CD185)"), however it is spelled: "γδ TCR" and TCRgd, TRAV1.2 and TRAV1-2.

    Args:
        predicted: The hierarchy.
        panel: The markers.
        known: The tables; None: the shipped ones.
    """
    known = cells() if known is None else known
    markers = spellings(panel)
    said = sorted(set(names(predicted)))
    if not markers:
        return Hallucinated(None, ())
    found = tuple(name for name in said if _impossible(name, markers, known))
    return Hallucinated(len(found) / len(said), found)


def depth_accuracy(predicted: Gate, truth: Gate) -> float:
    """1 - |depth - true depth| / true depth, at least 0. Of a truth that is a root alone: whether the prediction is."""
    said, true = depth(predicted), depth(truth)
    if true == 0:
        return float(said == 0)
    return max(0.0, 1 - abs(said - true) / true)


def metrics(predicted: Gate, truth: Gate, panel: Sequence[str]) -> Metrics:
    """All of them for one prediction; `panel` holds the markers."""
    common, critical, made_up = (
        overlap(predicted, truth),
        critical_recall(predicted, truth, panel),
        hallucination(predicted, panel),
    )
    return Metrics(
        common.f1,
        common.precision,
        common.recall,
        structure_accuracy(predicted, truth),
        critical.share,
        made_up.rate,
        depth_accuracy(predicted, truth),
        critical.missing,
        made_up.gates,
    )


def _parents(root: Gate) -> dict[str, str | None]:
    above = {place.gate.name: place.parent for place in places(root)}
    return {name: None if parent is None else normalised(parent) for name, parent in above.items()}


def _usual(panel: Sequence[str], known: Cells) -> dict[str, frozenset[str]]:
    markers = spellings(panel)
    wanted = {name: known.same(name) for name in known.always_critical}
    for lineage in known.lineages:
        if markers & spellings(lineage.markers):
            wanted[lineage.gate] = frozenset(lineage.names)
    return wanted


def spellings(panel: Iterable[str]) -> frozenset[str]:
    """The markers of a panel as they are looked for: each of their names in lower case, as it is written and without
    anything but letters and digits, its parts in any order."""
    found: set[str] = set()
    for marker in panel:
        low = marker.lower().strip()
        first, *others = _SEVERAL.split(low)
        # What stands in parentheses may be a dye: a further name of a marker has a number (CD185).
        for name in {low, first, *(each for each in others if len(each) > 2 and any(map(str.isdigit, each)))}:
            parts = [_compact(part) for part in name.split()]
            orders = itertools.permutations(parts) if len(parts) <= _MOST_PARTS else [parts]
            found |= {name.strip(), *("".join(order) for order in orders)}
    return frozenset(found - {""})


def _compact(name: str) -> str:
    """Letters and digits alone, Greek letters as Latin ones."""
    return "".join(c for c in name.lower().translate(_GREEK) if c.isalnum())


def _impossible(name: str, markers: frozenset[str], known: Cells) -> bool:
    low = name.lower()
    if any(word in low for word in known.technical):
        return False
    compact = _compact(low)
    shown = any(marker in low or marker in compact for marker in markers)
    if not shown and ("+" in low or "-" in low):
        return True
    plain = f" {' '.join(re.split(r'[^0-9a-zγδα/]+', normalised(name)))} "
    for population in known.populations:
        if any(f" {word} " in plain for word in population.words):
            return not spellings(population.markers) & markers
    return False


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
    read: Any = read_yaml(Path(__file__).with_name("cells.yaml"))
    return Cells.model_validate(read)
