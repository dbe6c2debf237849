"""Defines a dataset: something that loads Items, with every problem named by file and line."""

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import Field, ValidationError

from undogmatic.config.build import LARGEST_SEED
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import LONGEST_NAME, OVERALL, UNNAMED, Item, Judgment
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.records.wordings import Licence, Licensed
from undogmatic.safety.outside import brief


@runtime_checkable
class Dataset(Protocol):
    """A named source of items. `about` is one line for reports, e.g. which split."""

    name: str
    about: str

    def load(self) -> list[Item]: ...


@runtime_checkable
class Judged(Protocol):
    """A dataset that brings the judgments of its items with it: nobody is asked."""

    def judgments(self, rubric: Rubric) -> list[Judgment]: ...


def existing_file(path: str, key: str, patterns: Sequence[str]) -> Path:
    """The file at `path`, as typed for the config's `key`, or a ConfigError that lists what lies beside it with one of
    the suffixes in `patterns`, e.g. (".jsonl",)."""
    try:
        file = Path(path).expanduser()
        if file.is_file():
            return file
        missing = "is a link to what does not exist" if file.is_symlink() else "does not exist"
        what = "is a folder" if file.is_dir() else "is a pipe or a device" if file.exists() else missing
        folder = file.parent if file.parent.is_dir() else Path.cwd()
        beside = sorted(p.name for p in islice(folder.iterdir(), 1000) if p.suffix in patterns and p.is_file())
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: no such user's home
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"`{key}` is {brief(path)}, which cannot be read ({why}).") from None
    close = difflib.get_close_matches(file.name, beside, 1)
    inside = ", ".join(beside[:8]) or "no file of these kinds"
    listing = f"Did you mean {close[0]}?" if close else f"In {folder}: {inside}."
    kinds = ", ".join(patterns)
    way = f"Name one that exists ({kinds})" if key == "FILE" else f"Override it with `{key}=FILE` ({kinds})"
    raise ConfigError(f"`{key}` is {brief(path)}, which {what}. {listing} {way}.")


def make_item(place: str, fields: dict[str, Any]) -> Item:
    """An Item, or a DataError that names the place (file:line) and the field."""
    inputs = fields.get("inputs") or {"text": fields.get("text")}
    for name, text in inputs.items() if isinstance(inputs, dict) else ():
        if isinstance(text, str) and not text.strip():
            raise DataError(f"{place}: `{name}` is empty; every item needs a text.")
    if len(str(fields.get("id"))) > LONGEST_NAME:
        raise DataError(f"{place}: the id {brief(fields['id'])} is too long; it may have {LONGEST_NAME:,} characters.")
    try:
        return Item.model_validate(fields | {"place": place})
    except ValidationError as error:
        problem = error.errors()[0]
        parts = list(map(str, problem["loc"]))
        key = ".".join(parts[:3] if parts[:1] == ["labels"] else parts)  # behind a label is which type was tried
        # In files the short forms are usual.
        short = {"inputs": "text", f"labels.{OVERALL}.{UNNAMED}": "label"}.get(key, key.removeprefix("inputs."))
        what = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "missing":
            what = f"the field `{short}` is missing. Fields: id, text (or inputs); optional: condition, pair, label"
        elif key not in ("", "metadata"):  # of ours: it says what it is about
            what = what[:1].lower() + (what[1:] if len(what) < 200 else f"{what[1:200]}...")
            what = f"`{short}` is {brief(problem['input'])}: {what}"
        raise DataError(f"{place}: {what}.") from None


FEWEST_LABELS = 5  # With fewer, all labels may well lie in the lowest tenth of the scale they are on


def on_scale(items: Iterable[Item], rubric: Rubric) -> list[Item]:
    """The items with their overall labels as numbers of the rubric's scale; a second call changes nothing. Raises
    DataError for a label that is not on the scale, by its place and rater; or for labels that all seem to be on another
    scale, where the dataset does not say which."""
    scaled = []
    for item in items:
        labels, read = item.labels.get(OVERALL, {}), {}
        for rater, value in labels.items():
            try:
                read[rater] = rubric.read(value, item.label_scale)
            except ValueError as error:
                whose = "`label`" if rater == UNNAMED else f"the label of {rater!r}"
                place = f"{item.place or 'dataset'}, item {brief(item.id)}"
                why = f"{whose} {error}, the scale of rubric={rubric.name}"
                raise DataError(f"{place}: {why}. Correct it, or choose the rubric it is on.") from None
        ends = None if item.label_scale is None else (rubric.minimum, rubric.maximum)  # on this scale from now on
        changed = {"labels": item.labels | {OVERALL: read}, "label_scale": ends}
        scaled.append(item if read == labels else item.model_copy(update=changed))
    for criterion in dict.fromkeys(name for item in scaled for name in item.labels):
        unsaid = [item for item in scaled if item.labels.get(criterion)]
        if len(unsaid) < FEWEST_LABELS or any(item.label_scale is not None for item in unsaid):
            continue
        numbers = [value for item in unsaid for value in item.labels[criterion].values() if not isinstance(value, str)]
        file = (unsaid[0].place or "dataset").rpartition(":")[0] or "dataset"
        check_scale(file, numbers, rubric, criterion, "labels", "dataset.label_scale={ends}")
    return scaled


def seem_rescaled(values: Sequence[float], rubric: Rubric, what: str = "labels") -> str | None:
    """What is odd about numbers that all lie in the lowest tenth of a numeric scale, and not all on its end."""
    low, high = rubric.minimum, rubric.maximum
    if not isinstance(rubric.scale, NumericScale) or not values or not low < max(values) <= low + (high - low) / 10:
        return None
    whole = f"rubric={rubric.name} runs from {low:g} to {high:g}"
    return f"all {len(values)} {what} lie between {min(values):g} and {max(values):g}, while {whole}."


def check_scale(place: str, values: Sequence[float], rubric: Rubric, criterion: str, what: str, option: str) -> None:
    """Raise DataError where all numbers of a criterion seem to be on another scale, with the `option` that says so or
    that they are meant as they are, and takes {ends}."""
    if (odd := seem_rescaled(values, rubric, what if criterion == OVERALL else f"{what} of {criterion}")) is None:
        return
    low, tenth = rubric.minimum, (rubric.maximum - rubric.minimum) / 10
    start = low + tenth / 10 if min(values) >= low + tenth / 10 else low
    # The usual scales of raters end at 1, 5, 7 and 10; which one it is, only who made the file knows.
    end = next(low + tenth * step / 10 for step in (1, 5, 7, 10) if max(values) <= low + tenth * step / 10)
    other, same = (option.replace("{ends}", f"[{a:g},{b:g}]") for a, b in ((start, end), (low, rubric.maximum)))
    way = f"If they are on another scale, give its ends, e.g. {other}: they are mapped linearly"
    raise DataError(f"{place}: {odd} {way}. If they are meant as they are: {same}.")


def unique(items: Iterable[tuple[str, Item]], source: str) -> list[Item]:
    """The items of (place, item) pairs. Raises DataError for a repeated id, with both places, and where the `source`
    that they come from has none."""
    first: dict[str, tuple[str, Item]] = {}
    for place, item in items:
        if item.id in first:
            where = first[item.id][0]
            raise DataError(f"{place}: the id {brief(item.id)} was already used at {where}; ids must be unique.")
        first[item.id] = place, item
    if not first:
        raise DataError(f"{source} holds no items.")
    return [item for _, item in first.values()]


class SubsetDataset:
    """`n` items of `dataset`, each condition in turn giving one, in an order drawn from `seed`.

    So every condition has about n / conditions items, whatever its share in the whole; a condition that runs out leaves
    its turns to the others. Growing `n` adds items and takes none away. Pairs are not kept together.
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
        return self.dataset.licence if isinstance(self.dataset, Licensed) else None

    def load(self) -> list[Item]:
        """The items. Raises ConfigError if there are fewer than `n`."""
        items = self.dataset.load()
        if len(items) < self.n:
            raise ConfigError(f"`dataset.n` is {self.n}, but {self.dataset.about} has {len(items)} items.")
        turns: dict[str | None, count[int]] = defaultdict(count)
        drawn = sorted(items, key=lambda item: hashlib.sha256(f"{self.seed}:{item.id}".encode()).hexdigest())
        return sorted(drawn, key=lambda item: next(turns[item.condition]))[: self.n]
