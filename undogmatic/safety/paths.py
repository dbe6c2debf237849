"""Finds the config folder, the shipped data and the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def conf_folder() -> Path:
    """The Hydra config folder: beside the package in a checkout, inside it in an installed wheel."""
    return _shipped("conf")


def data_folder() -> Path:
    """The curated data: beside the package in a checkout, inside it in an installed wheel."""
    return _shipped("data")


def cache_folder() -> Path:
    """Where downloads, assembled models and finished calls are kept: $UNDOGMATIC_CACHE, or the user's cache folder."""
    configured = os.environ.get("UNDOGMATIC_CACHE")
    if configured:
        return Path(configured).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "undogmatic"


def _shipped(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
