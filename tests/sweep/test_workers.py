"""Jobs side by side: how many there are, how they share the cores, and what cannot start here."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from undogmatic.errors import ConfigError
from undogmatic.models import embedded
from undogmatic.safety.command import SWEEP_FOLDER, WORKERS
from undogmatic.sweep import launch

PLUGINS = "hydra_plugins.hydra_"


def config(target: str, **more: object) -> DictConfig:
    launcher = {"_target_": target, **more}
    return OmegaConf.create(
        {"hydra": {"launcher": launcher}, "model": {"_target_": launch.EMBEDDED, "threads": launch.cores()}}
    )


@pytest.fixture
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.os, "sched_getaffinity", lambda _: set(range(4)), raising=False)


@pytest.mark.usefixtures("_four_cores")
@pytest.mark.parametrize(
    ("target", "jobs", "count"),
    [
        ("joblib_launcher.joblib_launcher.JoblibLauncher", 2, 2),
        ("joblib_launcher.joblib_launcher.JoblibLauncher", -1, 4),
        ("submitit_launcher.submitit_launcher.LocalLauncher", None, 4),
        ("submitit_launcher.submitit_launcher.SlurmLauncher", None, 1),
    ],
)
def test_threads_are_divided_among_the_jobs(
    target: str, jobs: int | None, count: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(WORKERS, "1")
    launch.announce(config(PLUGINS + target, n_jobs=jobs))
    assert embedded._own_share(4) == 4 // count
    assert embedded._own_share(1) == 1
    assert (f"{count} jobs at once share 4 cores" in capsys.readouterr().err) == (count > 1)


def test_no_more_jobs_with_the_model_run_than_there_are_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWEEP_FOLDER, str(tmp_path))
    monkeypatch.setenv(WORKERS, "2")
    monkeypatch.setattr(launch, "cores", lambda: 1)
    given = config("LocalLauncher")
    launch.take_slot(given)
    (first,) = launch._held
    monkeypatch.setattr(launch, "_held", [])  # as another process would see it
    monkeypatch.setattr(launch, "_PAUSE", 0.01)
    second = threading.Thread(target=launch.take_slot, args=(given,))
    second.start()
    second.join(0.2)
    assert second.is_alive()
    first.release()
    second.join(5)
    assert not second.is_alive()
    launch.free_slot()


def test_a_launcher_for_slurm_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match="no `srun` here"):
        launch.check_launcher(config(f"{PLUGINS}submitit_launcher.submitit_launcher.SlurmLauncher"))
