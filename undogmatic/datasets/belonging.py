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
    tied = np.flatnonzero(_tied(items, varied))
    found = (
        groups([items[place] for place in tied.tolist()], varied),
        len(items) - len(tied),
    )
    _last[:] = [(weakref.ref(items), found)]
    return found


_last: list[tuple[Any, tuple[list[Group], int]]] = []  # what was asked for last


def _tied(items: Sequence[Item], varied: Sequence[str]) -> NDArray[np.bool_]:
    """Which items may belong to others: by a mark that another bears, or as copies and
    near-copies."""
    tied, first = np.zeros(len(items), dtype=bool), dict[Mark, int]()
    parents = {item.parent for item in items if item.parent is not None}
    forms: dict[str | None, _Forms] = {}
    # the whole of an item, and each of its inputs
    for name in (None, *varied) if len(varied) > 1 else (None,):
        forms[name] = _Forms()
    for place, item in enumerate(items):
        tied[place] = (
            item.pair is not None or item.id in parents or item.parent is not None
        )
        typed = item.metadata.get(TYPED_GROUP)
        for key in TOGETHER if typed is None else (TYPED_GROUP,):
            value = item.metadata.get(key) or None
            for each in (
                value if isinstance(value, list) else [] if value is None else [value]
            ):
                before = first.setdefault((key, str(each)), place)
                tied[[before, place]] |= before != place
        for name, form in forms.items():
            if typed is not None:  # whatever else is alike
                form.add(f"{place}")
                continue
            form.add(
                item.inputs.get(name, "") if name is not None else _whole(item, varied)
            )
    for name, form in forms.items():
        values, places, signatures = form.found()
        order = np.argsort(values, kind="stable")
        same = values[order[1:]] == values[order[:-1]]
        if name is None:
            tied[order[1:][same]] = tied[order[:-1][same]] = True
        for band in range(BANDS if len(places) > 1 else 0):
            parts = (
                np.frombuffer(part, np.uint32).reshape(-1, SIGNATURE)
                for part in signatures.parts()
            )
            one, other = fallen_together(
                np.concatenate([banded(part, band) for part in parts])
            )
            open_ = ~(tied[places[one]] & tied[places[other]])
            one, other = one[open_], other[open_]
            for start in range(0, len(one), _PAIRS):
                rows = [
                    np.stack(
                        [
                            np.frombuffer(signatures.at(k), np.uint32)
                            for k in side[start : start + _PAIRS].tolist()
                        ]
                    )
                    for side in (one, other)
                ]
                near = alike(rows[0], rows[1])
                tied[places[one[start : start + _PAIRS][near]]] = tied[
                    places[other[start : start + _PAIRS][near]]
                ] = True
    return tied


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
        begin = len(self._marks) - len(self._waiting)
        places, found = signatures(self._waiting)
        self._places.extend((begin + places).tolist())
        self._signatures.append(found.tobytes())
        self._waiting.clear()

    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Blocks]:
        """The hash of every text, the places of those that say enough, and their signatures in that
        order."""
        self._sign()
        return np.asarray(self._marks), np.asarray(self._places), self._signatures


def _varied(items: Sequence[Item]) -> list[str]:
    """The inputs that are not the same in all items; all, where none is."""
    first, differ = dict[str, str | None](), dict[str, bool]()
    for n, item in enumerate(items):
        for name in [name for name in item.inputs if name not in first]:
            first[name], differ[name] = (
                (item.inputs[name], False) if n == 0 else (None, True)
            )
        for name, text in first.items():
            differ[name] = differ[name] or item.inputs.get(name) != text
    return [name for name in first if differ[name]] or list(first)


def _whole(item: Item, varied: Sequence[str]) -> str:
    return "\n\n".join(item.inputs[name] for name in varied if name in item.inputs)


def groups(items: Sequence[Item], varied: Sequence[str] | None = None) -> list[Group]:
    """The groups of the items, in order of appearance.

    Of several inputs those count for likeness that are not the same in all items, and of each what
    most of them do not share (`stats.surface.without_shared`): an instruction that stands in all or
    before all ties nothing. One that is long enough (`stats.surface.enough`), such as a source
    that was summarised several times, ties those items whose own it nearly is.
    """
    designed = []
    copied = _copied(items, varied)
    for place, item in enumerate(items):
        typed = item.metadata.get(TYPED_GROUP)
        if typed is not None:  # what somebody named is final
            designed.append(
                [(TYPED_GROUP, str(typed)) if typed else ("parent", item.id)]
            )
            copied[place] = []
            continue
        marks = [("parent", item.id), ("pair", item.pair), ("parent", item.parent)]
        for key in TOGETHER:  # a text may be about two precedents
            value = item.metadata.get(key)
            marks += [
                (key, each) for each in (value if isinstance(value, list) else [value])
            ]
        designed.append(
            [(kind, str(value)) for kind, value in marks if value is not None]
        )
    apart = heads_of(designed)
    together = heads_of(
        [[*own, *more] for own, more in zip(designed, copied, strict=True)]
    )
    members: dict[Mark, list[int]] = {}
    for place, head in enumerate(together):
        members.setdefault(head, []).append(place)
    sides = {
        (mark, head)
        for marks, head in zip(copied, apart, strict=True)
        for mark in marks
    }
    crossing = {mark for mark, n in Counter(mark for mark, _ in sides).items() if n > 1}
    in_order = []
    for places in members.values():
        times = Counter(
            mark
            for place in places
            for mark in dict.fromkeys([*designed[place], *copied[place]])
        )
        ties = tuple(dict.fromkeys(kind for (kind, _), n in times.items() if n > 1))
        likenesses = [place for place in places if crossing & {*copied[place]}]
        firsts = {*{apart[place]: place for place in reversed(likenesses)}.values()}
        likenesses.sort(key=lambda place: place not in firsts)
        alike, ids = (
            tuple(items[place].id for place in chosen)
            for chosen in (likenesses, places)
        )
        first = items[places[0]]
        # Texts of one pair that somebody put into two groups are two groups.
        pair = None if TYPED_GROUP in first.metadata else first.pair
        in_order.append(
            Group(
                f"item {ids[0]}" if pair is None else f"pair {pair}", ids, ties, alike
            )
        )
    return in_order


def _copied(items: Sequence[Item], given: Sequence[str] | None) -> list[list[Mark]]:
    varied = _varied(items) if given is None else given
    bare = {name: _bare([item.inputs.get(name) for item in items]) for name in varied}
    shown = zip(*bare.values(), strict=True) if bare else ((),) * len(items)
    wholes = [
        "\n\n".join(text for text in texts if text is not None) for texts in shown
    ]
    marks: list[list[Mark]] = [[("copies", place)] for place in copies(tuple(wholes))]
    for name in varied if len(varied) > 1 else ():
        texts = tuple(text or "" for text in bare[name])
        for own, place in zip(marks, copies(texts), strict=True):
            if enough(texts[place]):
                own.append(("copies", (name, place)))
    return marks


def _bare(texts: Sequence[str | None]) -> list[str | None]:
    """The texts without what most of them share, as in a check (`datasets.together`)."""
    rest = iter(without_shared([text for text in texts if text is not None]))
    return [None if text is None else next(rest) for text in texts]
