"""How often a test split was looked at: each further optimised program that is judged on it is a further chance to be
lucky, so it is noted beside the runs, and the verdict's level is shared among all looks so far."""

from __future__ import annotations

import json
import time
from pathlib import Path

from undogmatic import files
from undogmatic.errors import DataError
from undogmatic.files import Log
from undogmatic.outside import Unreadable, json_value, read_lines

FILE = "looks.jsonl"


def place(folder: Path) -> Path:
    """Where looks are noted: in the folder `outputs` that the run lies in, else in the one above it."""
    root = next((parent for parent in folder.resolve().parents if parent.name == "outputs"), folder.resolve().parent)
    return root / FILE


def looked(folder: Path, data: str, program: str | None) -> int:
    """Note a look and count all of this test split so far, this one included.

    The same program on the same texts is the same look, however often it is run.

    Args:
        folder: Of the run.
        data: Digest of the test texts.
        program: Digest of what it says and shows; None where it is what it was before, and there is no chance to take.
    Raises:
        DataError, StorageError: The file cannot be read or written.
    """
    path = place(folder)
    seen: dict[str, None] = {}
    if path.is_file():
        for number, line in read_lines(path):
            try:
                found = json_value(line)
                if found["data"] == data:
                    seen[str(found["program"])] = None
            except (Unreadable, KeyError, TypeError) as error:
                raise DataError(
                    f"{path}:{number}: no look at a test split ({error}). Delete the line; do not delete the file: it "
                    "says how often each test split was looked at."
                ) from None
    if program is None:
        return len(seen)
    if program not in seen:
        note = {"data": data, "program": program, "run": str(folder), "at": time.strftime("%Y-%m-%dT%H:%M:%S")}
        with Log(path, files.ALL) as log:
            log.append(json.dumps(note))
        seen[program] = None
    return list(seen).index(program) + 1
