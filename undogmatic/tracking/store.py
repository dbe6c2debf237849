"""The MLflow store: made once, opened under a lock where it is a local file, and its errors in plain words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from undogmatic.errors import ConfigError
from undogmatic.files import OWN
from undogmatic.secrets import has_secret, learn, scrub_data
from undogmatic.tracking.hide import without_secrets

if TYPE_CHECKING:
    from mlflow import MlflowClient

SCHEMES = ("sqlite", "http", "https", "postgresql", "mysql", "mssql", "databricks")
LOCK_SECONDS = 600.0

# Read by MLflow when it is imported. Nothing is sent home, its INFO lines stay off the screen, and a server that does
# not answer is given up after seconds, not minutes: the results are on disk and can be logged later.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


class Store(NamedTuple):
    """An open store: the client, the experiment, and the address without credentials, for messages and notes."""

    client: MlflowClient
    experiment_id: str
    uri: str
    address: str


def default_uri() -> str:
    """The local store of this folder: `mlruns/mlflow.db`."""
    return f"sqlite:///{Path('mlruns/mlflow.db').resolve()}"


def check_uri(uri: str) -> None:
    """Raise ConfigError for an address that MLflow cannot log everything to."""
    scheme = uri.partition(":")[0].partition("+")[0]
    if has_secret(uri) and uri != os.environ.get("MLFLOW_TRACKING_URI"):
        raise ConfigError(
            "`tracking.uri` holds a password, which would be kept in the run's overrides and reports. Put the address "
            "into MLFLOW_TRACKING_URI in the environment and leave tracking.uri out."
        )
    if ":" not in uri or scheme not in SCHEMES:
        raise ConfigError(
            f"`tracking.uri` is {scrub_data(uri)!r}; it must be a server or a database ({', '.join(SCHEMES)}). "
            "MLflow's folder stores take no traces. For a local store leave it out, or use sqlite:///FILE.db."
        )


def database(uri: str) -> Path | None:
    """The file of a SQLite address, or None for any other."""
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]).resolve() if uri.startswith("sqlite:///") else None


def prepare_environment() -> None:
    """Settings that MLflow reads on import; what the user has set wins."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def opened(uri: str | None, experiment: str, kept: str) -> Iterator[Store]:
    """Open the store, creating database and experiment if need be.

    A SQLite file is locked (a file beside it) for as long as it is open here: MLflow's first migration breaks when two
    processes run it at once, and whole runs written one after another never meet a locked database.

    Args:
        uri: Address, or None for the local store.
        experiment: Name of the MLflow experiment; artifacts of a local store go to `artifacts/` beside its database.
        kept: What is safe and where, for the error message.
    Raises:
        ConfigError: The store cannot be used, now or half way through.
    """
    uri = uri if uri is not None else default_uri()
    learn(uri, "tracking.uri")
    file = database(uri)
    address = str(scrub_data(uri))
    prepare_environment()
    import requests
    from filelock import FileLock, Timeout
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with contextlib.ExitStack() as stack:
            if file is not None:
                _make(file)
                stack.enter_context(FileLock(f"{file}.lock", timeout=LOCK_SECONDS))
            client = without_secrets(MlflowClient(tracking_uri=uri, registry_uri=uri))
            yield Store(client, _experiment(client, experiment, file), uri, address)
    except (MlflowException, SQLAlchemyError, requests.RequestException, Timeout, OSError) as error:
        reason = str(scrub_data(str(error).strip().splitlines()[0])) if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"`tracking.uri` is {address!r}, and MLflow cannot be used there: {reason}\n"
            f"{kept} Without MLflow: tracking=none."
        ) from None


def _make(file: Path) -> None:
    """Make a local store's files its owner's alone, like the journals that they repeat."""
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / "artifacts").mkdir(mode=0o700, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, OWN))


def _experiment(client: MlflowClient, name: str, file: Path | None) -> str:
    """The experiment's id; a new one keeps its artifacts beside a local database, else where the server wants them."""
    found = client.get_experiment_by_name(name)
    if found is not None and found.lifecycle_stage == "deleted":
        raise ConfigError(
            f"`tracking.experiment` is {name!r}, which was deleted in MLflow. Restore it there "
            f"(mlflow experiments restore -x {found.experiment_id}) or choose another name."
        )
    if found is not None:
        return str(found.experiment_id)
    location = None if file is None else (file.parent / "artifacts").as_uri()
    return str(client.create_experiment(name, artifact_location=location))
