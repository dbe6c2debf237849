"""Values that a well-meaning program does not expect, good values with one thing in them replaced
by such a one, and what a door owes: items that every later file takes, or one message that names
the file."""

import contextlib
import copy
import csv
import functools
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import UndogmaticError
from undogmatic.records.records import Item, items_digest
from undogmatic.safety import files
from undogmatic.safety.outside import json_value

NESTED = 60
ODD_TEXTS = [
    *" \0 =1+1 \u202e { null NaN 1e999 -".split(" "),
    "\ud800",
    "a\udfffb",
    " ",
    "x" * 5000,
    "\n\n",
]
LARGE = [1e308, -1e308, 5e-324, 10**400, -(10**4200), 2**63, 2**64]
ODD_NUMBERS = [True, -1, 0, *LARGE, *map(float, ("nan", "inf", "-inf"))]


def odd() -> st.SearchStrategy[Any]:
    """Any value that JSON can spell, and some that it only can in Python's dialect."""
    plain = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    )
    leaves = plain | st.sampled_from(ODD_TEXTS) | st.sampled_from(ODD_NUMBERS)
    keys = st.text(max_size=8) | st.sampled_from(ODD_TEXTS)

    def holding(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)

    return st.recursive(leaves, holding, max_leaves=6) | st.integers(1, 3 * NESTED).map(
        nested
    )


def nested(depth: int) -> Any:
    return functools.reduce(lambda inner, _: [inner], range(depth), 0)


def written(value: Any) -> bytes:
    return json.dumps(value).encode()


def texts(most: int) -> st.SearchStrategy[bytes]:
    """Of so many characters, halves of some among them."""
    return st.text(max_size=most).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )


def lines(rows: Iterable[Any], as_they_are: bool = False) -> bytes:
    """JSON Lines, as ASCII or with all characters as they are."""
    return "\n".join(
        json.dumps(row, ensure_ascii=not as_they_are) for row in rows
    ).encode("utf-8", "surrogatepass")


def sheet(
    rows: Iterable[Iterable[str]],
    encoding: str = "utf-8",
    end: str = "\r\n",
    mark: str = ",",
) -> bytes:
    """Rows as CSV."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark, lineterminator=end).writerows(rows)
    return text.getvalue().encode(encoding, "replace")


def pieces(tokens: Iterable[Any], most: int | None = None) -> st.SearchStrategy[bytes]:
    """Some of these texts, or of these bytes, in any order."""
    encoded = [
        token if isinstance(token, bytes) else token.encode() for token in tokens
    ]
    return st.lists(st.sampled_from(encoded), max_size=most).map(b"".join)


def reading(name: str) -> Callable[[bytes], None]:
    """Enters the door of a dataset's file: what is read can be written everywhere, or one message
    names the file."""

    def enter(case: bytes) -> None:
        Path(name).write_bytes(case)
        named_or_writable(Path(name), lambda: TextsDataset(name).load())

    return enter


@functools.cache
def folder() -> Path:
    """One for all cases of a process."""
    return Path(tempfile.mkdtemp(prefix="undogmatic-fuzz-"))


@st.composite
def spoiled(
    draw: st.DrawFn,
    good: Any,
    most: int = 3,
    values: st.SearchStrategy[Any] | None = None,
    keys: st.SearchStrategy[Any] | None = None,
) -> Any:
    """`good` with up to `most` of its nodes replaced by `values` (anything), left out, or put
    beside themselves."""
    values, keys = (
        odd() if values is None else values,
        (st.text(max_size=8) if keys is None else keys),
    )
    found = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, most))):
        nodes = list(places(found))
        if not nodes:
            return draw(values)
        holder, key = draw(st.sampled_from(nodes))
        match draw(
            st.sampled_from(
                ["replace", "replace", "replace", "remove", "double", "wrap"]
            )
        ):
            case "remove":
                del holder[key]
            case "double" if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case "double":
                holder[draw(keys)] = copy.deepcopy(holder[key])
            case "wrap":
                wrapped = (
                    [holder[key]],
                    {"text": holder[key]},
                    json_or_nothing(holder[key]),
                )
                holder[key] = draw(st.sampled_from(wrapped))
            case _:
                # or a list would come to hold itself
                holder[key] = copy.deepcopy(draw(values))
    return found


def places(value: Any) -> Any:
    """Every node inside: what holds it, and its key there."""
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in list(inside):
        yield value, key
        yield from places(part)


def json_or_nothing(value: Any) -> str:
    """The value as a JSON text, as a server may send what should have been an object."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""


LONGEST_MESSAGE = 2000


@contextlib.contextmanager
def one_message(places: Sequence[Path | str] = (), lines: int = 8) -> Iterator[None]:
    """What fails inside fails with an error of ours and a status of its own, in a short paragraph
    that names one of the places."""
    try:
        yield
    except Exception as error:
        assert isinstance(error, UndogmaticError), f"{type(error).__name__}: {error}"
        message = str(error)
        assert error.exit_status in (2, 3), (error.exit_status, message)
        assert (
            message.strip()
            and len(message) < LONGEST_MESSAGE
            and len(message.splitlines()) <= lines
        ), message[:3000]
        assert "Traceback" not in message, message
        assert not places or any(str(place) in message for place in places), message
        message.encode("utf-8", "strict")


def named_or_writable(path: Path, read: Callable[[], Sequence[Item]]) -> None:
    """Read items; they can be written, or the message names the file."""
    items: Sequence[Item] = ()
    with one_message([path]):
        items = read()
    writable(items)


def writable(items: Sequence[Item]) -> None:
    """Items come back as they were from a journal's JSON and from CSV."""
    items_digest(items)
    for item in items:
        line = item.model_dump_json().encode("utf-8")
        assert b"\n" not in line
        again = Item.model_validate(json_value(line))
        assert again.form() == item.form()
        json.dumps(item.form(), ensure_ascii=False, allow_nan=False).encode("utf-8")
        assert len(item.id) <= 1000 and item.id.isprintable() >= item.id.isascii()
        float("nan" if item.label is None else item.label)
    frame = pd.DataFrame(
        {
            "item_id": [i.id for i in items],
            "text": [i.text for i in items],
            "n": range(len(items)),
        }
    )
    back = pd.read_csv(
        io.StringIO(files.csv(frame), newline=""), dtype="str", keep_default_na=False
    )
    assert [files.as_written(cell) for cell in back["item_id"]] == [
        item.id for item in items
    ]
    assert [files.as_written(cell) for cell in back["text"]] == [
        item.text for item in items
    ]
