"""Holds items as memory allows: few as they are, many in a file without a name, from which each is read anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from undogmatic.records.records import Item, LabelScale
from undogmatic.safety import spool

_FIELDS = tuple(Item.model_fields)


def gathered(items: Iterable[Item]) -> Sequence[Item]:
    """The items in their order; more than `spool.HELD` of them are on disk. Raises StorageError."""
    scales: list[LabelScale] = []  # they are few, and of many items one

    def write(item: Item) -> list[Any]:
        fields = [getattr(item, name) for name in _FIELDS]
        scale = fields.pop()
        if scale is not None and scale not in scales:
            scales.append(scale)
        return [*fields, None if scale is None else scales.index(scale)]

    def read(values: list[Any]) -> Item:
        scale = values.pop()
        fields = dict(zip(_FIELDS, values, strict=False))
        return Item.model_construct(**fields, label_scale=None if scale is None else scales[scale])

    return spool.gathered(items, write, read)
