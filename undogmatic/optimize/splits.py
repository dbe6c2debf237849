"""Train, validation and test: whole groups of texts on one side each, and nothing that is known from two."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from undogmatic.analyses.independence import Group, groups
from undogmatic.errors import DataError
from undogmatic.records.records import Item, items_digest
from undogmatic.safety.outside import brief

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
