"""Counts the looks at test texts, in a file beside the runs.

Each program that is judged on test texts because others were tried before it is a further chance to
be lucky: it is noted, and the verdict's level falls from look to look.
"""

import json
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from undogmatic.errors import DataError
from undogmatic.records.records import Item, digest, text_mark
from undogmatic.safety import files
from undogmatic.safety.files import Log
from undogmatic.safety.outside import Unreadable, json_value, read_lines


def looked(
    folder: Path, test: Sequence[Item], construct: str, claim: Sequence[Any] | None
) -> int:
    """Note a look at test texts and give its number among all that share a text with it, from 1.

    A look at some of the texts of an earlier one is a further look, as leaving texts out is one
    more way to be lucky. Nothing but the same claim on the same texts is the same look, however
    often it is made. Looks are noted in the folder `outputs` that the run lies in, else in the one
    above it.

    Args:
        construct: What is judged (rubric and criterion); another construct's looks are not counted.
        claim: What else the result hangs on: programs, metric. None where there is nothing to be
            lucky with: nothing is noted then, and the looks so far are counted.
    Raises:
        DataError, StorageError: The file cannot be read or written.
    """
    above = folder.resolve().parents
    path = (
        next((parent for parent in above if parent.name == "outputs"), above[0])
        / "looks.jsonl"
    )
    texts = {text_mark(digest(item.inputs)) for item in test}
    if claim is None:
        return len(_looks(path, construct, texts))
    look = text_mark(digest([construct, sorted(texts), list(claim)]))
    if look not in _looks(path, construct, texts):
        note = {
            "look": look,
            "construct": construct,
            "texts": sorted(texts),
            "run": str(folder),
        }
        with Log(path, files.ALL) as log:
            log.add(json.dumps(note | {"at": time.strftime("%Y-%m-%dT%H:%M:%S")}))
    # read again: other runs may note theirs
    return list(_looks(path, construct, texts)).index(look) + 1


def _looks(path: Path, construct: str, texts: Collection[str]) -> dict[str, None]:
    """The looks that share a text with these, in their order."""
    seen: dict[str, None] = {}
    for number, line in read_lines(path) if path.is_file() else ():
        try:
            look = json_value(line)
            if look["construct"] == construct and not set(texts).isdisjoint(
                look["texts"]
            ):
                seen[str(look["look"])] = None
        except (Unreadable, KeyError, TypeError) as error:
            raise DataError(
                f"{path}:{number}: no look at test texts ({error}). Delete the line; do not delete"
                " the file: it says how often test texts were looked at."
            ) from None
    return seen
