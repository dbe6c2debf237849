"""What a door owes: items that every later file takes, or one message that names the file."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from undogmatic.errors import UndogmaticError
from undogmatic.records.records import Item, items_digest
from undogmatic.safety import files
from undogmatic.safety.outside import json_value

LONGEST_MESSAGE = 2000


def one_message(error: BaseException, places: Sequence[Path | str] = (), lines: int = 8) -> None:
    """It is an error of ours with a status of its own, in a short paragraph that names one of the places."""
    assert isinstance(error, UndogmaticError), f"{type(error).__name__}: {error}"
    message = str(error)
    assert error.exit_status in (2, 3), (error.exit_status, message)
    assert message.strip() and len(message) < LONGEST_MESSAGE and len(message.splitlines()) <= lines, message[:3000]
    assert "Traceback" not in message, message
    assert not places or any(str(place) in message for place in places), message
    message.encode("utf-8", "strict")


def named_or_writable(path: Path, read: Callable[[], Sequence[Item]]) -> None:
    """Read items; they can be written, or the message names the file."""
    try:
        items = read()
    except UndogmaticError as error:
        one_message(error, [path])
    else:
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
    frame = pd.DataFrame({"item_id": [i.id for i in items], "text": [i.text for i in items], "n": range(len(items))})
    back = pd.read_csv(io.StringIO(files.csv(frame), newline=""), dtype="str", keep_default_na=False)
    assert [files.as_written(cell) for cell in back["item_id"]] == [item.id for item in items]
    assert [files.as_written(cell) for cell in back["text"]] == [item.text for item in items]
