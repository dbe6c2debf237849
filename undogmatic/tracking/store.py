"""Opens the MLflow store (made once, locked where it is a local file), lets no secret into it, and
words its errors."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.runs.ahead import Step, modules
from undogmatic.safety.command import say
from undogmatic.safety.files import make_database
from undogmatic.safety.secrets import has_secret, learn, scrub, scrub_data
from undogmatic.tracking import template

if TYPE_CHECKING:
    from mlflow import MlflowClient

AT_ONCE = 100  # parameters or traces in one request, MLflow's limit
SCHEMES = ("sqlite", "http", "https", "postgresql", "mysql", "mssql", "databricks")
SAID_AFTER, LOCK_SECONDS = 3.0, 600.0
"""How long another process may write to a local store before this one says that it waits, and
before it gives up."""

VIEW = "undogmatic"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
"""The shared view of an experiment's runs that opens with verdict and headline, and where MLflow
keeps it (`view`)."""

_UNQUOTED = "".join(chr(n) for n in range(32, 127) if chr(n) not in "%?")
_THEIRS = ("mlflow", "opentelemetry")
_TABLES = ("alembic_version", "experiments")
# where MLflow notes addresses of artifacts
_LOCATIONS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("trace_tags", "value"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
)
# Read by MLflow when it is imported. Nothing is sent home, its INFO lines stay off the screen, and
# a server that does not answer is given up after seconds, not minutes: the results are on disk and
# can be logged later.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


class Store(NamedTuple):
    """An open store: the client, the experiment, and the address without credentials, for messages
    and notes."""

    client: MlflowClient
    experiment_id: str
    uri: str
    address: str


def default_uri() -> str:
    """The local store of this folder: `mlruns/mlflow.db`."""
    return address_of(Path("mlruns/mlflow.db"))


def address_of(file: Path) -> str:
    """The address of a SQLite file; SQLAlchemy reads the name of the file as part of a URL."""
    return f"sqlite:///{quote(str(file.resolve()), safe=_UNQUOTED)}"


def check_uri(uri: str) -> None:
    """Raise ConfigError for an address that MLflow cannot log everything to."""
    scheme = uri.partition(":")[0].partition("+")[0]
    if has_secret(uri) and uri != os.environ.get("MLFLOW_TRACKING_URI"):
        raise ConfigError(
            "`tracking.uri` holds a password, which would be kept in the run's overrides and"
            " reports. Put the address into MLFLOW_TRACKING_URI in the environment and leave"
            " tracking.uri out."
        )
    if ":" not in uri or scheme not in SCHEMES:
        raise ConfigError(
            f"`tracking.uri` is {scrub_data(uri)!r}; it must be a server or a database"
            f" ({', '.join(SCHEMES)}). MLflow's folder stores take no traces. For a local store"
            " leave it out, or use sqlite:///FILE.db."
        )


def database(uri: str) -> Path | None:
    """The file of a SQLite address, or None for any other."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(unquote(uri.removeprefix("sqlite:///").partition("?")[0])).resolve()


def prepare_environment() -> None:
    """Settings that MLflow reads on import; what the user has set wins."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # It logs what a database refuses with a traceback, and raises it too, which is what we tell of.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


def check_store(uri: str | None) -> None:
    """Look whether a store can be written, as far as that is known at once, before anything is
    judged for it.

    Raises:
        ConfigError: A local store that nobody can write, a damaged database or another program's,
            one of another version of MLflow; a database whose driver is not installed.
    """
    uri = uri if uri is not None else default_uri()
    file = database(uri)
    why = None if file is None else _unusable(file)
    if uri.partition(":")[0].partition("+")[0] in ("postgresql", "mysql", "mssql"):
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            make_url(uri).get_dialect().import_dbapi()
        except ImportError as error:
            why = (
                f"and the driver of this kind of database is not installed ({error}). Install it"
                " with pip."
            )
        except (ArgumentError, ValueError) as error:
            why = f"which is no address of a database ({str(error).splitlines()[0]})."
    if why is not None:
        raise ConfigError(
            f"`tracking.uri` is {scrub_data(uri)!r}, {why} Name another store, or do without"
            " MLflow: tracking=none."
        )


def _unusable(file: Path) -> str | None:
    """What is wrong with a local store; None also for one that is yet to be made, or is locked by
    another process."""
    there = next(part for part in (file, *file.parents) if part.exists())
    if there != file:
        what = (
            "is a file"
            if not there.is_dir()
            else "cannot be written"
            if not os.access(there, os.W_OK)
            else None
        )
        return None if what is None else f"but {there} {what}."
    if not file.is_file():
        return "which is no file."
    try:
        with contextlib.closing(
            sqlite3.connect(file, timeout=0, isolation_level=None)
        ) as store:
            tables = {
                str(name)
                for (name,) in store.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                )
            }
            if tables and not tables.issuperset(_TABLES):
                return f"a database of another program (it holds {', '.join(sorted(tables)[:3])})."
            rows = (
                store.execute(f"SELECT version_num FROM {_TABLES[0]}").fetchall()
                if tables
                else []
            )
        versions = [str(version) for (version,) in rows]
        newest = template.newest_schema() if rows else None
        if newest is not None and versions != [newest]:
            return (
                f"a store of another version of MLflow (schema {versions[0]}, here {newest}). Copy"
                f" the file, then: mlflow db upgrade {address_of(file)}"
            )
        _try_to_write(file, 0)
    except sqlite3.Error as error:
        return None if "locked" in str(error) else f"which cannot be used ({error})."
    return None


def loading(uri: str | None) -> list[Step]:
    """The steps that load MLflow for this store, and of a new local one make what its tables are
    copied from."""
    prepare_environment()
    file = database(uri if uri is not None else default_uri())
    if file is None:
        return modules("mlflow")
    stores = (
        "mlflow.store.tracking.sqlalchemy_store",
        "mlflow.store.model_registry.sqlalchemy_store",
    )
    steps = modules("mlflow", "sqlalchemy.orm", "alembic.migration", *stores)
    return steps if file.exists() else [*steps, _make_template]


def _make_template() -> None:
    """Have MLflow make an empty store, and keep a copy of its tables, where there is none that can
    be used."""
    if template.usable():
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mlflow.db"
        SqlAlchemyStore(address_of(file), folder).engine.dispose()
        template.keep(file)


@contextlib.contextmanager
def opened(
    uri: str | None,
    experiment: str,
    kept: str,
    key: str = "`tracking.uri`",
    instead: str = "Without MLflow: tracking=none.",
) -> Iterator[Store]:
    """Open the store, creating database and experiment if need be.

    A SQLite file is locked (a file beside it) for as long as it is open here: MLflow's first
    migration breaks when two processes run it at once, and whole runs written one after another
    never meet a locked database.

    Args:
        uri: Address, or None for the local store.
        experiment: Name of the MLflow experiment; artifacts of a local store go to `artifacts/`
            beside its database.
        kept: What is safe and where, for the error message.
        key: What named the address, for the same. instead: What else can be done.
    Raises:
        ConfigError: The store cannot be used, now or half way through.
    """
    uri = uri if uri is not None else default_uri()
    learn(uri, "tracking.uri")
    file = database(uri)
    address = str(scrub_data(uri))
    prepare_environment()
    try:
        with contextlib.ExitStack() as stack:
            if file is not None:
                # Its owner's alone, like the journals that it repeats, before SQLite opens it.
                (file.parent / "artifacts").mkdir(
                    mode=0o700, parents=True, exist_ok=True
                )
                make_database(file)
                stack.enter_context(_alone(file, kept, key, instead))
                repair(file)
            new = file if file is not None and file.stat().st_size == 0 else None
            copied = new is not None and template.fill(new)
            from mlflow import MlflowClient

            client: Any = WithoutSecrets(
                MlflowClient(tracking_uri=uri, registry_uri=uri)
            )
            if new is not None and not copied:
                template.keep(new)
            yield Store(client, _experiment(client, experiment, file), uri, address)
    except Exception as error:  # whatever MLflow, a driver or a server comes up with
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        # What a line of this package raised, not one of MLflow or below, nor the system, is no
        # fault of the store.
        ours = str(frame.f_globals.get("__name__")).partition(".")[0] == "undogmatic"
        if isinstance(error, UndogmaticError) or (
            ours and not isinstance(error, OSError | sqlite3.Error)
        ):
            raise
        reason = (
            str(scrub_data(str(error).strip().splitlines()[0]))
            if str(error).strip()
            else type(error).__name__
        )
        raise ConfigError(
            f"{key} is {address!r}, and MLflow cannot be used there: {reason}\n{kept} {instead}"
        ) from None


@contextlib.contextmanager
def _alone(file: Path, kept: str, key: str, instead: str) -> Iterator[None]:
    """Be the only one of our processes that writes to this database, once no other program has it
    locked."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{file}.lock")
    for seconds in (SAID_AFTER, LOCK_SECONDS):
        try:
            with lock.acquire(timeout=seconds):
                try:
                    _try_to_write(file, seconds)
                except sqlite3.Error as error:  # of another one MLflow has more to say
                    if "locked" in str(error):
                        raise Timeout(str(file)) from None
                yield
                return
        except Timeout:
            if seconds == SAID_AFTER:
                say(
                    f"waiting for the MLflow store {file}, to which another process is writing (at"
                    f" most {LOCK_SECONDS / 60:.0f} minutes; to stop: Ctrl-C). {kept}"
                )
    raise ConfigError(
        f"{key} is '{address_of(file)}', which another process has kept locked for"
        f" {LOCK_SECONDS / 60:.0f} minutes. End that one. {kept} {instead}"
    )


def _try_to_write(file: Path, seconds: float) -> None:
    """Raise sqlite3.Error if the database cannot be written within so many seconds."""
    with contextlib.closing(
        sqlite3.connect(file, timeout=seconds, isolation_level=None)
    ) as store:
        # SQLite takes the lock for writing here, and not at the first row that is written.
        store.execute("BEGIN IMMEDIATE")
        store.execute("ROLLBACK")


def repair(file: Path) -> None:
    """Let a local store that was moved find its artifacts again. MLflow notes where they lie as
    whole addresses; those whose folder is gone, while there is one beside the database, are written
    anew."""
    here = (file.parent / "artifacts").as_uri()
    with contextlib.closing(sqlite3.connect(file, timeout=SAID_AFTER)) as store:
        tables = {
            str(name)
            for (name,) in store.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
        }
        if not tables.issuperset(_TABLES) or not (file.parent / "artifacts").is_dir():
            return
        noted = store.execute(
            "SELECT artifact_location FROM experiments WHERE artifact_location LIKE 'file:%'"
        )
        for there in {str(location).rstrip("/") for (location,) in noted}:
            # Addresses that still lead somewhere are those of another store's artifacts.
            if (
                there == here
                or not there.endswith("/artifacts")
                or Path(unquote(urlsplit(there).path)).exists()
            ):
                continue
            for table, column in (place for place in _LOCATIONS if place[0] in tables):
                moved = (
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}"
                    " || '/', 1, ?) = ?"
                )
                store.execute(
                    moved, (here, len(there) + 1, len(there) + 1, f"{there}/")
                )
        store.commit()


def pages(uri: str | None) -> dict[str, str]:
    """Where to look first in a local store: at its newest run, and at all runs side by side;
    nothing if it has none."""
    file = database(uri if uri is not None else default_uri())
    jobs = "SELECT run_uuid FROM tags WHERE key = 'mlflow.parentRunId'"
    alone = f"lifecycle_stage = 'active' AND run_uuid NOT IN ({jobs})"
    what = f"SELECT experiment_id, run_uuid, name FROM runs WHERE {alone} ORDER BY start_time DESC"
    if file is None:
        return {}
    with (
        contextlib.closing(sqlite3.connect(file, timeout=SAID_AFTER)) as store,
        contextlib.suppress(sqlite3.Error),
    ):
        for experiment, run, name in store.execute(what):
            runs = f"#/experiments/{experiment}/runs"
            charts = f"{runs}?compareRunsMode=CHART"
            viewed = store.execute(
                "SELECT 1 FROM experiment_tags WHERE experiment_id = ? AND key = ?",
                (experiment, VIEW_TAG),
            ).fetchone()
            return {
                f"the newest run, {name}": f"{runs}/{run}",
                "all runs": f"{runs}?viewStateShareKey={VIEW}" if viewed else runs,
                "side by side": charts,
            }
    return {}


def _experiment(client: MlflowClient, name: str, file: Path | None) -> str:
    """The experiment's id; a new one keeps its artifacts beside a local database, else where the
    server wants them."""
    there = client.get_experiment_by_name(name)
    if there is None:
        location = None if file is None else (file.parent / "artifacts").as_uri()
        return str(client.create_experiment(name, artifact_location=location))
    # MLflow keeps the name of a deleted experiment taken.
    if there.lifecycle_stage == "deleted":
        raise ConfigError(
            f"`tracking.experiment` is {name!r}, which was deleted in MLflow. Restore it there "
            f"(mlflow experiments restore -x {there.experiment_id}) or choose another name."
        )
    return str(there.experiment_id)


class WithoutSecrets:
    """Wraps a client of MLflow so that no call of it is made with a secret in its arguments."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)

        def call(*args: Any, **named: Any) -> Any:
            return attribute(
                *map(scrubbed, args), **{k: scrubbed(v) for k, v in named.items()}
            )

        return call if callable(attribute) else attribute


def scrubbed(value: Any) -> Any:
    """Plain data, tables and MLflow's own entities without secrets; an entity is changed where it
    is."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {
            scrub(k) if isinstance(k, str) else k: scrubbed(v) for k, v in value.items()
        }
    # A named tuple is not made of one argument, and has no secrets of its own.
    if type(value) in (list, tuple, set):
        return type(value)(map(scrubbed, value))
    kind = type(value).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(value, "isetitem"):
        # Only columns that hold a secret are copied: a table may have a million rows.
        clean = value.copy(deep=False)
        for n in range(value.shape[1]):
            cells = value.iloc[:, n]
            kept = [
                scrubbed(cell) if isinstance(cell, str | list | Mapping) else cell
                for cell in cells
            ]
            if any(
                new is not old and new != old
                for new, old in zip(kept, cells, strict=True)
            ):
                clean.isetitem(
                    n, type(cells)(kept, index=value.index, dtype=cells.dtype)
                )
        return clean
    if kind in _THEIRS and hasattr(value, "__dict__"):
        for name, held in vars(value).items():
            if (
                isinstance(held, str | list | tuple | Mapping)
                or type(held).__module__.partition(".")[0] in _THEIRS
            ):
                changed = scrubbed(held)
                if changed is not held and changed != held:
                    object.__setattr__(value, name, changed)
    return value
