"""A fresh local store for each test."""

import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh MLflow database; making one takes seconds, copying it none."""
    from undogmatic.tracking.store import prepare_environment

    prepare_environment()
    from mlflow import MlflowClient

    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}", f"sqlite:///{file}")
    return file


@pytest.fixture
def client(migrated: Path, tmp_path: Path) -> Any:
    """A client on the local store of the test's folder."""
    from mlflow import MlflowClient

    from undogmatic.tracking.store import default_uri

    (tmp_path / "mlruns").mkdir()
    shutil.copy(migrated, tmp_path / "mlruns")
    return MlflowClient(default_uri(), default_uri())
