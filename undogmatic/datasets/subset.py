"""Some items of another dataset: the same ones every time, from all its parts."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import count
from typing import Annotated

from pydantic import Field

from undogmatic.config.build import LARGEST_SEED
from undogmatic.datasets.base import Dataset
from undogmatic.errors import ConfigError
from undogmatic.records.records import Item
from undogmatic.records.wordings import Licence, Licensed


class SubsetDataset:
    """`n` items of `dataset`, each condition in turn giving one, in an order drawn from `seed`.

    So every condition has about n / conditions items, whatever its share in the whole; a condition that runs out leaves
    its turns to the others. Growing `n` adds items and takes none away. Pairs are not kept together.

    Args:
        dataset: The whole.
        n: How many items.
        seed: Another number draws other items.
    """

    def __init__(self, dataset: Dataset, n: int, seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0) -> None:
        if n < 1:
            raise ConfigError(f"`dataset.n` is {n}; give at least 1.")
        self.dataset, self.n, self.seed = dataset, n, seed
        self.words_of = dataset  # whose words its conditions have
        self.name = f"{dataset.name}-{n}"
        self.about = f"{n} of {dataset.about}, drawn with seed {seed}"

    @property
    def licence(self) -> Licence | None:
        """That of the whole."""
        return self.dataset.licence if isinstance(self.dataset, Licensed) else None

    def load(self) -> list[Item]:
        """The items. Raises ConfigError if there are fewer than `n`."""
        items = self.dataset.load()
        if len(items) < self.n:
            raise ConfigError(f"`dataset.n` is {self.n}, but {self.dataset.about} has {len(items)} items.")
        turns: dict[str | None, count[int]] = defaultdict(count)
        places = {item.id: hashlib.sha256(f"{self.seed}:{item.id}".encode()).hexdigest() for item in items}
        drawn = sorted(items, key=lambda item: places[item.id])
        in_turn = sorted((next(turns[item.condition]), places[item.id], n) for n, item in enumerate(drawn))
        return [drawn[n] for _, _, n in in_turn[: self.n]]
