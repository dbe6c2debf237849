"""Configs composed by the loader: each job of a sweep once, nothing unchecked, and no part of Hydra
replaced."""

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

import undogmatic
from undogmatic import sweep
from undogmatic.config import compose, groups
from undogmatic.config.build import settings
from undogmatic.config.compose import Loader
from undogmatic.config.door import compose_config
from undogmatic.config.wall import check
from undogmatic.errors import ConfigError
from undogmatic.run import job
from undogmatic.safety.paths import conf_folder


class Sweeping:
    """A sweep of this project's config, and how many of its jobs were composed."""

    def __init__(self, loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loader, self.composed = loader, list[list[str]]()
        load = loader.inner.load_configuration

        def counted(name: str, words: list[str], *rest: object) -> DictConfig:
            self.composed.append(
                [word for word in words if not word.startswith("hydra")]
            )
            return load(name, words, *rest)

        self.config = self.master()
        monkeypatch.setattr(loader.inner, "load_configuration", counted)

    def master(self) -> DictConfig:
        return self.loader.load_configuration("config", [], RunMode.MULTIRUN)

    def look(self, *batch: list[str]) -> None:
        """As a sweeper does before it starts a batch."""
        with self.loader.looking():
            for words in batch:
                self.loader.load_sweep_config(self.config, words)

    def start(self, master: DictConfig, *words: str) -> DictConfig:
        return self.loader.load_sweep_config(master, list(words))


@pytest.fixture
def sweeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweeping]:
    with compose.opened() as loader:
        yield Sweeping(loader, monkeypatch)


def test_each_job_is_composed_once(sweeping: Sweeping) -> None:
    sweeping.look(["judge=score"], ["judge=debate"])
    started = [
        sweeping.start(sweeping.config, f"judge={name}") for name in ("score", "debate")
    ]
    assert [config.hydra.runtime.choices.judge for config in started] == [
        "score",
        "debate",
    ]
    assert sweeping.composed == [["judge=score"], ["judge=debate"]]


DEEP = ["model=openai_compatible", "+model.extra={a: 1}"]


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (["seed=1"], ["seed=2.5"], True),
        (
            ["model=openai_compatible", "model.name=a", "seed=1"],
            ["model=openai_compatible", "model.name='b c=d'", "seed=1"],
            True,
        ),
        (["judge=score", "seed=1"], ["judge=debate", "seed=1"], False),
        (["seed=1"], ["seed=null"], False),
        (["run.name='${seed}'"], ["run.name=x"], False),
        (
            [*DEEP, "model.extra.a=2", "+model.extra.b=3"],
            [*DEEP, "model.extra.a=3", "+model.extra.b=3"],
            False,
        ),
        (["seed=1", "seed=2"], ["seed=3", "seed=2"], False),
    ],
)
def test_a_job_that_differs_in_a_plain_value_is_composed_as_any_other(
    sweeping: Sweeping, first: list[str], second: list[str], alike: bool
) -> None:
    one = sweeping.start(sweeping.config, *first)
    one.hydra.job.id = "what its run writes into it"
    started = sweeping.start(sweeping.config, *second)
    assert len(sweeping.composed) == (1 if alike else 2)
    assert compose.passed(started)
    sweeping.loader._siblings.clear()
    own = sweeping.start(sweeping.config, *second)
    assert OmegaConf.to_yaml(started) == OmegaConf.to_yaml(
        own
    ) and one.hydra.job.id != own.hydra.job.get("id")


def test_what_cannot_be_composed_is_refused_as_ever_where_another_job_could_be(
    sweeping: Sweeping,
) -> None:
    sweeping.start(sweeping.config, "seed=1", "run.limit=3")
    with pytest.raises(HydraException, match=r"Could not override 'run\.limits'"):
        sweeping.start(sweeping.config, "seed=1", "run.limits=3")
    sweeping.start(sweeping.config, "judge._target_=undogmatic.judges.score.ScoreJudge")
    with pytest.raises(ConfigError, match=r"os\.system"):
        sweeping.start(sweeping.config, "judge._target_=os.system")
    assert len(sweeping.composed) == 3


def test_what_was_started_is_not_handed_out_again(sweeping: Sweeping) -> None:
    sweeping.look(["seed=1"])
    first, second = (sweeping.start(sweeping.config, "seed=1") for _ in range(2))
    assert first is not second and first == second
    first.seed = 5
    assert second.seed == 1


def test_another_sweep_composes_its_own(sweeping: Sweeping) -> None:
    sweeping.look(["seed=1"])
    other = sweeping.master()
    OmegaConf.update(
        other, "hydra.overrides.hydra", ["hydra.job.name=other"], force_add=True
    )
    assert sweeping.start(other, "seed=1").hydra.job.name == "other"
    assert len(sweeping.composed) == 3


def test_no_more_are_kept_than_a_memory_holds(
    sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loader, "MOST_KEPT", 1)
    monkeypatch.setattr(Loader, "MOST_SIBLINGS", 1)
    batch = [["judge=score"], ["judge=debate"], ["judge=panel"]]
    sweeping.look(*batch)
    started = [sweeping.start(sweeping.config, *words) for words in batch]
    assert [config.hydra.runtime.choices.judge for config in started] == [
        "score",
        "debate",
        "panel",
    ]
    assert len(sweeping.composed) == 5


def test_a_batch_that_cannot_be_composed_leaves_nothing_behind(
    sweeping: Sweeping,
) -> None:
    with pytest.raises(HydraException):
        sweeping.look(["seed=1"], ["model=no_such"])
    sweeping.look(["judge=debate"])
    assert sweeping.start(sweeping.config, "seed=1").seed == 1
    assert sweeping.composed == [
        ["seed=1"],
        ["model=no_such"],
        ["judge=debate"],
    ] and not sweeping.loader._kept.keys() & {("seed=1",)}


def test_a_worker_gets_the_loader_that_checks_and_none_of_the_configs() -> None:
    with compose.opened() as loader, loader.looking():
        loader.load_sweep_config(
            loader.load_configuration("config", [], RunMode.MULTIRUN), ["seed=1"]
        )
    sent = pickle.loads(pickle.dumps(loader))
    assert type(sent) is Loader and loader._kept and not sent._kept


def test_a_sweeper_writes_no_secret_and_its_jobs_have_it() -> None:
    key = "sk-proj-4f9aX2bQ7rT1mZ8wK3vN6c"
    with compose.opened() as loader:
        words = [f"+hydra.job.env_set.SERVICE_KEY={key}", f"+model.extra.api_key={key}"]
        master = loader.load_configuration(
            "config", [words[0], "model=gpt", words[1]], RunMode.MULTIRUN
        )
        shown = loader.shown(master)
        assert key not in OmegaConf.to_yaml(shown) and key in OmegaConf.to_yaml(master)
        started = loader.load_sweep_config(shown, ["model=gpt", words[1]])
    assert started.hydra.job.env_set.SERVICE_KEY == started.model.extra.api_key == key


def test_a_job_whose_config_was_not_checked_ends_at_its_start() -> None:
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        unchecked = hydra_compose("config", ["seed=77"])
    with pytest.raises(SystemExit, match="was not checked"):
        job(unchecked)
    with compose.opened() as loader:
        checked = loader.load_configuration("config", ["seed=77"], RunMode.RUN)
    # the same config, checked by now
    assert compose.passed(checked) and compose.passed(unchecked)
    checked.seed = 78
    assert not compose.passed(checked)


def test_nothing_of_hydra_omegaconf_or_logging_is_replaced_or_private() -> None:
    """Neither by an import nor later: all that is ours is handed over by a public door."""
    from hydra.core import plugins

    assert Sweeper.validate_batch_is_legal.__module__ == "hydra.plugins.sweeper"
    assert (
        plugins.Plugins.is_in_toplevel_plugins_module.__module__ == "hydra.core.plugins"
    )
    assert OmegaConf.save.__module__ == "omegaconf.omegaconf"
    for path in Path(undogmatic.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        names |= {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not [
            name for name in names if name and name.startswith("hydra._internal")
        ], path


def test_a_check_that_breaks_down_ends_the_command_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a callback raises is only a warning otherwise, and the run would begin unchecked."""

    def broken(config: DictConfig) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(sweep, "check_config", broken)
    for event in ("on_run_start", "on_multirun_start"):
        with pytest.raises(SystemExit) as ended:
            getattr(sweep.SweepCallback(), event)(OmegaConf.create({}))
        assert ended.value.code not in (0, None)


@pytest.mark.parametrize("section", ["hydra.job.env_set", "hydra.run", "hydra.sweep"])
def test_no_section_of_hydra_is_a_reference_to_what_a_config_says_elsewhere(
    section: str,
) -> None:
    words = [
        "model=gpt",
        "+model.extra.UNDOGMATIC_ALLOW=os",
        f"{section}=${{model.extra}}",
    ]
    with (
        compose.opened() as loader,
        pytest.raises(ConfigError, match=f"`{section}` is .* must be written out here"),
    ):
        loader.load_configuration("config", words, RunMode.RUN)


@pytest.mark.parametrize(
    "node",
    [{"hydra": "${model}", "model": {}}, {"hydra": {"job": "${model}"}, "model": {}}],
)
def test_hydras_own_section_is_checked_whole(node: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="must be written out here"):
        check(OmegaConf.create(node))


@pytest.mark.parametrize(
    "base", ["???", "${dataset}", "${nothing}", "nothing", "/judge: score"]
)
def test_the_file_of_a_nested_option_may_extend_options_of_its_group_only(
    base: str, tmp_path: Path
) -> None:
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset/own.yaml").write_text(
        f"defaults:\n- {base}\n_target_: x\n", encoding="utf-8"
    )
    chosen = settings(compose_config([], str(tmp_path)))
    with pytest.raises(
        ConfigError,
        match=r"`optimizer\.development` is .own., whose file has a `defaults` list",
    ):
        groups.named("dataset", "own", "optimizer.development", chosen)
