"""Makes items of what was read, with every problem named by file and line."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from undogmatic.errors import DataError
from undogmatic.records.kept import gathered
from undogmatic.records.records import LONGEST_NAME, OVERALL, UNNAMED, Item
from undogmatic.safety.outside import brief


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
