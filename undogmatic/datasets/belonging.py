"""Finds which items belong together: what was sampled is the group, and tests and intervals take
groups as units.

What a dataset says of its items (pairs, copies that were made of one, a column of groups) and what
their texts show (copies, near-copies) are joined, as they are of the rows of a verdict table
(`datasets.together`).
"""

import weakref
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.datasets.together import heads_of
from undogmatic.records.records import TYPED_GROUP, Item
from undogmatic.safety.spool import Blocks, many
from undogmatic.stats.surface import (
    BANDS,
    SIGNATURE,
    alike,
    banded,
    copies,
    enough,
    fallen_together,
    letters,
    signatures,
    without_shared,
)

TOGETHER = ("group", "precedent", "source")
"""Metadata that says that texts belong together: those with the same value are one unit."""

EDITED = "edit"
"""Metadata of texts and their edited copies (`dataset=instrument`)."""

Mark = tuple[str, object]
"""What ties a text, and to what: texts with the same mark belong together."""


class Group(NamedTuple):
    """Texts that count as one. `ties` says by what they belong together: "pair", "parent",
    "copies", a key of TOGETHER; `copied` are those that are copies or near-copies of one that
    nothing else ties to them; the first are not tied to one another otherwise."""

    name: str
    ids: tuple[str, ...]
    ties: tuple[str, ...]
    copied: tuple[str, ...]


def groups_of(items: Sequence[Item]) -> Mapping[str, str]:
    """Item id -> name of its group. Texts of one pair are together, of one parent, of one value of
    a key of TOGETHER, and texts that are copies or near-copies (`stats.surface.copies`) of one
    another."""
    tied, _ = grouped(items)
    named = _Named()
    for group in tied:
        named.update(dict.fromkeys(group.ids, group.name))
    return named


class _Named(dict[str, str]):
    """The groups by item, without those that stand alone: of a million items most do."""

    def __missing__(self, name: str) -> str:
        return f"item {name}"  # it stands alone


Grouped = tuple[list[Group], int]
"""The groups of several texts, and how many texts stand alone."""


def grouped(items: Sequence[Item]) -> Grouped:
    """The groups of `groups`, and how many texts besides stand alone. Of many items, which are read
    when they are asked for, those that stand alone are found first, and only the others are held.
    """
    if not many(items):
        return groups(items), 0
    if _last:
        reference, answer = _last[0]
        if reference() is items:
            return answer
    varied = _varied(items)
    places = np.flatnonzero(_tied(items, varied)).tolist()
    tied = [items[place] for place in places]
    n_alone = len(items) - len(tied)
    answer = groups(tied, varied), n_alone
    # A weak reference, or the items of a run that has ended could not be let go.
    _last[:] = [(weakref.ref(items), answer)]
    return answer


# Every part of a run asks the same of the same items, and of many of them it takes minutes.
_last: list[tuple[Any, Grouped]] = []


def _tied(items: Sequence[Item], varied: Sequence[str]) -> NDArray[np.bool_]:
    """Which items may belong to others: by a mark that another bears, or as copies and
    near-copies."""
    tied = np.zeros(len(items), dtype=bool)
    first: dict[Mark, int] = {}
    parents = {item.parent for item in items}
    whole = _Forms()
    # Of one input the whole is that input.
    compared = varied if len(varied) > 1 else ()
    inputs = {name: _Forms() for name in compared}
    for place, item in enumerate(items):
        of_pair = item.pair is not None
        of_parent = item.parent is not None
        tied[place] = of_pair or of_parent or item.id in parents
        typed = item.metadata.get(TYPED_GROUP)
        for key in TOGETHER if typed is None else (TYPED_GROUP,):
            for value in _listed(item.metadata.get(key) or None):
                mark = (key, str(value))
                before = first.setdefault(mark, place)
                tied[[before, place]] |= before != place
        # What somebody named is final, so that the text is compared as one like no other.
        unlike = f"{place}"
        whole.add(_whole(item, varied) if typed is None else unlike)
        for name, form in inputs.items():
            text = item.inputs.get(name, "")
            form.add(text if typed is None else unlike)
    marks = whole.marks()
    # In order of their marks, copies stand beside one another.
    order = np.argsort(marks, kind="stable")
    in_order = marks[order]
    same = np.flatnonzero(in_order[1:] == in_order[:-1])
    tied[order[same]] = True
    tied[order[same + 1]] = True
    for form in (whole, *inputs.values()):
        form.tie_near_copies(tied)
    return tied


def _listed(value: Any) -> list[Any]:
    """What metadata say that a text belongs to: a text may be about two precedents."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


_PAIRS = 10_000  # that are compared at once


class _Forms:
    """What texts are compared by: a hash of the letters of each, and on disk the signatures of
    those that say enough.

    Signatures are taken of many texts at once, which costs a tenth of one by one.
    """

    _AT_ONCE = 500

    def __init__(self) -> None:
        # Eight bytes for a text: a list of Python's numbers would need several times as many.
        self._marks = array("q")
        self._places = array("q")
        self._signatures = Blocks(SIGNATURE * 4)
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Add a text behind the others."""
        self._marks.append(hash(letters(text)))
        self._waiting.append(text)
        if len(self._waiting) == self._AT_ONCE:
            self._sign()

    def _sign(self) -> None:
        """Take the signatures of the texts that wait for it."""
        begin = len(self._marks) - len(self._waiting)
        places, found = signatures(self._waiting)
        self._places.extend((begin + places).tolist())
        self._signatures.append(found.tobytes())
        self._waiting.clear()

    def marks(self) -> NDArray[np.int64]:
        """The hash of every text, which copies share."""
        return np.asarray(self._marks)

    def tie_near_copies(self, tied: NDArray[np.bool_]) -> None:
        """Note in `tied` which texts are nearly the same as another one."""
        self._sign()
        places = np.asarray(self._places)
        if len(places) < 2:
            return
        # Compared are those alone that have a band in common: all pairs of a million texts would
        # take years.
        for band in range(BANDS):
            one, other = fallen_together(self._banded(band))
            # What is tied already needs no second reason, and each comparison reads from disk.
            unknown = ~(tied[places[one]] & tied[places[other]])
            one = one[unknown]
            other = other[unknown]
            for start in range(0, len(one), _PAIRS):
                some = one[start : start + _PAIRS]
                others = other[start : start + _PAIRS]
                ours = self._signatures_at(some)
                theirs = self._signatures_at(others)
                near = alike(ours, theirs)
                tied[places[some[near]]] = True
                tied[places[others[near]]] = True

    def _banded(self, band: int) -> NDArray[Any]:
        """One band of all signatures, which are read from disk part by part."""
        parts = (
            np.frombuffer(part, np.uint32).reshape(-1, SIGNATURE)
            for part in self._signatures.parts()
        )
        return np.concatenate([banded(part, band) for part in parts])

    def _signatures_at(self, places: NDArray[np.intp]) -> NDArray[np.uint32]:
        """The signatures at these places among them, shape (n, SIGNATURE)."""
        blocks = map(self._signatures.at, places.tolist())
        signed = [np.frombuffer(block, np.uint32) for block in blocks]
        return np.stack(signed)


def _varied(items: Sequence[Item]) -> list[str]:
    """The inputs that are not the same in all items; all, where none is."""
    first: dict[str, str | None] = {}
    differ: set[str] = set()
    for n, item in enumerate(items):
        for name, text in item.inputs.items():
            # One that the first item lacks is not the same in all of them.
            first.setdefault(name, text if n == 0 else None)
        for name, text_of_first in first.items():
            if item.inputs.get(name) != text_of_first:
                differ.add(name)
    in_order = [name for name in first if name in differ]
    return in_order or list(first)


def _whole(item: Item, varied: Sequence[str]) -> str:
    """All that an item shows, in one text."""
    texts = [item.inputs[name] for name in varied if name in item.inputs]
    return "\n\n".join(texts)


def groups(items: Sequence[Item], varied: Sequence[str] | None = None) -> list[Group]:
    """The groups of the items, in order of appearance.

    Of several inputs those count for likeness that are not the same in all items, and of each what
    most of them do not share (`stats.surface.without_shared`): an instruction that stands in all or
    before all ties nothing. One that is long enough (`stats.surface.enough`), such as a source
    that was summarised several times, ties those items whose own it nearly is.
    """
    stated = [_stated(item) for item in items]
    # What somebody named is final, whatever texts show.
    copied = [
        [] if item.metadata.get(TYPED_GROUP) is not None else marks
        for item, marks in zip(items, _copied(items, varied), strict=True)
    ]
    every = [
        [*by_statement, *by_likeness]
        for by_statement, by_likeness in zip(stated, copied, strict=True)
    ]
    # Who would belong together if no text were read: what likeness adds is told apart from it.
    apart = heads_of(stated)
    members: dict[Mark, list[int]] = {}
    for place, head in enumerate(heads_of(every)):
        members.setdefault(head, []).append(place)
    crossing = _crossing(copied, apart)
    in_order = []
    for places in members.values():
        bearers = Counter(
            mark for place in places for mark in dict.fromkeys(every[place])
        )
        # What one text alone bears ties it to nothing.
        shared = [mark for mark, n_bearers in bearers.items() if n_bearers > 1]
        ties = tuple(dict.fromkeys(kind for kind, _ in shared))
        likenesses = [place for place in places if crossing & {*copied[place]}]
        in_order.append(
            Group(
                name=_name_of(items[places[0]]),
                ids=_ids(items, places),
                ties=ties,
                copied=_ids(items, _firsts_first(likenesses, apart)),
            )
        )
    return in_order


def _firsts_first(places: Sequence[int], apart: Sequence[Mark]) -> list[int]:
    """Put one of each of those that only their likeness ties before the rest of them."""
    first_of: dict[Mark, int] = {}
    for place in places:
        first_of.setdefault(apart[place], place)
    firsts = set(first_of.values())
    others = [place for place in places if place not in firsts]
    return [*first_of.values(), *others]


def _ids(items: Sequence[Item], places: Sequence[int]) -> tuple[str, ...]:
    return tuple(items[place].id for place in places)


def _name_of(first: Item) -> str:
    """What a group is called, by its first item."""
    # Texts of one pair that somebody put into two groups are two groups.
    if first.pair is None or TYPED_GROUP in first.metadata:
        return f"item {first.id}"
    return f"pair {first.pair}"


def _stated(item: Item) -> list[Mark]:
    """What a dataset says that an item belongs to."""
    typed = item.metadata.get(TYPED_GROUP)
    alone: Mark = ("parent", item.id)
    if typed is not None:
        # An empty cell in a column of groups says that the row belongs to none.
        return [(TYPED_GROUP, str(typed)) if typed else alone]
    marks = [alone]
    if item.pair is not None:
        marks.append(("pair", item.pair))
    if item.parent is not None:
        marks.append(("parent", item.parent))
    for key in TOGETHER:
        values = _listed(item.metadata.get(key))
        marks += [(key, str(value)) for value in values if value is not None]
    return marks


def _crossing(copied: Sequence[Sequence[Mark]], apart: Sequence[Mark]) -> set[Mark]:
    """The marks of likeness that tie what nothing else ties: texts of which each has another head
    in `apart`."""
    heads: dict[Mark, set[Mark]] = {}
    for marks, head in zip(copied, apart, strict=True):
        for mark in marks:
            heads.setdefault(mark, set()).add(head)
    return {mark for mark, bearers in heads.items() if len(bearers) > 1}


def _copied(items: Sequence[Item], given: Sequence[str] | None) -> list[list[Mark]]:
    """The marks of likeness that each item bears: that of its whole and those of its inputs."""
    varied = _varied(items) if given is None else given
    bare = {}
    for name in varied:
        bare[name] = _bare([item.inputs.get(name) for item in items])
    wholes = []
    for place in range(len(items)):
        texts = [bare[name][place] for name in varied]
        there = [text for text in texts if text is not None]
        wholes.append("\n\n".join(there))
    first_copies = copies(tuple(wholes))
    marks: list[list[Mark]] = [[("copies", first)] for first in first_copies]
    # Of one input the whole is that input.
    for name in varied if len(varied) > 1 else ():
        inputs = tuple(text or "" for text in bare[name])
        first_copies = copies(inputs)
        for of_item, first in zip(marks, first_copies, strict=True):
            # Short texts are the same by chance: "yes" ties no two answers.
            if enough(inputs[first]):
                of_item.append(("copies", (name, first)))
    return marks


def _bare(texts: Sequence[str | None]) -> list[str | None]:
    """The texts without what most of them share, as in a check (`datasets.together`)."""
    there = [text for text in texts if text is not None]
    rest = iter(without_shared(there))
    return [None if text is None else next(rest) for text in texts]
