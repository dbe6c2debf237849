"""A fresh local store for each test."""

import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def client(migrated: Path, tmp_path: Path) -> Any:
    """A client on the local store of the test's folder."""
    from mlflow import MlflowClient

    from undogmatic.tracking.store import default_uri

    (tmp_path / "mlruns").mkdir()
    shutil.copy(migrated, tmp_path / "mlruns")
    return MlflowClient(default_uri(), default_uri())
