"""Before a sweep asks anything: what does not reach the model is refused; and jobs side by side
share the cores."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from tests.sweep.builders import multirun
from undogmatic.config import compose
from undogmatic.errors import ConfigError
from undogmatic.models import embedded
from undogmatic.safety.command import SWEEP_FOLDER, WORKERS
from undogmatic.sweep import launch

HOSTED = ["model=gpt", "model.api_base=http://127.0.0.1:9"]
PLUGINS = "hydra_plugins.hydra_"


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("prompt=anchored_pt,anchored_en", "readout=probe"),
        ("prompt=anchored_pt,anchored_en model=local,patterns", "readout=rules"),
    ],
)
def test_two_names_for_the_same_requests_are_refused(
    words: str, named: str, tmp_path: Path
) -> None:
    done = multirun(tmp_path, "run.limit=2", *words.split())
    assert (
        done.returncode == 2
        and "would send the same requests" in done.stderr
        and named in done.stderr
    )
    assert not list(tmp_path.rglob("judgments.jsonl"))


@pytest.mark.local_model
@pytest.mark.parametrize(
    "words",
    [
        "readout=logprobs prompt=demos_pt +prompt.instructions=kind,strict",
        "readout=logprobs prompt=demos_pt,anchored_pt,demos_en readout.zero_shot=true,false",
        "readout=logprobs prompt=demos_pt,demos_en prompt.demo_order=range(0,2)",
        # An order that plays no part for some counts is no fault.
        "readout=logprobs prompt=demos_pt prompt.demo_order=0,1 prompt.demo_count=1,3",
        f"{' '.join(HOSTED)} +prompt.instructions=kind,strict",
    ],
)
def test_what_differs_in_a_request_is_not_refused(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    sent = [*words.split(), "hydra.mode=MULTIRUN"]
    looked: list[Any] = []
    with compose.opened(sent, (), "run") as loader, monkeypatch.context() as patch:
        known = launch._sent
        patch.setattr(
            launch, "_sent", lambda *given: looked.append(known(*given)) or looked[-1]
        )
        launch.check_reaching(
            loader.load_configuration("config", sent, RunMode.MULTIRUN)
        )
    assert len(looked) > 1 and None not in looked, "the requests were compared"


def test_a_range_is_a_job_for_each_of_its_values(tmp_path: Path) -> None:
    done = multirun(tmp_path, "model=patterns", "run.limit=range(2,10,2)")
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(list(tmp_path.rglob("judgments.jsonl"))) == 4


def config(target: str, **more: object) -> DictConfig:
    launcher = {"_target_": target, **more}
    return OmegaConf.create(
        {
            "hydra": {"launcher": launcher},
            "model": {"_target_": launch.EMBEDDED, "threads": launch.cores()},
        }
    )


@pytest.fixture
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        launch.os, "sched_getaffinity", lambda _: set(range(4)), raising=False
    )


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
    target: str,
    jobs: int | None,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(WORKERS, "1")
    launch.announce(config(PLUGINS + target, n_jobs=jobs))
    assert [embedded.EmbeddedModel(threads=threads).threads for threads in (4, 1)] == [
        4 // count,
        1,
    ]
    assert (f"{count} jobs at once share 4 cores" in capsys.readouterr().err) == (
        count > 1
    )


def test_no_more_jobs_with_the_model_run_than_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_launcher_for_slurm_is_refused_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch.shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match="no `srun` here"):
        launch.check_launcher(
            config(f"{PLUGINS}submitit_launcher.submitit_launcher.SlurmLauncher")
        )


def test_a_job_for_slurm_asks_for_what_its_config_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sbatch` stands in for a cluster: it keeps the script, and takes no job."""
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    sbatch = (
        f'#!/bin/sh\nfor script; do cp "$script" {tmp_path}/script.sh; done\necho "no partition is'
        ' free" >&2\nexit 1\n'
    )
    for name in ("srun", "sbatch"):
        (tmp_path / name).write_text(sbatch)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    words = [
        "hydra/launcher=slurm",
        "hydra.launcher.partition=short",
        "hydra.launcher.timeout_min=90",
    ]
    done = multirun(tmp_path, *words, "model=patterns,tfidf", "run.limit=2")
    assert done.returncode != 0 and "no partition is free" in done.stderr
    script = (tmp_path / "script.sh").read_text()
    for option in (
        "--partition=short",
        "--time=90",
        "--cpus-per-task=4",
        "--mem=8GB",
        "--array=0-1%2",
    ):
        assert f"#SBATCH {option}\n" in script
    assert "srun" in script and not list(tmp_path.rglob("judgments.jsonl"))


def test_a_pattern_stands_for_the_options_of_its_group(tmp_path: Path) -> None:
    done = multirun(
        tmp_path, "model=patterns", "run.limit=2", "analysis=none", "judge=glob(sc*)"
    )
    assert done.returncode == 0, done.stderr
    (job,) = list(tmp_path.rglob("judgments.jsonl"))
    assert "judge=score" in (job.parent / ".hydra" / "overrides.yaml").read_text()
