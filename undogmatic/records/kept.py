"""Holds items as memory allows: few as they are, many in a file without a name, from which each is
read anew."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from undogmatic.records.records import Asking, Item, LabelScale
from undogmatic.safety import spool

_FIELDS = tuple(Item.model_fields)
_ASKING = _FIELDS.index("asking")


def gathered(items: Iterable[Item]) -> Sequence[Item]:
    """The items in their order; more than `spool.HELD` of them are on disk. Raises StorageError."""
    scales: list[LabelScale] = []  # they are few, and of many items one

    def write(item: Item) -> list[Any]:
        fields = [getattr(item, name) for name in _FIELDS]
        scale = fields.pop()
        if scale is not None and scale not in scales:
            scales.append(scale)
        way = fields[_ASKING]
        fields[_ASKING] = None if way is None else way.model_dump(mode="json")
        return [*fields, None if scale is None else scales.index(scale)]

    def read(values: list[Any]) -> Item:
        scale, way = values.pop(), values[_ASKING]
        values[_ASKING] = None if way is None else Asking.model_validate(way)
        fields = dict(zip(_FIELDS, values, strict=False))
        return Item.model_construct(
            **fields, label_scale=None if scale is None else scales[scale]
        )

    return spool.gathered(items, write, read)


def joined(datasets: Sequence[Sequence[Item]]) -> Sequence[Item]:
    """The items of all datasets, of several with one id the last; of an id only a hash is held.
    Raises StorageError."""
    if len(datasets) == 1:
        return datasets[0]
    last = {hash(item.id): n for n, items in enumerate(datasets) for item in items}
    return gathered(
        item
        for n, items in enumerate(datasets)
        for item in items
        if last[hash(item.id)] == n
    )


def by_id(items: Sequence[Item]) -> Mapping[str, Item]:
    """Each item by its id: a dictionary of a list, else read when it is asked for."""
    return _ById(items) if spool.many(items) else {item.id: item for item in items}


class _ById(Mapping[str, Item]):
    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        # of the ids, in order, and where each stands: made when something is looked up
        self._marks: Any = None
        self._places: Any = None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return (item.id for item in self._items)

    def __getitem__(self, name: str) -> Item:
        import numpy as np

        if self._marks is None:
            marks = np.asarray(array("q", (hash(item.id) for item in self._items)))
            self._places = np.argsort(marks)
            self._marks = marks[self._places]
        first = int(np.searchsorted(self._marks, hash(name)))
        while first < len(self._marks) and self._marks[first] == hash(name):
            if (item := self._items[int(self._places[first])]).id == name:
                return item
            first += 1
        raise KeyError(name)
