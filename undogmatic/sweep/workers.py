"""Jobs that a launcher runs side by side on this machine share its cores when they run the embedded model.

Two workers of two threads each on two cores are ten times slower than one (41 tokens a second against 430): so the
threads are divided, and of launchers that start all jobs at once no more run than there are cores.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from omegaconf import DictConfig, OmegaConf

from undogmatic.errors import ConfigError
from undogmatic.safety.command import SWEEP_FOLDER, WORKERS, say

SLOTS = ".slots"
EMBEDDED = "undogmatic.models.embedded.EmbeddedModel"
_PAUSE = 0.2  # seconds between two looks for a free slot
_held: list[FileLock] = []


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(config: DictConfig) -> int:
    """How many jobs the configured launcher runs side by side on this machine; 1 for one that runs them elsewhere."""
    kind = _kind(config)
    if kind == "LocalLauncher":
        return cores()
    asked = int(OmegaConf.select(config, "hydra.launcher.n_jobs") or 1) if kind == "JoblibLauncher" else 1
    return max(1, asked if asked > 0 else cores() + 1 + asked)


def check_launcher(config: DictConfig) -> None:
    """Raise ConfigError for a launcher that cannot start anything here."""
    if _kind(config) == "SlurmLauncher" and shutil.which("srun") is None:
        raise ConfigError(
            "`hydra/launcher` is one for Slurm, and there is no `srun` here. Start the sweep on a node of the cluster, "
            "or choose hydra/launcher=submitit_local or joblib."
        )


def announce(config: DictConfig) -> None:
    """Tell the workers how many they are, and the user where that leaves a model fewer threads than were asked for."""
    count = workers(config)
    os.environ[WORKERS] = str(count)
    threads, share = OmegaConf.select(config, "model.threads"), max(1, cores() // count)
    if count > 1 and _embedded(config) and isinstance(threads, int) and share < threads:
        say(
            f"note: {count} jobs at once share {cores()} cores, so each has {share} "
            f"{'thread' if share == 1 else 'threads'} for the embedded model (model.threads is {threads})."
        )


def take_slot(config: DictConfig) -> None:
    """Wait in a worker until fewer jobs with the embedded model run here than there are cores."""
    if not _embedded(config) or _held or int(os.environ.get(WORKERS, "1")) < 2:
        return
    import time

    folder = Path(os.environ[SWEEP_FOLDER]) / SLOTS
    folder.mkdir(exist_ok=True)
    while True:
        for n in range(cores()):
            lock = FileLock(folder / f"{n}.lock")
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=0)
                _held.append(lock)
                return
        time.sleep(_PAUSE)


def free_slot() -> None:
    """Let another job begin."""
    while _held:
        _held.pop().release()


def _kind(config: DictConfig) -> str:
    return str(OmegaConf.select(config, "hydra.launcher._target_")).rpartition(".")[2]


def _embedded(config: Any) -> bool:
    return OmegaConf.select(config, "model._target_") == EMBEDDED
