"""Finds the config folder, the shipped data and the user's cache."""

import os
from pathlib import Path


def conf_folder() -> Path:
    """The Hydra config folder: beside the package in a checkout, inside it in an installed
    wheel."""
    return _shipped("conf")


def data_folder() -> Path:
    """The curated data: beside the package in a checkout, inside it in an installed wheel."""
    return _shipped("data")


def cache_folder() -> Path:
    """Where downloads, assembled models and finished calls are kept: $UNDOGMATIC_CACHE, or the
    user's cache folder."""
    if configured := os.environ.get("UNDOGMATIC_CACHE"):
        return Path(configured).expanduser()
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "undogmatic"
    )


def _shipped(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    return package / name if (package / name).is_dir() else package.parent / name
