"""In which order a run asks: one that has nothing to do with what the texts are, and is the same every time.

Files list texts by condition, or the two texts of a pair in the same order throughout. A judge that drifts while it
works, or whose server does, would then differ between conditions, and a run that a budget stops would have judged the
beginning of the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def turns(ids: Sequence[str], pairs: Sequence[str | None]) -> list[int]:
    """Positions in the order in which they are asked: pair by pair, pairs and the texts of a pair in hashed order.

    Args:
        ids: Of the items.
        pairs: Pair of each, or None for an item that stands alone.
    """
    units = [item if pair is None else pair for item, pair in zip(ids, pairs, strict=True)]
    keys = [(_digest("unit", unit), unit, _digest("item", item)) for item, unit in zip(ids, units, strict=True)]
    return sorted(range(len(ids)), key=keys.__getitem__)


def _digest(what: str, name: str) -> bytes:
    return hashlib.sha256(f"{what} {name}".encode()).digest()
