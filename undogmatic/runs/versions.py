"""Names what produced the numbers: versions of the packages that matter, and the git commit of the checkout."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path

_PACKAGES = "undogmatic dspy hydra-core mlflow numpy pandas scipy scikit-learn xllamacpp".split()


@functools.cache
def versions() -> dict[str, str]:
    """Package -> version; "python" and "git" (commit, with "+changes" if the checkout is dirty) besides.

    As they were when this process first asked: what is installed later is not what it runs.
    """
    found = {"python": platform.python_version(), "git": _commit()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _commit() -> str:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return "no checkout"

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
