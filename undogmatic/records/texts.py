"""A column of texts that are read when they are looked at: a row holds only which item it is of (four bytes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pandas.api.extensions import ExtensionArray, ExtensionDtype, take

from undogmatic.records.records import Item


class _Kind(ExtensionDtype):
    name, na_value = "texts", None

    @property
    def type(self) -> Any:
        return str

    @classmethod
    def construct_array_type(cls) -> Any:
        return Texts


class Texts(ExtensionArray):
    """The texts of the items at these places; a place below 0 is no text."""

    def __init__(self, items: Sequence[Item], places: np.ndarray) -> None:
        self._items, self._places = items, places

    @property
    def dtype(self) -> ExtensionDtype:
        return _Kind()

    @property
    def nbytes(self) -> int:
        return int(self._places.nbytes)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | np.integer):
            place = int(self._places[item])
            return None if place < 0 else self._items[place].text
        return Texts(self._items, self._places[np.asarray(item) if isinstance(item, list) else item])

    def isna(self) -> np.ndarray:
        return np.asarray(self._places < 0)

    def copy(self) -> Texts:
        return Texts(self._items, self._places.copy())

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Texts:
        return Texts(self._items, take(self._places, indices, allow_fill=allow_fill, fill_value=-1))

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Any:
        return np.array(list(scalars), dtype=object)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Texts]) -> Texts:
        return cls(to_concat[0]._items, np.concatenate([each._places for each in to_concat]))
