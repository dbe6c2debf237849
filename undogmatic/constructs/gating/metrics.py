"""Compares a predicted hierarchy with the true one by metrics that need no judge: functions of
trees and names.

Gate names are compared after `normalised`, as sets, the root included; docs/gating.md tells what
that cannot see.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from undogmatic.constructs.gating.hierarchy import (
    Gate,
    depth,
    names,
    places,
    plain_signs,
)
from undogmatic.records.records import Record
from undogmatic.safety.outside import read_yaml

_REPLACED = {"positive": "+", "negative": "-", " cells": "", " cell": ""}
_REPLACED |= {"lymphocytes": "lymphs", "monocytes": "monos", "neutrophils": "neuts"}
_PARENTHESES = re.compile(r"\([^()]*\)")
_SEVERAL = re.compile(r"[()\[\],;|]|\s/\s|\sor\s|\saka\s")
_GREEK = str.maketrans(
    {"α": "a", "β": "b", "γ": "g", "δ": "d", "ε": "e", "κ": "k", "λ": "l", "ζ": "z"}
)
_MOST_PARTS = 3


class Metrics(NamedTuple):
    """Everything about one prediction, on 0-1. `structure_accuracy` is None where no name is in
    both, and `hallucination_rate` where the panel names no marker."""

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
    """A gate's name as it is compared: lower case, without parentheses and what is in them,
    "positive" and "negative" as signs, without "cells", and with the usual short forms."""
    short = _PARENTHESES.sub("", name.lower())
    for word, form in _REPLACED.items():
        short = short.replace(word, form)
    return " ".join(short.split())


def overlap(predicted: Gate, truth: Gate) -> tuple[float, float, float]:
    """F1, precision and recall of gate names.

    Names that normalise alike match once, and precision divides by the different names as they were
    written: who names two gates "Singlets (FSC)" and "Singlets (SSC)" where the truth has one has
    one match and two names.
    """
    said, true = set(names(predicted)), set(names(truth))
    matched = set(map(normalised, said)) & set(map(normalised, true))
    precision, recall = len(matched) / len(said), len(matched) / len(true)
    return (
        0.0 if not matched else 2 * precision * recall / (precision + recall),
        precision,
        recall,
    )


def structure_accuracy(predicted: Gate, truth: Gate) -> float | None:
    """The share of the gates in both, under exactly the same name, that lie below the same gate
    (normalised).

    A root lies below nothing, so that two roots of one name agree. A name that stands in a
    hierarchy more than once is taken where it stands last. None where no name is in both.
    """
    predicted_below, below = (
        {
            place.gate.name: None if place.parent is None else normalised(place.parent)
            for place in places(root)
        }
        for root in (predicted, truth)
    )
    agree = [
        above == below[name] for name, above in predicted_below.items() if name in below
    ]
    return sum(agree) / len(agree) if agree else None


def critical_recall(
    predicted: Gate, truth: Gate, panel: Sequence[str], known: Cells | None = None
) -> tuple[float, tuple[str, ...]]:
    """The share of critical gates that were predicted, under their own name or a synonym, and those
    that were not.

    Critical are the gates that the truth flags; where it flags none: singlets, live and one gate
    per lineage with a marker in the panel. `known` are the tables; None: the shipped ones.
    """
    known = cells() if known is None else known
    flagged = [place.gate.name for place in places(truth) if place.gate.critical]
    wanted = {name: known.same(normalised(name)) for name in flagged}
    if not wanted:
        markers = spellings(panel)
        wanted = {name: known.same(name) for name in known.always_critical}
        shown = (
            lineage
            for lineage in known.lineages
            if markers & spellings(lineage.markers)
        )
        wanted |= {lineage.gate: frozenset(lineage.names) for lineage in shown}
    there = set(map(normalised, names(predicted)))
    missing = tuple(
        sorted(name for name, others in wanted.items() if not others & there)
    )
    return 1 - len(missing) / len(wanted), missing


def hallucination(
    predicted: Gate, panel: Sequence[str]
) -> tuple[float | None, tuple[str, ...]]:
    """The share of different gate names that this panel cannot show, and which they are; None where
    the panel names no marker.

    A gate counts if no marker of the panel is part of its name and it names one
    (`_names_a_marker`), or if it names a population none of whose markers is in the panel. Gates
    that clean (singlets, live, time, ...) never count. A marker is known by each of its names
    ("CXCR5 (CD185)"), however it is spelled: "γδ TCR" and TCRgd, TRAV1.2 and TRAV1-2.
    """
    markers, known = spellings(panel), cells()
    shown = markers | {
        name for name, brings in known.also_shown.items() if spellings(brings) & markers
    }

    def impossible(name: str) -> bool:
        low, compact = plain_signs(name).lower(), _compact(name)
        if any(word in low for word in known.technical):
            return False
        if _names_a_marker(low, known) and not any(
            marker in low or marker in compact for marker in shown
        ):
            return True
        plain = f" {' '.join(re.split(r'[^0-9a-zγδα/]+', normalised(name)))} "
        named = next(
            (
                each
                for each in known.populations
                if any(f" {word} " in plain for word in each.words)
            ),
            None,
        )
        return named is not None and not spellings(named.markers) & markers

    said = sorted(set(names(predicted)))
    unseen = tuple(filter(impossible, said)) if markers else ()
    return len(unseen) / len(said) if markers else None, unseen


_SIGN = re.compile(
    r"\+"
    # CD4-, CD4-/CD8-; in "Monocytes - classical" it is a dash
    r"|(?<!\s)-(?=$|[\s/,;:)\]&-])|\s-$"
    # CD4-negative
    r"|-(?=(?:neg(?:ative)?|pos(?:itive)?|hi(?:gh)?|lo(?:w)?|int|dim|bright)\b)"
    r"|(?<=[a-z0-9])-(?=[a-z]{2,}\d)"  # CD3-CD19
)
"""A + or -, and not the hyphen of a word ("Non-classical", "NKT-like", "Class-switched")."""
_NUMBERED = re.compile(r"(?<![a-z])([a-z]{2,})-\d")


def _names_a_marker(low: str, known: Cells) -> bool:
    """Whether a name in lower case has a sign, or a marker that is written with a hyphen: PD-1,
    IL-17A, HLA-DQ. The stems of populations that are numbered so (ILC-2, Th-17) name none."""
    numbered = {match[1] for match in _NUMBERED.finditer(low)} - set(known.numbered)
    families = (
        re.search(rf"(?<![a-z]){stem}-[a-z]", low) for stem in known.marker_families
    )
    return bool(_SIGN.search(low) or numbered or any(families))


def depth_accuracy(predicted: Gate, truth: Gate) -> float:
    """1 - |depth - true depth| / true depth, at least 0. Of a truth that is a root alone: whether
    the prediction is."""
    said, true = depth(predicted), depth(truth)
    return max(0.0, 1 - abs(said - true) / true) if true else float(said == 0)


def metrics(predicted: Gate, truth: Gate, panel: Sequence[str]) -> Metrics:
    """All of them for one prediction; `panel` holds the markers."""
    recall, missing = critical_recall(predicted, truth, panel)
    rate, hallucinated = hallucination(predicted, panel)
    common, structure = overlap(predicted, truth), structure_accuracy(predicted, truth)
    return Metrics(
        *common,
        structure,
        recall,
        rate,
        depth_accuracy(predicted, truth),
        missing,
        hallucinated,
    )


def spellings(panel: Iterable[str]) -> frozenset[str]:
    """The markers of a panel as they are looked for: each of their names in lower case, as it is
    written and without anything but letters and digits, its parts in any order."""
    spelled: set[str] = set()
    for low in (marker.lower().strip() for marker in panel):
        first, *others = _SEVERAL.split(low)
        # What stands in parentheses may be a dye: a further name of a marker has a number (CD185).
        for name in {
            low,
            first,
            *(each for each in others if len(each) > 2 and any(map(str.isdigit, each))),
        }:
            parts = [_compact(part) for part in name.split()]
            orders = (
                itertools.permutations(parts) if len(parts) <= _MOST_PARTS else [parts]
            )
            spelled |= {name.strip(), *map("".join, orders)}
    return frozenset(spelled - {""})


def _compact(name: str) -> str:
    """Letters and digits alone, Greek letters as Latin ones."""
    return "".join(c for c in name.lower().translate(_GREEK) if c.isalnum())


class CellLineage(Record):
    """A lineage: the name of its gate, the markers that bring it into a panel, and the names it
    goes by."""

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
    lineages: tuple[CellLineage, ...]
    populations: tuple[Population, ...]
    also_shown: dict[str, tuple[str, ...]]
    numbered: tuple[str, ...]
    marker_families: tuple[str, ...]

    def same(self, name: str) -> frozenset[str]:
        """The names of the gate that is called `name`, itself among them."""
        return frozenset({name}).union(
            *(line for line in self.synonyms if name in line)
        )


@functools.cache
def cells() -> Cells:
    """The shipped tables."""
    return Cells.model_validate(read_yaml(Path(__file__).with_name("cells.yaml")))
