"""Tells which versions of the program and its libraries are at work. Light: commands that run
nothing tell it, too."""

import functools
import importlib.metadata
import platform
import subprocess
from contextlib import suppress
from pathlib import Path

_PACKAGES = "undogmatic dspy hydra-core mlflow numpy pandas scipy scikit-learn xllamacpp".split()


@functools.cache
def versions() -> dict[str, str]:
    """What produced the numbers: package -> version; "python" and "git" (commit, with "+changes" if
    the checkout is dirty) besides. As they were when this process first asked: what is installed
    later is not what it runs.
    """
    root = Path(__file__).resolve().parents[2]
    known = {
        "python": platform.python_version(),
        "git": "no checkout",
    }

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", root, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
        return done.stdout.strip()

    if (root / ".git").exists():
        known["git"] = "unknown"
        with suppress(OSError, subprocess.SubprocessError):
            changes = git("status", "--porcelain", "--untracked-files=no")
            known["git"] = git("rev-parse", "HEAD") + ("+changes" if changes else "")
    for package in _PACKAGES:
        known[package] = "not installed"
        with suppress(importlib.metadata.PackageNotFoundError):
            known[package] = importlib.metadata.version(package)
    return known
