"""How often test texts were looked at: each program that is judged on them because others were tried before it is a
further chance to be lucky, so it is noted beside the runs, and the verdict's level falls from look to look."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from undogmatic.errors import DataError
from undogmatic.records.records import Item, digest, items_digest, text_mark
from undogmatic.safety import files
from undogmatic.safety.files import Log
from undogmatic.safety.outside import Unreadable, json_value, read_lines

FILE = "looks.jsonl"


def place(folder: Path) -> Path:
    """Where looks are noted: in the folder `outputs` that the run lies in, else in the one above it."""
    root = next((parent for parent in folder.resolve().parents if parent.name == "outputs"), folder.resolve().parent)
    return root / FILE


def looked(folder: Path, test: Sequence[Item], construct: str, claim: Sequence[Any] | None) -> int:
    """Note a look at test texts and give its number among all that share a text with it, from 1.

    A look at some of the texts of an earlier one is a further look, as leaving texts out is one more way to be lucky.
    Nothing but the same claim on the same texts is the same look, however often it is made.

    Args:
        folder: Of the run.
        test: The test texts.
        construct: What is judged (rubric and criterion); another construct's looks are not counted.
        claim: What else the result hangs on: programs, metric. None where there is nothing to be lucky with: nothing
            is noted then, and the looks so far are counted.
    Raises:
        DataError, StorageError: The file cannot be read or written.
    """
    path = place(folder)
    texts = {text_mark(digest(item.inputs)) for item in test}
    if claim is None:
        return len(_looks(path, test, construct, texts))
    own = text_mark(digest([construct, sorted(texts), list(claim)]))
    if own not in _looks(path, test, construct, texts):
        note = {"look": own, "construct": construct, "texts": sorted(texts), "run": str(folder)}
        with Log(path, files.ALL) as log:
            log.append(json.dumps(note | {"at": time.strftime("%Y-%m-%dT%H:%M:%S")}))
    return list(_looks(path, test, construct, texts)).index(own) + 1  # read again: other runs may note theirs


def _looks(path: Path, test: Sequence[Item], construct: str, texts: Collection[str]) -> dict[str, None]:
    """The looks that share a text with these, in their order."""
    seen: dict[str, None] = {}
    if not path.is_file():
        return seen
    for number, line in read_lines(path):
        try:
            found = json_value(line)
            if "data" in found:  # by an earlier version, which knew a test split by one digest
                if found["data"] == items_digest(test):
                    seen[str(found["program"])] = None
            elif found["construct"] == construct and not set(texts).isdisjoint(found["texts"]):
                seen[str(found["look"])] = None
        except (Unreadable, KeyError, TypeError) as error:
            raise DataError(
                f"{path}:{number}: no look at test texts ({error}). Delete the line; do not delete the file: it "
                "says how often test texts were looked at."
            ) from None
    return seen
