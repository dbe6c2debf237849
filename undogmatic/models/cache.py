"""Finished calls on disk, so that nothing is paid for twice."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from undogmatic.errors import ConfigError, StorageError, UndogmaticError
from undogmatic.safety.files import OWN
from undogmatic.safety.outside import DEEPEST, Unreadable, json_value
from undogmatic.safety.secrets import scrub

NAME = "replies.sqlite"
BUSY_SECONDS = 3.0
"""How long a call waits for another process that writes; nothing else of the run goes on meanwhile."""


class Reply(NamedTuple):
    """What came back: plain JSON, and what it cost. `usd` is None where the price is unknown."""

    data: Any
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


class ReplyCache:
    """Replies shared by runs and processes: JSON texts in SQLite, so that nothing in it can run code.

    A reply is written before its judgment is made, and survives the death of the process (the write-ahead log is the
    operating system's by then). Several processes may use one folder. A row that cannot be read is no row: it is said
    once, and replaced as soon as the call was made.

    Args:
        folder: Where; it is created.
    Raises:
        ConfigError: The folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said = False
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The files that SQLite puts beside it have its mode.
            os.close(os.open(folder / NAME, os.O_RDWR | os.O_CREAT, OWN))
            with contextlib.suppress(PermissionError):  # another one's file
                (folder / NAME).chmod(OWN)
            self._database = sqlite3.connect(
                folder / NAME, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._database.text_factory = bytes  # what is no UTF-8 is the row's fault, not the database's
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose replies, never break the file
            self._database.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        except (OSError, ValueError, sqlite3.Error) as error:
            raise ConfigError(self._unusable(error)) from None

    def get(self, key: str, check: Callable[[Any], None] | None = None) -> Reply | None:
        """The reply kept under `key`, or None.

        Args:
            key: Of the call.
            check: Raises an UndogmaticError where the reply is not of the form that the model gives.
        Raises:
            StorageError: The file cannot be read.
        """
        try:
            row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise StorageError(self._unusable(error)) from None
        if row is None:
            return None
        try:
            reply = _reply(row[0])
            if check is not None:
                check(reply.data)
        except (Unreadable, UndogmaticError) as error:
            if not self._said:
                self._said = True
                print(
                    f"a reply in the cache {self._folder / NAME} is damaged ({error}); it is asked for again, and so "
                    "are others like it",
                    file=sys.stderr,
                    flush=True,
                )
            return None
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; one that is no plain JSON is not kept. Raises StorageError where the disk takes no more."""
        with contextlib.suppress(PydanticSerializationError, UnicodeEncodeError, ValueError):
            text = scrub(to_json(reply._asdict(), inf_nan_mode="constants").decode())
            try:
                self._database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text))
            except sqlite3.Error as error:
                raise StorageError(self._unusable(error)) from None

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def _unusable(self, error: Exception) -> str:
        return (
            f"the cache of replies in {self._folder} cannot be used ({error}). Choose another folder with "
            "engine.cache_dir=FOLDER, or engine.cache=false."
        )


def _reply(row: Any) -> Reply:
    """A row as the reply it is. Raises Unreadable."""
    if not isinstance(row, bytes):
        raise Unreadable("it holds no text")
    found = json_value(row, DEEPEST + 1, infinite=True)
    if not isinstance(found, dict) or not {"data"} <= found.keys() <= set(Reply._fields):
        raise Unreadable("it is no reply")
    tokens = (found.get("input_tokens", 0), found.get("output_tokens", 0))
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in tokens):
        raise Unreadable("its count of tokens is none")
    usd = found.get("usd")
    if usd is not None and (isinstance(usd, bool) or not isinstance(usd, int | float) or not 0 <= usd < math.inf):
        raise Unreadable("its price is none")
    return Reply(**found)
