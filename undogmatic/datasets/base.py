"""Defines a dataset: something that loads Items, with every problem named by file and line."""

import hashlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import Field, ValidationError

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.kept import gathered
from undogmatic.records.limits import LARGEST_SEED
from undogmatic.records.records import LONGEST_NAME, OVERALL, UNNAMED, Item, Judgment
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric
from undogmatic.records.wordings import Licence, Licensed
from undogmatic.safety.outside import brief


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


def make_item(place: str, fields: dict[str, Any]) -> Item:
    """An Item, or a DataError that names the place (file:line) and the field."""
    inputs = fields.get("inputs") or {"text": fields.get("text")}
    # A judge would give an empty text a score, and nobody would know of what.
    for name, text in inputs.items() if isinstance(inputs, dict) else ():
        if isinstance(text, str) and not text.strip():
            raise DataError(f"{place}: `{name}` is empty; every item needs a text.")
    if len(str(fields.get("id"))) > LONGEST_NAME:
        raise DataError(
            f"{place}: the id {brief(fields['id'])} is too long; it may have {LONGEST_NAME:,}"
            " characters."
        )
    try:
        return Item.model_validate(fields | {"place": place})
    except ValidationError as error:
        problem = error.errors()[0]
        parts = list(map(str, problem["loc"]))
        # behind a label is which type was tried
        key = ".".join(parts[:3] if parts[:1] == ["labels"] else parts)
        # In files the short forms are usual.
        short = {"inputs": "text", f"labels.{OVERALL}.{UNNAMED}": "label"}.get(
            key, key.removeprefix("inputs.")
        )
        what = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "missing":
            what = (
                f"the field `{short}` is missing. Fields: id, text (or inputs); optional:"
                " condition, pair, label"
            )
        elif key not in ("", "metadata"):  # of ours: it says what it is about
            what = what[:1].lower() + (
                what[1:] if len(what) < 200 else f"{what[1:200]}..."
            )
            what = f"`{short}` is {brief(problem['input'])}: {what}"
        raise DataError(f"{place}: {what}.") from None


def unique(items: Iterable[tuple[str, Item]], source: str) -> Sequence[Item]:
    """The items of (place, item) pairs. Raises DataError for a repeated id, with both places, and
    where the `source` that they come from has none."""
    import numpy as np

    marks, first = array("q"), dict[str, tuple[int, str | None]]()

    def noted() -> Iterator[Item]:
        for _, item in items:
            # Hashes, as ids of a million items take far more; only where two hashes
            # meet are the ids themselves compared.
            marks.append(hash(item.id))
            yield item

    kept = gathered(noted())
    if not len(kept):
        raise DataError(f"{source} holds no items.")
    ordered = np.sort(np.asarray(marks))
    if not (ordered[1:] == ordered[:-1]).any():
        return kept
    for n, item in enumerate(kept):
        before, where = first.setdefault(item.id, (n, item.place))
        if before != n:
            raise DataError(
                f"{item.place}: the id {brief(item.id)} was already used at {where}; ids must be"
                " unique."
            )
    return kept


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
