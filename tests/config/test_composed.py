"""The configs of a sweep's jobs: composed once, and started with what was seen to compose."""

from __future__ import annotations

from typing import Any

import pytest
from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from undogmatic.config import composed
from undogmatic.safety.paths import conf_folder


class Sweeping:
    """A sweep of this project's config, and how many of its jobs were composed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loader = GlobalHydra.instance().config_loader()
        self.sweeper = BasicSweeper(max_batch_size=None)
        self.sweeper.config = self.master()
        self.sweeper.hydra_context = HydraContext(config_loader=self.loader, callbacks=Callbacks())
        self.composed: list[list[str]] = []
        load = composed._load_job

        def counted(loader: Any, master: DictConfig, words: list[str]) -> DictConfig:
            self.composed.append(words)
            return load(loader, master, words)

        monkeypatch.setattr(composed, "_load_job", counted)

    def master(self) -> DictConfig:
        return self.loader.load_configuration("config", [], RunMode.MULTIRUN)

    def start(self, master: DictConfig, *words: str) -> DictConfig:
        return self.loader.load_sweep_config(master, list(words))


@pytest.fixture
def sweeping(monkeypatch: pytest.MonkeyPatch) -> Any:
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        yield Sweeping(monkeypatch)


def test_each_job_is_composed_once(sweeping: Sweeping) -> None:
    sweeping.sweeper.validate_batch_is_legal([["seed=1"], ["seed=2"]])
    started = [sweeping.start(sweeping.sweeper.config, f"seed={n}") for n in (1, 2)]
    assert [config.seed for config in started] == [1, 2]
    assert sweeping.composed == [["seed=1"], ["seed=2"]]


def test_what_was_started_is_not_handed_out_again(sweeping: Sweeping) -> None:
    sweeping.sweeper.validate_batch_is_legal([["seed=1"]])
    first, second = (sweeping.start(sweeping.sweeper.config, "seed=1") for _ in range(2))
    assert first is not second and first == second
    first.seed = 5
    assert second.seed == 1


def test_another_sweep_composes_its_own(sweeping: Sweeping) -> None:
    sweeping.sweeper.validate_batch_is_legal([["seed=1"]])
    other = sweeping.master()
    OmegaConf.update(other, "hydra.overrides.hydra", ["hydra.job.name=other"], force_add=True)
    assert sweeping.start(other, "seed=1").hydra.job.name == "other"
    assert len(sweeping.composed) == 2


def test_no_more_are_kept_than_a_memory_holds(sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composed, "MOST_KEPT", 1)
    batch = [["seed=1"], ["seed=2"]]
    sweeping.sweeper.validate_batch_is_legal(batch)
    assert [sweeping.start(sweeping.sweeper.config, *words).seed for words in batch] == [1, 2]
    assert len(sweeping.composed) == 3


def test_a_batch_that_cannot_be_composed_leaves_nothing_behind(sweeping: Sweeping) -> None:
    with pytest.raises(HydraException):
        sweeping.sweeper.validate_batch_is_legal([["seed=1"], ["model=no_such"]])
    sweeping.sweeper.validate_batch_is_legal([["seed=2"]])
    assert sweeping.start(sweeping.sweeper.config, "seed=1").seed == 1
    assert sweeping.composed == [["seed=1"], ["model=no_such"], ["seed=2"], ["seed=1"]]
