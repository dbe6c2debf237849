"""A new local store is copied from an empty one in the cache, or made by MLflow where that one
cannot be trusted."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from undogmatic.safety.paths import cache_folder
from undogmatic.tracking import template
from undogmatic.tracking.store import address_of, opened

Change = Callable[[Path], Any]


def content(file: Path) -> list[Any]:
    """The tables of a database as they are declared, and their rows without the times."""
    with contextlib.closing(sqlite3.connect(file)) as store:
        declared = sorted(
            store.execute(
                "SELECT type, name, tbl_name, sql FROM sqlite_master"
            ).fetchall(),
            key=str,
        )
        rows = [
            store.execute(f"SELECT * FROM {name}").fetchall()
            for kind, name, *_ in declared
            if kind == "table"
        ]
    return [
        declared,
        [
            [cell for row in table for cell in row if not isinstance(cell, int)]
            for table in rows
        ],
    ]


@pytest.fixture
def kept(migrated: Path) -> Path:
    """The copy in the test's cache."""
    template.keep(migrated)
    (file,) = (cache_folder() / "mlflow").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    return file


def test_a_copied_store_is_the_one_that_mlflow_makes(
    migrated: Path, tmp_path: Path
) -> None:
    stores = [tmp_path / "first.db", tmp_path / "second.db"]
    for file in stores:
        assert template.usable() == (file == stores[1])
        with opened(address_of(file), "Default", "") as store:
            assert store.client.search_experiments()[0].artifact_location == str(
                tmp_path / "mlruns" / "0"
            )
    assert content(stores[0]) == content(stores[1])


def _shorter(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _other_byte(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"experiments", b"experimentz", 1))


@pytest.mark.parametrize(
    "change",
    [
        _shorter,
        _other_byte,
        Path.unlink,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\xff\xfe\x00"),
        lambda file: file.chmod(0o620),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: file.rename(file.with_name("3.16.0-abc.sql")),
    ],
)
def test_what_is_odd_about_a_copy_leaves_the_store_to_mlflow(
    kept: Path, tmp_path: Path, change: Change
) -> None:
    assert template.usable()
    change(kept)
    assert not template.usable()
    assert not template.fill(tmp_path / "new.db") and not (tmp_path / "new.db").exists()


def test_a_store_that_another_process_has_begun_is_left_as_it_is(
    kept: Path, tmp_path: Path
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as store:
        store.execute("CREATE TABLE workspaces (name)")  # one of the last
    before = content(tmp_path / "new.db")
    assert (
        not template.fill(tmp_path / "new.db")
        and content(tmp_path / "new.db") == before
    )


def test_no_copy_is_kept_of_another_schema_and_none_where_the_cache_cannot_be_written(
    kept: Path, migrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.unlink()
    with (
        contextlib.closing(sqlite3.connect(migrated)) as store,
        contextlib.closing(sqlite3.connect("old.db")) as old,
    ):
        store.backup(old)
        old.execute("UPDATE alembic_version SET version_num = 'abc'")
        old.commit()
    template.keep(Path("old.db"))
    assert not kept.exists()
    (tmp_path / "full").write_text("a file")
    monkeypatch.setenv("UNDOGMATIC_CACHE", str(tmp_path / "full"))
    template.keep(migrated)
    assert not template.usable()
