"""Defines a dataset: something that loads Items, with every problem named by file and line."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable

from pydantic import Field

from undogmatic.errors import ConfigError
from undogmatic.records.limits import LARGEST_SEED
from undogmatic.records.records import Item, Judgment
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric
from undogmatic.records.wordings import Licence, Licensed


@runtime_checkable
class Dataset(Protocol):
    """A named source of items. `about` is one line for reports, e.g. which split."""

    name: str
    about: str

    def load(self) -> Sequence[Item]: ...


@runtime_checkable
class Judged(Protocol):
    """A dataset that brings the judgments of its items with it: nobody is asked. Its labels are on
    one scale with them, which may hang on the rubric."""

    def load(self, rubric: Rubric | None = None) -> Sequence[Item]: ...

    def judgments(self, rubric: Rubric) -> list[Judgment]: ...


@runtime_checkable
class Assumes(Protocol):
    """A dataset that says how it read its file, once it has: what it recognised and what it
    assumed."""

    read: Sequence[Finding]


@runtime_checkable
class Kept(Protocol):
    """A dataset that makes its items, and writes them into a run's folder to be used again."""

    def keep(self, items: Sequence[Item], folder: Path) -> None: ...


class SubsetDataset:
    """`n` items of `dataset`, each condition in turn giving one, in an order drawn from `seed`.

    So every condition has about n / conditions items, whatever its share in the whole; a condition
    that runs out leaves its turns to the others. Growing `n` adds items and takes none away. Pairs
    are not kept together.
    """

    def __init__(
        self,
        dataset: Dataset,
        n: int,
        seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0,
    ) -> None:
        if n < 1:
            raise ConfigError(f"`dataset.n` is {n}; give at least 1.")
        self.dataset, self.n, self.seed = dataset, n, seed
        self.words_of = dataset  # whose words its conditions have
        self.name = f"{dataset.name}-{n}"
        self.about = f"{n} of {dataset.about}, drawn with seed {seed}"

    @property
    def licence(self) -> Licence | None:
        return self.dataset.licence if isinstance(self.dataset, Licensed) else None

    def load(self) -> list[Item]:
        """The items. Raises ConfigError if there are fewer than `n`."""
        items = self.dataset.load()
        if len(items) < self.n:
            raise ConfigError(
                f"`dataset.n` is {self.n}, but {self.dataset.about} has {len(items)} items."
            )
        # In turns, because a small sample in the proportions of the file may hold none
        # of a rare condition.
        turns: dict[str | None, count[int]] = defaultdict(count)
        drawn = sorted(
            items,
            # By a hash, and not by a generator: a generator's draw hangs on how many
            # items there are, and a larger sample would not hold the smaller one.
            key=lambda item: hashlib.sha256(
                f"{self.seed}:{item.id}".encode()
            ).hexdigest(),
        )
        return sorted(drawn, key=lambda item: next(turns[item.condition]))[: self.n]
