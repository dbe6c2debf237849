"""Makes the tables of a new local store from a copy that the user's cache keeps of MLflow's own.

MLflow makes them by all its migrations in turn, which takes longer than logging a run. The copy is
the SQL text of an empty store, by version of MLflow and of its schema. Where it is missing,
damaged, of another schema or open to other users, MLflow makes the tables as it would without one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
import stat
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from undogmatic.errors import DataError, StorageError
from undogmatic.safety import files, outside
from undogmatic.safety.paths import cache_folder


def newest_schema() -> str | None:
    """The schema that the installed MLflow makes, read from its migrations without importing it;
    None if unclear."""
    package = find_spec("mlflow")
    if package is None or not package.submodule_search_locations:
        return None
    folder = (
        Path(package.submodule_search_locations[0])
        / "store"
        / "db_migrations"
        / "versions"
    )
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    made = {
        name
        for text in texts
        for name in re.findall(r"^revision = ['\"](\w+)", text, re.MULTILINE)
    }
    replaced = {
        name
        for text in texts
        for name in re.findall(r"^down_revision = ['\"](\w+)", text, re.MULTILINE)
    }
    newest = made - replaced
    return newest.pop() if len(newest) == 1 else None


def fill(file: Path) -> bool:
    """Make the tables of an empty database, all or none; False where there is no copy that can be
    used."""
    kept = _kept()
    if kept is None or (script := _read(kept)) is None:
        return False
    try:
        with contextlib.closing(sqlite3.connect(file, timeout=0)) as store:
            # a transaction; a table that is there already ends it
            store.executescript(script)
    except sqlite3.Error:
        return False
    return True


def keep(file: Path) -> None:
    """Keep a copy of the tables of a store that MLflow has just made. What goes wrong is of no
    consequence."""
    kept = _kept()
    if kept is None:
        return
    with (
        contextlib.suppress(sqlite3.Error, StorageError),
        contextlib.closing(sqlite3.connect(":memory:")) as copy,
    ):
        with contextlib.closing(sqlite3.connect(file)) as store:
            store.backup(copy)
        # MLflow makes the first for each store, with a place of its own
        copy.execute("DELETE FROM experiments")
        copy.commit()
        if copy.execute("SELECT version_num FROM alembic_version").fetchall() == [
            (newest_schema(),)
        ]:
            script = "\n".join(copy.iterdump())
            files.write_bytes(kept, f"-- {_digest(script)}\n{script}".encode())


def usable() -> bool:
    """Whether there is a copy from which a new store can be made."""
    kept = _kept()
    return kept is not None and _read(kept) is not None


def _kept() -> Path | None:
    """Where the copy for the installed MLflow is kept; None where its version or schema is
    unclear."""
    schema = newest_schema()
    with contextlib.suppress(PackageNotFoundError):
        return (
            None
            if schema is None
            else cache_folder() / "mlflow" / f"{version('mlflow')}-{schema}.sql"
        )
    return None


def _read(kept: Path) -> str | None:
    """The script that makes the tables; None where there is none, it is damaged, or others could
    have written it."""
    try:
        about = kept.stat()
        if hasattr(os, "getuid") and (
            about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        ):
            return None
        noted, _, script = outside.decoded(outside.read_bytes(kept)).partition("\n")
    except (OSError, DataError, outside.Unreadable):
        return None
    return script if noted == f"-- {_digest(script)}" else None


def _digest(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()
