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
    return _Named((id_, group.name) for group in grouped(items)[0] for id_ in group.ids)


class _Named(dict[str, str]):
    """The groups by item, without those that stand alone: of a million items most do."""

    def __missing__(self, name: str) -> str:
        return f"item {name}"  # it stands alone


def grouped(items: Sequence[Item]) -> tuple[list[Group], int]:
    """The groups of `groups`, and how many texts besides stand alone. Of many items, which are read
    when they are asked for, those that stand alone are found first, and only the others are held.
    """
    if not many(items):
        return groups(items), 0
    if _last and _last[0][0]() is items:
        return _last[0][1]
    varied = _varied(items)
    tied = np.flatnonzero(_tied(items, varied)).tolist()
    answer = groups([items[place] for place in tied], varied), len(items) - len(tied)
    _last[:] = [(weakref.ref(items), answer)]
    return answer


# Every part of a run asks the same of the same items, and of many of them it takes minutes.
_last: list[tuple[Any, tuple[list[Group], int]]] = []


def _tied(items: Sequence[Item], varied: Sequence[str]) -> NDArray[np.bool_]:
    """Which items may belong to others: by a mark that another bears, or as copies and
    near-copies."""
    tied = np.zeros(len(items), dtype=bool)
    first: dict[Mark, int] = {}
    parents = {item.parent for item in items if item.parent is not None}
    whole = _Forms()
    # Of one input the whole is that input.
    inputs = {name: _Forms() for name in varied} if len(varied) > 1 else {}
    for place, item in enumerate(items):
        is_parent = item.id in parents
        tied[place] = item.pair is not None or item.parent is not None or is_parent
        typed = item.metadata.get(TYPED_GROUP)
        for key in TOGETHER if typed is None else (TYPED_GROUP,):
            for value in _listed(item.metadata.get(key) or None):
                before = first.setdefault((key, str(value)), place)
                tied[[before, place]] |= before != place
        # What somebody named is final, so that the text is compared as one like no other.
        whole.add(_whole(item, varied) if typed is None else f"{place}")
        for name, form in inputs.items():
            form.add(item.inputs.get(name, "") if typed is None else f"{place}")
    marks = whole.marks()
    order = np.argsort(marks, kind="stable")
    same = np.flatnonzero(marks[order[1:]] == marks[order[:-1]])
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
        self._marks, self._places = array("q"), array("q")
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
            known = tied[places[one]] & tied[places[other]]
            one, other = one[~known], other[~known]
            for start in range(0, len(one), _PAIRS):
                some = one[start : start + _PAIRS]
                others = other[start : start + _PAIRS]
                near = alike(self._signatures_at(some), self._signatures_at(others))
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
        blocks = [self._signatures.at(place) for place in places.tolist()]
        return np.stack([np.frombuffer(block, np.uint32) for block in blocks])


def _varied(items: Sequence[Item]) -> list[str]:
    """The inputs that are not the same in all items; all, where none is."""
    first: dict[str, str | None] = {}
    differ: set[str] = set()
    for n, item in enumerate(items):
        for name, text in item.inputs.items():
            # One that the first item lacks is not the same in all of them.
            first.setdefault(name, text if n == 0 else None)
        differ |= {name for name in first if item.inputs.get(name) != first[name]}
    return [name for name in first if name in differ] or list(first)


def _whole(item: Item, varied: Sequence[str]) -> str:
    """All that an item shows, in one text."""
    return "\n\n".join(item.inputs[name] for name in varied if name in item.inputs)


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
    every = [[*one, *other] for one, other in zip(stated, copied, strict=True)]
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
        ties = dict.fromkeys(kind for (kind, _), n in bearers.items() if n > 1)
        likenesses = [place for place in places if crossing & {*copied[place]}]
        # One of each of those that only their likeness ties comes before the rest of them.
        first_of = {apart[place]: place for place in reversed(likenesses)}
        likenesses.sort(key=lambda place: first_of[apart[place]] != place)
        first = items[places[0]]
        # Texts of one pair that somebody put into two groups are two groups.
        pair = None if TYPED_GROUP in first.metadata else first.pair
        name = f"item {first.id}" if pair is None else f"pair {pair}"
        ids = tuple(items[place].id for place in places)
        copied_ids = tuple(items[place].id for place in likenesses)
        in_order.append(Group(name, ids, tuple(ties), copied_ids))
    return in_order


def _stated(item: Item) -> list[Mark]:
    """What a dataset says that an item belongs to."""
    typed = item.metadata.get(TYPED_GROUP)
    if typed is not None:
        return [(TYPED_GROUP, str(typed)) if typed else ("parent", item.id)]
    marks = [("parent", item.id), ("pair", item.pair), ("parent", item.parent)]
    for key in TOGETHER:
        marks += [(key, value) for value in _listed(item.metadata.get(key))]
    return [(kind, str(value)) for kind, value in marks if value is not None]


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
    bare = {name: _bare([item.inputs.get(name) for item in items]) for name in varied}
    wholes = []
    for place in range(len(items)):
        texts = [bare[name][place] for name in varied]
        wholes.append("\n\n".join(text for text in texts if text is not None))
    marks: list[list[Mark]] = [[("copies", place)] for place in copies(tuple(wholes))]
    # Of one input the whole is that input.
    for name in varied if len(varied) > 1 else ():
        inputs = tuple(text or "" for text in bare[name])
        for own, place in zip(marks, copies(inputs), strict=True):
            if enough(inputs[place]):
                own.append(("copies", (name, place)))
    return marks


def _bare(texts: Sequence[str | None]) -> list[str | None]:
    """The texts without what most of them share, as in a check (`datasets.together`)."""
    rest = iter(without_shared([text for text in texts if text is not None]))
    return [None if text is None else next(rest) for text in texts]
