"""Splits texts into train, validation and test, with nothing on two sides, and counts the looks at test texts.

Whole groups of texts lie on one side each. Each program that is judged on test texts because others were tried before
it is a further chance to be lucky: it is noted beside the runs, and the verdict's level falls from look to look.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from undogmatic.analyses.independence import Group, groups
from undogmatic.errors import DataError
from undogmatic.records.records import Item, digest, items_digest, text_mark
from undogmatic.safety import files
from undogmatic.safety.files import Log
from undogmatic.safety.outside import Unreadable, brief, json_value, read_lines

SIDES = ("train", "validation", "test")


class Splits(NamedTuple):
    """Items by side. Optimisers see `train` and `validation`; `test` is judged once they are done."""

    train: list[Item]
    validation: list[Item]
    test: list[Item]

    def form(self, seed: int) -> str:
        """What is written to the run's folder: ids and a digest of every side, and the seed that dealt them."""
        sides = {
            name: {"n": len(items), "digest": items_digest(items), "ids": [item.id for item in items]}
            for name, items in zip(SIDES, self, strict=True)
        }
        return json.dumps({"seed": seed, **sides}, indent=1, ensure_ascii=False) + "\n"


def deal(items: Sequence[Item], shares: Mapping[str, float], rng: np.random.Generator) -> dict[str, list[Item]]:
    """Deal items to sides by their groups (`analyses.independence`), alike in every stratum.

    A stratum is the conditions in a group and the third of the labels in which its mean lies. Groups go, in an order
    that is random within each stratum, to the side that lacks most of its share.

    Args:
        items: What is dealt.
        shares: Of the items, by side; they sum to 1.
        rng: The source of randomness.
    Returns:
        The items of every side, in their order in `items`.
    """
    side_of: dict[str, str] = {}
    counts = dict.fromkeys(shares, 0.0)
    for group in _ordered(items, rng):
        counts_wanted = {name: share * (sum(counts.values()) + len(group.ids)) for name, share in shares.items()}
        side = max(shares, key=lambda name: counts_wanted[name] - counts[name])
        counts[side] += len(group.ids)
        side_of |= dict.fromkeys(group.ids, side)
    return {name: [item for item in items if side_of[item.id] == name] for name in shares}


def some(items: Sequence[Item], most: int, rng: np.random.Generator) -> list[Item]:
    """At most about so many items: whole groups, spread evenly over the strata."""
    ordered = _ordered(items, rng)
    if len(items) <= most:
        return list(items)
    wanted = max(1, round(len(ordered) * most / len(items)))
    places = np.linspace(0, len(ordered) - 1, wanted).round().astype(int)
    kept = {id_ for place in places for id_ in ordered[place].ids}
    return [item for item in items if item.id in kept]


def blocks(items: Sequence[Item], size: int, rng: np.random.Generator) -> list[list[Item]]:
    """Items dealt into blocks of `size` or a few more, each with some of every stratum."""
    ordered = [id_ for group in _ordered(items, rng) for id_ in group.ids]
    count = max(1, len(ordered) // size)
    by_id = {item.id: item for item in items}
    return [[by_id[id_] for id_ in ordered[start::count]] for start in range(count)]


def apart(items: Sequence[Item], kept: Sequence[Item]) -> list[Item]:
    """Those of the items that belong together with none of `kept`."""
    taken, named = {item.id for item in kept}, _told_apart(items, kept)
    tied = {id_ for group in groups([*named.values(), *kept]) if taken & {*group.ids} for id_ in group.ids}
    return [item for item, name in zip(items, named, strict=True) if name not in tied]


def check_leaks(development: Sequence[Item], test: Sequence[Item]) -> None:
    """Raise DataError where texts that are tested belong together with texts that were seen before: the same pair,
    precedent or source, a copy, or a near-copy."""
    tested, named = {item.id for item in test}, _told_apart(development, test)
    found = groups([*named.values(), *test])
    leaks = [group for group in found if tested & {*group.ids} and named.keys() & {*group.ids}]
    if leaks:
        one = next(id_ for id_ in leaks[0].ids if id_ in tested)
        other = development[next(n for n, name in enumerate(named) if name in leaks[0].ids)].id
        raise DataError(
            f"{len(leaks)} {'groups of texts lie' if len(leaks) > 1 else 'group of texts lies'} on both sides of the "
            f"split, so the test would be of what was seen before: test text {brief(one)} and development text "
            f"{brief(other)} ({', '.join(leaks[0].ties)}). Take these out of one side. An optimisation of one file "
            "without a split of its own splits it by groups."
        )


def _told_apart(items: Sequence[Item], others: Sequence[Item]) -> dict[str, Item]:
    """The items by names that neither another of them nor one of the others has: two files may number alike, and then
    the same id says nothing of the texts."""
    taken, named = {item.id for item in others}, dict[str, Item]()
    for n, item in enumerate(items):
        name = item.id
        while name in taken:
            name = f"{n}, {name}"
        taken.add(name)
        named[name] = item if name == item.id else item.model_copy(update={"id": name})
    return named


def _ordered(items: Sequence[Item], rng: np.random.Generator) -> list[Group]:
    """The groups, stratum by stratum, in random order within each."""
    by_id = {item.id: item for item in items}
    labels = [item.label for item in items if item.label is not None]
    thirds = np.quantile(labels, [1 / 3, 2 / 3]) if labels else np.zeros(0)
    strata: dict[str, list[Group]] = defaultdict(list)
    for group in groups(list(items)):
        own = [by_id[id_] for id_ in group.ids]
        known = [item.label for item in own if item.label is not None]
        third = int(np.searchsorted(thirds, np.mean(known))) if known else -1
        conditions = sorted(Counter(str(item.condition) for item in own))
        strata[json.dumps([conditions, third])].append(group)
    return [own[place] for _, own in sorted(strata.items()) for place in rng.permutation(len(own))]


FILE = "looks.jsonl"


def place(folder: Path) -> Path:
    """Where looks are noted: in the folder `outputs` that the run lies in, else in the one above it."""
    root = next((parent for parent in folder.resolve().parents if parent.name == "outputs"), folder.resolve().parent)
    return root / FILE


def looked(folder: Path, test: Sequence[Item], construct: str, claim: Sequence[Any] | None) -> int:
    """Note a look at test texts and give its number among all that share a text with it, from 1.

    A look at some of the texts of an earlier one is a further look, as leaving texts out is one more way to be lucky.
    Nothing but the same claim on the same texts is the same look, however often it is made.

    Args:
        folder: Of the run.
        test: The test texts.
        construct: What is judged (rubric and criterion); another construct's looks are not counted.
        claim: What else the result hangs on: programs, metric. None where there is nothing to be lucky with: nothing
            is noted then, and the looks so far are counted.
    Raises:
        DataError, StorageError: The file cannot be read or written.
    """
    path = place(folder)
    texts = {text_mark(digest(item.inputs)) for item in test}
    if claim is None:
        return len(_looks(path, construct, texts))
    own = text_mark(digest([construct, sorted(texts), list(claim)]))
    if own not in _looks(path, construct, texts):
        note = {"look": own, "construct": construct, "texts": sorted(texts), "run": str(folder)}
        with Log(path, files.ALL) as log:
            log.append(json.dumps(note | {"at": time.strftime("%Y-%m-%dT%H:%M:%S")}))
    return list(_looks(path, construct, texts)).index(own) + 1  # read again: other runs may note theirs


def _looks(path: Path, construct: str, texts: Collection[str]) -> dict[str, None]:
    """The looks that share a text with these, in their order."""
    seen: dict[str, None] = {}
    if not path.is_file():
        return seen
    for number, line in read_lines(path):
        try:
            found = json_value(line)
            if found["construct"] == construct and not set(texts).isdisjoint(found["texts"]):
                seen[str(found["look"])] = None
        except (Unreadable, KeyError, TypeError) as error:
            raise DataError(
                f"{path}:{number}: no look at test texts ({error}). Delete the line; do not delete the file: it "
                "says how often test texts were looked at."
            ) from None
    return seen
