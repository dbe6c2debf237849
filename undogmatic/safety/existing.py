"""Finds the file that a user named, or says what lies beside the place where it is not."""

import difflib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief


def existing_file(
    path: str, key: str, patterns: Sequence[str], folder: bool = False
) -> Path:
    """The file (or `folder`) at `path`, as typed for the config's `key`, or a ConfigError that
    lists what lies beside it with one of the suffixes in `patterns`, e.g. (".jsonl",)."""
    try:
        # A shell does not expand ~ behind `dataset.path=`.
        file = Path(path).expanduser()
        if file.is_file() or (folder and file.is_dir()):
            return file
        missing = (
            "is a link to what does not exist"
            if file.is_symlink()
            else "does not exist"
        )
        missing += (
            ""
            if file.parent.is_dir()
            else f", nor does the folder {brief(str(file.parent))}"
        )
        what = (
            "is a folder"
            if file.is_dir()
            else "is a pipe or a device"
            if file.exists()
            else missing
        )
        around = file.parent if file.parent.is_dir() else Path.cwd()
        beside = sorted(
            p.name
            # A mistyped path may point into a folder of a million files.
            for p in islice(around.iterdir(), 1000)
            if p.suffix in patterns and p.is_file()
        )
    # RuntimeError: no such user's home
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"`{key}` is {brief(path)}, which cannot be read ({why})."
        ) from None
    close = difflib.get_close_matches(file.name, beside, 1)
    inside = ", ".join(beside[:8]) or "no file of these kinds"
    listing = f"Did you mean {close[0]}?" if close else f"In {around}: {inside}."
    kinds = ", ".join(patterns)
    typed = f"{key} FILE" if key.startswith("--") else f"{key}=FILE"
    way = (
        f"Name one that exists ({kinds})"
        if key.isupper()  # what stands in the command without an option
        else f"Override it with `{typed}` ({kinds})"
    )
    raise ConfigError(f"`{key}` is {brief(path)}, which {what}. {listing} {way}.")
