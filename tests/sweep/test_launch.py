"""Before a sweep asks anything: what does not reach the model is refused; and jobs side by side share the cores."""

import threading
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from tests.sweep.builders import multirun
from undogmatic.errors import ConfigError
from undogmatic.models import embedded
from undogmatic.safety.command import SWEEP_FOLDER, WORKERS
from undogmatic.sweep import launch

HOSTED = ["model=gpt", "model.api_base=http://127.0.0.1:9"]
PLUGINS = "hydra_plugins.hydra_"


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("words", "named", "judged"),
    [
        ("prompt=anchored_pt,anchored_en", "readout=probe", 0),
        ("prompt=anchored_pt,anchored_en model=local,patterns", "readout=rules", 0),
        ("readout=logprobs prompt=demos_pt +prompt.instructions=kind,strict", None, None),
        ("readout=logprobs prompt=demos_pt,anchored_pt,demos_en readout.zero_shot=true,false", None, None),
        ("readout=logprobs prompt=demos_pt,demos_en prompt.demo_order=range(0,2)", None, 4),
        # An order that plays no part for some counts is no fault.
        ("readout=logprobs prompt=demos_pt prompt.demo_order=0,1 prompt.demo_count=1,3", None, None),
    ],
)
def test_two_names_for_the_same_requests_are_refused(
    words: str, named: str | None, judged: int | None, tmp_path: Path
) -> None:
    done = multirun(tmp_path, "run.limit=2", *words.split())
    refused = "would send the same requests" in done.stderr
    assert refused == (named is not None), done.stderr[-2000:]
    if named is not None:
        assert done.returncode == 2 and named in done.stderr
    assert judged in (None, len(list(tmp_path.rglob("judgments.jsonl"))))


def test_instructions_reach_an_instruction_model(tmp_path: Path) -> None:
    done = multirun(tmp_path, "run.limit=2", *HOSTED, "+prompt.instructions=kind,strict", "engine.retries=0")
    assert "would send the same requests" not in done.stderr


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
    assert [embedded.EmbeddedModel(threads=threads).threads for threads in (4, 1)] == [4 // count, 1]
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
