"""Puts items on sides of which one may not know the other, such as training and test: whole groups
of items lie on one side each, and every side has something of every stratum."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from undogmatic.datasets.belonging import Group, groups
from undogmatic.errors import DataError
from undogmatic.records.records import Item
from undogmatic.safety.outside import brief

TIES = {"copies": "copies or near-copies, perhaps by way of other texts"}


def deal(
    items: Sequence[Item], shares: Mapping[str, float], rng: np.random.Generator
) -> dict[str, list[Item]]:
    """Deal items to sides by their groups (`datasets.belonging`), alike in every stratum.

    A stratum is the conditions in a group and the third of the labels in which its mean lies.
    Groups go, in an order that is random within each stratum, to the side that lacks most of its
    share.

    Args:
        shares: Of the items, by side; they sum to 1.
    Returns:
        The items of every side, in their order in `items`.
    """
    side_of: dict[str, str] = {}
    counts = dict.fromkeys(shares, 0.0)
    for group in _ordered(items, rng):
        size = len(group.ids)
        total = sum(counts.values()) + size
        lacking = {}
        for name, share in shares.items():
            lacking[name] = share * total - counts[name]
        side = max(lacking, key=lacking.__getitem__)
        counts[side] += size
        side_of |= dict.fromkeys(group.ids, side)
    sides: dict[str, list[Item]] = {name: [] for name in shares}
    for item in items:
        sides[side_of[item.id]].append(item)
    return sides


def some(items: Sequence[Item], most: int, rng: np.random.Generator) -> list[Item]:
    """At most about so many items: whole groups, spread evenly over the strata."""
    ordered = _ordered(items, rng)
    if len(items) <= most:
        return list(items)
    n_groups = len(ordered)
    # As many groups as hold about so many items, if groups are of like size.
    wanted = max(1, round(n_groups * most / len(items)))
    places = np.linspace(0, n_groups - 1, wanted).round()
    kept: set[str] = set()
    for place in places.astype(int):
        kept.update(ordered[place].ids)
    return [item for item in items if item.id in kept]


def blocks(
    items: Sequence[Item], size: int, rng: np.random.Generator
) -> list[list[Item]]:
    """Items dealt into blocks of `size` or a few more, each with some of every stratum."""
    by_id = {item.id: item for item in items}
    ordered = []
    for group in _ordered(items, rng):
        ordered += [by_id[id_] for id_ in group.ids]
    count = max(1, len(ordered) // size)
    # Every `count`-th item: those of one stratum stand beside each other in the order.
    return [ordered[start::count] for start in range(count)]


def apart(items: Sequence[Item], kept: Sequence[Item]) -> list[Item]:
    """Those of the items that belong together with none of `kept`."""
    named, tied = _ties(items, kept)
    taken = {id_ for group in tied for id_ in group.ids}
    by_name = zip(items, named, strict=True)
    return [item for item, name in by_name if name not in taken]


def check_leaks(
    development: Sequence[Item], test: Sequence[Item], way: str = ""
) -> None:
    """Raise DataError where texts that are tested belong together with texts that were seen before:
    the same pair, precedent or source, a copy, or a near-copy. `way` is a further one out of it."""
    named, leaks = _ties(development, test)
    if not leaks:
        return
    shown = leaks[0]
    tested = next(id_ for id_ in shown.ids if id_ not in named)
    # The name may be one that was made up; the user knows the item by its own id.
    by_name = zip(development, named, strict=True)
    seen = next(item.id for item, name in by_name if name in shown.ids)
    ties = ", ".join(TIES.get(tie, tie) for tie in shown.ties)
    n_leaks = len(leaks)
    lie = "groups of texts lie" if n_leaks > 1 else "group of texts lies"
    sentence = (
        f"{n_leaks} {lie} on both sides of the split, so the test would be of what was seen"
        f" before: test text {brief(tested)} and development text {brief(seen)} ({ties}). Take"
        f" these out of one side. {way}"
    )
    raise DataError(sentence.strip())


def _ties(
    items: Sequence[Item], others: Sequence[Item]
) -> tuple[dict[str, Item], list[Group]]:
    """The items by names that no other item has (two files may number alike, and then an id says
    nothing of a text), and the groups that hold some of both."""
    other_ids = {item.id for item in others}
    named: dict[str, Item] = {}
    for n, item in enumerate(items):
        name = item.id
        while name in other_ids or name in named:
            name = f"{n}, {name}"
        named[name] = item if name == item.id else item.model_copy(update={"id": name})
    tied = []
    for group in groups([*named.values(), *others]):
        has_item = not named.keys().isdisjoint(group.ids)
        has_other = not other_ids.isdisjoint(group.ids)
        if has_item and has_other:
            tied.append(group)
    return named, tied


def _ordered(items: Sequence[Item], rng: np.random.Generator) -> list[Group]:
    """The groups, stratum by stratum, in random order within each."""
    by_id = {item.id: item for item in items}
    labels = _labels(items)
    # Without labels there is one third, and conditions alone make strata.
    thirds = np.zeros(0)
    if labels:
        thirds = np.quantile(labels, [1 / 3, 2 / 3])
    strata: dict[str, list[Group]] = defaultdict(list)
    for group in groups(list(items)):
        members = [by_id[id_] for id_ in group.ids]
        conditions = sorted({str(item.condition) for item in members})
        labels_inside = _labels(members)
        third = -1
        if labels_inside:
            mean = np.mean(labels_inside)
            third = int(np.searchsorted(thirds, mean))
        stratum = json.dumps([conditions, third])
        strata[stratum].append(group)
    ordered = []
    # Sorted, because what is drawn may hang on the seed alone and not on the order of the file.
    for _, alike in sorted(strata.items()):
        places = rng.permutation(len(alike))
        ordered += [alike[place] for place in places]
    return ordered


def _labels(items: Sequence[Item]) -> list[float]:
    """The labels of those items that have one."""
    return [item.label for item in items if item.label is not None]
